"""Network access by name: programs of a session reach the hosts that its list names, and nothing else. The servers are
those of gate_upstreams.py, in a network namespace with the husk server."""

import json
import os
import subprocess

import gate_upstreams
import harness
import pytest
from harness import Server, Session, husk_binary

ALLOWED = ["api.test", "web.test", "*.wild.test", "raw.test:7001-7003", "mine.test", "six.test", "cloud.test", "lan.test", "mapped.test"]
PRIVATE = f"{gate_upstreams.ADDRESS},127.0.0.0/8"


def start_server(home, **settings):
    command, ca = gate_upstreams.command(home / "upstreams", [husk_binary(), "mcp"], harness.usual_engine.join)
    return Server(home, command=[str(word) for word in command],
                  **{"CONTAINER_NETWORK_PRIVATE": PRIVATE, "CONTAINER_CA_BUNDLE": str(ca),
                     "CONTAINER_MAX_SESSIONS_PER_THREAD": "40", "CONTAINER_MAX_SESSIONS": "40", **settings})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with start_server(tmp_path_factory.mktemp("gate")) as server:
        yield server


@pytest.fixture(scope="module")
def session(server):
    return server.session(network=ALLOWED)


@pytest.mark.parametrize("program", (
    "curl -sS https://api.test/x.txt",
    "curl -sS http://api.test/x.txt",
    "curl -sS --http2 https://a.wild.test/x.txt",
    "wget -qO- https://api.test/x.txt || python3 -c 'import urllib.request as u; print(u.urlopen(\"https://api.test/x.txt\").read().decode())'",
    "python3 -c 'import pip._vendor.requests as r; print(r.get(\"https://web.test/x.txt\").text)'",
    "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://web.test/x.txt\").read().decode())'",
    "git clone -q https://api.test/repo.git r1 && sed s/cloned/from/ r1/README"))
def test_programs_work_unchanged(session, program):
    done = session.shell(program).ok()
    assert "from" in done.stdout and not done.stderr


def test_pip_installs_through_the_gate(session):
    done = session.shell("pip install -q --no-cache-dir --index-url https://api.test/simple gatepkg && python3 -c 'import gatepkg; print(gatepkg.value)'")
    assert done.ok().stdout.strip() == "42"


def test_large_bodies_pass_both_ways(session):
    done = session.shell("curl -sS http://api.test/big | sha256sum; curl -sS https://api.test/big | tee big | sha256sum; "
                          "curl -sS --data-binary @big https://api.test/; curl -sS -H 'Expect:' --data-binary @big http://api.test/; wc -c <big")
    first, second, *sizes = done.ok().stdout.split("-\n")
    assert first == second and sizes[0].split() == [] or "8388608" in done.stdout
    assert done.stdout.count("8388608") == 3


def test_raw_sockets_and_resets(session):
    done = session.code("""import socket
s = socket.create_connection(("raw.test", 7001)); s.sendall(b"question"); s.shutdown(1)
a = b""
while d := s.recv(100): a += d
r = socket.create_connection(("raw.test", 7003)); r.sendall(b"x")
try: e = r.recv(1)
except OSError as x: e = type(x).__name__
(a, e)""").ok()
    assert done.value == "(b'question', 'ConnectionResetError')"


DENIED = """import socket, ssl, urllib.request
def attempt(f, *args):
    try: return f(*args)
    except urllib.error.HTTPError as e: return (e.code, e.read().decode())
    except OSError as e: return type(e).__name__
def connect(host, port):
    socket.create_connection((host, port), timeout=8).close()
    return "connected"
def tls(dialled, named):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection((dialled, 443), timeout=8), server_hostname=named) as s:
        s.sendall(b"GET /host HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")
        return s.recv(1000)
def say(port, data):
    s = socket.create_connection(("api.test", port), timeout=8)
    s.sendall(data)
    return s.recv(1000).split(b"\\r\\n")[0]
"""


def attempt(session, expression):
    return eval(session.code(expression).ok().value)


# evidence: gate-list
def test_other_hosts_are_refused_and_the_answer_says_so(server):
    session = server.session(network=["api.test", "*.wild.test"])
    session.code(DENIED).ok()
    done = session.code("[attempt(urllib.request.urlopen, 'http://other.test/x.txt') for _ in range(14)][0]").ok()
    code, body = eval(done.value)
    assert code == 403 and "no rule allows it" in body and "api.test" in body
    assert ("The network of this session reaches api.test and *.wild.test; 14 connections to other.test were refused. "
            "The operator can allow more: CONTAINER_NETWORK_ALLOW.") in done.text
    assert "refused" not in session.code("1").ok().text
    done = session.code("attempt(urllib.request.urlopen, 'https://other.test/')")
    assert "1 connection to other.test was refused" in done.text
    done = session.code("attempt(urllib.request.urlopen, 'http://none.wild.test/')")
    assert "connection to none.wild.test failed: " in done.text and "was refused" not in done.text


# evidence: gate-list, gate-checks
def test_tricks_do_not_get_around_the_list(session):
    session.code(DENIED).ok()
    for host, port in ((gate_upstreams.ADDRESS, 80), (gate_upstreams.ADDRESS, 443), ("raw.test", 7004), ("api.test", 7001), ("wild.test", 22),
                       ("127.64.0.200", 443), ("::1", 80), ("2001:db8::1", 80), ("172.17.0.1", 80), ("169.254.169.254", 80)):
        assert attempt(session, f"attempt(connect, {host!r}, {port})") != "connected", (host, port)
    for name in ("wild.test", "x.api.test", "other.test"):
        assert attempt(session, f"attempt(urllib.request.urlopen, 'http://{name}/')")[0] == 403
    # A name in TLS or HTTP other than the dialled one.
    for named in ("'other.test'", "'web.test'", "None"):
        assert "Error" in attempt(session, f"attempt(tls, 'api.test', {named})"), named
    assert attempt(session, "attempt(tls, 'api.test', 'api.test')").startswith(b"HTTP/1.1 200")
    assert attempt(session, "attempt(say, 80, b'GET /host HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n')") == b"HTTP/1.1 421 Misdirected Request"
    assert b"200" not in attempt(session, "attempt(say, 80, b'CONNECT other.test:80 HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n')")
    assert b"200" not in attempt(session, "attempt(say, 80, b'SSH-2.0-x\\r\\n\\r\\n')")
    assert attempt(session, "attempt(say, 443, b'GET / HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n')").startswith(b"\x15\x03")
    # A redirect leads to another name, which is checked again.
    assert attempt(session, "attempt(urllib.request.urlopen, 'http://api.test/away')")[0] == 403


# evidence: gate-list
def test_the_probe_finds_no_way_around_the_gate(session):
    lines = session.shell("/opt/husk/husk-probe | grep -P '\\tgate\\t'").ok().stdout.splitlines()
    assert len(lines) == 3 and all(line.startswith("held") for line in lines), lines


# evidence: gate-addresses
def test_names_of_private_addresses_are_refused(session):
    session.code(DENIED).ok()
    for name in ("mine.test", "six.test", "cloud.test", "lan.test", "mapped.test"):
        status, body = attempt(session, f"attempt(urllib.request.urlopen, 'http://{name}/')")
        assert status == 403, (name, body)


# evidence: gate-addresses
def test_a_name_that_changes_its_address_is_checked_each_time(server, tmp_path):
    session = server.session(network=["api.test"])
    session.code(DENIED).ok()
    hosts = server.home / "upstreams" / "hosts"
    assert attempt(session, "attempt(urllib.request.urlopen, 'http://api.test/x.txt').status") == 200
    gate_upstreams.write_hosts(hosts, {**gate_upstreams.HOSTS, "api.test": "10.99.88.77"})
    try:
        assert attempt(session, "attempt(urllib.request.urlopen, 'http://api.test/x.txt')")[0] == 403
    finally:
        gate_upstreams.write_hosts(hosts, gate_upstreams.HOSTS)


# evidence: gate-ceiling
def test_the_operator_s_list_is_the_ceiling(tmp_path):
    with start_server(tmp_path, CONTAINER_NETWORK_ALLOW="api.test, web.test:80, db=203.0.113.10:7001") as server:
        created = server.call("create_session", {"network": ["api.test", "other.test", "db", "web.test"]})
        fields = json.loads(created.text)
        assert "other.test" in fields["note"] and "CONTAINER_NETWORK_ALLOW" in fields["note"]
        assert fields["network"] == ["api.test", "db", "web.test:80"]
        session = Session(server, created.session_id)
        assert session.shell("curl -sS https://api.test/x.txt").ok().stdout == "from the host\n"
        assert session.code("import socket; s = socket.create_connection(('db', 7001)); s.sendall(b'hi'); s.recv(2)").ok().value == "b'hi'"
        usual = server.session()
        assert "403" in usual.shell("curl -sSi http://other.test/").stdout
        ran = subprocess.run([husk_binary(), "run", "--network", "api.test", "--network", "other.test", "-"], env=server.env, input="print(1)",
                             capture_output=True, text=True, check=True, timeout=60)
        assert ran.stdout == "1\n" and "not reached: other.test." in ran.stderr
        refused = server.call("create_session", {"network": ["x=10.0.0.1:80"]})
        assert refused.is_error and "Only the operator" in refused.text


def test_a_switched_off_network_refuses_lists(tmp_path):
    with start_server(tmp_path, CONTAINER_NETWORK_ENABLED="false") as server:
        assert "CONTAINER_NETWORK_ENABLED" in server.call("create_session", {"network": ["api.test"]}).text


# evidence: gate-ceiling
@pytest.mark.parametrize("transport", ("socket", "exec"))
def test_an_adopted_session_keeps_its_rules(tmp_path, transport):
    settings = {"HUSK_TRANSPORT": transport, "HUSK_THREAD_ID": "gate-adopts"}
    first = start_server(tmp_path, **settings)
    created = first.call("create_session", {"network": ["api.test"]})
    assert Session(first, created.session_id).shell("curl -sS http://api.test/x.txt").ok().stdout == "from the host\n"
    first.kill()
    (tmp_path / "upstreams").rename(tmp_path / "earlier")
    with start_server(tmp_path, **settings) as server:
        session = Session(server, created.session_id)
        assert session.shell("curl -sS http://api.test/x.txt").ok().stdout == "from the host\n"
        done = session.shell("curl -sS -o body -w '%{http_code}' http://other.test/")
        assert "403" in done.text and "other.test was refused" in done.text
        session.stop()


def husk_gate(server, *words):
    done = subprocess.run([husk_binary(), "gate", *words], env=server.env, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout or done.stderr


def test_a_person_shows_and_changes_what_a_session_reaches(server):
    session = server.session(network=["api.test", "raw.test:7001"])
    session.code("import socket; s = socket.create_connection(('raw.test', 7001)); s.sendall(b'hi'); s.recv(2)").ok()
    session.shell("curl -sS http://web.test/x.txt").ok()
    code, text = husk_gate(server, session.id)
    assert code == 0 and "allow api.test" in text and "open  raw.test:7001, 2 bytes up, 2 down" in text
    assert "1 × web.test:80: gate_denied" in text
    assert husk_gate(server, session.id, "check", "web.test")[0] == 1
    assert husk_gate(server, session.id, "check", "api.test:80") == (0, "api.test:80: allowed by api.test\n")
    assert husk_gate(server, session.id, "allow", "web.test")[0] == 0
    assert session.shell("curl -sS http://web.test/x.txt").ok().stdout == "from the host\n"
    assert husk_gate(server, session.id, "deny", "raw.test:7001")[0] == 0
    lost = session.code("try: r = s.recv(1)\nexcept OSError as e: r = type(e).__name__\nr").ok()
    assert lost.value == "'ConnectionResetError'"
    assert json.loads(husk_gate(server, "--json", session.id)[1])["rules"] == ["api.test", "web.test", "!raw.test:7001"]
    code, text = husk_gate(server, session.id, "allow", "http://web.test/")
    assert code != 0 and "is not a network rule" in text
    assert "@python" in husk_gate(server, "list")[1]
    session.stop()


def connections(server, session, *wanted):
    """The events of connections by their host, once all that are wanted are there."""
    path, = server.home.rglob("attach/*.sock")
    found = {}
    while not found.keys() >= set(wanted):
        done = subprocess.run(["curl", "-sS", "--unix-socket", os.path.relpath(path),
                               f"http://localhost/v1/sessions/{session.id}/events?after=0&only=network"], capture_output=True, check=True)
        found = {event["text"]: event for event in json.loads(done.stdout)["events"]}
    return found


def husk_history(server, *words):
    return subprocess.run([husk_binary(), "history", *words], env=server.env, capture_output=True, text=True, check=True).stdout


def test_connections_are_events_without_paths(server):
    session = server.session(network=["api.test"])
    session.shell("curl -sS 'http://api.test/x.txt?q=private'; curl -sS http://other.test/").ok()
    found = connections(server, session, "api.test:80", "other.test:80")
    good, refused = found["api.test:80"], found["other.test:80"]
    assert good["event"] == "network.connection" and good["count"] == 1 and good["up"] > 50 and good["down"] > 50 and "cause" not in good
    assert refused["cause"] == "gate_denied" and "up" not in refused and "private" not in str(found)
    lines = husk_history(server, session.id, "--network").splitlines()
    assert lines[0].split()[:2] == ["TIME", "HOST"] and any("api.test:80" in line and line.endswith(" ok") for line in lines)
    assert any("other.test:80" in line and line.endswith(" gate_denied") for line in lines)
    listed = json.loads(husk_history(server, session.id, "--network", "--json"))
    assert listed["session"] == session.id and {event["text"] for event in listed["connections"]} == set(found)
    session.stop()


def test_a_session_stops_while_connections_are_open(server):
    session = server.session(network=["raw.test:7001-7003"])
    session.code("import socket\nc = [socket.create_connection(('raw.test', 7002)) for _ in range(20)]\n"
                 "for s in c: s.setblocking(False)\nfor s in c:\n    try: s.send(b'x' * 1000000)\n    except OSError: pass").ok()
    assert json.loads(server.call("stop_session", {"session_id": session.id}).text)["success"]
    assert server.session(network=["raw.test:7001"]).code("import socket; socket.create_connection(('raw.test', 7001)).close()").ok()


# evidence: gate-limits
def test_limits_hold_and_other_sessions_notice_nothing(server):
    flood, other = server.session(network=["raw.test:7001-7003"]), server.session(network=["api.test"])
    flood.code("""import socket
c = []
for i in range(400):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(("127.64.0.2", 7002)) if i else socket.getaddrinfo("raw.test", 7002)
    except OSError: pass
    c.append(s)
""").ok()
    assert other.shell("curl -sS http://api.test/x.txt").ok().stdout == "from the host\n"
    assert flood.code("del c; 1 + 1").ok().value == "2"
    done = flood.code("s = socket.create_connection(('raw.test', 7001), timeout=30); s.sendall(b'x'); s.recv(1)").ok()
    assert done.value == "b'x'"


# evidence: gate-list
def test_installs_reach_the_list_and_the_indexes_of_the_settings(tmp_path):
    settings = {"PIP_INDEX_URL": "https://api.test/simple", "DEPENDENCY_MAX_SIZE": "64m"}
    with start_server(tmp_path, CONTAINER_NETWORK_ALLOW="web.test", **settings) as server:
        session = Session(server, server.call("create_session", {"dependencies": {"gatepkg": "1.0"}}, timeout=170).session_id)
        assert session.code("import gatepkg; gatepkg.value").ok().value == "42"
        refused = server.call("create_session", {"dependencies": {"awaypkg": ""}}, timeout=170)
        assert refused.is_error and "other.test was refused" in refused.text and "CONTAINER_NETWORK_ALLOW" in refused.text


@pytest.mark.parametrize("language, program, expected", (
    ("node", "await (await fetch('https://api.test/x.txt')).text()", "from the host"),
    ("node", "await new Promise((y, n) => require('http').get('http://api.test/x.txt', r => { let t = ''; r.on('data', d => t += d); "
             "r.on('end', () => y(t)); }).on('error', n))", "from the host"),
    ("r", "readLines('https://api.test/x.txt')", "from the host")))
def test_other_languages_work_unchanged(server, language, program, expected):
    session = server.session(language=language, network=["api.test"])
    assert expected in session.code(program).ok().text
