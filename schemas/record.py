"""What every row has in common."""

from typing import NewType

from pydantic import BaseModel, ConfigDict

# A number that two bytes are enough for.
Half = NewType("Half", float)


class Part(BaseModel):
    """A value inside a record: frozen and strict like one, but without an id of its own."""

    # A validator is made when it is first used: most processes use few of all kinds.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Record(Part):
    """One row of a dataset. It never changes, and it rejects fields it does not know."""

    id: str
    """Stable across runs: the same seed and settings always give the same id."""


class Rejected(Record):
    """A row that must not ship, with the reasons; what `quarantine/` holds."""

    reasons: list[str]
    record: str
    """The row itself as JSON: a record that failed a check, or what a source had given."""
