"""Killed at random moments, every dataset comes out as if nothing had happened."""

import pytest

from pipeline.stages import all_stages
from tests.faults.builds import PHASES, Case
from tests.faults.kills import kill

QUICK = {"personas": 15, "queries": 15, "orders": 15, "trajectories": 5}


def test_killed_fifty_times_at_random_moments_datasets_come_out_as_if_nothing_had_happened(small, forge, tmp_path):
    landed = [kill(forge, Case(small.folder, name), tmp_path / "run", kills, "short") for name, kills in QUICK.items()]
    assert sum(found.total() for found in landed) == 50
    assert sum(found[PHASES[1]] for found in landed) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", all_stages())
def test_killed_fifty_times_each_dataset_comes_out_as_if_nothing_had_happened(small, forge, tmp_path, name):
    assert kill(forge, Case(small.folder, name), tmp_path / "run", 50, "long").total() == 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trajectories", "shopping_tasks"])
def test_killed_with_its_workers_fifty_times_too(small, forge, tmp_path, name):
    assert kill(forge, Case(small.folder, name), tmp_path / "run", 50, "workers", workers=2).total() == 50
