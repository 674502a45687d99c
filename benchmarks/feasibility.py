"""Whether it can be told from a task's first words that it cannot be done: AUC of the audit's ridge regression on words and pairs of words.

    python -m benchmarks.feasibility                # every env that has such tasks, 4,000 of each
    python -m benchmarks.feasibility --tasks 8000   # a learner that has seen more

Digits count as one another, tasks are of all levels, and each is judged by what was learnt from the other four fifths. 0.5 is chance.
"""

import argparse
from collections.abc import Sequence
from statistics import fmean

from benchmarks.trajectories import machine, write
from shopwright.pipeline import gym
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.envs.learnt_words import RefusalReader
from shopwright.pipeline.evaluate.statistics import measure_auc
from shopwright.schemas.tasks import Task

LEVELS, FOLDS = range(13), 5
GOAL = 0.6


def cross_validate(texts: Sequence[str], wanted: Sequence[bool]) -> float:
    """The mean AUC over the folds of what the audit reads texts by. Raises ValueError where a fold has tasks of one kind only."""
    found = []
    for number in range(FOLDS):
        learnt = [place for place in range(len(texts)) if place % FOLDS != number]
        tested = range(number, len(texts), FOLDS)
        labels = [wanted[place] for place in tested]
        if len(set(labels)) < 2:
            raise ValueError("Too few tasks: a fold has none that can be done, or none that cannot.")
        reader = RefusalReader([texts[place] for place in learnt], [wanted[place] for place in learnt])
        found.append(measure_auc([reader.rate(texts[place]) for place in tested], labels).share)
    return fmean(found)


def draw_tasks(world: World, name: str, count: int) -> list[Task]:
    """So many tasks of an env, of all levels in turn."""
    each = -(-count // len(LEVELS))
    return [draw_task(get_env(name), world, level, seed) for seed in range(each) for level in LEVELS]


def measure_envs(world: World, count: int) -> dict[str, float]:
    """By env: how well its tasks that cannot be done are told by their first words."""
    found = {}
    for name, env in all_envs().items():
        if env.refusals:
            tasks = draw_tasks(world, name, count)
            found[name] = cross_validate([task.opening for task in tasks], [not task.feasible for task in tasks])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=4_000, help="of each env (default: 4,000)")
    count = parser.parse_args().tasks
    found = measure_envs(gym.world(), count)
    lines = [f"| `{name}` | {auc:.3f} |" for name, auc in found.items()]
    text = "\n".join(
        [
            f"`python -m benchmarks.feasibility --tasks {count}`: can it be told from the first words what cannot be done?",
            "",
            "| env | AUC |",
            "| --- | --- |",
            *lines,
            "",
            machine(),
        ]
    )
    print(text)
    write("feasibility", text)
    return int(max(found.values()) >= GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
