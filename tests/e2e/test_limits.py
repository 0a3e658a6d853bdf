"""Limits on the number of sessions across servers that share a store, and when sessions end by themselves."""

import concurrent.futures
import contextlib
import json
import signal
import sqlite3

import pytest
from harness import wait_until

PER_THREAD = "Maximum sessions per conversation"
GLOBAL = "Maximum number of sessions"


def create(server, **more):
    return server.call("create_session", {"network": False, **more})


@pytest.fixture
def together(start, tmp_path):
    """Starts servers that share a home, as two windows of a client do."""
    return lambda **settings: start(home=tmp_path / "shared", **settings)


def test_the_limit_of_a_conversation_holds_across_servers(together):
    first, second = (together(CONTAINER_MAX_SESSIONS_PER_THREAD=2) for _ in range(2))
    ids = {create(first).session_id, create(second).session_id}
    for server in (first, second):
        refused = create(server)
        assert refused.is_error and PER_THREAD + " (2)" in refused.text and "CONTAINER_MAX_SESSIONS_PER_THREAD" in refused.text
        active = refused.fields["active_sessions"]
        assert {a["session_id"] for a in active} == ids
        for a in active:
            assert a["runtime"] == "python" and a["status"] == "running"
            assert 0 <= a["age_seconds"] < 600 and 0 <= a["idle_seconds"] <= a["age_seconds"]
            assert a["session_id"] in refused.text
        assert " s old" in refused.text and " s idle" in refused.text
        first_line, *_, hint = refused.text.split("\n")
        assert first_line == f"RuntimeError: {PER_THREAD} (2) reached. Stop an existing session first."
        assert hint == "Hint: CONTAINER_MAX_SESSIONS_PER_THREAD sets the limit. Use one of the active sessions, or end one with stop_session."
    assert len(first.containers()) == 2
    assert not first.call("stop_session", {"session_id": first.sessions[0]}).is_error
    assert not create(second).is_error


def test_limits_hold_for_concurrent_creates(together):
    servers = [together(CONTAINER_MAX_SESSIONS=3, CONTAINER_MAX_SESSIONS_PER_THREAD=10) for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        results = list(pool.map(create, servers * 3))
    refused = [r for r in results if r.is_error]
    assert len(results) - len(refused) == 3, [r.text for r in refused]
    assert all(GLOBAL + " (3)" in r.text for r in refused)
    assert len(servers[0].containers()) == 3


def test_the_global_limit_reveals_no_other_conversations(together):
    first = together(CONTAINER_MAX_SESSIONS=1, HUSK_THREAD_ID="limits-a")
    second = together(CONTAINER_MAX_SESSIONS=1, HUSK_THREAD_ID="limits-b")
    mine = create(first).session_id
    refused = create(second)
    assert refused.is_error and GLOBAL + " (1)" in refused.text and mine not in json.dumps(refused.raw)
    assert refused.text.count("top an existing") == refused.text.count("CONTAINER_MAX_SESSIONS") == refused.text.count("other conversations") == 1
    assert "one of the active" not in refused.text, "it has none"
    assert refused.fields["active_sessions"] == []


def test_active_threads_are_limited(together):
    first = together(SESSION_MAX_ACTIVE_THREADS=1, HUSK_THREAD_ID="threads-a")
    second = together(SESSION_MAX_ACTIVE_THREADS=1, HUSK_THREAD_ID="threads-b")
    assert not create(first).is_error
    refused = create(second)
    assert refused.is_error and "SESSION_MAX_ACTIVE_THREADS" in refused.text
    assert not create(first).is_error


def test_a_dead_session_holds_no_slot(start):
    server = start(CONTAINER_MAX_SESSIONS=1)
    dead = server.session(network=False)
    server.engine.kill_container(dead.container)
    wait_until(lambda: dead.code("1").is_error, what="the session's death")
    assert not create(server).is_error


def test_a_session_that_died_with_its_server_holds_no_slot(together):
    first = together(CONTAINER_MAX_SESSIONS=1, HUSK_THREAD_ID="slot-a")
    left = first.session(network=False)
    first.kill()
    first.engine.remove(left.container)
    assert not create(together(CONTAINER_MAX_SESSIONS=1, HUSK_THREAD_ID="slot-b")).is_error


# evidence: orphans
def test_a_half_made_session_holds_no_slot(together):
    first = together(CONTAINER_MAX_SESSIONS=1, SESSION_LEASE_SECONDS=4)
    first.start_call("create_session", {"network": False})
    wait_until(first.containers, what="the container")
    first.kill()
    second = together(CONTAINER_MAX_SESSIONS=1)
    created = create(second)
    assert not created.is_error, created.text
    wait_until(lambda: second.containers() == [second.container_of(created.session_id)], what="the end of the half-made one")


def test_a_failed_create_holds_no_slot(together):
    broken = together(CONTAINER_MAX_SESSIONS=1, HUSK_IMAGE_PYTHON="husk-none:none")
    assert create(broken).is_error
    assert not create(together(CONTAINER_MAX_SESSIONS=1)).is_error


def test_without_the_store_only_running_sessions_work(start):
    server = start()
    session = server.session(network=False)
    with contextlib.closing(sqlite3.connect(server.home / "state" / "husk" / "husk.db", timeout=30)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused = server.start_call("create_session", {"network": False})
        assert session.code("6*7").ok().value == "42"
        assert refused.tool().is_error and "store" in refused.tool().text and refused.tool().fields["hint"]
        assert session.shell("echo on").ok().stdout == "on\n"
        other.rollback()
    assert not create(server).is_error
    assert len(server.containers()) == 2


def test_a_store_that_cannot_be_opened_is_named(start):
    refused = create(start(XDG_STATE_HOME="/proc", HUSK_THREAD_ID="no-store"))
    assert refused.is_error and "husk.db" in refused.text and "XDG_STATE_HOME" in refused.fields["hint"], refused.text


def test_results_announce_the_end_of_the_lifetime(start):
    session = start(SESSION_MAX_LIFETIME_SECONDS=16).session(network=False)
    assert "notice" not in session.code("1").ok().fields
    told = wait_until(lambda: session.code("1").ok().fields.get("notice"), what="a notice")
    assert "SESSION_MAX_LIFETIME_SECONDS" in told
    result = session.code("'x'")
    assert result.fields["notice"] in result.text and result.value == "'x'"
    running = session.code("print('on', flush=True)\nimport time; time.sleep(60)", 100)
    assert running.fields["ending"] in ("interrupted", "container_died") and "lifetime" in running.text and "on" in running.text


def test_a_short_idle_time_is_announced(start):
    result = start(SESSION_IDLE_TTL_SECONDS=90).session(network=False).shell("true")
    assert "90 s without use" in result.fields["notice"]


# evidence: orphans
def test_no_orphan_outlives_its_lease(start):
    server = start(SESSION_LEASE_SECONDS=3)
    server.session(network=False)
    server.process.send_signal(signal.SIGKILL)
    wait_until(lambda: not server.containers(), what="the end of the lease")
