"""Runs of words that stand in public test sets too: what was trained on them would be tested on what it knows."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.problem import Problem
from pipeline.publish.texts import ROWS, cells, grams, number_of, numbered
from pipeline.rewards.hierarchical import tokens

RUN = 13
"""Words in a row (as in Brown et al. 2020, appendix C)."""
SHORT = 8
"""A text of so many words, and of fewer than a run has, is compared as a whole."""
BOILERPLATE = 10
"""A run that more texts of a test set have is part of a form."""


@dataclass(frozen=True)
class TestSet:
    """The runs of words of one file, as sorted numbers."""

    __test__ = False  # for pytest, which takes it by its name

    name: str
    runs: np.ndarray
    wholes: frozenset[int]
    """Texts too short for a run."""


@dataclass(frozen=True, slots=True)
class Hit:
    column: str
    row: int
    name: str
    """Of the test set."""
    words: str


def test_set(path: Path) -> TestSet:
    """Reads Parquet, JSON Lines, JSON, CSV, or a text a line. Raises Problem for a file that is none of these."""
    runs: list[np.ndarray] = []
    wholes: list[int] = []
    for text in texts_of(path):
        words = numbered(tokens(text))
        if len(words) >= RUN:
            runs.append(np.unique(grams(words, RUN)))
        elif len(words) >= SHORT:
            wholes.append(whole(words))
    values, counts = np.unique(np.concatenate([np.zeros(0, np.uint64), *runs]), return_counts=True)
    return TestSet(path.name, values[counts <= BOILERPLATE], frozenset(wholes))


test_set.__test__ = False  # type: ignore[attr-defined]


def texts_of(path: Path) -> Iterator[str]:
    """Each different text of a file, in batches; those of a table cell by cell."""
    try:
        for batch in read(path):
            for each in cells(batch):
                yield from pc.unique(each.texts).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Problem(
            f"{path} cannot be read as a test set ({reason}). Give Parquet, JSON Lines, CSV or text."
        ) from None


def read(path: Path) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    if path.suffix == ".parquet":
        yield from pq.ParquetFile(path).iter_batches(ROWS)
    elif path.suffix == ".csv":
        yield from csv.open_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True))
    elif path.suffix in (".jsonl", ".ndjson"):
        with open(path, encoding="utf-8") as lines:
            yield from (said(json.loads(line)) for line in lines if line.strip())
    elif path.suffix == ".json":
        yield said(json.loads(path.read_text(encoding="utf-8")))
    else:
        with open(path, encoding="utf-8") as lines:
            yield from (said(line) for line in lines)


def said(value: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": pa.array(list(strings(value)), pa.string())})


def strings(value: Any) -> Iterator[str]:
    """
    >>> list(strings({"question": "What?", "answers": [{"text": "This."}, 3]}))
    ['What?', 'This.']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def whole(words: np.ndarray) -> int:
    """Of all words together, and of no run of words."""
    return number_of(f"all {len(words)} {grams(words, len(words))[0]}")


def hits(batch: pa.RecordBatch, sets: Sequence[TestSet]) -> Iterator[Hit]:
    """The first run of words of each text that a test set has too."""
    for each in cells(batch):
        found = each.texts.dictionary_encode()
        first: dict[int, int] = {}
        for place, code in enumerate(found.indices.to_pylist()):
            first.setdefault(code, place)
        for code, text in enumerate(found.dictionary.to_pylist()):
            for name, words in shared(text, sets):
                yield Hit(each.column, int(each.rows[first[code]]), name, words)


def shared(text: str, sets: Sequence[TestSet]) -> Iterator[tuple[str, str]]:
    words = numbered(tokens(text))
    if SHORT <= len(words) < RUN:
        number = whole(words)
        yield from ((each.name, text) for each in sets if number in each.wholes)
    elif len(words) >= RUN:
        runs = grams(words, RUN)
        for each in sets:
            met = np.flatnonzero(among(runs, each.runs))
            if len(met):
                yield each.name, run_of(text, int(met[0]))


def among(numbers: np.ndarray, known: np.ndarray) -> np.ndarray:
    """
    >>> among(np.array([3, 5, 9]), np.array([1, 5, 7])).tolist(), among(np.array([3]), np.array([])).tolist()
    ([False, True, False], [False])
    """
    places = np.searchsorted(known, numbers)
    there = places < len(known)
    there[there] = known[places[there]] == numbers[there]
    return there


def run_of(text: str, place: int) -> str:
    """
    >>> run_of("One two; three four.", 1)[:9]
    'two three'
    """
    return " ".join(tokens(text)[place : place + RUN])
