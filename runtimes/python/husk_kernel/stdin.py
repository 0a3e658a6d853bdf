"""Input of cells. Unless a cell is interactive, nobody can type, and every attempt to read fails at once.

The prompts of an interactive cell go to PID 1, and the client that ran the cell answers them.
"""

import builtins
import errno
import functools
import io
import os
import sys

from .link import private_fd

_WHY = "stdin is closed in this session: nobody can answer. Run the cell with interactive=true to answer"
END_OF_INPUT, INTERRUPT = "\x04", "\x03"  # typed by Ctrl-D and Ctrl-C
_PATHS = frozenset(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/tty"])
_NO_TERMINAL = "an interactive cell has no terminal settings: it reads whole lines. Run the program as an interactive terminal command."


class Keyboard(io.TextIOBase):
    """sys.stdin of an interactive cell: prompts the user when the last answer has been read completely."""

    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"
    mode = "r"
    newlines = None
    line_buffering = write_through = False

    def __init__(self, prompt_user):
        self._prompt_user = prompt_user
        self._typed = ""
        self._ended = False
        self.buffer = KeyboardBytes(self)

    def fileno(self):
        return 0

    def isatty(self):
        return True

    def readable(self):
        return True

    def reconfigure(self, **_options):
        """Does nothing: typed input is text already, so there is no encoding to change."""

    def detach(self):
        return self.buffer

    def disconnect(self):
        """Called at the end of the cell. Code that keeps this object then reads an end of file."""
        self._prompt_user = None

    def unread(self, text):
        self._typed = text + self._typed

    def line(self, prompt="", password=False):
        """Return the next line without its line end; None at an end of input, which applies to one prompt only."""
        if self._prompt_user and not self._typed and not self._ended:
            self._take(self._prompt_user(prompt, password))
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
    """sys.stdin.buffer and the source for os.read(0, n): the same lines as bytes."""

    name = "<stdin>"
    mode = "rb"

    def __init__(self, keyboard):
        self._keyboard = keyboard
        self._rest = b""  # begins inside a character, so it cannot be put back as text
        self.raw = KeyboardFile(self)

    def fileno(self):
        return 0

    def isatty(self):
        return True

    def readable(self):
        return True

    def read1(self, size=-1, /):
        """Return at most the rest of one line."""
        if size == 0:
            return b""
        line, self._rest = self._rest or self._keyboard.readline().encode(), b""
        if size is None or not 0 < size < len(line):
            return line
        self._unread(line[size:])
        return line[:size]

    def _unread(self, data):
        try:
            self._keyboard.unread(data.decode())
        except UnicodeDecodeError:
            self._rest = data

    def peek(self, _size=0, /):
        line = self.read1()
        self._unread(line)
        return line

    def read(self, size=-1, /):
        if size is None or size < 0:
            return b"".join(iter(self.read1, b""))
        data = b""
        while len(data) < size and (more := self.read1(size - len(data))):
            data += more
        return data

    def readline(self, size=-1, /):
        return self.read1(size)


class KeyboardFile(io.RawIOBase):
    """The file behind open(0), with the same lines. Closing it closes nothing else."""

    name = 0
    mode = "rb"

    def __init__(self, typed):
        self._typed = typed

    def fileno(self):
        return 0

    def isatty(self):
        return True

    def readable(self):
        return True

    def readinto(self, buffer, /):
        line = self._typed.read1(len(buffer))
        buffer[:len(line)] = line
        return len(line)


class _State:
    keyboard = None  # of the running cell, if it is interactive
    empty = None  # identity of the pipe on descriptor 0 when the cell begins


def is_open():
    return _State.keyboard is not None


class interactive:
    """`with interactive(prompt_user):` around a cell that may prompt; with None it does nothing."""

    def __init__(self, prompt_user):
        self._keyboard = prompt_user and Keyboard(prompt_user)

    def __enter__(self):
        if self._keyboard is None:
            return
        _State.keyboard = sys.stdin = sys.__stdin__ = self._keyboard
        self._before = _put_empty_pipe()
        _State.empty = _identity(0)
        os.read, os.isatty = _read, _isatty
        builtins.open = io.open = _open
        sys.breakpointhook = sys.__breakpointhook__  # stops in its caller, so no frame of ours may be in between

    def __exit__(self, *_exc):
        if self._keyboard is None:
            return
        _State.keyboard = None
        self._keyboard.disconnect()
        if self._before is not None:  # an event loop that still watches the ready pipe would spin
            os.dup2(self._before, 0)
            os.close(self._before)
        if os.read is _read:
            os.read, os.isatty = _os_read, _os_isatty
        for module in (builtins, io):
            if module.open is _open:
                module.open = _io_open
        sys.breakpointhook = no_debugger


_os_read, _os_isatty, _io_open = os.read, os.isatty, io.open


def _put_empty_pipe():
    """Puts a pipe without a writer on descriptor 0. Returns a duplicate of the old descriptor, or None on failure.

    The pipe is always ready, so code that waits for input goes on to read, and reading prompts the user. select()
    would accept /dev/null too, but epoll and asyncio would not. Child processes and C code read an end of file.
    """
    try:
        before = private_fd(0)
        reads, writes = os.pipe()
    except OSError:  # no descriptor is left
        return None
    os.close(writes)
    os.dup2(reads, 0)
    os.close(reads)
    return before


def _identity(fd):
    try:
        status = os.fstat(fd)
    except OSError:  # closed
        return None
    return status.st_dev, status.st_ino


def _is_keyboard(fd):
    """True for descriptor 0 of an interactive cell, unless the cell has put something else there."""
    return type(fd) is int and fd == 0 and is_open() and _identity(0) == _State.empty


def _read(fd, length, /):
    return _State.keyboard.buffer.read1(length) if _is_keyboard(fd) else _os_read(fd, length)


def _isatty(fd, /):
    return _is_keyboard(fd) or _os_isatty(fd)


def _names_keyboard(file):
    if isinstance(file, (str, bytes, os.PathLike)):
        return is_open() and os.fsdecode(file) in _PATHS and _is_keyboard(0)
    return _is_keyboard(file)


@functools.wraps(io.open)
def _open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    if mode not in ("r", "rt", "rb", "br") or not _names_keyboard(file):
        return _io_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    raw = KeyboardFile(_State.keyboard.buffer)
    if "b" in mode:
        return raw if buffering == 0 else io.BufferedReader(raw)
    return io.TextIOWrapper(io.BufferedReader(raw), encoding or "utf-8", errors, newline)


def opens_keyboard(ipython_open):
    """Wraps IPython's open(), which refuses descriptor 0, so that an interactive cell can open it."""

    @functools.wraps(ipython_open)
    def opens(file, *args, **kwargs):
        return (_open if _names_keyboard(file) else ipython_open)(file, *args, **kwargs)

    return opens


def _answer(what, prompt, password):
    if not is_open():
        raise EOFError(f"{what}() was called, but {_WHY}, or put the value into the code.")
    line = _State.keyboard.line(str(prompt), password)
    if line is None:
        raise EOFError("EOF when reading a line")
    return line


def _input(prompt="", /):
    if is_open() and sys.stdin is not _State.keyboard:  # the cell has replaced sys.stdin
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


def _adapt_termios(termios):
    def guarded(function):
        @functools.wraps(function)
        def call(fd, *args):
            if fd is _State.keyboard or _is_keyboard(fd):
                raise termios.error(errno.ENOTTY, _NO_TERMINAL)
            return function(fd, *args)

        return call

    termios.tcgetattr, termios.tcsetattr = guarded(termios.tcgetattr), guarded(termios.tcsetattr)


def _adapt_tty(tty):
    import termios

    tty.tcgetattr, tty.tcsetattr = termios.tcgetattr, termios.tcsetattr


def _adapt_getpass(getpass):
    getpass.getpass = _getpass


def on_import(hooks):
    builtins.input = _input
    sys.breakpointhook = no_debugger
    hooks["pdb"] = _adapt_pdb
    hooks["getpass"] = _adapt_getpass
    hooks["termios"] = _adapt_termios
    hooks["tty"] = _adapt_tty
