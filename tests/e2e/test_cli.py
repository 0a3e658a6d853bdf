"""The program's own command line, and the tour."""

import json
import pathlib
import re
import subprocess

import pytest

import harness


def husk(*args, home, timeout=120, **settings):
    return subprocess.run([harness.husk_binary(), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                          cwd=home, env=harness.clean_env(home, **settings))


def test_help_and_version(tmp_path):
    helped = husk("--help", home=tmp_path)
    assert helped.returncode == 0 and helped.stderr == ""
    for verb in ("mcp", "demo", "doctor"):
        assert re.search(rf"^\s+.*\b{verb}\b", helped.stdout, re.M)
    assert re.fullmatch(r"husk \d+\.\d+\.\d+\n", husk("--version", home=tmp_path).stdout)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [["frobnicate"], ["--nonsense"], ["mcp", "--env-file"], ["mcp", "surplus"]])
def test_wrong_usage_is_exit_100(tmp_path, args):
    done = husk(*args, home=tmp_path)
    assert done.returncode == 100 and done.stdout == "" and "husk" in done.stderr


def test_the_client_tells_what_it_is():
    client = harness.build_dir() / "husk-client"
    assert subprocess.run([client, "--version"], capture_output=True, text=True, check=True).stdout.startswith("husk-client ")
    assert "attach" in subprocess.run([client, "--help"], capture_output=True, text=True, check=True).stdout
    assert b"/ld-linux" not in client.read_bytes()  # static: no interpreter is asked for


def test_the_tour(tmp_path):
    done = husk("demo", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout  # not a terminal
    assert len(re.findall(r"\d+ ms", done.stdout)) >= 7
    picture = pathlib.Path(re.search(r"picture saved: (.*) \(", done.stdout)[1])
    assert picture.read_bytes().startswith(b"\x89PNG")
    config = json.loads(re.search(r"^\{.*^\}", done.stdout, re.M | re.S)[0])
    server = config["mcpServers"]["husk"]
    assert pathlib.Path(server["command"]).samefile(harness.husk_binary()) and server["args"] == ["mcp"]
    assert f"\nclaude mcp add husk -- {server['command']} mcp\n" in done.stdout


def test_the_tour_without_an_engine_says_what_to_do(tmp_path):
    done = husk("demo", home=tmp_path, DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 111
    assert "setup-docker.sh" in done.stdout + done.stderr
