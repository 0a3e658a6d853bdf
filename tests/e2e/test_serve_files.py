"""Imports, exports and links over HTTP, with real sessions."""

import contextlib
import hashlib
import os
import pathlib
import socket
import urllib.parse

import harness
import pytest


@pytest.fixture(scope="module")
def session(serving):
    """A session that the tests share."""
    return serving.create()


def put(serving, session, path, content):
    reply = serving.call("POST", f"/v1/sessions/{session}/imports", {"files": [{"content": content, "destination": path}]})
    assert reply.status == 200, reply.body
    assert reply.json["success"], reply.json
    return reply.json["files"][0]


def export(serving, session, path):
    reply = serving.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": path}]})
    assert reply.status == 200 and reply.json["success"], reply.body
    return reply.json["files"][0]["export"]


def open_files(pid):
    found = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(os.readlink(entry))
    return found


def test_a_file_goes_in_and_comes_out(serving, session):
    assert put(serving, session, "round.txt", "über\n")["path"] == "/workspace/round.txt"
    made = export(serving, session, "round.txt")
    assert made["session"] == session and "host_path" not in made
    content = serving.call("GET", f"/v1/exports/{made['id']}/content")
    assert content.body.decode() == "über\n"
    assert content.fields["etag"] == f'"{made["hash"]}"' == f'"{hashlib.blake2b(content.body, digest_size=32).hexdigest()}"'
    assert "immutable" in content.fields["cache-control"]


def test_the_link_of_an_export_needs_no_key(serving, session):
    put(serving, session, "linked.txt", "0123456789")
    link = export(serving, session, "linked.txt")["download_url"]
    assert link.startswith(serving.origin + "/v1/exports/")
    target = link.removeprefix(serving.origin)
    assert serving.call("GET", target, key="").body == b"0123456789"
    part = serving.call("GET", target, key="", fields={"Range": "bytes=3-5"})
    assert (part.status, part.body, part.fields["content-range"]) == (206, b"345", "bytes 3-5/10")
    changed = serving.call("GET", target[:-1] + ("A" if target[-1] != "A" else "B"), key="")
    assert changed.status == 403 and "signature" in changed.json["detail"]


def test_mcp_answers_have_links_and_no_paths_of_the_host(serve):
    one = serve()
    session = one.create()
    put(one, session, "linked.txt", "0123456789")
    done = one.ask_mcp("tools/call", {"name": "export_files", "arguments": {"session_id": session, "files": [{"source": "linked.txt"}]}},
                   "export_files")["result"]
    file = done["structuredContent"]["files"][0]
    link = file["download_url"].removeprefix(one.origin)
    assert one.call("GET", link, key="").body == b"0123456789"
    assert done["content"][1]["_meta"]["dev.husk/download_url"].startswith(one.origin)
    refused = one.ask_mcp("tools/call", {"name": "import_files", "arguments": {
        "session_id": session, "files": [{"source": "/etc/hostname"}]}}, "import_files")["result"]
    assert refused["isError"] and "paths of the host cannot be imported" in str(refused)
    for path in one.home.rglob("*linked.txt"):
        path.unlink()
    lost = one.ask_mcp("resources/read", {"uri": file["uri"]}, file["uri"])
    assert "`husk doctor` on the server" in lost["error"]["message"]
    again = one.ask_mcp("tools/call", {"name": "import_files", "arguments": {
        "session_id": session, "files": [{"session_id": session, "path": "linked.txt", "destination": "b"}]}}, "import_files")["result"]
    assert not again["structuredContent"]["success"]


def test_a_link_survives_a_killed_server(serve):
    one = serve()
    session = one.create()
    put(one, session, "a.txt", "kept")
    link = urllib.parse.urlsplit(export(one, session, "a.txt")["download_url"])
    one.kill()
    again = serve(home=one.home)
    assert again.call("GET", f"{link.path}?{link.query}", key="").body == b"kept"


def test_a_directory_is_a_tar_archive(serving, session):
    put(serving, session, "tree/one.txt", "1")
    made = export(serving, session, "tree")
    content = serving.call("GET", f"/v1/exports/{made['id']}/content")
    assert made["directory"] and content.fields["content-type"] == "application/x-tar"
    assert content.fields["content-disposition"].endswith("tree.tar")
    assert b"one.txt" in content.body


def test_files_of_the_host_are_refused_over_tcp(serving, session):
    reply = serving.call("POST", f"/v1/sessions/{session}/imports", {"files": [{"source": "/etc/hostname"}]})
    assert reply.status == 403 and reply.json["cause"] == "path_denied"


def test_a_missing_file_is_a_problem_of_its_entry(serving, session):
    put(serving, session, "there.txt", "x")
    reply = serving.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "there.txt"}, {"path": "missing.txt"}]})
    first, second = reply.json["files"]
    assert (reply.status, reply.json["success"], first["success"], second["success"]) == (200, False, True, False)
    assert "missing.txt" in second["problem"]["detail"]


def test_exports_come_in_pages(serving, session):
    put(serving, session, "paged.txt", "x")
    made = [export(serving, session, "paged.txt")["id"] for _ in range(3)]
    page = serving.call("GET", "/v1/exports?limit=2").json
    rest = serving.call("GET", f"/v1/exports?limit=1000&after={page['next']}").json
    listed = [e["id"] for e in page["exports"] + rest["exports"]]
    assert listed[:3] == made[::-1] and len(listed) == len(set(listed))
    assert serving.call("DELETE", f"/v1/exports/{made[0]}").status == 204
    assert serving.call("GET", f"/v1/exports/{made[0]}").status == 404


def test_a_large_export_streams_past_a_client_that_does_not_read(serving, session):
    size = 64 << 20
    serving.run(session, f"open('/home/sandbox/large', 'wb').write(b'x' * {size})")
    made = export(serving, session, "/home/sandbox/large")
    head = f"GET /v1/exports/{made['id']}/content HTTP/1.1\r\nHost: {serving.address}\r\nAuthorization: Bearer {serving.key}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", serving.port)) as slow:
        slow.sendall(head.encode())
        assert slow.recv(1) == b"H"
        assert len(serving.call("GET", f"/v1/exports/{made['id']}/content").body) == size
        memory = pathlib.Path(f"/proc/{serving.process.pid}/status").read_text().split("VmRSS:")[1].split()[0]
        assert int(memory) < 120 << 10, "the server holds the file in memory"
    harness.wait_until(lambda: not any(made["hash"] in name for name in open_files(serving.process.pid)), what="the file is closed")
