"""PID 1 in a pod: a container beside it, and limits that it sets itself."""
import os
import pathlib
import signal
import subprocess

import box as box_module
import frames
import pytest
from test_rest import wait_until

# A user of its own, because the system counts the processes of a user everywhere.
USER = 60706 - 1


def refusal(process):
    out, err = process.communicate(timeout=20)
    assert process.returncode == 1 and out == b"", err
    return err


# evidence: control-user
def test_attach_accepts_pid_1_only_where_it_should_be(make_box):
    box = make_box(beside=True)
    assert b"the listener is not PID 1" in refusal(box.attach_process(options=[]))
    inside = box.enter(box_module.UID_CONTROLLER, "/opt/husk/husk-client", "attach", "--beside", stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"the listener is not PID 1" in refusal(inside)
    assert box.attach().execute("print(1)").out == b"1\n"


# evidence: control-user
def test_attach_beside_rejects_a_listener_of_its_own_container(make_box):
    box = make_box(beside=True)
    squat = ("import socket, subprocess; s = socket.socket(socket.AF_UNIX); s.bind('\\0husk-control'); s.listen();"
             "p = subprocess.run(['/usr/bin/setpriv', '--reuid', '65531', '--clear-groups', '/opt/husk/husk-client', 'attach',"
             "'--beside'], capture_output=True); print(p.returncode, p.stderr)")
    found = subprocess.run(["nsenter", "-t", str(box.beside_pid), "-p", "-m", "-r", "/usr/bin/unshare", "--net", "/usr/bin/setpriv",
                            "--reuid", "65532", "--inh-caps=+setuid,+setgid", "--ambient-caps=+setuid,+setgid", "--clear-groups",
                            "/usr/bin/python3", "-c", squat], capture_output=True, timeout=20)
    assert b"1 b'husk-client attach: refused: the listener is not PID 1" in found.stdout, found


def is_polling(pid):
    return pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("7 ")


def test_wait_ends_after_pid_1(make_box):
    box = make_box()
    client = box.attach()
    box.start_beside()
    wait_until(lambda: is_polling(box.beside_pid), "wait has looked for PID 1")
    client.send(frames.STOP)
    assert box.wait() == 0
    assert box.beside.wait(20) == 0


def test_wait_lasts_as_long_as_pid_1(make_box):
    box = make_box(beside=True)
    with pytest.raises(subprocess.TimeoutExpired):
        box.beside.wait(2.5)
    os.kill(box.pid, signal.SIGKILL)
    assert box.beside.wait(20) == 0


def handles(pid, signo):
    """Whether the process catches or blocks the signal; the first process of a namespace ignores it before."""
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return (int(status["SigCgt"], 16) | int(status["SigBlk"], 16)) >> (signo - 1) & 1


def test_wait_obeys_the_engine(make_box):
    box = make_box(beside=True)
    wait_until(lambda: handles(box.beside_pid, signal.SIGTERM), "wait does not handle SIGTERM")
    os.kill(box.beside_pid, signal.SIGTERM)
    assert box.beside.wait(20) == 0
    # The session continues, and another controller can come.
    box.start_beside()
    assert box.attach().execute("print(1)").out == b"1\n"


LIMITS = "import resource as r\nprint([r.getrlimit(n) for n in (r.RLIMIT_NPROC, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CORE)])"


# evidence: container-bombs
def test_pid_1_sets_the_limits_of_processes(make_box):
    box = make_box("--pids", "500", "--file-size", "1048576", env={"BOX_USER": str(USER)})
    client = box.attach()
    expected = b"[(500, 500), (1048576, 1048576), (4096, 4096), (1, 1)]\n"
    assert client.execute(LIMITS).out == expected
    box.write_file("limits.py", LIMITS)
    assert client.terminal("/usr/bin/python3 limits.py").out == expected
    reply = client.terminal("head -c 1048577 /dev/zero > big; stat -c %s big")
    assert b"1048576\n" in reply.out
    box.set_processes(499)
    assert "process limit (500)" in client.terminal("echo never").detail


FORKS = """import errno, signal
children = []
try:
    while len(children) < 200:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as e:
    print(e.errno == errno.EAGAIN)
print(20 < len(children) < 60)
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
"""


# evidence: container-bombs
def test_the_process_limit_holds_without_a_cgroup(make_box):
    client = make_box("--pids", "60", env={"BOX_USER": str(USER - 1)}).attach()
    assert client.execute(FORKS).out == b"True\nTrue\n"
    assert client.terminal("echo on").out == b"on\n"


def test_limits_stay_as_they_are_without_the_options(make_box):
    assert b"(4096, 4096), (1, 1)]" not in make_box().attach().execute(LIMITS).out


def test_the_first_lease_lasts_until_a_controller_comes(make_box):
    box = make_box("--lease", "1", "--first-lease", "60")
    with pytest.raises(subprocess.TimeoutExpired):
        box.wait(2.5)
    box.attach()
    assert box.wait() == 0
