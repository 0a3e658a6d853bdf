"""Runs the examples of the Python module like a user does."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, containers
from harness import clean_env

EXAMPLES = ROOT / "clients" / "python" / "examples"

WANTED = {
    "analysis": ["shape: (3, 2)", "sum: 1549", "pictures: ['image/png']", "error: False ZeroDivisionError", "stopped: True"],
    "exports": ["/workspace/report.pdf True", "True /workspace/results True ", "True /workspace/logs True ",
                "True /workspace/missing.txt False File or directory not found in container: /workspace/missing.txt", "kept: %PDF-1.4",
                "in the archive: ['results/a.txt']"],
    "across_languages": ["R: 10 rows, mean 38.5", "Node: '10,100'"],
    "imports": ["/workspace/data.csv True ", "/workspace/project True ", "/workspace/missing.csv False cannot open '…/missing.csv': No such file or directory",
                "a,b", "1,2", "from the project"],
    "coroutines": ["node: 42", "python: 'awaited'", "asyncio: ['9', '16']", "stdout streamed", "result 'the end'"],
    "agent_tools": ["['run_python', 'run_shell', 'write_file']", "write_file: wrote primes.py", "run_python: 10",
                    "run_python: ZeroDivisionError: division by zero", "run_shell: exit code 0"],
    "map_inputs": ["100 answers from 4 sessions; perfect: [6, 28]"],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, tmp_path):
    more = {name: os.environ[name] for name in ("HUSK_LIBRARY", "PATH")}
    env = clean_env(tmp_path, PYTHONPATH=EXAMPLES.parent, PYTHONDONTWRITEBYTECODE=1, CONTAINER_MAX_SESSIONS=20, **more)
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=150,
                          stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines() == WANTED[name]
    assert containers(tmp_path) == []
