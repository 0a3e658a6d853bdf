"""A program at its own pseudo-terminal, used like a person uses a keyboard."""

import contextlib
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from harness import PATIENCE


class Program:
    def __init__(self, argv, env, rows=24, cols=80):
        self.main, self.other = pty.openpty()
        self.resize(rows, cols, tell=False)
        self.before = termios.tcgetattr(self.other)
        self.shown = b""
        self.all = b""
        self.process = subprocess.Popen(argv, env=env, stdin=self.other, stdout=self.other, stderr=self.other, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, cols, tell=True):
        fcntl.ioctl(self.other if not tell else self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        if tell:  # sent by hand, because the program leads no foreground group that the kernel would signal
            self.process.send_signal(signal.SIGWINCH)

    def type(self, keys):
        os.write(self.main, keys.encode() if isinstance(keys, str) else keys)

    def _read(self, seconds):
        if not select.select([self.main], [], [], seconds)[0]:
            return False
        try:
            chunk = os.read(self.main, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.shown += chunk
        self.all += chunk
        return True

    def until(self, text):
        """Returns all output up to this text."""
        text = text.encode() if isinstance(text, str) else text
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert self._read(deadline - time.monotonic()), f"{text} is not shown:\n{self.shown.decode(errors='replace')}"
        before, self.shown = self.shown.split(text, 1)
        return (before + text).decode(errors="replace")

    def settings(self):
        return termios.tcgetattr(self.other)

    def wait(self):
        """Reads all output, checks that the terminal's settings were restored, and returns the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        code = self.process.wait(1)
        while self._read(0):
            pass
        assert self.settings() == self.before, "the terminal is as it was"
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.main, self.other):
            with contextlib.suppress(OSError):
                os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
