#!/usr/bin/env python3
"""Sends mutated messages to one live server: tests/fuzz/mutate.py [--seed N] [--count N] [--program build/husk]

Needs no engine. Afterwards the server must still answer as before. It must not have sent more answers than there
were requests, and every line must be a JSON-RPC message. The seed is printed; the same seed sends the same bytes.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

COUNT = 10_000
ROOT = pathlib.Path(__file__).resolve().parents[2]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "mutate", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
# Seconds for one answer, which takes milliseconds unless the server is stuck.
PATIENCE = 20
MEMORY_GROWTH_MAX = 64 << 20


def request(method, id, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def legacy_hello(version):
    return request("initialize", 0, protocolVersion=version, capabilities={}, clientInfo=META["io.modelcontextprotocol/clientInfo"])


def messages():
    """Messages of clients of both eras; mutations start from these."""
    calls = [
        {"name": "execute_code", "arguments": {"session_id": "nosuchsession", "code": "1+1", "timeout": 30}},
        {"name": "execute_terminal", "arguments": {"session_id": "nosuchsession", "command": "ls"}},
        {"name": "create_session", "arguments": {"language": "python", "network": False, "dependencies": {}}},
        {"name": "stop_session", "arguments": {"session_id": "nosuchsession"}},
        {"name": "no_such_tool", "arguments": {}},
    ]
    out = [legacy_hello(v) for v in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "1900-01-01")]
    out += [{"jsonrpc": "2.0", "method": "notifications/initialized"}, request("ping", 1), request("tools/list", 2)]
    out += [request("tools/call", 3, **c, _meta={"progressToken": "p"}) for c in calls]
    out += [request("tools/call", 3, **c, _meta=META) for c in calls]
    out += [request(m, "m", _meta=META) for m in ("server/discover", "tools/list", "ping", "resources/list", "no/such")]
    out += [request("subscriptions/listen", "l", notifications={"toolsListChanged": True}, _meta=META)]
    out += [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}} for i in ("l", 3)]
    out += [[request("ping", 1), request("tools/list", 2), {"jsonrpc": "2.0", "method": "notifications/initialized"}]]
    out += [{"jsonrpc": "2.0", "id": 9, "result": {}}, {"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "x"}}]
    return out


STRANGE = [
    None, True, False, 0, -1, 1.5, -0.0, 1e300, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, "", " ", "\0", "a\0b", "\x1b[31m", "\ufeff",
    "\u202e", "\U0001f600", "é" * 500, "x" * 5000, "../../etc/passwd", "%s%n", "2.0", "2026-07-28", [], {}, [[]], [{}], {"": ""},
    {"a": {"b": {"c": []}}}, ["x"] * 50, {"io.modelcontextprotocol/protocolVersion": 7}, META,
]  # fmt: skip


def nodes(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from nodes(below, (*path, key))


def change_value(rng, message):
    """Replaces, removes or adds one node."""
    message = {"": copy.deepcopy(message)}
    path = rng.choice(list(nodes(message))[1:])
    parent = message
    for key in path[:-1]:
        parent = parent[key]
    kind = rng.randrange(6)
    if kind == 0 and len(path) > 1:
        del parent[path[-1]]
    elif kind == 1 and isinstance(parent, dict) and len(path) > 1:
        parent[rng.choice(["id", "method", "params", "_meta", "name", "cursor", "x", "\0", "é" * 99])] = rng.choice(STRANGE)
    elif kind == 2:
        parent[path[-1]] = [parent[path[-1]]] * rng.choice([1, 2, 101])
    elif kind == 3:
        for _ in range(rng.choice([1, 5, 30])):
            parent[path[-1]] = {"d": parent[path[-1]]}
    else:
        parent[path[-1]] = rng.choice(STRANGE)
    return message[""]


def change_bytes(rng, line):
    """Applies a few cuts, flips, insertions and repetitions. Newlines are not inserted, since they would make two lines
    of one.
    """
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(line) + 1)
        to = min(len(line), at + rng.choice([1, 2, 8, 40]))
        piece = line[at:to]
        kind = rng.randrange(6)
        if kind == 0:
            line = line[:at] + line[to:]
        elif kind == 1:
            line = line[:at] + bytes(rng.randrange(256) for _ in piece) + line[to:]
        elif kind == 2:
            line = line[:at] + piece * rng.choice([2, 3, 50]) + line[to:]
        elif kind == 3:
            line = line[:at] + rng.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\0", b"\\ud800", b"\\u0000", b'"', b"\\"]) + line[at:]
        elif kind == 4:
            line = line[:at] + rng.choice([b"{", b"}", b"[", b"]", b",", b":", b"[" * 300, b"-", b"e9", b"9" * 40]) + line[at:]
        else:
            line = line[:at]
    return line.replace(b"\n", b" ")


def mutations(rng, count):
    originals = messages()
    for number in range(count):
        message = copy.deepcopy(rng.choice(originals))
        if isinstance(message, dict) and "id" in message and rng.random() < 0.8:
            message["id"] = f"r{number}"
        for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
            message = change_value(rng, message)
        line = json.dumps(message, ensure_ascii=rng.random() < 0.5).encode("utf-8", "replace")
        if rng.random() < 0.03 and line.startswith(b"{"):
            depth = rng.choice([126, 127, 128, 129, 900, 5000])
            line = b'{"deep":' + b"[" * depth + b"]" * depth + b"," + line[1:]
        if rng.random() < 0.4:
            line = change_bytes(rng, line)
        if rng.random() < 0.02:
            line += json.dumps(rng.choice(originals)).encode()
        if rng.random() < 0.001:
            line = line[:-1] + b" " * 300_000 + line[-1:]
        yield line


# --- requests and answers --------------------------------------------------------------------------------------------


def id_key(message):
    """The id as JSON, so that 1 and "1" differ. None if there is no id that could be answered."""
    id = message.get("id") if isinstance(message, dict) else None
    return json.dumps(id) if isinstance(id, (str, int)) and not isinstance(id, bool) else None


class Asked:
    """The number of allowed answers, in total and for each id."""

    def __init__(self):
        self.total = 0
        self.ids = collections.Counter()

    def add(self, line):
        try:
            value = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            value = None
        batch = value if isinstance(value, list) and value else [value]
        self.total += len(batch)
        self.ids.update(key for key in map(id_key, batch) if key)


class Answers:
    def __init__(self):
        self.total = 0
        self.ids = collections.Counter()
        self.problems = []

    def add(self, line):
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError as e:
            self.problems.append(f"{e}: {line[:200]!r}")
            return
        for entry in message if isinstance(message, list) and message else [message]:
            self.add_entry(entry, line)

    def add_entry(self, message, line):
        wrong = (
            not isinstance(message, dict)
            or message.get("jsonrpc") != "2.0"
            or sum(k in message for k in ("result", "error", "method")) != 1
            or ("result" in message and id_key(message) is None)
            or ("method" in message and "id" in message)
            or ("error" in message and not self.is_error(message["error"]))
        )
        if wrong:
            self.problems.append(f"no JSON-RPC message: {line[:200]!r}")
        elif "method" not in message:
            self.total += 1
            self.ids.update([id_key(message)] if "id" in message else [])

    @staticmethod
    def is_error(error):
        return isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)


class Live:
    """The server under test; its stdout is read all the time."""

    def __init__(self, program, home):
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home, "HUSK_DOCKER": str(pathlib.Path(home) / "no-docker")}
        env |= {"ASAN_OPTIONS": "quarantine_size_mb=8", "UBSAN_OPTIONS": "halt_on_error=1"}  # for a sanitized build
        self.process = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.asked, self.answers = Asked(), Answers()
        self.marked = queue.Queue()
        self.numbers = iter(range(1, 1 << 60))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.answers.add(line)
            if b'"mark-' in line:
                self.marked.put(json.loads(line))

    def send(self, line):
        self.asked.add(line)
        self.process.stdin.write(line + b"\n")

    def ask(self, message):
        """Sends a valid request and returns its answer without the id."""
        id = f"mark-{next(self.numbers)}"
        self.send(json.dumps({**message, "id": id}).encode())
        self.process.stdin.flush()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                answer = self.marked.get(timeout=1)
            except queue.Empty:
                assert self.process.poll() is None, f"the server has ended: {self.process.returncode}"
                continue
            if isinstance(answer, dict) and answer.pop("id", None) == id:
                return answer
        raise AssertionError(f"no answer to {message} in {PATIENCE} s")

    def portrait(self):
        """Returns the server's answers to a client of each era."""
        asks = [legacy_hello("2025-11-25"), request("ping", 0), request("tools/list", 0)]
        asks += [request(m, 0, _meta=META) for m in ("server/discover", "tools/list", "ping")]
        asks += [request("tools/call", 0, name="execute_code", arguments={}, _meta=META)]
        return [self.ask(message) for message in asks]

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) << 10

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code


def run(program, seed, count=COUNT):
    """Raises AssertionError with the problem. Returns figures to print."""
    with tempfile.TemporaryDirectory() as home:
        live = Live(program, home)
        try:
            return check(live, random.Random(seed), count)
        finally:
            live.process.kill()
            live.process.wait()


def check(live, rng, count):
    began = time.monotonic()
    before, memory = live.portrait(), live.memory()
    for number, line in enumerate(mutations(rng, count), 1):
        live.send(line)
        if number % 50 == 0:
            live.ask(request("tools/list", 0, _meta=META))
    growth = live.memory() - memory
    deadline = time.monotonic() + PATIENCE
    while (after := live.portrait()) != before and time.monotonic() < deadline:  # sessions that cannot start are listed until they fail
        time.sleep(0.1)
    different = [(a, b) for a, b in zip(before, after) if a != b]
    assert not different, f"the server answers otherwise than before:\n{str(different)[:4000]}"
    assert live.end() == 0, f"exit status {live.process.returncode}"
    answers, asked = live.answers, live.asked
    assert not answers.problems, "\n".join(answers.problems[:10])
    assert answers.total <= asked.total, f"{answers.total} answers to {asked.total} messages"
    more = answers.ids - asked.ids
    assert not more, f"answered more often than asked: {list(more.items())[:10]}"
    assert growth < MEMORY_GROWTH_MAX, f"grew by {growth >> 20} MiB"
    return f"{count} messages, {answers.total} answers, {growth >> 10} KiB more memory, {time.monotonic() - began:.1f} s"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--program", default=str(ROOT / os.environ.get("BUILD", "build") / "husk"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    try:
        print(run(options.program, options.seed, options.count))
    except AssertionError as e:
        sys.exit(f"failed with seed {options.seed}: {e}")


if __name__ == "__main__":
    main()
