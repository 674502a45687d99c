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

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.texts import ROWS, hash_ngrams, hash_words, iterate_cells, text_to_number
from shopwright.pipeline.rewards.hierarchical import tokenize_prediction

# Words in a row (as in Brown et al. 2020, appendix C).
RUN = 13
# A text of so many words, and of fewer than a run has, is compared as a whole.
SHORT = 8
# A run that more texts of a test set have is part of a form.
BOILERPLATE = 10


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


def read_test_set(path: Path) -> TestSet:
    """Reads Parquet, JSON Lines, JSON, CSV, or a text a line. Raises Problem for a file that is none of these."""
    runs: list[np.ndarray] = []
    wholes: list[int] = []
    for text in read_test_texts(path):
        words = hash_words(tokenize_prediction(text))
        if len(words) >= RUN:
            runs.append(np.unique(hash_ngrams(words, RUN)))
        elif len(words) >= SHORT:
            wholes.append(hash_whole_text(words))
    values, counts = np.unique(np.concatenate([np.zeros(0, np.uint64), *runs]), return_counts=True)
    return TestSet(path.name, values[counts <= BOILERPLATE], frozenset(wholes))


read_test_set.__test__ = False  # type: ignore[attr-defined]


def read_test_texts(path: Path) -> Iterator[str]:
    """Each different text of a file, in batches; those of a table cell by cell."""
    try:
        for batch in read_test_batches(path):
            for each in iterate_cells(batch):
                yield from pc.unique(each.texts).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Problem(
            f"{path} cannot be read as a test set ({reason}). Give Parquet, JSON Lines, CSV or text."
        ) from None


def read_test_batches(path: Path) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    if path.suffix == ".parquet":
        yield from pq.ParquetFile(path).iter_batches(ROWS)
    elif path.suffix == ".csv":
        yield from csv.open_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True))
    elif path.suffix in (".jsonl", ".ndjson"):
        with open(path, encoding="utf-8") as lines:
            yield from (texts_to_batch(json.loads(line)) for line in lines if line.strip())
    elif path.suffix == ".json":
        yield texts_to_batch(json.loads(path.read_text(encoding="utf-8")))
    else:
        with open(path, encoding="utf-8") as lines:
            yield from (texts_to_batch(line) for line in lines)


def texts_to_batch(value: Any) -> pa.RecordBatch:
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


def hash_whole_text(words: np.ndarray) -> int:
    """Of all words together, and of no run of words."""
    return text_to_number(f"all {len(words)} {hash_ngrams(words, len(words))[0]}")


def hits(batch: pa.RecordBatch, sets: Sequence[TestSet]) -> Iterator[Hit]:
    """The first run of words of each text that a test set has too."""
    for each in iterate_cells(batch):
        found = each.texts.dictionary_encode()
        first: dict[int, int] = {}
        for place, code in enumerate(found.indices.to_pylist()):
            first.setdefault(code, place)
        for code, text in enumerate(found.dictionary.to_pylist()):
            for name, words in find_shared_runs(text, sets):
                yield Hit(each.column, int(each.rows[first[code]]), name, words)


def find_shared_runs(text: str, sets: Sequence[TestSet]) -> Iterator[tuple[str, str]]:
    words = hash_words(tokenize_prediction(text))
    if SHORT <= len(words) < RUN:
        number = hash_whole_text(words)
        yield from ((each.name, text) for each in sets if number in each.wholes)
    elif len(words) >= RUN:
        runs = hash_ngrams(words, RUN)
        for each in sets:
            met = np.flatnonzero(is_in_sorted(runs, each.runs))
            if len(met):
                yield each.name, run_of(text, int(met[0]))


def is_in_sorted(numbers: np.ndarray, known: np.ndarray) -> np.ndarray:
    """
    >>> is_in_sorted(np.array([3, 5, 9]), np.array([1, 5, 7])).tolist(), is_in_sorted(np.array([3]), np.array([])).tolist()
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
    return " ".join(tokenize_prediction(text)[place : place + RUN])
