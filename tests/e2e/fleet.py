"""Several `husk serve` processes as they run on several machines: each has a state folder of its own, so they meet only
over TCP, and all share a Postgres, an ENCRYPTION_KEY and a STORAGE_DIR.
"""

import contextlib
import itertools
import json
import socket

import harness
from postgres import Postgres
from serving import Api, Serving


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Fleet(Api):
    """A client of all servers: each request goes to the next of them, as through a load balancer."""

    def __init__(self, folder, n=3, **settings):
        self.folder = folder
        self.postgres = Postgres()
        self.numbers = itertools.count()
        self.settings = {"DATABASE_URL": self.postgres.url, "ENCRYPTION_KEY": "k" * 40, "STORAGE_DIR": str(folder / "storage"),
                         "CONTAINER_MAX_SESSIONS": 30, "CONTAINER_MAX_SESSIONS_PER_THREAD": 30, "MCP_TASK_AFTER_SECONDS": 0, **settings}
        (folder / "storage").mkdir(parents=True)
        self.servers = []
        self.turns = itertools.count()
        for _ in range(n):
            self.add()
        self.key = self.make_key("fleet")

    def make_key(self, name, *args, tenant="acme"):
        return self.servers[0].husk("keys", "add", name, "--tenant", tenant, *args).stdout.strip()

    def add(self, home=None, port=0, **settings):
        """Starts one more server, or the next process of a home."""
        port = port or free_port()
        one = Serving(home or self.folder / f"server{next(self.numbers)}", port=port,
                      **{**self.settings, "HUSK_ADVERTISE": f"127.0.0.1:{port}", **settings})
        one.advertised = port
        self.servers.append(one)
        return one

    def restart(self, one):
        """The next process of a server that has ended."""
        self.servers.remove(one)
        one.process.stdout.close()
        one.stderr.close()
        return self.add(home=one.home, port=one.port)

    def connect(self, timeout=60):
        return self.servers[next(self.turns) % len(self.servers)].connect(timeout)

    def owner(self, session):
        """The server that has the session."""
        place = self.postgres.sql(f"SELECT owner_host FROM sessions WHERE id = '{session}'")[0][0]
        return next(one for one in self.servers if place.endswith(f":{one.port}"))

    def others(self, session):
        return [one for one in self.servers if one is not self.owner(session)]

    def close(self):
        for one in self.servers:
            with contextlib.suppress(OSError, AssertionError):
                one.stop()
        self.postgres.close()


class Mcp:
    """An MCP client whose requests go to any server of a fleet. Without a session of the protocol it speaks 2026-07-28."""

    LEGACY = "2025-06-18"

    def __init__(self, fleet, key=None, tasks=False):
        self.fleet = fleet
        self.capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}} if tasks else {}
        self.key = key or fleet.key
        self.session = None
        self.numbers = itertools.count(1)

    def fields(self, method, name):
        common = {"Accept": "application/json, text/event-stream"}
        if self.session:
            return {**common, "Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.LEGACY}
        modern = {**common, "MCP-Protocol-Version": harness.MODERN, "Mcp-Method": method}
        return {**modern, "Mcp-Name": name} if name else modern

    def message(self, method, params, meta):
        body = {"jsonrpc": "2.0", "method": method, "params": dict(params)}
        if not self.session:
            meta = {"io.modelcontextprotocol/protocolVersion": harness.MODERN,
                    "io.modelcontextprotocol/clientCapabilities": self.capabilities, **meta}
        if meta:
            body["params"]["_meta"] = meta
        return body

    def send(self, one, method, params, number=None, meta=None):
        """Sends a request, and returns the connection and the answer's head."""
        number = number or next(self.numbers)
        connection = one.connect(timeout=60)
        name = params.get("name") or params.get("taskId")
        connection.request("POST", "/mcp", json.dumps({**self.message(method, params, meta or {}), "id": number}),
                           {**self.fields(method, name), "Content-Type": "application/json", "Authorization": f"Bearer {self.key}"})
        return connection, connection.getresponse()

    def notify(self, one, method, params):
        return one.call("POST", "/mcp", {"jsonrpc": "2.0", "method": method, "params": params}, key=self.key, fields=self.fields(method, None))

    @staticmethod
    def read(answer):
        """All messages of an answer."""
        body = answer.read().decode()
        if answer.headers["Content-Type"].startswith("text/event-stream"):
            return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ") and len(line) > 6]
        return [json.loads(body)]

    def ask(self, one, method, params, **more):
        connection, answer = self.send(one, method, params, **more)
        with contextlib.closing(connection):
            assert answer.status == 200, (answer.status, answer.read())
            *self.notifications, last = self.read(answer)
        assert "result" in last, last
        return last["result"]

    def tool(self, one, name, /, more=None, **arguments):
        return self.ask(one, "tools/call", {"name": name, "arguments": arguments}, **(more or {}))

    def begin(self, one):
        """Begins a session of an older revision at this server."""
        params = {"protocolVersion": self.LEGACY, "capabilities": {}, "clientInfo": {"name": "husk-tests", "version": "1"}}
        reply = one.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, key=self.key,
                         fields={"Accept": "application/json, text/event-stream"}).ok()
        self.session = reply.fields["mcp-session-id"]
        assert self.notify(one, "notifications/initialized", {}).status == 202
        return self
