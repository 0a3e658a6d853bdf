"""Repeated requests, and limits of keys and tenants, with real servers and stores."""

import contextlib
import statistics
import time

import pytest
from postgres import Postgres
from websocket_client import Refused, WebSocket


@pytest.fixture(scope="module")
def database():
    with contextlib.closing(Postgres()) as one:
        yield one


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request):
    return {"DATABASE_URL": request.getfixturevalue("database").url} if request.param == "postgres" else {}


def test_a_repeated_request_survives_a_killed_server(serve, settings):
    one = serve(**settings)
    fields = {"Idempotency-Key": "create-1"}
    body = {"language": "python", "network": False}
    first = one.call("POST", "/v1/sessions", body, fields=fields).ok()
    session = first.json["id"]
    run = {"Idempotency-Key": "run-1", "Prefer": "wait=30"}
    ran = one.call("POST", f"/v1/sessions/{session}/runs", {"text": "print('once'); 41 + 1"}, fields=run).ok()
    one.kill()
    again = serve(home=one.home, **settings)
    repeated = again.call("POST", "/v1/sessions", body, fields=fields)
    assert (repeated.status, repeated.body) == (201, first.body)
    assert repeated.fields["location"] == first.fields["location"]
    same = again.call("POST", f"/v1/sessions/{session}/runs", {"text": "print('once'); 41 + 1"}, fields=run)
    assert (same.status, same.body, same.fields["idempotent-replayed"]) == (ran.status, ran.body, "true")
    other = again.call("POST", f"/v1/sessions/{session}/runs", {"text": "2"}, fields=run)
    assert other.status == 422
    assert len(again.call("GET", "/v1/sessions").json["sessions"]) == 1


FORM = (b'--%s\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n%s\r\n--%s--\r\n')


def test_repeated_keys_and_uploads_survive_a_killed_server(serve, settings):
    one = serve(**settings)
    content = bytes(range(256)) * 40000  # more than one piece of a hash

    def post_both(serving, boundary):
        key = serving.call("POST", "/v1/keys", {"name": "laptop"}, fields={"Idempotency-Key": "key-1"}).ok()
        upload = serving.call("POST", "/threads/t1/files/upload", FORM % (boundary, content, boundary),
                              fields={"Idempotency-Key": "upload-1", "Content-Type": f"multipart/form-data; boundary={boundary.decode()}"}).ok()
        return key, upload

    first = post_both(one, b"AA")
    one.kill()
    again = serve(home=one.home, **settings)
    second = post_both(again, b"BB")
    assert [(reply.status, reply.body) for reply in first] == [(reply.status, reply.body) for reply in second]
    assert all(reply.fields["idempotent-replayed"] == "true" for reply in second)
    assert again.call("GET", "/v1/me", key=second[0].json["key"]).status == 200
    assert len(again.call("GET", "/v1/exports", fields={"Husk-Conversation": "t1"}).ok().json["exports"]) == 1
    assert [key["name"] for key in again.call("GET", "/v1/keys").json["keys"]].count("laptop") == 1


def test_the_streams_of_a_tenant_are_limited_together(serving):
    first = serving.husk("keys", "add", "one", "--tenant", "narrow", "--max-streams", "2").stdout.strip()
    second = serving.husk("keys", "add", "two", "--tenant", "narrow").stdout.strip()
    session = serving.create(key=first)
    target = f"/v1/sessions/{session}/terminal"
    streams = [serving.events("/v1/events", key=first), serving.events("/v1/events", key=second)]
    with pytest.raises(Refused) as refused:
        WebSocket("127.0.0.1", serving.port, target, Authorization=f"Bearer {second}")
    assert refused.value.status == 429 and b"limit_tenant" in refused.value.body
    with contextlib.closing(serving.events("/v1/events")) as own:
        assert own.answer.status == 200  # another tenant is not affected
    for stream in streams:
        stream.close()
    serving.call("DELETE", f"/v1/sessions/{session}", key=first).ok()


# evidence: http-tenants
def test_a_foreign_object_takes_the_time_of_a_missing_one(serving):
    """The server finds a foreign object some microseconds later than it misses one, and answers to both after the same time."""
    owner, other = (serving.husk("keys", "add", name, "--tenant", name).stdout.strip() for name in ("owner", "guesser"))
    session = serving.create(key=owner)
    serving.call("POST", f"/v1/sessions/{session}/imports", {"files": [{"content": "x", "destination": "a"}]}, key=owner).ok()
    made = serving.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a"}]}, key=owner).ok().json["files"][0]["export"]["id"]
    with contextlib.closing(serving.connect()) as connection:
        for path, own in (("/v1/sessions/{}", session), ("/v1/sessions/{}/files/workspace/a", session), ("/v1/exports/{}/content", made)):
            taken = {}
            for name in [own, "a" * len(own)] * 30:
                began = time.perf_counter()
                assert serving.call("GET", path.format(name), key=other, connection=connection).status == 404
                taken.setdefault(name, []).append(time.perf_counter() - began)
            assert min(map(min, taken.values())) > 0.0015, path
            foreign, missing = map(statistics.median, taken.values())
            assert abs(foreign - missing) < 0.0005, f"{path}: {foreign}, {missing}"
    serving.call("DELETE", f"/v1/sessions/{session}", key=owner).ok()


def test_the_exports_of_a_tenant_are_limited_together(serving):
    key = serving.husk("keys", "add", "small", "--tenant", "small", "--max-exports", "1m").stdout.strip()
    session = serving.create(key=key)
    serving.run(session, "open('a', 'wb').write(b'a' * 700_000); open('b', 'wb').write(b'b' * 700_000)", key=key)
    reply = serving.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a"}, {"path": "b"}]}, key=key).ok().json
    assert [one["success"] for one in reply["files"]] == [True, False]
    assert "this tenant" in reply["files"][1]["problem"]["detail"]
    serving.call("DELETE", f"/v1/exports/{reply['files'][0]['export']['id']}", key=key).ok()
    again = serving.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "b"}]}, key=key).ok().json
    assert again["success"]
    serving.call("DELETE", f"/v1/sessions/{session}", key=key).ok()


def test_the_memory_of_a_tenant_is_limited_together(serving):
    """The limits of all its sessions count, no matter which key made them."""
    first, second = (serving.husk("keys", "add", name, "--tenant", "heavy", "--max-memory", "1g").stdout.strip() for name in ("one", "two"))
    made = serving.create(key=first, memory="600m")
    refused = serving.call("POST", "/v1/sessions", {"memory": "600m"}, key=second)
    assert (refused.status, refused.json["cause"]) == (429, "limit_tenant"), refused
    assert "Retry-After".lower() in refused.fields and refused.json["hint"]
    small = serving.create(key=second, memory="400m")
    serving.call("DELETE", f"/v1/sessions/{made}", key=first).ok()
    serving.call("DELETE", f"/v1/sessions/{small}", key=first).ok()
    serving.call("DELETE", f"/v1/sessions/{serving.create(key=second, memory='600m')}", key=second).ok()
