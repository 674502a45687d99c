"""A first query that is not right guesses with words that were heard."""

from random import Random

import pytest

from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.rollouts.slips import slip_action


def guess(action, *heard):
    """The programs of many slips."""
    found = (slip_action(t.Pick(action=action), Random(number), heard.__contains__) for number in range(100))
    return ["\n".join(slip.lines) for slip in found if slip]


@pytest.mark.parametrize(
    ("action", "heard", "other"),
    [("purchase", "buy", "order"), ("click", "clicked", "view"), ("search", "query", "searched")],
)
def test_an_action_is_called_by_a_wrong_name_only_where_somebody_said_it(action, heard, other):
    assert guess(action) == []
    said = guess(action, heard)
    assert said
    assert all(f'"{heard}"' in code and f'"{other}"' not in code for code in said)


def test_the_cart_is_spelt_otherwise_than_the_table_has_it():
    assert len(guess("add to Cart")) == 100
