"""Sessions in a virtual machine with systemd, cgroup v2 and AppArmor (tests/engines/vm.sh), whose processor is emulated."""

import collections
import subprocess

import harness
import pytest

pytestmark = pytest.mark.timeout(7200)
MEMORY = 768 << 20


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The values of each name that tests/engines/vm-inside.sh reports."""
    path = tmp_path_factory.mktemp("vm") / "report"
    done = subprocess.run([harness.ROOT / "tests" / "engines" / "vm.sh", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + path.read_text()
    found = collections.defaultdict(list)
    for line in path.read_text().replace("\r", "").splitlines():
        name, _, value = line.partition(": ")
        found[name].append(value)
    for name in ("up", "kernel", "docker", "info", "stats", "idle", "memory.current", "memory.peak", "memory.stat", "pids.current"):
        print(f"figure: {name}: {' '.join(found[name])}")
    return found


def one(report, name):
    value, = report[name]
    return value


def test_the_machine_has_cgroup_v2_and_apparmor(report):
    assert (one(report, "cgroups"), one(report, "apparmor")) == ("cgroup2fs", "Y")
    assert "cgroup 2 systemd" in one(report, "info") and "apparmor" in one(report, "info")
    doctor = " ".join(" ".join(report["doctor"]).split())
    assert "FAIL" not in doctor, doctor
    assert "v2, driver systemd" in doctor, doctor


@pytest.mark.parametrize(("language", "answer"), [("python", "45"), ("node", "42"), ("r", "2 ")])
def test_a_session_of_each_language_runs(report, language, answer):
    assert one(report, language).startswith(f"{answer}|"), report[language]
    assert " status 0 " in one(report, language)


def test_the_limits_of_a_session_are_set(report):
    limits = one(report, "limits")
    for words in (f"memory.max {MEMORY}", "memory.swap.max 0", "pids.max 512", "cpu.max 200000 100000"):
        assert words in limits, limits
    assert "docker-default (enforce)" in limits, limits


def test_memory_and_processes_are_limited(report):
    assert " status 137 " in one(report, "memory"), report["memory"]
    assert "-9|" in one(report, "child"), report["child"]
    assert "Resource temporarily unavailable True" in one(report, "pids"), report["pids"]


def test_nothing_is_left(report):
    assert one(report, "after").endswith("containers 0"), report["after"]
