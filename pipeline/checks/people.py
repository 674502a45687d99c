"""What checks of behaviour need to know of every persona, in columns: twenty bytes for each."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.words import hashed_texts
from shopwright.schemas.shop import Persona


class PersonaColumns:
    """Hours and budgets, found by a hash of 64 bits of the id: of a million personas no two share one by chance."""

    def __init__(self, personas: Dataset[Persona]) -> None:
        columns = [
            (hashed_texts(batch["id"]), decimal_to_cents(batch["budget"]), encode_hours(batch["active_hours"]))
            for batch in personas.batches(["id", "budget", "active_hours"])
        ]
        none = np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int32)
        keys, budgets, hours = (np.concatenate(parts) for parts in zip(none, *columns, strict=True))
        order = np.argsort(keys)
        self.keys = keys[order]
        self.budgets, self.hours = np.append(budgets[order], 0), np.append(hours[order], 0)  # the last is nobody's

    def find(self, ids: pa.Array) -> np.ndarray:
        """Where each id stands in `budgets` (cents) and `hours` (a bit for each); -1 for an unknown id."""
        if not len(self.keys):
            return np.full(len(ids), -1)
        keys = hashed_texts(ids)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, -1)


def encode_hours(lists: pa.Array) -> np.ndarray:
    """The hours of each list as bits of a number."""
    found = np.zeros(len(lists), dtype=np.int32)
    owner = np.repeat(np.arange(len(lists)), pc.list_value_length(lists).fill_null(0).to_numpy())
    hours = lists.flatten().to_numpy()
    real = (hours >= 0) & (hours < 24)
    np.bitwise_or.at(found, owner[real], 1 << hours[real].astype(np.int32))
    return found
