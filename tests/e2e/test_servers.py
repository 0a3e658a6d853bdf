"""Three servers share one Postgres, and any of them answers for any session."""

import contextlib
import os

import pytest
from fleet import Fleet
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
