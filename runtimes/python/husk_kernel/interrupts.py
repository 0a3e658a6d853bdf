"""SIGINT: raises KeyboardInterrupt in the user's code while a cell runs or a query is answered, and is ignored at any
other time.
"""

import _signal as signal  # without the enums of signal.py, which take longer than the calls
import time


class Interrupts:
    """The state of the process's only SIGINT handler.

    `running` and `held` are plain attributes that other modules assign. An assignment is a single step for the
    interpreter, so no signal is handled between the end of the user's code and the assignment that follows.
    """

    def __init__(self):
        self.running = False  # a cell is running
        self.querying = False  # a query is being answered
        self.left = False  # the query was cancelled
        self.held = 0  # > 0: code of Husk or IPython is running, which an exception could leave in an invalid state
        self.pending = False  # a signal came while held
        self.deaf_until = 0  # signals are ignored until then (time.monotonic()): the interrupted cell is ending
        self.in_loop = None  # set by events.py: handles an interrupt that arrives inside the event loop's own code
        self._handler = self._on_signal

    def install(self):
        """Called at the start and after each cell, which may have replaced the handler or blocked SIGINT."""
        signal.signal(signal.SIGINT, self._handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        self.held, self.pending, self.deaf_until = 0, False, 0

    def are_ours(self):
        """False if a cell has replaced the handler."""
        return signal.getsignal(signal.SIGINT) is self._handler

    def _on_signal(self, _number, frame):
        if self.querying:
            self.left = True
            raise KeyboardInterrupt
        if not self.running or time.monotonic() < self.deaf_until:
            return
        if self.held:
            self.pending = True
        elif self.in_loop is None or not self.in_loop(frame):
            raise KeyboardInterrupt

    def __enter__(self):
        """Holds interrupts back until the enclosed code has finished. For the main thread only."""
        self.held += 1

    def __exit__(self, *_exc):
        self.held = max(0, self.held - 1)
        if not self.held:
            self.raise_pending()

    def raise_pending(self):
        if self.pending and self.running:
            self.pending = False
            raise KeyboardInterrupt


interrupts = Interrupts()
