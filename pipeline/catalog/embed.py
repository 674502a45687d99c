"""Embedders: texts as vectors of length 1, near one another where the texts are alike."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.words import STOP, WORD, ascii_lower, strip_plural

HASHED = "hashed"
# Of the hashed embedder.
DIMENSIONS = 256
# Dimensions that each part of a word is spread over.
SIGNS = 8
# Whose vectors are kept, a kB each.
WORDS_KEPT = 50_000
# Of runs of three letters, 2 kB each; English has some 10,000.
RUNS_KEPT = 16_384
# What all parts of a word count together, beside the word itself.
PARTS = 0.6


class Embedder(Protocol):
    """Anything that turns texts into vectors."""

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """float32 [texts, dimensions], each row of length 1; a text that says nothing is all zeros."""


class HashedEmbedder:
    """Words and their runs of three letters, hashed: no model, the same on any machine.

    It knows how words are written and nothing of what they mean: `lmap` is near `lamp`, `sofa` is not near `couch`.
    """

    def __init__(self, words_kept: int = WORDS_KEPT) -> None:
        self.known, self.words_kept = KnownWords(), words_kept

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            known = self.known = self.known if len(self.known) <= self.words_kept else KnownWords()
            if rows := list(dict.fromkeys(map(known.__getitem__, WORD.findall(ascii_lower(text))))):
                known.vectors.take(rows, axis=0).sum(axis=0, out=found[place])
        lengths = np.sqrt((found * found).sum(axis=1, keepdims=True))
        return found / np.where(lengths > 0, lengths, 1)


class KnownWords(dict[str, int]):
    """Words as they were met, each with the row of its vector: one for all spellings, row 0 for those that say nothing."""

    def __init__(self) -> None:
        self.vectors = np.zeros((1_024, DIMENSIONS), np.float32)
        self.row = dict.fromkeys(STOP, 0)
        self.used = 1
        self.lock = Lock()

    def __missing__(self, met: str) -> int:
        word = strip_plural(met)
        with self.lock:  # threads of a server share one embedder
            if word not in self.row:
                self.learn(word)
            self[met] = self.row[word]
        return self.row[word]

    def learn(self, word: str) -> None:
        if self.used == len(self.vectors):
            self.vectors = np.concatenate([self.vectors, np.zeros_like(self.vectors)])
        self.vectors[self.used], self.row[word] = word_vector(word), self.used
        self.used += 1


def word_vector(word: str) -> np.ndarray:
    """The word as one part, and its runs of three letters, those at its ends with a mark."""
    marked = f"<{word}>"
    runs = [marked[at : at + 3] for at in range(len(marked) - 2)]
    found = part_vector(marked + "=") + PARTS / np.sqrt(len(runs)) * sum(map(run_vector, runs))
    vector: np.ndarray = found.astype(np.float32)
    return vector


def part_vector(part: str) -> np.ndarray:
    """
    >>> round(float((part_vector("lam") ** 2).sum()), 6)
    1.0
    """
    digest = np.frombuffer(blake2b(part.encode(), digest_size=2 * SIGNS).digest(), np.uint16)
    found = np.zeros(DIMENSIONS)
    np.add.at(found, digest % DIMENSIONS, np.where(digest >> 15, 1, -1) / np.sqrt(SIGNS))
    return found / max(np.sqrt((found * found).sum()), 1e-9)


# Whole words are not kept here: each is asked for once, as the word's own vector is kept.
run_vector = lru_cache(RUNS_KEPT)(part_vector)


class Transformer:
    """A model of sentence-transformers: a name on the Hub or a folder."""

    def __init__(self, name: str) -> None:
        require("sentence_transformers", f"sentence-transformers:{name}")
        from sentence_transformers import SentenceTransformer

        self.model = load_embedder(SentenceTransformer, name)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        found = self.model.encode(list(texts), batch_size=128, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


class Static:
    """A model of model2vec: a folder, or a name on the Hub."""

    def __init__(self, name: str) -> None:
        require("model2vec", f"model2vec:{name}")
        from model2vec import StaticModel

        self.model = load_embedder(StaticModel.from_pretrained, name)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        found = np.asarray(self.model.encode(list(texts)), dtype=np.float32)
        lengths = np.sqrt((found * found).sum(axis=1, keepdims=True))
        return found / np.where(lengths > 0, lengths, 1)


def load_embedder(load: Any, name: str) -> Any:
    try:
        return load(name)
    except Exception as error:  # noqa: BLE001  (each library raises what it likes for a name that it cannot load)
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise Problem(f"The embedder {name} cannot be loaded: {reason}. Give a folder, or a name on the Hub.") from None


@lru_cache(maxsize=4)
def open_embedder(name: str) -> Embedder:
    """`hashed`, `sentence-transformers:NAME` or `model2vec:FOLDER`. Raises Problem for any other name."""
    kind, _, which = name.partition(":")
    if name == HASHED:
        return HashedEmbedder()
    if kind == "sentence-transformers" and which:
        return Transformer(which)
    if kind == "model2vec" and which:
        return Static(str(Path(which)) if Path(which).exists() else which)
    raise Problem(f"There is no embedder {name}. Use hashed, sentence-transformers:NAME or model2vec:FOLDER.")


def join_product_texts(
    titles: pa.Array, brands: pa.Array, colors: pa.Array, kinds: pa.Array, values: pa.ListArray
) -> pa.Array:
    """What a product is found by, by its words as by its vector: its title, brand, color, category, and what is known of it.

    >>> words = [pa.array([each], pa.string()) for each in ("Lamp", "Lumo", None, "Desk Lamps")]
    >>> join_product_texts(*words, pa.array([["oak", "12 in"]])).to_pylist()
    ['Lamp Lumo  Desk Lamps oak 12 in']
    """
    columns = (titles, brands, colors, kinds, pc.binary_join(values, " "))
    return pc.binary_join_element_wise(*[column.fill_null("") for column in columns], " ")


def take_attribute_values(attributes: pa.ListArray) -> pa.ListArray:
    """
    >>> take_attribute_values(pa.array([[{"name": "material", "value": "oak"}], []])).to_pylist()
    [['oak'], []]
    """
    return pa.ListArray.from_arrays(attributes.offsets, attributes.values.field("value")).fill_null([])
