import pickle
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import log2

import numpy as np
import pytest

from shopwright.pipeline.envs.base import GoalScore, World
from shopwright.pipeline.envs.baselines import ENV_BASELINES
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.journey import keep_one_customer
from shopwright.pipeline.envs.product_discovery import (
    DiscoveryGoal,
    ProductDiscovery,
    rank_discoveries,
    score_preferences,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.user_simulator import WHOLE, UserSimulator
from shopwright.schemas.certificates import parse_certificate, parse_miss
from shopwright.schemas.tasks import Answer
from tests.envs.past_orders import shop as small_shop
from tests.envs.play import ask_all

ENV = ProductDiscovery()
LEVELS = range(13)
EACH = 14
DIRECTIONS = {"price": "at most", "shipping days": "at most", "rating": "at least"}


def goal_of(task):
    return DiscoveryGoal.model_validate_json(task.goal)


def feasible(tasks):
    return [task for task in tasks if task.feasible]


def right(task, *, late=False):
    """The products that its certificate names, the best first."""
    return parse_certificate(task.acceptable).ends[-1 if late else 0].some_of


def score(world, task, ids, refusal="", *, gone=()):
    shop = ENV.shop(world, goal_of(task), compute_axes(task.difficulty), task.id)
    shop.gone |= set(gone)
    return ENV.score(goal_of(task), shop, Answer(recommended_product_ids=ids, refusal=refusal))


def items(world):
    return [world.store.item(row) for row in range(len(world.store))]


def meets_all(goal, item):
    return item.category == goal.category and all(item.meets(each) for each in goal.constraints)


def test_the_certificate_is_what_every_product_of_the_shop_says(world, tasks):
    every = items(world)
    for task in tasks[::4]:
        goal = goal_of(task)
        fits = {item.id for item in every if meets_all(goal, item)}
        if not task.feasible:
            assert not fits
            proof = parse_certificate(task.acceptable).proof
            assert proof.products == sum(item.category == goal.category for item in every)
            continue
        assert set(right(task)) == {id for id in fits if world.store.in_stock[world.store.row(id)]}
        if goal.event:
            gone = {world.store.option_of(variant).product_id for variant in goal.event.variants}
            assert set(right(task, late=True)) == set(right(task)) - gone != set()


def test_the_nearest_miss_misses_exactly_the_constraint_that_it_names(world, tasks):
    for task in tasks:
        goal, miss = goal_of(task), parse_miss(task.nearest_miss)
        item = world.store.item(world.store.row(miss.end.some_of[0]))
        assert [each.fact for each in goal.constraints if not item.meets(each)] == miss.breaks
        assert item.category == goal.category
        found = score(world, task, [item.id])
        assert not found.success
        assert found.task < 0


def test_the_best_list_earns_exactly_one_and_no_other_more(world, tasks):
    swapped = 0
    for task in feasible(tasks):
        goal, best = goal_of(task), right(task)[: goal_of(task).most]
        assert score(world, task, best) == GoalScore(Fraction(1), True)
        gains = rank_discoveries(goal, world.store, set()).gains.tolist()
        if len(best) > 1:
            fewer = score(world, task, best[:-1])
            assert fewer.success
            assert fewer.task < 1
        if len(best) > 1 and gains[0] > gains[1]:
            swapped += 1
            assert score(world, task, [best[1], best[0], *best[2:]]).task < 1
        if len(right(task)) > goal.most and gains[goal.most] < gains[goal.most - 1]:
            assert score(world, task, [*best[:-1], right(task)[goal.most]]).task < 1
    assert swapped > EACH


def test_any_right_product_is_a_success(world, tasks):
    for task in feasible(tasks):
        for id in right(task)[:20]:
            assert score(world, task, [id]).success


def test_a_product_that_does_not_fit_lowers_the_reward_wherever_it_stands(world, tasks):
    for task in feasible(tasks):
        best = right(task)[:2]
        wrong = parse_miss(task.nearest_miss).end.some_of
        alone_ = score(world, task, best)
        for ids in ([*best, *wrong], [*wrong, *best], [*best, best[0]], [*best, "no such product"]):
            found = score(world, task, ids)
            assert found.task < alone_.task
            assert not found.success


def test_the_reward_is_the_published_sum(world, tasks):
    """.55 (2 nDCG - 1) + .35 (2 s ** alpha - 1) + .10 stock, by hand for a list with one product of two right."""
    checked = 0
    for task in feasible(tasks):
        goal, best = goal_of(task), rank_discoveries(goal_of(task), world.store, set())
        gains = best.gains.tolist()[: goal.most]
        ideal = sum(gain / log2(place + 2) for place, gain in enumerate(gains))
        wrong = parse_miss(task.nearest_miss).end.some_of[0]
        found = score(world, task, [wrong, right(task)[0]])
        ndcg = gains[0] / log2(3) / ideal
        assert float(found.task) == pytest.approx(0.55 * (2 * ndcg / 2 - 1) + 0.35 + 0.10, abs=1e-5)
        missed = Fraction(len(goal.constraints), len(goal.constraints) + 1) ** (4 + task.difficulty // 4)
        assert score(world, task, [wrong]).task == Fraction(-55, 100) + Fraction(35, 100) * (2 * missed - 1) + Fraction(
            1, 10
        )
        checked += 1
    assert checked > 4 * EACH


def test_what_is_sold_out_on_the_way_is_right_no_more(world, tasks):
    events = [task for task in feasible(tasks) if goal_of(task).event]
    assert len(events) > EACH
    for task in events:
        goal = goal_of(task)
        gone, after = goal.event.variants, right(task, late=True)
        assert score(world, task, after[: goal.most], gone=gone) == GoalScore(Fraction(1), True)
        found = score(world, task, right(task)[: goal.most], gone=gone)
        assert not found.success
        assert found.task < 1
        assert score(world, task, [right(task)[0]], gone=gone).task < score(world, task, [after[0]], gone=gone).task


def test_a_refusal_is_right_only_where_nothing_fits(world, tasks):
    for task in tasks:
        if task.feasible:
            assert score(world, task, [], "not_found").task == -1
            assert score(world, task, right(task)[:1], "not_found").task == -1
        else:
            wrong = parse_miss(task.nearest_miss).end.some_of
            assert score(world, task, [], "not_found") == GoalScore(Fraction(1), True)
            assert score(world, task, wrong, "not_found").task == score(world, task, wrong).task == -1
            assert score(world, task, [], "sold_out").task == score(world, task, []).task == -1
    assert 0.08 < sum(not task.feasible for task in tasks) / len(tasks) < 0.23


def test_constraints_are_as_many_as_the_level_asks_for_and_in_the_sensible_direction(tasks):
    for task in tasks:
        goal = goal_of(task)
        assert len({each.fact for each in goal.constraints}) == len(goal.constraints) >= 2
        assert goal.constraints[0].fact == "price"
        assert all(each.op == DIRECTIONS.get(each.fact, "is") for each in goal.constraints)
        assert len(goal.constraints) <= 2 + task.difficulty // 2
    plain = [task for task in tasks if not goal_of(task).event]
    for level in LEVELS:
        counts = [len(goal_of(task).constraints) for task in plain if task.difficulty == level]
        assert sum(counts) / len(counts) > 0.93 * (2 + level // 2)


def test_numbers_are_looser_by_the_slack_at_most(world, tasks):
    for task in feasible(tasks):
        goal, slack = goal_of(task), compute_axes(task.difficulty).slack
        dearest = max(int(world.store.cents[world.store.row(id)]) for id in right(task))
        assert goal.limit <= dearest * (1 + slack) + 100
    widths = [
        sum(len(right(task)) for task in feasible(tasks) if task.difficulty in levels) for levels in ((0, 1), (11, 12))
    ]
    assert widths[0] > 2 * widths[1]


def test_the_words_that_are_said_fit_more_wrong_products_than_right_ones(world, tasks):
    for task in feasible(tasks):
        goal, stated = goal_of(task), {slot.name for slot in task.slots if slot.known == "stated"}
        said = [each for each in goal.constraints if each.op == "is" and each.fact in stated]
        rows = world.store.rows_of(world.store.place_of_leaf[goal.category]).tolist()
        worded = [
            row for row in rows if world.store.in_stock[row] and all(world.store.item(row).meets(c) for c in said)
        ]
        assert len(worded) >= 4 * len(right(task))


def test_everything_that_was_left_out_is_told_when_asked(tasks):
    for task in tasks:
        goal, shopper = goal_of(task), UserSimulator(task.slots, seed=task.id)
        said = f"{task.opening} {ask_all(shopper, task)}"
        assert {slot.name for slot in task.slots} == {"category", "priority", *(c.fact for c in goal.constraints)}
        assert all((slot.typed or slot.said).lower() in said.lower() for slot in task.slots), (task.slots, said)
        assert re.search(rf"\b{goal.most}\b", task.opening)


def weighing(goal, name):
    return goal.model_copy(update={"weights": dict.fromkeys(goal.weights, 0) | {name: WHOLE}})


def test_what_a_shopper_weighs_alone_ranks_alone(world, tasks):
    store = world.store
    of = {
        "rating": lambda row: -round(np.nan_to_num(store.ratings[row], nan=1.0), 2),
        "shipping": lambda row: store.shipping[row],
    }
    for task in feasible(tasks)[:60]:
        for name, value in of.items():
            rows = rank_discoveries(weighing(goal_of(task), name), store, set()).rows.tolist()
            assert all(value(first) <= value(second) for first, second in pairwise(rows)), name
        goal = goal_of(task)
        if goal.reference:
            like = store.item(store.row(goal.reference))
            rows = rank_discoveries(weighing(goal, "brand"), store, set()).rows.tolist()
            same = [store.item(row).brand == like.brand for row in rows]
            assert same == sorted(same, reverse=True)


def test_cheaper_is_liked_better(world, tasks):
    task = max(feasible(tasks), key=lambda task: len(right(task)))
    goal = weighing(goal_of(task), "price")
    shelf = world.store.shelf(world.store.place_of_leaf[goal.category])
    best = rank_discoveries(goal, world.store, set())
    cents = world.store.cents[best.rows].tolist()
    assert all(first <= second + goal.limit // 1_000 + 1 for first, second in pairwise(cents))
    assert cents[-1] > 1.2 * cents[0]
    assert len(set(best.gains.tolist())) > 2
    assert score_preferences(goal, world.store, shelf, best.rows[:0]).tolist() == []


def test_what_matters_most_is_told_in_its_order(world, tasks):
    words = {"price": "a low price", "rating": "a good rating", "shipping": "fast shipping"}
    for task in tasks:
        goal = goal_of(task)
        said = next(slot.said for slot in task.slots if slot.name == "priority")
        order = sorted(words, key=lambda name: (-goal.weights[name], name))
        assert sorted(words, key=lambda name: said.index(words[name])) == order
        assert sum(goal.weights.values()) == WHOLE


def test_a_task_is_its_number(world, tasks):
    assert [draw_task(ENV, world, level, 3) for level in LEVELS] == [task for task in tasks if task.seed == 3]
    assert len({task.opening for task in tasks}) > 0.9 * len(tasks)
    assert pickle.loads(pickle.dumps(tasks[0])) == tasks[0]


def test_a_shop_with_few_facts_has_tasks_too():
    world = small_shop()
    counts = Counter()
    for level in (0, 1, 2, 3):
        for seed in range(20):
            task = draw_task(ENV, world, level, seed)
            counts[len(goal_of(task).constraints)] += 1
            assert play_episode(Episode(ENV, world, task), play_solution).success
    assert counts[2] > 10


def test_a_shop_without_choice_says_so():
    world = small_shop(products=6)
    with pytest.raises(Problem, match=r"facts that a shopper could ask for.*It supports none"):
        draw_task(ENV, World(keep_one_customer(world.store, None), world.finder), 4, 0)


@pytest.mark.parametrize("level", [1, 3])
def test_cheap_policies_earn_nothing(world, level):
    some = [draw_task(ENV, world, level, seed) for seed in range(40)]
    for name in ("first-result", "everything-into-the-cart", "copy-the-profile", "recommend-without-searching"):
        totals = [play_episode(Episode(ENV, world, task), ENV_BASELINES[name]).total for task in some]
        assert sum(totals) / len(totals) < -0.2, name
