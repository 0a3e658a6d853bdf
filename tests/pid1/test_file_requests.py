"""Requests about files in place: lists, descriptions, deletes and new directories, reads and writes, bounded and below
the session's directories.
"""
import os
import pathlib
import stat
import struct
import threading
import time

import frames
import pytest
from frames import DIRECTORY, FILE, FILES_DELETE, FILES_LIST, FILES_MAKE, FILES_STAT, OTHER, SYMLINK

WHEN = 1_600_000_000.25


@pytest.fixture
def workspace(box):
    """The session's /workspace, seen from outside."""
    return pathlib.Path("/proc", str(box.pid), "root", "workspace")


def names(items):
    return [i.name for i in items]


@pytest.mark.each_stream
def test_a_directory_is_listed_in_order_of_names(client, workspace):
    assert client.greeting["files"] is True
    client.terminal("mkdir d d/sub; printf abc >d/file; chmod 751 d/file; touch -d @1600000000.25 d/file; ln -s /etc/passwd d/link; mkfifo d/pipe; "
                    "touch d/Z d/$'\\xff'")
    end, items = client.request(FILES_LIST, "/workspace/d", limit=100)
    assert (end["ending"], end["total"], end.get("more")) == ("ok", 6, None), end
    assert names(items) == [b"", b"Z", b"file", b"link", b"pipe", b"sub", b"\xff"]
    found = {i.name: i for i in items}
    assert [found[n].type for n in (b"", b"file", b"link", b"pipe", b"sub")] == [DIRECTORY, FILE, SYMLINK, OTHER, DIRECTORY]
    assert (found[b"file"].mode, found[b"file"].mtime, found[b"file"].size) == (0o751, WHEN, 3)
    assert found[b"link"].target == b"/etc/passwd" and found[b"sub"].size == 0


def test_pages_continue_after_a_name(client, workspace):
    (workspace / "d").mkdir()
    for i in range(250):
        (workspace / "d" / f"{i:03}").touch()
    seen, after, pages = [], b"", 0
    while True:
        end, items = client.request(FILES_LIST, "/workspace/d", after, limit=100)
        assert end["ending"] == "ok" and end["total"] == 250
        seen += names(items)[1:]
        after, pages = seen[-1], pages + 1
        if not end.get("more"):
            break
        if pages == 1:  # names that come and go do not move the others
            (workspace / "d" / "000").unlink()
            (workspace / "d" / "000a").touch()
    assert pages == 3 and seen == [b"%03d" % i for i in range(250)]
    end, items = client.request(FILES_LIST, "/workspace/d", b"249", limit=100)
    assert names(items) == [b""] and "more" not in end


def test_a_page_is_bounded(client, workspace):
    """Neither the number that a manager asks for nor long targets of links make a page too large."""
    client.terminal("mkdir links many; cd links; t=$(printf %04000d 0); for i in $(seq 600); do ln -s $t $(printf %03d $i); done; "
                    "cd ../many; seq 5000 | xargs touch", timeout_ms=60000)
    end, items = client.request(FILES_LIST, "/workspace/links", limit=1000)
    assert end["more"] is True and end["total"] == 600 and 200 < len(items) < 300
    following, rest = client.request(FILES_LIST, "/workspace/links", items[-1].name, limit=1000)
    assert rest[1].name == b"%03d" % (int(items[-1].name) + 1)
    end, items = client.request(FILES_LIST, "/workspace/many", limit=1 << 40)
    assert len(items) == 1 + 4096 and end["more"] is True
    end, items = client.request(FILES_LIST, "/workspace/many", limit=-5)
    assert len(items) == 1 + 1


def test_a_huge_directory_delays_nothing(client, workspace):
    """PID 1 answers pings while it reads a directory with many names and while it removes it."""
    client.terminal("mkdir huge; cd huge; seq 100000 | xargs touch", timeout_ms=120000)
    for type, options in ((FILES_LIST, {"limit": 1000}), (FILES_DELETE, {"recursive": True})):
        number = client.start_request(type, "/workspace/huge", **options)
        slowest, ended, items = 0, None, 0
        while not ended:
            began = time.monotonic()
            client.ping()
            slowest = max(slowest, time.monotonic() - began)
            for frame in [f for f in client.waiting if f.call == number]:
                client.waiting.remove(frame)
                items += frame.type == frames.ITEM
                ended = frame.payload if frame.type == frames.END else ended
        print(f"figure: slowest ping during {type} of 100,000 names: {slowest * 1000:.1f} ms, {ended['duration_ms']} ms in all")
        assert ended["ending"] == "ok" and slowest < 1, ended
        assert type == FILES_DELETE or (items == 1001 and ended["total"] == 100000)
    assert not (workspace / "huge").exists()


@pytest.mark.each_stream
def test_one_path_is_described(client, workspace):
    client.terminal("mkdir d; printf abc >d/file; ln -s file d/link")
    for path, type, size, target in (("/workspace/d/file", FILE, 3, b""), ("/workspace/d/link", SYMLINK, 0, b"file"),
                                     ("/workspace/d", DIRECTORY, 0, b""), ("/workspace", DIRECTORY, 0, b"")):
        end, (item,) = client.request(FILES_STAT, path)
        assert end["ending"] == "ok" and (item.type, item.size, item.name, item.target) == (type, size, b"", target), path


def test_a_tag_changes_with_the_file(client, workspace):
    def tag():
        end, (item,) = client.request(FILES_STAT, "/workspace/f")
        return item.tag

    path = workspace / "f"
    path.write_text("one")
    tags = [tag(), tag()]
    assert tags[0] == tags[1]
    path.write_text("three")
    tags.append(tag())
    before = path.stat()
    path.write_text("seven")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    tags.append(tag())
    os.replace(workspace / "f", workspace / "g")
    (workspace / "f").write_text("seven")
    tags.append(tag())
    assert len(set(tags)) == 4, tags


@pytest.mark.each_stream
def test_files_and_directories_are_deleted(client, workspace):
    client.terminal("mkdir -p d/a/b empty; touch d/a/b/c d/f; ln -s /tmp/kept d/link; touch /tmp/kept file; mkdir d/closed; touch d/closed/x; "
                    "chmod 0 d/closed; ln -s d todir")
    end, _ = client.request(FILES_DELETE, "/workspace/d")
    assert (end["ending"], end["cause"]) == ("error", "not_empty")
    for path, entries in (("file", 1), ("empty", 1), ("todir", 1)):
        end, items = client.request(FILES_DELETE, f"/workspace/{path}")
        assert (end["ending"], end["entries"], items) == ("ok", entries, []), end
    end, _ = client.request(FILES_DELETE, "/workspace/d", recursive=True)
    assert (end["ending"], end["entries"]) == ("ok", 8), end
    assert os.listdir(workspace) == [] and client.terminal("ls /tmp").out == b"kept\n"


def test_only_the_expected_version_is_deleted(client, workspace):
    (workspace / "f").write_text("one")
    _, (item,) = client.request(FILES_STAT, "/workspace/f")
    (workspace / "f").write_text("three")
    end, _ = client.request(FILES_DELETE, "/workspace/f", tag=item.tag)
    assert (end["ending"], end["cause"]) == ("error", "file_changed") and (workspace / "f").exists()
    _, (item,) = client.request(FILES_STAT, "/workspace/f")
    assert client.request(FILES_DELETE, "/workspace/f", tag=item.tag)[0]["ending"] == "ok" and not (workspace / "f").exists()


def test_a_tree_that_is_too_deep_is_not_deleted_silently(client, workspace):
    client.terminal("mkdir -p deep/$(printf 'd/%.0s' $(seq 80))")
    end, _ = client.request(FILES_DELETE, "/workspace/deep", recursive=True)
    assert end["ending"] == "error" and end["cause"] == "not_empty"
    assert client.ping() == b"ping"


@pytest.mark.each_stream
def test_directories_are_made_with_their_parents(client, workspace):
    end, (item,) = client.request(FILES_MAKE, "/workspace/a/b/c")
    assert (end["ending"], end["created"], item.type) == ("ok", True, DIRECTORY)
    info = (workspace / "a/b/c").stat()
    assert stat.S_ISDIR(info.st_mode) and (info.st_uid, info.st_gid) == (65532, 65532)
    for path in ("/workspace/a/b/c", "/workspace"):
        end, (item,) = client.request(FILES_MAKE, path)
        assert end["ending"] == "ok" and "created" not in end
    (workspace / "file").touch()
    assert client.request(FILES_MAKE, "/workspace/file")[0]["cause"] == "file_exists"
    assert client.request(FILES_MAKE, "/workspace/file/x")[0]["cause"] == "not_directory"


OUTSIDE = ["/etc", "/workspace/../etc", "relative", "", "/workspace//x", "/workspacex", "/workspace/" + "x" * 256, "/workspace/" + "/".join("d" * 65),
           "/proc/1/root/workspace"]
THROUGH = ["/workspace/out/cron.d", "/workspace/magic/root", "/workspace/file/x"]


# evidence: paths-inside
@pytest.mark.parametrize("type", [FILES_LIST, FILES_STAT, FILES_DELETE, FILES_MAKE])
def test_no_path_leads_outside(client, workspace, type):
    client.terminal("ln -s /etc out; ln -s /proc/1 magic; touch file; mkdir closed; chmod 0 closed")
    cases = {**dict.fromkeys(OUTSIDE, "path_outside"), **dict.fromkeys(THROUGH, "not_directory"), "/workspace/closed/x": "file_denied"}
    if type != FILES_MAKE:
        cases["/workspace/no/such"] = "no_file"
    for path, cause in cases.items():
        end, items = client.request(type, path, limit=10)
        assert (end["ending"], end["cause"], items) == ("error", cause, []) and path in end["detail"], end


def test_the_own_directories_are_not_deleted(client, workspace):
    for path in ("/workspace", "/tmp", "/home/sandbox"):
        end, _ = client.request(FILES_DELETE, path, recursive=True)
        assert (end["ending"], end["cause"]) == ("error", "file_denied"), end
    assert workspace.exists()


def test_a_replaced_home_directory_leads_nowhere(make_box, tmp_path):
    """Sandbox code owns its home directory, and can put a link in its place."""
    for folder in ("home", "deps", "tmp"):
        (tmp_path / "disk" / folder).mkdir(parents=True)
    client = make_box("--home-size", str(1 << 30), env={"DISK": str(tmp_path / "disk")}).attach()
    moved = client.terminal("mv $HOME $HOME.moved && ln -s / $HOME")
    assert moved.end["exit_code"] == 0, moved.err
    for path in ("/home/sandbox/etc", "/home/sandbox"):
        end, items = client.request(FILES_LIST, path, limit=10)
        assert (end["ending"], items) == ("error", []), end
    end, items = client.export_files("/home/sandbox/etc/hostname")
    assert (end["ending"], items) == ("error", {}), end


@pytest.mark.parametrize("payload", [b"", b"\0", struct.pack(">HH", 9, 0) + b"/workspac", struct.pack(">HH", 4, 0) + b"/a\0b{}",
                                     struct.pack(">HH", 2, 0) + b"/a[]", struct.pack(">HH", 2, 0) + b"/a", struct.pack(">HH", 2, 65535) + b"/a{}"])
def test_malformed_requests_end_the_stream(client, payload):
    client.send(FILES_STAT, client.number + 1, payload)
    client.wait_closed()


def test_staging_directories_are_not_listed(client, workspace):
    (workspace / ".husk-import-0000").mkdir()
    (workspace / "seen").mkdir()
    (workspace / "seen" / ".husk-import-0000").mkdir()
    assert names(client.request(FILES_LIST, "/workspace", limit=10)[1]) == [b"", b"seen"]
    assert names(client.request(FILES_LIST, "/workspace/seen", limit=10)[1]) == [b"", b".husk-import-0000"]


RACE = """
import os, time
end = time.time() + 60
os.makedirs('/workspace/race/inner', exist_ok=True)
open('/workspace/started', 'w').close()
while time.time() < end:
    for a, b in (('/workspace/race', '/workspace/aside'), ('/workspace/aside', '/workspace/race')):
        try:
            os.rename(a, b)
            os.symlink('/tmp/victim', a)
            os.makedirs(b + '/inner', exist_ok=True)
            open(b + '/inner/secret', 'w').close()
            os.unlink(a)
        except OSError:
            try:
                os.unlink(a)
            except OSError:
                pass
"""


# evidence: paths-inside
def test_a_race_with_links_touches_nothing_outside(client, workspace):
    """A program swaps a directory for a link to a directory that no request names."""
    client.terminal("mkdir -p /tmp/victim/inner; touch /tmp/victim/inner/secret")
    number = client.start(frames.EXECUTE, RACE)
    client.terminal("until [ -e /workspace/started ]; do sleep 0.01; done")
    asked = 0
    for _ in range(200):
        for type, path, options in ((FILES_DELETE, "/workspace/race", {"recursive": True}), (FILES_DELETE, "/workspace/race/inner/secret", {}),
                                    (FILES_MAKE, "/workspace/race/inner/made", {}), (FILES_LIST, "/workspace/race/inner", {"limit": 5})):
            client.request(type, path, **options)
            asked += 1
    client.send(frames.INTERRUPT, number)
    client.finish(number)
    assert client.terminal("find /tmp/victim | sort").out == b"/tmp/victim\n/tmp/victim/inner\n/tmp/victim/inner/secret\n", asked


def test_too_many_requests_are_refused(client, workspace):
    client.terminal("mkdir huge; cd huge; seq 100000 | xargs touch", timeout_ms=120000)
    numbers = [client.start_request(FILES_LIST, "/workspace/huge", limit=1) for _ in range(17)]
    ends = [client.collect_items(n)[0] for n in numbers]
    assert [e["ending"] for e in ends] == ["ok"] * 16 + ["refused"] and ends[-1]["cause"] == "queue_full"
    assert client.request(FILES_STAT, "/workspace")[0]["ending"] == "ok"


def test_a_delete_can_be_interrupted(client, workspace):
    client.terminal("mkdir huge; cd huge; seq 100000 | xargs touch", timeout_ms=120000)
    number = client.start_request(FILES_DELETE, "/workspace/huge", recursive=True)
    client.send(frames.INTERRUPT, number)
    end, _ = client.collect_items(number)
    assert end["ending"] == "interrupted" and "what was deleted by then is gone" in end["detail"]
    left = len(os.listdir(workspace / "huge"))
    client.ping()
    assert 0 < left == len(os.listdir(workspace / "huge"))


def test_a_directory_that_fills_delays_only_its_own_requests(client, workspace):
    """A program that adds names all the time delays only the request about its own directory."""
    (workspace / "busy").mkdir()
    stop = threading.Event()

    def fill():
        i = 0
        while not stop.is_set():
            (workspace / "busy" / str(i)).touch()
            i += 1

    filler = threading.Thread(target=fill)
    filler.start()
    try:
        end, items = client.request(FILES_LIST, "/workspace/busy", limit=100)
        assert end["ending"] == "ok" and len(items) <= 101
        assert client.ping() == b"ping"
    finally:
        stop.set()
        filler.join()
