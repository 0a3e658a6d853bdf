"""Starts husk-client as PID 1 in a box (box.sh) and attaches to it like an engine does."""
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import frames

HERE = pathlib.Path(__file__).resolve().parent
UID_CONTROLLER, UID_SANDBOX = 65531, 65532

MANIFEST = {"name": "fake", "kernel": ["/usr/bin/python3", "-S", "/opt/husk/kernel.py"], "link": "unix",
            "interrupt": "SIGINT", "env": {"FROM_MANIFEST": "yes"}}


def client_path():
    path = os.environ.get("HUSK_CLIENT") or str(HERE.parents[1] / "build" / "husk-client")
    assert os.path.exists(path), f"{path} is missing: build it, or say where it is in HUSK_CLIENT"
    return path


class Dialled:
    """Used in place of the process of an attached controller."""

    def __init__(self, connection):
        self.connection = connection

    def kill(self):
        self.connection.close()

    def wait(self):
        pass


class Listener:
    """A server's socket, which gets its final name once it accepts connections. Its path may be too long for a socket
    address.
    """

    def __init__(self, folder):
        self.folder = folder
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        directory = os.open(folder, os.O_PATH)
        self.socket.bind(f"/proc/self/fd/{directory}/line.new")
        os.close(directory)
        os.chmod(folder / "line.new", 0o666)
        self.socket.listen(8)
        os.rename(folder / "line.new", folder / "line.sock")

    def accept(self):
        """A controller that PID 1 has dialled. It has not received hello yet."""
        connection, _ = self.socket.accept()
        client = frames.Client(connection.fileno(), connection.fileno())
        client.process = Dialled(connection)
        return client

    def is_idle(self, seconds):
        return not select.select([self.socket], [], [], seconds)[0]

    def close(self):
        """Closes the socket, like a server once PID 1 is connected."""
        os.unlink(self.folder / "line.sock")
        self.socket.close()


class Box:
    """With beside, a second container shares the network, as in a pod: `husk-client wait` is its first process, and
    controllers attach from there.
    """

    def __init__(self, folder, *options, manifest=None, cgroup="v2", env=None, line=None, beside=False):
        self.clients = []
        self.pid = None
        self.beside = self.beside_pid = None
        self.line = line
        self.cgroup = folder / "cgroup"
        shutil.copytree(HERE / "cgroup" / cgroup, self.cgroup)
        (folder / "runtime.json").write_text(json.dumps({**MANIFEST, **(manifest or {})}))
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--net", "--ipc", "--fork", "--kill-child", "/bin/sh", str(HERE / "box.sh"),
             client_path(), str(HERE / "fake_kernel.py"), str(self.cgroup), str(folder / "runtime.json"), *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env={**os.environ, **(env or {}), "LINE": str(line or "")})
        self.pid = self._find_pid1(self.process)
        if beside and self.pid:
            self.start_beside()

    def start_beside(self):
        self.beside = subprocess.Popen(
            ["nsenter", "-t", str(self.pid), "-m", "-n", "-r", "-w", "/usr/bin/unshare", "--pid", "--mount", "--ipc", "--fork",
             "--kill-child", "--mount-proc", *self._as_user(UID_CONTROLLER), "/opt/husk/husk-client", "wait"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.beside_pid = self._find_pid1(self.beside)

    def _find_pid1(self, process):
        """unshare's child, once it has become husk-client."""
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                pid = int(open(children).read().split()[0])
                if open(f"/proc/{pid}/comm").read() == "husk-client\n":
                    return pid
            except (IndexError, OSError):
                if process.poll() is not None:
                    return None  # it has ended already; its log has the reason
            time.sleep(0.002)  # an exec causes no event
        raise TimeoutError(self.read_log())

    def read_log(self):
        self.log.flush()
        return open(self.log.name).read()

    @staticmethod
    def _as_user(uid):
        return ["/usr/bin/setpriv", "--reuid", str(uid), "--regid", str(UID_SANDBOX), "--clear-groups", "--inh-caps=-all",
                "--no-new-privs"]

    def enter(self, uid, *argv, pid=None, **popen):
        """Starts a process inside the box, as `docker exec` does, or in the container of another pid."""
        assert self.pid, self.read_log()
        return subprocess.Popen(["nsenter", "-t", str(pid or self.pid), "-p", "-m", "-n", "-i", "-r", "-w", *self._as_user(uid), *argv],
                                **popen)

    def attach_process(self, uid=UID_CONTROLLER, options=None):
        if options is None:
            options = ["--beside"] if self.beside else []
        return self.enter(uid, "/opt/husk/husk-client", "attach", *options, pid=self.beside_pid, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)

    def attach(self, hello=True, fence=1):
        process = self.attach_process()
        client = frames.Client(process.stdout.fileno(), process.stdin.fileno())
        client.process = process
        self.clients.append(client)
        if hello:
            client.hello(fence)
            client.ready()
        return client

    def meet(self):
        """A controller on a socket that PID 1 dials, after hello. The socket is closed afterwards."""
        listener = Listener(self.line)
        client = listener.accept()
        listener.close()
        client.hello(1)
        client.ready()
        return client

    def shells(self):
        """{pid in the box: pid out here} of each bash that PID 1 has started."""
        found = {}
        for pid in open(f"/proc/{self.pid}/task/{self.pid}/children").read().split():
            try:
                status = open(f"/proc/{pid}/status").read()
            except OSError:
                continue  # it has ended
            if status.startswith("Name:\tbash\n") and "State:\tZ" not in status:
                found[int(re.search(r"^NSpid:.*\t(\d+)$", status, re.M).group(1))] = int(pid)
        return found

    def spare(self, before=None):
        """(pid in the box, pid out here) of the bash that waits for the next command. Waits until there is one other
        than `before`.
        """
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for inside, outside in self.shells().items():
                if inside != before and "pipe_read" in open(f"/proc/{outside}/stack").read():
                    return inside, outside
            time.sleep(0.002)  # there is no event for the start of its wait
        raise TimeoutError("no spare came")

    def write_file(self, name, text=""):
        path = pathlib.Path("/proc", str(self.pid), "root", "workspace", name)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def set_oom_kills(self, n):
        events = self.cgroup / "memory.events"
        events.write_text(f"low 0\nhigh 0\nmax 40\noom {n}\noom_kill {n}\n")

    def set_processes(self, n):
        (self.cgroup / "pids.current").write_text(f"{n}\n")

    def wait(self, timeout=20):
        """The exit status of PID 1 (128 + n for a signal, like a shell)."""
        status = self.process.wait(timeout)
        return 128 - status if status < 0 else status

    def close(self):
        for client in self.clients:
            client.process.kill()
            client.process.wait()
            for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
                stream.close()
        # The first processes have changed their user, so they do not die with unshare.
        for process, pid in ((self.beside, self.beside_pid), (self.process, self.pid)):
            if pid and process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if process:
                process.kill()
                process.wait()
        self.log.close()
