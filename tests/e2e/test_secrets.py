"""Secrets: programs in a session use values that are nowhere in it. Hosts are servers of the test, with certificates of
an authority of its own.
"""

import json
import pathlib
import subprocess
import sys

import harness
import package_index
import pytest
from harness import wait_until
from upstream import Authority, Upstream, basic

VALUE = "cAnArY-5309-value"
NAME = "api.test"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def host(authority):
    one = Upstream(authority.sign(NAME))
    yield one
    one.close()


@pytest.fixture
def begin(start, authority, host):
    """Starts a server whose sessions may reach the host, and stores a secret for it."""
    host.seen.clear()

    def begin_one(*places, value=VALUE, **settings):
        server = start(CONTAINER_CA_BUNDLE=str(authority.bundle), CONTAINER_NETWORK_ALLOW=f"{NAME}=127.0.0.1:{host.port}", **settings)
        store(server, "TOKEN", value, f"--host={NAME}:{host.port}", *places)
        return server

    return begin_one


def husk(server, *args, text=""):
    return subprocess.run([harness.husk_binary(), *args], env=harness.clean_env(server.home), input=text, capture_output=True, text=True,
                          timeout=60, check=True).stdout


def store(server, name, value, *args):
    husk(server, "secret", "set", name, *args, text=value)


def wait_for_note(session, run, words):
    """The note is in the answer of this run, or of the next one if the connection ended after it."""
    seen = [run.text]
    wait_until(lambda: words in "".join(seen) or seen.append(session.shell("true").text), what=words)


@pytest.fixture(scope="module")
def shared(tmp_path_factory, authority, host):
    """One session for programs that only send requests."""
    server = harness.Server(tmp_path_factory.mktemp("shared"), CONTAINER_CA_BUNDLE=str(authority.bundle),
                            CONTAINER_NETWORK_ALLOW=f"{NAME}=127.0.0.1:{host.port}", CONTAINER_MAX_SESSIONS_PER_THREAD=4)
    store(server, "TOKEN", VALUE, f"--host={NAME}:{host.port}")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def url(host):
    return f"https://{NAME}:{host.port}"


# --- programs that use a secret

PYTHON = {
    "urllib": "import os, urllib.request as u\nu.urlopen(u.Request('{url}/x', headers={{'Authorization': 'Bearer ' + os.environ['TOKEN']}})).read()",
    "requests": "import os, requests\nrequests.get('{url}/x', headers={{'Authorization': 'Bearer ' + os.environ['TOKEN']}}).content",
}


@pytest.fixture(scope="module")
def python(shared):
    return shared.session(secrets=["TOKEN"])


@pytest.mark.parametrize("client", PYTHON)
def test_clients_of_python(python, host, url, client):
    host.seen.clear()
    assert python.code(PYTHON[client].format(url=url)).ok().value == "b'hello'"
    assert host.fields("authorization") == [f"Bearer {VALUE}"]


def test_curl_and_git(python, host, url):
    host.seen.clear()
    assert python.shell(f'curl -fsS -H "X-Key: $TOKEN" {url}/x').ok().stdout == "hello"
    assert host.fields("x-key") == [VALUE]
    host.seen.clear()
    host.pages["/repo.git/info/refs"] = 401, {"WWW-Authenticate": 'Basic realm="test"'}, b""
    python.shell(f"git -c credential.helper= ls-remote {url.replace('://', '://me:$TOKEN@')}/repo.git")
    assert basic("me", VALUE) in host.fields("authorization")


def test_pip(python, host, url, tmp_path):
    """The placeholder is the password of an index."""
    host.seen.clear()
    host.pages["/simple/husk-demo/"] = 200, {"Content-Type": "text/html"}, b"<a href='/files/husk_demo-1.0-py3-none-any.whl'>husk_demo-1.0-py3-none-any.whl</a>"
    package_index.add_wheel(tmp_path, "husk-demo", "1.0")
    host.pages["/files/husk_demo-1.0-py3-none-any.whl"] = 200, {}, next(tmp_path.rglob("*.whl")).read_bytes()
    python.shell(f"pip install -q --no-deps --target /tmp/demo --index-url {url.replace('://', '://me:$TOKEN@')}/simple/ husk-demo").ok()
    assert set(host.fields("authorization")) == {basic("me", VALUE)} and "/files/" in str(host.seen)


def test_http_2_alone_is_refused(python, host, url):
    host.seen.clear()
    run = python.code("import os, socket, ssl\nc = ssl.create_default_context(); c.set_alpn_protocols(['h2'])\n"
                      f"c.wrap_socket(socket.create_connection(('{NAME}', {host.port})), server_hostname='{NAME}')")
    assert "ALERT" in run.text and not host.seen
    wait_for_note(python, run, f"1 connection to {NAME}")


def test_node(shared, host, url):
    session = shared.session(language="node", secrets=["TOKEN"])
    host.seen.clear()
    fetched = session.code(f"await (await fetch('{url}/x', {{headers: {{authorization: `Bearer ${{process.env.TOKEN}}`}}}})).text()").ok()
    assert "hello" in fetched.value and host.fields("authorization") == [f"Bearer {VALUE}"]
    host.pages["/husk-demo"] = 200, {"Content-Type": "application/json"}, json.dumps({
        "name": "husk-demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "husk-demo", "version": "1.0.0"}}}).encode()
    shown = session.shell(f"npm view husk-demo version --registry {url}/ '--{url.removeprefix('https:')}/:_authToken='$TOKEN")
    assert "1.0.0" in shown.ok().stdout and host.fields("authorization")[-1] == f"Bearer {VALUE}"
    session.stop()


def test_r(shared, host, url):
    session = shared.session(language="r", secrets=["TOKEN"])
    host.seen.clear()
    session.code(f"h <- curl::new_handle(); curl::handle_setheaders(h, 'X-Key' = Sys.getenv('TOKEN'))\n"
                 f"rawToChar(curl::curl_fetch_memory('{url}/x', h)$content)").ok()
    assert host.fields("x-key") == [VALUE]
    session.stop()


# --- every face


def test_husk_run_and_the_python_module(shared, host, url, tmp_path):
    program = tmp_path / "ask.py"
    program.write_text(PYTHON["urllib"].format(url=url))
    host.seen.clear()
    subprocess.run([harness.husk_binary(), "run", "--secret", "TOKEN", "--alone", program], env=shared.env, stdin=subprocess.DEVNULL, check=True, timeout=60)
    assert host.fields("authorization") == [f"Bearer {VALUE}"]
    module = f"""
import husk
with husk.Session(secrets=["TOKEN"], name="by-module") as s:
    print(s.run({PYTHON["urllib"].format(url=url)!r}).value)
"""
    more = {"PYTHONPATH": str(harness.ROOT / "clients" / "python"), "HUSK_LIBRARY": str(harness.build_dir() / "libhusk" / "libhusk.so.0")}
    done = subprocess.run([sys.executable, "-B", "-c", module], env={**shared.env, **more}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "hello" in done.stdout, done.stderr
    assert host.fields("authorization") == [f"Bearer {VALUE}"] * 2


# --- where a secret may be used


# evidence: secret-places
def test_places_of_a_secret(begin, host, url):
    server = begin("--header=X-Key", "--query=key", "--basic=me")
    session = server.session(secrets=["TOKEN"])
    session.shell(f'curl -fsS -H "X-Key: $TOKEN" -H "X-Other: $TOKEN" "{url}/x?key=$TOKEN&other=$TOKEN" -d "$TOKEN"').ok()
    session.shell(f'curl -fsS -u "me:$TOKEN" {url}/y; curl -fsS -u "you:$TOKEN" {url}/z').ok()
    placeholder = session.shell("echo $TOKEN").ok().stdout.strip()
    assert placeholder.startswith("husk-secret-")
    (_, target, fields, body), (_, _, mine, _), (_, _, yours, _) = host.seen
    assert target == f"/x?key={VALUE}&other={placeholder}"
    assert (fields["x-key"], fields["x-other"], body.decode()) == (VALUE, placeholder, placeholder)
    assert (mine["authorization"], yours["authorization"]) == (basic("me", VALUE), basic("you", placeholder))


def test_an_answer_does_not_repeat_it(begin, host, url):
    session = begin().session(secrets=["TOKEN"])
    host.pages["/echo"] = 200, {"X-Echo": "{x-key}"}, b""
    answer = session.shell(f'curl -fsSi -H "X-Key: $TOKEN" {url}/echo').ok().stdout
    assert VALUE in host.fields("x-key") and VALUE not in answer and "husk-secret-" in answer


# evidence: secret-places
def test_a_host_without_a_valid_certificate_gets_nothing(start, authority, tmp_path):
    """Certificates of another authority, for another name, and one that has ended."""
    strangers = [Upstream(Authority(tmp_path).sign(NAME)), Upstream(authority.sign("other.test")), Upstream(authority.sign(f"{NAME}", days=0))]
    server = start(CONTAINER_CA_BUNDLE=str(authority.bundle),
                   CONTAINER_NETWORK_ALLOW=",".join(f"{NAME}=127.0.0.1:{one.port}" for one in strangers))
    store(server, "TOKEN", VALUE, *(f"--host={NAME}:{one.port}" for one in strangers))
    session = server.session(secrets=["TOKEN"])
    for one in strangers:
        answer = session.shell(f'curl -sS -H "X-Key: $TOKEN" https://{NAME}:{one.port}/')
        assert "did not prove who it is" in answer.stdout and not one.seen
        wait_for_note(session, answer, f"1 connection to {NAME}:{one.port} failed: the host could not prove who it is")
        one.close()


# --- the canary


def everything(session):
    """The places where a program of the session finds the value: environments, arguments, memory and files."""
    look = r"""
import glob, os, re
word = "cAnArY-" + "5309-" + "value"
found = []
def look(place, data):
    if word.encode() in data:
        found.append(place)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try: look(f"{name} {pid}", open(f"/proc/{pid}/{name}", "rb").read())
        except OSError: pass
    try: maps = open(f"/proc/{pid}/maps").read()
    except OSError: continue
    if int(pid) == os.getpid(): continue
    try: memory = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError: continue
    for line in maps.splitlines():
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
        if not m: continue
        a, b = (int(x, 16) for x in m.groups())
        try:
            memory.seek(a)
            look(f"memory {pid}", memory.read(min(b - a, 64 << 20)))
        except (OSError, ValueError, OverflowError): pass
for top in ("/workspace", "/home", "/tmp", "/dev/shm", "/run", "/etc", "/var", "/opt/husk"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < 32 << 20: look(path, open(path, "rb").read())
            except OSError: pass
print(found)
"""
    return session.shell("cat >/tmp/look.py <<'END'\n" + look + "\nEND\npython3 /tmp/look.py").ok().stdout.strip()


def memory_of(server, session, words):
    """The words that the host finds in the memory, arguments and environments of the session's processes, PID 1 among
    them.
    """
    found = set()
    for pid in server.engine.pids(session.container):
        proc = pathlib.Path("/proc", str(pid))
        try:
            texts = [(proc / "cmdline").read_bytes(), (proc / "environ").read_bytes()]
            found |= {word for word in words for text in texts if word.encode() in text}
            with open(proc / "mem", "rb", 0) as memory:
                for line in (proc / "maps").read_text().splitlines():
                    found |= words_in(memory, line, words)
        except OSError:
            continue  # it has ended
    return found


def words_in(memory, line, words):
    start, end = (int(part, 16) for part in line.split()[0].split("-"))
    found, rest = set(), b""
    for at in range(start, end if line.split()[1].startswith("r") else start, 16 << 20):
        try:
            memory.seek(at)
            data = rest + memory.read(min(end - at, 16 << 20))
        except (OSError, ValueError, OverflowError):
            break
        found |= {word for word in words if word.encode() in data}
        rest = data[-100:]
    return found


# evidence: secret-canary
def test_the_value_is_nowhere(begin, host, url):
    server = begin(HISTORY_KEEPS_CODE="true", LOG_LEVEL="debug")
    session = server.session(secrets=["TOKEN"])
    session.shell(f'curl -fsS -H "X-Key: $TOKEN" {url}/x').ok()
    session.code(PYTHON["urllib"].format(url=url)).ok()
    assert VALUE in host.fields("x-key")
    host.pages["/echo"] = 200, {"X-Echo": "{x-key}"}, b""
    errors = session.shell(f'curl -sSi -H "X-Key: $TOKEN" {url}/echo; curl -sS -H "X-Key: $TOKEN" https://{NAME}:1/; '
                           f'curl -sS -X CONNECT -H "Host: other" -H "X-Key: $TOKEN" {url}/x').text
    assert VALUE not in errors
    placeholder = session.shell("echo $TOKEN").ok().stdout.strip()
    assert everything(session) == "[]"
    assert memory_of(server, session, {VALUE, placeholder}) == {placeholder}
    assert VALUE not in server.engine.words_of(session.container)
    arguments = subprocess.run(["ps", "axeww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert VALUE not in arguments
    listed = husk(server, "secret", "list", "--json") + husk(server, "ps", "--json") + husk(server, "history", session.id, "--json")
    assert VALUE not in listed and json.loads(husk(server, "secret", "list", "--json"))["secrets"][0]["name"] == "TOKEN"
    session.stop()
    server.close_stdin()
    server.process.wait(20)
    assert VALUE not in server.stderr()
    for path in server.home.rglob("*"):
        assert not path.is_file() or VALUE.encode() not in path.read_bytes(), path


# --- life of a secret


# evidence: secret-removed
def test_a_removed_secret_cannot_be_used(begin, host, url):
    server = begin()
    session = server.session(secrets=["TOKEN"])
    use = f'curl -sS -H "X-Key: $TOKEN" {url}/x'
    session.shell(use).ok()
    husk(server, "secret", "remove", "TOKEN")

    def is_gone():
        session.shell(use)
        return host.fields("x-key")[-1] != VALUE

    wait_until(is_gone, what="the server to notice")


def test_unknown_secrets_are_refused(begin):
    refused = begin().call("create_session", {"secrets": ["NOT_THERE"]})
    assert refused.is_error and "there is no secret 'NOT_THERE'" in refused.text and "husk secret set NOT_THERE" in refused.text


def test_the_next_server_keeps_the_session_s_secrets(begin, start, authority, host, url):
    first = begin()
    session = first.session(secrets=["TOKEN"])
    use = f'curl -fsS -H "X-Key: $TOKEN" {url}/x'
    session.shell(use).ok()
    first.kill()
    second = start(home=first.home, CONTAINER_CA_BUNDLE=str(authority.bundle), CONTAINER_NETWORK_ALLOW=f"{NAME}=127.0.0.1:{host.port}")
    host.seen.clear()
    again = harness.Session(second, session.id)
    assert again.shell(use).ok().stdout == "hello"
    assert host.fields("x-key") == [VALUE]
