"""The small policy of next actions learns what there is to learn, by either way, and the same every time."""

import os
import subprocess
import sys
from random import Random

import pytest

from benchmarks import next_actions
from shopwright.pipeline.behaviors.predictors import Choice, Moment
from shopwright.pipeline.rewards.hierarchical import Action


def step(past, right, elements=4):
    """A page with so many products, of which the one with the queried word is opened; in the midst of a session it is left."""
    choices = tuple(
        Choice(Action("click", f"p{n}.view_product"), f"B{n} {'oak' if n == right else 'tin'} lamp")
        for n in range(elements)
    )
    choices += (Choice(Action("type_and_submit", "search_input", "oak")), Choice(Action("terminate")))
    truth = Action("terminate") if len(past) > 2 else choices[right].action
    return next_actions.add_searches(Moment(choices, past, "oak"), []), truth


@pytest.fixture
def steps():
    random = Random(5)
    typed = Choice(Action("type_and_submit", "search_input", "oak"))
    return [step((typed,) * random.randint(1, 4), random.randrange(4)) for _ in range(120)]


def test_what_is_taught_and_what_is_paid_is_learnt_by_the_policy_of_next_actions(steps):
    results = {}
    for result in next_actions.compare_ways(steps[:90], steps[90:], 1, lambda _: None):
        results[result.how] = result.scores.exact.share
    assert results["all rows taught"] == 1
    assert results["untaught"] < 0.5
    assert results["paid alone: exact or nothing"] > 0.9
    assert results["SFT, then paid: hierarchical, DARS"] > 0.9
    assert results["all rows taught, no page"] < 0.6
    assert results["all rows taught, no session"] < 0.9


def test_two_runs_of_the_policy_of_next_actions_give_the_same_table(steps):
    tables = [
        next_actions.tabulate(next_actions.compare_ways(steps[:60], steps[60:], 2, lambda _: None)) for _ in range(2)
    ]
    assert tables[0] == tables[1]


READ = """
import sys
from benchmarks import next_actions
from shopwright.pipeline.run import Run
next_actions.OFTEN = 1
for moment, _ in next_actions.read_steps(Run(sys.argv[1]))[0]:
    print([each.text for each in moment.choices])
"""


def test_the_policy_chooses_from_the_same_searches_in_the_same_order_whatever_the_hashes(small):
    read = [
        subprocess.check_output(
            [sys.executable, "-c", READ, str(small.folder)], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in "12"
    ]
    assert read[0] == read[1]
    assert len(read[0]) > 10_000
