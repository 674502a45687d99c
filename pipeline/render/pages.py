"""The shop's pages, each made once from values and read twice: as text with a list of clicks, and as simplified HTML.

    Back to Search [SEP] < Prev [SEP] size [SEP] small [SEP] large (chosen) [SEP] Norrvik tote bag [SEP] Price: $24.00 ...
    <h1>Norrvik tote bag</h1><p>Price: $24.00</p> ... <button name="cart.buy_now">Buy Now</button>

The text is WebShop's (arXiv 2207.01206), the HTML Shop-R1's (arXiv 2507.17842): everything that can be acted on has a name
of its own on its page. What others wrote (titles, values, queries) is shown on one line, and neither `[SEP]` nor a tag in
it means anything; where two things on a page would be clicked by the same words, one is written differently.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from itertools import chain, count
from typing import Literal, NamedTuple, get_args

from pipeline.shop.store import Item

Kind = Literal["home", "results", "product", "description", "features", "reviews", "cart", "bought"]
Tag = Literal["h1", "ul", "li", "div", "p", "span", "input", "button", "a"]
Deed = tuple[str, ...]
"""What a click does, for `pipeline.shop.browser`: a verb, and what it is done with."""
Stock = Literal["In stock", "Sold out", "Not offered in this combination"]
SEP = " [SEP] "
SEARCH_INPUT = "search_input"
"""The name of the search box, into which is typed; everything else that has a name is clicked."""
PAGE = 20
"""Results on a page."""
TABS: tuple[Kind, ...] = ("description", "features", "reviews")
FIXED = [
    "search",
    "home",
    "back to search",
    "view cart",
    "< prev",
    "next >",
    "add to cart",
    "buy now",
    "checkout",
    *TABS,
]
"""Clicks that are the shop's own, on whatever page; no product and no option has one of them."""
MARK = re.compile(r"\[\s*SEP\s*\]", re.IGNORECASE)
SPECIAL = re.compile(r"[&<>\"']")
"""Most texts have none, and are HTML as they are."""
ENDS = {tag: "" if tag in ("span", "a", "button", "input") else "\n" for tag in get_args(Tag)}
SLUG = re.compile(r"[^\W_]+")
SLUG_WORDS = 5
SLUG_LETTERS = 60
SHOWN_LETTERS = 200
"""Letters of a query that its results repeat."""


class Element(NamedTuple):
    """Something on a page: a text, or a box with others in it."""

    tag: Tag
    text: str = ""
    name: str = ""
    """No other part of its page has it; empty: nothing can be done with this one."""
    deed: Deed = ()
    """Empty: it cannot be clicked."""
    label: str = ""
    """What stands in `click[...]`, in lower case."""
    inside: "tuple[Element, ...]" = ()


@dataclass(frozen=True)
class Page:
    """What a shopper sees at once."""

    kind: Kind
    title: str
    parts: tuple[Element, ...]

    @cached_property
    def html(self) -> str:
        """As simplified HTML; a page that one comes back to is written once."""
        return f"<html>\n<body>\n{''.join(map(tagged, self.parts))}</body>\n</html>\n"

    @cached_property
    def clicks(self) -> dict[str, Deed]:
        """What each click does, by its words as `plain` makes them."""
        return {plain(part.label): part.deed for part in walk(self.parts) if part.deed}

    @cached_property
    def deeds(self) -> dict[str, Deed]:
        """The same by its name in the HTML."""
        return {part.name: part.deed for part in walk(self.parts) if part.deed}


@dataclass(frozen=True, slots=True)
class Listed:
    """A product as results show it; prices in cents, the cheapest variant's and the dearest's."""

    number: int
    """Its place among all results, from 1."""
    id: str
    title: str
    low: int
    high: int
    rating: float | None
    reviews: int | None
    sold_out: bool


@dataclass(frozen=True, slots=True)
class Refinement:
    """A way to see fewer of the results."""

    key: str
    """`customer_reviews`, `price_up_to_40`; its name on the page is `refinements.KEY`."""
    shown: str
    """`4 stars and up`."""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An option of a product, as its page offers it."""

    name: str
    values: tuple[str, ...]
    chosen: str | None


@dataclass(frozen=True, slots=True)
class Line:
    """Some pieces of one variant, in the cart or bought."""

    product_id: str
    variant_id: str
    """Empty for a product without variants."""
    title: str
    said: str
    """Its options: `size M, color red`."""
    cents: int
    """Of one piece."""
    pieces: int = 1


# Readings


def text(page: Page) -> str:
    """The page as WebShop writes it, everything that can be read joined by ` [SEP] `."""
    return SEP.join(part.text for part in walk(page.parts) if part.text)


def html(page: Page) -> str:
    """The page as simplified HTML: structure, visible text and the names of what can be acted on."""
    return page.html


def tagged(part: Element) -> str:
    tag, text, name, _, _, inside = part
    if name:
        name = f' name="{escape(name) if SPECIAL.search(name) else name}"'
    if tag == "input":
        return f"<input{name}>"
    if text and SPECIAL.search(text):
        text = escape(text, quote=False)
    within = "".join(map(tagged, inside)) if inside else ""
    return f"<{tag}{name}>{text}{within}</{tag}>{ENDS[tag]}"


def walk(parts: Iterable[Element]) -> list[Element]:
    """All parts, as they are read."""
    found: list[Element] = []
    for part in parts:
        found.append(part)
        if part.inside:
            found += walk(part.inside)
    return found


def clickables(page: Page) -> list[str]:
    """What can stand in `click[...]` on this page, from top to bottom."""
    return [part.label for part in walk(page.parts) if part.deed]


def names(page: Page) -> dict[str, str]:
    """What can be clicked in the page's HTML, by name, and what then stands in `click[...]`."""
    return {part.name: part.label for part in walk(page.parts) if part.deed}


def can_search(page: Page) -> bool:
    """Whether there is a search box."""
    return any(part.name == SEARCH_INPUT for part in walk(page.parts))


def plain(words: str) -> str:
    """The words of a click without what does not tell one from another: case, spaces, full width.

    >>> plain(" Ｂuy  NOW "), plain("4½ in")
    ('buy now', '41⁄2 in')
    """
    words = words.lower()
    if not words.isascii():
        words = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", words).lower())
    return " ".join(words.split())


def visible(words: str) -> str:
    """What others wrote as it is shown: on one line, without letters that nobody sees and without the mark between parts.

    >>> visible("red\\n [sep] \\0blue")
    'red (SEP) blue'
    """
    if not words.isprintable() or "  " in words:
        words = " ".join("".join(letter if letter.isprintable() else " " for letter in words).split())
    return MARK.sub("(SEP)", words.strip()) if "[" in words else words.strip()


@lru_cache(4_096)
def slug(words: str, or_else: str) -> str:
    """Its first words as a name, which has no dots.

    >>> slug("Fleece throw-blanket, gray (50 x 60 in)", "product"), slug("??", "product")
    ('fleece_throw_blanket_gray_50', 'product')
    """
    found = SLUG.findall(words[: 10 * SLUG_LETTERS].lower())[:SLUG_WORDS]
    return "_".join(found)[:SLUG_LETTERS].strip("_") or or_else


def dollars(cents: int) -> str:
    """
    >>> dollars(129905), dollars(7)
    ('$1299.05', '$0.07')
    """
    return f"${cents // 100}.{cents % 100:02d}"


def spread(low: int, high: int) -> str:
    """
    >>> spread(999, 999), spread(999, 1250)
    ('$9.99', '$9.99 to $12.50')
    """
    return dollars(low) if low == high else f"{dollars(low)} to {dollars(high)}"


def rated(rating: float | None, reviews: int | None) -> str:
    """
    >>> rated(4.5, 12), rated(None, None)
    ('Rating: 4.5 (12 reviews)', 'Rating: N.A. (0 reviews)')
    """
    return f"Rating: {'N.A.' if rating is None else rating} ({reviews or 0} review{'' if reviews == 1 else 's'})"


# Parts


class Apart:
    """Gives what others named a click and a name that nothing else on its page has."""

    def __init__(self) -> None:
        self.clicks, self.names = set(FIXED), set[str]()

    def part(self, tag: Tag, shown: Sequence[str], name: tuple[str, str], deed: Deed, mark: str = "") -> Element:
        """
        shown: ways to write it, the best first; mark: what is said of it beside its click.

        name: in two parts; the first is numbered where another has both already.
        """
        ways = [way for way in map(visible, shown) if way] or ["?"]
        label = free(ways, self.clicks)
        return Element(tag, label + mark, self.named(*name), deed, label.lower())

    def named(self, head: str, tail: str) -> str:
        found = head + tail
        if found in self.names:
            found = next(way for number in count(2) if (way := f"{head}_{number}{tail}") not in self.names)
        self.names.add(found)
        return found


def free(ways: Sequence[str], taken: set[str]) -> str:
    """The first that is not taken, or the last with a number; now it is.

    >>> free(["red", "color: red"], {"red"}), free(["red"], {"red", "red (2)"})
    ('color: red', 'red (3)')
    """
    for way in chain(ways, (f"{ways[-1]} ({number})" for number in count(2))):
        if (key := plain(way)) not in taken:
            taken.add(key)
            return way
    raise AssertionError("numbers end")


def button(shown: str, name: str, *deed: str) -> Element:
    """One of the shop's own."""
    return Element("button", shown, name, deed, shown.lower())


def said(tag: Tag, words: str) -> Element:
    return Element(tag, visible(words))


def box(tag: Tag, *inside: Element) -> Element:
    return Element(tag, inside=inside)


def navigation(header: bool, *more: Element) -> Element:
    """What stands above a page; with a header one can search and see the cart from everywhere, as in a real shop."""
    if not header:
        return box("div", button("Back to Search", "nav.back_to_search", "home"), *more)
    return box(
        "div", button("Home", "nav.home", "home"), *search(), button("View Cart", "nav.view_cart", "view cart"), *more
    )


def search() -> tuple[Element, Element]:
    return Element("input", name=SEARCH_INPUT), button("Search", "search_button", "search")


def back() -> Element:
    return button("< Prev", "nav.previous", "back")


# Pages


def home(*, header: bool = False) -> Page:
    """The first page, with the search box; its button without words shows what is popular."""
    return Page("home", "Shop", (said("h1", "Shop"), navigation(True) if header else box("div", *search())))


def results(
    query: str,
    number: int,
    total: int,
    shown: Sequence[Listed],
    *,
    refinements: Sequence[Refinement] = (),
    header: bool = False,
) -> Page:
    """number: of the page, from 1; total: results on all pages; shown: those of this one."""
    apart = Apart()
    query = visible(query[:SHOWN_LETTERS])
    title = f'Results for "{query}"' if query else "Most popular"
    before = (button("< Prev", "results.previous_page", "turn", str(number - 1)),) if number > 1 else ()
    after = (button("Next >", "results.next_page", "turn", str(number + 1)),) if number * PAGE < total else ()
    place = said("span", f"Page {number} (Total results: {total})")
    fewer = (box("div", *(refining(each, apart) for each in refinements)),) if refinements else ()
    lines = tuple(listed(each, apart) for each in shown)
    head = navigation(header), said("h1", title), *fewer, box("div", place, *before, *after)
    return Page("results", title, (*head, box("ul", *lines)))


def refining(each: Refinement, apart: Apart) -> Element:
    """A chosen one is undone by the same button."""
    deed = "refine", "" if each.chosen else each.key
    return apart.part("button", [each.shown], ("refinements.", each.key), deed, " (chosen)" if each.chosen else "")


def listed(each: Listed, apart: Apart) -> Element:
    name = slug(each.title, "product"), ".view_product"
    link = apart.part("a", [each.id], name, ("open", str(each.number)))
    price, rating = Element("span", spread(each.low, each.high)), Element("span", rated(each.rating, each.reviews))
    gone = (Element("span", "Sold out"),) if each.sold_out else ()
    return box("li", Element("span", f"{each.number}."), link, said("span", each.title), price, rating, *gone)


def product(item: Item, axes: Sequence[Axis], cents: Sequence[int], stock: Stock, *, header: bool = False) -> Page:
    """cents: prices of the variants that fit what is chosen; stock: of any of them."""
    apart = Apart()
    title = visible(item.title)
    price = (said("p", f"Price: {spread(min(cents), max(cents))}"),) if cents else ()
    facts = *price, said("p", rated(item.rating, item.review_count)), said("p", stock)
    tabs = box("div", *(button(tab.capitalize(), f"tabs.{tab}", "tab", tab) for tab in TABS))
    add = (button("Add to Cart", "cart.add_to_cart", "add"),) if header else ()
    buy = box("div", *add, button("Buy Now", "cart.buy_now", "buy"))
    options = [offered(axis, apart) for axis in axes]
    return Page("product", title, (navigation(header, back()), *options, said("h1", title), *facts, tabs, buy))


def offered(axis: Axis, apart: Apart) -> Element:
    """An option with its values; one that other words on the page are like is written `size: large`."""
    head = f"options.{slug(axis.name, 'option')}."
    values = (
        apart.part(
            "button",
            [value, f"{axis.name}: {value}"],
            (head + slug(value, "value"), ""),
            ("choose", axis.name, value),
            " (chosen)" if value == axis.chosen else "",
        )
        for value in axis.values
    )
    return box("div", said("p", axis.name), box("ul", *(box("li", value) for value in values)))


def description(item: Item, *, header: bool = False) -> Page:
    return tab("description", item, [said("p", item.description or "No description")], header)


def features(item: Item, axes: Sequence[Axis], bullets: Sequence[str] = (), *, header: bool = False) -> Page:
    """What the product is known by; where it comes in several, all of them."""
    lines = [*bullets, *(f"{name}: {value}" for name, value in known(item, axes))]
    return tab("features", item, [box("ul", *(said("li", line) for line in lines))], header)


def known(item: Item, axes: Sequence[Axis]) -> Iterator[tuple[str, str]]:
    """Facts by name, as a page says them."""
    own = {"brand": item.brand, "color": item.color, "category": item.category, "shipping days": item.shipping_days}
    facts = [(name, str(value)) for name, value in own.items() if value is not None]
    facts += [(written(each.name), each.value) for each in item.attributes]
    offers = [(written(axis.name), ", ".join(axis.values)) for axis in axes]
    yield from (fact for fact in facts if fact[0] not in dict(offers))
    yield from offers


def written(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


def reviews(item: Item, *, header: bool = False) -> Page:
    """Their mean and number, which is all that the catalog holds of them."""
    return tab("reviews", item, [said("p", rated(item.rating, item.review_count))], header)


def tab(kind: Kind, item: Item, parts: Iterable[Element], header: bool) -> Page:
    title = visible(item.title)
    return Page(kind, title, (navigation(header, back()), said("h1", title), said("p", kind.capitalize()), *parts))


def cart(lines: Sequence[Line]) -> Page:
    """What is in the cart, each line with a button that buys one piece of it and one that takes it out."""
    apart = Apart()
    total = said("p", f"Total: {dollars(sum(line.cents * line.pieces for line in lines))}")
    buy = (total, box("div", button("Checkout", "cart.checkout", "checkout"))) if lines else ()
    shown = tuple(box("li", *put(line), *choices(line, apart)) for line in lines)
    rest = (box("ul", *shown),) if lines else (said("p", "The cart is empty"),)
    return Page("cart", "Cart", (navigation(True, back()), said("h1", "Cart"), *rest, *buy))


def choices(line: Line, apart: Apart) -> Iterator[Element]:
    name, known = slug(line.title, "product"), line.variant_id or line.product_id
    for shown, deed in (("Buy", "buy line"), ("Remove", "remove")):
        tail = f".{deed.split()[0]}"
        yield apart.part("button", [f"{shown} {known}"], (name, tail), (deed, line.product_id, line.variant_id))


def put(line: Line) -> list[Element]:
    told = (line.product_id, line.title, line.said, f"{line.pieces} x {dollars(line.cents)}")
    return [said("span", words) for words in told if words]


def bought(lines: Sequence[Line], *, header: bool = False) -> Page:
    """What was bought; without a header the end, and nothing to click."""
    total = said("p", f"Total: {dollars(sum(line.cents * line.pieces for line in lines))}")
    shown = box("ul", *(box("li", *put(line)) for line in lines))
    head = (navigation(True, back()),) if header else ()
    return Page("bought", "Thank you for your order", (*head, said("h1", "Thank you for your order"), shown, total))
