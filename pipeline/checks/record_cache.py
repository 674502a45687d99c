"""The records of a dataset by id, without holding all of them: most are asked for in the order in which they stand."""

from typing import Generic, TypeVar

from shopwright.pipeline.dataset import Dataset
from shopwright.schemas.record import Record

RecordT = TypeVar("RecordT", bound=Record)
# Records that are read together.
READ_AHEAD = 50


class RecordCache(Generic[RecordT]):
    """For `dataset.once`."""

    def __init__(self, dataset: Dataset[RecordT]) -> None:
        self.dataset = dataset
        ids = dataset.table(["id"])["id"].to_pylist()
        self.count, self.numbers = len(ids), {id: number for number, id in enumerate(ids)}
        self.near: dict[str, RecordT] = {}

    def of(self, id: str) -> RecordT | None:
        """The record, or None for an unknown id; of several with one id the last."""
        number = self.numbers.get(id)
        if number is not None and id not in self.near:
            rows = range(number, min(number + READ_AHEAD, self.count))
            self.near = {row.id: row for row in self.dataset.rows(rows)}
        return self.near.get(id)

    def __getitem__(self, id: str) -> RecordT:
        """Raises KeyError for an unknown id."""
        found = self.of(id)
        if found is None:
            raise KeyError(id)
        return found
