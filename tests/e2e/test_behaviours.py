"""One table of behaviours × languages over the real server: the rows are in behaviours.py, a column for each language
in languages/.
"""

import contextlib
import os

import pytest

import behaviours
import gvisor
import harness
import languages
import schemas
from behaviours_session import RowSession

NATIVE = languages.columns()
CONTRIB = languages.contrib_columns()
COLUMNS = {**NATIVE, **CONTRIB}
# tests/run has a job for each column. A normal run has only some of contrib's columns, with some of their rows.
ONLY = os.environ.get("HUSK_TEST_LANGUAGE")
# Under gVisor: make test-long PARTS=gvisor.
RUNTIME = os.environ.get("HUSK_TEST_RUNTIME")


def is_run(language, name):
    if isinstance(COLUMNS[language][name], languages.Absent) or ONLY not in (None, language):
        return False
    if language in NATIVE or RUNTIME:
        return language in NATIVE
    return harness.LONG or name in languages.quick_rows().get(language, ())


CELLS = [(language, name) for language in COLUMNS for name in behaviours.ROWS if is_run(language, name)]
# Small, so that bombs go off soon.
LIMITS = {"CONTAINER_MEMORY_LIMIT": "640m", "CONTAINER_TMPFS_SIZE": "100m", "CONTAINER_PIDS_LIMIT": "150"}


class Sessions:
    """A session for each language, lent to one row after the other. A session whose row failed is not lent again."""

    def __init__(self, server):
        self.server = server
        self.free = {}

    @contextlib.contextmanager
    def lend(self, language):
        session = self.free.pop(language, None)
        if session is None:
            for old in self.free.values():  # rows come language by language
                old.plain.stop()
            self.free.clear()
            session = RowSession(self.server, language, COLUMNS[language])
        session.mark()
        yield session
        if not session.dead:
            self.free[language] = session


def command():
    """The program to test: the normal husk, or the one with contrib's runtimes."""
    contrib = {language for language, _ in CELLS} - set(NATIVE)
    return [harness.contrib_binary(contrib), "mcp"] if contrib else None


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(gvisor.running([ONLY] if ONLY else list(NATIVE))) if RUNTIME else None
        server = stack.enter_context(harness.Server(tmp_path_factory.mktemp("behaviours"), engine=engine, command=command(), CONTAINER_RUNTIME=RUNTIME,
                                                    CONTAINER_MAX_SESSIONS=20, CONTAINER_MAX_SESSIONS_PER_THREAD=20, **LIMITS))
        yield Sessions(server)
        schemas.check([server])


@pytest.mark.parametrize("language, name", CELLS, ids=[f"{language}-{name}" for language, name in CELLS])
def test_behaviour(sessions, language, name):
    with sessions.lend(language) as session:
        row = gvisor.INSTEAD.get(name) if RUNTIME else None
        (row or behaviours.ROWS[name])(session, **COLUMNS[language][name])


def test_every_runtime_has_its_column():
    assert set(NATIVE) == {path.parent.name for path in (harness.ROOT / "runtimes").glob("*/runtime.json")}
    assert set(CONTRIB) == {path.parent.name for path in (harness.ROOT / "runtimes").glob("contrib/*/runtime.json")}
