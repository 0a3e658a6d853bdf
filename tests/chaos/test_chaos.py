"""Runs chaos.py: for some seconds, or with a thousand kills in a long run. The log stays in the build folder."""

import random

import chaos
import harness
import pytest

KILLS, SECONDS = (1000, 7200) if harness.LONG else (10**6, 20)
pytestmark = pytest.mark.timeout(SECONDS + 600)


def test_faults_cause_no_leak_loss_or_repeated_run(tmp_path):
    seed = random.SystemRandom().randrange(10**9)
    path = harness.build_dir() / "chaos.log" if harness.LONG else tmp_path / "log"
    with open(path, "w+", encoding="utf-8") as log:
        good, summary = chaos.run(KILLS, SECONDS, seed, log, tmp_path)
        print(summary)
        log.seek(0)
        assert good, log.read()
