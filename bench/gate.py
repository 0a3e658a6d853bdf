"""Connections of sessions through the gate, beside connections to a server in the session itself."""

import json
import os
import subprocess
import sys

from husk import resident_kb, text_of
from results import Failed

HOST = "web.bench"
SECRET = "bench-secret-value"
MEGABYTES = 200
CONNECTIONS = 128
# Prints its ports: one echoes, one sends as many MB as it is asked for, one answers HTTP over TLS if it has a certificate.
# The arguments are ports (0 = any), then the files of the certificate and its key.
SERVER = """
import socket, ssl, sys, threading
MEGABYTE = bytes(1 << 20)
def echo(c):
    while data := c.recv(100):
        c.sendall(data)
def source(c):
    for _ in range(int(c.recv(20))):
        c.sendall(MEGABYTE)
def web(c):
    with context.wrap_socket(c, server_side=True) as tls:
        while tls.recv(65536):
            tls.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
def accept(listener, serve):
    while True:
        c = listener.accept()[0]
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=lambda: attempt(serve, c), daemon=True).start()
def attempt(serve, c):
    try:
        serve(c)
    except OSError:
        pass
    c.close()
context = None
if sys.argv[4:]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[4:])
for port, serve in zip(sys.argv[1:4], (echo, source, web)):
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=256)
    threading.Thread(target=accept, args=(listener, serve)).start()
    print(listener.getsockname()[1], end=" ", flush=True)
print(flush=True)
"""
# In a session. NAMES: contender -> (host of the echo, its port, host of the source, its port).
CLIENT = """
import http.client, json, os, socket, ssl, threading, time
def once(host, port):
    began = time.perf_counter()
    with socket.create_connection((host, port)) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
        return 1000 * (time.perf_counter() - began)
def connects(rounds, names):
    found = {name: [] for name in names}
    for _ in range(rounds):
        for name, (host, port, *_) in names.items():
            found[name].append(once(host, port))
            time.sleep(0.012)  # the gate makes a hundred connections a second
    return found
buffer = bytearray(1 << 20)
def megabytes(n, host, port):
    with socket.create_connection((host, port)) as s:
        began, got = time.perf_counter(), 0
        s.sendall(b"%d" % n)
        while size := s.recv_into(buffer):
            got += size
        assert got == n << 20, got
        return n / (time.perf_counter() - began)
def throughput(rounds, n, names):
    return {name: [megabytes(n, *where[2:]) for _ in range(rounds)] for name, where in names.items()}
def requests(rounds, host, port):
    c = http.client.HTTPSConnection(host, port, context=ssl.create_default_context())
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        c.request("GET", "/", headers={"Authorization": "Bearer " + os.environ.get("TOKEN", "nothing")})
        assert c.getresponse().read() == b"ok"
        took.append(1000 * (time.perf_counter() - began))
    c.close()
    return took[5:]
held = []
def hold(n, host, port):
    for _ in range(n):
        s = socket.create_connection((host, port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"8")
        held.append(s)
    time.sleep(1)
    return len(held)
flooding = []
def flood(on, host, port):
    if on:
        flooding.append(True)
        for _ in range(4):
            threading.Thread(target=lambda: [megabytes(20, host, port) for _ in iter(flooding.__len__, 0)], daemon=True).start()
    else:
        flooding.clear()
"""


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def certificate(folder):
    """An authority, and a certificate of HOST with its key."""
    ca, cert, key, extensions = (folder / name for name in ("ca.pem", "cert.pem", "key.pem", "extensions"))
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl("req", "-x509", *curve, "-subj", "/CN=bench", "-addext", "keyUsage=critical,keyCertSign", "-keyout", folder / "ca.key", "-out", ca)
    openssl("req", *curve, "-subj", f"/CN={HOST}", "-keyout", key, "-out", folder / "csr")
    extensions.write_text(f"subjectAltName=DNS:{HOST}\n")
    openssl("x509", "-req", "-days", "2", "-in", folder / "csr", "-CA", ca, "-CAkey", folder / "ca.key", "-CAcreateserial", "-extfile", extensions,
            "-out", cert)
    return ca, cert, key


class Upstream:
    """The servers on the host."""

    def __init__(self, folder):
        folder.mkdir()
        self.ca, *pair = certificate(folder)
        self.process = subprocess.Popen([sys.executable, "-c", SERVER, "0", "0", "0", *map(str, pair)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        self.ports = [int(port) for port in self.process.stdout.readline().split()]
        self.allow = ",".join(f"{name}=127.0.0.1:{port}" for name, port in zip(("echo", "source", HOST), self.ports))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Inside:
    """A session with the client."""

    def __init__(self, server, **arguments):
        self.server = server
        self.id = server.session(language="python", **arguments)
        server.call("execute_code", session_id=self.id, code=CLIENT)

    def measure(self, expression):
        return json.loads(text_of(self.server.call("execute_code", session_id=self.id, code=f"print(json.dumps({expression}))", timeout=120)))

    def serve(self):
        """Starts the same servers in the session, and returns where both are found."""
        self.server.call("execute_code", session_id=self.id, code=f"open('server.py', 'w').write({SERVER!r})")
        self.server.call("execute_terminal", session_id=self.id,
                         command="setsid python3 server.py 9000 9001 9002 >ready 2>&1 & until [ \"$(wc -w <ready)\" = 3 ]; do sleep 0.05; done")
        return ("127.0.0.1", 9000, "127.0.0.1", 9001)


def compare(bench, results, server, contender, upstream):
    """Times to connect and throughput, through the gate and within the session."""
    inside = Inside(server, network=["echo", "source"])
    names = {contender: ("echo", upstream.ports[0], "source", upstream.ports[1]), f"{contender}-direct": inside.serve()}
    for name, values in inside.measure(f"connects({bench.rounds(200)}, {names!r})").items():
        for value in values[3:]:
            results.add("gate: connect, and one byte back", name, value)
    for name, values in inside.measure(f"throughput({bench.rounds(5)}, {MEGABYTES}, {names!r})").items():
        for value in values:
            results.add(f"gate: {MEGABYTES} MB", name, value, "MB/s")
    server.stop_session(inside.id)


def secrets(bench, results, server, upstream):
    subprocess.run([server.binary, "secret", "set", "TOKEN", f"--host={HOST}:{upstream.ports[2]}"], env=server.env, input=SECRET, text=True,
                   check=True, capture_output=True)
    sessions = {"husk": Inside(server, network=[HOST], secrets=["TOKEN"]), "plain": Inside(server, network=[HOST])}
    for _ in range(bench.rounds(10)):
        for name, inside in sessions.items():
            for value in inside.measure(f"requests(55, {HOST!r}, {upstream.ports[2]})"):
                results.add("gate: HTTPS request", name, value)
    for inside in sessions.values():
        server.stop_session(inside.id)


def connections(results, server, upstream):
    """Memory of PID 1 while the clients of these connections do not read."""
    inside = Inside(server, network=["source"])
    first = server.pid_1(inside.id)
    before = resident_kb(first)
    if inside.measure(f"hold({CONNECTIONS}, 'source', {upstream.ports[1]})") != CONNECTIONS:
        raise Failed("gate: not all connections were made")
    results.add(f"gate: memory of PID 1 for {CONNECTIONS} connections", "husk", (resident_kb(first) - before) / 1024, "MB")
    server.stop_session(inside.id)


def flood(bench, results, server, upstream):
    """A call of another session beside four connections that transfer without end."""
    other, inside = server.session(language="python", network=False), Inside(server, network=["source"])

    def calls(name):
        for _ in range(bench.rounds(300)):
            results.add("gate: 1+1 of another session", name,
                        server.timed("execute_code", lambda found: text_of(found).split()[-1] == "2", session_id=other, code="1+1"))
    for _ in range(3):
        calls("quiet")
        inside.measure(f"flood(True, 'source', {upstream.ports[1]})")
        calls("husk")
        inside.measure("flood(False, None, None)")
    for session in (inside.id, other):
        server.stop_session(session)


def measure(bench, results):
    upstream = Upstream(bench.folder / "upstream")
    settings = {"CONTAINER_NETWORK_ALLOW": upstream.allow, "CONTAINER_CA_BUNDLE": os.fspath(upstream.ca)}
    try:
        with bench.server("gate-exec", HUSK_TRANSPORT="exec", **settings) as server:
            compare(bench, results, server, "husk-exec", upstream)
        with bench.server("gate", HUSK_TRANSPORT="socket", **settings) as server:
            compare(bench, results, server, "husk", upstream)
            secrets(bench, results, server, upstream)
            connections(results, server, upstream)
            flood(bench, results, server, upstream)
    finally:
        upstream.close()
    results.note_load()
