"""Rows of two splits that are nearly the same: what is learnt from one gives the other away.

The texts of a shop are made of the same words, so words count by how rare they are here. Two rows are alike when their words and
pairs of words, weighted so, agree to `ALIKE` and their numbers are the same: another date or size is another task.
What several customers say in each of two splits is a commonplace, and tells nothing of anybody; nor do the first steps of a session,
which are those of many: it is compared as a whole.
A sketch of at most `SKETCH` numbers is kept for each row of the smaller splits, and none for those of the largest.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import pyarrow as pa

from shopwright.pipeline.publish.texts import (
    hash_ngrams,
    hash_words,
    iterate_cells,
    list_common_columns,
    read_numbered_batches,
    text_to_number,
)
from shopwright.pipeline.rewards.hierarchical import tokenize_prediction

ALIKE = 0.9
# Numbers kept for a row: the least of its hashes, so that those of two rows can be compared.
SKETCH = 256
COUNTERS = 1 << 22
# Groups in each of two splits that say the same.
COMMON = 3
# Weight of a row that has anything of its own: three words that one row of three has.
LEAST = 3.0
# The first of these that a config has is what its rows ask.
ASKED = ("messages", "prompt", "question", "instruction")
TRUTHS = ("ground_truth", "answer", "action", "reward_model")
GROUPS = ("group", "persona_id", "trajectory_id", "product_id", "task_id", "id")
SYSTEM = re.compile(r'(?<!\\)"role"\s*:\s*"system"')


@dataclass(frozen=True, slots=True)
class Row:
    """What is asked in a row, and the true answer where it is known."""

    place: str
    group: str
    asked: str
    truth: str

    def goes_on(self, before: "Row") -> bool:
        """Whether it is the same conversation, and more of it."""
        return (
            self.group == before.group and len(self.asked) > len(before.asked) and self.asked.startswith(before.asked)
        )


@dataclass(frozen=True, slots=True)
class Sketch:
    """A row as the sketch of its words."""

    place: str
    group: int
    figures: int
    """Of its numbers, in any order."""
    hashes: np.ndarray


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows that are nearly the same."""

    place: str
    other: str
    likeness: float


@dataclass(slots=True)
class Weights:
    """How many rows have each hash, as far as a table of fixed size can tell."""

    counts: np.ndarray = field(default_factory=lambda: np.zeros(COUNTERS, np.uint32))
    rows: int = 0

    def add(self, hashes: np.ndarray) -> None:
        self.counts[np.unique(hashes % np.uint64(COUNTERS))] += 1
        self.rows += 1

    def of(self, hashes: np.ndarray) -> np.ndarray:
        """The rarer, the more; nothing for what every row has, be they many."""
        return np.log((self.rows + 1) / np.maximum(self.counts[hashes % np.uint64(COUNTERS)], 1))


class SketchFile:
    """The sketches of a split, in a file of their own: they are looked through twice."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.rows: list[tuple[str, int, int, int]] = []

    def add(self, row: Sketch) -> None:
        self.file.write(row.hashes.tobytes())
        self.rows.append((row.place, row.group, row.figures, len(row.hashes)))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Sketch]:
        self.file.seek(0)
        for place, group, figures, count in self.rows:
            yield Sketch(place, group, figures, np.frombuffer(self.file.read(8 * count), np.uint64))


def find_near_duplicates(splits: dict[str, list[Path]]) -> dict[tuple[str, str], list[Pair]]:
    """For each two splits of a config the rows of one that are nearly those of the other."""
    columns = choose_compared_columns(list(chain.from_iterable(splits.values())))
    if len(splits) < 2 or not columns:
        return {}
    with ExitStack() as stack:
        weights = Weights()
        kept = {split: SketchFile(stack.enter_context(TemporaryFile())) for split in splits}
        for split, files in splits.items():
            for row in sketch_rows(files, columns):
                weights.add(row.hashes)
                kept[split].add(row)
        return compare_splits(kept, weights)


def compare_splits(kept: dict[str, SketchFile], weights: Weights) -> dict[tuple[str, str], list[Pair]]:
    known: dict[str, Index] = {}
    found: dict[tuple[str, str], list[Pair]] = {}
    order = sorted(kept, key=lambda split: (len(kept[split]), split))
    for split in order:
        near = match_rows(kept[split], known.values(), weights)
        found |= {(other, split): pairs for other, pairs in zip(known, near, strict=True) if pairs}
        if split != order[-1]:
            known[split] = Index(list(kept[split]), weights)
    return found


def choose_compared_columns(files: Sequence[Path]) -> list[str]:
    """The columns that a row is compared by, and the one that its group is in."""
    there = list_common_columns(files)
    text = next((name for name in ASKED if name in there), "")
    group = next((name for name in GROUPS if name in there), "")
    truths = [] if text == "messages" else [name for name in TRUTHS if name in there]
    return [text, group, *truths] if text and group else []


def sketch_rows(files: Iterable[Path], columns: list[str]) -> Iterator[Sketch]:
    """Of each row that no other goes on with: the steps of a session are compared as what they come to."""
    rows = chain(read_comparable_rows(files, columns), [None])
    for row, after in pairwise(rows):
        if row and not (after and after.goes_on(row)):
            yield make_sketch(f"{row.asked}\n{row.truth}", row.place, text_to_number(row.group))


def read_comparable_rows(files: Iterable[Path], columns: list[str]) -> Iterator[Row]:
    asked, group, *truths = columns
    for path in files:
        for first, batch in read_numbered_batches(path, list(dict.fromkeys(columns))):
            groups = batch[group].to_pylist()
            for row, (text, truth) in enumerate(
                zip(extract_row_texts(batch, [asked]), extract_row_texts(batch, truths), strict=True)
            ):
                yield Row(f"{path.name} row {first + row}", str(groups[row]), text, truth)


def extract_row_texts(batch: pa.RecordBatch, columns: list[str]) -> list[str]:
    """What is said in each row, less what a system message says: that is the same for all."""
    said: list[list[str]] = [[] for _ in range(batch.num_rows)]
    for each in iterate_cells(drop_system_messages(batch.select(columns))):
        if each.column.endswith(".role") or each.column.endswith(".style"):
            continue
        for row, text in zip(each.rows.tolist(), each.texts.to_pylist(), strict=True):
            if not SYSTEM.search(text):
                said[row].append(text)
    return ["\n".join(parts) for parts in said]


def drop_system_messages(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without the system messages of a list of roles and contents."""
    for name in ("messages", "prompt"):
        place = batch.schema.get_field_index(name)
        kind = batch.schema.field(place).type if place >= 0 else pa.null()
        if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            kept = []
            for turns in batch[name].to_pylist():
                kept.append([turn for turn in turns or [] if turn["role"] != "system"])
            batch = batch.set_column(place, name, pa.array(kept, kind))
    return batch


def make_sketch(text: str, place: str, group: int) -> Sketch:
    words = tokenize_prediction(text)
    figures = "\n".join(sorted(word for word in words if not word.isalpha()))
    numbers = hash_words(words)
    hashes = np.unique(np.concatenate([numbers, hash_ngrams(numbers, 2)]))[:SKETCH]
    return Sketch(place, group, text_to_number(figures), hashes)


class Index:
    """The rows of a split by their rarest words."""

    def __init__(self, rows: list[Sketch], weights: Weights) -> None:
        self.rows, self.weights = rows, weights
        keys = [rarest(row.hashes, weights) for row in rows]
        owners = np.repeat(np.arange(len(rows)), [len(each) for each in keys])
        flat = np.concatenate(keys) if keys else np.zeros(0, np.uint64)
        order = np.argsort(flat, kind="stable")
        self.keys, self.owners = flat[order], owners[order]
        self.figures = np.array([row.figures for row in rows], np.uint64)

    def like(self, row: Sketch) -> list[tuple[Sketch, float]]:
        """Those that are nearly this one, each with how near."""
        keys = rarest(row.hashes, self.weights)
        starts, ends = np.searchsorted(self.keys, keys, "left"), np.searchsorted(self.keys, keys, "right")
        near = [self.owners[start:end] for start, end in zip(starts, ends, strict=True) if start < end]
        if not near:
            return []
        some = np.unique(np.concatenate(near))
        some = some[self.figures[some] == np.uint64(row.figures)].tolist()
        found = [
            (self.rows[each], compute_similarity(row.hashes, self.rows[each].hashes, self.weights)) for each in some
        ]
        return [(other, near) for other, near in found if near >= ALIKE]


def rarest(hashes: np.ndarray, weights: Weights) -> np.ndarray:
    """The hashes that two rows cannot both lack where they are alike: the rarest, up to the weight that alike rows may differ by.

    None of a row that has nothing of its own.
    """
    heavy = weights.of(hashes)
    if heavy.sum() < LEAST:
        return hashes[:0]
    order = np.lexsort((hashes, -heavy))
    before = np.cumsum(heavy[order]) - heavy[order]
    return hashes[order][before <= (1 - ALIKE) * heavy.sum()]


def compute_similarity(some: np.ndarray, others: np.ndarray, weights: Weights) -> float:
    """The weight of what both have, of what either has; where a sketch is full, of the hashes that both would have kept."""
    ends = [each[-1] for each in (some, others) if len(each) == SKETCH]
    last = min(ends, default=max(some[-1], others[-1]))
    some, others = some[some <= last], others[others <= last]
    both, either = np.intersect1d(some, others), np.union1d(some, others)
    return float(weights.of(both).sum() / max(weights.of(either).sum(), 1e-9))


def match_rows(rows: Iterable[Sketch], known: Iterable[Index], weights: Weights) -> list[list[Pair]]:
    """For each index the rows that are like one of its."""
    indexes = list(known)
    near: list[dict[str, list[tuple[Sketch, Sketch, float]]]] = [{} for _ in indexes]
    for row in rows:
        for index, found in zip(indexes, near, strict=True):
            for other, likeness in index.like(row):
                found.setdefault(other.place, []).append((row, other, likeness))
    return [list(pick_nearest_pairs(index, found)) for index, found in zip(indexes, near, strict=True)]


def pick_nearest_pairs(index: Index, near: dict[str, list[tuple[Sketch, Sketch, float]]]) -> Iterator[Pair]:
    """The nearest of each row that is no commonplace."""
    for found in near.values():
        groups = {row.group for row, _, _ in found}
        other = found[0][1]
        if len(groups) >= COMMON and len({each.group for each, _ in index.like(other)}) >= COMMON:
            continue
        row, _, value = max(found, key=lambda each: each[2])
        yield Pair(other.place, row.place, value)
