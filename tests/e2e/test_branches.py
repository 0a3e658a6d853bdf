"""Branches of interpreters: they run side by side, one is kept, and each answer names its branch."""

import pytest


@pytest.fixture
def session(start):
    return start().session(network=False)


def checkpoint(session, action, name):
    return session.server.call("checkpoint", {"session_id": session.id, "action": action, "name": name})


def cell(session, code, **more):
    return session.server.call("execute_code", {"session_id": session.id, "code": code, **more}, 120)


def usage(session):
    return session.server.call("session_info", {"session_id": session.id}).fields["usage"]


def test_three_alternatives_and_one_is_kept(session):
    session.code("data = [3, None, 2]").ok()
    made = checkpoint(session, "branch", "drop, zero").fields
    assert [b["name"] for b in made["branches"]] == ["drop", "zero"]
    assert cell(session, "data = [d for d in data if d]; len(data)", branch="drop").text.startswith("⟦branch drop⟧\n")
    zero = cell(session, "data = [d or 0 for d in data]; sum(data)", branch="zero")
    assert zero.fields["branch"] == "zero" and zero.value == "5"
    assert "was made from the main interpreter after run 1" in cell(session, "data", branch="third").text
    shown = {b["name"]: b for b in usage(session)["branches"]}
    assert set(shown) == {"drop", "zero", "third"} and shown["zero"]["runs"] == [3] and shown["zero"]["state"] == "ready"
    kept = checkpoint(session, "keep", "zero").fields
    assert kept["restored"]["name"] == "zero" and sorted(kept["dropped"]) == ["drop", "third"] and kept["branches"] == []
    assert session.code("data").ok().value == "[3, 0, 2]"


def test_a_picture_names_its_branch(session):
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    answer = cell(session, plot, branch="a")
    assert answer.text.startswith("⟦branch a⟧") and "⟦picture 1" in answer.text


def test_a_run_that_continues_is_reported_with_its_branch(session):
    running = cell(session, "import time; time.sleep(100)", branch="a", wait=1)
    assert running.ending == "running"
    later = session.code("1")
    assert "in branch a: still running" in later.text
    assert cell(session, "2", branch="b").value == "2"
    number = running.fields["run"]
    ended = session.server.call("execute_code", {"session_id": session.id, "run": number, "interrupt": True})
    assert ended.ending == "interrupted" and ended.fields["branch"] == "a"


@pytest.mark.parametrize("more, words", [({"branch": "a b"}, "letters, digits"), ({"branch": "saved"}, "name of a checkpoint"),
                                         ({"branch": "a", "restart": True}, "cannot be restarted")])
def test_a_wrong_branch_is_refused(session, more, words):
    session.code("1").ok()
    assert checkpoint(session, "save", "saved").fields["success"]
    refused = cell(session, "1", **more)
    assert words in str(refused.fields) + refused.text


@pytest.mark.parametrize("action, name, words", [("keep", "c", "no such branch"), ("undo", "a", "is a branch: "), ("branch", "a,d", "already"),
                                                 ("keep", "c", "branches: 'a'")])
def test_a_wrong_request_lists_the_branches(session, action, name, words):
    assert checkpoint(session, "branch", "a").fields["success"]
    assert words in str(checkpoint(session, action, name).fields)


def test_a_language_that_cannot_be_copied_has_no_branches(start):
    node = start().session(language="node", network=False)
    assert "can be copied" in str(cell(node, "1", branch="a").fields)


def test_branches_survive_a_killed_server(start, tmp_path):
    server = start(home=tmp_path / "home")
    session = server.session(network=False)
    session.code("x = 1").ok()
    assert cell(session, "x = 2", branch="a").fields["success"]
    assert cell(session, "import time; time.sleep(3); x = 3; print('slept')", branch="b", wait=1).ending == "running"
    server.process.kill()
    server.process.wait(20)
    again = start(home=tmp_path / "home")
    session.server = again
    assert cell(session, "x", branch="a").value == "2"
    waited = again.call("execute_code", {"session_id": session.id, "run": 3, "wait": 30})
    text = waited.text + str(cell(session, "x", branch="b").text)
    assert "3" in text
    assert checkpoint(session, "keep", "b").fields["success"] and session.code("x").ok().value == "3"
