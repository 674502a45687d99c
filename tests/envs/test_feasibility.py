"""Whether a task can be done is not told by its words: a classifier of them is hardly better than chance."""

import pytest

from benchmarks.feasibility import GOAL, cross_validate, draw_tasks
from shopwright.pipeline.envs import all_envs

# As one in ten cannot be done, of a third of them a classifier may be right in six of ten by chance.
TASKS = 4_000
REFUSING = [name for name, env in all_envs().items() if env.refusals]


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSING)
def test_the_first_words_do_not_tell_what_cannot_be_done(world, name):
    tasks = draw_tasks(world, name, TASKS)
    assert len(tasks) >= 1_000
    assert cross_validate([task.opening for task in tasks], [not task.feasible for task in tasks]) < GOAL


def test_the_classifier_sees_words_that_tell(world):
    tasks = draw_tasks(world, "policy_qa", 400)
    wanted = [not task.feasible for task in tasks]
    marked = [f"{task.opening} {'drone' if gone else 'van'}" for task, gone in zip(tasks, wanted, strict=True)]
    assert cross_validate(marked, wanted) > 0.75
