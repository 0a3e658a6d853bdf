"""A Docker engine that tests can stop, freeze and kill. The machine's engine is never touched: this one
lives in namespaces for processes, mounts and network, and everything in them ends with their first process.

Images come from the machine's engine and are kept below the build folder, so that they are copied once for each
build of them.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import harness

AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
# Folders of the machine's engine. Ours does not need them, and a copy of their mounts would keep them in use.
FOREIGN = ("/run/", "/var/run/", "/var/lib/docker/")
MNT_DETACH = 2
CGROUPS = "/sys/fs/cgroup"
START_DEADLINE = 60
DOCKERD, CONTAINERD, SHIM = "dockerd", "containerd", "containerd-shim"


def image_of(language):
    images = json.loads((harness.build_dir() / "images.json").read_text())
    return os.environ.get(f"HUSK_IMAGE_{language.upper()}") or next(image["tag"] for image in images if image["name"] == language)


class PrivateEngine(harness.Engine):
    """Not running at first: call start(). Use it as a context manager: leaving it ends and removes
    everything. `config` is a daemon.json. Engines of different names can run at the same time."""

    def __init__(self, languages=("python",), config=None, name="private-engine"):
        self.wanted = [image_of(language) for language in languages]
        self.image = self.wanted[0]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="husk-engine-"))
        (self.folder / "daemon.json").write_text(json.dumps(config or {}))
        self.options = ("--config-file", str(self.folder / "daemon.json"))
        self.cgroup = f"/{self.folder.name}"
        self.socket = self.folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        self.settings = {"DOCKER_HOST": self.host, "DOCKER_CONTEXT": None}
        self.log = self.folder / "dockerd.log"
        self.kept = harness.build_dir() / name
        self.kept.mkdir(exist_ok=True)
        self.lock = open(self.kept / "lock", "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.launcher = None
        self.init = self._start_init()

    def _start_init(self):
        """Starts the first process of the namespaces. It ends with us, and all others end with it."""
        command = [*AS_ROOT, "setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
                   "--mount-proc", sys.executable, "-B", __file__]
        with open(self.log, "wb") as log:
            self.unshare = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.unshare.stdout.readline() == "up\n", f"no namespaces for a private engine (root is needed): {self.last_words()}"
        init, = [pid for pid, command in harness.children_of(self.unshare.pid).items() if command.endswith(__file__)]
        self.namespace = os.readlink(f"/proc/{init}/ns/pid")
        return init

    # --- its processes

    def processes(self, *names):
        """Pids of the engine's own processes with these names, or of all. Processes in containers are not included:
        they have their own namespaces.
        """
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/pid") != self.namespace:
                    continue
                if not names or pathlib.Path("/proc", pid, "comm").read_text().strip() in names:
                    found.append(int(pid))
        return found

    def signal(self, signo, *names):
        """Sends the signal to all processes with these names, and returns how many there were."""
        pids = self.processes(*names)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                kill(pid, signo)
        return len(pids)

    def clients(self):
        """Command lines of processes outside that use this engine."""
        mark, found = f"DOCKER_HOST={self.host}\0".encode(), []
        for pid, (_, command) in harness.processes().items():
            with contextlib.suppress(OSError):
                if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(command)
        return found

    def enter(self, *command):
        """Runs a command in the engine's namespaces."""
        subprocess.run([*AS_ROOT, "nsenter", "--target", str(self.init), "--mount", "--net", "--pid", *command], check=True)

    # --- its life

    def start(self, *options):
        """Starts dockerd with these options, by default those of the last time, and waits until it answers."""
        self.options = options or self.options
        self._forget_launcher()
        with open(self.log, "ab") as log:
            self.launcher = subprocess.Popen(
                [*AS_ROOT, "nsenter", "--target", str(self.init), "--mount", "--net", "--pid", "dockerd", "--host", self.host,
                 "--data-root", str(self.kept / "data"), "--exec-root", "/run/engine", "--pidfile", "/run/engine.pid",
                 "--cgroup-parent", self.cgroup, "--userland-proxy=false", "--log-level", "warn", *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        harness.wait_until(self.answers, START_DEADLINE, f"an answer of the private engine ({self.log})")
        return self

    def answers(self):
        return subprocess.run(["docker", "version"], env=self._env(), capture_output=True).returncode == 0

    def prepare(self):
        """Removes leftovers of earlier runs, and loads the images."""
        for name in self.docker("ps", "--all", "--quiet").split():
            self.docker("rm", "--force", "--volumes", name)
        there = self.images()
        missing = [image for image in self.wanted if image not in there]
        for old in there if missing else []:
            if old not in self.wanted:
                self.docker("rmi", "--force", old)
        for image in missing:
            with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as save:
                subprocess.run(["docker", "load", "--quiet"], env=self._env(), stdin=save.stdout, stdout=subprocess.DEVNULL, check=True)
            assert save.returncode == 0
        return self

    def images(self):
        return self.docker("images", "--format", "{{.Repository}}:{{.Tag}}").split()

    def stop(self):
        """Stops the engine as an operator does: dockerd ends all containers, unless it is configured to leave them."""
        self._end(signal.SIGTERM, DOCKERD)

    def kill(self, shims=False):
        """Kills the daemons. Containers keep running, but cannot be reached without their shims."""
        self._end(signal.SIGKILL, DOCKERD, CONTAINERD, *([SHIM] if shims else []))

    def _end(self, signo, *names):
        assert self.signal(signo, *names), f"the private engine has no process {' or '.join(names)}; {self.last_words()}"
        # containerd ends with its dockerd. A shim that was just starting shows up late, so SIGKILL is repeated.
        again = names if signo == signal.SIGKILL else ()
        harness.wait_until(lambda: not (again and self.signal(signo, *again)) and not self.processes(DOCKERD, CONTAINERD, *names),
                           what="the end of the private engine")

    def is_up(self):
        return bool(self.processes(DOCKERD))

    def freeze(self):
        self.signal(signal.SIGSTOP, DOCKERD)

    def thaw(self):
        """The program that started dockerd was stopped with it, and must continue too, or it would not see dockerd
        end.
        """
        self.signal(signal.SIGCONT, DOCKERD)
        if self.launcher and self.launcher.poll() is None:
            kill(self.launcher.pid, signal.SIGCONT)

    def _forget_launcher(self):
        if self.launcher:
            self.launcher.wait()
            self.launcher = None

    def close(self):
        """Everything in the namespaces ends with their first process; then nothing is left but folders."""
        self.thaw()
        with contextlib.suppress(ProcessLookupError):
            kill(self.init, signal.SIGKILL)
        self._forget_launcher()
        self.unshare.stdout.close()
        self.unshare.wait()
        harness.wait_until(lambda: not self.processes(), what="the end of the private engine's processes")
        harness.wait_until(self._remove_cgroups, what="the removal of the private engine's cgroups")
        subprocess.run([*AS_ROOT, "rm", "-rf", str(self.folder)], check=True)
        self.lock.close()

    def _remove_cgroups(self):
        folders = [*pathlib.Path(CGROUPS).glob(f"*{self.cgroup}"), *pathlib.Path(CGROUPS).glob(self.cgroup[1:])]
        for top in folders:
            deepest_first = [path for path, _, _ in os.walk(top, topdown=False)]
            subprocess.run([*AS_ROOT, "rmdir", *deepest_first], capture_output=True, check=False)
        return not any(top.exists() for top in folders)

    # --- talking to it

    def _env(self):
        return {**os.environ, "DOCKER_HOST": self.host, "DOCKER_CONTEXT": ""}

    def docker(self, *args, **more):
        return harness.docker(*args, env=self._env(), **more)

    def containers(self):
        """All containers that the engine knows, running or not."""
        return self.docker("ps", "--all", "--format", "{{.Names}}").split()

    def last_words(self):
        return self.log.read_text(errors="replace")[-2000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def kill(pid, signo):
    if AS_ROOT:
        subprocess.run([*AS_ROOT, "kill", "-s", str(int(signo)), str(pid)], check=False)
    else:
        os.kill(pid, signo)


@contextlib.contextmanager
def running(languages=("python",), config=None, name="private-engine"):
    """A private engine that answers and has the images of these languages. If the engine cannot use data kept from an
    earlier run, the data is deleted and the start is tried once more.
    """
    for attempt in (1, 2):
        engine = PrivateEngine(languages, config, name)
        try:
            engine.start().prepare()
            break
        except (AssertionError, subprocess.SubprocessError):
            words = engine.last_words()
            engine.close()
            if attempt == 2:
                raise AssertionError(f"no private engine: {words}") from None
            subprocess.run([*AS_ROOT, "rm", "-rf", str(engine.kept / "data")], check=True)
        except BaseException:
            engine.close()
            raise
    with engine:
        yield engine


def _be_init():
    """Runs as the first process of the namespaces: hides the machine's engine, then only reaps."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        targets = [line.split()[4] for line in mounts]
    for target in reversed(targets):
        if f"{target}/".startswith(FOREIGN):
            libc.umount2(target.encode(), MNT_DETACH)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("up", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    _be_init()
