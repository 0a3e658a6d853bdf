"""Three Docker hosts that are reached in three ways (a context, TLS, ssh) and are stopped, killed, cut off and restored.
Each is a dockerd in namespaces of its own. tests/e2e/test_pool.py has a short case.
"""

import contextlib
import json
import os
import subprocess

import pytest
from engine_relay import Relay
from harness import wait_until
from private_engine import running
from serving import Serving

LEASE = 30
TLS_PORT = 2376
# How long a host may take to be noticed: a check every 5 s, which may wait 10 s, on a loaded machine.
NOTICED = 120


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def make_authority(folder):
    """ca.pem, and cert.pem and key.pem that it signed, for both ends of a connection to 127.0.0.1."""
    folder.mkdir()
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={folder.name}", "-keyout", folder / "ca.key", "-out",
            folder / "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "request")
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    openssl("x509", "-req", "-days", 2, "-in", folder / "request", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
            "-extfile", folder / "extensions", "-out", folder / "cert.pem")
    return folder


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


class Rig:
    def __init__(self, folder, stack):
        self.folder = folder
        self.stack = stack
        self.right, self.wrong = make_authority(folder / "right"), make_authority(folder / "wrong")
        tls = {"tlsverify": True, **{f"tls{name}": str(self.right / f"{file}.pem") for name, file in
                                     (("cacert", "ca"), ("cert", "cert"), ("key", "key"))}}
        self.hosts = {name: stack.enter_context(running(config={"live-restore": True, **more}, name=f"pool-{name}"))
                      for name, more in (("one", {}), ("two", tls), ("gpu", {}))}
        two = self.hosts["two"]
        two.stop()
        two.start(*two.options, "--host", f"tcp://127.0.0.1:{TLS_PORT}")
        self.relay = stack.enter_context(Relay(two.init, TLS_PORT))
        # `docker` without --rm, with which some engines end containers even with live-restore; `ssh` that connects to the host "gpu".
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.docker = write_program(self.bin / "no-rm", '#!/bin/bash\nwords=()\nfor word; do [ "$word" = --rm ] || words+=("$word"); done\n'
                                                        'exec docker "${words[@]}"\n')
        write_program(self.bin / "ssh", f'#!/bin/bash\necho "$*" >>{folder}/ssh.log\nexport DOCKER_HOST={self.hosts["gpu"].host}\n'
                                        'exec docker system dial-stdio\n')
        self.env = {"DOCKER_CONFIG": folder / "docker", "PATH": f"{self.bin}:{os.environ['PATH']}"}
        subprocess.run(["docker", "context", "create", "first", "--docker", f"host={self.hosts['one'].host}"], check=True, capture_output=True,
                       env={**os.environ, **{name: str(value) for name, value in self.env.items()}})
        self.endpoints = {"one": "context:first", "two": f"tcp://127.0.0.1:{self.relay.port}", "gpu": "ssh://husk@gpu.test"}
        self.numbers = 0

    def serve(self, endpoints=None, home=None, **settings):
        self.numbers += 1
        pool = ", ".join(f"{name}={endpoint}" for name, endpoint in (endpoints or self.endpoints).items())
        return Serving(home or self.folder / f"home{self.numbers}", CONTAINER_ENGINE="pool", CONTAINER_POOL=pool, HUSK_DOCKER=self.docker,
                       DOCKER_CERT_PATH=settings.pop("DOCKER_CERT_PATH", self.right), SESSION_LEASE_SECONDS=LEASE,
                       CONTAINER_MAX_SESSIONS_PER_THREAD=9, **self.env, **settings)

    def clear(self):
        """A server leaves its sessions to the next one."""
        for host in self.hosts.values():
            for name in host.containers():
                host.docker("rm", "--force", "--volumes", name)


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Rig(tmp_path_factory.mktemp("pool"), stack)


@pytest.fixture
def serving(rig):
    one = rig.serve()
    yield one
    one.stop()
    rig.clear()


def refused(serving, name):
    reply = serving.call("POST", "/v1/sessions", {"network": False, "on": name})
    if reply.status == 201:
        serving.call("DELETE", f"/v1/sessions/{reply.json['id']}").ok()
    return reply.status == 503


def ended(serving, session):
    """Why the session has ended; nothing if it has not."""
    rows = json.loads(serving.husk("ps", "--all", "--json").stdout)["sessions"]
    return next((row.get("cause") for row in rows if row["id"] == session), "it is not listed")


def value(serving, session, code):
    return serving.run(session, code)["result"]["text/plain"]


def test_each_kind_of_endpoint_has_sessions(rig, serving):
    sessions = {name: serving.create(on=name) for name in rig.hosts}
    assert [len(host.containers()) for host in rig.hosts.values()] == [1, 1, 1]
    assert [value(serving, session, "6 * 7") for session in sessions.values()] == ["42"] * 3
    assert "-l husk" in (rig.folder / "ssh.log").read_text()
    listed = serving.husk("ps").stdout
    assert "HOST" in listed and all(f" {name} " in listed for name in sessions), listed
    doctor = serving.husk("doctor", check=False).stdout
    assert doctor.count("answers, ") == 3, doctor


def test_a_host_that_is_cut_off_keeps_its_session(rig, serving):
    session = serving.create(on="two")
    serving.run(session, "x = 41")
    rig.relay.cut()
    try:
        wait_until(lambda: refused(serving, "two"), NOTICED, "a refusal of the host that is cut off")
        others = [serving.create() for _ in range(2)]
        assert [value(serving, other, "1") for other in others] == ["1", "1"]
    finally:
        rig.relay.restore()
    assert value(serving, session, "x + 1") == "42"
    wait_until(lambda: not refused(serving, "two"), NOTICED, "the return of the host")


def test_a_host_that_is_gone_for_longer_than_the_lease_loses_its_sessions(rig, serving):
    session = serving.create(on="two")
    rig.relay.cut()
    try:
        wait_until(lambda: ended(serving, session), 2 * NOTICED, "the loss of the session")
        print(f"figure: {ended(serving, session)}")
        assert "host 'two'" in ended(serving, session)
        assert value(serving, serving.create(), "1") == "1"
    finally:
        rig.relay.restore()


def test_a_server_that_restarts_adopts_the_sessions_of_a_host_that_returns(rig):
    first = rig.serve()
    session = first.create(on="two")
    first.run(session, "x = 41")
    home = first.home
    rig.relay.cut()
    first.process.kill()
    first.process.wait()
    second = rig.serve(home=home)
    try:
        other = second.create()
        assert value(second, other, "1") == "1"
        rig.relay.restore()
        assert value(second, session, "x + 1") == "42"
    finally:
        rig.relay.restore()
        second.stop()
        rig.clear()


def test_a_host_that_is_stopped_and_started(rig, serving):
    session = serving.create(on="one")
    serving.run(session, "x = 41")
    rig.hosts["one"].stop()
    wait_until(lambda: refused(serving, "one"), NOTICED, "a refusal of the host that is stopped")
    rig.hosts["one"].start()
    assert value(serving, session, "x + 1") == "42"


def test_wrong_certificates_are_named(rig):
    for certificates, words in ((rig.wrong, "TLS has failed"), (rig.folder / "nothing", "TLS certificates are missing")):
        serving = rig.serve({"two": rig.endpoints["two"]}, DOCKER_CERT_PATH=certificates)
        doctor = " ".join(serving.husk("doctor", check=False).stdout.split())
        refusal = serving.call("POST", "/v1/sessions", {"network": False})
        serving.stop()
        assert words in doctor and "DOCKER_CERT_PATH" in doctor, doctor
        assert refusal.status == 503, refusal


def test_unknown_contexts_and_hosts_that_do_not_answer_are_named(rig):
    serving = rig.serve({"a": "context:nope", "b": "unix:///nowhere/docker.sock"})
    doctor = " ".join(serving.husk("doctor", check=False).stdout.split())
    assert "the docker context does not exist" in doctor and "no Docker engine answers" in doctor, doctor
    assert serving.call("POST", "/v1/sessions", {"network": False}).status == 503
    serving.stop()
