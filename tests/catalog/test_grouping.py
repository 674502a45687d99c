"""What groups a catalog's products: its own categories, or those above them, or what titles call things."""

from shopwright.pipeline.catalog.grouping import ELSE, find_grouping, group_path
from tests.catalog.real_shops import SHOPS


def list_products(name, path=lambda row: tuple(row.get("category", "Everything Else").split(" > "))):
    return [(path(row), row["title"], row.get("brand")) for row in SHOPS[name]()]


def group(products):
    grouping = find_grouping(products)
    return [group_path(*each, grouping) for each in products]


def test_categories_that_group_stay_as_they_are():
    for name in ("one department", "many kinds", "one kind"):
        products = list_products(name)
        assert group(products) == [path for path, _, _ in products]


def test_a_category_for_each_product_gives_way_to_the_level_above_it():
    products = list_products("many kinds", lambda row: (*row["category"].split(" > "), row["title"]))
    assert {len(path) for path in group(products)} == {2}


def test_without_categories_titles_say_what_a_thing_is():
    for name in ("flat", "own leaves"):
        leaves = {path[-1] for path in group(list_products(name))}
        assert "Bath Toy Boats" in leaves
        assert "Train Sets" in leaves
        assert ELSE[-1] not in leaves


def test_one_product_without_a_category_goes_to_that_of_its_name():
    products = [*list_products("one kind"), (ELSE, "Ellmoor green phone case for Pixel 4", "Ellmoor")]
    products.append((ELSE, "Ellmoor gravy boat", "Ellmoor"))
    assert group(products)[-2:] == [("Phone Cases",), ELSE]
