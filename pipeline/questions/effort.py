"""How difficult a question is: what answering it takes, measured from its tree and its trajectory, and the label made of that."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.tree import Directly, Journey, Pick, Share, list_tree_picks
from shopwright.pipeline.questions.weak_answerers import ANSWERERS, shortcuts_to
from shopwright.pipeline.sandbox.sql import parse_select
from shopwright.pipeline.sandbox.sql_templates import once_per_template
from shopwright.schemas.questions import Difficulty, Effort

# Points for each step, and for each weak answerer that is wrong.
STEP, WRONG = 2, 10
# Points up to which a question is easy, and medium: about a third of the questions each, on other shops than `tests`
# look at.
EASY, MEDIUM = 43, 62
# The fields of a pick that are one condition each; those of a product are in `drop_each_condition`.
ALONE = (
    ("action",), ("brand",), ("color",), ("category",), ("query",), ("word",), ("at_least", "at_most"),
    ("first_day", "last_day"), ("weekday",), ("hours",),
)  # fmt: skip


def grade_difficulty(effort: Effort) -> Difficulty:
    """Of points: one for each doubling of the rows to be read and of those near them, two for each step, ten for each weak
    answerer that is wrong.

    >>> grade_difficulty(Effort(rows=1, near=7, steps=1, shortcuts=["ignores dates", "first matches", "skims", "skips the middle"]))
    'easy'
    """
    points = effort.rows.bit_length() + effort.near.bit_length() + STEP * effort.steps
    points += WRONG * (len(ANSWERERS) - len(effort.shortcuts))
    return "easy" if points <= EASY else "medium" if points <= MEDIUM else "hard"


def effort_of(tree: Any, log: Log, value: Any, sql: str) -> Effort:
    """`value`: the right answer; `sql`: the tree's."""
    rows, near = find_rows_to_read(tree, log)
    shortcuts = shortcuts_to(value, tree, log, sorted(rows))
    return Effort(rows=len(rows), near=len(near - rows), steps=count_query_steps(sql), shortcuts=shortcuts)


@once_per_template
def count_query_steps(sql: str) -> int:
    counts = Counter(map(classify_sql_node, map(type, parse_select(sql).walk())))
    return counts["query"] - 1 + counts["join"] + counts["group"] + max(0, counts["comparison"] - 1)


@cache
def classify_sql_node(kind: Any) -> str:
    """What a node of this kind counts as; empty: nothing."""
    from sqlglot import exp

    parts = {
        "query": (exp.Select,),
        "join": (exp.Join, exp.Window),
        "group": (exp.Group,),
        "comparison": (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.ILike),
    }
    return next((part for part, kinds in parts.items() if issubclass(kind, kinds)), "")


def find_rows_to_read(tree: Any, log: Log) -> tuple[set[int], set[int]]:
    """The rows that meet the conditions of any pick, and those that miss one condition alone of several.

    `ever` and `never` are no conditions on a row: the rows of their action have to be looked at too.
    """
    if isinstance(tree, Directly):
        return {each.row for each in log.events}, set()  # neighbours count, whatever they are
    rows: set[int] = set()
    near: set[int] = set()
    for pick in list_tree_picks(tree):
        for action in filter(None, (pick.ever, pick.never)):
            rows |= {each.row for each in log.by_action.get(action, [])}
    for pick in picks_to_read(tree):
        own = pick.model_copy(update={"ever": None, "never": None})
        rows |= pick_rows(log, own)
        others = list(drop_each_condition(own))
        for other in others if len(others) > 1 else ():
            near |= pick_rows(log, other)
    return rows, near


def picks_to_read(tree: Any) -> list[Pick]:
    match tree:
        case Share():  # the part lies inside the whole
            return [tree.of]
        case Journey():
            return [tree.of.model_copy(update={"action": "purchase"}), Pick(action=tree.since)]
    return list_tree_picks(tree)


def pick_rows(log: Log, pick: Pick) -> set[int]:
    return {each.row for each in log.pick(pick)}


def drop_each_condition(pick: Pick) -> Iterator[Pick]:
    """The same pick with one condition less, for each condition."""
    for names in ALONE:
        if any(getattr(pick, name) is not None for name in names):
            yield pick.model_copy(update=dict.fromkeys(names))
    product = pick.product
    if product is None:
        return
    for name in ("brand", "category", "color"):
        if getattr(product, name) is not None:
            yield pick.model_copy(update={"product": product.model_copy(update={name: None})})
    for part in product.parts:
        left = tuple(each for each in product.parts if each != part)
        yield pick.model_copy(update={"product": product.model_copy(update={"parts": left})})
