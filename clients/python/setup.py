"""Sets the version, which is that of the whole project. Everything else is in pyproject.toml."""

import pathlib
import re

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
PACKED = HERE / "PKG-INFO"  # exists only in an sdist, which lacks the rest of the project


def version():
    if PACKED.exists():
        return re.search(r"^Version: (.+)$", PACKED.read_text(), re.M).group(1)
    return re.search(r"^  version: '([^']+)'", (HERE.parents[1] / "meson.build").read_text(), re.M).group(1)


setup(version=version())
