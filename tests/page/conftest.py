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

SECONDS = 600 if os.environ.get("HUSK_TEST_LONG") else 150


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
def begin(scripts, tmp_path):
    """Starts a scenario in a browser; its process has the file `errors`."""
    started = []

    def begin_one(script, serving, *args):
        login = serving.husk("ui", "--print").stdout.strip()
        env = {**os.environ, "ORIGIN": serving.origin, "LOGIN": login, "KEY": serving.key, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
        errors = tmp_path / "errors.txt"
        with errors.open("w") as stderr:
            process = subprocess.Popen(["node", script, *args], cwd=scripts, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=stderr, text=True)
        process.errors = errors
        started.append(process)
        return process

    yield begin_one
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def play(begin):
    """Runs a scenario to its end: play("short.mjs", serving)."""

    def run(script, serving, *args):
        process = begin(script, serving, *args)
        stdout, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, stdout + process.errors.read_text()
        return stdout

    return run
