"""PID 1 relays package indexes to an installer: requests on local ports go to the manager, and answers come back by
credit.
"""
import json
import struct

import frames
import pytest

INSTALL, GET, CANCEL, CREDIT, ANSWER, DATA, RELAY_END = range(40, 47)
frames.RAW.update({CANCEL, CREDIT, DATA})
WINDOW, REQUESTS_MAX = 256 << 10, 24

# Acts as an installer: raw HTTP by bash, so that the test controls every byte.
ASK = """ask() {{ exec 3<>/dev/tcp/127.0.0.1/$1; printf "$2" >&3; cat <&3; local status=$?; exec 3<&-; return $status; }}; {}; echo '{{}}' >&199"""


@pytest.fixture
def relay(make_box):
    """relay(script) starts an installer and returns (client, call); in the script, ask PORT TEXT sends a request."""

    def make(script, ports=(8701,)):
        box = make_box("--install", manifest={"installer": {"command": ["/bin/bash", "-c", ASK.format(script)], "installed": ["/bin/true"]}})
        client = box.attach(hello=False)
        client.hello()
        client.number += 1
        client.send(INSTALL, client.number, {"packages": {}, "timeout_ms": 20000, "relays": list(ports)})
        return client, client.number

    return make


def get(client):
    return client.expect(lambda f: f.type == GET)


def answer(client, number, status=200, body=b"", end=None, **fields):
    client.send(ANSWER, number, {"status": status, "headers": {}, **fields})
    if body:
        client.send(DATA, number, body)
    client.send(RELAY_END, number, end or {})


def test_a_request_is_relayed_and_answered(relay):
    client, call = relay(r'ask 8702 "GET /simple/x?y HTTP/1.1\r\nHost: h\r\nAccept: a/b\r\nAuthorization: Basic x\r\nRange: bytes=1-\r\n\r\n"',
                         ports=(8701, 8702))
    frame = get(client)
    assert frame.payload == {"port": 8702, "method": "GET", "target": "/simple/x?y", "headers": {"accept": "a/b", "range": "bytes=1-"}}
    answer(client, frame.call, body=b"hello", length=5, headers={"ETag": "e", "Bad": "a\r\nb", "x y": "z"})
    reply = client.finish(call)
    assert reply.ending == "ok", reply.err
    assert reply.out == b"HTTP/1.1 200 OK\r\nETag: e\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


def test_answers_without_a_length_are_chunked(relay):
    client, call = relay(r'ask 8701 "GET / HTTP/1.1\r\n\r\n"; ask 8701 "HEAD / HTTP/1.1\r\n\r\n"')
    frame = get(client)
    answer(client, frame.call, body=b"x" * 20)
    frame = get(client)
    assert frame.payload["method"] == "HEAD"
    answer(client, frame.call, length=7)
    out = client.finish(call).out
    assert b"Transfer-Encoding: chunked\r\n" in out and b"\r\n\r\n14\r\n" + b"x" * 20 + b"\r\n0\r\n\r\n" in out
    assert out.endswith(b"Content-Length: 7\r\nConnection: close\r\n\r\n")


# evidence: index-paths
@pytest.mark.parametrize("request_, status", [
    (r"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"405"), (r"CONNECT h:1 HTTP/1.1\r\n\r\n", b"405"), (r"GET / HTTP/1.0\r\n\r\n", b"505"),
    (r"GET http://h/ HTTP/1.1\r\n\r\n", b"400"), (r"GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"413"), (r"nonsense\r\n\r\n", b"400"),
    (r"GET / HTTP/1.1\r\nA: $(printf %09000d 0)\r\n\r\n", b"431")])
def test_requests_other_than_get_and_head_are_refused(relay, request_, status):
    client, call = relay(f'ask 8701 "{request_}"')
    reply = client.finish(call)
    assert reply.out.startswith(b"HTTP/1.1 " + status), reply.out
    assert not [f for f in client.waiting if f.type == GET]


def test_a_refusal_of_the_manager_is_passed_on(relay):
    client, call = relay(r'ask 8701 "GET /admin HTTP/1.1\r\n\r\n"')
    client.send(RELAY_END, get(client).call, {"status": 403, "error": "not yours\n"})
    out = client.finish(call).out
    assert out.startswith(b"HTTP/1.1 403 Forbidden\r\n") and out.endswith(b"\r\n\r\nnot yours\n")


def test_an_incomplete_answer_breaks_the_connection(relay):
    client, call = relay(r'ask 8701 "GET / HTTP/1.1\r\n\r\n" || echo broken')
    frame = get(client)
    answer(client, frame.call, body=b"half", end={"error": "lost"})
    assert client.finish(call).out.endswith(b"broken\n")


def test_credit_is_given_for_data_that_was_read(relay):
    """A client that reads nothing uses one window. A manager that sends more breaks the protocol."""
    client, call = relay(r'exec 3<>/dev/tcp/127.0.0.1/8701; printf "GET / HTTP/1.1\r\n\r\n" >&3; cat <&3 | wc -c')
    number = get(client).call
    client.send(ANSWER, number, {"status": 200, "headers": {}, "length": 8 << 20})
    sent = credited = 0
    while sent < 8 << 20:
        while sent - credited + 32768 > WINDOW:
            credited += struct.unpack(">I", client.expect(lambda f: f.type == CREDIT and f.call == number).payload)[0]
        client.send(DATA, number, b"x" * 32768)
        sent += 32768
    client.send(RELAY_END, number)
    assert int(client.finish(call).out) > 8 << 20


def test_a_client_that_disconnects_cancels_its_request(relay):
    client, call = relay(r'exec 3<>/dev/tcp/127.0.0.1/8701; printf "GET /1 HTTP/1.1\r\n\r\n" >&3; read line <&3; exec 3<&-; '
                         r'ask 8701 "GET /2 HTTP/1.1\r\n\r\n"')
    first = get(client)
    client.send(ANSWER, first.call, {"status": 200, "headers": {}, "length": 100})
    second = get(client)
    assert client.expect(lambda f: f.type == CANCEL).call == first.call
    client.send(DATA, first.call, b"x" * 100)  # sent before the cancel arrived
    answer(client, second.call, length=0)
    assert client.finish(call).ending == "ok"


def test_concurrent_requests_are_limited(relay):
    n = REQUESTS_MAX + 6
    client, call = relay(rf'for i in $(seq {n}); do ask 8701 "GET /$i HTTP/1.1\r\n\r\n" >/dev/null & done; wait')
    first = [get(client) for _ in range(REQUESTS_MAX)]
    assert client.ping() == b"ping" and not [f for f in client.waiting if f.type == GET]
    seen = {f.payload["target"] for f in first}
    for frame in first:
        answer(client, frame.call, length=0)
    for _ in range(n - REQUESTS_MAX):
        frame = get(client)
        seen.add(frame.payload["target"])
        answer(client, frame.call, length=0)
    assert len(seen) == n and client.finish(call).ending == "ok"


def test_connections_end_with_the_install(relay):
    client, call = relay(r'exec 3<>/dev/tcp/127.0.0.1/8701; printf "GET / HTTP/1.1\r\n\r\n" >&3; cat <&3')
    number = get(client).call
    client.send(frames.INTERRUPT, call)
    assert client.finish(call).ending == "interrupted"
    assert client.expect(lambda f: f.type == CANCEL).call == number
    client.number += 1  # the ports are free again
    client.send(INSTALL, client.number, {"packages": {}, "timeout_ms": 20000, "relays": [8701]})
    frame = get(client)
    client.send(frames.INTERRUPT, client.number)
    assert client.finish(client.number).ending == "interrupted" and frame.call > number


@pytest.mark.parametrize("relays", [list(range(9000, 9009)), [80], [70000], ["8701"]])
def test_ports_are_checked(relay, relays):
    client, call = relay("true", ports=relays)
    assert client.finish(call).ending == "refused"


@pytest.mark.parametrize("type, payload", [(DATA, b"x"), (ANSWER, b"[]"), (ANSWER, json.dumps({"status": 99}).encode())])
def test_a_manager_that_breaks_the_protocol_is_disconnected(relay, type, payload):
    client, _ = relay(r'ask 8701 "GET / HTTP/1.1\r\n\r\n"')
    client.send(type, get(client).call, payload)
    client.wait_closed()


def test_no_proxy_is_used_for_the_relay(relay):
    client, call = relay('echo "$NO_PROXY $no_proxy"')
    assert client.finish(call).out == b"127.0.0.1 127.0.0.1\n"
