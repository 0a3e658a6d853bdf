"""Streams: connections into a session's own ports, as bytes in both directions, by credit."""
import struct

import frames
import pytest

WINDOW, DATA_MAX, STREAMS_MAX = 64 << 10, 32 << 10, 128
# A server of the session for one connection; SERVE is what it does with `c`.
SERVER = """import os, socket
s = socket.socket({family})
s.bind(({address!r}, 0))
s.listen({backlog})
if os.fork():
    print(s.getsockname()[1], flush=True)
    os._exit(0)
os.close(1)
os.close(2)
c, _ = s.accept()
{serve}
"""


class Stream:
    def __init__(self, client, port):
        self.client = client
        self.received, self.sent = b"", 0  # sent: bytes without credit
        self.accepted = self.ended = False
        self.refused = None
        self.number = client.number = client.number + 1
        client.send(frames.STREAM_OPEN, self.number, {"port": port})

    def send(self, data):
        self.client.send(frames.STREAM_DATA, self.number, data)
        self.sent += len(data)

    def end(self):
        self.client.send(frames.STREAM_END, self.number)

    def credit(self, n):
        self.client.send(frames.STREAM_CREDIT, self.number, struct.pack(">I", n))

    def read(self, credit=True):
        frame = self.client.expect(lambda f: f.call == self.number)
        if frame.type == frames.STREAM_DATA:
            assert not self.ended and len(frame.payload) <= DATA_MAX
            self.received += frame.payload
            if credit:
                self.credit(len(frame.payload))
        elif frame.type == frames.STREAM_CREDIT:
            self.sent -= struct.unpack(">I", frame.payload)[0]
        elif frame.type == frames.STREAM_ACCEPT:
            self.accepted = True
        elif frame.type == frames.STREAM_END:
            self.ended = True
        else:
            assert frame.type == frames.STREAM_REFUSE, frame
            self.refused = frame.payload["cause"]
        return frame.type

    def until(self, kind):
        while self.read() != kind:
            pass
        return self


@pytest.fixture
def serve(client):
    """serve(what) starts a server in the session and returns its port."""

    def start(what, family="socket.AF_INET", address="127.0.0.1", backlog=1):
        program = SERVER.format(serve=what, family=family, address=address, backlog=backlog)
        reply = client.terminal(f"setsid /usr/bin/python3 -c {quoted(program)}")
        return int(reply.out)

    return start


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.mark.each_stream
def test_bytes_pass_in_both_directions_and_each_ends_by_itself(client, serve):
    assert client.greeting["streams"] is True
    stream = Stream(client, serve("data = b''\nwhile piece := c.recv(4096): data += piece\nc.sendall(data[::-1])"))
    content = bytes(range(256)) * 1024
    sent = 0
    stream.until(frames.STREAM_ACCEPT)
    while sent < len(content):
        while stream.sent + DATA_MAX > WINDOW:
            stream.read()
        stream.send(content[sent:sent + DATA_MAX])
        sent += DATA_MAX
    stream.end()
    assert stream.until(frames.STREAM_END).received == content[::-1]
    # Both directions have ended, so frames for it are from a time before that.
    stream.send(b"late")
    assert client.ping() == b"ping"


def test_a_server_on_ipv6_is_found_and_a_missing_one_is_refused(client, serve):
    assert Stream(client, serve("c.sendall(b'six')", "socket.AF_INET6", "::1")).until(frames.STREAM_END).received == b"six"
    assert Stream(client, 1).until(frames.STREAM_REFUSE).refused == "refused"


def test_a_connection_that_breaks_is_not_one_that_ends(client, serve):
    linger = "c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0')"
    stream = Stream(client, serve(f"c.recv(1)\n{linger}\nc.close()")).until(frames.STREAM_ACCEPT)
    stream.send(b"x")
    assert stream.until(frames.STREAM_REFUSE).refused == "reset" and not stream.ended
    port = serve("try: c.recv(1)\nexcept OSError as e: open('/tmp/seen', 'w').write(type(e).__name__)")
    stream = Stream(client, port).until(frames.STREAM_ACCEPT)
    client.send(frames.STREAM_REFUSE, stream.number, {"cause": "reset"})
    assert client.terminal("until [ -s /tmp/seen ]; do read -t 0.01 <> <(:); done; cat /tmp/seen").out == b"ConnectionResetError"


# evidence: streams
@pytest.mark.each_stream
def test_a_flood_waits_for_credit_and_delays_nothing(client, serve):
    stream = Stream(client, serve("while True: c.sendall(b'x' * 65536)")).until(frames.STREAM_ACCEPT)
    while len(stream.received) < WINDOW:
        stream.read(credit=False)
    assert client.terminal("echo beside").out == b"beside\n"
    assert not [f for f in client.waiting if f.call == stream.number], "the window is full"
    stream.credit(1000)
    stream.read(credit=False)
    assert len(stream.received) == WINDOW + 1000


# evidence: streams
def test_a_server_that_does_not_read_holds_one_window(client, serve):
    stream = Stream(client, serve("import time\ntime.sleep(1000)")).until(frames.STREAM_ACCEPT)
    accepted = 0
    # The sockets' own buffers take some; the rest stays without credit.
    while True:
        while stream.sent + DATA_MAX <= WINDOW:
            stream.send(bytes(DATA_MAX))
            accepted += DATA_MAX
        client.send(frames.PING, 0, b"%d" % accepted)
        frame = client.expect(lambda f: f.call == stream.number or f.type == frames.PONG)
        if frame.type == frames.PONG and frame.payload == b"%d" % accepted:
            break
        if frame.type == frames.STREAM_CREDIT:
            stream.sent -= struct.unpack(">I", frame.payload)[0]
    stream.send(bytes(WINDOW + 1 - stream.sent))
    client.wait_closed()


@pytest.mark.parametrize("type, payload", [
    (frames.STREAM_OPEN, {"port": 0}), (frames.STREAM_OPEN, {"port": 65536}), (frames.STREAM_OPEN, []),
    (frames.STREAM_CREDIT, struct.pack(">I", 1)), (frames.STREAM_CREDIT, b"123"), (frames.STREAM_ACCEPT, b""),
    (frames.STREAM_DATA, bytes(DATA_MAX + 1))])
def test_a_bad_frame_ends_the_connection(client, serve, type, payload):
    stream = Stream(client, serve("c.recv(1)")).until(frames.STREAM_ACCEPT)
    number = stream.number + 1 if type == frames.STREAM_OPEN else stream.number
    client.send(type, number, payload)
    client.wait_closed()


def test_the_number_of_streams_is_limited_and_a_new_server_starts_with_none(box, client, serve):
    port = serve("import time\ntime.sleep(1000)", backlog=2 * STREAMS_MAX)
    streams = [Stream(client, port) for _ in range(STREAMS_MAX)]
    assert all(s.until(frames.STREAM_ACCEPT).accepted for s in streams)
    assert Stream(client, port).until(frames.STREAM_REFUSE).refused == "limit"
    again = box.attach(fence=2)
    assert Stream(again, port).until(frames.STREAM_ACCEPT).accepted


def test_a_container_that_installs_has_no_streams(make_box):
    client = make_box("--install", manifest={"installer": {"command": ["/bin/true"], "installed": ["/bin/true"]}}).attach(hello=False)
    client.hello()
    assert Stream(client, 80).until(frames.STREAM_REFUSE).refused == "refused"
