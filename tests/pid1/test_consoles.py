"""Terminals for people: bytes are passed on unchanged, in both directions, by credit."""
import hashlib
import os
import pathlib
import signal
import struct

import frames
import pytest

OUT_WINDOW, KEYS_WINDOW = 256 << 10, 64 << 10


class Console:
    def __init__(self, client, *command, rows=24, cols=80, **more):
        self.client = client
        self.shown = self.errors = b""
        self.typed = 0  # bytes for which no credit came back yet
        self.end = None
        self.number = client.number = client.number + 1
        client.send(frames.CONSOLE, self.number, {"rows": rows, "cols": cols, **({"command": command} if command else {}), **more})

    def type(self, text):
        self.client.send(frames.CONSOLE_DATA, self.number, text)
        self.typed += len(text)

    def credit(self, n):
        self.client.send(frames.CREDIT, self.number, struct.pack(">I", n))

    def read(self, credit=True):
        frame = self.client.expect(lambda f: f.call == self.number)
        if frame.type in (frames.CONSOLE_DATA, frames.CONSOLE_ERR):
            if frame.type == frames.CONSOLE_DATA:
                self.shown += frame.payload
            else:
                self.errors += frame.payload
            if credit:
                self.credit(len(frame.payload))
        elif frame.type == frames.CREDIT:
            self.typed -= struct.unpack(">I", frame.payload)[0]
        else:
            assert frame.type == frames.END, frame
            self.end = frame.payload

    def until(self, text):
        """Returns all output up to this text."""
        while text not in self.shown:
            assert not self.end, (self.end, self.shown)
            self.read()
        before, self.shown = self.shown.split(text, 1)
        return before + text

    def finish(self):
        while not self.end:
            self.read()
        return self.end


@pytest.fixture
def plain(box):
    """A shell without start-up files."""
    return lambda client, **more: Console(client, "bash", "--noprofile", "--norc", **more)


# evidence: consoles
def test_a_console_is_a_usable_terminal(client, plain):
    assert client.greeting["consoles"] == 4
    client.terminal("cd /tmp; export FROM_COMMAND=yes")
    shell = plain(client, rows=30, cols=100, term="vt100")
    shell.type(b"tty >/dev/null && stty size; pwd; echo $FROM_COMMAND $TERM $((1+1))x; cat /proc/self/oom_score_adj; nice;"
               b" grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status\r")
    assert b"30 100\r\n/tmp\r\nyes vt100 2x\r\n1000\r\n5\r\n" in shell.until(b"NoNewPrivs:\t1\r\nSeccomp:\t2\r\n")
    shell.type("trap 'echo size $(stty size)' WINCH; echo $((2+1))\u00fc\r".encode())
    shell.until("3\u00fc\r\n".encode())
    shell.until(b"$ ")
    client.send(frames.CONSOLE_SIZE, shell.number, {"rows": 50, "cols": 132})
    shell.type(b"\r")
    shell.until(b"size 50 132")
    shell.until(b"$ ")
    shell.type(b"sh -c 'echo re\"\"ady; exec sleep 1000'\r")
    shell.until(b"ready")
    assert client.terminal("echo beside").out == b"beside\n" and client.execute("print(1)").out == b"1\n"
    shell.type(b"\x03")
    shell.until(b"^C")
    shell.until(b"$ ")
    shell.type(b"cd /; export FROM_COMMAND=no; exit 7\r")
    end = shell.finish()
    assert end["ending"] == "error" and end["exit_code"] == 7 and shell.typed == 0
    assert end["stdout_bytes"] > 100
    assert client.terminal("pwd; echo $FROM_COMMAND").out == b"/tmp\nyes\n", "it hands nothing on"


def test_the_end_of_a_command_is_reported(client):
    says = Console(client, "printf", "%s\\n", "two words", "$HOME")
    assert says.finish()["exit_code"] == 0 and says.shown == b"two words\r\n$HOME\r\n"
    for unknown in ("no-such-terminal", "../../x", ""):
        kind = Console(client, "sh", "-c", "echo $TERM", term=unknown)
        assert kind.finish()["exit_code"] == 0 and kind.shown == b"xterm-256color\r\n"
    assert Console(client, "no-such-program").finish()["exit_code"] == 127
    killed = Console(client, "bash", "-c", "kill -9 $$").finish()
    assert killed["signal"] == 9 and killed["exit_code"] == 137
    late = Console(client, "bash", "-c", "seq 20000; (trap '' HUP; exec yes) & exit 3")
    assert late.finish()["exit_code"] == 3 and late.shown.startswith(b"1\r\n2\r\n") and b"\r\n19999\r\n20000\r\n" in late.shown
    for bad in ({"rows": 0, "cols": 80}, {"rows": 24}, {"rows": 24, "cols": 5000}, {"rows": 24, "cols": 80, "command": []},
                {"rows": 24, "cols": 80, "command": [1]}):
        client.number += 1
        client.send(frames.CONSOLE, client.number, bad)
        assert client.finish(client.number).ending == "refused"


# evidence: consoles
@pytest.mark.each_stream
def test_a_flood_waits_for_credit_without_delaying_others(box, client):
    flood = Console(client, "yes", "0123456789abcdef")
    while len(flood.shown) < OUT_WINDOW:
        flood.read(credit=False)
    for _ in range(3):
        assert client.terminal("echo beside").out == b"beside\n"
    assert not [f for f in client.waiting if f.call == flood.number], "the window is full"
    flood.credit(1000)
    flood.read(credit=False)
    assert len(flood.shown) == OUT_WINDOW + 1000
    # With endless credit, runs and copies still get their turn.
    flood.credit(OUT_WINDOW)
    numbers = [client.start(frames.TERMINAL, f"echo {i}") for i in range(5)]
    number = client.start_files(frames.EXPORT, {"path": "/usr/share/common-licenses"})
    ends = set()
    while len(ends) < 6:
        frame = client.read_frame()
        if frame.type == frames.CONSOLE_DATA:
            flood.credit(len(frame.payload))
        elif frame.type == frames.END:
            ends.add(frame.call)
    assert ends == {*numbers, number}
    status = pathlib.Path("/proc", str(box.pid), "status").read_text()
    assert int(status.split("VmRSS:")[1].split()[0]) < 8000
    client.send(frames.INTERRUPT, flood.number)
    assert flood.finish()["ending"] == "interrupted"


# evidence: consoles
def test_input_that_is_not_read_is_held_back(box, client):
    quiet = Console(client, "bash", "-c", "stty raw -echo; echo ready; read -r -N 1 x </dev/null; sleep 1000")
    quiet.until(b"ready")
    for _ in range(4):
        quiet.type(b"x" * (16 << 10))
    assert client.ping() and quiet.typed == KEYS_WINDOW
    taker = Console(client, "bash", "-c", "stty raw -echo; echo ready; head -c 200000 | md5sum")
    taker.until(b"ready")
    data = os.urandom(200000)
    for at in range(0, len(data), 10000):
        while taker.typed + 10000 > KEYS_WINDOW:
            taker.read()
        taker.type(data[at:at + 10000])
    assert taker.finish()["exit_code"] == 0
    assert hashlib.md5(data).hexdigest().encode() in taker.shown
    quiet.type(b"more than the window")
    client.wait_closed()
    assert box.attach().terminal("echo fine").out == b"fine\n"


# evidence: consoles
@pytest.mark.each_stream
def test_a_hang_up_ends_the_program(box, client, plain):
    """The controller hangs up, or its stream ends. Processes that ignore the signal survive, except the shell
    itself.
    """
    shell = Console(client, "bash", "-c", "trap 'echo hung up >/tmp/hup; exit 5' HUP; echo ready; while :; do sleep 0.05; done")
    shell.until(b"ready")
    client.send(frames.INTERRUPT, shell.number)
    end = shell.finish()
    assert end["ending"] == "interrupted" and end["exit_code"] == 5
    assert client.terminal("cat /tmp/hup").out == b"hung up\n"
    stubborn = Console(client, "bash", "-c", "trap '' HUP; echo ready; while :; do sleep 0.05; done")
    stubborn.until(b"ready")
    client.send(frames.INTERRUPT, stubborn.number)
    assert stubborn.finish()["signal"] == 9

    orphan = Console(client, "bash", "-c", "trap '' HUP; sleep 1001 & trap 'echo hung up again >/tmp/hup; exit 5' HUP; echo ready;"
                     " while :; do read -t 0.05 x; done")
    orphan.until(b"ready")
    client.process.kill()
    client = box.attach(fence=2)
    assert client.greeting["calls"] == [], "it is not replayed"
    assert client.terminal("until grep -q again /tmp/hup; do sleep 0.05; done; pgrep -fc '^sleep 1001'").out == b"1\n"


def test_the_number_of_consoles_is_limited(box, client, plain):
    shells = [plain(client) for _ in range(4)]
    assert "terminal limit is reached" in plain(client).finish()["detail"]
    client.send(frames.INTERRUPT, shells[0].number)
    shells[0].finish()
    box.set_processes(512)
    full = plain(client).finish()
    assert full["ending"] == "refused" and "process limit" in full["detail"]
    client.send(frames.CONSOLE_SIZE, shells[1].number, {"rows": "many"})
    client.wait_closed()


# --- programs with pipes


def program(client, script, *arguments, **more):
    return Console(client, "bash", "-c", script, "bash", *arguments, pipes=True, **more)


def send_all(console, data):
    """Sends data within the console's credit, like the manager."""
    for at in range(0, len(data), 16 << 10):
        piece = data[at:at + (16 << 10)]
        while console.typed + len(piece) > KEYS_WINDOW:
            console.read()
        console.type(piece)
    console.type(b"")


def test_a_program_has_three_pipes(client):
    assert client.greeting["programs"] is True
    one = program(client, 'echo "$PWD $X $1"; echo problem >&2; [ -t 0 ] || echo pipe; wc -c; exit 3', "an argument", cwd="/tmp", env={"X": "y"})
    data = os.urandom(300_000)
    send_all(one, data)
    end = one.finish()
    assert (end["ending"], end["exit_code"], one.shown) == ("error", 3, b"/tmp y an argument\npipe\n300000\n")
    assert one.errors == b"problem\n" and end["stdout_bytes"] == len(one.shown + one.errors)
    echo = program(client, "exec cat")
    send_all(echo, data)
    assert echo.finish()["exit_code"] == 0 and echo.shown == data
    bad = Console(client, pipes=True)
    assert bad.finish()["ending"] == "refused", "there is no program"


def test_a_console_starts_in_its_directory(client):
    """~ and $HOME are the home directory, and a relative path is below the last command's, as for commands."""
    client.terminal("mkdir -p a/b; cd a")
    for cwd in ("~", "$HOME", "${HOME}/.", "~/."):
        one = program(client, "pwd -P", cwd=cwd)
        assert one.finish()["exit_code"] == 0 and one.shown + one.errors == b"/home/sandbox\n"
    one = program(client, "pwd", cwd="b")
    assert one.finish()["exit_code"] == 0 and one.shown == b"/workspace/a/b\n"
    for cwd in ("/nowhere", "~x", "~/nowhere"):
        end = program(client, "touch ran", cwd=cwd).finish()
        assert end["ending"] == "refused" and end["cause"] == "no_directory" and "does not exist or cannot be entered" in end["detail"], end
    assert client.terminal("ls").out == b"b\n"


def test_a_program_that_does_not_read_delays_no_other(client):
    deaf = program(client, "exec <&-; echo closed; read -r x <&2; sleep 0.2; exit 4")
    deaf.until(b"closed\n")
    send_all(deaf, bytes(200_000))
    assert deaf.finish()["exit_code"] == 4
    silent = program(client, "exec >&- 2>&-; read -r x; exit 5")
    silent.type(b"x\n")
    assert silent.finish()["exit_code"] == 5


def test_output_of_a_program_needs_credit(client):
    flood = program(client, "yes & yes >&2")
    while len(flood.shown) + len(flood.errors) < OUT_WINDOW:
        flood.read(credit=False)
    assert client.terminal("echo beside").out == b"beside\n"
    assert not [f for f in client.waiting if f.call == flood.number], "the window is full"
    client.send(frames.INTERRUPT, flood.number)
    end = flood.finish()
    assert end["ending"] == "interrupted" and end["signal"] == signal.SIGHUP
    assert client.terminal("pgrep -c yes").out == b"0\n", "what it had started in its group is gone too"


def test_signals_reach_the_program_and_its_group(client):
    one = program(client, 'trap "echo got it; exit 9" INT; sleep 1000 & echo began; wait')
    one.until(b"began\n")
    client.send(frames.CONSOLE_SIGNAL, one.number, bytes([signal.SIGINT]))
    assert one.finish()["exit_code"] == 9 and one.shown == b"got it\n"
    plain = program(client, "echo began; exec sleep 1000")
    plain.until(b"began\n")
    client.send(frames.CONSOLE_SIGNAL, plain.number, bytes([signal.SIGTERM]))
    end = plain.finish()
    assert end["signal"] == signal.SIGTERM and end["exit_code"] == 143
    client.send(frames.CONSOLE_SIGNAL, plain.number, bytes([signal.SIGTERM]))  # it has ended, so nothing happens
    assert client.terminal("echo here").out == b"here\n"


@pytest.mark.parametrize("payload", [b"", bytes([9]), bytes([19])])
def test_other_signals_break_the_protocol(box, client, payload):
    client.send(frames.CONSOLE_SIGNAL, 1, payload)
    client.wait_closed()
