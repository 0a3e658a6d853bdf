"""File descriptors 0, 1 and 2, and the streams of Python and C on top of them.

1 and 2 are pipes that PID 1 reads. Nothing is buffered on this side, neither by Python nor by C's stdio. So the output
of a cell, its child processes and C libraries keeps its order, and os._exit loses no output.
"""

import ctypes
import io
import os
import select
import sys

from .link import private_fd

_IONBF = 2
_UNBUFFERED = 2  # a bit in the first word of glibc's FILE


class _Writer(io.FileIO):
    """An unbuffered file that writes everything, even if a child made the pipe non-blocking. stdout and stderr are
    two pipes. To keep the order of their output, a switch to the other pipe waits until PID 1 has read the first.
    """

    last = 1
    sync = staticmethod(lambda: None)

    def write(self, data):
        fd = self.fileno()
        if _Writer.last != fd:
            _Writer.sync()
            _Writer.last = fd
        view = memoryview(data).cast("B")
        size = len(view)
        while view:
            try:
                view = view[os.write(fd, view):]
            except BlockingIOError:
                select.select([], [fd], [])
        return size


def _text_writer(fd, name):
    raw = _Writer(fd, "wb", closefd=False)
    raw.name = name
    # backslashreplace: print() must not fail on a lone surrogate (for example a file name that is not UTF-8).
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)


def _text_reader():
    return open(0, encoding="utf-8", errors="replace", closefd=False)


def _usable(stream):
    try:
        return not stream.closed
    except ValueError:  # detached
        return False


class Streams:
    def __init__(self, sync):
        _Writer.sync = staticmethod(sync)
        self._makers = {
            "stdin": _text_reader,
            "stdout": lambda: _text_writer(1, "<stdout>"),
            "stderr": lambda: _text_writer(2, "<stderr>"),
        }
        self._ours = {}
        for name in self._makers:
            self._make(name)
        self._saved = [(fd, private_fd(fd), *self._identity(fd)) for fd in range(3)]
        self._libc = ctypes.CDLL(None)
        self._c_stdout = ctypes.c_void_p.in_dll(self._libc, "stdout")
        self._libc.setvbuf(self._c_stdout, None, _IONBF, ctypes.c_size_t(0))
        # Reading the flag takes a tenth of the time of a call to fflush().
        self._c_flags = ctypes.c_uint.from_address(self._c_stdout.value)
        self._unbuffered = _UNBUFFERED if os.confstr("CS_GNU_LIBC_VERSION") else 0
        self.restore()

    def _make(self, name):
        self._ours[name] = self._ours[f"__{name}__"] = self._makers[name]()

    @staticmethod
    def _identity(fd):
        status = os.fstat(fd)
        return status.st_dev, status.st_ino

    @property
    def fds(self):
        return (0, 1, 2, *(saved for _, saved, _, _ in self._saved))

    def take_over(self, out, err):
        """This process is a copy of the kernel: use its own stdout and stderr."""
        for i, new in ((1, out), (2, err)):
            fd, saved, _, _ = self._saved[i]
            os.dup2(new, saved, inheritable=False)
            os.dup2(new, fd)
            self._saved[i] = (fd, saved, *self._identity(fd))
            os.close(new)

    def restore(self):
        """Called before each cell: repairs streams that the previous cell closed or redirected."""
        for fd, saved, device, inode in self._saved:
            try:
                status = os.fstat(fd)
                works = status.st_ino == inode and status.st_dev == device
            except OSError:
                works = False
            if not works:
                os.dup2(saved, fd)
        ours = self._ours
        if not (_usable(ours["stdin"]) and _usable(ours["stdout"]) and _usable(ours["stderr"])):
            for name in self._makers:
                if not _usable(ours[name]):
                    self._make(name)
        vars(sys).update(ours)

    def flush(self):
        """Called before each message, because a cell may have replaced the streams by buffered ones."""
        ours = self._ours
        for stream, own in ((sys.stdout, ours["stdout"]), (sys.stderr, ours["stderr"])):
            if stream is own:  # never holds anything back
                continue
            try:
                stream.flush()
            except Exception:  # closed, None, or a user's object that fails
                pass
        if not self._c_flags.value & self._unbuffered:  # a cell has given C's stdout a buffer, or this is not glibc
            self._libc.fflush(self._c_stdout)
