"""The schema number of each record, and the steps that give rows of an earlier release today's columns.

A record whose columns change gets one step more, from the columns before to those after; its schema number is one more than its steps:

    "Persona": (lambda table: table.rename_columns({"town": "city"}),)
"""

from collections.abc import Callable

import pyarrow as pa

from shopwright.schemas.record import Record

Step = Callable[[pa.Table], pa.Table]

# By the record's name, the oldest first. Version 0.1.0 has none.
STEPS: dict[str, tuple[Step, ...]] = {}


def schema_number(makes: type[Record]) -> int:
    """
    >>> schema_number(Record)
    1
    """
    return 1 + len(STEPS.get(makes.__name__, ()))


def apply_steps(table: pa.Table, makes: type[Record], number: int) -> pa.Table:
    """Rows of the schema of this number, with today's columns in today's order."""
    for step in STEPS.get(makes.__name__, ())[number - 1 :]:
        table = step(table)
    return table.select(list(makes.model_fields))
