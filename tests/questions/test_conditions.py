"""Conditions of questions: each matters, is counted twice apart, and is moved wherever it stands."""

import json
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import islice, pairwise
from random import Random

import pytest

from shopwright.pipeline.checks.conditions import idle_in_tree
from shopwright.pipeline.questions.answers import Undecided, answer_tree
from shopwright.pipeline.questions.choose_shapes import compose
from shopwright.pipeline.questions.conditions import idle_conditions
from shopwright.pipeline.questions.draw_values import Draw, NothingToAsk
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.tree import (
    Count,
    Pick,
    Sets,
    Share,
    Top,
    list_tree_picks,
    tree_from_json,
    tree_to_json,
)
from tests.questions.test_audit import cases, events


@pytest.fixture(scope="module")
def logs(small):
    """The trajectories of a small build."""
    return [Log.of(row["events"].values) for row in map(dict, rows_of(small))]


def rows_of(run):
    for batch in run.read("trajectories").slices(range(6), ["events"]):
        for row in range(batch.num_rows):
            yield {"events": batch["events"][row]}


@pytest.mark.parametrize("shape", SHAPES)
def test_both_ways_of_finding_idle_conditions_agree(shape, logs):
    """On what is drawn, and on the trees of the audit."""
    tried = 0
    for log in logs:
        draw = Draw(log, Random(shape))
        for _ in range(30):
            try:
                tree = SHAPES[shape].draw(draw.again(draw.random))
                tree = draw.elsewhere(tree) if draw.chance(0.3) else tree
                value = answer_tree(tree, log).value
            except (NothingToAsk, Undecided):
                continue
            tried += 1
            assert idle_in_tree(tree_to_json(tree), log, value) == sorted(idle_conditions(tree, log, value))
    for case in cases(shape):
        log, tree = Log(events(case["trajectory"])), tree_from_json(case["tree"])
        value = answer_tree(tree, log).value
        assert idle_in_tree(case["tree"], log, value) == sorted(idle_conditions(tree, log, value))
        tried += 1
    assert tried > 5


def test_what_is_asked_elsewhere_is_elsewhere_in_every_pick(logs):
    """Or question and query part: the one names a single category, the other joins two."""
    moved = 0
    for log in logs:
        draw = Draw(log, Random(1))
        for name, shape in SHAPES.items():
            for _ in range(40):
                try:
                    tree = shape.draw(draw.again(draw.random))
                    other = draw.elsewhere(tree)
                except NothingToAsk:
                    continue
                moved += other != tree
                before, after = list_tree_picks(tree), list_tree_picks(other)
                for field in ("brand", "color", "category"):
                    pairs = {(getattr(one, field), getattr(two, field)) for one, two in zip(before, after, strict=True)}
                    assert len({old for old, _ in pairs}) == len(pairs), name  # the same becomes the same
    assert moved > 1_000


def test_before_and_after_a_day_stays_before_and_after_it(logs):
    draw = Draw(logs[0], Random(3))
    one, other = Pick(action="click", last_day=date(2024, 5, 5)), Pick(action="click", first_day=date(2024, 5, 6))
    tree = Sets(of=one, other=other, what="product_name", how="both")
    assert all(draw.elsewhere(tree) == tree for _ in range(50))


def test_one_condition_is_moved_and_not_all_of_them():
    lines = [("Norrvik", "white", "Lamps"), ("Halm", "black", "Rugs"), ("Brindle", "red", "Mugs")]
    facts = {"action_type": "click", "asin": "A", "product_name": "x", "price": None, "search_query": None}
    rows = [
        {
            "row_id": n,
            "timestamp": datetime(2024, 5, 1 + n),
            "brand": brand,
            "color": color,
            "product_types": kind,
            **facts,
        }
        for n, (brand, color, kind) in enumerate(lines)
    ]
    draw, fields, seen = Draw(Log(rows), Random(4)), ("brand", "color", "category"), set()
    tree = Count(of=Pick(action="click", brand="Norrvik", color="white", category="Lamps"))
    for _ in range(100):
        other = draw.again(draw.random).elsewhere(tree)
        changed = {name for name in fields if getattr(other.of, name) != getattr(tree.of, name)}
        assert len(changed) < 2
        seen |= changed
    assert seen == set(fields)


def test_several_days_are_moved_to_several(logs):
    draw, day = Draw(logs[0], Random(6)), logs[0].events[0].day
    tree = Top(of=Pick(action="click", first_day=day, last_day=day + timedelta(days=3)), by="day")
    moved = [draw.again(draw.random).elsewhere(tree).of for _ in range(100)]
    assert len({each.first_day for each in moved}) > 1
    assert all(each.first_day < each.last_day for each in moved)


def test_the_part_of_a_share_is_moved_too(logs):
    draw = Draw(logs[0], Random(5))
    found = draw.event(Pick(action="click"), "brand")
    tree = Share(of=Pick(action="click"), part=Pick(brand=found.brand))
    assert len({draw.elsewhere(tree).part.brand for _ in range(100)}) > 2


def without_days(node):
    if isinstance(node, list):
        return [without_days(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {name: without_days(each) for name, each in node.items() if name not in ("first_day", "last_day")}


@pytest.fixture(scope="module")
def asked(logs):
    """Many questions on a few trajectories, each with its log."""
    return [
        (log, row)
        for number, log in enumerate(logs)
        for row in islice(compose(log, lambda *key, number=number: Random(f"{number} {key}"), "rl"), 80)
    ]


def test_hardly_a_question_keeps_its_answer_when_its_days_are_not_read(untuned):
    engines = Engines(untuned.read("trajectories"))
    dated = [
        row for row in untuned.read("questions").table(["trajectory_id", "tree"]).to_pylist() if "_day" in row["tree"]
    ]
    same = 0
    for row in dated:
        log = engines.of(row["trajectory_id"]).log
        with suppress(Undecided):  # an average between two roundings is no answer
            blind = answer_tree(tree_from_json(json.dumps(without_days(json.loads(row["tree"])))), log).value
            same += blind == answer_tree(tree_from_json(row["tree"]), log).value
    assert len(dated) > 100
    assert same < 0.05 * len(dated)


def test_few_questions_have_an_idle_condition_but_some_have(asked):
    idle = [row for _, row in asked if row["idle_conditions"]]
    assert 0.01 * len(asked) < len(idle) < 0.08 * len(asked)


def test_where_the_answer_is_none_the_question_offers_it(asked):
    none = [row["question"] for _, row in asked if row["answer_type"] == "none"]
    assert len(none) > 10
    assert all("none" in question.lower() for question in none)


def test_no_wording_is_broken_english(asked):
    for _, row in asked:
        words = row["question"].lower().split()
        assert not any(one == two for one, two in pairwise(words)), row["question"]
        assert "the one of" not in row["question"]
