"""Code in a session attacks PID 1 and the controller's `attach`: nothing that it tries has an effect, and the lease
holds.
"""

import json
import time

import pytest
from harness import Server, contrib_binary, docker, wait_until

ATTACK = r'''
import ctypes, errno, glob, json, os, signal, socket, struct, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
CLIENT = "/opt/husk/husk-client"
NR = {"x86_64": dict(ptrace=101, sched_setscheduler=144, sched_setparam=142, setpriority=141, tgkill=234, prlimit64=302, sched_setattr=314,
                     ioprio_set=251, rt_sigqueueinfo=129, process_vm_readv=310, pidfd_open=434, pidfd_send_signal=424,
                     sched_setaffinity=203, process_vm_writev=311, pidfd_getfd=438),
      "aarch64": dict(ptrace=117, sched_setscheduler=119, sched_setparam=118, setpriority=140, tgkill=131, prlimit64=261, sched_setattr=274,
                      ioprio_set=30, rt_sigqueueinfo=138, process_vm_readv=270, pidfd_open=434, pidfd_send_signal=424,
                      sched_setaffinity=122, process_vm_writev=271, pidfd_getfd=438)}[os.uname().machine]

def call(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(NR[name], *args)
    return "done" if r >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")

def reading(path, mode="rb"):
    try:
        with open(path, mode) as f:
            f.read(1)
        return "done"
    except OSError as e:
        return errno.errorcode[e.errno]

def listing(path):
    try:
        os.listdir(path)
        return "done"
    except OSError as e:
        return errno.errorcode[e.errno]

def uid_of(pid):
    try:
        for line in open("/proc/%d/status" % pid):
            if line.startswith("Uid:"):
                return int(line.split()[1])
    except OSError:
        return None

pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
attach = [p for p in pids if uid_of(p) == 65531]
seen = {"attach": len(attach), "targets": {}}

for name, pid in [("pid1", 1)] + [("attach", p) for p in attach]:
    t = seen["targets"][name] = {}
    for entry in ("mem", "environ", "maps", "auxv", "stack", "syscall", "pagemap"):
        t["read " + entry] = reading("/proc/%d/%s" % (pid, entry))
    t["write mem"] = reading("/proc/%d/mem" % pid, "r+b")
    t["write oom_score_adj"] = reading("/proc/%d/oom_score_adj" % pid, "r+b")
    t["list fd"] = listing("/proc/%d/fd" % pid)
    t["open fd 0"] = reading("/proc/%d/fd/0" % pid)
    t["list map_files"] = listing("/proc/%d/map_files" % pid)
    t["cwd"] = listing("/proc/%d/cwd/" % pid)
    t["root"] = listing("/proc/%d/root/" % pid)
    t["ptrace attach"] = call("ptrace", 16, pid, 0, 0)
    t["ptrace seize"] = call("ptrace", 0x4206, pid, 0, 0)
    data = ctypes.create_string_buffer(8)
    vec = struct.pack("PN", ctypes.addressof(data), 8)
    t["process_vm_readv"] = call("process_vm_readv", pid, vec, 1, vec, 1, 0)
    t["process_vm_writev"] = call("process_vm_writev", pid, vec, 1, vec, 1, 0)
    t["prlimit nofile"] = call("prlimit64", pid, 7, struct.pack("QQ", 4, 4), None)
    t["prlimit cpu"] = call("prlimit64", pid, 0, struct.pack("QQ", 1, 1), None)
    t["sched_setscheduler idle"] = call("sched_setscheduler", pid, 5, struct.pack("i", 0))
    t["sched_setparam"] = call("sched_setparam", pid, struct.pack("i", 0))
    t["sched_setattr idle"] = call("sched_setattr", pid, struct.pack("IIQiIQQQ", 48, 5, 0, 19, 0, 0, 0, 0), 0)
    t["sched_setaffinity"] = call("sched_setaffinity", pid, 8, struct.pack("Q", 1))
    t["setpriority"] = call("setpriority", 0, pid, 19)
    t["setpriority user"] = call("setpriority", 2, uid_of(pid), 19)
    t["setpriority group"] = call("setpriority", 1, pid, 19)
    t["ioprio_set"] = call("ioprio_set", 1, pid, 3 << 13)
    fd = libc.syscall(NR["pidfd_open"], pid, 0)
    t["pidfd_send_signal"] = call("pidfd_send_signal", fd, int(signal.SIGKILL), None, 0) if fd >= 0 else "no pidfd"
    t["pidfd_getfd"] = call("pidfd_getfd", fd, 0, 0) if fd >= 0 else "no pidfd"
    for s in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD, signal.SIGSEGV):
        try:
            os.kill(pid, s)
            t["kill " + s.name] = "done"
        except OSError as e:
            t["kill " + s.name] = errno.errorcode[e.errno]
        t["tgkill " + s.name] = call("tgkill", pid, pid, int(s))

tries = []
for _ in range(3):
    p = subprocess.run([CLIENT, "attach"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    tries.append([p.returncode, p.stdout.decode(errors="replace")[:100]])
seen["attach as sandbox"] = tries

def frame(kind, payload=b"", number=0):
    return struct.pack(">IBI", len(payload), kind, number) + payload

try:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    s.connect("\0husk-control")
    s.sendall(frame(1, json.dumps({"version": 1, "min_version": 1, "fence": 2 ** 31}).encode()) + frame(2, b"x") + frame(8))
    seen["socket"] = repr(s.recv(100))
except OSError as e:
    seen["socket"] = "refused: %s" % errno.errorcode.get(e.errno, e)

seen["client mode"] = oct(os.stat(CLIENT).st_mode & 0o7777)
seen["client owner"] = os.stat(CLIENT).st_uid
try:
    os.close(os.open(CLIENT, os.O_WRONLY))
    seen["write client"] = "opened"
except OSError as e:
    seen["write client"] = errno.errorcode[e.errno]
print(json.dumps(seen))
'''


def session_of(folder, language, **more):
    """Yields a session that has the attack as a file, and ends it afterwards."""
    with Server(folder, HUSK_TRANSPORT="exec", **more) as server:
        session = server.session(language=language, network=False)
        session.code("alive = 'alive'").ok()
        session.code(f"open('/workspace/attack.py', 'w').write({ATTACK!r})").ok()
        yield session


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    yield from session_of(tmp_path_factory.mktemp("victim"), "python")


@pytest.fixture(scope="module")
def stock_victim(tmp_path_factory):
    """The same with a stock kernel behind husk-jupyter."""
    yield from session_of(tmp_path_factory.mktemp("stock"), "ipykernel", command=[contrib_binary(["ipykernel"]), "mcp"])


def state_of_pid1(session):
    """State that an attack could have changed, as the host sees it."""
    pid = docker("inspect", "--format", "{{.State.Pid}}", session.container)
    stat = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return {
        "limits": open(f"/proc/{pid}/limits").read(),
        "nice": stat[16],
        "policy": stat[38],
        "oom": open(f"/proc/{pid}/oom_score_adj").read(),
        "affinity": [line for line in open(f"/proc/{pid}/status") if line.startswith("Cpus_allowed:")],
        "running": stat[0] not in "TtZX",  # neither stopped, traced nor dead; it may wait for a disk
    }


@pytest.fixture(scope="module", params=["cell", "shell", "stock"])
def attacked(request):
    victim = request.getfixturevalue("stock_victim" if request.param == "stock" else "victim")
    before = state_of_pid1(victim)
    if request.param == "shell":
        result = victim.shell("python3 /workspace/attack.py", 60)
    else:
        result = victim.code("print(open('/workspace/attack.py').read() and '')\nexec(open('/workspace/attack.py').read())", 60)
    assert result.ending == "ok", result.text
    return json.loads(result.stdout.strip().splitlines()[-1]), before, victim


def test_the_attack_found_its_targets(attacked):
    seen, _, _ = attacked
    assert seen["attach"] == 1 and set(seen["targets"]) == {"pid1", "attach"}


@pytest.mark.parametrize("target", ["pid1", "attach"])
@pytest.mark.parametrize("words", [("read ", "write "), ("list ", "open ", "cwd", "root"), ("ptrace", "process_vm"), ("prlimit",),
                                   ("sched_",), ("setpriority", "ioprio"), ("kill ", "tgkill ", "pidfd")])
# evidence: jupyter-kernels
def test_attacks_fail(attacked, target, words):
    seen, _, _ = attacked
    outcomes = {k: v for k, v in seen["targets"][target].items() if k.startswith(words)}
    assert outcomes
    worked = {k for k, v in outcomes.items() if v == "done"}
    assert not worked, worked


def test_pid_1_is_unchanged_after_the_attacks(attacked):
    _, before, victim = attacked
    assert state_of_pid1(victim) == before
    assert victim.code("alive").ok().value == "'alive'"
    assert victim.shell("echo alive").ok().stdout == "alive\n"


def test_attach_is_refused(attacked):
    seen, _, _ = attacked
    for status, output in seen["attach as sandbox"]:
        assert status != 0 and output == ""
    assert seen["socket"] in ("b''", "refused: ECONNRESET", "refused: EPIPE"), seen["socket"]


def test_the_program_cannot_be_changed(attacked):
    seen, _, _ = attacked
    assert seen["client mode"] == "0o555" and seen["client owner"] == 0
    assert seen["write client"] in ("EACCES", "EROFS", "ETXTBSY")


def test_children_go_first_when_memory_runs_out(victim):
    assert victim.code("open('/proc/self/oom_score_adj').read().strip()").ok().value == "'1000'"
    assert victim.shell("cat /proc/self/oom_score_adj").ok().stdout == "1000\n"


def test_a_foreign_system_call_interface_is_refused(victim):
    """The i386 entry would pass a filter that knows x86_64's numbers only."""
    machine_code = "b8 14 00 00 00 cd 80 c3"  # mov eax, 20 (getpid); int 0x80; ret
    result = victim.shell(
        "[ \"$(uname -m)\" = x86_64 ] || { echo refused; exit; }\n"
        "python3 - <<'END'\n"
        "import ctypes, mmap\n"
        f"code = bytes.fromhex('{machine_code}'.replace(' ', ''))\n"
        "m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        "m.write(code)\n"
        "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\n"
        "r = f()\n"
        "print('worked' if r > 0 else 'refused')\n"
        "END"
    )
    assert "worked" not in result.stdout, result.text


# --- the lease

LEASE = 6
SLACK = 5


def kill_and_wait(server, session):
    """SIGKILL of the server; returns how long the container lived on. The docker client of its stream ends with its pipe."""
    server.kill()
    began = time.monotonic()
    wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", f"name={session.container}"), timeout=60,
               what="the end of the session's lease")
    return time.monotonic() - began


def test_the_lease_is_renewed_while_the_server_lives(start):
    server = start(SESSION_LEASE_SECONDS=2)
    session = server.session(network=False)
    session.code("x = 'still here'").ok()
    session.code("import time; time.sleep(5)", 20).ok()
    assert session.code("x").ok().value == "'still here'"


RENEWERS = r'''
import json, socket, struct, subprocess, time
def frame(kind, payload=b"", number=0):
    return struct.pack(">IBI", len(payload), kind, number) + payload
while True:
    subprocess.run(["/opt/husk/husk-client", "attach"], input=frame(1, b'{"version":1,"min_version":1,"fence":9}') + frame(2, b"x"),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect("\0husk-control")
        s.sendall(frame(1, b'{"version":1,"min_version":1,"fence":9}') + frame(2, b"x"))
        time.sleep(0.1)
        s.close()
    except OSError:
        time.sleep(0.1)
'''


def test_a_refused_attach_does_not_renew_the_lease(start):
    server = start(SESSION_LEASE_SECONDS=LEASE)
    session = server.session(network=False)
    session.code(f"open('/workspace/renew.py', 'w').write({RENEWERS!r})").ok()
    session.shell("python3 /workspace/renew.py >/dev/null 2>&1 & echo on").ok()
    session.start_code("exec(open('/workspace/renew.py').read())", 300)
    server.ping()
    assert kill_and_wait(server, session) < LEASE + SLACK


def test_connections_from_inside_do_not_lock_the_controller_out(start):
    """A thousand open connections to PID 1's socket, and the server's stream still works."""
    session = start(SESSION_LEASE_SECONDS=3).session(network=False)
    session.code(
        "import socket\nheld = []\n"
        "for i in range(1000):\n"
        "    s = socket.socket(socket.AF_UNIX); s.setblocking(False)\n"
        "    try:\n        s.connect('\\0husk-control')\n    except OSError: pass\n"
        "    held.append(s)\n", 30).ok()
    session.code("import time; time.sleep(4)", 20).ok()
    assert session.shell("echo alive").ok().stdout == "alive\n"


def test_kill_of_all_processes_spares_pid_1(start):
    """kill(-1) from the shell kills every process of the session, the kernel too, but neither PID 1 nor the stream."""
    session = start(SESSION_LEASE_SECONDS=LEASE).session(network=False)
    session.shell("touch /workspace/kept").ok()
    session.shell("kill -KILL -1; echo never", 20)
    assert session.shell("ls /workspace", 20).ok().stdout == "kept\n"
    # On a busy machine a killed kernel may take a while to end, and ends a cell with it.
    assert "2" in [session.code("1 + 1", 20).value for _ in range(2)]
