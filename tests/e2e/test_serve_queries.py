"""Queries, restart and packages over HTTP, with a real interpreter."""

import pytest


@pytest.fixture(scope="module")
def session(serving):
    return serving.create()


def query(serving, session, kind, **body):
    return serving.call("POST", f"/v1/sessions/{session}/{kind}", body).ok().json


def test_names_are_completed(serving, session):
    serving.run(session, "completable_name = 1")
    got = query(serving, session, "complete", code="completable_")
    assert "completable_name" in got["matches"]
    assert (got.get("start", 0), got["end"]) == (0, len("completable_"))


def test_help_is_shown(serving, session):
    got = query(serving, session, "inspect", code="len", detail=False)
    assert got["found"] and "Return the number of items" in got["text"]


@pytest.mark.parametrize("code, completeness", [("1 + 1", "complete"), ("for i in range(3):", "incomplete"), ("1 +* 1", "invalid")])
def test_code_is_judged(serving, session, code, completeness):
    assert query(serving, session, "is_complete", code=code)["completeness"] == completeness


def test_a_restart_forgets_variables(serving):
    session = serving.create()
    serving.run(session, "kept = 1")
    restarted = serving.call("POST", f"/v1/sessions/{session}/restart").ok()
    assert restarted.status == 200 and restarted.json["ending"] == "ok"
    assert serving.run(session, "kept")["ending"] == "error"
