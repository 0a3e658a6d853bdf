"""Queries to an idle kernel are passed on, answered once and bounded, and delay no cell."""

import frames
import pytest

HANGS = "def answer(message):\n    open('/workspace/begun', 'w').close()\n    time.sleep(1000)\n"


def test_a_query_is_answered_by_the_kernel(client):
    assert client.greeting["queries"] is True
    answer = client.query_answer("complete", "ä.b", cursor=3)
    assert {**answer, "id": 1} == {"op": "answer", "id": 1, "status": "ok", "code": "ä.b", "cursor": 3, "detail": 0}
    assert client.query_answer("inspect", "x", detail=1)["detail"] == 1
    client.execute("answer = lambda message: {'status': 'ok', 'kind': message['op']}")
    assert client.query_answer("is_complete", "x")["kind"] == "is_complete"


@pytest.mark.parametrize("query", [{"kind": "hello"}, {"kind": 5}, {"code": 5}, {"cursor": -1}])
def test_an_invalid_query_is_declined(client, query):
    assert client.query_answer(**{"kind": "complete", **query}) == {"status": "cannot"}
    assert client.execute("print(1)").out == b"1\n"


def test_a_busy_kernel_gets_no_query(client):
    number = client.start(frames.EXECUTE, "print('on', flush=True)\ntime.sleep(1000)")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    assert client.query_answer() == {"status": "busy"}
    client.send(frames.INTERRUPT, number)
    assert client.finish(number).ending == "interrupted"
    assert client.query_answer()["status"] == "ok"


@pytest.mark.parametrize("code", ["time.sleep(1000)", "try: time.sleep(1000)\nexcept KeyboardInterrupt: time.sleep(0.2)"])
def test_a_query_waits_for_an_interrupted_cell(client, code):
    number = client.start(frames.EXECUTE, code)
    client.send(frames.INTERRUPT, number)
    assert client.query_answer()["status"] == "ok"
    assert client.finish(number).ending == "interrupted"


@pytest.mark.parametrize("code, more", [("", {"restart": True}), ("os._exit(3)", {})])
def test_a_query_waits_for_a_new_kernel(client, code, more):
    client.execute("1")
    client.execute(code, **more)
    assert client.query_answer()["status"] == "ok"


def test_a_queued_cell_comes_before_a_query_that_waits(client):
    first = client.start(frames.EXECUTE, "time.sleep(1000)")
    second = client.start(frames.EXECUTE, "print('on', flush=True)\ntime.sleep(1000)")
    client.send(frames.INTERRUPT, first)
    assert client.query_answer() == {"status": "busy"}
    client.send(frames.INTERRUPT, second)
    assert {client.finish(first).ending, client.finish(second).ending} == {"interrupted"}


def test_a_query_does_not_wait_long_for_a_cell_that_ignores_its_interrupt(make_box):
    client = make_box("--grace-ms", "60000").attach()
    number = client.start(frames.EXECUTE, "signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(1000)")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    client.send(frames.INTERRUPT, number)
    waiting = client.query()
    assert client.query_answer() == {"status": "busy"}, "one at a time"
    assert client.answer(waiting) == {"status": "busy"}


def test_a_kernel_without_queries_gets_none(client):
    client.terminal("touch /workspace/no-queries")
    client.execute("1", restart=True)
    assert client.query_answer() == {"status": "cannot"}


def test_a_cell_does_not_wait_for_a_query(client):
    client.execute(HANGS)
    number = client.query()
    client.terminal("until [ -e /workspace/begun ]; do sleep 0.01; done")
    assert client.query_answer() == {"status": "busy"}, "one at a time"
    reply = client.execute("answer = lambda message: {'status': 'ok'}\nprint(1)")
    assert (reply.ending, reply.out, reply.end["kernel"]) == ("ok", b"1\n", "kept")
    assert client.answer(number) == {"status": "busy"}
    assert client.query_answer()["status"] == "ok"


def test_a_hanging_query_times_out(client):
    client.execute("def answer(message):\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n    time.sleep(1000)\n")
    assert client.query_answer() == {"status": "timeout"}, "PID 1's own word"
    assert client.query_answer() == {"status": "busy"}


def test_a_kernel_that_dies_during_a_query_is_restarted(client):
    client.execute("x = 1\nanswer = lambda message: os._exit(3)")
    assert client.query_answer() == {"status": "gone"}
    client.event("kernel_ready")
    assert client.query_answer()["status"] == "ok"
    assert client.execute("print('x' in globals())").end["kernel"] == "restarted"


def test_hostile_answers_are_rejected(client):
    client.execute("answer = lambda message: {'status': 'ok', 'matches': ['x' * 1000] * 1000}")
    assert client.query_answer() == {"status": "too_long"}
    reply = client.execute("link.send(op='answer', id=1, status='ok')\ntime.sleep(1000)")
    assert reply.ending == "kernel_died" and "without a query" in reply.detail, reply.end
