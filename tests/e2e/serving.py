"""Drives the real `husk serve` over HTTP, as a program in any language would.

A test waits for answers and events, never for time. The server writes only to folders below the test's temporary
directory, and is ended with its sessions.
"""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import threading

import harness


class Reply:
    """An answer: status, fields (lower case) and body."""

    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def ok(self):
        assert 200 <= self.status < 300, f"{self.status}: {self.body.decode(errors='replace')}"
        return self

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


def make_certificate(folder, name="localhost"):
    """A certificate for the name and for 127.0.0.1, and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", f"subjectAltName=IP:127.0.0.1,DNS:{name}", "-keyout", str(key), "-out", str(cert)],
                   check=True, capture_output=True)
    return cert, key


class Api:
    """A client of the API: a subclass says how to connect, and with which key."""

    def connect(self, timeout=harness.PATIENCE):
        raise NotImplementedError

    def call(self, method, path, body=None, key=None, fields=None, connection=None):
        """Sends one request and returns its Reply. key "" = without a key; body: bytes, or anything for JSON."""
        own = connection or self.connect()
        headers = dict(fields or {})
        if key != "":
            headers.setdefault("Authorization", f"Bearer {key or self.key}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        own.request(method, path, body, headers)
        answer = own.getresponse()
        reply = Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        if not connection:
            own.close()
        return reply

    def create(self, key=None, **body):
        reply = self.call("POST", "/v1/sessions", {"language": "python", "network": False, **body}, key=key).ok()
        return reply.json["id"]

    def run(self, session, text, key=None, **body):
        """Runs a cell to its end."""
        return self.call("POST", f"/v1/sessions/{session}/runs", {"text": text, **body}, key=key, fields={"Prefer": "wait=60"}).ok().json

    def events(self, path, key=None, **fields):
        return Events(self, path, key, fields)


class Serving(Api):
    """One `husk serve` process on a free port of 127.0.0.1."""

    def __init__(self, home, *args, port=0, **settings):
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.env = harness.clean_env(home, **settings)
        self.stderr = open(home / "serve-stderr.txt", "ab")
        self.process = subprocess.Popen(
            [harness.husk_binary(), "serve", "--listen", f"127.0.0.1:{port}", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.stderr, env=self.env, text=True, start_new_session=True)
        self.greeting = self._read_greeting()
        self.origin = re.search(r"https?://[^ ]+:\d+", self.greeting).group()
        self.address = self.origin.split("://")[1]
        self.port = int(self.address.rsplit(":", 1)[1])
        self.key = (home / "state" / "husk" / "serve" / "key").read_text().strip()

    def _read_greeting(self):
        """Everything up to the last line that the server prints at its start."""
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("curl "):
                return "".join(lines)
        raise AssertionError((self.home / "serve-stderr.txt").read_text())

    def connect(self, timeout=harness.PATIENCE):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask_mcp(self, method, params, name):
        """One request of MCP over HTTP. The answer never names a file of the server's host."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": harness.modern_meta()}}
        reply = self.call("POST", "/mcp", message, fields={"MCP-Protocol-Version": harness.MODERN, "Mcp-Method": method, "Mcp-Name": name,
                                                           "Accept": "application/json, text/event-stream"})
        assert str(self.home) not in reply.body.decode(), reply.body
        return reply.json

    def call_tool(self, name, arguments):
        """The fields of a tool's answer."""
        result = self.ask_mcp("tools/call", {"name": name, "arguments": arguments}, name)["result"]
        return result["structuredContent"] if "structuredContent" in result else result["_meta"]["dev.husk/result"]

    def husk(self, *args, check=True):
        """Runs a verb of husk with the server's settings."""
        done = subprocess.run([harness.husk_binary(), *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=harness.PATIENCE)
        assert not check or done.returncode == 0, done.stderr
        return done

    def raw(self, data, timeout=10):
        """Sends bytes on a connection of its own and returns all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
            got = b""
            with contextlib.suppress(OSError):
                while piece := connection.recv(65536):
                    got += piece
            return got

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Ends the server and removes its sessions."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(harness.PATIENCE)
        self.process.stdout.close()
        self.stderr.close()
        self.husk("stop", "--all", check=False)


class Events:
    """A stream of server-sent events, read by a thread of its own."""

    def __init__(self, serving, path, key=None, fields=None, method="GET", body=None):
        self.connection = serving.connect(timeout=None)
        headers = {"Authorization": f"Bearer {key or serving.key}", "Accept": "text/event-stream", **(fields or {})}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        self.connection.request(method, path, body, headers)
        self.answer = self.connection.getresponse()
        self.got = []
        self.changed = threading.Condition()
        self.ended = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        event = {}
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            for line in self.answer:
                text = line.decode().rstrip("\n")
                if text.startswith(":"):
                    continue
                if text:
                    name, _, value = text.partition(": ")
                    event[name] = value
                elif event:
                    with self.changed:
                        self.got.append(event)
                        self.changed.notify_all()
                    event = {}
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, name, count=1):
        """Waits until this many events with this name have arrived; returns the data of the last of them."""
        def found():
            return [event for event in self.got if event.get("event") == name]
        with self.changed:
            assert self.changed.wait_for(lambda: len(found()) >= count or self.ended, harness.PATIENCE), f"no {name} in {self.got}"
        assert len(found()) >= count, f"the stream ended without {name}: {self.got}"
        return json.loads(found()[count - 1]["data"])

    def wait_end(self):
        with self.changed:
            assert self.changed.wait_for(lambda: self.ended, harness.PATIENCE)
        return self.got

    def close(self):
        with contextlib.suppress(OSError):
            self.connection.sock and self.connection.sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError, AttributeError):
            self.answer.close()
        self.connection.close()
        self.thread.join(harness.PATIENCE)
