"""The embedded shop: what it is made of, and that it is the same at any size."""

from collections import Counter, defaultdict
from statistics import median

import pytest

from shopwright.pipeline.catalog.reference import domains
from shopwright.pipeline.catalog.sources.sample import SIBLINGS, generate_products
from shopwright.pipeline.checks.titles import find_denied_choice
from shopwright.pipeline.words import split_words

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
    assert len(domains()) == 12
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


def test_siblings_differ_in_their_facts_and_each_has_some_one_fact_apart(shop):
    for block in range(0, 40 * SIBLINGS, SIBLINGS):
        told = [tuple(unchosen(product).items()) for product in shop[block : block + SIBLINGS]]
        assert len(set(told)) == SIBLINGS
        for one in told:
            near = sum(sum(x != y for x, y in zip(one, other, strict=True)) == 1 for other in told)
            assert near >= 6


def test_siblings_are_called_the_same(shop):
    """Same words: what two titles do not share are the facts in which they differ."""
    for block in range(0, 40 * SIBLINGS, SIBLINGS):
        one, other = shop[block], shop[block + 1]
        apart = set(split_words(one["title"])) ^ set(split_words(other["title"]))
        differ = {v for p, q in [(one, other), (other, one)] for k, v in facts(p).items() if facts(q)[k] != v and v}
        assert apart <= set(split_words(" ".join(differ)))


def test_titles_tell_every_fact_but_what_is_picked(shop):
    for product in shop[::17]:
        said = product["title"].lower()
        assert all(value.lower() in said for value in unchosen(product).values() if value)


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
        assert all(one["value"] in leaf.attributes[one["name"]] for one in product["attributes"])


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
