"""The small policy of levels learns what it is taught and paid for, and its table tells each way once."""

from datetime import date

import numpy as np
import pytest

from benchmarks import levels
from shopwright.pipeline.envs.curriculum import AdaptiveDifficulty

ORDERS = [
    {"order_id": "order-1", "placed": "2024-05-01", "total": 40.0, "lines": [{"title": "Oak desk lamp"}]},
    {
        "order_id": "order-2",
        "placed": "2024-05-20",
        "total": 12.0,
        "lines": [{"title": "Tin mug"}, {"title": "Jute bag"}],
    },
]


def make_moments(count, seed):
    """Of three answers and a refusal one is right: the one with feature 2, or the refusal where none has it."""
    random = np.random.default_rng(seed)
    moments = []
    for _ in range(count):
        right = int(random.integers(4))
        features = np.array([[1, 2 if place == right else 3] for place in range(3)] + [[4, 5 if right == 3 else 6]])
        moments.append(levels.Moment(features, np.eye(4)[right]))
    return moments


def measure(policy, moments):
    return sum(each.right[policy.take(each)] for each in moments) / len(moments)


def test_the_policy_learns_from_solved_tasks_and_from_pay():
    taught, asked = make_moments(60, 1), make_moments(60, 2)
    untaught, solved, paid = levels.Policy(6), levels.Policy(6), levels.Policy(6)
    solved.learn(taught)
    numbers = np.random.default_rng(3)
    paid.practise(lambda: (0, taught[int(numbers.integers(60))]), lambda level, success: None, numbers)
    assert measure(untaught, asked) < 0.5
    assert measure(solved, asked) == 1
    assert measure(paid, asked) == 1


def test_what_is_paid_raises_the_level_of_the_curriculum():
    taught, numbers = make_moments(60, 1), np.random.default_rng(3)
    controller = AdaptiveDifficulty(window=5, count=32)

    def draw():
        return controller.hardest, taught[int(numbers.integers(60))]

    levels.Policy(6).practise(draw, controller.record, numbers)
    assert controller.hardest > 3


@pytest.mark.parametrize(
    ("said", "feature", "place"),
    [
        ("Where is order-2?", "number True", 1),
        ("I placed it on May 1.", "day True", 0),
        ("I placed it 10 days ago.", "ago True", 1),
        ("The one with the lamp.", "behind 0", 0),
        ("It had a mug in it.", "behind 0", 1),
    ],
)
def test_features_tell_what_was_said_of_an_order(said, feature, place):
    rows = list(levels.describe_answers(said, ORDERS, date(2024, 5, 30)))
    assert len(rows) == len(ORDERS) + 1
    assert rows[-1][0] == "refused"
    assert [feature in row for row in rows] == [each == place for each in range(3)]


def test_a_line_for_each_way_and_a_column_for_each_environment():
    results = [
        levels.Result(env, how, seed, [0.5] * 13, hardest)
        for env in levels.ENVS
        for how, hardest in (("fixed at 0", -1), ("adaptive, gate 0.9", 4))
        for seed in range(2)
    ]
    lines = levels.tabulate(results).splitlines()
    assert len(lines) == 4
    assert lines[-1].count("50.0 (50.0 - 50.0), above 0 in 0 of 2 (p 1.00), reached 4 to 4") == len(levels.ENVS)
