"""The tests of this folder use the harness of the end-to-end tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
