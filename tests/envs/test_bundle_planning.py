from collections import Counter
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from random import Random

import pytest

from shopwright.pipeline.catalog.reference import domains
from shopwright.pipeline.envs.baselines import ENV_BASELINES
from shopwright.pipeline.envs.bundle_planning import BundleGoal, BundlePlanning
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.one_of_each import NeededCategory, draw_project_categories, load_projects
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.certificates import Constraint, parse_certificate, parse_miss
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs import past_orders
from tests.envs.play import ask_all, open_shop, parse_goal, score_answer
from tests.envs.test_substitution import mug, shop

ENV = BundlePlanning()
LEVELS = range(13)
EACH = 12
goal_of, score = partial(parse_goal, ENV), partial(score_answer, ENV)
shop_of = partial(open_shop, ENV)


def that_do(world, need, *, sold_out=False):
    """The products that do for a need, looked at one by one, the cheapest first."""
    store = world.store
    items = [store.item(int(row)) for row in store.rows_of(store.place_of_leaf[need.category])]
    found = [item for item in items if all(item.meets(each) for each in need.constraints)]
    return sorted(
        (item for item in found if sold_out or any(each.stock for each in store.options(item.row))),
        key=lambda item: item.cents,
    )


def cheapest(goal):
    return [need.cheapest[0] for need in goal.needs]


def test_lists_grow_with_the_level_and_name_categories_of_the_shop(world, tasks):
    for task in tasks:
        categories = [need.category for need in goal_of(task).needs]
        assert len(set(categories)) == len(categories) == 3 + task.difficulty // 2
        assert set(categories) <= set(world.store.leaves)
        assert [each.value for each in task.slots[0].facts] == categories
        assert (task.slots[0].typed or task.slots[0].said).lower() in task.opening.lower()
    # Of twenty categories twelve have one of a kind that tests alone have.
    assert {len(goal_of(draw_task(ENV, world, level, 0, side="test")).needs) for level in (18, 30)} == {12}


def test_some_tasks_cannot_be_done_for_either_reason(tasks):
    reasons = Counter(goal_of(task).refusal for task in tasks)
    assert 0.08 < 1 - reasons[""] / len(tasks) < 0.22
    assert min(reasons["over_budget"], reasons["not_found"]) > 5


def test_the_certificate_is_what_looking_at_every_product_finds(world, tasks):
    """A list is within the budget just when the cheapest product that does for each category is affordable with the others."""
    for task in tasks:
        goal = goal_of(task)
        do = [that_do(world, need) for need in goal.needs]
        found = parse_certificate(task.acceptable)
        told = found if task.feasible else found.proof
        counted = [item.count for item in told.items]
        assert counted == list(map(len, do)), task.id
        if goal.refusal == "not_found":
            assert any(not that_do(world, need, sold_out=True) for need in goal.needs)
        else:
            least = sum(items[0].cents for items in do)
            assert (least <= goal.budget) == task.feasible
            assert told.least == least
            assert [items[0].cents for items in do] == [
                world.store.item(world.store.row(id)).cents for id in cheapest(goal)
            ]


def test_any_affordable_list_of_products_that_do_is_a_success_and_no_dearer_one(world, tasks):
    dear = 0
    for task in filter(lambda task: task.feasible, tasks):
        goal = goal_of(task)
        do = [that_do(world, need) for need in goal.needs]
        for pick in (0, 1, len(goal.needs), -1):
            items = [each[min(pick, len(each) - 1)] for each in do]
            found = score(world, task, *(item.id for item in items))
            over = Fraction(max(0, sum(item.cents for item in items) - goal.budget), goal.budget)
            assert found.success == (not over)
            assert found.task == max(-1, 1 - over)
            dear += bool(over)
    assert dear > 50


def test_the_nearest_miss_breaks_one_thing_and_fails(world, tasks):
    kinds = Counter()
    for task in tasks:
        goal, miss = goal_of(task), parse_miss(task.nearest_miss)
        named = miss.end.answer.recommended_product_ids
        found = score(world, task, *named)
        assert not found.success
        assert found.task < 1
        items = [world.store.item(world.store.row(id)) for id in named]
        broken = {
            f"{each.fact.partition(' (')[0].replace('shipping days', 'shipping')} of {need.category}"
            for need, item in zip(goal.needs, items, strict=False)
            for each in need.constraints
            if not item.meets(each)
        }
        broken |= {"budget"} if sum(item.cents for item in items) > goal.budget else set()
        broken |= {"list"} if len(named) < len(goal.needs) else set()
        assert broken == set(miss.breaks), task.id
        kinds[miss.breaks[0] in ("budget", "list")] += 1
    assert min(kinds.values()) > 5


def test_refusals_count_and_needless_or_wrong_ones_fail(world, tasks):
    for task in tasks:
        goal = goal_of(task)
        for refusal in ("over_budget", "not_found", "sold_out"):
            found = score(world, task, refusal=refusal)
            assert (found.task, found.success) == ((1, True) if refusal == goal.refusal else (-1, False))
        if goal.feasible:
            assert score(world, task, *cheapest(goal), refusal="over_budget").task == -1
        else:
            named = [id for need in goal.needs for id in need.cheapest[:1]]
            assert not score(world, task, *named, refusal=goal.refusal).success


def test_what_is_asked_of_a_product_does_not_tell_whether_the_list_can_be_had(tasks):
    """Caps of price and makers occur in both kinds of task."""
    for fact in ("price", "brand"):
        kinds = {task.feasible for task in tasks if any(slot.name.startswith(f"{fact} of") for slot in task.slots)}
        assert kinds == {True, False}


def test_every_demand_is_told_when_asked_for(tasks):
    hidden = 0
    for task in tasks:
        untold = [slot for slot in task.slots if slot.known == "asked"]
        hidden += len(untold)
        shopper = UserSimulator(task.slots, seed=task.id)
        said = ask_all(shopper, task)
        for slot in untold:
            assert slot.said.lower() in said.lower(), (task.id, slot)
            assert shopper.disclosure[slot.name] == "told"
        assert len({slot.name for slot in task.slots}) == len(task.slots)
        demanded = sum(len(need.constraints) for need in goal_of(task).needs)
        assert demanded + 2 == len(task.slots)
    assert hidden > 200


def test_harder_tasks_demand_more(tasks):
    count = [
        sum(len(need.constraints) for task in tasks if task.difficulty == level for need in goal_of(task).needs)
        for level in (0, 6, 12)
    ]
    assert count[0] < count[1] < count[2]


def test_a_sell_out_on_the_way_leaves_a_list_that_can_be_had(world, tasks):
    sold = [task for task in tasks if goal_of(task).event]
    assert len(sold) > 20
    for task in sold:
        goal = goal_of(task)
        gone = parse_certificate(task.acceptable).sells_out
        assert {world.store.option_of(each).product_id for each in goal.event.variants} == {gone}
        before = cheapest(goal)
        after = [need.cheapest[need.cheapest[0] == gone] for need in goal.needs]
        assert score(world, task, *before).task == 1
        assert score(world, task, *before, gone=goal.event.variants).task < 1
        assert score(world, task, *after, gone=goal.event.variants).success


def test_nothing_sells_out_where_the_rest_would_be_too_dear():
    kinds = ({"category": leaf, "category_path": ["Home", leaf]} for leaf in ("Mugs", "Cups", "Bowls"))
    world = shop([mug(10 * n + at, price=10 + 4 * at) | kind for n, kind in enumerate(kinds) for at in (0, 1)])
    at, found = replace(compute_axes(1), constraints=1, sells_out=1.0), Counter()
    for seed in range(500):
        task = draw_task(ENV, world, 1, seed, at=at)
        if task.feasible:
            enough = goal_of(task).budget >= 3_400
            found[enough] += 1
            assert (goal_of(task).event is not None) == enough
    assert min(found.values()) > 5


def test_as_many_products_may_be_named_as_the_list_is_long(world, tasks):
    task = next(task for task in tasks if task.feasible and task.difficulty == 12 and not goal_of(task).event)
    goal = goal_of(task)
    assert len(goal.needs) > compute_axes(12).recommendations
    for extra, success in (([], True), (["none such"], False)):
        episode = Episode(ENV, world, task)
        episode.reset()
        answer = Answer(recommended_product_ids=[*cheapest(goal), *extra])
        _, _, done, info = episode.step(Action(answer=answer))
        assert done
        assert info["reward"].success == success


@pytest.mark.parametrize("name", ENV_BASELINES)
def test_cheap_ways_earn_nothing(world, tasks, name):
    for levels in ((1,), (2, 3), (6, 7), (11, 12)):
        mine = [task for task in tasks if task.difficulty in levels]
        rewards = [play_episode(Episode(ENV, world, task), ENV_BASELINES[name]).total for task in mine]
        assert sum(rewards) / len(rewards) <= 0, levels


def test_projects_name_categories_of_the_sample_catalog_and_are_long_enough():
    leaves = {leaf.name for domain in domains() for leaf in domain.leaves}
    for project in load_projects()["projects"]:
        assert set(project["categories"]) <= leaves, project["name"]
        assert len(set(project["categories"])) == len(project["categories"]) >= 12


@pytest.mark.slow
def test_other_shops_have_lists_of_a_group_or_of_everything(world):
    store = past_orders.shop().store
    assert {draw_project_categories(store, 3, Random(seed))[0] for seed in range(40)} == {
        f"a big order from your {group} department" for group in ("Home", "Clothing", "Digital", "Leisure")
    }
    assert draw_project_categories(store, 12, Random(0))[0] == load_projects()["mixed"]
    found = [draw_task(ENV, past_orders.shop(), level, seed) for level in LEVELS for seed in range(3)]
    assert found == [draw_task(ENV, past_orders.shop(), level, seed) for level in LEVELS for seed in range(3)]
    assert all(play_episode(Episode(ENV, past_orders.shop(), task), play_solution).success for task in found)


def test_a_shop_with_too_few_categories_says_so():
    with pytest.raises(Problem, match="there are 1 categories, and a list needs 3"):
        draw_task(ENV, shop([mug(0), mug(1)]), 0, 0)


def cup(number, **facts):
    return mug(number, **facts) | {"category": "Cups", "category_path": ["Home", "Cups"]}


HAND = shop([mug(1, price=10), mug(2, price=12), cup(3, price=20), cup(4, price=30, color="red"), cup(5, stock=0)])
GOAL = BundleGoal(
    persona_id="nobody",
    now=datetime(2024, 6, 3),
    slots=[],
    needs=[
        NeededCategory(category="Mugs", constraints=[], cheapest=["M1", "M2"]),
        NeededCategory(category="Cups", constraints=[Constraint(fact="color", op="is", value="blue")], cheapest=["M3"]),
    ],
    budget=3_000,
)


@pytest.mark.parametrize(
    ("named", "task", "success"),
    [
        (["M1", "M3"], 1, True),
        (["M2", "M3"], 1 - Fraction(200, 3_000), False),  # two dollars over the budget
        (["M1"], Fraction(1, 3), False),
        (["M1", "M4"], Fraction(0) - Fraction(1_000, 3_000), False),  # the red one
        (["M1", "M5"], 0, False),  # sold out
        (["M1", "M3", "M3"], Fraction(3, 5), False),
        (["M1", "M3", "none such"], Fraction(3, 5), False),
        (["none such"], -1, False),
        ([], -1, False),
    ],
)
def test_rewards_worked_out_by_hand(named, task, success):
    found = ENV.score(GOAL, ENV.shop(HAND, GOAL, compute_axes(0), "hand"), Answer(recommended_product_ids=named))
    assert (found.task, found.success) == (task, success)


def test_the_shopper_mentions_what_was_sold_out_after_it_was_seen(world, tasks):
    task = next(task for task in tasks if (event := goal_of(task).event) and event.after == 1)
    gone = parse_certificate(task.acceptable).sells_out
    episode = Episode(ENV, world, task)
    episode.reset()
    observation = episode.step(Action(tool_calls=[Call(name="catalog_get_product", args={"product_id": gone})]))[0]
    title = world.store.item(world.store.row(gone)).title
    assert title.lower() in observation["user"].lower()
