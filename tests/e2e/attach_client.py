"""A program that attaches to a running server: the HTTP API on the server's unix socket (docs/http.md)."""

import http.client
import json
import os
import pathlib
import socket
import uuid

PATIENCE = 60


class Refused(AssertionError):
    """A request failed; `fail` is the problem that the server answered with."""

    def __init__(self, fail):
        super().__init__(fail["detail"])
        self.fail = fail


def sockets(home):
    return sorted((pathlib.Path(home) / "state" / "husk" / "attach").glob("*.sock"))


def dial(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    folder = os.open(pathlib.Path(path).parent, os.O_PATH)  # the path may be too long for a socket address
    try:
        connection.connect(f"/proc/self/fd/{folder}/{pathlib.Path(path).name}")
    finally:
        os.close(folder)
    return connection


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = dial(self.path)


def check(answer):
    body = answer.read()
    if answer.status >= 400:
        raise Refused(json.loads(body))
    return json.loads(body) if body and answer.getheader("Content-Type", "").startswith("application/json") else body


class Run:
    """An attached run: its events on a connection of its own."""

    def __init__(self, attached, session, body):
        self.attached = attached
        self.target = f"/v1/sessions/{session}/runs"
        self.connection = Connection(attached.path)
        fields = {"Accept": "text/event-stream", "Content-Type": "application/json", "Husk-Client": attached.token}
        self.connection.request("POST", self.target, json.dumps({**body, "attached": True}), fields)
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            check(self.answer)
        self.live = {"stdout": "", "stderr": ""}
        self.number = self._event()[1]["run"]

    def close(self):
        self.connection.close()
        self.answer.close()

    def _event(self):
        """Returns the next event: (name, data)."""
        name = data = None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
            elif not line and name:
                return name, data
            elif not line and self.answer.isclosed():
                raise EOFError

    def _take(self):
        name, data = self._event()
        if name == "run.output":
            self.live[data["stream"]] += data["text"]
        return name, data

    def wait_live(self, text):
        while text not in self.live["stdout"]:
            self._take()

    def result(self):
        """Waits for a prompt or for the end."""
        while True:
            name, data = self._take()
            if name in ("run.prompt", "run.ended"):
                return data

    def tell(self, what, **body):
        return self.attached.call("POST", f"{self.target}/{self.number}/{what}", body)


class Attached:
    def __init__(self, path):
        self.path = path
        self.token = uuid.uuid4().hex
        self.connection = Connection(path)
        self.runs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        for run in self.runs:
            run.close()

    def call(self, method, target, body=None, **fields):
        self.connection.request(method, target, None if body is None else json.dumps(body),
                                {"Husk-Client": self.token, **({} if body is None else {"Content-Type": "application/json"}), **fields})
        return check(self.connection.getresponse())

    def start(self, session, text, kind="cell", **more):
        self.runs.append(Run(self, session, {"kind": kind, "text": text, **more}))
        return self.runs[-1]

    def run(self, session, text, kind="cell", **more):
        run = self.start(session, text, kind, **more)
        result = run.result()
        self.runs.remove(run)
        run.close()
        return result
