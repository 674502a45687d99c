"""What is left of a dataset without its input is told, and is a fault where it is more than it may be."""

from random import Random
from types import SimpleNamespace

import pytest

from benchmarks import next_actions, shortcuts, taught_rows
from shopwright.pipeline.behaviors.predictors import Choice, Moment
from shopwright.pipeline.gym import world
from shopwright.pipeline.rewards.hierarchical import Action


def make_step(random, leaky):
    """A page of lamps of which the queried one is opened; a leaky session is left in its fifth step, wherever it is."""
    past = tuple(Choice(Action("click", "nav.previous")) for _ in range(random.randint(2, 7)))
    right = random.randrange(4)
    choices = tuple(
        Choice(Action("click", f"p{n}.view_product"), f"B{n} {'oak' if n == right else 'tin'} lamp") for n in range(4)
    )
    choices += (Choice(Action("type_and_submit", "search_input", "oak")), Choice(Action("terminate")))
    leaves = random.random() < 0.3 if not leaky else len(past) > 4
    truth = Action("terminate") if leaves else choices[0 if leaky else right].action
    return next_actions.add_searches(Moment(choices, past, "oak"), []), truth


@pytest.mark.parametrize(("leaky", "faults"), [(False, []), (True, ["no page"])])
def test_steps_that_are_foretold_without_the_page_are_a_shortcut(leaky, faults):
    random = Random(5)
    steps = [make_step(random, leaky) for _ in range(300)]
    found = [each for each in shortcuts.look_at_steps(steps[:200], steps[200:]) if each.is_shortcut]
    assert [each.shown for each in found] == faults
    assert len(shortcuts.list_shortcuts(found)) == len(faults)


def test_a_bound_is_exceeded_beyond_chance_alone():
    by_chance, beyond = (shortcuts.count_right("questions", "no instruction", right, 100, 0.1) for right in (12, 30))
    free = shortcuts.count_right("questions", "as it is", 90, 100)
    assert shortcuts.list_shortcuts([by_chance, free]) == []
    assert "30.0%" in shortcuts.list_shortcuts([by_chance, beyond, free])[0]


def test_the_table_has_a_line_for_each_dataset_and_a_column_for_what_is_hidden():
    found = [
        shortcuts.count_right("questions", "as it is", 50, 100),
        shortcuts.count_right("questions", "answers alone", 40, 100, 0.1, "the commonest answer"),
        shortcuts.Left("policy_qa", "no instruction", -0.5, -0.6, -0.4, 0.0, "refuses"),
    ]
    _, _, first, second = shortcuts.tabulate(found).splitlines()
    assert first.startswith("| `questions` | 50.0%")
    assert "**40.0%**" in first
    assert second.split(" | ")[2] == "-0.50 (-0.60 to -0.40), refuses"


def test_the_commonest_answer_of_a_shape_is_what_most_of_its_questions_have():
    rows = [
        SimpleNamespace(shape=shape, result=result)
        for shape, result in (("a", "1"), ("a", "2"), ("a", "2"), ("b", "3"))
    ]
    assert taught_rows.find_commonest(rows, lambda row: row.shape) == {"a": "2", "b": "3"}


@pytest.mark.slow
@pytest.mark.parametrize("env", ["order_tracking", "policy_qa", "product_discovery"])
def test_nobody_earns_anything_in_an_environment_whose_opening_is_hidden(env):
    found = list(shortcuts.look_at_env(world(), env, 6, 12, lambda _: None))
    assert [each.shown for each in found] == ["as it is", "no instruction", "no page"]
    assert all(each.value < 0 for each in found if each.bound is not None)
