"""What each category costs and who makes it."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.arrow import to_batch
from pipeline.dataset import Dataset
from pipeline.run import Run
from pipeline.shop.market import MOST_BRANDS, by_name, categories
from schemas.shop import Product


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
    (found,) = categories(shop(*priced(5, 1, 4, 2, 3, 6, 8, 7)))
    assert (found.products, found.cheapest, found.quarter, found.middle) == (8, 100, 300, 500)


def test_one_product_is_all_of_its_category(shop):
    (found,) = categories(shop(*priced(5)))
    assert (found.cheapest, found.quarter, found.middle) == (500, 500, 500)


def test_categories_come_by_name_and_know_what_they_belong_to(shop):
    rug = {"category": "Area Rugs", "category_path": ["Textiles", "Area Rugs"]}
    found = categories(shop({}, rug, {}, rug))
    assert [(one.name, one.group, one.products) for one in found] == [
        ("Area Rugs", "Textiles", 2),
        ("Lamps", "Home", 2),
    ]


def test_the_makers_of_most_products_come_first(shop):
    names = ["B", "A", None, "C", "C", "B", "C"]
    (found,) = categories(shop(*[{"brand": name} for name in names]))
    assert found.brands == ["C", "B", "A"]


def test_a_category_names_only_its_largest_makers(shop):
    (found,) = categories(shop(*[{"brand": f"Maker {n:02d}"} for n in range(30)]))
    assert found.brands == [f"Maker {n:02d}" for n in range(MOST_BRANDS)]


def test_a_category_without_makers_has_none(shop):
    (found,) = categories(shop({"brand": None}, {"brand": None}))
    assert found.brands == []


def test_an_empty_catalog_has_no_categories(shop):
    assert categories(shop()) == []


def test_categories_are_found_by_name(shop):
    assert by_name(shop({}, {}))["Lamps"].products == 2
