"""Memory of sockets, which cgroup v1 does not count against the container's limit, is bounded: first a command is
ended, then the kernel.
"""
import subprocess

import frames
import pytest

MIB = 1 << 20
LIMIT = 256 * MIB  # an eighth of the memory limit in the box's cgroup files
# Bytes that can be written between two checks.
FAR = LIMIT + 700 * MIB

# Each prints how many MiB it has filled, until it is ended.
HOLD = """
import os, socket, sys, time
kept, total = [], 0
def more(one, *address):
    global total
    try:
        while True: total += one.sendto(data, *address) if address else one.send(data)
    except BlockingIOError: pass
    print(total >> 20, flush=True)
"""
TCP = HOLD + """
data = b'x' * (1 << 20)
listener = socket.create_server(('127.0.0.1', 0), backlog=512)
for i in range(1000):
    one = socket.create_connection(listener.getsockname()); other, _ = listener.accept()
    for end in (one, other):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20); end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        end.setblocking(False); kept.append(end); more(end)
while True: time.sleep(1)
"""
UDP = HOLD + """
data = b'x' * 60000
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); one.setblocking(False)
for i in range(4000):
    end = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); end.bind(('::1', 0))
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20); kept.append(end)
    for n in range(200): total += one.sendto(data, end.getsockname())
    print(total >> 20, flush=True)
while True: time.sleep(1)
"""
KINDS = {"tcp": TCP, "udp": UDP}


def python(code):
    return f"exec /usr/bin/python3 - <<'END'\n{code}\nEND\n"


# evidence: container-sockets
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_fills_sockets_is_ended(client, kind):
    reply = client.finish(client.start(frames.TERMINAL, python(KINDS[kind]), timeout_ms=60000), timeout=60)
    assert reply.ending == "error" and "sockets held too much data" in reply.detail, reply.detail
    far = int(reply.out.split()[-1])
    print(f"figure: sockets ({kind}) were ended after {far} MiB were sent, limit {LIMIT >> 20} MiB")
    assert far < FAR >> 20
    assert client.terminal("echo next").out == b"next\n"


# evidence: container-sockets
def test_a_kernel_that_fills_sockets_is_ended(client):
    reply = client.finish(client.start(frames.EXECUTE, TCP, timeout_ms=60000), timeout=60)
    assert reply.ending == "kernel_died" and "sockets held too much data" in reply.detail, reply.detail
    assert client.execute("print('back')").ending == "ok"


# evidence: container-sockets
def test_tracked_connections_are_bounded(box, client):
    subprocess.run(["nsenter", "-t", str(box.pid), "-n", "iptables", "-w", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "INVALID", "-j",
                    "ACCEPT"], check=True)  # like an engine's rules, this makes the kernel track connections
    flood = """
import socket, time
for source in range(100):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.bind(('127.0.0.1', 0)); one.setblocking(False)
    for port in range(1, 65535):
        try: one.sendto(b'x', ('127.0.0.1', port))
        except OSError: pass
while True: time.sleep(1)
"""
    reply = client.finish(client.start(frames.TERMINAL, python(flood), timeout_ms=60000), timeout=60)
    assert reply.ending == "error" and "made too many connections" in reply.detail, reply.detail
    count = int(client.terminal("cat /proc/sys/net/netfilter/nf_conntrack_count").out)
    assert 65536 < count < 3 * 65536, count
    assert client.execute("print('stays')").ending == "ok"


# evidence: container-sockets
def test_locks_of_files_are_bounded(client):
    locks = """
import fcntl, os, time
for i in range(1000):
    f = os.open(f'/tmp/{i}', os.O_RDWR | os.O_CREAT)
    for at in range(100): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * at)
while True: time.sleep(1)
"""
    reply = client.finish(client.start(frames.TERMINAL, python(locks), timeout_ms=60000), timeout=60)
    assert reply.ending == "error" and "file locks" in reply.detail, reply.detail
    assert client.execute("print('stays')").ending == "ok"
