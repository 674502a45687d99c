"""Which names an answer's code needs, and whether they stand in the question or in an output by now."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.rollouts.pandas_code import quote_python
from shopwright.pipeline.rollouts.thoughts import Remark

QUOTED_FACTS = ("value", "words", "detail")
"""Slots whose facts are texts of the question or the table."""


class Seen:
    """All texts that an agent has seen by now.

    >>> seen = Seen("Which Brooks shoes did I buy?")
    >>> "brooks" in seen, "shoe" in seen
    (True, False)
    """

    def __init__(self, question: str) -> None:
        self.text = fold_text(question)

    def add(self, output: str) -> None:
        self.text += "\n" + fold_text(output)

    def __contains__(self, value: object) -> bool:
        return stands_alone(fold_text(str(value)), self.text)

    def knows_facts(self, remark: Remark) -> bool:
        """Whether the names in a remark were seen."""
        facts = (remark.slots[name] for name in QUOTED_FACTS if name in remark.slots)
        return all(fact in self for fact in facts)


def fold_text(text: str) -> str:
    return " ".join(text.casefold().split())


def stands_alone(part: str, text: str) -> bool:
    """Whether it is there as words of its own."""
    begin, end = (r"(?<!\w)" if part[:1].isalnum() else ""), (r"(?!\w)" if part[-1:].isalnum() else "")
    return re.search(begin + re.escape(part) + end, text) is not None


@dataclass(frozen=True)
class UnseenName:
    """A value that the table writes otherwise than the question, and code that shows how."""

    column: str
    value: str
    lines: tuple[str, ...]


def list_unseen_names(tree: Any, seen: Seen) -> Iterator[UnseenName]:
    """One after the other, so that what an earlier look shows is not looked up again."""
    for pick in t.list_tree_picks(tree):
        for column, value, narrow in list_names(pick):
            if value not in seen:
                yield UnseenName(column, value, write_name_list(column, narrow, seen))


def list_names(pick: t.Pick) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The names in a pick: their column, the value, and what else is known of the rows that have it."""
    product = pick.product
    facts = {"brand": pick.brand, "color": pick.color, "product_types": pick.category, "search_query": pick.query}
    for column, value in facts.items():
        if value is not None:
            yield column, value, {"action_type": pick.action} if pick.action else {}
    if pick.word is not None:
        yield "search_query", pick.word, {}
    if product is not None:
        held = {"brand": product.brand, "color": product.color, "product_types": product.category}
        known = {column: value for column, value in held.items() if value is not None}
        for column, value in known.items():
            yield column, value, {}
        for part in product.parts:
            yield "product_name", part, known


def write_name_list(column: str, narrow: dict[str, str], seen: Seen) -> tuple[str, ...]:
    """Code that prints the different values of a column, among the rows for which more is known."""
    tests = [f"(df[{quote_python(name)}] == {quote_python(value)})" for name, value in narrow.items() if value in seen]
    tests += [
        f"(df[{quote_python(name)}] == {quote_python(value)})"
        for name, value in narrow.items()
        if name == "action_type"
    ]
    rows = f"df[{' & '.join(tests)}]" if len(tests) > 1 else f"df[{tests[0][1:-1]}]" if tests else "df"
    return (f"sorted({rows}[{quote_python(column)}].dropna().unique())",)
