"""A newcomer's view of a fresh clone: the documents, two commands, and a second run that takes seconds."""

import json
import os
import subprocess
import time

import pytest
from harness import ROOT, build_dir, clean_env


def make(home, *args):
    env = clean_env(home, BUILD=os.environ.get("BUILD"))
    return subprocess.run(["make", "--no-print-directory", *args], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=env, timeout=170)


@pytest.mark.parametrize("name, words", [
    ("README.md", ["make run", "make test", "claude mcp add", "```"]),
    ("ARCHITECTURE.md", ["base", "kernels", "manager", "mcp"]),
    ("CONTRIBUTING.md", ["make test"]),
    ("docs/operating.md", ["## Where files are", "## Backup", "## Upgrade", "## Uninstall", "## Logs", "## Disk", "## systemd", "## Postgres",
                           "## Several users", "husk gc --exports --images --older 30d", "EXPORTS_MAX_SIZE_PER_CONVERSATION",
                           "EXPORTS_MAX_COUNT_PER_CONVERSATION", "EXPORTS_MAX_AGE_DAYS"]),
    ("LICENSE", ["MIT License", "WITHOUT WARRANTY OF ANY KIND"]),
])
def test_documents_have_their_required_parts(name, words):
    text = (ROOT / name).read_text()
    for word in words:
        assert word in text


def test_plain_make_only_builds(tmp_path):
    planned = make(tmp_path, "-n").stdout
    assert "ninja" in planned
    for word in ("setup-docker", "demo", "tests/run"):
        assert word not in planned


def test_ci_runs_the_tests():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.alone
def test_a_second_make_run_takes_seconds(tmp_path):
    for _ in range(2):  # the first run may have to build what is missing
        began = time.monotonic()
        done = make(tmp_path, "run")
        assert done.returncode == 0, done.stdout + done.stderr
        if time.monotonic() - began < 60:
            break
    else:
        pytest.fail("a minute, and everything was there")
    assert "claude mcp add" in done.stdout and "installing" not in done.stdout


def test_pid_1_is_built_with_traps_for_undefined_behaviour():
    commands = json.loads((build_dir() / "compile_commands.json").read_text())
    mine = [c["command"].split() for c in commands if "husk-client.p" in c["output"]]
    assert mine
    for command in mine:
        assert "-fsanitize=undefined" in command and "-fsanitize-undefined-trap-on-error" in command
