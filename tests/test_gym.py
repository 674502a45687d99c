"""The world that episodes play in: from a run or in memory, the same in another process, and what is said where it cannot be."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shopwright.pipeline import gym, shop_cache
from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Customer, FactColumns, Store, seconds_to_shop_time
from shopwright.pipeline.stage import reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.certificates import Constraint
from shopwright.schemas.shop import Product, Variant
from tests.stages.test_variants import PLAIN


@pytest.fixture(scope="session")
def world():
    return gym.world(products=1_200, customers=12, seed=3)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("gym"), seed=3, workers=1)
    found.build("orders", products=1_200, count=12, tokens="64k")
    return found


def python(code, cache, hashes="0"):
    """What a process prints that finds no shop but those kept in this folder."""
    env = {**os.environ, "PYTHONHASHSEED": hashes, "XDG_CACHE_HOME": str(cache)}
    home = Path(__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=env, check=True, capture_output=True, text=True
    ).stdout


def same(one, other):
    assert one.ids.equals(other.ids)
    assert one.variant_ids.equals(other.variant_ids)
    assert one.variant_cents.tolist() == other.variant_cents.tolist()
    assert [customer.id for customer in one.customers] == [customer.id for customer in other.customers]
    for mine, theirs in zip(one.customers, other.customers, strict=True):
        assert mine.orders == theirs.orders
        assert mine.member == theirs.member
        assert mine.visited.tolist() == theirs.visited.tolist()
        assert mine.visited_at.tolist() == theirs.visited_at.tolist()


def test_a_world_in_memory_is_that_of_a_run_with_the_same_settings(world, run):
    same(world.store, gym.world(run.folder).store)


def test_what_is_made_in_memory_passes_the_checks_of_its_stages():
    have = {}
    for name in ("catalog", "variants", "personas", "queries", "trajectories", "orders"):
        settings = {"products": 1_200} if name == "catalog" else {"count": 4} if name == "personas" else {}
        have[name] = gym.build_dataset_in_memory(name, have, settings, 1)
        stage = all_stages()[name]
        assert len(have[name])
        assert not any(reasons for batch in have[name].batches() for reasons in reasons_against(stage, batch, have))


@pytest.fixture
def make_shop(monkeypatch, tmp_path):
    """Makes a small shop in memory, where no process has kept one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return lambda: gym.build_world_in_memory.__wrapped__(240, 2, 0).store


def test_a_shop_in_memory_is_kept_for_the_next_process(make_shop, monkeypatch):
    made = make_shop()
    same(made, gym.world(products=240, customers=2).store)
    monkeypatch.delattr(gym, "build_dataset_in_memory")  # so that nothing can be made
    same(make_shop(), made)


def test_what_is_damaged_of_a_shop_is_made_again(make_shop, tmp_path):
    made = make_shop()
    same(make_shop(), made)
    kept = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(kept) == 6
    whole = [path.read_bytes() for path in kept]
    for path, text in zip(kept, whole, strict=True):
        new = path.with_suffix(".new")
        new.write_bytes(text[: len(text) // 2])
        new.replace(path)
    same(make_shop(), made)
    assert [path.read_bytes() for path in kept] == whole


def test_where_nothing_can_be_kept_a_shop_is_made_all_the_same(make_shop, monkeypatch, tmp_path):
    (tmp_path / "shopwright").mkdir()
    monkeypatch.setattr("shopwright.pipeline.shop_cache.find_cache_folder", lambda: tmp_path / "nowhere")
    assert len(make_shop().customers) == 2
    assert not (tmp_path / "nowhere").exists()


def test_a_shop_is_made_again_by_other_code_and_the_oldest_ones_go(make_shop, monkeypatch, tmp_path):
    find = shop_cache.find_shop_folder
    assert find(240, 2, 0) == find(240, 2, 0) != find(240, 2, 1)
    before = find(240, 2, 0)
    home = tmp_path / "home"
    for top in ("pipeline", "schemas", "prompts", "data/reference"):
        (home / top).mkdir(parents=True)
    monkeypatch.setattr(shop_cache, "HOME", home)
    found = [before]
    for path in ("pipeline/a.py", "prompts/b.j2", "data/reference/c.txt", "pipeline/a.py"):
        with open(home / path, "a") as file:
            file.write("x")
        os.utime(found[-1], (len(found), len(found)))
        found.append(find(240, 2, 0))
    assert len(set(found)) == 5
    assert [path.exists() for path in found] == [False, False, True, True, True]  # and the one of other settings


def test_the_same_world_for_the_same_arguments_and_another_for_others(world):
    assert gym.world(products=1_200, customers=12, seed=3) is world
    assert gym.world(None, 1_200, 12, 3) is world
    assert not gym.world(products=1_200, customers=12, seed=4).store.ids.equals(world.store.ids)


def test_customers_know_their_visits_and_orders(world):
    assert len(world.store.customers) == 12
    for customer in world.store.customers:
        assert len(customer.visited) == len(customer.visited_at) > 300
        assert (np.diff(customer.visited_at) > 0).all()
        assert len(customer.orders) > 7
        assert [order.placed for order in customer.orders] == sorted(order.placed for order in customer.orders)
        ordered = {line.product_id for order in customer.orders for line in order.lines}
        assert ordered <= {world.store.item(int(row)).id for row in customer.visited}


def test_visits_are_the_clicks_of_the_largest_log(run):
    found = gym.world(run.folder).store
    logs = {log["persona_id"]: log["events"] for log in run.read("trajectories").table().to_pylist()}
    for customer in found.customers:
        clicks = [event for event in logs[customer.id] if event["action_type"] == "click"]
        assert [found.item(int(row)).id for row in customer.visited] == [event["asin"] for event in clicks]
        assert [seconds_to_shop_time(seconds) for seconds in customer.visited_at.tolist()] == [
            event["timestamp"] for event in clicks
        ]


def test_some_customers_are_members(world):
    assert {customer.member for customer in world.store.customers} == {True, False}


def test_a_run_gives_as_many_customers_as_wanted(run):
    few = gym.world(run.folder, customers=3).store.customers
    assert [customer.id for customer in few] == [f"persona-000000{number}" for number in range(3)]


def test_a_world_and_its_parts_pickle_to_those_of_this_process(world):
    assert pickle.loads(pickle.dumps(world)) is world
    assert pickle.loads(pickle.dumps(world.store)) is world.store
    assert pickle.loads(pickle.dumps(world.finder)) is world.finder
    assert len(pickle.dumps(world)) < 300


def test_an_episode_plays_on_after_being_sent(world):
    from shopwright.pipeline.envs.episode import Episode, draw_task

    env = next(iter(all_envs().values()))
    episode = Episode(env, world, draw_task(env, world, 2, 7))
    begun = episode.reset()
    episode.step({"tool_calls": [{"name": "datetime_now"}]})
    sent = pickle.loads(pickle.dumps(episode))
    assert sent.shop.store is world.store
    action = {"answer": {"env": env.name}}
    assert sent.step(action) == episode.step(action)
    assert sent.reset() == begun


@pytest.mark.slow
def test_another_process_has_the_same_world_whatever_its_hashes(tmp_path):
    code = (
        "from shopwright.pipeline import gym; w = gym.world(products=1200, customers=12, seed=3); import hashlib;"
        "print(hashlib.sha256(repr([w.store.ids.to_pylist(), w.store.variant_ids.to_pylist(),"
        " w.store.variant_stock.tolist(), [c.orders for c in w.store.customers],"
        " [c.visited.tolist() for c in w.store.customers]]).encode()).hexdigest())"
    )
    assert len({python(code, tmp_path / hashes, hashes) for hashes in ("1", "2")}) == 1


def test_a_run_without_a_dataset_says_what_to_build(tmp_path, run):
    with pytest.raises(Problem, match=r"has no catalog\. Build it: shopwright build orders"):
        gym.world(tmp_path / "nowhere")
    Run(tmp_path / "half", seed=0, workers=1).build("variants", products=120)
    with pytest.raises(Problem, match=r"has no personas\. Build it: shopwright build orders"):
        gym.world(tmp_path / "half")


def test_a_run_that_was_built_again_is_another_world(tmp_path):
    built = Run(tmp_path, seed=1, workers=1)
    built.build("orders", products=240, count=2, tokens="6k")
    before = gym.world(tmp_path)
    assert gym.world(str(tmp_path)) is before
    for name in ("catalog", "variants", "personas", "queries", "trajectories", "orders"):
        Run(tmp_path, seed=2, workers=1).build(name, rebuild=True)
    after = gym.world(tmp_path)
    assert not after.store.ids.equals(before.store.ids)


def test_an_env_that_there_is_not_is_named():
    with pytest.raises(Problem, match="There is no env chess"):
        gym.make("chess")


def test_making_an_episode_needs_neither_files_nor_heavy_modules(tmp_path):
    heavy = ("prefect", "duckdb", "vllm", "datasets", "faiss", "aiohttp")
    code = f"import sys; from shopwright.pipeline import gym; gym.world(products=240, customers=2); print([n for n in {heavy} if n in sys.modules])"
    assert python(code, tmp_path).strip() == "[]"


# The store, on tables that are not as they should be.


def product(id, **change):
    return PLAIN | {"id": id, "title": f"Stool {id}"} | change


def variant(product, number, **change):
    choices = [{"name": "color", "value": f"shade {number}"}]
    row = {"id": f"{product}-{number}", "product_id": product, "choices": choices, "price": 5, "stock": 3}
    return row | {"is_title": number == 1} | change


def store(products, variants, customers=()):
    tables = (
        pa.Table.from_batches([to_batch(kind, rows)]) for kind, rows in ((Product, products), (Variant, variants))
    )
    return Store(*tables, customers)


def test_variants_are_found_whatever_their_order():
    found = store(
        [product("b"), product("a"), product("c")],
        [variant("a", 1), variant("b", 1), variant("gone", 1), variant("a", 2, stock=0), variant("b", 2)],
    )
    assert [[option.id for option in found.options(row)] for row in range(3)] == [["b-1", "b-2"], ["a-1", "a-2"], []]
    assert found.option_of("a-2").product_id == "a"
    assert found.option_of("gone-1") is None
    assert found.in_stock.tolist() == [True, True, False]


@pytest.mark.parametrize("size", [0, 1])
def test_a_store_may_be_empty(size):
    found = store([product("a")][:size], [])
    assert len(found) == size
    assert found.in_stock.tolist() == [False] * size
    assert found.row("b") is None
    assert found.option_of("b") is None


def test_a_product_that_says_little_is_an_item():
    found = store([product("a", color=None, category_path=[])], [variant("a", 1)])
    item = found.item(0)
    assert (item.brand, item.color, item.rating, item.shipping_days, item.description) == (None, None, None, None, "")
    assert item.group == "Stools"
    assert item.attributes == ()
    assert found.shelf(0).where([Constraint(fact="brand", op="is", value="x")]).tolist() == [False]
    assert found.shelf(0).where([Constraint(fact="rating", op="at least", value="1", number=1)]).tolist() == [False]


def attribute(name, value, number=None, unit=None):
    return {"name": name, "value": value, "number": number, "unit": unit}


AWKWARD = [
    product(
        "a",
        attributes=[attribute("seat_height", "18 in", 18.0, "in"), attribute("wood", "oak"), attribute("wood", "ash")],
    ),
    product("b", category="Beds", attributes=[attribute("wood", "elm")]),
    product(
        "c",
        attributes=[
            attribute("seat height", "45 cm", 45.0, "cm"),
            attribute("color", "teal"),
            attribute("legs", "3", 3.0),
        ],
    ),
    product("d", color=None, brand="Norr", rating=4.25, shipping_days=3, attributes=[attribute("wood", "Oak")]),
]
FACTS = [
    ("wood", "is", "oak", None),
    ("wood", "is", "ash", None),
    ("wood", "is", "elm", None),
    ("seat height", "is", "45 cm", None),
    ("seat height (in)", "at least", "18 in", 18.0),
    ("seat height (cm)", "at most", "45 cm", 45.0),
    ("seat height (cm)", "at most", "44 cm", 44.0),
    ("legs (None)", "at least", "3", 3.0),
    ("color", "is", "Black", None),
    ("color", "is", "teal", None),
    ("brand", "is", "norr", None),
    ("rating", "at least", "4.25", 4.25),
    ("shipping days", "at most", "2", 2.0),
    ("price", "at most", "$49.95", 4995.0),
    ("price", "at most", "$49.94", 4994.0),
    ("no such fact", "is", "x", None),
]


@pytest.mark.parametrize(("fact", "op", "value", "number"), FACTS, ids=[f"{f[0]} {f[1]} {f[2]}" for f in FACTS])
def test_a_shelf_says_what_its_items_say(fact, op, value, number):
    found = store(AWKWARD, [])
    constraint = Constraint(fact=fact, op=op, value=value, number=number)
    for leaf in range(len(found.leaves)):
        shelf = found.shelf(leaf)
        assert shelf.where([constraint]).tolist() == [found.item(int(row)).meets(constraint) for row in shelf.rows]


def test_a_shelf_of_the_sample_has_every_fact_of_its_items(world):
    shelf = world.store.shelf(2)
    for place, row in enumerate(shelf.rows.tolist()):
        facts = world.store.item(row).facts
        told = {name: shelf.values[name][code[place]] for name, code in shelf.codes.items() if code[place] >= 0}
        told |= {name: column[place] for name, column in shelf.numbers.items() if not np.isnan(column[place])}
        assert told == {name: value for name, value in facts.items() if name != "category"}


def test_ids_are_found_in_a_column_that_is_too_large_for_a_dictionary(monkeypatch):
    from shopwright.pipeline.shop import store as module

    monkeypatch.setattr(module, "SMALL", 0)
    texts = [f"id-{number * 7919 % 1000}" for number in range(1000)]
    places = module.TextIndex(pa.array(texts))
    assert [places.of(text) for text in texts] == list(range(1000))
    assert [places.of(text) for text in ("", "id-", "id-1000", "zzz")] == [None] * 4


def test_texts_of_more_than_an_array_holds_are_kept(monkeypatch):
    from shopwright.pipeline.shop import store as module

    monkeypatch.setattr(module, "LARGE", 10)
    found = store([product("a", description="long " * 9), product("b", description=None)], [])
    assert found.item(0).description == "long " * 9
    assert found.row("b") == 1


def test_facts_of_a_slice_are_its_own():
    lists = to_batch(Product, AWKWARD)["attributes"]
    assert [FactColumns(lists.slice(2)).of(row) for row in range(2)] == [FactColumns(lists).of(row) for row in (2, 3)]


def test_a_store_made_by_hand_is_not_sent():
    found = store([product("a")], [], [Customer("me", np.zeros(0), np.zeros(0), ())])
    with pytest.raises(TypeError, match="made by hand"):
        pickle.dumps(found)


def test_a_journey_of_a_shop_in_memory_is_at_one_time():
    assert gym.make("journey", difficulty=3, seed=1).reset()["user"]
