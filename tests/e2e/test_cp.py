"""husk cp: files and folders into a session and out of it, with the rights of the person who copies."""

import os
import socket
import subprocess

import pytest
from attach_client import Attached, Refused, dial, sockets
from harness import clean_env, husk_binary
from pty_program import Program


@pytest.fixture
def cp(own_session, tmp_path):
    """cp(*words) runs husk cp in its own folder, with {} replaced by the session's id."""
    def copy(*words):
        command = [husk_binary(), "cp", *(word.format(own_session.id) for word in words)]
        env = clean_env(own_session.server.home)
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return copy


def test_files_and_folders_both_ways(own_session, cp, tmp_path):
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "a.csv").write_text("a\n1\n")
    (data / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (data / "deep" / "run.sh").chmod(0o750)
    os.utime(data / "a.csv", (1_600_000_000, 1_600_000_000))

    # Copy in: under its own name, under another name, into a folder, and a folder's contents.
    done = cp("data/a.csv", "{}:")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for words in (("data/a.csv", "{}:b.csv"), ("data/a.csv", "{}:~/mine/"), ("data", "{}:"), ("data/a.csv", "data/deep", "{}:many"), ("data/.", "{}:/tmp")):
        done = cp(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
    found = own_session.shell("cat a.csv b.csv ~/mine/a.csv data/a.csv many/a.csv /tmp/a.csv | sort | uniq -c | tr -s ' '; stat -c '%a %Y' data/deep/run.sh a.csv "
                              "many/deep/run.sh /tmp/deep/run.sh | cut -d' ' -f1 | tr '\\n' ' '; stat -c %Y a.csv").ok().stdout
    assert found == " 6 1\n 6 a\n750 644 750 750 1600000000\n"

    # As with cp, an existing folder receives the source inside it, and a folder's contents are merged into it.
    own_session.shell("mkdir there").ok()
    for words in (("data/a.csv", "{}:there"), ("data/deep", "{}:there"), ("data/.", "{}:there"), ("data", "{}:there/not"), ("data/a.csv", "{}:there/a.csv")):
        done = cp(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert own_session.shell("cd there; find . -type f | sort; rm -r ../there; cd ..").ok().stdout.split() == [
        "./a.csv", "./deep/run.sh", "./not/a.csv", "./not/deep/run.sh"]

    # Copy out.
    own_session.shell("echo changed >data/a.csv; echo 2 >data/new.csv").ok()
    here = tmp_path / "here"
    here.mkdir()
    for words in (("{}:data/a.csv", "here"), ("{}:data/a.csv", "here/named.csv"), ("{}:data", "{}:~/mine/a.csv", "here/"), ("{}:data", "here/fresh"), ("{}:data/.", "data")):
        done = cp(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert (here / "named.csv").read_text() == (data / "a.csv").read_text() == "changed\n"
    assert (here / "a.csv").read_text() == "a\n1\n" and (here / "fresh" / "new.csv").read_text() == "2\n"
    assert (here / "data" / "deep" / "run.sh").stat().st_mode & 0o100
    # A single file keeps its mode and time, as files in a folder do.
    cp("{}:data/deep/run.sh", "{}:~/mine/a.csv", "here/")
    assert [(path.stat().st_mode & 0o700, int(path.stat().st_mtime) == 1_600_000_000) for path in (here / "run.sh", here / "a.csv")] \
        == [(0o700, False), (0o600, True)]
    assert sorted(p.name for p in data.iterdir()) == ["a.csv", "deep", "new.csv"]


def test_names_prefixes_and_adoption(start, tmp_path):
    server = start()
    session = server.session(network=False, name="sales")

    def copy(*words):
        return subprocess.run([husk_binary(), "cp", *words], env=clean_env(server.home), cwd=tmp_path, capture_output=True, text=True, timeout=120)

    (tmp_path / "x").write_text("by name")
    assert copy("x", "sales:").returncode == 0
    assert copy(f"{session.id[:12]}:x", "back").returncode == 0 and (tmp_path / "back").read_text() == "by name"
    # A session without a server is taken over for the copy, and keeps running.
    server.kill()
    (tmp_path / "x").write_text("adopted")
    assert copy("x", "sales:y").returncode == 0
    assert copy("sales:y", "back").returncode == 0 and (tmp_path / "back").read_text() == "adopted"


# evidence: attach-files
def test_mistakes_and_the_rights_of_the_person(own_session, cp, tmp_path):
    (tmp_path / "file").write_text("x")
    for words, code, text in (
        (("file",), 64, "usage: husk cp"),
        (("file", "file2"), 64, "SESSION:PATH"),
        (("{}:a", "{}:b"), 64, "SESSION:PATH"),
        (("missing", "{}:"), 64, "cannot open 'missing': No such file"),
        (("file", "{}:/etc/x"), 64, "/workspace"),
        (("file", "nosuchsession:"), 1, "not found"),
        (("{}:missing", "."), 64, "missing"),
        (("{}:a", "{}:b", "nowhere"), 64, "cannot copy to 'nowhere'"),
        (("{}:a", "nowhere/"), 64, "cannot copy to 'nowhere/'"),
    ):
        done = cp(*words)
        assert done.returncode == code and text in done.stderr, (words, done)
    # The other files are copied.
    done = cp("missing", "file", "{}:")
    assert done.returncode == 64 and own_session.shell("cat file").ok().stdout == "x"
    # The server does not read a file for a client that only names its path: the client must pass it open.
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (path,) = sockets(own_session.server.home)
    with Attached(path) as person:
        target = f"/v1/sessions/{own_session.id}/imports"
        with pytest.raises(Refused) as refused:
            person.call("POST", target, {"files": [{"source": str(secret), "own": True}]})
        assert "was not sent with the request" in refused.value.fail["detail"]
        (result,) = person.call("POST", target, {"files": [{"source": str(secret)}]})["files"]
        assert "denied" in result["problem"]["detail"]
    # Files that nobody asked for are closed, and affect nobody.
    opened = len(os.listdir(f"/proc/{own_session.server.process.pid}/fd"))
    flood = dial(path)
    for byte in b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n":
        socket.send_fds(flood, [bytes([byte])], [0])
    assert b" 200 " in flood.recv(4096)
    assert len(os.listdir(f"/proc/{own_session.server.process.pid}/fd")) <= opened + 1
    flood.close()
    assert own_session.code("1 + 1").ok().value == "2"


def test_progress_is_for_terminals(own_session, tmp_path):
    with open(tmp_path / "large", "wb") as large:
        large.truncate(300 << 20)
    own_session.shell("mkdir -p ~/in").ok()
    person = Program([husk_binary(), "cp", str(tmp_path / "large"), f"{own_session.id}:~/in/"], clean_env(own_session.server.home))
    assert person.wait() == 0
    assert b"/home/sandbox/in/large (300.0 MB)" in person.all


def test_names_and_prefixes_everywhere(start, tmp_path):
    first = start(home=tmp_path / "home")
    session = first.session(network=False, name="sales")
    session.shell("echo kept >out.txt").ok()
    assert first.call("export_files", {"session_id": "sales", "files": [{"source": "out.txt"}]}).fields["success"]
    refused = first.call("create_session", {"name": "a" * 26, "network": False})
    assert refused.is_error and "25" in refused.text, refused.text
    first.kill()
    # The first call of the next server waits until the session has been taken over.
    second = start(home=tmp_path / "home")
    assert second.call("execute_terminal", {"session_id": "sales", "command": "cat out.txt"}).ok().stdout == "kept\n"
    assert "not found" in second.call("execute_terminal", {"session_id": "sale", "command": "true"}).text
    for word, name in (("sales", "a.txt"), (session.id[:8], "b.txt")):
        files = [{"session_id": word, "path": "out.txt", "destination": name}]
        assert second.call("import_files", {"session_id": session.id[:8], "files": files}).fields["success"]
    for word in ("sales", session.id[:8]):
        command = [husk_binary(), "history", "--verify", word]
        done = subprocess.run(command, env=clean_env(second.home), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and "of 1 sessions" in done.stdout, done
