"""What all tables give: rows under the files' own column names, and a row that could not be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

Row = dict[str, Any]
STEP = 1000  # rows between two marks
SHOWN = 10_000  # characters of a row that could not be read


class Table(Protocol):
    """Rows as they stand in the files, under the files' own column names."""

    files: list[Path]
    columns: list[str]

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Iterator[Row]: ...


def make_unreadable_row(reason: str, raw: str) -> Row:
    return {"unreadable": reason, "raw": raw[:SHOWN]}
