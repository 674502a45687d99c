from collections import Counter
from datetime import datetime
from fractions import Fraction
from functools import partial
from itertools import pairwise

import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.baselines import ENV_BASELINES
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.substitution import (
    RankedSubstitute,
    Substitution,
    SubstitutionGoal,
    compute_rank_discount,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.certificates import Constraint, parse_certificate, parse_miss
from shopwright.schemas.shop import Product, Variant
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs import past_orders
from tests.envs.play import ask_all, open_shop, parse_goal, score_answer

ENV = Substitution()
LEVELS = range(13)
EACH = 16
goal_of, score = partial(parse_goal, ENV), partial(score_answer, ENV)
shop_of = partial(open_shop, ENV)


def ends(task):
    return parse_certificate(task.acceptable).ends[0].some_of


def items(world, category):
    store = world.store
    return [store.item(int(row)) for row in store.rows_of(store.place_of_leaf[category])]


def fitting(world, goal):
    """One product after the other, in stock or not."""
    return [
        item
        for item in items(world, goal.category)
        if item.id != goal.original and all(item.meets(each) for each in goal.constraints)
    ]


def shown(world, task, product):
    """As the tools show it in the episode."""
    return shop_of(world, task).catalog_get_product(product)


def test_some_tasks_cannot_be_done_for_either_reason(tasks):
    reasons = Counter(goal_of(task).refusal for task in tasks)
    assert 0.08 < 1 - reasons[""] / len(tasks) < 0.22
    assert reasons["sold_out"] > 5
    assert reasons["not_found"] > 5


def test_acceptable_is_what_meets_every_demand_looked_at_one_by_one(world, tasks):
    for task in filter(lambda task: task.feasible, tasks):
        right = {item.id for item in fitting(world, goal_of(task)) if shown(world, task, item.id)["in_stock"]}
        assert right == set(ends(task)), task.id
        assert right


def test_few_products_do_and_every_demand_excludes_something(world, tasks):
    for task in filter(lambda task: task.feasible, tasks):
        goal = goal_of(task)
        there = [item for item in items(world, goal.category) if item.id != goal.original]
        assert len(ends(task)) <= max(1, len(there) // 6)
        assert len(goal.constraints) >= 2
        for each in goal.slots[1:]:
            met = [one for one in goal.constraints if one.fact.partition(" ")[0] == each.name.partition(" ")[0]]
            assert any(not all(item.meets(one) for one in met) for item in items(world, goal.category)), each


def test_the_original_is_sold_out_and_never_the_answer(world, tasks):
    for task in tasks:
        goal = goal_of(task)
        assert not shown(world, task, goal.original)["in_stock"]
        original = next(slot for slot in task.slots if slot.name == "original")
        assert shown(world, task, goal.original)["title"] == original.said
        assert (original.typed or original.said).lower() in task.opening.lower()
        assert not score(world, task, goal.original).success
        if task.feasible:
            assert score(world, task, goal.original).task == -1


def test_each_acceptable_product_is_a_success_and_the_best_ones_in_order_earn_exactly_one(world, tasks):
    for task in filter(lambda task: task.feasible, tasks):
        right, most = ends(task), compute_axes(task.difficulty).recommendations
        assert all(score(world, task, product).success for product in right)
        assert score(world, task, *right[:most]).task == 1
        likeness = [each.alike for each in goal_of(task).best]
        assert all(one >= other for one, other in pairwise(likeness))
        if likeness[0] > likeness[-1]:
            assert score(world, task, goal_of(task).best[-1].product_id).task < 1


def test_the_nearest_miss_breaks_one_demand_and_fails(world, tasks):
    stock = 0
    for task in tasks:
        goal, miss = goal_of(task), parse_miss(task.nearest_miss)
        [product] = miss.end.some_of
        item = world.store.item(world.store.row(product))
        broken = {each.fact.partition(" (")[0] for each in goal.constraints if not item.meets(each)}
        if not shown(world, task, product)["in_stock"]:
            broken.add("in stock")
            stock += 1
        names = {"shipping": "shipping days"}
        assert broken == {names.get(each, each) for each in miss.breaks}, task.id
        assert not score(world, task, product).success
        assert not task.feasible or score(world, task, product).task < 0
    assert stock


def test_what_cannot_be_done_is_proved(world, tasks):
    for task in tasks:
        goal = goal_of(task)
        if goal.refusal == "sold_out":
            there = fitting(world, goal)
            assert there
            assert not any(shown(world, task, item.id)["in_stock"] for item in there)
        if goal.refusal == "not_found":
            original = world.store.item(world.store.row(goal.original))
            assert not fitting(world, goal)
            assert not all(original.meets(each) for each in goal.constraints)


def test_refusals_count_and_needless_or_wrong_ones_fail(world, tasks):
    for task in tasks:
        goal = goal_of(task)
        for refusal in ("sold_out", "not_found"):
            found = score(world, task, refusal=refusal)
            assert (found.task, found.success) == ((1, True) if refusal == goal.refusal else (-1, False))
        if goal.feasible:
            assert score(world, task, ends(task)[0], refusal="sold_out").task == -1
        else:
            assert not score(world, task, goal.original, refusal=goal.refusal).success


def test_every_demand_is_told_when_asked_for_and_the_opening_keeps_it(tasks):
    hidden = 0
    for task in tasks:
        untold = [slot for slot in task.slots if slot.known == "asked"]
        hidden += len(untold)
        shopper = UserSimulator(task.slots, seed=task.id)
        said = ask_all(shopper, task)
        for slot in untold:
            assert slot.said.lower() in said.lower(), (task.id, slot)
            assert shopper.disclosure[slot.name] == "told"
        told = {slot.name for slot in task.slots}
        assert len(told) == len(task.slots)
        facts = {
            each.fact.partition(" (")[0].replace("shipping days", "shipping") for each in goal_of(task).constraints
        }
        assert facts | {"original"} == told
    assert hidden > 200


def test_a_sell_out_on_the_way_takes_the_best_and_leaves_the_next(world, tasks):
    sold = [task for task in tasks if goal_of(task).event]
    assert len(sold) > 20
    for task in sold:
        goal = goal_of(task)
        best, then = [each.product_id for each in goal.best[:2]]
        before, after = parse_certificate(task.acceptable).ends
        assert (before.after_sell_out, after.after_sell_out) == (False, True)
        assert [best, *after.some_of] == before.some_of
        assert score(world, task, best).task == 1
        assert not score(world, task, best, gone=goal.event.variants).success
        assert score(world, task, then, gone=goal.event.variants).task == 1


def test_the_shopper_mentions_the_sell_out_to_whom_it_concerns(world, tasks):
    task = next(task for task in tasks if (event := goal_of(task).event) and event.after == 1)
    best = goal_of(task).best[0].product_id
    for product, told in ((best, True), (goal_of(task).original, False)):
        episode = Episode(ENV, world, task)
        episode.reset()
        look = Action(tool_calls=[Call(name="catalog_get_product", args={"product_id": product})])
        observation = episode.step(look)[0]
        title = " ".join(shown(world, task, product)["title"].split())
        assert (title.lower() in observation["user"].lower()) == told


def first_similar(episode):
    """Takes the first product in stock that a search for the opening finds."""
    search = Call(name="catalog_search", args={"query": episode.task.opening[:400]})
    observation = yield Action(tool_calls=[search])
    found = [each["product_id"] for each in observation["results"][0]["results"] if each["in_stock"]]
    yield Action(answer=Answer(recommended_product_ids=found[:1]))


@pytest.mark.parametrize("name", ENV_BASELINES)
def test_cheap_ways_earn_nothing(world, tasks, name):
    for levels in ((1, 2, 3), (6, 7, 8), (11, 12)):
        mine = [task for task in tasks if task.difficulty in levels]
        rewards = [play_episode(Episode(ENV, world, task), ENV_BASELINES[name]).total for task in mine]
        assert sum(rewards) / len(rewards) <= 0, levels


@pytest.mark.parametrize("levels", [(1, 2, 3), (6, 7, 8), (11, 12)])
def test_the_first_similar_product_earns_nothing(world, levels):
    """On many tasks: a few of the easy ones say little."""
    mine = (draw_task(ENV, world, level, seed) for level in levels for seed in range(50))
    rewards = [play_episode(Episode(ENV, world, task), first_similar).total for task in mine]
    assert sum(rewards) / len(rewards) <= 0


def mug(number, brand="Pell", color="blue", material="steel", price=20, stock=5):
    row = dict.fromkeys(Product.model_fields)
    lists = ("promotions", "options", "bullets", "queries", "repairs")
    return (
        row
        | {name: [] for name in lists}
        | {
            "id": f"M{number}",
            "title": f"{brand} mug {number}",
            "brand": brand,
            "color": color,
            "category_path": ["Home", "Mugs"],
            "category": "Mugs",
            "price": price,
            "price_is_simulated": False,
            "attributes": [{"name": "material", "value": material, "number": None, "unit": None}],
            "source": "hand",
            "source_licence": "CC0-1.0",
            "stock": stock,
        }
    )


def shop(mugs):
    offers = [
        {"id": f"{each['id']}-a", "product_id": each["id"], "price": each["price"], "stock": each["stock"]}
        | {"choices": [{"name": "color", "value": each["color"]}], "is_title": True}
        for each in mugs
    ]
    products = [{name: value for name, value in each.items() if name != "stock"} for each in mugs]
    tables = [
        pa.Table.from_pylist(rows, schema=arrow_schema(kind)) for rows, kind in ((products, Product), (offers, Variant))
    ]
    store = Store(*tables)
    return World(store, Search(store))


MUGS = [
    mug(0),
    mug(1, material="glass"),  # two of three facts in common with the first
    mug(2, brand="Orsolby", color="red"),  # one
    mug(3, price=60),
    mug(4, stock=0),
    mug(5, brand="Orsolby"),  # two
]
GOAL = SubstitutionGoal(
    persona_id="nobody",
    now=datetime(2024, 6, 3),
    slots=[],
    sold_out=["M0-a"],
    original="M0",
    category="Mugs",
    constraints=[Constraint(fact="price", op="at most", value="$30", number=3000)],
    facts=3,
    weight=10,
    best=[
        RankedSubstitute(product_id="M1", alike=2),
        RankedSubstitute(product_id="M5", alike=2),
        RankedSubstitute(product_id="M2", alike=1),
    ],
)


def worth(*named, mugs=MUGS, goal=GOAL):
    found = ENV.score(
        goal, ENV.shop(shop(mugs), goal, compute_axes(2), "hand"), Answer(recommended_product_ids=list(named))
    )
    return found.task, found.success


@pytest.mark.parametrize("mugs", [MUGS, MUGS[::-1]], ids=["as made", "backwards"])
def test_rewards_worked_out_by_hand(mugs):
    first, second = compute_rank_discount(0), compute_rank_discount(1)
    best, least = Fraction(5, 6), Fraction(2, 3)  # half for doing, half of 2/3 and 1/3 for likeness
    assert worth("M1", mugs=mugs) == worth("M1", "M5", "M2", mugs=mugs) == (1, True)
    rank = 2 * least / best - 1
    assert worth("M2", mugs=mugs) == (Fraction(4, 5) * rank + Fraction(1, 5), True)
    rank = 2 * (least * first + best * second) / (best * (first + second)) - 1
    assert worth("M2", "M1", mugs=mugs) == (Fraction(4, 5) * rank + Fraction(1, 5), True)
    assert worth("M3", mugs=mugs) == (Fraction(-3, 5), False)  # too dear
    assert worth("M0", mugs=mugs) == worth("M4", mugs=mugs) == worth("none such", mugs=mugs) == (-1, False)
    rank = 2 * Fraction(first, first + second) - 1
    assert worth("M1", "M3", mugs=mugs) == (Fraction(4, 5) * rank + Fraction(1, 5), False)
    assert worth("M1", "M1", mugs=mugs) == (Fraction(4, 5) * rank + Fraction(1, 5), False)
    full, last = best * (first + second) + least * compute_rank_discount(2), least * compute_rank_discount(3)
    rank = 2 * full / (full + last) - 1  # one more than there are
    assert worth("M1", "M5", "M2", "M3", mugs=mugs) == (Fraction(4, 5) * rank + Fraction(1, 5), False)
    assert worth(mugs=mugs) == (-1, False)
    back = GOAL.model_copy(update={"sold_out": []})
    assert worth("M0", mugs=mugs, goal=back) == (Fraction(-3, 5), False)


def test_one_demand_broken_lowers_the_reward():
    dear = [*MUGS[:1], mug(1, material="glass", price=31), *MUGS[2:]]
    assert worth("M1", mugs=dear)[0] < worth("M1")[0]
    other = GOAL.model_copy(update={"category": "Cups"})
    assert worth("M1", goal=other)[0] < worth("M1")[0]


def test_a_shop_without_substitutes_says_so():
    with pytest.raises(Problem, match="fewer than 3 other products of a category are in stock"):
        draw_task(ENV, shop(MUGS[:3]), 0, 0)


def test_a_shop_of_few_facts_is_enough_and_one_draw_is_like_the_next():
    world = past_orders.shop()
    found = [draw_task(ENV, world, level, seed) for level in LEVELS for seed in range(3)]
    assert found == [draw_task(ENV, world, level, seed) for level in LEVELS for seed in range(3)]
    assert all(play_episode(Episode(ENV, world, task), play_solution).success for task in found)
