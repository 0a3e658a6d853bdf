"""husk-probe tries in a real session what must not work and notices what does. With SESSION_PROBE a session that
fails the proof is refused.
"""

import concurrent.futures
import json
import os
import re
import subprocess

import probe_matrix
import pytest
from harness import build_dir, clean_env, contrib_binary, docker, husk_binary, store_rows
from private_engine import image_of

GROUPS = {"escape", "host", "privileges", "capabilities", "namespaces", "mounts", "limits", "calls", "pid 1", "interpreter", "files", "devices",
          "network", "sessions", "gate"}


def probe_checks(home, *options):
    done = subprocess.run([husk_binary(), "doctor", "--probe", "--json", *options], env=clean_env(home, CONTAINER_NETWORK_ENABLED="false"),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    return [check for check in json.loads(done.stdout)["checks"] if check["name"].startswith("probe ")]


# evidence: probe
def test_every_forbidden_act_is_tried_and_refused(tmp_path):
    """For the first runtime, each act is printed with how it was refused; the others have a summary. The network is off
    here: test_fence.py has it on.
    """
    checks = probe_checks(tmp_path, "--verbose")
    acts = [check for check in checks if check["name"].removeprefix("probe ") in GROUPS]
    assert len(acts) >= 180
    assert [check for check in checks if check["status"] != "ok"] == []
    for act in acts:
        assert re.search(r": (E[A-Z]+|no-effect)$", act["detail"]), act
    sums = {check["name"]: check["detail"] for check in checks if check not in acts}
    assert set(sums) == {"probe python", "probe node", "probe r"}
    for detail in sums.values():
        assert list(map(int, re.findall(r"\d+", detail))) == [len(acts), len(acts), 0, 0]


# evidence: probe
def test_doctor_sums_up_each_group(tmp_path):
    checks = {check["name"].removeprefix("probe "): check for check in probe_checks(tmp_path)}
    assert set(checks) == GROUPS | {"python", "node", "r"}
    for group in GROUPS:
        words = "its only act was blocked" if group == "interpreter" else r"all ([2-9]|\d\d+) were blocked"
        assert checks[group]["status"] == "ok" and re.fullmatch(words, checks[group]["detail"])


# --- each act can fail: the protections are removed one by one


@pytest.fixture(scope="module")
def seen():
    """Acts that some test of this module saw turn red."""
    return set()


@pytest.fixture
def captured(start, tmp_path):
    return probe_matrix.capture(start, tmp_path)


# evidence: probe-verdicts
def test_each_missing_protection_is_noticed(captured, tmp_path, seen):
    """Compares with a container that lacks only PID 1; test_a_missing_guard_is_noticed tests PID 1's filter and
    Landlock.
    """
    _, _, flags = captured
    plain = probe_matrix.run(flags.copy().for_probe())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = {name: pool.submit(probe_matrix.run, change(flags.copy().for_probe())) for name, (change, _) in probe_matrix.ROWS.items()}
        made["everything"] = pool.submit(probe_matrix.run, probe_matrix.everything_off(flags.copy().for_probe(), tmp_path))
        reports = {name: future.result() for name, future in made.items()}
    missed = {name: expected - (reports[name].red - plain.red) for name, (_, expected) in probe_matrix.ROWS.items()}
    assert {name: acts for name, acts in missed.items() if acts} == {}
    assert "reboot" in reports["everything"].red and "mount proc" in reports["everything"].red
    seen.update(plain.red, *(report.red for report in reports.values()))


# evidence: probe-verdicts
def test_a_missing_guard_is_noticed(captured, seen):
    """husk-probe runs in a session but is not started by PID 1, so only our own filter and Landlock are missing."""
    session, container, _ = captured
    inside = probe_matrix.Report(session.shell(probe_matrix.PROBE, 120).stdout)
    assert inside.of("OPEN", "cannot tell") == set()
    user = session.shell("id -u").stdout.strip()
    outside = probe_matrix.Report(docker("exec", "--user", f"{user}:65532", container, probe_matrix.PROBE))
    assert {"io_uring_setup", "io_setup", "memfd_secret", "a 32-bit call", "vsock", "firewall's netlink", "kill", "tgkill", "pidfd_open",
            "prlimit", "sched_setscheduler", "sched_setaffinity", "setpriority", "setpriority for its user", "ioprio_set",
            "read its memory from a command"} <= outside.red
    # PID 1's protection of itself does not depend on the filter.
    assert {"ptrace", "process_vm_readv", "open /proc/1/mem", "list /proc/1/fd"} <= outside.of("held")
    seen.update(outside.red)


# evidence: probe-verdicts
def test_an_open_network_is_noticed(seen, tmp_path):
    """Two namespaces without an engine: everything answers with a reset. Where nothing answers, an act reports that it
    cannot tell.
    """
    program = str(build_dir() / "husk-probe")
    with probe_matrix.OpenNetwork(["169.254.169.254", "100.100.100.200", "10.0.0.1", "172.17.0.1", "192.168.1.1", "10.96.0.1",
                                   "fd00:ec2::254", "fd00::1"]) as network:
        folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
        shared = os.open("/dev/shm", os.O_RDONLY | os.O_DIRECTORY)
        network.answer_names()
        report = network.probe(program, pass_fds=(folder, shared))
        os.close(folder)
        os.close(shared)
    acts = {name for name, group in report.groups.items() if group in ("network", "host", "sessions", "gate")} | {
        "Kubernetes' API 10.96.0.1", "a host directory left open"}
    assert acts - report.red == set()
    seen.update(report.red)
    with probe_matrix.OpenNetwork([]) as network:
        network.inside(network.ends[0], "ip", "address", "flush", "dev", "far")
        silent = network.probe(program)
    assert {silent.verdicts[name] for name, group in silent.groups.items() if group in ("network", "host") and ":" not in name} == {"cannot tell"}
    assert {silent.verdicts[name] for name, group in silent.groups.items() if group == "sessions"} == {"no peer"}


# evidence: probe-verdicts
def test_every_act_can_fail(captured, seen):
    """Runs after the tests above: an act that can never fail proves nothing. probe_matrix.py names acts that this
    machine cannot show.
    """
    session, _, _ = captured
    acts = probe_matrix.Report(session.shell(probe_matrix.PROBE, 120).stdout).verdicts
    assert [name for name in acts if name not in seen and not probe_matrix.beyond_this_machine(name)] == []


# --- proof before a session is handed out


def receipts(server):
    return store_rows(server.env, "SELECT image, engine, boot, result, created FROM receipts")


# evidence: probe
def test_the_proof_runs_once(start, tmp_path):
    server = start(SESSION_PROBE="require", home=tmp_path / "home")
    assert server.session(network=False).code("6 * 7").ok().value == "42"
    first, = receipts(server)
    boot = open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()
    assert first[0] == image_of("python") and docker("version", "--format", "{{.Server.Version}}") in first[1] and first[2] == boot
    assert re.fullmatch(r"\d+ held", first[3])
    server.session(network=False)
    assert receipts(server) == [first]
    server.stop()
    again = start(SESSION_PROBE="require", home=tmp_path / "home")
    again.session(network=False)
    assert receipts(again) == [first]


# evidence: jupyter-kernels
def test_a_stock_kernel_is_restricted_too(start):
    server = start(SESSION_PROBE="require", command=[contrib_binary(["ipykernel"]), "mcp"])
    assert server.session(language="ipykernel", network=False).code("6 * 7").ok().value == "42"
    assert re.fullmatch(r"1\d\d held", receipts(server)[0][3])


# evidence: probe
def test_a_session_that_fails_the_proof_is_refused(start, tmp_path):
    script = tmp_path / "docker"
    script.write_text('#!/bin/bash\n[ "$1 $2" != "run --detach" ] || set -- run --device /dev/null:/dev/kvm "${@:2}"\nexec docker "$@"\n')
    script.chmod(0o755)
    server = start(SESSION_PROBE="require", HUSK_DOCKER=script)
    refused = server.call("create_session", {"network": False})
    assert refused.is_error and "is not isolated" in refused.text and "/dev/kvm" in refused.text, refused.text
    assert receipts(server) == []
    held = start(HUSK_DOCKER=script).session(network=False)  # without SESSION_PROBE, it is not tested
    assert held.code("6 * 7").ok().value == "42"
