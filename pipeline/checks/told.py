"""The lines of trajectories' texts, read back: each different line once, and remembered."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.render.trajectory import told
from pipeline.tokens import estimate, estimates
from pipeline.words import REMEMBERED

FIELDS = ("action_type", "asin", "product_name", "brand", "color", "price", "search_query")
STAMP = 19
"""Bytes of a line's time."""
STAMP_TOKENS = estimate("\n2024-05-01 19:30:25")
NO_ACTION = (None,) * len(FIELDS)
_known: dict[bytes, tuple[str | int | None, ...]] = {}
"""What stands after a line's time -> what it tells, and how many tokens the line has with the break before it."""


@dataclass(frozen=True)
class Told:
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


def read(texts: pa.Array) -> Told:
    """What texts tell."""
    split = pc.split_pattern(texts, "\n")
    lengths = pc.list_value_length(split).fill_null(0).to_numpy().astype(np.int64)
    lines = split.flatten().cast(pa.binary())
    rests = pc.binary_replace_slice(lines, 0, STAMP, b"").dictionary_encode()
    columns = list(zip(*learned(rests.dictionary.to_pylist()), strict=True)) or [()] * (len(FIELDS) + 1)
    what = {
        name: pa.array(column, pa.string()).take(rests.indices)
        for name, column in zip(FIELDS, columns[:-1], strict=True)
    }
    sizes = np.array(columns[-1], dtype=np.int64)[rests.indices.to_numpy()]
    row = np.repeat(np.arange(len(lengths)), lengths)
    whole = lengths > 0
    whole[row[pc.is_null(what["action_type"]).to_numpy(zero_copy_only=False)]] = False
    tokens = np.bincount(row, weights=sizes, minlength=len(lengths)).astype(np.int64) - 1
    return Told(lengths, row, pc.binary_slice(lines, 0, STAMP), what, whole, tokens)


def learned(rests: list[bytes]) -> list[tuple[str | int | None, ...]]:
    """What each of these lines tells after its time."""
    if len(_known) > REMEMBERED:
        _known.clear()
    new = [rest for rest in rests if rest not in _known]
    texts = [rest.decode(errors="replace") for rest in new]
    sizes = (estimates(pa.array(texts, pa.string())) + STAMP_TOKENS).tolist() if texts else []
    _known.update((rest, (*line(text), size)) for rest, text, size in zip(new, texts, sizes, strict=True))
    return list(map(_known.__getitem__, rests))


def line(rest: str) -> tuple[str | None, ...]:
    """What a line tells after its time; nothing where it is no action."""
    if not rest.startswith(" "):
        return NO_ACTION
    try:
        return told(rest[1:])
    except ValueError:
        return NO_ACTION
