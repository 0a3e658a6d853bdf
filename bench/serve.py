"""A `husk serve` to measure, and clients that speak HTTP to it.

Like the client of mcp.py, a connection has one thread and blocking reads, and parses every answer. It is written for
this benchmark, because a client library would take longer than the server.
"""

import json
import re
import select
import signal
import socket
import struct
import subprocess
import time

from husk import Installation, children, text_of
from mcp import decode, encode
from results import Failed, milliseconds

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
WAIT = 30
PATIENCE = 60
# Several keys of one tenant use the same sessions with it.
CONVERSATION = "bench"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Connection:
    """A kept-alive connection to `address`, which is (host, port) or the path of a unix socket."""

    def __init__(self, address, key):
        self.socket = socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX)
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # with settimeout(), each call would start with a poll()
            self.socket.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", PATIENCE, 0))
        self.socket.connect(address)
        if isinstance(address, tuple):
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "localhost"
        self.key = key
        self.rest = b""

    def fileno(self):
        return self.socket.fileno()

    def head_of(self, method, path, **fields):
        """The head of a request up to the length of its body."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", f"Authorization: Bearer {self.key}", f"Husk-Conversation: {CONVERSATION}",
                 *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items()), "Content-Length: "]
        return "\r\n".join(lines).encode()

    def send_json(self, head, body):
        data = encode(body).encode()
        self.socket.sendall(b"%b%d\r\n\r\n%b" % (head, len(data), data))

    def send(self, method, path, body=None, **fields):
        """Sends a request; `body` is sent as JSON."""
        head = self.head_of(method, path, Content_Type="application/json", **fields)
        if body is None:
            self.socket.sendall(b"%b0\r\n\r\n" % head)
        else:
            self.send_json(head, body)

    def upload(self, path, content):
        self.socket.sendall(b"%b%d\r\n\r\n" % (self.head_of("PUT", path), len(content)))
        self.socket.sendall(content)
        status, body = self.read()
        if status not in (200, 201):
            raise Failed(f"PUT {path}: {status} {body}")

    def download(self, path, into):
        """Reads a file whose length is known into a bytearray."""
        self.send("GET", path)
        status, fields = self.head()
        if status != 200 or int(fields["content-length"]) != len(into):
            raise Failed(f"GET {path}: {status} {fields}")
        at, view = len(self.rest), memoryview(into)
        view[:at], self.rest = self.rest, b""
        while at < len(into):
            n = self.socket.recv_into(view[at:])
            if not n:
                raise Failed("the server has closed a connection")
            at += n

    def receive(self):
        got = self.socket.recv(1 << 16)  # a larger buffer would be mapped and unmapped for each call
        if not got:
            raise Failed("the server has closed a connection")
        self.rest += got

    def head(self):
        """Reads the status and the fields of an answer; names of fields are in lower case."""
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.receive()
        status, *lines = self.rest[:end].decode().split("\r\n")
        self.rest = self.rest[end + 4:]
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return int(status.split()[1]), fields

    def read(self):
        """Reads an answer with a length; returns its status and its parsed body."""
        while (end := self.rest.find(b"\r\n\r\n") + 4) < 4:
            self.receive()
        length = LENGTH.search(self.rest, 0, end)
        end_of_body = end + (int(length[1]) if length else 0)
        while len(self.rest) < end_of_body:
            self.receive()
        answer, self.rest = self.rest[:end_of_body], self.rest[end_of_body:]
        return int(answer[9:12]), decode(answer[end:]) if end_of_body > end else None

    def close(self):
        self.socket.close()


class Face:
    """A way to run cells over a connection: `send()` starts one, `receive()` reads and checks its answer. The fields of
    its requests are the same each time, so their text is made once.
    """

    def __init__(self, connection, session):
        self.connection, self.session = connection, session
        self.head = self.make_head()

    def timed(self, code, expect):
        """Milliseconds from the code to the parsed answer, which is then checked."""
        began = time.perf_counter()
        self.send(code)
        status, body = self.connection.read()
        took = milliseconds(began)
        self.check(status, body, expect)
        return took

    def fileno(self):
        return self.connection.fileno()

    def receive(self, expect):
        self.check(*self.connection.read(), expect)


class Rest(Face):
    def make_head(self):
        return self.connection.head_of("POST", f"/v1/sessions/{self.session}/runs", Content_Type="application/json", Prefer=f"wait={WAIT}")

    def send(self, code):
        self.connection.send_json(self.head, {"text": code})

    def check(self, status, body, expect):
        if status != 200 or body["ending"] != "ok" or body["result"] != {"text/plain": expect}:
            raise Failed(f"a run over REST failed: {status} {json.dumps(body)[:2000]}")


class Mcp(Face):
    """The newest revision of MCP, which has no session ids."""

    number = 0

    def make_head(self):
        return self.connection.head_of("POST", "/mcp", Content_Type="application/json", Accept="application/json, text/event-stream",
                                       MCP_Protocol_Version=MODERN, Mcp_Method="tools/call", Mcp_Name="execute_code")

    def send(self, code):
        self.number += 1
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientInfo": {"name": "bench", "version": "1"}, f"{META}clientCapabilities": {}}
        message = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call",
                   "params": {"name": "execute_code", "arguments": {"session_id": self.session, "code": code}, "_meta": meta}}
        self.connection.send_json(self.head, message)

    def check(self, status, body, expect):
        if status != 200 or body.get("id") != self.number or "result" not in body:
            raise Failed(f"execute_code over HTTP failed: {status} {json.dumps(body)[:2000]}")
        result = body["result"]
        if result["_meta"]["dev.husk/result"]["ending"] != "ok" or text_of(result).split()[-1] != expect:
            raise Failed(f"execute_code over HTTP ended badly: {json.dumps(result)[:2000]}")


class Events(Connection):
    """A stream of server-sent events."""

    def __init__(self, address, key, path, **fields):
        super().__init__(address, key)
        self.send("GET", path, Accept="text/event-stream", **fields)
        status, _ = self.head()
        if status != 200:
            raise Failed(f"{path}: status {status}: {self.rest[:500]!r}")
        self.pieces = [self.rest]

    def take(self):
        """Receives more of the stream. True if it holds the last event, run.ended."""
        self.rest = self.pieces[-1][-32:]
        before = len(self.rest)
        self.receive()
        self.pieces.append(self.rest[before:])
        return b"event: run.ended" in self.rest

    def output(self):
        """All output of the run, from the events of the stream."""
        found = []
        for event in re.findall(rb"^data: (.*)$", unchunked(b"".join(self.pieces)), re.MULTILINE):
            data = json.loads(event)
            if data["event"] == "gap":
                raise Failed("a reader of events got a gap")
            if data["event"] == "run.output":
                found.append(data["text"])
        return "".join(found)


def unchunked(data):
    """The complete chunks of a chunked body."""
    found, at = [], 0
    while (end := data.find(b"\r\n", at)) >= 0:
        length = int(data[at:end], 16)
        found.append(data[end + 2:end + 2 + length])
        at = end + 2 + length + 2
    return b"".join(found)


class Serve(Installation):
    """A `husk serve` on a free port and a unix socket. It ends with all its sessions."""

    def __init__(self, binary, home, **settings):
        super().__init__(binary, home, settings)
        self.socket = str(self.home / "http.sock")
        began = time.perf_counter()
        with open(self.stderr, "ab") as stderr:
            self.process = subprocess.Popen([self.binary, "serve", "--listen", "127.0.0.1:0", "--unix", self.socket], env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True)
        lines = list(self.greeting())
        self.start_ms = milliseconds(began)
        self.address = ("127.0.0.1", int(re.search(r"http://127\.0\.0\.1:(\d+)", "".join(lines)).group(1)))
        self.key = (self.home / "state" / "husk" / "serve" / "key").read_text().strip()

    def greeting(self):
        for line in self.process.stdout:
            yield line
            if line.startswith("curl "):
                return
        raise Failed(f"husk serve has ended: {self.last_words()}")

    @property
    def pid(self):
        return self.process.pid

    def helpers(self):
        return children(self.pid)

    def call(self, method, path, body=None, **fields):
        connection = Connection(self.address, self.key)
        connection.send(method, path, body, **fields)
        status, found = connection.read()
        connection.close()
        if not 200 <= status < 300:
            raise Failed(f"{method} {path}: {status} {json.dumps(found)[:2000]}")
        return found

    def session(self, **body):
        return self.call("POST", "/v1/sessions", {"language": "python", "network": False, **body})["id"]

    def stop_session(self, session):
        self.call("DELETE", f"/v1/sessions/{session}")

    def add_key(self, name):
        done = self.run_verb("keys", "add", name)
        if done.returncode != 0:
            raise Failed(f"husk keys add: {done.stderr}")
        return done.stdout.strip()

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.process.stdout.close()
        self.run_verb("stop", "--all")

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()


def rate(faces, seconds, code, expect):
    """Returns the number of calls and the seconds that they took. Each connection always has one call in progress."""
    poll, by_number = select.poll(), {face.fileno(): face for face in faces}
    count, began = 0, time.perf_counter()
    for face in faces:
        poll.register(face.fileno(), select.POLLIN)
        face.send(code)
    running = len(faces)
    while running:
        for number, _ in poll.poll(PATIENCE * 1000):
            by_number[number].receive(expect)
            count += 1
            if time.perf_counter() - began < seconds:
                by_number[number].send(code)
            else:
                running -= 1
    return count, time.perf_counter() - began


def read_all(readers):
    """Reads streams until each has its last event."""
    poll, by_number = select.poll(), {reader.fileno(): reader for reader in readers}
    for reader in readers:
        poll.register(reader.fileno(), select.POLLIN)
    while by_number:
        for number, _ in poll.poll(PATIENCE * 1000):
            if by_number[number].take():
                poll.unregister(number)
                del by_number[number]
