#!/usr/bin/env python3
"""Runs servers under mixed load and kills the things that they depend on: servers, kernels, streams, containers, and
a private engine with its shims.

Every call must be answered or fail with a cause. No cell runs twice, and a refused cell does not run. A session is
lost only by a kill that explains it. No acknowledged export is lost. When all servers are gone, no container
outlives its lease.

Each cell and command appends its own id to a file of its session and prints the whole file, so every answer shows
everything that ran.
"""

import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
import private_engine  # noqa: E402

# How often each kind of kill is chosen. Killing the engine ends every session, and the engine needs a second or two
# to come back.
KILLS = {"server": 15, "kernel": 32, "stream": 35, "container": 14, "engine": 4}
FATAL = ("container", "engine")  # kills after which a session may be lost
LEASE = 15
# A call takes at most this long: its own limit, the time to check the engine, and extra time for a slow machine.
ANSWER_DEADLINE = 150
ENDINGS = ("error", "timeout", "interrupted", "oom", "kernel_died", "container_died", "session_lost")
OPS_A_SESSION = 40
PACE = 0.6


class Notes:
    """Counts, the log, and violations."""

    def __init__(self, log):
        self.log = log
        self.lock = threading.Lock()
        self.kills = collections.Counter()
        self.outcomes = collections.Counter()
        self.violations = []
        self.began = time.monotonic()

    def line(self, text):
        with self.lock:
            print(f"{time.monotonic() - self.began:8.2f} {text}", file=self.log, flush=True)

    def killed(self, kind, pid):
        self.kills[kind] += 1
        self.line(f"kill {kind} {pid}")

    def outcome(self, tool, words):
        with self.lock:
            self.outcomes[f"{tool}: {words}"] += 1

    def violation(self, text):
        self.violations.append(text)
        self.line(f"VIOLATION {text}")

    def fatal(self):
        """Number of kills so far that can end a session."""
        return sum(self.kills[kind] for kind in FATAL)


class Ledger:
    """One session, and the ids that are known to have run in it."""

    def __init__(self, session_id, fatal):
        self.id = session_id
        self.fatal = fatal  # kills that can end a session, before this one was created
        self.ops = 0
        self.acknowledged = set()
        self.refused = set()

    def check(self, op, before, printed):
        """Compares the file with the results that were delivered `before` this request. Returns the problem, if any."""
        ids = printed.split()
        twice = [name for name, n in collections.Counter(ids).items() if n > 1]
        lost = before - set(ids)
        ran = self.refused & set(ids)
        self.acknowledged.add(op)
        wrong = [f"ran twice: {twice}"] if twice else []
        wrong += [f"acknowledged and not there: {sorted(lost)}"] if lost else []
        wrong += [f"refused and ran: {sorted(ran)}"] if ran else []
        return wrong if op in ids else [*wrong, f"acknowledged and did not run: {op}"]


class Client:
    """A conversation. It calls tools on its own session, restarts its server after a kill, and checks each answer."""

    def __init__(self, chaos, number):
        self.chaos, self.notes, self.number = chaos, chaos.notes, number
        self.random = random.Random(f"{chaos.seed}/{number}")
        self.home = chaos.folder / f"client{number}"
        self.server = self.ledger = None
        self.exports = {}  # host path -> content
        self.count = 0
        self.thread = threading.Thread(target=self._work, daemon=True)

    def start_server(self):
        self.server = harness.Server(self.home, engine=self.chaos.engine, SESSION_LEASE_SECONDS=LEASE, CONTAINER_NETWORK_ENABLED="false",
                                     CONTAINER_ORPHAN_MIN_AGE_SECONDS=0, CONTAINER_MAX_SESSIONS=50, CONTAINER_MAX_SESSIONS_PER_THREAD=10)
        self.server.killed = False
        if not self.chaos.adoption:
            self.ledger = None

    def _work(self):
        try:
            while not self.chaos.over.is_set():
                self.step()
        except Exception as error:  # pylint: disable=broad-except
            self.notes.violation(f"client {self.number} failed: {type(error).__name__}: {error}")

    def step(self):
        if self.server is None or self.server.process.poll() is not None:
            if self.server and not self.server.killed:
                self.notes.violation(f"a server ended by itself: {self.server.last_words()}")
            self.start_server()
        if self.ledger is None:
            self.create()
        elif self.ledger.ops >= OPS_A_SESSION:
            self.stop()
        else:
            self.run_some()

    # --- calls

    def call(self, tool, arguments):
        """The answer, or None if the server was killed meanwhile."""
        return self.wait(tool, self.send(tool, arguments))

    def send(self, tool, arguments):
        try:
            return self.server.start_call(tool, arguments)
        except (BrokenPipeError, ValueError):
            return None

    def wait(self, tool, answer):
        try:
            result = answer.tool(ANSWER_DEADLINE) if answer else None
        except harness.Gone:
            result = None
        except AssertionError as error:
            self.notes.violation(f"{tool} was not answered: {error}")
            return None
        if result is None:
            harness.wait_until(lambda: self.server.killed or self.server.process.poll() is not None)
            if self.server.killed:
                self.server.process.wait()
            else:
                self.notes.violation(f"{tool} got no answer of a server that nobody killed: {self.server.last_words()}")
            self.notes.outcome(tool, "the server was killed")
        elif result.is_error:
            words = " ".join(result.text.split()[:6])
            self.notes.outcome(tool, f"failed: {words.split(' (')[0]}")
            if len(result.text) < 20:
                self.notes.violation(f"{tool} failed without a cause: {result.text!r}")
        else:
            ending = result.fields.get("ending", "ok")
            self.notes.outcome(tool, ending)
            if ending != "ok" and (ending not in ENDINGS or not result.text):
                self.notes.violation(f"{tool} ended in an unknown way: {result.text}")
        return result

    def create(self):
        fatal = self.notes.fatal()
        result = self.call("create_session", {"language": "python"})
        if result and not result.is_error:
            self.ledger = Ledger(result.fields["session_id"], fatal)
        else:
            self.chaos.over.wait(0.2)

    def stop(self):
        """Only requests the stop. The check at the end, that no container is left, shows whether it was done."""
        ledger, self.ledger = self.ledger, None
        self.call("stop_session", {"session_id": ledger.id})

    def run_some(self):
        """Runs a cell, sometimes with a command beside it, sometimes with an export."""
        ledger, calls = self.ledger, []
        before = set(ledger.acknowledged)
        ledger.ops += 1
        roll = self.random.random()
        pause = round(self.random.choice([0, 0, 0.05, 0.5]), 2)
        if roll < 0.8:
            name = self.name()
            code = f"import time\nwith open('/workspace/ids', 'a') as f: f.write('{name}\\n')\ntime.sleep({pause})\n" \
                   "print(open('/workspace/ids').read())"
            calls.append((name, "execute_code", self.send("execute_code", {"session_id": ledger.id, "code": code, "timeout": 20})))
        if roll > 0.5:
            name = self.name()
            command = f"echo {name} >>/workspace/ids; sleep {pause}; cat /workspace/ids"
            calls.append((name, "execute_terminal", self.send("execute_terminal", {"session_id": ledger.id, "command": command,
                                                                                    "timeout": 20})))
        if self.chaos.exports and self.random.random() < 0.2:
            self.export(ledger)
        for name, tool, answer in calls:
            self.judge(ledger, name, before, self.wait(tool, answer))

    def name(self):
        self.count += 1
        return f"{self.number}.{self.count}"

    def judge(self, ledger, name, before, result):
        if result is None:
            return
        if result.is_error:
            ledger.refused.add(name)
            self.judge_loss(ledger, result)
        elif result.fields["ending"] == "ok":
            for wrong in ledger.check(name, before, result.stdout):
                self.notes.violation(f"session {ledger.id}, call {name}: {wrong}")
        elif result.fields["ending"] in ("container_died", "session_lost"):
            self.judge_loss(ledger, result)

    def judge_loss(self, ledger, result):
        """A session that is gone must have been ended by a kill."""
        if self.ledger is not ledger:
            return
        if "another server" in result.text or "taken over" in result.text or "cannot be reached" in result.text:
            self.chaos.over.wait(0.2)
            return
        self.ledger = None
        # A kernel that is killed again during its restart ends its session, and the error says so.
        if self.notes.fatal() == ledger.fatal and "no kernel could be started" not in result.text:
            self.notes.violation(f"session {ledger.id} was lost although nothing took it: {result.text}")
        if self.chaos.adoption and "not found" in result.text:
            self.notes.violation(f"session {ledger.id} vanished without a cause: {result.text}")
        self.send("stop_session", {"session_id": ledger.id})

    def export(self, ledger):
        name = self.name()
        content = f"export {name}\n" * 100
        command = f"yes 'export {name}' | head -n 100 >/workspace/{name}.txt"
        made = self.call("execute_terminal", {"session_id": ledger.id, "command": command})
        if not made or made.is_error or made.fields["ending"] != "ok":
            return
        result = self.call("export_files", {"session_id": ledger.id, "files": [{"source": f"{name}.txt"}]})
        if result and not result.is_error and not result.fields["success"] and not result.fields["files"][0].get("error"):
            self.notes.violation(f"an export failed without a cause: {result.text}")
        if result and not result.is_error and result.fields["success"]:
            self.exports[result.fields["files"][0]["host_path"]] = content


class Chaos:
    def __init__(self, engine, folder, seed, log, clients=4):
        self.engine, self.folder, self.seed = engine, folder, seed
        self.notes = Notes(log)
        self.random = random.Random(seed)
        self.first = self.random.sample(list(KILLS), len(KILLS))  # each kind at least once, even in a short run
        self.over = threading.Event()
        self.adoption = self.exports = False
        usage = subprocess.run([harness.husk_binary(), "--help"], capture_output=True, text=True, check=False).stdout
        self.can_gc = any(line.split()[:1] == ["gc"] for line in usage.splitlines())
        self.clients = [Client(self, number) for number in range(clients)]

    def probe(self):
        """Finds out which features this build has, because they decide how strict the other checks are."""
        client = self.clients[0]
        client.start_server()
        tools = {tool["name"] for tool in client.server.request("tools/list").result()["tools"]}
        self.exports = "export_files" in tools
        session = client.server.session()
        session.code("x = 1").ok()
        client.server.killed = True
        client.server.kill()
        client.start_server()
        after = client.server.call("execute_code", {"session_id": session.id, "code": "x"})
        self.adoption = not after.is_error and after.value == "1"
        self.notes.line(f"seed {self.seed}; adoption {self.adoption}, exports {self.exports}, gc {self.can_gc}")

    # --- kills

    def inits(self):
        """Host pids of PID 1 of each container of our engine."""
        table, own = harness.processes(), set(self.engine.processes())
        return [pid for pid, (parent, command) in table.items() if parent in own and "husk-client init" in command], table

    def targets(self, kind):
        if kind == "engine":
            return [0] if self.engine.is_up() else []
        servers = [c.server for c in self.clients if c.server and c.server.process.poll() is None]
        if kind == "server":
            return [server.process.pid for server in servers]
        if kind == "stream":
            return [pid for server in servers for pid, command in harness.children_of(server.process.pid).items() if " exec " in command]
        inits, table = self.inits()
        if kind == "container":
            return inits
        return [pid for pid, (parent, command) in table.items() if parent in inits and "python" in command]

    def kill_one(self):
        kind = self.first[-1] if self.first else self.random.choices(list(KILLS), KILLS.values())[0]
        targets = self.targets(kind)
        if not targets:
            return
        if self.first:
            self.first.pop()
        pid = self.random.choice(targets)
        if kind == "engine":
            self.notes.killed(kind, pid)
            self.engine.kill(shims=True)
            self.engine.start()
            return
        for client in self.clients:
            if kind == "server" and client.server.process.pid == pid:
                client.server.killed = True
        try:
            private_engine.kill(pid, signal.SIGKILL)
            self.notes.killed(kind, pid)
        except ProcessLookupError:
            pass

    def run(self, kills, seconds, pace):
        self.probe()
        for client in self.clients:
            client.thread.start()
        deadline = time.monotonic() + seconds
        while sum(self.notes.kills.values()) < kills and time.monotonic() < deadline:
            time.sleep(self.random.uniform(0, 2 * pace))
            self.kill_one()
        self.over.set()
        for client in self.clients:
            client.thread.join(2 * ANSWER_DEADLINE)
            if client.thread.is_alive():
                self.notes.violation(f"client {client.number} still waits")
        self.finish()
        return not self.notes.violations

    # --- afterwards

    def finish(self):
        for client in self.clients:
            self.check_recovery(client)
        for client in self.clients:
            client.server.killed = True
            client.server.kill()
        self.check_leases()
        self.check_exports()

    def check_recovery(self, client):
        """Checks that the next session works, whatever happened."""
        if client.server.process.poll() is not None:
            client.start_server()
        result = client.call("create_session", {})
        if not result or result.is_error:
            self.notes.violation(f"no new session afterwards: {result}")
            return
        done = client.call("execute_code", {"session_id": result.fields["session_id"], "code": "6 * 7"})
        if not done or done.is_error or done.value != "42":
            self.notes.violation(f"a new session does not work afterwards: {done}")

    def check_leases(self):
        """All servers are gone, so no lease is renewed. PID 1 checks once a second, and the machine may be slow."""
        try:
            harness.wait_until(lambda: not self.engine.docker("ps", "--quiet"), LEASE + 30, "the end of all leases")
        except AssertionError:
            self.notes.violation(f"containers outlive their lease: {self.engine.docker('ps', '--format', '{{.Names}} {{.Status}}')}")
        left = self.engine.docker("ps", "--all", "--format", "{{.Names}} {{.Status}}").splitlines()
        if left and self.can_gc:
            env = harness.clean_env(self.clients[0].home, DOCKER_HOST=self.engine.host, CONTAINER_ORPHAN_MIN_AGE_SECONDS=0)
            subprocess.run([harness.husk_binary(), "gc"], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            left = self.engine.docker("ps", "--all", "--format", "{{.Names}} {{.Status}}").splitlines()
            if left:
                self.notes.violation(f"left although nothing runs: {left}")
        self.notes.line(f"containers left: {len(left)}")

    def check_exports(self):
        for client in self.clients:
            for path, content in client.exports.items():
                if not os.path.exists(path) or pathlib.Path(path).read_text(encoding="utf-8") != content:
                    self.notes.violation(f"an acknowledged export is lost: {path}")
        self.notes.line(f"exports kept: {sum(len(client.exports) for client in self.clients)}")

    def summary(self):
        took = time.monotonic() - self.notes.began
        kills = ", ".join(f"{kind} {n}" for kind, n in sorted(self.notes.kills.items()))
        lines = [f"seed {self.seed}: {sum(self.notes.kills.values())} kills in {took:.0f} s ({kills})",
                 f"adoption {self.adoption}, exports {self.exports} ({sum(len(c.exports) for c in self.clients)} kept), gc {self.can_gc}"]
        lines += [f"{n:6} {what}" for what, n in sorted(self.notes.outcomes.items())]
        lines += [f"violation: {text}" for text in self.notes.violations]
        return "\n".join([*lines, f"{len(self.notes.violations)} violations"])


def run(kills, seconds, seed, log, folder, pace=PACE):
    """Returns (whether there was no violation, the summary)."""
    with private_engine.running() as engine:
        chaos = Chaos(engine, folder, seed, log)
        try:
            good = chaos.run(kills, seconds, pace)
        finally:
            for client in chaos.clients:
                if client.server:
                    client.server.killed = True
                    client.server.stop()
        summary = chaos.summary()
        print(summary, file=log, flush=True)
        return good, summary


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=7200, help="stop killing after this long")
    parser.add_argument("--pace", type=float, default=PACE, help="seconds between two kills, on average")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**9)))
    parser.add_argument("--log", default="-", help="where each kill and the counts are written; - is stdout")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="husk-chaos-") as folder:
        if options.log == "-":
            good, _ = run(options.kills, options.seconds, options.seed, sys.stdout, pathlib.Path(folder), options.pace)
        else:
            with open(options.log, "w", encoding="utf-8") as log:
                good, summary = run(options.kills, options.seconds, options.seed, log, pathlib.Path(folder), options.pace)
            print(summary)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
