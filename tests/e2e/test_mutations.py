"""Ten thousand mutated messages: the server is alive and exact afterwards (tests/fuzz/mutate.py)."""

import os
import pathlib
import sys

import harness
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))

import mutate  # noqa: E402

# One that never changes, and one that is new each time unless it is given: a failure names it.
SEEDS = [20261115, int(os.environ.get("HUSK_MUTATION_SEED", "0")) or int.from_bytes(os.urandom(4), "big")]


@pytest.mark.parametrize("seed", SEEDS, ids=["fixed", "fresh"])
def test_alive_and_exact_after_mutated_messages(seed):
    print(f"seed {seed}: tests/fuzz/mutate.py --seed {seed}")
    print(mutate.run(harness.husk_binary(), seed))
