"""The lines of trajectories' texts, read back: each different line once, and remembered."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.render.trajectory import parse_event_body
from shopwright.pipeline.tokens import estimate, estimates
from shopwright.pipeline.words import REMEMBERED

FIELDS = ("action_type", "asin", "product_name", "brand", "color", "price", "search_query")
# Bytes of a line's time.
STAMP = 19
STAMP_TOKENS = estimate("\n2024-05-01 19:30:25")
NO_ACTION = (None,) * len(FIELDS)


@dataclass(frozen=True)
class TextLines:
    """The lines of some texts, one text after the other."""

    lengths: np.ndarray
    """Lines of each text."""
    row: np.ndarray
    """Of each line, which text it is of."""
    when: pa.Array
    """The first 19 bytes of each line, whatever they are."""
    what: dict[str, pa.Array]
    """What each line tells beside its time, as text; nothing where it is no action."""
    whole: np.ndarray
    """Of each text, whether all its lines are actions."""
    tokens: np.ndarray
    """Of each text that is whole."""


def parse_texts(texts: pa.Array) -> TextLines:
    """What texts tell."""
    split = pc.split_pattern(texts, "\n")
    lengths = pc.list_value_length(split).fill_null(0).to_numpy().astype(np.int64)
    lines = split.flatten().cast(pa.binary())
    rests = pc.binary_replace_slice(lines, 0, STAMP, b"").dictionary_encode()
    places = LINE_CACHE.places(rests.dictionary.to_pylist())
    columns = {name: pa.array(LINE_CACHE.table[row, places], pa.string()) for row, name in enumerate(FIELDS)}
    what = {name: column.take(rests.indices) for name, column in columns.items()}
    sizes = LINE_CACHE.sizes[places][rests.indices.to_numpy()]
    row = np.repeat(np.arange(len(lengths)), lengths)
    whole = lengths > 0
    whole[row[pc.is_null(what["action_type"]).to_numpy(zero_copy_only=False)]] = False
    tokens = np.bincount(row, weights=sizes, minlength=len(lengths)).astype(np.int64) - 1
    return TextLines(lengths, row, pc.binary_slice(lines, 0, STAMP), what, whole, tokens)


class LineCache:
    """What stands after the time of lines met so far, as columns: what it tells, and the tokens of the whole line.

    Numbers and no tuples: Python's garbage collector would look at each of them again and again.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self.most = most
        self.forget()

    def forget(self) -> None:
        self.place: dict[bytes, int] = {}
        self.table = np.empty((len(FIELDS), 1_024), dtype=object)
        # With the break before the line.
        self.sizes = np.zeros(1_024, dtype=np.int64)

    def places(self, rests: list[bytes]) -> np.ndarray:
        """Where each of these stands in the columns."""
        try:
            return self.find(rests)
        except KeyError:
            if len(self.place) + len(rests) > self.most:
                self.forget()
            self.add([rest for rest in rests if rest not in self.place])
            return self.find(rests)

    def find(self, rests: list[bytes]) -> np.ndarray:
        return np.fromiter(map(self.place.__getitem__, rests), np.int64, len(rests))

    def add(self, new: list[bytes]) -> None:
        first, texts = len(self.place), [rest.decode(errors="replace") for rest in new]
        while first + len(new) > len(self.sizes):
            self.table = np.concatenate([self.table, np.empty_like(self.table)], axis=1)
            self.sizes = np.concatenate([self.sizes, np.zeros_like(self.sizes)])
        self.sizes[first : first + len(new)] = estimates(pa.array(texts, pa.string())) + STAMP_TOKENS
        for place, text in enumerate(texts, first):
            self.table[:, place] = parse_line_fields(text)
        self.place.update(zip(new, range(first, first + len(new)), strict=True))


LINE_CACHE = LineCache()


def parse_line_fields(rest: str) -> tuple[str | None, ...]:
    """What a line tells after its time; nothing where it is no action."""
    if not rest.startswith(" "):
        return NO_ACTION
    try:
        return parse_event_body(rest[1:])
    except ValueError:
        return NO_ACTION
