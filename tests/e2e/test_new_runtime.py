"""A runtime is a folder: with one more in runtimes/ the build makes its image and offers its language, and no C code changes."""

import json
import shutil
import subprocess
import uuid

import pytest

import harness
import schemas

pytestmark = pytest.mark.timeout(600)  # compiles everything once
SOURCE = harness.ROOT / "tests" / "e2e" / "new-runtime"
DESCRIBE = "Perl 5 as Debian's base has it. Variables that a later cell needs are declared with `our`."


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"


def rmi(tag):
    return subprocess.run(["docker", "rmi", tag], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stderr


def manifest(name):
    return {"name": name, "title": "Perl 5", "aliases": [f"{name}5"], "extension": ".pl",
            "kernel": ["/usr/bin/perl", "/opt/husk/kernel/kernel.pl"], "link": "unix", "interrupt": "SIGINT", "env": {},
            "describe": DESCRIBE}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources with one runtime more, built. Its name is this run's own, as its images are removed afterwards."""
    name = f"perl{uuid.uuid4().hex[:6]}"
    folder = tmp_path_factory.mktemp("tree") / "husk"
    shutil.copytree(harness.ROOT, folder, ignore=shutil.ignore_patterns("build*", ".git", "node_modules", "__pycache__", "corpus"))
    runtime = folder / "runtimes" / name
    shutil.copytree(SOURCE, runtime)
    (runtime / "runtime.json").write_text(json.dumps(manifest(name)))
    run(folder, "meson", "setup", "build", "-Doptimization=0")
    run(folder, "nice", "ninja", "-C", "build", "husk", "images.json")
    images = json.loads((folder / "build" / "images.json").read_text())
    image = next(image for image in images if image["name"] == name)
    try:
        run(folder, "./setup-docker.sh", "--runtime", name, "--images", "build/images.json")
        yield folder, image, [i["name"] for i in images]
    finally:
        for tag in (image["tag"], image["packages_tag"]):
            # The engine refuses while it is still at the end of a container.
            harness.wait_until(lambda tag=tag: "No such image" in rmi(tag), what=f"the removal of {tag}")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def server(tree, tmp_path_factory):
    with harness.Server(tmp_path_factory.mktemp("server"), command=[str(tree[0] / "build" / "husk"), "mcp"]) as server:
        yield server
        schemas.check([server])


def create_tool(server):
    return next(tool for tool in server.request("tools/list").result()["tools"] if tool["name"] == "create_session")


def test_the_new_language_is_offered_beside_the_others(tree, server):
    _, image, names = tree
    tool = create_tool(server)
    language = tool["inputSchema"]["properties"]["language"]
    assert language["enum"] == names and image["name"] in names and language["default"] == "python"
    assert f'language="{image["name"]}": {DESCRIBE}' in tool["description"]


def test_its_cells_run(tree, server):
    name = tree[1]["name"]
    session = server.session(language=f"{name.upper()}5", network=False)  # by its alias
    assert session.code("our $x = 41; print 'größe ' . $x; warn \"careful\\n\"; undef").ok().stdout == "größe 41"
    assert session.code("$x + 1").ok().value == "42"
    ended = session.code("die \"the cause\\n\"")
    assert (ended.ending, ended.error["type"], ended.error["message"]) == ("error", "Died", "the cause\n")
    ended = session.code("print 'before'; 1 while 1", 1)
    assert (ended.ending, ended.stdout) == ("timeout", "before") and session.code("$x").ok().value == "41"
    assert session.code("fork; 'once'").ok().value == "once"
    assert "signal 9" in session.code("kill 9, $$").text
    assert session.code("defined $x ? 'there' : 'gone'").ok().value == "gone"
    assert session.shell("echo shell").ok().stdout == "shell\n"


def test_the_text_tells_what_each_language_offers(shared_server):
    """Of this build itself: exactly the runtimes that are there, each with what its runtime.json says of it."""
    tool = create_tool(shared_server)
    names = tool["inputSchema"]["properties"]["language"]["enum"]
    folders = [path.parent.name for path in (harness.ROOT / "runtimes").glob("*/runtime.json")]
    assert sorted(names) == sorted(folders)
    for folder in folders:
        about = json.loads((harness.ROOT / "runtimes" / folder / "runtime.json").read_text())
        assert tool["description"].count(f'language="{folder}": {about["describe"]}') == 1
