"""What stands in laid Parquet files: which config and split each is of, its texts cell by cell, and their words as numbers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Config -> split -> its files, in order.
Files = dict[str, dict[str, list[Path]]]
NAME = re.compile(r"(.+)-\d{5}-of-\d{5}\.parquet")
# Read at a time.
ROWS = 1_000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Cells:
    """The texts of one column of a batch, also those inside lists and structs, and the row of each."""

    column: str
    """`steps.action` for a field of a list of structs."""
    texts: pa.Array
    rows: np.ndarray


def laid_files(folder: Path) -> Files:
    """What lies in `data/<config>/<split>-00000-of-000NN.parquet`."""
    found: Files = {}
    for path in sorted(folder.glob("data/*/*.parquet")):
        if name := NAME.fullmatch(path.name):
            found.setdefault(path.parent.name, {}).setdefault(name[1], []).append(path)
    return found


def read_numbered_batches(path: Path, columns: list[str] | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each batch with the number of its first row."""
    first = 0
    for batch in pq.ParquetFile(path).iter_batches(ROWS, columns=columns):
        yield first, batch
        first += batch.num_rows


def list_common_columns(files: Iterable[Path]) -> set[str]:
    """Those that all of the files have."""
    return set.intersection(*(set(pq.read_schema(path).names) for path in files))


def iterate_cells(batch: pa.RecordBatch) -> Iterator[Cells]:
    """
    >>> batch = pa.RecordBatch.from_pylist([{"id": "a", "said": []}, {"id": "b", "said": [{"content": "Hello"}]}])
    >>> [(each.column, each.texts.to_pylist(), each.rows.tolist()) for each in iterate_cells(batch)]
    [('id', ['a', 'b'], [0, 1]), ('said.content', ['Hello'], [1])]
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        yield from inside(name, column, np.arange(batch.num_rows))


def inside(name: str, values: pa.Array, rows: np.ndarray) -> Iterator[Cells]:
    if isinstance(values, pa.ExtensionArray):
        yield from inside(name, values.storage, rows)
    elif pa.types.is_dictionary(values.type):
        yield from inside(name, values.dictionary_decode(), rows)
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        parents = pc.list_parent_indices(values).to_numpy()
        yield from inside(name, pc.list_flatten(values), rows[parents])
    elif pa.types.is_struct(values.type):
        for place, field in enumerate(values.type):
            yield from inside(f"{name}.{field.name}", pc.struct_field(values, [place]), rows)
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        there = values.is_valid()
        yield Cells(name, values.filter(there), rows[there.to_numpy(zero_copy_only=False)])


def text_to_number(text: str) -> int:
    """The same in every process."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest(), "little")


word_to_number = lru_cache(maxsize=1 << 18)(text_to_number)


def hash_words(words: Sequence[str]) -> np.ndarray:
    """Each word as a number."""
    return np.fromiter(map(word_to_number, words), np.uint64, len(words))


def hash_ngrams(words: np.ndarray, size: int) -> np.ndarray:
    """A number for each run of so many words; the order counts.

    >>> len(hash_ngrams(hash_words(["a", "red", "lamp"]), 2)), len(hash_ngrams(hash_words(["a"]), 2))
    (2, 0)
    """
    count = max(len(words) - size + 1, 0)
    found = np.zeros(count, np.uint64)
    for place in range(size):
        found = found * GOLDEN + words[place : place + count]
        found ^= found >> np.uint64(29)  # else the high bits, which the product fills, would never reach the low ones
    return found
