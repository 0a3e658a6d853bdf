"""A kernel that is controlled by the test: a cell is Python that uses the link."""
import array
import json
import os
import signal
import socket
import struct
import sys
import time


class Link:
    def __init__(self):
        kind, _, address = os.environ["HUSK_LINK"].partition(":")
        if kind == "fd":
            self.socket = socket.socket(fileno=os.dup(int(address)))
            os.close(int(address))
        else:
            host, _, port = address.partition(":")
            self.socket = socket.create_connection((host, int(port)))
        self.id = 0

    def raw(self, data):
        self.socket.sendall(data)

    def send(self, **message):
        data = json.dumps(message).encode()
        self.raw(struct.pack(">I", len(data)) + data)

    def display(self, data, **more):
        sys.stdout.flush()
        self.send(op="display", id=self.id, data=data, **more)

    def result(self, text):
        sys.stdout.flush()
        self.send(op="result", id=self.id, data={"text/plain": text})

    def error(self, kind, message="", traceback=""):
        sys.stdout.flush()
        self.send(op="error", id=self.id, type=kind, message=message, traceback=traceback)

    def prompt(self, text="", number=1, **more):
        sys.stdout.flush()
        self.send(op="input", id=self.id, question=number, prompt=text, **more)
        return self.receive()

    def done(self):
        sys.stdout.flush()
        sys.stderr.flush()
        self.send(op="done", id=self.id)

    def receive(self):
        def exactly(n):
            data = b""
            while len(data) < n:
                piece = self.socket.recv(n - len(data))
                if not piece:
                    sys.exit(0)
                data += piece
            return data
        return json.loads(exactly(struct.unpack(">I", exactly(4))[0]))


def copy(link, message, state):
    """Answers a `fork`: the copy continues with a link of its own. Returns its link, or None in the kernel itself."""
    with socket.socket(fileno=os.dup(14)) as taken:
        fds = array.array("i")
        fds.frombytes(taken.recvmsg(1, socket.CMSG_SPACE(16))[1][0][2])
    cannot = state.get("cannot")
    reads, writes = os.pipe()
    child = 0 if cannot else os.fork()
    if not cannot and child == 0:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.close(writes)
        while os.getppid() != 1:
            time.sleep(0.001)
        copied = Link.__new__(Link)
        copied.socket, copied.id = socket.socket(fileno=fds[0]), 0
        for fd, number in zip(fds[1:], (1, 2, 14)):
            os.dup2(fd, number)
        state.get("in_copy", lambda: None)()
        copied.raw(b"?")
        copied.send(op="hello", version=1, language_version="fake 1.0", looks=True, queries=True, forks=True, lost=state.get("lacks", []))
        return copied
    for fd in fds:
        os.close(fd)
    os.close(writes)
    if child:
        os.waitpid(child, 0)
        os.read(reads, 1)  # the copy has a session of its own
    os.close(reads)
    link.send(op="forked", id=message["id"], **({"cannot": cannot} if cannot else {}))
    return None


def main():
    mode = os.environ.get("FAKE", "")
    if os.path.exists("/workspace/die-at-start"):
        print("the fake kernel was told to die", file=sys.stderr)
        os._exit(9)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    token = {}
    if "HUSK_TOKEN_FD" in os.environ:
        with open(int(os.environ["HUSK_TOKEN_FD"])) as pipe:
            token = {"token": pipe.read().strip()}
    if os.path.exists("/workspace/garbage-at-start"):
        Link().send(op="display", id=1, data={})
        time.sleep(1000)
    if os.path.exists("/workspace/stranger"):
        stranger = Link()
        stranger.send(op="hello", token="0" * 32, version=1, language_version="x")
        assert stranger.socket.recv(1) == b""
    if os.path.exists("/workspace/thief") and os.fork() == 0:
        thief = Link()  # has the token and is a child of the kernel, but is not the kernel
        try:
            thief.send(op="hello", version=1, language_version="stolen", **token)
            os._exit(0 if thief.socket.recv(1) == b"" else 1)
        except ConnectionError:  # closed with the hello unread
            os._exit(0)
    if os.path.exists("/workspace/thief"):
        assert os.wait()[1] == 0
    link = Link()
    if os.path.exists("/workspace/silent-at-start"):
        time.sleep(1000)
    link.send(op="hello", version=int(mode or 1), language_version="fake 1.0", looks=True, queries=not os.path.exists("/workspace/no-queries"), forks="FORKS" in os.environ, **token)
    state = {"link": link, "os": os, "sys": sys, "time": time, "signal": signal}
    own = {*state, "message", "look", "answer", "__builtins__"}
    while True:
        message = link.receive()
        if message["op"] == "look":
            found = [{"name": n, "type": type(v).__name__, "shape": "2 x 3", "bytes": 5} for n, v in state.items() if n not in own]
            link.send(op="variables", id=message["id"], **state.get("look", lambda: {"variables": found})())
            continue
        if message["op"] in ("complete", "inspect", "is_complete"):
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                answer = state.get("answer", lambda message: {"status": "ok", **message})(message)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            except KeyboardInterrupt:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                answer = {"status": "timeout"}
            link.send(**{**answer, "op": "answer", "id": message["id"]})
            continue
        if message["op"] == "fork":
            copied = copy(link, message, state)
            if copied:
                link = state["link"] = copied
            continue
        if message["op"] == "wake":
            state.get("on_wake", lambda: None)()
            link.send(op="woken", id=message["id"])
            continue
        assert message["op"] == "execute"
        link.id = message["id"]
        state["message"] = message
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            exec(compile(message["code"], "cell", "exec"), state)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            link.error("KeyboardInterrupt")
        except Exception as error:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            link.error(type(error).__name__, str(error))
        link.done()


main()
