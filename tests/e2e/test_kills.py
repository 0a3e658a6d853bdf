"""No acknowledged export is ever lost: a short campaign of kills.py (`make kills` is the long one)."""

import random

import kills
import pytest


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.timeout(600)
def test_no_acknowledged_export_is_lost(store):
    seed = random.SystemRandom().randrange(1 << 32)
    counts = kills.campaign(store, kills=20, seed=seed)
    print(counts)
    assert sum(n for name, n in counts.items() if name.startswith("kills of")) == 20
    assert counts["exports acknowledged"] >= 20
