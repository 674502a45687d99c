"""Needs are met by typed equality: units, whole words, the variant's own price and choice."""

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.envs.load_world import NUMBER_COLUMNS, SHOWN_COLUMNS
from shopwright.pipeline.gym import build_dataset_in_memory, world
from shopwright.pipeline.shop.store import Item, Option, Store
from shopwright.pipeline.shopping.draw import draft_task, list_possible_needs
from shopwright.pipeline.shopping.facts import (
    ProductVariant,
    VariantTables,
    build_need,
    is_need_met,
    is_same_value,
    parse_measurement,
)
from shopwright.schemas.certificates import parse_certificate, parse_miss
from shopwright.schemas.shop import Attribute, Choice
from shopwright.schemas.shopping import Need

ITEM = Item(
    row=0, id="P1", title="A lamp", brand="Norrvik", color="hundred red", category="Lamps", group="Home", cents=2_000, rating=4.5,
    review_count=10, shipping_days=3, description="",
    attributes=(Attribute(name="base_wood", value="oak"), Attribute(name="height", value="12 in", number=12.0, unit="in")),
)  # fmt: skip
OPTION = Option(
    "P1-1", "P1", (Choice(name="color", value="washed blue"), Choice(name="height", value="24 in")), 3_000, 5, False
)


def need(fact, value, op="is", number=None, kind="attribute"):
    return Need(fact=fact, op=op, value=value, number=number, kind=kind, known="stated", said="")


def satisfied(store, counter, needs):
    """The ids of the products that satisfy all of them, by some variant that can be bought."""
    return [store.ids[row].as_py() for row in sorted(set(counter.rows[counter.where(needs)].tolist()))]


@pytest.fixture(scope="module")
def counters():
    return VariantTables(world(products=1_200, customers=1, seed=4).store)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Oak", "oak", True), ("1 ft", "12 in", True), ("1 ft", "13 in", False), ("1000 g", "1 kg", True), ("16 oz", "1 lb", True),
        ("1 TB", "1000 GB", True), ("60 min", "1 hours", True), ("red", "hundred", False), ("ash", "washed", False), ("10", "10 in", False),
        ("12", "12.0", True), ("12 cup", "12 cups", False), ("", "0", False),
    ],
)  # fmt: skip
def test_equal_is_equal_in_value_and_in_whole_words(one, other, same):
    assert is_same_value(one, other) == is_same_value(other, one) == same


@given(st.floats(0.01, 10_000), st.sampled_from(["in", "cm", "mm", "ft"]), st.sampled_from(["in", "cm", "mm", "ft"]))
def test_a_measure_is_the_same_in_another_unit(number, unit, other):
    metres = parse_measurement(f"{number:.6f} {unit}")[0]
    again = metres / parse_measurement(f"1 {other}")[0]
    assert is_same_value(f"{number:.6f} {unit}", f"{again:.9f} {other}")


@pytest.mark.parametrize(
    ("need", "met"),
    [
        (need("base wood", "oak"), True),
        (need("base wood", "Oak"), True),
        (need("base wood", "ash"), False),
        (need("nothing", "oak"), False),
        (need("color", "washed blue"), True),
        (need("color", "hundred red"), False),
        (need("color", "ash"), False),
        (need("height", "2 ft"), True),
        (need("height", "12 in"), False),
        (need("height", "20 in", "at least"), True),
        (need("height", "20 in", "at most"), False),
        (need("height", "20 L", "at least"), False),
        (need("price", "30.00", "at most", 30.0, "price"), True),
        (need("price", "29.99", "at most", 29.99, "price"), False),
        (need("rating", "4.5", "at least", 4.5), True),
        (need("rating", "4.6", "at least", 4.6), False),
        (need("shipping days", "3", "at most", 3), True),
        (need("brand", "norrvik"), True),
    ],
)
def test_a_variants_choice_and_price_stand_for_its_products(need, met):
    assert is_need_met(need, ITEM, OPTION) == met


def test_a_color_is_of_its_family():
    burgundy = replace(OPTION, choices=(Choice(name="color", value="Burgundy"),))
    found = [is_need_met(need("color", family, "kind of"), ITEM, burgundy) for family in ("red", "blue", "burgundy")]
    assert found == [True, False, False]


def test_a_product_without_variants_is_what_its_facts_say():
    assert is_need_met(need("height", "12 in"), ITEM, None)
    assert is_need_met(need("price", "20.00", "at most", 20.0, "price"), ITEM, None)


def test_columns_and_objects_agree_on_every_variant_of_a_leaf(counters):
    store = counters.store
    for leaf in (0, len(store.leaves) - 1):
        counter = counters.of(leaf)
        rows = range(0, len(counter.rows), 7)
        things = [
            ProductVariant(store.item(int(counter.rows[at])), store.option(int(counter.places[at]))) for at in rows
        ]
        for thing in things[:4]:
            needs = [found for fact in counter.columns if (found := build_need(fact, thing, known="stated", said=""))]
            needs += [need("color", family, "kind of") for family in ("red", "blue")]
            needs += [need("price", f"{thing.cents / 100:.2f}", "at most", thing.cents / 100, "price")]
            needs += [need("rating", "4", "at least", 4.0), need("review count", "20", "at least", 20.0)]
            for each in needs:
                found = counter.meets(each)[list(rows)].tolist()
                assert found == [is_need_met(each, other.item, other.option) for other in things], each


def test_what_is_sold_out_satisfies_nothing(counters):
    store = counters.store
    counter = counters.of(0)
    assert not counter.where([])[~counter.stocked].any()
    sold_out = int((~counter.stocked).nonzero()[0][0])
    assert sold_out not in counter.where([]).nonzero()[0]
    assert satisfied(store, counter, [need("brand", "no such brand")]) == []


def test_a_task_is_satisfied_by_the_products_of_its_certificate_alone(counters):
    store = counters.store
    found = [one for row in range(0, 1_200, 8) if (one := draft_task(counters, row, Random(row)))]
    assert len(found) > 50
    for one in found:
        counter = counters.of(store.place_of_leaf[one.category])
        right = [end.bought[0].product_id for end in parse_certificate(one.acceptable).ends]
        assert sorted(satisfied(store, counter, one.needs)) == sorted(right)
        assert one.thing.item.id in right
        assert (len(right) == 1) == (one.right == "one product")
        assert all(is_need_met(each, one.thing.item, one.thing.option) for each in one.needs)
        assert len({each.fact for each in one.needs}) == len(one.needs)


def test_the_same_dice_draw_the_same_task(counters):
    assert draft_task(counters, 5, Random(1)) == draft_task(counters, 5, Random(1))


def test_another_variant_is_drawn_where_the_first_is_taken(counters):
    for row in range(40):
        first = draft_task(counters, row, Random(1))
        if first is not None:
            second = draft_task(counters, row, Random(1), but={first.thing.option.id})
            assert second is None or second.thing.option.id != first.thing.option.id


def test_the_nearest_miss_is_another_product_that_breaks_what_it_says(counters):
    store = counters.store
    for row in range(0, 400, 29):
        one = draft_task(counters, row, Random(row))
        if one is None:
            continue
        miss = parse_miss(one.nearest_miss)
        (near,) = miss.end.bought
        thing = ProductVariant(store.item(store.row(near.product_id)), store.option_of(near.variants[0]))
        assert near.product_id != one.thing.item.id
        assert [each.fact for each in one.needs if not is_need_met(each, thing.item, thing.option)] == miss.breaks != []


def test_the_certificate_names_every_variant_that_satisfies_the_needs(counters):
    """One variant after the other, by the needs alone."""
    store = counters.store
    for row in range(0, 400, 13):
        one = draft_task(counters, row, Random(row))
        if one is None:
            continue
        item = one.thing.item
        right = [
            option.id
            for option in store.options(item.row)
            if option.stock and all(is_need_met(need, item, option) for need in one.needs)
        ]
        lines = [end.bought[0] for end in parse_certificate(one.acceptable).ends]
        line = next(each for each in lines if each.product_id == item.id)
        assert (line.product_id, line.variants, line.quantity) == (item.id, right, 1)


def test_what_only_the_shop_cares_about_is_on_the_page_and_never_needed():
    made = build_dataset_in_memory("catalog", {}, {"products": 240}, 0)
    table = made.table([*SHOWN_COLUMNS, *NUMBER_COLUMNS])
    lists = table["attributes"].to_pylist()
    more = [[*each, {"name": "modelno", "value": f"AC-{place}"}] for place, each in enumerate(lists)]
    table = table.set_column(
        table.schema.get_field_index("attributes"), "attributes", pa.array(more, table["attributes"].type)
    )
    store = Store(table, build_dataset_in_memory("variants", {"catalog": made}, {}, 0).table())
    counter = VariantTables(store).of(0)
    thing = ProductVariant(store.item(int(counter.rows[0])), store.option(int(counter.places[0])))
    found = list_possible_needs(counter, thing)
    assert "modelno" in {each.name for each in thing.item.attributes}
    assert "brand" in found
    assert "modelno" not in found
    assert "modelno" not in thing.item.facts
    assert "modelno" not in store.shelf(0).codes
