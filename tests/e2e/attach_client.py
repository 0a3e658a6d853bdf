"""A program that attaches to a running server, as docs/protocol.md describes in section 3."""

import itertools
import json
import os
import pathlib
import socket
import struct

HELLO, CALL, MORE, CANCEL, INTERRUPT, NOTE, BYTES, ERR_BYTES, ANSWER = range(1, 10)
PIECE = 256 << 10
PATIENCE = 60


class Refused(AssertionError):
    """A call failed; `fail` is the server's answer."""

    def __init__(self, fail):
        super().__init__(fail["message"])
        self.fail = fail


def sockets(home):
    return sorted((pathlib.Path(home) / "state" / "husk" / "attach").glob("*.sock"))


class Attached:
    def __init__(self, path, session=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        folder = os.open(pathlib.Path(path).parent, os.O_PATH)  # the path may be too long for a socket address
        try:
            self.socket.connect(f"/proc/self/fd/{folder}/{pathlib.Path(path).name}")
        finally:
            os.close(folder)
        self.numbers = itertools.count(1)
        self.pieces = {}
        self.live = {}  # call -> {BYTES: …, ERR_BYTES: …}
        self.answers = {}
        self.send(HELLO, 0, {"version": 1, **({"session": session} if session else {})})
        self.hello = self.read()[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, call, message=None):
        text = b"" if message is None else json.dumps(message).encode()
        while len(text) > PIECE:
            self.socket.sendall(struct.pack(">IBI", PIECE, MORE, call) + text[:PIECE])
            text = text[PIECE:]
        self.socket.sendall(struct.pack(">IBI", len(text), kind, call) + text)

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            got = self.socket.recv(n - len(data))
            if not got:
                raise EOFError
            data += got
        return data

    def read(self):
        """Returns the next whole message, joined from its frames: (kind, call, message or bytes)."""
        while True:
            length, kind, call = struct.unpack(">IBI", self._exactly(9))
            assert length <= PIECE
            payload = self.pieces.pop(call, b"") + self._exactly(length)
            if kind == MORE:
                self.pieces[call] = payload
            else:
                return kind, call, payload if kind in (BYTES, ERR_BYTES) else json.loads(payload)

    def start(self, op, **fields):
        number = next(self.numbers)
        self.live[number] = {BYTES: b"", ERR_BYTES: b""}
        self.send(CALL, number, {"op": op, **fields})
        return number

    def _take(self):
        kind, call, message = self.read()
        if kind == ANSWER:
            self.answers[call] = message
        elif kind in (BYTES, ERR_BYTES):
            self.live[call][kind] += message

    def wait_live(self, number, text):
        while text not in self.live[number][BYTES]:
            self._take()

    def answer(self, number):
        while number not in self.answers:
            self._take()
        message = self.answers.pop(number)
        if "fail" in message:
            raise Refused(message["fail"])
        return message["result"]

    def call(self, op, **fields):
        return self.answer(self.start(op, **fields))

    def run(self, session, text, kind="code", **more):
        return self.call("run", kind=kind, session=session, text=text, **more)
