"""When things happen: customers side by side do not reach into each other's sessions."""

import numpy as np
import pytest

from pipeline.shop.calendar import Sessions, times

DAY = 86_400


def two_customers() -> Sessions:
    """Two sessions each, a day apart; the second customer's are in another month."""
    starts = np.array([0, DAY, 40 * DAY, 41 * DAY])
    return Sessions(np.array([0, 2, 4]), starts, np.full(4, 3_600), np.array([500.0, 1_000.0, 500.0, 1_000.0]))


def when(before):
    before = np.array(before)
    events = len(before)
    begins, kinds = np.array([0, events // 2, events]), np.zeros(events, dtype=np.int64)
    units = np.tile(np.arange(events // 2), 2)
    return times(begins, kinds, units, before, two_customers(), np.full(events, 0.5))


def test_each_customer_begins_in_its_own_first_session():
    found = when([0, 499, 999, 0, 499, 999])
    assert found.tolist()[0] == 0
    assert found.tolist()[3] == 40 * DAY


def test_the_tokens_so_far_decide_the_session():
    assert (when([0, 499, 500, 0, 499, 500]) // DAY).tolist() == [0, 0, 1, 40, 40, 41]


def test_a_session_that_does_not_fit_its_room_goes_faster():
    plan = two_customers()
    tight = Sessions(plan.begins, plan.starts, np.full(4, 60), plan.tokens)
    kinds, units = np.zeros(40, dtype=np.int64), np.tile(np.arange(20), 2)
    found = times(np.array([0, 20, 40]), kinds, units, np.zeros(40), tight, np.full(40, 0.9))
    assert (np.diff(found[:20]) > 0).all()
    assert found[19] - found[0] <= 60


def test_tokens_below_none_are_refused():
    with pytest.raises(AssertionError):
        when([-1, 499, 999, -1, 499, 999])
