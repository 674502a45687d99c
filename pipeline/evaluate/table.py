"""A table of results: what every evaluation and audit prints."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Cells as text, a row for each line."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        """
        >>> print(Table(["agent", "right"], [["random", "3"], ["solver", "12"]]))
        agent   right
        ------  -----
        random  3
        solver  12
        """
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines.insert(1, ["-" * width for width in widths])
        padded = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join(padded)
