"""Which rows of a dataset an evaluation takes: those of a split, and so many of them, the same ones every time."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from shopwright.pipeline.dataset import Dataset


class Identified(Protocol):
    """Whatever has an id."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=Identified)


def read_split(dataset: Dataset[Any], split: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Its rows, in the dataset's order; only these columns, of which `split` has to be one."""
    import pyarrow.compute as pc

    for batch in dataset.batches(columns):
        yield from batch.filter(pc.equal(batch["split"], split)).to_pylist()


def read_with_ids(dataset: Dataset[Any], ids: set[str], columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows with these ids, one batch after the other: all at once may be more than memory holds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(sorted(ids), pa.string())
    for batch in dataset.batches(columns):
        yield from batch.filter(pc.is_in(batch["id"], value_set=known)).to_pylist()


def limit_evenly(found: Sequence[T], limit: int | None, group: Callable[[T], Any] = lambda each: 0) -> Sequence[T]:
    """So many of them, from each group alike and by chance, in their order; all where there is no limit.

    A larger limit holds the smaller one's. Groups have their turns in the order of what `group` says.
    """
    if limit is None:
        return found
    met: Counter[Any] = Counter()
    turns = []
    for each in sorted(found, key=lambda each: digest_text(each.id)):
        turns.append((met[group(each)], group(each), each.id))
        met[group(each)] += 1
    taken = {id for _, _, id in sorted(turns)[:limit]}
    return [each for each in found if each.id in taken]


def digest_text(text: str) -> bytes:
    """What chance hangs on: the same everywhere."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
