"""Nobody can type here: everything that would ask says so at once."""

import builtins
import sys

_WHY = "stdin is closed in this sandbox: nobody can answer"


def _input(prompt="", /):
    raise EOFError(f"input() was called, but {_WHY}. Put the value into the code instead.")


def _getpass(*_args, **_kwargs):
    raise EOFError(f"getpass() was called, but {_WHY}. Put the value into a variable or os.environ instead.")


def no_debugger(*_args, **_kwargs):
    raise RuntimeError(
        f"the debugger was called, but {_WHY}. Print what you want to see, or look at variables in the next cell."
    )


def _adapt_pdb(pdb):
    # Every way into the debugger (pdb.set_trace, pm, %debug, IPython's own) goes through one of these.
    pdb.Pdb.set_trace = no_debugger
    pdb.Pdb.interaction = no_debugger


def _adapt_getpass(getpass):
    getpass.getpass = _getpass


def on_import(hooks):
    builtins.input = _input
    sys.breakpointhook = no_debugger
    hooks["pdb"] = _adapt_pdb
    hooks["getpass"] = _adapt_getpass
