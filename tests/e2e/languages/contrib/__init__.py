"""Columns of the runtimes in runtimes/contrib/, which are Jupyter kernels behind husk-jupyter. A module's QUICK lists
the rows that every test run checks. The other rows, and languages without QUICK, run in `make test-long
PARTS=contrib`.
"""

from .. import absent

ENVIRONMENT = absent("The Jupyter protocol has no environment variables for one cell, and setting them would need code of the language; the call is refused.")
VARIABLES = absent("The Jupyter protocol has no list of variables.")
NO_VALUES = absent("The kernel prints values and sends no results.")
AS_TEXT = absent("The kernel sends text only, on one stream.")


def none_of(reason, names):
    return dict.fromkeys(names.split(), absent(reason))
