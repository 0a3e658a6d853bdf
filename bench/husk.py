"""A `husk mcp` to measure, with its own folders."""

import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import time

from mcp import Client
from results import Failed

RUNS = ("execute_code", "execute_terminal")


def text_of(result):
    return "".join(part["text"] for part in result["content"] if part["type"] == "text")


def cpu_us(pid):
    """CPU time of a process with all its threads, in microseconds."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(path.read_text().split()[0])
    return total / 1000


def status_field(pid, name):
    try:
        return next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name))
    except (OSError, StopIteration):
        return 0


def resident_kb(pid):
    return status_field(pid, "VmRSS:")


def parent(pid):
    return status_field(pid, "PPid:")


def memory_kb(pid):
    """Memory of a process: with its share of shared memory (Pss), and private memory only."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0, 0
    fields = {line.split()[0]: int(line.split()[1]) for line in lines}
    return fields["Pss:"], fields["Private_Dirty:"] + fields["Private_Clean:"]


def group_memory_kb(pid):
    """Memory that is charged to the control group of a process, in either version of control groups."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        folder, file = ("memory", "memory.usage_in_bytes") if "memory" in controllers.split(",") else ("", "memory.current")
        if folder or not controllers:
            found = pathlib.Path("/sys/fs/cgroup", folder, path.lstrip("/"), file)
            if found.exists():
                return int(found.read_text()) / 1024
    raise Failed(f"process {pid}: its memory control group cannot be read")


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *children(int(child))]
    return found


class Installation:
    """A husk with its own folders. A setting of None keeps Husk's default."""

    def __init__(self, binary, home, settings):
        self.home = pathlib.Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "CONTAINER_MAX_SESSIONS": "400",
               "CONTAINER_MAX_SESSIONS_PER_THREAD": "400", "WARM_POOL": "off", "MAX_STDOUT_CHARS": "3000000", "MAX_ANSWER_CHARS": "1000000",
               **{name: value for name, value in os.environ.items() if name.startswith(("DOCKER_", "HUSK_IMAGE_"))}}
        for name in ("CONFIG", "STATE", "DATA", "CACHE"):
            env[f"XDG_{name}_HOME"] = str(self.home / name.lower())
        env.update((name, str(value)) for name, value in settings.items())
        for name in [name for name, value in settings.items() if value is None]:
            del env[name]
        self.binary, self.env = str(binary), env
        self.stderr = self.home / "stderr.txt"

    def last_words(self):
        return self.stderr.read_text(errors="replace")[-2000:]

    def ask_store(self, sql, *values):
        """Returns the first column of the first row, or None if there is no row."""
        with contextlib.closing(sqlite3.connect(self.home / "state" / "husk" / "husk.db", timeout=60)) as database:
            return next((row[0] for row in database.execute(sql, values)), None)

    def container(self, session):
        return self.ask_store("SELECT container FROM sessions WHERE id = ?", session)

    def pid_1(self, session):
        done = subprocess.run(["docker", "inspect", "--format", "{{.State.Pid}}", self.container(session)], check=True,
                              capture_output=True, text=True)
        return int(done.stdout)

    def run_verb(self, *args):
        return subprocess.run([self.binary, *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


class Server(Installation, Client):
    """A server that ends with all its sessions."""

    def __init__(self, binary, home, **settings):
        Installation.__init__(self, binary, home, settings)
        self.sessions = []
        with open(self.stderr, "ab") as stderr:
            Client.__init__(self, [self.binary, "mcp"], self.env, stderr)

    def check(self, tool, result):
        """Checks that a run succeeded, or that every file of a copy was copied. isError shows neither."""
        Client.check(self, tool, result)
        if tool in RUNS:
            ended = result["_meta"]["dev.husk/result"]["ending"]
            if ended != "ok":
                raise Failed(f"{tool} ended with {ended}: {text_of(result)[:2000]}")
        elif not json.loads(text_of(result)).get("success"):
            raise Failed(f"{tool} failed: {text_of(result)[:2000]}")

    def session(self, **arguments):
        """Creates a session and returns its id."""
        found = json.loads(text_of(self.call("create_session", **arguments)))["session_id"]
        self.sessions.append(found)
        return found

    def stop_session(self, session):
        self.call("stop_session", session_id=session)
        self.sessions.remove(session)

    def helpers(self):
        return children(self.pid)

    def lasting_helpers(self):
        """Helper processes that still run after two seconds. Short-lived docker clients are not among them."""
        found, quiet = set(self.helpers()), time.monotonic() + 2
        while found and time.monotonic() < quiet:
            time.sleep(0.1)
            found &= set(self.helpers())
        return sorted(found)

    def wait_for_warm(self, count=1):
        """Waits until this many containers are ready and the server is quiet again."""
        deadline = time.monotonic() + 120
        while (self.ask_store("SELECT count(*) FROM sessions WHERE state = 'warm' AND transport IS NOT NULL") or 0) < count:
            if time.monotonic() > deadline:
                raise Failed(f"fewer than {count} containers have become warm in 120 s")
            time.sleep(0.05)
        time.sleep(0.2)

    def close(self):
        for session in list(self.sessions):
            with contextlib.suppress(Failed, OSError):
                self.stop_session(session)
        Client.close(self)
        self.run_verb("stop", "--all")
