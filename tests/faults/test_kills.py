"""Killed at random moments, every dataset comes out as if nothing had happened."""

from collections import Counter

import pytest

from shopwright.pipeline.stages import all_stages
from tests.faults.builds import PHASES, Case
from tests.faults.kills import kill

QUICK = {"personas": 2, "orders": 1, "trajectories": 1}


@pytest.mark.slow
def test_killed_four_times_at_random_moments_datasets_come_out_as_if_nothing_had_happened(small, forge, tmp_path):
    landed = [kill(forge, Case(small.folder, name), tmp_path / "run", kills, "short") for name, kills in QUICK.items()]
    assert sum(found.total() for found in landed) == 4


def test_killed_while_shards_were_made_a_dataset_comes_out_as_if_nothing_had_happened(small, forge, tmp_path):
    landed = Counter()
    for seed in range(40):
        landed += kill(forge, Case(small.folder, "trajectories"), tmp_path / "run", 1, seed)
        if landed[PHASES[1]]:
            return
    pytest.fail(f"none of 40 kills fell while shards were made: {dict(landed)}")


@pytest.mark.slow
@pytest.mark.parametrize("name", all_stages())
def test_killed_fifty_times_each_dataset_comes_out_as_if_nothing_had_happened(small, forge, tmp_path, name):
    assert kill(forge, Case(small.folder, name), tmp_path / "run", 50, "long").total() == 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trajectories", "shopping_tasks"])
def test_killed_with_its_workers_fifty_times_too(small, forge, tmp_path, name):
    assert kill(forge, Case(small.folder, name), tmp_path / "run", 50, "workers", workers=2).total() == 50
