"""What fits what, in a shop of accessories: a substitute, a list and a replacement are for the same device, read by other readers."""

import csv
import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.checks.devices import MADE_FOR, is_for_another, parse_device_lines
from shopwright.pipeline.checks.titles import find_denied_choice
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.load_world import NUMBER_COLUMNS, SHOWN_COLUMNS
from shopwright.pipeline.envs.return_replacement import draw_other_product, is_right_replacement
from shopwright.pipeline.envs.substitution import is_substitute
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Store
from tests.catalog.accessories import accessories

SHARED = Path(__file__).parents[3] / "shared" / "data"
FILES = {
    "accessories": None,
    "amazon": SHARED / "walmart_amazon_tableB_amazon.csv",
    "walmart": SHARED / "walmart_amazon_tableA_walmart.csv",
}


def built(folder, file):
    if file is None:
        file = folder / "accessories.csv"
        rows = accessories()
        assert len(rows) >= 2_000
        with file.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    run = Run(folder / "run", seed=3, workers=1)
    run.build("variants", source=str(file), invent_prices=True)
    return run


@pytest.fixture(scope="module", params=list(FILES))
def run(request, tmp_path_factory):
    file = FILES[request.param]
    if file is not None and not file.exists():
        pytest.skip("no such file here")
    return built(tmp_path_factory.mktemp(request.param), file)


@pytest.fixture(scope="module")
def world(run):
    store = Store(run.read("catalog").table([*SHOWN_COLUMNS, *NUMBER_COLUMNS]), run.read("variants").table(), ())
    return World(store, Search(store))


@pytest.fixture(scope="module")
def tasks(world):
    """Substitutions whose original is for a device, as the other reader sees it."""
    found = []
    for seed in range(3_000):
        try:
            task = draw_task(get_env("substitution"), world, seed % 13, seed)
        except Problem:
            continue
        title = titles(world, json.loads(task.goal)["original"])
        if parse_device_lines(title) and MADE_FOR.search(title.lower()):
            found.append(task)
        if len(found) == 200:
            break
    return found


def titles(world, id):
    return world.store.titles[world.store.row(id)].as_py()


def certified(world, task):
    """What is right in the shop of the task, one product after the other; nothing is taken from the certificate."""
    env = get_env("substitution")
    goal = env.Goal.model_validate_json(task.goal)
    shop = env.shop(world, goal, compute_axes(task.difficulty), task.id)
    leaf = world.store.place_of_leaf[goal.category]
    ids = (world.store.ids[int(row)].as_py() for row in world.store.rows_of(leaf))
    return [id for id in ids if is_substitute(goal, shop, id)]


@pytest.mark.slow
def test_no_substitute_is_for_another_device(world, tasks):
    wrong, count = [], 0
    for task in tasks:
        original = titles(world, json.loads(task.goal)["original"])
        right = certified(world, task)
        assert bool(right) == task.feasible
        count += len(right)
        wrong += [(original, titles(world, id)) for id in right if is_for_another(original, titles(world, id))]
    assert len(tasks) > 100
    assert count > len(tasks) / 2
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.slow
def test_such_tasks_are_solved(world, tasks):
    for task in tasks[::8]:
        reward = play_episode(Episode(get_env("substitution"), world, task), play_solution)
        assert reward.success
        assert reward.task == 1


@pytest.mark.slow
def test_where_there_is_none_nothing_in_stock_may_fit(world, tasks):
    """Neither what is known to fit and meets the rest, nor what says nothing of a device."""
    env, refused = get_env("substitution"), [task for task in tasks if not task.feasible]
    assert refused
    for task in refused:
        goal = env.Goal.model_validate_json(task.goal)
        shop = env.shop(world, goal, compute_axes(task.difficulty), task.id)
        rest = [each for each in goal.constraints if each.op != "fits"]
        for row in world.store.rows_of(world.store.place_of_leaf[goal.category]).tolist():
            item = world.store.item(row)
            if item.id != goal.original and not item.fits and all(item.meets(each) for each in rest):
                assert not shop.is_in_stock(row)


@pytest.mark.slow
def test_a_replacement_is_for_the_device_of_what_went_back(world):
    random, store, count = Random(4), world.store, 0
    for _ in range(1_500):
        item = store.item(random.randrange(len(store)))
        found = draw_other_product(store, item, compute_axes(6), random) if item.fits else None
        if found is None:
            continue
        for id in found.some_of:
            count += 1
            assert not is_for_another(item.title, titles(world, id)), (item.title, titles(world, id))
    assert count > 50
    assert is_right_replacement  # what is scored reads the same constraints


@pytest.mark.slow
def test_a_list_says_for_what_and_its_products_are_for_that(world):
    env, said = get_env("bundle_planning"), Counter()
    for seed in range(60):
        try:
            task = draw_task(env, world, 0, seed)
        except Problem:
            continue
        goal = env.Goal.model_validate_json(task.goal)
        for need in goal.needs:
            bound = [each for each in need.constraints if each.op == "fits"]
            shelf = world.store.shelf(world.store.place_of_leaf[need.category])
            said[bool(bound)] += 1
            if task.feasible:
                assert bool(bound) == any(shelf.fits)
            for id in need.cheapest if bound else ():
                item = world.store.item(world.store.row(id))
                assert all(item.meets(each) for each in bound)
    assert said[True] > 10


@pytest.mark.slow
def test_no_title_denies_a_variant(run, world):
    brands = dict(zip(world.store.ids.to_pylist(), world.store.brands.to_pylist(), strict=True))
    rows = run.read("variants").table(["product_id", "choices"]).to_pylist()
    wrong = []
    for row in rows:
        title, brand = titles(world, row["product_id"]), brands[row["product_id"]]
        title = title.replace(brand, "", 1) if brand else title
        if find_denied_choice(title, [(each["name"], each["value"]) for each in row["choices"]]):
            wrong.append((title, row["choices"]))
    assert not wrong, "\n".join(map(str, wrong))
    assert not run.read("variants").manifest.rejected


@pytest.mark.slow
def test_no_cart_asks_for_what_a_title_denies(world):
    env, count = get_env("cart_building"), 0
    for seed in range(500):
        task = draw_task(env, world, seed % 13, seed)
        for line in json.loads(task.goal)["lines"]:
            item = world.store.item(world.store.row(line["product_id"]))
            title = item.title.replace(item.brand, "", 1) if item.brand else item.title
            count += bool(line["choices"])
            assert not find_denied_choice(title, [(each["name"], each["value"]) for each in line["choices"]]), line
    assert count > 300
