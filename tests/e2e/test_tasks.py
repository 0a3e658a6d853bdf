"""Tasks: a client that knows them gets a handle for a long call, and can request its result repeatedly."""

import signal

import pytest
from harness import META, Session, ToolResult, wait_until

EXTENSION = "io.modelcontextprotocol/tasks"
KNOWS_TASKS = {META + "clientCapabilities": {"extensions": {EXTENSION: {}}}}
# Calls become tasks at once, so that no test waits for it.
AT_ONCE = {"MCP_TASK_AFTER_SECONDS": 0}
# A cell that runs until a file allows it to end.
UNTIL_GO = """import os, time
print('begun', flush=True)
open('/workspace/begun', 'w').close()
while not os.path.exists('/workspace/go'): time.sleep(0.01)
os.remove('/workspace/go')
print('went')
"""


def ask(server, method, **params):
    return server.request(method, params, meta=KNOWS_TASKS)


def call(session, tool="execute_code", **arguments):
    return ask(session.server, "tools/call", name=tool, arguments={"session_id": session.id, **arguments}).result()


def begin(session, code=UNTIL_GO, **arguments):
    """The id of the task that a cell becomes."""
    handle = call(session, code=code, **arguments)
    assert (handle["resultType"], handle["status"]) == ("task", "working"), handle
    return handle["taskId"]


def get(server, task):
    return ask(server, "tasks/get", taskId=task).result()


def ended(server, task):
    return wait_until(lambda: (lambda t: t if t["status"] != "working" else None)(get(server, task)))


def go(session):
    """Lets the cell end without a tool call, which would report ended runs."""
    session.server.engine.inside(session.container, "touch", "/workspace/go")


def has_ended(task):
    return lambda server: [n for n in server.notifications if n["method"] == "notifications/tasks" and n["params"]["taskId"] == task]


def tells_of(result, *runs):
    return [e for e in result.ok().fields.get("earlier", []) if e["run"] in runs]


@pytest.fixture
def session(start):
    return start(**AT_ONCE).session(network=False)


def test_a_task_has_a_handle_and_a_result(session):
    server = session.server
    task = begin(session)
    assert get(server, task)["status"] == "working"
    listening = ask(server, "subscriptions/listen", notifications={"taskIds": [task, "a" * 26]})
    server.wait_for(lambda s: s.notifications, what="an acknowledgement")
    assert server.notifications[0]["params"]["notifications"] == {"taskIds": [task]}
    go(session)
    server.wait_for(has_ended(task), what="the end of the task")
    told = has_ended(task)(server)[0]["params"]
    assert told["status"] == "completed" and told["_meta"] == {META + "subscriptionId": listening.id}
    first, second = get(server, task), get(server, task)
    assert first == second and first["result"] == told["result"]
    result = ToolResult(first["result"])
    assert (result.stdout, result.ending, result.run) == ("begun\nwent\n", "ok", 1)
    # An end is reported once to tool calls, and this one belongs to the task.
    assert "earlier" not in session.shell("true").ok().fields
    refused = session.code(run=1)
    assert refused.is_error and "has ended" in refused.text
    assert get(server, task) == first
    task = begin(session, UNTIL_GO + "1 / 0")
    go(session)
    raised = ended(server, task)
    assert raised["status"] == "completed" and "ZeroDivisionError" in ToolResult(raised["result"]).text


def test_clients_without_tasks_wait(session):
    waited = session.start_code(UNTIL_GO)  # declares nothing
    task = begin(session, "'behind it'")
    go(session)
    assert waited.tool().ok().stdout == "begun\nwent\n"
    assert ToolResult(ended(session.server, task)["result"]).value == "'behind it'"
    running = ToolResult(call(session, code=UNTIL_GO, wait=0))
    assert running.ending == "running"
    go(session)
    again = ToolResult(call(session, run=running.run, wait=60))
    assert again.ok().run == running.run


def test_cancel_ends_the_run_and_keeps_variables(session):
    task = begin(session, "kept = 1\n" + UNTIL_GO)
    command = call(session, "execute_terminal", command="sleep 1000")
    session.server.engine.inside(session.container, "sh", "-c", "until [ -e /workspace/begun ]; do sleep 0.02; done")
    assert command["resultType"] == "task"
    for one in (task, command["taskId"]):
        ack = ask(session.server, "tasks/cancel", taskId=one).result()
        assert set(ack) == {"resultType", "_meta"} and ack["resultType"] == "complete"
        assert ended(session.server, one)["status"] == "cancelled"
    assert session.code("kept").ok().value == "1"
    unknown = ask(session.server, "tasks/cancel", taskId=task[::-1]).error()
    assert unknown["code"] == -32602 and "there is no task" in unknown["message"]


def test_a_task_survives_the_server_and_is_reported_once(start, tmp_path):
    """The server is killed with one working task and one whose end was never requested. Each later server knows
    both.
    """
    home = tmp_path / "home"
    session = start(home=home, **AT_ONCE).session(network=False)
    done = call(session, "execute_terminal", command="until [ -e done ]; do sleep 0.02; done; echo finished")["taskId"]
    task = begin(session)
    session.server.engine.inside(session.container, "touch", "/workspace/done")
    first = session.server
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(20)
    again = Session(start(home=home), session.id)
    assert get(again.server, task)["status"] == "working"
    go(again)
    assert ToolResult(ended(again.server, task)["result"]).ok().stdout == "begun\nwent\n"
    assert ToolResult(ended(again.server, done)["result"]).ok().stdout == "finished\n"
    assert tells_of(again.shell("true"), 1, 2) == []
    known = [get(again.server, task), get(again.server, done)]
    again.server.process.send_signal(signal.SIGKILL)
    again.server.process.wait(20)
    third = Session(start(home=home), session.id)
    assert [get(third.server, task), get(third.server, done)] == known
    assert tells_of(third.shell("true"), 1, 2) == []
