"""The fine catalog holds some 120 products of each leaf that are like one another, and the manifest says how it came to that."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import arrow_schema, to_batch
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.catalog_fine import choose_fine_products, collect_row_facts, diversity, find_most_alike
from shopwright.schemas.shop import Product

STAGE = all_stages()["catalog_fine"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("fine"), seed=2, workers=1)
    found.build("catalog", products=3_000)
    return found


def product(number, *, group="Home", leaf="Lamps", facts=None, reviews=1):
    # What all products have alike would be asked for by nobody, and is no fact here.
    odd = ord(leaf[-1]) % 2
    plain = {"base": ("oak", "beech")[odd], "height": ("12 in", "15 in")[odd], "shade": ("linen", "paper")[odd]}
    facts = plain if facts is None else facts
    return {
        "id": f"P{number}", "title": f"Lamp {number}", "brand": None, "category_path": [group, leaf], "category": leaf, "color": None,
        "price": 10, "price_is_simulated": False, "promotions": [], "options": [], "description": None, "bullets": [], "rating": None,
        "attributes": [{"name": name, "value": value, "number": None, "unit": None} for name, value in facts.items()],
        "review_count": reviews, "shipping_days": None, "queries": [], "repairs": [], "source": "test", "source_licence": "none",
    }  # fmt: skip


def catalog_of(folder, rows):
    (folder / "catalog").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema(Product)), folder / "catalog" / "part-00000.parquet")
    return Dataset(folder, "catalog", Product)


def ids(found, rows):
    return [rows[row]["id"] for row in found.rows]


def test_it_is_the_catalog_itself_where_every_leaf_has_few_and_like_products(run):
    made = run.build("catalog_fine", leaves=1)
    assert made.rows == 3_000
    assert run.read("catalog_fine").table().equals(run.read("catalog").table())


def test_each_step_is_in_the_manifest(run):
    made = run.build("catalog_fine", leaves=1, siblings=10, rebuild=True)
    assert made.stats["products"] == 3_000
    assert made.stats["products kept"] == made.rows == 10 * made.stats["leaves kept"]


def test_categories_of_too_few_leaves_and_leaves_of_low_complexity_are_dropped(tmp_path):
    few = [product(n, group="Small", leaf=f"S{n % 2}") for n in range(8)]
    plain = [product(n, group="Plain", leaf=f"P{n % 4}", facts={"base": ("oak", "beech")[n % 2]}) for n in range(8, 16)]
    rich = [product(n, group="Rich", leaf=f"R{n % 4}") for n in range(16, 24)]
    rows = [*few, *plain, *rich]
    found = choose_fine_products(catalog_of(tmp_path, rows), leaves=4, siblings=120, complexity=3)
    assert ids(found, rows) == [row["id"] for row in rich]
    assert found.steps["categories of too few leaves"] == 1
    assert found.steps["products of categories of too few leaves"] == 8
    assert found.steps["leaves of low complexity"] == 4
    assert found.reasons["Small: leaves"] == 2
    assert found.reasons["Plain > P0: facts and options"] == 1


def test_a_leaf_keeps_those_that_are_most_alike_and_most_reviewed():
    facts = [{"a": "1", "b": "x"}] * 4 + [{"a": "2", "b": "x"}, {"a": "9", "b": "z"}]
    reviews = np.array([1, 9, 5, 7, 99, 999])
    assert find_most_alike(list(range(6)), facts, reviews, 3) == [1, 3, 2]
    assert find_most_alike([0, 5], facts, reviews, 3) == [0, 5]


def test_a_leaf_of_low_diversity_gives_half_as_many(tmp_path):
    same = [product(n, leaf="Same") for n in range(20)]
    varied = [
        product(n, leaf="Varied", facts={"a": f"kind {n % 4}", "b": f"sort {n % 3}", "c": f"form {n % 5}"})
        for n in range(20, 40)
    ]
    rows = [*same, *varied, *(product(n, leaf="Older") for n in range(40, 48))]
    found = choose_fine_products(catalog_of(tmp_path, rows), leaves=1, siblings=8, complexity=1)
    kept = [rows[row]["category"] for row in found.rows]
    assert (kept.count("Same"), kept.count("Varied")) == (4, 8)
    assert "Home > Older: share of facts in which two products differ" in found.reasons
    assert found.steps["leaves of low diversity"] == 2


def test_diversity_is_the_share_of_facts_in_which_two_products_differ_the_maker_apart():
    assert diversity([{"a": "1", "brand": "x"}, {"a": "1", "brand": "y"}]) == 0
    assert diversity([{"a": str(n), "b": "same"} for n in range(4)]) == 0.5


def test_what_is_picked_on_the_page_is_an_option_and_no_fact():
    row = product(1, facts={"base": "oak", "height": "12 in"}) | {
        "options": [{"name": "height", "values": ["12 in", "15 in"]}],
        "brand": "Lumo",
    }
    assert collect_row_facts(row) == ({"base": "oak", "brand": "Lumo"}, 2)


def test_nothing_left_is_an_error_that_says_what_to_lower(run):
    with pytest.raises(Problem, match="Lower --leaves"):
        run.build("catalog_fine", leaves=500, rebuild=True)


def test_a_product_that_is_not_the_catalogs_fails_its_check(run):
    have = {"catalog": run.read("catalog")}
    row = run.read("catalog").table().slice(0, 1).to_pylist()[0]
    assert reasons_against(STAGE, to_batch(Product, [row]), have) == [[]]
    changed = row | {"title": "Another"}
    assert reasons_against(STAGE, to_batch(Product, [changed]), have) == [["not the catalog's product"]]


def test_thresholds_fit_themselves_to_a_shop_of_one_department_and_say_what_they_chose(tmp_path):
    rows = [product(n, leaf=f"L{n % 4}", facts={"base": ("oak", "beech")[n % 3 == 0]}) for n in range(80)]
    found = choose_fine_products(catalog_of(tmp_path, rows), leaves=None, siblings=120, complexity=None)
    assert len(found.rows) == 80
    assert found.steps["leaves that a category has at least"] == 4
    assert found.steps["facts and options that a product has at least"] == 1


def test_a_marketplace_gets_the_papers_thresholds(tmp_path):
    facts = [{each: f"kind {(n + place) % 3}" for place, each in enumerate("abcde")} for n in range(240)]
    rows = [product(n, group=f"G{n % 2}", leaf=f"L{n % 24}", facts=facts[n]) for n in range(240)]
    steps = choose_fine_products(catalog_of(tmp_path, rows), leaves=None, siblings=120, complexity=None).steps
    assert steps["leaves that a category has at least"] == 10
    assert steps["facts and options that a product has at least"] == 3.5


def test_what_the_shop_keeps_for_itself_makes_no_product_complex(tmp_path):
    rows = [
        product(n, facts={"base": ("oak", "beech")[n % 2], "sku": f"A{n}", "meta: css": f"{n}.css"}) for n in range(40)
    ]
    found = choose_fine_products(catalog_of(tmp_path, rows), leaves=1, siblings=120, complexity=None)
    assert found.steps["facts and options that a product has at least"] == 1


def test_what_has_no_category_is_no_kind_of_thing(tmp_path):
    rows = [product(n, group="Everything Else", leaf="Everything Else") for n in range(5)]
    rows += [product(n) for n in range(5, 30)]
    found = choose_fine_products(catalog_of(tmp_path, rows), leaves=1, siblings=120, complexity=0)
    assert ids(found, rows) == [f"P{n}" for n in range(5, 30)]
    assert found.steps["products of departments that are no kind of thing"] == 5
