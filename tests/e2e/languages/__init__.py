"""The columns of the table of behaviours. Each language has a module, named after its runtime, whose COLUMN maps a
row's name to its cell.

A cell holds the arguments of the row's function in behaviours.py except `session`, or is absent(REASON) if the behaviour
does not apply. To add a language, add a module here; tests/e2e/behaviours_page.py lists the cells that it lacks.
"""

import importlib
import pkgutil
import sys


class Absent(str):
    """Why a behaviour does not apply to a language; printed in docs/behaviours.md."""


def absent(reason):
    return Absent(reason)


def _of(package):
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.ispkg)
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}


def columns():
    """Language -> column, in the order of the names."""
    return {name: module.COLUMN for name, module in _of(sys.modules[__name__]).items()}


def contrib_columns():
    """The same for the runtimes in runtimes/contrib/."""
    return {name: module.COLUMN for name, module in _contrib().items()}


def quick_rows():
    """Rows of contrib_columns() that are part of every test run."""
    return {name: module.QUICK for name, module in _contrib().items() if hasattr(module, "QUICK")}


def _contrib():
    return _of(importlib.import_module(f"{__name__}.contrib"))
