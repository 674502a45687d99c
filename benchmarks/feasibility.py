"""Whether it can be told from a task's first words that it cannot be done: AUC of a naive Bayes classifier of words and pairs of words.

    python -m benchmarks.feasibility                # every env that has such tasks, 1,300 of each
    python -m benchmarks.feasibility --tasks 5200   # a learner that has seen more

Digits count as one another, tasks are of all levels, and each is judged by what was learnt from the other four fifths. 0.5 is chance.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.trajectories import machine, write
from shopwright.pipeline import gym
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.envs.learnt_words import list_features
from shopwright.schemas.tasks import Task

LEVELS, FOLDS = range(13), 5
GOAL = 0.6


def measure_auc(scores: np.ndarray, wanted: np.ndarray) -> float:
    """The chance that a wanted one has more than another; a tie is half.

    >>> measure_auc(np.array([3, 1, 1, 0]), np.array([True, True, False, False]))
    0.875
    """
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    many, few = int(wanted.sum()), int((~wanted).sum())
    return float((ranks[wanted].sum() - many * (many + 1) / 2) / (many * few))


def cross_validate(texts: Sequence[str], wanted: Sequence[bool]) -> float:
    """The mean AUC over the folds of a classifier of texts. Raises ValueError where a fold has tasks of one kind only."""
    known: dict[str, int] = {}
    rows = [np.array([known.setdefault(each, len(known)) for each in sorted(list_features(text))]) for text in texts]
    labels, fold = np.array(wanted, bool), np.arange(len(texts)) % FOLDS
    found = []
    for number in range(FOLDS):
        learnt = [(rows[place], labels[place]) for place in np.flatnonzero(fold != number)]
        tested = np.flatnonzero(fold == number)
        if len({*labels[tested].tolist()}) < 2:
            raise ValueError("Too few tasks: a fold has none that can be done, or none that cannot.")
        weights = weigh_features(learnt, len(known))
        found.append(measure_auc(np.array([weights[rows[place]].sum() for place in tested]), labels[tested]))
    return float(np.mean(found))


def weigh_features(learnt: Sequence[tuple[np.ndarray, np.bool_]], count: int) -> np.ndarray:
    """How much more common each feature is in the wanted texts, as a logarithm; each was seen once before."""
    seen, texts = np.ones((2, count)), np.full(2, 2.0)
    for row, label in learnt:
        seen[int(label), row] += 1
        texts[int(label)] += 1
    shares: np.ndarray = np.log(seen / texts[:, None])
    return shares[1] - shares[0]


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
    parser.add_argument("--tasks", type=int, default=1_300, help="of each env")
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
