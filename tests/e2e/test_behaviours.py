"""One table of behaviours × languages over the real server: rows in behaviours.py, a column a language in languages/."""

import contextlib
import json
import os

import pytest

import behaviours
import gvisor
import harness
import languages
import schemas

COLUMNS = languages.columns()
# tests/run has a job for each column.
ONLY = os.environ.get("HUSK_TEST_LANGUAGE")
CELLS = [(language, name) for language, column in COLUMNS.items() for name in behaviours.ROWS
         if not isinstance(column[name], languages.Absent) and ONLY in (None, language)]
# Small, so that bombs go off soon.
LIMITS = {"CONTAINER_MEMORY_LIMIT": "640m", "CONTAINER_TMPFS_SIZE": "100m", "CONTAINER_PIDS_LIMIT": "150"}
# Under gVisor: make test-long PARTS=gvisor.
RUNTIME = os.environ.get("HUSK_TEST_RUNTIME")


class Boxes:
    """A session a language, lent to one row after the other. One whose row failed is not lent again."""

    def __init__(self, server):
        self.server = server
        self.free = {}

    @contextlib.contextmanager
    def lend(self, language):
        box = self.free.pop(language, None)
        if box is None:
            for old in self.free.values():  # rows come language by language
                old.session.stop()
            self.free.clear()
            box = behaviours.Box(self.server, language, COLUMNS[language])
        box.mark()
        yield box
        if not box.dead:
            self.free[language] = box


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(gvisor.running([ONLY] if ONLY else list(COLUMNS))) if RUNTIME else None
        server = stack.enter_context(harness.Server(tmp_path_factory.mktemp("behaviours"), engine=engine, CONTAINER_RUNTIME=RUNTIME,
                                                    CONTAINER_MAX_SESSIONS=20, CONTAINER_MAX_SESSIONS_PER_THREAD=20, **LIMITS))
        yield Boxes(server)
        schemas.check([server])


@pytest.mark.parametrize("language, name", CELLS, ids=[f"{language}-{name}" for language, name in CELLS])
def test_behaviour(boxes, language, name):
    with boxes.lend(language) as box:
        row = gvisor.INSTEAD.get(name) if RUNTIME else None
        (row or behaviours.ROWS[name])(box, **COLUMNS[language][name])


def test_every_runtime_has_its_column():
    runtimes = {image["name"] for image in json.loads((harness.build_dir() / "images.json").read_text())}
    assert set(COLUMNS) == runtimes
