"""Columns of runtimes of runtimes/contrib/, behind husk-jupyter. QUICK in a module: the rows that every run of the tests has; the
others, and languages without QUICK, are for `make test-long PARTS=contrib`."""

from .. import absent

ENVIRONMENT = absent("The Jupyter protocol has no variables for one cell, and setting them is code of the language: the call is refused.")
VARIABLES = absent("The Jupyter protocol has no list of variables.")
NO_VALUES = absent("The kernel prints values and sends no results.")
AS_TEXT = absent("The kernel sends text only, on one stream.")


def none_of(reason, names):
    return dict.fromkeys(names.split(), absent(reason))
