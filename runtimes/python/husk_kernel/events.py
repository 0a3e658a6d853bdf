"""The event loop of the session: cells with top-level await run in it, and their tasks go on between cells."""

import asyncio
import functools
import os
import selectors

from .errors import print_plain
from .interrupts import interrupts

_LOOP_FILES = (os.path.dirname(asyncio.__file__) + os.sep, selectors.__file__)
PATIENCE = 2  # interrupts that cancel the cell; after that its loop counts as broken


class Events:
    def __init__(self):
        self._loop = None
        self._used = False
        self._cell = None  # the task of the running cell
        self._hits = 0
        self._given_up = []
        interrupts.in_loop = self._interrupt
        asyncio.run = _nestable(asyncio.run)

    def ready(self):
        """Before each cell: asyncio.get_event_loop() finds a loop that works, though a cell may have closed it."""
        if not self._works():
            self._loop = asyncio.new_event_loop()
            self._used = False
        asyncio.set_event_loop(self._loop)
        self._hits = 0

    @property
    def interrupted(self):
        """A cancellation in this cell means an interrupt."""
        return self._hits > 0

    def _works(self):
        if self._loop is None or self._loop.is_closed():
            return False
        try:  # a cell that closed all descriptors closed the loop's too
            os.fstat(self._loop._selector.fileno())
            os.fstat(self._loop._csock.fileno())
            return True
        except (OSError, ValueError, AttributeError):
            return False

    def run(self, coroutine):
        """Run a coroutine to its end; an interrupt cancels it."""
        self._used = True
        task = self._cell = self._loop.create_task(coroutine)
        try:
            while True:
                try:
                    return self._loop.run_until_complete(task)
                except KeyboardInterrupt:  # hit a callback or another task
                    if task.done():
                        raise
                    if self._hits > PATIENCE:
                        self._give_up(task)
                        raise
                    self._hits += 1
                    task.cancel()
                except asyncio.CancelledError:
                    if self.interrupted:
                        raise KeyboardInterrupt from None
                    raise
                except (SystemExit, RuntimeError) as error:
                    if task.done():
                        raise
                    if isinstance(error, SystemExit):
                        print_plain(error)  # another task's; a RuntimeError is somebody's loop.stop()
        finally:
            self._cell = None

    def _give_up(self, task):
        # Kept for ever: to clear it away would run code of that cell, and of IPython, in the middle of another cell.
        self._given_up.append(task)
        self._loop = None

    def _interrupt(self, frame):
        """Called by the signal handler: asyncio itself is not torn out of its books, the cell's task is cancelled."""
        if self._cell is None or not frame.f_code.co_filename.startswith(_LOOP_FILES):
            return False
        if asyncio._get_running_loop() is not self._loop:
            return False
        self._hits += 1
        if self._hits > PATIENCE:
            return False
        self._cell.cancel()
        self._loop.call_soon_threadsafe(lambda: None)  # wake it up
        return True

    def wait(self, fd):
        """Let background tasks run until the descriptor is readable."""
        if not self._used or not self._works():
            return
        try:
            self._loop.add_reader(fd, self._loop.stop)
            self._loop.run_forever()
        except BaseException as error:  # a background task that exits
            print_plain(error)
        finally:
            try:
                self._loop.remove_reader(fd)
            except Exception:
                self._loop = None


def is_awaitable(value):
    return asyncio.iscoroutine(value) or asyncio.isfuture(value)


def _nestable(run):
    """asyncio.run() that also works where a loop runs already: it blocks that one, as any function would."""

    @functools.wraps(run)
    def nested(*args, **kwargs):
        outer = asyncio._get_running_loop()
        if outer is None:
            return run(*args, **kwargs)
        task = asyncio.tasks._swap_current_task(outer, None)
        asyncio._set_running_loop(None)
        try:
            return run(*args, **kwargs)
        finally:
            asyncio._set_running_loop(outer)
            asyncio.tasks._swap_current_task(outer, task)
            asyncio.set_event_loop(outer)

    return nested
