"""The nearest of many vectors, with FAISS: a flat index for a few thousand, cells above."""

from dataclasses import dataclass
from math import log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.catalog.embed import Embedder
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem
from shopwright.schemas.shop import Embedding

# Up to so many vectors all are looked at.
FLAT = 4_000
# Cells, of about 4 sqrt(n), that are looked at above: so many at least, and one of so many.
FEWEST, ONE_OF = 24, 32
# Vectors of each cell that its centre is learnt from.
TAUGHT = 40
# Rounds of k-means in which FAISS trains its lists.
ROUNDS = 6
CHUNK = 50_000


@dataclass(frozen=True)
class Nearest:
    """Vectors in memory or mapped from a file, an index of them, and what makes the vector of a text.

    An index gives the same answers wherever it is read; trained elsewhere it may differ in the last of them.
    """

    codes: np.ndarray
    """int8 [n, dimensions]: each vector, times 127 over its largest number."""
    scales: np.ndarray
    """float32 [n]: what brings each back to its length."""
    index: Any
    embedder: Embedder

    def vector(self, text: str) -> np.ndarray:
        found: np.ndarray = self.embedder.vectors([text])[0]
        return found

    def find(self, vector: np.ndarray, count: int, among: np.ndarray | None = None) -> np.ndarray:
        """At most so many places, the nearest first; `among`: a bit for each place, from the lowest, of those that may be found."""
        faiss = import_faiss()
        chosen = None if among is None else faiss.IDSelectorBitmap(among)
        if isinstance(self.index, faiss.IndexScalarQuantizer):
            how = faiss.SearchParameters(sel=chosen)
        else:
            how = faiss.SearchParametersIVF(sel=chosen, nprobe=max(FEWEST, self.index.nlist // ONE_OF))
        _, places = self.index.search(vector[None], min(count, len(self.codes)), params=how)
        found: np.ndarray = places[0][places[0] >= 0]
        return found

    def cosines(self, vector: np.ndarray, places: np.ndarray) -> np.ndarray:
        found: np.ndarray = (self.codes[places].astype(np.float32) @ vector) * self.scales[places]
        return found

    @classmethod
    def read(cls, folder: Path, embedder: Embedder) -> "Nearest":
        """What `write_nearest` wrote, mapped into memory."""
        faiss = import_faiss()
        index = faiss.read_index(str(folder / "nearest.faiss"), faiss.IO_FLAG_MMAP_IFC)
        return cls(open_mapped_array(folder / "codes.npy"), open_mapped_array(folder / "scales.npy"), index, embedder)


def nearest_in(vectors: np.ndarray, embedder: Embedder) -> Nearest:
    """`vectors`: float16 [n, dimensions]."""
    return Nearest(*quantize_vectors(vectors), build_faiss_index(vectors), embedder)


def quantize_vectors(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales: a byte a number, because NumPy reads them ten times as fast as float16.

    >>> codes, scales = quantize_vectors(np.array([[0.6, -0.8], [0, 0]], np.float16))
    >>> (codes.astype(float) * scales[:, None]).round(2).tolist()
    [[0.6, -0.8], [0.0, 0.0]]
    """
    wide = vectors.astype(np.float32)
    scales = np.abs(wide).max(axis=1) / 127
    codes = np.round(wide / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    return codes, scales


def import_faiss() -> Any:
    """Raises Problem where it is not installed."""
    require("faiss", "Search by vectors")
    import faiss

    return faiss


def build_faiss_index(vectors: np.ndarray) -> Any:
    faiss = import_faiss()
    count, dimensions = vectors.shape
    if count <= FLAT:
        index = faiss.IndexScalarQuantizer(dimensions, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        index.train(vectors.astype(np.float32))
    else:
        cells = 2 ** round(log2(4 * sqrt(count)))
        index = faiss.index_factory(dimensions, f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
        index.cp.niter, index.cp.seed = ROUNDS, 1
        index.cp.min_points_per_centroid = 1
        step = max(1, count // (TAUGHT * cells))
        index.train(vectors[::step].astype(np.float32))
    for begin in range(0, count, CHUNK):
        index.add(vectors[begin : begin + CHUNK].astype(np.float32))
    return index


def write_nearest(folder: Path, embeddings: Dataset[Embedding], ids: pa.Array, place_of: np.ndarray) -> None:
    """The vectors of a dataset, each at the place of its product, and their index; only the index is ever in memory whole.

    A product without one (it was rejected) has zeros, which are near nothing.
    """
    faiss = import_faiss()
    row_of = pc.index_in(embeddings.table(["id"])["id"], value_set=ids).to_numpy()
    out, codes, first = None, None, 0
    scales = np.zeros(len(place_of), np.float32)
    for batch in embeddings.batches(["vector"]):
        vectors = batch["vector"].flatten().to_numpy().reshape(len(batch), -1)
        if out is None or codes is None:
            shape = (len(place_of), vectors.shape[1])
            out = np.lib.format.open_memmap(folder / "vectors.npy", mode="w+", dtype=np.float16, shape=shape)
            codes = np.lib.format.open_memmap(folder / "codes.npy", mode="w+", dtype=np.int8, shape=shape)
        places = place_of[row_of[first : first + len(batch)]]
        first += len(batch)
        out[places] = vectors
        codes[places], scales[places] = quantize_vectors(vectors)
    if out is None or codes is None:
        raise Problem(f"There are no vectors in {embeddings.folder}. Look at why they were rejected.")
    codes.flush()
    np.save(folder / "scales.npy", scales)
    faiss.write_index(build_faiss_index(out), str(folder / "nearest.faiss"))
    (folder / "vectors.npy").unlink()


def open_mapped_array(path: Path) -> np.ndarray:
    """A plain array over the file: slices of a memmap itself cost ten times as much."""
    return np.asarray(np.load(path, mmap_mode="r"))
