"""A server's memory after many calls and many sessions, and what LeakSanitizer says when it ends."""

import collections
import json
import os
import pathlib

import pytest
from harness import LONG, Session, build_dir, ninja

WARM_UP = 1000
CALLS = 10_000 if LONG else 3_000
SESSIONS = 200 if LONG else 6
# Memory that an allocator may keep; a leak of a few bytes per call would exceed it.
SLACK = (2 << 20) if LONG else (1 << 20)


def resident(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


def run_many(session, n, at_once=16):
    """Runs n cells, `at_once` of them at a time. Received messages are forgotten, or the test itself would grow."""
    open_calls = collections.deque()
    for i in range(n):
        open_calls.append(session.start_code(f"{i}"))
        if len(open_calls) == at_once:
            assert open_calls.popleft().tool().value is not None
    while open_calls:
        assert open_calls.popleft().tool().value is not None
    for kept in (session.server.lines, session.server.messages, session.server.methods):
        kept.clear()


@pytest.mark.timeout(900)
def test_memory_stays_flat_over_many_calls(start):
    """Records of runs fill their share of memory during the warm-up."""
    server = start(RECORD_MAX_SIZE_PER_SESSION="1m")
    session = server.session(network=False)
    run_many(session, WARM_UP)
    before = resident(server)
    run_many(session, CALLS - WARM_UP)
    grown = resident(server) - before
    print(f"{CALLS} calls: {before >> 10} KiB, grown by {grown >> 10} KiB")
    assert grown < SLACK
    assert session.code("'still here'").ok()


@pytest.mark.timeout(3600)
def test_memory_stays_flat_over_many_sessions(start):
    server = start()

    def round_of(n):
        for i in range(n):
            session = server.session(network=False)
            assert session.code(f"{i}").ok()
            assert not session.stop().is_error

    round_of(3)
    before = resident(server)
    round_of(SESSIONS)
    grown = resident(server) - before
    print(f"{SESSIONS} sessions: {before >> 10} KiB, grown by {grown >> 10} KiB")
    assert grown < SLACK
    assert server.containers() == []


@pytest.fixture(scope="session")
def leak_checked():
    """The server built with AddressSanitizer, and the images of the plain build."""
    folder = build_dir().with_name(build_dir().name + "-asan")
    folder.mkdir(exist_ok=True)
    ninja(folder, "husk")
    images = {f"HUSK_IMAGE_{i['name'].upper()}": i["tag"] for i in json.loads((build_dir() / "images.json").read_text())}
    return {"command": [str(folder / "husk"), "mcp"], "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", **{n: os.environ.get(n, tag) for n, tag in images.items()}}


def end(server):
    server.close_stdin()
    assert server.process.wait(60) == 0, server.last_words()
    assert server.stderr() == ""


@pytest.mark.timeout(600)
def test_nothing_leaks(start, tmp_path, leak_checked):
    """Sessions made, used, refused, cancelled, stopped, left and adopted; then the server ends and every byte is accounted for."""
    first = start(home=tmp_path / "home", CONTAINER_MAX_SESSIONS_PER_THREAD=2, **leak_checked)
    session = first.session(network=False)
    run_many(session, 200)
    assert session.shell("exit 3").fields["exit_code"] == 3
    cancelled = session.start_code("print('on', flush=True)\nimport time; time.sleep(60)", 100, progress="p")
    first.wait_for(lambda s: s.progress_of("p"))
    first.cancel(cancelled)
    first.cancel(first.start_call("create_session", {"network": False}))
    other = first.session(network=False)
    assert first.call("create_session", {"network": False}).is_error
    assert first.call("execute_code", {"session_id": "a" * 26, "code": "1"}).is_error
    assert not other.stop().is_error
    session.start_code("print('on', flush=True)\nimport time; time.sleep(1)\nx = 'kept'", 60, progress="q")
    first.wait_for(lambda s: s.progress_of("q"))
    end(first)
    second = start(home=tmp_path / "home", **leak_checked)
    adopted = Session(second, session.id).code("x").ok()
    assert adopted.value == "'kept'" and len(adopted.fields["earlier"]) == 1
    assert not Session(second, session.id).stop().is_error
    end(second)
