"""Nothing blocks: a long cell in one session does not delay others, and queues keep their order."""

import pytest

# Tests that depend on the stream, such as the order of many calls at once. The others only concern the manager and
# PID 1.
each_transport = pytest.mark.usefixtures("transport")
SOON = 2.0  # at once, on a machine that others use too; the cells below run for much longer


@pytest.fixture
def busy(start):
    """(server, a session whose cell runs, its answer, another session)"""
    server = start()
    a, b = server.session(network=False), server.session(network=False)
    answer = a.start_code("print('on', flush=True)\nwhile True: pass", 100, progress="long")
    server.wait_for(lambda s: s.progress_of("long"))
    return server, a, answer, b


@pytest.mark.alone
@each_transport
def test_other_requests_are_answered_beside_a_long_cell(busy):
    server, a, answer, b = busy
    assert min(server.ping() for _ in range(5)) < 0.1
    listed = server.request("tools/list")
    assert listed.result()["tools"] and listed.took < SOON
    pinged = server.request("ping", era="2025-11-25")
    assert pinged.result() == {} and pinged.took < SOON
    cells = [b.code(f"{i} + 1") for i in range(5)]
    assert [c.value for c in cells] == ["1", "2", "3", "4", "5"]
    assert min(c.took for c in cells) < SOON
    beside = a.shell("echo beside")
    assert beside.stdout == "beside\n" and beside.took < SOON
    refused = server.call("execute_code", {"session_id": a.id})
    assert refused.is_error and refused.took < SOON
    assert not answer.done


@each_transport
def test_cancelling_frees_the_session_at_once(busy):
    server, a, answer, _ = busy
    server.cancel(answer)
    after = a.code("'free'")
    assert after.value == "'free'" and after.took < 5
    assert not answer.done


def test_a_session_can_be_created_and_stopped_beside_a_long_cell(busy):
    server, a, answer, b = busy
    third = server.session(network=False)
    assert third.code("3").value == "3"
    third.stop()
    b.stop()
    assert not answer.done


def test_sessions_run_in_parallel(start):
    server = start()
    sessions = [server.session(network=False) for _ in range(2)]
    answers = [s.start_code("import os, time\nprint('on', flush=True)\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)", 60,
                            progress=s.id) for s in sessions]
    server.wait_for(lambda s: all(s.progress_of(session.id) for session in sessions), what="both cells running at once")
    for session in sessions:
        session.shell("touch /workspace/go").ok()
    for answer in answers:
        answer.tool().ok()


def test_cells_of_a_session_run_in_order(own_session):
    answers = [own_session.start_code(f"order = globals().get('order', []) + [{i}]\nlen(order)") for i in range(20)]
    assert [a.tool().ok().value for a in answers] == [str(i + 1) for i in range(20)]
    assert own_session.code("order == list(range(20))").value == "True"


def test_commands_of_a_session_run_in_order(own_session):
    answers = [own_session.start_shell(f"echo {i} >>log") for i in range(20)]
    for answer in answers:
        answer.tool().ok()
    assert own_session.shell("cat log").stdout.split() == [str(i) for i in range(20)]


@each_transport
def test_cell_and_command_run_beside_each_other(own_session):
    cell = own_session.start_code(
        "import os, time\n"
        "deadline = time.time() + 20\n"
        "while not os.path.exists('/workspace/go') and time.time() < deadline: time.sleep(0.01)\n"
        "os.path.exists('/workspace/go')"
    )
    own_session.shell("touch /workspace/go").ok()
    assert cell.tool().value == "True"


def test_a_timeout_counts_from_the_start_of_the_run(own_session):
    first = own_session.start_code("import time; time.sleep(2.5)", 30)
    second = own_session.start_code("'not late'", 1)
    command = own_session.start_shell("sleep 2.5", 30)
    queued = own_session.start_shell("echo not late", 1)
    assert second.tool().ok().value == "'not late'"
    assert queued.tool().ok().stdout == "not late\n"
    first.tool().ok()
    command.tool().ok()


@each_transport
def test_a_stop_overtakes_queued_runs_and_answers_them(own_session):
    server = own_session.server
    running = own_session.start_code("print('on', flush=True)\nimport time; time.sleep(100)", 200, progress="p")
    queued = own_session.start_code("'never'", 200)
    command = own_session.start_shell("sleep 100", 200)
    server.wait_for(lambda s: s.progress_of("p"))
    stopped = own_session.stop()
    assert not stopped.is_error and stopped.took < 10
    for answer in (running, queued, command):
        result = answer.tool(10)
        assert result.ending == "interrupted" and "the session was stopped" in result.text, result
    assert running.tool().stdout == "on\n" and running.tool().fields["duration_ms"] > 0
    assert queued.tool().fields["duration_ms"] == 0
    assert server.containers() == []


@each_transport
def test_many_calls_at_once(start):
    """A whole notebook, sent at once, runs in order."""
    session = start().session(network=False)
    answers = [session.start_code(f"{i}") for i in range(200)]
    assert [a.tool().ok().value for a in answers] == [str(i) for i in range(200)]


def until_end(session, answer):
    """The end of a run. On a slow machine its first answer may be that it is queued."""
    result = answer.tool()
    while not result.is_error and result.ending == "running":
        result = session.code(run=result.run, wait=60)
    return result


@each_transport
def test_a_queue_is_bounded_by_its_bytes(start):
    """Calls over the limit are rejected with a message, and the others run."""
    session = start().session(network=False)
    first = session.start_code("import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)", 200)
    answers = [session.start_code(f"{i} #" + "x" * 7_000_000, 200) for i in range(6)]
    refused = [a.tool() for a in answers[4:]]
    session.shell("touch /workspace/go").ok()
    assert all(r.is_error and "runs of" in r.text and "waiting" in r.text for r in refused), refused
    assert [until_end(session, a).ok().value for a in answers[:4]] == ["0", "1", "2", "3"]
    first.tool().ok()
