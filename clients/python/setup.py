"""The version is that of the whole project. All else is in pyproject.toml."""

import pathlib
import re

from setuptools import setup

BUILD = pathlib.Path(__file__).resolve().parents[2] / "meson.build"
setup(version=re.search(r"^  version: '([^']+)'", BUILD.read_text(), re.M).group(1))
