"""Fixtures: servers that clean up after themselves, one shared session for tests that change nothing, and a check of
each message.
"""

import itertools
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cluster as clusters  # noqa: E402
import dependencies  # noqa: E402
import harness  # noqa: E402
import package_index  # noqa: E402
import schemas  # noqa: E402
from serving import Serving  # noqa: E402


def pytest_sessionstart(session):
    """A missing engine, program or image fails the run; it never skips tests."""
    if not pathlib.Path(harness.husk_binary()).exists():
        pytest.exit(f"{harness.husk_binary()} is missing: run make first", 3)


@pytest.fixture(scope="session", autouse=True)
def engine():
    """Checks that an engine answers. Tests of a missing engine configure their server to find none. With HUSK_TEST_ENGINE=kubernetes all
    tests use a cluster of their own, and with podman they use Podman.
    """
    harness.docker("version", "--format", "{{.Server.Version}}")
    if os.environ.get("HUSK_TEST_ENGINE") == "podman":
        harness.usual_engine = harness.Podman()
    if os.environ.get("HUSK_TEST_ENGINE") != "kubernetes":
        yield harness.usual_engine
        return
    with clusters.Cluster([os.environ.get("HUSK_TEST_LANGUAGE", "python")]) as cluster:
        print(f"figure: the cluster was built in {cluster.built:.0f} s and started in {cluster.took:.0f} s")
        harness.usual_engine = cluster
        yield cluster


@pytest.fixture
def cluster(engine):
    """The cluster that all tests of this run use."""
    return engine


@pytest.fixture(params=["exec", "socket"])
def transport(request):
    """Runs a test of the stream to PID 1 once for each transport (with usefixtures)."""
    return request.param


@pytest.fixture
def start(tmp_path, request):
    """Starts servers: start(era=…, SETTING=…). All end with the test, and all their messages are checked."""
    stream = {"HUSK_TRANSPORT": request.getfixturevalue("transport")} if "transport" in request.fixturenames else {}
    numbers = itertools.count()
    servers = []

    def start_one(era=harness.MODERN, home=None, **options):
        server = harness.Server(home or tmp_path / f"server{next(numbers)}", era, **{**stream, **options})
        servers.append(server)
        return server

    yield start_one
    for server in servers:
        server.stop()
    schemas.check(servers)


@pytest.fixture
def serve(tmp_path):
    """Starts `husk serve`: serve(*options, SETTING=…). All end with the test."""
    numbers = itertools.count()
    started = []

    def serve_one(*args, home=None, **settings):
        serving = Serving(home or tmp_path / f"serve{next(numbers)}", *args, **settings)
        started.append(serving)
        return serving

    yield serve_one
    for serving in started:
        serving.stop()


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server for the tests of one file that do not break it."""
    one = Serving(tmp_path_factory.mktemp("serving"), CONTAINER_MAX_SESSIONS=20, CONTAINER_MAX_SESSIONS_PER_THREAD=20)
    yield one
    one.stop()


@pytest.fixture
def server(start):
    """A separate server for the test."""
    return start()


class Shared:
    """The server that cheap tests share, restarted if a test broke it."""

    def __init__(self, folder):
        self.folder = folder
        self.numbers = itertools.count()
        self.server = None
        self.session = None

    def get(self):
        if self.server is None or self.server.process.poll() is not None:
            self.server = harness.Server(self.folder / f"shared{next(self.numbers)}", CONTAINER_MAX_SESSIONS=20,
                                         CONTAINER_MAX_SESSIONS_PER_THREAD=20)
            self.session = None
        return self.server

    def get_session(self):
        server = self.get()
        if self.session is None or server.call("execute_code", {"session_id": self.session.id, "code": "None"}).is_error:
            self.session = server.session(network=False)
        return self.session

    def stop(self):
        if self.server:
            self.server.stop()
            schemas.check([self.server])


@pytest.fixture(scope="session")
def _shared(tmp_path_factory):
    shared = Shared(tmp_path_factory.mktemp("shared"))
    yield shared
    shared.stop()


@pytest.fixture
def shared_server(_shared):
    return _shared.get()


@pytest.fixture
def session(_shared):
    """A Python session without network that many tests share, one after the other. Use names that no other test uses."""
    return _shared.get_session()


@pytest.fixture
def own_session(start):
    """A separate session for the test, on its own server."""
    return start().session(network=False)


# --- dependencies


@pytest.fixture
def begin(start, tmp_path):
    """Like start(), but the images that the test made are removed at the end, and the server knows package_index.NAME."""
    servers = []

    def begin_one(**options):
        if any(package_index.NAME in str(value) for value in options.values()):
            options["command"] = package_index.named_command(tmp_path, [harness.husk_binary(), "mcp"])
        servers.append(start(CONTAINER_MAX_SESSIONS=20, CONTAINER_MAX_SESSIONS_PER_THREAD=20, **options))
        return servers[-1]

    yield begin_one
    images = {image for server in servers for image in dependencies.sets_of(server)}
    for server in servers:
        server.stop()
    for image in images:
        harness.docker("rmi", "--force", image, check=False)


@pytest.fixture(scope="module")
def husk_network(tmp_path_factory):
    """Husk's network, kept in use so that no gc removes it while an index listens on it."""
    with harness.Server(tmp_path_factory.mktemp("network")) as server:
        server.session(network=True)
        yield


@pytest.fixture
def make_index(tmp_path, husk_network):
    indexes = []

    def make(**options):
        folder = tmp_path / f"index{len(indexes)}"
        folder.mkdir()
        indexes.append(package_index.Index(folder, **options))
        return indexes[-1]

    yield make
    for index in indexes:
        index.close()


@pytest.fixture
def index(make_index):
    """An index with demo 1.0, 1.5 and 2.0. demo's extra needs the package `other`."""
    index = make_index()
    for version in ("1.0", "1.5", "2.0"):
        package_index.add_wheel(index.folder, "husk-demo", version, extras={"more": ["husk-other"]})
    package_index.add_wheel(index.folder, "husk-other", "3.1")
    return index
