"""Sessions on three Docker hosts (CONTAINER_ENGINE=pool). Each is a dockerd in namespaces of its own, one of which is killed."""

import contextlib
import json

import pytest
from harness import wait_until
from private_engine import running
from serving import Serving

# The three hosts get their image once for each build of it, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(600)
NAMES = ("one", "two", "gpu")


@pytest.fixture(scope="module")
def hosts():
    with contextlib.ExitStack() as stack:
        # With live-restore, containers survive their dockerd.
        yield {name: stack.enter_context(running(config={"live-restore": True}, name=f"pool-{name}")) for name in NAMES}


@pytest.fixture(scope="module")
def serving(hosts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    pool = ", ".join(f"{name}={host.host}" for name, host in hosts.items())
    # Some engines end --rm containers even with live-restore.
    program = folder / "docker"
    program.write_text('#!/bin/bash\nwords=()\nfor word; do [ "$word" = --rm ] || words+=("$word"); done\nexec docker "${words[@]}"\n')
    program.chmod(0o755)
    one = Serving(folder / "home", CONTAINER_ENGINE="pool", CONTAINER_POOL=pool, HUSK_DOCKER=program, CONTAINER_MAX_SESSIONS_PER_THREAD=9)
    yield one
    one.stop()


def end(serving, *sessions):
    for session in sessions:
        serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_sessions_are_spread_over_the_hosts(hosts, serving):
    sessions = [serving.create() for _ in NAMES]
    assert [len(host.containers()) for host in hosts.values()] == [1, 1, 1]
    assert [serving.run(session, "40 + 2")["result"]["text/plain"] for session in sessions] == ["42"] * 3
    listed = json.loads(serving.husk("ps", "--json").stdout)["sessions"]
    assert sorted(row["host"] for row in listed) == sorted(NAMES), listed
    chosen = serving.create(on="two")
    assert [len(host.containers()) for host in hosts.values()] == [1, 2, 1]
    end(serving, chosen, *sessions)
    assert [host.containers() for host in hosts.values()] == [[]] * 3


def test_an_unknown_host_is_refused(serving):
    reply = serving.call("POST", "/v1/sessions", {"network": False, "on": "three"})
    assert (reply.status, "the hosts are one, two, gpu" in reply.json["detail"]) == (400, True), reply


def test_a_host_that_is_killed_gets_no_sessions_and_loses_none(hosts, serving):
    session = serving.create(on="gpu")
    serving.run(session, "x = 41")
    hosts["gpu"].kill()

    wait_until(lambda: serving.call("POST", "/v1/sessions", {"network": False, "on": "gpu"}).status == 503)
    others = [serving.create() for _ in range(2)]
    assert sum(len(hosts[name].containers()) for name in ("one", "two")) == 2
    doctor = serving.husk("doctor", check=False).stdout
    assert "host gpu" in doctor and "host one" in doctor, doctor
    hosts["gpu"].start()
    assert serving.run(session, "x + 1")["result"]["text/plain"] == "42"
    end(serving, session, *others)
