"""The gate in PID 1: DNS, addresses, listeners, and streams that it offers to the manager."""
import struct

import frames
import pytest

DENIED_ADDRESS = "127.64.0.1"
RULES = {"names": [{"name": "api.example.com", "ports": [[80, 80], [443, 443]]},
                   {"name": "*.example.org", "ports": [[443, 443]]},
                   {"name": "db", "ports": [[5432, 5433]]}], "hint": "Ask the operator."}
LOOKUP = """import socket, struct, sys
def ask(name, kind=1, tcp=False, raw=None):
    q = raw or struct.pack('>6H', 7, 0x0100, 1, 0, 0, 0) + b''.join(
        bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\\0' + struct.pack('>2H', kind, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(10)
    s.connect(('127.0.0.1', 53))
    s.sendall(struct.pack('>H', len(q)) + q if tcp else q)
    a = s.recv(600)
    a = a[2:] if tcp else a
    n = struct.unpack('>H', a[6:8])[0]
    return (a[3] & 15, socket.inet_ntoa(a[-4:]) if n else None)
def dial(host, port):
    s = socket.socket()
    s.settimeout(20)
    s.connect((ask(host)[1] if host[0].isalpha() else host, port))
    return s
"""


@pytest.fixture
def gate(client):
    client.claim("a" * 26)
    assert client.greeting["gate"] is True
    client.send(frames.GATE, 0, RULES)
    return client


def seen(client, type):
    return [f for f in client.waiting if f.type == type]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def python(client, program, background=False):
    return client.terminal(f"/usr/bin/python3 -c {quoted(LOOKUP + program)}" + (" >/tmp/out 2>&1 &" if background else ""))


def written(client):
    return client.terminal("until grep . /tmp/out; do read -t 0.01 <> <(:); done").out


class Offered:
    """A stream that PID 1 has opened."""

    def __init__(self, client):
        frame = client.expect(lambda f: f.type == frames.STREAM_OPEN)
        self.client, self.number, self.open = client, frame.call, frame.payload
        assert self.number >= 1 << 31

    def accept(self):
        self.client.send(frames.STREAM_ACCEPT, self.number)
        return self

    def refuse(self, cause):
        self.client.send(frames.STREAM_REFUSE, self.number, {"cause": cause})

    def data(self):
        return self.client.expect(lambda f: f.call == self.number and f.type == frames.STREAM_DATA).payload


def test_names_of_the_rules_have_addresses_of_their_own(gate):
    reply = python(gate, """for name, kind, tcp in (('api.example.com', 1, False), ('API.Example.com', 1, True), ('a.example.org', 1, False),
        ('b.example.org', 1, False), ('api.example.com', 28, False), ('api.example.com', 65, False), ('example.org', 1, False),
        ('files.example.net', 1, False), ('files.example.net', 28, True), ('localhost', 1, False), ('1.0.0.127.in-addr.arpa', 12, False),
        ('a b.example.org', 1, False)):
    print(*ask(name, kind, tcp))
""")
    assert reply.out.decode().splitlines() == [
        "0 127.64.0.2", "0 127.64.0.2", "0 127.64.0.3", "0 127.64.0.4", "0 None", "0 None", f"0 {DENIED_ADDRESS}",
        f"0 {DENIED_ADDRESS}", "0 None", "0 127.0.0.1", "3 None", "3 None"]


@pytest.mark.each_stream
def test_a_connection_is_offered_with_its_name_and_carries_bytes(gate):
    python(gate, "s = dial('db', 5433); s.sendall(b'question'); print(s.recv(100)); s.close()", background=True)
    offered = Offered(gate)
    assert offered.open == {"name": "db", "port": 5433}
    offered.accept()
    assert offered.data() == b"question"
    gate.send(frames.STREAM_DATA, offered.number, b"answer")
    gate.expect(lambda f: f.call == offered.number and f.type == frames.STREAM_END)
    gate.send(frames.STREAM_END, offered.number)
    assert written(gate) == b"b'answer'\n"


def test_other_names_are_refused_in_the_protocol_of_the_program(gate):
    reply = python(gate, """import ssl
s = dial('files.example.net', 80)
s.sendall(b'GET / HTTP/1.1\\r\\nHost: files.example.net\\r\\n\\r\\n')
print(s.makefile().read().replace('\\r', ''))
try: ssl.create_default_context().wrap_socket(dial('other.example.net', 443), server_hostname='other.example.net')
except ssl.SSLError as e: print(e.reason)
for host, port in (('files.example.net', 22), ('db', 80), ('127.64.0.99', 443)):
    try: dial(host, port)
    except OSError as e: print(type(e).__name__)
""")
    text = reply.out.decode()
    assert text.startswith("HTTP/1.1 403 Forbidden\n") and text.count("ConnectionRefusedError") == 3
    assert "refused the connection to files.example.net:80: no rule allows it. Ask the operator." in text
    assert "ALERT_ACCESS_DENIED" in text
    denied = [d for f in seen(gate, frames.GATE_DENIED) for d in f.payload["denied"]]
    assert {(d["name"], d["port"]) for d in denied} >= {("files.example.net", 80), ("other.example.net", 443), ("files.example.net", 0)}


@pytest.mark.parametrize("cause, status", (("denied", 403), ("not_found", 502), ("timeout", 504), ("limit", 503)))
def test_a_refusal_of_the_manager_is_passed_on(gate, cause, status):
    python(gate, "s = dial('api.example.com', 80); s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); print(s.recv(1000).split()[1])", background=True)
    Offered(gate).refuse(cause)
    assert written(gate) == f"b'{status}'\n".encode()


def test_the_next_manager_continues_with_the_same_addresses(box, gate):
    assert python(gate, "print(ask('db')[1])").out == b"127.64.0.2\n"
    gate.process.kill()
    client = box.attach(fence=2)
    # Until it has sent rules, connections wait.
    python(client, "s = dial('db', 5432); print('waits', flush=True); print(s.recv(10))", background=True)
    assert written(client) == b"waits\n"
    assert client.ping() == b"ping" and not seen(client, frames.STREAM_OPEN)
    client.send(frames.GATE, 0, RULES)
    offered = Offered(client).accept()
    client.send(frames.STREAM_DATA, offered.number, b"hi")
    assert python(client, "print(ask('db')[1])").out == b"127.64.0.2\n"


def test_rules_that_change_take_names_away(gate):
    assert python(gate, "print(ask('db')[1])").out == b"127.64.0.2\n"
    gate.send(frames.GATE, 0, {"names": [{"name": "*.example.org", "ports": [[1, 1]]}]})
    reply = python(gate, "print(ask('db')[1])\ntry: dial('127.64.0.2', 5432)\nexcept OSError as e: print(type(e).__name__)")
    assert reply.out.decode().split() == [DENIED_ADDRESS, "ConnectionRefusedError"]


def test_hostile_queries_are_survived(gate):
    reply = python(gate, """import os, random
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
random.seed(1)
head = struct.pack('>6H', 7, 0x0100, 1, 0, 0, 0)
for q in [b'', b'x', head, head + b'\\xc0\\x0c\\0\\1\\0\\1', head + b'\\x3f' + b'a' * 10,
          head + (b'\\x3f' + b'a' * 63) * 8 + b'\\0\\0\\1\\0\\1',
          struct.pack('>6H', 7, 0x8000, 1, 0, 0, 0) + b'\\1a\\0\\0\\1\\0\\1', struct.pack('>6H', 7, 0x2800, 1, 0, 0, 0), b'z' * 2000] + [
          random.randbytes(random.randrange(600)) for _ in range(2000)]:
    try: s.sendto(q, ('127.0.0.1', 53))
    except OSError: pass
connections = [socket.create_connection(('127.0.0.1', 53)) for _ in range(20)]
for c in connections:
    try: c.sendall(b'\\xff\\xff' + b'a' * 1000)
    except OSError: pass
for c in connections: c.close()
names = {ask(f'n{i}.example.org')[1] for i in range(1000)}
print(len(names), ask('db')[0])
""")
    assert reply.out == b"1000 0\n"
    assert gate.ping() == b"ping"


@pytest.mark.parametrize("rules", (
    b"", b"[]", b"{}", {"names": [{"name": "A.b", "ports": []}]}, {"names": [{"name": "a", "ports": [[2, 1]]}]},
    {"names": [{"name": "a", "ports": [[1, 17]]}]}, {"names": [{"name": "a", "ports": [[0, 1]]}]},
    {"names": [{"name": "a", "ports": [1]}]}, {"names": [{"name": "a", "ports": [[1, 1]]}] * 257}, {"names": [], "hint": "x" * 1001}))
def test_malformed_rules_end_the_connection(client, rules):
    client.send(frames.GATE, 0, rules)
    client.wait_closed()


def test_a_frame_for_an_unanswered_stream_is_a_violation(gate):
    python(gate, "dial('db', 5432).recv(1)", background=True)
    offered = Offered(gate)
    gate.send(frames.STREAM_CREDIT, offered.number, struct.pack(">I", 1))
    gate.wait_closed()
