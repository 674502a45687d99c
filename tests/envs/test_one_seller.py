"""Lists of one seller: what is right is found by looking at every product, and nothing else earns everything."""

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.envs.baselines import ENV_BASELINES
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.one_of_each import NeededCategory, ThingsGoal
from shopwright.pipeline.envs.one_seller import OneSeller
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.sellers import assign_sellers, draw_sellers
from shopwright.pipeline.shop.tools import call_tool
from shopwright.schemas.certificates import parse_certificate, parse_miss
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs.play import parse_goal, score_answer
from tests.envs.test_bundle_planning import cup, that_do
from tests.envs.test_substitution import mug, shop

ENV = OneSeller()
LEVELS = range(13)
EACH = 12
goal_of, score = partial(parse_goal, ENV), partial(score_answer, ENV)


def find_assortments(world, goal, gone=()):
    """By seller that has something for each thing: what, found one product at a time."""
    found = {}
    for place, need in enumerate(goal.needs):
        for item in that_do(world, need):
            if not {option.id for option in world.store.options(item.row)} <= set(gone):
                seller = world.store.brief(item.row)["seller"]
                found.setdefault(seller, [[] for _ in goal.needs])[place].append(item.id)
    return {seller: lists for seller, lists in found.items() if all(lists)}


def test_the_certificate_is_what_looking_at_every_product_finds(world, tasks):
    for task in tasks:
        goal, found = goal_of(task), parse_certificate(task.acceptable)
        whole = find_assortments(world, goal, goal.sold_out)
        assert bool(whole) == task.feasible, task.id
        if task.feasible:
            told = {each.seller: [set(ids) for ids in each.product_ids] for each in found.sellers}
            assert told == {seller: [set(ids) for ids in lists] for seller, lists in whole.items()}, task.id
            assert 1 <= len(told) <= 3


def test_every_list_of_one_seller_is_a_success_and_no_mixed_one(world, tasks):
    mixed = 0
    for task in filter(lambda task: task.feasible and not goal_of(task).event, tasks[::3]):
        goal = goal_of(task)
        own = {item.id: world.store.seller_of(item.row) for need in goal.needs for item in that_do(world, need)}
        few = [[item.id for item in that_do(world, need)][:6] for need in goal.needs]
        for ids in product(*few):
            one = len({own[id] for id in ids}) == 1
            assert score(world, task, *ids).success == one, (task.id, ids)
            mixed += not one
    assert mixed > 1_000


def test_things_have_several_sellers_and_the_cheapest_of_each_are_not_of_one(world, tasks):
    for task in tasks:
        goal, cheapest = goal_of(task), []
        for need in goal.needs:
            items = that_do(world, need)
            assert len({world.store.seller_of(item.row) for item in items}) > 1, task.id
            cheapest.append(items[0].id)
        if task.feasible:
            assert not score(world, task, *cheapest).success, task.id


def test_what_is_asked_does_not_tell_whether_it_can_be_had(tasks):
    counts = {True: Counter(), False: Counter()}
    for task in tasks:
        counts[task.feasible][len(task.slots) - 2 * len(goal_of(task).needs)] += 1
    means = [sum(n * count for n, count in each.items()) / each.total() for each in counts.values()]
    assert abs(means[0] - means[1]) < 1
    assert min(each.total() for each in counts.values()) > 20


def test_the_nearest_miss_has_one_product_of_another_seller(world, tasks):
    for task in tasks:
        named = parse_miss(task.nearest_miss).end.answer.recommended_product_ids
        goal = goal_of(task)
        for need, id in zip(goal.needs, named, strict=True):
            assert id in {item.id for item in that_do(world, need)}
        assert len({world.store.seller_of(world.store.row(id)) for id in named}) > 1
        assert score(world, task, *named).task < 1


def test_the_right_refusal_counts_and_a_needless_one_fails(world, tasks):
    for task in tasks:
        found = score(world, task, refusal="not_found")
        assert (found.task, found.success) == ((-1, False) if task.feasible else (1, True))
        if not task.feasible:
            assert not score(world, task, *goal_of(task).right, refusal="not_found").success


def test_what_sells_out_leaves_a_list_of_one_seller(world, tasks):
    sold, moved = 0, 0
    for task in tasks:
        goal = goal_of(task)
        if goal.event is None:
            continue
        sold += 1
        right = parse_certificate(task.acceptable)
        assert right.sells_out in goal.right
        assert not score(world, task, *goal.right, gone=goal.event.variants).success
        assert score(world, task, *goal.spare, gone=goal.event.variants).success
        moved += len({*goal.spare, *goal.right}) == 2 * len(goal.right)
    assert sold > 20
    assert moved  # now and then only another seller is left


def play_exhaustively(episode):
    """Who knows what is wanted, sees what a search by seller shows, and tries one seller after another."""
    shop, goal = episode.shop, episode.goal
    for seller in episode.world.store.seller_names:
        picked = []
        for need in goal.needs:
            args = {"query": "", "category": need.category, "seller": seller}
            shown = [
                each
                for page in range(1, 9)
                for each in call_tool(shop, "catalog_search", {**args, "page": page})["results"]
            ]
            items = [episode.world.store.item(episode.world.store.row(each["product_id"])) for each in shown]
            fine = [
                item.id for item in items if item.category == need.category and all(map(item.meets, need.constraints))
            ]
            fine = [id for id in fine if shop.is_in_stock(episode.world.store.row(id))]
            picked += fine[:1]
        if len(picked) == len(goal.needs):
            return Answer(env="one_seller", recommended_product_ids=picked)
    return Answer(env="one_seller", refusal="not_found")


def test_trying_every_seller_by_search_earns_everything(world):
    """In searches in which nothing is crowded out by what does not fit."""
    for level in (0, 2, 4):
        at = replace(compute_axes(level), sells_out=0.0, distractors=0.0)
        for seed in range(12):
            episode = Episode(ENV, world, draw_task(ENV, world, level, 40 + seed, at=at), at=at)
            episode.reset()
            reward = episode.step(Action(answer=play_exhaustively(episode)))[3]["reward"]
            assert (reward.task, reward.success, reward.hallucination) == (1, True, 0), (episode.task.id, reward.fault)


@pytest.mark.parametrize("name", ENV_BASELINES)
def test_cheap_ways_earn_nothing(world, tasks, name):
    rewards = [play_episode(Episode(ENV, world, task), ENV_BASELINES[name]) for task in tasks[::4]]
    assert not any(reward.success for reward in rewards)
    assert sum(reward.total for reward in rewards) < 0


HAND = shop([mug(n, price=10) for n in range(1, 7)] + [cup(n, price=20) for n in range(7, 13)])
SELLERS = {id: HAND.store.seller_of(row) for row, id in enumerate(HAND.store.ids.to_pylist())}
MUG, CUP = next(
    (a, b)
    for a, b in product([f"M{n}" for n in range(1, 7)], [f"M{n}" for n in range(7, 13)])
    if SELLERS[a] == SELLERS[b]
)
OTHER = next(f"M{n}" for n in range(7, 13) if SELLERS[f"M{n}"] != SELLERS[MUG])
GOAL = ThingsGoal(
    persona_id="nobody",
    now=datetime(2024, 6, 3),
    slots=[],
    needs=[NeededCategory(category=name, constraints=[], cheapest=[]) for name in ("Mugs", "Cups")],
)


@pytest.mark.parametrize(
    ("named", "task", "success"),
    [
        ([MUG, CUP], 1, True),
        ([CUP, MUG], 1, True),
        ([MUG, OTHER], 0, False),
        ([MUG], Fraction(1, 3), False),
        ([MUG, CUP, OTHER], Fraction(3, 5), False),
        ([MUG, CUP, CUP], Fraction(3, 5), False),
        ([MUG, "none such"], 0, False),
        ([], -1, False),
    ],
)
def test_rewards_worked_out_by_hand(named, task, success):
    found = ENV.score(GOAL, ENV.shop(HAND, GOAL, compute_axes(0), "hand"), Answer(recommended_product_ids=named))
    assert (found.task, found.success) == (task, success)


def test_a_shop_of_one_category_says_so():
    with pytest.raises(Problem, match="there are 1 categories, and a list needs 2"):
        draw_task(ENV, shop([mug(0), mug(1)]), 0, 0)


def test_another_seed_gives_the_same_shop_other_sellers(world):
    one, other = gym.world(products=240, customers=1), gym.world(products=240, customers=1, seed=1)
    assert one.store.seller_names != other.store.seller_names
    assert set(one.store.seller_names) & set(other.store.seller_names)


def test_shares_are_skewed_and_each_category_has_several_sellers(world):
    store = world.store
    counts = Counter(store.sellers.tolist())
    assert len(counts) == len(draw_sellers(0)) == len(set(draw_sellers(0)))
    assert max(counts.values()) > 5 * min(counts.values())
    assert all(len({*store.sellers[store.rows_of(leaf)].tolist()}) >= 5 for leaf in range(len(store.leaves)))


def test_a_brand_is_mostly_sold_by_few():
    """And a product's seller hangs on nothing but its title, its brand and its category."""
    titles, first, second = [f"thing {n}" for n in range(4_000)], np.zeros(4_000, int), np.ones(4_000, int)
    found = assign_sellers(0, titles, first, ["Norrvik"], first, ["Lamps"])
    assert sum(count for _, count in Counter(found.tolist()).most_common(3)) > 2_000
    again = assign_sellers(0, titles[::-1], second, ["Else", "Norrvik"], second, ["Mugs", "Lamps"])
    assert again.tolist() == found.tolist()[::-1]


def test_a_search_by_seller_finds_all_of_its_products_and_no_other(world):
    store = world.store
    for place, name in list(enumerate(store.seller_names))[::5]:
        rows = world.finder.find("", limit=len(store), category=store.leaves[0], seller=name.upper())
        assert sorted(rows.tolist()) == sorted(row for row in store.rows_of(0).tolist() if store.sellers[row] == place)
    assert not len(world.finder.find("lamp", limit=9, seller="Nobody & Sons"))


def test_pages_and_lists_name_the_seller(world, tasks):
    episode = Episode(ENV, world, tasks[0])
    episode.reset()
    id = world.store.ids[7].as_py()
    calls = [Call(name="catalog_get_product", args={"product_id": id})]
    shown = episode.step(Action(tool_calls=calls))[0]["results"][0]
    assert shown["seller"] == world.store.seller_of(7)


def test_the_solver_earns_everything_where_much_sells_out(world):
    at = replace(compute_axes(8), sells_out=1.0)
    found = [draw_task(ENV, world, 8, seed, at=at) for seed in range(25)]
    assert sum(json.loads(task.goal)["event"] is not None for task in found) > 8
    for task in found:
        reward = play_episode(Episode(ENV, world, task, at=at), play_solution)
        assert (reward.task, reward.success, reward.hallucination) == (1, True, 0), task.id
