"""The measurements. Each part adds to the results; contenders take turns within it."""

import contextlib
import json
import os
import shutil
import time

import gate
import hotpath
import pages
import peers
import serve
import undo
from containers import LOAD_PICTURE, SHOW_PICTURE, Container, Kernel, PerCall, docker, picture
from husk import Server, children, cpu_us, group_memory_kb, memory_kb, parent, resident_kb, text_of
from results import Failed, milliseconds

LANGUAGES = ("python", "node", "r")
# Within MAX_ANSWER_CHARS with the label, so that the whole text is sent.
MEGABYTE = {"python": "print(('x' * 99 + '\\n') * 9990)", "node": "console.log(('x'.repeat(99) + '\\n').repeat(9990))",
            "r": "cat(strrep(paste0(strrep('x', 99), '\\n'), 9990))"}
LENGTH = 998_900  # newlines at the end do not count
PAUSE = 0.02
FILE_MB, FILES = 100, 10_000
CALLS = 2000
READERS, IDLE_READERS = 50, 210
LINE, LINES = "x" * 99 + "\n", 1000
NETWORK_NAME = "husk"  # of the engine's network that sessions use
OUTPUT = f"for _ in range({LINES}): print({LINE.rstrip()!r}, flush=True)\n0"


def is_two(result):
    return text_of(result).split()[-1] == "2"


def is_long(result):
    return len(text_of(result)) >= LENGTH


def is_picture(result):
    return any(part["type"] == "image" and len(part["data"]) > 600_000 for part in result["content"])


def caller(server, session, expect=is_two, tool="execute_code", **arguments):
    return lambda: server.timed(tool, expect, session_id=session, **arguments)


def after_pause(call):
    def paused():
        time.sleep(PAUSE)
        return call()
    return paused


class Bench:
    def __init__(self, options, folder, build):
        self.options, self.folder, self.build = options, folder, build
        self.husk = options.husk or build / "husk"
        self.n = 0.2 if options.quick else 1
        self.images = {entry["name"]: os.environ.get(f"HUSK_IMAGE_{entry['name'].upper()}") or entry["tag"]
                       for entry in json.loads((build / "images.json").read_text())}
        self.allowed = folder / "allowed"
        self.allowed.mkdir()
        (self.allowed / "picture.png").write_bytes(picture())
        shared = {"IMPORT_ALLOWED_DIRS": self.allowed, "CONTAINER_TMPFS_SIZE": "500m"}
        self.stack = contextlib.ExitStack()
        self.servers = {name: self.stack.enter_context(self.server(name, HUSK_TRANSPORT=transport, **shared))
                        for name, transport in (("husk", "socket"), ("husk-exec", "exec"))}
        self.peers = None

    def server(self, folder, **settings):
        return Server(self.husk, self.folder / folder, **settings)

    def venv(self):
        self.peers = self.peers or peers.environment(self.build / "bench-venv")
        return self.peers

    def rounds(self, n, least=3):
        return max(least, int(n * self.n))

    # --- calls

    def calls(self, results):
        for language in LANGUAGES:
            with contextlib.ExitStack() as stack:
                self.calls_of(results, language, stack)

    def calls_of(self, results, language, stack):
        sessions = {}
        for name, server in self.servers.items():
            sessions[name] = server.session(language=language, network=False)
            stack.callback(server.stop_session, sessions[name])
        kernel, per_call = Kernel(language, self.images[language]), PerCall(language, self.images[language])
        stack.callback(kernel.close)
        stack.callback(per_call.close)
        small = {name: caller(self.servers[name], session, code="1+1") for name, session in sessions.items()}
        small["kernel"] = lambda: kernel.run("1+1", b'"op":"result"')
        paused = {name: after_pause(call) for name, call in small.items()}
        rare = {"per-call": (lambda: per_call.run("1+1", "2"), 15)}
        large = {name: caller(self.servers[name], session, is_long, code=MEGABYTE[language]) for name, session in sessions.items()}
        large["kernel"] = lambda: kernel.run(MEGABYTE[language], length=LENGTH)
        show = self.pictures(language, sessions, kernel)
        if language == "python":
            self.add_peers(stack, small, paused, rare, large, show)
        results.turns(f"{language}: 1+1, back to back", self.rounds(20), small, warm=5, in_a_row=20)
        results.turns(f"{language}: 1+1, after a pause of 20 ms", self.rounds(100), {**paused, **rare})
        results.turns(f"{language}: 1 MB of text", self.rounds(20), large)
        results.turns(f"{language}: a 505 KB picture", self.rounds(30), show)
        server = self.servers["husk"]
        server.call("execute_code", session_id=sessions["husk"], code=MEGABYTE[language])
        results.add(f"{language}: answer with 1 MB of text, for each byte of it", "husk", server.bytes / LENGTH, "bytes")
        self.cpu(results, language, sessions)
        shells = {name: caller(self.servers[name], session, None, "execute_terminal", command="true") for name, session in sessions.items()}
        shells["per-call"] = (lambda: per_call.shell("true"), 5)
        results.turns(f"{language}: terminal true", self.rounds(50), shells)

    def add_peers(self, stack, small, paused, rare, large, show):
        """Adds jupyter_client to every row, and mcp-repl and llm-sandbox, which take longer, to the rows of small
        calls.
        """
        jupyter, repl = peers.Jupyter(self.venv()), peers.McpRepl(self.venv())
        sandbox = peers.LlmSandbox(self.venv(), self.images["python"])
        for peer in (jupyter, repl, sandbox):
            stack.callback(peer.close)
        sandbox.open()
        stack.callback(sandbox.leave)
        small["jupyter"] = lambda: jupyter.ask(code="1+1", text="2")
        paused["jupyter"] = lambda: jupyter.ask(code="1+1", text="2", pause=PAUSE)
        rare["mcp-repl"] = (after_pause(lambda: repl.run("1+1", "2")), 15)
        rare["llm-sandbox"] = (after_pause(lambda: sandbox.run("print(1+1)", "2")), 15)
        large["jupyter"] = lambda: jupyter.ask(code=MEGABYTE["python"], length=LENGTH)
        jupyter.ask(code="from IPython.display import display\n" + LOAD_PICTURE["python"].format(str(self.allowed / "picture.png")))
        show["jupyter"] = lambda: jupyter.ask(code=SHOW_PICTURE["python"], kind="image/png")

    def pictures(self, language, sessions, kernel):
        file, load, code = self.allowed / "picture.png", LOAD_PICTURE[language].format("/workspace/picture.png"), SHOW_PICTURE[language]
        show = {}
        for name, session in sessions.items():
            server = self.servers[name]
            server.call("import_files", session_id=session, files=[{"source": str(file), "destination": "/workspace/picture.png"}])
            server.call("execute_code", session_id=session, code=load)
            show[name] = caller(server, session, is_picture, code=code)
        kernel.put("picture.png", file.read_bytes())
        kernel.run(load)
        show["kernel"] = lambda: kernel.run(code, b'"image/png"')
        return show

    def cpu(self, results, language, sessions):
        """Microseconds on a CPU for each call, by process. Other load on the machine changes them little."""
        n = self.rounds(500)
        for name, session in sessions.items():
            server = self.servers[name]
            processes, call = {"client": [os.getpid()], **hotpath.processes(server, session)}, caller(server, session, code="1+1")
            for part, (us, wakeups) in hotpath.cost(processes, call, n).items():
                results.add(f"{language}: CPU of a call, {part}", name, us, "us")
                results.add(f"{language}: wake-ups of a call, {part}", name, wakeups, "times")
            if name == "husk" and language == "python":
                results.profile = hotpath.profile(processes, call, 4 * n, self.folder)

    def adapter(self, results):
        """The time that husk-jupyter and the rest of Husk add to a stock ipykernel, compared with jupyter_client and
        the same kernel.
        """
        contrib = self.build / "runtimes" / "contrib"
        image = next(entry["tag"] for entry in json.loads((contrib / "images.json").read_text()) if entry["name"] == "ipykernel")
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(Server(contrib / "husk-contrib", self.folder / "adapter", HUSK_TRANSPORT="socket"))
            session = server.session(language="ipykernel", network=False)
            stack.callback(server.stop_session, session)
            inside = {f"jupyter-{transport}": peers.JupyterInside(image, transport) for transport in ("tcp", "ipc")}
            for jupyter in inside.values():
                stack.callback(jupyter.close)
            for measure, code, rounds, expect, more in (
                    ("ipykernel: 1+1, back to back", "1+1", 400, is_two, {"text": "2"}),
                    ("ipykernel: 1 MB of text", MEGABYTE["python"], 20, is_long, {"length": LENGTH})):
                contenders = {"husk": caller(server, session, expect, code=code)}
                for name, jupyter in inside.items():
                    contenders[name] = lambda jupyter=jupyter, code=code, more=more: jupyter.ask(code=code, **more)
                results.turns(measure, self.rounds(rounds), contenders, warm=5)

    def rates(self, results):
        """Calls per second with several sessions, five times each, and a call beside busy sessions."""
        most = 8 if self.options.quick else 32
        for name, server in self.servers.items():
            sessions = [server.session(language="python", network=False) for _ in range(most)]
            for width in (1, 8, 32):
                if width <= most:
                    self.add_rates(results, name, server, sessions[:width])
            self.beside_busy(results, name, server, sessions[:3])
            for session in sessions:
                server.stop_session(session)
            results.note_load()
            print(f"  {name}", flush=True)

    def add_rates(self, results, name, server, sessions):
        measure, firsts = f"calls per second, {len(sessions)} sessions", [server.pid_1(session) for session in sessions]
        parts = {"client": [os.getpid()], "server": [server.pid, *server.helpers()], "PID 1": firsts,
                 "kernel": [pid for first in firsts for pid in children(first)]}
        for session in sessions:
            server.call("execute_code", session_id=session, code="1+1")
        for _ in range(5):
            before = {part: sum(map(cpu_us, pids)) for part, pids in parts.items()}
            count, seconds = self.rate(server, sessions)
            results.add(measure, name, count / seconds, "/s")
            for part, pids in parts.items():
                results.add(f"{measure}: CPU of a call, {part}", name, (sum(map(cpu_us, pids)) - before[part]) / count, "us")

    def rate(self, server, sessions):
        """Returns the number of calls and the seconds that they took. Each session always has one call in progress."""
        whose = {}
        count, began, seconds = 0, time.perf_counter(), max(0.5, 2 * self.n)
        for session in sessions:
            whose[server.start_call("execute_code", session_id=session, code="1+1")] = session
        while whose:
            message = server.read()
            if "result" not in message or not is_two(message["result"]):
                raise Failed(f"execute_code failed: {json.dumps(message)[:2000]}")
            server.check("execute_code", message["result"])
            session = whose.pop(message["id"])
            count += 1
            if time.perf_counter() - began < seconds:
                whose[server.start_call("execute_code", session_id=session, code="1+1")] = session
        return count, time.perf_counter() - began

    def beside_busy(self, results, name, server, sessions):
        """A call in one session while none, one or two others use a CPU all the time."""
        first, *others = sessions
        call = caller(server, first, code="1+1")
        call()
        for busy in range(len(others) + 1):
            running = [server.start_call("execute_code", session_id=other, code="while True: pass", timeout=120) for other in others[:busy]]
            for _ in range(self.rounds(100)):
                results.add(f"1+1 beside {busy} busy sessions", name, call())
            for other, number in zip(others, running):
                server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
                server.call("execute_code", session_id=other, code="1+1")  # queued behind the busy cell, so it waits for its end

    # --- HTTP

    def http(self, results):
        """`1+1` over HTTP beside stdio, calls per second, and streams of events."""
        with contextlib.ExitStack() as stack:
            stdio = self.servers["husk"]
            server = stack.enter_context(serve.Serve(self.husk, self.folder / "http", HUSK_TRANSPORT="socket"))
            own = stdio.session(language="python", network=False)
            stack.callback(stdio.stop_session, own)
            addresses = {"rest": server.address, "mcp-http": server.address, "rest-unix": server.socket}
            sessions = {name: server.session() for name in addresses}  # a server closes connections that stay silent
            connections = {name: serve.Connection(address, server.key) for name, address in addresses.items()}
            faces = {name: (serve.Mcp if name == "mcp-http" else serve.Rest)(connection, sessions[name])
                     for name, connection in connections.items()}
            calls = {"husk": caller(stdio, own, code="1+1"),
                     **{name: lambda face=face: face.timed("1+1", "2") for name, face in faces.items()}}
            results.turns("HTTP: 1+1, back to back", self.rounds(20), calls, warm=20, in_a_row=20)
            results.turns("HTTP: 1+1, after a pause of 20 ms", self.rounds(100), {name: after_pause(call) for name, call in calls.items()})
            self.http_cpu(results, {"husk": stdio, **dict.fromkeys(faces, server)}, calls)
            for connection in connections.values():
                connection.close()
            self.http_rates(results, stdio, server)
            self.fan_out(results, server)
        self.idle_readers(results)
        self.http_start(results)

    def http_cpu(self, results, servers, calls):
        n = self.rounds(500)
        for name, call in calls.items():
            for part, (us, wakeups) in hotpath.cost({"server": [servers[name].pid]}, call, n).items():
                results.add(f"HTTP: CPU of a call, {part}", name, us, "us")
                results.add(f"HTTP: wake-ups of a call, {part}", name, wakeups, "times")

    def http_rates(self, results, stdio, server, width=8):
        """Calls per second with a connection for each session, five times, with stdio in turns."""
        measure, seconds = f"HTTP: calls per second, {width} sessions", max(0.5, 2 * self.n)
        own = [stdio.session(language="python", network=False) for _ in range(width)]
        sessions = [server.session() for _ in range(width)]

        def over(face):
            faces = [face(serve.Connection(server.address, server.key), session) for session in sessions]
            try:
                return serve.rate(faces, seconds, "1+1", "2")
            finally:
                for face in faces:
                    face.connection.close()

        contenders = {"husk": (stdio, lambda: self.rate(stdio, own)), "rest": (server, lambda: over(serve.Rest)),
                      "mcp-http": (server, lambda: over(serve.Mcp))}
        for _, run in contenders.values():
            run()
        for _ in range(5):
            for contender, (of, run) in contenders.items():
                before = cpu_us(of.pid)
                count, took = run()
                results.add(measure, contender, count / took, "/s")
                results.add(f"{measure}: CPU of a call, server", contender, (cpu_us(of.pid) - before) / count, "us")
        for session in own:
            stdio.stop_session(session)
        for session in sessions:
            server.stop_session(session)
        results.note_load()
        print(f"  {measure}", flush=True)

    def http_files(self, results):
        """A file into a session and out of it. Unlike imports and exports, it is neither hashed nor kept."""
        with serve.Serve(self.husk, self.folder / "http-files", HUSK_TRANSPORT="socket") as server:
            self.copy_over_http(results, server)
        results.note_load()

    def copy_over_http(self, results, server):
        session, content = server.session(), os.urandom(FILE_MB * 1_000_000)
        path, got = f"/v1/sessions/{session}/files/home/sandbox/large", bytearray(len(content))
        connection = serve.Connection(server.address, server.key)
        for _ in range(self.rounds(10)):
            for way, copy in (("in", lambda: connection.upload(path, content)), ("out", lambda: connection.download(path, got))):
                began = time.perf_counter()
                copy()
                results.add(f"HTTP: {FILE_MB} MB {way}", "rest", FILE_MB / (time.perf_counter() - began), "MB/s")
            if got != content:
                raise Failed("a file came back different over HTTP")
            got[:] = bytes(len(got))
        connection.close()
        server.stop_session(session)

    def fan_out(self, results, server):
        """One run's output to fifty readers. Each must get all of it."""
        keys = [server.key, server.add_key("fan-out")]
        session = server.session()
        face = serve.Rest(serve.Connection(server.address, server.key), session)
        for _ in range(self.rounds(10)):
            readers = [serve.Events(server.address, keys[i % 2], f"/v1/sessions/{session}/events?after=now") for i in range(READERS)]
            before, began = cpu_us(server.pid), time.perf_counter()
            face.send(OUTPUT)
            serve.read_all(readers)
            took = milliseconds(began)
            results.add(f"HTTP: 100 KB of output to {READERS} readers", "rest", took)
            results.add(f"HTTP: 100 KB of output to {READERS} readers, CPU of the server for each reader", "rest",
                        (cpu_us(server.pid) - before) / READERS, "us")
            face.receive("0")
            for reader in readers:
                if reader.output() != LINE * LINES:
                    raise Failed("a reader of events did not get all output")
                reader.close()
        face.connection.close()
        server.stop_session(session)
        results.note_load()
        print("  fan-out", flush=True)

    def idle_readers(self, results):
        """Memory for each reader that waits for events, of a fresh server, which has no freed memory to give them."""
        with serve.Serve(self.husk, self.folder / "readers", HUSK_TRANSPORT="socket") as server:
            session, keys = server.session(), [server.add_key(f"idle-{i}") for i in range(IDLE_READERS // 30)]
            before = memory_kb(server.pid)[1]
            readers = [serve.Events(server.address, keys[i // 30], f"/v1/sessions/{session}/events?after=now") for i in range(IDLE_READERS)]
            used = memory_kb(server.pid)[1] - before
            if used <= 0:
                raise Failed("the memory of idle readers could not be measured")
            results.add("HTTP: memory of the server for an idle reader", "rest", used / IDLE_READERS, "KB")
            for reader in readers:
                reader.close()
            server.stop_session(session)

    def http_start(self, results):
        """Start and memory of `husk mcp`, which pays nothing for HTTP, beside `husk serve`."""
        for i in range(self.rounds(20, least=10)):
            with self.server(f"http-start-{i}") as server:
                results.add("HTTP: start of the server", "husk", server.start_ms)
                results.add("HTTP: memory of a fresh server", "husk", resident_kb(server.pid) / 1024, "MB")
            with serve.Serve(self.husk, self.folder / f"http-start-{i}") as server:
                results.add("HTTP: start of the server", "rest", server.start_ms)
                results.add("HTTP: memory of a fresh server", "rest", resident_kb(server.pid) / 1024, "MB")
        results.note_load()

    # --- life

    def create_cold(self, results):
        """Creates and stops of containers and of sessions. A session with the network makes sure that Husk's network exists."""
        self.servers["husk"].stop_session(self.servers["husk"].session(language="python", network=True))
        for language in LANGUAGES:
            for i in range(self.rounds(8)):
                kernel = Kernel(language, self.images[language])
                results.add(f"{language}: the kernel's own start", "kernel", kernel.start_ms)
                kernel.close()
                for words, network in (("no network", "none"), ("network", "bridge"), ("network of Husk", NETWORK_NAME)):
                    plain = Container(self.images[language], network=network)
                    results.add(f"{language}: create, {words}", "docker", plain.run_ms)
                    results.add(f"{language}: stop, {words}", "docker", plain.remove())
                for name, server in list(self.servers.items())[::1 if i % 2 else -1]:
                    for network in (False, True):
                        self.create_and_stop(results, name, server, language, network)
            results.note_load()
            print(f"  {language}", flush=True)

    @staticmethod
    def create_and_stop(results, name, server, language, network):
        words = f"{'' if network else 'no '}network"
        began = time.perf_counter()
        session = server.session(language=language, network=network)
        results.add(f"{language}: create, {words}", name, milliseconds(began))
        results.add(f"{language}: first call after create, {words}", name, caller(server, session, code="1+1")())
        began = time.perf_counter()
        server.stop_session(session)
        results.add(f"{language}: stop, {words}", name, milliseconds(began))

    def create_warm(self, results):
        """Creates while a warm container is ready. A session with its own environment variables needs a new interpreter
        in it.
        """
        for language in LANGUAGES:
            with self.server(f"warm-{language}", WARM_POOL=f"{language}:1") as server:
                server.stop_session(server.session(language=language))
                for _ in range(self.rounds(10)):
                    for measure, arguments in (("create, warm", {}), ("create, warm, with variables", {"env": {"A": "1"}})):
                        server.wait_for_warm()
                        began = time.perf_counter()
                        session = server.session(language=language, **arguments)
                        results.add(f"{language}: {measure}", "husk", milliseconds(began))
                        server.stop_session(session)
            print(f"  {language}", flush=True)

    def first(self, results):
        """The first create of a fresh server, with its default settings, and a burst of five creates after it."""
        venv = self.venv()
        sandbox = peers.LlmSandbox(venv, self.images["python"])
        with self.server("first") as server:  # Husk was used here before
            server.session(language="python")
        try:
            for _ in range(self.rounds(8)):
                results.add("first create of a server", "llm-sandbox", sandbox.open())
                sandbox.leave()
                results.add("first create of a server", "mcp-repl", peers.first_call_of_mcp_repl(venv))
                with self.server("first", WARM_POOL=None) as server:  # the default pool
                    server.request("tools/list", {})
                    time.sleep(1)
                    began = time.perf_counter()
                    server.session(language="python")
                    results.add("first create of a server", "husk", milliseconds(began))
                    self.burst(results, server)
        finally:
            sandbox.close()
        results.note_load()

    def burst(self, results, server):
        """Five creates in a row, once the server's pool has had time to fill after its first one."""
        server.wait_for_warm()
        time.sleep(3)
        for k in range(1, 6):
            began = time.perf_counter()
            server.session(language="python")
            results.add(f"burst: create {k} of 5", "husk", milliseconds(began))

    def start(self, results):
        for i in range(self.rounds(20, least=10)):
            with self.server(f"start-{i}") as server:
                results.add("server: start to first answer", "husk", server.start_ms)
            results.add("server: start to first answer", "mcp-repl", peers.start_of_mcp_repl(self.venv()))
        results.note_load()

    # --- files

    def files(self, results):
        block = os.urandom(1 << 20)
        (self.allowed / "large").write_bytes(b"".join(block[i:] + block[:i] for i in range(FILE_MB)))
        (self.allowed / "many").mkdir()
        for i in range(FILES):
            (self.allowed / "many" / f"{i}.txt").write_bytes(b"%d" % i)
        plain = Container(self.images["python"], plain=True)
        docker("exec", "--user", "0", plain.name, "mkdir", "-p", "/data")
        try:
            for what, label, rounds in (("large", f"{FILE_MB} MB", self.rounds(15)), ("many", f"{FILES:,} files", self.rounds(5))):
                for _ in range(rounds):
                    if what == "large":  # existing content would be replaced, while docker cp always makes a new file
                        with open(self.allowed / what, "r+b") as file:
                            file.write(os.urandom(16))
                    self.copy_by_docker(results, plain, what, label)
                    for name, server in self.servers.items():
                        self.copy_by_husk(results, name, server, what, label)
                results.note_load()
                print(f"  {label}", flush=True)
        finally:
            plain.remove()

    def copy_by_husk(self, results, name, server, what, label):
        session = server.session(language="python", network=False)
        pids = {"server": server.pid, "PID 1": server.pid_1(session)}
        for way, copy in (("in", lambda: server.timed("import_files", session_id=session,
                                                      files=[{"source": str(self.allowed / what), "destination": what}])),
                          ("out", lambda: server.timed("export_files", session_id=session, files=[{"source": what}]))):
            before = {part: cpu_us(pid) for part, pid in pids.items()}
            results.add(f"{label} {way}", name, copy())
            for part, pid in pids.items():
                results.add(f"{label} {way}: CPU, {part}", name, (cpu_us(pid) - before[part]) / 1000)
        server.stop_session(session)

    def copy_by_docker(self, results, plain, what, label):
        began = time.perf_counter()
        docker("cp", str(self.allowed / what), f"{plain.name}:/data/")
        results.add(f"{label} in", "docker", milliseconds(began))
        out = self.folder / "out"
        began = time.perf_counter()
        docker("cp", f"{plain.name}:/data/{what}", str(out))
        results.add(f"{label} out", "docker", milliseconds(began))
        shutil.rmtree(out, ignore_errors=True)
        out.unlink(missing_ok=True)

    # --- growth

    def idle(self, results):
        """Costs of unused sessions: memory with the containerd shim, CPU and wake-ups of PID 1 over ten seconds."""
        with self.server("idle") as server:
            sessions = [server.session(language="python", network=False) for _ in range(5)]
            for session in sessions:
                server.timed("execute_code", is_two, session_id=session, code="1+1")
            time.sleep(3)
            firsts = [server.pid_1(session) for session in sessions]
            seconds = 10 if self.options.quick else 30
            before = [(cpu_us(pid), hotpath.wakeups(pid), sum(map(cpu_us, children(pid)))) for pid in firsts]
            time.sleep(seconds)
            for pid, (cpu, woken, kernel) in zip(firsts, before):
                results.add("idle session: CPU of PID 1", "husk", (cpu_us(pid) - cpu) / 1000 / seconds, "ms/s")
                results.add("idle session: CPU of the kernel", "husk", (sum(map(cpu_us, children(pid))) - kernel) / 1000 / seconds, "ms/s")
                results.add("idle session: wake-ups of PID 1", "husk", (hotpath.wakeups(pid) - woken) / seconds, "/s")
                group, shim = group_memory_kb(pid), memory_kb(parent(pid))[1]
                results.add("idle session: control group", "husk", group / 1024, "MB")
                results.add("idle session: containerd shim", "husk", shim / 1024, "MB")
                results.add("idle session: all in", "husk", (group + shim) / 1024, "MB")
        results.note_load()

    def growth(self, results):
        """Latency of a call and of a create, and memory of the server with its helpers, beside idle sessions."""
        with self.server("growth", HUSK_TRANSPORT="socket") as server:
            sessions = []
            for step in (1, 5, 10) if self.options.quick else (1, 5, 10, 20, 40, 80):
                while len(sessions) < step:
                    began = time.perf_counter()
                    sessions.append(server.session(language="python", network=False))
                    took = milliseconds(began)
                results.add(f"beside {step} idle sessions: create", "husk", took)
                call = caller(server, sessions[0], code="1+1")
                for _ in range(20):
                    call()
                for _ in range(self.rounds(100)):
                    results.add(f"beside {step} idle sessions: 1+1", "husk", call())
                pids = [server.pid, *server.lasting_helpers()]
                results.add(f"beside {step} idle sessions: server and helpers", "husk", sum(resident_kb(pid) for pid in pids) / 1024, "MB")
                print(f"  {step} sessions", flush=True)
        self.after_calls(results)
        results.note_load()

    def after_calls(self, results):
        """Memory of a server that has run many cells, of which it keeps records."""
        with self.server("after-calls", HUSK_TRANSPORT="socket") as server:
            for session in [server.session(language="python", network=False) for _ in range(5)]:
                call = caller(server, session, code="1+1")
                for _ in range(CALLS):
                    call()
            pids = [server.pid, *server.lasting_helpers()]
            results.add(f"5 sessions after {CALLS:,} calls each: server and helpers", "husk", sum(resident_kb(pid) for pid in pids) / 1024, "MB")

    def close(self):
        self.stack.close()


PARTS = {"calls": Bench.calls, "rates": Bench.rates, "http": Bench.http, "http-files": Bench.http_files, "pages": pages.measure,
         "create-cold": Bench.create_cold, "create-warm": Bench.create_warm, "first": Bench.first,
         "start": Bench.start, "adapter": Bench.adapter, "files": Bench.files, "gate": gate.measure, "idle": Bench.idle, "growth": Bench.growth,
         "undo": undo.measure}
