"""Servers inside sessions as a browser uses them: an origin for each port of a session, and its cookie."""

import http.client
import json
import re
import socket
import urllib.parse

import harness
import pytest
from websocket_client import WebSocket

# Answers with the request, and with fields that could reach beyond the origin. /go redirects, /socket is a WebSocket that
# echoes one short text.
SERVER = """
import base64, hashlib, http.server, json

class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args):
        pass
    def reply(self):
        if self.path == "/socket":
            accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: "
                             + base64.b64encode(accept) + b"\\r\\n\\r\\n")
            head = self.rfile.read(6)
            text = bytes(b ^ head[2 + i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([0x81, len(text)]) + text)
            self.close_connection = True
            return
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"method": self.command, "path": self.path, "body": sent.decode(), "fields": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(302 if self.path == "/go" else 200)
        for name, value in (("Location", "http://localhost:8000/there?x=1"), ("Set-Cookie", "a=b; Domain=localhost; Path=/; httponly"),
                            ("Set-Cookie", "c=d; domain = .localhost"), ("Set-Cookie", "husk_port=mine"), ("Set-Cookie", "domain=e"),
                            ("Strict-Transport-Security", "max-age=9"), ("Clear-Site-Data", "*"), ("Content-Security-Policy", "own"),
                            ("Content-Length", len(body))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_DELETE = do_PROPFIND = reply

http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Web).serve_forever()
"""


def start(serving):
    session = serving.create()
    serving.call("PUT", f"/v1/sessions/{session}/files/workspace/server.py", SERVER.encode()).ok()
    ready = serving.run(session, "setsid python3 server.py & until (</dev/tcp/127.0.0.1/8000) 2>&-; do read -t 0.02 <> <(:); done; true",
                        kind="command")
    assert ready["ending"] == "ok", ready
    return session


@pytest.fixture(scope="module")
def session(serving):
    return start(serving)


def address(serving, session, port=8000, key=None):
    return serving.call("POST", f"/v1/sessions/{session}/ports", {"port": port}, key=key).ok().json["url"]


class Browser:
    """Sends requests to one origin with its cookies, as a browser does."""

    def __init__(self, serving, url):
        split = urllib.parse.urlsplit(url)
        self.host = split.netloc
        self.port = serving.port
        self.fields = {"Host": self.host, "Sec-Fetch-Site": "same-origin"}
        self.path = split.path

    def ask(self, method, path, body=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**self.fields, **fields, **({"Content-Length": str(len(body))} if body else {})}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def enter(self):
        """Follows the address: takes the cookie of the origin."""
        answer = self.ask("GET", self.path, Sec_Fetch_Site="cross-site")
        assert answer.status == 200, answer.text
        cookie = answer.getheader("Set-Cookie")
        assert "HttpOnly; SameSite=Strict" in cookie and "Domain" not in cookie and "url=/" in answer.text
        self.fields["Cookie"] = cookie.partition(";")[0]
        return self


@pytest.fixture(scope="module")
def browser(serving, session):
    return Browser(serving, address(serving, session)).enter()


def test_the_server_sees_a_browser_beside_it(browser, session):
    assert re.fullmatch(rf"{session}--8000\.localhost:\d+", browser.host)
    own = f"http://{browser.host}"
    answer = browser.ask("POST", "/a%2Fb//../c?x=%00", b"body", Origin=own, Referer=f"{own}/page", Cookie=f"own=1; {browser.fields['Cookie']}; z=2",
                         Authorization="Basic eDp5", Husk_Conversation="x")
    got = json.loads(answer.text)
    assert (got["method"], got["path"], got["body"]) == ("POST", "/a%2Fb//../c?x=%00", "body")
    fields = got["fields"]
    assert fields["host"] == "localhost:8000" and fields["origin"] == "http://localhost:8000" and fields["referer"] == "http://localhost:8000/page"
    assert fields["x-forwarded-host"] == browser.host and fields["x-forwarded-proto"] == "http"
    assert fields["cookie"] == "own=1; z=2" and fields["authorization"] == "Basic eDp5" and fields["content-length"] == "4"
    assert "husk-conversation" not in fields and "transfer-encoding" not in fields
    assert json.loads(browser.ask("PROPFIND", "/").text)["method"] == "PROPFIND"


# evidence: ports-origin
def test_an_answer_stays_within_its_origin(browser):
    answer = browser.ask("GET", "/go")
    assert answer.getheader("Location") == f"http://{browser.host}/there?x=1"
    assert answer.headers.get_all("Set-Cookie") == ["a=b; Path=/; httponly", "c=d", "domain=e"]
    assert answer.getheader("Content-Security-Policy") == "own"
    assert not answer.getheader("Strict-Transport-Security") and not answer.getheader("Clear-Site-Data")


def test_a_websocket_of_a_page(browser, serving):
    connection = socket.create_connection(("127.0.0.1", serving.port), timeout=harness.PATIENCE)
    with WebSocket(browser.host.split(":")[0], serving.port, "/socket", connection, Cookie=browser.fields["Cookie"],
                   Origin=f"http://{browser.host}") as own:
        own.send("hello")
        assert own.receive() == "hello"


# evidence: ports-origin
@pytest.mark.parametrize("fields, status", [
    ({"Cookie": None}, 401), ({"Cookie": "husk_port=aaaaaaaaaaaaaaaaaaaaaaaaaa"}, 401), ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Cookie": None, "Authorization": "KEY"}, 401)])
def test_other_pages_and_programs_are_refused(browser, serving, fields, status):
    if "Authorization" in fields:
        fields = {**fields, "Authorization": f"Bearer {serving.key}"}
    assert browser.ask("GET", "/", **fields).status == status


# evidence: ports-origin
def test_a_cookie_is_for_one_port_of_one_session(browser, serving, session):
    other = f"{session}--8001.localhost:{serving.port}"
    assert browser.ask("GET", "/", Host=other).status == 401
    assert browser.ask("GET", "/v1/me", Host=f"x.localhost:{serving.port}", Origin=None).status == 403
    # The cookies of the page and of a port are not valid for each other.
    assert browser.ask("GET", "/v1/me", Host=f"localhost:{serving.port}", Origin=None).status == 401
    assert browser.ask("GET", "/", Cookie=f"husk_{serving.port}={serving.key}").status == 401
    missing = "a" * 26
    assert Browser(serving, address(serving, missing)).enter().ask("GET", "/").status == 404
    assert Browser(serving, address(serving, session, 9)).enter().ask("GET", "/").status == 502


# evidence: ports-origin
def test_an_address_works_once(serving, session):
    first = Browser(serving, address(serving, session)).enter()
    assert first.ask("GET", first.path).status == 401
    assert first.ask("GET", "/.well-known/husk/").status == 401
    wrong = Browser(serving, address(serving, session))
    assert wrong.ask("GET", wrong.path, Host=f"{session}--8001.localhost:{serving.port}").status == 401
    for name, status in ((session[:8], 400), ("x", 400)):
        assert serving.call("POST", f"/v1/sessions/{name}/ports", {"port": 8000}).status == status


# evidence: ports-origin
def test_a_removed_key_closes_its_origins(serving, session):
    key = serving.husk("keys", "add", "porter", "--scope", "ports").stdout.strip()
    browser = Browser(serving, address(serving, session, key=key)).enter()
    assert browser.ask("GET", "/").status == 200
    serving.call("DELETE", "/v1/keys/porter").ok()
    assert browser.ask("GET", "/").status == 401
    tenant = serving.husk("keys", "add", "stranger", "--tenant", "other").stdout.strip()
    assert Browser(serving, address(serving, session, key=tenant)).enter().ask("GET", "/").status == 404


def test_the_session_of_another_server(serve, session, serving, tmp_path):
    second = serve(home=serving.home)
    browser = Browser(second, address(second, session)).enter()
    answer = browser.ask("POST", "/a%2Fb//?x", b"body", Origin=f"http://{browser.host}", Cookie=f"own=1; {browser.fields['Cookie']}")
    got = json.loads(answer.text)
    assert (got["path"], got["body"]) == ("/a%2Fb//?x", "body") and got["fields"]["origin"] == "http://localhost:8000"
    assert got["fields"]["cookie"] == "own=1" and not [name for name in got["fields"] if name.startswith("husk-")]
    assert answer.headers.get_all("Set-Cookie")[0] == "a=b; Path=/; httponly"
