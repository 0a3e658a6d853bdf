"""Answers to prompts: `interactive`, `input`; cells with prompts, commands at a terminal, and kills during both."""

import os
import signal
import time

import pytest
from harness import META, Session, children_of


@pytest.fixture
def window(start, tmp_path):
    """Starts servers that share a home, like several windows of one client, or one window that is reopened."""
    return lambda **settings: start(home=tmp_path / "home", **settings)


def is_waiting(result, prompt):
    assert (result.is_error, result.ending, result.success, result.prompt) == (False, "waiting", False, prompt), result.text
    assert f"run {result.run}" in result.text and f'{{run: {result.run}, input: "…"}}' in result.text
    return result


ASKS = "print('before', flush=True)\nname = input('Name? ')\nimport getpass\nsecret = getpass.getpass('Key: ')\nprint('hi', name, len(secret))"


def test_a_prompt_of_a_cell_is_answered(own_session):
    s = own_session
    first = is_waiting(s.code(ASKS, interactive=True), "Name? ")
    assert first.stdout == "before\n" and "⟦waiting for input⟧ run 1 asks: Name?" in first.text and not first.password
    assert is_waiting(s.code(run=1, wait=60), "Name? ").stdout == "", "at once, with nothing new"
    beside = s.shell("true")
    assert "earlier cell 1: waiting for input" in beside.text
    info = s.server.call("session_info", {"session_id": s.id})
    assert [(run["run"], run["state"]) for run in info.fields["runs"]] == [(1, "waiting")]
    queued = s.code("1", wait=0)
    assert queued.queued and queued.behind == 1
    assert is_waiting(s.code(run=1, input="Bob"), "Key: ").password
    ended = s.code(run=1, input="12345").ok()
    assert (ended.stdout, ended.run) == ("hi Bob 5\n", 1)
    assert s.code(run=queued.run, wait=60).ok().value == "1"


ELICITS = {META + "clientCapabilities": {"elicitation": {}}}


def test_the_users_answers_reach_the_program(start):
    """PROMPTS_ANSWERED_BY=user: a client with forms is asked for input, but passwords are requested from the model."""
    server = start(PROMPTS_ANSWERED_BY="user")
    session = server.session()
    call = {"name": "execute_code", "arguments": {"session_id": session.id, "code": ASKS, "interactive": True}}
    asked = server.request("tools/call", call, meta=ELICITS).result()
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["input"]["params"]["message"].endswith("asks: Name? ")
    form = {"input": {"action": "accept", "content": {"input": "Zoë"}}}
    again = {**call, "requestState": asked["requestState"], "inputResponses": form}
    answer = server.request("tools/call", again, meta=ELICITS).tool()
    assert (answer.ending, answer.prompt, answer.password) == ("waiting", "Key: ", True)
    assert "before" in answer.raw["content"][0]["text"] and "asks: Name?" in answer.raw["content"][0]["text"]
    assert session.code(run=answer.run, input="12345").ok().stdout == "hi Zoë 5\n"


def test_answers_are_kept_nowhere(own_session):
    s = own_session
    run = s.code("len(input('? '))", interactive=True).run
    assert s.code(run=run, input="tops3cret-value").ok().value == "15"
    run = s.shell("read -s p; echo ${#p}", interactive=True).run
    assert s.shell(run=run, input="tops3cret-value").ok().stdout.endswith("15\n")
    s.code("1").ok()
    for folder, _, names in os.walk(s.server.home):
        for name in names:
            path = os.path.join(folder, name)
            assert not os.path.isfile(path) or b"tops3cret" not in open(path, "rb").read(), path
    assert "tops3cret" not in s.server.stderr()


def test_an_interrupt_ends_a_run_with_a_prompt(own_session):
    s = own_session
    run = s.code("kept = 1\ninput()", interactive=True).run
    ended = s.code(run=run, interrupt=True)
    assert (ended.ending, ended.run) == ("interrupted", run), ended.text
    assert s.code("kept").ok().value == "1"
    run = s.shell("read x", interactive=True).run
    assert s.shell(run=run, interrupt=True).ending == "interrupted"


def test_a_command_has_a_terminal(own_session):
    s = own_session
    asks = is_waiting(s.shell("stty size; read -p 'Go on? [y/N] ' a; echo got $a; read -s -p 'Password: ' p; echo; cat", interactive=True,
                              rows=30, cols=100), "Go on? [y/N]")
    assert asks.stdout == "30 100\nGo on? [y/N]\n"
    assert s.shell("echo beside").ok().stdout == "beside\n", "the next one does not wait for it"
    secret = is_waiting(s.shell(run=asks.run, input="y"), "Password:")
    assert secret.password and secret.stdout == "Go on? [y/N] y\ngot y\nPassword:\n"
    copies = s.shell(run=asks.run, input="hunter2")
    assert copies.ending == "waiting" and "hunter2" not in copies.text
    news = is_waiting(s.shell(run=asks.run, input="\x1b[31mred"), "")
    assert "red\n" in news.stdout and "\x1b" not in news.stdout
    assert is_waiting(s.shell(run=asks.run, wait=0), "").stdout == ""
    assert s.shell(run=asks.run, input="<Ctrl-D>").ok().exit_code == 0


def test_full_screen_programs_can_be_used(own_session):
    s = own_session
    shown = s.shell("seq 1 100 | less", interactive=True, rows=6, cols=40)
    assert shown.stdout == "1\n2\n3\n4\n5\n:\n"
    assert s.shell(run=shown.run, input="<Down>").stdout == "2\n3\n4\n5\n6\n:\n"
    assert s.shell(run=shown.run, input="q<NoEnter>").ok()
    repl = is_waiting(s.shell("python3 -q", interactive=True), ">>>")
    assert is_waiting(s.shell(run=repl.run, input="6 * 7"), ">>>").stdout == ">>> 6 * 7\n42\n>>>\n"
    s.shell(run=repl.run, input="exit()").ok()


def one_plus_one_beside(other, pending):
    """The longest time in seconds that another session took for 1+1 while a call was in progress."""
    longest = 0
    while not pending.done:
        began = time.monotonic()
        assert other.code("1+1").ok().value == "2"
        longest = max(longest, time.monotonic() - began)
    return longest


# evidence: emulator
def test_an_expensive_screen_does_not_delay_others(own_session):
    """Bytes on which libvterm hangs, and bytes that take it seconds: at most the emulator is lost, not the run."""
    s = own_session
    other = s.server.session(network=False)
    pending = s.start_shell("printf '\\033[b'; printf ok", interactive=True)
    assert one_plus_one_beside(other, pending) < 2 and pending.tool().ok().stdout == "ok\n"
    fills = "for i in $(seq 2000); do printf '\\033c\\033#8'; done"
    pending = s.start_shell(f"{fills}; echo text; read -p 'Go on? ' a; clear; echo went $a", interactive=True, rows=200, cols=500)
    assert one_plus_one_beside(other, pending) < 2
    lost = pending.tool()
    assert lost.ending == "waiting" and "⟦the screen could not be shown: this output takes the terminal emulator too long to draw⟧" in lost.stdout
    assert "text\nGo on?" in lost.stdout, "without a screen the text is told"
    went = s.shell(run=lost.run, input="yes").ok()
    assert "went yes\n" in went.stdout and "could not" not in went.stdout
    other.stop()


def test_without_interactive_nothing_changes(session):
    assert "interactive=true" in session.code("input()").text
    assert session.shell("read x; echo $?; tty").stdout == "1\nnot a tty\n"


@pytest.mark.usefixtures("transport")
def test_a_prompt_survives_the_server_and_is_answered_once(window):
    first = window()
    session = first.session(network=False)
    cell = session.code(ASKS + "\nprint(input('Last? '))", interactive=True)
    command = session.shell("read -p 'Ready? ' x; echo went $x; read y", interactive=True)
    assert is_waiting(session.code(run=cell.run, input="Bob"), "Key: ")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(20)
    again = Session(window(), session.id)
    reminded = is_waiting(again.code(run=cell.run, wait=60), "Key: ")
    assert reminded.stdout == "", "what the first server told is not told again"
    assert is_waiting(again.code(run=cell.run, input="1234"), "Last? ").stdout == "hi Bob 4\n"
    went = again.shell(run=command.run, input="yes")
    assert went.ending == "waiting" and went.stdout.endswith("went yes\n"), went.text
    pending = again.start_code(run=cell.run, input="one", wait=60)
    again.server.process.send_signal(signal.SIGKILL)
    again.server.process.wait(20)
    third = Session(window(), session.id)
    last = third.code(run=cell.run, wait=60)
    if last.ending == "waiting":  # the server was killed before it had passed the answer on
        assert not pending.done
        last = third.code(run=cell.run, input="one")
    told = last if not last.is_error else third.code("1")
    assert pending.done or "one" in told.text


def test_a_prompt_survives_a_broken_stream(own_session):
    s = own_session
    run = is_waiting(s.code("print([input(f'{i}? ') for i in range(3)])", interactive=True), "0? ").run
    for i in range(3):
        for pid, command in children_of(s.server.process.pid).items():
            if "attach" in command:
                os.kill(pid, signal.SIGKILL)
        ended = s.code(run=run, input=f"answer {i}", wait=60)
        if i < 2:
            is_waiting(ended, f"{i + 1}? ")
    assert ended.ok().stdout == "['answer 0', 'answer 1', 'answer 2']\n"


def test_a_kernel_that_dies_during_a_prompt_is_reported(own_session):
    s = own_session
    asks = is_waiting(s.code("import os\nprint(os.getpid(), flush=True)\ninput('? ')", interactive=True), "? ")
    text = s.shell(f"kill -9 {asks.stdout.strip()}").text
    while "kernel_died" not in text:  # the death is noticed after a moment
        died = s.code(run=asks.run, wait=60)
        assert not died.is_error, died.text
        text += died.text
    refused = s.code(run=asks.run, input="late")
    assert refused.is_error and "has ended" in refused.text
    assert s.code("1").ok().value == "1"


@pytest.mark.parametrize("tool, arguments, words", [
    ("execute_code", {"code": "1", "input": "x"}, "input needs run"),
    ("execute_code", {"run": 1, "input": "x", "interrupt": True}, "input and interrupt exclude each other"),
    ("execute_code", {"run": 999, "input": "x"}, "there is no run 999"),
    ("execute_code", {"run": 1, "interactive": True}, "interactive applies only to a new run"),
    ("execute_code", {"run": 1, "input": "x" * 32769}, "input is too long (32769 bytes, at most 32768)"),
    ("execute_terminal", {"command": "true", "rows": 10}, "rows needs interactive"),
    ("execute_terminal", {"command": "true", "interactive": True, "cols": 501}, "cols must be an integer from 1 to 500"),
])
def test_bad_input_is_refused_by_name(session, tool, arguments, words):
    refused = session.server.call(tool, {"session_id": session.id, **arguments})
    assert refused.is_error and words in refused.text, refused.text


def test_input_for_a_run_that_takes_none_is_rejected(own_session):
    s = own_session
    closed = s.shell("until [ -e go ]; do sleep 0.02; done", wait=0)
    refused = s.shell(run=closed.run, input="x")
    assert refused.is_error and "was not started as interactive" in refused.text
    busy = s.code("import time, os\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\ninput('now? ')", interactive=True, wait=0)
    refused = s.code(run=busy.run, input="x")
    assert refused.is_error and f"run {busy.run} is not waiting for input" in refused.text
    s.shell("touch go")
    is_waiting(s.code(run=busy.run, wait=60), "now? ")
    assert s.code(run=busy.run, input="y").ok().value == "'y'"
