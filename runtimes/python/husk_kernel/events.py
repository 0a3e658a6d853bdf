"""The event loop of the session: cells with top-level await run in it, and their tasks continue between cells.

Loading asyncio takes a tenth of the kernel's start-up time, so nothing here happens before a cell has imported it.
"""

import functools
import os
import threading
from collections.abc import Coroutine

from .errors import print_plain
from .imports import own_modules
from .interrupts import interrupts

PATIENCE = 2  # number of interrupts that cancel the cell; at the next one its loop counts as broken


class Events:
    def __init__(self):
        self._asyncio = self._strictly_running_loop = None
        self._loop = None
        self.copying = False  # a child that is forked now is a copy of the kernel
        self._used = False
        self._cell = None  # the task of the running cell
        self._hits = 0
        self._given_up = []
        self._own_files = ()
        os.register_at_fork(after_in_child=self._forget)

    def on_import(self, hooks):
        hooks["asyncio"] = self._adapt
        hooks["django.utils.asyncio"] = self._adapt_django

    def _adapt(self, asyncio):
        import selectors

        self._asyncio = asyncio
        self._own_files = (os.path.dirname(asyncio.__file__) + os.sep, selectors.__file__)
        interrupts.in_loop = self._interrupt
        asyncio.run = _nestable(asyncio)
        self._strictly_running_loop = asyncio.get_running_loop
        asyncio.get_running_loop = asyncio.events.get_running_loop = self._running_loop
        self.ready()

    def _adapt_django(self, module):
        # Django refuses database access if there is a running loop, although it works in a cell without await.
        module.get_running_loop = self._strictly_running_loop

    def _forget(self):
        if not self.copying:
            self._loop = None  # a forked child does not run the loop

    @property
    def fds(self):
        """The descriptors of the loop itself."""
        if not self._works():
            return ()
        loop = self._loop
        return loop._selector.fileno(), loop._ssock.fileno(), loop._csock.fileno()

    def renew(self):
        """This process is a copy of the kernel: the loop must not share its selector and its wake-up pipe."""
        if not self._works():
            self._loop = None
            return
        import selectors

        loop, old = self._loop, self._loop._selector
        own, new = loop._ssock.fileno(), selectors.DefaultSelector()
        for key in list(old.get_map().values()):
            if key.fd != own:
                try:
                    new.register(key.fd, key.events, key.data)
                except (OSError, ValueError):  # closed, or a file
                    pass
        loop._selector = new
        old.close()
        loop._ssock.close()
        loop._csock.close()
        loop._internal_fds -= 1
        loop._make_self_pipe()

    def _running_loop(self):
        """asyncio.get_running_loop() that also returns the session's loop while a cell without await runs. As in a
        notebook, such a cell can call asyncio.create_task(), and the task runs after the cell.
        """
        loop = self._asyncio._get_running_loop()
        if loop is None:
            if self._loop is None or threading.current_thread() is not threading.main_thread():
                raise RuntimeError("no running event loop")
            self._used = True
            loop = self._loop
        return loop

    def ready(self):
        """Called before each cell: makes sure that asyncio.get_event_loop() finds a working loop, since a cell may have
        closed it.
        """
        self._hits = 0
        if self._asyncio is None:
            return
        if not self._works():
            self._loop = self._asyncio.new_event_loop()
            self._used = False
        if threading.current_thread() is threading.main_thread():
            self._asyncio.set_event_loop(self._loop)

    @property
    def interrupted(self):
        """True if a cancellation in this cell is due to an interrupt."""
        return self._hits > 0

    def is_cancellation(self, error):
        return self._asyncio is not None and isinstance(error, self._asyncio.CancelledError)

    def is_awaitable(self, value):
        """True for a coroutine, a future or a task."""
        return isinstance(value, Coroutine) or (self._asyncio is not None and self._asyncio.isfuture(value))

    def _works(self):
        if self._loop is None or self._loop.is_closed():
            return False
        try:  # a cell that closed all descriptors also closed the loop's
            os.fstat(self._loop._selector.fileno())
            os.fstat(self._loop._csock.fileno())
            return True
        except (OSError, ValueError, AttributeError):
            return False

    def run(self, coroutine):
        """Run a coroutine to its end; an interrupt cancels it."""
        if self._asyncio is None:
            with own_modules:
                import asyncio  # noqa: F401 (calls _adapt)
        self._used = True
        task = self._cell = self._loop.create_task(coroutine)
        try:
            while True:
                try:
                    return self._loop.run_until_complete(task)
                except KeyboardInterrupt:  # raised in a callback or in another task
                    if task.done():
                        raise
                    if self._hits > PATIENCE:
                        self._give_up(task)
                        raise
                    self._hits += 1
                    task.cancel()
                except self._asyncio.CancelledError:
                    if self.interrupted:
                        raise KeyboardInterrupt from None
                    raise
                except (SystemExit, RuntimeError) as error:
                    if task.done():
                        raise
                    if isinstance(error, SystemExit):
                        print_plain(error)  # another task exited; a RuntimeError means that loop.stop() was called
        finally:
            self._cell = None

    def _give_up(self, task):
        # The task is kept forever: cleaning it up would run code of its cell, and of IPython, during another cell.
        self._given_up.append(task)
        self._loop = None

    def _interrupt(self, frame):
        """Called by the signal handler: cancels the cell's task instead of raising inside asyncio."""
        if self._cell is None or not frame.f_code.co_filename.startswith(self._own_files):
            return False
        if self._asyncio._get_running_loop() is not self._loop:
            return False
        self._hits += 1
        if self._hits > PATIENCE:
            return False
        self._cell.cancel()
        self._loop.call_soon_threadsafe(lambda: None)  # wake it up
        return True

    def wait(self, fd):
        """Let background tasks run until the descriptor is readable."""
        if self.is_alone() or not self._works():
            return
        try:
            self._loop.add_reader(fd, self._loop.stop)
            self._loop.run_forever()
        except BaseException as error:  # from a background task, such as SystemExit
            print_plain(error)
        finally:
            try:
                self._loop.remove_reader(fd)
            except Exception:
                self._loop = None

    def is_alone(self):
        """Return True if wait() has nothing to run."""
        return self._asyncio is None or self._loop is None or not self._has_work()

    def _has_work(self):
        """True if a cell has awaited something or has left callbacks, tasks or descriptors besides the loop's own."""
        loop = self._loop
        return bool(self._used or loop._ready or loop._scheduled or len(loop._selector.get_map()) > 1
                    or self._asyncio.all_tasks(loop))


def _nestable(asyncio):
    """Make asyncio.run() work while a loop runs. It blocks that loop, as any other function would."""
    run = asyncio.run

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
