"""A session walked through the shop's pages: every event of the log at its time, and the moves between that pages ask for.

    for move in walked(session, shop, customer, random):
        move.html, move.action, move.reason, move.facts

Events are the log's: the same searches, opened products, carts and purchases. Between them the shopper goes back to the results,
turns a page, refines them, reads more of a product, picks its options or looks into the cart. Why it does so is computed from what
it has seen by then (`shopwright.pipeline.behaviors.reasons`), so a reason is always true.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Protocol

from shopwright.pipeline.behaviors.reasons import (
    PageFacts,
    SessionMemory,
    clip_for_sentence,
    explain_leaving,
    explain_opening,
    explain_search,
)
from shopwright.pipeline.behaviors.sessions import CART, CLICK, PURCHASE, SEARCH, Act, Session
from shopwright.pipeline.render import pages
from shopwright.pipeline.render.pages import PAGE, SEARCH_INPUT, ClickEffect, Page, render_page_html
from shopwright.pipeline.shop.browser import UP_TO, Browser, Day
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.tools import Finder
from shopwright.pipeline.world.catalog_columns import EPOCH, CatalogColumns
from shopwright.schemas.behaviors import Outcome, Reason
from shopwright.schemas.shop import Persona

# How often results are refined where that helps, and more is read of what was opened.
REFINES, READS = 0.35, 0.3
WAYS_BACK = 8
UNTIMED = datetime.min
BEFORE_LEAVING = timedelta(seconds=20)
Bullets = Callable[[int], Sequence[str]]


class ReplayError(Exception):
    """An event that no way through the pages leads to; why."""


@dataclass
class Move:
    """A page, and what is done there."""

    page: Page
    action: dict[str, str]
    reason: Reason
    facts: PageFacts
    row: int | None = None
    """The event's, where it is one."""
    at: datetime = UNTIMED
    in_view: tuple[int, ...] = ()
    """Products that could be meant, by their rows: those of the page, of the results seen last, and those opened before."""

    @property
    def html(self) -> str:
        return render_page_html(self.page)


@dataclass
class SessionReplay:
    """One session on its way."""

    session: Session
    store: Store
    browser: Browser
    person: Persona
    random: Random
    moves: list[Move] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = SessionMemory(self.person.budget, self.session.acts)

    def go(self) -> Outcome:
        """To the end. Raises ReplayError."""
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
            self.note({"type": "terminate"}, *self.seen.ending(self.browser.lines))
        self.clock()
        return outcome

    def act(self, act: Act, rest: Sequence[Act]) -> None:
        """An event of the log, with the moves that lead to it."""
        if act.kind == SEARCH:
            self.search(act, rest)
        elif act.kind == CLICK:
            self.open(act)
        elif act.kind == CART:
            self.put(act)
        else:
            self.buy(act)

    # Events

    def search(self, act: Act, rest: Sequence[Act]) -> None:
        self.seen.ahead.pop(0)
        last = not any(each.kind == SEARCH for each in rest)
        reason, facts = explain_search(self.seen, act.query, self.browser, last=last)
        action = {"type": "type_and_submit", "name": SEARCH_INPUT, "text": act.query}
        self.note(action, reason, facts, act)
        self.require_success(self.browser.submit(SEARCH_INPUT, act.query))
        self.seen.search(act.query)

    def open(self, act: Act) -> None:
        row = self.row_of(act)
        self.to_results(row)
        self.to_page_with(row)
        self.seen.ahead.pop(0)
        again = act.product in self.seen.opened
        place = self.browser.view.rows.index(row) + 1
        if again:
            self.press(
                ("open", str(place)),
                "looks again",
                self.seen.again(act.product, self.seen.describe_listed(row, self.browser)),
                act,
            )
        else:
            facts = explain_opening(self.seen, self.browser, row, self.person, self.random)
            self.press(("open", str(place)), "opens", facts, act)
        self.seen.look(act, self.browser)
        if not again and self.random.random() < READS:
            self.read()

    def put(self, act: Act) -> None:
        view = self.browser.view
        if view.kind != "product" or view.row != self.row_of(act):
            raise ReplayError("something put in the cart from another page")
        self.seen.ahead.pop(0)
        self.choose(self.session.variants[act.row])
        facts = self.seen.product(self.browser)
        self.press(("add",), "put in the cart", facts, act)
        self.seen.carted[act.product, self.session.variants[act.row]] = facts
        self.seen.take(act)

    def buy(self, act: Act) -> None:
        thing = act.product, self.session.variants[act.row]
        if thing not in self.browser.lines:
            raise ReplayError("something bought that the cart does not hold any more")
        self.seen.ahead.pop(0)
        facts = self.seen.buying(thing, self.seen.line(self.browser.lines[thing], self.browser))
        if self.browser.view.kind != "cart":
            self.press(("view cart",), "look into the cart", facts if thing in self.seen.carted else PageFacts())
        self.press(("buy line", *thing), "buy", facts, act)
        self.seen.take(act)

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
        raise ReplayError("a product opened that the search before it does not show")

    def why_back(self) -> tuple[Reason, PageFacts]:
        kind = self.browser.view.kind
        if kind == "product":
            return explain_leaving(self.seen, self.browser, self.random)
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
            self.press(("turn", str(number)), reason, self.seen.results(self.browser, number))

    def on_page(self, row: int) -> bool:
        view = self.browser.view
        return row in view.rows[(view.number - 1) * PAGE : view.number * PAGE]

    def try_refining(self, row: int) -> None:
        """Sees fewer results, where that brings it to the first page; somebody who looks at prices by price."""
        ways = [part for part in self.browser.page.deeds.values() if part[0] == "refine" and part[1]]
        if self.random.random() < self.person.price_sensitivity:
            ways.sort(key=lambda deed: not deed[1].startswith(UP_TO))
        for deed in ways:
            rows = self.browser.refine(self.browser.view, deed[1])
            if row in rows[:PAGE] and self.random.random() < REFINES:
                self.refine(deed[1], "narrow down")
                return

    def refine(self, key: str, reason: Reason) -> None:
        self.press(
            ("refine", key), reason, self.seen.describe_refinement(key or self.browser.view.refined, self.browser)
        )

    def read(self) -> None:
        """More of a product, where there is more, and back to its page."""
        item = self.store.item(self.browser.view.row)
        empty = {"description": not item.description, "reviews": not item.review_count}
        kind = self.random.choice([tab for tab in pages.TABS if not empty.get(tab)])
        self.press(("tab", kind), "read more", PageFacts(self.seen.product(self.browser), tab=kind))
        self.press(
            ("back",), "read enough", PageFacts(self.seen.place(kind), title=self.seen.title, row=self.seen.last["row"])
        )

    def choose(self, variant: str) -> None:
        """The options of this variant that are still to be chosen, as the page has them."""
        option = self.store.option_of(variant)
        for choice in option.choices if option else ():
            name, value = choice.name, choice.value
            if ("choose", name, value) in self.browser.page.deeds.values() and self.is_open(name, value):
                facts = PageFacts(
                    self.seen.product(self.browser), option=clip_for_sentence(name), value=clip_for_sentence(value)
                )
                self.press(("choose", name, value), "choose", facts)

    def is_open(self, name: str, value: str) -> bool:
        """Whether there is something to choose."""
        deeds = self.browser.page.deeds.values()
        several = sum(deed[:2] == ("choose", name) for deed in deeds) > 1
        return several and self.browser.view.chosen.get(name) != value

    # What is kept

    def press(self, deed: ClickEffect, reason: Reason, facts: PageFacts, act: Act | None = None) -> None:
        """A click on what does this. Raises ReplayError where the page has no such thing."""
        name = next((name for name, found in self.browser.page.deeds.items() if found == deed), None)
        if name is None:
            raise ReplayError(f"a {self.browser.page.kind} page without what is clicked next")
        self.note({"type": "click", "name": name}, reason, facts, act)
        self.require_success(self.browser.press(name))

    def note(self, action: dict[str, str], reason: Reason, facts: PageFacts, act: Act | None = None) -> None:
        self.seen.page(self.browser)
        row, at = (act.row, act.at) if act else (None, UNTIMED)
        self.moves.append(Move(self.browser.page, action, reason, facts, row, at, self.list_rows_in_view(facts)))

    def list_rows_in_view(self, facts: PageFacts) -> tuple[int, ...]:
        """On a product's page that product alone, where no other is spoken of."""
        view = self.browser.view
        if view.kind in ("product", *pages.TABS) and facts["row"] == str(view.row) and not facts["other_row"]:
            return (view.row,)
        things = [*self.seen.opened, *(product for product, _ in self.browser.lines)]
        things += [product for product, _ in self.seen.carted]
        found = [row for row, _ in self.seen.listed_last]
        found += [row for product in things if (row := self.store.row(product)) is not None]
        return tuple(dict.fromkeys([*found, view.row] if view.row >= 0 else found))

    def require_success(self, fault: str) -> None:
        if fault:
            raise ReplayError(
                f"a click that does nothing: {fault}" if "'" not in fault else "a click that does nothing"
            )

    def row_of(self, act: Act) -> int:
        row = self.store.row(act.product)
        if row is None:
            raise ReplayError("a product that the catalog does not have")
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


class ReplayShop(Protocol):
    """`shopwright.pipeline.shopping.play.ShopResources`, say."""

    @property
    def store(self) -> Store: ...
    @property
    def finder(self) -> Finder: ...
    @property
    def bullets(self) -> Bullets: ...


def start_replay(session: Session, shop: ReplayShop, person: Persona, day: Day, random: Random) -> SessionReplay:
    """The walk through one session, on its first page."""
    return SessionReplay(session, shop.store, open_session_browser(session, shop, day), person, random)


def open_session_browser(session: Session, shop: ReplayShop, day: Day) -> Browser:
    """The shop as the customer meets it, with its cart."""
    return Browser(shop.store, shop.finder, bullets=shop.bullets, header=True, day=day, cart=session.cart)


def build_visit_day(session: Session, store: Store, stock: CatalogColumns) -> Day:
    """Prices of that day; what the log puts into the cart or buys, and what lies there, could be bought."""
    today = (session.acts[0].at.date() - EPOCH).days
    taken = [(act.product, session.variants[act.row]) for act in session.acts if act.kind in (CART, PURCHASE)]
    things = [*taken, *session.cart]
    rows = (store.row(product) for product, _ in things)
    there = frozenset(variant for _, variant in things)
    return Day(partial(price_on, stock, today), there, frozenset(row for row in rows if row is not None))


def price_on(stock: CatalogColumns, day: int, row: int) -> int:
    """In cents, on that day since 1970."""
    if stock.promoted[row]:
        for first, last, cents, _ in stock.promotions[row]:
            if first <= day <= last:
                return int(cents)
    return int(stock.cents[row])
