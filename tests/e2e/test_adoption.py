"""A session outlives its server: exactly one later server of the same conversation takes it over, with all its
state.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest
from harness import Session, build_dir, children_of, clean_env, docker, husk_binary, ninja, verify_log, wait_until

FAKETIME = next((p for p in ("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
                             "/usr/lib/faketime/libfaketime.so.1") if os.path.exists(p)), None)


@pytest.fixture
def window(start, tmp_path):
    """Starts servers that share a home, like several windows of one client, or one window that is reopened."""
    return lambda **settings: start(home=tmp_path / "home", **settings)


def end(server, how):
    if how == "EOF":
        server.close_stdin()
    else:
        server.process.send_signal(getattr(signal, how))
    server.process.wait(20)


def rows(server, sql="SELECT id, owner, fence, state, cause FROM sessions"):
    with contextlib.closing(sqlite3.connect(server.home / "state" / "husk" / "husk.db", timeout=30)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql)]


def change(server, sql, *values):
    with contextlib.closing(sqlite3.connect(server.home / "state" / "husk" / "husk.db", timeout=30)) as db, db:
        db.execute(sql, values)


def states(server):
    done = subprocess.run([husk_binary(), "ps", "--json"], env=clean_env(server.home), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    return {s["id"]: s for s in json.loads(done.stdout)["sessions"]}


def at(server, session):
    """The same session, through another server."""
    return Session(server, session.id)


# Lines of a cell that waits for let_go().
HELD = "import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.02)\n"


def start_held_cell(session, code):
    """A cell that is running when this returns, and runs `code` after let_go()."""
    running = session.start_code(f"print('first', flush=True)\n{HELD}{code}", 60, progress=session.id)
    session.server.wait_for(lambda s: s.progress_of(session.id), what="the cell's first output")
    return running


def let_go(session):
    """Lets the cell end. No server is involved, so the next call to a server is the first to report it."""
    docker("exec", session.container, "touch", "/tmp/go")


# How a server ends does not depend on its transport: each way is tested, but only the mildest and the worst with both
# transports.
@pytest.mark.parametrize("how, transport", [("EOF", "exec"), ("EOF", "socket"), ("SIGTERM", "socket"), ("SIGINT", "exec"),
                                            ("SIGKILL", "exec"), ("SIGKILL", "socket")])
def test_variables_files_and_running_cells_are_still_there(window, how, transport):
    first = window()
    session = first.session(network=False)
    session.code("x = [1, 2]; open('note.txt', 'w').write('here')").ok()
    session.shell("cd /tmp; export WORD=kept; sleep 1000 & true").ok()
    start_held_cell(session, "open('/workspace/ran', 'a').write('cell\\n')\nprint('last')\nslow = 'kept'\n6 * 7")
    end(first, how)
    assert first.containers() == [session.container]
    second = at(window(), session)
    let_go(session)
    result = second.code("(x, slow, open('note.txt').read())").ok()
    assert result.value == "([1, 2], 'kept', 'here')"
    [earlier] = result.fields["earlier"]
    assert (earlier["run"], earlier["ended"], earlier["ending"], earlier["kind"]) == (3, True, "ok", "cell")
    assert earlier["stdout"] == "first\nlast\n" and earlier["result"] == {"text/plain": "42"}
    assert "⟦earlier cell 3: ok⟧" in result.text and "first\nlast" in result.text
    assert "earlier" not in second.code("1").ok().fields
    assert second.shell("pwd; echo $WORD; cat /workspace/ran").ok().stdout == "/tmp\nkept\ncell\n"
    assert "sleep 1000 " in second.shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").ok().stdout.replace("\n", "")


# evidence: history-triggers
def test_a_killed_server_leaves_no_gap_in_the_log(window):
    """The store is locked, so the server cannot record its last runs before it is killed."""
    first = window()
    session = first.session(network=False)
    session.code("1").ok()
    wait_until(lambda: len(rows(first, "SELECT seq FROM executions WHERE ended > 0")) == 1, what="the first record")
    with contextlib.closing(sqlite3.connect(first.home / "state" / "husk" / "husk.db", timeout=30, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        session.code("2").ok()
        session.shell("true").ok()
        end(first, "SIGKILL")
        db.execute("ROLLBACK")
    second = at(window(), session)
    second.code("4").ok()
    recorded = "SELECT seq, tool, ending FROM executions WHERE ended > 0 ORDER BY seq"
    wait_until(lambda: rows(first, recorded)[-1]["seq"] == 4, what="the last record")
    assert [r["seq"] for r in rows(first, recorded)] == [1, 2, 3, 4]
    assert (rows(first, recorded)[1]["tool"], rows(first, recorded)[1]["ending"]) == ("unknown", "unrecorded")
    verdict = verify_log(second.server)
    assert verdict["ok"], verdict


def test_adoption_needs_no_call_that_names_the_session(window):
    first = window()
    session = first.session(network=False)
    end(first, "SIGKILL")
    second = window()
    second.request("server/discover").result()
    second.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
                   era="2025-11-25").result()
    second.notify("notifications/initialized")
    second.request("ping", era="2025-11-25").result()
    assert states(second)[session.id]["status"] == "left"
    second.request("tools/list").result()
    wait_until(lambda: str(second.process.pid) in states(second)[session.id]["owner"], what="adoption")
    third = window()
    refused = third.call("execute_code", {"session_id": session.id, "code": "1"})
    assert refused.is_error and f"process {second.process.pid}" in refused.text


@pytest.mark.usefixtures("transport")
def test_runs_that_ended_in_between_are_reported_once_with_pictures(window):
    first = window()
    session = first.session(network=False)
    start_held_cell(session, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    end(first, "SIGKILL")
    second = at(window(), session)
    # A command does not wait for the cell, whose end is reported later.
    result = second.shell("echo now")
    assert "still running" in result.text and result.fields["earlier"] == [{"run": 1, "kind": "cell", "ended": False}]
    let_go(session)
    while not result.fields["earlier"][0]["ended"]:
        result = second.shell("sleep 0.1")
    assert result.fields["earlier"][0]["stdout"] == "first\n" and len(result.images) == 1


def test_a_cell_that_fails_in_between_is_reported_with_its_error(window):
    first = window()
    session = first.session(network=False)
    start_held_cell(session, "1/0")
    end(first, "EOF")
    let_go(session)
    result = at(window(), session).code("'next'").ok()
    [earlier] = result.fields["earlier"]
    assert earlier["ending"] == "error" and earlier["error"]["type"] == "ZeroDivisionError" and "ZeroDivisionError" in result.text


# evidence: conversations
def test_a_living_owner_keeps_its_session(window):
    first, second = window(), window()
    session = first.session(network=False)
    session.code("x = 1").ok()
    for tool, arguments in [("execute_code", {"code": "x = 2"}), ("execute_terminal", {"command": "kill 1"}), ("stop_session", {})]:
        refused = second.call(tool, {"session_id": session.id, **arguments})
        assert refused.is_error and f"process {first.process.pid}" in refused.text and refused.fields["hint"]
    assert session.code("x").ok().value == "1"
    # The same holds for an owner that does not answer, because it may come back.
    first.process.send_signal(signal.SIGSTOP)
    try:
        assert second.call("execute_code", {"session_id": session.id, "code": "x"}).is_error
    finally:
        first.process.send_signal(signal.SIGCONT)
    assert session.code("x").ok().value == "1"


# evidence: conversations
def test_another_conversation_can_neither_use_nor_stop_it(window):
    first = window()
    session = first.session(network=False)
    stranger = window(HUSK_THREAD_ID="a-stranger")
    for kill in (False, True):
        if kill:
            end(first, "SIGKILL")
        for tool, arguments in [("execute_code", {"code": "1"}), ("execute_terminal", {"command": "true"}), ("stop_session", {})]:
            refused = stranger.call(tool, {"session_id": session.id, **arguments})
            assert refused.is_error and refused.fields["active_sessions"] == []
            assert refused.text.startswith(f"PermissionError: Session '{session.id}' belongs to another conversation. Use a session from "
                                           "your own conversation or create a new one."), refused.text
    assert at(window(), session).code("1").ok()


def test_a_session_of_a_dead_server_can_be_stopped(window):
    first = window()
    session = first.session(network=False)
    end(first, "SIGKILL")
    second = window()
    stopped = at(second, session).stop()
    assert not stopped.is_error and first.containers() == []
    assert "not found" in at(second, session).code("1").text
    assert [r["state"] for r in rows(second)] == ["ended"]


# evidence: conversations
def test_only_one_of_several_servers_adopts(window):
    first = window()
    session = first.session(network=False)
    session.code("n = 0").ok()
    end(first, "SIGKILL")
    servers = [window() for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda s: at(s, session).code("n += 1; n"), servers))
    ran = [r for r in results if not r.is_error]
    assert [r.value for r in ran] == ["1"], results
    owner = servers[results.index(ran[0])].process.pid
    assert all(f"process {owner}" in r.text or "at the same time" in r.text for r in results if r.is_error)


# evidence: conversations
@pytest.mark.usefixtures("transport")
def test_the_old_owner_is_rejected_after_a_take_over(window):
    """The first server looks dead although it lives, like an owner on another machine that has not renewed its lease.
    """
    first = window()
    session = first.session(network=False)
    session.code("x = 1").ok()
    running = start_held_cell(session, "x = 2")
    change(first, "UPDATE sessions SET owner = ?, owner_host = 'elsewhere', lease_until = 1", "z" * 26)
    second = window()
    assert at(second, session).shell("touch /tmp/go").ok()
    assert at(second, session).code("x").ok().value == "2"
    assert running.tool().fields["ending"] == "session_lost" and "another server" in running.tool().text
    refused = session.code("x = 3")
    assert refused.is_error and f"process {second.process.pid}" in refused.text
    assert session.stop().is_error
    assert at(second, session).code("x").ok().value == "2"
    assert [r["fence"] for r in rows(second)] == [2]


@pytest.mark.usefixtures("transport")
def test_an_unwatched_death_is_reported_as_such(window):
    first = window()
    session = first.session(network=False)
    end(first, "SIGKILL")
    docker("rm", "--force", "--volumes", session.container)
    second = window()
    for _ in range(2):
        told = at(second, session).code("1")
        assert told.is_error and told.text.startswith("CONTAINER_DIED: died while no server was attached") and told.fields["hint"]
    assert not at(second, session).stop().is_error
    assert second.session(network=False).code("1").ok()


def test_a_death_that_was_seen_is_remembered_by_the_next_server(window):
    first = window()
    session = first.session(network=False)
    docker("kill", session.container)
    told = wait_until(lambda: (r := session.code("1")).is_error and r.text.splitlines()[0], what="the session's death")
    assert "SIGKILL" in told
    wait_until(lambda: rows(first)[0]["state"] == "ended", what="the record of its end")
    end(first, "EOF")
    assert at(window(), session).code("1").text.splitlines()[0] == told


@pytest.mark.usefixtures("transport")
def test_causes_are_known_after_an_adoption(window):
    first = window()
    session = first.session(network=False)
    end(first, "SIGKILL")
    second = at(window(), session)
    second.code("1").ok()
    running = second.start_code("print('on', flush=True)\nimport time; time.sleep(60)", 100, progress="p")
    second.server.wait_for(lambda s: s.progress_of("p"))
    docker("kill", "--signal", "SEGV", session.container)
    docker("kill", session.container, check=False)
    assert running.tool().fields["ending"] == "container_died" and "SIGKILL" in running.tool().text


@pytest.mark.usefixtures("transport")
def test_adoption_works_from_server_to_server(window):
    first = window()
    session = first.session(network=False)
    session.code("n = 1").ok()
    end(first, "SIGKILL")
    for n in range(2, 5):
        server = window()
        assert at(server, session).code("n += 1; n").ok().value == str(n)
        end(server, "SIGKILL" if n % 2 else "EOF")
    server = window()
    assert [r["fence"] for r in rows(server)] == [4]
    assert at(server, session).code("n").ok().value == "4"


def test_a_newer_server_adopts_sessions_of_an_older_one(window):
    """husk-next is this server, one protocol version ahead."""
    ninja(build_dir(), "husk-next")
    first = window()
    session = first.session(network=False)
    session.code("x = 'old'").ok()
    end(first, "EOF")
    newer = window(command=[str(build_dir() / "husk-next"), "mcp"])
    assert at(newer, session).code("x").ok().value == "'old'"
    end(newer, "EOF")
    assert at(window(), session).code("x").ok().value == "'old'"


def pause(container):
    """Pauses a container. On a busy machine runc gives up before all processes are frozen, so it is tried again."""
    wait_until(lambda: docker("pause", container, check=False), what="a paused container")


def test_a_suspend_longer_than_a_lease_is_survived(window):
    """A suspended machine: servers, streams and containers are all stopped and continued."""
    servers = [window(SESSION_LEASE_SECONDS=8, HUSK_TRANSPORT=transport) for transport in ("exec", "socket")]
    sessions = [server.session(network=False) for server in servers]
    for session in sessions:
        session.code("x = 'awake'").ok()
    pids = [pid for server in servers for pid in (server.process.pid, *children_of(server.process.pid))]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for session in sessions:
        pause(session.container)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 10, what="more than a lease")
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    for session in sessions:
        docker("unpause", session.container)
    for session in sessions:
        assert session.code("x").ok().value == "'awake'"
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 4, what="twice what the wake-up granted")
    for session in sessions:
        assert session.code("x").ok().value == "'awake'"


@pytest.mark.parametrize("jump", ["+5d", "-5d"])
def test_a_clock_jump_is_survived(window, tmp_path, jump):
    assert FAKETIME, "libfaketime is missing: tools/install-deps.sh test"
    clock = tmp_path / "clock"
    clock.write_text("+0")
    settings = dict(LD_PRELOAD=FAKETIME, FAKETIME_TIMESTAMP_FILE=clock, FAKETIME_NO_CACHE=1, FAKETIME_DONT_FAKE_MONOTONIC=1,
                    SESSION_LEASE_SECONDS=4, SESSION_GC_INTERVAL_SECONDS=1, SESSION_IDLE_TTL_SECONDS=600)
    first = window(**settings)
    session = first.session(network=False)
    session.code("x = 'steady'").ok()
    clock.write_text(jump)
    for _ in range(2):  # as often as gc runs
        lease = rows(first, "SELECT lease_until FROM sessions")
        wait_until(lambda: rows(first, "SELECT lease_until FROM sessions") != lease, what="a renewal at the other time")
    assert session.code("x").ok().value == "'steady'"
    # A server with the old clock leaves the session alone, and can take it over once its owner is dead.
    second = window(SESSION_LEASE_SECONDS=8, SESSION_GC_INTERVAL_SECONDS=1)
    assert f"process {first.process.pid}" in second.call("execute_code", {"session_id": session.id, "code": "x"}).text
    end(first, "SIGKILL")
    for name in ("faketime_shm", "sem.faketime_sem"):  # libfaketime's files, which a killed process leaves behind
        pathlib.Path(f"/dev/shm/{name}_{first.process.pid}").unlink()
    assert at(second, session).code("x").ok().value == "'steady'"
