"""A real Postgres for the tests: Debian's binaries, a folder, a unix socket, no port. Without the binaries the tests
fail.
"""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from harness import PATIENCE, wait_until

# The tests never connect with it (every user of the socket is trusted), so wherever it appears, husk has leaked it.
CANARY = "canary-7f3a-password"


def binaries():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    assert found, "no Postgres server: tools/install-deps.sh test installs it (Debian package postgresql)"
    return pathlib.Path(found[-1]).parent


class Postgres:
    def __init__(self):
        self.bin = binaries()
        # Its socket's path must be short.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="husk-postgres-"))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.process = None
        # Postgres refuses to run as root.
        self.user = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._run("initdb", "-D", self.data, "-U", "husk", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()

    @property
    def url(self):
        return f"postgresql://husk:{CANARY}@/postgres?host={self.folder}"

    def _env(self):
        return {name: os.environ[name] for name in ("PATH", "HUSK_TEST_RUN") if name in os.environ}

    def _run(self, program, *args):
        done = subprocess.run([self.bin / program, *args], cwd=self.folder, env=self._env(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=2 * PATIENCE, **self.user)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.bin / "postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses="],
                                            cwd=self.folder, env=self._env(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            **self.user)
        self.await_ready()

    def await_ready(self):
        wait_until(self._ready, timeout=2 * PATIENCE, what="Postgres")

    def _ready(self):
        assert self.process.poll() is None, self.log.read_text()
        return subprocess.run([self.bin / "pg_isready", "-q", "-h", self.folder], env=self._env(), check=False).returncode == 0

    def sql(self, text):
        """Runs SQL and returns rows of fields."""
        out = self._run("psql", "-h", self.folder, "-U", "husk", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-qAt", "-F", "\t", "-c", text)
        return [line.split("\t") for line in out.splitlines()]

    def processes(self):
        """Pids, with the parent first, because it would restart the others."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def signal_all(self, signo):
        parent, *_ = self.processes()
        os.kill(parent, signo)
        for pid in self.processes()[1:]:
            try:
                os.kill(pid, signo)
            except ProcessLookupError:
                pass

    def pause(self):
        self.signal_all(signal.SIGSTOP)

    def resume(self):
        self.signal_all(signal.SIGCONT)

    def kill(self):
        """Kills the server without a clean shutdown. Unlike a power cut, this keeps what is in the page cache."""
        if self.process.poll() is None:
            self.signal_all(signal.SIGKILL)
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def close(self):
        if self.process.poll() is None:
            self.resume()
        else:
            self.start()  # the next server removes the shared memory of a killed one
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(PATIENCE)
        shutil.rmtree(self.folder)
