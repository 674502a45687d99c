"""Why a shopper does what it does next, computed from what it has seen: a fact of the pages, never a guess.

Of several things that are true one is picked by dice; how it is said is `pipeline.behaviors.wording`'s.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from random import Random

import pyarrow.compute as pc

from pipeline.behaviors.sessions import Act
from pipeline.render.pages import Kind, Line, dollars, visible
from pipeline.shop.browser import UP_TO, WELL_RATED, Browser
from pipeline.shop.store import Store
from pipeline.words import PRICE_CAP, content_words
from schemas.behaviors import Reason
from schemas.shop import Persona

CAP = re.compile(PRICE_CAP)
DEARER = 1.15
"""So many times another's price is a reason to rather take that."""
SURE = 0.8
"""How often a reason is named that the pages give, where there is one."""
TITLE_WORDS = 8
LETTERS = 100
"""Of a title, a search or a value, as a sentence has it."""
ENDS = " ,;:-–/|(&"
BREAK = re.compile(r"[,;|(]|: | [-–] ")
"""What comes after it in a title is no part of the name."""
SMALL = frozenset("in with for of and by to from at on the a an or".split())


class Facts(dict[str, str]):
    """What a rationale can take from the pages, by name: `title`, `price`, `rating`, `query`, ...; and `why`, which is code's.

    What is not known is empty.
    """

    def __missing__(self, name: str) -> str:
        return ""


def short(title: str) -> str:
    """How a product is called in a sentence: the beginning of its title, as the page has it.

    >>> short("Norrvik Gully tote bag, canvas, 12 in"), short("Brindlecot Coral melamine nesting bowl set in 5 pieces")
    ('Norrvik Gully tote bag', 'Brindlecot Coral melamine nesting bowl set')
    """
    whole = worded(title)
    parts = [whole[: found.start()] for found in BREAK.finditer(whole)]
    words = next((part for part in parts if " " in part.strip()), whole).split(" ")
    if len(words) > TITLE_WORDS:
        words = words[:TITLE_WORDS]
        while len(words) > 2 and (words[-1].lower() in SMALL or not words[-1].isalpha()):
            words.pop()
    return " ".join(words).rstrip(ENDS) or whole


def worded(words: str) -> str:
    """What others wrote, as a sentence can hold it: its beginning, as the page has it.

    >>> worded("oak lamp " * 30)[-20:], len(worded("x" * 1_000))
    ('mp oak lamp oak lamp', 100)
    """
    shown = visible(words)
    if len(shown) <= LETTERS:
        return shown
    part = shown[:LETTERS].rstrip("0123456789.,") or shown[:LETTERS]  # a part of a number is another number
    return shown[: LETTERS + 1].rpartition(" ")[0] or part


def sight(browser: Browser, row: int, cents: Sequence[int]) -> Facts:
    """What is seen of a product, with the prices of what fits."""
    item = browser.store.item(row)
    found = Facts(title=short(item.title), price=dollars(min(cents)))
    found["at"] = f"{'from' if min(cents) < max(cents) else 'at'} {found['price']}"
    if min(cents) < max(cents):
        found["from"] = "from "
    if item.rating is not None:
        found["rating"] = str(item.rating)
    return found


class Seen:
    """What the shopper has seen and done by now."""

    def __init__(self, budget: Decimal) -> None:
        self.budget = budget
        self.queries: list[str] = []
        """Of this errand."""
        self.looked: set[str] = set()
        """Products opened on this errand."""
        self.opened: dict[str, Facts] = {}
        """Products whose pages were seen, with what was seen of them."""
        self.carted: dict[tuple[str, str], Facts] = {}
        self.bought: set[str] = set()
        self.later: set[str] = set()
        """Products that it will come back to in this errand."""
        self.more = False
        """Whether it will open others."""
        self.last: Facts = Facts()
        """Of the product seen last."""
        self.lowest: Facts = Facts()
        """The cheapest of the results seen last."""

    @property
    def title(self) -> str:
        return self.last["title"]

    # What happens

    def begin(self) -> None:
        """Another errand."""
        self.queries, self.last, self.looked = [], Facts(), set()

    def search(self, query: str, browser: Browser) -> None:
        self.queries.append(query)
        self.lowest = Facts()

    def page(self, browser: Browser) -> None:
        """Before each move."""
        if browser.view.kind == "results":
            each = min(browser.listing, key=lambda each: each.low, default=None)
            if each:
                self.lowest = sight(browser, browser.view.rows[each.number - 1], [each.low])

    def look(self, act: Act, browser: Browser, more: Iterable[Act]) -> None:
        self.looked.add(act.product)
        self.later = {each.product for each in more}
        self.more = any(each.product != act.product and each.kind == "click" for each in more)
        self.last = self.opened[act.product] = self.product(browser)

    def put(self, thing: tuple[str, str], facts: Facts) -> None:
        self.carted[thing] = facts

    # What can be said of it

    def listed(self, row: int, browser: Browser) -> Facts:
        each = next(each for each in browser.listing if browser.view.rows[each.number - 1] == row)
        return sight(browser, row, [each.low, each.high])

    def product(self, browser: Browser) -> Facts:
        return sight(browser, browser.view.row, browser.prices)

    def line(self, line: Line) -> Facts:
        return Facts(title=short(line.title), price=dollars(line.cents))

    def place(self, kind: Kind) -> Facts:
        return Facts(page=kind)

    def results(self, browser: Browser) -> Facts:
        return Facts(query=worded(browser.view.query))

    def refined(self, key: str) -> Facts:
        if key.startswith(UP_TO):
            return Facts(limit=f"${key.removeprefix(UP_TO)}")
        return Facts(limit=f"{WELL_RATED} stars")

    def ending(self, kept: tuple[str, str] | None) -> Facts:
        """At the end of a session that ends without a purchase. kept: what it leaves in the cart."""
        if kept:
            return self.carted[kept]
        if self.bought:
            return Facts(why="done")
        several = "yes" if len(self.looked) > 1 else ""
        if self.last["rating"] and float(self.last["rating"]) < WELL_RATED:
            return Facts(self.last, why="rated", several=several)
        dear = self.last and cents_of(self.last) > int(self.budget * 100)
        return Facts(self.last, why="dear" if dear else "", several=several)


def searching(seen: Seen, query: str, *, last: bool) -> tuple[Reason, Facts]:
    """last: nothing else is searched for on this errand."""
    facts = Facts(query=worded(query))
    if seen.queries:
        facts["before"] = worded(seen.queries[-1])
    if cap := CAP.search(query):
        return "set a limit", Facts(facts, limit=f"${cap['cap']}")
    return ("look closer" if last and seen.queries else "look around"), facts


def opening(seen: Seen, browser: Browser, row: int, person: Persona, random: Random) -> Facts:
    """Why this one of the results is opened."""
    facts, shown = seen.listed(row, browser), browser.listing
    this = next(each for each in shown if browser.view.rows[each.number - 1] == row)
    item, title = browser.store.item(row), visible(browser.store.item(row).title)
    ways: list[Facts] = []
    if len(shown) > 1 and this.low == min(each.low for each in shown):
        ways.append(Facts(facts, why="cheapest"))
    if len(shown) > 1 and facts["rating"] and this.rating == max(each.rating or 0.0 for each in shown):
        ways.append(Facts(facts, why="best rated"))
    if item.brand and item.brand in person.brands and visible(item.brand) in title:
        ways.append(Facts(facts, why="brand", brand=worded(item.brand)))
    wanted = set(content_words(browser.view.query))
    if wanted and wanted <= set(content_words(title)):
        ways.append(Facts(facts, why="asked", query=worded(browser.view.query)))
    if seen.last and seen.title != facts["title"] and cents_of(seen.last) > DEARER * this.low:
        ways.append(Facts(facts, why="cheaper", other=seen.title, other_price=seen.last["price"]))
    return random.choice(ways) if ways and random.random() < SURE else Facts(facts, why="like")


def leaving(seen: Seen, browser: Browser, random: Random) -> tuple[Reason, Facts]:
    """Why a product's page is left."""
    item, facts = browser.store.item(browser.view.row), seen.product(browser)
    if any(thing[0] == item.id and thing in browser.lines for thing in seen.carted):
        return "go on", seen.place("cart")
    if item.id in seen.bought:
        return "go on", seen.place("bought")
    if item.id in seen.later:
        return "compare", facts
    ways: list[tuple[Reason, Facts]] = []
    low = min(browser.prices)
    if low > int(seen.budget * 100):
        ways.append(("too dear", facts))
    for other in (seen.lowest, *seen.opened.values()):
        if other and other["title"] != facts["title"] and low > DEARER * cents_of(other):
            ways.append(("too dear", Facts(facts, other=other["title"], other_price=other["price"])))
            break
    if item.rating is not None and item.rating < WELL_RATED:
        ways.append(("poorly rated", facts))
    if any(part.text == "Sold out" for part in browser.page.parts):
        ways.append(("sold out", facts))
    if color := other_color(seen, browser):
        ways.append(("other color", Facts(facts, color=color[0], wanted=color[1])))
    if ways and random.random() < SURE:
        return random.choice(ways)
    return ("compare" if seen.more else "seen enough"), facts


def other_color(seen: Seen, browser: Browser) -> tuple[str, str] | None:
    """The product's color and the one that was searched for, as they are written, where they differ and the page says so."""
    item = browser.store.item(browser.view.row)
    if not item.color or not seen.queries:
        return None
    have, title = item.color.lower(), visible(item.title)
    place = title.lower().find(have)
    asked = [word for word in seen.queries[-1].split() if word.lower() in colors_of(browser.store)]
    if not asked or place < 0 or {word.lower() for word in asked} & set(have.split()):
        return None
    return worded(title[place : place + len(have)]), worded(asked[0])


@lru_cache(2)
def colors_of(store: Store) -> frozenset[str]:
    """Colors of the catalog that are one word."""
    found = pc.unique(store.colors).drop_null().to_pylist()
    return frozenset(color.lower() for color in found if color.isalpha() and len(color) > 2)


def cents_of(facts: Facts) -> int:
    """
    >>> cents_of(Facts(price="$12.50"))
    1250
    """
    return int(facts["price"].replace("$", "").replace(".", ""))
