"""Instructions are read for their constraints, and compared with people's by the same rules."""

import json
from pathlib import Path

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shopping.instruction_comparison import (
    compare_instructions,
    format_figure_pair,
    parse_instruction,
    read_instructions,
    tabulate_comparison,
)
from tests.shopping.shops import tasks

THEIRS = Path(__file__).parents[3] / "shared" / "data" / "webshop_human_goals.json"


def kinds(text):
    return sorted(each.kind for each in parse_instruction(text).constraints)


@pytest.mark.parametrize(
    ("text", "thing", "found"),
    [
        ("i am looking for dishes", "dishes", []),
        ("i need a gluten free snack", "snack", ["feature"]),
        ("i want a rug that is soft and easy to clean", "rug", ["feature", "feature"]),
        ("looking for a lamp with a wooden base, wall mounted", "lamp", ["feature", "feature"]),
        ("i need a red mug", "mug", ["color"]),
        ("find me a sofa in the color redwood", "sofa", ["color"]),
        ("im looking for walnut colored shelves", "shelves", ["color"]),
        ("i want a shirt in size small", "shirt", ["size"]),
        ("show me xx-large pants", "pants", ["size"]),
        ("i would like a pillow cover, 20x20", "pillow cover", ["measure"]),
        ("i need crackers in a pack of 6", "crackers", ["measure"]),
        ("i need a 10 ft usb cable", "usb cable", ["measure"]),
        ("can you find me a bottle, 6.76 fl oz", "bottle", ["measure"]),
        ("i want hair dye", "hair dye", []),
        ("a hundred washed towels", "hundred washed towels", []),
        ("", "", []),
    ],
)
def test_a_constraint_is_found_by_its_sign(text, thing, found):
    assert kinds(text) == found
    assert parse_instruction(text).thing.removeprefix("a ") == thing


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("a mug, price lower than 40.00 dollars", 40.0),
        ("a mug for at most $12.50", 12.5),
        ("a mug under $1,200", 1200.0),
        ("a mug and the price should be less than 30 dollars", 30.0),
        ("a mug below 20 usd", 20.0),
        ("a mug of 20 ounces", None),
        ("a pack of 40", None),
    ],
)
def test_a_limit_is_read_in_dollars(text, price):
    assert parse_instruction(text).price == price
    assert ("price" in kinds(text)) == (price is not None)


def test_a_list_is_read_member_by_member():
    found = parse_instruction(
        "I need a rug. What I have in mind: soft, like fur; dark gray; 5 ft (width). And made by Osko, please."
    )
    assert found.thing == "rug"
    assert [each.kind for each in found.constraints] == ["feature", "feature", "color", "measure"]
    assert [each.said for each in found.constraints][1:] == ["soft, like fur", "dark gray", "5 ft (width)"]


def test_a_colon_behind_a_fact_begins_no_list():
    assert kinds("a kettle, color: red, with a lid") == ["color", "feature"]


def test_of_our_own_instructions_nearly_all_constraints_are_counted():
    """What is counted is known here: the needs that are stated. What a thing is called by, in so many words, is none of them."""
    called = ("simple to wear", "with a round collar")
    counted = [[each.said for each in parse_instruction(one.instruction).constraints] for one in tasks(40)]
    needs = [[said for said in some if not said.startswith(called)] for some in counted]
    off = [len(some) - len(one.needs) for some, one in zip(needs, tasks(40), strict=True)]
    assert abs(sum(off) / len(off)) <= 0.75
    assert sum(abs(each) <= 1 for each in off) >= 0.85 * len(off)
    assert all(
        parse_instruction(one.instruction).price
        == next((float(need.value) for need in one.needs if need.kind == "price"), None)
        for one in tasks(40)
    )


def figures(ours, theirs):
    return {line.what: (line.ours, line.theirs) for line in compare_instructions(ours, theirs)}


def test_lengths_constraints_and_limits_are_compared():
    found = figures(["a red mug for $5", "a mug"], ["a mug with a lid and a handle"])
    assert found["instructions"] == (2, 1)
    assert found["length in words, mean"] == (3.5, 8)
    assert found["length in words, 90th percentile"] == (pytest.approx(4.7), 8)
    assert found["constraints, mean"] == (1, 2)
    assert found["with a price"] == (0.5, 0.0)
    assert found["with a color"] == (0.5, 0.0)
    assert found["with a feature"] == (0.0, 1.0)


def test_vocabularies_are_compared_on_samples_of_equal_size():
    found = figures(["mug mug mug mug"] * 5, ["mug kettle"])
    assert found["different words in 2"] == (0.5, 1.0)
    assert found["words that the other side has"] == (1.0, 0.5)
    assert found["the same, each word once"] == (1.0, 0.5)


def test_words_are_counted_as_often_as_they_are_used():
    found = figures(["mug mug mug teapot"], ["mug"])
    assert found["words that the other side has"] == (0.75, 1.0)
    assert found["the same, each word once"] == (0.5, 1.0)


def test_the_table_has_a_line_for_each_figure():
    lines = compare_instructions(["a red mug"], ["a mug"])
    table = tabulate_comparison(lines)
    assert table.columns == ["instructions", "ours", "people's"]
    assert table.rows == [[line.what, *format_figure_pair(line)] for line in lines]


def test_the_same_side_is_the_same():
    texts = [one.instruction for one in tasks()]
    assert all(ours == theirs for ours, theirs in figures(texts, texts).values())


@pytest.mark.parametrize("sides", [([], ["a mug"]), (["a mug"], [])])
def test_nothing_cannot_be_compared(sides):
    with pytest.raises(Problem, match="nothing to compare"):
        compare_instructions(*sides)


@pytest.mark.parametrize(
    "rows", [["a mug", "a cup"], [{"instruction": "a mug"}, {"instruction": "a cup", "asin": "B"}]]
)
def test_instructions_come_as_texts_or_in_objects(tmp_path, rows):
    (tmp_path / "some.json").write_text(json.dumps(rows))
    assert read_instructions(tmp_path / "some.json") == ["a mug", "a cup"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", "[1]", '["a", ""]', '[{"goal": "a mug"}]', "3"])
def test_a_file_of_something_else_is_a_problem(tmp_path, text):
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(Problem, match=r"some\.json"):
        read_instructions(tmp_path / "some.json")


def test_a_file_that_is_not_there_or_is_no_text_is_a_problem(tmp_path):
    with pytest.raises(Problem, match="Cannot read"):
        read_instructions(tmp_path / "none.json")
    (tmp_path / "some.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Problem, match="no JSON"):
        read_instructions(tmp_path / "some.json")


@pytest.mark.skipif(not THEIRS.exists(), reason="needs ../shared/data/webshop_human_goals.json")
def test_real_instructions_are_read():
    texts = read_instructions(THEIRS)[::12]
    found = [parse_instruction(text) for text in texts]
    assert sum(not each.thing for each in found) <= 0.02 * len(found)
    assert 2.2 <= sum(len(each.constraints) for each in found) / len(found) <= 3.2
    assert not any(each.said.strip() == "" for one in found for each in one.constraints)
