"""The Node that runs the kernel's tests, which need no container.

HUSK_TEST_NODE names a Node of version 22 or newer. Otherwise runtimes/node/fetch.sh fetches the pinned npm package
once into BUILD, which needs npm and its registry.
"""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def fetched_node():
    script = ROOT / "runtimes/node/fetch.sh"
    folder = ROOT / os.environ.get("BUILD", "build") / f"node-{hashlib.sha256(script.read_bytes()).hexdigest()[:8]}"
    if not (folder / "node").exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([script, folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"no Node to test with: set HUSK_TEST_NODE, or see why {script} failed:\n{done.stderr}"
    return str(folder / "node")


@pytest.fixture(scope="module", autouse=True)
def node():
    """The interpreter that link_harness starts."""
    with pytest.MonkeyPatch.context() as patch:
        node = os.environ.get("HUSK_TEST_NODE") or fetched_node()
        patch.setenv("HUSK_TEST_NODE", node)
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        assert int(version[1:].split(".")[0]) >= 22, f"HUSK_TEST_NODE={node} is {version.strip()}, not 22 or newer"
        yield node


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
