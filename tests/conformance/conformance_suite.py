"""The MCP conformance suite from npm: installed once for each lockfile, run against the server in either era."""

import contextlib
import json
import os
import pathlib
import platform
import re
import subprocess

import harness
import npm_packages

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / os.environ.get("BUILD", "build")
HUSK = os.environ.get("HUSK") or str(BUILD / "husk")
EXPECTED = HERE / "expected-failures.yaml"
SUITE_TIME = 300
END_TIME = 10


def program():
    """husk with the fixtures of the suite, a program that only tests use."""
    harness.ninja(BUILD, "tests/husk-conformance")
    return str(BUILD / "tests" / "husk-conformance")


def clean_env(home):
    """An environment without an engine. No test here needs one, and tools that the suite happens to call start
    nothing.
    """
    return {"PATH": os.environ["PATH"], "HOME": str(home), "HUSK_DOCKER": str(home / "no-docker")}


def install():
    """The command line of the suite. The suite needs a newer Node than distributions have."""
    modules = npm_packages.installed(HERE, BUILD, "conformance")
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    node = modules / f"node-linux-{machine}" / "bin" / "node"
    return [str(node), str(modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


class Verdict:
    """Results of the suite for one era: its exit status, and the checks of each scenario."""

    def __init__(self, done, folder):
        self.status = done.returncode
        self.output = done.stdout + done.stderr
        self.scenarios = {}
        for checks in folder.glob("server-*/checks.json"):
            scenario = re.fullmatch(r"server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z", checks.parent.name)[1]
            self.scenarios[scenario] = json.loads(checks.read_text())


@contextlib.contextmanager
def served(home):
    """Runs `husk serve` with the fixtures on a free port. Yields the address and the key."""
    with subprocess.Popen([program(), "serve"], env=clean_env(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            origin, key = re.fullmatch(r"Husk listens on (\S+)\. The key of this user is in (.*)\.\n", process.stdout.readline()).groups()
            yield f"{origin}/mcp", pathlib.Path(key).read_text().strip()
        finally:
            process.terminate()
            process.communicate(timeout=END_TIME)
        assert process.returncode == 0


def judge(command, era, folder):
    """Runs all scenarios of a revision. The folder must be empty."""
    home, results = folder / "home", folder / "results"
    home.mkdir()
    node, *suite = command
    with served(home) as (url, key):
        done = subprocess.run([node, "--require", HERE / "authorize.cjs", *suite, "server", "--url", url, "--requirements", era, "--expected-failures", EXPECTED,
                               "--output-dir", results], cwd=home, env={**clean_env(home), "HUSK_KEY": key}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SUITE_TIME, check=False)
    return Verdict(done, results)
