"""The blocks of README.md for clients, scripts and terminals, ten lines each, run as they stand."""

import json
import os
import re
import subprocess
import sys

from conftest import ROOT, containers
from harness import build_dir, clean_env


def block(title):
    section = (ROOT / "README.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    text = re.search(r"```\w+\n(.*?)```", section, re.S).group(1)
    assert text.count("\n") == 10
    return text


def folder(tmp_path):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return work


def run(command, tmp_path):
    """In a folder below its home, which `husk run` would not copy along."""
    env = clean_env(tmp_path, PYTHONPATH=ROOT / "clients" / "python", PYTHONDONTWRITEBYTECODE=1, HUSK_LIBRARY=os.environ["HUSK_LIBRARY"],
                    PATH=os.environ["PATH"])
    done = subprocess.run(command, env=env, cwd=folder(tmp_path), capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL,
                          check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert containers(tmp_path) == []
    return done.stdout


def test_from_a_client(tmp_path):
    work = folder(tmp_path)
    (work / "claude").write_text('#!/bin/sh\necho claude "$@"\n')
    (work / "claude").chmod(0o755)
    text = run(["bash", "-euc", f'PATH="$PWD:$PATH"\n{block("From a client")}'], tmp_path)
    assert text.splitlines()[-1] == f"claude mcp add husk -- {build_dir()}/husk mcp"
    assert "answers" in text
    assert json.loads((work / "husk-client.json").read_text())["mcpServers"]["husk"]["command"] == f"{build_dir()}/husk"


def test_from_a_script(tmp_path):
    assert run([sys.executable, "-c", block("From a script")], tmp_path) == "30\n[0, 1, 4, 9, 16]\nZeroDivisionError\n('squares are kept\\n', 16)\n"


def test_from_a_terminal(tmp_path):
    assert run(["bash", "-euc", block("From a terminal")], tmp_path).splitlines()[:5] == [
        "hello from a sandbox", "it ended with 3", "42", "'hello, you'", "[1] 15.4"]
