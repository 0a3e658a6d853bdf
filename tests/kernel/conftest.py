"""Fixtures: `kernel` is shared by the tests of a file, `fresh_kernel` belongs to one test."""

from pathlib import Path

import pytest

from link_harness import Kernel

RUNTIMES = Path(__file__).resolve().parents[2] / "runtimes"


@pytest.fixture(scope="module")
def start(request):
    """start(folder, first=cell, **environment): another kernel of the runtime that the test's file names."""

    def start(folder, first=None, **env):
        return Kernel(RUNTIMES / request.module.RUNTIME / "runtime.json", cwd=folder, env={"HOME": str(folder), **env}, first=first)

    return start


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def _shared():
    kernels = []
    yield kernels
    for kernel in kernels:
        kernel.close()


@pytest.fixture
def kernel(start, workspace, _shared):
    """A kernel in which other tests have run. After a failed test the next one gets a new kernel."""
    if not _shared or not _shared[-1].idle:
        _shared.append(start(workspace))
    return _shared[-1]


@pytest.fixture
def fresh_kernel(start, tmp_path):
    with start(tmp_path) as kernel:
        yield kernel
