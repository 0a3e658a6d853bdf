"""The fence around sessions with the network on, on an engine in a network of the test's own: behind its machine lies a neighbour that has
public, private, shared, link-local and metadata addresses at once, and both it and the machine listen on all of theirs."""

import json
import subprocess
import sys

import pytest

import harness
import private_engine

pytestmark = pytest.mark.timeout(600)

# Documentation ranges represent the public internet: the fence does not block them.
PUBLIC, PUBLIC6 = "198.51.100.10", "2001:db8:99::10"
METADATA = "169.254.169.254"
PRIVATE = ["10.99.0.10", "172.20.1.1", "192.168.77.7", "100.64.7.7", METADATA]
PRIVATE6 = ["fd99::10", "fd00:ec2::254"]
# The machine's own addresses.
OWN, OWN6 = ["198.51.100.1", "10.99.0.1"], ["2001:db8:99::1", "fd99::1"]
SUBNET6 = "fd55::/64"
PORT = 8000

NEIGHBOUR = f"""
ip netns add neighbour
ip link add near type veth peer name far netns neighbour
ip link set near up
ip -n neighbour link set lo up
ip -n neighbour link set far up
for a in {' '.join(OWN)}; do ip address add $a/24 dev near; done
for a in {' '.join(OWN6)}; do ip -6 address add $a/64 dev near nodad; done
for a in {PUBLIC} {' '.join(PRIVATE)}; do ip -n neighbour address add $a/32 dev far; ip route replace $a/32 dev near; done
for a in {PUBLIC6} {' '.join(PRIVATE6)}; do ip -n neighbour -6 address add $a/128 dev far nodad; ip -6 route replace $a/128 dev near; done
# As on any machine, every address has a route. Attempts without one would get no answer while the system limits ICMP errors.
ip route add default dev near
ip -6 route add default dev near
ip -n neighbour route add 198.51.100.1/32 dev far
ip -n neighbour route add default via 198.51.100.1
ip -n neighbour -6 route add 2001:db8:99::1/128 dev far
ip -n neighbour -6 route add default via 2001:db8:99::1
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
"""

LISTEN = f"""
import selectors, socket
waiting = selectors.DefaultSelector()
for port in ({PORT}, {PORT + 1}, 53):
    tcp = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=100)
    waiting.register(tcp, selectors.EVENT_READ, "tcp")
for address in ("10.99.0.10", "fd99::10", "0.0.0.0", "::"):  # an answer has to come from the address that was asked
    udp = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if ":" in address:
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        udp.bind((address, 53))
    except OSError:  # the other machine's
        continue
    waiting.register(udp, selectors.EVENT_READ, "udp")
print("up", flush=True)
while True:
    for key, _ in waiting.select():
        if key.data == "tcp":
            key.fileobj.accept()[0].close()
        else:
            data, peer = key.fileobj.recvfrom(100)
            key.fileobj.sendto(data, peer)
"""

# Deletes the table, like a firewall service that flushes all rules when it restarts.
DELETE = """
import socket, struct
def message(kind, flags, family, resource, body=b""):
    return struct.pack("=IHHIIBBH", 20 + len(body), kind, flags, 0, 0, family, 0, socket.htons(resource)) + body
name = struct.pack("=HH", 9, 1) + b"husk" + bytes(4)
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
kernel.send(message(16, 1, 0, 10) + message(10 << 8 | 2, 5, 1, 0, name) + message(17, 1, 0, 10))
error, = struct.unpack_from("=i", kernel.recv(4096), 16)
assert error in (0, -2), error
"""

CONNECT = """
import socket
def attempt(host, port, seconds=5):
    try:
        socket.create_connection((host, port), timeout=seconds).close()
        return "connected"
    except OSError as e:
        return type(e).__name__
def attempts(hosts, port):
    return {host: attempt(host, port) for host in hosts}
def ask(host):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.sendto(b"name?", (host, 53))
        return s.recv(100).decode()
"""


def listener(engine, *prefix):
    command = [*private_engine.AS_ROOT, "nsenter", "--target", str(engine.init), "--mount", "--net", "--pid", *prefix, sys.executable, "-c",
               LISTEN]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    return process


def make_network(engine, *options):
    engine.docker("network", "rm", "husk", check=False)
    engine.docker("network", "create", "--driver", "bridge", "--opt", "com.docker.network.bridge.enable_icc=false", "--label", "husk=true",
                  *options, "husk")


@pytest.fixture(scope="module")
def _engine():
    with private_engine.running() as engine:
        engine.enter("sh", "-ec", NEIGHBOUR)
        listeners = [listener(engine), listener(engine, "ip", "netns", "exec", "neighbour")]
        yield engine
        for process in listeners:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.fixture
def engine(_engine):
    """A private engine without a fence, whose network also has IPv6."""
    _engine.enter(sys.executable, "-c", DELETE)
    make_network(_engine, "--opt", "com.docker.network.bridge.name=husk0", "--label", "husk.bridge=husk0", "--ipv6", "--subnet", SUBNET6)
    yield _engine
    harness.wait_until(lambda: not _engine.containers(), what="an engine without containers")


@pytest.fixture
def serve(engine, start):
    return lambda **settings: start(engine=engine, CONTAINER_CA_BUNDLE="none", **settings)


def online(server):
    session = server.session(network=True)
    session.code(CONNECT).ok()
    return session


def python(session, expression):
    return eval(session.code(expression, 100).ok().value)


def reached(session, hosts, port=PORT):
    return [host for host, how in python(session, f"attempts({hosts!r}, {port})").items() if how == "connected"]


def gateways(engine):
    config = json.loads(engine.docker("network", "inspect", "--format", "{{json .IPAM.Config}}", "husk"))
    # The engine names an IPv6 gateway with its prefix, or not at all.
    return [entry["Gateway"].split("/")[0] for entry in config if "Gateway" in entry] + ["fd55::1"]


def look(engine):
    return engine.docker("run", "--rm", "--network", "host", "--user", "0:0", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--entrypoint",
                         "/opt/husk/husk-fence", engine.image, "look")


# evidence: network-fence
def test_only_public_addresses_are_reached(engine, serve):
    """Over IPv4 and IPv6, a session cannot reach private addresses, the metadata address, the machine's addresses or
    the gateway.
    """
    session = online(serve())
    everything = [PUBLIC, PUBLIC6, *PRIVATE, *PRIVATE6, *OWN, *OWN6, *gateways(engine)]
    assert len(set(everything)) >= 14
    assert reached(session, everything) == [PUBLIC, PUBLIC6]
    # Connections are refused at once instead of timing out.
    assert "TimeoutError" not in python(session, f"attempts({everything!r}, {PORT})").values()


def test_the_probe_finds_nothing_open(engine, serve):
    lines = online(serve()).shell("/opt/husk/husk-probe", 120).stdout.splitlines()
    assert lines[-1].startswith("done") and [line for line in lines if line.startswith("OPEN")] == []
    # The system limits how many refusals the fence sends in a second, but each attempt gets one.
    assert [line for line in lines if line.endswith("no-answer")] == []


# evidence: network-fence
def test_private_resolvers_are_reachable(engine, serve):
    """Resolvers have private addresses nearly everywhere."""
    session = online(serve())
    resolvers = ["10.99.0.10", "fd99::10", *gateways(engine)]
    assert reached(session, resolvers, 53) == resolvers
    assert [python(session, f"ask({host!r})") for host in resolvers] == ["name?"] * len(resolvers)


# evidence: network-fence
def test_the_operator_opens_networks(engine, serve):
    session = online(serve(CONTAINER_NETWORK_PRIVATE="10.99.0.10/32, fd99::/64"))
    assert reached(session, [PUBLIC, *PRIVATE, *PRIVATE6]) == [PUBLIC, "10.99.0.10", "fd99::10"]


def test_the_operator_opens_everything(engine, serve):
    """All addresses that the other tests use can be reached without the fence."""
    everything = [PUBLIC, PUBLIC6, *PRIVATE, *PRIVATE6, *OWN, *OWN6, *gateways(engine)]
    assert reached(online(serve(CONTAINER_NETWORK_PRIVATE="all")), everything) == everything


# evidence: network-fence
def test_indexes_and_proxies_are_let_through_by_address_and_port(engine, serve, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": {"httpProxy": f"http://192.168.77.7:{PORT}"}}}))
    server = serve(PIP_INDEX_URL=f"http://user:secret@10.99.0.10:{PORT}/simple/", CONTAINER_PROXY_ENABLED="true", DOCKER_CONFIG=tmp_path)
    session = online(server)
    assert reached(session, [*PRIVATE, *gateways(engine)]) == ["10.99.0.10", "192.168.77.7"]
    assert reached(session, PRIVATE, PORT + 1) == []


def test_two_servers_share_the_fence(engine, serve):
    """An opening of one server stays when another sets the rules again."""
    first = online(serve(CONTAINER_NETWORK_PRIVATE="10.99.0.10"))
    second = online(serve(CONTAINER_NETWORK_PRIVATE="192.168.77.7"))
    for session in (first, second):
        assert reached(session, PRIVATE) == ["10.99.0.10", "192.168.77.7"]
    assert look(engine) == "kept"


# evidence: network-fence-kept
def test_removed_rules_are_restored(engine, serve):
    session = online(serve(SESSION_GC_INTERVAL_SECONDS=1))
    assert look(engine) == "kept"
    engine.enter(sys.executable, "-c", DELETE)
    harness.wait_until(lambda: look(engine) == "kept", what="the return of the rules")
    assert reached(session, PRIVATE) == []


# evidence: network-connections
def test_connections_are_limited(engine, serve):
    """A session that opens thousands of flows does not fill the machine's table of them."""
    session = online(serve())
    count = "/proc/sys/net/netfilter/nf_conntrack_count"
    session.code(f"""
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for port in range(10000, 15000):
        try:
            s.sendto(b"x", ({PUBLIC!r}, port))
        except OSError:
            pass
""", 60).ok()
    flows = int(subprocess.run([*private_engine.AS_ROOT, "nsenter", "--target", str(engine.init), "--mount", "--net", "--pid", "cat", count],
                               check=True, capture_output=True, text=True).stdout)
    assert 900 <= flows <= 1300


def test_an_older_network_is_replaced(engine, serve):
    make_network(engine)
    session = online(serve())
    assert json.loads(engine.docker("network", "inspect", "husk"))[0]["Options"]["com.docker.network.bridge.name"] == "husk0"
    assert reached(session, PRIVATE) == []


def test_an_older_network_in_use_is_reported(engine, serve):
    make_network(engine)
    engine.docker("run", "--detach", "--rm", "--name", "user", "--network", "husk", "--entrypoint", "sleep", engine.image, "1000")
    try:
        server = serve()
        created = server.call("create_session", {"network": True})
        server.sessions.append(created.fields["session_id"])
        assert "older Husk" in created.fields["note"]
    finally:
        engine.docker("rm", "--force", "user")


@pytest.fixture
def powerless(tmp_path):
    """A docker client whose engine does not let any container set rules."""
    script = tmp_path / "docker"
    script.write_text('#!/bin/bash\nargs=()\nfor a; do [ "$a" != NET_ADMIN ] || a=CHOWN; args+=("$a"); done\nexec docker "${args[@]}"\n')
    script.chmod(0o755)
    return script


# evidence: network-fence-kept
def test_a_missing_fence_is_reported_by_create_and_doctor(engine, serve, powerless):
    server = serve(HUSK_DOCKER=powerless)
    created = server.call("create_session", {"network": True})
    server.sessions.append(created.fields["session_id"])
    assert "this session has no firewall rules" in created.fields["note"], created.text
    assert "note" not in server.call("create_session", {"network": False}).fields
    doctor = subprocess.run([harness.husk_binary(), "doctor", "--json"], env=server.env, capture_output=True, text=True)
    check, = [c for c in json.loads(doctor.stdout)["checks"] if c["name"] == "fence"]
    assert check["status"] == "warn" and "private addresses" in check["detail"] and "Operation not permitted" in check["detail"]


# evidence: network-fence-kept
def test_without_a_required_fence_no_session_gets_a_network(engine, serve, powerless):
    server = serve(HUSK_DOCKER=powerless, CONTAINER_NETWORK_FENCE="require")
    refused = server.call("create_session", {"network": True})
    assert refused.is_error and "CONTAINER_NETWORK_FENCE=require" in refused.text, refused.text
    refused = server.call("create_session", {"network": False, "dependencies": {"never-installed-before": "1.0"}})
    assert refused.is_error and "CONTAINER_NETWORK_FENCE=require" in refused.text, refused.text
    assert server.session(network=False).code("6 * 7").ok().value == "42"
