"""A task's needs are the fewest that decide, in the grade that was asked for; what is meant loosely decides, too."""

from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from shopwright.pipeline.gym import world
from shopwright.pipeline.shopping.draw import (
    GRADES,
    MOST_RIGHT,
    draft_task,
    draw_grade,
    is_sayable,
    list_possible_needs,
)
from shopwright.pipeline.shopping.effects import find_effect, find_effect_bounds, load_effects
from shopwright.pipeline.shopping.facts import VariantTables, compute_price_ceiling, is_need_met, parse_measurement
from shopwright.pipeline.shopping.right_products import pack_bits
from shopwright.pipeline.shopping.score import list_product_variants
from shopwright.pipeline.shopping.telling_facts import HABITS, TellingFacts, draw_manner, list_offered_values
from shopwright.schemas.certificates import parse_certificate
from shopwright.schemas.shopping import Need


@pytest.fixture(scope="module")
def counters():
    """Some forty products to a category."""
    return VariantTables(world(products=8_000, customers=1, seed=4).store)


@pytest.fixture(scope="module")
def drafts(counters):
    made = []
    for grade in GRADES:
        found = (draft_task(counters, row, Random(row), grade=grade) for row in range(0, 8_000, 29))
        made += [(grade, one) for one in found if one]
    return made


def list_satisfying(store, leaf, needs):
    """The ids of the products some variant of which is for sale and meets all, one after the other, without the tables."""
    ids = [store.ids[row].as_py() for row in store.shelf(leaf).rows.tolist()]
    return [
        id
        for id in ids
        if any(
            (thing.option is None or thing.option.stock > 0)
            and all(is_need_met(need, thing.item, thing.option) for need in needs)
            for thing in list_product_variants(store, id)
        )
    ]


def list_certified(one):
    return [end.bought[0].product_id for end in parse_certificate(one.acceptable).ends]


def test_any_need_that_is_left_out_lets_another_product_fit(counters, drafts):
    store = counters.store
    for _, one in drafts[::7]:
        leaf = store.place_of_leaf[one.category]
        right = list_satisfying(store, leaf, one.needs)
        assert sorted(list_certified(one)) == sorted(right)
        assert one.thing.item.id in right
        for need in one.needs:
            rest = [each for each in one.needs if each is not need]
            assert len(list_satisfying(store, leaf, rest)) > len(right), (one.category, need)


def test_few_words_may_fit_several_products_and_the_draft_says_so(drafts):
    several = [one for _, one in drafts if one.right == "any of several"]
    assert several
    for _, one in drafts:
        assert (len(list_certified(one)) > 1) == (one.right == "any of several")
        assert len(list_certified(one)) <= MOST_RIGHT


def test_a_grade_has_as_many_needs_as_it_says(drafts):
    assert {grade for grade, _ in drafts} == set(GRADES)
    for grade, one in drafts:
        assert one.grade == grade
        assert len(one.needs) in GRADES[grade] or (grade == 1 and len(one.needs) == 1)


@pytest.mark.parametrize("language", HABITS)
def test_grades_are_dealt_in_the_shares_that_are_stated(language):
    random, shares = Random(1), HABITS[language].grades
    dealt = [draw_grade(random, language) for _ in range(4_000)]
    for grade, share in shares.items():
        assert abs(dealt.count(grade) / len(dealt) - share) < 0.03
    assert sum(shares.values()) == pytest.approx(1)


def test_the_title_does_not_tell_all_that_is_needed_in_the_same_words(drafts):
    for _, one in drafts:
        title = one.thing.item.title.lower()
        assert any(need.op != "is" or need.value.lower() not in title for need in one.needs), (title, one.needs)


@pytest.mark.parametrize(("value", "asked"), [("standard packaging", False), ("gift wrapping", True)])
def test_what_everything_comes_in_is_not_asked_for(counters, drafts, value, asked):
    thing = drafts[0][1].thing
    counter = counters.of(counters.store.place_of_leaf[thing.item.category])
    need = Need(fact="color", op="is", value=value, kind="option", known="stated", said="")
    assert ("color" in TellingFacts(counter, thing, {"color": need}).plain) == asked


def test_nobody_needs_reviews_ratings_or_days_of_delivery(drafts):
    facts = [need.fact for _, one in drafts for need in one.needs]
    assert not {"rating", "review count", "shipping days"} & set(facts)


def test_a_size_in_the_middle_and_a_price_a_little_off_decide_nothing(counters, drafts):
    """Who takes a bound or a price less strictly comes to the same product."""
    loose = 0
    for _, one in drafts:
        counter = counters.of(counters.store.place_of_leaf[one.category])
        right = [counters.store.row(id) for id in list_certified(one)]
        others = counter.stocked & ~np.isin(counter.rows, right)
        for need in one.needs:
            if need.op in ("at most", "at least") and need.fact != "price":
                bounds = find_effect_bounds(list_offered_values(counter, need.fact), need.op)
                assert bounds
                assert bounds[0] == need.value
                others &= counter.meets(need.model_copy(update={"value": bounds[1]}))
                loose += bounds[0] != bounds[1]
            elif need.op == "about":
                others &= np.abs(counter.cents - round(need.number * 100)) <= 0.2 * 100 * need.number
            else:
                others &= counter.meets(need)
        assert not others.any()
    assert loose


def test_what_is_not_wanted_is_known_of_everything(counters, drafts):
    """A product of which nothing is said may be just that."""
    denied = [(one, need) for _, one in drafts for need in one.needs if need.op == "is not"]
    assert denied
    for one, need in denied:
        counter = counters.of(counters.store.place_of_leaf[one.category])
        assert (counter.columns[need.fact] >= 0).all()


def test_nothing_costs_just_a_limit_so_that_under_and_at_most_are_the_same(counters, drafts):
    limits = [(one, need) for _, one in drafts for need in one.needs if need.fact == "price" and need.op == "at most"]
    assert limits
    for one, need in limits:
        counter = counters.of(counters.store.place_of_leaf[one.category])
        assert not (counter.cents == round(need.number * 100)).any()


def price(op, value):
    return Need(fact="price", op=op, value=f"{value:.2f}", number=value, kind="price", known="stated", said="")


@pytest.mark.parametrize(("cents", "met"), [(2_699, False), (2_700, True), (3_300, True), (3_301, False)])
def test_about_is_within_a_tenth(counters, cents, met):
    item = replace(counters.store.item(0), cents=cents)
    assert is_need_met(price("about", 30.0), item, None) == met


def test_the_most_that_about_so_much_can_be_is_a_tenth_more():
    assert str(compute_price_ceiling(price("about", 30.0))) == "33.00"
    assert str(compute_price_ceiling(price("at most", 30.0))) == "30.00"


def test_an_effect_begins_at_the_same_value_in_whatever_unit_it_is_written():
    assert find_effect_bounds(["8 oz", "1 lb", "2 lb", "16 oz"], "at least") == ("2 lb", "16 oz")
    assert find_effect_bounds(["8 oz", "1 lb"], "at least") is None
    assert find_effect_bounds(["8 oz", "1 lb", "large"], "at least") is None


def test_an_effect_is_for_its_own_measure_department_and_end():
    light = next(each for each in load_effects() if each.name == "light")
    assert find_effect("Clothing", "Crew Neck T-Shirts", "weight", "at most", "kg") == light
    assert find_effect("Food", "Trail Mixes", "weight", "at most", "kg") != light
    assert find_effect("Clothing", "Crew Neck T-Shirts", "weight", "at most", "W") is None
    assert parse_measurement("5 oz")[1] == "kg"


def test_who_tells_no_brand_and_no_price_tells_none_whatever_would_decide(counters):
    """The manner is the person's: a product that it cannot tell has no task."""
    manner = replace(
        draw_manner(HABITS["en"], 1, Random(3), freely=False),
        brand=False,
        price=False,
        several=False,
        measures=0,
        packed=False,
    )
    found = [draft_task(counters, row, Random(row), grade=1, manner=manner) for row in range(0, 8_000, 29)]
    told = {need.fact for one in found if one for need in one.needs}
    assert 12 < sum(one is not None for one in found) < len(found)
    assert told.isdisjoint({"brand", "packaging"})
    priced = [one for one in found if one and any(need.fact == "price" for need in one.needs)]
    assert all(look_up_told(counters, one).is_told_by_title for one in priced)


def test_one_or_two_needs_are_never_all_in_the_title(counters):
    """Who compares words would have the product."""
    rows = range(0, 8_000, 97)
    drawn = ((row, draft_task(counters, row, Random(row), titled=True)) for row in rows)
    short = [(row, one) for row, one in drawn if one and len(one.needs) <= 2]
    titles = {row: one.thing.item.title.lower() for row, one in short}
    assert short
    for row, one in short:
        assert not all(need.op == "is" and need.value.lower() in titles[row] for need in one.needs)


@pytest.mark.parametrize(
    ("leaf", "fact", "value", "kind", "sayable"),
    [
        ("Headsets", "pack", "6 pack", "option", False),
        ("Headsets", "pack", "6 pack", "attribute", True),
        ("Photo Paper", "pack", "6 pack", "option", True),
        ("Headsets", "brand", "Zalman USA Inc", "attribute", False),
        ("Headsets", "brand", "Zalman", "attribute", True),
        ("Headsets", "length", "75 ft", "attribute", False),
        ("Headsets", "power", "75 W", "attribute", True),
    ],
)
def test_nobody_asks_for_invented_packs_legal_forms_and_measures_of_something_else(leaf, fact, value, kind, sayable):
    columns = {"length": np.array([0, *[-1] * 9]), "power": np.array([0, 0, *[-1] * 8])}
    table = SimpleNamespace(leaf=leaf, columns=columns)
    measure = {"number": 75.0, "unit": value.split()[1]} if value.startswith("75") else {}
    need = Need(fact=fact, op="is", value=value, kind=kind, known="stated", said="", **measure)
    assert is_sayable(table, need) == sayable


def look_up_told(counters, one):
    counter = counters.of(counters.store.place_of_leaf[one.category])
    return TellingFacts(counter, one.thing, list_possible_needs(counter, one.thing))


def test_where_two_needs_are_never_enough_no_task_has_two(counters):
    manner = replace(draw_manner(HABITS["en"], 1, Random(3), freely=True), brand=True, price=True, several=False)
    seen = {True: 0, False: 0}
    for row in range(0, 8_000, 11):
        one = draft_task(counters, row, Random(row), grade=1, manner=manner)
        if one is None or any(need.op == "is not" for need in one.needs):
            continue
        counter = counters.of(counters.store.place_of_leaf[one.category])
        others = pack_bits(counter.stocked & (counter.rows != row))
        enough = look_up_told(counters, one).can_tell_in(2, others, manner)
        seen[enough] += 1
        assert enough or len(one.needs) > 2
    assert min(seen.values()) > 0


def test_needs_that_are_enough_are_never_taken_for_too_few(counters):
    """Of a draw that takes any number of needs: else products would be given up that have a task."""
    sizes = set()
    for row in range(0, 8_000, 17):
        manner = draw_manner(HABITS["en"], 1 + row % 3, Random(row), freely=False)
        one = draft_task(counters, row, Random(row), manner=manner)
        if one is None or one.right == "any of several":
            continue
        counter, told = counters.of(counters.store.place_of_leaf[one.category]), look_up_told(counters, one)
        manner = replace(manner, price=manner.price or told.is_told_by_title)
        assert told.can_tell_in(len(one.needs), pack_bits(counter.stocked & (counter.rows != row)), manner)
        sizes.add(len(one.needs))
    assert len(sizes) > 2
