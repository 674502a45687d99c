"""The reader that has only the text: what it reads, and that it answers what is said to be answerable from the text, and no more."""

import json
from collections import Counter
from datetime import datetime
from decimal import Decimal

import pytest

from shopwright.pipeline.checks.questions import expected_answer_type
from shopwright.pipeline.checks.text_reader import TextReader, Unreadable, parse_text_lines
from shopwright.pipeline.questions.answers import Undecided, answer_tree
from shopwright.pipeline.questions.engines import Engines, QueryFailed
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.sources import sources_of, sources_of_query
from shopwright.pipeline.questions.tree import (
    Count,
    Names,
    Nth,
    Pick,
    Sets,
    Share,
    Whether,
    list_tree_picks,
    tree_from_json,
)
from shopwright.pipeline.questions.values import value_from_json as value_of
from shopwright.pipeline.render.trajectory import render_trajectory
from shopwright.pipeline.sandbox.sql import parse_select
from shopwright.schemas.samples import Event

HARD = ["plain", "two\nlines\rhere", "back\\slash \\n", "a] (brand: b", "c, color: d", "e, price: 9.99)", " spaces ", "[x || y]", "ü \u2028 \x85"]  # fmt: skip
"""Titles, brands, colors and searches that look like the marks between fields, or cannot stand in a line."""


def product(row, text):
    facts = ("click", "B1", text, text, text, "Lamps", Decimal("12.30"), None)
    return dict(zip(Event.model_fields, (row, datetime(2024, 5, 1, 9, row), *facts), strict=True))


def search(row, text):
    facts = ("search", *[None] * 6, text)
    return dict(zip(Event.model_fields, (row, datetime(2024, 5, 1, 9, row), *facts), strict=True))


def test_it_reads_what_was_written_whatever_stands_in_the_fields():
    rows = [make(number, text) for number, (make, text) in enumerate((m, t) for t in HARD for m in (product, search))]
    for row, found in zip(rows, parse_text_lines(render_trajectory(rows)), strict=True):
        assert found == (
            row["row_id"], str(row["timestamp"]), row["action_type"], row["asin"], row["product_name"], row["brand"], row["color"],
            row["price"] and float(row["price"]), row["search_query"],
        )  # fmt: skip


def test_what_is_missing_is_missing():
    (found,) = parse_text_lines(render_trajectory([product(0, "x") | {"brand": None, "color": None}]))
    assert found[5:7] == (None, None)


@pytest.mark.parametrize("line", ["", "nothing", "2024-05-01 09:00:00 look [B1 || x] (brand: , color: , price: 1.00)"])
def test_a_line_that_tells_no_action_is_named(line):
    with pytest.raises(Unreadable, match="line 1 tells no action"):
        list(parse_text_lines(f"2024-05-01 09:00:00 search [Search Amazon || lamp]\n{line}"))


@pytest.mark.parametrize(
    ("tree", "sources"),
    [
        (Count(of=Pick(brand="Brooks", color="red")), ["text", "table"]),
        (Count(of=Pick(category="Shoes")), ["table"]),
        (Count(of=Pick(), what="product_types"), ["table"]),
        (Nth(of=Pick(), n=1, what="product_types"), ["table"]),
        (Share(of=Pick(), part=Pick(category="Shoes")), ["table"]),
        (Sets(of=Pick(), other=Pick(category="Shoes"), what="brand", how="both"), ["table"]),
        (Whether(picks=(Pick(brand="Brooks"), Pick(category="Shoes"))), ["table"]),
        (Names(of=Pick(hours=(1, 2), weekday="Monday"), what="product_name"), ["text", "table"]),
    ],
)
def test_a_category_anywhere_in_a_tree_needs_the_table(tree, sources):
    assert sources_of(tree) == sources


@pytest.mark.parametrize(
    ("sql", "sources"),
    [
        ("SELECT COUNT(*) FROM events WHERE brand = 'product_types'", ["text", "table"]),
        ("SELECT COUNT(*) FROM events AS e WHERE e.PRODUCT_TYPES = 'x'", ["table"]),
        ("SELECT COUNT(*) FROM events AS a JOIN events AS b USING (product_types)", ["table"]),
        ("WITH a AS (SELECT brand, COUNT(DISTINCT product_types) AS n FROM events GROUP BY 1) SELECT brand FROM a", ["table"]),
        ("SELECT brand FROM (SELECT * FROM events ORDER BY row_id LIMIT 1) AS first", ["text", "table"]),
    ],
)  # fmt: skip
def test_a_category_anywhere_in_a_query_needs_the_table(sql, sources):
    assert sources_of_query(parse_select(sql)) == sources


# On questions as they are made


@pytest.fixture(scope="session")
def asked(untuned):
    return list(untuned.read("questions"))


@pytest.mark.slow
def test_no_question_is_held_back_for_what_can_answer_it(untuned):
    rejects = untuned.read("questions").manifest.rejects
    assert not any("text" in reason or "effort" in reason for reason in rejects)


def test_who_has_only_the_text_answers_every_question_that_the_text_can_answer(untuned, asked):
    reader = TextReader(untuned.read("trajectories"))
    mine = [each for each in asked if "text" in each.answerable_from]
    assert len(mine) > 0.6 * len(asked)
    for each in mine:
        kind = expected_answer_type(each)
        assert reader.answer(each.trajectory_id, each.sql, kind) == value_of(each.result, kind)


def test_who_has_only_the_text_cannot_ask_the_others(untuned, asked):
    reader = TextReader(untuned.read("trajectories"))
    others = [each for each in asked if "text" not in each.answerable_from]
    assert len(others) > 0.1 * len(asked)
    for each in others:
        with pytest.raises(QueryFailed, match="no such column: product_types"):
            reader.answer(each.trajectory_id, each.sql, expected_answer_type(each))


def test_other_categories_leave_the_text_as_it_is_and_change_the_answers_that_need_the_table(untuned, asked):
    engines, changed = Engines(untuned.read("trajectories")), Counter()
    for each in asked:
        rows = engines.of(each.trajectory_id).rows
        kinds = sorted({row["product_types"] for row in rows if row["product_types"]})
        turned = dict(zip(kinds, [*kinds[1:], kinds[0]], strict=True))
        others = [row | {"product_types": turned.get(row["product_types"])} for row in rows]
        assert render_trajectory(others) == render_trajectory(rows)
        tree = tree_from_json(each.tree)
        try:
            same = answer_tree(tree, Log(others)).value == answer_tree(tree, Log(rows)).value
        except Undecided:
            same = False
        changed["text" in each.answerable_from, same] += 1
    assert not changed[True, False]
    assert changed[False, False] > 2 * changed[False, True]


def test_a_question_that_names_a_category_says_so(asked):
    for each in asked:
        named = any(pick.category for pick in list_tree_picks(tree_from_json(each.tree)))
        assert not (named and "text" in each.answerable_from)
        assert ("product_types" in each.sql) == (each.answerable_from == ["table"])
        assert json.dumps(each.answerable_from) in ('["text", "table"]', '["table"]')
