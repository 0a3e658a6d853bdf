"""An MCP server over stdio, as a client sees it: one thread, blocking reads, every answer parsed and checked.

The time of a call runs from the Python values of its arguments to the Python values of its answer. jupyter_client is measured in the
same way (peers.py), so both sides pay for their JSON.
"""

import json
import subprocess
import time

from results import Failed, milliseconds

PROTOCOL = "2025-06-18"
# json.dumps() and json.loads() call these after checks that no message here needs. After a pause each function that they need takes
# microseconds, which would count for Husk.
encode = json.JSONEncoder(check_circular=False).encode
_scan = json.JSONDecoder().scan_once


def decode(data):
    """The value of a JSON text as bytes, without space around it."""
    return _scan(data.decode(), 0)[0]


class Client:
    """`check` gets each result and raises Failed if it is wrong."""

    def __init__(self, command, env=None, stderr=subprocess.DEVNULL):
        self.number = 0
        began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0, stderr=stderr)
        self.input = open(self.process.stdout.fileno(), "rb", closefd=False, buffering=1 << 20)
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.start_ms = milliseconds(began)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self):
        return self.process.pid

    def send(self, message):
        data = encode(message).encode() + b"\n"
        sent = self.process.stdin.write(data)
        while sent < len(data):
            sent += self.process.stdin.write(data[sent:])

    def begin(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def read(self):
        """Returns the next answer, parsed, and counts its bytes."""
        while True:
            line = self.input.readline()
            if not line:
                raise Failed(f"the server has ended: {self.last_words()}")
            message = decode(line)
            if "id" in message and "method" not in message:
                self.bytes = len(line)
                return message

    def last_words(self):
        return f"exit status {self.process.poll()}"

    def request(self, method, params):
        number = self.begin(method, params)
        message = self.read()
        if message["id"] != number:
            raise Failed(f"{method}: the answer to request {message['id']} came for request {number}")
        if "error" in message:
            raise Failed(f"{method}: {message['error']}")
        return message["result"]

    def start_call(self, tool, **arguments):
        return self.begin("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        """Calls a tool and returns its checked result."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        self.check(tool, result)
        return result

    def timed(self, tool, expect=None, **arguments):
        """Milliseconds from the arguments to the parsed answer, which is then checked; `expect` is a further check of the result."""
        began = time.perf_counter()
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        took = milliseconds(began)
        self.check(tool, result)
        if expect and not expect(result):
            raise Failed(f"{tool} answered something else: {json.dumps(result)[:500]}")
        return took

    def check(self, tool, result):
        if result.get("isError") is not False:
            raise Failed(f"{tool} failed: {json.dumps(result)[:2000]}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.input.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()
