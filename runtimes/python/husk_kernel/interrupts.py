"""SIGINT: a KeyboardInterrupt while a cell runs, nothing at any other time."""

import signal


class Interrupts:
    """Owns the SIGINT handler.

    `running` is the only switch. It is a plain attribute because storing one is a single step for the interpreter:
    no signal is handled between the end of a cell and `running = False`.
    """

    def __init__(self):
        self.running = False
        self._held = 0
        self._pending = False
        self.in_loop = None  # set by events.py: takes the interrupt if an idle event loop is what it hit

    def install(self):
        """At the start and after each cell, which may have put in its own handler, ignored or blocked the signal."""
        signal.signal(signal.SIGINT, self._on_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        self._pending = False

    def _on_signal(self, _number, frame):
        if not self.running:
            return
        if self._held:
            self._pending = True
        elif self.in_loop is None or not self.in_loop(frame):
            raise KeyboardInterrupt

    # A context manager for the main thread: what it encloses is finished before the interrupt is raised.
    def __enter__(self):
        self._held += 1

    def __exit__(self, *_exc):
        self._held -= 1
        if self._pending and not self._held:
            self._pending = False
            if self.running:
                raise KeyboardInterrupt
