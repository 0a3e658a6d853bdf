"""git over HTTP: repositories are cloned and pushed to with a secret that never enters the session."""

import json
import subprocess

import pytest
from upstream import Authority, GitHost, basic

NAME, USER, VALUE = "git.test", "me", "cAnArY-git-5309"


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "repositories"
    folder.mkdir()
    one = GitHost(folder, Authority(tmp_path).sign(NAME), USER, VALUE)
    yield one
    one.close()


def log(path, what="%s"):
    return subprocess.run(["git", "-C", str(path), "log", f"--format={what}"], capture_output=True, text=True, check=True).stdout


def finished(reply):
    run = reply.ok().json
    return run["ending"], run


def test_clone_commit_and_push(serve, host, tmp_path):
    serving = serve(CONTAINER_CA_BUNDLE=str(tmp_path / "authority.pem"), CONTAINER_NETWORK_ALLOW=f"{NAME}=127.0.0.1:{host.port}")
    repository = host.make("project.git")
    serving.call("PUT", "/v1/secrets/GIT_TOKEN", {"value": VALUE, "hosts": [f"{NAME}:{host.port}"], "basic": USER}).ok()
    session = serving.create(secrets=["GIT_TOKEN"])
    at = f"/v1/sessions/{session}"
    wait = {"Prefer": "wait=60"}
    url = f"https://{NAME}:{host.port}/project.git"
    ending, run = finished(serving.call("POST", f"{at}/git/clone", {"url": url, "path": "work", "depth": 1, "secret": "GIT_TOKEN", "user": USER},
                                        fields=wait))
    assert ending == "ok", run
    serving.run(session, "open('/workspace/work/a b.txt', 'w').write('a'); open('/workspace/work/other', 'w').write('b')")
    ending, run = finished(serving.call("POST", f"{at}/git/commit", {
        "path": "work", "message": "Add $(touch /tmp/x)\n\n\"quoted\"", "files": ["a b.txt"], "author_name": "Ada", "author_email": "ada@test",
        "push": True, "secret": "GIT_TOKEN", "user": USER}, fields=wait))
    assert ending == "ok", run
    assert log(repository, "%an %s").splitlines()[0] == "Ada Add $(touch /tmp/x)"
    listed = subprocess.run(["git", "-C", str(repository), "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert listed == "a b.txt\n"
    assert {login for _, login in host.asked} == {None, basic(USER, VALUE)}
    ending, run = finished(serving.call("POST", f"{at}/runs", {"kind": "command", "text": "ls /tmp/x; git -C work config --list; env"}, fields=wait))
    assert VALUE not in json.dumps(run) and "No such file" in json.dumps(run)


def test_wrong_requests_are_refused(serving):
    session = serving.create(network=False)
    at = f"/v1/sessions/{session}/git"
    for route, body in (("clone", {}), ("clone", {"url": ""}), ("clone", {"url": "https://a.test/b", "secret": "$(id)"}), ("commit", {"path": "x"}),
                        ("commit", {"path": "x", "message": "m", "files": ["a\nb"]})):
        assert serving.call("POST", f"{at}/{route}", body).status == 400, body
    run = serving.call("POST", f"{at}/clone", {"url": "--upload-pack=touch /tmp/y"}, fields={"Prefer": "wait=60"}).ok().json
    assert run["ending"] == "error"
    shown = serving.call("POST", f"/v1/sessions/{session}/runs", {"kind": "command", "text": "ls /tmp/y"}, fields={"Prefer": "wait=60"}).ok().json
    assert shown["ending"] == "error"
