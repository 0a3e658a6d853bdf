"""Parts of a real cluster that die or are cut off: no run ends that did not end, none that ended is lost, and each
loss names its node.
"""

import json
import os
import signal
import time

import pytest
from harness import PATIENCE, Session, children_of, wait_until

# Short, so that a session whose node is lost ends soon.
LEASE = 30
# How a run ends with its node: the cluster ends the pod, or the session is given up after its lease.
LOST = ("container_died", "session_lost")
HELD = "import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.02)\n"


@pytest.fixture
def window(start, tmp_path):
    """Starts servers that share a home, one after the other."""
    return lambda **settings: start(home=tmp_path / "home", SESSION_LEASE_SECONDS=LEASE, **settings)


def held_cell(session, code):
    """A cell that is running, and that runs `code` after let_go()."""
    running = session.start_code(f"print('first', flush=True)\n{HELD}{code}", 300, progress=session.id)
    session.server.wait_for(lambda s: s.progress_of(session.id), what="the cell's first output")
    return running


def let_go(session):
    """Lets the cell end, without the cluster: neither server nor API server is involved."""
    signal_file(session, "/tmp/go")


def signal_file(session, path):
    pid = pid_1(session)
    with open(f"/proc/{pid}/root{path}", "w", encoding="ascii"):
        pass


def pid_1(session):
    cluster = session.server.engine
    return cluster.pid_1(session.pod_uid if hasattr(session, "pod_uid") else cluster.pod(session.container)["metadata"]["uid"])


def kubectl_of(server):
    found = [pid for pid, command in children_of(server.process.pid).items() if " proxy " in command and "tether" not in command]
    return found


def still_right(session):
    """A new cell sees the variables of the old ones."""
    assert session.code("kept + 1").ok().value == "42"


def begin(server, **arguments):
    session = server.session(network=False, **arguments)
    session.code("kept = 41").ok()
    session.pod_uid = server.engine.pod(session.container)["metadata"]["uid"]
    return session


def test_a_killed_proxy_loses_nothing(window):
    session = begin(window())
    running = held_cell(session, "print('last')\n40 + 2")
    pids = kubectl_of(session.server)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    let_go(session)
    ended = running.tool(PATIENCE).ok()
    assert ended.value == "42" and ended.stdout == "first\nlast\n", ended.text
    still_right(session)


def test_a_killed_kubelet_loses_nothing(cluster, window):
    session = begin(window())
    node = cluster.node_of(session.container)
    running = held_cell(session, "print('last')\n40 + 2")
    cluster.kill(f"{node}-kubelet")
    let_go(session)
    assert not running.done
    cluster.start(f"{node}-kubelet")
    ended = running.tool(PATIENCE * 2).ok()
    assert ended.value == "42" and ended.stdout == "first\nlast\n", ended.text
    still_right(session)
    cluster.wait_ready()


def test_a_killed_api_server_loses_nothing(cluster, window):
    session = begin(window())
    running = held_cell(session, "print('last')\n40 + 2")
    cluster.kill("apiserver")
    let_go(session)
    failed = session.server.call("create_session", {"network": False}, timeout=60)
    assert failed.is_error and "API server" in failed.text, failed.text
    cluster.start("apiserver")
    ended = running.tool(PATIENCE * 2).ok()
    assert ended.value == "42" and ended.stdout == "first\nlast\n", ended.text
    still_right(session)
    assert not session.server.call("create_session", {"network": False}, timeout=90).is_error
    cluster.wait_ready()


def test_a_partition_shorter_than_the_lease_loses_nothing(cluster, window):
    session = begin(window())
    node = cluster.node_of(session.container)
    running = held_cell(session, "print('last')\n40 + 2")
    with cluster.cut(node):
        let_go(session)
        time.sleep(8)  # the stream is found to be dead, and is tried again in vain
        assert not running.done
    ended = running.tool(PATIENCE * 2).ok()
    assert ended.value == "42" and ended.stdout == "first\nlast\n", ended.text
    still_right(session)


@pytest.mark.timeout(600)
def test_a_node_that_is_cut_off_ends_its_sessions_with_their_lease(cluster, window):
    """PID 1 ends the pod by itself, without a word from outside. The session's end names the node."""
    session = begin(window())
    node = cluster.node_of(session.container)
    running = held_cell(session, "1")
    pid = pid_1(session)
    with cluster.cut(node):
        wait_until(lambda: not os.path.exists(f"/proc/{pid}/exe"), LEASE * 3, "the end of the pod's PID 1")
        other = begin(session.server)  # the other node has room
        assert cluster.node_of(other.container) != node
    ended = running.tool(180)
    assert ended.fields["ending"] in LOST and node in ended.text, ended.text
    again = session.code("1")
    assert again.is_error and node in again.text, again.text
    wait_until(lambda: cluster.pod(session.container) is None, 120, "the removal of the pod")
    still_right(other)


@pytest.mark.timeout(600)
def test_a_node_that_crashes_is_named(cluster, window):
    session = begin(window())
    node = cluster.node_of(session.container)
    running = held_cell(session, "1")
    cluster.cluster("crash", node)
    try:
        ended = running.tool(LEASE + 120)
        assert ended.fields["ending"] in LOST and node in ended.text, ended.text
        other = begin(session.server)
        assert cluster.node_of(other.container) != node
        still_right(other)
    finally:
        cluster.cluster("boot", node)
        cluster.wait_ready()
    wait_until(lambda: cluster.pod(session.container) is None, 180, "the removal of the pod")


def test_a_pod_that_is_deleted_by_hand_is_named(cluster, window):
    session = begin(window())
    running = held_cell(session, "1")
    cluster.kubectl("delete", "pod", session.container, "--grace-period=1")
    ended = running.tool()
    assert ended.fields["ending"] == "container_died", ended.text
    assert session.code("1").is_error


def test_an_evicted_pod_is_named_with_its_reason(cluster, window):
    session = begin(window())
    node = cluster.node_of(session.container)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": session.container, "namespace": "husk"}}
    running = held_cell(session, "1")
    cluster.kubectl("create", "--raw", f"/api/v1/namespaces/husk/pods/{session.container}/eviction", "--filename=-", text=json.dumps(body))
    ended = running.tool()
    assert ended.fields["ending"] == "container_died" and node in ended.text and "Evict" in ended.text, ended.text


def test_a_killed_servers_session_is_taken_over_with_its_running_cell(window):
    first = window()
    session = begin(first)
    held_cell(session, "print('last')\nkept += 1")
    first.kill()
    let_go(session)
    second = window()
    began = time.monotonic()
    adopted = Session(second, session.id)
    answer = adopted.code("kept")
    assert answer.ok().value == "42" and "first\nlast\n" in answer.text, answer.text
    print(f"figure: a session was taken over in {time.monotonic() - began:.2f} s")
    assert not kubectl_of(first)


def test_nothing_outlives_its_lease(cluster, window):
    """Without any server the pod ends by itself."""
    server = window()
    session = begin(server)
    server.kill()
    node = cluster.node_of(session.container)
    wait_until(lambda: cluster.pod(session.container)["status"]["phase"] in ("Succeeded", "Failed"), LEASE * 3, "the end of the pod")
    again = Session(window(), session.id).code("1")
    assert again.is_error and node in again.text, again.text


def test_a_suspended_server_keeps_its_session(window):
    session = begin(window())
    os.kill(session.server.process.pid, signal.SIGSTOP)
    time.sleep(5)
    os.kill(session.server.process.pid, signal.SIGCONT)
    still_right(session)
