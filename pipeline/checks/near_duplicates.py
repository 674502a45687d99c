"""Trajectories that are much like another one, found without holding them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa

from shopwright.pipeline.dataset import Dataset, count_file_rows, read_row_groups
from shopwright.pipeline.files import connect_duckdb, map_paths
from shopwright.pipeline.stage import Fault, compares_rows
from shopwright.pipeline.words import MIX, hashed_texts
from shopwright.schemas.samples import Trajectory

# Two trajectories that share more than this of what they searched and clicked are near-duplicates.
ALIKE = 0.5
# Smallest hashes that are kept of each trajectory, and how many of them a candidate shares.
SKETCH = 16
IN_COMMON = 3
ASINS = "events.list.element.asin"
# What sorting the sketches may hold; the rest goes to disk.
MEMORY = "1GB"
RUNS = pa.schema({"run": pa.uint64(), "row": pa.int64()})
PAIRS = """
    with heads as (select run, min(row) as head from runs group by run having count(*) > 1)
    select head, row from runs join heads using (run) where head != row
    group by all having count(*) >= ? order by all
"""


@compares_rows
def trajectories_are_distinct(trajectories: Dataset[Trajectory]) -> Iterable[Fault]:
    """No two trajectories of one budget share most of their runs of four products.

    Candidates have three of their sixteen smallest run hashes in common (a bottom-k sketch); the share is then counted
    over all runs of both. Only the column of product ids is read, and the same product twice in a row counts once.
    """
    files = trajectories.files
    begins = [0, *accumulate(map_paths(count_file_rows, files))]

    def stored(row: int) -> tuple[Path, int]:
        file = bisect_right(begins, row) - 1
        return files[file], row - begins[file]

    for first, later in find_similar_pairs(sketch_trajectories(files)):
        one, other = (read_stored_runs(*stored(row)) for row in (first, later))
        if len(np.intersect1d(one, other)) > ALIKE * min(len(one), len(other)):
            path, row = stored(later)
            yield Fault(str(path), row, "near-duplicate of another trajectory")


def find_similar_pairs(sketches: Iterator[pa.RecordBatch], memory: str = MEMORY) -> list[tuple[int, int]]:
    """Pairs of rows with enough runs in common; of each pair the first is the first that has those runs."""
    with connect_duckdb() as connection:
        connection.execute(f"set memory_limit = '{memory}'; set threads = 2; set preserve_insertion_order = false")
        connection.register("arriving", pa.RecordBatchReader.from_batches(RUNS, sketches))
        connection.execute("create table runs as from arriving")
        found: list[tuple[int, int]] = connection.execute(PAIRS, [IN_COMMON]).fetchall()
        return found


def sketch_trajectories(files: list[Path]) -> Iterator[pa.RecordBatch]:
    """The smallest run hashes of each trajectory, with its row's number in the dataset; other budgets have others."""
    first = 0
    for path in files:
        for batch in read_row_groups(path, ["budget", ASINS]):
            row, runs = hash_runs_of_four(batch["events"])
            rank = np.arange(len(row)) - np.searchsorted(row, np.arange(batch.num_rows))[row]
            row, runs = row[rank < SKETCH], runs[rank < SKETCH]
            # A smaller budget is the beginning of a larger one of the same customer: they are never compared.
            runs = runs * MIX[1] ^ hashed_texts(batch["budget"])[row]
            yield pa.record_batch([pa.array(runs), pa.array(first + row)], schema=RUNS)
            first += batch.num_rows


def hash_runs_of_four(lists: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of four products in a row, distinct and sorted within each trajectory; and whose they are."""
    asins = lists.flatten().field("asin").dictionary_encode()
    number = asins.indices.fill_null(-1).to_numpy()  # -1: a search
    owner = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    shown = np.flatnonzero(number >= 0)
    # The same product twice in a row counts once.
    is_other_product = np.diff(number[shown], prepend=-1) != 0
    is_other_row = np.diff(owner[shown], prepend=-1) != 0
    shown = shown[is_other_product | is_other_row]
    keys, owner = hashed_texts(asins.dictionary)[number[shown]], owner[shown]
    runs = keys[: max(0, len(keys) - 3)].copy()
    for ahead in range(1, 4):
        # multiplied before each step, so that the order of the four counts
        runs = runs * MIX[2 * ahead] ^ keys[ahead : ahead + len(runs)]
    inside = owner[: len(runs)] == owner[3:]  # no run goes on in the next trajectory
    runs, owner = runs[inside], owner[: len(runs)][inside]
    order = np.lexsort((runs, owner))
    runs, owner = runs[order], owner[order]
    first = np.ones(len(runs), dtype=bool)
    first[1:] = (runs[1:] != runs[:-1]) | (owner[1:] != owner[:-1])
    return owner[first], runs[first]


def read_stored_runs(path: Path, row: int) -> np.ndarray:
    """The runs of one stored trajectory."""
    first = 0
    for batch in read_row_groups(path, ["budget", ASINS]):
        if row < first + batch.num_rows:
            return hash_runs_of_four(batch["events"].slice(row - first, 1))[1]
        first += batch.num_rows
    raise IndexError(f"{path} has no row {row}")
