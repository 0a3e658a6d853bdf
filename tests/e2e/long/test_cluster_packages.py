"""Sets of packages in a real cluster: installed in a pod, kept in the registry, without an engine. The index needs a
login, so the pod reaches it through the server and needs no network of its own.
"""

import time

import package_index
import pytest
from dependencies import INSTALL, create, session_of
from harness import wait_until

LOGIN = "user:secret"


@pytest.fixture
def index(make_index):
    index = make_index(login=LOGIN)
    for version in ("1.0", "2.0"):
        package_index.add_wheel(index.folder, "husk-demo", version, files={"husk_demo_data/deep/" + "n" * 120 + ".txt": "long name"})
    return index


def test_a_set_becomes_an_image_that_both_nodes_can_start(cluster, begin, index, capsys):
    server = begin(**index.pip(login=LOGIN))
    began = time.monotonic()
    first = session_of(server, create(server, network=False, dependencies={"husk-demo": "1.0"}))
    installed = time.monotonic() - began
    assert first.code("import husk_demo; husk_demo.version").ok().value == "'1.0'"
    assert first.shell("find /opt/husk/deps -name 'nnn*.txt' -exec cat {} +").stdout == "long name"
    image = cluster.pod(first.container)["spec"]["containers"][0]["image"]
    assert image.startswith(f"{cluster.registry}/husk-deps:"), image
    denied = first.shell("touch /opt/husk/deps/x; echo $?")
    assert denied.stdout.strip() == "1", denied.text
    downloads = len(index.downloads("husk-demo"))
    for node in ("n1", "n2"):
        cluster.kubectl("cordon", node, namespace=None)
        try:
            began = time.monotonic()
            again = session_of(server, create(server, network=False, dependencies={"husk-demo": "1.0"}))
            cached = time.monotonic() - began
            assert cluster.node_of(again.container) != node
            assert again.code("import husk_demo; husk_demo.version").ok().value == "'1.0'"
        finally:
            cluster.kubectl("uncordon", node, namespace=None)
    assert len(index.downloads("husk-demo")) == downloads
    with capsys.disabled():
        print(f"\nfigure: a set of packages was installed and kept in {installed:.1f} s, and reused in {cached:.1f} s")


def test_another_server_uses_the_same_set(begin, index):
    for _ in range(2):
        server = begin(**index.pip(login=LOGIN))
        session = session_of(server, create(server, network=False, dependencies={"husk-demo": "2.0"}))
        assert session.code("import husk_demo; husk_demo.version").ok().value == "'2.0'"


def test_a_failed_install_is_a_failed_create(cluster, begin, index):
    server = begin(**index.pip(login=LOGIN))
    failed = create(server, network=False, dependencies={"husk-missing": ""})
    assert failed.is_error and "husk-missing" in failed.text and "secret" not in failed.text, failed.text
    wait_until(lambda: cluster.names(server.store_id()) == [], what="the removal of the pod")


def test_a_registry_that_is_away_is_named(cluster, begin, index):
    registry = cluster.registry.replace("15000", "15001")
    image = f"{cluster.registry}/{cluster.images['python']}"
    server = begin(CONTAINER_REGISTRY=registry, HUSK_IMAGE_PYTHON=image, **index.pip(login=LOGIN))
    failed = create(server, timeout=INSTALL, network=False, dependencies={"husk-demo": "1.0"})
    assert failed.is_error and "15001" in failed.text, failed.text
