#!/usr/bin/env python3
"""Takes the pictures of the page and a recording of a terminal for the documentation: `make screenshots`."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
IMAGES = HERE.parents[1] / "docs" / "images"
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.path.insert(0, str(IMAGES))

import harness  # noqa: E402
import npm_packages  # noqa: E402
import recording  # noqa: E402
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
            subprocess.run(["node", "screenshots.mjs", IMAGES], cwd=folder, env=env, check=True)
            path = f"{pathlib.Path(harness.husk_binary()).parent}:{os.environ['PATH']}"
            (IMAGES / "recording.svg").write_text(recording.draw({**serving.env, "PATH": path}))
            return 0
        finally:
            serving.stop()


if __name__ == "__main__":
    sys.exit(main())
