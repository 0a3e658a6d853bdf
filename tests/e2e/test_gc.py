"""What servers that have ended left behind is collected; what runs, or belongs to another store, is never touched."""

import contextlib
import json
import os
import sqlite3
import subprocess
import uuid

import pytest
from harness import build_dir, clean_env, docker, husk_binary, store_label, wait_until

YOUNG, OLD = 3600, 1  # seconds from which on something is old: nothing that a test makes, or all of it
# A network belongs to no store: it must be old enough that no session on this engine is about to join it.
NETWORK_AGE = 20


@pytest.fixture
def leftovers():
    """Makes containers as a server that was killed would leave them."""
    names = []

    def make(home, *args, command="create"):
        gc(home)  # which makes the store
        name = f"husk-gc-{uuid.uuid4().hex}"
        names.append(name)
        tag = json.loads((build_dir() / "images.json").read_text())[0]["tag"]
        docker(command, "--name", name, "--label", "husk=true", "--" + store_label(clean_env(home)), "--network", "none", *args,
               "--entrypoint", "/bin/sleep", os.environ.get("HUSK_IMAGE_PYTHON") or tag, "1000")
        return name

    yield make
    for name in names:
        docker("rm", "--force", "--volumes", name, check=False)


def there(name):
    return docker("ps", "--all", "--filter", f"name=^{name}$", "--format", "{{.Names}}") == name


def gc(home, *args, age=YOUNG):
    home.mkdir(exist_ok=True)
    done = subprocess.run([husk_binary(), "gc", *args], env=clean_env(home, CONTAINER_ORPHAN_MIN_AGE_SECONDS=age),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# evidence: gc
def test_old_unstarted_or_exited_containers_are_removed(leftovers, tmp_path):
    created = leftovers(tmp_path / "home")
    exited = leftovers(tmp_path / "home", "--detach", command="run")
    docker("kill", exited)
    running = leftovers(tmp_path / "home", "--detach", command="run")
    foreign = leftovers(tmp_path / "other")
    assert created not in gc(tmp_path / "home", "--json")
    removed = set()

    def collect():
        removed.update(json.loads(gc(tmp_path / "home", "--json", age=OLD))["containers"])
        return not there(created) and not there(exited)

    wait_until(collect, what="the removal of both")
    assert {created, exited} <= removed and running not in removed and there(running) and there(foreign)
    assert "removed, " in gc(tmp_path / "home")


# evidence: gc
def test_a_server_collects_while_it_has_sessions(leftovers, start, tmp_path):
    created = leftovers(tmp_path / "home")
    server = start(home=tmp_path / "home", SESSION_GC_INTERVAL_SECONDS=1, CONTAINER_ORPHAN_MIN_AGE_SECONDS=OLD)
    other = start(SESSION_GC_INTERVAL_SECONDS=1, CONTAINER_ORPHAN_MIN_AGE_SECONDS=OLD)
    sessions = [server.session(network=False), other.session(network=False)]
    wait_until(lambda: not there(created), what="removal by the server")
    for session in sessions:
        assert session.code("1").ok()


def test_an_unwatched_end_is_recorded_as_such(start, tmp_path):
    server = start(home=tmp_path / "home")
    session = server.session(network=False)
    server.kill()
    assert json.loads(gc(tmp_path / "home", "--json"))["sessions"] == 0  # it lives: the next server can have it
    docker("rm", "--force", "--volumes", session.container)
    assert json.loads(gc(tmp_path / "home", "--json"))["sessions"] == 1
    told = start(home=tmp_path / "home").call("execute_code", {"session_id": session.id, "code": "1"})
    assert told.is_error and "CONTAINER_DIED: died while no server was attached" in told.text


def test_an_unused_network_is_removed(tmp_path):
    name = f"husk-gc-{uuid.uuid4().hex}"
    docker("network", "create", "--label", "husk=true", name)
    try:
        def gone():
            gc(tmp_path / "home", age=NETWORK_AGE)
            return name not in docker("network", "ls", "--format", "{{.Name}}").split()
        wait_until(gone, timeout=NETWORK_AGE + 60, what="removal of the network")
    finally:
        docker("network", "rm", name, check=False)


def test_old_exports_are_shown_and_deleted_with_yes(start, tmp_path):
    """Without --yes nothing goes where nobody can be asked; young exports stay."""
    home = tmp_path / "home"
    server = start(home=home)
    session = server.session(network=False)
    session.code("open('/workspace/old.txt', 'w').write('o' * 1000); open('/workspace/new.txt', 'w').write('n')").ok()
    for name in ("old.txt", "new.txt"):
        assert not server.call("export_files", {"session_id": session.id, "files": [{"source": name}]}).is_error
    with contextlib.closing(sqlite3.connect(home / "state" / "husk" / "husk.db", timeout=30)) as database, database:
        assert database.execute("UPDATE exports SET created = created - 40 * 86400000 WHERE name = 'old.txt'").rowcount == 1

    def husk(*args):
        return subprocess.run([husk_binary(), *args], env=clean_env(home), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60)

    def names():
        return sorted(e["name"] for e in json.loads(husk("exports", "--all", "--json").stdout)["exports"])

    assert husk("gc", "--exports").stdout.splitlines() == ["1 export older than 30 days, 0.0 MB", "nothing deleted; --yes deletes them"]
    assert names() == ["new.txt", "old.txt"]
    assert json.loads(husk("gc", "--exports", "--older", "50d", "--yes", "--json").stdout) == {"exports": 0, "bytes": 0, "deleted": 0}
    assert json.loads(husk("gc", "--exports", "--older", "30d", "--yes", "--json").stdout) == {"exports": 1, "bytes": 1000, "deleted": 1}
    assert names() == ["new.txt"]
