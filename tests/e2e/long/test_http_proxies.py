"""`husk serve` behind nginx and Caddy: streams, terminals, uploads, ranges, links and disconnects reach it as they are."""

import hashlib
import json
import os

import harness
import pytest
from proxies import NAME, Proxy, free_port
from serving import Events, Serving
from websocket_client import WebSocket

pytestmark = pytest.mark.timeout(600)
WAITING = "print('begun', flush=True)\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nos.remove('go')\nprint('ended')"
ENDLESS = "print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.05)"
LARGE = 64 << 20


@pytest.fixture(name="proxy", scope="module", params=["nginx", "caddy"])
def fixture_proxy(request, tmp_path_factory):
    folder, port = tmp_path_factory.mktemp(request.param), free_port()
    address = f"{NAME}:{port}"
    serving = Serving(folder / "home", "--allow-host", NAME, "--allow-host", address, API_BASE_URL=f"https://{address}", CONTAINER_TMPFS_SIZE="400m")
    one = None
    try:
        one = Proxy(request.param, serving, port, folder)
        yield one
    finally:
        if one:
            one.close()
        serving.stop()


@pytest.fixture(name="session", scope="module")
def fixture_session(proxy):
    return proxy.create()


def go(proxy, session):
    assert proxy.run(session, "touch go", kind="command")["ending"] == "ok"


def test_requests_pass(proxy):
    assert proxy.call("GET", "/v1/me").ok().json["tenant"] == "local"
    assert proxy.call("GET", "/v1/me", key="husk_aaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbb").status == 401
    assert proxy.call("GET", "/v1/me", fields={"Origin": "https://evil.example"}).status == 403
    # nginx passes the name without the port, which a real one has no need for.
    own = f"https://{NAME}" if proxy.kind == "nginx" else proxy.origin
    assert proxy.call("GET", "/v1/me", fields={"Origin": own}).status == 200


def test_events_arrive_while_the_cell_runs(proxy, session):
    events = proxy.events(f"/v1/sessions/{session}/events?after=now")
    started = proxy.call("POST", f"/v1/sessions/{session}/runs", {"text": WAITING}).ok().json["run"]
    assert events.wait("run.output")["text"].startswith("begun")
    go(proxy, session)
    harness.wait_until(lambda: any(json.loads(e["data"]).get("run") == started and e["event"] == "run.ended" for e in list(events.got)), what="the end")
    events.close()


def test_events_arrive_over_http_2(proxy, session):
    """The proxy speaks HTTP/2 to the client."""
    proxy.run(session, "1 + 1")
    number = proxy.call("GET", f"/v1/sessions/{session}/runs?limit=1").json["runs"][0]["run"]
    got = proxy.curl("--http2", "-w", "version %{http_version}", "-H", "Accept: text/event-stream", f"{proxy.origin}/v1/sessions/{session}/runs/{number}")
    assert b"event: run.ended" in got and got.endswith(b"version 2")


def mcp(proxy, name, arguments, token=None):
    """A call of 2026-07-28; returns the connection and its answer, whose body is not read."""
    meta = harness.modern_meta(**({"progressToken": token} if token else {}))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta}}
    fields = {"MCP-Protocol-Version": harness.MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name, "Content-Type": "application/json",
              "Accept": "application/json, text/event-stream", "Authorization": f"Bearer {proxy.key}"}
    connection = proxy.connect()
    connection.request("POST", "/mcp", json.dumps(body).encode(), fields)
    return connection


def read_event(answer):
    while not (line := answer.readline()).startswith(b"data: "):
        assert line, "the stream ended"
    return json.loads(line[6:])


def test_progress_of_mcp_arrives_while_the_cell_runs(proxy, session):
    connection = mcp(proxy, "execute_code", {"session_id": session, "code": WAITING}, token="t")
    answer = connection.getresponse()
    assert "begun" in read_event(answer)["params"]["message"]
    go(proxy, session)
    while "result" not in (message := read_event(answer)):
        pass
    assert "ended" in message["result"]["content"][0]["text"]
    connection.close()


def test_a_disconnect_cancels_a_call_of_mcp(proxy, session):
    events = proxy.events(f"/v1/sessions/{session}/events?after=now")
    connection = mcp(proxy, "execute_code", {"session_id": session, "code": ENDLESS, "timeout": 300}, token="t")
    read_event(connection.getresponse())
    connection.close()
    assert events.wait("run.ended")["ending"] == "interrupted"
    events.close()


def test_an_attached_run_ends_with_its_connection(proxy, session):
    events = proxy.events(f"/v1/sessions/{session}/events?after=now")
    stream = Events(proxy, f"/v1/sessions/{session}/runs", method="POST", body={"text": ENDLESS, "attached": True, "timeout": 0})
    stream.wait("run.output")
    stream.close()
    assert events.wait("run.ended")["ending"] == "interrupted"
    events.close()


def test_a_terminal_passes_both_ways(proxy, session):
    with WebSocket(NAME, proxy.port, f"/v1/sessions/{session}/terminal?rows=37&cols=101", connection=proxy.socket(),
                   Authorization=f"Bearer {proxy.key}") as shell:
        shell.send(b"stty size; head -c 3000000 /dev/zero | tr '\\0' y; echo; exit 3\n")
        assert shell.read_until(b"37 101") and shell.read_until(b"y" * 1000)
        while isinstance(message := shell.receive(), bytes):
            pass
        assert message["end"]["exit_code"] == 3


def test_large_files_pass_whole_and_in_ranges(proxy, session, tmp_path):
    content = os.urandom(LARGE)
    url = f"/v1/sessions/{session}/files/workspace/large"
    made = proxy.call("PUT", url, content).ok()
    assert hashlib.sha256(proxy.call("GET", url).ok().body).digest() == hashlib.sha256(content).digest()
    part = proxy.call("GET", url, fields={"Range": "bytes=1000000-1999999"})
    assert (part.status, part.body) == (206, content[1000000:2000000])
    assert proxy.call("GET", url, fields={"If-None-Match": made.fields["etag"]}).status == 304
    target = tmp_path / "resumed"
    target.write_bytes(content[:1000])
    proxy.curl("--continue-at", "-", "--output", str(target), f"{proxy.origin}{url}")
    assert target.read_bytes() == content
    proxy.curl("-H", "Expect: 100-continue", "--upload-file", str(target), f"{proxy.origin}{url}-again")
    assert proxy.call("HEAD", f"{url}-again").fields["content-length"] == str(LARGE)


def test_links_name_the_proxy(proxy, session):
    proxy.call("POST", f"/v1/sessions/{session}/imports", {"files": [{"content": "linked", "destination": "a"}]}).ok()
    exported = proxy.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "a"}]}).ok().json["files"][0]["export"]
    assert exported["download_url"].startswith(proxy.origin + "/v1/exports/")
    assert proxy.call("GET", exported["download_url"].removeprefix(proxy.origin), key="").ok().body == b"linked"


def test_a_stalled_download_does_not_grow_the_server(proxy, session):
    """The proxy stops reading when its own buffers are full."""
    proxy.run(session, f"open('stalled', 'wb').write(b'x' * {LARGE})")
    connection = proxy.connect()
    connection.request("GET", f"/v1/sessions/{session}/files/workspace/stalled", headers={"Authorization": f"Bearer {proxy.key}"})
    answer = connection.getresponse()
    assert answer.read(1) == b"x"
    assert proxy.run(session, "6 * 7")["result"]["text/plain"] == "42"
    status = open(f"/proc/{proxy.serving.process.pid}/status", encoding="ascii").read()
    assert int(status.split("VmRSS:")[1].split()[0]) < 100 << 10
    connection.close()
