"""husk doctor: on this machine, with engines that are broken in many ways, and its output for people and programs."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time
import uuid

import pytest
from harness import PATIENCE, ROOT, build_dir, clean_env, docker, husk_binary, processes, store_label, wait_until

ASKED = ["docker client", "endpoint", "engine", "engine age", "containerd", "runc"]
OF_ENGINE = ["system", "storage driver", "cgroups", "seccomp", "memory limit", "swap limit", "process limit", "cpu limit",
             "runtime", "apparmor", "rootless", "user namespaces", "landlock", "br_netfilter", "pseudo-terminals"]
OF_HUSK = [*(f"image {image['name']}" for image in json.loads((build_dir() / "images.json").read_text())), "network", "fence", "leftovers"]
OF_HOST = ["settings file", "settings", "warm pool", "state folder", "storage folder", "store", "limits"]
SECRET = "s3cr3t-never-shown"
ENGINE_ID = "a" * 64


class Doctor:
    def __init__(self, home):
        self.home = home

    def run(self, *args, **settings):
        env = clean_env(self.home, **settings)
        began = time.monotonic()
        self.done = subprocess.run([husk_binary(), "doctor", *args], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                   text=True, timeout=PATIENCE * 3)
        self.took = time.monotonic() - began
        return self.done

    def json(self, *args, **settings):
        report = json.loads(self.run("--json", *args, **settings).stdout)
        assert set(report) == {"ok", "version", "checks"}
        for check in report["checks"]:
            assert set(check) - {"fix"} == {"name", "status", "detail"}
            assert check["status"] in ("ok", "warn", "fail")
            assert check["status"] != "fail" or check.get("fix"), check
        assert report["ok"] == all(c["status"] != "fail" for c in report["checks"])
        assert self.done.returncode == (0 if report["ok"] else 1)
        assert self.done.stderr == ""
        return {check["name"]: check for check in report["checks"]}


@pytest.fixture
def doctor(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return Doctor(home)


@pytest.fixture
def fake(tmp_path):
    """Writes a shell script that replaces the docker client."""

    def make(body):
        program = tmp_path / "docker"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        return str(program)

    return make


def answering(info="v2", network="", icc="false", containers=""):
    """A script that answers as docker does, from a recorded engine."""
    sample = ROOT / "tests" / "golden" / "info" / f"{info}.json"
    return f"""
case "$1 $2" in
"--version ") echo 'Docker version 27.3.1, build ce12230' ;;
"context inspect") echo '["default","unix:///run/docker.sock"]' ;;
"version --format") echo '{{"Server":{{"Version":"27.3.1","ApiVersion":"1.47","Components":[{{"Name":"Engine"}}]}}}}' ;;
"info --format") cat '{sample}' ;;
"image inspect") echo '[516941405,"amd64"]' ;;
"network ls") echo '{network}' ;;
"network inspect") echo '{{"Driver":"bridge","Options":{{"com.docker.network.bridge.enable_icc":"{icc}","com.docker.network.bridge.name":"husk0"}}}}' ;;
"ps --all") printf '{containers}' ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac"""


def test_all_checks_pass_on_this_machine(doctor):
    checks = doctor.json()
    assert doctor.done.returncode == 0, checks
    assert list(checks) == ASKED + OF_ENGINE + OF_HUSK + OF_HOST
    assert checks["docker client"]["detail"].startswith("/")
    assert docker("version", "--format", "{{.Server.Version}}") in checks["engine"]["detail"]
    assert list(doctor.home.iterdir()) == [], "doctor makes nothing"


def test_lines_for_people(doctor):
    text = doctor.run().stdout
    assert doctor.done.returncode == 0
    for name in ASKED + OF_ENGINE + OF_HUSK + OF_HOST:
        assert re.search(rf"^  (ok  |warn) {name} ", text, re.MULTILINE), name
    assert "All is well" in text
    assert text.isascii()


def test_lines_fit_80_columns(tmp_path):
    home = tmp_path / ("h" * 100)
    home.mkdir()
    text = Doctor(home).run(HUSK_DOCKER="/nonexistent/docker").stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert re.search(r"state folder +/.*\.\.\..*/state/husk,$", text, re.MULTILINE), text


def on_terminal(doctor, **settings):
    main, other = pty.openpty()
    env = clean_env(doctor.home, **settings)
    process = subprocess.Popen([husk_binary(), "doctor"], env=env, stdin=subprocess.DEVNULL, stdout=other, stderr=other)
    os.close(other)
    text = b""
    try:
        while chunk := os.read(main, 65536):
            text += chunk
    except OSError:  # how Linux reports that the other end is closed
        pass
    os.close(main)
    assert process.wait(PATIENCE) == 1
    return text.decode()


def test_marks_and_colours_are_for_terminals(doctor):
    none = {"HUSK_DOCKER": "/nonexistent/docker", "TERM": "xterm"}
    text = on_terminal(doctor, LC_ALL="C.UTF-8", **none)
    assert "\033[32m✓\033[0m settings " in text
    assert "\033[31m✗\033[0m docker client " in text
    assert "→ install docker" in text
    plain = on_terminal(doctor, LC_ALL="C.UTF-8", NO_COLOR="1", **none)
    assert "✓ settings " in plain and "\033" not in plain
    ascii_only = on_terminal(doctor, LC_ALL="C", NO_COLOR="1", **none)
    assert "ok   settings " in ascii_only and ascii_only.isascii()


def test_probe_runs_a_session(doctor):
    thread = f"doctor-{uuid.uuid4()}"
    checks = doctor.json("--probe", HUSK_THREAD_ID=thread)
    assert re.fullmatch(r"created in \d+ ms, 1\+1 in \d+ ms over socket, stopped in \d+ ms", checks["session python"]["detail"]), checks
    assert docker("ps", "--all", "--quiet", "--filter", store_label(clean_env(doctor.home))) == ""
    assert [p.name for p in doctor.home.iterdir()] == ["state"]  # doctor's trial sessions are recorded in the store
    assert list((doctor.home / "state" / "husk" / "servers").iterdir()) == []


def test_probe_that_is_interrupted_leaves_nothing(doctor):
    thread = f"doctor-{uuid.uuid4()}"

    def containers():
        return docker("ps", "--all", "--quiet", "--filter", store_label(clean_env(doctor.home)))

    process = subprocess.Popen([husk_binary(), "doctor", "--probe"], env=clean_env(doctor.home, HUSK_THREAD_ID=thread),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(lambda: containers() or process.poll() is not None, what="the session")
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    wait_until(lambda: not containers(), what="removal of the session")


def test_probe_reports_why_no_session_starts(doctor, fake):
    checks = doctor.json("--probe", HUSK_DOCKER=fake(answering()))
    assert checks["session python"]["status"] == "fail"
    assert "cannot" in checks["session python"]["detail"]


def test_image_that_is_missing(doctor):
    checks = doctor.json(HUSK_IMAGE_PYTHON="husk-none:1")
    assert doctor.done.returncode == 1
    assert checks["image python"]["status"] == "fail"
    assert "husk-none:1" in checks["image python"]["detail"]


def test_no_client(doctor):
    checks = doctor.json(PATH="/nonexistent")
    assert checks["docker client"]["status"] == "fail"
    assert "husk setup" in checks["docker client"]["fix"]
    assert [name for name, check in checks.items() if check["status"] == "fail"] == ["docker client"]
    assert checks["settings"]["status"] == "ok"


def test_a_missing_engine_is_reported_once(doctor, tmp_path):
    where = f"unix://{tmp_path}/none.sock"
    checks = doctor.json(DOCKER_HOST=where)
    assert [name for name, check in checks.items() if check["status"] == "fail"] == ["engine"]
    assert where in checks["endpoint"]["detail"] and "DOCKER_HOST" in checks["endpoint"]["detail"]
    assert "no Docker engine answers" in checks["engine"]["detail"]


BROKEN = {
    "silent": "exit 0",
    "garbage": r"printf '\033[31m\000\377{{{ garbage'",
    "half": "printf '{\"Server'",
    "wrong types": "echo '[1, [], {\"ServerVersion\": 7}]'",
    "deep": "head -c 100000 /dev/zero | tr '\\0' '['",
    "complains": "echo 'a riddle' >&2; exit 3",
    "crashes": "kill -SEGV $$",
    "daemonises": "sleep 100 & echo '{}'",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_client_that_is_broken(doctor, fake, kind):
    program = fake(BROKEN[kind])
    checks = doctor.json(HUSK_DOCKER=program)
    for pid in of_program(program):  # processes that became daemons
        os.kill(pid, signal.SIGKILL)
    assert checks["docker client"]["status"] == checks["engine"]["status"] == "fail"
    assert all("\033" not in check["detail"] for check in checks.values())


# At a limited rate: a flood that uses the whole machine would not show more.
FLOODS = "exec perl -e 'while (1) { print q({\"ServerVersion\":) x 1e5; select undef, undef, undef, 0.05 }'"


@pytest.mark.parametrize("body", [pytest.param("exec sleep 1000", id="hangs"), pytest.param(FLOODS, id="floods")])
def test_client_that_never_ends(doctor, fake, body):
    program = fake(body)
    checks = doctor.json(HUSK_DOCKER=program)
    assert checks["engine"]["status"] == "fail"
    assert "10 s" in checks["engine"]["detail"]
    assert doctor.took < 25, "all questions at once, ten seconds each"
    assert of_program(program) == []


def of_program(program):
    mark = f"HUSK_DOCKER={program}\0".encode()
    return [pid for pid in processes() if mark in environment(pid)]


def environment(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_engine_with_cgroup_v2(doctor, fake):
    checks = doctor.json(HUSK_DOCKER=fake(answering()))
    assert doctor.done.returncode == 0 or checks["system"]["status"] == "fail"  # the recorded answer is from an x86_64 machine
    assert checks["cgroups"]["detail"] == "v2, driver systemd"
    assert checks["network"]["detail"].startswith("does not exist yet")


def test_engine_without_limits(doctor, fake):
    checks = doctor.json(HUSK_DOCKER=fake(answering("rootless")))
    assert {"cgroups", "memory limit", "process limit"} <= {n for n, c in checks.items() if c["status"] == "fail"}


def test_network_that_joins_sessions(doctor, fake):
    well = doctor.json(HUSK_DOCKER=fake(answering(network=ENGINE_ID)))
    assert well["network"]["status"] == "ok"
    checks = doctor.json(HUSK_DOCKER=fake(answering(network=ENGINE_ID, icc="true")))
    assert checks["network"]["status"] == "fail"
    assert "docker network rm husk" in checks["network"]["fix"]


def test_leftovers(doctor):
    image = docker("images", "--format", "{{.Repository}}:{{.Tag}}", "husk-python").splitlines()[0]
    name = f"husk-leftover-{uuid.uuid4().hex[:12]}"
    subprocess.run([husk_binary(), "ps"], env=clean_env(doctor.home), check=True, stdin=subprocess.DEVNULL)  # makes the store
    docker("create", "--name", name, "--label", "husk=true", "--" + store_label(clean_env(doctor.home)), image)
    try:
        young = doctor.json()
        assert name not in json.dumps(young)
        old = doctor.json(CONTAINER_ORPHAN_MIN_AGE_SECONDS=0)
        assert old["leftovers"]["status"] == "warn"
        assert "docker rm --force" in old["leftovers"]["fix"]
        assert doctor.done.returncode == 0, "worth doing, but nothing fails because of it"
    finally:
        docker("rm", "--force", "--volumes", name)


# evidence: secrets
def test_settings_and_folders(doctor, tmp_path):
    config = doctor.home / "config" / "husk"
    config.mkdir(parents=True)
    file = config / ".env"
    file.write_text(f"CONTAINER_PIDS_LIMIT=100\nENCRYPTION_KEY={SECRET}\n")
    file.chmod(0o644)
    state = doctor.home / "state" / "husk"
    state.mkdir(parents=True)
    state.chmod(0o777)
    checks = doctor.json(POSTGRES_PASSWORD=SECRET, DATABASE_URL=f"postgres://u:{SECRET}@h/d")
    assert SECRET not in doctor.done.stdout + doctor.done.stderr
    assert "CONTAINER_PIDS_LIMIT=100" in checks["settings"]["detail"]
    assert "ENCRYPTION_KEY (set)" in checks["settings"]["detail"]
    assert checks["settings file"]["status"] == "warn"
    assert checks["state folder"]["status"] == "fail"
    assert checks["storage folder"]["status"] == "ok"
    assert not (doctor.home / "data").exists()


def test_setting_that_is_not_valid(doctor):
    checks = doctor.json("--probe", CONTAINER_MEMORY_LIMIT="lots")
    assert checks["settings"]["status"] == "fail"
    assert "CONTAINER_MEMORY_LIMIT" in checks["settings"]["detail"]
    assert checks["engine"]["status"] == "ok"
    assert "not tried" in checks["session"]["detail"]


def test_a_memory_limit_beyond_the_machine_fails(doctor):
    checks = doctor.json(CONTAINER_MEMORY_LIMIT="8000g")
    assert checks["limits"]["status"] == "fail"


@pytest.mark.parametrize("args", [["doctor", "--nope"], ["doctor", "now"], ["mcp", "--json"], ["demo", "--probe"]])
def test_wrong_usage(doctor, args):
    done = subprocess.run([husk_binary(), *args], env=clean_env(doctor.home), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 64
    assert "usage:" in done.stderr and done.stdout == ""
