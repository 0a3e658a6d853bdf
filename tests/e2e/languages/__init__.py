"""The columns of the table of behaviours: one module a language, named as its runtime, with COLUMN: a row's name -> its cell.

A cell has what the row's function in behaviours.py takes beside the box, or is absent(REASON) where the behaviour does not apply.
A new language is one new module here; tests/e2e/behaviours_page.py says what is missing in it.
"""

import importlib
import pkgutil


class Absent(str):
    """Why a behaviour does not apply to a language; stands in docs/behaviours.md."""


def absent(reason):
    return Absent(reason)


def columns():
    """Language -> column, in the order of the names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}").COLUMN for name in names}
