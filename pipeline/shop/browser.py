"""The shop as one visitor walks through it, page by page: `search[words]` and `click[thing]`, told when nothing happened.

    browser = Browser(store, finder)
    browser.act("search[gray fleece blanket]")          # "": it worked
    browser.act("click[gold-plated]")                   # "There is no button 'gold-plated' on this page."
    text(browser.page), clickables(browser.page)

A search without words shows what is popular. Price and stock are the chosen variant's. Of the store nothing is copied and
nothing changed, and each visit has a browser of its own.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from shopwright.pipeline.render import pages
from shopwright.pipeline.render.pages import (
    SEARCH_INPUT,
    Availability,
    CartRow,
    ClickEffect,
    OptionAxis,
    Page,
    PageKind,
    Refinement,
    ResultEntry,
    normalize_click_words,
    sanitize_text,
)
from shopwright.pipeline.shop.store import Item, Option, Store
from shopwright.pipeline.shop.tools import MOST_PIECES, Finder

# Of a search, the best ones; as WebShop.
RESULTS = 150
# Of a search; what is beyond is cut off.
QUERY_LETTERS = 400
# Of an action that a message repeats.
MESSAGE_LETTERS = 80
# Stars.
WELL_RATED = 4
UP_TO = "price_up_to_"
# Another action behind the first, which would be searched for.
SECOND = re.compile(r"[\]］]\s*(search|click)\s*[\[［]", re.IGNORECASE)
FORM = "An action is search[words] or click[thing], and nothing else."
NOT_SOLD: dict[Availability, str] = {
    "Sold out": "This is sold out.",
    "Not offered in this combination": "What is chosen is not offered in this combination.",
}
OVER = "The purchase is made, and nothing more can be done."


@dataclass(frozen=True)
class View:
    """Where a visitor is; the page follows from it."""

    kind: PageKind
    query: str = ""
    rows: Sequence[int] = ()
    """The products found, the best first."""
    found: Sequence[int] = ()
    """All that the search found, where `rows` is a part of it."""
    refined: str = ""
    """By what: the key of a refinement."""
    number: int = 1
    """The page of the results."""
    row: int = -1
    """The product looked at; -1: none."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """The values picked, by option."""
    before: "View | None" = None
    """Where `< Prev` leads."""


@dataclass(frozen=True)
class Day:
    """What is so on the day of a visit, and not for ever."""

    price: Callable[[int], int]
    """What the product at a row costs then, in cents."""
    there: frozenset[str] = frozenset()
    """Variants that can be bought then, whatever is left of them now."""
    rows: frozenset[int] = frozenset()
    """Their products."""


class Step(NamedTuple):
    """An action, why it did nothing (empty where it did something), and the page after it."""

    action: str
    fault: str
    page: Page


class Browser:
    """One visit to the shop, from its first page to a purchase; with a header until the visitor goes away."""

    def __init__(
        self,
        store: Store,
        finder: Finder,
        *,
        bullets: Callable[[int], Sequence[str]] = lambda row: (),
        header: bool = False,
        day: "Day | None" = None,
        cart: Iterable[tuple[str, str]] = (),
    ) -> None:
        """
        bullets: of the product at a row, which the store does not hold.

        header: every page has a search box and a cart, results can be refined, and after a purchase the visit goes on; without
        it, as in WebShop, one searches on the first page, and `Buy Now` is the only way and the end.
        day: when it is; without one, prices and stock are the catalog's.
        cart: what lies in it from earlier visits, by product and variant.
        """
        self.store, self.finder, self.header, self.bullets, self.day = store, finder, header, bullets, day
        self.words = store.language.pages
        self.view = View("home")
        self.page = pages.build_shop_home_page(header=header, words=self.words)
        self.history: list[Step] = []
        # What is in the cart, by product and variant.
        self.lines: dict[tuple[str, str], CartRow] = {}
        # What was bought last, all at once; several lines only by way of the cart.
        self.ordered: tuple[CartRow, ...] = ()
        # What the last page of results shows.
        self.listing: list[ResultEntry] = []
        # That page, and where it is shown.
        self.last: tuple[View, Page] | None = None
        # On the last page of a product: of the variants that fit what is chosen.
        self.prices: list[int] = []
        for product_id, variant_id in cart:
            if line := self.line_of(product_id, variant_id):
                self.more(line)

    @property
    def bought(self) -> tuple[str, str] | None:
        """Product and variant that were bought first; the variant is empty for a product that has none."""
        return (self.ordered[0].product_id, self.ordered[0].variant_id) if self.ordered else None

    def act(self, action: str) -> str:
        """Does it and gives nothing, or does nothing and says why; whatever the text, it is never an exception."""
        fault = self.perform(action)
        self.history.append(Step(action, fault, self.page))
        return fault

    def perform(self, action: str) -> str:
        verb, words = parse_browser_action(action)
        if self.ordered and not self.header:
            return OVER
        if verb == "search":
            return self.search(words) if pages.can_search(self.page) else "There is no search box on this page."
        if verb != "click":
            return FORM
        deed = self.page.clicks.get(normalize_click_words(words))
        return self.do(deed) if deed else f"There is no button '{clip_message(words)}' on this page."

    def press(self, name: str) -> str:
        """A click on what has this name in the page's HTML: nothing, or why it did nothing."""
        deed = self.page.deeds.get(name)
        return (
            self.do(deed) if deed else f"Nothing on this page that can be clicked has the name '{clip_message(name)}'."
        )

    def submit(self, name: str, words: str) -> str:
        """The same for words typed into what has this name."""
        if name == SEARCH_INPUT and pages.can_search(self.page):
            return self.search(words)
        return f"Nothing on this page that can be typed into has the name '{clip_message(name)}'."

    def search(self, words: str) -> str:
        words = words.strip()[:QUERY_LETTERS]
        rows = self.finder.find(words, limit=RESULTS).tolist()
        return self.show(View("results", query=words, rows=rows, found=rows, before=self.view))

    def do(self, deed: ClickEffect) -> str:
        """What a click of this page does."""
        view = self.view
        match deed:
            case ("search",):
                return self.search("")
            case ("home",):
                return self.show(View("home"))
            case ("back",):
                return self.show(view.before or View("home"))
            case ("turn", number):
                return self.show(replace(view, number=int(number)))
            case ("refine", key):
                return self.show(replace(view, rows=self.refine(view, key), refined=key, number=1))
            case ("open", number):
                return self.show(replace(view, kind="product", row=view.rows[int(number) - 1], before=view))
            case ("tab", kind) if kind in pages.TABS:
                return self.show(replace(view, kind=kind, before=view))
            case ("choose", name, value):
                return self.show(replace(view, chosen={**view.chosen, name: value}))
        return self.deal(deed)

    def deal(self, deed: ClickEffect) -> str:
        """The same of what has to do with buying."""
        match deed:
            case ("view cart",):
                return self.show(View("cart", before=self.view))
            case ("remove", product_id, variant_id):
                del self.lines[product_id, variant_id]
                return self.show(self.view)
            case ("buy line", product_id, variant_id):
                return self.buy((self.less(self.lines[product_id, variant_id]),))
            case ("checkout",):
                lines = tuple(self.lines.values())
                self.lines.clear()
                return self.buy(lines)
        wanted = self.choose_variant()
        if isinstance(wanted, str):
            return wanted
        return self.put(wanted) if deed == ("add",) else self.buy((wanted,))

    def show(self, view: View) -> str:
        self.view, self.page = view, self.build_page(view)
        return ""

    # Buying

    def choose_variant(self) -> CartRow | str:
        """One piece of what is chosen, or why it cannot be bought."""
        item, options, chosen = self.store.item(self.view.row), self.options(self.view.row), self.view.chosen
        if not options:
            return CartRow(item.id, "", item.title, "", self.now(item.row, item.cents))
        left = filter_options(options, chosen)
        if find_availability(options, left) != "In stock":
            return NOT_SOLD[find_availability(options, left)]
        if missing := [
            axis.name for axis in list_option_axes(options, chosen) if len(axis.values) > 1 and axis.chosen is None
        ]:
            return f"Choose {' and '.join(clip_message(self.words.name(name)) for name in missing)} first."
        option = next(option for option in left if option.stock > 0)
        return CartRow(item.id, option.id, item.title, self.label(option), option.cents)

    def buy(self, lines: tuple[CartRow, ...]) -> str:
        self.ordered = lines
        return self.show(View("bought", before=self.view))

    def put(self, line: CartRow) -> str:
        """Another piece into the cart."""
        fault = self.more(line)
        return fault or self.show(View("cart", before=self.view))

    def more(self, line: CartRow) -> str:
        key = line.product_id, line.variant_id
        pieces = self.lines[key].pieces + 1 if key in self.lines else 1
        option = self.store.option_of(line.variant_id)
        if pieces > (min(self.pieces(option), MOST_PIECES) if option else MOST_PIECES):
            return f"No more than {pieces - 1} of it can be bought."
        self.lines[key] = replace(line, pieces=pieces)
        return ""

    def less(self, line: CartRow) -> CartRow:
        """One piece out of the cart."""
        key = line.product_id, line.variant_id
        if line.pieces > 1:
            self.lines[key] = replace(line, pieces=line.pieces - 1)
        else:
            del self.lines[key]
        return replace(line, pieces=1)

    def line_of(self, product_id: str, variant_id: str) -> CartRow | None:
        row = self.store.row(product_id)
        if row is None:
            return None
        item, option = self.store.item(row), self.store.option_of(variant_id)
        if option is None and self.store.options(row):
            return None
        if option is None:
            return CartRow(item.id, "", item.title, "", self.now(row, item.cents))
        return CartRow(item.id, option.id, item.title, self.label(option), self.now(row, option.cents))

    def label(self, option: Option) -> str:
        """What is chosen, as the shop's pages name it."""
        return self.words.listed.join(f"{self.words.name(each.name)} {each.value}" for each in option.choices)

    # What holds on the day

    def now(self, row: int, cents: int) -> int:
        """What a price of this product's becomes when the product is on offer: all its variants are, by the same share."""
        listed = int(self.store.cents[row])
        return scale_price(cents, self.day.price(row) if self.day else listed, listed)

    def pieces(self, option: Option) -> int:
        return max(option.stock, MOST_PIECES) if self.day and option.id in self.day.there else option.stock

    def options(self, row: int) -> tuple[Option, ...]:
        options = self.store.options(row)
        if self.day is None:
            return options
        listed, today = int(self.store.cents[row]), self.day.price(row)
        return tuple(self.price_option(each, scale_price(each.cents, today, listed)) for each in options)

    def price_option(self, option: Option, cents: int) -> Option:
        """The variant at this price, with what can be bought of it."""
        pieces = self.pieces(option)
        same = (cents, pieces) == (option.cents, option.stock)
        return option if same else replace(option, cents=cents, stock=pieces)

    # Pages

    def build_page(self, view: View) -> Page:
        if view.kind == "home":
            return pages.build_shop_home_page(header=self.header, words=self.words)
        if view.kind == "results":
            return self.results(view)
        if view.kind == "cart":
            return pages.build_cart_page(tuple(self.lines.values()), words=self.words)
        if view.kind == "bought":
            return pages.build_purchase_page(self.ordered, header=self.header, words=self.words)
        return self.about(view, self.store.item(view.row))

    def results(self, view: View) -> Page:
        if self.last and self.last[0] is view:  # come back to
            return self.last[1]
        begin = (view.number - 1) * pages.PAGE
        shown = [
            self.list_result(at + 1, view.rows[at]) for at in range(begin, min(begin + pages.PAGE, len(view.rows)))
        ]
        fewer = self.refinements(view) if self.header else ()
        page = pages.build_results_page(
            view.query, view.number, len(view.rows), shown, refinements=fewer, header=self.header, words=self.words
        )
        self.listing, self.last = shown, (view, page)
        return page

    def refinements(self, view: View) -> list[Refinement]:
        """Those that would show some of what was found, and not all."""
        found = np.array(view.found, dtype=np.int64)
        ways = {"customer_reviews": self.words.stars.format(stars=WELL_RATED)}
        if len(found):
            cap = round_up_dollars(int(np.median(self.store.cents[found])))
            ways[f"{UP_TO}{cap}"] = self.words.up_to.format(amount=self.words.money.format(amount=cap))
        counts = {key: len(self.refine(view, key)) for key in ways}
        return [
            Refinement(key, shown, key == view.refined) for key, shown in ways.items() if 0 < counts[key] < len(found)
        ]

    def refine(self, view: View, key: str) -> Sequence[int]:
        """What was found and is so."""
        found = np.array(view.found, dtype=np.int64)
        if not key:
            return view.found
        if key.startswith(UP_TO):
            return found[self.store.cents[found] <= 100 * int(key.removeprefix(UP_TO))].tolist()
        return found[self.store.ratings[found] >= WELL_RATED].tolist()

    def list_result(self, number: int, row: int) -> ResultEntry:
        store = self.store
        begin, end = store.variant_edges[row : row + 2].tolist()
        cents = store.variant_cents[begin:end].tolist() or [int(store.cents[row])]
        item = store.item(row)
        sold_out = begin < end and not store.in_stock[row]
        if self.day:
            listed, today = int(store.cents[row]), self.day.price(row)
            cents = cents if today == listed else [scale_price(each, today, listed) for each in cents]
            sold_out = sold_out and row not in self.day.rows
        return ResultEntry(
            number, item.id, item.title, min(cents), max(cents), item.rating, item.review_count, bool(sold_out)
        )

    def about(self, view: View, item: Item) -> Page:
        options = self.options(view.row)
        if view.kind == "description":
            return pages.build_description_page(item, header=self.header, words=self.words)
        if view.kind == "features":
            return pages.build_features_page(
                item,
                list_option_axes(options, view.chosen),
                self.bullets(view.row),
                header=self.header,
                words=self.words,
            )
        if view.kind == "reviews":
            return pages.build_reviews_page(item, header=self.header, words=self.words)
        left = filter_options(options, view.chosen)
        cents = [option.cents for option in left] if options else [self.now(item.row, item.cents)]
        self.prices = cents
        return pages.build_product_page(
            item,
            list_option_axes(options, view.chosen),
            cents,
            find_availability(options, left),
            header=self.header,
            words=self.words,
        )


def scale_price(cents: int, today: int, listed: int) -> int:
    """A variant's price when its product, listed at one price, costs another.

    >>> scale_price(1_250, 900, 1_000), scale_price(1_250, 1_000, 1_000)
    (1125, 1250)
    """
    return cents if today == listed else (cents * today + listed // 2) // listed


def round_up_dollars(cents: int) -> int:
    """To dollars that a shop would offer as a limit.

    >>> round_up_dollars(1_999), round_up_dollars(20_01), round_up_dollars(123_456)
    (20, 25, 1500)
    """
    step = 5
    while cents > 1_000 * step:
        step *= 10 if str(step)[0] == "5" else 5
    return -(-cents // (100 * step)) * step


def list_option_axes(options: Iterable[Option], chosen: Mapping[str, str]) -> list[OptionAxis]:
    """What these variants differ in, or have in common, with all their values."""
    values: dict[str, dict[str, None]] = {}
    for option in options:
        for choice in option.choices:
            values.setdefault(choice.name, {})[choice.value] = None
    return [OptionAxis(name, tuple(found), chosen.get(name)) for name, found in values.items()]


def filter_options(options: Iterable[Option], chosen: Mapping[str, str]) -> list[Option]:
    """Those that are what is chosen."""
    wanted = chosen.items()

    def has_choices(option: Option) -> bool:
        return wanted <= {(each.name, each.value) for each in option.choices}

    return [option for option in options if has_choices(option)]


def find_availability(options: Sequence[Option], left: Sequence[Option]) -> Availability:
    """left: those that fit; a product that has no variants at all is always there."""
    if not options or any(option.stock > 0 for option in left):
        return "In stock"
    return "Sold out" if left else "Not offered in this combination"


def parse_browser_action(action: str) -> tuple[str, str]:
    """Verb and words of an action; without a verb where it is none.

    >>> parse_browser_action("click[Size [EU] 38]"), parse_browser_action(" Search［毯子］")
    (('click', 'Size [EU] 38'), ('search', '毯子'))
    >>> parse_browser_action("click buy now"), parse_browser_action("search[mug] click[red]")
    (('', ''), ('', ''))
    """
    verb, _, words = action.strip().replace("［", "[", 1).partition("[")
    if not words.endswith(("]", "］")) or normalize_click_words(verb) not in ("search", "click"):
        return "", ""
    return (
        ("", "")
        if normalize_click_words(verb) == "search" and SECOND.search(words)
        else (normalize_click_words(verb), words[:-1])
    )


def clip_message(words: str) -> str:
    """Others' words in a message, cut short."""
    shown = sanitize_text(words[: 2 * MESSAGE_LETTERS])
    return shown if len(shown) <= MESSAGE_LETTERS else f"{shown[:MESSAGE_LETTERS]}..."
