"""Each promise about a product, broken once; and what a catalog of the sample is."""

import copy
from collections import Counter
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.arrow import to_batch
from pipeline.dataset import Dataset
from pipeline.run import Run
from pipeline.stage import reasons_against
from pipeline.stages import all_stages
from schemas.shop import Product

STAGE = all_stages()["catalog"]
PRICE = "price is not positive"
TITLE = "title is empty or has control characters"
LEAF = "category is not the last of its path"
LOWER = "promotion does not lower the price"
OVERLAP = "promotions overlap"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("catalog"), seed=5, workers=1)
    found.build("catalog", products=2_400, promoted=0.3)
    return found


@pytest.fixture(scope="session")
def products(run):
    return run.read("catalog").table().to_pylist()


@pytest.fixture
def product(products):
    """A product with two promotions or more."""
    return copy.deepcopy(next(product for product in products if len(product["promotions"]) > 1))


def why(*rows):
    return [set(found) for found in reasons_against(STAGE, to_batch(Product, rows), {})]


def test_the_products_of_a_build_break_no_promise(run, products):
    assert why(*products) == [set()] * 2_400
    assert run.read("catalog").manifest.rejected == 0


@pytest.mark.parametrize("price", ["0", "-0.01", "-12.00"])
def test_a_price_of_nothing_or_less_fails(product, price):
    assert why(product | {"price": Decimal(price), "promotions": []}) == [{PRICE}]


def test_a_cent_is_a_price(product):
    assert why(product | {"price": Decimal("0.01"), "promotions": []}) == [set()]


@pytest.mark.parametrize("title", ["", "   ", "\t", " lamp", "lamp ", "a\x00b", "a\nb", "a\tb", "a\x1bb", "a\x7fb"])
def test_an_empty_title_or_one_with_control_characters_fails(product, title):
    assert why(product | {"title": title}) == [{TITLE}]


@pytest.mark.parametrize(
    "title",
    ["\u00a0", "\u2003lamp", "a\x85b", "a\x9fb", "\u200b"],
    ids=["no-break space", "em space", "next line", "a control of Latin-1", "zero width"],
)
def test_an_empty_title_or_a_control_character_beyond_ascii_fails(product, title):
    assert why(product | {"title": title}) == [{TITLE}]


@pytest.mark.parametrize("title", ["مصباح طاولة", "😀 lamp", "a || b] (brand: x", '"quoted"', "{{ x }}", "<b>lamp</b>"])
def test_a_title_of_any_script_or_signs_passes(product, title):
    assert why(product | {"title": title}) == [set()]


@pytest.mark.parametrize("path", [[], ["Home"], ["Home", "Lighting"], ["Lamps ", "lamps"]])
def test_a_category_that_is_not_the_last_of_its_path_fails(product, path):
    assert why(product | {"category_path": path, "category": "Lamps"}) == [{LEAF}]


def test_a_category_higher_in_its_path_fails(product):
    assert why(product | {"category": product["category_path"][0]}) == [{LEAF}]


@pytest.mark.parametrize("factor", ["1", "1.01", "0", "-1"])
def test_a_promotion_that_does_not_lower_the_price_fails(product, factor):
    price = (product["price"] * Decimal(factor)).quantize(Decimal("0.01"))
    product["promotions"][0] |= {"price": price}
    assert why(product) == [{LOWER}]


def test_a_promotion_that_ends_before_it_begins_fails(product):
    one = product["promotions"][0]
    assert why(product | {"promotions": [one | {"first_day": one["last_day"], "last_day": one["first_day"]}]}) == [
        {LOWER}
    ]


def test_promotions_that_share_a_day_fail(product):
    one, other = product["promotions"][:2]
    assert one["last_day"] < other["first_day"]
    assert why(product | {"promotions": [one, other | {"first_day": one["last_day"]}]}) == [{OVERLAP}]
    assert why(product | {"promotions": [one, one]}) == [{OVERLAP}]


def test_a_promotion_inside_a_longer_one_fails_wherever_it_stands(product):
    def dated(first, last):
        return {"first_day": date(2024, 5, first), "last_day": date(2024, 5, last), "price": Decimal("0.50")}

    assert why(product | {"promotions": [dated(1, 30), dated(5, 6)]}) == [{OVERLAP}]
    assert why(product | {"promotions": [dated(5, 6), dated(1, 30)]}) == [{OVERLAP}]
    assert why(product | {"promotions": [dated(1, 30), dated(5, 6), dated(20, 21)]}) == [{OVERLAP}]


def test_a_broken_product_does_not_make_its_neighbours_fail(product):
    assert why(product, product | {"title": ""}, product) == [set(), {TITLE}, set()]


# Across the whole catalog


@pytest.fixture
def across(tmp_path):
    def judge(*rows):
        data = Dataset(tmp_path, "catalog", Product)
        data.folder.mkdir()
        for shard, row in enumerate(rows):
            table = pa.Table.from_batches([to_batch(Product, [row])])
            pq.write_table(table, data.folder / f"part-{shard:05d}.parquet")
        faults = [fault for check in STAGE.across for fault in check(data)]
        return [(int(fault.file[-13:-8]), fault.row, fault.reason) for fault in faults]

    return judge


def test_products_of_different_shards_may_not_share_an_id(across, products):
    one, other, third = products[:3]
    assert across(one, other, third | {"id": one["id"]}) == [(2, 0, "duplicate id")]


def test_products_may_not_share_a_title_whatever_its_case(across, products):
    one, other = products[:2]
    assert across(one, other | {"title": one["title"].upper()}) == [(1, 0, "duplicate title")]


def test_different_products_may_stay(across, products):
    assert across(*products[:3]) == []


# What a build gives


def test_the_share_of_products_with_promotions_is_as_asked(products):
    share = sum(bool(product["promotions"]) for product in products) / len(products)
    assert 0.25 < share < 0.35


def test_no_promotions_when_none_are_asked_for(tmp_path):
    run = Run(tmp_path, seed=5, workers=1)
    run.build("catalog", products=1_200, promoted=0)
    assert not any(product.promotions for product in run.read("catalog"))


def test_another_seed_gives_other_products_and_the_same_seed_the_same(tmp_path, products):
    def titles(seed):
        run = Run(tmp_path / str(seed), seed=seed, workers=1)
        run.build("catalog", products=1_200, promoted=0.3)
        return run.read("catalog").table().to_pylist()

    assert titles(5) == products[:1_200]
    assert not {product["title"] for product in titles(6)} & {product["title"] for product in products}


def test_what_a_source_lacks_is_simulated_once_and_said(tmp_path):
    """A file with some prices missing: those are drawn from the others of the category, and flagged."""
    lines = [f"A{n},Norrvik oak lamp {n},lamps,{20 + n % 5 if n % 3 else ''}" for n in range(90)]
    (tmp_path / "shop.csv").write_text("id,title,category,price\n" + "\n".join(lines))

    def prices(name):
        run = Run(tmp_path / name, seed=5, workers=1)
        run.build("catalog", source=str(tmp_path / "shop.csv"))
        return {product.id: (product.price, product.price_is_simulated) for product in run.read("catalog")}

    found = prices("one")
    assert [flag for _, flag in found.values()] == [n % 3 == 0 for n in range(90)]
    assert all(Decimal(15) < price < Decimal(35) for price, _ in found.values())
    assert found == prices("other")


def test_what_cannot_be_mended_is_held_with_its_reason_and_counted(tmp_path):
    rows = ["1,oak lamp,12.00", "2,,9.00", "3,Oak Lamp,12.00", "3,ash lamp,8.00", "4,pine lamp,-3", "5,12345,3.00"]
    (tmp_path / "shop.csv").write_text("id,title,price\n" + "\n".join(rows))
    run = Run(tmp_path / "run", seed=5, workers=1)
    made = run.build("catalog", source=str(tmp_path / "shop.csv"))
    assert made.rejects == {
        "absurd price": 1,
        "duplicate id": 1,
        "duplicate title": 1,
        "title has no letters": 1,
        "title missing": 1,
    }
    assert (made.rows, made.rejected) == (1, 5)
    held = run.read("catalog").quarantine
    assert Counter(reason for record in held for reason in record.reasons) == made.rejects
