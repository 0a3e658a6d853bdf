"""Disk use is limited whatever a session tries: each trick is stopped before it reaches three times the limit."""
import os
import subprocess

import frames
import pytest
from test_install import install

LIMIT = 16 << 20
FAR = 3 * LIMIT + (100 << 20)  # the limit, the same amount hidden, and bytes written between two checks on a busy machine
FOREVER = "\nwhile True: time.sleep(1)\n"
# The tricks write with this: 400 MiB, at the speed of a slow disk.
FILL = "for i in range(400): f.write(b'x' * (1 << 20)); f.flush(); time.sleep(0.01)"
EACH = "for i in range(400):\n    time.sleep(0.01); "

# Each fills `folder` as far as possible and then keeps running.
TRICKS = {
    "plain": f"f = open('x', 'wb')\n{FILL}",
    "deep": f"for i in range(70): os.mkdir('d'); os.chdir('d')\nf = open('x', 'wb')\n{FILL}",
    "very deep": f"for i in range(300): os.mkdir('d'); os.chdir('d')\nf = open('x', 'wb')\n{FILL}",
    "unlinked": f"f = open('x', 'wb')\nos.unlink('x')\n{FILL}",
    "mapped": f"import mmap\nkept = []\n{EACH}f = open('x', 'w+b'); f.truncate(1 << 20); m = mmap.mmap(f.fileno(), 0)\n"
              "    m[:] = b'x' * (1 << 20); kept.append(m); os.unlink('x'); f.close()",
    "empty": "for i in range(50000): open(str(i), 'w').close()",
    "linked": "open('x', 'wb').write(b'x' * 4096)\nfor i in range(50000): os.link('x', str(i))",
    "in flight": f"a, b = socket.socketpair()\n{EACH}f = open('x', 'wb'); os.unlink('x'); f.write(b'x' * (1 << 20))\n"
                 "    f.flush(); socket.send_fds(a, [b'x'], [f.fileno()]); f.close()",
    "locked": f"os.mkdir('d'); f = open('d/x', 'wb'); os.chmod('d', 0)\n{FILL}",
    "allocated": "a, b = socket.socketpair()\n"
                 f"{EACH}f = open('x', 'wb'); os.unlink('x'); os.posix_fallocate(f.fileno(), 0, 1 << 20)\n"
                 "    socket.send_fds(a, [b'x'], [f.fileno()]); f.close()",
    "children": "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\na, b = socket.socketpair()\n"
                f"{EACH}\n    if os.fork(): continue\n    f = open(str(i), 'wb'); os.unlink(str(i)); f.write(b'x' * (1 << 20)); f.flush()\n"
                "    socket.send_fds(a, [b'x'], [f.fileno()]); os._exit(0)",
    "undumpable": f"ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nf = open('x', 'wb')\nos.unlink('x')\n{FILL}",
}


def script(folder, trick):
    return f"import ctypes, os, socket, time\nos.chdir('{folder}')\n{TRICKS[trick]}{FOREVER}"


@pytest.fixture
def disk(tmp_path):
    """A separate file system, so that other programs do not change its free space."""
    image, folder = tmp_path / "disk.img", tmp_path / "disk"
    with open(image, "wb") as file:
        file.truncate(600 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-N", "100000", str(image)], check=True)
    folder.mkdir()
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    for name in ("home", "deps", "tmp"):
        (folder / name).mkdir()
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def used(disk):
    v = os.statvfs(disk)
    return (v.f_blocks - v.f_bfree) * v.f_frsize


# evidence: container-disk
@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_gets_an_install_beyond_its_limit(make_box, disk, trick):
    before = used(disk)
    box = make_box("--install", manifest={"installer": {"command": ["/usr/bin/python3", "-c", script("/opt/husk/deps", trick)], "installed": ["/bin/true"]}},
                   env={"DISK": str(disk)})
    client = box.attach(hello=False)
    client.hello()
    reply = client.finish(install(client, size_limit=LIMIT, timeout_ms=100000), timeout=100)
    assert reply.ending == "error" and reply.end["cause"] == "install_size" and "size limit" in reply.detail
    assert used(disk) - before < FAR + 2 * LIMIT  # /tmp has its own share, twice that of the packages


# evidence: container-disk
def test_holes_count_as_used_in_an_install(make_box, disk):
    box = make_box("--install", manifest={"installer": {"command": ["/usr/bin/truncate", "-s", "200M", "/opt/husk/deps/x"], "installed": ["/bin/true"]}},
                   env={"DISK": str(disk)})
    client = box.attach(hello=False)
    client.hello()
    assert client.finish(install(client, size_limit=LIMIT)).end["cause"] == "install_size"


# evidence: container-disk
@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_gets_a_home_directory_beyond_its_limit(make_box, disk, trick):
    before = used(disk)
    box = make_box("--home-size", str(LIMIT), env={"DISK": str(disk)})
    client = box.attach()
    command = "exec /usr/bin/python3 - <<'END'\n" + script("/home/sandbox", trick) + "END\n"
    reply = client.finish(client.start(frames.TERMINAL, command, timeout_ms=100000), timeout=100)
    assert reply.ending == "error", reply.detail
    assert used(disk) - before < FAR
    assert reply.end.get("cause") == "disk" or "on disk" in reply.detail


def test_files_in_a_full_home_directory_can_be_deleted(make_box, disk):
    client = make_box("--home-size", str(LIMIT), env={"DISK": str(disk)}).attach()
    reply = client.terminal("head -c 20M /dev/zero >~/x; sleep 100")
    assert reply.ending == "error" and reply.end["cause"] == "disk" and "full" in reply.detail
    assert client.terminal("rm ~/x; echo done").out == b"done\n"
    assert client.terminal("head -c 5M /dev/zero >~/x; echo $TMPDIR; touch $TMPDIR/y").out == b"/home/sandbox/.tmp\n"


def test_an_import_needs_room_in_the_home_directory(make_box, disk):
    client = make_box("--home-size", str(LIMIT), env={"DISK": str(disk)}).attach()
    asked = ({"bytes": LIMIT + 1, "entries": 1}, {"bytes": 1, "entries": LIMIT // 4096 + 1})
    for size, words in zip(asked, (" of 16.0 MB free", "files are needed"), strict=True):
        number = client.start_files(frames.IMPORT, {"destination": "/home/sandbox/big", **size})
        end = client.expect(lambda f, number=number: f.call == number and f.type == frames.END).payload
        assert end["ending"] == "error" and words in end["detail"] and "Nothing was written" in end["detail"], end
    assert client.terminal("ls -A ~").out == b".tmp\n"


# evidence: container-disk
def test_a_session_is_stopped_before_the_hosts_disk_is_full(make_box, disk):
    v = os.statvfs(disk)
    free = v.f_bavail * v.f_frsize
    client = make_box("--home-size", str(1 << 30), "--disk-floor", str(free - (40 << 20)), env={"DISK": str(disk)}).attach()
    reply = client.terminal("while :; do head -c 4M /dev/zero >>~/x; sleep 0.05; done")
    assert reply.ending == "error" and reply.end["cause"] == "disk"
    v = os.statvfs(disk)
    assert v.f_bavail * v.f_frsize > free - (120 << 20)
