"""Texts of trajectories, read back line by line."""

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from shopwright.pipeline.checks.text_lines import FIELDS, LineCache, parse_texts
from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory
from shopwright.pipeline.tokens import estimate

NONE = dict.fromkeys(("asin", "product_name", "brand", "color", "price", "search_query"))
WHEN = datetime(2024, 5, 1, 19, 30, 25)


def search(query):
    return NONE | {"timestamp": WHEN, "action_type": "search", "search_query": query}


def product(action="click", **facts):
    usual = {"asin": "B01", "product_name": "lamp", "brand": "Norrvik", "color": None, "price": Decimal("38.99")}
    return NONE | {"timestamp": WHEN, "action_type": action} | usual | facts


TEXTS = [
    render_trajectory([search("desk lamp"), product(), product("add to Cart"), product("purchase", color="white")]),
    render_trajectory(
        [product(product_name="a\nb] (brand: \\n", brand="x, color: y", color="z, price: 1.00"), search("a\\ b\r")]
    ),
    render_trajectory([search("stehlampe für küche"), search("desk lamp"), search("desk lamp")]),
]


def as_rows(told):
    """What was told, as `parse_trajectory` tells it; without the time and the row's number."""
    columns = [told.what[name].to_pylist() for name in FIELDS]
    return [dict(zip(FIELDS, row, strict=True)) for row in zip(*columns, strict=True)]


def test_many_texts_read_at_once_say_what_each_says_alone():
    told = parse_texts(pa.array(TEXTS))
    alone = [event for text in TEXTS for event in parse_trajectory(text)]
    texts = [{name: event[name] and str(event[name]) for name in FIELDS} for event in alone]
    assert as_rows(told) == texts
    assert told.when.to_pylist() == [b"2024-05-01 19:30:25"] * len(alone)
    assert told.lengths.tolist() == [4, 2, 3]
    assert told.row.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert told.whole.all()


def test_tokens_are_those_of_the_whole_text():
    assert parse_texts(pa.array(TEXTS)).tokens.tolist() == [estimate(text) for text in TEXTS]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "ä" * 30,
        "2024-05-01 19:30:25",
        "2024-05-01 19:30:25search [Search Amazon || lamp]",
        "2024-05-01 19:30:25,search [Search Amazon || lamp]",
        "2024-05-01 19:30:25  search [Search Amazon || lamp]",
        "2024-05-01 19:30:25 search [Search Amazon || lamp] ",
        "2024-05-01 19:30:25 click [B01 || lamp] (brand: , color: , price: 1.0)",
    ],
)
def test_only_the_text_with_a_line_that_is_no_action_is_not_whole(line):
    told = parse_texts(pa.array([TEXTS[0], f"{TEXTS[1]}\n{line}", TEXTS[2]]))
    assert told.whole.tolist() == [True, False, True]
    assert told.what["action_type"].null_count == 1


def test_no_text_and_an_empty_one_are_not_whole():
    told = parse_texts(pa.array([None, "", TEXTS[0]]))
    assert told.whole.tolist() == [False, False, True]
    assert told.lengths.tolist() == [0, 1, 4]


def test_a_column_that_is_part_of_a_longer_one_is_read_as_it_stands():
    part = pa.array(["", *TEXTS, "hello"]).slice(1, 3)
    assert as_rows(parse_texts(part)) == as_rows(parse_texts(pa.array(TEXTS)))


def test_lines_are_told_the_same_after_others_were_forgotten():
    lines = LineCache(most=3)
    rests = [b" search [Search Amazon || %d]" % number for number in range(9)]
    for begin in (0, 2, 4, 6, 0):
        places = lines.places(rests[begin : begin + 3])
        assert lines.table[-1, places].tolist() == [str(number) for number in range(begin, begin + 3)]
        assert len(lines.place) <= 6


def test_lines_met_before_stay_where_they_are_when_room_is_made():
    lines = LineCache()
    rests = [b" search [Search Amazon || %d]" % number for number in range(3_000)]
    for begin in range(0, 3_000, 500):
        lines.places(rests[begin : begin + 500])
    assert lines.table[-1, lines.places(rests)].tolist() == [str(number) for number in range(3_000)]
    sizes = lines.sizes[lines.places(rests)].tolist()
    assert sizes == [estimate(f"\n2024-05-01 19:30:25{rest.decode()}") for rest in rests]
