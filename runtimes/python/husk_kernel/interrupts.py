"""SIGINT: a KeyboardInterrupt in the user's code while a cell runs or a query is answered, nothing at any other time."""

import _signal as signal  # without the enums of signal.py, which cost more than the calls
import time


class Interrupts:
    """The state of the process's only SIGINT handler.

    `running` and `held` are plain attributes that other modules assign: an assignment is a single step for the
    interpreter, so no signal is handled between the end of the user's code and the assignment that follows it.
    """

    def __init__(self):
        self.running = False  # a cell is
        self.asked = False  # a query is being answered
        self.left = False  # … and was cancelled
        self.held = 0  # > 0: this is our code or IPython's, which an exception out of nowhere would leave in a mess
        self.pending = False  # a signal came while held
        self.deaf_until = 0  # by time.monotonic(): the cell was interrupted and is ending
        self.in_loop = None  # set by events.py: handles the interrupt if it hit an idle event loop

    def install(self):
        """At the start and after each cell, which may have replaced the handler, or ignored or blocked the signal."""
        signal.signal(signal.SIGINT, self._on_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        self.held, self.pending, self.deaf_until = 0, False, 0

    def _on_signal(self, _number, frame):
        if self.asked:
            self.left = True
            raise KeyboardInterrupt
        if not self.running or time.monotonic() < self.deaf_until:
            return
        if self.held:
            self.pending = True
        elif self.in_loop is None or not self.in_loop(frame):
            raise KeyboardInterrupt

    def __enter__(self):
        """In the main thread: enclosed code is finished before an interrupt is raised."""
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
