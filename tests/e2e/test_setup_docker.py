"""setup-docker.sh: a second run ends quickly, without changes, and says so; wrong usage and unreachable engines are
reported.
"""

import json
import os
import shutil
import subprocess

import pytest
from harness import ROOT, build_dir, docker

SCRIPT = ROOT / "setup-docker.sh"


def run(*args, **env):
    return subprocess.run([str(SCRIPT), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/",
                          env={**os.environ, **env}, timeout=170)


def test_a_second_run_changes_nothing():
    listed = build_dir() / "images.json"
    tags = [image[kind] for image in json.loads(listed.read_text()) for kind in image if kind.endswith("tag") and image[kind]]
    before = docker("image", "inspect", "--format", "{{.Id}} {{.Created}}", *tags)
    done = run("--images", str(listed))
    assert done.returncode == 0, done.stderr
    assert "answers" in done.stdout and "there" in done.stdout  # says what it found
    assert docker("image", "inspect", "--format", "{{.Id}} {{.Created}}", *tags) == before


def test_engine_only_checks_no_images():
    done = run("--engine-only")
    assert done.returncode == 0 and "answers" in done.stdout and "image" not in done.stdout


def test_help_and_wrong_usage():
    assert "usage" in run("--help").stdout
    done = run("--nonsense")
    assert done.returncode == 64 and "usage" in done.stderr


def test_an_engine_of_docker_host_is_never_installed():
    done = run("--engine-only", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 111
    assert "/nonexistent/docker.sock" in done.stderr and "installing" not in done.stdout


def test_a_missing_list_of_images_is_reported(tmp_path):
    done = run("--images", str(tmp_path / "images.json"))
    assert done.returncode != 0 and "make" in done.stderr


def test_a_client_without_an_engine_is_reported(tmp_path):
    """With a docker client on the PATH but nothing that answers at its context, the script does not claim success."""
    fake = tmp_path / "docker"
    fake.write_text("#!/bin/sh\ncase $1 in context) echo tcp://engine.invalid:2375 ;; *) exit 1 ;; esac\n")
    fake.chmod(0o755)
    done = run("--engine-only", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode != 0 and "answers" in done.stderr and "installing" not in done.stdout


@pytest.mark.parametrize("path", ["setup-docker.sh", "tools/install-deps.sh", "tools/shell.sh", ".ci/run", "tools/with-docker.sh"])
def test_the_shell_scripts_are_sound(path):
    subprocess.run(["bash", "-n", str(ROOT / path)], check=True)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "--severity=warning", "--external-sources", "--source-path=SCRIPTDIR", "--exclude=SC1091",
                               str(ROOT / path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
