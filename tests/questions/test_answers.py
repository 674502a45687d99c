"""Answers in plain Python and the rows that they rest on, worked out by hand on one month."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import Undecided, answer_tree, is_tied
from shopwright.pipeline.questions.log import Log
from tests.checks.test_questions import BUY, CART, CLICK, MONTH, RUG, SEARCH, events, on

WHITE, MUG, SHELF, RUGS = (
    "Norrvik oak floor lamp, dimmable, white",
    "Stoneware mug, blue",
    "Tarn oak shelf, 90 cm",
    "Brindle wool rug, 160 cm, sand",
)
CLICKS, BOUGHT, SEARCHES = t.Pick(action=CLICK), t.Pick(action=BUY), t.Pick(action=SEARCH)
MUG_SEEN = t.Mention(brand=None, parts=("stoneware mug",))
RUG_SEEN = t.Moment(of=t.Pick(action=CLICK, product=RUG))
ANSWERS = [
    (t.Fold(of=BOUGHT, how="sum"), Decimal("256.90"), [4, 16, 20, 25]),
    (t.Fold(of=t.Pick(action=BUY, last_day=date(2024, 5, 12)), how="average"), Decimal("42.33"), [4, 16, 20]),
    (t.Fold(of=CLICKS, how="smallest"), Decimal("12.00"), [14]),
    (t.Fold(of=CLICKS, how="largest"), Decimal("129.90"), [6, 23]),
    (t.Fold(of=CLICKS, how="span"), Decimal("117.90"), [6, 14, 23]),
    (t.Fold(of=SEARCHES, how="largest"), None, []),
    (t.Nth(of=BOUGHT, n=1, what="product_name"), WHITE, [4]),
    (t.Nth(of=BOUGHT, n=4, what="product_name"), RUGS, [25]),
    (t.Nth(of=BOUGHT, n=5, what="product_name"), None, []),
    (t.Nth(of=BOUGHT, n=-2, what="product_name"), SHELF, [20]),
    (t.Nth(of=BOUGHT, n=-4, what="product_name"), WHITE, [4]),
    (t.Nth(of=BOUGHT, n=-5, what="product_name"), None, []),
    (t.Extreme(of=CLICKS, how="cheapest", what="product_name"), MUG, [14]),
    (t.Extreme(of=CLICKS, how="dearest", what="product_name"), RUGS, [6, 23]),
    (t.Extreme(of=SEARCHES, how="dearest", what="product_name"), None, []),
    (t.Top(of=BOUGHT, by="brand", measure="spend"), "Brindle", [25]),
    (t.Top(of=BOUGHT, by="brand", measure="spend", rank=2), "Tarn", [20]),
    (t.Top(of=BOUGHT, by="brand", measure="spend", k=2), ["Brindle", "Tarn"], [20, 25]),
    (t.Top(of=CLICKS, by="product_types", rank=3), "Desk Lamps", [11, 22]),
    (t.Top(of=CLICKS, by="product_types", rank=6), None, []),
    (t.Share(of=CLICKS, part=t.Pick(brand="Norrvik")), Decimal("30.0"), [1, 2, 12]),
    (t.Share(of=CLICKS, part=t.Pick(brand="Norrvik"), what="asin"), Decimal("28.6"), [1, 2, 12]),
    (t.Share(of=t.Pick(action=CART, **on(1)), part=t.Pick(brand="Tarn")), Decimal("0.0"), []),
    (t.Share(of=t.Pick(action=BUY, **on(2)), part=t.Pick(brand="Tarn")), None, []),
    (t.Names(of=t.Pick(action=CLICK, **on(5)), what="brand"), frozenset({"Ostrana", "Norrvik"}), [11, 12]),
    (t.Listed(of=BOUGHT, what="product_name", n=2), [WHITE, MUG], [4, 16]),
    (t.Listed(of=BOUGHT, what="product_name", n=1), [WHITE], [4]),
    (t.Listed(of=BOUGHT, what="product_name", n=-1), [RUGS], [25]),
    (t.Listed(of=BOUGHT, what="product_name", n=-2), [SHELF, RUGS], [20, 25]),
    (t.Sets(of=CLICKS, other=BOUGHT, what="brand", how="minus"), frozenset({"Ostrana"}), [11, 22]),
    (t.Sets(of=CLICKS, other=BOUGHT, what="brand", how="both", counted=True), 3, [1, 2, 4, 6, 8, 12, 18, 20, 23, 25]),
    (t.Often(of=CLICKS, by="asin", n=2), frozenset({"B1", "B3", "B5"}), [1, 6, 11, 12, 22, 23]),
    (t.Often(of=CLICKS, by="brand", n=3, counted=True), 2, [1, 2, 6, 8, 12, 23]),
    (t.Often(of=CLICKS, by="brand", n=3, days=True), None, []),
    (t.Often(of=CLICKS, by="brand", n=2, days=True, counted=True), 3, [1, 2, 6, 8, 11, 12, 22, 23]),
    (t.Ratio(of=CLICKS, to=BOUGHT), Decimal("2.50"), [1, 2, 4, 6, 8, 11, 12, 14, 16, 18, 20, 22, 23, 25]),
    (t.Amid(of=SEARCHES, start=RUG_SEEN, end=t.Moment(of=CLICKS, n=-1)), 5, [6, 7, 10, 13, 17, 21, 23]),
    (t.Amid(of=SEARCHES, start=RUG_SEEN, end=t.Moment(of=CLICKS, n=-1), what="search_query"), 4, [6, 7, 10, 13, 17, 21, 23]),
    (t.Beside(of=BOUGHT, moment=RUG_SEEN, side="after", what="product_name"), MUG, [6, 16]),
    (t.Beside(of=BOUGHT, moment=RUG_SEEN, side="before", what="product_name"), WHITE, [4, 6]),
    (t.Beside(of=CLICKS, moment=RUG_SEEN, side="after", what="price"), Decimal("80.00"), [6, 8]),
    (t.Beside(of=CLICKS, moment=RUG_SEEN, side="before", what="price"), Decimal("45.00"), [2, 6]),
    (t.Directly(of=t.Pick(action=CART), action=BUY), 4, [3, 4, 15, 16, 19, 20, 24, 25]),
    (t.Directly(of=CLICKS, action=BUY), 0, []),
    (t.Switches(of=BOUGHT, what="brand"), 2, [4, 20, 25]),
    (t.Switches(of=t.Pick(action=CLICK, **on(2)), what="brand"), 0, []),
    (t.Pause(of=BOUGHT, what="length"), timedelta(days=10, hours=8, minutes=58), [4, 16]),
    (t.Pause(of=BOUGHT, what="start"), datetime(2024, 5, 1, 9, 3), [4, 16]),
    (t.Pause(of=t.Pick(action=BUY, **on(1)), what="length"), None, []),
    (t.Sessions(of=t.Pick(), what="count"), 6, [*range(26)]),
    (t.Sessions(of=t.Pick(), what="events"), 5, [*range(15), *range(21, 26)]),
    (t.Sessions(of=t.Pick(), what="length"), timedelta(minutes=11), [*range(21, 26)]),
    (t.Sessions(of=t.Pick(), what="start"), datetime(2024, 5, 1, 9), [*range(15), *range(21, 26)]),
    (t.Streak(of=t.Pick()), 2, [*range(10), *range(15, 21)]),
    (t.Streak(of=t.Pick(action=BUY, **on(2))), 0, []),
    (t.Running(of=BOUGHT, amount=Decimal(40), what="product_name"), WHITE, [4]),
    (t.Running(of=BOUGHT, amount=Decimal(41), what="product_name"), MUG, [4, 16]),
    (t.Running(of=BOUGHT, amount=Decimal(52), what="product_name"), MUG, [4, 16]),
    (t.Running(of=BOUGHT, amount=Decimal(257), what="product_name"), None, []),
    (t.SumOf(of=BOUGHT, n=2), Decimal("52.00"), [4, 16]),
    (t.SumOf(of=BOUGHT, n=4), Decimal("256.90"), [4, 16, 20, 25]),
    (t.SumOf(of=BOUGHT, n=5), None, []),
    (t.Journey(of=CLICKS, since="click", how="shortest", what="length"), timedelta(minutes=2), [18, 20]),
    (t.Journey(of=CLICKS, since="click", how="longest", what="product_name"), RUGS, [6, 25]),
    (t.Journey(of=CLICKS, since="add to Cart", how="longest", what="length"), timedelta(seconds=90), [19, 20]),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "value", "rows"), ANSWERS, ids=lambda each: getattr(each, "node", ""))
def test_an_answer_and_what_it_rests_on_are_as_worked_out_by_hand(tree, value, rows):
    found = answer_tree(tree, Log(events(MONTH)))
    assert (found.value, found.rows) == (value, rows)


def test_a_session_goes_on_to_its_thirtieth_minute():
    log = Log(events("01 09:00:00 search mug\n01 09:30:00 search mug\n01 10:00:01 search mug"))
    assert answer_tree(t.Sessions(of=SEARCHES, what="count"), log).value == 2


def test_a_figure_between_two_roundings_is_not_decided():
    with pytest.raises(Undecided):
        answer_tree(t.Fold(of=BOUGHT, how="average"), Log(events(MONTH)))  # 64.225


DAYS = "01 09:00:00 click mug\n01 09:01:00 click rug\n03 09:00:00 click mug\n05 09:00:00 click rug\n05 09:10:00 purchase rug\n05 09:11:00 purchase mug"


@pytest.mark.parametrize(
    ("month", "tree", "tied"),
    [
        (MONTH, t.Top(of=CLICKS, by="product_types"), True),  # floor lamps and rugs, three times each
        (MONTH, t.Top(of=CLICKS, by="product_types", rank=2), True),
        (MONTH, t.Top(of=CLICKS, by="product_types", rank=3), False),  # desk lamps, before mugs and shelves
        (MONTH, t.Top(of=CLICKS, by="product_types", k=2), True),
        (MONTH, t.Top(of=CLICKS, by="product_types", rank=3, k=2), True),
        (MONTH, t.Top(of=BOUGHT, by="brand", measure="spend", k=3), False),
        (MONTH, t.Top(of=BOUGHT, by="brand"), True),
        (MONTH, t.Extreme(of=CLICKS, how="dearest", what="product_name"), False),  # two clicks on one rug
        (MONTH, t.Extreme(of=CLICKS, how="dearest", what="day"), True),
        (MONTH, t.Extreme(of=CLICKS, how="cheapest", what="day"), False),
        (MONTH, t.Pause(of=BOUGHT, what="start"), False),
        (DAYS, t.Pause(of=t.Pick(action=CLICK, product=MUG_SEEN), what="start"), False),
        (DAYS.replace("05 09:00:00", "05 09:01:00"), t.Pause(of=CLICKS, what="start"), False),
        (DAYS.replace("01 09:01:00 click rug\n", ""), t.Pause(of=CLICKS, what="start"), True),
        (MONTH, t.Sessions(of=t.Pick(), what="start"), True),
        (MONTH, t.Sessions(of=BOUGHT, what="start"), True),
        (MONTH, t.Sessions(of=t.Pick(last_day=date(2024, 5, 1)), what="start"), False),
        (DAYS, t.Journey(of=CLICKS, since="click", how="longest", what="product_name"), False),
        (DAYS.replace("09:11", "09:09"), t.Journey(of=CLICKS, since="click", how="longest", what="product_name"), True),
        (DAYS, t.Count(of=CLICKS), False),
    ],
)
def test_a_tie_is_one_where_it_decides_what_is_answered(month, tree, tied):
    assert is_tied(tree, Log(events(month))) == tied
