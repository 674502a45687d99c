"""What counts as having said the answer, and what a tool printed in which it can be seen."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import get_args

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_answer_shown, is_right_answer
from shopwright.schemas.questions import AnswerType

TYPES = get_args(AnswerType)
SAME = {
    ("integer", "1234"): ["1234", " 1,234 ", "1234.0", "1,234.00", "+1234", "01234", "1234.", "１２３４"],
    ("integer", "-3"): ["-3", "−3", "-3.0", "–3"],
    ("decimal", "66.70"): ["66.7", "66.70", "66.7 %", "66.7%", "66.7 percent", "66.7 per cent", "+66.700", "66.7%.", "６６.7％"],
    ("decimal", "0.50"): [".5", "0.5", "0.500"],
    ("money", "1299.00"): ["$1,299.00", "1299 USD", "1,299", "US$1299", "1299.0", "USD 1,299.00", "1299 dollars", "$1299."],
    ("money", "-2119.43"): ["-2119.43", "-$2,119.43", "$-2,119.43", "−2119.43 USD"],
    ("date", "2024-05-12"): [
        "2024-05-12", "May 12, 2024", "12 May 2024", "2024/05/12", "2024-5-12", "MAY 12th 2024", "Sunday, May 12, 2024",
        "12th of May 2024", "Sun 2024-05-12", "2024-05-12 00:00:00", "12 May, 2024."
    ],
    ("date", "2024-09-01"): ["1 Sept 2024", "Sep. 1, 2024", "September 1st, 2024"],
    ("date-time", "2024-05-12 21:00:01"): [
        "2024-05-12 21:00:01", "2024-05-12T21:00:01", "2024-05-12 21:00:01.000", "May 12, 2024 at 9:00:01 PM",
        "12 May 2024, 21:00:01", "2024-05-12 09:00:01 p.m.", "Sunday, 12 May 2024, 9:00:01pm", "2024/5/12 21:00:01."
    ],
    ("date-time", "2024-05-12 00:30:00"): ["2024-05-12 00:30", "2024-05-12 12:30 AM", "2024-05-12 0:30:00"],
    ("date-time", "2024-05-12 01:05:00"): ["2024-05-12 1:05 AM", "12 May 2024, 01:05 a.m."],
    ("date-time", "2024-05-12 13:05:00"): ["2024-05-12 1:05 PM", "May 12, 2024 1:05 pm"],
    ("date-time", "2024-05-12 12:30:00"): ["2024-05-12 12:30 PM", "2024-05-12 12:30"],
    ("duration", "26:04:59"): [
        "26:04:59", "1 day, 2:04:59", "1 days 02:04:59", "93899 seconds", "93899", "93,899", "93899.0", "26h 4m 59s",
        "26 hours 4 minutes 59 seconds", "1 day, 2 hours, 4 minutes and 59 seconds", "1d 2h 4m 59s", "26:04:59.000000"
    ],
    ("duration", "0:20:00"): ["20 minutes", "00:20:00", "0 days 00:20:00", "1200 s", "20 min", "20 mins 0 secs", "0:20:00."],
    ("duration", "-0:00:05"): ["-0:00:05", "-1 day, 23:59:55", "-1 days +23:59:55", "-5"],
    ("text", "Pell & Thatch 8 in \"Big\" vase, Café"): [
        "Pell & Thatch 8 in \"Big\" vase, Café", "pell & thatch 8 IN \"big\" vase, café", "Pell & Thatch 8 in “Big” vase, Café",
        "'Pell & Thatch 8 in \"Big\" vase, Café'", "Pell & Thatch  8 in\n\"Big\" vase, Café.", "Pell & Thatch ８ in \"Big\" vase, Cafe\u0301",
        "`Pell & Thatch 8 in \"Big\" vase, Café`.", "  Pell & Thatch 8 in \"Big\" vase, Café "
    ],
    ("text", "8-in vase"): ["8‑in vase", "8–in vase", "8-IN VASE"],
    ("text", "O’Neill Co."): ["O'Neill Co", "O'Neill Co.", '"O’Neill Co."'],
    ("set", "Lowen Thread; Morvane; O'Neill"): [
        "Lowen Thread; Morvane; O'Neill", "morvane; O'Neill ;Lowen Thread;", "Morvane\nLowen Thread\nO'Neill",
        "Morvane, Lowen Thread, O'Neill", '["Morvane", "Lowen Thread", "O\'Neill"]', "{'Morvane', 'Lowen Thread', 'O\\'Neill'}",
        "- Morvane\n- Lowen Thread\n- O'Neill", "[Morvane, Lowen Thread, O'Neill]", "frozenset({'Morvane', \"O'Neill\", 'Lowen Thread'})"
    ],
    ("set", "rug, 3 x 5; vase, tall"): [
        "vase, tall; rug, 3 x 5", "[vase, tall; rug, 3 x 5]", "vase, tall\nrug, 3 x 5", "['vase, tall', 'rug, 3 x 5']", '("rug, 3 x 5", "vase, tall",)'
    ],
    ("set", "(red) rug, 3 x 5; vase (tall, oak)"): ["(red) rug, 3 x 5; vase (tall, oak)"],
    ("set", "1. FC; 2. FC"): ["2. FC\n1. FC", "- 1. FC\n- 2. FC", "2. FC, 1. FC"],
    ("set", "1. rug, tall; 2. rug, 3 x 5"): ["2. rug, 3 x 5\n1. rug, tall"],
    ("set", "(oak) lamp, tall; vase (red)"): ["(oak) lamp,\n  tall; vase (red)"],
    ("set", "Lamp; oak"): ["['Lamp; oak']", "oak; Lamp"],
    ("set", "Sutterby"): ["Sutterby", "['Sutterby']", "{Sutterby}", "sutterby."],
    ("ordered list", "Yoga Mats; Café; Yoga Mats"): [
        "Yoga Mats; Café; Yoga Mats", "Yoga Mats, Café, Yoga Mats", "Yoga Mats\nCafé\nYoga Mats", '["Yoga Mats", "Caf\\u00e9", "Yoga Mats"]',
        "1. Yoga Mats\n2. Café\n3. Yoga Mats", "1) Yoga Mats\n2) Café\n3) Yoga Mats", "(yoga mats; café; yoga mats)", "['Yoga Mats', 'Caf\\xe9', 'Yoga Mats']"
    ],
    ("yes/no", "yes; no"): [
        "yes; no", "Yes, No", "[True, False]", "(True, False)", "YES\nNO", "yes no", "['yes', 'no']", "Yes; No.", '["true", "false"]'
    ],
    ("yes/no", "no"): ["No", "false", "[False]", "no."],
    ("none", "none"): ["none", "None", "NONE", "None.", "'none'", " none ", '"None".', "`None`"],
}  # fmt: skip
OTHER = {
    ("integer", "1234"): ["1235", "-1234", "1234 %", "1,23,4", "12,34", "1 234", "1.234", "1234 or 1235", "$1234", "one", "", "none"],
    ("integer", "0"): ["none", "[]", "nothing", "NaN", "O"],
    ("decimal", "66.70"): ["66.71", "66", "0.667", "66,7", "67", "6670", "66.7 66.7", "66.6999", "NaN", "1e999999", "-66.7", "Infinity"],
    ("money", "1299.00"): ["1299.01", "€1,299.00", "1.299,00", "1299.001", "1299 cents", "129900", "1,2990", "-1299", "1299 or 1300", "sNaN"],
    ("date", "2024-05-12"): [
        "12/05/2024", "05/12/2024", "May 12", "2024-05-13", "2023-05-12", "Monday, May 12, 2024", "2024-12-05", "12.05.2024",
        "Mayo 12, 2024", "2024-05-12 09:00:00", "2024-05/12", "May 2024", "2024-13-12", "2024-02-31"
    ],
    ("date-time", "2024-05-12 09:00:01"): [
        "2024-05-12 09:00", "2024-05-12", "2024-05-12 09:00:02", "2024-05-12 9:00:01 PM", "2024-05-12T09:00:01Z", "09:00:01",
        "2024-05-12 09:00:01.5", "12/05/2024 09:00:01", "2024-05-13 09:00:01", "2024-05-12 25:00:01", "2024-05-12 13:00:01 PM"
    ],
    ("date-time", "2024-05-12 01:30:00"): ["2024-05-12 13:30 AM", "2024-05-12 1:30 PM", "2024-05-12 13:30"],
    ("date-time", "2024-05-12 00:30:00"): ["2024-05-12 0:30 AM", "2024-05-12 12:30 PM", "2024-05-12 24:30"],
    ("duration", "26:04:59"): [
        "26:04:58", "26:04", "2:04:59", "1 day", "26.1 hours", "93898", "26:4:59", "93899.5", "4 minutes 59 seconds 26 hours",
        "26 hours 4 minutes 59 parsecs", "26h 4m 59s 59s", "-26:04:59", "2 days 02:04:59"
    ],
    ("duration", "0:04:59"): ["4:59", "4.59", "0:299"],
    ("text", "Norrvik Café"): ["Norrvik Cafe", "Norrvik", "Norrvik Café lamp", "NorrvikCafé", "the Norrvik Café", "", "Café Norrvik", "none", "."],
    ("text", '"Big" vase'): ['"Big" vast', 'Big" vas', "Big vase"],
    ("set", "a; b; c"): ["a; b", "a; b; c; d", "a; b; b", "a; b; c; c", "a b c", "a; b; d", "abc", "[]", "a, b; c, d", "['a', 'b']"],
    ("set", "rug, 3 x 5; vase"): ["rug, 3 x 5, vase", "rug; 3 x 5; vase", "rug", "['rug', '3 x 5', 'vase']"],
    ("ordered list", "b; a"): ["a; b", "a, b", "['a', 'b']", "b", "a", "b; a; a", "b a", "1. a\n2. b", "b; a; none"],
    ("yes/no", "yes; no"): ["no; yes", "yes", "yes; no; no", "1; 0", "yes; maybe", "no", "yesno", "true", "y; n", "[]"],
    ("none", "none"): ["0", "nothing", "null", "nan", "[]", "n/a", "", "no", "none of them", "empty"],
}  # fmt: skip


@pytest.mark.parametrize(("answer_type", "answer"), SAME)
def test_another_writing_of_the_answer_is_right_and_strictly_the_canonical_text_alone(answer_type, answer):
    for said in SAME[answer_type, answer]:
        assert is_right_answer(said, answer, answer_type), said
        assert is_right_answer(said, answer, answer_type, strict=True) == (said.strip() == answer), said


@pytest.mark.parametrize(("answer_type", "answer"), OTHER)
def test_another_answer_is_wrong(answer_type, answer):
    for said in OTHER[answer_type, answer]:
        assert not is_right_answer(said, answer, answer_type), said


@pytest.mark.parametrize("answer_type", TYPES)
def test_saying_nothing_is_wrong(answer_type):
    for said in (None, "", " \n"):
        for strict in (False, True):
            assert not is_right_answer(said, "none", answer_type, strict=strict)


NAMES = st.text("aBcdé x12,'-", min_size=1, max_size=8).filter(lambda name: any(each.isalnum() for each in name))
BARE = st.text("aBcdé x12-", min_size=1, max_size=8).filter(lambda name: any(each.isalnum() for each in name))
VALUES = {
    "integer": st.integers(),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=2),
    "money": st.decimals(-(10**9), 10**9, places=2),
    "date": st.dates(date(1000, 1, 1)),
    "date-time": st.datetimes(datetime(1000, 1, 1)).map(lambda when: when.replace(microsecond=0)),
    "duration": st.integers(-(10**9), 10**9).map(lambda seconds: timedelta(seconds=seconds)),
    "text": NAMES,
    "set": st.frozensets(BARE, min_size=1, max_size=4),
    "ordered list": st.lists(BARE, min_size=1, max_size=4),
    "yes/no": st.lists(st.booleans(), min_size=1, max_size=5),
    "none": st.none(),
}
"""In sets no commas: `a, b` is one element's canonical text, and a way to write two elements."""
VALUE = st.sampled_from([kind for kind in TYPES if kind != "none"]).flatmap(
    lambda kind: st.tuples(st.just(kind), VALUES[kind], VALUES[kind])
)


def rough(text):
    """What the promise leaves out: case, white space, quotes around, and what an element of a list is before a `;`."""
    return [" ".join(part.split()).casefold().strip("'").strip() for part in text.split(";")]


@given(VALUE)
def test_each_answer_is_right_for_itself_alone(drawn):
    kind, one, other = drawn
    assert is_right_answer(format_canonical(one), format_canonical(one), kind)
    first, second = rough(format_canonical(one)), rough(format_canonical(other))
    assume(one != other and (sorted(first) != sorted(second) if kind == "set" else first != second))
    assert not is_right_answer(format_canonical(other), format_canonical(one), kind)


@given(VALUE)
def test_none_and_a_value_are_never_the_same(drawn):
    kind, value, _ = drawn
    assert not is_right_answer(format_canonical(value), "none", "none")
    assert not is_right_answer("none", format_canonical(value), kind)


ANSWERS = {
    "integer": "12", "decimal": "66.7", "money": "24.95", "date": "2024-05-12", "date-time": "2024-05-12 09:00:01",
    "duration": "26:04:59", "text": "Oak lamp", "set": "a; b", "ordered list": "b; a", "yes/no": "yes; no", "none": "none",
}  # fmt: skip
SNIPPETS = (
    "1 9 , . - : ; $ % T Z e nan inf [ ] { } ( ) ' \" \\ \\u12 \\x1 \n \0 \ud800 ② ٣ ﷺ May day day, s 1h -1 2024-05-12 "
    "99:99:99 24:00 9999999999 USD yes none True set( \\boxed{ \\text{ \\, } <NA> datetime.timedelta(days=9) 1e99"
).split(" ")


@given(st.one_of(st.text(), st.lists(st.sampled_from(SNIPPETS)).map("".join)))
def test_no_text_is_too_odd(text):
    for kind, answer in ANSWERS.items():
        assert is_right_answer(text, answer, kind) in (True, False)
        assert is_answer_shown(text, answer, kind) in (True, False)
    extract_boxed_answer(text)
    extract_boxed_answer(rf"\boxed{{{text}}}")


def test_what_is_far_longer_than_the_answer_is_wrong_unread():
    assert is_right_answer("9" + " " * 9_000, "9", "integer")
    assert not is_right_answer("9" + " " * 10_001, "9", "integer")
    names = "; ".join(f"Lamp {number}" for number in range(3_000))
    assert is_right_answer(names, names, "ordered list")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"So it is \boxed{42}.", "42"),
        (r"\boxed{41}, no, \boxed{42}", "42"),
        (r"\boxed{ \text{Pell \& Thatch} }", "Pell & Thatch"),
        (r"\boxed{\$1{,}299.00}", "$1,299.00"),
        (r"\boxed{66.7\,\%}", "66.7 %"),
        (r"\boxed{$12\,500$}", "12500"),
        (r"\boxed{$$12$$}", "12"),
        (r"\boxed{\(12\)}", "12"),
        (r"\boxed{\mathrm{26{:}04{:}59}}", "26:04:59"),
        (r"\boxed{\textbf{a\_b}; \text{c \#3}}", "a_b; c #3"),
        (r"\boxed{\{a, b\}}", "{a, b}"),
        (r"\boxed{a\}b\{c}", "a}b{c"),
        (r"\boxed{$12.00\$}", "$12.00$"),
        (r"\boxed{\mathrm{\text{a}}}", "a"),
        (r"\boxed{{'a': 1}}", "{'a': 1}"),
        (r"\boxed {3}", "3"),
        (r"\boxed{a}} }", "a"),
        (r"\boxed{a \\ b}", "a \n b"),
        (r"\boxed{$5 and $6}", "$5 and $6"),
        (r"\boxed{\boxed{3}}", "3"),
        (r"\boxed{}", ""),
        (r"\boxed{3", None),
        (r"\boxed{2} \boxed{3", None),
        (r"\boxed 3", None),
        ("boxed{3}", None),
        ("3", None),
    ],
)
def test_the_last_box_counts_and_loses_its_dressing(text, said):
    assert extract_boxed_answer(text) == said


# What a tool printed.

MORNING = datetime(2024, 5, 12, 9, 0, 1)
LENGTH = timedelta(days=1, hours=2, minutes=4, seconds=59)
TITLE = 'O\'Neill "Big" vase, Café'


def printed(value):
    """As a block's last expression is printed."""
    with pd.option_context("display.max_columns", None, "display.width", 160, "display.max_colwidth", None):
        return value if isinstance(value, str) else repr(value)


def rows(query):
    return duckdb.connect().execute(query)


SERIES = pd.Series({"Norrvik": 42, "Umbrick": 7})
FRAME = pd.DataFrame(
    {"brand": ["Norrvik", "Oak Street"], "paid": [Decimal("24.95"), Decimal("9.00")], "when": [MORNING] * 2}
)
SEEN = {
    ("integer", "42"): [42, (42,), [(42,)], SERIES, pd.DataFrame({"clicks": [42]}), np.int64(42), "42.0", "clicks: 42", "42: clicks", "42!",  "n=42",
                        '{"n": 42}', "He clicked 42.", "asin,n\nP1,42", "total:42", "**42**", pd.Series([42.0, 3.5])],
    ("integer", "1234"): ["1,234", "1234", "1234.000000", "(1,234 rows)", "1.234e+03"],
    ("integer", "-5"): [-5, "-5", (-5,)],
    ("integer", "0"): [0, (0,), "0.0"],
    ("decimal", "66.7"): [200 / 3, 66.7, "66.7%", (Decimal("66.6667"),), "66.65", np.float64(66.66), pd.Series([66.666667])],
    ("decimal", "0.12"): ["0.125", "0.1249"],
    ("decimal", "0.13"): ["0.125"],
    ("money", "24.95"): [[(Decimal("24.95"),)], Decimal("24.95"), 24.950000000000003, FRAME, "$24.95", "USD 24.95",
                         pd.Series([Decimal("24.95")]), "paid:24.95", "`24.95`"],
    ("money", "1299.00"): [1299, 1299.0, "$1,299.00", "1299"],
    ("money", "-2119.43"): ["-$2,119.43", "$-2119.43", Decimal("-2119.43")],
    ("date", "2024-05-12"): [date(2024, 5, 12), (date(2024, 5, 12),), pd.Timestamp("2024-05-12"), FRAME, np.datetime64("2024-05-12"),
                             datetime(2024, 5, 12), "2024-05-12", pd.Series({pd.Timestamp("2024-05-12"): 3})],
    ("date-time", "2024-05-12 09:00:01"): [MORNING, [(MORNING,)], pd.Timestamp(MORNING), FRAME, np.datetime64(MORNING), str(MORNING),
                                           MORNING.isoformat(), pd.Series([MORNING]), np.datetime64(MORNING, "ns")],
    ("date-time", "2024-05-12 00:00:00"): [datetime(2024, 5, 12), pd.Series([pd.Timestamp("2024-05-12")]), pd.Timestamp("2024-05-12")],
    ("duration", "26:04:59"): [LENGTH, (LENGTH,), str(LENGTH), pd.Timedelta(LENGTH), pd.Series([LENGTH]), 93899, 93899.0, "26:04:59",
                               "93899 seconds", np.timedelta64(93899, "s"), pd.Series([MORNING + LENGTH]).diff().fillna(LENGTH)],
    ("duration", "0:12:32"): ["0:12:32", "00:12:32", timedelta(seconds=752), pd.Timedelta(seconds=752), "took 0:12:32."],
    ("duration", "-0:00:05"): [timedelta(seconds=-5), pd.Timedelta(seconds=-5), "-0:00:05", -5],
    ("duration", "24:00:00"): [timedelta(days=1), "1 days 00:00:00", str(timedelta(days=1))],
    ("text", TITLE): [TITLE, (TITLE,), [TITLE], pd.Series([TITLE]), pd.DataFrame({"name": [TITLE], "n": [1]}), TITLE.upper(),
                      TITLE.replace(" ", "\n  "), '["O\'Neill \\"Big\\" vase, Caf\\u00e9"]', {"name": TITLE}],
    ("text", "Saturday"): ["Saturday", ("Saturday",), "Saturday    12"],
    ("set", "Norrvik; Oak Street"): [FRAME, {"Oak Street", "Norrvik"}, ["Oak Street", "Norrvik"], np.array(["Norrvik", "Oak Street"]),
                                     [("Oak Street",), ("Norrvik",)], "Oak Street\nNorrvik"],
    ("set", "Oak; Oak Street"): [["Oak Street", "Oak"], "Oak, Oak Street"],
    ("ordered list", "Oak Street; Norrvik; Oak Street"): [["Oak Street", "Norrvik", "Oak Street"],
                                                         pd.Series(["Oak Street", "Norrvik", "Oak Street"])],
    ("yes/no", "yes; no"): [(True, False), [(True, False)], pd.Series([True, False]), pd.DataFrame({"a": [True], "b": [False]}),
                            np.array([True, False]), (1, 0), "yes no", "Norrvik: yes\nUmbrick: no", "(True, False)\nall: True", "none: True\n(True, False)", [np.True_, np.False_],
                            pd.Series({"Norrvik": True, "Umbrick": False})],
    ("yes/no", "no"): [False, np.False_, (False,), 0],
    ("none", "none"): [None, (None,), [], (), {}, set(), float("nan"), pd.NaT, pd.NA, pd.DataFrame({"a": []}), pd.Series([]),
                       np.array([]), "[0 rows x 3 columns]", "NULL", "none found", [(None,)], pd.Series([], dtype=object)],
}  # fmt: skip
UNSEEN = {
    ("integer", "42"): [420, 142, "P42", "1.42", "42.5", "2024-42-42", "0:42:00", MORNING.replace(minute=42), "42-17", "v42", "1,42x", -42,
                        "0x42", "forty-two", "1.42.7", "[]"],
    ("integer", "12"): [date(2024, 5, 12), MORNING, pd.Timestamp(MORNING), FRAME, "12:00", timedelta(12), [(date(2024, 5, 12),)]],
    ("integer", "234"): ["1,234"],
    ("integer", "5"): [-5, "5%5x"[2:]],
    ("decimal", "66.7"): [66.75, 66.64, "0.667", 67, "66", "667", -66.7],
    ("decimal", "0.13"): ["0.135", "0.1249"],
    ("decimal", "0.12"): ["0.1149", "0.1251", "0.135"],
    ("money", "24.95"): [24.96, 124.95, "24", "24.955", "-24.95", "P24.95", FRAME.assign(paid=1)],
    ("date", "2024-05-12"): [date(2024, 5, 13), "2024-05-123", "12024-05-12", "2024-5-1", date(2024, 5, 1), datetime(2023, 5, 12), "May 12"],
    ("date", "2024-05-01"): [date(2024, 5, 12), datetime(2024, 5, 11)],
    ("date-time", "2024-05-12 09:00:01"): [MORNING + timedelta(seconds=1), "2024-05-12 09:00:01.5", "2024-05-12", "09:00:01",
                                           "2024-05-12 09:00:011", datetime(2024, 5, 12, 9), datetime(2024, 5, 12, 9, 0, 1, 5)],
    ("date-time", "2024-05-12 00:00:00"): ["2024-05-12 09:00:00", datetime(2024, 5, 12, 1), "2024-05-12T08:00", date(2024, 5, 12)],
    ("duration", "26:04:59"): [timedelta(hours=2, minutes=4, seconds=59), "2:04:59", "26:04:58", 93898, "126:04:59", "26:04:599",
                               timedelta(days=1, seconds=7499, microseconds=5), timedelta(days=1, microseconds=7499), "26:04:59.5", "2 days, 2:04:59", "1 day"],
    ("duration", "2:04:59"): [LENGTH, "1 days 02:04:59", str(datetime(2024, 5, 12, 2, 4, 59)), "2:04", pd.Timestamp("2024-05-12 02:04:59")],
    ("duration", "9:00:01"): [MORNING, FRAME, str(MORNING)],
    ("text", "Oak lamp"): ["Oak lamps", "Soak lamp", "Oak  table lamp", "Oak", "Oak la...", "", "Oaklamp"],
    ("text", "Oak & Co."): ["Oak & Co"],
    ("set", "Norrvik; Oak Street"): ["Norrvik", "Oak Street", "Norrviks, Oak Street", "Oak, Norrvik, Street", "[]"],
    ("set", "Oak; Oak Street"): ["Oak Street", "Oak", "Oak Street, Oak Street"],
    ("ordered list", "Norrvik; Oak Street"): [["Oak Street", "Norrvik"], "Norrvik", "Oak Street", FRAME.brand[::-1]],
    ("ordered list", "Oak Street; Oak"): ["Oak Street"],
    ("yes/no", "yes; no"): [(False, True), (True,), [], pd.Series([False, True]), (0, 1), "maybe", (True, True), (False, True, False, True), pd.Series([True, True])],
    ("yes/no", "no; yes; no"): [(True, False), pd.Series([True, False]), pd.DataFrame({"a": [True], "b": [False]})],
    ("yes/no", "yes"): [0, False, "eyes", "10", ""],
    ("none", "none"): [0, "", "10 rows", "nonesuch", [0], "banana", FRAME, "0.0", "1,000 rows", False, pd.DataFrame({"a": range(100)})],
}  # fmt: skip


@pytest.mark.parametrize(("answer_type", "answer"), SEEN)
def test_an_answer_in_an_output_is_seen(answer_type, answer):
    for value in SEEN[answer_type, answer]:
        assert is_answer_shown(printed(value), answer, answer_type), printed(value)


@pytest.mark.parametrize(("answer_type", "answer"), UNSEEN)
def test_an_answer_that_is_not_in_an_output_is_not_seen(answer_type, answer):
    for value in UNSEEN[answer_type, answer]:
        assert not is_answer_shown(printed(value), answer, answer_type), printed(value)


@pytest.mark.parametrize(
    ("query", "answer", "answer_type"),
    [
        ("SELECT COUNT(*) FROM range(42)", "42", "integer"),
        ("SELECT CAST(24.95 AS DECIMAL(12, 2))", "24.95", "money"),
        ("SELECT ROUND(200 / 3, 1)", "66.7", "decimal"),
        ("SELECT DATE '2024-05-12'", "2024-05-12", "date"),
        ("SELECT TIMESTAMP '2024-05-12 09:00:01'", "2024-05-12 09:00:01", "date-time"),
        ("SELECT TIMESTAMP '2024-05-13 11:05:00' - TIMESTAMP '2024-05-12 09:00:01'", "26:04:59", "duration"),
        ("SELECT 'O''Neill \"Big\" vase'", 'O\'Neill "Big" vase', "text"),
        ("SELECT UNNEST(['Oak', 'Norrvik'])", "Norrvik; Oak", "set"),
        ("SELECT UNNEST(['Oak', 'Norrvik'])", "Oak; Norrvik", "ordered list"),
        ("SELECT TRUE, FALSE", "yes; no", "yes/no"),
        ("SELECT NULL", "none", "none"),
        ("SELECT 1 WHERE FALSE", "none", "none"),
    ],
)
def test_what_a_database_gives_is_seen_in_each_way_to_fetch_it(query, answer, answer_type):
    assert is_answer_shown(printed(rows(query).fetchall()), answer, answer_type)
    assert is_answer_shown(printed(rows(query).fetchone()), answer, answer_type) or answer_type in (
        "set",
        "ordered list",
    )
    assert is_answer_shown(printed(rows(query).df()), answer, answer_type)


def test_nothing_is_right_where_the_answer_is_none_of_its_type():
    for kind in ("integer", "decimal", "money", "date", "date-time", "duration", "yes/no", "none"):
        assert not is_right_answer("perhaps", "unclear", kind)
        assert not is_right_answer("unclear", "unclear", kind)
        assert not is_answer_shown("perhaps", "unclear", kind)


def test_an_unknown_type_is_no_answer_of_another():
    with pytest.raises(ValueError, match="not a type of answer"):
        is_answer_shown("3", "3", "number")
    with pytest.raises(KeyError):
        is_right_answer("3", "3", "number")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [("model B-1 in oak", True), ("B-12", False), ("AB-1", False), ("'B-1'", True), ("b-1.", True), ("-1", False)],
)
def test_a_text_is_seen_where_it_stands_as_words_of_its_own(printed, shown):
    assert is_answer_shown(printed, "B-1", "text") == shown


@pytest.mark.parametrize(("printed", "shown"), [("about 50%", True), ("50%ish", True), ("150%", False), ("50", False)])
def test_a_sign_at_the_end_ends_it(printed, shown):
    assert is_answer_shown(printed, "50%", "text") == shown
