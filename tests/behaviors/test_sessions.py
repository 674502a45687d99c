"""A log cut into sessions: what belongs together, what lay in the cart, and which variant was meant."""

from datetime import datetime, timedelta

import pytest

from shopwright.pipeline.behaviors.sessions import (
    CART,
    CART_LINES,
    CLICK,
    PURCHASE,
    SEARCH,
    Act,
    assign_customer_split,
    build_log,
    cut_sessions,
    find_session,
    map_purchases_to_variants,
    track_carts,
)
from tests.behaviors.world import World

NOON = datetime(2024, 5, 1, 12)


class NoOptions:
    """A shop in which nothing comes in several."""

    def row(self, product):
        return None


def log(*acts, bought=None):
    """Of acts from (minute, kind, what)."""
    made = [
        Act(row, NOON + timedelta(minutes=minute), kind, "" if kind == SEARCH else what, 100, what * (kind == SEARCH))
        for row, (minute, kind, what) in enumerate(acts)
    ]
    return build_log(made, bought or {}, NoOptions())


def rows(log, cut):
    return [[act.row for act in session.acts] for session in cut_sessions(log, cut)]


def test_another_errand_begins_with_a_search_that_has_no_word_of_the_one_before():
    found = log((0, SEARCH, "oak lamp"), (1, SEARCH, "lamps under 40"), (2, CLICK, "p1"), (3, SEARCH, "wool rug 40"))
    assert rows(found, "errand") == [[0, 1, 2], [3]]
    assert rows(found, "visit") == [[0, 1, 2, 3]]
    assert [len(errand) for errand in cut_sessions(found, "visit")[0].errands] == [3, 1]


def test_a_purchase_whose_order_was_rejected_leaves_the_cart_all_the_same():
    found = log((0, SEARCH, "oak lamp"), (1, CART, "p1"), (2, PURCHASE, "p1"), (3, SEARCH, "rug"), bought={})
    assert found.variants == {1: "", 2: ""}
    assert [session.cart for session in cut_sessions(found, "errand")] == [(), ()]


@pytest.mark.parametrize("cut", ["errand", "visit"])
def test_after_half_an_hour_it_is_another_visit(cut):
    found = log((0, SEARCH, "oak lamp"), (30, SEARCH, "oak lamp"), (60.1, SEARCH, "oak lamp"))
    assert rows(found, cut) == [[0, 1], [2]]


@pytest.mark.parametrize("cut", ["errand", "visit"])
def test_every_event_is_in_one_session(small, cut):
    world = World(small)
    for name in world.logs.customer:
        found = [act.row for session in cut_sessions(world.log(name), cut) for act in session.acts]
        assert found == list(range(len(world.log(name).acts)))


def test_a_session_knows_when_the_log_goes_on():
    one, other = cut_sessions(log((0, SEARCH, "oak lamp"), (9, SEARCH, "wool rug")), "errand")
    assert (one.until, other.until) == (NOON + timedelta(minutes=9), None)


def test_what_was_put_in_the_cart_months_before_lies_in_it():
    found = log(
        (0, SEARCH, "lamp"), (1, CLICK, "p1"), (2, CART, "p1"), (90_000, SEARCH, "rug"), (90_001, PURCHASE, "p1")
    )
    assert [session.cart for session in cut_sessions(found, "visit")] == [(), (("p1", ""),)]


def test_what_was_bought_is_no_longer_in_the_cart():
    acts = log((0, CART, "p1"), (1, CART, "p1"), (2, PURCHASE, "p1"), (3, PURCHASE, "p1"), (4, SEARCH, "x")).acts
    assert [len(cart) for cart in track_carts(acts, {}).values()] == [0, 1, 2, 1, 0]


def test_the_oldest_goes_where_the_cart_is_full():
    acts = log(*((number, CART, f"p{number}") for number in range(CART_LINES + 3))).acts
    assert track_carts(acts, {})[CART_LINES + 2][0] == ("p2", "")


def test_what_is_bought_is_what_was_put_in_the_cart_first():
    found = log((0, CART, "p1"), (1, CART, "p1"), (2, PURCHASE, "p1"), bought={2: "red"})
    assert found.variants == {0: "red", 1: "", 2: "red"}
    assert found.carts[2] == (("p1", "red"), ("p1", ""))


def test_a_purchase_is_the_variant_of_its_orders_line_at_its_price():
    acts = log((0, PURCHASE, "p1"), (1, PURCHASE, "p2")).acts
    lines = [
        {"product_id": "p1", "variant_id": "blue", "price": 2},
        {"product_id": "p1", "variant_id": "red", "price": 1},
    ]
    assert map_purchases_to_variants([{"rows": [0, 1, 9], "lines": lines}], acts) == {0: "red", 1: ""}


def test_purchases_of_a_run_are_the_variants_of_their_orders(small):
    world = World(small)
    found = 0
    for order in small.read("orders"):
        if order.trajectory_id in world.logs.customer:
            variants = world.log(order.trajectory_id).variants
            assert {variants[row] for row in order.rows} == {line.variant_id for line in order.lines}
            found += 1
    assert found > 10


def test_what_is_never_bought_is_what_its_title_is_about(small):
    world = World(small)
    titles = {each.id for each in small.read("variants") if each.is_title} | {""}
    for name in world.logs.customer:
        whole = world.log(name)
        bought = {each.product for each in whole.acts if each.kind == PURCHASE}
        assert all(
            whole.variants[act.row] in titles for act in whole.acts if act.kind == CART and act.product not in bought
        )


@pytest.mark.parametrize("places", [[], [1, 0], [0, 2], [-1, 0], [2, 3, 4], [0, 1, 2]])
def test_events_that_are_of_no_one_visit_are_no_session(places):
    found = log((0, SEARCH, "a"), (1, SEARCH, "b"), (90, SEARCH, "c"), (91, SEARCH, "d"))
    assert find_session(found, places) is None


def test_events_of_one_visit_are_the_session_that_was_cut():
    found = log((0, SEARCH, "oak lamp"), (1, SEARCH, "rug"), (90, SEARCH, "oak lamp"), (91, SEARCH, "lamp"))
    assert find_session(found, [0, 1]) == cut_sessions(found, "visit")[0]
    assert find_session(found, [2, 3]) == cut_sessions(found, "errand")[2]


def test_a_tenth_of_all_customers_is_held_out():
    held_out = sum(assign_customer_split(f"persona-{number:07d}") == "test" for number in range(3_000))
    assert 240 < held_out < 360
