"""A session under gVisor (docs/gvisor.md): the one setting, its requirements, and which processes may connect to PID
1 there. `make test-long PARTS=gvisor` runs the whole table of behaviours.
"""

import json
import re
import subprocess
import time

import gvisor
import harness
import pytest
import test_gate

# Code of a session that sends the requested byte without credentials, with its own and with those of the manager's
# user.
KNOCK = """
import json, socket, struct
def knock(credentials):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    s.connect("\\0husk-control")
    hello = json.dumps({"version": 3, "min_version": 2, "fence": 2 ** 31}).encode()
    try:
        data = [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("iII", *credentials))] if credentials else []
        s.sendmsg([b"?"], data)
        s.sendall(struct.pack(">IBI", len(hello), 1, 0) + hello)
        got = b""
        while piece := s.recv(100):
            got += piece
        return got.decode()
    except OSError as e:
        return type(e).__name__
import os
[knock(None), knock((os.getpid(), os.getuid(), os.getgid())), knock((os.getpid(), 65531, 65532)), knock((1, 65531, 65532))]
"""


@pytest.fixture(scope="module")
def engine():
    with gvisor.running() as engine:
        yield engine


@pytest.fixture(scope="module")
def server(engine, tmp_path_factory):
    with harness.Server(tmp_path_factory.mktemp("gvisor"), engine=engine, CONTAINER_RUNTIME=gvisor.RUNTIME) as server:
        yield server


@pytest.fixture(scope="module")
def session(server):
    session = server.session(network=False)
    yield session
    assert session.stop().success is True


def test_a_session_runs(server, session):
    assert "4.4.0" in session.shell("cat /proc/version").ok().stdout, "a kernel of its own"
    session.code("x = 20").ok()
    assert session.code("x + 22").ok().value == "42"
    refused = str(server.call("checkpoint", {"session_id": session.id, "action": "save", "name": "a"}).fields)
    assert "runs in gVisor, where an interpreter cannot be copied" in refused and "in a file" in refused
    assert session.shell("echo $((1 + 1)); exit 3").stdout == "2\n"
    files = [{"file_content": "from outside\n", "destination": "in.txt"}]
    assert server.call("import_files", {"session_id": session.id, "files": files}).success is True
    assert session.code("open('/workspace/in.txt').read()").ok().value == "'from outside\\n'"
    assert server.call("export_files", {"session_id": session.id, "files": [{"source": "in.txt"}]}).success is True
    looked = server.call("session_info", {"session_id": session.id}).fields
    assert looked["usage"]["no_landlock"] and "Landlock is missing" in looked["note"] and [v["name"] for v in looked["usage"]["variables"]][:1] == ["x"]


def test_a_cell_is_interrupted_and_its_interpreter_lives(session):
    session.code("kept = 'kept'").ok()
    assert session.code("while True: pass", 1).ending == "timeout"
    assert session.code("kept").ok().value == "'kept'"


# evidence: control-gvisor
def test_only_the_manager_can_connect(session):
    """SO_PEERCRED names the connecting process, and a credentials message names its sender."""
    heard = session.code(KNOCK).ok().value
    assert set(re.findall(r"'([^']*)'", heard)) <= {"?", "", "PermissionError", "ConnectionResetError", "BrokenPipeError"}, heard
    assert session.code("1 + 1").ok().value == "2", "PID 1 has not changed hands"


def test_pid_1_is_out_of_reach(session):
    tried = session.code("""
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *args):
    return "worked" if function(*args) >= 0 else errno.errorcode[ctypes.get_errno()]
def opening(path):
    try:
        open(path, "r+b").close()
        return "worked"
    except OSError as e:
        return errno.errorcode[e.errno]
{call(libc.kill, 1, 9), call(libc.ptrace, 0x4206, 1, 0, 0), call(libc.process_vm_readv, 1, 0, 0, 0, 0, 0), opening("/proc/1/mem")}
""").ok().value
    assert "worked" not in tried, tried


def test_doctor_says_what_differs(server):
    done = subprocess.run([harness.husk_binary(), "doctor", "--json"], env=server.env, capture_output=True, text=True, check=False, timeout=60)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["runtime"]["status"] == "ok" and "docs/gvisor.md" in checks["runtime"]["detail"]
    assert checks["landlock"]["status"] == "warn" and "gVisor" in checks["landlock"]["detail"]


def test_a_list_of_hosts(engine, tmp_path):
    """The names, connections and refusals of the gate (test_gate.py has all of them)."""
    with test_gate.start_server(tmp_path, engine=engine, CONTAINER_RUNTIME=gvisor.RUNTIME) as server:
        session = server.session(network=["api.test"])
        assert "from" in session.shell("curl -sS http://api.test/x.txt && curl -sS https://api.test/x.txt").ok().stdout
        refused = session.shell("curl -sS http://other.test/x.txt")
        assert "other.test:80: no rule allows it" in refused.stdout and "other.test" in refused.text


def measure(server):
    """Seconds, the best of several: create, a cell, a command, an import."""
    session = None

    def took(*calls):
        return min(call().ok().took for call in calls)

    creates = []
    for _ in range(3):
        if session:
            session.stop()
        began = time.monotonic()
        session = server.session(network=False)
        creates.append(time.monotonic() - began)
    result = {"create": min(creates), "import numpy, pandas": session.code("import numpy, pandas", 120).ok().took,
              "1+1": took(*[lambda: session.code("1+1")] * 30), "terminal true": took(*[lambda: session.shell("true")] * 20)}
    session.stop()
    return result


if harness.LONG:
    def test_costs_beside_the_default_runtime(engine, server, tmp_path, capsys):
        """Measures gVisor and the default runtime in turn, on one engine."""
        with harness.Server(tmp_path, engine=engine, HUSK_TRANSPORT="exec") as plain:
            rounds = [(measure(plain), measure(server)) for _ in range(2)]
        with capsys.disabled():
            for name in rounds[0][0]:
                runc, runsc = (min(pair[i][name] for pair in rounds) for i in (0, 1))
                print(f"\nfigure: {name}: runc {runc * 1000:.1f} ms, runsc {runsc * 1000:.1f} ms", end="")


def test_the_page_lists_every_difference():
    page = (harness.ROOT / "docs" / "gvisor.md").read_text()
    for name, function in gvisor.INSTEAD.items():
        assert f"| {name.replace('_', ' ')} | {' '.join(function.__doc__.split())} |" in page
