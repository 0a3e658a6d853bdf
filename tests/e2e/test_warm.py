"""Warm containers: a session made of one is like any other, and they end with their server."""

import json
import subprocess
import time

import pytest
from harness import husk_binary, store_rows, wait_until

LOOK = "import os, random; print(os.getcwd(), os.environ.get('FLAVOUR'), random.random(), os.urandom(4).hex(), len(In))"


def husk(server, *args):
    done = subprocess.run([husk_binary(), *args], env=server.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_for_warm(server):
    """Waits until a warm container is ready and returns its row's id and its name."""
    found = "SELECT id, container FROM sessions WHERE state = 'warm' AND transport IS NOT NULL"
    return wait_until(lambda: store_rows(server.env, found), what="a warm container")[0]


def created(server, session):
    return int(store_rows(server.env, f"SELECT created FROM sessions WHERE id = '{session.id}'")[0][0])


@pytest.fixture
def server(start):
    """A server with a pool of warm containers, which has answered a first request."""
    server = start(WARM_POOL="python:1", CONTAINER_NETWORK_ENABLED="false")
    server.request("tools/list").result()
    return server


# evidence: warm-containers
@pytest.mark.usefixtures("transport")
def test_a_session_from_a_warm_container_is_like_any_other(server):
    sessions, seen = [], []
    for arguments in ({}, {"env": {"FLAVOUR": "sour"}, "cwd": "/tmp"}):
        row, container = wait_for_warm(server)
        before = int(1000 * time.time())
        session = server.session(**arguments)
        assert session.container == container and session.id != row and created(server, session) >= before
        seen.append(session.code(LOOK).ok().stdout.split())
        assert session.shell("echo $PWD $FLAVOUR").ok().stdout.split() == [word for word in seen[-1][:2] if word != "None"]
        sessions.append(session)
    assert seen[0][:2] == ["/workspace", "None"] and seen[1][:2] == ["/tmp", "sour"]
    assert seen[0][2] != seen[1][2] and seen[0][3] != seen[1][3] and seen[0][4] == seen[1][4]
    row, _ = wait_for_warm(server)
    states = {found["id"]: found["status"] for found in json.loads(husk(server, "ps", "--json"))["sessions"]}
    assert states == {row: "warm", **{session.id: "running" for session in sessions}}
    # The warm container ends with its server; the sessions stay.
    server.close_stdin()
    server.process.wait(10)
    wait_until(lambda: set(server.containers()) == {session.container for session in sessions}, what="the end of the pool")
    assert store_rows(server.env, "SELECT id FROM sessions WHERE state = 'warm'") == []


def test_the_pool_of_a_killed_server_is_collected(server):
    _, container = wait_for_warm(server)
    server.kill()
    assert container in json.loads(husk(server, "gc", "--json"))["containers"]
    assert server.containers() == []
