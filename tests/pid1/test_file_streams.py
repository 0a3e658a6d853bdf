"""Reads and writes of one file in place: any part of it, as data or as a descriptor, and written completely or not at
all.
"""
import fcntl
import os
import pathlib
import resource
import stat
import struct

import frames
import pytest
from frames import FILE, FILES_STAT


@pytest.fixture
def workspace(box):
    """The session's /workspace, seen from outside."""
    return pathlib.Path("/proc", str(box.pid), "root", "workspace")


def leftovers(workspace):
    return [p for p in os.listdir(workspace) if p.startswith(".husk")]


# --- reading


@pytest.mark.each_stream
def test_a_part_of_a_file_is_read(client, workspace):
    content = os.urandom(3_000_001)
    (workspace / "data").write_bytes(content)
    for offset, length in ((0, 3_000_001), (0, 0), (3_000_001, 0), (1, 1), (32767, 70000), (2_999_000, 1001)):
        number, item = client.open_file("/workspace/data")
        assert (item.type, item.size, item.name) == (FILE, len(content), b"")
        assert item.tag == client.request(FILES_STAT, "/workspace/data")[1][0].tag
        end, data = client.fetch(number, offset, length)
        assert end["ending"] == "ok" and data == content[offset:offset + length], end


@pytest.mark.each_stream
def test_a_large_file_is_passed_as_a_descriptor(client, workspace, stream):
    content = os.urandom(1 << 20)
    (workspace / "large").write_bytes(content)
    (workspace / "small").write_bytes(content[1:])
    number, item = client.open_file("/workspace/small", whole=True)
    assert client.fetch(number, 5, 5)[1] == content[6:11] and client.descriptors == []
    number, item = client.open_file("/workspace/large", whole=True)
    assert item.size == len(content)
    if stream != "dial":
        assert client.fetch(number, 0, len(content))[1] == content and client.descriptors == []
        return
    assert client.expect(lambda f: f.call == number and f.type == frames.END).payload["ending"] == "ok"
    (descriptor,) = client.descriptors
    assert os.pread(descriptor, 2 << 20, 0) == content
    assert fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    os.close(descriptor)


FILL = """
import socket
ours, theirs = socket.socketpair()
for _ in range(40):
    try:
        socket.send_fds(ours, [b"x"], [0] * 200)
    except OSError:
        break
"""


def test_without_descriptor_passing_a_file_is_read_as_data(make_box, tmp_path):
    line = tmp_path / "line"
    line.mkdir(mode=0o755)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1000, hard))
    try:
        box = make_box(line=line)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    client, content = box.meet(), os.urandom(1 << 20)
    box.write_file("large", content)
    client.execute(FILL)
    number, item = client.open_file("/workspace/large", whole=True)
    assert client.fetch(number, 0, item.size)[1] == content and client.descriptors == []


def test_an_open_file_stays_the_same(client, workspace):
    """A file that is replaced, and one that gets shorter, while it is open."""
    (workspace / "f").write_bytes(b"old" * 1000)
    number, _ = client.open_file("/workspace/f")
    (workspace / "g").write_bytes(b"new" * 1000)
    os.replace(workspace / "g", workspace / "f")
    assert client.fetch(number, 0, 3000)[1] == b"old" * 1000
    number, _ = client.open_file("/workspace/f")
    os.truncate(workspace / "f", 30)
    end, data = client.fetch(number, 0, 3000)
    assert (end["ending"], end["cause"], data) == ("error", "file_changed", b"new" * 10)


def test_a_read_waits_for_credit_and_delays_nothing(client, workspace):
    (workspace / "large").write_bytes(bytes(8 << 20))
    number, item = client.open_file("/workspace/large")
    client.send(frames.FILES_FETCH, number, struct.pack(">QQ", 0, item.size))
    assert client.execute("print(1)").out == b"1\n"
    client.ping()
    sent = sum(len(f.payload) + 9 for f in client.waiting if f.call == number)
    assert 900_000 < sent <= frames.WINDOW
    client.send(frames.INTERRUPT, number)
    assert client.expect(lambda f: f.call == number and f.type == frames.END).payload["ending"] == "interrupted"


# evidence: paths-inside
def test_only_files_below_are_read(client):
    client.terminal("ln -s /etc/passwd link; ln -s /etc dirlink; mkfifo pipe; touch closed; chmod 0 closed")
    for path, cause in (
            ("/etc/passwd", "path_outside"), ("/workspace/../etc/passwd", "path_outside"), ("/workspace/no", "no_file"),
            ("/workspace", "is_directory"), ("/workspace/link", "not_directory"), ("/workspace/dirlink/passwd", "not_directory"),
            ("/workspace/pipe", "not_file"), ("/workspace/closed", "file_denied")):
        _, end = client.open_file(path)
        assert (end["ending"], end["cause"]) == ("error", cause) and path in end["detail"], end


@pytest.mark.parametrize("payloads", [[struct.pack(">QQ", 0, 4)], [struct.pack(">QQ", 4, 0)], [struct.pack(">QQ", 1, 2 ** 64 - 1)], [b"short"],
                                      [struct.pack(">QQ", 0, 3)] * 2])
def test_a_part_outside_the_file_ends_the_stream(client, workspace, payloads):
    (workspace / "f").write_bytes(b"abc")
    number, _ = client.open_file("/workspace/f")
    client.send_bytes(b"".join(struct.pack(">IBI", len(p), frames.FILES_FETCH, number) + p for p in payloads))
    client.wait_closed()


# --- writing


@pytest.mark.each_stream
def test_a_file_is_written(client, workspace):
    for content in (b"", b"x", os.urandom(3_000_001)):
        end, (item,) = client.write_file("/workspace/a/b/data", content)
        assert end["ending"] == "ok" and end["bytes"] == len(content) and end.get("created", False) == (content == b"")
        assert (item.type, item.size, item.mode) == (FILE, len(content), 0o644)
        assert (workspace / "a/b/data").read_bytes() == content
        assert item.tag == client.request(FILES_STAT, "/workspace/a/b/data")[1][0].tag
    info = (workspace / "a/b/data").stat()
    assert (info.st_uid, info.st_gid) == (65532, 65532) and leftovers(workspace) == []


def test_permissions_stay_and_links_are_replaced(client, workspace):
    client.terminal("touch script target; chmod 751 script; ln -s target link")
    client.write_file("/workspace/script", b"new")
    client.write_file("/workspace/link", b"new")
    assert stat.S_IMODE((workspace / "script").stat().st_mode) == 0o751
    assert not (workspace / "link").is_symlink() and (workspace / "target").read_bytes() == b""


def test_a_condition_is_checked_before_and_after(client, workspace):
    (workspace / "f").write_text("one")
    tag = client.request(FILES_STAT, "/workspace/f")[1][0].tag
    assert client.write_file("/workspace/f", b"any", tag="*")[0]["ending"] == "ok"
    tag = client.request(FILES_STAT, "/workspace/f")[1][0].tag
    end, (item,) = client.write_file("/workspace/f", b"two", tag=tag)
    assert end["ending"] == "ok"
    for options, cause in (({"tag": tag}, "file_changed"), ({"absent": True}, "file_exists")):
        assert client.write_file("/workspace/f", b"no" * 2000000, **options)[0]["cause"] == cause
        # The request is refused before any data.
        number = client.start_request(frames.FILES_WRITE, "/workspace/f", **options)
        assert client.expect(lambda f, n=number: f.call == n).payload["cause"] == cause
    for missing in (tag, "*"):
        assert client.write_file("/workspace/gone", b"no", tag=missing)[0]["cause"] == "file_changed"
    assert client.write_file("/workspace/no/parent", b"no", tag=tag)[0]["cause"] == "file_changed"
    assert client.write_file("/workspace/new", b"yes", absent=True)[0]["created"] is True
    # The file changes after the data was sent.
    for path, options in (("f", {"tag": item.tag}), ("later", {"absent": True})):
        number = client.write_file(f"/workspace/{path}", b"no", done=False, **options)
        client.ping()
        (workspace / path).write_text("changed")
        client.send(frames.DONE, number)
        end = client.expect(lambda f: f.call == number and f.type == frames.END).payload
        assert end["ending"] == "error" and end["cause"] in ("file_changed", "file_exists"), end
        assert (workspace / path).read_text() == "changed"
    assert leftovers(workspace) == []


# evidence: paths-inside
def test_only_files_below_are_written(client, workspace):
    client.terminal("ln -s /tmp link; mkdir folder closed; touch file; chmod 0 closed")
    for path, cause in (
            ("/etc/x", "path_outside"), ("/workspace/../x", "path_outside"), ("/workspace", "is_directory"), ("/workspace/folder", "is_directory"),
            ("/workspace/link/x", "not_directory"), ("/workspace/file/x", "not_directory"), ("/workspace/closed/x", "file_denied")):
        end, _ = client.write_file(path, b"x")
        assert (end["ending"], end["cause"]) == ("error", cause), end
    assert leftovers(workspace) == [] and client.terminal("ls -A /tmp").out == b""


def test_an_interrupted_write_leaves_nothing(client, workspace, box):
    (workspace / "f").write_text("before")
    number = client.write_file("/workspace/f", bytes(500_000), done=False)
    client.ping()
    assert leftovers(workspace)
    client.send(frames.INTERRUPT, number)
    assert client.expect(lambda f: f.call == number and f.type == frames.END).payload["ending"] == "interrupted"
    assert leftovers(workspace) == [] and (workspace / "f").read_text() == "before"


def test_a_write_without_room_is_refused(client, workspace):
    end, _ = client.write_file("/workspace/f", b"", bytes=1 << 50)
    assert (end["ending"], end["cause"]) == ("error", "no_room") and "No room" in end["detail"], end
    assert os.listdir(workspace) == []


def test_a_write_of_unknown_size_stops_at_the_limit(make_box, tmp_path):
    """The home directory is on the host's disk, and only PID 1 bounds it."""
    for folder in ("home", "deps", "tmp"):
        (tmp_path / "disk" / folder).mkdir(parents=True)
    client = make_box("--home-size", str(4 << 20), env={"DISK": str(tmp_path / "disk")}).attach()
    end, _ = client.write_file("/home/sandbox/f", bytes(6 << 20))
    assert (end["ending"], end["cause"]) == ("error", "no_room"), end
    assert client.terminal("ls -A ~ | grep -v '^.tmp$'; true").out == b""
    assert client.write_file("/home/sandbox/f", bytes(1 << 20))[0]["ending"] == "ok"


@pytest.mark.parametrize("type, payload", [(frames.ENTRY, frames.pack_entry(FILE, b"")), (frames.DATA, struct.pack(">Q", 5) + b"x"),
                                           (frames.DATA, struct.pack(">Q", 0) + b"again")])
def test_hostile_data_is_rejected(client, workspace, type, payload):
    number = client.write_file("/workspace/f", b"abc", done=False)
    client.send(type, number, payload)
    assert client.expect(lambda f: f.call == number and f.type == frames.END).payload["ending"] == "error"
    assert os.listdir(workspace) == []
