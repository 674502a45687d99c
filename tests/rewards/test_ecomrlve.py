"""Task, efficiency and hallucination at their bounds, and what a job that is not done earns."""

from fractions import Fraction

import pytest

from shopwright.pipeline.rewards.ecomrlve import (
    PUBLISHED,
    combine_reward_parts,
    penalize_illegal_action,
    score_efficiency,
    score_hallucination,
)


@pytest.mark.parametrize(
    ("turns", "most", "earned"),
    [
        (0, 4, 1),
        (1, 4, 1),
        (3, 4, Fraction(-1, 3)),
        (4, 4, -1),
        (9, 4, -1),
        (1, 1, 1),
        (2, 1, -1),
        (1, 2, 1),
        (2, 2, -1),
    ],
)
def test_turns_earn_from_one_down_to_minus_one(turns, most, earned):
    assert score_efficiency(turns, most) == earned


def test_what_was_made_up_costs_its_share():
    assert score_hallucination({"a", "b", "c", "d"}, {"a", "x"}) == Fraction(-3, 4)
    assert score_hallucination({"a"}, {"a", "b"}) == 0


@pytest.mark.parametrize("rule", ["job", PUBLISHED])
def test_a_total_is_between_minus_one_and_one_and_a_failure_earns_nothing_by_default(rule):
    for task in (Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1)):
        for spent in (Fraction(-1), Fraction(1)):
            for made_up in (Fraction(-1), Fraction(0)):
                failed = combine_reward_parts(task, spent, made_up, success=False, rule=rule).total
                assert -1 <= failed <= (0 if rule == "job" else 1)
                done = combine_reward_parts(task, spent, made_up, success=True, rule=rule).total
                assert done >= 0 or rule == PUBLISHED
                assert rule == PUBLISHED or done == max(0, float(task + made_up / 10))


def test_an_illegal_action_earns_exactly_minus_one():
    found = penalize_illegal_action("no such tool")
    assert (found.total, found.task, found.efficiency, found.hallucination) == (-1, -1, -1, 0)
    assert (found.success, found.fault) == (False, "no such tool")
