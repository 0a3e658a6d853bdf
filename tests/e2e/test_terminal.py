"""The terminal: bash whose working directory and exports persist, exit codes, timeouts, and background processes."""

import re

import pytest
from harness import docker, wait_until


@pytest.fixture(scope="module")
def terminal(_shared, tmp_path_factory):
    """A session of this file's own: its tests change directories and variables."""
    session = _shared.get().session(network=False)
    yield session
    session.stop()


def test_commands_run_in_bash_in_the_workspace(own_session):
    result = own_session.shell("pwd; echo ${BASH_VERSION%%.*}; [[ -n x ]] && echo yes").ok()
    lines = result.stdout.splitlines()
    assert lines[0] == "/workspace" and int(lines[1]) >= 4 and lines[2] == "yes"


def test_directory_and_exports_persist(terminal):
    terminal.shell("mkdir -p /tmp/deep/er && cd /tmp/deep/er && export COLOUR='deep blue' && local_only=1").ok()
    assert terminal.shell("pwd; echo \"$COLOUR\"").stdout == "/tmp/deep/er\ndeep blue\n"
    assert terminal.shell("cd ..; pwd").stdout == "/tmp/deep\n"
    assert terminal.shell("pwd; unset COLOUR").stdout == "/tmp/deep\n"
    assert terminal.shell("echo \"<$COLOUR>\"; cd /workspace").stdout == "<>\n"


def test_directory_and_exports_persist_after_failures_and_exit(terminal):
    assert terminal.shell("cd /tmp; export KEPT=yes; exit 7").exit_code == 7
    assert terminal.shell("pwd; echo $KEPT; cd /workspace").stdout == "/tmp\nyes\n"
    assert terminal.shell("export AGAIN=1; false").exit_code == 1
    assert terminal.shell("echo $AGAIN").stdout == "1\n"


def test_odd_values_survive(terminal):
    terminal.shell("export ODD=$'two\\nlines \"quoted\" \\'single\\' $dollar `tick` \\\\ ünï'; export EMPTY=").ok()
    assert terminal.shell("printf %s \"$ODD\"").stdout == "two\nlines \"quoted\" 'single' $dollar `tick` \\ ünï"
    assert terminal.shell("echo ${EMPTY-unset}x").stdout == "x\n"


def test_a_removed_directory_falls_back_to_the_workspace(terminal):
    terminal.shell("mkdir -p /tmp/gone && cd /tmp/gone && rmdir /tmp/gone")
    result = terminal.shell("echo alive; cd /workspace && pwd")
    assert "alive" in result.stdout and result.stdout.endswith("/workspace\n")
    assert terminal.shell("pwd").stdout == "/workspace\n"


@pytest.mark.parametrize("command, code", [("true", 0), ("false", 1), ("exit 42", 42), ("nosuchcommand", 127), ("sh -c 'exit 3'", 3),
                                           ("/etc/passwd", 126), ("true | false", 1), ("exit 256", 0)])
def test_exit_codes(terminal, command, code):
    result = terminal.shell(command)
    assert not result.is_error
    assert result.exit_code == code
    assert (result.success, result.ending) == ((True, "ok") if code == 0 else (False, "error"))
    if code:
        assert str(code) in result.text.splitlines()[0]


def test_death_by_signal_is_reported(terminal):
    result = terminal.shell("sh -c 'kill -9 $$'")
    assert result.exit_code == 137 or result.signal == 9
    result = terminal.shell("kill -SEGV $$")
    assert result.success is False
    assert result.signal == 11 or result.exit_code == 139
    assert terminal.shell("echo alive").stdout == "alive\n"


def test_streams_are_separate(terminal):
    result = terminal.shell("echo out; echo err >&2; echo out2; echo err2 >&2").ok()
    assert (result.stdout, result.stderr) == ("out\nout2\n", "err\nerr2\n")


def test_input_is_closed(terminal):
    result = terminal.shell("cat; read -r line; echo \"rc $?\"; python3 -c 'import sys; print(repr(sys.stdin.read()))'", 20)
    assert result.ok().stdout == "rc 1\n''\n"
    assert terminal.shell("test -t 0 || echo no terminal").stdout == "no terminal\n"


def test_many_lines_and_quotes(terminal):
    result = terminal.shell("cat <<'END'\nit's \"fine\" $HOME `x` \\\nEND\nfor i in 1 2; do\n  echo $i\ndone").ok()
    assert result.stdout == "it's \"fine\" $HOME `x` \\\n1\n2\n"


def test_a_syntax_error_is_an_exit_code(terminal):
    result = terminal.shell("if true; then echo (")
    assert result.exit_code == 2 and "syntax error" in result.stderr
    assert terminal.shell("echo alive").stdout == "alive\n"


def test_a_timeout_kills_the_group_and_returns_the_output(terminal):
    result = terminal.shell("echo before; echo to stderr >&2; sleep 61 & sleep 62 | sleep 63; echo never", 1)
    assert not result.is_error
    assert (result.success, result.ending) == (False, "timeout")
    assert (result.stdout, result.stderr) == ("before\n", "to stderr\n")
    assert 900 <= result.duration_ms < 10000
    assert result.text.startswith("⟦timeout⟧")
    assert terminal.shell("grep -lx sleep /proc/[0-9]*/comm").stdout == ""


def test_a_timeout_kills_processes_that_ignore_signals(terminal):
    result = terminal.shell("trap '' TERM INT HUP; echo stubborn; while :; do sleep 0.1; done", 1)
    assert result.ending == "timeout" and result.stdout == "stubborn\n"
    assert result.duration_ms < 10000
    assert terminal.shell("echo alive").stdout == "alive\n"


def test_a_timeout_keeps_the_last_good_directory(terminal):
    terminal.shell("cd /tmp; export BEFORE=1").ok()
    terminal.shell("cd /home/sandbox; sleep 60", 1)
    result = terminal.shell("pwd; echo $BEFORE; cd /workspace").ok()
    assert result.stdout in ("/tmp\n1\n", "/home/sandbox\n1\n")


def test_background_processes_are_not_waited_for_and_keep_running(terminal):
    result = terminal.shell("sleep 45 >/dev/null 2>&1 & echo $!", 20).ok()
    assert result.took < 10
    pid = int(result.stdout)
    assert terminal.shell(f"kill -0 {pid} && echo alive").stdout == "alive\n"
    assert terminal.shell(f"kill {pid}").exit_code == 0


def test_a_background_process_that_holds_the_pipes_is_not_waited_for(terminal):
    result = terminal.shell("(sleep 45; echo late) & echo started $!", 20).ok()
    assert result.stdout.startswith("started") and result.took < 10
    pid = int(result.stdout.split()[1])
    assert terminal.shell(f"kill -0 {pid} && echo alive").stdout == "alive\n"
    terminal.shell(f"kill {pid}").ok()


SERVER = r'''
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
http.server.ThreadingHTTPServer(("127.0.0.1", 8123), Handler).serve_forever()
'''

ASK = (
    "import urllib.request, time\n"
    "def ask():\n"
    "    return urllib.request.urlopen('http://127.0.0.1:8123/', timeout=10).read()\n"
    "for _ in range(100):\n"
    "    try:\n"
    "        ask(); break\n"
    "    except OSError: time.sleep(0.05)\n"
)


def test_a_background_server_answers_after_a_thousand_logged_requests(terminal):
    """The server's log goes to the command's own pipes, which must still be read after the command has ended."""
    terminal.code(f"open('/workspace/server.py', 'w').write({SERVER!r})").ok()
    terminal.shell("python3 /workspace/server.py & echo $! >/workspace/pid", 20).ok()
    terminal.code(ASK, 60).ok()
    result = terminal.code("answers = [ask() for _ in range(1000)]\nlen(answers), set(answers)", 120).ok()
    assert result.value == "(1000, {b'ok'})"
    assert terminal.code("ask()").ok().value == "b'ok'"
    assert terminal.shell("kill $(cat /workspace/pid)").exit_code == 0


def test_nothing_of_one_command_shows_in_the_next(terminal):
    terminal.shell("echo earlier").ok()
    assert terminal.shell("echo later").stdout == "later\n"


def test_the_environment_is_the_user_s(terminal):
    result = terminal.shell("echo $HOME $USER; id -un; whoami; cd ~; pwd; cd /workspace").ok()
    assert result.stdout.split() == ["/home/sandbox", "sandbox", "sandbox", "sandbox", "/home/sandbox"]
    assert terminal.shell("env | grep -c ^HUSK_").stdout == "0\n"


def test_a_command_gets_the_shell_that_was_started_for_it(terminal):
    """Spare shells work with a real engine; tests/pid1/test_spare.py has their other tests."""
    first = int(docker("inspect", "--format", "{{.State.Pid}}", terminal.container))

    def shells():
        found = []
        for pid in open(f"/proc/{first}/task/{first}/children").read().split():
            try:
                status = open(f"/proc/{pid}/status").read()
            except OSError:
                continue  # it has ended
            if status.startswith("Name:\tbash\n"):
                found.append(int(re.search(r"^NSpid:.*\t(\d+)$", status, re.M).group(1)))
        return found

    terminal.shell("true").ok()
    spare, = wait_until(shells, what="a shell for the next command")
    assert int(terminal.shell("echo $$").ok().stdout) == spare
    spare, = wait_until(shells, what="a shell for the next command")
    assert str(spare) not in terminal.code("import os; os.listdir('/proc')").ok().value.split("'")


def test_large_output_is_cut_in_the_middle(terminal):
    result = terminal.shell("echo FIRST; seq 1 200000; echo LAST").ok()
    assert result.text.startswith("FIRST\n1\n") and "\nLAST" in result.text
    assert result.stdout_truncated is True and result.stdout_bytes > 1000000
    assert len(result.text) <= 45500


def test_a_silent_success_is_reported(terminal):
    assert terminal.shell("true").ok().text == "(no output)"


def test_a_command_that_reads_and_writes_much(terminal):
    result = terminal.shell("head -c 20000000 /dev/zero | wc -c; yes | head -n 1000000 | wc -l", 60).ok()
    assert result.stdout.split() == ["20000000", "1000000"]
