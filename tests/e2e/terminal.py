"""A program at a terminal: waits for its output and sends keys."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from harness import PATIENCE

# Cursor moves, colours and modes, but not the sequences of pictures.
SEQUENCES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal of rows × cols. `shown` is the raw output so far."""

    def __init__(self, argv, env, cwd=None, term="xterm-256color", rows=30, cols=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or "/")
            os.execvpe(argv[0], [str(a) for a in argv], {**env, "TERM": term})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.shown, self.at, self.code = b"", 0, None

    def _read(self, deadline):
        if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # its other end is closed
            data = b""
        self.shown += data
        return bool(data)

    def until(self, words):
        """Output since the last call, up to these words, without escape sequences and with plain line ends."""
        deadline, wanted = time.monotonic() + PATIENCE, words.encode()
        while True:
            plain = SEQUENCES.sub(b"", self.shown).replace(b"\r\n", b"\n")
            found = plain.find(wanted, self.at)
            if found >= 0:
                before, self.at = plain[self.at:found], found + len(wanted)
                return before.decode()
            assert self._read(deadline), (words, plain[self.at:])

    def type(self, text):
        os.write(self.fd, text.encode())

    def ask(self, line, prompt=">>> "):
        """Types a line and Enter. Returns the output up to the next prompt, without the line itself."""
        self.type(line + "\r")
        return self.until("\n" + prompt).partition("\n")[2]

    def end(self):
        """Waits until the program ends by itself and returns its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        self.close()
        return self.code

    def close(self):
        """Disconnects the terminal."""
        if self.code is None:
            os.close(self.fd)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
