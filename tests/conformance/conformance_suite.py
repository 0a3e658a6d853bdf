"""The MCP conformance suite from npm: installed once for each lockfile, run against the server in either era."""

import fcntl
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess

from bridge import Bridge

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / os.environ.get("BUILD", "build")
HUSK = os.environ.get("HUSK") or str(BUILD / "husk")
EXPECTED = HERE / "expected-failures.yaml"
MANIFEST = ("package.json", "package-lock.json", ".npmrc")
INSTALL_TIME = 900
SUITE_TIME = 300


def clean_env(home):
    """No engine: nothing here needs one, and a tool of the server that the suite happens to call starts nothing."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "HUSK_DOCKER": str(home / "no-docker")}


def _npm_ci(folder):
    folder.mkdir(exist_ok=True)
    for name in MANIFEST:
        shutil.copy(HERE / name, folder)
    with open(folder / "install.log", "wb") as log:
        done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              timeout=INSTALL_TIME, check=False)
    assert done.returncode == 0, f"npm ci ended with status {done.returncode}:\n{(folder / 'install.log').read_text()[-3000:]}"


def install():
    """The command line of the suite; it needs a newer Node than distributions have."""
    BUILD.mkdir(parents=True, exist_ok=True)
    content = b"\0".join((HERE / name).read_bytes() for name in MANIFEST)
    folder = BUILD / f"conformance-{hashlib.sha256(content).hexdigest()[:16]}"
    stamp = folder / "installed"
    with open(BUILD / "conformance.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            _npm_ci(folder)
            stamp.touch()
    modules = folder / "node_modules"
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    node = modules / f"node-linux-{machine}" / "bin" / "node"
    return [str(node), str(modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


class Verdict:
    """What the suite said of one era: its exit status, and for each scenario its checks."""

    def __init__(self, done, folder):
        self.status = done.returncode
        self.output = done.stdout + done.stderr
        self.scenarios = {}
        for checks in folder.glob("server-*/checks.json"):
            scenario = re.fullmatch(r"server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z", checks.parent.name)[1]
            self.scenarios[scenario] = json.loads(checks.read_text())


def judge(command, era, folder):
    """Runs all that the suite has for a revision; folder is empty."""
    home, results = folder / "home", folder / "results"
    home.mkdir()
    with Bridge([HUSK, "mcp", "--conformance-fixtures"], clean_env(home)) as url:
        done = subprocess.run([*command, "server", "--url", url, "--requirements", era, "--expected-failures", EXPECTED,
                               "--output-dir", results], cwd=home, env=clean_env(home), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SUITE_TIME, check=False)
    return Verdict(done, results)
