"""The records of a dataset by id, without holding all of them: most are asked for in the order in which they stand."""

from typing import Generic, TypeVar

from pipeline.dataset import Dataset
from schemas.record import Record

RecordT = TypeVar("RecordT", bound=Record)
AT_HAND = 50
"""Records that are read together."""


class Nearby(Generic[RecordT]):
    """For `dataset.once`."""

    def __init__(self, dataset: Dataset[RecordT]) -> None:
        self.dataset = dataset
        ids = dataset.table(["id"])["id"].to_pylist()
        self.count, self.numbers = len(ids), {id: number for number, id in enumerate(ids)}
        self.near: dict[str, RecordT] = {}

    def of(self, id: str) -> RecordT | None:
        """None where there is none such; of several with one id the last."""
        number = self.numbers.get(id)
        if number is not None and id not in self.near:
            rows = range(number, min(number + AT_HAND, self.count))
            self.near = {row.id: row for row in self.dataset.rows(rows)}
        return self.near.get(id)

    def __getitem__(self, id: str) -> RecordT:
        """Raises KeyError where there is none such."""
        found = self.of(id)
        if found is None:
            raise KeyError(id)
        return found
