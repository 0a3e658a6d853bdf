"""Many files and large files: streamed with constant server memory, with progress, and without leftovers when
cancelled.
"""

import hashlib
import os
import pathlib
import tarfile

import harness
import pytest
from test_files import exported, get, imported, put, storage

MIB = 1 << 20
# 1 GB and 100,000 files, or enough of both that a server that held them in memory would show it.
PART = (256 if harness.LONG else 64) * MIB
PARTS = 4
pytestmark = pytest.mark.timeout(900 if harness.LONG else 180)
FOLDERS = 100 if harness.LONG else 30
FILES = FOLDERS * 1000
LARGE = {"CONTAINER_TMPFS_SIZE": "1500m", "CONTAINER_MEMORY_LIMIT": "6g"}


def resident(server, field="VmHWM"):
    """The peak of the server's memory since its start."""
    status = pathlib.Path("/proc", str(server.process.pid), "status").read_text()
    return int(status.split(field + ":")[1].split()[0]) * 1024


@pytest.fixture(scope="module")
def allowed(tmp_path_factory):
    """A directory of a few large files, and one of many small ones."""
    folder = tmp_path_factory.mktemp("large")
    big, many = folder / "big", folder / "many"
    big.mkdir()
    block = os.urandom(MIB)
    for i in range(PARTS):
        with open(big / f"part{i}", "wb") as f:
            for k in range(PART // MIB):
                f.write(block[k:] + block[:k])
    for i in range(FOLDERS):
        (many / str(i)).mkdir(parents=True)
        for k in range(1000):
            (many / str(i) / f"{k}.txt").write_bytes(b"%d" % (i * 1000 + k))
    return folder


@pytest.fixture(scope="module", params=["exec", "socket"])
def server(tmp_path_factory, allowed, request):
    with harness.Server(tmp_path_factory.mktemp("server"), IMPORT_ALLOWED_DIRS=allowed, HUSK_TRANSPORT=request.param, **LARGE) as server:
        server.session(network=False).code("1")
        server.base = resident(server)
        server.transport = request.param
        yield server


def test_large_files_in_and_out(server, allowed):
    first = server.session(network=False)
    (file,) = imported(first, {"source": str(allowed / "big")}, progress="in", timeout=300)
    assert file["size"] == PARTS * PART
    (file,) = exported(first, "big", progress="out", timeout=300)
    with tarfile.open(file["host_path"]) as tar:
        assert sorted((m.name, m.size) for m in tar if m.isfile()) == [(f"big/part{i}", PART) for i in range(PARTS)]
    first.stop()
    second = server.session(network=False)
    (again,) = imported(second, {"session_id": first.id, "path": "big/part3"}, timeout=300)
    assert again["size"] == PART
    assert second.shell("md5sum < part3").stdout.split()[0] == hashlib.md5((allowed / "big" / "part3").read_bytes()).hexdigest()
    second.stop()
    os.unlink(file["host_path"])
    for token, word in (("in", "importing"), ("out", "exporting")):
        seen = [p["message"] for p in server.progress_of(token)]
        # Over the socket, the copy may be done before the first progress message is due.
        assert seen or server.transport == "socket"
        assert all(word in m for m in seen) and (not seen or any("MB" in m and "1 of 1" in m for m in seen)), seen
    assert resident(server) - server.base < 24 * MIB, (resident(server), server.base)


def test_many_files_in_and_out(server, allowed):
    session = server.session(network=False)
    (file,) = imported(session, {"source": str(allowed / "many")}, timeout=300)
    last = FOLDERS - 1
    assert session.shell(f"find many -type f | wc -l; cat many/{last}/999.txt", timeout=120).stdout == f"{FILES}\n{FILES - 1}"
    (file,) = exported(session, "many", timeout=300)
    with tarfile.open(file["host_path"]) as tar:
        assert sum(m.isfile() for m in tar) == FILES
    assert file["size"] == sum(len(str(i)) for i in range(FILES))
    (again,) = imported(session, {"session_id": session.id, "path": f"many/{last}", "destination": "copy"}, timeout=300)
    assert again["size"] == 1000 * len(str(FILES - 1)) and session.shell(f"diff -r many/{last} copy").exit_code == 0
    session.stop()
    assert resident(server) - server.base < 24 * MIB, (resident(server), server.base)


def test_without_room_nothing_is_written(start, allowed):
    server = start(IMPORT_ALLOWED_DIRS=allowed, CONTAINER_TMPFS_SIZE="16m")
    session = server.session(network=False)
    result = put(session, {"source": str(allowed / "big")}, {"source": str(allowed / "many")}, timeout=120)
    for file in result.files:
        assert not file["success"] and "No room" in file["error"] and "16.0 MB" in file["error"], file
    assert session.shell("find /workspace -mindepth 1; df --output=used /workspace | tail -1").stdout.strip() == "0"


# evidence: copies-complete
def test_cancel_cleans_up(server, allowed):
    session = server.session(network=False)
    call = server.start_call("import_files", {"session_id": session.id, "files": [{"source": str(allowed / "many")}]}, progress="c1")
    harness.wait_until(lambda: ".husk-import" in session.shell("ls -A").stdout, what="a staging directory")
    server.cancel(call)
    harness.wait_until(lambda: session.shell("ls -A").stdout == "", what="an empty /workspace")
    session.shell("head -c 300M /dev/zero | tr '\\0' x > big", timeout=60)
    call = server.start_call("export_files", {"session_id": session.id, "files": [{"source": "big"}]})
    incoming = storage(server) / "exports" / "incoming"
    harness.wait_until(lambda: incoming.exists() and any(p.stat().st_size for p in incoming.iterdir()), what="a file in the vault")
    server.cancel(call)
    harness.wait_until(lambda: not os.listdir(incoming), what="an empty folder")
    assert session.code("1 + 1").ok().value == "2" and not call.done
    # The session continues, and copies on it still work.
    session.shell("echo fine > small; rm big")
    assert get(session, "small").success
    verdict = harness.verify_log(server)
    assert verdict["ok"], verdict
    session.stop()


def test_other_calls_are_answered_during_a_copy(server, allowed):
    session = server.session(network=False)
    call = server.start_call("import_files", {"session_id": session.id, "files": [{"source": str(allowed / "big" / "part0")}]})
    other = server.start_call("import_files", {"session_id": session.id, "files": [{"file_content": "x", "destination": "x"}]})
    assert session.code("40 + 2").ok().value == "42" and session.shell("true").exit_code == 0
    assert other.tool().success
    assert call.tool(300).success
    session.stop()
