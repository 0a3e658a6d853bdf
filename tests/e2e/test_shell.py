"""husk shell: a terminal in a session, at a real pseudo-terminal, beside the agent that uses the session."""

import pathlib
import signal
import subprocess
import time

import pytest
from harness import clean_env, husk_binary, store_rows, wait_until
from pty_program import Program


@pytest.fixture
def shell(own_session):
    """shell(*words) is husk shell with the session and these words at a terminal."""
    programs = []

    def open_one(*words, session=own_session.id, cwd=None, **more):
        env = clean_env(own_session.server.home, TERM="xterm-256color")
        programs.append(Program([husk_binary(), "shell", *(["--cwd", cwd] if cwd else []), session, *words], env, **more))
        return programs[-1]

    yield open_one
    for program in programs:
        program.close()


def memory_kb(pid):
    return int(pathlib.Path("/proc", str(pid), "status").read_text().split("VmRSS:")[1].split()[0])


def test_a_person_works_beside_the_agent(own_session, shell):
    own_session.shell("cd /tmp; export SEEN=agent").ok()
    person = shell(rows=30, cols=100)
    assert "~. on a new line" in person.until("/tmp$ ")
    person.type("stty size; echo $SEEN $TERM é$((1+1))\r")
    person.until("30 100\r\nagent xterm-256color é2\r\n")
    person.until("$ ")
    person.resize(40, 120)
    person.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo re\"\"sized\r")
    person.until("resized\r\n")

    # A full-screen program that fills the window.
    own_session.shell("seq 1000 >/tmp/numbers").ok()
    person.type("less /tmp/numbers\r")
    assert "\x1b[?1049h" in person.until("39\r\n")
    person.type("G")
    person.until("1000\r\n")
    person.type("q")
    person.until("\x1b[?1049l")
    person.until("$ ")

    person.type("sh -c 'echo re\"\"ady; exec sleep 1000'\r")
    person.until("ready")
    assert own_session.code("6 * 7").ok().value == "42" and own_session.shell("echo beside").ok().stdout == "beside\n"
    person.type("\x03")
    person.until("$ ")
    # Much more output than all flow-control windows together can hold.
    person.type("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo en\"\"d\r")
    assert len(person.until("end\r\n")) > 3_000_000
    person.until("$ ")
    person.type("exit 7\r")
    assert person.wait() == 7
    assert own_session.shell("pwd").ok().stdout == "/tmp\n"

    log = "SELECT ending, in_bytes FROM executions WHERE tool = 'shell'"
    wait_until(lambda: store_rows(own_session.server.env, log) == [("error", 0)], what="its end in the log")


def test_the_directory_of_a_shell(own_session, shell):
    own_session.shell("mkdir -p /tmp/below; cd /tmp").ok()
    for name, path in (("~", "/home/sandbox"), ("$HOME", "/home/sandbox"), ("below", "/tmp/below"), ("/usr", "/usr")):
        one = shell("pwd", cwd=name)
        assert (one.wait(), one.all) == (0, f"{path}\r\n".encode())
    bad = shell("pwd", cwd="~/nowhere")
    assert bad.wait() == 64 and b"The directory '/home/sandbox/nowhere' does not exist or cannot be entered." in bad.all


# evidence: consoles
def test_a_flood_delays_no_other_and_fills_no_memory(own_session, shell):
    flood = shell("--", "yes", "0123456789abcdef" * 4)
    flood.until("0123456789abcdef\r\n")
    # The terminal is not read: all output waits, within a window.
    before = memory_kb(own_session.server.process.pid)
    took = []
    for _ in range(20):
        began = time.monotonic()
        assert own_session.code("1").ok().value == "1"
        took.append(time.monotonic() - began)
    print(f"figure: a cell beside a flooded terminal takes {sorted(took)[10] * 1000:.1f} ms")
    assert memory_kb(own_session.server.process.pid) - before < 16384 and memory_kb(flood.process.pid) < 32768
    flood.type("~.")
    assert flood.wait() == 129


def test_every_exit_restores_the_terminal(own_session, shell):
    """wait() checks that the terminal is restored, however husk shell ends."""
    assert shell("sh", "-c", "exit 3").wait() == 3
    assert shell("--", "no-such-program").wait() == 127
    nobody = shell(session="a" * 26)
    assert nobody.wait() == 1 and b"not found" in nobody.all and b"husk ps" in nobody.all

    left = shell()
    left.until("$ ")
    left.type("stty raw -echo; printf '\\033[?1049h\\033[?25l'; echo re\"\"ady; exec sleep 1000\r")
    left.until("ready")
    left.type("~~.x\r~?")
    left.until("hangs up")
    left.type("\r~.")
    assert left.wait() == 129 and left.all.endswith(b"\x1b[?25h\x1b[?1049l\r\n")
    for signo in (signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV):
        ended = shell()
        ended.until("$ ")
        assert ended.settings() != ended.before
        ended.process.send_signal(signo)
        assert ended.wait() == (-signo if signo == signal.SIGSEGV else 128 + signo)

    done = subprocess.run([husk_binary(), "shell", own_session.id], env=clean_env(own_session.server.home), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 64 and "standard input is not a terminal" in done.stderr and "husk run" in done.stderr

    # The terminal ends with the server, and the next one takes the session over.
    orphan = shell()
    orphan.until("$ ")
    own_session.server.kill()
    assert orphan.wait() == 111 and b"server is gone" in orphan.all
    again = shell()
    again.until("$ ")
    again.type("echo $((40+2))\r")
    again.until("42\r\n")
    again.type("exit\r")
    assert again.wait() == 0
