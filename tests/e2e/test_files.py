"""import_files and export_files: three ways in, one way out, and what is kept."""

import base64
import hashlib
import json
import os
import pathlib
import re
import stat
import subprocess
import tarfile

import harness
import pytest

WHEN = 1_600_000_000.25


def put(session, *files, **more):
    return session.server.call("import_files", {"session_id": session.id, "files": list(files)}, **more)


def get(session, *paths, **more):
    return session.server.call("export_files", {"session_id": session.id, "files": [{"source": p} for p in paths]}, **more)


def imported(session, *files, **more):
    result = put(session, *files, **more)
    assert not result.is_error and result.success, result.text
    return result.files


def exported(session, *paths, **more):
    result = get(session, *paths, **more)
    assert not result.is_error and result.success, result.text
    return result.files


def digest(content):
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def storage(server):
    return server.home / "data" / "husk" / "storage"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A server with a folder to import from, and a session on it."""
    folder = tmp_path_factory.mktemp("files")
    allowed = folder / "allowed"
    allowed.mkdir()
    server = harness.Server(folder / "home", IMPORT_ALLOWED_DIRS=allowed, CONTAINER_MAX_SESSIONS=20, CONTAINER_MAX_SESSIONS_PER_THREAD=20)
    server.allowed = allowed
    server.shared = server.session(network=False)
    yield server
    server.stop()


def leaves(value, name=""):
    """Each value that is not an object or a list, and each empty object or list, with its name."""
    inside = list(value.items()) if isinstance(value, dict) else [(name, item) for item in value] if isinstance(value, list) else []
    return [leaf for key, item in inside for leaf in leaves(item, key)] or [(name, value)]


@pytest.mark.parametrize("paths", [["one.csv"], ["folder"], ["one.csv", "folder", "odd", "empty.txt", "missing", "/etc/passwd"]],
                         ids=["file", "folder", "several"])
def test_an_answer_about_exports_repeats_nothing_and_has_no_empty_fields(host, paths):
    host.shared.shell("mkdir -p folder/sub; echo a >one.csv; echo b >folder/sub/b; echo c >odd; : >empty.txt").ok()
    answer = get(host.shared, *paths)
    text = json.loads(answer.content[0]["text"])
    assert text == answer.fields and len(text["files"]) == len(paths)
    for name, value in leaves({"text": text, "content": answer.content[1:]}):
        assert value not in (None, "", [], {}), name
    for entry in text["files"]:
        texts = [value for _, value in leaves(entry) if isinstance(value, str)]
        assert len(set(texts)) == len(texts), "a value is repeated"
        # host_path is a folder of the store, which is named after the hash.
        hashes = [value for value in texts if re.search(r"[0-9a-f]{32}", value) and value != entry.get("host_path")]
        assert hashes == ([entry["hash"]] if entry["success"] else [])
        assert not hashes or entry["hash_kind"] == "blake2b-256" and re.fullmatch(r"[0-9a-f]{64}", hashes[0])
    assert [entry["success"] for entry in text["files"]] == [path not in ("missing", "/etc/passwd") for path in paths]


def test_text_and_bytes_from_the_arguments_are_imported(host):
    raw = bytes(range(256)) * 5
    files = imported(
        host.shared,
        {"file_content": "a,b\n1,ü\n", "destination": "inline/data.csv"},
        {"file_content": base64.b64encode(raw).decode(), "encoding": "base64", "destination": "/tmp/raw.bin"},
        {"file_content": "", "destination": "inline/empty"},
    )
    assert [f["destination"] for f in files] == ["/workspace/inline/data.csv", "/tmp/raw.bin", "/workspace/inline/empty"]
    assert [f["size"] for f in files] == [9, len(raw), 0] and all("error" not in f and f["source"] == "inline" for f in files)
    out = host.shared.code("import os; csv = 'inline/data.csv'; open(csv).read(), open('/tmp/raw.bin','rb').read() == bytes(range(256))*5, "
                        "os.path.getsize('inline/empty'), oct(os.stat(csv).st_mode), os.access(csv, os.W_OK)").ok()
    assert out.value == "('a,b\\n1,ü\\n', True, 0, '0o100644', True)"


def test_a_host_file_is_imported_under_a_chosen_name(host):
    source = host.allowed / "data.csv"
    source.write_text("x\n")
    source.chmod(0o640)
    os.utime(source, (WHEN, WHEN))
    files = imported(host.shared, {"source": str(source)}, {"source": str(source), "destination": "into/"},
                     {"source": str(source), "destination": "named"})
    assert [f["destination"] for f in files] == ["/workspace/data.csv", "/workspace/into/data.csv", "/workspace/named"]
    out = host.shared.code("s = os.stat('/workspace/into/data.csv'); oct(s.st_mode), s.st_mtime, s.st_uid == os.getuid()").ok()
    assert out.value == f"('0o100640', {WHEN}, True)"


def test_storage_dir_is_allowed_too_and_relative_paths_are_below_it(host):
    storage(host).mkdir(parents=True, exist_ok=True)
    (storage(host) / "kept.txt").write_text("kept")
    files = imported(host.shared, {"source": "kept.txt"}, {"source": str(storage(host) / "kept.txt"), "destination": "k2"})
    assert [f["size"] for f in files] == [4, 4]


NAMES = [b"plain", b"new\nline", "\u00fcml\u00e4ut \u2603".encode(), b"-rf", b"--help", b"x" * 255, b"\xff\xfe raw", b" "]


def make_tree(top):
    top = os.fsencode(top)
    os.makedirs(top + b"/sub/deep")
    for name in NAMES:
        with open(top + b"/sub/" + name, "wb") as f:
            f.write(name * 100)
        os.utime(top + b"/sub/" + name, (WHEN, WHEN))
    open(top + b"/empty", "w").close()
    os.mkdir(top + b"/nothing inside")
    with open(top + b"/run.sh", "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod(top + b"/run.sh", 0o755)
    with open(top + b"/sparse", "wb") as f:
        f.truncate(30_000_000)
        f.seek(10_000_000)
        f.write(b"middle")
    os.symlink("/etc/passwd", top + b"/out")
    os.symlink("sub/plain", top + b"/in")
    os.chmod(top + b"/sub/deep", 0o555)


def look(top):
    """Everything about a tree that must survive a copy."""
    found = {}
    top = os.fsencode(top)
    for folder, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            content = (os.readlink(path) if stat.S_ISLNK(info.st_mode) else
                       hashlib.sha256(open(path, "rb").read()).hexdigest() if stat.S_ISREG(info.st_mode) else None)
            link = stat.S_ISLNK(info.st_mode)  # Python's tarfile gives them no times
            found[os.path.relpath(path, top)] = (info.st_mode if not link else link, info.st_mtime if not link else link, content)
    return found


def test_a_directory_survives_import_and_export(host, tmp_path):
    tree = host.allowed / "tree"
    make_tree(tree)
    (file,) = imported(host.shared, {"source": str(tree) + "/", "destination": "tree/"})
    assert file["destination"] == "/workspace/tree" and file["size"] > 30_000_000 and "notices" not in file
    assert int(host.shared.shell("du -sk tree").stdout.split()[0]) < 2000  # the hole is still a hole
    (file,) = exported(host.shared, "tree")
    assert file["directory"] and file["host_path"].endswith(".tar") and file["mime"] == "application/x-tar"
    with tarfile.open(file["host_path"]) as tar:
        tar.extractall(tmp_path)
    assert look(tmp_path / "tree") == look(tree)
    assert os.path.getsize(file["host_path"]) < 1_000_000
    # The tree is imported again from the tar, and so are a single file and a directory of it.
    files = imported(host.shared, {"session_id": host.shared.id, "path": "/workspace/tree", "destination": "copy"},
                     {"session_id": host.shared.id, "path": "tree/sub/plain", "destination": "one"},
                     {"session_id": host.shared.id, "path": "tree/sub", "destination": "some"})
    assert [f["source"] for f in files][0] == f"{host.shared.id}:/workspace/tree" and files[1]["size"] == 500
    out = host.shared.shell("diff -r --no-dereference tree copy && diff -r tree/sub some && cmp one tree/sub/plain && "
                         "for d in tree copy; do (cd $d; find . -printf '%P %m %T@ %y %l\\0' | sort -z) | md5sum; done; "
                         "du -sk copy/sparse")
    lines = out.stdout.split("\n")
    assert out.exit_code == 0 and lines[0] == lines[1] and int(lines[2].split()[0]) < 100, out.text


# evidence: hard-links
def test_hard_links_are_one_file(host):
    """65,000 names of one file of 100 kB are exported, counted and imported as one file."""
    host.shared.shell("mkdir links; head -c 100000 /dev/urandom > links/a; "
                      "python3 -c 'import os; [os.link(\"links/a\", f\"links/{i}\") for i in range(64_999)]'")
    (file,) = exported(host.shared, "links")
    assert file["size"] == 100_000 and os.path.getsize(file["host_path"]) < 120_000_000, file
    files = imported(host.shared, {"session_id": host.shared.id, "path": "/workspace/links", "destination": "again"},
                     {"session_id": host.shared.id, "path": "links/77", "destination": "single"})
    assert [f["size"] for f in files] == [100_000, 100_000]
    out = host.shared.shell("stat -c %h again/5 single; cmp links/a again/64998; cmp links/a single; rm -r links again single")
    assert out.stdout.split() == ["65000", "1"] and not out.stderr, out.text


def test_a_file_is_exported(host):
    content = os.urandom(3_000_001)
    imported(host.shared, {"file_content": base64.b64encode(content).decode(), "encoding": "base64", "destination": "out/result.bin"})
    result = get(host.shared, "out/result.bin")
    (file,) = result.files
    path = pathlib.Path(file["host_path"])
    assert (file["path"], file["size"], file["hash"]) == ("/workspace/out/result.bin", len(content), digest(content))
    assert path.read_bytes() == content and path.is_relative_to(storage(host) / "exports")
    assert (file["name"], path.name, path.parent.name) == ("result.bin", "result.bin", file["hash"])
    assert file["session_id"] == host.shared.id and "download_url" not in file
    (link,) = [b for b in result.content if b["type"] == "resource_link"]
    assert link["uri"] == file["uri"] and link["size"] == len(content) and link["name"] == "result.bin"
    # Exporting the same content again gives the same file.
    (again,) = exported(host.shared, "/workspace/out/../out/result.bin")
    assert again["host_path"] == file["host_path"] and again["uri"] != file["uri"]
    assert os.listdir(storage(host) / "exports" / "incoming") == []


def test_a_large_file_is_exported(start, transport, tmp_path):
    """The file is passed as a descriptor over the socket, and as data over exec. Both give the same name, and the
    content is hashed in pieces.
    """
    server, piece = start(IMPORT_ALLOWED_DIRS=tmp_path), 4 << 20
    session = server.session(network=False)
    content = os.urandom(2 * piece + 1)
    (tmp_path / "large").write_bytes(content)
    imported(session, {"source": str(tmp_path / "large"), "destination": "large"})
    (file,) = exported(session, "large")
    hashes = b"".join(hashlib.sha256(content[at:at + piece]).digest() for at in range(0, len(content), piece))
    assert (file["hash_kind"], file["hash"]) == ("sha256-4m", hashlib.sha256(hashes).hexdigest())
    assert pathlib.Path(file["host_path"]).read_bytes() == content
    assert os.listdir(storage(server) / "exports" / "incoming") == []


def test_entries_fail_one_by_one(host):
    (host.allowed / "fine.txt").write_text("fine")
    result = put(host.shared, {"source": str(host.allowed / "missing")}, {"source": str(host.allowed / "fine.txt")}, {"destination": "x"},
                 {"file_content": "%%%", "encoding": "base64", "destination": "b"}, {"file_content": "no destination"},
                 {"file_content": "x", "destination": "/etc/x"}, {"file_content": "x", "destination": "../../etc/x"},
                 {"session_id": host.shared.id, "path": "never-exported"}, {"file_content": "last", "destination": "last"})
    assert not result.is_error and result.success is False and "error" not in result.fields
    assert [f["success"] for f in result.files] == [False, True, False, False, False, False, False, False, True]
    errors = [f.get("error", "") for f in result.files]
    assert "not found" in errors[0] and "must provide" in errors[2] and "base64" in errors[3] and "destination is required" in errors[4]
    assert "outside /workspace" in errors[5] and "outside /workspace" in errors[6] and "use export_files first" in errors[7]
    # A refused destination is shown as it was given, and an entry without one has no empty field.
    assert [f.get("destination", "-") for f in result.files[4:8]] == ["-", "/etc/x", "../../etc/x", "/workspace/never-exported"]
    result = get(host.shared, "nothing-here", "last", "/etc/passwd", "/proc/1/environ")
    assert [f["success"] for f in result.files] == [False, True, False, False] and result.success is False
    assert "not found in container" in result.files[0]["error"] and "outside /workspace" in result.files[2]["error"]
    assert sum(b["type"] == "resource_link" for b in result.content) == 1


@pytest.mark.parametrize(("tool", "files", "why"), [
    ("import_files", [], "list of 1 to"), ("import_files", "x", "list of 1 to"), ("import_files", ["x"], "files[0]: must be an object"),
    ("import_files", [{"source": 5}], "files[0]: source must be"), ("import_files", [{"sauce": "x"}], "files[0]: unknown argument 'sauce'"),
    ("import_files", [{"file_content": "x", "encoding": "rot13", "destination": "x"}], "encoding"),
    ("export_files", [{}], "files[0]: source is required"), ("export_files", [{"source": " "}], "files[0]: source must be"),
])
def test_bad_arguments(host, tool, files, why):
    result = host.call(tool, {"session_id": host.shared.id, "files": files})
    assert result.is_error and why in result.text and result.error == "INVALID_INPUT", result.text


def test_an_unknown_session(host):
    for tool in ("import_files", "export_files"):
        result = host.call(tool, {"session_id": "a" * 26, "files": [{"source": "x"}]})
        assert result.is_error and "not found" in result.text


# --- the host


# evidence: paths-host
def test_only_allowed_folders(host, tmp_path):
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (host.allowed / "link-out").symlink_to(outside)
    (host.allowed / "dir-out").symlink_to(tmp_path)
    (host.allowed / "real.txt").write_text("real")
    (host.allowed / "link-in").symlink_to("real.txt")
    denied = [str(outside), str(host.allowed / "link-out"), str(host.allowed / "dir-out" / "secret.txt"), f"{host.allowed}/../home/x",
              "/etc/passwd", "/etc/no-such-file", f"{host.allowed}/../{tmp_path.name}/secret.txt", str(host.allowed) + "x/y",
              "../../../etc/passwd"]
    result = put(host.shared, *({"source": s, "destination": f"denied{i}"} for i, s in enumerate(denied)))
    for file in result.files:
        assert not file["success"] and "outside allowed directories. Configure IMPORT_ALLOWED_DIRS" in file["error"], file
        assert str(host.allowed) in file["error"] and "husk mcp --allow DIR" in file["hint"], file
    assert host.shared.shell("ls -d denied*").exit_code == 2
    # A link that was named itself is followed if it stays inside; a link in a named directory is copied as a link.
    assert imported(host.shared, {"source": str(host.allowed / "link-in")})[0]["size"] == 4


def test_the_option_allow_adds_folders(start, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "a.csv").write_text(folder.name)
    session = start(args=("mcp", "--allow", one, "--allow", two)).session(network=False)
    imported(session, {"source": str(one / "a.csv"), "destination": "one"}, {"source": str(two / "a.csv"), "destination": "two"})
    assert session.shell("cat one two").ok().stdout == "onetwo"
    (refused,) = put(session, {"source": "/etc/passwd"}).files
    assert f"{one}, {two}" in refused["error"]


def test_special_files_of_the_host(host):
    folder = host.allowed / "special"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "file").write_text("x")
    result = put(host.shared, {"source": str(folder / "pipe")}, {"source": "/dev/zero"})
    assert "neither a file nor a directory" in result.files[0]["error"] and "denied" in result.files[1]["error"]
    (file,) = imported(host.shared, {"source": str(folder)})
    assert file["notices"] == ["'pipe' is neither file nor directory and was left out"] and file["size"] == 1


# evidence: paths-host
def test_husks_own_files_cannot_be_imported(start, tmp_path):
    """The files cannot be imported even if a setting allows the folders that contain them, and not under another name
    either.
    """
    server = start(IMPORT_ALLOWED_DIRS=tmp_path)
    session = server.session(network=False)
    imported(session, {"file_content": "secret export", "destination": "e.txt"})
    (export,) = exported(session, "e.txt")
    state = server.home / "state" / "husk"
    config = server.home / "config" / "husk"
    config.mkdir(parents=True)
    (config / ".env").write_text("ENCRYPTION_KEY=x\n")
    database = next(p for p in state.iterdir() if p.suffix == ".db")
    os.link(database, tmp_path / "hardlink.db")
    (tmp_path / "symlink").symlink_to(state)
    (state / "settings.key").write_text("0" * 64)
    own = [export["host_path"], storage(server) / "exports", database, state, state / "settings.key", tmp_path / "hardlink.db",
           config / ".env", tmp_path / "symlink" / database.name]
    result = put(session, *({"source": str(s), "destination": "x"} for s in own))
    for file in result.files:
        assert not file["success"] and "Husk keeps its own files" in file["error"], file
    # A folder above them is imported without them, and the result says so.
    (tmp_path / "theirs.txt").write_text("x")
    (file,) = imported(session, {"source": str(tmp_path), "destination": "all"})
    found = session.shell("find all -type f -o -type d | sort").stdout
    assert "theirs.txt" in found and "exports" not in found and ".db" not in found and ".env" not in found and "/state/husk" not in found
    assert sum("Husk's own" in n for n in file["notices"]) >= 4


# --- files between sessions, and after their end


def test_exports_can_be_imported_by_other_sessions_after_the_end(start):
    server = start()
    python, r = server.session(language="python", network=False), server.session(language="r", network=False)
    python.code("open('t.csv','w').write('a,b\\n1,2\\n3,4\\n'); import os; os.mkdir('d'); open('d/f','w').write('in d')").ok()
    exported(python, "t.csv", "d")
    imported(r, {"session_id": python.id, "path": "t.csv"})
    assert "4" in r.code("sum(read.csv('t.csv')$a)").ok().text
    assert not python.stop().is_error
    imported(r, {"session_id": python.id, "path": "/workspace/t.csv", "destination": "again.csv"}, {"session_id": python.id, "path": "d"})
    assert "in d" in r.code("readLines('d/f')").ok().text
    r.server.engine.kill_container(r.container)


# evidence: exports-private
def test_another_conversation_cannot_read_exports(start, tmp_path):
    data = tmp_path / "shared"
    one = start(HUSK_THREAD_ID="thread-one", XDG_DATA_HOME=data, XDG_STATE_HOME=data / "state")
    session = one.session(network=False)
    imported(session, {"file_content": "mine", "destination": "f"})
    (file,) = exported(session, "f")
    two = start(HUSK_THREAD_ID="thread-two", XDG_DATA_HOME=data, XDG_STATE_HOME=data / "state")
    other = two.session(network=False)
    result = put(other, {"session_id": session.id, "path": "f"}, {"source": file["host_path"]})
    assert [f["success"] for f in result.files] == [False, False], result.text
    assert two.request("resources/list").result()["resources"] == []
    assert two.request("resources/read", {"uri": file["uri"]}).error()["code"] == -32602
    assert [r["uri"] for r in one.request("resources/list").result()["resources"]] == [file["uri"]]


def test_exports_outlive_sessions_and_servers(start, tmp_path):
    home = tmp_path / "home"
    server = start(home=home)
    session = server.session(network=False)
    imported(session, {"file_content": "stays", "destination": "f.txt"})
    (file,) = exported(session, "f.txt")
    server.engine.remove(session.container)
    assert server.request("resources/read", {"uri": file["uri"]}).result()["contents"][0]["text"] == "stays"
    server.kill()
    again = start(home=home)
    assert again.request("resources/read", {"uri": file["uri"]}).result()["contents"][0]["text"] == "stays"
    other = again.session(network=False)
    imported(other, {"session_id": session.id, "path": "f.txt"})
    assert other.shell("cat f.txt").stdout == "stays"


# evidence: exports-limits
def test_exports_are_limited_and_can_be_deleted(start):
    server = start(EXPORTS_MAX_SIZE_PER_CONVERSATION="1m")
    session = server.session(network=False)

    def husk(*args):
        command = [harness.husk_binary(), *args]
        return subprocess.run(command, env=harness.clean_env(server.home), capture_output=True, text=True, check=False)

    session.shell("for i in 1 2; do head -c 600k /dev/urandom >$i; done").ok()
    first = exported(session, "/workspace/1")[0]
    refused = get(session, "/workspace/2").files[0]
    assert not refused["success"] and "0.6 MiB, with this one 1.2 MiB; the limit is 1.0 MiB" in refused["error"], refused
    assert "husk exports --delete" in str(refused), refused
    export = next(e for e in json.loads(husk("exports", "--all", "--json").stdout)["exports"] if e["name"] == "1")
    assert husk("exports", "--delete", "nothing").returncode != 0
    assert husk("exports", "--delete", export["id"]).stdout == f"deleted {export['id']}\n"
    assert not os.path.exists(first["host_path"])
    assert exported(session, "/workspace/2")
    assert husk("history", "--verify").returncode == 0


def test_a_session_that_dies_during_a_copy_is_reported(start):
    server = start()
    session = server.session(network=False)
    session.shell("head -c 100M /dev/urandom > big; mkfifo p")
    call = server.start_call("export_files", {"session_id": session.id, "files": [{"source": "big"}, {"source": "p"}]})
    server.engine.kill_container(session.container)
    result = call.tool()
    if not result.is_error:  # the first file may have been copied before the kill
        assert not result.files[1]["success"] and result.files[1]["error"], result.text
    harness.wait_until(lambda: os.listdir(storage(server) / "exports" / "incoming") == [], what="an empty folder")


def test_a_session_that_is_stopped_between_entries_is_reported(start):
    """Entries that were not reached are answered too, each by its name."""
    server = start()
    session = server.session(network=False)
    session.shell("head -c 60M /dev/urandom > big; for i in 1 2 3 4 5 6 7; do ln big big$i; done")
    names = ["big"] + [f"big{i}" for i in range(1, 8)]
    call = server.start_call("export_files", {"session_id": session.id, "files": [{"source": name} for name in names]})
    server.call("stop_session", {"session_id": session.id})
    result = call.tool()
    server.request("tools/list").result()  # the server still answers
    if not result.is_error:
        assert [os.path.basename(f["path"]) for f in result.files] == names
        assert not result.files[-1]["success"] and result.files[-1]["error"], result.text


# --- resources


@pytest.mark.parametrize("era", [harness.MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_resources_in_each_revision(start, era):
    server = start(era=era)
    session = server.session(network=False)
    session.shell("echo 'text ü' > 'a b.txt'; printf '\\211PNG\\r\\n' > p.png; mkdir d; echo x > d/f; head -c 5000000 /dev/zero > big")
    result = get(session, "a b.txt", "p.png", "d", "big")
    assert result.success
    files = result.files if era != "2024-11-05" else result.fields["files"]
    listed = server.request("resources/list").result()["resources"]
    assert [r["uri"] for r in listed] == [f["uri"] for f in reversed(files)]
    assert [r["name"] for r in listed] == ["big", "d.tar", "p.png", "a b.txt"] and listed[3]["mimeType"] == "text/plain"

    def read(file):
        return server.request("resources/read", {"uri": file["uri"]}).result()["contents"][0]

    assert read(files[0])["text"] == "text ü\n"
    assert base64.b64decode(read(files[1])["blob"]) == b"\x89PNG\r\n" and read(files[1])["mimeType"] == "image/png"
    assert base64.b64decode(read(files[2])["blob"]) == pathlib.Path(files[2]["host_path"]).read_bytes()
    error = server.request("resources/read", {"uri": files[3]["uri"]}).error()
    assert "5000000 bytes" in error["message"] and files[3]["host_path"] in error["message"]
    missing = "husk://exports/nothing/x"
    error = server.request("resources/read", {"uri": missing}).error()
    assert error["code"] == (-32602 if era == harness.MODERN else -32002) and error["data"]["uri"] == missing
    template, _runs = server.request("resources/templates/list").result()["resourceTemplates"]
    assert template["uriTemplate"] == "husk://exports/{id}/{name}"
    links = [b for b in result.content if b["type"] == "resource_link"]
    assert len(links) == (4 if era >= "2025-06-18" else 0)


# evidence: names-clean
def test_names_are_shown_like_output(start):
    """A file name cannot look like one of Husk's labels, and no part of it is hidden from people."""
    server = start()
    session = server.session(network=False)
    name = "\u27e6note\u27e7 \u202edone\u00ad\u301aok\u301b.txt"
    shown = "[[note]] <U+202E>done<U+00AD>[[ok]].txt"
    session.code(f"open({ascii(name)}, 'w').write('x')").ok()
    result = server.call("export_files", {"session_id": session.id, "files": [{"source": name}, {"source": name + "2"}]})
    good, bad = result.fields["files"]
    assert good["name"] == shown and good["path"] == "/workspace/" + shown and good["host_path"].endswith(shown), good
    assert shown in bad["path"] and not bad["success"], bad
    listed = server.request("resources/list").result()["resources"]
    assert [(r["name"], shown in r["description"]) for r in listed] == [(shown, True)], listed
    for text in (json.dumps(result.raw, ensure_ascii=False), json.dumps(listed, ensure_ascii=False)):
        assert not set("\u27e6\u27e7\u202e\u00ad\u301a\u301b") & set(text), text


def test_a_long_list_comes_in_pages(start):
    server = start()
    session = server.session(network=False)
    session.shell("for i in $(seq 150); do echo $i > f$i; done")
    exported(session, *(f"f{i}" for i in range(1, 151)))
    first = server.request("resources/list").result()
    second = server.request("resources/list", {"cursor": first["nextCursor"]}).result()
    names = [r["name"] for r in first["resources"] + second["resources"]]
    assert names == [f"f{i}" for i in range(150, 0, -1)] and "nextCursor" not in second
    assert server.request("resources/list", {"cursor": "nonsense"}).error()["code"] == -32602
