"""A short run of chaos.py; `make chaos` is the long one."""

import random

import chaos
import pytest

pytestmark = [pytest.mark.alone, pytest.mark.timeout(400)]
SECONDS = 35


def test_nothing_leaks_vanishes_or_runs_twice(tmp_path):
    seed = random.SystemRandom().randrange(10**9)
    with open(tmp_path / "log", "w+", encoding="utf-8") as log:
        good, summary = chaos.run(10**6, SECONDS, seed, log, tmp_path)
        print(summary)
        log.seek(0)
        assert good, log.read()
