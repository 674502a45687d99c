"""The small policy of page actions sees what it is to see, and learns from what experts did and from pay."""

from types import SimpleNamespace

import pytest

from benchmarks import page_policy, shopping_policy
from benchmarks.levels import Features, Policy
from shopwright.pipeline.shopping.play import format_turn
from tests.shopping.shops import begin_task, play_task, tasks

WALK = ("search[coffee maker]", "click[{first}]", "click[features]", "click[< prev]")


def walk(task, scenario, shown, opening):
    """What can be done, with its features, at each step of a walk through the shop on which this was said."""
    play = begin_task(task, scenario)
    play.opening = opening
    memory, sight, found = page_policy.Memory(play, page_policy.learn_words(tasks()), shown), play.first, []
    for action in WALK:
        found.append(list(page_policy.list_actions(sight, memory)))
        first = next((each.id for each in page_policy.parse_results(sight)), "")
        action = action.format(first=first)
        sight = play.act(format_turn("", action, play.multi))
        memory.note(action, sight)
    return [*found, list(page_policy.list_actions(sight, memory))]


@pytest.mark.parametrize("scenario", ["single", "multi"])
def test_what_is_hidden_changes_nothing_of_what_the_policy_of_pages_sees(scenario):
    task = tasks()[0]
    words = task.instruction, "something entirely different, under $3"
    seen, hidden = ([walk(task, scenario, shown, said) for said in words] for shown in ("all", "instruction"))
    assert seen[0] != seen[1]
    assert hidden[0] == hidden[1]


def test_without_the_page_products_are_told_apart_by_nothing():
    task = tasks()[0]
    shown, blind = (walk(task, "single", how, task.instruction)[1] for how in ("all", "page"))
    ids = {each.id for each in page_policy.parse_results(begin_sight(task))}
    assert len({tuple(features) for action, features in shown if action[6:-1] in ids}) > 1
    assert len({tuple(features) for action, features in blind if action[6:-1] in ids}) == 1


def begin_sight(task):
    return begin_task(task, "single").act(format_turn("", WALK[0], False))


def make_shop(shown="all"):
    """The small shop as a comparison has it."""
    situation = SimpleNamespace(
        begin=lambda task: begin_task(*task), tasks=lambda: [(task, "single") for task in tasks()]
    )
    return page_policy.Shop(situation, page_policy.learn_words(tasks()), Features(), shown)


@pytest.mark.slow
def test_what_a_solver_did_is_learnt_and_so_is_what_is_paid():
    shop, asked = make_shop(), [(task, "single") for task in tasks()]
    solved = {task.id: [step.action for step in play_task(task, "single").steps] for task in tasks()}
    moments = page_policy.copy_solved(shop, asked, solved, len(asked), 0)
    taught = page_policy.learn(moments, page_policy.SIZE)
    right = sum(taught.take(each) == each.right.argmax() for each in moments)
    assert right > 0.8 * len(moments)
    paid, untaught = Policy(page_policy.SIZE), Policy(page_policy.SIZE)
    shopping_policy.practise(shop, paid, asked, "loose", 12, 0)
    earned = [
        sum(score.parts["loose"] for score in shopping_policy.measure(shop, policy, asked, "", 0).drawn)
        for policy in (untaught, paid)
    ]
    assert earned[1] > earned[0]


def test_two_runs_of_the_policy_of_pages_give_the_same_table():
    asked = [(task, "single") for task in tasks()][:3]
    solved = {task.id: [step.action for step in play_task(task, "single").steps] for task, _ in asked}
    tables = [
        shopping_policy.tabulate(list(shopping_policy.compare_ways(make_shop(), asked, solved, 1, 1, lambda _: None)))
        for _ in range(2)
    ]
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) == 2 + 6
