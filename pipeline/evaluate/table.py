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
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        head, *rest = (
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        return "\n".join([head, "  ".join("-" * width for width in widths), *rest])
