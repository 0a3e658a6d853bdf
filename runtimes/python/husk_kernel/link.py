"""The kernel link (docs/protocol.md, section 2): one socket shared with PID 1, one JSON object a message."""

import fcntl
import json
import os
import threading

from .interrupts import interrupts

MESSAGE_MAX = 12 << 20  # LINK_MESSAGE_MAX in kernels/protocol.h
CODE_MESSAGE_MAX = 64 << 20  # CODE_BYTES_MAX, every byte escaped
VERSION = 1
# Above what a cell closes when it "closes all files" by hand (0 to 9, 0 to 99), below any sane nofile limit.
PRIVATE_FD = 200

_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def private_fd(fd):
    """A duplicate that cells do not stumble over and child processes do not inherit."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE_FD)
    except OSError:  # nofile is lower than that
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)


def _dial(address):
    """The descriptor of our end: `fd:N`, which we inherited and nobody else has."""
    inherited = int(address.removeprefix("fd:"))
    fd = private_fd(inherited)
    os.close(inherited)
    return fd


class NoCell(Exception):
    """No cell is running that an event could belong to."""


class TooLong(Exception):
    """The message is longer than the link carries; nothing was sent."""


class Link:
    """Speaks only for the process that made it: in a forked child `event` does nothing."""

    def __init__(self, address):
        self.fd = _dial(address)
        self._call = None
        self._owner = os.getpid()
        self._main_thread = threading.get_ident()
        self._lock = threading.Lock()  # threads of a cell may call display()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        os.close(self.fd)
        self.fd = -1

    @property
    def forked(self):
        """True in a child of the kernel, also in one that was forked behind Python's back."""
        return self.fd < 0 or os.getpid() != self._owner

    def hello(self, language_version):
        self._send({"op": "hello", "version": VERSION, "language_version": language_version})

    def receive(self):
        """The next message, or None when PID 1 is gone or talks nonsense."""
        size = int.from_bytes(self._read(4) or b"")
        if not 0 < size <= CODE_MESSAGE_MAX:
            return None
        try:
            return json.loads(self._read(size) or b"")
        except ValueError:
            return None

    def _read(self, size):
        data = bytearray()
        while len(data) < size:
            try:
                piece = os.read(self.fd, size - len(data))
            except OSError:
                return None
            if not piece:
                return None
            data += piece
        return data

    def begin(self, call):
        """From here on events belong to this call."""
        with self._lock:
            self._call = call

    def event(self, op, **fields):
        """Send a display, a result or an error of the running call."""
        if self.forked:
            return
        if threading.get_ident() != self._main_thread:
            self._event(op, fields)
        else:
            with interrupts:  # half a message, or a lock that stays locked, would be the end of the kernel
                self._event(op, fields)

    def _event(self, op, fields):
        with self._lock:  # a thread's display must not slip in behind `done`
            if self._call is None:
                raise NoCell
            self._send({"op": op, "id": self._call, **fields})

    def done(self):
        with self._lock:
            call, self._call = self._call, None
            self._send({"op": "done", "id": call})

    def _send(self, message):
        body = _to_json(message).encode()
        if len(body) > MESSAGE_MAX:
            raise TooLong
        self._write(len(body).to_bytes(4) + body)

    def _write(self, data):
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.fd, view):]
        except OSError:
            os._exit(0)  # PID 1 is gone, and with it everybody who could read an error
