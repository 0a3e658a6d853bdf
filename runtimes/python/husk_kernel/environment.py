"""Environment variables for one run: set before its cell and restored afterwards, unless the cell itself changed them.
"""

import os
import time


class Environment:
    """`with Environment(env):` around a cell; without variables it does nothing."""

    def __init__(self, variables=None):
        self._set = {}
        self._before = {}
        for name, value in (variables or {}).items():
            if isinstance(name, str) and isinstance(value, str) and name and not set("=\0") & set(name) and "\0" not in value:
                self._set[name] = value

    def __enter__(self):
        self._before = {name: os.environ.get(name) for name in self._set}
        os.environ.update(self._set)
        self._zone()

    def __exit__(self, *_exc):
        for name, value in self._set.items():
            if os.environ.get(name) != value:
                continue  # the cell has changed it
            if self._before[name] is None:
                del os.environ[name]
            else:
                os.environ[name] = self._before[name]
        self._zone()

    def _zone(self):
        if "TZ" in self._set:
            time.tzset()
