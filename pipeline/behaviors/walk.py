"""A session walked through the shop's pages: every event of the log at its time, and the moves between that pages ask for.

    for move in walked(session, shop, customer, random):
        move.html, move.action, move.reason, move.facts

Events are the log's: the same searches, opened products, carts and purchases. Between them the shopper goes back to the results,
turns a page, refines them, reads more of a product, picks its options or looks into the cart. Why it does so is computed from what
it has seen by then (`pipeline.behaviors.reasons`), so a reason is always true.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from pipeline.behaviors.reasons import Facts, Seen, leaving, opening, searching, worded
from pipeline.behaviors.sessions import CART, CLICK, PURCHASE, SEARCH, Act, Session
from pipeline.render import pages
from pipeline.render.pages import PAGE, SEARCH_INPUT, Deed, Page, html
from pipeline.shop.browser import QUERY_LETTERS, UP_TO, Browser, Day
from pipeline.shop.stock import EPOCH, Stock
from pipeline.shop.store import Store
from pipeline.shop.tools import Finder
from schemas.behaviors import Outcome, Reason
from schemas.shop import Persona

TURNS = 2
"""Pages of results that anybody looks through; what stands further down is reached by a refinement, or ranked higher for who opens it."""
REFINES, READS = 0.35, 0.3
"""How often results are refined where that helps, and more is read of what was opened."""
WAYS_BACK = 8
UNTIMED = datetime.min
BEFORE_LEAVING = timedelta(seconds=20)
Bullets = Callable[[int], Sequence[str]]


class Lost(Exception):
    """An event that no way through the pages leads to; why."""


@dataclass
class Move:
    """A page, and what is done there."""

    page: Page
    action: dict[str, str]
    reason: Reason
    facts: Facts
    row: int | None = None
    """The event's, where it is one."""
    at: datetime = UNTIMED

    @property
    def html(self) -> str:
        return html(self.page)


@dataclass(frozen=True)
class Shown:
    """Search as it ranks for one customer: what it opens after a search stands on the first pages.

    The engine's own order, with what stands further down put among the first by a number made from its id.
    """

    finder: Finder
    store: Store
    opened: Mapping[str, Sequence[int]]
    """By query: rows of the products that are opened after it."""

    def find(self, text: str, *, limit: int, **limits: Any) -> np.ndarray:
        found = self.finder.find(text, limit=limit, **limits)
        own: list[int] = found.tolist()
        near = set(own[: PAGE * TURNS])
        for row in dict.fromkeys(self.opened.get(text, ())):
            if row not in near:
                own = [each for each in own if each != row]
                own.insert(crc32(str(self.store.ids[row]).encode()) % PAGE, row)
        return np.array(own[:limit], dtype=np.int64)

    def rank(self, text: str, rows: np.ndarray) -> np.ndarray:
        return self.finder.rank(text, rows)


@dataclass
class Walk:
    """One session on its way."""

    session: Session
    store: Store
    browser: Browser
    person: Persona
    random: Random
    moves: list[Move] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = Seen(self.person.budget)

    def go(self) -> Outcome:
        """To the end. Raises Lost."""
        outcome: Outcome = "gave up"
        for errand in self.session.errands:
            self.seen.begin()
            for place, act in enumerate(errand):
                self.act(act, errand[place + 1 :])
                if act.kind == CART and outcome != "bought":
                    outcome = "left in the cart"
                elif act.kind == PURCHASE:
                    outcome = "bought"
        if self.session.acts[-1].kind != PURCHASE:
            things = (
                (act.product, self.session.variants[act.row]) for act in self.session.errands[-1] if act.kind == CART
            )
            kept = next((thing for thing in things if thing in self.browser.lines), None)
            self.note({"type": "terminate"}, "decides later" if kept else "gives up", self.seen.ending(kept))
        self.clock()
        return outcome

    def act(self, act: Act, rest: Sequence[Act]) -> None:
        """An event of the log, with the moves that lead to it."""
        if act.kind == SEARCH:
            self.search(act, rest)
        elif act.kind == CLICK:
            self.open(act, rest)
        elif act.kind == CART:
            self.put(act)
        else:
            self.buy(act)

    # Events

    def search(self, act: Act, rest: Sequence[Act]) -> None:
        reason, facts = searching(self.seen, act.query, last=not any(each.kind == SEARCH for each in rest))
        action = {"type": "type_and_submit", "name": SEARCH_INPUT, "text": act.query}
        self.note(action, reason, facts, act)
        self.done(self.browser.submit(SEARCH_INPUT, act.query))
        self.seen.search(act.query, self.browser)

    def open(self, act: Act, rest: Sequence[Act]) -> None:
        row = self.row_of(act)
        self.to_results(row)
        self.to_page_with(row)
        again = act.product in self.seen.opened
        place = self.browser.view.rows.index(row) + 1
        if again:
            self.press(("open", str(place)), "looks again", self.seen.listed(row, self.browser), act)
        else:
            facts = opening(self.seen, self.browser, row, self.person, self.random)
            self.press(("open", str(place)), "opens", facts, act)
        self.seen.look(act, self.browser, more=[each for each in rest if each.kind in (CLICK, CART)])
        if not again and self.random.random() < READS:
            self.read()

    def put(self, act: Act) -> None:
        view = self.browser.view
        if view.kind != "product" or view.row != self.row_of(act):
            raise Lost("something put in the cart from another page")
        self.choose(self.session.variants[act.row])
        facts = self.seen.product(self.browser)
        self.press(("add",), "put in the cart", facts, act)
        self.seen.put((act.product, self.session.variants[act.row]), facts)

    def buy(self, act: Act) -> None:
        thing = act.product, self.session.variants[act.row]
        if thing not in self.browser.lines:
            raise Lost("something bought that the cart does not hold any more")
        facts = self.seen.line(self.browser.lines[thing])
        if self.browser.view.kind != "cart":
            self.press(("view cart",), "look into the cart", facts if thing in self.seen.carted else Facts())
        self.press(("buy line", *thing), "buy", facts, act)
        self.seen.bought.add(act.product)

    # Moves

    def to_results(self, row: int) -> None:
        """Back to the results of the last search."""
        for _ in range(WAYS_BACK):
            view = self.browser.view
            if view.kind == "results" and row in view.found:
                return
            if view.kind == "home":
                break
            reason, facts = self.why_back()
            self.press(("back",), reason, facts)
        raise Lost("a product opened that the search before it does not show")

    def why_back(self) -> tuple[Reason, Facts]:
        kind = self.browser.view.kind
        if kind == "product":
            return leaving(self.seen, self.browser, self.random)
        return (
            ("go on", self.seen.place(kind)) if kind in ("cart", "bought") else ("read enough", self.seen.place(kind))
        )

    def to_page_with(self, row: int) -> None:
        """To the page of results that shows it."""
        if row not in self.browser.view.rows:
            self.refine("", "widen again")
        if not self.on_page(row):
            self.try_refining(row)
        while not self.on_page(row):
            view = self.browser.view
            wanted = view.rows.index(row) // PAGE + 1
            number = view.number + (1 if wanted > view.number else -1)
            reason: Reason = "next page" if wanted > view.number else "page before"
            self.press(("turn", str(number)), reason, self.seen.results(self.browser))

    def on_page(self, row: int) -> bool:
        view = self.browser.view
        return row in view.rows[(view.number - 1) * PAGE : view.number * PAGE]

    def try_refining(self, row: int) -> None:
        """Sees fewer results, where that brings it to the first page; somebody who looks at prices by price."""
        ways = [part for part in self.browser.page.deeds.values() if part[0] == "refine" and part[1]]
        if self.random.random() < self.person.price_sensitivity:
            ways.sort(key=lambda deed: not deed[1].startswith(UP_TO))
        for deed in ways:
            rows = self.browser.refined(self.browser.view, deed[1])
            if row in rows[:PAGE] and self.random.random() < REFINES:
                self.refine(deed[1], "narrow down")
                return

    def refine(self, key: str, reason: Reason) -> None:
        self.press(("refine", key), reason, self.seen.refined(key or self.browser.view.refined))

    def read(self) -> None:
        """More of a product, where there is more, and back to its page."""
        item = self.store.item(self.browser.view.row)
        empty = {"description": not item.description, "reviews": not item.review_count}
        kind = self.random.choice([tab for tab in pages.TABS if not empty.get(tab)])
        self.press(("tab", kind), "read more", Facts(self.seen.product(self.browser), tab=kind))
        self.press(("back",), "read enough", Facts(self.seen.place(kind), title=self.seen.title))

    def choose(self, variant: str) -> None:
        """The options of this variant that are still to be chosen, as the page has them."""
        option = self.store.option_of(variant)
        for choice in option.choices if option else ():
            name, value = choice.name, choice.value
            if ("choose", name, value) in self.browser.page.deeds.values() and self.is_open(name, value):
                facts = Facts(self.seen.product(self.browser), option=worded(name), value=worded(value))
                self.press(("choose", name, value), "choose", facts)

    def is_open(self, name: str, value: str) -> bool:
        """Whether there is something to choose."""
        deeds = self.browser.page.deeds.values()
        several = sum(deed[:2] == ("choose", name) for deed in deeds) > 1
        return several and self.browser.view.chosen.get(name) != value

    # What is kept

    def press(self, deed: Deed, reason: Reason, facts: Facts, act: Act | None = None) -> None:
        """A click on what does this. Raises Lost where the page has no such thing."""
        name = next((name for name, found in self.browser.page.deeds.items() if found == deed), None)
        if name is None:
            raise Lost(f"a {self.browser.page.kind} page without what is clicked next")
        self.note({"type": "click", "name": name}, reason, facts, act)
        self.done(self.browser.press(name))

    def note(self, action: dict[str, str], reason: Reason, facts: Facts, act: Act | None = None) -> None:
        self.seen.page(self.browser)
        row, at = (act.row, act.at) if act else (None, UNTIMED)
        self.moves.append(Move(self.browser.page, action, reason, facts, row, at))

    def done(self, fault: str) -> None:
        if fault:
            raise Lost(f"a click that does nothing: {fault}" if "'" not in fault else "a click that does nothing")

    def row_of(self, act: Act) -> int:
        row = self.store.row(act.product)
        if row is None:
            raise Lost("a product that the catalog does not have")
        return row

    def clock(self) -> None:
        """Times of the moves that the log does not have: evenly between the events around them."""
        last = self.session.acts[-1].at
        after = min(self.session.until or last + 2 * BEFORE_LEAVING, last + 2 * BEFORE_LEAVING)
        begin = 0
        before = self.session.acts[0].at - BEFORE_LEAVING
        for place, move in enumerate([*self.moves, None]):
            if move is not None and move.at == UNTIMED:
                continue
            ends = move.at if move else after
            between = self.moves[begin:place]
            for number, each in enumerate(between, 1):
                part = (ends - before) * number / (len(between) + 1)
                each.at = before + timedelta(milliseconds=part // timedelta(milliseconds=1))
            begin, before = place + 1, ends


class Shop(Protocol):
    """`pipeline.shopping.play.Shop`, say."""

    @property
    def store(self) -> Store: ...
    @property
    def finder(self) -> Finder: ...
    @property
    def bullets(self) -> Bullets: ...


def start(session: Session, shop: Shop, person: Persona, day: Day, random: Random) -> Walk:
    """The walk through one session, on its first page."""
    return Walk(session, shop.store, visit(session, shop, day), person, random)


def visit(session: Session, shop: Shop, day: Day) -> Browser:
    """The shop as the customer meets it, with its cart."""
    shown = Shown(shop.finder, shop.store, opened(session, shop.store))
    return Browser(shop.store, shown, bullets=shop.bullets, header=True, day=day, cart=session.cart)


def day_of(session: Session, store: Store, stock: Stock) -> Day:
    """Prices of that day; what the log puts into the cart or buys, and what lies there, could be bought."""
    today = (session.acts[0].at.date() - EPOCH).days
    taken = [(act.product, session.variants[act.row]) for act in session.acts if act.kind in (CART, PURCHASE)]
    things = [*taken, *session.cart]
    rows = (store.row(product) for product, _ in things)
    there = frozenset(variant for _, variant in things)
    return Day(partial(price_on, stock, today), there, frozenset(row for row in rows if row is not None))


def price_on(stock: Stock, day: int, row: int) -> int:
    """In cents, on that day since 1970."""
    if stock.promoted[row]:
        for first, last, cents, _ in stock.promotions[row]:
            if first <= day <= last:
                return int(cents)
    return int(stock.cents[row])


def opened(session: Session, store: Store) -> dict[str, list[int]]:
    """What is opened after each search, until the next one."""
    found: dict[str, list[int]] = {}
    query = ""
    for act in session.acts:
        if act.kind == SEARCH:
            query = act.query.strip()[:QUERY_LETTERS]
        elif act.kind == CLICK and (row := store.row(act.product)) is not None:
            found.setdefault(query, []).append(row)
    return found
