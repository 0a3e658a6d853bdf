"""`husk demo`: the tour that a newcomer sees first."""

import json
import os
import re
import subprocess

import pytest
from harness import clean_env, docker, husk_binary, store_id, store_label, wait_until


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    home = tmp_path_factory.mktemp("demo")
    done = subprocess.run([husk_binary(), "demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=home,
                          env=clean_env(home), timeout=120)
    return home, done


def test_the_demo_runs_to_its_end(tour):
    _, done = tour
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr


def test_each_step_is_shown_with_its_time(tour):
    text = tour[1].stdout
    for word in ("create_session", "execute_code", "execute_terminal", "stop_session"):
        assert word in text
    assert len(re.findall(r"\d+(\.\d+)? ?m?s\b", text)) >= 5


def test_the_picture_is_saved(tour):
    home, done = tour
    paths = [p for p in re.findall(r"(\S+\.png)", done.stdout)]
    assert paths
    path = os.path.expanduser(paths[0].replace("~", str(home), 1)) if paths[0].startswith("~") else os.path.join(home, paths[0])
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) > 1000


def test_the_demo_ends_with_the_client_configuration(tour):
    text = tour[1].stdout
    assert "Claude Desktop" in text and "Cursor" in text
    line = next(line for line in text.splitlines() if "claude mcp add" in line)
    assert line.rstrip().endswith("mcp") and " -- " in line and "husk" in line
    start = text.index("{", text.index("Claude Desktop"))
    config, _ = json.JSONDecoder().raw_decode(text[start:])
    server = config["mcpServers"]["husk"]
    assert os.path.isabs(server["command"]) and os.access(server["command"], os.X_OK)
    assert server["args"] == ["mcp"]


def test_the_demo_prints_plain_text_without_a_terminal(tour):
    assert "\x1b" not in tour[1].stdout
    assert all(len(line) <= 120 for line in tour[1].stdout.splitlines() if "/" not in line)


def test_the_demo_leaves_no_container(tour):
    home, _ = tour
    if store_id(clean_env(home)):
        label = store_label(clean_env(home))
        wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", label), what="the end of the demo's session")


def test_without_an_engine_the_demo_names_the_next_step(tmp_path):
    done = subprocess.run([husk_binary(), "demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path, timeout=60,
                          env=clean_env(tmp_path, DOCKER_HOST="unix:///nonexistent/docker.sock", DOCKER_CONTEXT=None))
    assert done.returncode == 111
    assert "husk setup" in done.stdout + done.stderr
