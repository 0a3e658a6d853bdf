"""`python -m husk …` runs the `husk` program of the wheel, or the one on the PATH."""

import os
import sys

from .manager import program

path = str(program() or "husk")
try:
    os.execvp(path, ["husk", *sys.argv[1:]])
except OSError as error:
    sys.exit(f"error: cannot run {path}: {error.strerror}. Install the complete Husk, or the package that contains the husk program.")
