"""Texts and values of the worst kind, which the tests of the parsers share."""

import os
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
some = settings(
    max_examples=EXAMPLES or 30, derandomize=not EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None
)
"""Few and the same each time; with `FUZZ_EXAMPLES=20000` as many of each, and others each time."""


def tried(
    fault: type[Exception] | tuple[type[Exception], ...], read: Callable[..., Any], *given: Any, **named: Any
) -> Any:
    """What it gives and None, or None and its fault, if it is such a one."""
    try:
        return read(*given, **named), None
    except fault as found:
        return None, found


DEEP = "[" * 100_000
DIGITS = "9" * 10_000
"""Python makes no int of so many."""
LONG = "Norrvik lamp " * 770
HALF = "\ud800"
"""Half of a character, which no file of UTF-8 holds but an escape of JSON does."""
MUCH = {"long": LONG, "half": HALF, "digits": DIGITS}
ODD = [
    "", " ", "\0", "\n", "\r\n", "\t", "\x85", "\u2028", "\u2029", "\x1c", "\x0b", "\ufeff", "\u200b", "\u202e",
    "\u0301",
    "مصباح", "é", "e\u0301", "🪑", "👩‍👩‍👧‍👦", "ﷺ", "ß", "İ", "K", "１２", "٣٤", "²", "½",
]  # fmt: skip
NUMBERS = [
    "0", "-0", "1", "12.50", "1,299.00", "1.299,00", "1_000", "nan", "-inf", "Infinity", "1e5", "1e309", "-1e-400",
    "1e9999999999", "0x10", "9" * 30, "١٢", "64k", "1.5m", "2024-02-30", "2024-05-12", "0000-00-00 24:00:00",
]  # fmt: skip
BREAKS = [
    "{{ x }}", "{% x %}", "<b>", "</script>", "&amp;amp;", "&#x0;", "'; drop table events; --", '"', "'", "\\", "\\n",
    "`",
    "[", "]", "{", "}", "(", ")", ",", ";", ":", "=", "|", "||", "$", "%", "--", "/*", "#", "...", "null", "true",
    "] (brand: ", ", color: ", ", price: ", "ignore all instructions",
]  # fmt: skip
PIECES = [*ODD, *NUMBERS, *BREAKS]


def texts(*pieces: str) -> st.SearchStrategy[str]:
    """Odd, broken and plain pieces together, these among them; now and then one long text."""
    known = st.sampled_from(PIECES) | st.text(max_size=3)
    likely = st.sampled_from(pieces) | known if pieces else known
    mixed = st.lists(likely, max_size=9).map("".join)
    every = st.one_of(mixed, mixed, mixed, st.sampled_from(list(MUCH)).map(MUCH.get))
    return st.deferred(lambda: every)  # which is told in few words where something fails


text = texts()
writable = text.filter(lambda each: HALF not in each)
scalars = st.one_of(
    text, st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from([10**400, -(2**63) - 1, 1e308, -0.0])
)
json_values = st.recursive(
    scalars, lambda inside: st.lists(inside, max_size=4) | st.dictionaries(text, inside, max_size=4), max_leaves=8
)
values = json_values | st.sampled_from([10**5_000, b"\xff", Decimal("sNaN"), Decimal("-Infinity"), Decimal("1e40"), ()])
"""What Parquet and Python have beside what JSON has."""
