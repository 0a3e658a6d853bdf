"""Network on and off. Everything here stays on this machine: sessions, their bridge, and a listener that the test starts itself."""

import concurrent.futures
import json
import shutil

import pytest
from harness import Fake, docker

CONNECT = """
import socket
def attempt(host, port, seconds=4):
    try:
        socket.create_connection((host, port), timeout=seconds).close()
        return "connected"
    except OSError as e:
        return "failed: %s" % e
"""


def python(session, expression):
    return eval(session.code(expression).ok().value)


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    """Two sessions with the network on."""
    from harness import Server

    with Server(tmp_path_factory.mktemp("online"), CONTAINER_CA_BUNDLE="none") as server:
        a, b = server.session(network=True), server.session(network=True)
        for s in (a, b):
            s.code(CONNECT).ok()
        yield a, b


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    from harness import Server

    with Server(tmp_path_factory.mktemp("offline")) as server:
        session = server.session(network=False)
        session.code(CONNECT).ok()
        yield session


def address(session):
    return docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", session.container)


def gateway(session):
    return docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}", session.container)


def test_the_resolver_does_not_know_session_ids(online):
    """The engine's resolver answers with the names of containers, which are random and reveal nothing about their sessions."""
    a, b = online
    a.code("import socket\ndef named(address):\n    try: return socket.gethostbyaddr(address)[0]\n    except OSError: return ''\n"
           "def found(name):\n    try: return socket.gethostbyname(name)\n    except OSError: return ''").ok()
    name = python(a, f"named({address(b)!r})")
    assert name.partition(".")[0] in ("", b.container) and b.id not in name
    for guess in (b.id, f"{b.id}.husk", f"husk-{b.id}", f"husk-{b.id}.husk"):
        assert python(a, f"found({guess!r})") == ""


LISTEN = """
import socket, threading
tcp = socket.create_server(("0.0.0.0", 8099))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("0.0.0.0", 8099)); udp.settimeout(3)
def serve():
    while True:
        c, _ = tcp.accept(); c.sendall(b"hello"); c.close()
threading.Thread(target=serve, daemon=True).start()
"""


# evidence: network-off
def test_sessions_cannot_reach_each_other(online):
    a, b = online
    b.code(LISTEN).ok()
    assert python(b, f"attempt({address(b)!r}, 8099)") == "connected"  # the listener is there
    for target in (address(b), b.container, b.id, f"{b.container}.husk"):
        assert python(a, f"attempt({target!r}, 8099)") != "connected", target
    a.code(f"u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor i in range(5): u.sendto(b'x', ({address(b)!r}, 8099))").ok()
    got = b.code("try:\n    r = udp.recv(10)\nexcept TimeoutError:\n    r = 'nothing'\nr").ok()
    assert got.value == "'nothing'"


def test_sessions_share_husk_s_own_network(online):
    networks = [json.loads(docker("inspect", "--format", "{{json .NetworkSettings.Networks}}", s.container)) for s in online]
    assert [list(n) for n in networks] == [["husk"], ["husk"]]
    network = json.loads(docker("network", "inspect", "husk"))[0]
    assert network["Driver"] == "bridge"
    assert network["Options"]["com.docker.network.bridge.enable_icc"] == "false"


def test_on_has_an_interface_and_a_route(online):
    assert sorted(python(online[0], "__import__('os').listdir('/sys/class/net')")) == ["eth0", "lo"]
    assert "00000000" in online[0].shell("cat /proc/net/route").stdout


def test_on_resolves(online):
    """Names are resolved by the engine's own resolver, which knows the session's name: no query leaves the machine."""
    assert python(online[0], f"socket.gethostbyname({online[0].container!r})") == address(online[0])


def moves(fake):
    return [call.split()[1] for call in fake.calls() if call.startswith(("network connect", "network disconnect"))]


@pytest.mark.parametrize("language, moved", [("python", False), ("r", True), ("node", False)])
def test_the_network_is_connected_while_a_slow_kernel_starts(start, tmp_path, language, moved):
    """The server does this from the second session on, once it knows that containers share the machine's kernel."""
    fake = Fake(tmp_path / "bin", f'exec {shutil.which("docker")} "$@"')
    server = start(PATH=fake.path, HUSK_TRANSPORT="socket")
    first, second = (server.session(language=language, network=True) for _ in range(2))
    assert moves(fake) == (["disconnect", "connect"] if moved else [])
    assert [list(json.loads(docker("inspect", "--format", "{{json .NetworkSettings.Networks}}", s.container))) for s in (first, second)] == [["husk"]] * 2
    for look in ("ls /sys/class/net; cut -f 1,2,8 /proc/net/route; cat /etc/resolv.conf; grep -c husk /etc/hosts", "env | grep -v HUSK"):
        assert first.shell(look).stdout == second.shell(look).stdout
    assert second.shell(f"getent hosts {second.container}").stdout.split()[0] == address(second)


def test_an_engine_that_cannot_connect_running_containers(start, tmp_path):
    """The session is started again with its network attached from the beginning, like all later ones."""
    fake = Fake(tmp_path / "bin", 'case "$1 $2" in "network disconnect") echo "network mode none: not possible" >&2; exit 125 ;; esac\n'
                                  f'exec {shutil.which("docker")} "$@"')
    server = start(PATH=fake.path, HUSK_TRANSPORT="socket")
    sessions = [server.session(language="r", network=True) for _ in range(3)]
    assert moves(fake) == ["disconnect"]
    for session in sessions:
        assert session.shell("ls /sys/class/net").stdout.split() == ["eth0", "lo"]


# evidence: network-off
def test_off_has_only_loopback(offline):
    assert python(offline, "__import__('os').listdir('/sys/class/net')") == ["lo"]
    assert offline.shell("tail -n +2 /proc/net/route").stdout == ""
    offline.code("server = socket.create_server(('127.0.0.1', 8098))").ok()
    assert python(offline, "attempt('127.0.0.1', 8098)") == "connected"


# evidence: network-off
def test_off_cannot_connect(offline, online):
    for target in (address(online[0]), gateway(online[0]), "192.0.2.1"):
        outcome = offline.code(f"attempt({target!r}, 53)").ok()
        assert "unreachable" in outcome.value.lower(), outcome.value
        assert outcome.took < 3  # refused at once, not by a timeout


def test_off_cannot_resolve(offline, online):
    for name in (online[0].container, offline.container, "example.org"):
        outcome = offline.code(
            f"try:\n    r = socket.getaddrinfo({name!r}, 80)\nexcept OSError as e:\n    r = type(e).__name__\nr", 20).ok()
        assert outcome.value == "'gaierror'"


def test_off_from_the_shell(offline):
    command = "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)\""
    result = offline.shell(command)
    assert result.exit_code == 1 and "unreachable" in result.stderr


# evidence: network-ceiling
@pytest.mark.parametrize("setting, argument, want", [
    ("true", None, ["eth0", "lo"]),
    ("false", None, ["lo"]),
    ("true", False, ["lo"]),
    (None, None, ["eth0", "lo"]),
])
def test_the_argument_can_only_narrow_the_setting(start, setting, argument, want):
    server = start(CONTAINER_NETWORK_ENABLED=setting)
    session = server.session(**({} if argument is None else {"network": argument}))
    assert sorted(session.shell("ls /sys/class/net").stdout.split()) == want


# evidence: network-ceiling
def test_a_network_that_is_switched_off_cannot_be_requested(start):
    """Neither a session nor an installer gets the network, and the schema does not offer it."""
    server = start(CONTAINER_NETWORK_ENABLED="false")
    refused = server.call("create_session", {"network": True})
    assert refused.is_error and "switched off" in refused.text and "Only the person who runs Husk" in refused.text
    refused = server.call("create_session", {"dependencies": {"never-installed-before": "1.0"}})
    assert refused.is_error and "are not cached" in refused.text and "CONTAINER_NETWORK_ENABLED" in refused.text
    create = next(tool for tool in server.request("tools/list").result()["tools"] if tool["name"] == "create_session")
    assert "network" not in create["inputSchema"]["properties"] and "switched it off" in create["description"]


def test_concurrent_servers_create_one_network(start):
    """Several servers need the network at once: all can use it, and only one exists afterwards."""
    docker("network", "rm", "husk", check=False)  # the network stays if other sessions use it, and then this test cannot race
    servers = [start() for _ in range(3)]
    answers = [s.start_call("create_session", {"network": True}) for s in servers]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda a: a.tool(), answers))
    for server, result in zip(servers, results):
        assert not result.is_error, result.text
        server.sessions.append(result.fields["session_id"])
    assert docker("network", "ls", "--filter", "name=^husk$", "--format", "{{.Name}}").split() == ["husk"]
    what = "{{range .NetworkSettings.Networks}}{{.NetworkID}}{{end}}"
    ids = {docker("inspect", "--format", what, s.container_of(s.sessions[0])) for s in servers}
    assert len(ids) == 1


# --- proxies and certificates

PROXY = "http://proxy.invalid:3128"
PROXIES = {"proxies": {"default": {"httpProxy": PROXY, "httpsProxy": PROXY, "noProxy": "x.invalid"}}}


@pytest.fixture
def client_config(tmp_path):
    """A docker client that injects proxy variables into every container."""
    folder = tmp_path / "docker-config"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PROXIES))
    return folder


# evidence: network-off
def test_injected_proxies_are_blanked(start, client_config):
    session = start(DOCKER_CONFIG=client_config).session(network=True)
    assert session.shell("env | grep -i proxy | grep -v '=$'").stdout == ""


def test_injected_proxies_are_kept_when_asked_for(start, client_config):
    session = start(DOCKER_CONFIG=client_config, CONTAINER_PROXY_ENABLED="true").session(network=True)
    assert "HTTPS_PROXY=http://proxy.invalid:3128" in session.shell("env").stdout.split()


def mounts_of_the_host(session):
    """The session's mounts from the host, except the folder of its socket."""
    mounts = json.loads(docker("inspect", "--format", "{{json .Mounts}}", session.container))
    return [mount for mount in mounts if mount["Type"] == "bind" and mount["Destination"] != "/run/husk"]


# evidence: container-mounts
def test_certificates_of_the_host(start, tmp_path):
    bundle = tmp_path / "bundle.crt"
    bundle.write_text("# a bundle of our own\n")
    bundle.chmod(0o644)
    tmp_path.chmod(0o755)
    server = start(CONTAINER_CA_BUNDLE=bundle)
    session = server.session(network=True)
    for name in ("SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS"):
        assert session.shell(f"cat \"${name}\"").stdout == "# a bundle of our own\n", name
    assert session.shell("echo x >>\"$SSL_CERT_FILE\"").exit_code != 0
    assert bundle.read_text() == "# a bundle of our own\n"
    assert [mount["RW"] for mount in mounts_of_the_host(session)] == [False]
    closed = server.session(network=False)
    assert closed.shell("echo \"<$SSL_CERT_FILE>\"").stdout == "<>\n"
    assert mounts_of_the_host(closed) == []
