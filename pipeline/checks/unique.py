"""No two rows alike."""

from collections.abc import Iterable
from typing import Any

from pipeline.dataset import Dataset
from pipeline.stage import Fault


def ids_are_unique(dataset: Dataset[Any]) -> Iterable[Fault]:
    return repeated(dataset, "id", "duplicate id")


def repeated(dataset: Dataset[Any], key: str, reason: str) -> list[Fault]:
    """All but the first row with the same value of an SQL expression."""
    found = dataset.sql(
        f"select filename, file_row_number from rows qualify row_number() over "
        f"(partition by {key} order by filename, file_row_number) > 1 order by all"
    )
    return [Fault(file, row, reason) for file, row in found]
