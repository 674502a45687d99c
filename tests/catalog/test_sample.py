"""The embedded shop: what it is made of, and that it is the same at any size."""

from collections import Counter, defaultdict
from math import prod
from statistics import mean, median

import pytest

from shopwright.pipeline.catalog.reference import domains
from shopwright.pipeline.catalog.sources.sample import SIBLINGS, generate_products
from shopwright.pipeline.checks.page_words import find_untold_fact, normalize_words
from shopwright.pipeline.checks.titles import find_denied_choice

ALL = 24_000


@pytest.fixture(scope="module")
def shop():
    return list(generate_products(5, range(ALL)))


def facts(product):
    """What can tell it from its siblings."""
    return {
        "brand": product["brand"],
        "color": product["color"],
        **{a["name"]: a["value"] for a in product["attributes"]},
    }


def test_the_reference_facts_are_as_many_as_promised():
    leaves = [leaf for domain in domains() for leaf in domain.leaves]
    assert sum(len(domain.leaves) >= 17 for domain in domains()) == 12
    assert sum(len(domain.leaves) < 10 for domain in domains()) == 1
    assert len({leaf.name for leaf in leaves}) == len(leaves) >= 200
    assert len({brand.name for domain in domains() for brand in domain.brands}) >= 300


def test_every_domain_and_leaf_is_in_the_default_shop(shop):
    assert {product["category_path"][0] for product in shop} == {domain.name for domain in domains()}
    assert len({product["category"] for product in shop}) >= 200


def test_even_a_small_shop_has_something_of_each_domain():
    assert len({product["category_path"][0] for product in generate_products(5, range(12 * SIBLINGS))}) == 12


def test_ids_and_titles_are_all_different(shop):
    assert len({product["id"] for product in shop}) == ALL
    assert len({product["title"].lower() for product in shop}) == ALL


def test_far_out_in_a_shop_of_two_million_ids_and_titles_still_differ(shop):
    far = list(generate_products(5, range(2_000_000 - 30_000, 2_000_000)))
    assert len({product["id"] for product in [*shop, *far]}) == ALL + 30_000
    assert len({product["title"].lower() for product in [*shop, *far]}) == ALL + 30_000


def test_any_slice_is_the_same_as_in_the_whole(shop):
    assert list(generate_products(5, range(119, 362))) == shop[119:362]
    assert list(generate_products(5, range(7, 7))) == []


def test_another_seed_is_another_shop(shop):
    other = list(generate_products(6, range(1_200)))
    assert not {product["id"] for product in other} & {product["id"] for product in shop}
    assert not {product["title"] for product in other} & {product["title"] for product in shop}


def unchosen(product):
    """The facts that are not picked on the page."""
    picked = {option["name"] for option in product["options"]}
    return {name: value for name, value in facts(product).items() if name not in picked}


def count_differences(one, other):
    return sum(x != y for x, y in zip(one, other, strict=True))


def test_no_two_products_have_the_same_facts_and_each_has_one_that_is_one_fact_apart(shop):
    for block in range(0, 40 * SIBLINGS, SIBLINGS):
        told = [tuple(unchosen(product).values()) for product in shop[block : block + SIBLINGS]]
        assert len(set(told)) == SIBLINGS
        assert all(any(count_differences(one, other) == 1 for other in told) for one in told)


def test_a_leaf_is_no_grid(shop):
    """Of all combinations of the values that there are few exist, and most products differ in several facts."""
    for block in range(0, 40 * SIBLINGS, SIBLINGS):
        told = [tuple(unchosen(product).values()) for product in shop[block : block + SIBLINGS]]
        assert 0.4 * prod(len(set(values)) for values in zip(*told, strict=True)) > SIBLINGS
        assert mean(count_differences(*pair) for pair in zip(told, told[40:], strict=False)) > 2.5


def test_some_products_are_another_makers_in_all_but_the_name(shop):
    rivals = 0
    for block in range(0, 40 * SIBLINGS, SIBLINGS):
        nameless = [unchosen(product) | {"brand": ""} for product in shop[block : block + SIBLINGS]]
        rivals += sum(nameless.count(each) > 1 for each in nameless)
    assert 0.05 < rivals / (40 * SIBLINGS) < 0.5


def test_titles_tell_some_facts_and_pages_tell_all(shop):
    shares = []
    for product in shop[::17]:
        title = normalize_words([product["title"]])
        told = [normalize_words([value]) in title for name, value in unchosen(product).items() if value]
        shares.append(mean(told))
        assert find_untold_fact(product) is None
    assert 0.4 < mean(shares) < 0.8
    assert len(set(shares)) > 5


def test_where_a_fact_stands_differs_by_product(shop):
    """Every fact that is no option is now in the title, now in a bullet or the description alone."""
    places = defaultdict(set)
    for product in shop[: 40 * SIBLINGS]:
        for name, value in unchosen(product).items():
            if name not in ("brand", "color"):
                places[product["category"], name].add(normalize_words([value]) in normalize_words([product["title"]]))
    assert mean(len(found) == 2 for found in places.values()) > 0.6


def test_lines_come_in_some_of_what_their_leaf_has(shop):
    offers = {tuple(option["values"]) for product in shop[:SIBLINGS] for option in product["options"]}
    assert len(offers) > 5


def test_no_title_says_what_is_picked(shop):
    for product in shop:
        title = product["title"].replace(product["brand"], "", 1)
        assert not any(
            find_denied_choice(title, [(each["name"], value) for value in each["values"]])
            for each in product["options"]
        )


def test_colors_and_values_are_those_of_the_leaf(shop):
    leaves = {leaf.name: leaf for domain in domains() for leaf in domain.leaves}
    for product in shop[::7]:
        leaf = leaves[product["category"]]
        assert product["category_path"][-1] == leaf.name
        assert product["color"] in (leaf.colors or [None])
        assert all(one["value"] in leaf.list_values()[one["name"]] for one in product["attributes"])


def test_what_can_be_picked_is_what_the_product_has(shop):
    for product in shop[::7]:
        for option in product["options"]:
            assert facts(product)[option["name"]] in option["values"]


def test_quantities_have_their_number_and_unit(shop):
    numbers = [one for product in shop for one in product["attributes"] if one["number"] is not None]
    assert len(numbers) > 1_000
    assert all(f"{one['number']:g}" in one["value"] and one["unit"] in one["value"] for one in numbers)


def test_prices_lie_around_those_of_their_leaf(shop):
    leaves = {leaf.name: leaf.price[0] for domain in domains() for leaf in domain.leaves}
    found = defaultdict(list)
    for product in shop:
        found[product["category"]].append(product["price"] / 100 / leaves[product["category"]])
    assert 0.7 < median(median(ratios) for ratios in found.values()) < 1.5
    assert min(product["price"] for product in shop) >= 49
    assert max(product["price"] for product in shop) < 1_000_000_00


def test_prices_differ_among_siblings(shop):
    assert len({product["price"] for product in shop[:SIBLINGS]}) > 10


def test_ratings_reviews_and_shipping_are_in_their_ranges(shop):
    leaves = {leaf.name: leaf.shipping_days for domain in domains() for leaf in domain.leaves}
    for product in shop:
        assert product["review_count"] >= 0
        assert 1 <= product["rating"] <= 5 if product["review_count"] else product["rating"] is None
        first, last = leaves[product["category"]]
        assert first <= product["shipping_days"] <= last


def test_no_maker_has_more_than_a_small_share_of_the_shop(shop):
    assert max(Counter(product["brand"] for product in shop).values()) < ALL / 50


def test_texts_have_no_gaps_left(shop):
    for product in shop[::11]:
        for text in [product["title"], product["description"], *product["bullets"]]:
            assert text == " ".join(text.split())
            assert "{" not in text
            assert "None" not in text
