"""PID 1 dials a server whose socket appears in the mounted folder."""
import pathlib
import struct
import subprocess

import box as box_module
import frames
import pytest


@pytest.fixture
def line(tmp_path):
    folder = tmp_path / "line"
    folder.mkdir(mode=0o755)
    return folder


def greet(client, fence=1):
    client.hello(fence)
    client.ready()
    return client


def inotify_descriptors(box):
    found = []
    for entry in pathlib.Path("/proc", str(box.pid), "fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except FileNotFoundError:
            pass
    return sum("inotify" in target for target in found)


def test_an_existing_listener_is_dialled_at_once(make_box, line):
    listener = box_module.Listener(line)
    box = make_box(line=line)
    client = listener.accept()
    assert inotify_descriptors(box) == 0  # closing one before the answer to hello would take 16 ms
    assert greet(client).execute("print(6 * 7)").out == b"42\n"
    assert inotify_descriptors(box) == 0  # a user has few watches, so PID 1 has none while it is controlled


def test_a_slow_hello_is_accepted(make_box, line):
    listener = box_module.Listener(line)
    make_box(line=line)
    client = listener.accept()
    with pytest.raises(TimeoutError):
        client.read_frame(timeout=6)  # an attached stranger would have been disconnected by now
    assert greet(client).ping() == b"ping"


def test_a_new_server_is_found_by_its_socket(make_box, line):
    box = make_box(line=line)
    first = greet(box_module.Listener(line).accept())
    number = first.start(frames.EXECUTE, "print('kept')")
    first.finish(number, ack=False)
    first.process.kill()
    again = box_module.Listener(line).accept()
    again.hello(fence=2)
    assert again.finish(number).out == b"kept\n"
    assert box.process.poll() is None


def test_a_dead_socket_is_skipped(make_box, line):
    dead = box_module.Listener(line)
    dead.socket.close()
    make_box(line=line)
    assert greet(box_module.Listener(line).accept()).ping() == b"ping"


def test_after_a_refusal_pid_1_waits_for_another_socket(make_box, line):
    listener = box_module.Listener(line)
    make_box(line=line)
    for _ in range(2):  # again once it watches the folder, since a server may have come in between
        listener.accept().process.kill()
    assert listener.is_idle(1.5)
    assert greet(box_module.Listener(line).accept()).ping() == b"ping"


def test_only_one_controller_at_a_time(make_box, line):
    """A controller with a higher epoch can also take over with attach. PID 1 does not dial while it has a
    controller.
    """
    listener = box_module.Listener(line)
    box = make_box(line=line)
    dialled = greet(listener.accept())
    listener.close()
    attached = box.attach(fence=2)
    dialled.wait_closed()
    newcomer = box_module.Listener(line)
    assert newcomer.is_idle(1.5)
    attached.process.stdin.close()
    late = newcomer.accept()
    late.send(frames.HELLO, 0, {"version": 4, "min_version": 3, "fence": 1})
    assert late.event("fenced")["fence"] == 2


# evidence: socket-peer
def test_the_session_cannot_create_a_socket_in_the_line_folder(make_box, line):
    box = make_box(line=line)
    client = box.attach()
    reply = client.terminal("touch /run/husk/x; rm -rf /run/husk; mv /run/husk /tmp/husk; echo $(ls -A /run/husk | wc -l)")
    assert reply.out == b"0\n" and reply.err.count(b"ead-only file system") + reply.err.count(b"ermission denied") >= 2, reply.err


SQUAT = """
import os, socket
listener = socket.socket(socket.AF_UNIX)
listener.bind("/line/line.new")
os.chmod("/line/line.new", 0o666)
listener.listen()
os.rename("/line/line.new", "/line/line.sock")
listener.settimeout(10)
connection, _ = listener.accept()
print(len(connection.recv(1)))
"""


# evidence: socket-peer
def test_a_listener_inside_the_session_is_rejected(make_box, line):
    """PID 1 rejects it even if the session can write to the folder, because a server must be outside the container."""
    line.chmod(0o777)
    box = make_box(line=line)
    code = SQUAT.replace("/line/", "/proc/self/cwd/")
    inside = subprocess.run(["nsenter", "-t", str(box.pid), "-p", "setpriv", "--reuid", str(box_module.UID_SANDBOX), "--clear-groups",
                             "python3", "-c", code], cwd=line, capture_output=True, text=True, timeout=30)
    assert inside.stdout == "0\n", inside.stderr  # dialled, checked, and disconnected
    assert greet(box_module.Listener(line).accept()).ping() == b"ping"


def test_after_a_stop_pid_1_waits_for_the_server_to_disconnect(make_box, line):
    """The engine can remove the container meanwhile."""
    listener = box_module.Listener(line)
    box = make_box(line=line)
    client = greet(listener.accept())
    client.send_bytes(b"".join(struct.pack(">IBI", 0, type, 0) for type in (frames.STOP, frames.PING)))
    client.expect(lambda f: f.type == frames.PONG)
    client.process.kill()
    assert box.wait() == 0
