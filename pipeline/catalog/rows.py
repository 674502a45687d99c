"""Which row of a long column each of many texts stands in."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.words import hashed_texts
from shopwright.schemas.shop import Product

# Texts that are hashed together.
CHUNK = 50_000


def index_product_ids(catalog: Dataset[Product]) -> "Rows":
    """For `catalog.once`: the row of each product by its id."""
    return Rows(catalog.table(["id"])["id"].combine_chunks())


class Rows:
    """The texts of a column by their hashes: 12 bytes a text, made once for any number of questions."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column
        chunks = [hashed_texts(column.slice(begin, CHUNK)) for begin in range(0, len(column), CHUNK)]
        hashes = np.concatenate([np.zeros(0, np.uint64), *chunks])
        self.order = np.argsort(hashes, kind="stable").astype(np.int32)
        self.hashes = hashes[self.order]

    def of(self, texts: pa.Array) -> np.ndarray:
        """The row of each text, the first that has it; -1 where there is none.

        >>> Rows(pa.array(["b", "a", "b"])).of(pa.array(["b", "c", "a"])).tolist()
        [0, -1, 1]
        """
        wanted = hashed_texts(texts)
        at = np.searchsorted(self.hashes, wanted)
        there = np.flatnonzero(at < len(self.hashes))
        there = there[self.hashes[at[there]] == wanted[there]]
        found = np.full(len(texts), -1, np.int64)
        found[there] = self.order[at[there]]
        same = pc.equal(self.column.take(pa.array(found[there])), texts.take(pa.array(there))).fill_null(False)
        for place in there[~same.to_numpy(zero_copy_only=False)].tolist():  # another text with the same hash
            found[place] = pc.index(self.column, texts[place]).as_py()
        return found
