import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.envs.episode import draw_task


@pytest.fixture(scope="session")
def world():
    return gym.world()


@pytest.fixture(scope="module")
def tasks(world, request):
    """So many of the file's situation at each of its levels."""
    file = request.module
    return [draw_task(file.ENV, world, level, seed) for level in file.LEVELS for seed in range(file.EACH)]
