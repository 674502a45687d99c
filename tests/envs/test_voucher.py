"""Lists that a voucher pays for: every list is gone through by hand, to the cent."""

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from itertools import product
from math import floor
from random import Random

import pytest

from shopwright.pipeline.envs.base import CannotDraw
from shopwright.pipeline.envs.baselines import ENV_BASELINES
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.one_of_each import NeededCategory
from shopwright.pipeline.envs.voucher import VoucherGoal, VoucherShopping, draw_terms_for_things
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.tools import call_tool, compute_discount
from shopwright.schemas.certificates import parse_certificate, parse_miss
from shopwright.schemas.shop import Voucher
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs.play import parse_goal, score_answer
from tests.envs.test_bundle_planning import cup, that_do
from tests.envs.test_substitution import mug, shop

ENV = VoucherShopping()
LEVELS = range(13)
EACH = 18
goal_of, score = partial(parse_goal, ENV), partial(score_answer, ENV)
MOST = 4_000
"""Lists of a task that are gone through one at a time."""


def pay(store, voucher, items):
    """By fractions of a dollar, without a look at how the shop does it."""
    total = sum(Fraction(item.cents, 100) for item in items)
    mine = [item for item in items if voucher.seller in ("", store.seller_of(item.row))]
    if 100 * total < voucher.least or (voucher.seller and len(mine) < 2):
        return total
    if voucher.off:
        return total - Fraction(voucher.off, 100)
    off = Fraction(floor(sum(item.cents for item in mine) * Fraction(voucher.percent, 100)), 100)
    return total - min(off, Fraction(voucher.most, 100))


def few_lists(world, task):
    """All lists of a task, where they are few."""
    do = [that_do(world, need) for need in goal_of(task).needs]
    size = 1
    for each in do:
        size *= len(each)
    return list(product(*do)) if size <= MOST else []


def test_the_certificate_counts_every_list_that_is_within_the_budget_and_no_other(world, tasks):
    seen = Counter()
    for task in tasks:
        goal, found = goal_of(task), parse_certificate(task.acceptable)
        paid = [pay(world.store, goal.voucher, each) for each in few_lists(world, task)]
        if not paid:
            continue
        right = sum(100 * each <= goal.budget for each in paid)
        assert bool(right) == task.feasible, task.id
        if task.feasible:
            assert found.lists == right, task.id
        else:
            assert found.proof.least == 100 * min(paid)
        seen[task.feasible] += 1
    assert seen[True] > 30
    assert seen[False] > 5


def test_a_list_is_a_success_just_when_it_is_within_the_budget_with_the_voucher(world, tasks):
    seen = Counter()
    for task in tasks:
        goal = goal_of(task)
        for items in few_lists(world, task)[:300] if task.feasible else ():
            success = score(world, task, *(item.id for item in items)).success
            assert success == (100 * pay(world.store, goal.voucher, items) <= goal.budget), task.id
            seen[success] += 1
        assert score(world, task, *goal.right).success == task.feasible
    assert seen[True] > 50
    assert seen[False] > 1_000


def test_without_the_voucher_nothing_is_within_the_budget_and_the_cheapest_do_not_meet_its_terms(world, tasks):
    for task in tasks:
        goal = goal_of(task)
        cheapest = [that_do(world, need)[0] for need in goal.needs]
        assert sum(item.cents for item in cheapest) > goal.budget, task.id
        if task.feasible:
            assert not score(world, task, *(item.id for item in cheapest)).success
            named = parse_miss(task.nearest_miss).end.answer.recommended_product_ids
            assert sum(world.store.item(world.store.row(id)).cents for id in named) == sum(
                each.cents for each in cheapest
            )


def test_there_are_three_kinds_of_vouchers_with_and_without_a_list(tasks):
    found = Counter()
    for task in tasks:
        voucher = goal_of(task).voucher
        found["amount" if voucher.off else "seller" if voucher.seller else "share", task.feasible] += 1
        assert voucher.off % 100 == voucher.most % 100 == voucher.least % 100 == 0
        assert bool(voucher.off) != bool(voucher.percent and voucher.most)
    assert len(found) == 6
    assert 0.08 < sum(not task.feasible for task in tasks) / len(tasks) < 0.22


def test_terms_are_stated_or_can_be_looked_up(world, tasks):
    known = Counter()
    for task in tasks:
        goal = goal_of(task)
        known[next(slot.known for slot in task.slots if slot.name == "voucher")] += 1
        assert "voucher" in task.opening.lower() or "coupon" in task.opening.lower() or task.difficulty > 2  # mistyped
        told = call_tool(ENV.shop(world, goal, compute_axes(0), "x"), "voucher_list", {})["vouchers"]
        assert len(told) == 1
        shown = told[0]
        assert round(100 * shown.get("dollars_off", 0)) == goal.voucher.off
        assert shown.get("percent_off", 0) == goal.voucher.percent
        assert round(100 * shown.get("least_total", 0)) == goal.voucher.least
        assert round(100 * shown.get("most_dollars_off", 0)) == goal.voucher.most
        assert shown.get("only_of_seller", "") == goal.voucher.seller
    assert set(known) == {"stated", "inferable"}
    assert min(known.values()) > 20


def draw_terms(store, seed, *, impossible):
    """What is asked for, the voucher, and whether the budget is in whole dollars; None where nothing can be drawn."""
    try:
        needs, _, voucher, _, budget = draw_terms_for_things(
            store, compute_axes(seed % 13), Random(seed), impossible=impossible
        )
    except CannotDraw:
        return None
    return [(need.category, need.demands) for need in needs], voucher, budget % 100 == 0


def test_too_small_a_budget_is_for_the_same_things_and_said_alike(world):
    drawn = [[draw_terms(world.store, seed, impossible=each) for each in (False, True)] for seed in range(150)]
    assert any(can and not can[-1] for can, _ in drawn), "a budget to the cent"
    assert [can for can, _ in drawn] == [cannot for _, cannot in drawn]


def test_each_thing_of_a_list_brings_turns(tasks):
    goal = parse_goal(VoucherShopping(), tasks[0])
    axes = compute_axes(0)
    assert VoucherShopping().turns(goal, axes) == axes.turns + 6 * len(goal.needs)


def test_who_holds_no_voucher_is_shown_none(world):
    from shopwright.pipeline.envs import get_env

    episode = Episode(get_env("policy_qa"), world, draw_task(get_env("policy_qa"), world, 0, 1))
    episode.reset()
    assert episode.step(Action(tool_calls=[Call(name="voucher_list")]))[0]["results"] == [{"vouchers": []}]


@pytest.mark.parametrize(
    ("voucher", "things", "off"),
    [
        (Voucher(off=1_200, least=6_000), [(3_000, "A"), (2_999, "A")], 0),
        (Voucher(off=1_200, least=6_000), [(3_000, "A"), (3_000, "B")], 1_200),
        (Voucher(percent=15, most=2_000, least=5_000), [(4_999, "A")], 0),
        (Voucher(percent=15, most=2_000, least=5_000), [(5_005, "A")], 750),  # 750.75 cents
        (Voucher(percent=30, most=2_000, least=5_000), [(9_000, "A")], 2_000),
        (Voucher(percent=10, most=2_000, seller="A"), [(1_000, "A"), (9_000, "B")], 0),
        (Voucher(percent=10, most=2_000, seller="A"), [(1_000, "A"), (999, "A"), (9_000, "B")], 199),
    ],
)
def test_discounts_worked_out_by_hand(voucher, things, off):
    assert compute_discount(voucher, things) == off


HAND = shop([mug(1, price=20), mug(2, price=31), cup(3, price=25), cup(4, price=40)])
GOAL = VoucherGoal(
    persona_id="nobody",
    now=datetime(2024, 6, 3),
    slots=[],
    needs=[NeededCategory(category=name, constraints=[], cheapest=[]) for name in ("Mugs", "Cups")],
    voucher=Voucher(off=1_500, least=5_000),
    budget=4_200,
)


@pytest.mark.parametrize(
    ("named", "task", "success"),
    [
        (["M2", "M3"], 1, True),  # 56 - 15
        (["M1", "M3"], Fraction(1, 2) - Fraction(300, 4_200), False),  # 45, below the 50 of the voucher
        (["M1", "M4"], Fraction(1, 2) - Fraction(300, 4_200), False),  # 60 - 15
        (["M2", "M4"], Fraction(1, 2) - Fraction(1_400, 4_200), False),  # 71 - 15
        (["M2"], Fraction(1, 3), False),
        (["M2", "M3", "M3"], Fraction(3, 5), False),
        (["none such"], -1, False),
        ([], -1, False),
    ],
)
def test_rewards_worked_out_by_hand(named, task, success):
    found = ENV.score(GOAL, ENV.shop(HAND, GOAL, compute_axes(0), "hand"), Answer(recommended_product_ids=named))
    assert (found.task, found.success) == (task, success)


def test_the_right_refusal_counts_and_a_needless_one_fails(world, tasks):
    for task in tasks:
        found = score(world, task, refusal="over_budget")
        assert (found.task, found.success) == ((-1, False) if task.feasible else (1, True))


def test_what_sells_out_leaves_a_list_within_the_budget(world, tasks):
    sold = [task for task in tasks if goal_of(task).event]
    assert len(sold) > 15
    for task in sold:
        goal = goal_of(task)
        assert parse_certificate(task.acceptable).sells_out in goal.right
        assert not score(world, task, *goal.right, gone=goal.event.variants).success
        assert score(world, task, *goal.spare, gone=goal.event.variants).success


def play_exhaustively(episode):
    """Who knows what is wanted, looks through each category by search, and reckons up every list."""
    shop, goal = episode.shop, episode.goal
    terms, shelves = call_tool(shop, "voucher_list", {})["vouchers"][0], []
    for need in goal.needs:
        shown = {}
        for seller in episode.world.store.seller_names:
            for page in range(1, 9):
                args = {"query": "", "category": need.category, "seller": seller, "page": page}
                for each in call_tool(shop, "catalog_search", args)["results"]:
                    shown[each["product_id"]] = each
        items = {id: episode.world.store.item(episode.world.store.row(id)) for id in shown}
        fine = [
            id
            for id, item in items.items()
            if item.category == need.category and all(map(item.meets, need.constraints))
        ]
        shelves.append([shown[id] for id in fine if shown[id]["in_stock"]])
    for each in product(*shelves):
        total = sum(round(100 * thing["price"]) for thing in each)
        mine = [thing for thing in each if terms.get("only_of_seller", thing["seller"]) == thing["seller"]]
        off = 0
        if total >= 100 * terms.get("least_total", 0) and len(mine) >= terms.get("least_things_of_seller", 0):
            share = sum(round(100 * thing["price"]) for thing in mine) * terms.get("percent_off", 0) // 100
            off = min(share, 100 * terms.get("most_dollars_off", 0)) + 100 * terms.get("dollars_off", 0)
        if total - off <= goal.budget:
            return Answer(env="voucher", recommended_product_ids=[thing["product_id"] for thing in each])
    return Answer(env="voucher", refusal="over_budget")


def test_reckoning_up_every_list_earns_everything(world):
    """In searches in which nothing is crowded out by what does not fit."""
    for level in (0, 2, 4):
        at = replace(compute_axes(level), sells_out=0.0, distractors=0.0)
        for seed in range(8):
            episode = Episode(ENV, world, draw_task(ENV, world, level, 60 + seed, at=at), at=at)
            episode.reset()
            reward = episode.step(Action(answer=play_exhaustively(episode)))[3]["reward"]
            assert (reward.task, reward.success, reward.hallucination) == (1, True, 0), (episode.task.id, reward.fault)


@pytest.mark.parametrize("name", ENV_BASELINES)
def test_cheap_ways_earn_nothing(world, tasks, name):
    played = [(task, play_episode(Episode(ENV, world, task), ENV_BASELINES[name])) for task in tasks[::4]]
    assert not any(reward.success for task, reward in played if task.feasible)
    assert sum(reward.success for _, reward in played) <= 1  # who acts at random may refuse what cannot be had
    assert sum(reward.total for _, reward in played) < 0


def test_a_shop_of_one_category_says_so():
    with pytest.raises(Problem, match="there are 1 categories, and a list needs 2"):
        draw_task(ENV, shop([mug(0), mug(1)]), 0, 0)


def test_the_solver_earns_everything_where_much_sells_out(world):
    at = replace(compute_axes(8), sells_out=1.0)
    found = [draw_task(ENV, world, 8, seed, at=at) for seed in range(25)]
    assert sum(json.loads(task.goal)["event"] is not None for task in found) > 8
    for task in found:
        reward = play_episode(Episode(ENV, world, task, at=at), play_solution)
        assert (reward.task, reward.success, reward.hallucination) == (1, True, 0), task.id
