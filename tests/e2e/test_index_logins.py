"""A package index with a login is reached through the gate, which adds the login: while a package is built, the login is
not in its container, so no package can read it.
"""

import base64
import ipaddress
import json
import subprocess

import package_index
import pytest
from dependencies import INSTALL, create, left, session_of
from harness import docker, wait_until

USER, CLEAR, ENCODED = "canary-user", "cAnArY/passw0rd", "cAnArY%2Fpassw0rd"
LOGIN = f"{USER}:{CLEAR}"
BASIC = base64.b64encode(LOGIN.encode()).decode()

# Looks everywhere, from inside the process that builds the package: memory of every process, environments, arguments, open files and all
# files that can be written. The words are joined at run time so that this text itself is not found, and the probe skips
# its own memory.
PROBE = r"""
my %word = (canary => join('|', 'cAnAr' . 'Y[/]pass' . 'w0rd', 'cAnAr' . 'Y%2Fpass' . 'w0rd', BASIC_PARTS),
    control => 'index[.]te' . 'st:');
my (%found, $bytes, $memories);
sub look { my ($where, $data) = @_; $bytes += length $data;
    for my $w (keys %word) { $found{$w}{$where}++ if $data =~ /$word{$w}/ } }
sub slurp { my ($path) = @_; open(my $f, '<:raw', $path) or return ''; local $/ = \(64 << 20); my $data = <$f>; return $data // '' }
sub walk { my ($dir, $depth) = @_; return if $depth > 12; opendir(my $d, $dir) or return;
    for my $name (grep { !/^[.][.]?$/ } readdir $d) { my $path = "$dir/$name"; next if -l $path;
        if (-d _) { walk($path, $depth + 1) } elsif (-f _ && -s _ < 32 << 20) { look("file $path", slurp($path)) } } }
for my $p (grep { m{/\d+$} } glob '/proc/*') {
    my ($pid) = $p =~ /(\d+)$/;
    look("environ $pid", slurp("$p/environ")); look("cmdline $pid", slurp("$p/cmdline"));
    for my $fd (glob "$p/fd/*") { look("fd $pid", slurp($fd)) if -f $fd }
    next if $pid == $$;
    open(my $maps, '<', "$p/maps") or next; open(my $mem, '<:raw', "$p/mem") or next; $memories++;
    while (<$maps>) { my ($from, $to, $mode) = /^([0-9a-f]+)-([0-9a-f]+) (r.)/ or next;
        { no warnings; $from = hex $from; $to = hex $to; }
        my $rest = '';
        for (my $at = $from; $at < $to; $at += 1 << 22) { sysseek($mem, $at, 0) or last;
            sysread($mem, my $data, $to - $at < 1 << 22 ? $to - $at : 1 << 22) or last;
            look("memory $pid", $rest . $data); $rest = substr $data, -100 } } }
walk($_, 0) for qw(/opt/husk /home /tmp /workspace /dev/shm /run /etc /var);
open(my $out, '>', $ARGV[0]) or die; my $list = sub { join ',', map { "\"$_\"" } map { s/[^ -~]|["\\]/?/gr } sort keys %{$found{$_[0]}} };
printf $out '{"bytes":%d,"memories":%d,"canary":[%s],"control":[%s]}', $bytes, $memories, $list->('canary'), $list->('control');
""".replace("BASIC_PARTS", f"'{BASIC[:9]}' . '{BASIC[9:]}'")

BACKEND = """
import subprocess, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    subprocess.run(["perl", "probe.pl", "result.json"], check=True)
    name = "husk_probe-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("husk_probe.py", f"RESULT = {open('result.json').read()!r}\\n")
        wheel.writestr("husk_probe-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: husk-probe\\nVersion: 1.0\\n")
        wheel.writestr("husk_probe-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("husk_probe-1.0.dist-info/RECORD", "")
    return name
"""


def check(result, index):
    """The probe searched enough, found the control word in memory, and did not find the login."""
    result = json.loads(result)
    assert result["canary"] == []
    assert any(place.startswith("memory") for place in result["control"]), result
    assert result["memories"] >= 2 and result["bytes"] > 10 << 20, result
    with_login = [login for _, login in index.askers if login == f"Basic {BASIC}"]
    assert with_login, "the index was asked without a login"


# --- a package that looks for it


# evidence: index-login
def test_pip(begin, make_index):
    index = make_index(login=LOGIN)
    package_index.add_tar(index.folder / "simple" / "husk-probe" / "husk_probe-1.0.tar.gz", "husk_probe-1.0", {
        "PKG-INFO": "Metadata-Version: 2.1\nName: husk-probe\nVersion: 1.0\n", "probe.pl": PROBE, "backend.py": BACKEND,
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'})
    server = begin(**index.pip(login=f"{USER}:{ENCODED}"))
    session = session_of(server, create(server, dependencies={"husk-probe": "1.0"}))
    check(session.code("import husk_probe; print(husk_probe.RESULT)").ok().stdout, index)


# evidence: index-login
@pytest.mark.parametrize("below, host", [("/", "http://registry.example"), ("/npm/", None)])
def test_npm(begin, make_index, below, host):
    """If the registry is at the root of its host, tarballs are fetched from it whatever host their URLs name."""
    index = make_index(login=LOGIN)
    package_index.add_npm_package(index, "husk-probe", "1.0.0", {"scripts": {"install": "perl probe.pl result.json"}}, {"probe.pl": PROBE},
                                  below, host)
    server = begin(NPM_CONFIG_REGISTRY=index.url(below[1:], f"{USER}:{ENCODED}"))
    session = session_of(server, create(server, language="node", dependencies={"husk-probe": ""}))
    check(session.code("console.log(JSON.stringify(require('husk-probe/result.json')))").ok().stdout, index)
    assert "audit" not in " ".join(index.asked)


# evidence: index-login
def test_r(begin, make_index):
    index = make_index(login=LOGIN)
    package_index.add_r_package(index.folder, "huskprobe", "1.0", {
        "NAMESPACE": "export(result)\n", "R/a.R": "result <- function() readLines(system.file('probe.json', package = 'huskprobe'), warn = FALSE)\n",
        "inst/README": "probe.json comes beside this", "probe.pl": PROBE, "configure": "#!/bin/sh\nperl probe.pl inst/probe.json\n"})
    server = begin(R_REPOS=index.url(login=f"{USER}:{ENCODED}"))
    session = session_of(server, create(server, language="r", dependencies={"huskprobe": ""}))
    check(session.code("cat(huskprobe::result())").ok().stdout, index)


# --- where links lead


# evidence: index-paths
def test_links_and_redirects(begin, make_index):
    """Files beside the pages are fetched with the login. Redirects and links to another host lead past the gate, without
    the login.
    """
    index, elsewhere = make_index(login=LOGIN), make_index()
    for name in ("husk-near", "husk-far", "husk-direct"):
        package_index.add_wheel(index.folder if name == "husk-near" else elsewhere.folder, name, "1.0")
        wheel = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
        at = {"husk-near": index.url(f"simple/husk-near/{wheel}"), "husk-far": f"../../files/{wheel}",
              "husk-direct": elsewhere.url(f"simple/husk-direct/{wheel}")}[name]
        if name == "husk-near":
            (index.folder / "packages").mkdir()
            (index.folder / "simple" / name / wheel).rename(index.folder / "packages" / wheel)
            at = index.url(f"packages/{wheel}")
        page = {"meta": {"api-version": "1.0"}, "name": name, "files": [{"filename": wheel, "url": at, "hashes": {}}]}
        index.pages[f"/simple/{name}/"] = 200, {"Content-Type": "application/vnd.pypi.simple.v1+json"}, json.dumps(page).encode()
        index.pages[f"/files/{wheel}"] = 302, {"Location": elsewhere.url(f"simple/{name}/{wheel}")}, b""
    server = begin(CONTAINER_NETWORK_PRIVATE=elsewhere.address, PIP_TRUSTED_HOST=elsewhere.address, **index.pip(login=f"{USER}:{ENCODED}"))
    session = session_of(server, create(server, dependencies={"husk-near": "", "husk-far": "", "husk-direct": ""}))
    assert session.code("import husk_near, husk_far, husk_direct; husk_far.version").ok().value == "'1.0'"
    assert any(path.startswith("/packages/husk_near") for path in index.asked)
    assert all(login is None for _, login in elsewhere.askers)
    subnet = ipaddress.ip_network(docker("network", "inspect", "--format", "{{range .IPAM.Config}}{{.Subnet}}{{end}}", "husk"))
    assert all(ipaddress.ip_address(address) in subnet for address, _ in elsewhere.askers)
    assert all(login for _, login in index.askers)


# evidence: index-paths
def test_a_package_can_reach_only_the_index(begin, make_index):
    """Other paths on the index's host cannot be reached, whatever a package tries."""
    index = make_index(login=LOGIN)
    (index.folder / "secret.txt").write_text("of somebody else")
    asks = ["/secret.txt", "/simple/../secret.txt", "/simple/%2e%2e/secret.txt", "//secret.txt", "/simple/%252e%252e/secret.txt"]
    backend = BACKEND.replace('subprocess.run(["perl", "probe.pl", "result.json"], check=True)', f"""
    import http.client, json
    statuses = []
    for method, path in [("GET", p) for p in {asks!r}] + [("POST", "/simple/"), ("PUT", "/simple/x"), ("HEAD", "/simple/husk-probe/")]:
        link = http.client.HTTPConnection("{index.host}", {index.server.server_port})
        link.request(method, path)
        statuses.append(link.getresponse().status)
    open("result.json", "w").write(json.dumps(statuses))""")
    package_index.add_tar(index.folder / "simple" / "husk-probe" / "husk_probe-1.0.tar.gz", "husk_probe-1.0", {
        "PKG-INFO": "Metadata-Version: 2.1\nName: husk-probe\nVersion: 1.0\n", "backend.py": backend,
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'})
    server = begin(**index.pip(login=f"{USER}:{ENCODED}"))
    session = session_of(server, create(server, dependencies={"husk-probe": "1.0"}))
    assert json.loads(session.code("import husk_probe; print(husk_probe.RESULT)").ok().stdout) == [403] * len(asks) + [405, 405, 200]
    assert not [path for path in index.asked if "secret" in path]


# --- TLS and failures


@pytest.fixture
def certificate(tmp_path, husk_network):
    """A certificate for the address of the index, with its key, and a copy without the key for clients that trust it."""
    both, public = tmp_path / "index.pem", tmp_path / "ca.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=index", "-keyout", tmp_path / "key.pem",
                    "-out", public, "-addext", f"subjectAltName=DNS:{package_index.NAME}"], check=True, capture_output=True)
    both.write_text(public.read_text() + (tmp_path / "key.pem").read_text())
    return both, public


# evidence: index-paths
def test_tls_ends_at_the_server(begin, make_index, certificate):
    """The certificate is checked against the file in the settings. Without that file nothing is sent, and the answer
    says what to do.
    """
    both, public = certificate
    index = make_index(login=LOGIN, certificate=both)
    package_index.add_wheel(index.folder, "husk-safe", "1.0")
    settings = {"PIP_INDEX_URL": index.url("simple/", f"{USER}:{ENCODED}")}
    refused = create(begin(**settings), dependencies={"husk-safe": ""})
    assert refused.is_error and "certificate" in refused.text and "CONTAINER_CA_BUNDLE" in refused.fields["hint"]
    assert index.url() in refused.text + "/" and not index.asked
    server = begin(CONTAINER_CA_BUNDLE=str(public), **settings)
    session = session_of(server, create(server, dependencies={"husk-safe": ""}))
    assert session.code("import husk_safe; husk_safe.version").ok().value == "'1.0'"


def test_the_operators_list(begin, make_index, certificate):
    """With a list of hosts, an install has no network; the index with a login need not be in the list."""
    both, public = certificate
    index = make_index(login=LOGIN, certificate=both)
    package_index.add_wheel(index.folder, "husk-listed", "1.0")
    server = begin(CONTAINER_CA_BUNDLE=str(public), CONTAINER_NETWORK_ALLOW="other.test", PIP_INDEX_URL=index.url("simple/", f"{USER}:{ENCODED}"))
    session = session_of(server, create(server, dependencies={"husk-listed": ""}))
    assert session.code("import husk_listed; husk_listed.version").ok().value == "'1.0'"
    assert index.askers and all(login for _, login in index.askers)


def test_an_address_is_no_name(begin):
    refused = create(begin(PIP_INDEX_URL=f"http://{USER}:{ENCODED}@192.0.2.1/simple/"), dependencies={"husk-none": ""})
    assert refused.is_error and "needs a host name" in refused.text and "/etc/hosts" in refused.fields["hint"] and "cAnArY" not in refused.text


def test_a_wrong_login_is_explained(begin, make_index):
    index = make_index(login=LOGIN)
    server = begin(**index.pip(login="somebody:else"))
    refused = create(server, dependencies={"husk-demo": ""})
    assert refused.is_error and f"{index.url()[:-1]} rejects the login from the settings (HTTP 401)" in refused.text
    assert "else" not in refused.text and "The person who runs Husk" in refused.fields["hint"]
    wait_until(lambda: not left(server), what="everything of it to go")


def test_a_cancelled_install_closes_its_connections(begin, make_index):
    index = make_index(login=LOGIN)
    package_index.add_wheel(index.folder, "husk-slow", "1.0")
    index.hold("husk_slow")
    server = begin(**index.pip(login=f"{USER}:{ENCODED}"))
    answer = server.start_call("create_session", {"dependencies": {"husk-slow": ""}})
    assert index.holding.wait(INSTALL)
    assert server.ping() < 5
    server.cancel(answer)
    wait_until(lambda: not left(server), what="everything of it to go")
    index.release.set()
    session_of(server, create(server, dependencies={"husk-slow": ""}))
