"""Attacks from inside a pod of a real cluster."""

import json
import subprocess

from harness import clean_env, husk_binary, wait_until

# A session must see nothing of the cluster: the value of this cell is an empty list.
LOOK = """
import os, socket
def reaches(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return True
    except OSError as error:
        return 'refused' in str(error)
found = [name for name in os.environ if name.startswith('KUBERNETES')]
found += [path for path in ('/var/run/secrets', '/run/secrets', '/dev/termination-log') if os.path.exists(path)]
found += [f'{host}:{port}' for host, port in TARGETS if reaches(host, port)]
found
"""


# Acts that a pod allows and Docker does not. Volumes of a pod are folders of the node without mount options, and a pod has
# no field for a process limit, so RLIMIT_NPROC is used. Without capabilities and with no_new_privs the rest is harmless.
ALLOWED = {f"{what} in {folder}: open: worked" for what in ("device files", "set-user-id programs") for folder in ("/workspace", "/tmp")}
ALLOWED |= {"a folder of the host: open: worked", "processes without a limit: open: worked"}


def test_every_forbidden_act_is_refused(tmp_path):
    """The acts of husk-probe. Those that a pod allows are in docs/kubernetes.md."""
    done = subprocess.run([husk_binary(), "doctor", "--probe", "--json", "--verbose"], env=clean_env(tmp_path, CONTAINER_NETWORK_ENABLED="false"),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    checks = [check for check in json.loads(done.stdout)["checks"] if check["name"].startswith("probe ")]
    assert len(checks) >= 180, done.stdout[-2000:]
    bad = {check["detail"] for check in checks if check["status"] != "ok" and check["name"] != "probe python"}
    assert bad == ALLOWED, "\n".join(sorted(bad))


def test_a_session_sees_and_reaches_nothing_of_the_cluster(cluster, start):
    server = start()
    session, other = server.session(network=False), server.session(network=False)
    neighbour = wait_until(lambda: cluster.pod(other.container)["status"].get("podIP"), what="the other pod's address")
    targets = [("10.199.0.1", 16443), ("10.199.0.11", 10250), ("10.199.0.12", 10250), ("10.200.0.1", 443), ("10.199.0.1", 15000), (neighbour, 80)]
    assert session.code(f"TARGETS = {targets!r}\n{LOOK}", 60).ok().value == "[]"
    resolved = session.shell("cat /etc/resolv.conf; getent hosts kubernetes.default.svc; hostname")
    assert "127.0.0.1" in resolved.stdout and resolved.stdout.split()[-1] == "husk", resolved.text


def test_a_session_cannot_fill_its_node(cluster, start):
    """Each place where code can write has a limit that PID 1 or the pod enforces. PID 1 measures the disk from time to
    time, so the home directory can exceed its limit for a moment.
    """
    server = start(CONTAINER_HOME_SIZE="64m", CONTAINER_TMPFS_SIZE="16m")
    session = server.session(network=False)
    for folder in ("/workspace", "/tmp", "/home/sandbox", "/dev/shm"):
        session.shell(f"head -c 2000000000 /dev/zero >{folder}/large", 60)
        size = session.shell(f"stat -c %s {folder}/large 2>/dev/null || echo 0")
        if size.is_error:  # the session was ended for it
            session = server.session(network=False)
        else:
            assert int(size.stdout) < 1_000_000_000, folder
            session.shell(f"rm -f {folder}/large")
    assert cluster.is_ready("n1") and cluster.is_ready("n2")


def test_a_fork_bomb_stays_in_its_pod(start):
    server = start(CONTAINER_PIDS_LIMIT="150")
    victim, other = server.session(network=False), server.session(network=False)
    bomb = victim.start_shell(":() { : | : & }; :; sleep 5", 10)
    assert other.code("sum(range(100))").ok().value == "4950"
    bomb.wait(60)
    assert other.code("1 + 1").ok().value == "2"
