import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import box as box_module  # noqa: E402


@pytest.fixture
def make_box(tmp_path):
    """make_box(*options) starts one more PID 1; all are gone after the test."""
    boxes = []

    def make(*options, **more):
        folder = tmp_path / str(len(boxes))
        folder.mkdir()
        boxes.append(box_module.Box(folder, *options, **more))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


@pytest.fixture
def box(make_box):
    return make_box("--grace-ms", "1500")


@pytest.fixture
def client(box):
    return box.attach()
