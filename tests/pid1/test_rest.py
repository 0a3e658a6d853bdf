"""PID 1 rests while its session does nothing. Processes that could start writing by themselves are still watched, or
stopped.
"""
import pathlib
import re
import time

import pytest
from test_disk import FAR, LIMIT, disk, script, used  # noqa: F401

LATER = "def later(*_): open('/workspace/late', 'w').close()\n"
# Each does something seconds after its cell has ended, which a stopped session could not do.
WRITERS = {
    "process": "import subprocess; subprocess.Popen(['/bin/sh', '-c', 'sleep 2; : >/workspace/late'])",
    "thread": LATER + "import threading; threading.Timer(2, later).start()",
    "threads": LATER + """
import queue, threading
there, back = queue.SimpleQueue(), queue.SimpleQueue()
def pass_on(a=there, b=back, time=time, later=later):
    until = time.monotonic() + 5
    while time.monotonic() < until: a.put(b.get())
    later()
def return_it(a=there, b=back):
    while True: b.put(a.get())
back.put(1)
threading.Thread(target=pass_on).start(); threading.Thread(target=return_it, daemon=True).start()
""",
    "signal": LATER + "signal.signal(signal.SIGALRM, later); signal.setitimer(signal.ITIMER_REAL, 2)",
}
# A thread that seems to wait forever, but has a timeout.
LIAR = """
import socket, struct, threading
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 5, 0))
def lie(a=a, b=b):
    try: a.recv(1)
    except BlockingIOError: open('/workspace/late', 'w').close()
threading.Thread(target=lie).start()
"""


def processes(box):
    """{pid: state} of the children of PID 1."""
    found = {}
    for pid in open(f"/proc/{box.pid}/task/{box.pid}/children").read().split():
        try:
            found[int(pid)] = re.search(r"^State:\t(.)", open(f"/proc/{pid}/status").read(), re.M)[1]
        except OSError:
            continue  # it has ended
    return found


def wait_until(true, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def wait_for_rest(box):
    wait_until(lambda: list(processes(box).values()) == ["T"], f"PID 1 does not rest: {processes(box)}")


def wakeups(pid):
    return int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", open(f"/proc/{pid}/status").read(), re.M)[1])


def late(box):
    return pathlib.Path("/proc", str(box.pid), "root", "workspace", "late")


def test_an_idle_session_costs_at_most_a_wake_up_in_five_seconds(box, client):
    client.execute("import builtins; builtins.kept = 41")
    wait_for_rest(box)
    time.sleep(0.5)  # until the signal that stopped the kernel has been handled
    before = wakeups(box.pid)
    time.sleep(6)
    woke = wakeups(box.pid) - before
    print(f"figure: an idle PID 1 woke {woke} times in 6 s")
    assert woke <= 1
    began = time.monotonic()
    assert client.execute("print(kept + 1)").out == b"42\n" and time.monotonic() - began < 1
    wait_for_rest(box)
    assert client.ping() == b"ping" and client.terminal("echo shell").out == b"shell\n"


@pytest.mark.parametrize("writer", WRITERS)
def test_a_session_with_later_work_is_not_stopped(box, client, writer):
    assert client.execute(WRITERS[writer]).ending == "ok"
    wait_until(lambda: late(box).exists(), "it was stopped", 15)


def test_a_session_that_hides_its_wait_cannot_run_while_pid_1_rests(box, client):
    assert client.execute(LIAR).ending == "ok"
    wait_for_rest(box)
    time.sleep(5)
    assert not late(box).exists() and list(processes(box).values()) == ["T"]
    wait_until(lambda: client.ping() and late(box).exists(), "it was not continued", 20)


def test_a_late_writer_is_stopped_at_the_limit(make_box, disk):  # noqa: F811
    before = used(disk)
    box = make_box("--home-size", str(LIMIT), env={"DISK": str(disk)})
    client = box.attach()
    code = "import time; time.sleep(3)\n" + script("/home/sandbox", "plain")
    reply = client.execute(f"import subprocess; p = subprocess.Popen(['/usr/bin/python3', '-c', {code!r}]); print(p.pid, flush=True)")
    inside = int(reply.out)
    wait_until(lambda: used(disk) - before > LIMIT, "nothing was written")
    wait_until(lambda: has_ended(box, inside), "the writer was not stopped")
    assert used(disk) - before < FAR


def has_ended(box, inside):
    status = pathlib.Path("/proc", str(box.pid), "root", "proc", str(inside), "status")
    try:
        return "State:\tZ" in status.read_text()
    except OSError:
        return True
