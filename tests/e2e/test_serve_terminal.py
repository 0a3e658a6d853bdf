"""Terminals over a WebSocket."""

import json
import socket
import urllib.parse

import harness
import pytest
from websocket_client import Refused, WebSocket


@pytest.fixture(scope="module")
def session(serving):
    return serving.create()


def terminal(serving, session, key=None, **query):
    target = f"/v1/sessions/{session}/terminal?{urllib.parse.urlencode(query)}"
    return WebSocket("127.0.0.1", serving.port, target, Authorization=f"Bearer {key or serving.key}")


def processes(serving, session, name):
    found = serving.run(session, f"pgrep -c {name} || true", kind="command")
    return int(found["stdout"])


def test_a_shell_answers_and_ends_with_its_exit_code(serving, session):
    with terminal(serving, session, cols=101, rows=37) as shell:
        shell.send(b"stty size; echo \"a\"'b'\n")
        assert b"37 101" in shell.read_until(b"ab\r\n")
        shell.send({"size": {"rows": 40, "cols": 90}})
        shell.send(b"stty size\n")
        shell.read_until(b"40 90\r\n")
        shell.send(b"exit 3\n")
        while isinstance(message := shell.receive(), bytes):
            pass
        assert message["end"]["exit_code"] == 3
        assert shell.receive() is None and shell.code == 1000


def test_a_terminal_hangs_up_with_its_connection(serving, session):
    with terminal(serving, session) as shell:
        shell.send(b"exec -a hung_up_sleeper sleep 1000\n")
        harness.wait_until(lambda: processes(serving, session, "-f ^hung_up_sleeper") == 1, what="the program")
    harness.wait_until(lambda: processes(serving, session, "-f ^hung_up_sleeper") == 0, what="the hang-up")


def test_the_client_can_hang_up(serving, session):
    with terminal(serving, session) as shell:
        shell.send({"end": True})
        while shell.receive() is not None:
            pass


def test_a_program_instead_of_a_shell(serving, session):
    with terminal(serving, session, command=json.dumps(["printf", "%s-%s", "a b", "c"]), credit="true") as program:
        assert b"a b-c" in program.read_until(b"a b-c")
        assert program.receive()["end"]["exit_code"] == 0


def test_much_input_and_output_pass_at_the_speed_of_the_reader(serving, session):
    size = 3 << 20
    with terminal(serving, session, command=json.dumps(["sh", "-c", f"stty raw -echo; echo ready; head -c {size} | wc -c"])) as program:
        program.read_until(b"ready")
        for _ in range(size >> 15):
            program.send(b"x" * (1 << 15))
        program.read_until(str(size).encode())
    with terminal(serving, session, command=json.dumps(["sh", "-c", f"stty raw; head -c {size} /dev/zero | tr '\\0' y; echo done"])) as program:
        assert program.read_until(b"done").count(b"y") == size


def test_without_credit_the_output_stops(serving, session):
    command = json.dumps(["sh", "-c", "stty raw; head -c 4194304 /dev/zero | tr '\\0' y; echo done"])
    with terminal(serving, session, command=command, credit="true") as program:
        got = len(program.receive())
        program.socket.settimeout(2)
        with pytest.raises(socket.timeout):
            while True:
                got += len(program.receive())
        assert got < 1 << 20


@pytest.mark.parametrize("message", [b"", {"unknown": 1}, [1], {"size": {"rows": 0, "cols": 1}}])
def test_a_bad_message_ends_the_terminal(serving, session, message):
    with terminal(serving, session) as shell:
        shell._send(1, b"{" if message == b"" else json.dumps(message).encode())
        while shell.receive() is not None:
            pass
        assert shell.code == 1003


def test_refusals(serving, session):
    plain = serving.call("GET", f"/v1/sessions/{session}/terminal")
    assert plain.status == 426 and plain.fields["upgrade"] == "websocket"
    reader = serving.husk("keys", "add", "no-terminal", "--scope", "sessions:read").stdout.strip()
    with pytest.raises(Refused) as refused:
        terminal(serving, session, key=reader)
    assert refused.value.status == 403
    with pytest.raises(Refused) as refused:
        terminal(serving, "a" * 26)
    assert refused.value.status == 404
    with pytest.raises(Refused) as refused:
        terminal(serving, session, command="top")
    assert refused.value.status == 400
    assert serving.call("GET", "/healthz").status == 200


def test_a_key_has_a_limited_number_of_terminals_and_streams(serving, session):
    key = serving.husk("keys", "add", "many-streams").stdout.strip()
    own = serving.create(key=key)
    streams = [serving.events(f"/v1/sessions/{own}/events", key=key) for _ in range(32)]
    try:
        with pytest.raises(Refused) as refused:
            terminal(serving, own, key=key)
        assert refused.value.status == 429
        with terminal(serving, session):
            pass
    finally:
        for stream in streams:
            stream.close()
    serving.call("DELETE", f"/v1/sessions/{own}", key=key).ok()
