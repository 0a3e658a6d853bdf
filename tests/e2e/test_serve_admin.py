"""Keys, settings, doctor, readiness, usage and notebooks over HTTP."""

import contextlib

import harness
import nbformat
import pytest
from postgres import Postgres
from serving import Serving


@pytest.fixture(scope="module")
def keeping(tmp_path_factory):
    """A server that keeps code, with a secret among its settings."""
    one = Serving(tmp_path_factory.mktemp("keeping"), HISTORY_KEEPS_CODE="true", ENCRYPTION_KEY="canary-0123456789-key")
    yield one
    one.stop()


def test_a_key_is_made_used_and_removed(serving):
    made = serving.call("POST", "/v1/keys", {"name": "by-http", "scopes": ["sessions:read"], "tenant": "acme", "max_sessions": 1}).ok().json
    assert made["key"].startswith(f"husk_{made['id']}_") and made["tenant"] == "acme"
    assert serving.call("GET", "/v1/sessions", key=made["key"]).json == {"sessions": []}
    assert serving.call("POST", "/v1/sessions", {}, key=made["key"]).status == 403
    assert serving.call("DELETE", f"/v1/keys/{made['id']}?tenant=acme").status == 204
    assert serving.call("GET", "/v1/me", key=made["key"]).status == 401


def test_a_key_for_sessions_cannot_manage_keys(serving):
    plain = serving.husk("keys", "add", "plain").stdout.strip()
    for method, target, body in (("GET", "/v1/keys", None), ("POST", "/v1/keys", {"name": "x"}), ("DELETE", "/v1/keys/plain", None),
                                 ("GET", "/v1/settings", None), ("GET", "/v1/doctor", None)):
        assert serving.call(method, target, body, key=plain).status == 403, target


def test_settings_never_show_secrets(keeping):
    reply = keeping.call("GET", "/v1/settings").ok()
    settings = {one["name"]: one for one in reply.json["settings"]}
    assert settings["HISTORY_KEEPS_CODE"] == {"name": "HISTORY_KEEPS_CODE", "secret": False, "from": "environment", "value": "true"}
    assert settings["ENCRYPTION_KEY"] == {"name": "ENCRYPTION_KEY", "secret": True, "from": "environment", "set": True}
    assert b"canary" not in reply.body


def test_the_doctor_answers(serving):
    found = serving.call("GET", "/v1/doctor").ok().json
    names = [check["name"] for check in found["checks"]]
    assert found["ok"] and "engine" in names and "image python" in names


def test_readiness_needs_no_key(serving):
    assert serving.call("GET", "/readyz", key="").ok().json["status"] == "ready"


def test_a_server_without_an_engine_is_not_ready(serve):
    one = serve(DOCKER_HOST="unix:///nowhere/docker.sock")
    reply = one.call("GET", "/readyz", key="")
    assert (reply.status, reply.json["kind"]) == (503, "engine")
    assert b"/nowhere" not in reply.body
    assert one.call("GET", "/healthz", key="").status == 200


def test_a_server_without_its_store_is_not_ready(serve):
    with contextlib.closing(Postgres()) as database:
        one = serve(DATABASE_URL=database.url)
        assert one.call("GET", "/readyz", key="").status == 200
        database.kill()
        reply = one.call("GET", "/readyz", key="")
        assert (reply.status, reply.json["kind"]) == (503, "store")
        assert b"postgres" not in reply.body


def test_usage_is_within_the_limits(serving):
    session = serving.create()
    usage = serving.call("GET", f"/v1/sessions/{session}/usage").ok().json
    assert 0 < usage["usage"]["memory"] <= usage["limits"]["memory"]


def test_a_session_becomes_a_notebook(keeping):
    session = keeping.create()
    keeping.run(session, "print('hello')\n1 + 1")
    keeping.run(session, "echo shell", kind="command")
    keeping.call("DELETE", f"/v1/sessions/{session}").ok()

    def notebook():
        reply = keeping.call("GET", f"/v1/sessions/{session}/notebook.ipynb")
        return reply if reply.status == 200 and len(reply.json["cells"]) == 2 and reply.json["cells"][1]["outputs"] else None

    reply = harness.wait_until(notebook, what="the stored runs")
    assert reply.fields["content-type"] == "application/x-ipynb+json"
    first, second = reply.json["cells"]
    nbformat.validate(nbformat.reads(reply.body.decode(), as_version=nbformat.NO_CONVERT))
    assert first["source"].startswith("print") and second["source"].startswith("%%bash")
    other = keeping.husk("keys", "add", "stranger", "--tenant", "stranger").stdout.strip()
    assert keeping.call("GET", f"/v1/sessions/{session}/notebook.ipynb", key=other).status == 404
