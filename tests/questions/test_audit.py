"""The audit: mini-trajectories written by hand, and answers worked out by hand from the question's English."""

import re
import tomllib
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.questions.answers import answer_tree, type_of
from shopwright.pipeline.questions.engines import Table, open_question_sqlite
from shopwright.pipeline.questions.question_parser import list_tree_differences, parse_trees
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.tree import tree_from_json
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.render.trajectory import parse_trajectory
from shopwright.pipeline.sandbox.sql import connect_confined, explain_refusal
from shopwright.schemas.samples import Event

AUDIT = Path(__file__).parent / "audit"
DUCKDBS = (connect_confined(as_written=True), connect_confined())
SQLITE = open_question_sqlite()


@cache
def cases(shape):
    file = AUDIT / f"{shape}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))["case"] if file.exists() else []


def events(name):
    """A mini-trajectory: `asin = category` lines, an empty line, then the events as text."""
    head, _, text = (AUDIT / "trajectories" / f"{name}.txt").read_text(encoding="utf-8").strip().partition("\n\n")
    category = dict(re.split(r"\s*=\s*", line, maxsplit=1) for line in head.splitlines())
    return [{**row, "product_types": row["asin"] and category[row["asin"]]} for row in parse_trajectory(text.strip())]


def table(name):
    return Table(pa.Table.from_pylist(events(name), schema=arrow_schema(Event)), DUCKDBS, SQLITE)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_reading_gives_the_answer_worked_out_by_hand(shape):
    for case in cases(shape):
        check_readings(shape, case)


def check_readings(shape, case):
    tree = tree_from_json(case["tree"])
    found, sql = table(case["trajectory"]), sql_of(tree)
    expected, answer_type = case["answer"], case["answer_type"]
    read = [list_tree_differences(each, tree, found.names) for each in parse_trees(case["question"], found.names)]
    assert read
    assert not any(read)
    assert explain_refusal(sql) is None
    value = answer_tree(tree, found.log).value
    assert ("none" if value is None else type_of(tree)) == answer_type
    assert format_canonical(value) == expected
    for read in (found.duckdb(sql, type_of(tree)), found.duckdb(sql, type_of(tree), shuffled=True)):
        assert read == value
    assert found.sqlite_without(sql, type_of(tree)) == value


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_audited_on_five_trajectories(shape):
    assert len({case["trajectory"] for case in cases(shape)}) >= 5
    assert len({case["answer"] for case in cases(shape)}) > 1
    assert all(len(case["why"]) > 10 for case in cases(shape))


@pytest.mark.parametrize("path", sorted((AUDIT / "trajectories").glob("*.txt")), ids=lambda path: path.stem)
def test_the_mini_trajectories_are_trajectories(path):
    found = events(path.stem)
    assert 12 <= len(found) <= 30
    times = [row["timestamp"] for row in found]
    assert all(one < two for one, two in pairwise(times))
    clicked, carted, facts = set(), [], {}
    for row in found:
        if row["action_type"] == "search":
            continue
        same = tuple(row[name] for name in ("product_name", "brand", "color", "product_types"))
        assert facts.setdefault(row["asin"], same) == same
        assert isinstance(row["price"], Decimal)
        if row["action_type"] == "click":
            clicked.add(row["asin"])
        elif row["action_type"] == "add to Cart":
            assert row["asin"] in clicked
            carted.append(row["asin"])
        else:
            carted.remove(row["asin"])
