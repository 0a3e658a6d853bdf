"""PID 1 in a container that installs packages: it runs one program with its environment, reports, and does nothing
else.
"""
import frames
import pytest

INSTALL = 40


REPORT = """echo '{"a":"1.5"}' >&199"""


@pytest.fixture
def installer(make_box):
    """installer(script) starts a box whose installer is that shell script and returns its client. `installed` prints
    the versions.
    """

    def make(script, *options, installed=REPORT, **manifest):
        commands = {"command": ["/bin/bash", "-c", script], "installed": ["/bin/bash", "-c", installed]}
        box = make_box("--install", *options, manifest={"installer": commands, **manifest})
        client = box.attach(hello=False)
        assert client.hello()["kernel"] == "none"
        return client

    return make


def install(client, **more):
    client.number += 1
    client.send(INSTALL, client.number, {"packages": {"a": "1"}, "timeout_ms": 20000, **more})
    return client.number


def test_an_install_gets_its_environment_and_reports_versions(installer):
    client = installer('cat <&198; echo "$INDEX $FROM_MANIFEST"; echo >&2 err; head -c 9000 /dev/zero >/opt/husk/deps/x')
    reply = client.finish(install(client, env={"INDEX": "http://u:p@h/", "FROM_MANIFEST": "no"}))
    assert reply.ending == "ok", reply.detail
    assert reply.out == b'{"a":"1"}http://u:p@h/ no\n' and reply.err == b"err\n"
    (result,) = reply.results
    assert result["data"]["application/json"]["versions"] == {"a": "1.5"}
    assert 9000 <= result["data"]["application/json"]["size"] < 1 << 20


# evidence: installer-report
def test_versions_are_read_after_all_processes_of_the_install_ended(installer):
    """A report by the installer, or by a process that it leaves behind, does not count."""
    forge = """echo '{"a":"9"}' >&199; setsid bash -c 'trap "" TERM HUP; while :; do echo "{}" >&199; touch /opt/husk/deps/alive; done' & """
    client = installer(forge + "until [ -e /opt/husk/deps/alive ]; do :; done; chmod 000 /opt/husk/deps/alive",
                       installed="cat <&198; cat /opt/husk/deps/alive; ls -d /proc/[0-9]* | wc -l; rm /opt/husk/deps/alive; " + REPORT +
                       "; [ ! -e /opt/husk/deps/alive ]")
    reply = client.finish(install(client))
    assert reply.ending == "ok", (reply.detail, reply.err)
    packages, _, processes = reply.out.decode().partition("}")
    assert packages == '{"a":"1"' and int(processes) <= 5  # PID 1, attach, the shell, ls and wc
    (result,) = reply.results
    assert result["data"]["application/json"]["versions"] == {"a": "1.5"}


# evidence: installer-report
def test_versions_are_read_without_anything_that_packages_can_write(installer):
    """No variable points to a folder outside the image."""
    path = "/home/sandbox/.local/bin:/opt/husk/deps/bin:/usr/local/bin:/tmp:relative::/usr/lib/../../tmp:/usr/bin:/bin:/opt/husk/deps"
    client = installer("true", installed='echo "$PATH $HOME $PWD [$LATE] [$INDEX] $FROM_MANIFEST"; ' + REPORT,
                       env={"PATH": path, "LATE": "x", "FROM_MANIFEST": "yes"}, late_env=["LATE"])
    reply = client.finish(install(client, env={"INDEX": "http://u:p@h/"}))
    assert reply.out == b"/usr/local/bin:/usr/bin:/bin /nonexistent / [] [] yes\n"


def test_failures_and_invalid_reports_fail_the_install(installer):
    client = installer("exit 3", installed="echo never; " + REPORT)
    reply = client.finish(install(client))
    assert reply.ending == "error" and reply.end["exit_code"] == 3 and reply.results == [] and reply.out == b""
    client = installer("true", installed="echo '[1]' >&199")
    reply = client.finish(install(client))
    assert reply.ending == "ok" and reply.results == []
    client = installer("true", installed=REPORT + "; exit 4")
    reply = client.finish(install(client))
    assert reply.ending == "error" and reply.end["exit_code"] == 4
    client = installer("true", installed=REPORT + "; sleep 1000")
    assert client.finish(install(client, timeout_ms=500)).ending == "timeout"


def test_processes_of_an_install_end_with_it(installer):
    client = installer("if [ -e /tmp/again ]; then ls -d /proc/[0-9]*; else touch /tmp/again; setsid sleep 1000 & setsid sleep 1000 & fi")
    assert client.finish(install(client)).ending == "ok"
    left = client.finish(install(client)).out.split()
    assert len(left) <= 5, left  # PID 1, attach, the shell and ls


@pytest.mark.parametrize("path", ["/opt/husk/deps", "/tmp"])
def test_size_is_bounded_while_it_runs(installer, path):
    client = installer(f"head -c 3000000 /dev/zero >{path}/x; sleep 1000")
    reply = client.finish(install(client, size_limit=1000000))
    assert reply.ending == "error" and "size limit" in reply.detail


def test_size_is_bounded_at_the_end(installer):
    client = installer("head -c 3000000 /dev/zero >/opt/husk/deps/x")
    reply = client.finish(install(client, size_limit=1000000))
    assert reply.ending == "error" and "size limit" in reply.detail


# evidence: install-files
def test_installed_files_are_readable_without_set_id_bits(installer):
    client = installer("if [ -e /tmp/again ]; then stat -c '%a %n' /opt/husk/deps/*; else touch /tmp/again; cd /opt/husk/deps; "
                       "mkdir -m 2700 d; touch f s; chmod 0600 f; chmod 6700 s; ln -s /nowhere l; fi")
    assert client.finish(install(client)).ending == "ok"
    assert client.finish(install(client)).out.decode().split() == [
        "755", "/opt/husk/deps/d", "644", "/opt/husk/deps/f", "777", "/opt/husk/deps/l", "755", "/opt/husk/deps/s"]


def test_timeout_and_interrupt_end_an_install(installer):
    client = installer("echo started; trap '' TERM INT; while :; do sleep 1; done")
    assert client.finish(install(client, timeout_ms=300)).ending == "timeout"
    number = install(client)
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    client.send(frames.INTERRUPT, number)
    assert client.finish(number).ending == "interrupted"


def test_installers_only_install_and_sessions_never_do(installer, client):
    installing = installer("true")
    for reply in (installing.execute("1"), installing.terminal("true")):
        assert reply.ending == "refused" and "only installs" in reply.detail
    assert "cannot install packages" in client.finish(install(client)).detail


def test_no_proxy_is_used_for_direct_names(installer):
    client = installer('echo "$NO_PROXY $no_proxy"')
    reply = client.finish(install(client, env={"NO_PROXY": "x.example"}, direct=["index.example", "b"]))
    assert reply.out == b"x.example,index.example,b index.example,b\n"


PEM = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"


# evidence: index-login
def test_names_of_an_install_have_their_addresses_at_once(installer):
    """The names of its gate are in /etc/hosts, since its resolver is the network's. Its programs trust the gate."""
    client = installer('grep -c CERT "$PIP_CERT"; [ "$PIP_CERT" = "$SSL_CERT_FILE" ] && case $PIP_CERT in /opt/husk/deps/*) echo in the image;; esac; '
                       'exec 3<>/dev/tcp/127.64.0.3/8443; echo connected')
    client.send(frames.CLAIM, 0, {"session": "", "lease_seconds": 60, "lifetime_seconds": 0, "env": {}, "authority": PEM})
    client.send(frames.GATE, 0, {"standing": True, "names": [{"name": "a.example", "ports": [[8080, 8080]]}, {"name": "a.example", "ports": [[8443, 8443]]},
                                                           {"name": "b.example", "ports": [[8443, 8443]]}]})
    number = install(client)
    opened = client.expect(lambda f: f.type == frames.STREAM_OPEN)
    assert opened.payload == {"name": "b.example", "port": 8443}
    lines = client.finish(number).out.decode().split("\n")
    assert int(lines[0]) >= 2 and lines[1:] == ["connected", ""]


@pytest.mark.parametrize("fields", [{"packages": None}, {"packages": []}, {"env": {"A": 1}}, {"env": {"A=B": "1"}}, {"direct": ["A b"]},
                                    {"direct": ["a"] * 9}, {"relays": [8701]}])
def test_bad_fields_are_refused(installer, fields):
    client = installer("true")
    assert client.finish(install(client, **fields)).ending == "refused"
