"""Containers without Husk: plain containers, one process per call (the system that Husk replaces), and a kernel alone
over its link (a lower bound).
"""

import contextlib
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import time
import uuid
import zlib

from results import Failed, milliseconds

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOAD_PICTURE = {"python": "picture = open({!r}, 'rb').read()", "node": "picture = require('fs').readFileSync({!r}); 0",
                "r": "picture <- readBin({!r}, 'raw', 1e6)"}
SHOW_PICTURE = {"python": "display({'image/png': picture}, raw=True)", "node": "display({ image: picture })", "r": "display_png(picture)"}


PIPE = 1 << 16


def picture():
    """A valid PNG of 505 KB. Its pixels are noise, so that nothing compresses them on the way."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = b"".join(b"\0" + os.urandom(1260) for _ in range(400))
    header = struct.pack(">IIBBBBB", 420, 400, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels, 1)) + chunk(b"IEND", b"")


def docker(*words, **more):
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True, **more).stdout.strip()


class Container:
    """A container of a runtime's image with Husk's hardening and mounts, in which nothing of Husk runs."""

    FLAGS = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--memory", "2g", "--memory-swap", "2g",
             "--pids-limit", "512", "--cpus", "2", "--user", "65532:65532", "--ipc", "private", "--log-driver", "none",
             "--shm-size", "64m"]
    # A session has two volumes, each of which takes the engine milliseconds to make and to remove.
    MOUNTS = ["--tmpfs", "/tmp:exec,uid=65532", "--tmpfs", "/workspace:exec,uid=65532", "--mount", "type=volume,target=/home/sandbox", "--mount",
              "type=volume,target=/dev/terminals,volume-driver=local,volume-opt=type=devpts,volume-opt=device=devpts,"
              '"volume-opt=o=newinstance,ptmxmode=0666,mode=0600,nosuid,noexec"']

    def __init__(self, image, command=("sleep", "3600"), plain=False, network="none"):
        self.name = f"husk-bench-{uuid.uuid4().hex[:12]}"
        flags = [] if plain else [*self.FLAGS, *self.MOUNTS]
        self.run = ["run", "--detach", "--rm", "--pull", "never", "--name", self.name, "--label", "husk.bench=1", "--network", network, *flags,
                    "--entrypoint", command[0], image, *command[1:]]
        began = time.perf_counter()
        docker(*self.run)
        self.run_ms = milliseconds(began)

    def remove(self):
        began = time.perf_counter()
        docker("rm", "--force", "--volumes", self.name)
        return milliseconds(began)

    def pid(self):
        return int(docker("inspect", "--format", "{{.State.Pid}}", self.name))


# --- one process per call: a kernel that listens in the container, and for each call a docker exec with a fresh client of its language

SERVERS = {
    "python": ("python3", "-c", """
import ast, io, os, socket, contextlib
s = socket.socket(socket.AF_UNIX); s.bind('/tmp/k'); s.listen(9); space = {}
while True:
    c, _ = s.accept(); code = c.makefile('rb').readline().decode().encode().decode('unicode_escape'); out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try: print(eval(code, space))
        except SyntaxError: exec(code, space)
    c.sendall(out.getvalue().encode()); c.close()
"""),
    "node": ("node", "-e", """
const net = require('net'), vm = require('vm'), context = vm.createContext({});
net.createServer(c => c.once('data', d => c.end(String(vm.runInContext(d.toString().trim(), context)) + '\\n'))).listen('/tmp/k');
"""),
    "r": ("Rscript", "-e", "s <- serverSocket(8777); repeat { c <- socketAccept(s, open='r+b', blocking=TRUE); "
                           "writeLines(as.character(eval(parse(text=readLines(c, 1)))), c); close(c) }"),
}
CLIENTS = {
    "python": ("python3", "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/k'); "
                                "s.sendall(sys.stdin.buffer.read()); print(s.makefile().read(), end='')"),
    "node": ("node", "-e", "const c = require('net').connect('/tmp/k'); process.stdin.pipe(c, {end: false}); c.pipe(process.stdout)"),
    "r": ("Rscript", "-e", "c <- socketConnection(port=8777, open='r+b', blocking=TRUE); writeLines(readLines(file('stdin'), 1), c); "
                           "cat(readLines(c, 1), '\\n')"),
}


class PerCall:
    def __init__(self, language, image):
        self.language = language
        self.container = Container(image, SERVERS[language])
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.CalledProcessError, Failed):
                self.run("1+1", "2")
                return
            time.sleep(0.1)
        raise Failed(f"the {language} kernel of one process per call does not answer")

    def run(self, code, text):
        """Returns the milliseconds of one call. Its output must be this text."""
        began = time.perf_counter()
        out = docker("exec", "-i", self.container.name, *CLIENTS[self.language], input=f"{code}\n")
        took = milliseconds(began)
        if out.split()[-1:] != [text]:
            raise Failed(f"one process per call: {code} gave {out[:200]!r}")
        return took

    def shell(self, command):
        began = time.perf_counter()
        docker("exec", "-i", self.container.name, "bash", "-c", command)
        return milliseconds(began)

    def close(self):
        self.container.remove()


# --- a kernel alone: its own program in a container's namespaces, with us at the other end of its link


# Joins control groups and becomes the command, so that the kernel alone gets the same share of a busy machine as one
# in a session.
JOIN = 'until [ "$1" = -- ]; do echo $$ >"$1"; shift; done; shift; exec "$@"'


def control_groups(pid):
    """The files by which a process joins the control groups of another, as far as this machine shows them."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        file = pathlib.Path("/sys/fs/cgroup", controllers.removeprefix("name="), path.lstrip("/"), "cgroup.procs")
        if file.exists():
            found.append(str(file))
    return found


class Kernel:
    def __init__(self, language, image):
        manifest = json.loads((ROOT / "runtimes" / language / "runtime.json").read_text())
        self.container = Container(image)
        pid = self.container.pid()
        tcp = manifest.get("link", "unix").startswith("tcp")
        namespaces = ["-m", "-p", "-i", "-u", *([] if tcp else ["-n"])]
        taken, self.taken = os.pipe()
        out, err = os.pipe(), os.pipe()
        for pipe in (out, err):
            os.fchown(pipe[1], 65532, 65532)  # R reopens the pipes by name
        env = {"HUSK_TAKEN_FD": str(taken), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "2", **manifest.get("env", {})}
        began = time.perf_counter()
        if tcp:
            listener = socket.create_server(("127.0.0.1", 0))
            fd, write = os.pipe()
            os.fchown(fd, 65532, 65532)
            os.write(write, b"0" * 32 + b"\n")
            os.close(write)
            env.update(HUSK_LINK=f"tcp:127.0.0.1:{listener.getsockname()[1]}", HUSK_TOKEN_FD=str(fd))
        else:
            self.link, theirs = socket.socketpair()
            fd = theirs.detach()
            env.update(HUSK_LINK=f"fd:{fd}")
        self.process = subprocess.Popen(
            ["sh", "-c", JOIN, "sh", *control_groups(pid), "--", "nsenter", "-t", str(pid), *namespaces, "-r", "-w", "setpriv", "--reuid", "65532", "--regid", "65532", "--clear-groups",
             *manifest["kernel"]], env=env, pass_fds=(fd, taken), stdin=subprocess.DEVNULL, stdout=out[1], stderr=err[1])
        for end in (fd, taken, out[1], err[1]):
            os.close(end)
        if tcp:
            listener.settimeout(60)
            self.link, _ = listener.accept()
            self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listener.close()
        self.pipes = [open(out[0], "rb", buffering=0), open(err[0], "rb", buffering=0)]
        self.heads, self.printed = [], 0
        self.read(b'"hello"')
        self.start_ms = milliseconds(began)
        self.number = 0

    def read(self, word):
        """Reads messages until one has this word near its start."""
        while True:
            size = int.from_bytes(self.exactly(4), "big")
            head = self.exactly(size)[:200]
            self.heads.append(head)
            if head.startswith((b'{"op":"display"', b'{"op":"sync"')):  # confirmed in PID 1's place
                os.write(self.taken, b".")
            if b'"sync":true' in head:
                self.link.sendall(b'\0\0\0\x0f{"op":"synced"}')
            if word in head[:40]:
                return
            if head.startswith(b'{"op":"error"'):
                raise Failed(f"the kernel alone failed: {head}")

    def exactly(self, n):
        data = bytearray()
        while len(data) < n:
            ready, _, _ = select.select([self.link, *self.pipes], [], [], 60)
            for pipe in ready:
                if pipe is self.link:
                    piece = self.link.recv(n - len(data))
                    data += piece
                elif printed := os.read(pipe.fileno(), 1 << 20):
                    self.printed += len(printed)
                else:
                    self.pipes.remove(pipe)
            if not ready or (self.link in ready and not piece):
                raise Failed(f"the kernel is gone, or silent; its status is {self.process.poll()}")
        return bytes(data)

    def put(self, name, data):
        """Writes a file into the container's /workspace."""
        pathlib.Path("/proc", str(self.container.pid()), "root", "workspace", name).write_bytes(data)

    def run(self, code, expect=b"", length=0):
        """Returns the milliseconds of a cell. A message must contain `expect`, and the output must be this long; its end may still be in the
        pipe.
        """
        self.number += 1
        self.heads, self.printed = [], 0
        body = json.dumps({"op": "execute", "id": self.number, "code": code}).encode()
        began = time.perf_counter()
        self.link.sendall(len(body).to_bytes(4, "big") + body)
        self.read(b'"done"')
        took = milliseconds(began)
        if not any(expect in head for head in self.heads) or self.printed < length - PIPE:
            raise Failed(f"the kernel alone: {code[:80]!r} gave {self.heads} and printed {self.printed} bytes")
        return took

    def close(self):
        self.link.close()
        os.close(self.taken)
        self.process.kill()
        self.process.wait()
        self.container.remove()
