"""Fixtures: the results of the suite in either era."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import conformance_suite  # noqa: E402


def pytest_sessionstart(session):
    if not pathlib.Path(conformance_suite.HUSK).exists():
        pytest.exit(f"{conformance_suite.HUSK} is missing: run make first", 3)


@pytest.fixture(scope="session")
def judge(tmp_path_factory):
    """judge(era): the suite runs once for each era."""
    verdicts = {}

    def judge_era(era):
        if era not in verdicts:
            verdicts[era] = conformance_suite.judge(conformance_suite.install(), era, tmp_path_factory.mktemp("conformance"))
        return verdicts[era]

    return judge_era
