"""File transfers of PID 1: an import is complete or leaves nothing, an export matches the files, and no path leads
outside.
"""
import fcntl
import os
import pathlib
import resource
import stat
import struct
import subprocess
import threading
import time

import frames
import pytest
from frames import DIRECTORY, FILE, LINK, LINKED, SYMLINK, pack_entry

WHEN = 1_600_000_000.25


@pytest.fixture
def workspace(box):
    """The session's /workspace, seen from outside."""
    return pathlib.Path("/proc", str(box.pid), "root", "workspace")


def leftovers(workspace):
    return [p for p in os.listdir(workspace) if p.startswith(".husk")]


def descriptors_of(box):
    found = []
    for entry in pathlib.Path("/proc", str(box.pid), "fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except FileNotFoundError:
            pass
    return found


def whole(entry):
    """The content of an exported file with its holes filled."""
    content = bytearray(entry.size)
    for offset, data in entry.data.items():
        content[offset:offset + len(data)] = data
    return bytes(content)


def one_file(content, **more):
    return [(pack_entry(FILE, b"", size=len(content), **more), {0: content})]


@pytest.mark.each_stream
def test_a_file_is_imported_and_exported(client, workspace):
    content = os.urandom(3_000_001)
    end = client.import_files("/workspace/new/folder/data.bin", one_file(content, mode=0o751, mtime=WHEN), len(content))
    assert end["ending"] == "ok" and end["bytes"] == len(content), end
    path = workspace / "new" / "folder" / "data.bin"
    assert path.read_bytes() == content
    info = path.stat()
    assert stat.S_IMODE(info.st_mode) == 0o751 and info.st_mtime == WHEN and (info.st_uid, info.st_gid) == (65532, 65532)
    assert leftovers(workspace) == []

    end, entries = client.export_files("/workspace/new/folder/data.bin")
    assert end["ending"] == "ok" and end["entries"] == 1, end
    entry = entries[b""]
    assert (entry.type, entry.mode, entry.mtime, entry.size) == (FILE, 0o751, WHEN, len(content)) and whole(entry) == content


def exported_descriptors(client, path, **more):
    end, entries = client.export_files(path, **more)
    assert end["ending"] == "ok", end
    return client.descriptors, entries


@pytest.mark.each_stream
def test_a_large_file_is_exported_as_a_descriptor(box, client, stream, workspace):
    """PID 1 sends a descriptor only if the stream can carry one and the manager asked for it."""
    content = os.urandom(1 << 20)
    (workspace / "large").write_bytes(content)
    descriptors, entries = exported_descriptors(client, "/workspace/large")
    assert descriptors == [] and whole(entries[b""]) == content
    descriptors, entries = exported_descriptors(client, "/workspace/large", whole=True)
    if stream != "dial":
        assert descriptors == [] and whole(entries[b""]) == content
        return
    (descriptor,) = descriptors
    assert os.pread(descriptor, 2 << 20, 0) == content and entries[b""].size == len(content) and entries[b""].data == {}
    assert fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    os.close(descriptor)
    client.ping()
    assert not [p for p in descriptors_of(box) if p.endswith("/large")]  # PID 1 keeps no descriptor


FILL = """
import socket
ours, theirs = socket.socketpair()
for _ in range(40):
    try:
        socket.send_fds(ours, [b"x"], [0] * 200)
    except OSError:
        break
"""


def test_without_descriptor_passing_a_file_is_sent_as_data(make_box, tmp_path):
    """Code of the session has PID 1's user, so it can use up the user's limit on descriptors in flight."""
    line = tmp_path / "line"
    line.mkdir(mode=0o755)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1000, hard))
    try:
        box = make_box(line=line)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    client, workspace, content = box.meet(), pathlib.Path("/proc", str(box.pid), "root", "workspace"), os.urandom(1 << 20)
    (workspace / "large").write_bytes(content)
    client.execute(FILL)
    descriptors, entries = exported_descriptors(client, "/workspace/large", whole=True)
    assert descriptors == [] and whole(entries[b""]) == content
    assert client.ping() == b"ping"


@pytest.mark.parametrize("path", ["small", "sparse", "folder"])
def test_small_sparse_or_many_files_are_sent_as_data(client, workspace, path):
    (workspace / "small").write_bytes(bytes((1 << 20) - 1))
    with open(workspace / "sparse", "wb") as file:
        file.write(b"x" * 4096)
        file.truncate(4 << 20)
    (workspace / "folder").mkdir()
    (workspace / "folder" / "large").write_bytes(bytes(2 << 20))
    descriptors, entries = exported_descriptors(client, f"/workspace/{path}", whole=True)
    assert descriptors == [] and any(entry.data for entry in entries.values())


NAMES = [b"plain", b"new\nline", "\u00fcml\u00e4ut \u2603".encode(), b"-rf", b"--help", b"x" * 255, b"\xff\xfe raw", b" ", b"a\\b",
         b"'\"$(id)", b"..."]


def test_names_may_be_any_bytes(client, workspace):
    entries = [(pack_entry(DIRECTORY, b"", mode=0o750, mtime=WHEN), {}),
               (pack_entry(DIRECTORY, b"locked", mode=0o555, mtime=WHEN), {}),
               (pack_entry(FILE, b"locked/inside", mode=0o400, mtime=WHEN, size=2), {0: b"ok"}),
               (pack_entry(SYMLINK, b"out", target=b"/etc/passwd", mtime=WHEN), {}),
               (pack_entry(SYMLINK, b"up", target=b"../../../etc", mtime=WHEN), {}),
               (pack_entry(FILE, b"empty", mode=0o600, mtime=WHEN), {})]
    entries += [(pack_entry(FILE, b"sub/" + n, size=len(n), mtime=WHEN), {0: n}) for n in NAMES]
    assert client.import_files("/workspace/all", entries)["ending"] == "ok"
    top = os.fsencode(workspace / "all")
    assert stat.S_IMODE(os.stat(top).st_mode) == 0o750 and os.stat(top).st_mtime == WHEN
    assert stat.S_IMODE(os.stat(top + b"/locked").st_mode) == 0o555 and os.stat(top + b"/locked").st_mtime == WHEN
    assert os.readlink(top + b"/out") == b"/etc/passwd" and os.readlink(top + b"/up") == b"../../../etc"
    assert sorted(os.listdir(top + b"/sub")) == sorted(NAMES)

    end, out = client.export_files("/workspace/all")
    assert end["ending"] == "ok" and "notices" not in end, end
    assert {b"sub/" + n for n in NAMES} | {b"", b"sub", b"locked", b"locked/inside", b"out", b"up", b"empty"} == set(out)
    assert all(whole(out[b"sub/" + n]) == n and out[b"sub/" + n].mtime == WHEN for n in NAMES)
    assert out[b"out"].target == b"/etc/passwd" and out[b"locked"].mode == 0o555 and out[b"locked/inside"].mode == 0o400


# evidence: hard-links
def test_hard_links_survive_export_and_import(client, workspace):
    """A manager that does not support links gets a file for each name."""
    client.terminal("mkdir -p d/sub; head -c 100000 /dev/urandom > d/a; ln d/a d/sub/b; ln d/a d/c; echo one > d/single; ln d/a outside")
    content = (workspace / "d/a").read_bytes()
    end, out = client.export_files("/workspace/d")
    assert end["bytes"] == 3 * len(content) + 4 and {e.type for e in out.values()} == {DIRECTORY, FILE}
    assert all(e.mode < LINKED for e in out.values())
    end, out = client.export_files("/workspace/d", links=True)
    names = {b"a", b"sub/b", b"c"}
    (first,) = [n for n in names if out[n].type == FILE]
    assert end["bytes"] == len(content) + 4 and whole(out[first]) == content and out[first].mode & LINKED
    assert all((out[n].type, out[n].target, out[n].size) == (LINK, first, 0) for n in names - {first})
    assert out[b"single"].mode < LINKED

    entries = [(pack_entry(DIRECTORY, b""), {}), (pack_entry(FILE, b"x/y", mode=0o400, size=3), {0: b"abc"}),
               (pack_entry(LINK, b"z", target=b"x/y"), {}), (pack_entry(LINK, b"x/w", target=b"x/y"), {})]
    assert client.import_files("/workspace/in", entries)["ending"] == "ok"
    infos = [(workspace / "in" / n).stat() for n in ("x/y", "z", "x/w")]
    assert len({i.st_ino for i in infos}) == 1 and infos[0].st_nlink == 3 and (workspace / "in/z").read_bytes() == b"abc"


def test_holes_stay_holes(client, workspace):
    size = 40 << 20
    end = client.import_files("/workspace/sparse", [(pack_entry(FILE, b"", size=size), {5 << 20: b"middle", size - 1: b"!"})])
    assert end["ending"] == "ok"
    path = workspace / "sparse"
    assert path.stat().st_size == size and path.stat().st_blocks * 512 < 1 << 20
    seen = []
    end, out = client.export_files("/workspace/sparse", on_frame=seen.append)
    maps = b"".join(f.payload for f in seen if f.type == frames.MAP)
    pieces = [struct.unpack_from(">QQ", maps, at) for at in range(0, len(maps), 16)]
    assert end["bytes"] < 1 << 20 and whole(out[b""]) == path.read_bytes()
    assert len(pieces) == 2 and all(a + n <= size for a, n in pieces) and pieces[0][0] <= 5 << 20 < sum(pieces[0])


def test_an_existing_directory_is_added_to(client, workspace):
    first = [(pack_entry(DIRECTORY, b""), {}), (pack_entry(FILE, b"sub/a", size=1), {0: b"1"}), (pack_entry(FILE, b"b", size=1), {0: b"1"})]
    second = [(pack_entry(DIRECTORY, b""), {}), (pack_entry(FILE, b"sub/a", size=1), {0: b"2"}),
              (pack_entry(FILE, b"sub/deep/c", size=1), {0: b"2"})]
    for entries in (first, second):
        end = client.import_files("/workspace/project", entries)
        assert end["ending"] == "ok", end
    top = workspace / "project"
    assert ((top / "sub/a").read_text(), (top / "b").read_text(), (top / "sub/deep/c").read_text()) == ("2", "1", "2")
    assert client.import_files("/workspace", [(pack_entry(DIRECTORY, b""), {}), (pack_entry(FILE, b"root", size=0), {})])["ending"] == "ok"
    assert (workspace / "root").exists() and leftovers(workspace) == []


# evidence: paths-inside
@pytest.mark.parametrize("destination, why", [
    ("/etc/cron.d/x", "not below"), ("/workspace/../etc/x", "not below"), ("relative", "not below"), ("/workspacex/a", "not below"),
    ("/", "not below"), ("/workspace//x", "not below"), ("/workspace/link/x", "not followed"), ("/workspace/folder", "is a directory"),
    ("/workspace", "is a directory"), ("/workspace/file/x", "not a directory"),
])
def test_destinations_stay_below(client, box, workspace, destination, why):
    client.terminal("ln -s /tmp link; mkdir folder; touch file")
    end = client.import_files(destination, one_file(b"x"))
    assert end["ending"] == "error" and why in end["detail"], end
    assert leftovers(workspace) == []
    assert client.terminal("ls -A /tmp").out == b""


def test_an_import_can_go_below_an_existing_directory(client, workspace):
    client.terminal("mkdir folder; touch file; ln -s folder link")
    for destination, below, path in (("/workspace/folder", True, "folder/name"), ("/workspace", True, "name"), ("/workspace/file", False, "file"),
                                     ("/workspace/new", False, "new"), ("/workspace/link", False, "link")):
        end = client.import_files(destination, one_file(b"x"), into="name")
        assert (end["ending"], end.get("below", False)) == ("ok", below), end
        assert (workspace / path).read_bytes() == b"x"
    for into in ("..", "a/b", "", 5, "."):
        end = client.import_files("/workspace/folder", one_file(b"x"), into=into)
        assert end["ending"] == "error" and "is a directory" in end["detail"] and "below" not in end, into
    assert leftovers(workspace) == []


# evidence: paths-inside
@pytest.mark.parametrize("path, why", [
    ("/etc/passwd", "not found"), ("/workspace/../etc/passwd", "not found"), ("/workspace/no", "not found"),
    ("/workspace/link", "symbolic link"), ("/workspace/dirlink/passwd", "symbolic link"), ("/workspace/pipe", "neither a file"),
    ("/workspace/socket", "neither a file"), ("/workspace/magic/environ", "symbolic link"), ("/workspace/closed", "Permission denied"),
])
def test_sources_stay_below(client, path, why):
    client.terminal("ln -s /etc/passwd link; ln -s /etc dirlink; mkfifo pipe; ln -s /proc/1 magic; touch closed; chmod 0 closed; "
                    "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"")
    end, entries = client.export_files(path)
    assert end["ending"] == "error" and why in end["detail"] and not entries, end


def test_special_files_are_left_out_with_a_notice(client):
    client.terminal("mkdir d; mkfifo d/pipe; echo hi > d/file; ln -s /etc/shadow d/link")
    end, out = client.export_files("/workspace/d")
    assert end["ending"] == "ok" and set(out) == {b"", b"file", b"link"} and out[b"link"].target == b"/etc/shadow"
    assert end["notices"] == ["'pipe' is neither file nor directory and was left out"]


def test_an_import_without_room_is_refused_first(client, workspace):
    end = client.import_files("/workspace/big", one_file(b"x"), bytes=1 << 50)
    assert end["ending"] == "error" and "No room" in end["detail"] and "Nothing was written" in end["detail"], end
    assert os.listdir(workspace) == []


def hostile_entries():
    for path in (b"..", b"../x", b"a/../../x", b"/abs", b"a//b", b"a/", b"./a", b"a/.", b"x" * 256, b"/".join([b"d"] * 65), b"nul\0"):
        yield pack_entry(FILE, path)
    yield pack_entry(9, b"x")
    yield pack_entry(FILE, b"x", target=b"t")
    yield pack_entry(SYMLINK, b"x")
    for target in [b"", b"missing", b"../etc/passwd", b"/etc/passwd", b"x", b"s"]:
        yield pack_entry(LINK, b"x", target=target)
    yield pack_entry(FILE, b"x", size=1 << 63)
    yield pack_entry(FILE, b"x")[:-1]
    yield pack_entry(DIRECTORY, b"")  # a second root


# evidence: hostile-archives
@pytest.mark.parametrize("payload", list(hostile_entries()))
def test_hostile_frames_are_rejected(client, workspace, payload):
    end = client.import_files("/workspace/x", [(pack_entry(DIRECTORY, b""), {}), (payload, {})])
    assert end["ending"] == "error" and "are inconsistent" in end["detail"], end
    assert os.listdir(workspace) == []


def test_data_beyond_the_size_is_refused(client, workspace):
    end = client.import_files("/workspace/x", [(pack_entry(FILE, b"", size=3), {0: b"four"})])
    assert end["ending"] == "error"
    assert os.listdir(workspace) == []


# evidence: copies-complete
def test_cancel_leaves_nothing(client, workspace):
    entries = [(pack_entry(DIRECTORY, b"", mode=0o500), {})]
    entries += [(pack_entry(FILE, b"%d/f" % i, size=1000), {0: b"x" * 1000}) for i in range(3000)]
    number = client.import_files("/workspace/x", entries, done=False)
    assert leftovers(workspace)
    client.send(frames.INTERRUPT, number)
    end = client.expect(lambda f: f.call == number and f.type == frames.END).payload
    assert end["ending"] == "interrupted" and os.listdir(workspace) == []
    assert client.ping() == b"ping"


def numbered(n):
    return [(pack_entry(DIRECTORY, b""), {})] + [(pack_entry(FILE, b"%d" % i, size=1), {0: b"x"}) for i in range(n)]


def test_a_cancel_after_the_end_of_the_data_is_ignored(client, workspace):
    """All data was sent, so a cancel comes too late: the files are all there."""
    client.terminal("mkdir x")
    number = client.import_files("/workspace/x", numbered(5000), done=False)
    client.send(frames.DONE, number)
    client.send(frames.INTERRUPT, number)
    end = client.expect(lambda f: f.call == number and f.type == frames.END).payload
    assert end["ending"] == "ok" and len(os.listdir(workspace / "x")) == 5000 and leftovers(workspace) == []


@pytest.mark.parametrize("obstacle, entry, why", [
    ("mkdir -p x/sub/in-the-way", pack_entry(FILE, b"sub/in-the-way"), "x/sub/in-the-way' is a directory"),
    ("mkdir -p x/sub; touch x/sub/in-the-way", pack_entry(DIRECTORY, b"sub/in-the-way"), "x/sub/in-the-way' leads through"),
    ("mkdir -p x/sub; chmod 555 x/sub", pack_entry(FILE, b"sub/in-the-way"), "x/sub/in-the-way' cannot be written: Permission denied"),
])
def test_one_conflict_rejects_the_whole_import(client, workspace, obstacle, entry, why):
    client.terminal(obstacle)
    end = client.import_files("/workspace/x", numbered(600) + [(entry, {})])
    assert end["ending"] == "error" and why in end["detail"] and "Nothing was kept" in end["detail"], end
    assert os.listdir(workspace / "x") == ["sub"] and leftovers(workspace) == []


def test_an_export_omits_files_of_an_unfinished_import(client, workspace):
    client.terminal("echo hi > mine; mkdir -p d/.husk-import-mine")
    number = client.import_files("/workspace/x", numbered(3), done=False)
    client.ping()  # it has begun
    assert leftovers(workspace)
    end, out = client.export_files("/workspace")
    assert end["ending"] == "ok" and set(out) == {b"", b"mine", b"d", b"d/.husk-import-mine"}, out
    client.send(frames.INTERRUPT, number)
    assert client.expect(lambda f: f.call == number and f.type == frames.END).payload["ending"] == "interrupted"


def test_unreadable_files_are_left_out_with_a_notice(client):
    client.terminal("mkdir -p d/closed; echo hi > d/file; touch d/secret; chmod 0 d/closed d/secret")
    end, out = client.export_files("/workspace/d")
    assert end["ending"] == "ok" and set(out) == {b"", b"file"}, end
    assert sorted(n.split("'")[1] for n in end["notices"]) == ["closed", "secret"] and "may not be read" in end["notices"][0]


# evidence: copies-complete
@pytest.mark.each_stream
def test_a_broken_stream_leaves_nothing(box, client, workspace):
    client.import_files("/workspace/x", [(pack_entry(DIRECTORY, b""), {}), (pack_entry(FILE, b"f", size=9), {0: b"x"})], done=False)
    client.process.kill()
    other = box.attach()
    deadline = time.monotonic() + 20
    while os.listdir(workspace) and time.monotonic() < deadline:
        other.ping()
    assert os.listdir(workspace) == [] and other.waiting == []
    assert other.import_files("/workspace/x", one_file(b"again"))["ending"] == "ok"


@pytest.mark.each_stream
def test_an_export_without_credit_blocks_no_other(client):
    client.terminal("head -c 30000000 /dev/zero | tr '\\0' x > big")
    number = client.start_files(frames.EXPORT, {"path": "/workspace/big"})
    held = 0
    while held < frames.WINDOW - (64 << 10):
        held += len(client.expect(lambda f: f.call == number).payload) + 9
    assert client.ping() == b"ping"
    assert client.execute("1+1").ending == "ok"
    held += sum(len(f.payload) + 9 for f in client.waiting if f.call == number)
    assert held <= frames.WINDOW
    client.send(frames.INTERRUPT, number)
    assert client.expect(lambda f: f.call == number and f.type == frames.END).payload["ending"] == "interrupted"


@pytest.mark.each_stream
def test_too_much_credit_ends_the_stream(client):
    client.terminal("head -c 3000000 /dev/zero > big")
    number = client.start_files(frames.EXPORT, {"path": "/workspace/big"})
    client.send(frames.CREDIT, number, struct.pack(">I", 1 << 31))
    client.wait_closed()


def test_concurrent_transfers_are_limited(client):
    client.terminal("head -c 3000000 /dev/zero | tr '\\0' x > big")
    numbers = [client.start_files(frames.EXPORT, {"path": "/workspace/big"}) for _ in range(9)]
    end = client.expect(lambda f: f.type == frames.END).payload
    assert end["ending"] == "refused"
    for number in numbers[:8]:
        client.send(frames.INTERRUPT, number)
        assert client.expect(lambda f, n=number: f.type == frames.END and f.call == n).payload["ending"] == "interrupted"


def test_a_file_that_changes_its_size_during_export(client, workspace):
    client.terminal("head -c 5000000 /dev/zero | tr '\\0' x > f")

    def shrink(frame):
        if frame.type == frames.ENTRY:
            os.truncate(workspace / "f", 4_500_000)

    end, out = client.export_files("/workspace/f", on_frame=shrink)
    assert end["ending"] == "ok" and out[b""].size == 5_000_000 and "shrank" in end["notices"][0]
    assert whole(out[b""]) == b"x" * 4_500_000 + bytes(500_000)


SWAP = r"""
import itertools, os, random, shutil
os.makedirs("/workspace/t/d", exist_ok=True)
def clear(p):
    try: os.rename(p, "/workspace/t/trash")
    except OSError: pass
    try: os.unlink("/workspace/t/trash")
    except OSError: shutil.rmtree("/workspace/t/trash", ignore_errors=True)
for i in itertools.count():
    os.closerange(3, 64)
    for p in ("/workspace/t/d", "/workspace/t/d/x", "/workspace/in", "/workspace/in/d"):
        try:
            if random.random() < .5: clear(p)
            k = random.randrange(5)
            if k == 0: os.write(os.open(p, os.O_WRONLY | os.O_CREAT | os.O_EXCL), b"inside")
            elif k == 1: os.symlink(random.choice(["/etc", "/etc/passwd", "/proc/1", "/opt/husk", "/proc/self/root", "/"]), p)
            elif k == 2: os.mkfifo(p)
            else: os.makedirs(p)
        except OSError: pass
    if i == 100: print("swapping", flush=True)
"""


# evidence: paths-inside
def test_swapped_links_cannot_escape_the_directory(box, client, workspace):
    """Sandbox code replaces names by links, pipes and directories while they are read and written."""
    swapper = box.enter(65532, "/usr/bin/python3", "-S", "-c", SWAP, stdout=subprocess.PIPE)
    try:
        assert swapper.stdout.readline() == b"swapping\n"
        tree = [(pack_entry(DIRECTORY, b""), {}), (pack_entry(DIRECTORY, b"d"), {}),
                (pack_entry(FILE, b"d/passwd", size=6), {0: b"import"}),
                (pack_entry(FILE, b"passwd", size=6), {0: b"import"})]
        endings = set()
        stop = time.monotonic() + 4
        while time.monotonic() < stop:
            for path in ("/workspace/t", "/workspace/t/d/x", "/workspace/t/d"):
                end, out = client.export_files(path)
                endings.add(end["ending"])
                for entry in out.values():
                    assert entry.type != FILE or whole(entry) in (b"", b"inside", b"import"), entry
            for destination in ("/workspace/in", "/workspace/in/d", "/workspace/t/d/x"):
                endings.add(client.import_files(destination, tree)["ending"])
                endings.add(client.import_files(destination + "/passwd", one_file(b"import"))["ending"])
            client.ping()  # no pipe or link blocks PID 1
        assert endings == {"ok", "error"}
    finally:
        swapper.kill()
        swapper.wait()
        swapper.stdout.close()
    # Not even the directories of the links were written to, and no staging directory is left.
    assert not pathlib.Path("/etc/d").exists() and open("/etc/passwd").read(6) != "import"
    assert leftovers(workspace) == []


# evidence: paths-inside
@pytest.mark.alone
def test_ping_is_answered_while_many_files_move(box, client, workspace):
    """Long work in small slices: 20,000 files are imported, merged into existing ones and exported, with pings all
    the time.
    """
    slowest, stop = [0], threading.Event()
    n = 20_000
    entries = [(pack_entry(DIRECTORY, b""), {})]
    entries += [(pack_entry(FILE, b"%d/%d" % (i % 50, i), size=10), {0: b"0123456789"}) for i in range(n)]

    def ping(frame=None):
        before = time.monotonic()
        client.ping()
        slowest[0] = max(slowest[0], time.monotonic() - before)

    for _ in range(2):
        number = client.import_files("/workspace/many", entries, done=False)
        client.send(frames.DONE, number)
        while True:
            ping()
            ends = [f for f in client.waiting if f.type == frames.END and f.call == number]
            if ends:
                break
        client.waiting.clear()
        assert ends[0].payload["ending"] == "ok" and ends[0].payload["entries"] == n + 1
    counter = [0]

    def now_and_then(frame):
        counter[0] += 1
        if counter[0] % 1000 == 0:
            ping()

    end, out = client.export_files("/workspace/many", on_frame=now_and_then)
    stop.set()
    assert end["ending"] == "ok" and end["entries"] == n + 51 and slowest[0] < 1
