"""Missing protections: containers like those of sessions, each with one change that husk-probe must notice.
A row is a name, a change of the engine's command line, and the acts that must turn red.
"""

import os
import pathlib
import subprocess
import sys

from harness import docker

PROBE = "/opt/husk/husk-probe"
ENTRYPOINT = "--entrypoint"
# Capabilities that engine 20.10 knows, because an engine cannot add unknown ones. CAP_SYS_RESOURCE is missing, because
# this kind of machine cannot grant it.
CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST
 NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_TIME
 SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ""".split()
DEVICES = ("/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun")
SOCKETS = ("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/var/run/crio/crio.sock")
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


class Report:
    """The output of a run of husk-probe. Names of acts are unique."""

    def __init__(self, text):
        *lines, end = [line.split("\t") for line in text.strip().splitlines()]
        self.verdicts = {name: verdict for verdict, _, name, _ in lines}
        self.why = {name: why for *_, name, why in lines}
        self.groups = {name: group for _, group, name, _ in lines}
        assert len(self.verdicts) == len(lines)
        assert end == ["done", str(len(lines)), str(len(self.red)), str(len(self.verdicts) - len(self.red) - len(self.of("held")))], end

    def of(self, *verdicts):
        return {name for name, verdict in self.verdicts.items() if verdict in verdicts}

    @property
    def red(self):
        return self.of("OPEN")


class Flags:
    """The command line that starts a session's container, as the engine got it. Rows change it."""

    def __init__(self, words):
        self.words = list(words)

    def copy(self):
        return Flags(self.words)

    def drop(self, option, start=""):
        """Removes an option with its value, if the value starts with `start`."""
        at = [i for i, word in enumerate(self.words) if word == option and self.words[i + 1].startswith(start)]
        assert at, (option, start)
        for i in reversed(at):
            del self.words[i:i + 2]
        return self

    def drop_flag(self, option):
        self.words.remove(option)
        return self

    def set(self, option, value):
        self.words[self.words.index(option) + 1] = value
        return self

    def add(self, *words):
        self.words[1:1] = words
        return self

    def swap(self, old, new):
        """Replaces a text in every value."""
        assert any(old in word for word in self.words), old
        self.words = [word.replace(old, new) for word in self.words]
        return self

    def for_probe(self):
        """The same container with husk-probe instead of PID 1: without our filter and without Landlock."""
        at = self.words.index(ENTRYPOINT)
        self.words[at + 1] = PROBE
        del self.words[at + 3:]  # after the image: PID 1's arguments
        self.drop("--name").drop("--label")
        self.words.remove("--detach")
        return self


def capture(start, folder):
    """Starts a real session, records how, and returns (its container, the command line)."""
    record = pathlib.Path(folder) / "words"
    script = pathlib.Path(folder) / "docker"
    script.write_text(f'#!/bin/bash\n[ "$1 $2" != "run --detach" ] || printf "%s\\0" "$@" >"{record}"\nexec docker "$@"\n')
    script.chmod(0o755)
    server = start(HUSK_DOCKER=script)
    session = server.session(network=False)
    words = record.read_text().split("\0")[:-1]
    return session, words[words.index("--name") + 1], Flags(words)


def run(flags):
    return Report(docker(*flags.words))


def host_file_mounts(folder):
    """Options that mount a file at each path where a session must not find a socket or a token."""
    file = pathlib.Path(folder) / "nothing"
    file.write_text("x")
    return [word for path in (*SOCKETS, TOKEN) for word in ("--volume", f"{file}:{path}")]


def caps(*names):
    return [word for name in names for word in ("--cap-add", name)]


# name: (change, the acts that turn red)
ROWS = {
    "the engine's seccomp profile": (lambda f: f.add("--security-opt", "seccomp=unconfined"), {
        "a user namespace", "run without a seccomp filter", "userfaultfd", "keyctl", "add_key", "request_key", "bpf",
        "personality without random addresses", "fanotify_init", "quotactl", "kcmp", "process_vm_readv"}),
    "no-new-privileges": (lambda f: f.drop("--security-opt", "no-new-privileges"), {"gain privileges by exec"}),
    "a user of its own": (lambda f: f.set("--user", "0:0"), {"be root", "be in root's group", "become root"}),
    "a user who is not the controller": (lambda f: f.set("--user", "65531:65532"), {"be the user who controls the session"}),
    "no group but its own": (lambda f: f.add("--group-add", "0"), {"be in root's group"}),
    "no capabilities": (lambda f: f.drop("--cap-drop").add("--cap-drop", "ALL", *caps(*CAPABILITIES)),
                        {f"CAP_{name}" for name in CAPABILITIES}),
    "a read-only root": (lambda f: f.drop_flag("--read-only"), {"a writable root file system"}),
    "a pid namespace": (lambda f: f.add("--pid", "host"), {"see the host's processes", "share the host's process ids"}),
    "a network namespace": (lambda f: f.set("--network", "host").drop("--hostname").drop("--sysctl"), {"share the host's network"}),
    "an ipc namespace": (lambda f: f.set("--ipc", "host"), {"share the host's shared memory"}),
    "a uts namespace": (lambda f: f.drop("--hostname").add("--uts", "host"), {"share the host's name"}),
    "no devices": (lambda f: f.add(*[w for path in DEVICES for w in ("--device", f"/dev/null:{path}")]), set(DEVICES)),
    "no device by another name": (lambda f: f.add("--device", "/dev/loop-control:/dev/husk-test"), {"any other device"}),
    "no folder of the host": (lambda f: f.add("--volume", "/etc:/mnt:ro"), {"a folder of the host"}),
    "masked files of /proc": (lambda f: f.add("--security-opt", "systempaths=unconfined"),
                              {"a writable /proc/sys", "read /proc/keys", "list /sys/firmware"}),
    "a read-only /sys": (lambda f: f.add("--volume", "/sys:/sys"), {"a writable /sys"}),
    "a read-only folder of the socket": (lambda f: f.swap(",target=/run/husk,readonly", ",target=/run/husk"),
                                         {"a writable folder of the session's socket"}),
    "nosuid and nodev": (lambda f: f.swap(",nosuid,nodev,", ",suid,dev,"), {
        "set-user-id programs in /workspace", "set-user-id programs in /tmp", "device files in /workspace", "device files in /tmp"}),
    "a memory limit": (lambda f: f.drop("--memory").drop("--memory-swap"), {"memory without a limit", "swap"}),
    "no swap": (lambda f: f.set("--memory-swap", "8g"), {"swap"}),
    "a limit of processes": (lambda f: f.drop("--pids-limit"), {"processes without a limit"}),
    "a limit of processor time": (lambda f: f.drop("--cpu-quota"), {"processor time without a limit"}),
    "a limit of open files": (lambda f: f.drop("--ulimit", "nofile"), {"open files without a limit"}),
    "a limit of core dumps": (lambda f: f.drop("--ulimit", "core"), {"core dumps"}),
    "a largest file": (lambda f: f.drop("--ulimit", "fsize"), {"files without a size limit"}),
}


def everything_off(flags, folder):
    """Acts that need several missing protections: root with all capabilities, no filter, and the host's files in
    their places.
    """
    return (flags.set("--user", "0:0").drop_flag("--read-only").drop("--cap-drop").drop("--security-opt")
            .add("--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined", *caps(*CAPABILITIES),
                 *host_file_mounts(folder), "--volume", "/sys/fs/cgroup:/sys/fs/cgroup"))


def beyond_this_machine(name):
    """Acts that cannot work on this machine: CVEs of old kernels, and features that this kernel or engine lacks."""
    if name.startswith("CAP_"):
        bounding = int(next(line for line in open("/proc/self/status", encoding="ascii") if line.startswith("CapBnd")).split()[1], 16)
        return name.removeprefix("CAP_") not in CAPABILITIES and bool(bounding)
    if name.startswith(("write /", "read /")):
        return not os.path.exists(name.split(" ", 1)[1])
    return name in {
        "write to a read-only file (Dirty Pipe)", "write to a private copy's file (Dirty COW)", "load a kernel module",
        "load a kernel module from a file", "kexec_load", "iopl", "ioperm", "kernel crypto socket", "key socket", "bluetooth",
    }


# The other side of a network in which every address answers. "near" is where husk-probe runs.
NETWORK = """
ip link set lo up
ip link add far type veth peer name near netns {pid}
ip link set far up
for a in 10.99.0.1/24 10.99.0.4/24 10.99.0.6/24 {v4}; do ip address add $a dev far; done
for a in fd99::1/64 {v6}; do ip -6 address add $a dev far nodad; done
"""
NEAR = """
ip link set lo up
ip link set near up
ip address add 10.99.0.5/24 dev near
ip -6 address add fd99::5/64 dev near nodad
ip route add default via 10.99.0.1
ip -6 route add default via fd99::1
"""


# Answers each query with one record of its type: an address outside, or a text. Ends with its input.
RESOLVER = """
import socket, sys, threading
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))
server = socket.create_server(("127.65.66.67", 443))
def serve():
    while True:
        query, sender = names.recvfrom(512)
        kind, data = query[-4:-2], b"\\x01x" if query[-3] == 16 else bytes([192, 0, 2, 1])
        names.sendto(query[:2] + b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0" + query[12:] + b"\\xc0\\x0c" + kind + b"\\0\\1\\0\\0\\0\\0\\0"
                     + bytes([len(data)]) + data, sender)
threading.Thread(target=serve, daemon=True).start()
print("up", flush=True)
sys.stdin.read()
"""


class OpenNetwork:
    """Two network namespaces, made without an engine: every address that one tries is answered by the other."""

    def __init__(self, addresses):
        self.v4 = " ".join(f"{a}/32" for a in addresses if ":" not in a)
        self.v6 = " ".join(f"{a}/128" for a in addresses if ":" in a)

    def __enter__(self):
        hold = ["unshare", "--net", "sh", "-c", "echo up; exec cat"]
        self.ends = [subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for end in self.ends:
            assert end.stdout.readline() == "up\n"
        far, near = self.ends
        self.inside(far, "sh", "-ec", NETWORK.format(pid=near.pid, v4=self.v4, v6=self.v6))
        self.inside(near, "sh", "-ec", NEAR)
        return self

    def inside(self, end, *command, **more):
        done = subprocess.run(["nsenter", "--target", str(end.pid), "--net", *command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def answer_names(self):
        """Starts a resolver that knows every name, and a server on an address that belongs to none."""
        self.ends.append(subprocess.Popen(["nsenter", "--target", str(self.ends[1].pid), "--net", sys.executable, "-c", RESOLVER],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert self.ends[-1].stdout.readline() == "up\n"

    def probe(self, program, **more):
        user = ["setpriv", "--reuid", "60706", "--regid", "65532", "--clear-groups"]
        return Report(self.inside(self.ends[1], *user, program, **more))

    def __exit__(self, *failure):
        for end in self.ends:
            end.communicate()

