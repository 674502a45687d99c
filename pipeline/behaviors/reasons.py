"""Why a shopper does what it does next, computed from what it has seen: a fact of the pages, never a guess.

Of several things that are true one is picked by dice; how it is said is `shopwright.pipeline.behaviors.rationales`'s. What it does afterwards is known
here, and no reason is picked that this gives the lie; but only what was seen by now is said.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from random import Random

import pyarrow.compute as pc

from shopwright.pipeline.behaviors.sessions import CART, CLICK, PURCHASE, SEARCH, Act
from shopwright.pipeline.render.pages import (
    PAGE,
    CartRow,
    PageKind,
    ResultEntry,
    format_money,
    list_elements,
    sanitize_text,
)
from shopwright.pipeline.shop.browser import UP_TO, WELL_RATED, Browser
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.words import PRICE_CAP, content_words, split_words
from shopwright.schemas.behaviors import Reason
from shopwright.schemas.shop import Persona

CAP = re.compile(PRICE_CAP)
# So many times another's price is a reason to rather take that.
DEARER = 1.15
# How often a reason is named that the pages give, where there is one.
SURE = 0.8
# Words of a title that a person would repeat.
TITLE_WORDS = 8
# Of a title, a search or a value, as a sentence has it.
LETTERS = 100
ENDS = " ,;:-–/|(&"
# What comes after it in a title is no part of the name.
BREAK = re.compile(r"[,;|(]|: | [-–] ")
# Words of a search that say nothing of the thing: of any there are sets.
ASIDE = frozenset("price review rated top sale deal set kit pack piece pair bundle box".split())
SMALL = frozenset("in with for of and by to from at on the a an or".split())


class PageFacts(dict[str, str]):
    """What a rationale can take from the pages, by name: `title`, `price`, `rating`, `query`, ...; and `why`, which is code's.

    What is not known is empty.
    """

    def __missing__(self, name: str) -> str:
        return ""


def shorten_title(title: str) -> str:
    """How a product is called in a sentence: the beginning of its title, as the page has it.

    >>> shorten_title("Norrvik Gully tote bag, canvas, 12 in"), shorten_title("Brindlecot Coral melamine nesting bowl set in 5 pieces")
    ('Norrvik Gully tote bag', 'Brindlecot Coral melamine nesting bowl set')
    """
    whole = clip_for_sentence(title)
    parts = [whole[: found.start()] for found in BREAK.finditer(whole)]
    words = next((part for part in parts if " " in part.strip()), whole).split(" ")
    if len(words) > TITLE_WORDS:
        words = words[:TITLE_WORDS]
        while len(words) > 2 and (words[-1].lower() in SMALL or not words[-1].isalpha()):
            words.pop()
    return " ".join(words).rstrip(ENDS) or whole


def clip_for_sentence(words: str) -> str:
    """What others wrote, as a sentence can hold it: its beginning, as the page has it.

    >>> clip_for_sentence("oak lamp " * 30)[-20:], len(clip_for_sentence("x" * 1_000))
    ('mp oak lamp oak lamp', 100)
    """
    shown = sanitize_text(words)
    if len(shown) <= LETTERS:
        return shown
    part = shown[:LETTERS].rstrip("0123456789.,") or shown[:LETTERS]  # a part of a number is another number
    return shown[: LETTERS + 1].rpartition(" ")[0] or part


def describe_product_on_page(browser: Browser, row: int, cents: Sequence[int]) -> PageFacts:
    """What is seen of a product, with the prices of what fits."""
    item = browser.store.item(row)
    found = PageFacts(row=str(row), title=shorten_title(item.title), price=format_money(min(cents)))
    found["at"] = f"{'from' if min(cents) < max(cents) else 'at'} {found['price']}"
    if min(cents) < max(cents):
        found["from"] = "from "
    if item.rating is not None:
        found["rating"] = str(item.rating)
    return found


class SessionMemory:
    """What the shopper has seen and done by now, and what it will do."""

    def __init__(self, budget: Decimal, acts: Sequence[Act] = ()) -> None:
        self.budget = budget
        # The log's events that are still to come.
        self.ahead = list(acts)
        # Of this errand, and of those before it.
        self.queries: list[str] = []
        self.typed_before: list[str] = []
        # Products opened on this errand, one after the other.
        self.looked: list[str] = []
        # Products whose pages were seen, with what was seen of them.
        self.opened: dict[str, PageFacts] = {}
        self.carted: dict[tuple[str, str], PageFacts] = {}
        # What was put in the cart or bought.
        self.taken: list[Act] = []
        self.bought: set[str] = set()
        # Whether nothing was bought since the last search.
        self.is_looking = False
        # Products that were left for something that is wrong with them.
        self.let_go: set[str] = set()
        # Of the product seen last, and whether nothing was searched for since.
        self.last: PageFacts = PageFacts()
        self.is_before_it = False
        self.last_row = -1
        # The results seen last, by row.
        self.listed_last: list[tuple[int, ResultEntry]] = []

    @property
    def title(self) -> str:
        return self.last["title"]

    # What happens

    def begin(self) -> None:
        """Another errand."""
        self.typed_before += self.queries
        self.queries, self.last, self.last_row, self.looked = [], PageFacts(), -1, []

    def search(self, query: str) -> None:
        self.queries.append(query)
        self.listed_last, self.is_looking, self.is_before_it = [], True, False

    def page(self, browser: Browser) -> None:
        """Before each move."""
        if browser.view.kind == "results":
            self.listed_last = [(browser.view.rows[each.number - 1], each) for each in browser.listing]

    def look(self, act: Act, browser: Browser) -> None:
        self.looked.append(act.product)
        self.last_row, self.is_before_it = browser.view.row, True
        self.last = self.opened[act.product] = self.product(browser)

    def take(self, act: Act) -> None:
        self.taken.append(act)
        if act.kind == PURCHASE:
            self.bought.add(act.product)
            self.is_looking = False

    # What will happen

    def is_met_again(self, product: str) -> bool:
        return any(act.product == product for act in self.ahead)

    def will_take(self, product: str) -> bool:
        return any(act.product == product and act.kind in (CART, PURCHASE) for act in self.ahead)

    def rows_ahead(self, browser: Browser, *, until_search: bool = False) -> list[tuple[int, int]]:
        """Of what it will open, put in the cart or buy, the row and what it costs at least."""
        found = []
        for act in self.ahead:
            if until_search and act.kind == SEARCH:
                break
            row = browser.store.row(act.product) if act.kind != SEARCH else None
            if row is not None:
                found.append((row, browser.list_result(0, row).low if act.kind == CLICK else act.cents))
        return found

    def rows_met(self, browser: Browser) -> list[tuple[int, int]]:
        """The same of what it took already and of all that comes: what a reason to let something go must not speak against."""
        rows = ((browser.store.row(act.product), act.cents) for act in self.taken)
        return [(row, paid) for row, paid in rows if row is not None] + self.rows_ahead(browser)

    # What can be said of it

    def describe_listed(self, row: int, browser: Browser) -> PageFacts:
        each = next(each for each in browser.listing if browser.view.rows[each.number - 1] == row)
        return describe_product_on_page(browser, row, [each.low, each.high])

    def product(self, browser: Browser) -> PageFacts:
        return describe_product_on_page(browser, browser.view.row, browser.prices)

    def line(self, line: CartRow, browser: Browser) -> PageFacts:
        row = browser.store.row(line.product_id)
        return PageFacts(row=str(row), title=shorten_title(line.title), price=format_money(line.cents))

    def place(self, kind: PageKind) -> PageFacts:
        """before: of the cart, where nothing was put into it in this session."""
        return PageFacts(page=kind, why="before" if kind == "cart" and not self.carted else "")

    def results(self, browser: Browser, number: int) -> PageFacts:
        """quiet: nothing on this page is met again; number: of the page that is turned to."""
        view = browser.view
        here = set(view.rows[(view.number - 1) * PAGE : view.number * PAGE])
        quiet = here.isdisjoint(row for row, _ in self.rows_met(browser))
        return PageFacts(query=clip_for_sentence(view.query), number=str(number), quiet="yes" if quiet else "")

    def describe_refinement(self, key: str, browser: Browser) -> PageFacts:
        """kept: what comes next keeps to it; many: there is more than a page of results."""
        ahead = self.rows_ahead(browser, until_search=True)
        many = "yes" if len(browser.view.rows) > PAGE else ""
        if key.startswith(UP_TO):
            most = key.removeprefix(UP_TO)
            is_kept = all(cents <= 100 * int(most) for _, cents in ahead)
            return PageFacts(limit=f"${most}", many=many, kept="yes" if is_kept else "")
        is_kept = all(is_well_rated(browser.store.item(row)) for row, _ in self.rows_met(browser))
        return PageFacts(limit=f"{WELL_RATED} stars", many=many, kept="yes" if is_kept else "")

    def again(self, product: str, facts: PageFacts) -> PageFacts:
        """several: another was looked at since."""
        return PageFacts(facts, several="yes" if self.looked and self.looked[-1] != product else "")

    def buying(self, thing: tuple[str, str], facts: PageFacts) -> PageFacts:
        """before: it lay in the cart when the session began, and nothing of its product was put there since."""
        return PageFacts(facts, why="" if thing[0] in {product for product, _ in self.carted} else "before")

    def ending(self, in_cart: Iterable[tuple[str, str]] = ()) -> tuple[Reason, PageFacts]:
        """At the end of a session that ends without a purchase. in_cart: what lies there."""
        lies = set(in_cart)
        if kept := [facts for thing, facts in self.carted.items() if thing in lies]:
            return "decides later", kept[-1]
        if self.bought:
            return "gives up", PageFacts(why="rest" if self.is_looking else "done")
        several = "yes" if len(set(self.looked)) > 1 else ""
        if not self.is_before_it:  # what it saw some searches ago is not why it leaves
            return "gives up", PageFacts(self.last, why="", several=several)
        if self.last["rating"] and float(self.last["rating"]) < WELL_RATED:
            return "gives up", PageFacts(self.last, why="rated", several=several)
        dear = self.last and parse_fact_price(self.last) > int(self.budget * 100)
        return "gives up", PageFacts(self.last, why="dear" if dear else "", several=several)


def is_well_rated(item: Item) -> bool:
    return item.rating is not None and item.rating >= WELL_RATED


def is_comparable(one: Item, other: Item, query: str, store: Store) -> bool:
    """Whether their prices are compared: of one leaf category, and both titles say what is looked for, or what the category holds.

    What a search or a category is about is its last word that is no color: on many catalogs a leaf holds mice, hubs and cables.
    """
    heads = {find_head_word(content_words(query), store), find_head_word(content_words(one.category), store)}
    return one.category == other.category and bool(heads & list_name_words(one) & list_name_words(other))


def list_name_words(item: Item) -> set[str]:
    """The words of a title that are not its brand's."""
    return set(content_words(item.title)) - set(content_words(item.brand or ""))


def find_head_word(words: Sequence[str], store: Store) -> str:
    for word in reversed(words):
        if word.isalpha() and len(word) > 2 and word not in ASIDE and word not in list_catalog_colors(store):
            return word
    return ""


def explain_search(seen: SessionMemory, query: str, browser: Browser, *, last: bool) -> tuple[Reason, PageFacts]:
    """last: nothing else is searched for on this errand. in_vain: nothing that was seen is met again; narrower: it has more words."""
    facts, before = PageFacts(query=clip_for_sentence(query)), seen.queries[-1] if seen.queries else ""
    if seen.typed_before and not before:
        facts["turn"] = "another errand"
    if before:
        in_vain = not seen.taken and not any(map(seen.is_met_again, seen.opened))
        turn = "same again" if query in seen.queries else compare_searches(before, query)
        facts = PageFacts(facts, before=clip_for_sentence(before), in_vain="yes" if in_vain else "", turn=turn)
    cap, ahead = CAP.search(query), seen.rows_ahead(browser, until_search=True)
    if cap and all(cents <= 100 * int(cap["cap"]) for _, cents in ahead):
        return "set a limit", PageFacts(facts, limit=f"${cap['cap']}")
    narrower = before and len(set(content_words(query)) - ASIDE) > len(set(split_words(before)))
    return ("look closer" if last and narrower else "look around"), facts


def compare_searches(before: str, query: str) -> str:
    """What a search does with the words of the one before it.

    >>> compare_searches("oak lamp", "lamp"), compare_searches("lamp", "oak lamp"), compare_searches("oak lamp", "red lamp"), compare_searches("lamp", "rug")
    ('wider', 'narrower', 'other words', 'something else')
    """
    had, has = (set(split_words(each)) - ASIDE for each in (before, query))
    if has < had and len(query.split()) < len(before.split()):
        return "wider"
    if had < has and set(content_words(before)) < set(content_words(query)) - ASIDE:
        return "narrower"
    return "other words" if has & had else "something else"


def explain_opening(seen: SessionMemory, browser: Browser, row: int, person: Persona, random: Random) -> PageFacts:
    """Why this one of the results is opened."""
    facts, shown, store = seen.describe_listed(row, browser), browser.listing, browser.store
    this = next(each for each in shown if browser.view.rows[each.number - 1] == row)
    item, title = store.item(row), sanitize_text(store.item(row).title)
    others = [(browser.view.rows[each.number - 1], each) for each in shown if each is not this]
    ways: list[PageFacts] = []
    alike = any(is_comparable(item, store.item(other), browser.view.query, store) for other, _ in others)
    if alike and all(this.low < each.low for _, each in others):
        ways.append(PageFacts(facts, why="cheapest"))
    best = max((each.rating or 0.0 for _, each in others), default=0.0)
    if best and is_well_rated(item) and (this.rating or 0.0) >= best:
        ways.append(PageFacts(facts, why="best rated"))
    if item.brand and item.brand in person.brands and sanitize_text(item.brand) in title:
        ways.append(PageFacts(facts, why="brand", brand=clip_for_sentence(item.brand)))
    wanted = set(split_words(browser.view.query))
    if wanted and wanted <= set(split_words(title)) and seen.will_take(item.id):
        ways.append(PageFacts(facts, why="asked", query=clip_for_sentence(browser.view.query)))
    if is_cheaper_than_last(seen, this, item, browser):
        last = PageFacts(other=seen.title, other_price=seen.last["price"], other_row=seen.last["row"])
        ways.append(PageFacts(facts | last, why="cheaper"))
    if others and all((this.reviews or 0) > (each.reviews or 0) for _, each in others):
        ways.append(PageFacts(facts, why="most reviewed"))
    if ways and random.random() < SURE:
        return random.choice(ways)
    plain = ["like", "like", *(["top of the list"] if this.number == 1 else []), *(["another"] if seen.looked else [])]
    return PageFacts(facts, why=random.choice(plain))


def is_cheaper_than_last(seen: SessionMemory, this: ResultEntry, item: Item, browser: Browser) -> bool:
    """Than what was seen last, whichever variant, which it does not come back to."""
    if not seen.last or seen.title == shorten_title(item.title) or parse_fact_price(seen.last) <= DEARER * this.high:
        return False
    other = browser.store.item(seen.last_row)
    return is_comparable(item, other, browser.view.query, browser.store) and not seen.is_met_again(other.id)


def explain_leaving(seen: SessionMemory, browser: Browser, random: Random) -> tuple[Reason, PageFacts]:
    """Why a product's page is left; something is opened after it."""
    item, facts = browser.store.item(browser.view.row), seen.product(browser)
    if any(thing[0] == item.id and thing in browser.lines for thing in seen.carted):
        return "go on", seen.place("cart")
    if item.id in seen.bought:
        return "go on", seen.place("bought")
    others = next((act.product for act in seen.ahead if act.kind == CLICK), item.id) != item.id
    compared = PageFacts(facts, several="yes" if others else "", why="liked" if seen.is_met_again(item.id) else "")
    if seen.is_met_again(item.id):
        return "compare", compared
    ways = list_product_faults(seen, browser, item, facts)
    if ways and random.random() < SURE:
        seen.let_go.add(item.id)
        return random.choice(ways)
    if others and random.random() < 1 / 2:
        return "compare", compared
    seen.let_go.add(item.id)
    return "seen enough", facts


def list_product_faults(
    seen: SessionMemory, browser: Browser, item: Item, facts: PageFacts
) -> list[tuple[Reason, PageFacts]]:
    """What is wrong with a product that nothing taken before or met later has too."""
    ways: list[tuple[Reason, PageFacts]] = []
    met, low = seen.rows_met(browser), min(browser.prices)
    if all(cents < low for _, cents in met):
        if low > int(seen.budget * 100):
            ways.append(("too dear", facts))
        if other := find_cheaper_result(seen, browser, item, low):
            known = PageFacts(other=other["title"], other_price=other["price"], other_row=other["row"])
            ways.append(("too dear", PageFacts(facts | known)))
    ratings = [browser.store.item(row).rating for row, _ in met]
    if (
        item.rating is not None
        and item.rating < WELL_RATED
        and all(each is None or each > item.rating for each in ratings)
    ):
        ways.append(("poorly rated", facts))
    if any(part.text == "Sold out" for part in browser.page.parts):
        ways.append(("sold out", facts))
    if color := find_color_mismatch(seen, browser):
        ways.append(("other color", PageFacts(facts, color=color[0], wanted=color[1])))
    return ways


def find_cheaper_result(seen: SessionMemory, browser: Browser, item: Item, low: int) -> PageFacts | None:
    """The cheapest of the results seen last that is a thing of its kind, can be bought, was not let go and costs much less."""
    store = browser.store
    for row, each in sorted(seen.listed_last, key=lambda one: one[1].low):
        other = store.item(row)
        if low <= DEARER * each.low:
            break
        can_be_had = (
            not each.sold_out and each.id not in seen.let_go and shorten_title(other.title) != shorten_title(item.title)
        )
        if can_be_had and is_comparable(item, other, (seen.queries or [""])[-1], store):
            return describe_product_on_page(browser, row, [each.low])
    return None


def find_color_mismatch(seen: SessionMemory, browser: Browser) -> tuple[str, str] | None:
    """The product's color and the one that was searched for, as they are written, where they differ and the page says so.

    Not where the page offers the one that is wanted, something was taken already, or a later search or product is of another color.
    """
    store = browser.store
    item = store.item(browser.view.row)
    if not item.color or not seen.queries or seen.taken:
        return None
    title = sanitize_text(item.title)
    place = re.search(rf"(?<!\w){re.escape(item.color)}(?!\w)", title, re.IGNORECASE)
    asked = [word for word in seen.queries[-1].split() if word.lower() in list_catalog_colors(store)]
    if not asked or place is None:
        return None
    wanted = {word.lower() for word in asked}
    offered = set(split_words(" ".join(part.text for part in list_elements(browser.page.parts))))
    if wanted & (offered | set(split_words(item.color))):
        return None
    for act in seen.ahead:
        row = store.row(act.product) if act.product else None
        found = set(split_words(act.query if row is None else store.item(row).title)) & list_catalog_colors(store)
        if found and not found & wanted:
            return None
    return clip_for_sentence(title[place.start() : place.end()]), clip_for_sentence(asked[0])


@lru_cache(2)
def list_catalog_colors(store: Store) -> frozenset[str]:
    """Colors of the catalog that are one word."""
    found = pc.unique(store.colors).drop_null().to_pylist()
    return frozenset(color.lower() for color in found if color.isalpha() and len(color) > 2)


def parse_fact_price(facts: PageFacts) -> int:
    """
    >>> parse_fact_price(PageFacts(price="$12.50"))
    1250
    """
    return int(facts["price"].replace("$", "").replace(".", ""))
