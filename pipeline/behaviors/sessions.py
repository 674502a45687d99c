"""A customer's log cut into sessions: one errand each, or all of a visit, with what lay in the cart when it began."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import chain
from typing import Any, Literal, NamedTuple

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.words import content_words
from shopwright.schemas.behaviors import Side

Cut = Literal["errand", "visit"]
SEARCH, CLICK, CART, PURCHASE = "search", "click", "add to Cart", "purchase"
# After so long without an action another visit begins.
APART = timedelta(minutes=30)
# Things that the shop keeps in a cart; the one that was put in first goes first.
CART_LINES = 40
# Of a hundred customers.
TEST = 10
COLUMNS = ["row_id", "timestamp", "action_type", "asin", "price", "search_query"]


class Act(NamedTuple):
    """An event of the log, as far as the shop's pages show it."""

    row: int
    at: datetime
    kind: str
    product: str
    """Its id; empty for a search."""
    cents: int
    query: str
    """Empty for all but a search."""


# A product and its variant, by id.
CartItem = tuple[str, str]


@dataclass(frozen=True)
class Session:
    """Some events that follow one another, and what was in the cart before them."""

    errands: tuple[tuple[Act, ...], ...]
    """What it came for, one after the other."""
    cart: tuple[CartItem, ...]
    """A thing stands there once for each piece, the oldest first."""
    variants: Mapping[int, str]
    """Which variant an event puts into the cart or buys, by its row."""
    until: datetime | None
    """When the log goes on after it."""

    @property
    def acts(self) -> list[Act]:
        return list(chain.from_iterable(self.errands))


def convert_log_events(events: Any) -> list[Act]:
    """The events of one trajectory, an Arrow table."""
    columns = [events[name].to_pylist() for name in COLUMNS if name != "price"]
    prices = decimal_to_cents(events["price"].combine_chunks()).tolist()
    rows = zip(*columns, prices, strict=True)
    return [Act(row, at, kind, asin or "", paid, query or "") for row, at, kind, asin, query, paid in rows]


@dataclass(frozen=True)
class Log:
    """All that a customer did."""

    acts: Sequence[Act]
    variants: Mapping[int, str]
    carts: Mapping[int, tuple[CartItem, ...]]
    """What lies in the cart before each event, by its row."""

    def session(self, errands: Sequence[tuple[Act, ...]]) -> Session:
        first, last = errands[0][0].row, errands[-1][-1].row
        until = self.acts[last + 1].at if last + 1 < len(self.acts) else None
        return Session(tuple(errands), self.carts[first], self.variants, until)


def build_log(acts: Sequence[Act], bought: Mapping[int, str], store: Store) -> Log:
    """`bought`: which variant a purchase is of, by its row."""
    variants = assign_variants(acts, bought, store)
    return Log(acts, variants, track_carts(acts, variants))


def cut_sessions(log: Log, cut: Cut) -> list[Session]:
    """All of a log."""
    return [log.session(errands) for errands in group_errands(log.acts, cut)]


def find_session(log: Log, rows: Sequence[int]) -> Session | None:
    """The one of these events, which follow one another; none where they do not, or are not of one visit."""
    if (
        not rows
        or list(rows) != list(range(rows[0], rows[0] + len(rows)))
        or not 0 <= rows[0] <= rows[-1] < len(log.acts)
    ):
        return None
    found = list(group_errands(log.acts[rows[0] : rows[-1] + 1], "visit"))
    return log.session(found[0]) if len(found) == 1 else None


def group_errands(acts: Sequence[Act], cut: Cut) -> Iterator[list[tuple[Act, ...]]]:
    """The errands of each session."""
    visit: list[tuple[Act, ...]] = []
    errand: list[Act] = []
    for act in acts:
        away = bool(errand) and act.at - errand[-1].at > APART
        before = next((each.query for each in reversed(errand) if each.kind == SEARCH), "")
        is_other_search = act.kind == SEARCH and not has_common_word(act.query, before)
        if errand and (away or is_other_search):
            visit.append(tuple(errand))
            errand = []
            if away or cut == "errand":
                yield visit
                visit = []
        errand.append(act)
    if errand:
        yield [*visit, tuple(errand)]


def has_common_word(one: str, other: str) -> bool:
    """Whether two searches have a word in common that is not a number.

    >>> has_common_word("cheap oak lamp", "lamps under 40"), has_common_word("cheap lamp 12 in", "cheap rug 12 in")
    (True, False)
    """
    return any(not word.isdigit() for word in set(content_words(one)) & set(content_words(other)))


def assign_variants(acts: Iterable[Act], bought: Mapping[int, str], store: Store) -> dict[int, str]:
    """What is bought is what was put in the cart first; of what is never bought, the variant that the title is about."""
    found = dict(bought)
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for act in acts:
        if act.kind == CART:
            waiting[act.product].append(act.row)
        elif act.kind == PURCHASE and act.row in bought and waiting[act.product]:
            found[waiting[act.product].popleft()] = bought[act.row]
        elif act.kind == PURCHASE and act.row not in bought:  # its order was rejected
            waiting[act.product].append(act.row)
    for product, rows in waiting.items():
        row = store.row(product)
        options = store.options(row) if row is not None else ()
        found |= dict.fromkeys(rows, next((option.id for option in options if option.is_title), ""))
    return found


def track_carts(acts: Sequence[Act], variants: Mapping[int, str]) -> dict[int, tuple[CartItem, ...]]:
    """What lies in the cart before each event, by its row."""
    found: dict[int, tuple[CartItem, ...]] = {}
    cart: tuple[CartItem, ...] = ()
    for act in acts:
        found[act.row] = cart
        if act.kind == CART:
            cart = tuple(trim_cart([*cart, (act.product, variants.get(act.row, ""))]))
        elif act.kind == PURCHASE:
            cart = remove_from_cart(cart, (act.product, variants.get(act.row, "")))
    return found


def remove_from_cart(cart: tuple[CartItem, ...], thing: CartItem) -> tuple[CartItem, ...]:
    """One piece less of it, the oldest.

    >>> remove_from_cart((("a", ""), ("b", ""), ("a", "")), ("a", "")), remove_from_cart((), ("a", ""))
    ((('b', ''), ('a', '')), ())
    """
    place = cart.index(thing) if thing in cart else len(cart)
    return cart[:place] + cart[place + 1 :]


def trim_cart(cart: list[CartItem]) -> list[CartItem]:
    """
    >>> len(trim_cart([(str(n), "") for n in range(60)])), trim_cart([("a", ""), ("a", "")])
    (40, [('a', ''), ('a', '')])
    """
    while len(set(cart)) > CART_LINES:
        oldest = cart[0]
        cart = [thing for thing in cart if thing != oldest]
    return cart


def map_purchases_to_variants(orders: Iterable[Mapping[str, Any]], acts: Sequence[Act]) -> dict[int, str]:
    """Which variant each purchase of a log is of, by its row; `orders` are that log's, with their rows and lines."""
    of = {act.row: act for act in acts if act.kind == PURCHASE}
    found: dict[int, str] = {}
    for order in orders:
        lines = {(line["product_id"], int(line["price"] * 100)): line["variant_id"] for line in order["lines"]}
        found |= {row: lines.get((of[row].product, of[row].cents), "") for row in order["rows"] if row in of}
    return found


def assign_customer_split(customer: str) -> Side:
    """Of all that a customer did.

    >>> assign_customer_split("persona-000001")
    'train'
    """
    return "test" if int(sha256(f"side/{customer}".encode()).hexdigest(), 16) % 100 < TEST else "train"
