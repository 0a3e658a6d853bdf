"""The sandbox proves itself: husk-probe tries in a real session what must not work. It notices what does, and a session that does not hold is
not handed out where SESSION_PROBE asks for proof."""

import json
import re
import subprocess

from harness import clean_env, contrib_binary, docker, husk_binary, store_rows
from private_engine import image_of


def probe_checks(home):
    done = subprocess.run([husk_binary(), "doctor", "--probe", "--json"], env=clean_env(home, CONTAINER_NETWORK_ENABLED="false"), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)
    return [check for check in json.loads(done.stdout)["checks"] if check["name"].startswith("probe ")]


def test_every_forbidden_act_is_tried_and_holds(tmp_path):
    """Each is printed with its errno, for the first runtime; the others sum up. With the network on: test_fence.py."""
    checks = probe_checks(tmp_path)
    acts = [check for check in checks if check["name"] in
            {f"probe {group}" for group in ("escape", "calls", "pid 1", "files", "devices", "network", "host", "sessions")}]
    assert len(acts) >= 100
    assert [check for check in checks if check["status"] != "ok"] == []
    for act in acts:
        assert re.search(r": (E[A-Z]+|no effect|no answer)$", act["detail"]), act
    sums = {check["name"]: check["detail"] for check in checks if check not in acts}
    assert set(sums) == {"probe python", "probe node", "probe r"}
    for detail in sums.values():
        tried, held = map(int, re.findall(r"\d+", detail))
        assert tried == held == len(acts)


def test_what_works_is_noticed():
    """The same image with none of Husk's walls: nothing that the probe tries does harm."""
    text = docker("run", "--rm", "--network", "none", "--device", "/dev/null:/dev/kvm", "--entrypoint", "/opt/husk/husk-probe", image_of("python"))
    opened = {line.split("\t")[2] for line in text.splitlines() if line.startswith("OPEN")}
    assert {"kill", "prlimit", "write /dev/kvm"} <= opened
    assert text.splitlines()[-1].split("\t")[2] == str(len(opened))


def receipts(server):
    return store_rows(server.env, "SELECT image, engine, boot, result, created FROM receipts")


def test_proof_is_asked_for_once(start, tmp_path):
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


def test_a_stock_kernel_is_held_as_well(start):
    server = start(SESSION_PROBE="require", command=[contrib_binary(["ipykernel"]), "mcp"])
    assert server.session(language="ipykernel", network=False).code("6 * 7").ok().value == "42"
    assert re.fullmatch(r"1\d\d held", receipts(server)[0][3])


def test_a_session_that_does_not_hold_is_refused(start, tmp_path):
    script = tmp_path / "docker"
    script.write_text('#!/bin/bash\n[ "$1 $2" != "run --detach" ] || set -- run --device /dev/null:/dev/kvm "${@:2}"\nexec docker "$@"\n')
    script.chmod(0o755)
    server = start(SESSION_PROBE="require", HUSK_DOCKER=script)
    refused = server.call("create_session", {"network": False})
    assert refused.is_error and "does not hold" in refused.text and "write /dev/kvm" in refused.text, refused.text
    assert receipts(server) == []
    held = start(HUSK_DOCKER=script).session(network=False)  # nobody asks for proof
    assert held.code("6 * 7").ok().value == "42"
