"""Fixtures for the Python module: it runs in the tests' own process, on the libhusk of this build."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "clients" / "python"), str(ROOT / "tests" / "e2e")]

import harness  # noqa: E402

os.environ["HUSK_LIBRARY"] = str(harness.build_dir() / "libhusk" / "libhusk.so.0")
# Programs of this build come first: the helper that outlives a process, and husk for programs that search for it.
os.environ["PATH"] = f"{harness.build_dir()}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="session", autouse=True)
def engine():
    harness.docker("version", "--format", "{{.Server.Version}}")


def places(folder, **more):
    """Settings under which none of the tester's own files are used."""
    images = {name: value for name, value in os.environ.items() if name.startswith("HUSK_IMAGE_")}
    return {**{f"XDG_{name}_HOME": folder / name.lower() for name in ("STATE", "DATA", "CONFIG")}, **images, **more}


def containers(folder):
    env = {"XDG_STATE_HOME": str(folder / "state")}
    return harness.docker("ps", "--all", "--quiet", "--filter", harness.store_label(env)).split() if harness.store_id(env) else []


@pytest.fixture
def make_manager(tmp_path):
    import husk

    made = []

    def make(settings=None, **more):
        made.append(husk.SandboxManager(places(tmp_path, **(settings or {})), environment=False, **more))
        return made[-1]

    yield make
    for manager in made:
        manager.close()
    assert containers(tmp_path) == []


@pytest.fixture
def manager(make_manager):
    return make_manager()


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A session that many tests share. Use names that no other test uses."""
    import husk

    folder = tmp_path_factory.mktemp("shared")
    with husk.SandboxManager(places(folder), environment=False) as shared, husk.Session("python", manager=shared, network=False) as one:
        yield one
