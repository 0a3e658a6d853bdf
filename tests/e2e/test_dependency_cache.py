"""Sets of dependencies are cached: which servers share them, when they are rebuilt, and which are removed."""

import json
import os

import harness
import package_index
from dependencies import INSTALL, create, image_exists, session_of, sets_of
from harness import docker, wait_until


def test_the_second_create_uses_the_cache(begin, index):
    server = begin(**index.pip())
    first = create(server, dependencies={"husk-demo": "", "husk-other": "3.1"})
    session_of(server, first)
    asked = len(index.asked)
    second = create(server, dependencies={"husk-other": "3.1", "husk-demo": ""})
    assert second.dependencies == first.dependencies == {"husk-demo": "2.0", "husk-other": "3.1"}
    assert len(index.asked) == asked, "an installer ran again"
    # Another server of the same user finds the image too, even if its store is new.
    for home in (server.home, None):
        third = create(begin(home=home, **index.pip()), dependencies={"husk-demo": "", "husk-other": "3.1"})
        assert third.dependencies == first.dependencies
    assert len(index.asked) == asked


def test_concurrent_creates_share_one_build(begin, index):
    index.hold("husk_demo-2.0")
    one = begin(**index.pip())
    two = begin(home=one.home, **index.pip())
    answers = [s.start_call("create_session", {"dependencies": {"husk-demo": "2.0"}}) for s in (one, one, two)]
    assert index.holding.wait(INSTALL)
    index.release.set()
    for answer in answers:
        created = answer.tool(INSTALL)
        assert created.dependencies == {"husk-demo": "2.0"}, created.text
    assert len(index.downloads("husk_demo-2.0")) == 1
    assert len(sets_of(one)) == 1


def test_open_versions_expire_and_pinned_ones_do_not(begin, index):
    server = begin(DEPENDENCY_MAX_AGE_DAYS=0, **index.pip())
    for wanted in ({"husk-demo": ""}, {"husk-other": "3.1"}):
        session_of(server, create(server, dependencies=wanted)).stop()
    package_index.add_wheel(index.folder, "husk-demo", "2.1")
    old = {image_id(image) for image in sets_of(server)}
    asked = len(index.asked)
    assert create(server, dependencies={"husk-other": "3.1"}).dependencies == {"husk-other": "3.1"}
    assert len(index.asked) == asked
    assert create(server, dependencies={"husk-demo": ""}).dependencies == {"husk-demo": "2.1"}
    new = {image_id(image) for image in sets_of(server)}
    assert len(new) == 2 and [image_exists(image) for image in old - new] == [False]


def image_id(image):
    return docker("image", "inspect", "--format", "{{.Id}}", image)


def test_least_recently_used_sets_are_removed(begin, index):
    big = {"husk_big/data.bin": os.urandom(1 << 20)}
    for name in ("husk-a", "husk-b", "husk-c"):
        package_index.add_wheel(index.folder, name, "1.0", {n.replace("big", name[-1]): d for n, d in big.items()})
    server = begin(DEPENDENCY_CACHE_SIZE="3m", **index.pip())
    kept = {}
    for name in ("husk-a", "husk-b"):
        session = session_of(server, create(server, dependencies={name: "1.0"}))
        kept[name] = docker("inspect", "--format", "{{.Config.Image}}", session.container)
        session.stop()
    create(server, dependencies={"husk-a": "1.0"})  # now recently used, and in use
    created = create(server, dependencies={"husk-c": "1.0"})
    assert created.dependencies == {"husk-c": "1.0"}
    wait_until(lambda: not image_exists(kept["husk-b"]), what="the least recently used image to go")
    assert image_exists(kept["husk-a"])
    wait_until(lambda: len(sets_of(server)) == 2, what="its record to go")
    assert create(server, dependencies={"husk-b": "1.0"}).dependencies == {"husk-b": "1.0"}


def test_a_removed_image_is_rebuilt(begin, index):
    server = begin(**index.pip())
    session_of(server, create(server, dependencies={"husk-other": ""})).stop()
    (image,) = sets_of(server)
    docker("rmi", "--force", image)
    assert create(server, dependencies={"husk-other": ""}).dependencies == {"husk-other": "3.1"}
    assert image_exists(image)


# evidence: installs, install-files
def test_the_image_is_the_runtimes_plus_the_packages(begin, index):
    server = begin(**index.pip())
    session = session_of(server, create(server, dependencies={"husk-other": ""}))
    image = docker("inspect", "--format", "{{.Config.Image}}", session.container)
    assert image.startswith("husk-deps:")
    entry = next(i for i in json.loads((harness.build_dir() / "images.json").read_text()) if i["name"] == "python")
    config, base = (json.loads(docker("image", "inspect", "--format", "{{json .Config}}", i)) for i in (image, entry["tag"]))
    labels = config.pop("Labels")
    assert all(name.startswith("husk") for name in labels)
    for key in ("Env", "Cmd", "Entrypoint", "User", "WorkingDir"):
        assert config.get(key) == base.get(key), key
    sizes = [int(docker("image", "inspect", "--format", "{{.Size}}", i)) for i in (image, entry["tag"])]
    assert sizes[0] - sizes[1] < 1 << 20  # pip's cache is not in it
    assert session.shell("find /opt/husk/deps -not -user root -o -perm /7000 -o -not -type l -not -perm -004").stdout == ""
    layers = [json.loads(docker("image", "inspect", "--format", "{{json .RootFS.Layers}}", i)) for i in (image, entry["tag"])]
    assert layers[0][:-1] == layers[1]
