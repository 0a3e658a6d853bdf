"""The stream over a socket that PID 1 dials: no docker process, only PID 1 is accepted, and exec is the fallback."""

import pathlib

from harness import children_of, wait_until


def streams(server):
    return [command for command in children_of(server.process.pid).values() if " exec " in command]


def folders(server):
    return sorted(pathlib.Path(server.home, "state", "husk", "lines").glob("*"))


def test_no_docker_process_is_kept_and_the_folder_is_removed(start):
    server = start(HUSK_TRANSPORT="socket")
    session = server.session(network=False)
    assert session.code("6 * 7").ok().value == "42"
    assert streams(server) == []
    folder, = folders(server)
    assert folder.name == session.container and folder.stat().st_mode & 0o777 == 0o755 and folder.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.iterdir()] == ["id"]  # the socket is removed once PID 1 is connected
    session.stop()
    assert folders(server) == []


# evidence: container-mountinfo
def test_host_paths_are_not_visible_inside(start):
    server = start(HUSK_TRANSPORT="socket", XDG_RUNTIME_DIR=None)
    session = server.session(network=False)
    mounts = session.shell("cat /proc/self/mountinfo").ok().text
    assert " /run/husk " in mounts and server.home.name not in mounts and str(server.home.parent) not in mounts, mounts
    session.stop()
    assert not pathlib.Path(server.home, "state", "husk", "lines").exists()


IMPOSTOR = """
import socket, time
deadline = time.monotonic() + 20
while time.monotonic() < deadline:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect("/run/husk/line.sock")
        s.settimeout(10)
        open("/workspace/seen", "a").write(repr(s.recv(1)) + "\\n")
        break
    except OSError as e:
        time.sleep(0.001)
"""


# evidence: socket-peer
def test_a_process_of_the_session_is_refused(start, tmp_path):
    """The process waits for the next server's socket and connects to it again and again. It receives nothing, and PID 1
    is still accepted.
    """
    home = tmp_path / "home"
    first = start(home=home, HUSK_TRANSPORT="socket")
    session = first.session(network=False)
    session.code(f"kept = 1\nimport subprocess, sys\nfor i in range(4): subprocess.Popen([sys.executable, '-c', {IMPOSTOR!r}])").ok()
    first.process.kill()
    first.process.wait(20)
    second = start(home=home, HUSK_TRANSPORT="socket")
    seen = second.call("execute_code", {"session_id": session.id, "code": "kept"}).ok()
    assert seen.value == "1" and streams(second) == []
    heard = second.call("execute_terminal", {"session_id": session.id, "command": "cat /workspace/seen; touch /run/husk/x; rm /run/husk/id"})
    assert set(heard.stdout.split("\n")) <= {"b''", ""} and heard.stderr.count("ead-only file system") == 2


def test_a_missing_socket_falls_back_to_exec(start):
    """An engine whose containers do not see the socket is simulated: the socket is removed before PID 1 starts."""
    server = start(HUSK_TRANSPORT="auto")
    creating = server.start_call("create_session", {"network": False})
    wait_until(lambda: [path.joinpath("line.sock").unlink() for path in folders(server) if path.joinpath("line.sock").exists()],
               what="the socket")
    created = creating.tool()
    server.sessions.append(created.fields["session_id"])
    again = server.call("execute_code", {"session_id": created.fields["session_id"], "code": "1 + 1"}).ok()
    assert again.value == "2" and len(streams(server)) == 1
