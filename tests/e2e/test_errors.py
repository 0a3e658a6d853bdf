"""Failures in which nothing ran: each is a tool error that says what is wrong and what to do next."""

import json

import pytest
from harness import Fake


def check_plain(result):
    """isError, readable by a model, no host traceback."""
    assert result.is_error
    text = result.text
    assert text and len(text) < 3000
    for word in ("Traceback", "manager/", ".c:", "errno", "(null)"):
        assert word not in text, text
    return text


# --- the engine


def test_no_engine(start):
    server = start(DOCKER_HOST="unix:///nonexistent/docker.sock", DOCKER_CONTEXT=None)
    text = check_plain(server.call("create_session", {}))
    assert "husk setup" in text or "start" in text.lower()
    assert "/nonexistent/docker.sock" in text or "engine" in text.lower() or "daemon" in text.lower()
    assert server.ping() < 5
    check_plain(server.call("create_session", {"network": False}))  # the next create fails in the same way


def test_no_docker_client(start, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    server = start(PATH=str(empty))
    text = check_plain(server.call("create_session", {}))
    assert "docker" in text and "husk setup" in text


def test_a_create_with_a_hanging_docker_client_can_be_cancelled(start, tmp_path):
    fake = Fake(tmp_path / "bin", "exec sleep 600")
    server = start(PATH=fake.path)
    hanging = server.start_call("create_session", {})
    server.wait_for(lambda s: True)
    assert server.ping() < 2
    server.cancel(hanging)
    assert server.ping() < 2
    assert not hanging.done


BROKEN_CLIENTS = ["exit 1", "exit 0", "echo garbage; exit 0", "echo '{bad' >&2; exit 125", "kill -9 $$",
                  "head -c 3000000 /dev/zero >&2; exit 1"]


@pytest.mark.parametrize("script", BROKEN_CLIENTS)
def test_a_broken_docker_client_is_reported_at_once(start, tmp_path, script):
    server = start(PATH=Fake(tmp_path / "bin", script).path)
    check_plain(server.start_call("create_session", {"network": False}).tool(120))
    assert server.ping() < 5


def test_a_context_is_honoured(start, tmp_path):
    """The docker client decides where its engine is; Husk passes its environment on and adds nothing."""
    fake = Fake(tmp_path / "bin", 'echo "$DOCKER_HOST|$DOCKER_CONTEXT" >>"$0.env"; exit 1')
    server = start(PATH=fake.path, DOCKER_HOST="tcp://engine.invalid:2376", DOCKER_CONTEXT="elsewhere")
    check_plain(server.call("create_session", {}))
    seen = set((tmp_path / "bin" / "docker.env").read_text().splitlines())
    assert seen == {"tcp://engine.invalid:2376|elsewhere"}
    assert not any("-H" in call.split() or "--host" in call for call in fake.calls())


def test_no_image(start):
    server = start(HUSK_IMAGE_PYTHON="husk-none:x")
    result = server.call("create_session", {"network": False})
    text = check_plain(result)
    assert "husk-none:x" in text and "husk setup" in text
    assert result.took < 20
    assert server.containers() == []
    again = server.call("create_session", {})
    check_plain(again)


def test_a_foreign_image_is_rejected(start, session):
    """The image has no husk-client: the session does not start, and nothing is left."""
    from harness import docker

    image = docker("inspect", "--format", "{{.Config.Image}}", session.container)
    base = [line for line in docker("images", "--format", "{{.Repository}}:{{.Tag}}").splitlines() if line.startswith("husk-base:")]
    assert base, f"no base image beside {image}"
    server = start(HUSK_IMAGE_PYTHON=base[0])
    check_plain(server.call("create_session", {"network": False}))
    assert server.containers() == []


# --- sessions


ON_A_SESSION = [("execute_code", {"code": "1"}), ("execute_terminal", {"command": "true"}), ("stop_session", {})]


@pytest.mark.parametrize("tool, arguments", ON_A_SESSION)
def test_unknown_session(shared_server, session, tool, arguments):
    result = shared_server.call(tool, {"session_id": "nosuchsession", **arguments})
    text = check_plain(result) if tool != "stop_session" or result.is_error else result.text
    assert "nosuchsession" in text or result.fields.get("success") is False
    if tool != "stop_session":
        assert "not found" in text
        assert session.id in text  # the error lists the sessions that could be meant


def test_an_error_without_sessions_says_to_create_one(server):
    text = check_plain(server.call("execute_code", {"session_id": "nosuchsession", "code": "1"}))
    assert "create_session" in text


def test_a_stopped_session_is_unknown(server):
    session = server.session(network=False)
    session.stop()
    check_plain(session.code("1"))
    check_plain(session.shell("true"))


def test_a_session_of_another_server(start):
    a, b = start(), start()
    session = a.session(network=False)
    result = b.call("execute_code", {"session_id": session.id, "code": "1"})
    check_plain(result)
    assert session.code("1").value == "1"


# --- arguments

BAD_ARGUMENTS = [
    ("create_session", {"language": "cobol"}, ["language", "python"]),
    ("create_session", {"language": 3}, ["language"]),
    ("create_session", {"network": "maybe"}, ["network"]),
    ("create_session", {"nonsense": 1}, ["nonsense"]),
    ("execute_code", {}, ["session_id"]),
    ("execute_code", {"session_id": "x"}, ["code", "run"]),
    ("execute_code", {"session_id": "x"}, ["code"]),
    ("execute_code", {"code": "1"}, ["session_id"]),
    ("execute_code", {"session_id": "x", "code": ""}, ["code"]),
    ("execute_code", {"session_id": "", "code": "1"}, ["session_id"]),
    ("execute_code", {"session_id": "x", "code": 5}, ["code"]),
    ("execute_code", {"session_id": "x", "code": None}, ["code"]),
    ("execute_code", {"session_id": "x", "code": "1", "timeout": 301}, ["timeout", "300"]),
    ("execute_code", {"session_id": "x", "code": "1", "timeout": 0}, ["timeout", "1"]),
    ("execute_code", {"session_id": "x", "code": "1", "timeout": []}, ["timeout"]),
    ("execute_code", {"session_id": "x", "code": "a\u0000b"}, ["code", "NUL"]),
    ("execute_code", {"session_id": "x", "command": "1"}, ["code", "command"]),
    ("execute_terminal", {}, ["session_id"]),
    ("execute_terminal", {"session_id": "x"}, ["command", "run"]),
    ("execute_terminal", {"session_id": "x", "command": ""}, ["command"]),
    ("execute_terminal", {"session_id": "x", "command": "true", "timeout": 3000}, ["timeout", "300"]),
    ("stop_session", {}, ["session_id"]),
    ("stop_session", {"session_id": 7}, ["session_id"]),
]


@pytest.mark.parametrize("tool, arguments, words", BAD_ARGUMENTS, ids=lambda v: json.dumps(v)[:60])
def test_bad_arguments_are_named(shared_server, tool, arguments, words):
    text = check_plain(shared_server.call(tool, arguments))
    assert "INVALID_INPUT" in text
    for word in words:
        assert word in text


def test_missing_arguments_altogether(shared_server):
    assert "INVALID_INPUT" in check_plain(shared_server.call("execute_code"))


def test_clear_slips_in_arguments_are_corrected(session):
    server = session.server
    for timeout in ("30", 30.0):
        result = server.call("execute_code", {"session_id": session.id, "code": "1", "timeout": timeout})
        assert not result.is_error, result.text


def test_only_existing_languages_are_accepted(shared_server):
    for language in ("julia", "cobol", ""):
        assert "INVALID_INPUT" in check_plain(shared_server.call("create_session", {"language": language}))


@pytest.mark.parametrize("network", [True, False])
@pytest.mark.parametrize("language, cells, command, package, install", [
    ("python", ["import nopkg.sub"], "python3 -c 'import nopkg'", "nopkg", "pip install nopkg"),
    ("node", ["require('nopkg')", "await import('nopkg/sub')"], "node -e \"require('nopkg')\"", "nopkg", "npm install nopkg"),
    ("r", ["library(nopkg)", "nopkg::f()"], "Rscript -e 'library(nopkg)'", "nopkg", 'install.packages("nopkg")'),
])
def test_a_missing_package_has_one_hint(shared_server, language, cells, command, package, install, network):
    session = shared_server.session(language=language, network=network)
    hint = f"Install it ({install}), or name it in `dependencies` of create_session." if network else \
        f'This session has no network, so nothing can be installed in it: call create_session with `dependencies`: {{"{package}": ""}}.'
    for answer in [*(session.code(cell) for cell in cells), session.shell(command)]:
        before, _, after = answer.text.partition("⟦hint⟧ ")
        assert after == hint and "install" not in before.replace(command, "").lower() and "dependencies" not in before, answer.text
    session.stop()


@pytest.mark.parametrize("language, network, path", [
    ("python", ["import urllib.request as u; u.urlopen('http://example.org')"], "open('/Users/me/x.csv')"),
    ("node", ["await fetch('http://example.org')"], "require('fs').readFileSync('/Users/me/x.csv')"),
    ("r", ["readLines('http://example.org')", "install.packages('zoo')"], "read.csv('/Users/me/x.csv')"),
])
def test_a_session_without_a_network_has_one_hint_for_each_error(shared_server, language, network, path):
    session = shared_server.session(language=language, network=False)
    answers = {cell: "This session has no network. Call create_session with network: true" for cell in network}
    answers[path] = "Paths on the user's computer do not exist in a session: bring the file in with import_files."
    for cell, hint in answers.items():
        text = session.code(cell, 60).text
        assert text.count("⟦hint⟧") == 1 and f"⟦hint⟧ {hint}" in text, text
    text = session.shell("apt-get install -y jq").text
    assert text.count("⟦hint⟧") == 1 and "apt cannot be used, and this session has no network" in text and "pip" not in text, text
    session.stop()


def test_limits_on_the_size_of_code(session):
    assert session.code("x = '" + "y" * 5_000_000 + "'\nlen(x)").ok().value == "5000000"
    too_long = session.code("#" + "y" * (9 << 20))
    assert too_long.is_error and "code" in too_long.text.lower()
    assert session.code("1").value == "1"
