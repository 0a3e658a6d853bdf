"""Input of cells. Unless the cell is interactive nobody can type, and every attempt to read fails at once.

In an interactive cell a prompt goes to PID 1, and the client that ran the cell answers it.
"""

import builtins
import io
import os
import sys

_WHY = "stdin is closed in this session: nobody can answer. Run the cell with interactive=true to answer"
END_OF_INPUT, INTERRUPT = "\x04", "\x03"  # typed by Ctrl-D and Ctrl-C


class Keyboard(io.TextIOBase):
    """sys.stdin of an interactive cell: prompts when nothing is left of the last answer."""

    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"
    mode = "r"

    def __init__(self, ask):
        self._ask = ask
        self._typed = ""
        self._ended = False
        self.buffer = KeyboardBytes(self)

    def fileno(self):
        return 0

    def isatty(self):
        return True

    def readable(self):
        return True

    def unread(self, text):
        self._typed = text + self._typed

    def line(self, prompt="", password=False):
        """The next line without its end; None at the end of input, which applies to one prompt only."""
        if not self._typed and not self._ended:
            self._take(self._ask(prompt, password))
        if not self._typed:
            self._ended = False
            return None
        line, _, self._typed = self._typed.partition("\n")
        return line

    def _take(self, text):
        if INTERRUPT in text:
            raise KeyboardInterrupt
        text, end, _ = text.partition(END_OF_INPUT)
        self._ended = bool(end)
        self._typed = text if end and (not text or text.endswith("\n")) else text.removesuffix("\n") + "\n"

    def readline(self, size=-1, /):
        line = self.line()
        if line is None:
            return ""
        line += "\n"
        if size is not None and 0 <= size < len(line):
            line, self._typed = line[:size], line[size:] + self._typed
        return line

    def read(self, size=-1, /):
        if size is None or size < 0:
            return "".join(iter(self.readline, ""))
        return self.readline(size)


class KeyboardBytes(io.BufferedIOBase):
    """sys.stdin.buffer, and the data of os.read(0, n): the same lines as bytes."""

    name = "<stdin>"
    mode = "rb"

    def __init__(self, keyboard):
        self._keyboard = keyboard
        self._rest = b""  # begins inside a character, so it cannot be text again

    def fileno(self):
        return 0

    def isatty(self):
        return True

    def readable(self):
        return True

    def read1(self, size=-1, /):
        """At most the rest of one line."""
        if size == 0:
            return b""
        line, self._rest = self._rest or self._keyboard.readline().encode(), b""
        if size is None or not 0 < size < len(line):
            return line
        try:
            self._keyboard.unread(line[size:].decode())
        except UnicodeDecodeError:
            self._rest = line[size:]
        return line[:size]

    def read(self, size=-1, /):
        if size is None or size < 0:
            return b"".join(iter(self.read1, b""))
        data = b""
        while len(data) < size and (more := self.read1(size - len(data))):
            data += more
        return data

    def readline(self, size=-1, /):
        return self.read1(size)


class _State:
    keyboard = None  # of the running cell, if it is interactive
    empty = None  # what descriptor 0 is when the cell begins


def is_open():
    return _State.keyboard is not None


class interactive:
    """`with interactive(ask):` around a cell that may prompt; with None it does nothing."""

    def __init__(self, ask):
        self._keyboard = ask and Keyboard(ask)

    def __enter__(self):
        if self._keyboard is None:
            return
        _State.keyboard = sys.stdin = self._keyboard
        _State.empty = _identity(0)
        os.read, os.isatty = _read, _isatty
        sys.breakpointhook = sys.__breakpointhook__  # no frame of ours between it and its caller, where it stops

    def __exit__(self, *_exc):
        _State.keyboard = None
        if os.read is _read:
            os.read, os.isatty = _os_read, _os_isatty
        sys.breakpointhook = no_debugger


_os_read, _os_isatty = os.read, os.isatty


def _identity(fd):
    try:
        status = os.fstat(fd)
    except OSError:  # closed
        return None
    return status.st_dev, status.st_ino


def _is_keyboard(fd):
    """Descriptor 0 of an interactive cell, unless the cell has put something else there."""
    return type(fd) is int and fd == 0 and is_open() and _identity(0) == _State.empty


def _read(fd, length, /):
    return _State.keyboard.buffer.read1(length) if _is_keyboard(fd) else _os_read(fd, length)


def _isatty(fd, /):
    return _is_keyboard(fd) or _os_isatty(fd)


def _answer(what, prompt, password):
    if not is_open():
        raise EOFError(f"{what}() was called, but {_WHY}, or put the value into the code.")
    line = _State.keyboard.line(str(prompt), password)
    if line is None:
        raise EOFError("EOF when reading a line")
    return line


def _input(prompt="", /):
    if is_open() and sys.stdin is not _State.keyboard:  # the cell has its own
        print(prompt, end="")
        line = sys.stdin.readline()
        if not line:
            raise EOFError("EOF when reading a line")
        return line.removesuffix("\n")
    return _answer("input", prompt, password=False)


def _getpass(prompt="Password: ", *_args, **_kwargs):
    return _answer("getpass", prompt, password=True)


def no_debugger(*_args, **_kwargs):
    raise RuntimeError(f"the debugger was called, but {_WHY}, or print what you want to see.")


def _adapt_pdb(pdb):
    # Every way into the debugger (pdb.set_trace, pm, %debug, IPython's own) uses one of these.
    set_trace, interaction = pdb.Pdb.set_trace, pdb.Pdb.interaction

    def guarded_set_trace(self, frame=None, *args, **kwargs):
        if not is_open():
            no_debugger()
        return set_trace(self, frame or sys._getframe().f_back, *args, **kwargs)

    def guarded_interaction(self, *args, **kwargs):
        if not is_open():
            no_debugger()
        return interaction(self, *args, **kwargs)

    pdb.Pdb.set_trace = guarded_set_trace
    pdb.Pdb.interaction = guarded_interaction


def _adapt_getpass(getpass):
    getpass.getpass = _getpass


def on_import(hooks):
    builtins.input = _input
    sys.breakpointhook = no_debugger
    hooks["pdb"] = _adapt_pdb
    hooks["getpass"] = _adapt_getpass
