"""The shell beside the interpreter: what persists, what is told apart, what stays alive."""

import pytest


def test_directory_and_exported_variables_persist(own_session):
    assert own_session.shell("pwd").ok().stdout == "/workspace\n"
    own_session.shell("mkdir -p 'a b'; cd 'a b'; export T_VAR='two words\nand a line'; T_LOCAL=1").ok()
    assert own_session.shell('pwd; echo "$T_VAR"; echo "[$T_LOCAL]"').ok().stdout == "/workspace/a b\ntwo words\nand a line\n[]\n"
    own_session.shell("unset T_VAR; cd /; exit 0").ok()
    assert own_session.shell('pwd; echo "[$T_VAR]"').ok().stdout == "/\n[]\n"
    own_session.shell("cd /workspace; rmdir 'a b'").ok()


def test_files_are_shared_with_the_interpreter(session):
    session.code("open('from_python', 'w').write('hello')").ok()
    assert session.shell("cat /workspace/from_python").ok().stdout == "hello"


@pytest.mark.parametrize("command, code", [
    ("true", 0), ("false", 1), ("exit 7", 7), ("no_such_command_here", 127), ("kill -9 $$", 137), ("(exit 3)", 3), ("if", 2),
])
def test_exit_codes(session, command, code):
    ended = session.shell(command)
    assert ended.exit_code == code and ended.success is (code == 0)
    assert ended.ending == ("ok" if code == 0 else "error") and not ended.is_error
    assert session.shell("echo on").ok().stdout == "on\n"


def test_stdout_and_stderr_are_apart(session):
    ended = session.shell("echo out; echo err >&2").ok()
    assert (ended.stdout, ended.stderr) == ("out\n", "err\n")
    assert "[stderr] err" in ended.text


def test_stdin_is_closed(session):
    assert session.shell("cat; read -r line; echo \"[$line] $?\"").ok().stdout == "[] 1\n"


def test_past_its_time_the_whole_group_is_killed(session):
    ended = session.shell("echo begun; sleep 61 & sleep 62; echo never", 1)
    assert ended.ending == "timeout" and ended.stdout == "begun\n"
    assert ended.took < 6 and "background" in ended.hint
    assert not [c for c in session.shell("ps -eo args").ok().stdout.splitlines() if c.startswith("sleep 6")]


def test_a_trap_does_not_save_a_command_past_its_time(session):
    ended = session.shell("trap '' TERM INT; echo deaf; while :; do :; done", 1)
    assert ended.ending == "timeout" and ended.stdout == "deaf\n" and ended.took < 8


def test_background_processes_stay_and_are_not_waited_for(own_session):
    started = own_session.shell("sleep 1000 & echo $!").ok()
    assert started.took < 5
    pid = started.stdout.strip()
    assert own_session.shell(f"kill -0 {pid} && echo alive").ok().stdout == "alive\n"
    own_session.shell(f"kill {pid}").ok()


def test_a_background_server_answers_after_a_thousand_logged_requests(own_session):
    own_session.shell("python3 -m http.server 8123 --bind 127.0.0.1 &").ok()
    ended = own_session.code(
        "import time, urllib.request, urllib.error\n"
        "def get():\n    return urllib.request.urlopen('http://127.0.0.1:8123/', timeout=10).status\n"
        "for _ in range(200):\n"
        "    try:\n        get(); break\n"
        "    except urllib.error.URLError: time.sleep(0.05)\n"
        "sum(get() == 200 for _ in range(1000))", 120).ok()
    assert ended.value == "1000"
    after = own_session.shell("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/").ok()
    assert after.stdout.endswith("200")
    assert "GET / HTTP/1.1" in after.stderr  # what it logged in between is shown here


def test_a_command_beside_a_running_cell(session):
    cell = session.start_code("import time; time.sleep(4)")
    assert session.shell("echo beside").ok().took < 3
    assert not cell.done
    cell.tool().ok()


def test_a_long_command(session):
    filler = "\n".join(f"# {i} " + "x" * 90 for i in range(4000))
    assert session.shell(f"{filler}\necho done").ok().stdout == "done\n"


def test_output_without_text_is_said(session):
    assert session.shell("true").ok().text == "(no output)"
