"""The kernel link (docs/protocol.md, section 2): one socket shared with PID 1, one JSON object per message."""

import _socket
import fcntl
import json
import os
import select
import sys
import threading
from json.encoder import encode_basestring, encode_basestring_ascii

from .interrupts import interrupts

MESSAGE_MAX = 12 << 20  # LINK_MESSAGE_MAX in kernels/protocol.h
CODE_MESSAGE_MAX = 64 << 20  # CODE_BYTES_MAX with every byte escaped
# Above the numbers that a cell usually closes to "close all files" (0 to 9, 0 to 99), and below any usual nofile limit.
PRIVATE_FD = 200

READ_SIZE = 1 << 16
SHORT = 1 << 20  # characters; they fit into a message even if all are escaped

_scan_json = json.JSONDecoder().scan_once
_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Base64(bytes):
    """An ASCII string of a message that needs no escaping. A picture is sent this way, unchanged."""


def _value(value):
    if type(value) is Base64:
        return b'"%b"' % value
    if type(value) is str:  # the encoder for all of Unicode takes three times as long
        return (encode_basestring_ascii if value.isascii() else encode_basestring)(value).encode()
    return _to_json(value).encode()


def _object(fields):
    return b"{%b}" % b",".join([b"%b:%b" % (_value(name), _value(value)) for name, value in fields.items()])


def _message(op, call, fields):
    """Return a message as bytes, preceded by its length. The field `data` is a MIME bundle, whose entries may be
    Base64.
    """
    parts = [b'{"op":"%b","id":%d' % (op.encode(), call)]
    for name, value in fields.items():
        parts.append(b",%b:%b" % (_value(name), _object(value) if name == "data" else _value(value)))
    parts.append(b"}")
    size = sum(map(len, parts))
    if size > MESSAGE_MAX:
        raise TooLong
    return b"".join([size.to_bytes(4), *parts])


def private_fd(fd):
    """Duplicate a descriptor to a number that cells do not close; child processes do not inherit it."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE_FD)
    except OSError:  # the nofile limit is lower than PRIVATE_FD
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)


def _dial(address):
    """Return a private descriptor for the kernel's end of the link: `fd:N`, inherited by this process only."""
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
        """`taken` is a descriptor from which the link reads one byte for each display and sync that PID 1 has
        processed; None = not supported.
        """
        self.fd = _dial(address)
        self._taken = None if taken is None else _dial(f"fd:{taken}")
        self._received = b""
        self._call = None
        self._prompts = 0
        self._owner = os.getpid()
        self._main_thread = threading.get_ident()
        self._lock = threading.Lock()  # threads of a cell may call display()
        self.copying = False  # a child that is forked now is a copy of the kernel, which will get a link of its own
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        if self.copying:
            return
        os.close(self.fd)
        self.fd = -1

    @property
    def forked(self):
        """True in a child of the kernel, even if it was forked without Python's knowledge."""
        return self.fd < 0 or os.getpid() != self._owner

    def receive_fds(self, count):
        """Return the descriptors that PID 1 has sent for a copy."""
        taken = _socket.socket(fileno=os.dup(self._taken))
        try:
            _, control, _, _ = taken.recvmsg(1, _socket.CMSG_SPACE(4 * count), _socket.MSG_CMSG_CLOEXEC)
        finally:
            taken.close()
        return [int.from_bytes(data[at:at + 4], sys.byteorder) for _, _, data in control for at in range(0, len(data), 4)]

    def forked_copy(self, call, why):
        """Tell PID 1 that there is a copy, or why there is none."""
        self._write(_message("forked", call, {"cannot": why} if why else {}))

    def woken(self, call):
        self._write(_message("woken", call, {}))

    def take_over(self, fd, taken):
        """This process is a copy of the kernel: use its own link."""
        os.dup2(fd, self.fd, inheritable=False)
        os.dup2(taken, self._taken, inheritable=False)
        os.close(fd)
        os.close(taken)
        self._received = b""
        self._owner = os.getpid()

    def send_hello(self, hello):
        os.write(self.fd, b"?")  # carries the credentials of this process
        self._write(hello)

    def receive(self):
        """Return the next message, or None if PID 1 has closed the link or sent invalid data."""
        data = self._received = self._read(self._received, 4)
        if data is None:
            return None
        end = 4 + int.from_bytes(data[:4])
        if not 4 < end <= 4 + CODE_MESSAGE_MAX:
            return None
        if len(data) < end:
            data = self._read(data, end)
            if data is None:
                return None
        self._received = data[end:]
        try:
            return _scan_json(data[4:end].decode(), 0)[0]
        except (ValueError, StopIteration):
            return None

    def _read(self, data, size):
        """Return at least `size` bytes, including those in `data`; None at the end of the link."""
        if not data:
            try:
                data = os.read(self.fd, READ_SIZE)
            except OSError:
                return None
        if len(data) >= size:
            return data
        pieces, missing = [data] if data else [], size - len(data)
        while missing > 0:
            try:
                piece = os.read(self.fd, max(READ_SIZE, missing))
            except OSError:
                return None
            if not piece:
                return None
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces) if len(pieces) > 1 else pieces[0]

    @property
    def fds(self):
        """The descriptors of the link."""
        return self.fd, self._taken

    @property
    def waiting(self):
        """True if a message, or a part of one, has already been read."""
        return bool(self._received)

    def is_readable(self):
        """True if a message, or a part of one, has arrived, or the link has ended."""
        return self.waiting or bool(select.select([self.fd], [], [], 0)[0])

    def begin(self, call):
        """Make later events belong to this run."""
        self._call = call

    def event(self, op, **fields):
        """Send a display of the run, ordered before any later output."""
        if self.forked:
            return
        if threading.get_ident() != self._main_thread:
            self._event(op, fields)
        else:
            with interrupts:  # half a message, or a lock that stays locked, would break the kernel
                self._event(op, fields)

    def _event(self, op, fields):
        with self._lock:  # a thread's display must not be sent after `done`
            if self._call is None:
                raise NoCell
            self._write(_message(op, self._call, fields))
            if self._taken is not None:
                os.read(self._taken, 1)  # so that later output is shown after the display

    def sync(self):
        """Makes PID 1 read the output so far before any later output."""
        if self._taken is not None and self._call is not None:
            try:
                self.event("sync")
            except NoCell:  # the cell has ended meanwhile
                pass

    def prompt(self, prompt, password):
        """Sends a prompt of the running cell and returns the answer. An interrupt cancels the prompt."""
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
        """Send the end of the run, with its result (a bundle) and its error (fields), in one write."""
        with self._lock:
            call, out = self._call, b""
            if result:
                text = result.get("text/plain")
                if len(result) > 1 or type(text) is not str or len(text) > SHORT:
                    out = _message("result", call, {"data": result})
                else:  # faster, for the results of most cells
                    text = (encode_basestring_ascii if text.isascii() else encode_basestring)(text).encode()
                    body = b'{"op":"result","id":%d,"data":{"text/plain":%b}}' % (call, text)
                    out = len(body).to_bytes(4) + body
            if error:
                out += _message("error", call, error)
            body = b'{"op":"done","id":%d}' % call
            self._call = None
            self._write(b"%b%b%b" % (out, len(body).to_bytes(4), body))

    def variables(self, call, listing):
        """Send the answer to a request for variables, between two cells."""
        self._write(_message("variables", call, listing))

    def answer(self, number, fields):
        """Send the answer to a query, between two cells."""
        self._write(_message("answer", number, fields))

    def _write(self, data):
        try:
            sent = os.write(self.fd, data)
            if sent < len(data):
                view = memoryview(data)[sent:]
                while view:
                    view = view[os.write(self.fd, view):]
        except OSError:
            os._exit(0)  # PID 1 has closed the link, so nobody would see an error
