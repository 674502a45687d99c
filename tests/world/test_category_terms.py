"""What a category holds, in the words that people have for it."""

from decimal import Decimal

import pytest

from shopwright.pipeline.run import Run
from shopwright.pipeline.world.category_terms import EXAMPLES, CategoryTermIndex, parse_price_limit
from shopwright.schemas.shop import Product
from tests.rows import write_dataset


@pytest.fixture(scope="module")
def lamp(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("kinds"), seed=5, workers=1)
    run.build("catalog", products=1_200)
    own = {"brand": "Norrvik", "color": "white", "price": Decimal(30), "promotions": [], "queries": []}
    return run.read("catalog").table().to_pylist()[0] | own


@pytest.fixture
def kinds(tmp_path, lamp):
    """Those of a catalog of these products: title and category, and what else differs."""

    def of(*products):
        rows = [
            lamp | {"id": f"P{n}", "title": title, "category": name, "category_path": [name], **more}
            for n, (title, name, more) in enumerate(products)
        ]
        return CategoryTermIndex(write_dataset(tmp_path, "catalog", Product, rows))

    return of


def test_a_kind_is_called_what_its_titles_say(kinds):
    found = kinds(*[(f"Norrvik oak zither {n}", "Zithers", {}) for n in range(5)]).of("Zithers")
    assert found.heads == ("zither",)
    assert found.words == {"zither"}


def test_a_category_without_words_goes_by_those_of_its_products(kinds):
    found = kinds(*[(f"oak zither {n}", "?!", {}) for n in range(5)]).of("?!")
    assert "zither" in found.words


def test_colors_are_told_by_how_many_have_them(kinds):
    shown = ["red", None, "Blue", "blue", "red", "blue"]
    found = kinds(*[(f"zither {n}", "Zithers", {"color": color}) for n, color in enumerate(shown)]).of("Zithers")
    assert found.colors == ("blue", "red")
    assert found.color_words == {"blue", "red"}


def test_the_cheapest_is_the_cheapest_of_its_category(kinds):
    prices = {"price": Decimal("12.99")}, {"price": Decimal("8.50")}
    found = kinds(("zither 1", "Zithers", prices[0]), ("zither 2", "Zithers", prices[1]), ("nut", "Nuts", {}))
    assert (found.of("Zithers").cheapest, found.of("Nuts").cheapest) == (850, 3000)


def test_brands_are_found_by_all_their_words_in_a_row(kinds):
    makers = "Pell & Thatch", "Norrvik", "The Best", "42", None
    found = kinds(*[(f"zither {n}", f"Zithers {n}", {"brand": maker}) for n, maker in enumerate(makers)])
    assert list(found.list_brands_in("norrvik zither by pell and thatch")) == [("norrvik",), ("pell", "thatch")]
    assert list(found.list_brands_in("pell zither thatch")) == []
    assert list(found.list_brands_in("the best zither of 42")) == []
    assert found.of("Zithers 0").brands == {("pell", "thatch")}
    assert found.of("Zithers 2").brands == set()
    assert found.of("Zithers 4").brands == set()


def test_of_a_large_category_some_products_are_looked_at_from_cheapest_to_dearest(kinds):
    many = [(f"zither {n}", "Zithers", {"price": Decimal(n + 1)}) for n in range(EXAMPLES * 3 + 1)]
    found = kinds(*many).of("Zithers")
    assert 1 < len(found.titles) <= 6
    numbers = [int(title.split()[1]) for title in found.titles]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    assert numbers[-1] > EXAMPLES * 2


@pytest.mark.parametrize(
    ("text", "cents"),
    [("lamp under 40", 4000), ("lamp under $40", 4000), ("lamp under 40 in", None), ("lamp", None), ("under 7", 700)],
)
def test_a_limit_is_read_where_it_is_said(text, cents):
    assert parse_price_limit(text) == cents
