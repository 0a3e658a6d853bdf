import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import box as box_module  # noqa: E402


@pytest.fixture
def make_box(tmp_path):
    """make_box(*options) starts another PID 1; all of them end with the test."""
    boxes = []

    def make(*options, **more):
        folder = tmp_path / str(len(boxes))
        folder.mkdir()
        boxes.append(box_module.Box(folder, *options, **more))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


def pytest_generate_tests(metafunc):
    """Runs each test that uses `client` with every `stream`, that is, way to reach PID 1. A file whose tests do not
    depend on it names one in STREAMS.
    """
    if "stream" in metafunc.fixturenames:
        metafunc.parametrize("stream", getattr(metafunc.module, "STREAMS", ("attach", "dial")))


@pytest.fixture
def box(make_box, tmp_path, request):
    line = None
    if "stream" in request.fixturenames and request.getfixturevalue("stream") == "dial":
        line = tmp_path / "line"
        line.mkdir(mode=0o755)
    return make_box("--grace-ms", "1500", line=line)


@pytest.fixture
def client(box, stream):
    return box.meet() if stream == "dial" else box.attach()
