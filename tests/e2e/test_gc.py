"""Leftovers of ended servers are removed; running containers and those of another store are never touched."""

import contextlib
import hashlib
import io
import json
import os
import sqlite3
import subprocess
import tarfile
import uuid

import pytest
from harness import build_dir, clean_env, docker, husk_binary, store_label, wait_until

YOUNG, OLD = 3600, 1  # age in seconds from which leftovers count as old: none that a test makes, or all of them
# A network belongs to no store: it must be old enough that no session on this engine is about to join it.
NETWORK_AGE = 20


@pytest.fixture
def leftovers():
    """Makes containers as a server that was killed would leave them."""
    names = []

    def make(home, *args, command="create"):
        gc(home)  # this creates the store
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
    assert json.loads(gc(tmp_path / "home", "--json"))["sessions_ended"] == 0  # it is running, and the next server can take it over
    docker("rm", "--force", "--volumes", session.container)
    assert json.loads(gc(tmp_path / "home", "--json"))["sessions_ended"] == 1
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
    """Without --yes and without a terminal nothing is deleted; young exports stay."""
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
    assert husk("gc", "--exports", "--older", "1d").stdout.startswith("1 export older than 1 day, 0.0 MB")
    assert json.loads(husk("gc", "--exports", "--older", "50d", "--yes", "--json").stdout) == {"exports": [], "exports_deleted": 0}
    [listed] = [e for e in json.loads(husk("exports", "--all", "--json").stdout)["exports"] if e["name"] == "old.txt"]
    assert json.loads(husk("gc", "--exports", "--older", "30d", "--yes", "--json").stdout) == {"exports": [listed], "exports_deleted": 1}
    assert names() == ["new.txt"]


def load_image(name, created):
    """An image of one empty layer, of any age, as `docker save` would have written it."""
    def add(archive, path, content):
        member = tarfile.TarInfo(path)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))

    layer, image = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        add(archive, "name", name.encode())
    config = json.dumps({"architecture": "amd64", "os": "linux", "created": created, "config": {"Cmd": ["/name"]},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()]}}).encode()
    with tarfile.open(fileobj=image, mode="w") as archive:
        add(archive, "layer.tar", layer.getvalue())
        add(archive, "config.json", config)
        add(archive, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
    subprocess.run(["docker", "load", "--quiet"], input=image.getvalue(), check=True, capture_output=True, timeout=60)


def test_images_of_older_builds_are_shown_and_deleted_with_yes(tmp_path):
    """Images are kept if the settings name them, a container uses them, or their tag is not a hash of their content."""
    home = tmp_path / "home"
    home.mkdir()
    runtime = f"husk-gc{uuid.uuid4().hex[:8]}"
    old, used, named = (f"{runtime}:{i:012x}" for i in range(3))
    own = f"{runtime}:latest"
    # No other image is as old, so the test deletes no foreign image.
    older = ["--older", "5000d"]

    def husk(*args, **env):
        return subprocess.run([husk_binary(), "gc", "--images", *older, *args], env=clean_env(home, HUSK_IMAGE_PYTHON=named, **env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def names():
        return set(docker("image", "ls", "--filter", f"reference={runtime}", "--format", "{{.Repository}}:{{.Tag}}").split())

    try:
        for name in (old, used, named, own):
            load_image(name, "2010-02-03T04:05:06Z")
        docker("create", "--name", runtime, used)
        shown = husk("--exports")
        assert shown.returncode == 0, shown.stderr
        lines = shown.stdout.splitlines()
        assert lines[0] == "0 exports older than 5000 days, 0.0 MB"
        assert sorted(line.split()[-1] for line in lines[1:3]) == [old, used] and " MB  husk-gc" in lines[1]
        assert lines[3].startswith("2 images older than 5000 days, 0.0 MB") and lines[4:] == ["nothing deleted; --yes deletes them"]
        assert names() == {old, used, named, own}
        done = husk("--yes", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert sorted(image["name"] for image in found["images"]) == [old, used] and all(image["size"] for image in found["images"])
        assert (found["images_deleted"], found["images_in_use"]) == (1, 1) and f"kept {used}: " in done.stderr
        assert names() == {used, named, own}
    finally:
        docker("rm", "--force", runtime, check=False)
        docker("rmi", old, used, named, own, check=False)
