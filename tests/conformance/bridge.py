"""Streamable HTTP in front of a stdio server, for the conformance suite, which speaks HTTP only. This bridge is not
part of Husk: it listens on loopback, trusts its server and lives as long as a test.

Modern requests share one server process. Each legacy `initialize` starts another process, named by Mcp-Session-Id.
The bridge checks what HTTP adds to the protocol: Host and Origin, the headers that repeat the body, status codes,
and a disconnect as cancellation.
"""

import contextlib
import http.server
import itertools
import json
import queue
import select
import socket
import subprocess
import threading
import uuid

META = "io.modelcontextprotocol/"
VERSION, CAPABILITIES, SUBSCRIPTION = META + "protocolVersion", META + "clientCapabilities", META + "subscriptionId"
HEADER_MISMATCH = -32020
STATUS = {-32601: 404, -32020: 400, -32021: 400, -32022: 400}
TASK = {f"tasks/{verb}": "taskId" for verb in ("get", "update", "cancel")}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", **TASK}
PATIENCE = 25


def error(code, message, id=None):
    body = {"jsonrpc": "2.0", "error": {"code": code, "message": message}}
    return body if id is None else {**body, "id": id}


def meta_of(message, part="params"):
    inner = message.get(part)
    meta = inner.get("_meta") if isinstance(inner, dict) else None
    return meta if isinstance(meta, dict) else {}


class Child:
    """One server process. Several HTTP clients share it, so each request gets an id of ours, which is also its
    progress token.
    """

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting = {}
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            params = message.get("params") or {}
            owner = params.get("progressToken", meta_of(message).get(SUBSCRIPTION)) if "method" in message else message.get("id")
            # Requests to a client and log messages do not name a request. They are sent with the oldest open request.
            waiting = self.waiting.get(owner)
            if owner is None and not waiting:
                waiting = next(iter(list(self.waiting.values())), None)
            if waiting:
                waiting.put(message)

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    @contextlib.contextmanager
    def request(self, message):
        """Sends a request under an id of ours and returns the queue of its answers."""
        id = f"bridge-{next(self.numbers)}"
        self.waiting[id] = queue.Queue()
        message = {**message, "id": id}
        if "progressToken" in meta_of(message):
            message["params"] = {**message["params"], "_meta": {**meta_of(message), "progressToken": id}}
        self.send(message)
        try:
            yield id, self.waiting[id]
        finally:
            del self.waiting[id]

    def cancel(self, id):
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def is_local(value):
    return value.split("//")[-1].rsplit(":", 1)[0] in ("localhost", "127.0.0.1", "[::1]")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if data:
            self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        child = self.server.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if child:
            child.end()
        self.answer(200 if child else 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for header in ("Host", "Origin"):
            if not is_local(self.headers.get(header) or "localhost"):
                return self.answer(403, error(-32600, f"{header} is not local"))
        try:
            message = json.loads(body)
        except ValueError:
            return self.answer(400, error(-32700, "Parse error"))
        if not isinstance(message, dict):
            return self.answer(400, error(-32600, "Invalid Request"))
        session = self.headers.get("Mcp-Session-Id")
        starts = message.get("method") == "initialize" and VERSION not in meta_of(message)
        if session or (starts and not (self.headers.get("MCP-Protocol-Version") or "").startswith("2026")):
            return self.legacy(message, session)
        return self.modern(message)

    def legacy(self, message, session):
        if message.get("method") == "initialize":
            session = uuid.uuid4().hex
            self.server.sessions[session] = Child(*self.server.command)
        child = self.server.sessions.get(session)
        if not child:
            return self.answer(404, error(-32600, "unknown session", message.get("id")))
        return self.forward(child, message, modern=False, Mcp_Session_Id=session)

    def modern(self, message):
        wrong = self.header_problem(message) if "id" in message else None
        if wrong:
            return self.answer(400, error(HEADER_MISMATCH, f"Header mismatch: {wrong}", message["id"]))
        return self.forward(self.server.shared(), message, modern=True)

    def header_problem(self, message):
        """Returns a problem if the headers do not repeat the body, because a router may read only the headers."""
        version, method = self.headers.get("MCP-Protocol-Version"), message.get("method")
        if not version or version != meta_of(message).get(VERSION, version):
            return "MCP-Protocol-Version"
        if (self.headers.get("Mcp-Method") or "").strip() != method:
            return "Mcp-Method"
        name = (message.get("params") or {}).get(NAMED.get(method, ""))
        if name is not None and (self.headers.get("Mcp-Name") or "").strip() != name:
            return "Mcp-Name"
        return None

    def forward(self, child, message, modern, **headers):
        if "id" not in message or "method" not in message:
            child.send(message)
            return self.answer(202)
        with child.request(message) as (id, answers):
            try:
                return self.relay(message, id, answers, modern, headers)
            except (TimeoutError, ConnectionError):
                child.cancel(id)
                return None

    def relay(self, message, id, answers, modern, headers):
        streaming = False
        while True:
            reply = self.wait(answers, PATIENCE if not streaming else None)
            self.restore(reply, message, id)
            if "method" not in reply and not streaming:
                return self.answer(self.status(reply, message) if modern else 200, reply, **headers)
            if not streaming:
                streaming = True
                self.start_stream(headers)
            self.wfile.write(b"event: message\ndata: " + json.dumps(reply).encode() + b"\n\n")
            self.wfile.flush()
            if "method" not in reply:
                return None

    def start_stream(self, headers):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def wait(self, answers, patience):
        """Returns the next message. A client that disconnects meanwhile is an error, and so is a timeout."""
        for _ in itertools.count() if patience is None else range(patience * 10):
            try:
                return answers.get(timeout=0.1)
            except queue.Empty:
                if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                    raise ConnectionError from None
        raise TimeoutError

    @staticmethod
    def restore(reply, message, id):
        """Puts the client's id, token and subscription in place of ours."""
        if "method" not in reply:
            reply["id"] = message["id"]
        elif reply["params"].get("progressToken") == id:
            reply["params"]["progressToken"] = meta_of(message)["progressToken"]
        for part in ("params", "result"):
            if meta_of(reply, part).get(SUBSCRIPTION) == id:
                reply[part]["_meta"][SUBSCRIPTION] = message["id"]

    @staticmethod
    def status(reply, message):
        code = reply.get("error", {}).get("code")
        envelope = VERSION in meta_of(message) and CAPABILITIES in meta_of(message)
        return STATUS.get(code, 400 if code == -32602 and not envelope else 200)


class Bridge(http.server.ThreadingHTTPServer):
    """with Bridge(command, env) as url: …"""

    daemon_threads = True

    def __init__(self, command, env=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.command = (command, env)
        self.sessions = {}
        self.one = None
        self.lock = threading.Lock()

    def shared(self):
        with self.lock:
            self.one = self.one or Child(*self.command)
            return self.one

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return f"http://localhost:{self.server_port}/mcp"

    def __exit__(self, *args):
        self.shutdown()
        self.server_close()
        for child in [*self.sessions.values(), *([self.one] if self.one else [])]:
            child.end()
