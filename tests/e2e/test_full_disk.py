"""The host's disk is full, where exports are kept or where the store is. Operations that need space fail with that
reason, all others work, and freeing space is enough to recover.
"""

import os
import subprocess

import pytest

from private_engine import AS_ROOT


@pytest.fixture
def disk(tmp_path):
    """A disk of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run([*AS_ROOT, "mount", "-t", "tmpfs", "-o", f"size=4m,mode=0700,uid={os.getuid()}", "husk-test", folder], check=True)
    yield folder
    subprocess.run([*AS_ROOT, "umount", "--lazy", folder], check=True)


def fill(folder):
    with open(folder / "filler", "wb") as file, pytest.raises(OSError, match="No space left"):
        while True:
            os.write(file.fileno(), b"x" * 4096)


def export(session, *names):
    return session.server.call("export_files", {"session_id": session.id, "files": [{"source": name} for name in names]})


def test_an_export_without_room_is_reported(start, disk):
    session = start(STORAGE_DIR=disk, CONTAINER_DISK_FLOOR=0).session(network=False)
    session.shell("head -c 8M /dev/urandom > large; echo fine > small; mkdir d; cp large small d")
    result = export(session, "large", "d", "small")
    large, folder, small = result.files
    for file in (large, folder):
        assert not file["success"] and "No space left on device" in file["error"], file
    assert small["success"], small
    assert os.listdir(disk / "exports" / "incoming") == []
    assert session.code("1 + 1").ok().value == "2"
    fill(disk)
    (file,) = export(session, "small").files  # even the same content needs space for a moment, and there is none
    assert not file["success"] and "No space left" in file["error"], file
    os.unlink(disk / "filler")
    (file,) = export(session, "small").files
    assert file["success"] and open(file["host_path"]).read() == "fine\n"


def test_a_store_without_room_is_reported(start, disk):
    server = start(XDG_STATE_HOME=disk)
    session = server.session(network=False)
    session.shell("echo kept > a")
    (first,) = export(session, "a").files
    assert first["success"], first
    fill(disk)
    result = export(session, "a").files[0]
    assert not result["success"] and "free space on its disk" in result["error"] + result.get("hint", ""), result
    refused = server.call("create_session", {"network": False})
    assert refused.is_error and "husk.db" in refused.text and "free space on its disk" in refused.text, refused.text
    assert session.code("40 + 2").ok().value == "42"  # operations without the store still work
    os.unlink(disk / "filler")
    assert export(session, "a").files[0]["success"]
    server.session(network=False)
    assert {r["uri"] for r in server.request("resources/list").result()["resources"]} >= {first["uri"]}
