"""Plays PID 1 for one language kernel: listens, starts the kernel, runs cells, and keeps output and events in order.

Knows the kernel link (docs/protocol.md, section 2) but no language: the command, the kind of link and the
interrupt come from a runtime.json. HUSK_TEST_KERNEL replaces the whole command. HUSK_TEST_<NAME>
(HUSK_TEST_PYTHON, …) replaces only the interpreter, and the kernel is then taken from the source tree instead of
/opt/husk/kernel.
"""

import base64
import json
import os
import secrets
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

MESSAGE_MAX = 12 << 20
DEFAULT_SECONDS = 60  # generous, because a shared machine is slow at times
REPEAT_SECONDS = 0.3  # PID 1 repeats interrupts too, since shells and libraries swallow some


class KernelError(AssertionError):
    """The kernel broke the protocol, died or took too long."""


class Outcome:
    """One cell: `log` has everything in order of arrival, the other attributes are views of it."""

    def __init__(self):
        self.log = []  # ("stdout", text), ("stderr", text), ("display", message), ("result", …), ("error", …)

    def add(self, kind, what):
        if self.log and kind in ("stdout", "stderr") and self.log[-1][0] == kind:
            what = self.log.pop()[1] + what
        self.log.append((kind, what))

    def _all(self, kind):
        return [what for k, what in self.log if k == kind]

    @property
    def stdout(self):
        return b"".join(self._all("stdout")).decode("utf-8", "replace")

    @property
    def stderr(self):
        return b"".join(self._all("stderr")).decode("utf-8", "replace")

    @property
    def displays(self):
        return self._all("display")

    @property
    def result(self):
        """The MIME bundle, or None."""
        return next(iter(self._all("result")), {}).get("data")

    @property
    def text(self):
        return (self.result or {}).get("text/plain")

    @property
    def error(self):
        return next(iter(self._all("error")), None)

    def __repr__(self):
        return f"Outcome({self.log!r:.4000})"


def command_of(runtime):
    """The kernel's command line for this machine."""
    if os.environ.get("HUSK_TEST_KERNEL"):
        return shlex.split(os.environ["HUSK_TEST_KERNEL"])
    manifest = json.loads(Path(runtime).read_text())
    command = manifest["kernel"]
    if Path(command[-1]).exists():  # inside the image
        return command
    folder = str(Path(runtime).resolve().parent)
    interpreter = os.environ.get(f"HUSK_TEST_{manifest['name'].upper()}")
    if not interpreter and manifest["name"] == "python":
        interpreter = sys.executable
    words = [word.replace("/opt/husk/kernel", folder) for word in command]
    return [interpreter or words[0], *words[1:]]


class Queries:
    """Queries and their answers, for classes with `query`."""

    def complete(self, code, cursor=None):
        """Returns the code as completed with each of the matches."""
        answer = self.query("complete", code, cursor)
        assert answer["status"] == "ok", answer
        return [code[: answer["start"]] + match + code[answer["end"] :] for match in answer["matches"]]

    def help(self, code, cursor=None, **more):
        """Returns the help text, or None."""
        answer = self.query("inspect", code, cursor, **more)
        assert answer["status"] == "ok", answer
        return answer["data"]["text/plain"] if answer["found"] else None

    def wholeness(self, code):
        answer = self.query("is_complete", code)
        return answer["completeness"], answer.get("indent", "")


class Kernel(Queries):
    def __init__(self, runtime, cwd, env=(), first=None):
        """`first` is a cell that waits in the link when the kernel starts; finish() returns its outcome."""
        manifest = json.loads(Path(runtime).read_text())
        self._signal = getattr(signal, manifest.get("interrupt", "SIGINT"))
        self._buffer = bytearray()
        self._call = 0
        self._selector = selectors.DefaultSelector()
        self.outcome = Outcome()
        link, more, fds, token = self._offer(manifest.get("link", "unix"))
        taken, self._taken = os.pipe()
        os.set_blocking(self._taken, False)
        more["HUSK_TAKEN_FD"] = str(taken)
        fds = (*fds, taken)
        self.process = subprocess.Popen(
            command_of(runtime),
            cwd=cwd,
            env=self._late({**os.environ, **self._environment(runtime, manifest), **dict(env), **more}, manifest),
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._link = None if token else link
        if first is not None:
            self.begin(first)
        for name in ("stdout", "stderr"):
            pipe = getattr(self.process, name)
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)
        for fd in fds:
            os.close(fd)
        self._selector.register(link, selectors.EVENT_READ, "listener" if token else "link")
        try:
            hello = self._wait(lambda: self._hello)
        except BaseException:
            self.close()
            raise
        assert hello["op"] == "hello" and hello.get("token") == token and hello["version"] == 1, hello
        self.language_version = hello["language_version"]

    _hello = None
    _queries = 0
    _answer = None
    prompt = None  # the cell's current prompt
    _done = True
    _repeat_at = None  # when the next interrupt is due

    @property
    def idle(self):
        """Alive and without a running cell."""
        return self._done and self.process.poll() is None

    @staticmethod
    def _late(env, manifest):
        """Like PID 1, gives these variables another name until the kernel is loaded."""
        names = manifest.get("late_env", [])
        return {f"HUSK_LATE_{name}" if name in names else name: value for name, value in env.items()}

    @staticmethod
    def _environment(runtime, manifest):
        """The manifest's values, with paths of the source tree if the kernel runs from there."""
        folder = str(Path(runtime).resolve().parent)
        at_home = Path(manifest["kernel"][-1]).exists()
        return {name: value if at_home else value.replace("/opt/husk/kernel", folder) for name, value in manifest.get("env", {}).items()}

    @staticmethod
    def _offer(link):
        """PID 1's side of the start: a listener or our end of a pair, the environment, inherited descriptors, and the
        token if there is one.
        """
        if not link.startswith("tcp"):
            ours, theirs = socket.socketpair()
            fd = theirs.detach()
            return ours, {"HUSK_LINK": f"fd:{fd}"}, (fd,), None
        listener = socket.create_server(("127.0.0.1", 0))
        token = secrets.token_hex(16)
        fd, write_fd = os.pipe()
        os.write(write_fd, f"{token}\n".encode())
        os.close(write_fd)
        address = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
        return listener, {"HUSK_LINK": address, "HUSK_TOKEN_FD": str(fd)}, (fd,), token

    # Running cells.

    def run(self, code, seconds=DEFAULT_SECONDS, **more):
        self.begin(code, **more)
        return self.finish(seconds)

    def begin(self, code, **more):
        """Start a cell; a block of code may be indented like the test around it."""
        if code.startswith("\n"):
            code = textwrap.dedent(code[1:]).rstrip()
        self._call += 1
        self._done = False
        self.prompt = None
        self.outcome = Outcome()
        body = json.dumps({"op": "execute", "id": self._call, "code": code, **more}).encode()
        self._link.sendall(len(body).to_bytes(4, "big") + body)

    def wait_output(self, text, seconds=DEFAULT_SECONDS):
        """Waits until the cell, or a process that it left running, has written this."""
        self._wait(lambda: text in self.outcome.stdout or text in self.outcome.stderr, seconds)

    def interrupt(self):
        """Interrupts the running cell, repeatedly until the cell has ended."""
        os.killpg(self.process.pid, self._signal)
        self._repeat_at = time.monotonic() + REPEAT_SECONDS if not self._done else None

    def wait_prompt(self, seconds=DEFAULT_SECONDS):
        """Waits for a prompt of the cell and returns it."""
        return self._wait(lambda: self._done or self.prompt, seconds) and self.prompt["prompt"]

    def answer(self, text):
        """Answers the prompt."""
        body = json.dumps({"op": "input", "id": self._call, "question": self.prompt["question"], "text": text}).encode()
        self.prompt = None
        self._link.sendall(len(body).to_bytes(4, "big") + body)

    def run_answered(self, code, *answers, **more):
        """Runs a cell with prompts, answers them, and returns the outcome and the prompts."""
        self.begin(code, interactive=True, **more)
        prompts = []
        for text in answers:
            prompts.append(self.wait_prompt())
            self.answer(text)
        return self.finish(), prompts

    def query(self, kind, code, cursor=None, leave=False, **more):
        """Sends a query between two cells; the cursor is at the end of the code by default. With `leave` the query is
        abandoned once it has written `go`.
        """
        self._queries += 1
        self._answer = None
        message = {"op": kind, "id": self._queries, "code": code, "cursor": len(code) if cursor is None else cursor, **more}
        body = json.dumps(message).encode()
        self._link.sendall(len(body).to_bytes(4, "big") + body)
        if leave:
            self.wait_output("go")
            os.kill(self.process.pid, self._signal)
        return self._wait(lambda: self._answer)

    def finish(self, seconds=DEFAULT_SECONDS):
        self._wait(lambda: self._done, seconds)
        self._repeat_at = None
        return self.outcome

    def run_interrupted(self, code, seconds=DEFAULT_SECONDS, **more):
        """Runs a cell that prints `go` when it is ready to be interrupted."""
        self.begin(code, **more)
        self.wait_output("go")
        self.interrupt()
        return self.finish(seconds)

    def wait_exit(self, seconds=DEFAULT_SECONDS):
        return self.process.wait(seconds)

    def hang_up(self):
        self._selector.unregister(self._link)
        self._link.close()

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
        os.close(self._taken)
        if self._link is not None:
            self._link.close()

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    # Events.

    def _wait(self, condition, seconds=DEFAULT_SECONDS):
        end = time.monotonic() + seconds
        while not condition():
            if not [key for key in self._selector.get_map().values() if key.data != "listener"]:
                raise KernelError(f"the kernel is gone (status {self.process.wait(5)}); so far: {self.outcome}")
            events = self._selector.select((self._repeat_at or end) - time.monotonic())
            if self._repeat_at and time.monotonic() >= self._repeat_at:  # also for a cell that floods us
                self.interrupt()
            if time.monotonic() > end:
                raise KernelError(f"not within {seconds} s; so far: {self.outcome}")
            for key, _ in events:
                if key.data == "listener":
                    self._link, _ = key.fileobj.accept()
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()
                    self._selector.register(self._link, selectors.EVENT_READ, "link")
                elif key.data == "link":
                    self._read_link()
                else:
                    self._drain(key.data)
        return condition()

    def _drain(self, name):
        """Returns the bytes that are in the pipe now."""
        pipe = getattr(self.process, name)
        while pipe.fileno() in self._selector.get_map():
            try:
                data = os.read(pipe.fileno(), 1 << 16)
            except BlockingIOError:
                return
            if data:
                self.outcome.add(name, data)
            else:
                self._selector.unregister(pipe)

    def _read_link(self):
        try:
            data = self._link.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        # Output first, because text written before a message belongs before it.
        self._drain("stdout")
        self._drain("stderr")
        if not data:
            self._selector.unregister(self._link)
            return
        self._buffer += data
        while len(self._buffer) >= 4:
            size = int.from_bytes(self._buffer[:4], "big")
            if not 0 < size <= MESSAGE_MAX:
                raise KernelError(f"a message of {size} bytes")
            if len(self._buffer) < 4 + size:
                return
            message = json.loads(self._buffer[4 : 4 + size].decode("utf-8"), parse_constant=_no_constant)
            del self._buffer[: 4 + size]
            self._handle(message)

    def _handle(self, message):
        op = message["op"]
        if op == "hello" and self._hello is None:
            self._hello = message
            return
        if op == "answer" and self._queries and message["id"] == self._queries and self._answer is None:
            self._answer = message
            return
        if op not in ("display", "result", "error", "done", "sync", "input") or self._done or message["id"] != self._call:
            raise KernelError(f"out of order: {message!r:.500}")
        if op in ("result", "error") and op in [kind for kind, _ in self.outcome.log]:
            raise KernelError(f"a second {op}: {message!r:.500}")
        if op == "done":
            self._done = True
            return
        if op in ("display", "sync"):
            os.write(self._taken, b"\0")
        if op == "sync":
            return
        if op == "input":
            self.prompt = None if message.get("cancel") else message
            return
        if "data" in message and not message.get("clear"):
            check_bundle(message["data"])
        self.outcome.add(op, message)


def _no_constant(name):
    raise KernelError(f"{name} is not JSON")


def check_bundle(data):
    """Checks that a MIME bundle is as docs/protocol.md promises."""
    assert isinstance(data, dict) and data
    for mime, value in data.items():
        if mime == "application/json" or mime.endswith("+json"):
            continue
        assert isinstance(value, str), (mime, type(value))
        assert "\0" not in value
        if mime.startswith(("image/", "audio/", "video/")) and not mime.endswith("+xml"):
            base64.b64decode(value, validate=True)
