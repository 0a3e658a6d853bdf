"""The container's restrictions as seen from inside a session: a cell, a shell command and PID 1, with the default
settings.
"""

import json

import pytest
from harness import docker

LOOK = r'''
import errno, json, os, pwd, resource, subprocess, sys

def read(path, default=None):
    try:
        with open(path) as f:
            return f.read()
    except OSError as e:
        return default if default is not None else "errno %d" % e.errno

def status(pid):
    return dict(line.split(":\t", 1) for line in read("/proc/%s/status" % pid).splitlines() if ":\t" in line)

def try_write(path):
    try:
        with open(path, "a"):
            pass
        return "written"
    except OSError as e:
        return errno.errorcode[e.errno]

def can_execute(folder):
    path = folder + "/probe.sh"
    with open(path, "w") as f:
        f.write("#!/bin/sh\necho ran\n")
    os.chmod(path, 0o755)
    try:
        return subprocess.run([path], capture_output=True, text=True).stdout
    except OSError as e:
        return errno.errorcode[e.errno]
    finally:
        os.unlink(path)

def size(path):
    s = os.statvfs(path)
    return s.f_blocks * s.f_frsize

seen = {
    "uid": os.getuid(), "gid": os.getgid(), "euid": os.geteuid(), "groups": os.getgroups(),
    "self": status("self"), "pid1": status(1),
    "home": os.environ.get("HOME"), "user": os.environ.get("USER"), "cwd": os.getcwd(),
    "passwd": list(pwd.getpwuid(os.getuid())), "expanded": os.path.expanduser("~"),
    "environ": dict(os.environ),
    "mounts": read("/proc/self/mountinfo").splitlines(),
    "sizes": {p: size(p) for p in ("/workspace", "/tmp", "/home/sandbox", "/dev/shm")},
    "executes": {p: can_execute(p) for p in ("/workspace", "/tmp", "/home/sandbox")},
    "root_writes": {p: try_write(p) for p in ("/probe", "/etc/probe", "/usr/probe", "/usr/local/bin/probe", "/opt/husk/probe",
                                              "/var/probe", "/opt/probe", "/etc/passwd", "/etc/hosts", "/etc/resolv.conf")},
    "limits": {n: resource.getrlimit(getattr(resource, "RLIMIT_" + n)) for n in ("NOFILE", "FSIZE", "CORE")},
    "sockets": [p for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock") if os.path.exists(p)],
    "devices": sorted(os.listdir("/dev")),
    "terminals": sorted(os.listdir("/dev/terminals")),
    "hostname": os.uname().nodename,
    "cgroup": {
        "memory": read("/sys/fs/cgroup/memory/memory.limit_in_bytes", "") or read("/sys/fs/cgroup/memory.max"),
        "memsw": read("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", ""),
        "swap": read("/sys/fs/cgroup/memory.swap.max", ""),
        "quota": read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", ""),
        "period": read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", ""),
        "cpu": read("/sys/fs/cgroup/cpu.max", ""),
        "pids": read("/sys/fs/cgroup/pids/pids.max", "") or read("/sys/fs/cgroup/pids.max"),
    },
    "suid": subprocess.run("find / -xdev -perm /6000 -type f 2>/dev/null | head", shell=True, capture_output=True, text=True).stdout,
}
print(json.dumps(seen))
'''

SESSION_UIDS = range(60706, 61184)
MB = 1 << 20


@pytest.fixture(scope="module")
def looks(_shared):
    """The values that a cell and the shell see."""
    session = _shared.get_session()
    cell = json.loads(session.code(LOOK).ok().stdout)
    session.code(f"open('/workspace/look.py', 'w').write({LOOK!r})").ok()
    shell = json.loads(session.shell("python3 /workspace/look.py; rm /workspace/look.py").stdout)
    return {"cell": cell, "shell": shell}


@pytest.fixture(params=["cell", "shell"])
def inside(request, looks):
    return looks[request.param]


@pytest.fixture(scope="module")
def outside(_shared):
    return json.loads(docker("inspect", _shared.get_session().container))[0]


def mount_of(inside, path):
    found = [m for m in inside["mounts"] if m.split()[4] == path]
    assert found, f"{path} is no mount"
    fields = found[-1].split()
    dash = fields.index("-")
    return {"options": fields[5].split(","), "type": fields[dash + 1], "super": fields[dash + 3].split(",")}


# evidence: container-user
def test_user(inside):
    assert inside["uid"] == inside["euid"] and inside["uid"] in SESSION_UIDS
    assert inside["gid"] == 65532
    assert set(inside["groups"]) <= {65532}


# evidence: container-user
@pytest.mark.parametrize("who", ["self", "pid1"])
def test_privileges(inside, who):
    status = inside[who]
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert len(set(status["Uid"].split())) == 1 and int(status["Uid"].split()[0]) in SESSION_UIDS


def test_home_and_names(inside):
    assert inside["home"] == inside["expanded"] == "/home/sandbox"
    assert inside["user"] == inside["passwd"][0] == "sandbox"
    assert inside["passwd"][5] == "/home/sandbox"
    assert inside["cwd"] == "/workspace"
    assert inside["hostname"] == "husk"


# evidence: container-mounts
def test_root_filesystem_is_read_only(inside):
    assert "ro" in mount_of(inside, "/")["options"]
    for path, outcome in inside["root_writes"].items():
        assert outcome in ("EROFS", "EACCES"), path
    assert inside["root_writes"]["/usr/probe"] == "EROFS"


# evidence: container-limits
@pytest.mark.parametrize("path", ["/workspace", "/tmp"])
def test_tmpfs(inside, path):
    mount = mount_of(inside, path)
    assert mount["type"] == "tmpfs"
    assert {"rw", "nosuid", "nodev"} <= set(mount["options"])
    assert "noexec" not in mount["options"]
    assert inside["sizes"][path] == 200 * MB
    assert inside["executes"][path] == "ran\n"


def test_the_home_directory_is_on_disk(inside, outside):
    assert mount_of(inside, "/home")["type"] != "tmpfs"
    assert inside["executes"]["/home/sandbox"] == "ran\n"
    (volume,) = [m for m in outside["Mounts"] if m["Destination"] == "/home"]
    assert volume["Type"] == "volume" and len(volume["Name"]) == 64  # anonymous: it is removed with the container


# evidence: container-user
def test_each_session_has_its_own_user(server, inside):
    other = server.session()
    uid = int(other.shell("id -u").stdout)
    assert uid in SESSION_UIDS and uid != inside["uid"]
    assert other.shell("id -un; stat -c %U:%g ~ /workspace; touch ~/x /workspace/x /tmp/x && echo written").stdout == (
        "sandbox\nsandbox:65532\nsandbox:65532\nwritten\n")


# evidence: container-limits
def test_shared_memory_is_sized(inside):
    mount = mount_of(inside, "/dev/shm")
    assert mount["type"] == "tmpfs" and {"nosuid", "nodev"} <= set(mount["options"])
    assert 0 < inside["sizes"]["/dev/shm"] <= 64 * MB


# evidence: container-limits
def test_memory_without_swap(inside):
    cgroup = inside["cgroup"]
    assert int(cgroup["memory"]) == 2048 * MB
    if cgroup["swap"]:
        assert cgroup["swap"].strip() == "0"
    elif cgroup["memsw"]:
        assert int(cgroup["memsw"]) == 2048 * MB


# evidence: container-limits
def test_cpu(inside):
    cgroup = inside["cgroup"]
    if cgroup["cpu"]:
        assert cgroup["cpu"].split() == ["200000", "100000"]
    else:
        assert (int(cgroup["quota"]), int(cgroup["period"])) == (200000, 100000)


# evidence: container-limits
def test_pids(inside):
    assert int(inside["cgroup"]["pids"]) == 512


# evidence: container-limits
def test_limits_are_visible_from_outside(outside):
    host = outside["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 2048 * MB
    assert (host["CpuQuota"], host["CpuPeriod"], host["PidsLimit"]) == (200000, 100000, 512)


# evidence: container-limits
def test_ulimits(inside):
    limits = inside["limits"]
    assert limits["NOFILE"][1] == 4096
    assert limits["FSIZE"][1] == 4096 * MB  # the size of the home directory, which is larger than the memory
    assert limits["CORE"] == [1, 1]


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"])
def test_thread_counts_follow_the_cpu_limit(inside, name):
    assert inside["environ"][name] == "2"


# evidence: secrets
def test_no_secret_and_no_proxy_in_the_environment(inside):
    for name, value in inside["environ"].items():
        assert not (name.lower().endswith("_proxy") and value), name
        assert not name.startswith("HUSK_"), name


# evidence: container-mounts
def test_no_engine_socket(inside):
    assert inside["sockets"] == []
    assert not [m for m in inside["mounts"] if "docker.sock" in m or "containerd" in m]


# evidence: container-mounts
def test_no_writable_host_mount(inside, outside):
    """Mounts from the host's disks are read-only; the others are file systems of the kernel and tmpfs."""
    kernel = {"tmpfs", "proc", "sysfs", "cgroup", "cgroup2", "mqueue", "devpts"}
    for line in inside["mounts"]:
        fields = line.split()
        path, options, kind = fields[4], fields[5].split(","), fields[fields.index("-") + 1]
        if kind not in kernel and "rw" in options:
            # The engine mounts its own hosts, hostname and resolv.conf; the sandbox user cannot write to them.
            assert path in ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/home"), line
    assert inside["root_writes"]["/etc/hosts"] in ("EROFS", "EACCES")
    assert inside["root_writes"]["/etc/resolv.conf"] in ("EROFS", "EACCES")
    assert not [m for m in outside["Mounts"] if m["RW"] and m["Type"] != "tmpfs" and m["Destination"] not in ("/home", "/dev/terminals")]
    assert not outside["HostConfig"]["Binds"]


# evidence: container-mounts
def test_no_devices_of_the_host(inside, outside):
    assert set(inside["devices"]) <= {"console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
                                      "stdout", "terminals", "tty", "urandom", "zero"}
    assert inside["terminals"] == ["ptmx"]  # a devpts of the container's own
    assert not outside["HostConfig"]["Devices"]


# evidence: container-seccomp
def test_namespaces_logs_and_removal(outside):
    host = outside["HostConfig"]
    assert host["Privileged"] is False and not host["CapAdd"] and host["CapDrop"] == ["ALL"]
    assert host["IpcMode"] == "private"
    assert host["UTSMode"] == "" and host["PidMode"] == ""
    assert host["LogConfig"]["Type"] == "none"
    assert host["AutoRemove"] is True and host["ReadonlyRootfs"] is True
    assert host["NetworkMode"] == "none"
    assert any("no-new-privileges" in o for o in host["SecurityOpt"])
    assert not any("seccomp=unconfined" in o or "seccomp:unconfined" in o for o in host["SecurityOpt"])
    uid, gid = outside["Config"]["User"].split(":")
    assert int(uid) in SESSION_UIDS and gid == "65532"
    assert not host["PortBindings"]


# evidence: container-user
def test_nothing_is_set_user_id(inside):
    """Set-user-ID programs would not work under no-new-privileges; the image has none anyway."""
    assert inside["suid"] == "" or inside["self"]["NoNewPrivs"] == "1"


# evidence: container-seccomp
def test_forbidden_system_calls(session):
    result = session.code(
        "import ctypes, errno, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(name, *args):\n"
        "    ctypes.set_errno(0)\n"
        "    r = getattr(libc, name)(*args)\n"
        "    return errno.errorcode.get(ctypes.get_errno(), 'none') if r < 0 else 'done'\n"
        "[call('unshare', 0x10000000), call('mount', b'none', b'/tmp', b'tmpfs', 0, None), call('setuid', 0),\n"
        " call('chroot', b'/tmp'), call('sethostname', b'x', 1), call('reboot', 0)]"
    ).ok()
    assert eval(result.value) == ["EPERM"] * 6


def test_native_modules_load_from_the_workspace(session):
    """exec on the tmpfs mounts is what makes `pip install --user` usable."""
    result = session.code(
        "import shutil, sysconfig, glob, importlib.util, os\n"
        "import _decimal\n"
        "source = getattr(_decimal, '__file__', None) or glob.glob(sysconfig.get_path('platstdlib') + '/lib-dynload/*.so')[0]\n"
        "copy = '/home/sandbox/' + os.path.basename(source)\n"
        "shutil.copy(source, copy)\n"
        "import ctypes; ctypes.CDLL(copy); os.unlink(copy); 'loaded'"
    ).ok()
    assert result.value == "'loaded'"


def test_shared_memory_works(session):
    result = session.code("from multiprocessing import shared_memory as m\ns = m.SharedMemory(create=True, size=4096)\n"
                          "s.buf[0] = 7; v = s.buf[0]; s.close(); s.unlink(); v").ok()
    assert result.value == "7"
