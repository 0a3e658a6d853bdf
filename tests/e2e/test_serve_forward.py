"""`husk serve` answers for sessions of other servers of the same state folder: it passes requests on to them, and takes
a session over if its server is dead.
"""

import os

from serving import Events
from websocket_client import WebSocket


def test_the_sessions_of_a_stdio_server(start, serve, tmp_path):
    home = tmp_path / "home"
    agent = start(home=home)
    session = agent.session(network=False, name="sales")
    session.code("shared = 41").ok()
    serving = serve(home=home)
    target = f"/v1/sessions/{session.id}"

    # Runs, by id and by name. Failures are passed on unchanged.
    assert serving.run(session.id, "shared += 1\nshared")["result"]["text/plain"] == "42"
    assert session.code("shared").ok().value == "42"
    assert serving.call("GET", "/v1/sessions/sales").ok().json["id"] == session.id
    assert serving.call("GET", f"{target}/runs/99").json["cause"] == "no_run"

    # Streams of later events and of earlier ones.
    events = serving.events(f"{target}/events?after=now")
    session.code("print('seen')").ok()
    assert events.wait("run.output")["text"].startswith("seen")
    events.close()
    stream = Events(serving, f"{target}/runs", method="POST",
                    body={"text": "import time\nprint('on', flush=True)\ntime.sleep(600)", "attached": True})
    stream.wait("run.output")
    stream.close()
    assert session.code("'free'").ok().value == "'free'"

    # Files, larger than any buffer on the way.
    content = os.urandom(5 << 20)
    assert serving.call("PUT", f"{target}/files/workspace/big", content).status in (200, 201, 204)
    assert session.shell("wc -c <big").ok().stdout == f"{len(content)}\n"
    assert serving.call("GET", f"{target}/files/workspace/big").body == content
    part = serving.call("GET", f"{target}/files/workspace/big", fields={"Range": "bytes=10-19"})
    assert part.status == 206 and part.body == content[10:20]

    # Answers for clients over TCP have links of this server instead of paths of the host.
    exported = serving.call("POST", f"{target}/exports", {"files": [{"path": "big"}]}).ok().json["files"][0]["export"]
    assert "host_path" not in exported and exported["download_url"].startswith(serving.origin)
    assert serving.call("GET", exported["download_url"].removeprefix(serving.origin), key="").body == content
    refused = serving.call("POST", f"{target}/imports", {"files": [{"source": "/etc/hostname"}]})
    assert refused.status == 403 and refused.json["cause"] == "path_denied"

    # A terminal.
    with WebSocket("127.0.0.1", serving.port, f"{target}/terminal?rows=37&cols=101", Authorization=f"Bearer {serving.key}") as shell:
        shell.send(b"stty size; exit 3\n")
        shell.read_until(b"37 101")
        while isinstance(message := shell.receive(), bytes):
            pass
        assert message["end"]["exit_code"] == 3

    # The server dies: the next request takes its session over.
    agent.kill()
    assert serving.run(session.id, "shared")["result"]["text/plain"] == "42"
    assert serving.call("DELETE", target).status == 204


def test_another_tenants_key_does_not_reach_them(start, serve, tmp_path):
    home = tmp_path / "home"
    session = start(home=home).session(network=False)
    serving = serve(home=home)
    key = serving.husk("keys", "add", "other", "--tenant", "other").stdout.strip()
    assert serving.call("GET", f"/v1/sessions/{session.id}", key=key).status == 404
    # Only the unix socket accepts the fields of forwarded requests.
    fields = {"Husk-Forwarded": "local", "Husk-Tenant": "local"}
    assert serving.call("GET", f"/v1/sessions/{session.id}", key=key, fields=fields).status == 404
    assert serving.call("GET", f"/v1/sessions/{session.id}").status == 200


def test_two_servers_share_a_tenant(serve, tmp_path):
    home = tmp_path / "home"
    first, second = serve(home=home), serve(home=home)
    key = first.husk("keys", "add", "other", "--tenant", "other").stdout.strip()
    session = first.create(key=key)
    assert second.run(session, "1 + 1", key=key)["result"]["text/plain"] == "2"
    # A request that is repeated at the other server has its effect once.
    for serving in (first, second):
        again = serving.call("POST", f"/v1/sessions/{session}/runs", {"text": "once = globals().get('once', 0) + 1\nonce"}, key=key,
                             fields={"Prefer": "wait=60", "Idempotency-Key": "k1"}).ok().json
        assert again["result"]["text/plain"] == "1"
