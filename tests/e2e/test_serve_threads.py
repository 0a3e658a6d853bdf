"""The routes of the reference server, on SQLite and Postgres."""

import contextlib
import io
import tarfile
import urllib.parse

import pytest
from postgres import CANARY, Postgres
from serving import Serving


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request, tmp_path_factory):
    """A server, a session of the thread 0a-1b with exports, and a key of another tenant."""
    with contextlib.ExitStack() as stack:
        settings = {}
        if request.param == "postgres":
            settings["DATABASE_URL"] = stack.enter_context(contextlib.closing(Postgres())).url
        one = Serving(tmp_path_factory.mktemp("threads"), **settings)
        stack.callback(one.stop)
        fields = {"Husk-Conversation": "0a-1b"}
        session = one.call("POST", "/v1/sessions", {"network": False}, fields=fields).ok().json["id"]
        files = [{"content": "first\n", "destination": "a b.txt"}, {"content": "1", "destination": "tree/one.txt"},
                 {"content": "22", "destination": "tree/deep/two.bin"}, {"content": "no", "destination": "secret.txt"}]
        one.call("POST", f"/v1/sessions/{session}/imports", {"files": files}).ok()
        exported = one.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a b.txt"}, {"path": "tree"}]}).ok().json
        assert exported["success"]
        other = one.husk("keys", "add", "other", "--tenant", "other").stdout.strip()
        yield one, session, other


def download(place, path, thread="0a-1b", session=None, key=None):
    one, own, _ = place
    query = urllib.parse.urlencode({"session_id": session or own, "path": path})
    return one.call("GET", f"/threads/{thread}/files/download?{query}", key=key)


def test_a_file_is_downloaded(place):
    for path in ("/workspace/a b.txt", "a b.txt", "./tree/../a b.txt"):
        reply = download(place, path)
        assert (reply.status, reply.body) == (200, b"first\n"), path
        assert reply.fields["content-type"] == "application/octet-stream"
        assert reply.fields["content-disposition"] == "attachment; filename*=UTF-8''a%20b.txt"


def test_a_directory_is_downloaded_as_tar(place):
    reply = download(place, "/workspace/tree")
    assert reply.status == 200 and reply.fields["content-type"] == "application/x-tar"
    assert reply.fields["content-disposition"].endswith("tree.tar")
    with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
        assert {"tree/one.txt", "tree/deep/two.bin"} <= set(tar.getnames())


def test_a_file_below_an_exported_directory_is_downloaded(place):
    assert download(place, "/workspace/tree/deep/two.bin").body == b"22"


@pytest.mark.parametrize("change", [{"path": "/workspace/secret.txt"}, {"path": "/workspace/tree/none"}, {"path": "/workspace/tree/deep"},
                                    {"path": "a b.txt", "thread": "ffff"}, {"path": "a b.txt", "thread": "@other"},
                                    {"path": "a b.txt", "session": "a" * 26}, {"path": "a b.txt", "key": "other"}])
def test_anything_else_is_not_exported(place, change):
    if change.get("key"):
        change = {**change, "key": place[2]}
    reply = download(place, **change)
    assert (reply.status, reply.json["detail"]) == (403, "File not exported or access denied")


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "/workspace/../../x"])
def test_a_path_outside_is_invalid(place, path):
    reply = download(place, path)
    assert (reply.status, reply.json["detail"]) == (400, "Invalid path")


def test_settings_are_read_without_secrets(place):
    """The reference's settings were those of its chat; here they are the server's."""
    one, *_ = place
    reply = one.call("GET", "/v1/settings").ok()
    [url] = [entry for entry in reply.json["settings"] if entry["name"] == "DATABASE_URL"]
    assert url["secret"] and "value" not in url and url["set"] == ("DATABASE_URL" in one.env)
    assert CANARY.encode() not in reply.body


def form(**files):
    """A form as browsers send it: (body, fields)."""
    parts = [f'--XX\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + content + b"\r\n" for name, content in files.items()]
    return b"".join(parts) + b"--XX--\r\n", {"Content-Type": "multipart/form-data; boundary=XX"}


def test_uploads_are_imported_and_downloaded(place):
    one, session, other = place
    large = bytes(range(256)) * 20000
    body, fields = form(**{"new data.bin": large, "../../sub/../b.txt": b"two", "empty": b""})
    made = one.call("POST", "/threads/0a-1b/files/upload", body, fields=fields).ok().json
    assert [(e["name"], e["path"], e.get("size", 0), e["session"]) for e in made] == [
        ("new data.bin", "/workspace/new data.bin", len(large), "@uploads"), ("b.txt", "/workspace/sub/b.txt", 3, "@uploads"),
        ("empty", "/workspace/empty", 0, "@uploads")]
    assert all("host_path" not in e and e["download_url"] for e in made)
    assert download(place, "new data.bin", session="@uploads").body == large
    assert download(place, "new data.bin", session="@uploads", key=other).status == 403
    copied = one.call("POST", f"/v1/sessions/{session}/imports", {"files": [{"session": "@uploads", "path": "sub/b.txt"}]}).ok().json
    assert copied["success"], copied
    assert one.run(session, "open('b.txt').read()")["result"]["text/plain"] == "'two'"
    assert "intact" in one.husk("history", "--verify").stdout


def test_a_deleted_thread_has_no_sessions_and_exports(place):
    one, session, other = place
    assert one.call("DELETE", "/threads/0a-1b", key=other).status == 204  # the other tenant's own, empty thread
    assert download(place, "a b.txt").status == 200
    assert one.call("DELETE", "/threads/0a-1b").status == 204
    assert download(place, "a b.txt").status == 403
    assert one.call("GET", f"/v1/sessions/{session}").status in (404, 410)
    assert one.call("GET", "/v1/exports", fields={"Husk-Conversation": "0a-1b"}).json == {"exports": []}
    assert one.call("DELETE", "/threads/0a-1b").status == 204
