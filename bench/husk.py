"""A `husk mcp` to measure: one thread, blocking reads, so that the client costs as little as it can."""

import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import time

PROTOCOL = "2025-06-18"


def cpu_us(pid):
    """Microseconds that a process, with all its threads, has had a CPU."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(path.read_text().split()[0])
        except OSError:
            pass
    return total / 1000


def resident_kb(pid):
    try:
        return next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return 0


def memory_kb(pid):
    """What a process holds, with its share of what it shares (Pss), and what is its own alone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0, 0
    fields = {line.split()[0]: int(line.split()[1]) for line in lines}
    return fields["Pss:"], fields["Private_Dirty:"] + fields["Private_Clean:"]


def children(pid):
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *children(int(child))]
    except OSError:
        pass
    return found


class Server:
    """Ends with all its sessions."""

    def __init__(self, binary, home, **settings):
        self.home = pathlib.Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "CONTAINER_MAX_SESSIONS": "400",
               "CONTAINER_MAX_SESSIONS_PER_THREAD": "400", "WARM_POOL": "off", "MAX_STDOUT_CHARS": "3000000", "MAX_ANSWER_CHARS": "1000000",
               **{name: value for name, value in os.environ.items() if name.startswith(("DOCKER_", "HUSK_IMAGE_"))}}
        for name in ("CONFIG", "STATE", "DATA", "CACHE"):
            env[f"XDG_{name}_HOME"] = str(self.home / name.lower())
        env.update((name, str(value)) for name, value in settings.items() if value is not None)
        self.binary, self.env = str(binary), env
        began = time.perf_counter()
        self.process = subprocess.Popen([self.binary, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0,
                                        stderr=open(self.home / "stderr.txt", "ab"))
        self.input = open(self.process.stdout.fileno(), "rb", closefd=False, buffering=1 << 20)
        self.number = 0
        self.sessions = []
        self.answers = {}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.start_ms = 1000 * (time.perf_counter() - began)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self):
        return self.process.pid

    def send(self, message):
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[self.process.stdin.write(data):]

    def begin(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def read(self):
        """The next answer, as it came."""
        while True:
            line = self.input.readline()
            if not line:
                raise RuntimeError(f"the server has ended: {(self.home / 'stderr.txt').read_text()[-2000:]}")
            if b'"id":' in line:
                return line

    def request(self, method, params):
        self.begin(method, params)
        message = json.loads(self.read())
        if "error" in message:
            raise RuntimeError(message["error"])
        return message["result"]

    def start_call(self, tool, **arguments):
        return self.begin("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"][:2000])
        return result

    def session(self, **arguments):
        """A session's id."""
        result = self.call("create_session", **arguments)
        found = json.loads(result["content"][0]["text"]) if result["content"][0]["text"].startswith("{") else result["structuredContent"]
        self.sessions.append(found["session_id"])
        return found["session_id"]

    def stop_session(self, session):
        self.call("stop_session", session_id=session)
        self.sessions.remove(session)

    def timed(self, tool, **arguments):
        """Milliseconds until the last byte of the answer, which is not looked at until then."""
        text = {"jsonrpc": "2.0", "id": self.number + 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        data = json.dumps(text).encode() + b"\n"
        self.number += 1
        began = time.perf_counter()
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]
        line = self.read()
        took = 1000 * (time.perf_counter() - began)
        if b'"isError":true' in line[-200:] or b'"error":{' in line[:100]:
            raise RuntimeError(line[:2000])
        return took, line

    def helpers(self):
        return children(self.pid)

    def ask_store(self, sql, *values):
        """The first column of the first row; None if there is none."""
        with contextlib.closing(sqlite3.connect(self.home / "state" / "husk" / "husk.db", timeout=60)) as database:
            return next((row[0] for row in database.execute(sql, values)), None)

    def lasting_helpers(self):
        """Those that stay: a docker client that cleans up, or looks, is gone in a moment."""
        found, quiet = set(self.helpers()), time.monotonic() + 2
        while found and time.monotonic() < quiet:
            time.sleep(0.1)
            found &= set(self.helpers())
        return sorted(found)

    def container(self, session):
        return self.ask_store("SELECT container FROM sessions WHERE id = ?", session)

    def wait_for_warm(self):
        """Until a container is ready, and the server quiet again."""
        deadline = time.monotonic() + 120
        while not self.ask_store("SELECT id FROM sessions WHERE state = 'warm' AND transport IS NOT NULL"):
            if time.monotonic() > deadline:
                raise RuntimeError("no container has become warm")
            time.sleep(0.05)
        time.sleep(0.2)

    def pid_1(self, session):
        done = subprocess.run(["docker", "inspect", "--format", "{{.State.Pid}}", self.container(session)], check=True,
                              capture_output=True, text=True)
        return int(done.stdout)

    def close(self):
        for session in list(self.sessions):
            try:
                self.stop_session(session)
            except RuntimeError:
                pass
        self.process.stdin.close()
        self.process.wait(30)
        subprocess.run([self.binary, "stop", "--all"], env=self.env, capture_output=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()
