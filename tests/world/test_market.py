"""What each category costs and who makes it."""

from decimal import Decimal
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.run import Run
from shopwright.pipeline.world.market import MOST_BRANDS, Market, index_categories, summarize_categories
from shopwright.schemas.shop import Product


@pytest.fixture(scope="module")
def lamp(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("market"), seed=5, workers=1)
    run.build("catalog", products=1_200)
    return run.read("catalog").table().to_pylist()[0] | {"category_path": ["Home", "Lamps"], "category": "Lamps"}


@pytest.fixture
def shop(tmp_path, lamp):
    """A catalog of these products, in two shards."""

    def of(*products):
        data = Dataset(tmp_path, "catalog", Product)
        data.folder.mkdir()
        rows = [lamp | {"id": f"P{n}"} | product for n, product in enumerate(products)]
        for shard in range(2):
            table = pa.Table.from_batches([to_batch(Product, rows[shard::2])])
            pq.write_table(table, data.folder / f"part-{shard:05d}.parquet")
        return data

    return of


def priced(*dollars):
    return [{"price": Decimal(price)} for price in dollars]


def test_a_category_knows_its_cheapest_its_quarter_and_its_middle(shop):
    (found,) = summarize_categories(shop(*priced(5, 1, 4, 2, 3, 6, 8, 7)))
    assert (found.products, found.cheapest, found.quarter, found.middle) == (8, 100, 300, 500)


def test_one_product_is_all_of_its_category(shop):
    (found,) = summarize_categories(shop(*priced(5)))
    assert (found.cheapest, found.quarter, found.middle) == (500, 500, 500)


def test_categories_come_by_name_and_know_what_they_belong_to(shop):
    rug = {"category": "Area Rugs", "category_path": ["Textiles", "Area Rugs"]}
    found = summarize_categories(shop({}, rug, {}, rug))
    assert [(one.name, one.group, one.products) for one in found] == [
        ("Area Rugs", "Textiles", 2),
        ("Lamps", "Home", 2),
    ]


def test_the_makers_of_most_products_come_first(shop):
    names = ["B", "A", None, "C", "C", "B", "C"]
    (found,) = summarize_categories(shop(*[{"brand": name} for name in names]))
    assert found.brands == ["C", "B", "A"]


def test_a_category_names_only_its_largest_makers(shop):
    (found,) = summarize_categories(shop(*[{"brand": f"Maker {n:02d}"} for n in range(30)]))
    assert found.brands == [f"Maker {n:02d}" for n in range(MOST_BRANDS)]


def test_a_category_without_makers_has_none(shop):
    (found,) = summarize_categories(shop({"brand": None}, {"brand": None}))
    assert found.brands == []


def test_an_empty_catalog_has_no_categories(shop):
    assert summarize_categories(shop()) == []


def test_categories_are_found_by_name(shop):
    assert index_categories(shop({}, {}))["Lamps"].products == 2


def of_kind(name, group, *dollars):
    return [{"category": name, "category_path": [group, name], "price": Decimal(price)} for price in dollars]


def test_what_is_affordable_is_asked_of_each_budget_anew(shop):
    kinds = [("Bulbs", "Home", 2, 3), ("Lamps", "Home", 20, 30), ("Tents", "Out", 200, 300), ("Boats", "Out", 2000)]
    market = Market(shop(*(product for kind in kinds for product in of_kind(*kind))))

    def names(dollars, group=None):
        pool = market.affordable(dollars * 100)
        return [category.name for category in (pool.of(group) if group else pool).categories]

    for _ in range(2):
        assert names(30) == ["Bulbs", "Lamps"]
        assert names(5000) == ["Boats", "Bulbs", "Lamps", "Tents"]
        assert names(200 - 1) == ["Bulbs", "Lamps"]
        assert names(5000, "Out") == ["Boats", "Tents"]
        assert names(300, "Out") == ["Tents"]


def test_who_can_afford_nothing_looks_at_the_three_cheapest(shop):
    kinds = [("Lamps", "Home", 20), ("Boats", "Out", 2000), ("Tents", "Out", 200), ("Cars", "Out", 9000)]
    market = Market(shop(*(product for kind in kinds for product in of_kind(*kind))))
    assert [category.name for category in market.affordable(100).categories] == ["Lamps", "Tents", "Boats"]


def test_a_kind_with_four_times_the_products_is_drawn_twice_as_often(shop):
    market = Market(shop(*of_kind("Lamps", "Home", 5, 5, 5, 5), *of_kind("Tents", "Out", 5)))
    random = Random(1)
    drawn = [market.affordable(10_000).draw(random).name for _ in range(3_000)]
    assert 1_900 < drawn.count("Lamps") < 2_100
