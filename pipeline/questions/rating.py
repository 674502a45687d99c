"""What is said of a question beside its answer: how difficult, where its evidence lies, which split it belongs to."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Any

from schemas.questions import Difficulty, Split, Third

SPLITS: tuple[Split, ...] = ("sft", "rl", "test")
OF_HUNDRED = {"sft": 25, "rl": 60, "test": 15}
"""So many of a hundred trees belong to each split, so that no two splits ask the same, however many questions there are:
about the shares that the splits have of the questions."""
MANY_ROWS = (3, 30)
EASY, MEDIUM = 2, 4
THIRDS: tuple[Third, ...] = ("early", "middle", "late")
WORD = re.compile(r"[^\W_]+(?:[.:/'-][^\W_]+)*")
GOES_ON = re.compile(r"[\w-]|\.\d")
LITTLE = frozenset("a an the of on in to at and or i my me did was were is it its".split())


def difficulty(expression: Any, evidence: int) -> Difficulty:
    """From the query (joins, subqueries, windows, groups, conditions) and the rows of evidence.

    Each query below the first, each join and each window counts two, each grouping and each condition beyond two counts
    one; more than 3 rows of evidence count one, more than 30 two. Up to 2 is easy, up to 4 medium.
    """
    kinds: Iterator[Any] = map(type, expression.walk())
    counts = Counter(map(part_of, kinds))
    steps = 2 * (counts["query"] - 1 + counts["join"]) + counts["group"] + max(0, counts["condition"] - 2)
    steps += sum(evidence > rows for rows in MANY_ROWS)
    return "easy" if steps <= EASY else "medium" if steps <= MEDIUM else "hard"


@cache
def part_of(kind: Any) -> str:
    """What a node of this kind counts as; empty: nothing."""
    from sqlglot import exp

    parts = {
        "query": (exp.Select,),
        "join": (exp.Join, exp.Window),
        "group": (exp.Group,),
        "condition": (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.ILike),
    }
    return next((part for part, kinds in parts.items() if issubclass(kind, kinds)), "")


def position(evidence: list[int], events: int) -> Third | None:
    """
    >>> position([1, 2, 80], 90), position([], 90)
    ('early', None)
    """
    if not evidence:
        return None
    return THIRDS[min(2, 3 * sorted(evidence)[len(evidence) // 2] // max(1, events))]


def split_of(tree: str) -> Split:
    """The one split in which this may be asked."""
    digest = int.from_bytes(hashlib.sha256(tree.encode()).digest()[:4], "big") % 100
    return next(split for split, upto in zip(SPLITS, accumulate(OF_HUNDRED.values()), strict=True) if digest < upto)


def words_of(question: str) -> tuple[str, ...]:
    """The words that tell a question from others, in their order: without case, signs and little words.

    >>> words_of("How much did I pay on May 3, 2024?")
    ('how', 'much', 'pay', 'may', '3', '2024')
    """
    return tuple(word for word in WORD.findall(question.lower()) if word not in LITTLE)


def bag(question: str) -> frozenset[str]:
    return frozenset(words_of(question))


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Near-duplicates: of all their words more than nine in ten are in both."""
    return 10 * len(one & other) > 9 * len(one | other)


def gives_away(question: str, answer: str) -> bool:
    """Whether the answer stands in the question, as words of their own. Yes, no and none may: they are offered there.

    >>> gives_away("How many clicks on May 2, 2024?", "2"), gives_away("Which brand, or none?", "none")
    (True, False)
    """
    parts = [part.strip().lower() for part in answer.split(";")]
    if {"yes", "no", "none"}.issuperset(parts):
        return False
    text = question.lower()
    return all(stands_in(part, text) for part in parts if part)


def stands_in(part: str, text: str) -> bool:
    """Whether it is there as words of its own: no letter or digit goes on before or after it.

    >>> stands_in("8 in", "pan, 8 in"), stands_in("8 in", "pan, 18 in"), stands_in("1", "1.5 in")
    (True, False, False)
    """
    place = text.find(part)
    while place >= 0:
        before, after = text[:place][-1:], text[place + len(part) :][:2]
        if not (before.isalnum() or (before in "-_." and before)) and not GOES_ON.match(after):
            return True
        place = text.find(part, place + 1)
    return False
