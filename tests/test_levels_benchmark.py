"""The small policy of levels learns what it is taught and paid for, and its table tells each way once."""

from datetime import date

import numpy as np

from benchmarks import levels
from shopwright.pipeline.envs.curriculum import AdaptiveDifficulty
from shopwright.pipeline.experts.player import load_lexicon
from shopwright.pipeline.gym import world

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


def test_features_tell_how_much_of_what_was_said_is_not_so_of_an_order():
    lexicon = load_lexicon(world().store)
    said = "Where is my order? I placed it 10 days ago."
    missed = levels.count_missed("order_tracking", said, ORDERS, lexicon, date(2024, 5, 30))
    assert missed == [1, 0]
    first, second, refused = levels.describe_answers("Where is the one with the mug?", ORDERS, missed)
    assert {"taken", "missed 1", "missed more 1", "shares fewer 1"} <= set(first)
    assert {"taken", "missed 0", "missed more 0", "shares fewer 0"} <= set(second)
    assert refused[:2] == ["refused", "refused, best misses 0"]


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
