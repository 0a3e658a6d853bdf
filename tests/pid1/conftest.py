import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import box as box_module  # noqa: E402


@pytest.fixture
def make_box(tmp_path, request):
    """make_box(*options) starts another PID 1; all of them end with the test."""
    boxes = []
    beside = "stream" in request.fixturenames and request.getfixturevalue("stream") == "beside"

    def make(*options, **more):
        folder = tmp_path / str(len(boxes))
        folder.mkdir()
        boxes.append(box_module.Box(folder, *options, **{"beside": beside, **more}))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


def pytest_generate_tests(metafunc):
    """Runs a test that uses `client` over the usual `stream` to PID 1. With the mark each_stream, the test runs once for
    each way to reach PID 1: attach in its container, its own dial, and attach beside it as in a pod. A test that makes
    its own clients attaches.
    """
    each = metafunc.definition.get_closest_marker("each_stream")
    if "stream" in metafunc.fixturenames:
        metafunc.parametrize("stream", ("attach", "dial", "beside") if each else ("dial",))
    elif each and "make_box" in metafunc.fixturenames:
        metafunc.fixturenames.append("stream")
        metafunc.parametrize("stream", ("attach", "beside"))


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
