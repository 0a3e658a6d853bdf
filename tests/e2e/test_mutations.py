"""Ten thousand mutated messages, after which the server still answers correctly (tests/fuzz/mutate.py)."""

import pathlib
import random
import sys

import harness
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))

import mutate  # noqa: E402

# Every run uses the fixed seed; long runs add random ones. A failure names its seed.
FIXED = 20261115
FRESH = 20 if harness.LONG else 0


# evidence: input-bounds
@pytest.mark.parametrize("number", range(1 + FRESH))
def test_the_server_answers_correctly_after_mutated_messages(number):
    seed = random.SystemRandom().randrange(1 << 32) if number else FIXED
    print(f"seed {seed}: tests/fuzz/mutate.py --seed {seed}")
    print(mutate.run(harness.husk_binary(), seed))
