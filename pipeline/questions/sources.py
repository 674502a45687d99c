"""What a question can be answered from: the table of events always, the lines of the text where they state all that it asks for."""

from itertools import chain
from typing import Any

from shopwright.pipeline.questions.tree import list_tree_picks
from shopwright.schemas.questions import Source
from shopwright.schemas.record import Part

# The one column that no line of the text tells: `render.trajectory` writes what the paper fixes. The number of a row is
# the place of its line.
UNSTATED = "product_types"
BOTH: list[Source] = ["text", "table"]
TABLE: list[Source] = ["table"]


def sources_of(tree: Any) -> list[Source]:
    """
    >>> from shopwright.pipeline.questions.tree import Count, Pick
    >>> sources_of(Count(of=Pick(brand="Brooks"))), sources_of(Count(of=Pick(category="Shoes")))
    (['text', 'table'], ['table'])
    """
    picks = list_tree_picks(tree)
    named = any(pick.category or (pick.product and pick.product.category) for pick in picks)
    return TABLE if named or UNSTATED in list_tree_columns(tree) else BOTH


def list_tree_columns(tree: Any) -> set[str]:
    """The columns that a tree reads beside those of its picks."""
    if isinstance(tree, tuple):
        return set().union(*map(list_tree_columns, tree))
    if not isinstance(tree, Part):
        return set()
    parts = [getattr(tree, name) for name in type(tree).model_fields]
    own = {getattr(tree, name) for name in ("what", "by") if hasattr(tree, name)}
    return own.union(*map(list_tree_columns, parts))


def sources_of_query(query: Any) -> list[Source]:
    """
    >>> from shopwright.pipeline.sandbox.sql import parse_select
    >>> sources_of_query(parse_select("SELECT Product_Types FROM events LIMIT 1"))
    ['table']
    """
    from sqlglot import exp

    joins = [join.args.get("using") or () for join in query.find_all(exp.Join)]  # USING (...) holds bare identifiers
    columns = [*query.find_all(exp.Column), *chain.from_iterable(joins)]
    return TABLE if UNSTATED in [each.name.lower() for each in columns] else BOTH
