"""A warm container before and after a session claims it."""
import json

import frames
import pytest

SESSION, OTHER = "abcdefghijklmnopqrstuvwx27", "bbcdefghijklmnopqrstuvwx27"


def test_a_claim_names_the_session_and_its_terms(box):
    client = box.attach()
    assert client.claim(SESSION, lease_seconds=50, lifetime_seconds=100) == {
        "event": "claimed", "session": SESSION, "kernel": "ready", "lease_seconds": 50, "lifetime_left_seconds": 100}
    again = box.attach().greeting
    assert again["session"] == SESSION and again["lease_seconds"] == 50 and again["lifetime_left_seconds"] <= 100


def test_a_second_claim_changes_nothing(box, client):
    client.claim(SESSION, lease_seconds=50)
    again = client.claim(SESSION, lease_seconds=60, lifetime_seconds=9, env={"NEW": "1"})
    assert again == {"event": "claimed", "session": SESSION, "kernel": "ready", "lease_seconds": 50}
    assert client.execute("print(os.environ.get('NEW'))").out == b"None\n"


# evidence: warm-containers
def test_another_session_is_a_protocol_error(box, client):
    client.claim(SESSION)
    client.send(frames.CLAIM, 0, {"session": OTHER, "lease_seconds": 9, "lifetime_seconds": 0})
    client.wait_closed()
    assert box.attach().greeting["session"] == SESSION


GOOD = {"session": SESSION, "lease_seconds": 9, "lifetime_seconds": 0, "env": {}}


@pytest.mark.parametrize("call, payload", [
    (1, GOOD), (0, []), (0, b"{"), (0, {**GOOD, "session": SESSION.upper()}), (0, {**GOOD, "session": SESSION[1:]}),
    (0, {**GOOD, "lease_seconds": 0}), (0, {**GOOD, "env": {"A": "\0"}}), (0, {**GOOD, "env": {"A": "x" * (64 << 10)}}),
    (0, {**GOOD, "authority": "x" * ((1 << 20) + 1)}),
])
def test_a_malformed_claim_ends_only_the_stream(box, client, call, payload):
    client.send(frames.CLAIM, call, payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    client.wait_closed()
    again = box.attach()
    assert "session" not in again.greeting and again.greeting["lease_seconds"] == 300


def test_the_environment_reaches_a_kernel_that_was_up(client):
    client.execute("x = 1")
    claimed = client.claim(SESSION, env={"FROM_CLAIM": "1 2", "FROM_MANIFEST": "no", "HOME": "/tmp"})
    assert claimed["kernel"] == "starting"
    client.event("kernel_ready")
    reply = client.execute("print(os.environ['FROM_CLAIM'], os.environ['FROM_MANIFEST'], os.environ['HOME'], 'x' in globals())")
    assert reply.out == b"1 2 no /tmp False\n" and reply.detail == ""
    assert not [f for f in client.waiting if f.type == frames.EVENT], "no word of a kernel that died"


PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
PRINT_BUNDLE = """names = "SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO AWS_CA_BUNDLE".split()
print({os.environ[name] for name in names}, open(os.environ["SSL_CERT_FILE"]).read()[-len(%r):])""" % PEM


def test_an_authority_joins_the_certificates_that_programs_trust(client):
    client.claim(SESSION, authority=PEM * 17000)
    client.event("kernel_ready")
    assert client.execute(PRINT_BUNDLE).out.decode() == "{'/home/sandbox/.husk/certificates.pem'} " + PEM + "\n"
    command = client.terminal('tail -n 3 "$CURL_CA_BUNDLE"; stat -c %a "$CURL_CA_BUNDLE"')
    assert command.out.decode() == PEM + "444\n"


def test_a_variable_of_the_claim_precedes_that_of_its_authority(client):
    client.claim(SESSION, authority=PEM, env={"PIP_CERT": "mine"})
    client.event("kernel_ready")
    assert client.execute("print(os.environ['PIP_CERT'])").out == b"mine\n"


def test_the_environment_reaches_a_kernel_that_was_starting(make_box):
    wait = "until [ -e /workspace/go ]; do sleep 0.01; done; exec /usr/bin/python3 -S /opt/husk/kernel.py"
    box = make_box(manifest={"kernel": ["/bin/sh", "-c", wait]})
    client = box.attach(hello=False)
    assert client.hello()["kernel"] == "starting"
    assert client.claim(SESSION, env={"FROM_CLAIM": "1"})["kernel"] == "starting"
    box.write_file("go")
    assert client.execute("print(os.environ['FROM_CLAIM'])").out == b"1\n"


def test_the_environment_reaches_commands_and_yields_to_theirs(client):
    client.terminal("export MINE=1 BOTH=1")
    client.claim(SESSION, env={"BOTH": "2", "FROM_CLAIM": "3"})
    assert client.terminal("echo $MINE $BOTH $FROM_CLAIM; export BOTH=4").out == b"1 2 3\n"
    assert client.terminal("echo $MINE $BOTH $FROM_CLAIM").out == b"1 4 3\n"


def test_a_command_that_runs_does_not_swallow_the_environment(box, client):
    number = client.start(frames.TERMINAL, "echo begun; until [ -e go ]; do sleep 0.01; done; echo $FROM_CLAIM")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    client.claim(SESSION, env={"FROM_CLAIM": "1"})
    box.write_file("go")
    assert client.finish(number).out == b"\n"
    assert client.terminal("echo $FROM_CLAIM").out == b"1\n"


def test_a_running_cell_ends_with_its_kernel(client):
    number = client.start(frames.EXECUTE, "print('begun', flush=True); time.sleep(1000)")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    client.claim(SESSION, env={"FROM_CLAIM": "1"})
    reply = client.finish(number)
    assert reply.ending == "kernel_died" and "environment" in reply.detail and reply.end["kernel"] == "restarted"
    assert client.execute("print(os.environ['FROM_CLAIM'])").out == b"1\n"


def test_an_install_is_claimed_without_a_session(make_box):
    box = make_box("--install", manifest={"installer": {"command": ["/bin/bash", "-c", "echo $INDEX"], "installed": ["/bin/true"]}})
    client = box.attach()
    claimed = client.claim("", lease_seconds=40, lifetime_seconds=90, env={"INDEX": "here"})
    assert claimed["session"] == "" and claimed["kernel"] == "none" and claimed["lifetime_left_seconds"] == 90
    client.number += 1
    client.send(40, client.number, {"packages": {}, "timeout_ms": 20000})
    assert client.finish(client.number).out == b"here\n"
    assert box.attach().greeting["session"] == ""


def test_a_claim_sets_the_directory(box, client):
    refused = client.claim(SESSION, cwd="/nowhere", env={"A": "1"})
    assert "/nowhere" in refused["refused"] and "session" not in refused
    assert "session" not in box.attach().greeting
    client = box.attach()
    assert client.claim(SESSION, cwd="/tmp")["kernel"] == "starting"
    client.event("kernel_ready")
    assert client.execute("print(os.getcwd(), 'A' in os.environ)").out == b"/tmp False\n"
    assert client.terminal("pwd; cd /usr").out == b"/tmp\n"
    client.execute("os._exit(1)")
    assert client.execute("print(os.getcwd())").out == b"/tmp\n"


@pytest.mark.parametrize("home", ["~", "$HOME", "${HOME}", "~/."])
def test_a_claim_can_name_the_home_directory(client, home):
    assert client.claim(SESSION, cwd=home)["kernel"] == "starting"
    client.event("kernel_ready")
    assert client.execute("print(os.getcwd())").out == b"/home/sandbox\n"
    assert client.terminal("pwd -P").out == b"/home/sandbox\n"


def test_variables_of_a_session_cannot_break_the_link(client):
    client.claim(SESSION, env={"HUSK_LINK": "fd:3", "HUSK_TOKEN_FD": "4"})
    client.event("kernel_ready")
    assert client.execute("print('alive')").out == b"alive\n"
