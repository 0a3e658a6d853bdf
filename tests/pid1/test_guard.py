"""Code of the session runs as PID 1's user and still cannot harm PID 1."""
import time

import pytest

ATTACK = r"""
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, result):
    print(name, 'refused' if result == -1 else 'WORKED')
def python(name, function):
    try:
        function()
        print(name, 'WORKED')
    except OSError:
        print(name, 'refused')
python('kill', lambda: os.kill(1, signal.SIGTERM))
python('kill9', lambda: os.kill(1, signal.SIGKILL))
python('prlimit', lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)))
python('sched_setscheduler', lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
python('sched_setaffinity', lambda: os.sched_setaffinity(1, {0}))
python('setpriority', lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
python('setpriority user', lambda: os.setpriority(os.PRIO_USER, 0, 19))
python('setpriority group', lambda: os.setpriority(os.PRIO_PGRP, 1, 19))
python('pidfd_open', lambda: os.pidfd_open(1))
python('mem', lambda: open('/proc/1/mem', 'r+b'))
python('environ', lambda: open('/proc/1/environ').read())
python('fd', lambda: os.listdir('/proc/1/fd'))
python('root', lambda: os.listdir('/proc/1/root'))
python('exe', lambda: open('/opt/husk/husk-client', 'r+b'))
tried('ptrace', libc.ptrace(16, 1, 0, 0))
tried('process_vm_readv', libc.process_vm_readv(1, 0, 0, 0, 0, 0))
tried('high bits', libc.syscall(62, ctypes.c_long(1 << 32 | 1), signal.SIGTERM))
# Programs keep the permissions that they need.
resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
os.setpriority(os.PRIO_PROCESS, 0, 10)
os.kill(os.getpid(), 0)
os.sched_setaffinity(0, os.sched_getaffinity(0))
print('own', 'fine')
"""


# evidence: pid1-guard
def test_attacks_on_pid_1_fail(box, client):
    box.write_file("attack.py", ATTACK)
    from_cell = client.execute("exec(open('/workspace/attack.py').read())")
    from_shell = client.terminal("/usr/bin/python3 /workspace/attack.py")
    for reply in (from_cell, from_shell):
        lines = reply.out.decode().splitlines()
        assert reply.ending == "ok" and lines[-1] == "own fine" and len(lines) == 18, (reply.err, lines)
        assert all(line.endswith("refused") for line in lines[:-1]), lines
    assert client.execute("print('alive')").ending == "ok"


# evidence: fewer-calls
def test_git_works(client):
    reply = client.terminal("export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; set -e\n"
                            "git init -q one; cd one; for i in $(seq 50); do echo $i > f$i; done; git add .; git commit -qm first\n"
                            "git checkout -qb side; git mv f1 g1; echo more >> f2; git commit -qam second\n"
                            "git gc -q; git fsck --no-progress\n"
                            "cd ..; git clone -q one two; git -C two log --format=%s\n"
                            "git -C two worktree add -q ../three HEAD^; ls three | wc -l")
    assert reply.ending == "ok" and reply.out == b"second\nfirst\n50\n", (reply.out, reply.err)


SPIN = """
import os
hold, go = os.pipe()
for i in range(300):
    if os.fork() == 0:
        os.setsid()
        os.close(go)
        os.read(hold, 1)
        while True: pass
print('started', flush=True)
os._exit(0)
"""


# evidence: container-bombs
@pytest.mark.alone
def test_spinning_processes_starve_neither_the_stream_nor_the_lease(make_box):
    box = make_box("--grace-ms", "1500", "--lease", "4")
    client = box.attach()
    box.write_file("spin.py", SPIN)
    assert client.terminal("/usr/bin/python3 /workspace/spin.py").out == b"started\n"
    times = []
    for _ in range(15):
        began = time.monotonic()
        client.ping()
        times.append(time.monotonic() - began)
    assert sorted(times)[len(times) // 2] < 0.2, times
    began = time.monotonic()
    assert box.wait() == 0 and time.monotonic() - began < 4 + 5  # no server renews the lease any more


def test_a_fork_bomb_is_ended(client):
    """The bomb's processes share the kernel's group, so one signal ends them all."""
    reply = client.execute("signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                           "for i in range(300):\n  if os.fork() == 0: time.sleep(1000)\n"
                           "time.sleep(1000)", timeout_ms=500)
    assert reply.ending == "timeout" and reply.end["kernel"] == "restarted"
    assert client.execute("print('back')").out == b"back\n"
    assert client.terminal("pgrep -fc kernel.py").out == b"1\n"
