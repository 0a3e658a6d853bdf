"""Three servers share one Postgres, and any of them answers for any session."""

import concurrent.futures
import contextlib
import os
import signal

import harness
import pytest
from fleet import Fleet, Mcp
from harness import wait_until
from websocket_client import WebSocket


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with contextlib.closing(Fleet(tmp_path_factory.mktemp("fleet"))) as one:
        yield one


@pytest.fixture
def session(fleet):
    one = fleet.servers[0].create(key=fleet.key)
    yield one
    fleet.call("DELETE", f"/v1/sessions/{one}")


def test_any_server_answers_for_a_session(fleet, session):
    target = f"/v1/sessions/{session}"
    for number, one in enumerate(fleet.servers):
        assert one.run(session, "total = globals().get('total', 0) + 1\ntotal", key=fleet.key)["result"]["text/plain"] == str(number + 1)
    content = os.urandom(3 << 20)
    _, second, third = fleet.servers
    assert second.call("PUT", f"{target}/files/workspace/big", content, key=fleet.key).status in (200, 201, 204)
    assert third.call("GET", f"{target}/files/workspace/big", key=fleet.key).body == content
    with WebSocket("127.0.0.1", third.port, f"{target}/terminal?rows=37&cols=101", Authorization=f"Bearer {fleet.key}") as shell:
        shell.send(b"stty size; exit 3\n")
        shell.read_until(b"37 101")
        while isinstance(message := shell.receive(), bytes):
            pass
        assert message["end"]["exit_code"] == 3


def test_a_signed_link_works_on_every_server(fleet, session):
    first, second, third = fleet.servers
    first.run(session, "open('a.txt', 'w').write('content')", key=fleet.key)
    made = second.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a.txt"}]}, key=fleet.key).ok().json["files"][0]["export"]
    assert made["download_url"].startswith(second.origin)
    link = made["download_url"].removeprefix(second.origin)
    assert [one.call("GET", link, key="").body for one in (first, second, third)] == [b"content"] * 3


def test_a_repeated_request_gets_the_same_answer_from_another_server(fleet, session):
    first, second, third = fleet.servers
    body = {"text": "once = globals().get('once', 0) + 1\nonce"}
    fields = {"Prefer": "wait=60", "Idempotency-Key": "run-1"}
    answers = [one.call("POST", f"/v1/sessions/{session}/runs", body, key=fleet.key, fields=fields) for one in (second, third, first)]
    assert [answer.body for answer in answers] == [answers[0].body] * 3
    assert answers[0].json["result"]["text/plain"] == "1"


def test_keys_of_one_server_are_known_to_the_others(fleet):
    first, second, third = fleet.servers
    made = second.call("POST", "/v1/keys", {"name": "new"}).ok().json
    assert [one.call("GET", "/v1/me", key=made["key"]).status for one in (third, first)] == [200, 200]
    third.call("DELETE", f"/v1/keys/{made['id']}").ok()
    assert third.call("GET", "/v1/me", key=made["key"]).status == 401


def value_of(result):
    return result["content"][0]["text"].rsplit("⟦result⟧ ", 1)[-1].strip()


WAIT = "import time\nprint('on', flush=True)\ntime.sleep(600)"


def test_mcp_requests_go_to_any_server(fleet):
    first, second, third = fleet.servers
    mcp = Mcp(fleet)
    session = mcp.tool(first, "create_session", language="python", network=False)["structuredContent"]["session_id"]
    for number, one in enumerate(fleet.servers):
        cell = mcp.tool(one, "execute_code", session_id=session, code="n = globals().get('n', -1) + 1\nn")
        assert value_of(cell) == str(number)
    # Progress arrives through another server.
    mcp.tool(second, "execute_code", session_id=session, code="import time\nfor _ in range(3):\n    print('tick', flush=True)\n    time.sleep(.5)",
             more={"meta": {"progressToken": "p"}})
    assert any(message["method"] == "notifications/progress" and message["params"]["progressToken"] == "p" for message in mcp.notifications)
    # A client that disconnects from another server cancels its call.
    connection, answer = mcp.send(third, "tools/call", {"name": "execute_code", "arguments": {"session_id": session, "code": WAIT}},
                                  meta={"progressToken": 1})
    answer.readline()
    answer.close()
    connection.close()
    assert value_of(mcp.tool(second, "execute_code", session_id=session, code="'free'")) == "'free'"
    mcp.tool(third, "stop_session", session_id=session)


def test_legacy_sessions_of_mcp_continue_at_any_server(fleet, session):
    first, second, third = fleet.servers
    mcp = Mcp(fleet).begin(second)
    # The session of the protocol is second's, the session with the interpreter is first's, the requests arrive at third.
    assert value_of(mcp.tool(third, "execute_code", session_id=session, code="x = 40\nx + 2")) == "42"
    connection, answer = mcp.send(third, "tools/call", {"name": "execute_code", "arguments": {"session_id": session, "code": WAIT}},
                                  number=77, meta={"progressToken": "p"})
    with contextlib.closing(connection):
        answer.readline()
        assert mcp.notify(first, "notifications/cancelled", {"requestId": 77}).status == 202
        answer.read()
    assert value_of(mcp.tool(third, "execute_code", session_id=session, code="x")) == "40"
    # A broken stream is resumed through another server: it belongs to the session's server.
    connection, answer = mcp.send(third, "tools/call", {"name": "execute_code", "arguments": {"session_id": session, "code": (
        "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(.02)\n'resumed'")}}, meta={"progressToken": "p"})
    event = next(line for line in answer if line.startswith(b"id: ")).decode()[4:].strip()
    answer.close()
    connection.close()
    fleet.call("POST", f"/v1/sessions/{session}/runs", {"text": "touch go", "kind": "command"}, fields={"Prefer": "wait=30"}).ok()
    with contextlib.closing(first.connect()) as again:
        again.request("GET", "/mcp", headers={**mcp.fields("", None), "Authorization": f"Bearer {fleet.key}", "Last-Event-ID": event})
        messages = mcp.read(again.getresponse())
    assert value_of(messages[-1]["result"]) == "'resumed'"
    assert first.call("DELETE", "/mcp", key=fleet.key, fields=mcp.fields("", None)).status == 204
    assert third.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}, key=fleet.key, fields=mcp.fields("", None)).status == 404


def test_another_key_cannot_use_a_legacy_session(fleet):
    first, second, _ = fleet.servers
    mcp = Mcp(fleet).begin(first)
    mcp.key = fleet.make_key("stranger")
    for one in (first, second):
        assert one.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}, key=mcp.key,
                        fields=mcp.fields("", None)).status == 404


UNTIL_GO = "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(.02)\nos.remove('go')\n"


def go(one, session, key):
    one.call("POST", f"/v1/sessions/{session}/runs", {"text": "touch go", "kind": "command"}, key=key, fields={"Prefer": "wait=60"}).ok()


def test_tasks_are_known_to_every_server(fleet, session):
    first, second, third = fleet.servers
    mcp = Mcp(fleet, tasks=True)

    def begin():
        handle = mcp.tool(second, "execute_code", session_id=session, code=UNTIL_GO + "'done'")
        assert handle["resultType"] == "task"
        return handle["taskId"]

    def get(one, task):
        return mcp.ask(one, "tasks/get", {"taskId": task})

    task = begin()
    assert get(third, task)["status"] == "working"
    go(third, session, fleet.key)
    ended = wait_until(lambda: (found := get(third, task))["status"] != "working" and found)
    assert value_of(ended["result"]) == "'done'"
    task = begin()
    mcp.ask(third, "tasks/cancel", {"taskId": task})
    for one in (second, first):  # the run is interrupted first
        wait_until(lambda one=one: get(one, task)["status"] == "cancelled")


def begin_run(one, session, key, text, **fields):
    """Begins a run, and returns its number once it has printed."""
    run = one.call("POST", f"/v1/sessions/{session}/runs", {"text": text}, key=key, fields=fields).ok().json["run"]
    with contextlib.closing(one.events(f"/v1/sessions/{session}/events?run={run}&after=0", key=key)) as events:
        events.wait("run.output")
    return run


def check_after_its_server(fleet, session, run, events, mcp):
    """The session's server has ended during the run. The others continue, and nothing is lost or told twice."""
    first, second, third = fleet.servers
    seen = events.wait_end()
    assert not [event for event in seen if event["event"] in ("run.ended", "session.ended")]
    again = third.events(f"/v1/sessions/{session}/events?run={run}", key=fleet.key, **{"Last-Event-ID": seen[-1]["id"]})
    with contextlib.closing(again):
        go(second, session, fleet.key)
        again.wait("run.ended")
        later = list(again.got)
    numbers = [int(event["id"]) for event in (*seen, *later)]
    assert numbers == sorted(set(numbers)) and [event["event"] for event in later].count("gap") <= 1
    answer = first.call("GET", f"/v1/sessions/{session}/runs/{run}", key=fleet.key).ok().json
    assert (answer["ending"], answer["stdout"], answer["result"]["text/plain"]) == ("ok", "on\n", "42")
    assert value_of(mcp.tool(third, "execute_code", session_id=session, code="x")) == "41"


@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_a_server_that_ends_loses_no_run(fleet, signo):
    fourth = fleet.add()
    session = fourth.create(key=fleet.key)
    mcp = Mcp(fleet).begin(fourth)
    mcp.tool(fourth, "execute_code", session_id=session, code="x = 41")
    fields = {"Idempotency-Key": f"run-{session}", "Prefer": "respond-async"}
    run = begin_run(fourth, session, fleet.key, UNTIL_GO + "x + 1", **fields)
    events = fleet.servers[1].events(f"/v1/sessions/{session}/events?run={run}&after=0", key=fleet.key)
    with contextlib.closing(events):
        events.wait("run.output")
        fourth.process.send_signal(signo)
        fourth.process.wait()
        fleet.servers.remove(fourth)
        check_after_its_server(fleet, session, run, events, mcp)
    repeated = fleet.servers[2].call("POST", f"/v1/sessions/{session}/runs", {"text": UNTIL_GO + "x + 1"}, key=fleet.key, fields=fields)
    assert (repeated.json["run"], repeated.fields["idempotent-replayed"]) == (run, "true")
    fleet.call("DELETE", f"/v1/sessions/{session}").ok()
    fourth.stop()


def at_once(fleet, call, n=6):
    """Calls each server in turn, all at the same moment. Returns the answers."""
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(call, [fleet.servers[number % 3] for number in range(n)]))


def check_refusals(replies, granted):
    refused = [reply for reply in replies if reply.status == 429]
    assert len(refused) == len(replies) - granted, replies
    assert {reply.json["cause"] for reply in refused} == {"limit_tenant"}


@pytest.mark.parametrize("option, limit, granted", [("--max-sessions", "2", 2), ("--max-memory", "1g", 1)])
def test_limits_hold_for_sessions_that_are_made_at_once(fleet, option, limit, granted):
    key = fleet.make_key("one", option, limit, tenant=f"small{option}")
    replies = at_once(fleet, lambda one: one.call("POST", "/v1/sessions", {"memory": "600m", "network": False}, key=key))
    check_refusals(replies, granted)
    for reply in replies:
        if reply.status == 201:
            fleet.call("DELETE", f"/v1/sessions/{reply.json['id']}", key=key).ok()


def test_limits_hold_for_exports_that_are_made_at_once(fleet):
    key = fleet.make_key("one", "--max-exports", "1m", tenant="exporting")
    sessions = [one.create(key=key) for one in fleet.servers]
    for number, session in enumerate(sessions):
        fleet.run(session, f"open('a', 'wb').write(b'{number}' * 400_000)", key=key)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda one, session: one.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a"}]}, key=key),
                                fleet.servers, sessions))
    files = [reply.json["files"][0] for reply in replies]
    assert sorted(file["success"] for file in files) == [False, True, True], files
    assert "this tenant" in next(file for file in files if not file["success"])["problem"]["detail"]
    for session in sessions:
        fleet.call("DELETE", f"/v1/sessions/{session}", key=key).ok()


def test_limits_hold_for_streams_that_are_opened_at_once(fleet):
    key = fleet.make_key("one", "--max-streams", "2", tenant="watching")
    streams = at_once(fleet, lambda one: one.events("/v1/events", key=key))
    assert sorted(stream.answer.status for stream in streams) == [200, 200, 429, 429, 429, 429]
    for stream in streams:
        stream.close()

    def open_two():
        """The servers see that the others are closed."""
        two = [one.events("/v1/events", key=key) for one in fleet.servers[1:]]
        for stream in two:
            stream.close()
        return {stream.answer.status for stream in two} == {200}

    wait_until(open_two)


def read_end(one, session, run, key):
    """The run's record, once it has ended."""
    with contextlib.closing(one.events(f"/v1/sessions/{session}/runs/{run}", key=key)) as events:
        events.wait_end()
    return one.call("GET", f"/v1/sessions/{session}/runs/{run}", key=key).ok().json


def test_a_run_that_ends_without_a_server_is_not_lost(fleet):
    one = fleet.servers[2]
    session = one.create(key=fleet.key)
    run = begin_run(one, session, fleet.key, UNTIL_GO + "print('over')\nopen('over', 'w').close()\n40 + 2")
    container = fleet.postgres.sql(f"SELECT container FROM sessions WHERE id = '{session}'")[0][0]
    one.kill()
    inside = harness.usual_engine.inside
    inside(container, "touch", "/workspace/go")
    wait_until(lambda: "over" in inside(container, "ls", "/workspace").split())
    fleet.restart(one)
    answer = read_end(fleet.servers[0], session, run, fleet.key)
    assert (answer["ending"], answer["stdout"], answer["result"]["text/plain"]) == ("ok", "on\nover\n", "42")
    fleet.call("DELETE", f"/v1/sessions/{session}").ok()


def test_a_rolling_restart_loses_no_run(fleet):
    """Each server is replaced while runs of all of them are under way, and clients use the others."""
    sessions = [one.create(key=fleet.key) for one in fleet.servers]
    runs = [begin_run(one, session, fleet.key, UNTIL_GO + "'done'") for one, session in zip(fleet.servers, sessions, strict=True)]
    for one in list(fleet.servers):
        one.process.send_signal(signal.SIGTERM)
        one.process.wait()
        for session, run in zip(sessions, runs, strict=True):
            for other in (server for server in fleet.servers if server is not one):
                assert other.call("GET", f"/v1/sessions/{session}/runs/{run}", key=fleet.key).ok().json["state"] in ("queued", "running")
        fleet.restart(one)
    for session, run, one in zip(sessions, runs, fleet.servers, strict=True):
        go(one, session, fleet.key)
        answer = read_end(one, session, run, fleet.key)
        assert (answer["ending"], answer["stdout"], answer["result"]["text/plain"]) == ("ok", "on\n", "'done'")
        fleet.call("DELETE", f"/v1/sessions/{session}").ok()
