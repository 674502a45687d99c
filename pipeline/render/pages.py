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

from shopwright.pipeline.languages import ENGLISH, PageWords
from shopwright.pipeline.shop.store import Item

PageKind = Literal["home", "results", "product", "description", "features", "reviews", "cart", "bought"]
Tag = Literal["h1", "ul", "li", "div", "p", "span", "input", "button", "a"]
# What a click does, for `shopwright.pipeline.shop.browser`: a verb, and what it is done with.
ClickEffect = tuple[str, ...]
Availability = Literal["In stock", "Sold out", "Not offered in this combination"]
SEP = " [SEP] "
WORDS = ENGLISH.pages
# The name of the search box, into which is typed; everything else that has a name is clicked.
SEARCH_INPUT = "search_input"
# Results on a page.
PAGE = 20
TABS: tuple[PageKind, ...] = ("description", "features", "reviews")
# Clicks that are the shop's own, on whatever page; no product and no option has one of them.
SHOP_LABELS = [
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
MARK = re.compile(r"\[\s*SEP\s*\]", re.IGNORECASE)
# Most texts have none, and are HTML as they are.
SPECIAL = re.compile(r"[&<>\"']")
ENDS = {tag: "" if tag in ("span", "a", "button", "input") else "\n" for tag in get_args(Tag)}
SLUG = re.compile(r"[^\W_]+")
SLUG_WORDS = 5
SLUG_LETTERS = 60
# Letters of a query that its results repeat.
SHOWN_LETTERS = 200


class Element(NamedTuple):
    """Something on a page: a text, or a box with others in it."""

    tag: Tag
    text: str = ""
    name: str = ""
    """No other part of its page has it; empty: nothing can be done with this one."""
    deed: ClickEffect = ()
    """Empty: it cannot be clicked."""
    label: str = ""
    """What stands in `click[...]`, in lower case."""
    inside: "tuple[Element, ...]" = ()


@dataclass(frozen=True)
class Page:
    """What a shopper sees at once."""

    kind: PageKind
    title: str
    parts: tuple[Element, ...]

    @cached_property
    def html(self) -> str:
        """As simplified HTML; a page that one comes back to is written once."""
        return f"<html>\n<body>\n{''.join(map(render_element, self.parts))}</body>\n</html>\n"

    @cached_property
    def clicks(self) -> dict[str, ClickEffect]:
        """What each click does, by its words as `normalize_click_words` makes them."""
        return {normalize_click_words(part.label): part.deed for part in list_elements(self.parts) if part.deed}

    @cached_property
    def deeds(self) -> dict[str, ClickEffect]:
        """The same by its name in the HTML."""
        return {part.name: part.deed for part in list_elements(self.parts) if part.deed}


@dataclass(frozen=True, slots=True)
class ResultEntry:
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
class OptionAxis:
    """An option of a product, as its page offers it."""

    name: str
    values: tuple[str, ...]
    chosen: str | None


@dataclass(frozen=True, slots=True)
class CartRow:
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


def render_page_text(page: Page) -> str:
    """The page as WebShop writes it, everything that can be read joined by ` [SEP] `."""
    return SEP.join(part.text for part in list_elements(page.parts) if part.text)


def render_page_html(page: Page) -> str:
    """The page as simplified HTML: structure, visible text and the names of what can be acted on."""
    return page.html


def render_element(part: Element) -> str:
    tag, text, name, _, _, inside = part
    if name:
        name = f' name="{escape(name) if SPECIAL.search(name) else name}"'
    if tag == "input":
        return f"<input{name}>"
    if text and SPECIAL.search(text):
        text = escape(text, quote=False)
    within = "".join(map(render_element, inside)) if inside else ""
    return f"<{tag}{name}>{text}{within}</{tag}>{ENDS[tag]}"


def list_elements(parts: Iterable[Element]) -> list[Element]:
    """All parts, as they are read."""
    found: list[Element] = []
    for part in parts:
        found.append(part)
        if part.inside:
            found += list_elements(part.inside)
    return found


def list_clickables(page: Page) -> list[str]:
    """What can stand in `click[...]` on this page, from top to bottom."""
    return [part.label for part in list_elements(page.parts) if part.deed]


def map_names_to_labels(page: Page) -> dict[str, str]:
    """What can be clicked in the page's HTML, by name, and what then stands in `click[...]`."""
    return {part.name: part.label for part in list_elements(page.parts) if part.deed}


def can_search(page: Page) -> bool:
    """Whether there is a search box."""
    return any(part.name == SEARCH_INPUT for part in list_elements(page.parts))


def normalize_click_words(words: str) -> str:
    """The words of a click without what does not tell one from another: case, spaces, full width.

    >>> normalize_click_words(" Ｂuy  NOW "), normalize_click_words("4½ in")
    ('buy now', '41⁄2 in')
    """
    words = words.lower()
    if not words.isascii():
        words = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", words).lower())
    return " ".join(words.split())


def sanitize_text(words: str) -> str:
    """What others wrote as it is shown: on one line, without letters that nobody sees and without the mark between parts.

    >>> sanitize_text("red\\n [sep] \\0blue")
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


def format_money(cents: int, words: PageWords = WORDS) -> str:
    """
    >>> format_money(129905), format_money(7)
    ('$1299.05', '$0.07')
    """
    return words.money.format(amount=f"{cents // 100}.{cents % 100:02d}")


def format_price_range(low: int, high: int, words: PageWords = WORDS) -> str:
    """
    >>> format_price_range(999, 999), format_price_range(999, 1250)
    ('$9.99', '$9.99 to $12.50')
    """
    cheapest, dearest = format_money(low, words), format_money(high, words)
    return cheapest if low == high else words.money_range.format(low=cheapest, high=dearest)


def format_rating(rating: float | None, reviews: int | None, words: PageWords = WORDS) -> str:
    """
    >>> format_rating(4.5, 12), format_rating(None, None)
    ('Rating: 4.5 (12 reviews)', 'Rating: N.A. (0 reviews)')
    """
    form = words.one_rating if reviews == 1 else words.rating
    return form.format(rating="N.A." if rating is None else rating, count=reviews or 0)


# Parts


class LabelAllocator:
    """Gives what others named a click and a name that nothing else on its page has."""

    def __init__(self) -> None:
        self.clicks, self.names = set(SHOP_LABELS), set[str]()

    def part(self, tag: Tag, shown: Sequence[str], name: tuple[str, str], deed: ClickEffect, mark: str = "") -> Element:
        """
        shown: ways to write it, the best first; mark: what is said of it beside its click.

        name: in two parts; the first is numbered where another has both already.
        """
        ways = [way for way in map(sanitize_text, shown) if way] or ["?"]
        label = claim_label(ways, self.clicks)
        return Element(tag, label + mark, self.make_unique(*name), deed, label.lower())

    def make_unique(self, head: str, tail: str) -> str:
        found = head + tail
        if found in self.names:
            found = next(way for number in count(2) if (way := f"{head}_{number}{tail}") not in self.names)
        self.names.add(found)
        return found


def claim_label(ways: Sequence[str], taken: set[str]) -> str:
    """The first that is not taken, or the last with a number; now it is.

    >>> claim_label(["red", "color: red"], {"red"}), claim_label(["red"], {"red", "red (2)"})
    ('color: red', 'red (3)')
    """
    for way in chain(ways, (f"{ways[-1]} ({number})" for number in count(2))):
        if (key := normalize_click_words(way)) not in taken:
            taken.add(key)
            return way
    raise AssertionError("numbers end")


def build_button(shown: str, name: str, *deed: str) -> Element:
    """One of the shop's own."""
    return Element("button", shown, name, deed, shown.lower())


def build_text(tag: Tag, words: str) -> Element:
    return Element(tag, sanitize_text(words))


def build_box(tag: Tag, *inside: Element) -> Element:
    return Element(tag, inside=inside)


def build_navigation(header: bool, *more: Element) -> Element:
    """What stands above a page; with a header one can search and see the cart from everywhere, as in a real shop."""
    if not header:
        return build_box("div", build_button("Back to Search", "nav.back_to_search", "home"), *more)
    return build_box(
        "div",
        build_button("Home", "nav.home", "home"),
        *build_search_box(),
        build_button("View Cart", "nav.view_cart", "view cart"),
        *more,
    )


def build_search_box() -> tuple[Element, Element]:
    return Element("input", name=SEARCH_INPUT), build_button("Search", "search_button", "search")


def build_back_button() -> Element:
    return build_button("< Prev", "nav.previous", "back")


# Pages


def build_shop_home_page(*, header: bool = False, words: PageWords = WORDS) -> Page:
    """The first page, with the search box; its button without words shows what is popular."""
    return Page(
        "home",
        words.shop,
        (build_text("h1", words.shop), build_navigation(True) if header else build_box("div", *build_search_box())),
    )


def build_results_page(
    query: str,
    number: int,
    total: int,
    shown: Sequence[ResultEntry],
    *,
    refinements: Sequence[Refinement] = (),
    header: bool = False,
    words: PageWords = WORDS,
) -> Page:
    """number: of the page, from 1; total: results on all pages; shown: those of this one."""
    apart = LabelAllocator()
    query = sanitize_text(query[:SHOWN_LETTERS])
    title = words.results.format(query=query) if query else words.popular
    before = (build_button("< Prev", "results.previous_page", "turn", str(number - 1)),) if number > 1 else ()
    after = (build_button("Next >", "results.next_page", "turn", str(number + 1)),) if number * PAGE < total else ()
    place = build_text("span", words.place.format(number=number, total=total))
    buttons = []
    for each in refinements:
        # A chosen one is undone by the same button.
        deed = "refine", "" if each.chosen else each.key
        chosen = words.chosen if each.chosen else ""
        buttons.append(apart.part("button", [each.shown], ("refinements.", each.key), deed, chosen))
    fewer = (build_box("div", *buttons),) if buttons else ()
    lines = tuple(build_result_entry(each, apart, words) for each in shown)
    head = build_navigation(header), build_text("h1", title), *fewer, build_box("div", place, *before, *after)
    return Page("results", title, (*head, build_box("ul", *lines)))


def build_result_entry(each: ResultEntry, apart: LabelAllocator, words: PageWords) -> Element:
    name = slug(each.title, "product"), ".view_product"
    link = apart.part("a", [each.id], name, ("open", str(each.number)))
    price, rating = (
        Element("span", format_price_range(each.low, each.high, words)),
        Element("span", format_rating(each.rating, each.reviews, words)),
    )
    gone = (Element("span", words.sold_out),) if each.sold_out else ()
    return build_box(
        "li", Element("span", f"{each.number}."), link, build_text("span", each.title), price, rating, *gone
    )


def build_product_page(
    item: Item,
    axes: Sequence[OptionAxis],
    cents: Sequence[int],
    stock: Availability,
    *,
    header: bool = False,
    words: PageWords = WORDS,
) -> Page:
    """cents: prices of the variants that fit what is chosen; stock: of any of them."""
    apart = LabelAllocator()
    title = sanitize_text(item.title)
    price = words.price.format(price=format_price_range(min(cents), max(cents), words)) if cents else ""
    rating = format_rating(item.rating, item.review_count, words)
    told = {"In stock": words.in_stock, "Sold out": words.sold_out}.get(stock, words.not_offered)
    facts = tuple(build_text("p", each) for each in (price, rating, told) if each)
    tabs = build_box("div", *(build_button(tab.capitalize(), f"tabs.{tab}", "tab", tab) for tab in TABS))
    add = (build_button("Add to Cart", "cart.add_to_cart", "add"),) if header else ()
    buy = build_box("div", *add, build_button("Buy Now", "cart.buy_now", "buy"))
    options = [build_option_list(axis, apart, words) for axis in axes]
    return Page(
        "product",
        title,
        (build_navigation(header, build_back_button()), *options, build_text("h1", title), *facts, tabs, buy),
    )


def build_option_list(axis: OptionAxis, apart: LabelAllocator, words: PageWords) -> Element:
    """An option with its values; one that other words on the page are like is written `size: large`."""
    head, shown = f"options.{slug(axis.name, 'option')}.", words.name(axis.name)
    values = (
        apart.part(
            "button",
            [value, words.fact.format(name=shown, value=value)],
            (head + slug(value, "value"), ""),
            ("choose", axis.name, value),
            words.chosen if value == axis.chosen else "",
        )
        for value in axis.values
    )
    return build_box("div", build_text("p", shown), build_box("ul", *(build_box("li", value) for value in values)))


def build_description_page(item: Item, *, header: bool = False, words: PageWords = WORDS) -> Page:
    parts = [build_text("p", item.description or words.no_description)]
    return build_tab_page("description", words.description, item, parts, header)


def build_features_page(
    item: Item,
    axes: Sequence[OptionAxis],
    bullets: Sequence[str] = (),
    *,
    header: bool = False,
    words: PageWords = WORDS,
) -> Page:
    """What the product is known by; where it comes in several, all of them."""
    facts = [(words.name(name), value) for name, value in list_item_facts(item, axes, words)]
    lines = [*bullets, *(words.fact.format(name=name, value=value) for name, value in facts)]
    return build_tab_page(
        "features", words.features, item, [build_box("ul", *(build_text("li", line) for line in lines))], header
    )


def list_item_facts(item: Item, axes: Sequence[OptionAxis], words: PageWords = WORDS) -> Iterator[tuple[str, str]]:
    """Facts by name, as a page says them."""
    own = {"brand": item.brand, "color": item.color, "category": item.category, "shipping days": item.shipping_days}
    facts = [(name, str(value)) for name, value in own.items() if value is not None]
    facts += [(normalize_fact_name(each.name), each.value) for each in item.attributes]
    offers = [(normalize_fact_name(axis.name), words.listed.join(axis.values)) for axis in axes]
    yield from (fact for fact in facts if fact[0] not in dict(offers))
    yield from offers


def normalize_fact_name(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


def build_reviews_page(item: Item, *, header: bool = False, words: PageWords = WORDS) -> Page:
    """Their mean and number, which is all that the catalog holds of them."""
    parts = [build_text("p", format_rating(item.rating, item.review_count, words))]
    return build_tab_page("reviews", words.reviews, item, parts, header)


def build_tab_page(kind: PageKind, head: str, item: Item, parts: Iterable[Element], header: bool) -> Page:
    title = sanitize_text(item.title)
    return Page(
        kind,
        title,
        (
            build_navigation(header, build_back_button()),
            build_text("h1", title),
            build_text("p", head),
            *parts,
        ),
    )


def build_cart_page(lines: Sequence[CartRow], *, words: PageWords = WORDS) -> Page:
    """What is in the cart, each line with a button that buys one piece of it and one that takes it out."""
    apart = LabelAllocator()
    total = build_total(lines, words)
    buy = (total, build_box("div", build_button("Checkout", "cart.checkout", "checkout"))) if lines else ()
    shown = tuple(build_box("li", *build_cart_texts(line, words), *build_cart_buttons(line, apart)) for line in lines)
    rest = (build_box("ul", *shown),) if lines else (build_text("p", words.empty),)
    head = build_navigation(True, build_back_button()), build_text("h1", words.cart)
    return Page("cart", words.cart, (*head, *rest, *buy))


def build_total(lines: Sequence[CartRow], words: PageWords) -> Element:
    amount = format_money(sum(line.cents * line.pieces for line in lines), words)
    return build_text("p", words.total.format(amount=amount))


def build_cart_buttons(line: CartRow, apart: LabelAllocator) -> Iterator[Element]:
    name, known = slug(line.title, "product"), line.variant_id or line.product_id
    for shown, deed in (("Buy", "buy line"), ("Remove", "remove")):
        tail = f".{deed.split()[0]}"
        yield apart.part("button", [f"{shown} {known}"], (name, tail), (deed, line.product_id, line.variant_id))


def build_cart_texts(line: CartRow, words: PageWords) -> list[Element]:
    texts = (line.product_id, line.title, line.said, f"{line.pieces} x {format_money(line.cents, words)}")
    return [build_text("span", each) for each in texts if each]


def build_purchase_page(lines: Sequence[CartRow], *, header: bool = False, words: PageWords = WORDS) -> Page:
    """What was bought; without a header the end, and nothing to click."""
    shown = build_box("ul", *(build_box("li", *build_cart_texts(line, words)) for line in lines))
    head = (build_navigation(True, build_back_button()),) if header else ()
    parts = (*head, build_text("h1", words.thanks), shown, build_total(lines, words))
    return Page("bought", words.thanks, parts)
