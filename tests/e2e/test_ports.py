"""Servers inside sessions: requests over HTTP, and connections of `husk open`."""

import concurrent.futures
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import urllib.parse

import harness
import pytest

# Answers HTTP on 8000: GET shows the request, PUT hashes its body, /socket changes the protocol. Echoes bytes on 8001 until
# its client has sent everything, and then says goodbye.
SERVER = """
import hashlib, http.server, json, socketserver, threading

class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)
        self.request.sendall(b"goodbye")

class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args):
        pass
    def do_GET(self):
        if self.path == "/socket":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\nhello ")
            while data := self.connection.recv(65536):
                self.connection.sendall(data)
            self.close_connection = True
            return
        body = json.dumps({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200)
        for name, value in (("Set-Cookie", "a=b"), ("Content-Security-Policy", "default-src *"), ("X-Own", "kept"),
                            ("Access-Control-Allow-Origin", "*"), ("Content-Length", len(body))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def do_PUT(self):
        digest = hashlib.sha256()
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline(), 16):
                digest.update(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        self.send_response(201)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        content = digest.hexdigest().encode() * 20000
        for at in range(0, len(content), 50000):
            piece = content[at:at + 50000]
            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(piece), piece))
        self.wfile.write(b"0\\r\\n\\r\\n")

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

for port, handler in ((8000, Web), (8001, Echo)):
    threading.Thread(target=Server(("127.0.0.1", port), handler).serve_forever).start()
print("ready", flush=True)
"""


def start(serving):
    session = serving.create()
    serving.call("PUT", f"/v1/sessions/{session}/files/workspace/server.py", SERVER.encode()).ok()
    ready = serving.run(session, "setsid python3 server.py >ready 2>&1 & until grep -q ready ready; do read -t 0.02 <> <(:); done; true",
                        kind="command")
    assert ready["ending"] == "ok", ready
    return session


@pytest.fixture(scope="module")
def session(serving):
    return start(serving)


def port(session, number=8000, rest="/"):
    return f"/v1/sessions/{session}/ports/{number}{rest}"


# evidence: ports-page
def test_a_request_reaches_the_server_without_what_is_ours(serving, session):
    reply = serving.call("GET", port(session, rest="/a%20b/c?x=%2F&y&x"), fields={"Cookie": "ours=1", "X-Own": "z", "Husk-Conversation": "c",
                                                                                 "Origin": f"http://127.0.0.1:{serving.port}"}).ok()
    got = reply.json
    assert got["path"] == "/a%20b/c?x=%2F&y&x" and got["x-own"] == "z" and got["host"] == "localhost:8000"
    assert got["x-forwarded-prefix"] == port(session, rest="")
    assert not {"cookie", "authorization", "origin", "husk-conversation"} & set(got)
    assert reply.fields["x-own"] == "kept" and reply.fields["content-security-policy"] == "sandbox"
    assert reply.fields["x-content-type-options"] == "nosniff"
    assert not {"set-cookie", "access-control-allow-origin"} & set(reply.fields)


def test_bodies_are_passed_on_in_both_directions(serving, session):
    content = os.urandom(3_000_000)
    connection = serving.connect()
    connection.request("PUT", port(session), iter([content[:1_000_000], content[1_000_000:]]), {"Authorization": f"Bearer {serving.key}"},
                       encode_chunked=True)
    reply = connection.getresponse()
    assert reply.status == 201 and reply.read() == hashlib.sha256(content).hexdigest().encode() * 20000
    connection.close()


def test_another_protocol_is_passed_on(serving, session):
    with socket.create_connection(("127.0.0.1", serving.port), timeout=harness.PATIENCE) as own:
        own.sendall(f"GET {port(session, rest='/socket')} HTTP/1.1\r\nHost: 127.0.0.1:{serving.port}\r\nAuthorization: Bearer {serving.key}\r\n"
                    "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n".encode())
        got = b""
        while b"hello " not in got:
            got += own.recv(4096)
        assert got.startswith(b"HTTP/1.1 101 ")
        own.sendall(b"and back")
        while not got.endswith(b"hello and back"):
            got += own.recv(4096)


# evidence: ports-page
@pytest.mark.parametrize("method, number, rest, fields, status, cause", [
    ("GET", 9, "/", {}, 502, "port_refused"), ("GET", 0, "/", {}, 400, "bad_request"),
    ("GET", 65536, "/", {}, 400, "bad_request"), ("GET", "x", "/", {}, 400, "bad_request"),
    ("GET", 8000, "/", {"Sec-Fetch-Mode": "navigate"}, 403, "forbidden"), ("GET", 8000, "/", {"Authorization": "Basic x"}, 401, "no_key"),
    ("POST", 8000, "", {}, 400, "bad_request"), ("GET", 8000, "/", {"Origin": "http://evil.example"}, 403, "forbidden"),
    ("GET", 8001, "/", {}, 502, "bad_gateway")])
def test_other_requests_are_refused_with_a_reason(serving, session, method, number, rest, fields, status, cause):
    reply = serving.call(method, port(session, number, rest), fields=fields)
    assert reply.status == status and reply.json.get("cause") == cause, reply


# evidence: ports-page
def test_the_cookie_of_the_page_is_not_accepted(serving, session):
    connection = serving.connect()
    connection.request("GET", port(session), headers={"Cookie": f"husk_{serving.port}={serving.key}", "Sec-Fetch-Site": "same-origin"})
    assert connection.getresponse().status == 403
    connection.close()


def test_a_key_needs_the_scope_ports(serving, session):
    key = serving.husk("keys", "add", "noports", "--scope", "sessions:read").stdout.strip()
    assert serving.call("GET", port(session), key=key).status == 403


class Opened:
    """`husk open` as a process, and its address."""

    def __init__(self, serving, *args):
        self.process = subprocess.Popen([harness.husk_binary(), "open", *args], env=serving.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        url = urllib.parse.urlsplit(line.strip())
        self.address = (url.hostname, url.port)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGINT)
        out, self.errors = self.process.communicate(timeout=harness.PATIENCE)
        assert self.process.returncode == 0, self.errors

    def echo(self, data):
        with socket.create_connection(self.address, timeout=harness.PATIENCE) as own, concurrent.futures.ThreadPoolExecutor() as pool:
            sending = pool.submit(lambda: (own.sendall(data), own.shutdown(socket.SHUT_WR)))
            got = b"".join(iter(lambda: own.recv(65536), b""))
            sending.result()
        return got


def test_husk_open_connects_a_browser_and_any_program(serving, session):
    with Opened(serving, session[:10], "8000") as web, Opened(serving, session, "8001") as echo:
        assert web.address[0] == echo.address[0] and web.address[0].startswith("127.") and web.address[0] != "127.0.0.1"
        browser = http.client.HTTPConnection(*web.address, timeout=harness.PATIENCE)
        browser.request("GET", "/page", headers={"Cookie": "own=1"})
        answer = browser.getresponse()
        assert answer.getheader("Set-Cookie") == "a=b" and json.loads(answer.read())["cookie"] == "own=1"
        browser.close()
        data = os.urandom(3_000_000)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            assert all(got == data + b"goodbye" for got in pool.map(echo.echo, [data] * 4))
    with Opened(serving, session, "9") as nothing:
        with socket.create_connection(nothing.address, timeout=harness.PATIENCE) as own:
            with pytest.raises(ConnectionResetError):
                own.recv(1)
                own.recv(1)
        # The connection may be reset before the message is printed.
        assert "nothing listens on port 9" in nothing.process.stderr.readline()


# evidence: ports-address
def test_each_session_has_an_address_of_its_own(serving, session):
    other = serving.create()
    with Opened(serving, session, "8000") as one, Opened(serving, other, "8000") as two:
        assert one.address[0] != two.address[0] and one.address[1] == two.address[1] == 8000
    missing = serving.husk("open", "nosuchsession", "80", check=False)
    assert missing.returncode == 1 and serving.husk("open", session, "0", check=False).returncode == 64
