"""No two rows alike."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.dataset import Dataset
from pipeline.stage import Fault


def ids_are_unique(dataset: Dataset[Any]) -> Iterable[Fault]:
    return repeated(dataset, "id", "duplicate id")


def repeated(dataset: Dataset[Any], key: str, reason: str) -> list[Fault]:
    """All but the first row with the same value of an SQL expression.

    Only rows whose hash comes twice are held against each other: texts are not kept.
    """
    found = dataset.sql(
        f"with twice as (select hash({key}) as key from rows group by all having count(*) > 1) "
        f"select filename, file_row_number from rows where hash({key}) in (from twice) qualify row_number() over "
        f"(partition by {key} order by filename, file_row_number) > 1 order by all"
    )
    return [Fault(file, row, reason) for file, row in found]


def alike_but_for_one(dataset: Dataset[Any], traits: Sequence[str], reason: str) -> Iterator[Fault]:
    """All but the first of the rows that have the same values of all but one of these SQL expressions.

    One pass finds the traits without which the hashes of two rows are equal; only those are looked at closely.
    """
    places = range(len(traits))
    hashes = ", ".join(f"hash({trait}) as t{place}" for place, trait in enumerate(traits))
    others = ["hash(" + ", ".join(f"t{place}" for place in places if place != one) + ")" for one in places]
    found = dataset.sql(
        f"with traits as (select {hashes} from rows), "
        f"keys as (select unnest(range({len(traits)})) as one, unnest([{', '.join(others)}]) as key from traits) "
        "select distinct one from (select one from keys group by one, key having count(*) > 1) order by all"
    )
    for (one,) in found:
        yield from repeated(dataset, ", ".join(trait for place, trait in enumerate(traits) if place != one), reason)
