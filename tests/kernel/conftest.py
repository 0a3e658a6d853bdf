"""Fixtures: `kernel` is shared by the tests of a file, `fresh_kernel` belongs to one test."""

from pathlib import Path

import pytest
from link_harness import Kernel

RUNTIMES = Path(__file__).resolve().parents[2] / "runtimes"


def _start(request, folder):
    return Kernel(RUNTIMES / request.module.RUNTIME / "runtime.json", cwd=folder, env={"HOME": str(folder)})


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
def kernel(request, workspace, _shared):
    """A kernel in which other tests have run; a test that failed in mid-cell does not pass its kernel on."""
    if not _shared or not _shared[-1].idle:
        _shared.append(_start(request, workspace))
    return _shared[-1]


@pytest.fixture
def fresh_kernel(request, tmp_path):
    with _start(request, tmp_path) as kernel:
        yield kernel
