"""What nothing ran for: a clear error with the next step, and the server goes on."""

import pytest

import harness


def test_a_missing_engine(start):
    server = start(DOCKER_HOST="unix:///nonexistent/docker.sock")
    refused = server.call("create_session")
    assert refused.is_error and refused.took < 10
    assert "no Docker engine answers" in refused.text and "setup-docker.sh" in refused.hint
    assert refused.active_sessions == []
    assert server.ping() is not None


def test_a_missing_client(start, tmp_path):
    refused = start(HUSK_DOCKER=str(tmp_path / "no-docker")).call("create_session")
    assert refused.is_error and "no-docker" in refused.text and "HUSK_DOCKER" in refused.hint


def test_a_missing_image(start):
    server = start(HUSK_IMAGE_PYTHON="husk-none:x")
    refused = server.call("create_session", {"network": False})
    assert refused.is_error
    assert "husk-none:x" in refused.text and "setup-docker.sh" in refused.hint
    assert server.containers() == []


def test_a_client_that_prints_garbage(start, tmp_path):
    fake = harness.Fake(tmp_path / "bin", "head -c 100000 /dev/urandom; head -c 100000 /dev/urandom >&2; exit 3")
    server = start(PATH=fake.path)
    refused = server.call("create_session")
    assert refused.is_error and len(refused.text) < 4000
    assert server.ping() is not None


def test_an_unknown_session(session):
    server = session.server
    for tool, more in (("execute_code", {"code": "1"}), ("execute_terminal", {"command": "true"}), ("stop_session", {})):
        refused = server.call(tool, {"session_id": "nosuchsession", **more})
        assert refused.is_error and "Session 'nosuchsession' not found" in refused.text
        assert session.id in [s["session_id"] for s in refused.active_sessions]
        assert "active" in refused.hint


@pytest.mark.parametrize("tool, arguments, word", [
    ("execute_code", {"code": "1"}, "session_id"),
    ("execute_code", {"session_id": "x"}, "code"),
    ("execute_code", {"session_id": "x", "code": ""}, "code"),
    ("execute_code", {"session_id": "x", "code": 5}, "code"),
    ("execute_code", {"session_id": "x", "code": "1", "speed": 3}, "speed"),
    ("execute_terminal", {"session_id": ["x"], "command": "ls"}, "session_id"),
    ("create_session", {"language": "cobol"}, "cobol"),
    ("create_session", {"network": "perhaps"}, "network"),
    ("create_session", {"dependencies": {"pandas": ""}}, "dependencies"),
    ("stop_session", {}, "session_id"),
])
def test_a_bad_argument_is_named(shared_server, tool, arguments, word):
    refused = shared_server.call(tool, arguments)
    assert refused.is_error and refused.text.startswith("INVALID_INPUT") and word in refused.text


def test_names_of_languages_are_forgiving(start):
    server = start()
    assert server.session(language="py", network=False).code("1").ok()


def test_limits_on_sessions(start):
    server = start(CONTAINER_MAX_SESSIONS_PER_THREAD=1)
    first = server.session(network=False)
    refused = server.call("create_session", {"network": False})
    assert refused.is_error and "Maximum sessions per conversation (1) reached" in refused.text
    assert [s["session_id"] for s in refused.active_sessions] == [first.id]
    first.stop()
    assert server.session(network=False).code("1").ok()
