"""When customers come: in their hours, a month's shopping in a month, quiet days and busy ones."""

from datetime import date
from decimal import Decimal
from itertools import islice, pairwise
from random import Random

import numpy as np
import pytest

from shopwright.pipeline.world.calendar import (
    DAY,
    LEAST,
    MONTH,
    MONTH_TOKENS,
    date_to_seconds,
    draw_gap,
    draw_pause,
    plan_customer_visits,
    plan_visits,
)
from shopwright.schemas.shop import Persona, Taste

FIRST = date(2024, 5, 1)


def numbers(*names):
    return np.random.default_rng(sum(map(ord, "".join(map(str, names)))))


@pytest.fixture
def person():
    return Persona(
        id="persona-0000001",
        age_band="25-34",
        household="a single renter",
        region="Great Lakes",
        income="30,000 to 60,000",
        spend_tier="low",
        budget=Decimal(80),
        price_sensitivity=0.5,
        tastes=[Taste(category="Lamps", weight=0.8)],
        brands=[],
        active_hours=[7, 8, 12, 18, 19, 20, 21],
        weekend_factor=1.5,
        device="phone",
        exploration=2.0,
        description="",
    )


def month_of(person, months=1):
    end = date_to_seconds(FIRST) + months * MONTH * DAY
    return [visit for visit in islice(plan_visits(person, FIRST, numbers), 400) if visit.start < end]


def test_visits_are_in_the_customers_hours_and_do_not_overlap(person):
    found = month_of(person, 3)
    for visit in found:
        assert visit.start // 3600 % 24 in person.active_hours
        assert (visit.leave - 1) // 3600 % 24 in person.active_hours
        assert visit.leave - visit.start >= 600
    assert all(one.leave < other.start for one, other in pairwise(found))


def test_a_month_is_for_a_months_tokens(person):
    found = month_of(person, 3)
    for month in range(3):
        begin = date_to_seconds(FIRST) + month * MONTH * DAY
        here = [visit for visit in found if begin <= visit.start < begin + MONTH * DAY]
        assert MONTH_TOKENS * (month + 1) <= here[-1].tokens <= 1.05 * MONTH_TOKENS * (month + 1)
    assert all(one.tokens <= other.tokens for one, other in pairwise(found))


def test_some_days_are_quiet_and_some_are_busy(person):
    found = month_of(person)
    days = {visit.start // DAY for visit in found}
    assert 18 <= len(days) <= 31
    sizes = np.diff([0.0, *(max(v.tokens for v in found if v.start // DAY == day) for day in sorted(days))])
    assert sizes.max() > 4 * np.median(sizes)


def test_a_model_is_given_the_same_visits(person):
    starts, room, ends = plan_customer_visits(person, 20_000, FIRST, numbers)
    assert ends[-1] >= 20_000 > ends[-2]
    assert set(starts.tolist()) <= {visit.start for visit in month_of(person)}
    assert (room > 0).all()


def test_gaps_are_short_as_a_rule_and_pauses_have_a_heavy_tail():
    random = Random(1)
    gaps = sorted(draw_gap(random, 0, 1) for _ in range(4_000))
    assert gaps[0] >= LEAST
    assert 10 < gaps[2_000] < 40
    pauses = sorted(pause for _ in range(40_000) if (pause := draw_pause(random)))
    assert 1_000 < len(pauses) < 4_000
    assert pauses[len(pauses) // 2] < 1_000
    assert pauses[-1] > 7_200
