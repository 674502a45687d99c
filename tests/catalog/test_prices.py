"""Prices that a source did not say, and promotions."""

import math
from datetime import timedelta
from itertools import pairwise
from statistics import median

import pytest

from shopwright.pipeline.catalog.prices import (
    OPENED,
    YEARS,
    compute_price_levels,
    load_reference_prices,
    promotions,
    simulate_price,
)

NAMES = [f"product-{n}" for n in range(2_000)]


def test_a_category_with_enough_prices_has_its_own_level():
    known = [("lamps", 1_000 + 100 * n) for n in range(11)] + [("rugs", 90_000)] * 4
    found = compute_price_levels(known)
    assert found["lamps"][0] == 15.0
    assert "rugs" not in found  # four say nothing
    assert found[""][0] > 15.0


def test_a_level_is_the_median_and_a_robust_spread_in_dollars():
    known = [("lamps", cents) for cents in (800, 1_000, 1_000, 1_250, 2_000)]
    expected = (10.0, pytest.approx(1.48 * math.log(1.25)))
    assert compute_price_levels(known) == {"lamps": expected, "": expected}  # five prices are enough
    wild = compute_price_levels(("lamps", 10**n) for n in range(2, 9))
    assert wild["lamps"][1] == 1.0


def test_one_absurd_price_does_not_move_a_category():
    usual = [("lamps", 2_000 + n) for n in range(20)]
    assert compute_price_levels([*usual, ("lamps", 99_999_999)])["lamps"] == pytest.approx(
        compute_price_levels(usual)["lamps"], rel=0.1
    )


def test_no_prices_at_all_give_no_levels():
    assert compute_price_levels([]) == {}


def test_a_simulated_price_is_the_same_whenever_it_is_asked():
    known = {"lamps": (40.0, 0.5)}
    assert [simulate_price(1, name, "lamps", known, {}) for name in NAMES] == [
        simulate_price(1, name, "lamps", known, {}) for name in NAMES
    ]
    assert simulate_price(1, "a", "lamps", known, {}) != simulate_price(2, "a", "lamps", known, {})


def test_simulated_prices_are_spread_around_their_category():
    cents = [simulate_price(1, name, "lamps", {"lamps": (40.0, 0.5)}, {}) for name in NAMES]
    assert 36_00 < median(cents) < 44_00
    assert len(set(cents)) > 50
    assert min(cents) > 0
    assert max(cents) < 200_00


@pytest.mark.parametrize(
    ("known", "reference", "middle"),
    [
        ({"lamps": (40.0, 0.1), "": (900.0, 0.1)}, {"lamps": (7.0, 0.1)}, 40),
        ({"": (900.0, 0.1)}, {"lamps": (7.0, 0.1)}, 7),
        ({"": (900.0, 0.1)}, {}, 900),
        ({}, {}, 24),
    ],
    ids=["its category", "the reference", "the whole shop", "nothing known"],
)
def test_a_simulated_price_comes_from_the_nearest_thing_that_is_known(known, reference, middle):
    dollars = median(simulate_price(1, name, "lamps", known, reference) / 100 for name in NAMES[:500])
    assert dollars == pytest.approx(middle, rel=0.2)


def test_a_simulated_price_is_at_least_a_dollar_or_so():
    assert min(simulate_price(1, name, "pins", {"pins": (0.05, 1.0)}, {}) for name in NAMES) == 99


def test_a_simulated_price_ends_in_99_cents():
    assert {simulate_price(1, name, "lamps", {"lamps": (40.0, 0.5)}, {}) % 100 for name in NAMES} == {99}


def test_the_reference_knows_a_level_for_every_leaf():
    found = load_reference_prices()
    assert len(found) >= 200
    assert all(middle > 0 and spread > 0 for middle, spread in found.values())


def test_promotions_are_dated_lower_and_apart():
    found = [(cents, promotions(1, name, cents, 1)) for n, name in enumerate(NAMES) if (cents := 200 + 37 * n)]
    assert all(dated for _, dated in found)
    for cents, dated in found:
        days = [day for one in dated for day in (one["first_day"], one["last_day"])]
        assert days == sorted(days)
        assert len(set(days)) == len(days)  # two that touch would be one
        assert all(0 < one["price"] * 100 < cents for one in dated)
        assert days[0] > OPENED
        assert days[-1] < OPENED + timedelta(days=365 * YEARS + 10)
        assert all(timedelta(2) <= one["last_day"] - one["first_day"] <= timedelta(9) for one in dated)


def test_promotions_have_the_lengths_the_pauses_and_the_prices_that_they_are_drawn_from():
    """Every number of days in these bounds comes, and none outside; a pause counts from the last day of the one before."""
    drawn = [promotions(1, name, 100_000, 1) for name in NAMES]
    dates = [(one["first_day"], one["last_day"]) for found in drawn for one in found]
    assert {(last - first).days + 1 for first, last in dates} == {*range(3, 11)}
    pauses = {(one["first_day"] - OPENED).days for one, *_ in drawn} | {
        (second["first_day"] - first["last_day"]).days - 1 for found in drawn for first, second in pairwise(found)
    }
    assert pauses == {*range(20, 241)}
    assert max((first - OPENED).days for first, _ in dates) == 365 * YEARS - 1
    prices = [one["price"] for found in drawn for one in found]
    assert 650 <= min(prices) < 651
    assert 919 < max(prices) <= 920


def test_a_promotions_price_has_whole_cents():
    for name in NAMES[:200]:
        assert all(one["price"] == round(one["price"], 2) for one in promotions(1, name, 1_999, 1))


@pytest.mark.parametrize("share", [0, 0.06, 0.5, 1])
def test_so_many_products_have_promotions(share):
    found = sum(bool(promotions(1, name, 5_000, share)) for name in NAMES) / len(NAMES)
    assert found == pytest.approx(share, abs=0.03)


def test_a_larger_share_keeps_the_promotions_of_a_smaller_one():
    for name in NAMES[:500]:
        if few := promotions(1, name, 5_000, 0.2):
            assert promotions(1, name, 5_000, 0.6) == few


def test_what_costs_next_to_nothing_is_never_promoted():
    assert not any(promotions(1, name, 199, 1) for name in NAMES[:100])


def test_promotions_follow_the_seed():
    assert promotions(1, "a", 5_000, 1) == promotions(1, "a", 5_000, 1) != promotions(2, "a", 5_000, 1)
