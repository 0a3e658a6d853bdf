#!/usr/bin/env python3
"""Takes the pictures of the page for the documentation: `make screenshots`."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402
import npm_packages  # noqa: E402
from serving import Serving  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for script in HERE.glob("*.mjs"):
            shutil.copy(script, folder)
        (folder / "node_modules").symlink_to(npm_packages.installed(HERE, harness.build_dir(), "page-tests"))
        serving = Serving(folder / "home")
        try:
            env = {**os.environ, "ORIGIN": serving.origin, "LOGIN": serving.husk("ui", "--print").stdout.strip(), "KEY": serving.key}
            return subprocess.run(["node", "screenshots.mjs", HERE.parents[1] / "docs" / "images"], cwd=folder, env=env, check=False).returncode
        finally:
            serving.stop()


if __name__ == "__main__":
    sys.exit(main())
