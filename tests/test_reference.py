"""The embedded shop as a dataset: large ones are small ones with more in them, and nothing is in them twice."""

from collections import Counter

import pytest

from shopwright.pipeline.catalog.sources.sample import PRODUCTS, SIBLINGS, generate_products, list_shelves
from shopwright.pipeline.run import Run

CHOSEN = {shelf.leaf.name: {option.replace("_", " ") for option in shelf.leaf.options} for shelf in list_shelves()}
"""What the shopper picks on the page, of each category: siblings may have the same to choose from."""


def facts(product):
    """What can tell it from its siblings: its maker, its color and its attributes, if it is not picked on the page."""
    told = {"brand": product["brand"], "color": product["color"]}
    told |= {one["name"].replace("_", " "): one["value"] for one in product["attributes"]}
    return [each for each in told.items() if each[0] not in CHOSEN[product["category"]]]


def test_a_catalog_of_1200_is_the_beginning_of_one_of_2400(tmp_path):
    tables = []
    for count in (1_200, 2_400):
        run = Run(tmp_path / str(count), seed=3, workers=1)
        assert run.build("catalog", products=count).rows == count
        tables.append(run.read("catalog").table())
    assert tables[1].slice(0, 1_200).equals(tables[0])


def test_every_product_has_siblings_one_fact_apart_and_no_twin():
    for first in range(0, PRODUCTS, SIBLINGS):
        block = list(generate_products(3, range(first, first + SIBLINGS)))
        assert len({product["category"] for product in block}) == 1
        told = [tuple(facts(product)) for product in block]
        assert len(set(told)) == SIBLINGS
        without = Counter((place, one[:place] + one[place + 1 :]) for one in told for place in range(len(one)))
        assert all(any(without[place, one[:place] + one[place + 1 :]] > 1 for place in range(len(one))) for one in told)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ids_and_titles_are_unique_among_200000(seed):
    ids, titles = set(), set()
    for product in generate_products(seed, range(200_000)):
        ids.add(product["id"])
        titles.add(product["title"].lower())
    assert len(ids) == len(titles) == 200_000
