"""Shared code of the tests of create_session(dependencies=…); their fixtures are in conftest.py."""

import sqlite3
import subprocess

import harness

PYPROJECT = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
INSTALL = 170  # seconds; less than the time limit of a test


def sets_of(server):
    """The images that a server's store knows of."""
    found = []
    for path in (server.home / "state").rglob("*"):
        if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3":
            with sqlite3.connect(path) as db:
                found += [row[0] for row in db.execute("SELECT image FROM dependency_sets")]
    return found


def image_exists(image):
    return subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode == 0


def create(server, timeout=INSTALL, **arguments):
    return server.call("create_session", arguments, timeout=timeout)


def session_of(server, created):
    assert not created.is_error, created.text
    return harness.Session(server, created.session_id)


def left(server):
    return [*server.containers(), *sets_of(server)]
