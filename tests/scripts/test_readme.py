"""Runs every command of README.md like a reader does. `make run` and `make test` start the tests themselves."""

import json
import os
import socket

import pytest
from conftest import ROOT, containers
from harness import build_dir
from pages import blocks, environment, execute

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
MAKE = ["make run", "make test"]


def commands(code):
    """The lines of a block without their comments."""
    return [line.split("  #")[0].strip() for line in code.splitlines()]


def section(title):
    [found] = blocks(TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0])
    return found


def run(tmp_path, title, change=str, **more):
    """Returns the output of the section's block, after `change`. It runs in a folder below the home, because `husk run`
    does not copy the home itself.
    """
    _, language, _, code = section(title)
    code = change(code)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    env = environment(tmp_path, **more)
    done = execute(language, code, work, env)
    assert done.returncode == 0, done.stdout
    assert containers(tmp_path) == []
    return done.stdout.splitlines()


def test_every_block_is_known():
    titles = ["Two commands", "Connect a client", "From a script", "From a terminal", "Over HTTP"]
    assert len(list(blocks(TEXT))) == len(titles)
    for title in titles:
        assert section(title)[1] in ("sh", "python") and not section(title)[2]


def test_ci_runs_the_same_two_commands():
    assert commands(section("Two commands")[3]) == MAKE
    assert "exec make test\n" in (ROOT / ".ci" / "run").read_text()
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert all(f"run: sudo {command}\n" in workflow for command in MAKE)


def test_the_client_configuration_works(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "claude").write_text('#!/bin/sh\necho claude "$@"\n')
    (tools / "claude").chmod(0o755)
    lines = run(tmp_path, "Connect a client", PATH=f"{tools}:{os.environ['PATH']}")
    assert lines[-1] == f"claude mcp add husk -- {build_dir()}/husk mcp"
    [server] = json.loads((tmp_path / "work" / "husk-client.json").read_text())["mcpServers"].values()
    assert server == {"command": f"{build_dir()}/husk", "args": ["mcp"]}


def test_the_script_runs(tmp_path):
    assert run(tmp_path, "From a script") == ["30", "[0, 1, 4, 9, 16]", "ZeroDivisionError", "('squares are kept\\n', 16)"]


def test_the_terminal_commands_run(tmp_path):
    lines = run(tmp_path, "From a terminal")
    assert lines[:5] == ["hello from a session", "exit code 3", "42", "'hello, you'", "[1] 15.4"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def test_the_http_commands_run(tmp_path):
    port = free_port()
    text = "\n".join(run(tmp_path, "Over HTTP", change=lambda code: code.replace("8765", port) + "\nwait\n"))
    assert '"name":"demo"' in text
    assert '"result":{"text/plain":"42"}' in text
    assert '{"run":2,"state":"running"}' in text
    assert f"http://127.0.0.1:{port}/mcp" in (tmp_path / "work" / "connect.txt").read_text()


@pytest.mark.parametrize("tool", ["create_session", "execute_code", "execute_terminal", "import_files", "export_files", "session_info",
                                  "stop_session"])
def test_the_table_names_every_tool(tool):
    assert f"| `{tool}` |" in TEXT
