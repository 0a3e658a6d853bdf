"""`husk serve`: starting it, requests that are refused, and what clients see when they or the server fail."""

import concurrent.futures
import hashlib
import io
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tarfile

import harness
import pytest
from serving import Events, make_certificate


def test_a_first_start_tells_how_to_connect(serve):
    one = serve()
    url = f"{one.origin}/mcp"
    assert f'claude mcp add --transport http husk {url} --header "Authorization: Bearer {one.key}"' in one.greeting
    configs = [json.loads(text) for text in re.findall(r"^\{.*?^\}", one.greeting, re.M | re.S)]
    assert configs[0]["mcpServers"]["husk"] == {"url": url, "headers": {"Authorization": f"Bearer {one.key}"}}
    assert configs[1]["servers"]["husk"]["type"] == "http"
    key_file = one.home / "state" / "husk" / "serve" / "key"
    assert key_file.stat().st_mode & 0o777 == 0o600
    command = next(line for line in one.greeting.splitlines() if line.startswith("curl "))
    done = subprocess.run(["bash", "-c", command.replace("curl ", "curl --silent --fail ")], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == {"sessions": []}


def test_two_first_starts_at_the_same_time(serve, tmp_path):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = [job.result() for job in [pool.submit(serve, home=tmp_path / "both") for _ in range(2)]]
    for one in both:
        printed = re.search(r"Bearer (husk_\w+)", one.greeting).group(1)
        assert one.call("GET", "/v1/me", key=printed).status == 200
    assert [path.name for path in (tmp_path / "both" / "state" / "husk" / "serve").iterdir() if path.name.startswith("key")] == ["key"]


def test_the_first_key_survives_a_restart(serve):
    one = serve()
    one.stop()
    again = serve(home=one.home)
    assert again.key == one.key
    assert again.call("GET", "/v1/me").json["tenant"] == "local"


# evidence: http-plain
@pytest.mark.parametrize("args, words", [
    (("--listen", "0.0.0.0:0"), "reachable from other machines without encryption"),
    (("--listen", "nonsense"), "is not ADDRESS:PORT"),
    (("--tls-cert", "/nowhere"), "belong together"),
    (("--tls-cert", "/nowhere", "--tls-key", "/nowhere"), "/nowhere"),
])
def test_a_bad_start_is_refused(args, words, tmp_path):
    done = subprocess.run([harness.husk_binary(), "serve", *args], env=harness.clean_env(tmp_path), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=harness.PATIENCE)
    assert done.returncode == 64, done.stderr
    assert words in done.stderr


def test_a_used_port_is_named(serve):
    one = serve()
    done = one.husk("serve", "--listen", one.address, check=False)
    assert done.returncode == 64
    assert "--listen" in done.stderr


# --- requests that are refused ---------------------------------------------------------------------------------------


# evidence: http-origin, http-problems, http-keys
@pytest.mark.parametrize("method, path, fields, body, status, words", [
    ("GET", "/v1/sessions", {"Authorization": ""}, None, 401, "needs a key"),
    ("GET", "/v1/sessions", {"Authorization": "Bearer husk_aaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbb"}, None, 401, "not valid"),
    ("GET", "/v1/sessions", {"Authorization": "Basic abc"}, None, 401, "not of the form"),
    ("GET", "/v1/sessions", {"Authorization": "Bearer"}, None, 401, "not of the form"),
    ("GET", "/v1/sessions", {"Origin": "http://evil.example"}, None, 403, "other origins"),
    ("GET", "/v1/sessions", {"Origin": "null"}, None, 403, "other origins"),
    ("GET", "/v1/sessions", {"Host": "evil.example"}, None, 403, "Host"),
    ("GET", "/v1/sessions/nowhere", {}, None, 404, "nowhere"),
    ("GET", "/v1/nothing", {}, None, 404, "no such route"),
    ("GET", "/.well-known/oauth-protected-resource", {"Authorization": ""}, None, 404, "uses keys"),
    ("DELETE", "/v1/sessions", {}, None, 405, "DELETE"),
    ("POST", "/v1/sessions", {}, b"{", 400, "not valid JSON"),
    ("POST", "/v1/sessions", {}, b'{"languge": "python"}', 400, "languge"),
    ("POST", "/v1/sessions", {"Content-Type": "text/plain"}, b"{}", 415, "JSON"),
    ("POST", "/v1/sessions", {}, b'"' + b"x" * (5 << 20) + b'"', 413, ""),
    ("GET", "/v1/../healthz", {}, None, 400, "not valid"),
    ("GET", "/v1/sessions?limit=1", {}, None, 400, "limit"),
])
def test_a_bad_request_is_explained(serving, method, path, fields, body, status, words):
    fields = {"Content-Type": "application/json", **fields} if body else fields
    key = "" if fields.get("Authorization") == "" else None
    reply = serving.call(method, path, body, key=key, fields={name: value for name, value in fields.items() if value})
    assert reply.status == status, reply
    problem = reply.json
    assert reply.fields["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert words in problem["detail"]
    assert re.fullmatch("[a-z_]+", problem["cause"]) and problem["hint"], problem
    assert str(serving.home) not in reply.body.decode()
    assert serving.call("GET", "/healthz", key="").status == 200


# evidence: http-smuggling
@pytest.mark.parametrize("request_bytes", [
    b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    b"POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nX-A: 1\r\n folded\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nX-A: 1\rX-B: 2\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nX-A : 1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nHost: other\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\n\r\n",
    b"POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /healthz HTTP/2.0\r\nHost: {host}\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
])
def test_ambiguous_messages_are_refused_and_end_the_connection(serving, request_bytes):
    smuggled = b"GET /v1/me HTTP/1.1\r\nHost: {host}\r\n\r\n"
    got = serving.raw((request_bytes + smuggled).replace(b"{host}", serving.address.encode()))
    assert re.match(rb"HTTP/1.1 (4\d\d|50[15]) ", got), got
    assert len(re.findall(rb"HTTP/1.1 \d\d\d ", got)) == 1, got


# --- HTTP as clients speak it ----------------------------------------------------------------------------------------


def curl(serving, *args, check=True):
    done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60", "-H", f"Authorization: Bearer {serving.key}", *args],
                          capture_output=True, timeout=90)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_curl_with_http_10_and_keep_alive(serving):
    assert json.loads(curl(serving, "--http1.0", f"{serving.origin}/v1/me"))["tenant"] == "local"
    text = curl(serving, "-v", "--stderr", "-", f"{serving.origin}/healthz", f"{serving.origin}/v1/me")
    assert "Re-using existing connection" in text
    assert curl(serving, "--head", f"{serving.origin}/healthz").startswith("HTTP/1.1 200")


def test_curl_waits_for_100_continue(serving, tmp_path):
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"language": "python", "env": {"A": "x" * 100000}, "unknown": 1}))
    text = curl(serving, "-v", "--stderr", "-", "-H", "Expect: 100-continue", "-H", "Content-Type: application/json", "--data-binary",
                f"@{body}", f"{serving.origin}/v1/sessions")
    assert "HTTP/1.1 100 Continue" in text
    assert "HTTP/1.1 400" in text


def test_curl_sends_a_chunked_body(serving, tmp_path):
    body = tmp_path / "body.json"
    body.write_text('{"unknown": 1}')
    text = curl(serving, "-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/json", "--data-binary", f"@{body}",
                f"{serving.origin}/v1/sessions")
    assert "unknown" in json.loads(text)["detail"]


def test_the_unix_socket_needs_no_key(serve, tmp_path):
    path = tmp_path / "h.sock"
    serve("--unix", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    done = subprocess.run(["curl", "--silent", "--unix-socket", str(path), "http://localhost/v1/me"], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["tenant"] == "local"


def test_tls(serve, tmp_path):
    cert, key = make_certificate(tmp_path)
    one = serve("--tls-cert", str(cert), "--tls-key", str(key))
    assert one.origin.startswith("https://")
    assert json.loads(curl(one, "--cacert", str(cert), f"{one.origin}/v1/me"))["tenant"] == "local"
    refused = subprocess.run(["curl", "--silent", f"{one.origin}/v1/me"], capture_output=True, timeout=60)
    assert refused.returncode == 60


# --- runs, events and failures ---------------------------------------------------------------------------------------


def test_a_run_is_read_by_many_and_again(serving):
    session = serving.create()
    readers = [serving.events(f"/v1/sessions/{session}/events?after=0") for _ in range(25)]
    readers += [serving.events("/v1/events?after=now") for _ in range(7)]
    result = serving.run(session, "for i in range(3): print(i)\n6 * 7")
    assert result["stdout"] == "0\n1\n2\n"
    assert result["result"]["text/plain"] == "42"
    for reader in readers:
        assert reader.wait("run.ended")["ending"] == "ok"
    texts = {"".join(json.loads(event["data"])["text"] for event in reader.got if event["event"] == "run.output") for reader in readers}
    assert texts == {"0\n1\n2\n"}
    refused = serving.call("GET", "/v1/events", fields={"Accept": "text/event-stream"})
    assert refused.status == 429
    assert refused.fields["retry-after"]
    for reader in readers:
        reader.close()
    assert serving.call("GET", f"/v1/sessions/{session}/runs/1").json["stdout"] == "0\n1\n2\n"
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_fifty_readers_of_one_stream(serving):
    session = serving.create()
    keys = [serving.husk("keys", "add", f"reader-{i}").stdout.strip() for i in range(2)]
    readers = [serving.events(f"/v1/sessions/{session}/events?after=0", key=keys[i % 2]) for i in range(50)]
    serving.run(session, "print('x' * 1000)")
    numbers = [[event["id"] for event in (reader.wait("run.ended"), reader.got)[1]] for reader in readers]
    assert all(one == numbers[0] for one in numbers)
    for reader in readers:
        reader.close()
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


# evidence: http-bounds
def test_a_stalled_reader_does_not_delay_others(serving):
    session = serving.create()
    stalled = socket.create_connection(("127.0.0.1", serving.port))
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.sendall(f"GET /v1/sessions/{session}/events?after=0 HTTP/1.1\r\nHost: {serving.address}\r\n"
                    f"Authorization: Bearer {serving.key}\r\nAccept: text/event-stream\r\n\r\n".encode())
    slow = socket.create_connection(("127.0.0.1", serving.port))
    slow.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: ")
    for _ in range(5):
        assert serving.run(session, "print('y' * 2_000_000)")["ending"] == "ok"
    assert serving.run(session, "1 + 1")["result"]["text/plain"] == "2"
    stalled.close()
    slow.close()
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_an_attached_run_ends_with_its_connection(serving):
    session = serving.create()
    body = {"text": "import time\nwhile True: time.sleep(0.1)", "attached": True, "timeout": 0}
    stream = Events(serving, f"/v1/sessions/{session}/runs", method="POST", body=body)
    number = stream.wait("run.queued")["run"]
    watcher = serving.events(f"/v1/sessions/{session}/events?after=0")
    watcher.wait("run.started")
    stream.close()
    ended = watcher.wait("run.ended")
    assert (ended["run"], ended["ending"]) == (number, "interrupted")
    watcher.close()
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_a_killed_server_loses_no_run(serve):
    one = serve()
    session = one.create()
    started = one.call("POST", f"/v1/sessions/{session}/runs",
                       {"text": "import time\nfor i in range(20): print(i, flush=True); time.sleep(0.1)\n'done'"})
    assert started.status == 202
    reader = one.events(f"/v1/sessions/{session}/events?after=0")
    reader.wait("run.output", 2)
    one.kill()
    seen = reader.wait_end()
    again = serve(home=one.home)
    more = again.events(f"/v1/sessions/{session}/events", **{"Last-Event-ID": seen[-1]["id"]})
    more.wait("run.ended")
    numbers = [int(event["id"]) for event in seen + more.got]
    assert numbers == sorted(set(numbers))
    run = again.call("GET", started.fields["location"]).ok().json
    assert run["ending"] == "ok"
    assert run["result"]["text/plain"] == "'done'"
    assert run["stdout"] == "".join(f"{i}\n" for i in range(20))
    more.close()


def test_a_stopped_server_leaves_its_sessions(serve):
    one = serve()
    session = one.create(labels={"team": "data"})
    one.run(session, "kept = 41")
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(harness.PATIENCE) == 0
    again = serve(home=one.home)
    assert again.run(session, "kept + 1")["result"]["text/plain"] == "42"
    assert again.call("GET", f"/v1/sessions/{session}").json["labels"] == {"team": "data"}


# --- keys and tenants ------------------------------------------------------------------------------------------------


# evidence: http-scopes
def test_a_key_does_only_what_its_scopes_allow(serving):
    reader = serving.husk("keys", "add", "watcher", "--scope", "sessions:read").stdout.strip()
    assert serving.call("GET", "/v1/sessions", key=reader).status == 200
    refused = serving.call("POST", "/v1/sessions", {}, key=reader)
    assert refused.status == 403
    assert "sessions:write" in refused.json["detail"]
    assert serving.call("POST", "/mcp", {}, key=reader).status == 403


# evidence: http-scopes
def test_a_removed_key_is_refused(serve):
    one = serve()
    key = one.husk("keys", "add", "short").stdout.strip()
    assert one.call("GET", "/v1/me", key=key).status == 200
    one.husk("keys", "remove", "short")
    harness.wait_until(lambda: one.call("GET", "/v1/me", key=key).status == 401, what="the removal of a key")
    listed = json.loads(one.husk("keys", "list", "--json").stdout)["keys"]
    assert [entry["name"].split("-")[0] for entry in listed] == ["first"]
    assert key.rsplit("_", 1)[1] not in one.husk("keys", "list", "--json").stdout


# evidence: http-tenants
def test_tenants_do_not_see_each_other(serving):
    red = serving.husk("keys", "add", "red", "--tenant", "red").stdout.strip()
    blue = serving.husk("keys", "add", "blue", "--tenant", "blue", "--max-sessions", "1").stdout.strip()
    session = serving.create(key=red, name="shared")
    serving.run(session, "secret = 'mine'", key=red)
    for path in (f"/v1/sessions/{session}", f"/v1/sessions/{session}/runs", f"/v1/sessions/{session}/runs/1", f"/v1/sessions/{session}/events",
                 "/v1/sessions/shared"):
        missing = serving.call("GET", path.replace(session, "a" * len(session)).replace("shared", "absent"), key=blue)
        foreign = serving.call("GET", path, key=blue)
        assert foreign.status == missing.status == 404
        assert foreign.json["detail"].replace(session, "ID").replace("shared", "ID") == \
            missing.json["detail"].replace("a" * len(session), "ID").replace("absent", "ID")
    assert serving.call("POST", f"/v1/sessions/{session}/runs", {"text": "1"}, key=blue).status == 404
    assert serving.call("DELETE", f"/v1/sessions/{session}", key=blue).status == 404
    assert serving.call("GET", "/v1/sessions", key=blue).json["sessions"] == []
    assert serving.call("GET", "/v1/sessions?all=true&ended=true", key=blue).json["sessions"] == []
    assert [one["id"] for one in serving.call("GET", "/v1/sessions?all=true", key=red).json["sessions"]] == [session]
    assert serving.call("GET", "/v1/events?after=0", key=blue).json["events"] == []
    named = serving.call("GET", "/v1/sessions", key=blue, fields={"Husk-Conversation": "@red/key-x"})
    assert named.status == 400
    mine = serving.create(key=blue)
    full = serving.call("POST", "/v1/sessions", {}, key=blue)
    assert full.status == 429
    assert full.json["active_sessions"] == [mine]
    assert serving.run(session, "secret", key=red)["result"]["text/plain"] == "'mine'"
    for key, one in ((red, session), (blue, mine)):
        serving.call("DELETE", f"/v1/sessions/{one}", key=key).ok()


# evidence: http-tenants
def test_a_session_of_another_tenant_is_like_a_missing_one(serving):
    """Wherever a request names a session that is not in its path."""
    red = serving.husk("keys", "add", "red-2", "--tenant", "red-2").stdout.strip()
    blue = serving.husk("keys", "add", "blue-2", "--tenant", "blue-2").stdout.strip()
    session, own = serving.create(key=red), serving.create(key=blue)

    def answers(named):
        copied = serving.call("POST", f"/v1/sessions/{own}/imports", {"files": [{"session": named, "path": "a"}]}, key=blue).ok()
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "execute_code", "arguments": {"session_id": named, "code": "1"}, "_meta": harness.modern_meta()}}
        tool = serving.call("POST", "/mcp", call, key=blue, fields={
            "MCP-Protocol-Version": harness.MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "execute_code",
            "Accept": "application/json, text/event-stream"}).ok()
        text = tool.json["result"]["content"][0]["text"].splitlines()[0]
        return copied.body.decode().replace(named, "ID"), text.replace(named, "ID")

    assert answers(session) == answers("a" * 26)
    for key, one in ((red, session), (blue, own)):
        serving.call("DELETE", f"/v1/sessions/{one}", key=key).ok()


def test_mcp_over_the_same_address(serving):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": harness.modern_meta()}}
    reply = serving.call("POST", "/mcp", message, fields={"MCP-Protocol-Version": harness.MODERN, "Mcp-Method": "tools/list",
                                                          "Accept": "application/json, text/event-stream"})
    assert reply.status == 200, reply
    assert len(reply.json["result"]["tools"]) == 8
    assert serving.call("POST", "/mcp", message, key="").status == 401
    counters = serving.call("GET", "/metrics").ok().body.decode()
    for status in (200, 401):
        assert f'husk_http_requests_total{{route="/mcp",method="POST",status="{status}"}} ' in counters


def test_a_trace_is_in_the_log(serve):
    one = serve(HUSK_LOG="debug")
    traces = [f"00-4bf92f3577b34da6a3ce929d0e0e473{i}-00f067aa0ba902b7-01" for i in range(2)]
    one.call("GET", "/v1/me", fields={"traceparent": traces[0]}).ok()
    meta = {**harness.modern_meta(), "traceparent": traces[1]}
    one.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}},
             fields={"MCP-Protocol-Version": harness.MODERN, "Mcp-Method": "tools/list", "Accept": "application/json, text/event-stream"}).ok()
    log = one.home / "serve-stderr.txt"
    for trace in traces:
        harness.wait_until(lambda t=trace: f"trace {t}" in log.read_text(), what=f"trace {trace} in the log")
    assert one.key.rsplit("_", 1)[1] not in log.read_text()


def test_husk_mcp_does_not_listen_on_tcp(server):
    server.session(network=False)
    sockets = {os.readlink(path) for path in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir() if path.is_symlink()}
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{server.process.pid}/net/{table}").read_text().splitlines()[1:]:
            assert f"socket:[{line.split()[9]}]" not in sockets


def test_files_are_listed_made_and_deleted(serving):
    session = serving.create()
    files = f"/v1/sessions/{session}/files"
    serving.run(session, "import pathlib\nfor name in ('a', 'b', 'ü'): pathlib.Path(f'/workspace/{name}.txt').write_text(name)")
    listed = serving.call("GET", f"{files}/workspace/").ok().json
    assert [entry["name"] for entry in listed["entries"]] == ["a.txt", "b.txt", "ü.txt"]
    page = serving.call("GET", f"{files}/workspace/?limit=1&after=a.txt").ok().json
    assert ([entry["name"] for entry in page["entries"]], page["more"]) == (["b.txt"], True)
    assert serving.call("PUT", f"{files}/workspace/data/raw/").status == 201
    assert serving.call("PUT", f"{files}/workspace/data/raw/").status == 200
    assert serving.call("DELETE", f"{files}/workspace/data").status == 409
    assert serving.call("DELETE", f"{files}/workspace/data?recursive=true").status == 204
    changed = serving.call("DELETE", f"{files}/workspace/a.txt", fields={"If-Match": '"other"'})
    assert changed.status == 412
    assert serving.call("DELETE", f"{files}/workspace/%C3%BC.txt").status == 204
    assert serving.call("DELETE", f"{files}/workspace/%C3%BC.txt").status == 404
    for outside in ("etc/passwd", "proc/1/environ", "workspace/../etc/passwd"):
        assert serving.call("GET", f"{files}/{outside}").status in (400, 403, 404)
    assert serving.call("GET", f"{files}/etc/").status == 403
    roots = serving.call("GET", f"{files}/").ok().json["entries"]
    assert [entry["name"] for entry in roots] == ["home/sandbox", "tmp", "workspace"]
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_a_directory_is_read_as_a_tar_archive(serving):
    session = serving.create()
    for path, content in (("a.txt", b"one"), ("deep/b.bin", bytes(300000))):
        serving.call("PUT", f"/v1/sessions/{session}/files/workspace/tree/{path}", content).ok()
    for path in ("workspace/tree", "workspace/tree/"):
        reply = serving.call("GET", f"/v1/sessions/{session}/files/{path}", fields={"Accept": "application/x-tar"}).ok()
        assert reply.fields["content-type"] == "application/x-tar" and reply.fields["content-disposition"].endswith("tree.tar")
        with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
            assert tar.extractfile("tree/a.txt").read() == b"one" and tar.getmember("tree/deep/b.bin").size == 300000
    missing = serving.call("GET", f"/v1/sessions/{session}/files/workspace/none/", fields={"Accept": "application/x-tar"})
    assert missing.status == 404, missing
    file = serving.call("GET", f"/v1/sessions/{session}/files/workspace/tree/a.txt/", fields={"Accept": "application/x-tar"})
    assert (file.status, file.json["cause"]) == (409, "not_directory")
    assert serving.call("GET", "/v1/exports").json["exports"] == [], "nothing is kept"
    storage = serving.home / "state" / "husk"
    assert not [path for path in storage.rglob("exports/incoming/*")]
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


@pytest.mark.parametrize("transport", ["socket", "exec"])
def test_files_are_read_and_written(serve, tmp_path, transport):
    one = serve(HUSK_TRANSPORT=transport)
    session = one.create()
    url = f"/v1/sessions/{session}/files/workspace/data.bin"
    content = os.urandom(3 << 20)
    made = one.call("PUT", url, content)
    assert made.status == 201
    assert made.json["size"] == len(content)
    assert one.run(session, "import hashlib; hashlib.sha256(open('data.bin', 'rb').read()).hexdigest()")["result"]["text/plain"] == \
        repr(hashlib.sha256(content).hexdigest())
    read = one.call("GET", url).ok()
    assert read.body == content
    assert read.fields["etag"] == made.fields["etag"]
    part = one.call("GET", url, fields={"Range": "bytes=1000000-1000009"})
    assert (part.status, part.body) == (206, content[1000000:1000010])
    assert part.fields["content-range"] == f"bytes 1000000-1000009/{len(content)}"
    outside = one.call("GET", url, fields={"Range": f"bytes={len(content)}-"})
    assert (outside.status, outside.json["cause"]) == (416, "range_not_satisfiable")
    assert outside.fields["content-range"] == f"bytes */{len(content)}"
    assert one.call("GET", url, fields={"If-None-Match": made.fields["etag"]}).status == 304
    head = one.call("HEAD", url).ok()
    assert (int(head.fields["content-length"]), head.body) == (len(content), b"")
    assert one.call("PUT", url, b"x", fields={"If-None-Match": "*"}).status == 412
    assert one.call("PUT", url, b"x", fields={"If-Match": '"old"'}).status == 412
    assert one.call("PUT", url, b"x", fields={"If-Match": made.fields["etag"].strip('"')}).status == 400
    assert one.call("PUT", url, b"short").status == 200
    assert one.call("GET", url).body == b"short"
    assert one.call("PUT", url.replace("workspace", "etc"), b"x").status == 403
    assert one.call("PUT", f"{url}x", b"y" * (300 << 20)).status in (413, 507)
    empty = one.call("PUT", url.replace("data", "empty"), b"")
    assert (empty.status, one.call("GET", url.replace("data", "empty")).body) == (201, b"")
    target = tmp_path / "resumed"
    target.write_bytes(content[:100])
    one.call("PUT", url, content).ok()
    curl(one, "--continue-at", "-", "--output", str(target), f"{one.origin}{url}")
    assert target.read_bytes() == content
    curl(one, "--upload-file", str(target), f"{one.origin}{url}2")
    assert one.call("GET", f"{url}2").body == content
