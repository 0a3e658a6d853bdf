"""Fixtures: the clients from npm and PyPI, installed once for each list of versions, and a person who runs them."""

import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402
import npm_packages  # noqa: E402
import python_packages  # noqa: E402
from client_runner import ClientRunner  # noqa: E402


def pytest_sessionstart(session):
    if not pathlib.Path(harness.husk_binary()).exists():
        pytest.exit(f"{harness.husk_binary()} is missing: run make first", 3)


@pytest.fixture(scope="session")
def modules():
    """The folder node_modules with all clients.

    To change a version: edit package.json, then `npm install --package-lock-only` here. The override of rolldown (a tool that the
    Inspector's web page is built with) names a version that exists for all platforms, because npm ci rejects a lockfile
    that lacks some of them.
    """
    return npm_packages.installed(HERE, harness.build_dir(), "clients")


@pytest.fixture(scope="session")
def python_client():
    """The folder with the Python client. To change a version: edit requirements.txt, which was written by `pip freeze`
    in an empty environment.
    """
    return python_packages.installed(HERE / "requirements.txt", harness.build_dir(), "python-client")


@pytest.fixture(scope="session")
def next_python_client():
    """The folder with the next Python client and fastmcp. Their versions are in requirements-next.txt."""
    return python_packages.installed(HERE / "requirements-next.txt", harness.build_dir(), "next-python-client")


@pytest.fixture(scope="session")
def scripts(modules, tmp_path_factory):
    """Copies our .mjs files beside the clients, because node resolves their imports there."""
    folder = tmp_path_factory.mktemp("scripts")
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, folder)
    (folder / "node_modules").symlink_to(modules)
    return folder


@pytest.fixture
def runner(tmp_path, modules):
    return ClientRunner(tmp_path / "home", modules)
