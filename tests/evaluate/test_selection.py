"""A limit takes from each group alike, by chance that is always the same."""

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

from shopwright.pipeline.evaluate.selection import limit_evenly

MANY = [SimpleNamespace(id=f"row-{number:03}", group=number % 3) for number in range(60)]


def taken(limit, found=MANY):
    return [each.id for each in limit_evenly(found, limit, lambda each: each.group)]


def test_each_group_gives_as_many():
    assert set(Counter(int(id[-3:]) % 3 for id in taken(12)).values()) == {4}


def test_a_larger_limit_holds_the_smaller_ones():
    assert all(set(some) < set(more) for some, more in pairwise(map(taken, (1, 2, 7, 30, 60))))


def test_rows_stay_in_their_order_whatever_that_is():
    assert taken(17) == sorted(taken(17)) == taken(17, MANY[::-1])[::-1]


def test_the_first_rows_are_not_preferred():
    assert taken(6) != [each.id for each in MANY[:6]]


def test_without_a_limit_all_are_taken():
    assert taken(None) == taken(100) == [each.id for each in MANY]
