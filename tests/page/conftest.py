"""Fixtures: `husk serve`, and a folder with the scenarios beside the packages that they import."""

import itertools
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402
import npm_packages  # noqa: E402
from serving import Serving  # noqa: E402

SECONDS = 150


@pytest.fixture(scope="session")
def scripts(tmp_path_factory):
    modules = npm_packages.installed(HERE, harness.build_dir(), "page-tests")
    folder = tmp_path_factory.mktemp("scripts")
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, folder)
    (folder / "node_modules").symlink_to(modules)
    return folder


@pytest.fixture
def serve(tmp_path):
    numbers = itertools.count()
    started = []

    def serve_one(*args, home=None, **settings):
        started.append(Serving(home or tmp_path / f"serve{next(numbers)}", *args, **settings))
        return started[-1]

    yield serve_one
    for serving in started:
        serving.stop()


@pytest.fixture
def play(scripts, tmp_path):
    """Runs a scenario in a browser: play("short.mjs", serving)."""

    def run(script, serving, *args):
        login = serving.husk("ui", "--print").stdout.strip()
        env = {**os.environ, "ORIGIN": serving.origin, "LOGIN": login, "KEY": serving.key, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
        done = subprocess.run(["node", script, *args], cwd=scripts, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
