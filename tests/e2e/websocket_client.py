"""A small WebSocket client (RFC 6455) on a blocking socket."""

import base64
import hashlib
import json
import os
import socket
import struct

import harness

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The server did not switch protocols."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body!r}")
        self.status = status
        self.body = body


class WebSocket:
    def __init__(self, host, port, target, connection=None, **fields):
        """`connection` is a connected socket, by default a new one."""
        self.socket = connection or socket.create_connection((host, port), timeout=harness.PATIENCE)
        self.input = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {target} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 f"Sec-WebSocket-Key: {key}", *(f"{name}: {value}" for name, value in fields.items())]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = int(self.input.readline().split()[1])
        head = {}
        while (line := self.input.readline().decode().strip()):
            name, _, value = line.partition(":")
            head[name.lower()] = value.strip()
        if status != 101:
            body = self.input.read(int(head.get("content-length", 0)))
            self.close()
            raise Refused(status, body)
        assert head["sec-websocket-accept"] == base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()

    def _send(self, opcode, data):
        mask = os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack(">BH", 0xFE, len(data)) if len(data) < 1 << 16 \
            else struct.pack(">BQ", 0xFF, len(data))
        repeated = (mask * (len(data) // 4 + 1))[:len(data)]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def send(self, data):
        """Bytes as a binary message, anything else as JSON."""
        if isinstance(data, bytes):
            self._send(BINARY, data)
        else:
            self._send(TEXT, json.dumps(data).encode())

    def receive(self):
        """The next message: bytes, JSON, or None at the end."""
        while True:
            head = self.input.read(2)
            if len(head) < 2:
                return None
            opcode, size = head[0] & 15, head[1] & 127
            if size == 126:
                size = struct.unpack(">H", self.input.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.input.read(8))[0]
            data = self.input.read(size)
            if opcode == PING:
                self._send(PONG, data)
            elif opcode == CLOSE:
                self.code = struct.unpack(">H", data[:2])[0] if data else 1005
                return None
            elif opcode in (TEXT, BINARY):
                return json.loads(data) if opcode == TEXT else data

    def read_until(self, words):
        """Output up to these bytes."""
        got = b""
        while words not in got:
            message = self.receive()
            assert message is not None, got
            got += message if isinstance(message, bytes) else b""
        return got

    def close(self):
        self.input.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
