"""What people type for a product: some of it is of its category's row, and fits the product."""

import re

import numpy as np
import pytest

from pipeline.run import Run
from pipeline.shop.kinds import Kinds, limit_of
from pipeline.shop.repertoire import EXPLORATORY, USUAL, Repertoire, by_category
from pipeline.words import content_words, words
from schemas.shop import Query


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("repertoire"), seed=5, workers=1)
    found.build("queries", products=2_400)
    return found


@pytest.fixture(scope="module")
def kinds(run):
    return run.read("catalog").once(Kinds)


@pytest.fixture
def known(run, kinds):
    """The repertoire with these rows, and every product of their categories in it; without rows, every product."""

    def of(rows):
        found, stock = Repertoire(kinds), kinds.stock
        found.hear(rows)
        leaves = [stock.place_of_leaf[name] for name in rows] or np.arange(len(stock.leaves))
        found.learn(np.flatnonzero(np.isin(stock.leaf_of, leaves)))
        return found

    return of


def exploratory(known, product):
    return [known.texts[place] for place in known.exploratory[known.slot[product]].tolist()]


def accurate(known, product):
    return [known.texts[place] for place in known.accurate[known.slot[product]].tolist()]


def row(category, texts, by="model"):
    return {category: Query(id="query-0", category=category, group="", texts=texts, written_by=by)}


@pytest.fixture
def leaf(kinds):
    """A category with colors and several makers, and the products in it."""
    name = next(name for name in kinds.stock.leaves if len(kinds.of(name).colors) > 2)
    return name, np.flatnonzero(kinds.stock.leaf_of == kinds.stock.place_of_leaf[name]).tolist()


def own(row, searches):
    return [text for text in searches if text in row]


def test_what_a_model_phrased_is_typed_more_than_what_was_composed(kinds, known, leaf):
    name, products = leaf
    head = kinds.stock.speech(products[0]).head
    texts = [f"{head} for occasion number {n}" for n in range(12)]
    counts = {}
    for by in ("code", "model"):
        found = known(row(name, texts, by))
        counts[by] = {len(own(texts, exploratory(found, product))) for product in products}
    assert counts == {"code": {USUAL["code"]}, "model": {USUAL["model"]}}
    assert USUAL["code"] < EXPLORATORY / 2 < USUAL["model"] < EXPLORATORY


def test_products_of_a_category_do_not_all_have_the_same(kinds, known, leaf):
    name, products = leaf
    head = kinds.stock.speech(products[0]).head
    texts = [f"{head} for occasion number {n}" for n in range(12)]
    found = known(row(name, texts))
    assert {text for product in products for text in own(texts, exploratory(found, product))} == set(texts)
    assert len({frozenset(own(texts, exploratory(found, product))) for product in products}) > len(products) / 2


def test_a_search_for_another_color_brand_or_price_is_not_this_products(kinds, known, leaf):
    name, products = leaf
    stock, kind = kinds.stock, kinds.of(name)
    head = stock.speech(products[0]).head
    makers = sorted({stock.speech(product).brand for product in products})
    caps = sorted({int(stock.cents[product]) // 100 for product in products})
    asked = [*(f"{color} {head}" for color in kind.colors), *(f"{maker} {head}" for maker in makers)]
    asked += [f"{head} under {cap}" for cap in caps]
    assert len(kind.colors) > 2 < len(makers)
    for text in asked:
        found = known(row(name, [text]))
        for product in products:
            typed = text in exploratory(found, product)
            limit, told = limit_of(text), set(content_words(text)) - set(words(head))
            if limit is None:
                assert told <= stock.words(product) or not typed
            else:
                assert limit >= stock.cents[product] or not typed
    fitting = known(row(name, [f"{stock.speech(products[0]).color} {head}", "nothing like it"]))
    assert f"{stock.speech(products[0]).color} {head}" in exploratory(fitting, products[0])


def test_a_search_without_a_word_of_what_the_product_is_called_is_not_typed_for_it(known, leaf):
    name, products = leaf
    found = known(row(name, ["something else altogether"]))
    assert not any("something else altogether" in exploratory(found, product) for product in products)


@pytest.mark.parametrize("rows", ["none", "those of the build"])
def test_every_product_has_its_searches_all_of_them_different(run, kinds, known, rows):
    found = known({} if rows == "none" else by_category(run.read("queries")))
    for product in range(len(kinds.stock)):
        both = [*accurate(found, product), *exploratory(found, product)]
        assert len(set(both)) == len(both) == 4 + EXPLORATORY
        assert all(text == " ".join(text.split()) and text for text in both)


def test_a_limit_is_never_below_the_products_own_price(run, kinds, known):
    found = known(by_category(run.read("queries")))
    limits = 0
    for product in range(len(kinds.stock)):
        for text in exploratory(found, product):
            if re.search(r"under \d+$", text):
                limits += 1
                assert limit_of(text) >= kinds.stock.cents[product], text
    assert limits > len(kinds.stock) / 4


def test_other_rows_are_heard_and_the_same_ones_forget_nothing(known, kinds, leaf):
    name, products = leaf
    head = kinds.stock.speech(products[0]).head
    rows = row(name, [f"{head} for one thing"])
    found = known(rows)
    slots = found.slot.copy()
    found.hear(rows)
    assert (found.slot == slots).all()
    found.hear(row(name, [f"{head} for another"]))
    found.learn(np.array(products))
    said = exploratory(found, products[0])
    assert f"{head} for another" in said
    assert f"{head} for one thing" not in said


def test_what_a_product_has_does_not_hang_on_who_was_met_first(run, kinds):
    rows = by_category(run.read("queries"))
    one, other = Repertoire(kinds), Repertoire(kinds)
    for found, order in ((one, range(50)), (other, reversed(range(50)))):
        found.hear(rows)
        for product in order:
            found.learn(np.array([product]))
    assert [exploratory(one, product) for product in range(50)] == [
        exploratory(other, product) for product in range(50)
    ]
