"""No two rows alike."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.stage import Fault, compares_rows


@compares_rows
def ids_are_unique(dataset: Dataset[Any]) -> Iterable[Fault]:
    return find_repeated_rows(dataset, "id", "duplicate id")


def find_repeated_rows(dataset: Dataset[Any], key: str, reason: str) -> list[Fault]:
    """All but the first row with the same value of an SQL expression.

    Only rows whose hash comes twice are held against each other: texts are not kept.
    """
    # DuckDB's hash may differ between versions: here it is compared inside one query only, and never leaves it
    found = dataset.sql(
        f"with twice as (select hash({key}) as key from rows group by all having count(*) > 1) "
        f"select filename, file_row_number from rows where hash({key}) in (from twice) qualify row_number() over "
        f"(partition by {key} order by filename, file_row_number) > 1 order by all"
    )
    return [Fault(file, row, reason) for file, row in found]


def find_rows_in_two_splits(dataset: Dataset[Any], key: str, reason: str) -> list[Fault]:
    """Rows for training whose value of a column stands in another split too."""
    found = dataset.sql(
        f"select filename, file_row_number from (select *, count(distinct split) over (partition by {key}) as splits from rows) "
        "where splits > 1 and split = 'train' order by all"
    )
    return [Fault(file, row, reason) for file, row in found]


def find_rows_alike_but_for_one(dataset: Dataset[Any], traits: Sequence[str], reason: str) -> Iterator[Fault]:
    """All but the first of the rows that have the same values of all but one of these SQL expressions.

    One pass finds the traits without which the hashes of two rows are equal; only those are looked at closely.
    """
    places = range(len(traits))
    # DuckDB's hash stays inside this query, too: of it only the numbers of traits come back
    hashes = ", ".join(f"hash({trait}) as t{place}" for place, trait in enumerate(traits))
    columns = [f"t{place}" for place in places]
    others = [f"hash({', '.join(columns[:one] + columns[one + 1 :])})" for one in places]
    found = dataset.sql(
        f"with traits as (select {hashes} from rows), "
        f"keys as (select unnest(range({len(traits)})) as one, unnest([{', '.join(others)}]) as key from traits) "
        "select distinct one from (select one from keys group by one, key having count(*) > 1) order by all"
    )
    for (one,) in found:
        yield from find_repeated_rows(
            dataset, ", ".join(trait for place, trait in enumerate(traits) if place != one), reason
        )
