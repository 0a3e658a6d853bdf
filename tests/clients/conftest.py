"""Fixtures: the clients from npm, installed once for each lockfile, and somebody who runs them."""

import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402
from client_runner import ClientRunner  # noqa: E402

# To change a version: edit package.json, then `npm install --package-lock-only` here. The override of rolldown (a tool that the
# Inspector's web page is built with) names a version that exists for all platforms: npm ci refuses a lockfile that lacks some.
MANIFEST = ("package.json", "package-lock.json", ".npmrc")
INSTALL_TIME = 900


def pytest_sessionstart(session):
    if not pathlib.Path(harness.husk_binary()).exists():
        pytest.exit(f"{harness.husk_binary()} is missing: run make first", 3)


def _install(folder):
    folder.mkdir(exist_ok=True)
    for name in MANIFEST:
        shutil.copy(HERE / name, folder)
    with open(folder / "install.log", "wb") as log:
        done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              timeout=INSTALL_TIME, check=False)
    if done.returncode != 0:
        raise AssertionError(f"npm ci ended with status {done.returncode}:\n{(folder / 'install.log').read_text()[-3000:]}")


@pytest.fixture(scope="session")
def modules():
    """The folder node_modules with all clients."""
    build = harness.build_dir()
    build.mkdir(parents=True, exist_ok=True)
    content = b"\0".join((HERE / name).read_bytes() for name in MANIFEST)
    folder = build / f"clients-{hashlib.sha256(content).hexdigest()[:16]}"
    stamp = folder / "installed"
    with open(build / "clients.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            _install(folder)
            stamp.touch()
    return folder / "node_modules"


@pytest.fixture(scope="session")
def scripts(modules, tmp_path_factory):
    """Copies of our own .mjs files beside the clients: that is where node looks for what they import."""
    folder = tmp_path_factory.mktemp("scripts")
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, folder)
    (folder / "node_modules").symlink_to(modules)
    return folder


@pytest.fixture
def runner(tmp_path, modules):
    return ClientRunner(tmp_path / "home", modules)
