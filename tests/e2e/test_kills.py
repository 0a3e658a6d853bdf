"""No acknowledged export is ever lost: a campaign of kills.py on each store."""

import random

import harness
import kills
import pytest

KILLS = 200 if harness.LONG else 10


# evidence: exports-durable
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.timeout(3600 if harness.LONG else 600)
def test_no_acknowledged_export_is_lost(store):
    seed = random.SystemRandom().randrange(1 << 32)
    counts = kills.campaign(store, kills=KILLS, seed=seed)
    print(counts)
    assert sum(n for name, n in counts.items() if name.startswith("kills of")) == KILLS
    assert counts["exports acknowledged"] >= KILLS
