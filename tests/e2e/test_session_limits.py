"""Limits of one session: requested limits hold inside, are shown everywhere, stay with the session, and have a
maximum.
"""

import json
import signal
import subprocess

import pytest
from harness import Session, clean_env, husk_binary

MEMORY, DISK = 512 << 20, 64 << 20
# Inside: the size of /workspace, the CPU quota (of either kind of cgroup), the threads of numerical libraries.
LOOK = ("df -B1 --output=size /workspace | tail -1; cut -d' ' -f1 /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null;"
        " echo $OMP_NUM_THREADS")


def test_requested_limits_hold_are_shown_and_outlive_the_server(start, tmp_path):
    first = start(home=tmp_path / "home", CONTAINER_MEMORY_LIMIT="500m", CONTAINER_TMPFS_SIZE="50m")
    created = first.call("create_session", {"network": False, "memory": "512m", "cpus": 0.7, "disk": "64m"})
    assert {name: created.fields["limits"][name] for name in ("memory", "cpus", "disk")} == {"memory": MEMORY, "cpus": 0.7, "disk": DISK}, created.text
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(20)

    server = start(home=tmp_path / "home")
    session = Session(server, created.session_id)
    room = (50 << 20) * 512 // 500 & ~4095
    assert session.shell(LOOK).ok().text.split() == [str(room), "70000", "1"]
    info = server.call("session_info", {"session_id": session.id}).fields
    assert info["usage"]["memory_limit"] == info["limits"]["memory"] == MEMORY and info["limits"]["cpus"] == 0.7
    assert [d["size"] for d in info["usage"]["disks"] if d["path"].startswith("/home")] == [DISK]
    listed = subprocess.run([husk_binary(), "ps", "--json"], env=clean_env(tmp_path / "home"), stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=60)
    assert '"cpus": 0.7,' in listed.stdout and '"cpus": 0.7' in created.text, "no digits of the binary number"
    [row] = json.loads(listed.stdout)["sessions"]
    assert [row["limits"][name] for name in ("memory", "cpus", "disk")] == [MEMORY, 0.7, DISK]

    # More than the limit, but less than twice the limit, at which the session would end.
    full = session.shell("head -c 90000000 /dev/zero >~/big; sleep 30; rm -f ~/big")
    assert "The home directory is full" in full.text and "`disk`" in full.text, full.text
    oom = session.code("x = bytearray(700 << 20)", 60)
    assert oom.ending == "oom" and "512 MiB" in oom.text and "`memory`" in oom.text, oom.text


@pytest.mark.parametrize("arguments, words", [
    ({"memory": "64g"}, "memory: 64g is more than a session may have here, 8g"),
    ({"memory": 4}, "memory: 4 bytes is less than a session needs, 320m"),
    ({"memory": "0"}, "memory must be a size above 0"),
    ({"disk": "lots"}, "disk must be a size above 0"),
    ({"disk": "64g"}, "CONTAINER_DISK_MAX"),
    ({"cpus": 0}, "cpus must be a number above 0"),
    ({"cpus": 1000}, "Only the person who runs Husk can allow more, by CONTAINER_CPUS_MAX"),
])
def test_invalid_limits_are_rejected_and_nothing_is_started(server, arguments, words):
    refused = server.call("create_session", {"network": False, **arguments})
    assert refused.is_error and words in refused.text and "INVALID_INPUT" in refused.text, refused.text
    assert server.containers() == []
