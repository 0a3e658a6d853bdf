"""Drives the real `husk mcp` over stdio like a client, and records all that the server sends.

One reader thread turns lines into answers; tests wait for events, never for time. A server writes only to folders
below the test's temporary directory.
"""

import base64
import collections
import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
META = "io.modelcontextprotocol/"
RESULT_META = "dev.husk/result"
# Generous: a shared machine is slow at times, and a test that waits this long has failed anyway.
PATIENCE = 60
# With tests/run --long, tests that take minutes run at full size, otherwise in a small version.
LONG = bool(os.environ.get("HUSK_TEST_LONG"))
# A label on containers that are not sessions, by which tests/run finds what was left behind.
TEST_LABEL = f"husk.test={os.environ.get('HUSK_TEST_RUN', '')}"


def build_dir():
    return (ROOT / os.environ.get("BUILD", "build")).resolve()


def husk_binary():
    return os.environ.get("HUSK") or str(build_dir() / "husk")


def verify_log(server):
    """The output of `husk history --verify` for the server's store."""
    done = subprocess.run([husk_binary(), "history", "--verify", "--json"], env=server.env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    return json.loads(done.stdout)


def ninja(folder, *targets):
    """Builds in a folder in which others may be building too."""
    with open(folder / "test.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "build.ninja").exists():
            subprocess.run(["meson", "setup", str(folder), str(ROOT), "-Db_sanitize=address,undefined", "-Db_lundef=false"], check=True,
                           capture_output=True)
        subprocess.run(["ninja", "-C", str(folder), *targets], check=True, capture_output=True)


def contrib_binary(names):
    """The server with the runtimes of runtimes/contrib/. Fails if one of their images is missing."""
    ninja(build_dir(), "runtimes/contrib/husk-contrib")
    folder = build_dir() / "runtimes" / "contrib"
    for image in json.loads((folder / "images.json").read_text()):
        if image["name"] in names and not docker("images", "--quiet", image["tag"]):
            raise AssertionError(f"the image {image['tag']} is missing: make test-images CONTRIB={image['name']}")
    return str(folder / "husk-contrib")


def store_rows(env, sql):
    """Rows from the store of a husk with this environment; none if it has no store yet."""
    if env.get("DATABASE_URL"):
        done = subprocess.run(["psql", env["DATABASE_URL"], "-qAt", "-F", "\t", "-c", "SET search_path = husk; " + sql],
                              capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    path = pathlib.Path(env.get("XDG_STATE_HOME") or f"{env.get('HOME')}/.local/state") / "husk" / "husk.db"
    if not path.exists():
        return []
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE)) as database:
            return database.execute(sql).fetchall()
    except sqlite3.Error:  # not a database yet, or broken by a test
        return []


def store_id(env):
    """The label of all containers of servers with this environment, once there was a session."""
    found = store_rows(env, "SELECT id FROM store")
    return found[0][0] if found else None


def store_label(env):
    return f"label=husk.store={store_id(env)}"


def _note_store(name):
    """Records a store for tests/run, which looks for leftover containers of these stores at its end."""
    folder = os.environ.get("HUSK_TEST_FOLDER")
    if folder:
        with open(f"{folder}/stores", "a", encoding="ascii") as file:
            file.write(f"{name}\n")


def modern_meta(version=MODERN, **more):
    return {
        META + "protocolVersion": version,
        META + "clientInfo": {"name": "husk-tests", "version": "1"},
        META + "clientCapabilities": {},
        **more,
    }


def clean_env(home, **settings):
    """An environment without the tester's own settings, except where the engine is. A server keeps no warm containers
    unless its test requests them, because tests count containers.
    """
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "WARM_POOL": "off"}
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        env[f"XDG_{name}_HOME"] = str(home / name.lower())
    for name in ("HUSK_TEST_RUN", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "ASAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update((name, value) for name, value in os.environ.items() if name.startswith("HUSK_IMAGE_"))
    docker_config = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    if os.path.isdir(docker_config):
        env["DOCKER_CONFIG"] = docker_config
    for name, value in {**usual_engine.settings, **settings}.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def docker(*args, check=True, timeout=PATIENCE, env=None):
    done = subprocess.run(["docker", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, env=env)
    if check and done.returncode != 0:
        raise AssertionError(f"docker {' '.join(args)}: {done.stderr}")
    return done.stdout.strip()


def wait_until(condition, timeout=PATIENCE, what="a condition"):
    """Polls things that send no event (the engine's list of containers, a process table), with growing pauses, since
    most of these are expensive.
    """
    deadline = time.monotonic() + timeout
    pause = 0.02
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {timeout} s")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


class Gone(AssertionError):
    """The server closed its output while a test waited."""


class Answer:
    """A pending answer."""

    def __init__(self, server, request_id, method):
        self.server = server
        self.id = request_id
        self.method = method
        self.sent = time.monotonic()
        self.message = None
        self.took = None

    def wait(self, timeout=PATIENCE):
        with self.server.changed:
            if not self.server.changed.wait_for(lambda: self.message or self.server.eof, timeout):
                raise AssertionError(f"no answer to {self.method} (id {self.id!r}) within {timeout} s; {self.server.last_words()}")
        if self.message is None:
            raise Gone(f"the server ended without answering {self.method}: {self.server.last_words()}")
        return self.message

    def result(self, timeout=PATIENCE):
        message = self.wait(timeout)
        assert "error" not in message, message["error"]
        return message["result"]

    def error(self, timeout=PATIENCE):
        message = self.wait(timeout)
        assert "error" in message, message
        return message["error"]

    def tool(self, timeout=PATIENCE):
        return ToolResult(self.result(timeout), self.took)

    @property
    def done(self):
        return self.message is not None


class ToolResult:
    def __init__(self, raw, took=None):
        self.raw = raw
        self.took = took
        self.is_error = raw.get("isError", False)
        self.content = raw["content"]
        self.fields = raw.get("_meta", {}).get(RESULT_META) or raw.get("structuredContent") or self._from_text()

    def _from_text(self):
        """Revisions without structuredContent carry the same fields as text only."""
        try:
            return json.loads(self.content[0]["text"])
        except (ValueError, LookupError):
            return {}

    @property
    def text(self):
        return "\n".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def images(self):
        return [(block["mimeType"], base64.b64decode(block["data"], validate=True)) for block in self.content if block["type"] == "image"]

    @property
    def stdout(self):
        """The run's stdout. Above 4 KiB it is only in the text, which must then contain all of it and nothing else.
        """
        chars = self.fields.get("stdout_chars")
        if chars is None:
            return self.__getattr__("stdout")
        found = [self.text + end for end in ("", "\n") if len(self.text + end) == chars]
        assert found, f"stdout has {chars} characters, the text is another: {self.text}"
        return found[0]

    def __getattr__(self, name):
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(f"{name} is not among {sorted(self.__dict__['fields'])}: {self.text}") from None

    @property
    def value(self):
        """The text of the last expression's value."""
        return (self.fields["result"] or {}).get("text/plain")

    def ok(self):
        assert not self.is_error, self.text
        assert self.fields["ending"] == "ok", self.text
        return self

    def __repr__(self):
        return f"<{'isError ' if self.is_error else ''}{self.text!r}>"


class Engine:
    """Where a server's sessions run: the machine's Docker engine. Subclasses are other engines."""

    settings = {}  # of a server that uses it

    def docker(self, *args, **more):
        return docker(*args, **more)

    def names(self, store):
        """The containers of a store, running or not."""
        return self.docker("ps", "--all", "--filter", f"label=husk.store={store}", "--format", "{{.Names}}").split()

    def remove(self, name):
        self.docker("rm", "--force", "--volumes", name, check=False)

    def kill_container(self, name):
        """Ends its PID 1 at once, as a fault would."""
        self.docker("kill", name)

    def inside(self, name, *command, **more):
        """Runs a command in a container, without a server."""
        return self.docker("exec", name, *command, **more)

    def words_of(self, name):
        """All that users of the engine can read about a container."""
        image = self.docker("inspect", "--format", "{{.Image}}", name).strip()
        of_image = self.docker("image", "inspect", image) + self.docker("history", "--no-trunc", image)
        return self.docker("inspect", name) + self.docker("logs", name, check=False) + of_image

    def pids(self, name):
        """Processes of a container, as this machine numbers them: PID 1, and others if the engine lists them."""
        return self.docker("top", name, "-o", "pid").split()[1:]

    # Shell commands that connect a new network namespace of root to what a server needs.
    join = ""

    def gateway(self):
        """The host's address on the network of sessions, which the first session with a network creates."""
        return self.docker("network", "inspect", "--format", "{{range .IPAM.Config}}{{.Gateway}}{{end}}", "husk")

    def events(self, store):
        """The engine's events of a store's containers, for the message of a failure. The engine keeps them for a short
        time only.
        """
        return self.docker("events", "--since", "5m", "--until", "0s", "--filter", f"label=husk.store={store}", "--format",
                           "{{.TimeNano}} {{.Action}} {{.Actor.Attributes.signal}} {{.Actor.Attributes.exitCode}}", check=False)


class Podman(Engine):
    """Podman instead (tests/engines/with.sh podman), with the same client."""

    settings = {"CONTAINER_ENGINE": "podman"}


# The engine of servers that name none; conftest.py sets it.
usual_engine = Engine()


class Server:
    """One `husk mcp` process. `era` is a protocol revision; MODERN needs no handshake, None sends nothing by itself. `engine` is a
    private one (private_engine.py); without it the server uses the usual one."""

    all = []  # for the schema check of conftest

    def __init__(self, home, era=MODERN, args=("mcp",), cwd=None, command=None, engine=None, **settings):
        self.home = pathlib.Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        self.era = era
        self.lines = []  # (raw line, request method or None, revision), all that came from stdout
        self.messages = []
        self.notifications = []
        self.sessions = []
        self._store_id = None
        self.answers = {}
        self.methods = {}  # id -> (method, revision), also of answered requests
        self.changed = threading.Condition()
        self.eof = False
        self.ids = itertools.count(1)
        self.writing = threading.Lock()
        self.stderr_path = self.home / "stderr.txt"
        self.engine = engine or usual_engine
        self.env = clean_env(self.home, **{**self.engine.settings, **settings})
        with open(self.stderr_path, "wb") as stderr:
            self.process = subprocess.Popen(
                command or [husk_binary(), *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=self.env,
                cwd=cwd or self.home,
                start_new_session=True,
            )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        Server.all.append(self)
        if era in LEGACY:
            self.initialize(era)

    # --- out

    def write(self, data):
        with self.writing:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, message):
        """Sends any JSON value as one line."""
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def request(self, method, params=None, id=None, era=None, meta=None):
        """Sends and returns an Answer. `meta` adds to _meta; `era` overrides the server's own."""
        era = era or self.era
        request_id = next(self.ids) if id is None else id
        params = dict(params) if params is not None else None
        if era == MODERN:
            params = params or {}
            params["_meta"] = {**modern_meta(), **params.get("_meta", {}), **(meta or {})}
        elif meta:
            params = params or {}
            params["_meta"] = {**params.get("_meta", {}), **meta}
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        return self.expect(message, era)

    def expect(self, message, era=None):
        """Sends a message, which must have an id, unchanged. Returns its Answer."""
        answer = Answer(self, message["id"], message.get("method"))
        with self.changed:
            self.answers[_key(message["id"])] = answer
            self.methods[_key(message["id"])] = (message.get("method"), era or self.era)
        self.send(message)
        return answer

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def initialize(self, version):
        result = self.request(
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "husk-tests", "version": "1"}},
            era=version if version in LEGACY else LEGACY[0],
        ).result()
        self.notify("notifications/initialized")
        return result

    def start_call(self, tool, arguments=None, progress=None, **more):
        params = {"name": tool}
        if arguments is not None:
            params["arguments"] = arguments
        return self.request("tools/call", params, meta={"progressToken": progress} if progress is not None else None, **more)

    def call(self, tool, arguments=None, timeout=PATIENCE, **more):
        result = self.start_call(tool, arguments, **more).tool(timeout)
        if tool == "create_session" and not result.is_error:
            self.sessions.append(result.fields["session_id"])
        return result

    def cancel(self, answer, reason="a test"):
        self.notify("notifications/cancelled", {"requestId": answer.id, "reason": reason})

    def session(self, **arguments):
        created = self.call("create_session", arguments)
        assert not created.is_error, created.text + self.engine_events()
        return Session(self, created.fields["session_id"])

    def ping(self):
        """Makes a round trip that both eras know, and returns how long it took."""
        answer = self.request("tools/list") if self.era == MODERN else self.request("ping")
        answer.result()
        return answer.took

    # --- in

    def _read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            with self.changed:
                self._take(line, message, now)
                self.changed.notify_all()
        with self.changed:
            self.eof = True
            self.changed.notify_all()

    def _take(self, line, message, now):
        method, era = None, self.era
        if isinstance(message, dict) and "id" in message and "method" not in message:
            method, era = self.methods.get(_key(message["id"]), (None, self.era))
            answer = self.answers.pop(_key(message["id"]), None)
            if answer:
                answer.took = now - answer.sent
                answer.message = message
        elif isinstance(message, dict) and "method" in message:
            self.notifications.append(message)
        elif isinstance(message, list):
            for one in message:
                answer = self.answers.pop(_key(one.get("id")), None) if isinstance(one, dict) else None
                if answer:
                    answer.took = now - answer.sent
                    answer.message = one
        self.lines.append((line, method, era))
        self.messages.append(message)

    def wait_for(self, condition, timeout=PATIENCE, what="a message"):
        """Waits until condition(self) is true; it is checked after each message."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self) or self.eof, timeout) or not condition(self):
                raise AssertionError(f"{what} did not come; {self.last_words()}")

    def progress_of(self, token):
        progress = [n["params"] for n in self.notifications if n["method"] == "notifications/progress"]
        return [p for p in progress if p["progressToken"] == token]

    def orphans(self):
        """Messages without an id that answer a broken request."""
        return [m for m in self.messages if isinstance(m, dict) and "error" in m and "id" not in m]

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def last_words(self):
        return f"exit status {self.process.poll()}, stderr: {self.stderr()[-2000:]!r}"

    # --- the end

    def docker(self, *args, **more):
        return self.engine.docker(*args, **more)

    def thread_id(self):
        path = self.home / "state" / "husk" / "mcp-thread.json"
        return json.loads(path.read_text())["thread_id"] if path.exists() else None

    def store_id(self):
        found = store_id(self.env)
        if found and found != self._store_id:
            self._store_id = found
            _note_store(found)
        return self._store_id

    def container_of(self, session_id):
        """The name of a session's container from the store, which keeps it after the session's end."""
        self.store_id()
        rows = dict(store_rows(self.env, "SELECT id, container FROM sessions"))
        return rows.get(session_id)

    def containers(self):
        """Names of the containers of this server's store, running or not, without those of other conversations."""
        if not self.store_id():
            return []
        thread = self.env.get("HUSK_THREAD_ID") or self.thread_id()
        others = {name for name, owner in store_rows(self.env, "SELECT container, thread FROM sessions") if owner not in (thread, "")}
        return [name for name in self.engine.names(self.store_id()) if name not in others]

    def engine_events(self):
        return "\n" + self.engine.events(self.store_id())

    def close_stdin(self):
        with self.writing:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass

    def stop(self):
        """Ends the server as a client does, and checks that no container is left. Safe to call twice.

        A server leaves its sessions to the next one, so the test removes them.
        """
        self.close_stdin()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(10)
        self.process.stdout.close()
        for name in self.containers():
            self.engine.remove(name)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Session:
    """A session, with functions to run cells and commands."""

    def __init__(self, server, session_id):
        self.server = server
        self.id = session_id
        self._container = server.container_of(session_id)

    @property
    def container(self):
        self._container = self._container or self.server.container_of(self.id)
        return self._container

    def start_code(self, code=None, timeout=None, **more):
        """`more`: further arguments of the tool, and options of Server.request()."""
        return self._start("execute_code", timeout, code=code, **more)

    def start_shell(self, command=None, timeout=None, **more):
        return self._start("execute_terminal", timeout, command=command, **more)

    def code(self, code=None, timeout=None, **more):
        return self.start_code(code, timeout, **more).tool(_patience(timeout))

    def shell(self, command=None, timeout=None, **more):
        return self.start_shell(command, timeout, **more).tool(_patience(timeout))

    def stop(self):
        return self.server.call("stop_session", {"session_id": self.id})

    def _start(self, tool, timeout, **more):
        options = {name: more.pop(name) for name in ("progress", "id", "era", "meta") if name in more}
        given = {"session_id": self.id, "timeout": timeout, **more}
        return self.server.start_call(tool, {name: value for name, value in given.items() if value is not None}, **options)


class Fake:
    """A program named `docker`, first on the PATH, that records how it was called."""

    def __init__(self, folder, script="exit 1"):
        self.folder = folder
        self.log = folder / "calls"
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "docker"
        program.write_text(f'#!/bin/sh\necho "$*" >>"{self.log}"\n{script}\n')
        program.chmod(0o755)
        self.path = f"{folder}{os.pathsep}{os.environ['PATH']}"

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


def _patience(timeout):
    return PATIENCE + (timeout if isinstance(timeout, int) and timeout > 0 else 30)


def _key(request_id):
    return json.dumps(request_id)


def processes():
    """pid -> (parent, command line) of everything on this machine that we may see."""
    found = collections.OrderedDict()
    for entry in sorted((e for e in os.listdir("/proc") if e.isdigit()), key=int):
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text()
            command = pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        found[int(entry)] = (int(stat.rpartition(")")[2].split()[1]), command)
    return found


def children_of(pid):
    table = processes()
    wanted, found = {pid}, {}
    for child, (parent, command) in table.items():
        if parent in wanted:
            wanted.add(child)
            found[child] = command
    return found
