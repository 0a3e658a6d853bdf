"""A spare shell is a bash that is started before its command: which commands use one, and tests that commands notice no
difference.
"""
import ctypes
import os
import pathlib
import signal
import subprocess

import frames
import pytest
from test_rest import wait_until


def spare_of(box, client, command="true"):
    """(pid in the box, pid out here), after a command."""
    client.terminal(command)
    return box.spare()


def shell_of(client, command="", **more):
    """The pid of the shell that runs a command."""
    return int(client.terminal(f"{command}\necho $$", **more).out.split()[-1])


# All that a command can see of its shell, except random values and the time.
LOOK = r"""
echo "$_|$?|${PIPESTATUS[*]}|$0|$#|$LINENO|$!|$BASH_SUBSHELL|$SHLVL|$-|$PPID|$((SECONDS < 2))|${FUNCNAME[*]}"
echo $$; : _
set | grep -Ev '^(RANDOM|SRANDOM|EPOCH|SECONDS|BASHPID|HUSK_COMMAND)'
declare -p | grep -Ev 'RANDOM|EPOCH|SECONDS|BASHPID|HUSK_COMMAND'
env; shopt; set -o | grep -v trace; trap -p; ulimit -a; umask; jobs; hash; alias; dirs; pwd -P; caller
ls /proc/$$/fd; grep -h flags /proc/$$/fdinfo/[012]; cat /proc/$$/limits /proc/$$/oom_score_adj /proc/$$/cgroup
grep -Ev '^(State|Sig(Blk|Pnd|Q)|Vm|Rss|Huge|THP|.*ctxt)' /proc/$$/status | sed "s/\b$$\b/PID/g"
ps -o pid=,ppid=,pgid=,sid=,ni=,args= -p $$ | sed "s/\b$$\b/PID/g"
ps -e -o sid=,comm= | awk '$2 == "bash"' | sort -u | sed "s/\b$$\b/PID/g"
nosuchprogram
if then"""


# evidence: spare-shell
def test_a_spare_shell_behaves_like_a_new_one(box, client):
    os.kill(spare_of(box, client, "cd /tmp; export A=1")[1], signal.SIGKILL)
    first = client.terminal(LOOK)
    inside, _ = box.spare()
    second = client.terminal(LOOK)
    first_line, first_pid, *first_look = first.out.splitlines()
    second_line, second_pid, *second_look = second.out.splitlines()
    assert int(first_pid) != inside and int(second_pid) == inside
    assert first_line == second_line and first_look == second_look
    assert first.err == second.err and first.end["exit_code"] == second.end["exit_code"] == 2


def test_seconds_count_from_the_start_of_the_command(box, client):
    """A spare shell resets SECONDS when it gets its command. With SECONDS=1000 it seems to have waited that long."""
    _, outside = spare_of(box, client)
    words = pathlib.Path(f"/proc/{outside}/cmdline").read_bytes().decode().split("\0")[:-1]
    for go, least in (("ww", 0), ("aa", 1000)):
        reply = subprocess.run(["/bin/bash", "-c", f'exec 196>&2 197<<<{go} 198<<<"echo \\$SECONDS" 199>/dev/null; exec "$@"', "x", *words],
                               env={"SECONDS": "1000"}, stdout=subprocess.PIPE)
        assert least <= int(reply.stdout) < least + 900


def test_every_command_gets_a_spare_shell(box, client):
    for command, out, code in (("echo out; exit 3", b"out\n", 3), ("kill -9 $$", b"", 137), ("head -c 3000000 /dev/zero", None, 0),
                               ("cd /usr; export A=1", b"", 0), ("echo $PWD $A", b"/usr 1\n", 0), ("cat; read x; echo $?", b"1\n", 0),
                               ("echo a > >(sed s/a/b/)", b"b\n", 0), ("(sleep 1000; true) & echo $!", None, 0)):
        inside, _ = spare_of(box, client)
        reply = client.terminal(command + "\n" * 3)
        assert reply.end["exit_code"] == code and (out is None or reply.out == out)
        assert inside not in box.shells()
        spare_of(box, client)
    inside, _ = box.spare()
    assert shell_of(client, "# padding\n" * 100000) == inside


def test_timeout_and_interrupt_end_a_spare_shell(box, client):
    inside, _ = spare_of(box, client)
    reply = client.terminal("echo $$; (trap '' TERM; sleep 1234) & sleep 5678", timeout_ms=300)
    assert reply.ending == "timeout" and int(reply.out) == inside
    inside, _ = spare_of(box, client, "pgrep -f 'sleep (1234|5678)'")
    number = client.start(frames.TERMINAL, "echo $$; sleep 100")
    assert int(client.expect(lambda f: f.type == frames.OUT).payload) == inside
    client.send(frames.INTERRUPT, number)
    assert client.finish(number).ending == "interrupted"


def test_a_spare_shell_can_be_set_aside(box, client):
    inside, _ = spare_of(box, client, "cd /tmp")
    number = client.start(frames.TERMINAL, "cd /usr; echo $$; until [ -e /tmp/go ]; do sleep 0.01; done; echo end")
    assert int(client.expect(lambda f: f.type == frames.OUT).payload) == inside
    client.take(number, aside=True)
    assert client.terminal("pwd").out == b"/tmp\n"
    client.terminal("touch /tmp/go")
    assert client.finish(number).out == b"end\n"
    inside, _ = spare_of(box, client)
    assert shell_of(client) == inside and client.terminal("pwd").out == b"/tmp\n"


@pytest.mark.parametrize("more", [{"env": {"A": "1"}}, {"cwd": "/tmp"}, {"interactive": True}])
def test_runs_with_options_get_a_new_shell(box, client, more):
    inside, _ = spare_of(box, client)
    assert shell_of(client, **more) != inside
    wait_until(lambda: inside not in box.shells(), "the spare shell is still there")


def test_a_traced_command_gets_a_new_shell(box, client):
    inside, _ = spare_of(box, client)
    reply = client.terminal("set -x; true $$")
    assert reply.err.startswith(b"+ true ") and int(reply.err.split()[-1]) != inside


def test_variables_of_a_claim_need_a_new_shell(box, client):
    inside, _ = spare_of(box, client)
    client.claim("a" * 26, env={"LATE": "1"})
    reply = client.terminal("echo $LATE $$").out.split()
    assert reply[0] == b"1" and int(reply[1]) != inside


def test_variables_that_act_at_the_start_of_a_shell(box, client):
    """Messages of bash before it reads its command belong to that command."""
    client.terminal("export LC_ALL=xx_YY")
    first = client.terminal("true")
    assert b"setlocale" in first.err
    inside, _ = box.spare()
    reply = client.terminal("echo $$")
    assert int(reply.out) == inside and reply.err == first.err
    box.spare()
    assert client.terminal("true", env={"LC_ALL": "C"}).err == b""


def replace_directory(here):
    (here / "d").rename(here / "old")
    (here / "d").mkdir()
    (here / "d" / "new").touch()


def remove_directory(here):
    (here / "d").rmdir()


def close_directory(here):
    (here / "d").chmod(0)


@pytest.mark.parametrize("change, out, err", [(replace_directory, b"new\n", b""), (remove_directory, b"", b"'/workspace/d' is gone"),
                                              (close_directory, b"", b"'/workspace/d' is gone")])
def test_a_replaced_directory_needs_a_new_shell(box, client, change, out, err):
    inside, outside = spare_of(box, client, "mkdir d; cd d")
    change(pathlib.Path("/proc", str(outside), "root", "workspace"))
    reply = client.terminal("ls | grep -vx -e old -e d; echo $$ >&2")
    assert reply.out == out and err in reply.err and int(reply.err.split()[-1]) != inside


# evidence: spare-shell
@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSTOP])
def test_a_signalled_spare_shell_is_replaced(box, client, signo):
    inside, outside = spare_of(box, client, "cd /tmp")
    os.kill(outside, signo)
    reply = client.terminal("pwd; echo $$")
    assert reply.out.split()[0] == b"/tmp" and int(reply.out.split()[1]) != inside and reply.err == b"" and reply.detail == ""
    assert inside not in box.shells()


# evidence: spare-shell
def test_a_spare_shell_that_dies_early_is_replaced(box, client):
    """A debugger stops the shell after it has received its command and before it begins."""
    inside, outside = spare_of(box, client)
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    assert trace(0x4206, outside, 0, 0) == 0 and trace(0x4207, outside, 0, 0) == 0  # PTRACE_SEIZE, PTRACE_INTERRUPT
    os.waitpid(outside, 0)
    number = client.start(frames.TERMINAL, "echo $$ >>runs; cat runs")
    client.ping()
    assert list(box.shells()) == [inside]
    os.kill(outside, signal.SIGKILL)
    os.waitpid(outside, 0)
    reply = client.finish(number)
    assert reply.ending == "ok" and len(reply.out.split()) == 1 and int(reply.out) != inside


def test_no_spare_shell_at_the_process_limit(box, client):
    spare_of(box, client)
    box.set_processes(511)
    reply = client.terminal("echo never")
    assert reply.ending == "refused" and "process limit (512)" in reply.detail and not box.shells()
    box.set_processes(20)
    spare_of(box, client)
    box.set_processes(510)  # includes the spare shell: without it there are 509, with room for a shell and a program
    assert client.terminal("echo runs").out == b"runs\n"


def test_no_spare_shell_while_a_cell_or_console_runs(box, client):
    inside, _ = spare_of(box, client)
    assert str(inside) not in client.execute("print(os.listdir('/proc'))").out.decode().split("'")
    box.spare(before=inside)
    number = client.number = client.number + 1
    client.send(frames.CONSOLE, number, {"rows": 24, "cols": 80, "command": ["/bin/sh", "-c", "while pgrep -x bash; do :; done"]})
    client.expect(lambda f: f.call == number and f.type == frames.END)


def test_no_process_of_a_spare_shell_is_left(box, client):
    def descriptors():
        client.ping()
        return len(os.listdir(f"/proc/{box.pid}/fd"))

    spare_of(box, client)
    before = descriptors()
    for _ in range(3):
        spare_of(box, client)
        os.kill(spare_of(box, client)[1], signal.SIGKILL)
        client.terminal("true", cwd="/tmp")
        inside, _ = box.spare()
        client.execute("pass")
        box.spare(before=inside)
    wait_until(lambda: descriptors() == before, "the descriptors of ended shells to close")


# Tries everything against a waiting shell from inside another, confined command.
REACH = r"""
import ctypes, os, time
def attempt(name, act):
    try:
        print(name, act(), flush=True)
    except OSError:
        print(name, 'refused', flush=True)
def write(path):
    with open(path, 'wb', buffering=0) as file:
        file.write(b'w')
while not os.path.exists('/tmp/spare'):
    time.sleep(0.01)
pid = int(open('/tmp/spare').read())
for fd in (1, 2, 196, 197, 198, 199):
    attempt(fd, lambda: write(f'/proc/{pid}/fd/{fd}'))
attempt('environ', lambda: open(f'/proc/{pid}/environ').read())
attempt('mem', lambda: open(f'/proc/{pid}/mem', 'r+b'))
attempt('ptrace', lambda: 'refused' if ctypes.CDLL(None).ptrace(16, pid, 0, 0) < 0 else 'worked')
os.rename('/tmp/log', '/tmp/done')
"""


# evidence: spare-shell
def test_other_processes_cannot_reach_a_spare_shell(box, client):
    box.write_file("reach.py", REACH)
    inside, outside = spare_of(box, client, "setsid /usr/bin/python3 reach.py >/tmp/log &")
    root = pathlib.Path("/proc", str(outside), "root")
    (root / "tmp/new").write_text(str(inside))
    (root / "tmp/new").rename(root / "tmp/spare")
    reply = client.terminal("until [ -e /tmp/done ]; do sleep 0.01; done; cat /tmp/done; echo $$").out.decode().split("\n")
    assert len(reply) == 11 and int(reply[9]) == inside
    assert all(line.endswith(" refused") for line in reply[:9]), reply
