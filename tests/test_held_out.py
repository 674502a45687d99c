"""Kinds of tasks that are held out stand in tests alone; found again by what rows say of themselves, not by what kept them back."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.envs.evaluate import EnvTasks
from shopwright.pipeline.envs.journey import JourneyGoal, JourneyPart
from shopwright.pipeline.envs.kinds import is_of_held_out_kind
from shopwright.pipeline.gym import world
from shopwright.pipeline.publish.exporters import forms
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.shop.policy_families import load_families
from shopwright.pipeline.shop.store import pick_held_out_leaves
from shopwright.pipeline.stages.shopping_tasks import HELD_OUT, quotas

KEPT = tomllib.loads((Path(__file__).parents[1] / "data" / "reference" / "held_out.toml").read_text(encoding="utf-8"))
LEVELS, SEEDS = (0, 4, 9), range(16)


@pytest.fixture(scope="module")
def shop():
    return world()


@pytest.fixture(scope="module")
def kept_names(shop):
    """The categories, and the ids of products, that are in a tree that is held out."""
    store = shop.store
    items = [store.item(row) for row in range(len(store.titles))]
    kept = [item for item in items if set(item.path) & set(KEPT["categories"])]
    assert 50 < len(kept) < len(items) / 10
    return {item.category for item in kept} | {item.id for item in kept}


def is_kept(task, kept_names, shop):
    """Whether anything in a goal, or in a part of a journey's, is named so, be it a product of an order; what is not meant is no part of it."""
    goal = json.loads(task.goal)
    parts = [json.loads(part["goal"]) for part in goal["parts"]] if task.env == "journey" else [goal]
    orders = {order.id: order for customer in shop.store.customers for order in customer.orders}
    return any(is_part_kept(part, kept_names, orders) for part in parts)


def is_part_kept(goal, kept_names, orders):
    goal.pop("contrast")
    order = goal.get("order_id")
    bought = [] if goal.get("product_id") or not order else [line.product_id for line in orders[order].lines]
    words = set(re.findall(r'"([^"\\]*)"', json.dumps(goal, ensure_ascii=False)))
    return not kept_names.isdisjoint([*words, *bought]) or goal.get("topic") in KEPT["topics"]


def draw(shop, env, side, seeds=SEEDS):
    return [draw_task(get_env(env), shop, level, seed, side=side) for level in LEVELS for seed in seeds]


@pytest.mark.parametrize("env", list(all_envs()))
def test_no_task_of_training_is_of_a_kind_that_is_held_out(env, shop, kept_names):
    assert not [task.id for task in draw(shop, env, "train") if is_kept(task, kept_names, shop)]
    assert not [task.id for task in draw(shop, env, None) if task.split == "train" and is_kept(task, kept_names, shop)]


def test_without_the_rule_there_would_be_such_tasks(shop, kept_names, monkeypatch):
    monkeypatch.setattr("shopwright.pipeline.envs.episode.is_of_held_out_kind", lambda goal, store: False)
    found = {env: sum(is_kept(task, kept_names, shop) for task in draw(shop, env, "train")) for env in all_envs()}
    assert sum(map(bool, found.values())) >= 6, found


@pytest.mark.parametrize("env", list(all_envs()))
def test_they_can_be_played_alone(env, shop, kept_names):
    tasks = EnvTasks(shop, [env], [4], range(3), side="test", held_out=True)
    drawn = [draw_task(get_env(env), shop, task.level, task.seed, side="test") for task in tasks.tasks()]
    assert len(drawn) == 3
    assert all(is_kept(task, kept_names, shop) for task in drawn)


def test_an_order_counts_in_a_journey_whatever_else_is_in_it(shop, kept_names):
    """What is sent back is one product; that of one part says nothing of an order in another."""
    cart = draw_task(get_env("cart_building"), shop, 4, 0, side="train")
    orders = [draw_task(get_env("order_tracking"), shop, 4, seed, side="test") for seed in range(60)]
    for order in orders:
        parts = [JourneyPart(env=task.env, goal=task.goal, most=1) for task in (cart, order)]
        journey = JourneyGoal(persona_id=order.persona_id, now=json.loads(order.goal)["now"], slots=[], parts=parts)
        assert is_of_held_out_kind(journey, shop.store) == is_kept(order, kept_names, shop)
    assert any(is_kept(order, kept_names, shop) for order in orders)


def test_everything_that_is_named_is_there():
    assert set(KEPT["topics"]) < set(load_families())
    assert set(KEPT["shapes"]) < set(SHAPES)


def test_a_shop_of_nothing_else_keeps_nothing_back():
    paths = [["Games & Puzzles", "Puzzles"], ["Kitchen", "Mugs"]]
    assert pick_held_out_leaves(["Puzzles", "Mugs"], paths, [1, 9]) == {"Puzzles"}
    assert pick_held_out_leaves(["Puzzles", "Mugs"], paths, [9, 1]) == set()


# Shopping tasks and questions


def test_all_tasks_of_a_category_are_held_out_and_the_sums_stay():
    sizes = [120] * 19 + [60]
    plain, kept = quotas(sizes, 1_000, HELD_OUT[0]), quotas(sizes, 1_000, HELD_OUT[0], [19])
    assert [count for count, _ in plain] == [count for count, _ in kept]
    assert kept[19][0] == kept[19][1] > plain[19][1]
    assert sum(held for _, held in kept) == sum(held for _, held in plain)


def test_no_row_of_a_run_and_no_form_trains_on_them(small):
    for question in small.read("questions").head(10_000):
        assert question.split in ("test", "test_wording") or question.shape not in KEPT["shapes"]
    leaves = {p.category for p in small.read("catalog").head(100_000) if set(p.category_path) & set(KEPT["categories"])}
    assert leaves
    tasks = small.read("shopping_tasks").head(10_000)
    assert not [task.id for task in tasks if task.split == "train" and task.category in leaves]
    assert {task.split for task in tasks if task.category in leaves} == {"test"}
    train = {
        task.id
        for name in ("env_tasks", "shopping_tasks")
        for task in small.read(name).head(10_000)
        if task.split == "train"
    }
    asked = {each.id for each in small.read("questions").head(10_000) if each.split not in ("test", "test_wording")}
    for config in forms.configs(small):
        if not config.name.startswith(("sft_", "rl_")) or "behavior" in config.name:
            continue
        for split, make in config.splits.items():
            for row in (row for batch in make() for row in batch.to_pylist() if split in ("train", "validation")):
                assert any(f"{row['id']}-".startswith(f"{id}-") for id in train | asked), (config.name, row["id"])
