"""Checkpoints and recovery of interpreters, over MCP and HTTP."""

import subprocess

import pytest
from harness import PATIENCE, clean_env, husk_binary


@pytest.fixture
def session(start):
    return start().session(network=False)


def checkpoint(session, action, name):
    """The fields of the answer."""
    return session.server.call("checkpoint", {"session_id": session.id, "action": action, "name": name}).fields


def test_a_crash_costs_only_what_came_after_the_checkpoint(session):
    session.code("import os\nframe = list(range(1000))").ok()
    saved = checkpoint(session, "save", "loaded")
    assert saved["saved"]["name"] == "loaded" and saved["saved"]["run"] == 1
    session.code("frame = frame[:5]").ok()
    ended = session.code("open('out.csv', 'w').close()\nos._exit(3)")
    assert ended.ending == "kernel_died" and ended.fields["restored"]["missing"] == [2, 3]
    assert "Variables are as they were after run 1; runs 2 and 3 are not in them." in ended.text
    assert "have changed since then: out.csv." in ended.text
    assert session.code("len(frame)").ok().value == "1000"


def test_an_undo_returns_to_a_name_or_to_a_run(session):
    session.code("x = 1").ok()
    assert checkpoint(session, "save", "one")["success"]
    session.code("x = 2").ok()
    assert checkpoint(session, "save", "two")["success"]
    session.code("x = 3").ok()
    assert checkpoint(session, "undo", "one")["restored"]["missing"] == [2, 3]
    assert session.code("x").ok().value == "1"
    assert checkpoint(session, "undo", "2")["restored"]["run"] == 2
    assert session.code("x").ok().value == "2"
    shown = session.server.call("session_info", {"session_id": session.id}).fields["usage"]["checkpoints"]
    assert {"one", "two"} <= {one.get("name") for one in shown}
    assert checkpoint(session, "drop", "one")["success"]


@pytest.mark.parametrize("action, name, words", [("undo", "nothing", "no such checkpoint"), ("undo", "77", "no such checkpoint"),
                                                 ("save", "a b", "letters, digits"), ("fly", "a", "save"), ("drop", "b", "'a' (after run 1)")])
def test_a_wrong_request_says_what_there_is(session, action, name, words):
    session.code("1").ok()
    assert checkpoint(session, "save", "a")["success"]
    refused = checkpoint(session, action, name)
    assert words in str(refused) and "success" not in str(refused).replace("'success': False", ""), refused


def test_a_busy_interpreter_is_refused(session):
    running = session.start_code("import time; time.sleep(100)", 100, wait=1)
    assert running.tool().ending == "running"
    assert "busy" in str(checkpoint(session, "save", "a"))


def test_every_face_says_why_node_has_no_checkpoints_and_what_to_do(start, tmp_path):
    server = start(home=tmp_path / "home")
    node = server.session(language="node", network=False)
    node.code("1").ok()
    why, instead = "Only Python and R interpreters can be copied", "Save what was slow to make in a file"
    for action in ("save", "undo", "drop"):
        refused = str(checkpoint(node, action, "a"))
        assert "cannot have checkpoints" in refused and why in refused and instead in refused
    usage = server.call("session_info", {"session_id": node.id}).fields["usage"]
    assert why in usage["no_checkpoints"] and usage["checkpoints"] == []
    repl = subprocess.run([husk_binary(), "repl", node.id], input="%checkpoint a\n", env=clean_env(tmp_path / "home"), capture_output=True,
                          text=True, timeout=PATIENCE)
    assert repl.returncode and why in repl.stderr and instead in repl.stderr
    socket = next((tmp_path / "home").rglob("attach/*.sock"))
    rest = subprocess.run(["curl", "-sS", "--unix-socket", str(socket), f"http://localhost/v1/sessions/{node.id}/checkpoints", "--json",
                           '{"name": "a"}'], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    assert why in rest and instead in rest and '"cause":"cannot_answer"' in rest


R = {"variables": 'frame <- 1:1000\n', "cut": "frame <- frame[1:5]", "end": 'file.create("out.csv"); tools::pskill(Sys.getpid(), 9); Sys.sleep(60)'}


def test_r_is_saved_restored_and_undone_too(start):
    session = start().session(language="r", network=False)
    session.code(R["variables"]).ok()
    assert checkpoint(session, "save", "loaded")["saved"]["run"] == 1
    session.code(R["cut"]).ok()
    ended = session.code(R["end"])
    assert ended.ending == "kernel_died" and ended.fields["restored"]["missing"] == [2, 3]
    assert "have changed since then: out.csv." in ended.text
    assert session.code("length(frame)").ok().value == "[1] 1000"
    session.code(R["cut"]).ok()
    assert checkpoint(session, "undo", "loaded")["restored"]["missing"] == [4, 5]
    assert session.code("length(frame)").ok().value == "[1] 1000"


def test_the_operator_can_turn_them_off(start):
    session = start(SESSION_CHECKPOINTS="off").session(network=False)
    assert "turned checkpoints off" in str(checkpoint(session, "save", "a"))


def test_a_server_that_is_killed_loses_no_checkpoint(start, tmp_path):
    server = start(home=tmp_path / "home")
    session = server.session(network=False)
    session.code("x = 1").ok()
    assert checkpoint(session, "save", "a")["success"]
    session.code("x = 2").ok()
    server.process.kill()
    server.process.wait(20)
    again = start(home=tmp_path / "home")
    assert again.call("checkpoint", {"session_id": session.id, "action": "undo", "name": "a"}).fields["restored"]["missing"] == [2]


def test_the_journal_has_what_clients_ask_for(serving):
    session = serving.create()
    route = f"/v1/sessions/{session}/checkpoints"
    serving.run(session, "x = 1")
    serving.call("POST", route, {"name": "one"}).ok()
    serving.run(session, "x = 2")
    serving.call("POST", route, {"action": "undo", "name": "one"}).ok()
    serving.call("POST", route, {"action": "drop", "name": "one"}).ok()
    assert serving.call("POST", route, {"action": "undo", "name": "one"}).status == 404
    events = serving.call("GET", f"/v1/sessions/{session}/events?after=0&only=checkpoint").ok().json["events"]
    assert [(e["event"], e.get("text"), e.get("after_run")) for e in events] == [
        ("checkpoint.saved", "one", 1), ("checkpoint.restored", "one", 1), ("checkpoint.dropped", "one", None)]
