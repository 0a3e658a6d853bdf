"""The kernel link (docs/protocol.md, section 2): one socket shared with PID 1, one JSON object per message."""

import fcntl
import json
import os
import select
import threading
from json.encoder import encode_basestring, encode_basestring_ascii

from .interrupts import interrupts

MESSAGE_MAX = 12 << 20  # LINK_MESSAGE_MAX in kernels/protocol.h
CODE_MESSAGE_MAX = 64 << 20  # CODE_BYTES_MAX, every byte escaped
# Above the numbers that a cell closes when it "closes all files" by hand (0 to 9, 0 to 99), below any usual nofile
# limit.
PRIVATE_FD = 200

READ_SIZE = 1 << 16
SHORT = 1 << 20  # characters: with every escape they still fit into a message

_scan_json = json.JSONDecoder().scan_once
_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Base64(bytes):
    """A string of a message that is ASCII without anything to escape: a picture is sent unchanged."""


def _value(value):
    if type(value) is Base64:
        return b'"%b"' % value
    if type(value) is str:  # the encoder for all of Unicode takes three times as long
        return (encode_basestring_ascii if value.isascii() else encode_basestring)(value).encode()
    return _to_json(value).encode()


def _object(fields):
    return b"{%b}" % b",".join([b"%b:%b" % (_value(name), _value(value)) for name, value in fields.items()])


def _message(op, call, fields):
    """A message as bytes, preceded by its length; `data` is a MIME bundle, whose entries may be Base64."""
    parts = [b'{"op":"%b","id":%d' % (op.encode(), call)]
    for name, value in fields.items():
        parts.append(b",%b:%b" % (_value(name), _object(value) if name == "data" else _value(value)))
    parts.append(b"}")
    size = sum(map(len, parts))
    if size > MESSAGE_MAX:
        raise TooLong
    return b"".join([size.to_bytes(4), *parts])


def _result(call, bundle):
    """A message as above; the fast path for that of most cells."""
    text = bundle.get("text/plain")
    if len(bundle) > 1 or type(text) is not str or len(text) > SHORT:
        return _message("result", call, {"data": bundle})
    body = b'{"op":"result","id":%d,"data":{"text/plain":%b}}' % (call, _value(text))
    return len(body).to_bytes(4) + body


def _done(call):
    body = b'{"op":"done","id":%d}' % call
    return len(body).to_bytes(4) + body


def private_fd(fd):
    """A duplicate with a number that cells do not hit and child processes do not inherit."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE_FD)
    except OSError:  # nofile is lower than that
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)


def _dial(address):
    """The descriptor of the kernel's end: `fd:N`, inherited, which no other process has."""
    inherited = int(address.removeprefix("fd:"))
    fd = private_fd(inherited)
    os.close(inherited)
    return fd


class NoCell(Exception):
    """There is no running cell that an event could belong to."""


class TooLong(Exception):
    """The message is too long for the link; nothing was sent."""


class Link:
    """Works only in the process that created it: in a forked child `event` does nothing."""

    def __init__(self, address, taken=None):
        """`taken`: a descriptor with a byte for each display and sync that PID 1 has processed; None = not supported."""
        self.fd = _dial(address)
        self._taken = None if taken is None else _dial(f"fd:{taken}")
        self._received = b""
        self._call = None
        self._prompts = 0
        self._owner = os.getpid()
        self._main_thread = threading.get_ident()
        self._lock = threading.Lock()  # threads of a cell may call display()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        os.close(self.fd)
        self.fd = -1

    @property
    def forked(self):
        """True in a child of the kernel, even if it was forked without Python's knowledge."""
        return self.fd < 0 or os.getpid() != self._owner

    def receive(self):
        """The next message, or None when PID 1 has closed the link or sends invalid data."""
        data = self._received = self._read(self._received, 4)
        if data is None:
            return None
        end = 4 + int.from_bytes(data[:4])
        if not 4 < end <= 4 + CODE_MESSAGE_MAX:
            return None
        data = self._read(data, end)
        if data is None:
            return None
        self._received = data[end:]
        try:
            return _scan_json(data[4:end].decode(), 0)[0]
        except (ValueError, StopIteration):
            return None

    def _read(self, data, size):
        """At least this many bytes, including those read before; None at the end of the link."""
        if len(data) >= size:
            return data
        pieces, missing = [data], size - len(data)
        while missing > 0:
            try:
                piece = os.read(self.fd, max(READ_SIZE, missing))
            except OSError:
                return None
            if not piece:
                return None
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    @property
    def waiting(self):
        """True if a message, or a part of one, has already been read."""
        return bool(self._received)

    def is_readable(self):
        """True if a message, or a part of one, has arrived, or the link has ended."""
        return self.waiting or bool(select.select([self.fd], [], [], 0)[0])

    def begin(self, call):
        """From here on events belong to this run."""
        with self._lock:
            self._call = call

    def event(self, op, **fields):
        """Send a display of the run. Later output comes after it."""
        if self.forked:
            return
        if threading.get_ident() != self._main_thread:
            self._event(op, fields)
        else:
            with interrupts:  # half a message, or a lock that stays locked, would break the kernel
                self._event(op, fields)

    def _event(self, op, fields):
        with self._lock:  # a thread's display must not slip in behind `done`
            if self._call is None:
                raise NoCell
            self._write(_message(op, self._call, fields))
            if self._taken is not None:
                os.read(self._taken, 1)  # later output comes after it

    def sync(self):
        """Makes PID 1 read the output so far before any later output."""
        if self._taken is not None and self._call is not None:
            try:
                self.event("sync")
            except NoCell:  # the cell has ended meanwhile
                pass

    def ask(self, prompt, password):
        """Sends a prompt of the running cell; returns the answer. An interrupt cancels the prompt."""
        if self.forked or threading.get_ident() != self._main_thread:
            raise EOFError("only the main thread of a cell can ask for input")
        self._prompts += 1
        number = self._prompts
        try:
            self._send_prompt(number, prompt=prompt, password=password)
            while True:
                if not self.waiting:
                    select.select([self.fd], [], [])
                with interrupts:
                    answer = self.receive()
                if answer is None:
                    os._exit(0)
                if answer.get("op") == "input" and answer.get("question") == number:
                    return answer["text"]
        except KeyboardInterrupt:
            self._send_prompt(number, cancel=True)
            raise

    def _send_prompt(self, number, **fields):
        with interrupts, self._lock:
            if self._call is not None:
                self._write(_message("input", self._call, {"question": number, **fields}))

    def done(self, result=None, error=None):
        """The end of the run, with its result (a bundle) and its error (fields), in one write."""
        with self._lock:
            call = self._call
            out = _result(call, result) if result else b""
            if error:
                out += _message("error", call, error)
            self._call = None
            self._write(out + _done(call))

    def variables(self, call, listing):
        """The answer to a look, between two cells."""
        self._write(_message("variables", call, listing))

    def answer(self, number, fields):
        """Sends a prompt of the running cell; returns the answer. An interrupt cancels the prompt."""
        self._write(_message("answer", number, fields))

    def _write(self, data):
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.fd, view):]
        except OSError:
            os._exit(0)  # PID 1 has closed the link, and nothing is left to read an error
