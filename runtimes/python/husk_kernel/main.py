"""The kernel's main loop, after its hello: loads IPython and runs cells until PID 1 closes the link.

Loading IPython takes most of a kernel's start, and the first cell rarely arrives that soon. So IPython is loaded in
steps. A message that arrives in between is handled first, and a cell that does not need IPython (early.py) runs at
once.
"""

import _thread
import faulthandler
import gc
import importlib
import os
import sys

from .early import Early
from .imports import Deferred, UserSite, forget_folders, late_environment, own_modules
from .interrupts import interrupts
from .link import Link
from .streams import Streams

RECURSION_LIMIT = 3000  # as in Jupyter
# Modules that IPython imports, in steps of a few milliseconds. Names that this version of IPython does not use do no
# harm.
STEPS = ("typing", "inspect", "traceback", "pathlib", "logging", "subprocess", "tempfile", "argparse", "traitlets.traitlets",
         "traitlets.config.application", "pdb", "pexpect", "IPython", "IPython.core.magics.execution", "IPython.utils.capture")


class Kernel:
    def __init__(self, user_path):
        self._link = Link(os.environ.pop("HUSK_LINK"), os.environ.pop("HUSK_TAKEN_FD", None))
        self._streams = Streams(self._link.sync)
        self._early = Early()
        sys.modules["__main__"] = self._early.module
        self._cells = None  # None until IPython is loaded
        self._ready = False  # the next cell is prepared
        self._copies = None  # None until the first copy is made
        self._parked = False  # this process is a copy that waits
        self._loading = self._load(user_path)

    def _load(self, user_path):
        """Loads IPython, with a pause after each step. The session cannot import anything before the last step."""
        with Deferred():
            for name in STEPS:
                try:
                    importlib.import_module(name)
                except ImportError:
                    pass
                yield
            from .cells import Cells
        yield
        cells = Cells(self._link, self._streams, self._early.module)
        cells.adapt_modules()
        yield
        cells.warm_up()
        cells.take_over(self._early.cells)
        self._early.cells.clear()
        late_environment()
        user_site = UserSite(user_path)
        sys.path[:] = ["", *user_site.path]
        sys.meta_path.append(user_site)
        sys.argv = [""]
        # From here on the collector skips the kernel's own objects, so a forked child need not copy their pages. The
        # user's objects must not be frozen.
        if not any(gc.is_tracked(value) for name, value in self._early.names.items() if name not in cells.hidden):
            gc.freeze()
        gc.enable()
        self._cells = cells

    def _loaded(self):
        """Return the Cells object, after loading the rest of IPython."""
        for _ in self._loading:
            pass
        return self._cells

    def serve(self):
        while True:
            self._wait()
            message = self._link.receive()
            op = message.get("op") if message else None
            if op == "execute":
                self._execute(message)
            elif op == "look":
                self._list_variables(message["id"])
            elif op in ("complete", "inspect", "is_complete"):
                self._link.answer(message["id"], self._loaded().answer(message))
            elif op == "fork":
                self._copy(message["id"])
                if self._parked:
                    continue
            elif op == "wake":
                self._wake(message["id"])
            elif op != "input":  # the answer to a prompt that an interrupt has ended
                os._exit(0)
            # The user's code has run. Until the next cell nothing else of it runs, unless it has left threads or tasks,
            # so the preparations for that cell can be made now.
            self._ready = False
            if self._cells is not None and not _thread._count() and self._cells.is_alone():
                self._make_ready()

    def _make_ready(self):
        """Prepares the next cell: none of the user's code may run between this and the cell."""
        self._streams.restore()
        forget_folders()
        if self._cells is not None:
            self._cells.make_ready()
        self._ready = True

    def _copy(self, call):
        cells = self._loaded()
        with interrupts:
            if self._copies is None:
                with own_modules:
                    from .copies import Copies
                self._copies = Copies(self._link, self._streams)
            self._streams.restore()
            cells.events.copying = True
            try:
                own = (*self._link.fds, *self._streams.fds, *cells.events.fds)
                self._parked = self._copies.answer(call, own, self._early.names)
            finally:
                cells.events.copying = False

    def _wake(self, call):
        self._parked = False
        with interrupts:
            self._copies.wake()
            self._cells.events.renew()
        self._link.woken(call)

    def _wait(self):
        """Waits for a message, or a part of one."""
        if self._parked:
            return
        while self._cells is None and not self._link.is_readable():
            next(self._loading, None)
        if self._cells is not None and not self._link.waiting:
            self._cells.wait(self._link.fd)

    def _list_variables(self, call):
        from . import variables

        with interrupts:
            self._link.variables(call, variables.told(self._early.names, self._cells.hidden if self._cells else ()))

    def _execute(self, message):
        if not self._ready:
            self._make_ready()
        self._link.begin(message["id"])
        if self._cells is not None:
            self._cells.execute(message)
            return
        # From here on interrupts are raised in the user's code only.
        interrupts.running, interrupts.held = True, 1
        ran = None if message.get("env") or message.get("interactive") else self._early.run(message["code"])
        if ran is not None and interrupts.pending:
            interrupts.pending, ran.error = False, ran.error or KeyboardInterrupt()
        if ran is not None and isinstance(ran.error, KeyboardInterrupt):
            interrupts.deaf_until = float("inf")  # the signal is repeated until the cell ends
        bundle = ran and ran.bundle
        if bundle is None:
            self._loaded().make_ready()
            self._cells.execute(message, ran)
            return
        self._early.cells.append(ran)
        self._streams.flush()
        interrupts.running = False
        interrupts.install()
        self._link.done(bundle)


def run(user_path):
    faulthandler.enable()  # on a segmentation fault, prints the line that caused it
    sys.setrecursionlimit(RECURSION_LIMIT)
    Kernel(user_path).serve()
