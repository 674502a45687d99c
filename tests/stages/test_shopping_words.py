"""The words of a run's short shopping tasks, and rows whose words were made wrong on purpose."""

import copy
import re
from itertools import chain

import pytest

from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.stages import all_stages

STAGE = all_stages()["shopping_tasks"]


@pytest.fixture
def short(rows):
    """A short task with an attribute and a color or a brand."""
    return copy.deepcopy(
        next(r for r in rows if r["wording"] == "short" and not r["profile_id"] and len(r["needs"]) > 2)
    )


def test_instructions_are_short_and_copy_no_three_words(rows):
    lengths = sorted(len(row["instruction"].split()) for row in rows if row["grade"] < 3)
    assert lengths[len(lengths) // 2] <= 25
    assert all(row["wording"] == "short" and row["phrases"] for row in rows)


def test_what_is_said_beyond_the_needs_is_found(find_row_reasons, short):
    more = short | {"instruction": f"{short['instruction']} for my grandmother"}
    assert "it says more than its needs: grandmother" in find_row_reasons(more)


def test_a_need_that_is_read_otherwise_is_found(find_row_reasons, short):
    need = next(need for need in short["needs"] if need["op"] == "is" and need["said"] in short["instruction"])
    other = short | {"instruction": short["instruction"].replace(need["said"], f"not {need['value']}")}
    assert any(reason.startswith("it is read otherwise") for reason in find_row_reasons(other))


def test_another_thing_is_found(find_row_reasons, short, rows):
    name = next(row["category"] for row in rows if row["category"] != short["category"])
    other = short | {"instruction": f"{short['instruction']} and {name.lower()}"}
    assert any(reason.startswith("its thing is read as") for reason in find_row_reasons(other))


def test_a_need_that_decides_nothing_is_found(find_row_reasons, rows):
    """A limit far above its price excludes nothing."""
    row = copy.deepcopy(next(r for r in rows if all(need["fact"] != "price" for need in r["needs"])))
    idle = {
        **row["needs"][0],
        "fact": "price",
        "op": "at most",
        "value": "99999.00",
        "number": 99_999.0,
        "unit": "dollars",
        "kind": "price",
    }
    assert "a need without which the same products satisfy it" in find_row_reasons(
        row | {"needs": [*row["needs"], idle]}
    )


def test_held_out_tasks_have_held_out_words(rows):
    uses = {}
    for template in chain.from_iterable(load_grammar_bank("shopping").templates.values()):
        uses.setdefault(template.id, template.use)
    split = re.compile(r"(?:effect|instruction|means|sentence|purpose|years old)")
    for row in rows:
        own = {uses[phrase] for phrase in row["phrases"] if phrase in uses and split.match(phrase)}
        assert own <= ({"train"} if row["split"] == "train" else {"test", "test_wording"})
