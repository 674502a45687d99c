"""Lives: needs that persist and end, searches as people type them, and clicks that the shop's own pages hold."""

from collections import Counter
from datetime import date
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from shopwright.pipeline.run import Run
from shopwright.pipeline.world.actions import CART, CLICK, PURCHASE, QUOTA, SEARCH
from shopwright.pipeline.world.household import Household
from shopwright.pipeline.world.kinds import find_entry
from shopwright.pipeline.world.lives import Life, open_shop
from shopwright.pipeline.world.searches import mistype, once

FIRST = date(2024, 5, 1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("lives"), seed=5, workers=1)
    found.build("queries", products=9_600)
    found.build("personas", count=12)
    return found


@pytest.fixture(scope="module")
def shop(run):
    return open_shop(run.read("catalog"), run.read("queries"))


@pytest.fixture(scope="module")
def people(run):
    return list(run.read("personas"))


def numbers(*names):
    return np.random.default_rng([ord(letter) for letter in "/".join(map(str, names))])


@pytest.fixture(scope="module")
def lives(shop, people):
    found = [Life(person, shop, numbers, FIRST, "paper") for person in people]
    for life in found:
        life.go(24_000)
    return found


def test_the_same_life_whatever_is_asked_for(shop, people):
    short, long = (Life(people[0], shop, numbers, FIRST, "paper") for _ in range(2))
    short.go(3_000)
    long.go(9_000)
    for name in ("kinds", "products", "texts", "seconds", "cents"):
        assert getattr(long, name)[: len(short.kinds)] == getattr(short, name)


def test_every_hundred_actions_hold_the_quota(lives):
    for life in lives:
        for begin in range(0, len(life.kinds) - 99, 100):
            counts = Counter(life.kinds[begin : begin + 100])
            assert tuple(counts[kind] for kind in range(4)) == QUOTA


def test_a_life_without_a_quota_has_a_mix_of_its_own(shop, people):
    life = Life(people[1], shop, numbers, FIRST, "life")
    life.go(24_000)
    counts = Counter(life.kinds)
    assert min(counts[kind] for kind in range(4)) > 0
    assert counts[PURCHASE] <= counts[CART] <= counts[CLICK]
    blocks = {tuple(sorted(Counter(life.kinds[b : b + 100]).items())) for b in range(0, len(life.kinds) - 99, 100)}
    assert len(blocks) > 1


def test_what_is_clicked_stood_on_the_page_of_the_last_search(shop, lives):
    for life in lives:
        text = ""
        for kind, product, typed in zip(life.kinds, life.products, life.texts, strict=True):
            text = typed if kind == SEARCH else text
            if kind == CLICK:
                assert product in shop.pages.search.find(text, limit=40)


def test_clicks_fall_with_the_place_on_the_page(shop, lives):
    places = Counter()
    for life in lives:
        text = ""
        for kind, product, typed in zip(life.kinds, life.products, life.texts, strict=True):
            text = typed if kind == SEARCH else text
            if kind == CLICK:
                places[shop.pages.of(text).tolist().index(product) // 5] += 1
    assert places[0] > 2 * places[1] > 2 * places[3]
    assert sum(places[part] for part in range(4, 8)) < 0.25 * places.total()


def test_what_comes_into_the_cart_was_just_opened_and_what_is_bought_lies_there(lives):
    for life in lives:
        cart = Counter()
        for before, now in pairwise(zip(life.kinds, life.products, strict=True)):
            if now[0] == CART:
                assert before == (CLICK, now[1])
                cart[now[1]] += 1
            elif now[0] == PURCHASE:
                cart[now[1]] -= 1
                assert cart[now[1]] >= 0


def test_things_that_are_kept_are_bought_once(shop, lives):
    again = bought = 0
    for life in lives:
        leaves = Counter(
            int(shop.stock.leaf_of[product])
            for kind, product in zip(life.kinds, life.products, strict=True)
            if kind == PURCHASE
        )
        for leaf, count in leaves.items():
            if shop.kinds.of[leaf].use == "durable":
                again += count - 1
                bought += count
    assert bought > 20
    assert again < 0.15 * bought


def test_a_need_ends_when_it_is_bought_and_what_is_used_up_comes_back(shop, people):
    household = Household(people[2], shop.kinds, shop.stock, Random(3), FIRST)
    day = household.first
    for ahead in range(60):
        if needs := [need for need in household.upto(day + ahead) if need.reason == "used up"]:
            break
    need = needs[0]
    household.bought(need, day + ahead)
    assert need.state == "bought"
    assert need not in household.upto(day + ahead + 1)
    assert household.due[need.leaf] > day + ahead + 0.5 * shop.kinds.of[need.leaf].days
    assert not household.may_need(need.leaf, day + ahead + 1)


def test_needs_that_nobody_meets_end_too(shop, people):
    household = Household(people[3], shop.kinds, shop.stock, Random(4), FIRST)
    first = list(household.upto(household.first + 20))
    household.upto(household.first + 200)
    assert first
    assert {need.state for need in first} <= {"given up", "solved elsewhere"}


def test_children_grow_out_of_diapers(shop, run):
    person = next(iter(run.read("personas"))).model_copy(
        update={"household": "a couple with a baby", "age_band": "25-34"}
    )
    household = Household(person, shop.kinds, shop.stock, Random(5), FIRST)
    baby = next(leaf for leaf, kind in enumerate(shop.kinds.of) if kind.who == "baby")
    assert household.weight[baby] > 0
    household.set_month(household.first + 4 * 365)
    assert household.weight[baby] == 0


@pytest.mark.parametrize(
    ("leaf", "path", "use", "who"),
    [
        ("Disposable Diapers", (), "consumable", "baby"),
        ("Kids Backpacks", (), "wears", "child"),
        ("Laser Printer Toner", (), "consumable", "office"),
        ("Robot Vacuums", (), "durable", None),
        ("Bar", ("Food", "Dark Chocolate Bars", "Bar"), "consumable", None),
    ],
)
def test_kinds_come_from_the_words_of_a_category(leaf, path, use, who):
    entry = find_entry(leaf, path)
    assert entry is not None
    assert (entry["use"], entry.get("who")) == (use, who)


def test_a_category_without_known_words_has_no_entry():
    assert find_entry("Zublo Zarf", ("Zublo Zarf",)) is None


def test_searches_are_refined_part_by_part(lives):
    """Of the searches right after one another in a visit, most keep a word and change another."""
    kept = total = 0
    for life in lives:
        for place in range(1, len(life.kinds)):
            if life.kinds[place - 1] == life.kinds[place] == SEARCH:
                one, other = set(life.texts[place - 1].split()), set(life.texts[place].split())
                total += 1
                kept += bool(one & other) and one != other
    assert kept > 0.45 * total


def test_searches_have_the_forms_of_peoples(lives):
    texts = [text for life in lives for text in life.texts if text]
    lengths = Counter(min(6, len(text.split())) for text in texts)
    share = {words: count / len(texts) for words, count in lengths.items()}
    assert 0.02 < share[1] < 0.08
    assert 0.1 < share[6] < 0.24
    small = sum(bool({"for", "with", "without", "in", "and", "of"} & set(text.split())) for text in texts)
    assert 0.28 < small / len(texts) < 0.45


def test_some_searches_are_mistyped():
    random = Random(2)
    wrong = sum(
        mistype("stainless steel kettle for two people", random) != "stainless steel kettle for two people"
        for _ in range(20_000)
    )
    assert 0.04 * 20_000 < wrong < 0.08 * 20_000
    assert once("lamp lamp  oak") == "lamp oak"


def test_what_goes_with_a_thing_may_have_no_name(shop, people, monkeypatch):
    """Real exports hold categories of which no title has a noun."""
    words, random = shop.words, Random(4)
    leaf = next(leaf for leaf, kind in enumerate(shop.kinds.of) if len(kind.companions) > 1)
    need = Household(people[0], shop.kinds, shop.stock, random, FIRST).need(leaf, "project", 19_000, 9, keen=0.5)
    need.parts = {"name": "thing"}
    first, *others = shop.kinds.of[leaf].companions
    monkeypatch.setattr(words, "known", {first: (), **dict.fromkeys(others, ("stand",))})
    assert {words.companion_name(leaf, random) for _ in range(50)} == {"stand"}
    monkeypatch.setattr(words, "known", dict.fromkeys(range(len(shop.stock.leaves)), ()))
    assert words.companion_name(leaf, random) == ""
    for _ in range(300):
        assert words.purpose(need, random).strip()
        assert words.shaped(need, random).strip()


def test_some_things_are_sent_back_and_what_comes_instead_is_kept(shop, people):
    household = Household(people[0], shop.kinds, shop.stock, Random(4), FIRST)
    leaf = next(leaf for leaf, kind in enumerate(shop.kinds.of) if kind.use == "durable")
    for reason, returned in (("project", True), ("sent back", False)):
        household.ahead = []
        for _ in range(400):
            household.bought(household.need(leaf, reason, 19_000, 9, keen=0.5, whom="gift"), 19_000)
        assert any(need.reason == "sent back" for need in household.ahead) == returned
