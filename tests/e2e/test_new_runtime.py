"""A runtime is a folder: if one is added to runtimes/, the build makes its image and offers its language without a
change to C code. These tests follow docs/runtimes.md step by step.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import uuid

import pytest

import harness
import schemas
from private_engine import AS_ROOT

pytestmark = pytest.mark.timeout(900)  # builds images
PAGE = harness.ROOT / "docs" / "runtimes.md"
# Names in the page, and unique names used here, because the images are removed afterwards and another run may do the
# same.
NAMES = {name: f"{name}{uuid.uuid4().hex[:6]}" for name in ("pari", "perl")}
NAMED = re.compile(r'(runtimes/|--language |--runtime |"name": "|language=")(pari|perl)\b')
# Builds without the unit tests.
MAKE = "nice ninja -C build husk images.json >/dev/null"
# Folders of the build that ninja does not need.
LARGE = ("venv", "private-engine", "pool-*", "kernel-tools", "clients*", "python-client*", "junit", "fuzz-found", "dist")
# In a mount namespace, the copy takes the place of the sources, so that the objects of the build are valid there.
IN_PLACE = 'mount --bind "$1" "$2"; cd "$2"; exec setpriv --reuid "$3" --regid "$4" --init-groups bash -euo pipefail -c "$5"'


def blocks():
    """(kind, file or "", text) of each block of the page, in order."""
    text = NAMED.sub(lambda match: match[1] + NAMES[match[2]], PAGE.read_text(encoding="utf-8"))
    return re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", text, re.M | re.S)


def run(folder, command, env):
    """Runs a command in the copy, which it sees at the path of the sources."""
    words = [*AS_ROOT, "env", "-i", *(f"{name}={value}" for name, value in env.items()), "unshare", "--mount", "sh", "-euc", IN_PLACE, "sh", folder,
             harness.ROOT, str(os.getuid()), str(os.getgid()), command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def follow(folder, env):
    """Follows the page, and returns the outcomes that it promises and the actual ones."""
    said, came, out = [], [], ""
    for kind, file, text in blocks():
        if file:
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        elif kind == "sh":
            out = run(folder, re.sub(r"^make$", MAKE, text, flags=re.M), env)
        elif kind == "text":
            said.append(text)
            came.append(out)
    return said, came


def rmi(tag):
    return subprocess.run(["docker", "rmi", tag], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stderr


def copy(folder):
    """Copies the sources and their build, with the times of all files, so that only what changes is compiled."""
    build = harness.build_dir()
    shutil.copytree(harness.ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns("build*", ".git", "node_modules", "__pycache__", "corpus"))
    with open(build / "test.lock", "w", encoding="ascii") as lock:  # as in harness.ninja()
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.copytree(build, folder / build.name, symlinks=True, ignore=shutil.ignore_patterns(*LARGE))
    if build.name != "build":
        (folder / "build").symlink_to(build.name)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources in which the page was followed."""
    folder, home = tmp_path_factory.mktemp("tree") / "husk", tmp_path_factory.mktemp("home")
    env = harness.clean_env(home, HUSK_THREAD_ID="newcomer")
    copy(folder)
    try:
        outcome = follow(folder, env)
        yield folder, outcome, [image["name"] for image in json.loads((folder / "build" / "images.json").read_text())]
    finally:
        made = json.loads((folder / "build" / "images.json").read_text()) if (folder / "build" / "images.json").exists() else []
        for tag in [image[tag] for image in made if image["name"] in NAMES.values() for tag in ("tag", "packages_tag")]:
            # The engine refuses while it is still removing a container.
            harness.wait_until(lambda tag=tag: "No such image" in rmi(tag), what=f"the removal of {tag}")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def server(tree, tmp_path_factory):
    with harness.Server(tmp_path_factory.mktemp("server"), command=[str(tree[0] / "build" / "husk"), "mcp"]) as server:
        yield server
        schemas.check([server])


def create_tool(server):
    return next(tool for tool in server.request("tools/list").result()["tools"] if tool["name"] == "create_session")


def test_the_commands_of_the_page_print_what_it_shows(tree):
    said, came = tree[1]
    assert came == said and len(said) == len(NAMES)


def test_the_new_languages_are_offered_beside_the_others(tree, server):
    folder, _, names = tree
    tool = create_tool(server)
    language = tool["inputSchema"]["properties"]["language"]
    assert language["enum"] == names and set(NAMES.values()) < set(names) and language["default"] == "python"
    for name in NAMES.values():
        about = json.loads((folder / "runtimes" / name / "runtime.json").read_text())
        assert f'language="{name}": {about["describe"]}' in tool["description"]


def test_a_jupyter_kernel_needs_no_code(server):
    session = server.session(language=NAMES["pari"], network=False)
    session.code("x = 41;").ok()
    assert session.code("print(x + 1)").ok().stdout == "42\n"
    assert session.code("while(1,)", 1).ending == "timeout" and session.code("print(x)").ok().stdout == "41\n"


def test_cells_of_the_native_language_run(server):
    session = server.session(language="PERL5", network=False)  # by its alias
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


def test_the_tool_describes_each_language(shared_server):
    """This build lists exactly its runtimes, each with the description from its runtime.json."""
    tool = create_tool(shared_server)
    names = tool["inputSchema"]["properties"]["language"]["enum"]
    folders = [path.parent.name for path in (harness.ROOT / "runtimes").glob("*/runtime.json")]
    assert sorted(names) == sorted(folders)
    for folder in folders:
        about = json.loads((harness.ROOT / "runtimes" / folder / "runtime.json").read_text())
        assert tool["description"].count(f'language="{folder}": {about["describe"]}') == 1
