"""How a server starts (without side effects) and ends (at once, with cells running, leaving its sessions to the next
one).
"""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from harness import MODERN, Fake, Server, clean_env, docker, husk_binary, processes, wait_until

QUICK = 0.1
# A shared machine stalls now and then, so the best of a few tries counts.
TRIES = 4


def relatives(home):
    """Processes that a server with this home started, and their children."""
    mark = f"HOME={home}\0".encode()
    found = []
    for pid, (_, command) in processes().items():
        try:
            if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes() + b"\0":
                found.append((pid, command))
        except OSError:
            continue
    return found


def seconds_to_end(server, how):
    began = time.monotonic()
    if how == "EOF":
        server.close_stdin()
    else:
        server.process.send_signal(getattr(signal, how))
    server.process.wait(20)
    return time.monotonic() - began


def busy(server):
    """A session with a running cell and a running command."""
    session = server.session(network=False)
    session.start_code("print('on', flush=True)\nwhile True: pass", 120, progress="cell")
    session.start_shell("echo on; sleep 100", 120, progress="command")
    server.wait_for(lambda s: s.progress_of("cell") and s.progress_of("command"))
    return session


# evidence: orphans
@pytest.mark.alone
@pytest.mark.parametrize("how", ["EOF", "SIGINT", "SIGTERM", "SIGHUP"])
def test_ends_at_once_with_cells_running(start, how):
    times = []
    for _ in range(TRIES):
        server = start()
        session = busy(server)
        times.append(seconds_to_end(server, how))
        assert server.process.returncode == 0 or how != "EOF", server.last_words()
        assert server.process.returncode not in (-signal.SIGSEGV, -signal.SIGABRT), server.last_words()
        assert server.containers() == [session.container]  # the container keeps running, limited by its lease
        if times[-1] < QUICK:
            break
    assert min(times) < QUICK, times
    wait_until(lambda: not relatives(server.home), what="the end of all that the server started")


@pytest.mark.alone
@pytest.mark.parametrize("how", ["EOF", "SIGINT", "SIGTERM"])
def test_ends_at_once_when_idle(start, how):
    times = []
    for _ in range(TRIES):
        server = start()
        server.ping()
        times.append(seconds_to_end(server, how))
        assert server.stderr() == ""
        if times[-1] < QUICK:
            break
    assert min(times) < QUICK, times


# evidence: no-leftovers
@pytest.mark.alone
def test_ends_at_once_during_a_create(start):
    """The container that was being created is removed, which takes seconds, so the test waits for all of them
    together.
    """
    servers = []
    for how in ("EOF", "SIGTERM"):
        times = []
        for _ in range(TRIES):
            server = start()
            server.start_call("create_session", {"network": False})
            server.ping()
            times.append(seconds_to_end(server, how))
            servers.append(server)
            if times[-1] < QUICK:
                break
        assert min(times) < QUICK, (how, times)
    for server in servers:
        wait_until(lambda s=server: not relatives(s.home), what="the end of all that the server started")
        assert server.containers() == []


def test_ends_when_its_output_is_not_read(tmp_path):
    process = subprocess.Popen([husk_binary(), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env(tmp_path))
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert process.wait(10) >= 0  # it was not killed by SIGPIPE
    process.stdin.close()


def test_a_probe_may_be_ended_right_after_its_answer(start):
    """Some SDKs send discover and then SIGTERM within a millisecond."""
    for _ in range(5):
        server = start()
        server.request("server/discover").result()
        server.process.terminate()
        assert server.process.wait(10) in (0, -signal.SIGTERM)
        assert server.stderr() == ""


def test_ends_before_its_first_message(tmp_path):
    process = subprocess.Popen([husk_binary(), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env(tmp_path))
    process.terminate()
    assert process.wait(10) in (0, -signal.SIGTERM)
    process.stdin.close()
    process.stdout.close()


def test_ends_at_once_with_empty_input(tmp_path):
    done = subprocess.run([husk_binary(), "mcp"], stdin=subprocess.DEVNULL, capture_output=True, env=clean_env(tmp_path), timeout=10)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# evidence: quiet-start
def test_start_has_no_side_effect(start, tmp_path):
    fake = Fake(tmp_path / "bin")
    server = start(PATH=fake.path)
    server.request("server/discover").result()
    server.request("tools/list").result()
    server.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
                   era="2025-11-25").result()
    for tool, arguments in [
        ("create_session", {"language": "cobol"}),
        ("execute_code", {}),
        ("execute_code", {"session_id": "nobody", "code": "1"}),
        ("stop_session", {"session_id": "nobody"}),
    ]:
        assert server.call(tool, arguments).is_error or tool == "stop_session"
    assert fake.calls() == []  # the engine is not used before a call needs it
    made = [p for p in server.home.rglob("*") if p != server.stderr_path]
    assert made == []
    assert seconds_to_end(server, "EOF") < 5
    assert [p for p in server.home.rglob("*") if p != server.stderr_path] == []


# evidence: quiet-start
def test_no_child_and_no_thread_before_a_call_needs_it(server):
    server.ping()
    assert [p for p, (parent, _) in processes().items() if parent == server.process.pid] == []


@pytest.mark.parametrize("home", ["/nonexistent", "/proc", None])
def test_starts_without_a_usable_home(start, home):
    settings = {"HOME": home, "XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None, "XDG_DATA_HOME": None, "XDG_CACHE_HOME": None}
    assert start(**settings).request("tools/list").result()["tools"]


def test_many_servers_share_a_home(tmp_path, start):
    """Servers of one home do not lock each other out: each answers while the others run."""
    servers = [start(home=tmp_path / "one") for _ in range(5)]
    for server in servers:
        assert server.request("tools/list").result()["tools"]


@pytest.mark.alone
def test_first_answer_comes_soon(start):
    times = []
    for _ in range(TRIES):
        began = time.monotonic()
        start().request("server/discover").result()
        times.append(time.monotonic() - began)
    assert min(times) < 0.2, times


# evidence: no-leftovers
def test_stop_session_really_stops(server):
    session = server.session(network=False)
    assert server.containers() == [session.container]
    stopped = session.stop()
    assert not stopped.is_error and stopped.fields["success"] is True
    assert server.containers() == []
    wait_until(lambda: all("attach" not in c for c in commands_of(server)), what="the end of its stream")
    assert session.code("1").is_error


def commands_of(server):
    return [command for pid, command in relatives(server.home) if pid != server.process.pid]


def test_containers_carry_labels(server):
    session = server.session(network=False)
    labels = docker("inspect", "--format", "{{range $k, $v := .Config.Labels}}{{$k}}={{$v}}\n{{end}}", session.container).split()
    labels = dict(label.split("=", 1) for label in labels)
    ours = {name: value for name, value in labels.items() if name.startswith("husk")}
    owner, mark = ours.pop("husk.owner"), ours.pop("husk.id")
    assert owner and len(mark) == 26 and mark not in (session.id, session.container) and ours == {"husk": "true", "husk.store": server.store_id()}
    assert session.container.startswith("husk-") and session.id not in session.container
    assert len(session.id) == 26 and set(session.id) <= set("abcdefghijklmnopqrstuvwxyz234567")


def test_the_thread_id_persists(tmp_path, start):
    first = start(home=tmp_path / "one")
    first.session(network=False)
    thread = first.thread_id()
    first.stop()
    second = start(home=tmp_path / "one")
    second.session(network=False)
    assert second.thread_id() == thread
    assert os.stat(tmp_path / "one" / "state" / "husk" / "mcp-thread.json").st_mode & 0o077 == 0


def test_the_environment_may_be_minimal(tmp_path):
    """The environment of SDK clients: no XDG variables, no locale."""
    server = Server(tmp_path / "s", MODERN, XDG_CONFIG_HOME=None, XDG_STATE_HOME=None, XDG_DATA_HOME=None, XDG_CACHE_HOME=None, TERM=None,
                    HUSK_THREAD_ID=f"test-{os.getpid()}")
    with server:
        assert server.session(network=False).code("'ä' * 2").value == "'ää'"
