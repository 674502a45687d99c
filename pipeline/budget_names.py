"""Budgets of tokens by name: `32k`, `64k`, `1m`; k is 1,000 (so that 32k and 64k fit windows of 2^15 and 2^16)."""

import re

UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
# Fewer tokens do not hold a session.
LEAST = 2_000


def parse_budget(name: str) -> int:
    """
    >>> parse_budget("64k"), parse_budget("1m"), parse_budget("1500000")
    (64000, 1000000, 1500000)
    """
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([km]?)", name.strip().lower())
    tokens = round(float(found[1]) * UNITS[found[2]]) if found else 0
    if tokens < LEAST:
        raise ValueError(f"{name!r} is not a number of tokens from {LEAST} on, such as 32k, 64k or 1000000")
    return tokens


def format_budget(tokens: int) -> str:
    """
    >>> format_budget(64_000), format_budget(1_000_000), format_budget(1_500), format_budget(100_001)
    ('64k', '1m', '1500', '100001')
    """
    for unit, size in (("m", 1_000_000), ("k", 1_000)):
        if tokens % size == 0:
            return f"{tokens // size}{unit}"
    return str(tokens)


def parse_budgets(value: object) -> object:
    """A list of distinct budgets, smallest first, from `32k,64k`, `1000000` or a list of such.

    >>> parse_budgets("64k,32k"), parse_budgets(1000000)
    (['32k', '64k'], ['1m'])
    """
    if isinstance(value, int):
        value = str(value)
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not parts:
        raise ValueError("say how many tokens, such as 32k,64k")
    budgets = {parse_budget(str(part)) for part in parts}
    return list(map(format_budget, sorted(budgets)))
