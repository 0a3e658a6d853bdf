"""`python -m husk …` is the program `husk …` of the wheel, or the one on the PATH."""

import os
import sys

from .manager import program

path = str(program() or "husk")
try:
    os.execvp(path, ["husk", *sys.argv[1:]])
except OSError as error:
    sys.exit(f"error: cannot run {path}: {error.strerror}. Install Husk as a whole, or the package that has its program.")
