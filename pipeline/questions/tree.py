"""What a question asks, as a small tree: events picked by conditions, and what is to be found out about them.

One tree has three readings, written apart from each other: `sql` (what a database runs), `answers` (plain Python, the
second opinion) and `phrase` (English). A tree is kept with its question as JSON, so that all three can be held
against each other again.
"""

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import chain
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter

from shopwright.schemas.record import Part
from shopwright.schemas.samples import Action

# What can be asked of an event: a column, or the day, the weekday or the hour of its timestamp.
Column = Literal[
    "timestamp", "day", "weekday", "hour", "asin", "product_name", "brand", "color", "product_types", "price",
    "search_query",
]  # fmt: skip
Weekday = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "weekend"]


class Mention(Part):
    """A product in the shopper's own words: exactly one product of the trajectory is like this."""

    brand: str | None
    parts: tuple[str, ...]
    """Texts that its name holds, in lower case: first what it is ("hanging mirror") where no category says it, then what tells it apart."""
    category: str | None = None
    color: str | None = None


class Pick(Part):
    """The events that meet every condition that is given."""

    action: Action | None = None
    brand: str | None = None
    color: str | None = None
    category: str | None = None
    product: Mention | None = None
    query: str | None = None
    """The search is exactly this."""
    word: str | None = None
    """The search has this word."""
    at_least: Decimal | None = None
    at_most: Decimal | None = None
    first_day: date | None = None
    last_day: date | None = None
    """Inclusive, as is the first."""
    weekday: Weekday | None = None
    hours: tuple[int, int] | None = None
    """From the beginning of the first hour to the beginning of the second."""
    ever: Action | None = None
    """The same product has such an event too, at any time."""
    never: Action | None = None
    """The same product has no such event at any time."""


class Moment(Part):
    """The time of the n-th event picked, from 1; from the end if negative."""

    of: Pick
    n: int = 1


class Count(Part):
    """How many events, or how many different values among them."""

    node: Literal["count"] = "count"
    of: Pick
    what: Column | None = None


class Fold(Part):
    """One figure of the prices: their sum (0 without any), average, smallest, largest, or the span between these."""

    node: Literal["fold"] = "fold"
    of: Pick
    how: Literal["sum", "average", "smallest", "largest", "span"]


class Nth(Part):
    """A column of the n-th event picked; from the end if negative."""

    node: Literal["nth"] = "nth"
    of: Pick
    n: int
    what: Column


class Extreme(Part):
    """A column of the cheapest or dearest event; of equals the earliest."""

    node: Literal["extreme"] = "extreme"
    of: Pick
    how: Literal["cheapest", "dearest"]
    what: Column


class Top(Part):
    """The groups with the most events (or the largest sum of prices), from the `rank`-th on, `k` of them.

    Of equals, the one whose first event came earlier.
    """

    node: Literal["top"] = "top"
    of: Pick
    by: Column
    measure: Literal["events", "spend"] = "events"
    rank: int = 1
    k: int = 1


class Share(Part):
    """Percent of the events (or of their different products) in `of` that meet `part` too; one decimal."""

    node: Literal["share"] = "share"
    of: Pick
    part: Pick
    what: Literal["events", "asin"] = "events"


class Ratio(Part):
    """Events of one kind for each of the other; two decimals; none if there are none of the other."""

    node: Literal["ratio"] = "ratio"
    of: Pick
    to: Pick


class Names(Part):
    """The set of different values."""

    node: Literal["names"] = "names"
    of: Pick
    what: Column


class Listed(Part):
    """A column of the first `n` events, in their order; of the last `n` (still in order of time) if negative."""

    node: Literal["listed"] = "listed"
    of: Pick
    what: Column
    n: int


class Sets(Part):
    """Different values of `of` that are not (`minus`), or that are also (`both`), values of `other`: the set, or how many."""

    node: Literal["sets"] = "sets"
    of: Pick
    other: Pick
    what: Column
    how: Literal["minus", "both"]
    counted: bool = False


class Often(Part):
    """Values that at least `n` events (or events on at least `n` days) have: the set, or how many."""

    node: Literal["often"] = "often"
    of: Pick
    by: Column
    n: int
    days: bool = False
    counted: bool = False


Figure = Annotated[Count | Fold, Field(discriminator="node")]


class Difference(Part):
    """One figure less another; none if either is none."""

    node: Literal["difference"] = "difference"
    of: Figure
    less: Figure


class Wait(Part):
    """The time from one moment to another."""

    node: Literal["wait"] = "wait"
    start: Moment
    end: Moment


class Amid(Part):
    """How many picked events (or different values of them) lie strictly between two moments."""

    node: Literal["amid"] = "amid"
    of: Pick
    start: Moment
    end: Moment
    what: Column | None = None


class Beside(Part):
    """A column of the first picked event after a moment, or of the last one before it."""

    node: Literal["beside"] = "beside"
    of: Pick
    moment: Moment
    side: Literal["after", "before"]
    what: Column


class Directly(Part):
    """How many picked events have an event of this action as the very next event of the trajectory."""

    node: Literal["directly"] = "directly"
    of: Pick
    action: Action


class Switches(Part):
    """How often a value differs from that of the picked event before it; events without a value are passed over."""

    node: Literal["switches"] = "switches"
    of: Pick
    what: Column


class Pause(Part):
    """The longest time between one picked event and the next: how long, or when it began (of equals the earliest)."""

    node: Literal["pause"] = "pause"
    of: Pick
    what: Literal["length", "start"]


class Sessions(Part):
    """Picked events fall into sessions: a new one begins after a pause of more than 30 minutes.

    `count` of them; `events` in the one with the most; `start` of the one with the most (of equals the earliest);
    `length` from first to last event of the longest.
    """

    node: Literal["sessions"] = "sessions"
    of: Pick
    what: Literal["count", "events", "start", "length"]


class Streak(Part):
    """The most days in a row that each have a picked event; 0 without any."""

    node: Literal["streak"] = "streak"
    of: Pick


class Running(Part):
    """Of the picked event whose price takes the running total of prices to `amount` or above: a column."""

    node: Literal["running"] = "running"
    of: Pick
    amount: Decimal
    what: Column


class SumOf(Part):
    """The prices of the first `n` picked events together; none if there are fewer."""

    node: Literal["sum_of"] = "sum_of"
    of: Pick
    n: int


class Journey(Part):
    """Of the products in `of` that were bought: the time from their first event of `since` to their first purchase.

    The `longest` or `shortest` of these times, or the name of the product that has it (of equals, the one bought first).
    """

    node: Literal["journey"] = "journey"
    of: Pick
    """Conditions on the product; of the purchase, where they are on its time."""
    since: Literal["click", "add to Cart"]
    how: Literal["longest", "shortest"]
    what: Literal["length", "product_name"]


class Whether(Part):
    """For each pick, in this order: is there such an event?"""

    node: Literal["whether"] = "whether"
    picks: tuple[Pick, ...]


Tree = Annotated[
    Count | Fold | Nth | Extreme | Top | Share | Ratio | Names | Listed | Sets | Often | Difference | Wait | Amid | Beside
    | Directly | Switches | Pause | Sessions | Streak | Running | SumOf | Journey | Whether,
    Field(discriminator="node"),
]  # fmt: skip

# Seconds without an event after which a new session begins.
GAP = 30 * 60


@cache
def tree_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Tree)


def tree_to_json(tree: Any) -> str:
    """A tree as text: what is not given is left out, so that equal trees are equal texts.

    >>> tree_to_json(Count(of=Pick(action="click", brand="Brooks")))
    '{"node":"count","of":{"action":"click","brand":"Brooks"}}'
    """
    return json.dumps(strip_tree_defaults(tree), ensure_ascii=False, separators=(",", ":"), default=str)


def strip_tree_defaults(value: Any) -> Any:
    kind: Any = type(value)
    if kind is tuple:
        return [strip_tree_defaults(each) for each in value]
    if not is_part_kind(kind):
        return value
    held, found = value.__dict__, {}
    for name, default in list_node_fields(kind):
        each = held[name]
        if each is not default and each != default:
            found[name] = strip_tree_defaults(each)
    return found


@cache
def list_node_fields(kind: type[Part]) -> list[tuple[str, Any]]:
    """The fields and their defaults; a node's name is always told."""
    return [(name, None if name == "node" else info.default) for name, info in kind.model_fields.items()]


def tree_from_json(text: str) -> Any:
    """The tree of a text. Raises ValueError for a text that is no tree."""
    return tree_adapter().validate_json(text)


def list_tree_picks(tree: Any) -> list[Pick]:
    """Every pick in a tree.

    >>> len(list_tree_picks(Wait(start=Moment(of=Pick()), end=Moment(of=Pick()))))
    2
    """
    if type(tree) is Pick:
        return [tree]
    kind: Any = type(tree)
    parts = tree if kind is tuple else [getattr(tree, name) for name in list_inner_fields(kind)]
    return list(chain.from_iterable(map(list_tree_picks, parts)))


def map_tree_picks(tree: Any, change: Callable[[Pick], Pick]) -> Any:
    """The tree with every pick in it changed so.

    >>> tree_to_json(map_tree_picks(Count(of=Pick(brand="Brooks")), lambda pick: pick.model_copy(update={"brand": "Nike"})))
    '{"node":"count","of":{"brand":"Nike"}}'
    """
    kind: Any = type(tree)
    if kind is Pick:
        return change(tree)
    if kind is tuple:
        return tuple(map_tree_picks(part, change) for part in tree)
    inner = list_inner_fields(kind)
    return (
        tree.model_copy(update={name: map_tree_picks(getattr(tree, name), change) for name in inner}) if inner else tree
    )


@cache
def is_part_kind(kind: type) -> bool:
    """Asked of a class once: to ask each value takes the longest of all that is done with a tree."""
    return issubclass(kind, Part)


@cache
def list_inner_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a node in which other parts of the tree stand; those of a product's words are none."""
    if not is_part_kind(kind) or kind is Mention:
        return ()
    return tuple(name for name, info in kind.model_fields.items() if holds_parts(info.annotation))


def holds_parts(annotation: Any) -> bool:
    return any(map(holds_parts, get_args(annotation))) or (isinstance(annotation, type) and is_part_kind(annotation))
