"""Copies of this process, which PID 1 keeps as checkpoints (docs/protocol.md, section 2).

A copy is forked while no cell runs. It gets a link and streams of its own, and waits until it takes the place of the
kernel. A fork copies the memory and one thread. Anything else that the session has, such as threads and connections,
is named before the fork, so that PID 1 can say what a restored session lacks.
"""

import _socket
import os
import select
import signal
import stat
import sys
import threading
import time
import warnings

from .hello import message as hello
from .interrupts import interrupts

FDS = 4  # link, stdout, stderr, HUSK_TAKEN_FD
PATIENCE = 1.5  # seconds for a copy to come to life; PID 1 waits for 2
NAMED_MAX = 20
# Their threads hold locks, so a copy would hang.
_NEVER = ("polars", "tensorflow", "jax", "jpype", "jnius")
_IGNORED = ("ignore", None, DeprecationWarning, None, 0)  # os.fork() warns of threads


def obstacle():
    """Return why this process cannot be copied, or None."""
    for name in _NEVER:
        if name in sys.modules:
            return f"{name} is loaded, whose threads do not survive a copy of the interpreter"
    if "torch" in sys.modules and len(os.listdir("/proc/self/task")) > 1:
        return "torch has threads, which do not survive a copy of the interpreter"
    return None


def losses(own, names):
    """Return what a copy lacks. `own` are descriptors of the kernel, `names` the session's variables."""
    found = [*_threads(), *_children(), *_descriptors(own), *_transactions(names)]
    return found if len(found) <= NAMED_MAX else [*found[: NAMED_MAX - 1], f"{len(found) - NAMED_MAX + 1} more"]


def _threads():
    futures = sys.modules.get("concurrent.futures.thread")
    pooled = set(futures._threads_queues) if futures else set()
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if any(thread in pooled for thread in others):
        yield f"a pool of {sum(thread in pooled for thread in others)} threads"
    for thread in others:
        if thread not in pooled:
            yield f"the thread {thread.name}"


def _children():
    pids = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                pids += file.read().split()
        except OSError:  # it has ended
            pass
    for pid in pids:
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                yield f"the process {file.read().strip()} (pid {pid})"
        except OSError:  # it has ended
            pass


def _descriptors(own):
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
        if fd in own:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:  # of the listing itself
            continue
        if target.startswith("socket:"):
            yield _connection(fd)
        elif target.startswith("pipe:"):
            yield f"a pipe (descriptor {fd})"
        elif target.startswith("/dev/shm/"):
            yield f"the shared memory {target}"


def _connection(fd):
    duplicate = None
    try:
        duplicate = _socket.socket(fileno=os.dup(fd))
        peer = duplicate.getpeername()
        if isinstance(peer, tuple):
            return f"a connection to {peer[0]}:{peer[1]}"
    except OSError:
        pass
    finally:
        if duplicate is not None:
            duplicate.close()
    return f"a socket (descriptor {fd})"


def _transactions(names):
    sqlite = sys.modules.get("sqlite3")
    if sqlite is None:
        return
    for name, value in list(names.items()):
        if type(value) is sqlite.Connection:
            try:
                if value.in_transaction:
                    yield f"the open transaction of {name}"
            except sqlite.Error:  # it is closed
                pass


class _Offsets:
    """Positions in open files. A copy shares them with the process that it was copied from."""

    def __init__(self):
        self._files = []
        for fd in map(int, os.listdir("/proc/self/fd")):
            try:
                status = os.fstat(fd)
                if stat.S_ISREG(status.st_mode):
                    self._files.append((fd, status.st_dev, status.st_ino, os.lseek(fd, 0, os.SEEK_CUR)))
            except OSError:
                pass

    def restore(self):
        for fd, device, inode, offset in self._files:
            try:
                status = os.fstat(fd)
                if (status.st_dev, status.st_ino) == (device, inode):
                    os.lseek(fd, offset, os.SEEK_SET)
            except OSError:
                pass


class Copies:
    def __init__(self, link, streams):
        self._link = link
        self._streams = streams
        self._offsets = None

    def answer(self, call, own, names):
        """Answer PID 1's request for a copy. Returns True in the copy, and False in the process that stays."""
        fds = self._link.receive_fds(FDS)
        why = obstacle() if len(fds) == FDS else "the descriptors for a copy are missing"
        lost = None if why else losses({*own, *fds}, names)
        if why is None:
            offsets, random = _Offsets(), sys.modules.get("random")
            numbers = random.getstate() if random else None
            child = self._fork()
            if child == 0:
                self._offsets = offsets
                self._become_copy(fds, lost)
                if random:
                    random.setstate(numbers)  # Python seeds it anew in a child
                return True
            if child < 0:
                why = "a copy of the interpreter did not come to life"
        for fd in fds:
            os.close(fd)
        self._link.forked_copy(call, why)
        return False

    def _fork(self):
        """Fork twice, so that the copy is a child of PID 1. Returns 0 in the copy, and -1 if there is none."""
        warnings.filters.insert(0, _IGNORED)
        self._link.copying = True
        reads, writes = os.pipe()
        try:
            child = os.fork()
            if child == 0:
                self._fork_again(writes)
        except OSError:
            child = -1
        finally:
            self._link.copying = False
            warnings.filters.remove(_IGNORED)
            os.close(writes)
        if child > 0:
            child = self._watch_birth(child, reads)
        os.close(reads)
        return child

    @staticmethod
    def _fork_again(writes):
        """The child in between ends here; the copy returns."""
        pid = -1
        try:
            pid = os.fork()
            if pid == 0:
                os.setsid()  # first: PID 1 kills the session of a kernel that has died
            os.write(writes, b"%d\n" % pid if pid else b"+")
        except OSError:
            pass
        if pid:
            os._exit(0)

    @staticmethod
    def _watch_birth(child, reads):
        """Wait until the copy runs. One that hangs is killed: a lock that another thread held stays locked in it."""
        said, until = b"", time.monotonic() + PATIENCE
        while not (b"+" in said and b"\n" in said):
            left = until - time.monotonic()
            data = os.read(reads, 64) if left > 0 and select.select([reads], [], [], left)[0] else b""
            if not data:
                break
            said += data
        alive = b"+" in said
        number = said.replace(b"+", b"").strip()
        if not alive:
            _kill(child)
            if number:
                _kill(int(number))
        try:
            os.waitpid(child, 0)
        except ChildProcessError:  # a handler of the session was faster
            pass
        return child if alive else -1

    def _become_copy(self, fds, lost):
        try:
            link, out, err, taken = fds
            self._link.take_over(link, taken)
            self._streams.take_over(out, err)
            self._link.send_hello(hello(lost))
        except BaseException:
            os._exit(1)

    def wake(self):
        """This copy takes the place of the kernel."""
        if self._offsets is not None:
            self._offsets.restore()
            self._offsets = None
        interrupts.install()


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
