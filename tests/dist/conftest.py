"""Fixtures: the packages of this build, made once for all tests, and servers as in tests/e2e."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402
import npm_packages  # noqa: E402
import schemas  # noqa: E402

MAKE_TIME = 300


def pytest_sessionstart(session):
    if not pathlib.Path(harness.husk_binary()).exists():
        pytest.exit(f"{harness.husk_binary()} is missing: run make first", 3)


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The folder that `make dist` fills, uncompressed."""
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run([sys.executable, harness.ROOT / "tools" / "dist" / "dist.py", "--build", harness.build_dir(), "--out", folder, "--fast"],
                   check=True, timeout=MAKE_TIME, stdin=subprocess.DEVNULL)
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def modules():
    """The folder node_modules with the validator of MCP bundles."""
    return npm_packages.installed(HERE, harness.build_dir(), "dist-tools")


@pytest.fixture
def serve(tmp_path):
    """Runs a command like an MCP client does, and uses it as a server."""
    servers = []

    def serve_one(command, **settings):
        servers.append(harness.Server(tmp_path / f"server{len(servers)}", harness.LEGACY[0], command=[str(word) for word in command], **settings))
        return servers[-1]

    yield serve_one
    for server in servers:
        server.stop()
    schemas.check(servers)
