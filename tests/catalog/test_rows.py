"""Where texts stand in a long column."""

from random import Random

import pyarrow as pa
import pytest

from shopwright.pipeline.catalog.rows import CHUNK, Rows
from shopwright.pipeline.words import hashed_texts

TWINS = ["a" + "x" * 63 + "b", "b" + "x" * 63 + "a"]
"""Different texts with the same hash."""


def test_every_text_is_found_where_it_stands_and_no_other():
    texts = [f"B{number}" for number in range(CHUNK + 1_000)]
    Random(1).shuffle(texts)
    place = {text: row for row, text in enumerate(texts)}
    asked = [f"B{number * 7}" for number in range(20_000)] + ["", "b1", "B", "石头"]
    assert Rows(pa.array(texts)).of(pa.array(asked)).tolist() == [place.get(text, -1) for text in asked]


@pytest.mark.parametrize("asked", [TWINS, TWINS[::-1]])
def test_texts_with_the_same_hash_are_told_apart(asked):
    assert len(set(hashed_texts(pa.array(TWINS)).tolist())) == 1
    assert Rows(pa.array(["other", *TWINS])).of(pa.array(asked)).tolist() == [1 + TWINS.index(text) for text in asked]
    assert Rows(pa.array(TWINS[:1])).of(pa.array(asked)).tolist() == [0 if text == TWINS[0] else -1 for text in asked]


def test_an_empty_column_has_nothing():
    nothing = pa.array([], pa.string())
    assert Rows(nothing).of(pa.array(["a", ""])).tolist() == [-1, -1]
    assert Rows(pa.array(["a"])).of(nothing).tolist() == []


def test_a_part_of_a_column_is_asked_as_well_as_a_whole_one():
    texts = pa.array(["a", "b", "c", "d"])
    assert Rows(texts.slice(1, 2)).of(texts.slice(2)).tolist() == [1, -1]
