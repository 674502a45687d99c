"""What a session's rationales claim, read from their words alone, held against the pages and against what was done next.

It shares nothing with what chose and phrased them (`shopwright.pipeline.behaviors`, the phrase bank): pages are read from their HTML, sentences by
`shopwright.pipeline.reading.rationales`. What code wrote has to be read as its row's reason, to the last word; what a model wrote may say more,
but what is understood of it has to be so.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape, unescape
from itertools import chain
from itertools import product as cartesian
from typing import Any, NamedTuple

from shopwright.pipeline.reading.rationales import Reading, Seen, read_rationale
from shopwright.pipeline.shop.store import Item
from shopwright.schemas.behaviors import Behavior, BehaviorStep

MONEY = r"\$(\d+(?:\.\d\d)?)"
LISTED = re.compile(
    rf'<li><span>\d+\.</span><a name="([^"]*)">([^<]*)</a><span>([^<]*)</span><span>{MONEY}(?: to {MONEY})?</span>'
    r"<span>Rating: (\S+) \((\d+) [^<]*</span>(<span>Sold out</span>)?"
)
HEADING = re.compile(r"<h1>([^<]*)</h1>")
PRICE = re.compile(rf"<p>Price: {MONEY}(?: to {MONEY})?</p>")
RATING = re.compile(r"<p>Rating: (\d\S*) ")
OPTION_NAME = re.compile(r"<div><p>([^<]*)</p>\n<ul>")
LINE = re.compile(r"<li><span>([^<]*)</span><span>([^<]*)</span>.*?</li>")
BUTTON = re.compile(r'<button name="([^"]*)">')
TAG = re.compile(r"<[^>]*>")
LETTERS = re.compile(r"[^\W\d_]{3,}")
WORD = re.compile(r"[^\W_]+")
# Words of a search that no title repeats.
FILLING = frozenset(
    "a an and any at best buy by cheap deal deals for from in of on or price reviews sale the to top under with".split()
)
# A garden set and a watercolor set are no things of one kind.
SEVERAL = frozenset("set kit pack piece pair bundle box".split())
# Stars from which on the shop calls a product well rated.
GOOD = 4.0


@dataclass(frozen=True)
class Thing:
    """A product as a page shows it; cents."""

    id: str
    title: str
    low: int
    high: int
    rating: float | None
    sold_out: bool = False
    reviews: int = 0


class ProductAction(NamedTuple):
    """What a step does with a product: `open`, `cart`, `buy`."""

    verb: str
    thing: Thing


@dataclass
class Moment:
    """One step: what its page shows, what is done there and what is said of it."""

    said: str
    name: str
    typed: str
    page: str
    listed: list[Thing]
    product: Thing | None
    deed: ProductAction | None


@dataclass
class SessionStory:
    """A session, read page by page."""

    moments: list[Moment]
    item: Callable[[str], Item | None]
    names_of_brands: tuple[str, ...]
    """Those that the shopper prefers."""
    known: dict[str, Thing] = field(default_factory=dict)
    """By title, what was seen by now."""
    prices: dict[str, set[int]] = field(default_factory=dict)
    """By title, what pages said by now that it costs at least."""

    @property
    def brands(self) -> frozenset[str]:
        return frozenset(each.lower() for each in self.names_of_brands)

    def see(self, now: Moment) -> None:
        for each in (*now.listed, now.product, now.deed.thing if now.deed and now.deed.verb == "buy" else None):
            if each:
                self.known[each.title] = each
                self.prices.setdefault(each.title, set()).add(each.low)

    def had_cart(self, at: int) -> bool:
        """Whether something was seen in the cart, or is bought later without being put there."""
        return any(each.name.endswith(".buy") or each.name == "nav.view_cart" for each in self.moments)

    def deeds(self, first: int, last: int | None, *verbs: str) -> list[ProductAction]:
        """Of the steps from the first on, before the last."""
        return [each.deed for each in self.moments[first:last] if each.deed and each.deed.verb in verbs]

    def after(self, at: int, *verbs: str) -> list[ProductAction]:
        return self.deeds(at + 1, None, *(verbs or ("open", "cart", "buy")))

    def before(self, at: int, *verbs: str) -> list[ProductAction]:
        return self.deeds(0, at, *verbs)

    def is_met_again(self, at: int, thing: Thing) -> bool:
        return any(deed.thing.title == thing.title for deed in self.after(at))

    def queries(self, at: int) -> list[str]:
        """What was typed until then."""
        return [each.typed for each in self.moments[:at] if each.typed]

    def alike(self, one: Thing, other: Thing) -> bool:
        """Whether they are things of one kind: of one leaf category, with a word of their titles in common that is no brand or color."""
        first, second = self.item(one.id), self.item(other.id)
        if first is None or second is None or first.category != second.category:
            return False
        brands_and_colors = f"{first.brand or ''} {first.color or ''} {second.brand or ''} {second.color or ''}"
        shared = collect_title_words(first.title) & collect_title_words(second.title)
        return bool(shared - collect_title_words(brands_and_colors) - SEVERAL)


def collect_title_words(text: str) -> set[str]:
    """Its words, without the s of several.

    >>> sorted(collect_title_words("Oak lamps 12 in"))
    ['lamp', 'oak']
    """
    return {word.lower().removesuffix("s") for word in LETTERS.findall(text)}


# Reading pages


# Pages come again: a search, back to it, and the next step of it.
@lru_cache(512)
def parse_product_list(html: str) -> dict[str, Thing]:
    """By the name of its link."""
    found = {}
    for name, id, title, low, high, rating, reviews, gone in LISTED.findall(html):
        stars = None if rating == "N.A." else float(rating)
        found[unescape(name)] = Thing(
            unescape(id), unescape(title), parse_cents(low), parse_cents(high or low), stars, bool(gone), int(reviews)
        )
    return found


def parse_cents(money: str) -> int:
    """
    >>> parse_cents("12.50"), parse_cents("40")
    (1250, 4000)
    """
    dollars, _, rest = money.partition(".")
    return 100 * int(dollars) + int(rest or 0)


def parse_product_page(html: str, known: dict[str, Thing]) -> Thing | None:
    """The product that a page is about."""
    heading, price, rating = HEADING.search(html), PRICE.search(html), RATING.search(html)
    seen = known.get(unescape(heading[1])) if heading else None
    if seen is None or "cart.buy_now" not in html:
        return seen
    low, high = (parse_cents(price[1]), parse_cents(price[2] or price[1])) if price else (seen.low, seen.high)
    return Thing(seen.id, seen.title, low, high, float(rating[1]) if rating else None, "<p>Sold out</p>" in html)


def read_moments(steps: Sequence[BehaviorStep]) -> Iterator[Moment]:
    known: dict[str, Thing] = {}
    for step in steps:
        action: dict[str, Any] = json.loads(step.action)
        listed = parse_product_list(step.html)
        known |= {thing.title: thing for thing in listed.values()}
        product, name = parse_product_page(step.html, known), action.get("name", "")
        deed = None
        if name in listed:
            deed = ProductAction("open", listed[name])
        elif name in ("cart.add_to_cart", "cart.buy_now") and product:
            deed = ProductAction("cart" if name == "cart.add_to_cart" else "buy", product)
        elif name.endswith(".buy") and (bought := find_cart_line(step.html, name)):
            deed = ProductAction("buy", bought)
        if product:
            known[product.title] = product
        text = unescape(TAG.sub(" ", step.html))
        yield Moment(step.rationale, name, action.get("text", ""), text, list(listed.values()), product, deed)


def find_cart_line(html: str, name: str) -> Thing | None:
    """The thing of the cart whose button has this name."""
    for line in LINE.finditer(html):
        if name in map(unescape, BUTTON.findall(line[0])):
            paid = parse_cents(re.findall(MONEY, line[0])[-1])
            return Thing(unescape(line[1]), unescape(line[2]), paid, paid, None)
    return None


# Reading sentences


@dataclass
class Sentence:
    """A rationale as it was read: what it names, at which step."""

    at: int
    things: list[list[Thing]]
    """What each product that it names can be; alike titles are alike here."""
    amounts: list[str]
    numbers: list[str]
    facts: dict[str, str]
    """What the expression of the claim caught."""


def see_step(story: SessionStory, at: int, step: BehaviorStep) -> Seen:
    """What a shopper knows at a step: what the pages have shown until then."""
    now = story.moments[at]
    opened = [deed.thing.title for deed in reversed(story.before(at, "open", "cart", "buy"))]
    listed = next((each.listed for each in reversed(story.moments[: at + 1]) if each.listed), [])
    option, value = find_choice(step.html, now.name)
    if now.product:
        things = [now.product]
    else:
        lines = LINE.finditer(step.html)
        things = now.listed or [Thing(unescape(line[1]), unescape(line[2]), 0, 0, None) for line in lines]
    return Seen(
        place=find_place(step.html, now),
        page=[each.title for each in things],
        opened=opened,
        listed=[each.title for each in listed],
        typed=now.typed,
        before=[query for query in reversed(story.queries(at)) if query != now.typed],
        brands=story.names_of_brands,
        option=option,
        value=value,
    )


def find_place(html: str, now: Moment) -> str:
    """The kind of page, by what stands on it."""
    heading = HEADING.search(html)
    title = unescape(heading[1]) if heading else ""
    if now.product:
        return "product" if "cart.add_to_cart" in html else "text"
    return {"Cart": "cart", "Shop": "home", "Thank you for your order": "bought"}.get(title, "results")


def find_choice(html: str, name: str) -> tuple[str, str]:
    """Of an option's button its option and its value, as the page writes them."""
    before, button, after = html.partition(f'<button name="{escape(name)}">')
    if not name.startswith("options.") or not button:
        return "", ""
    option = unescape(OPTION_NAME.findall(before)[-1])
    return option, unescape(after.partition("<")[0]).removesuffix(" (chosen)").removeprefix(f"{option}: ")


# Claims


Claim = Callable[[SessionStory, Sentence], str | None]
CLAIMS: dict[str, list[Claim]] = {}


def register_claim(*names: str) -> Callable[[Claim], Claim]:
    """What has to be so where a sentence claims one of these, by the names that the reader has for them."""

    def kept(claim: Claim) -> Claim:
        for name in names:
            CLAIMS.setdefault(name, []).append(claim)
        return claim

    return kept


def find_subject(story: SessionStory, sentence: Sentence) -> list[Thing]:
    """What a sentence is about: what the page shows or what is opened, where it is named or nothing is; else what is named first."""
    now = story.moments[sentence.at]
    here = now.deed.thing if now.deed else now.product
    named = [each.title for each in chain.from_iterable(sentence.things)]
    if here and (not sentence.things or here.title in named):
        return [here]
    return sentence.things[0] if sentence.things else []


def fault_unless_any(things: Sequence[Thing], holds: Callable[[Thing], bool], fault: str) -> str | None:
    return None if not things or any(holds(each) for each in things) else fault


def amounts_are_of_pages(story: SessionStory, sentence: Sentence) -> str | None:
    """Every amount is a price of something that was seen, or stands in what was typed or among the ways to see fewer results."""
    typed = " ".join([story.moments[sentence.at].typed, *story.queries(sentence.at)])
    for amount in sentence.amounts:
        cents = parse_cents(amount)
        priced = any(cents in prices for prices in story.prices.values())
        priced = priced or any(each.high == cents for each in story.known.values())
        # "$1" does not stand in "$19.49".
        shown = re.search(rf"\${re.escape(amount)}(?![.,]?\d)", story.moments[sentence.at].page)
        if not priced and not shown and amount not in re.findall(r"\d+", typed):
            return "names an amount that no page shows"
    return None


def ratings_are_the_subjects(story: SessionStory, sentence: Sentence) -> str | None:
    """A rating that is named is that of the product that is spoken of."""
    things = find_subject(story, sentence)
    if not things:
        return None
    # A number of its title, such as 1.7 oz, is no rating.
    titles = "\n".join(each.title for each in things)
    rated = [number for number in sentence.numbers if "." in number and number not in titles]
    found = {f"{each.rating}" for each in things if each.rating is not None}
    return None if set(rated) <= found else "names a rating that is another product's"


def prices_are_the_subjects(story: SessionStory, sentence: Sentence) -> str | None:
    """Where one product and one amount are named, that is its price."""
    if len(sentence.things) != 1 or len(sentence.amounts) != 1 or sentence.facts:
        return None
    now, cents = story.moments[sentence.at], parse_cents(sentence.amounts[0])
    titles = [each.title for each in sentence.things[0]]
    own = set(chain.from_iterable(story.prices.get(title, ()) for title in titles))
    own |= {each.high for each in sentence.things[0]}
    if now.product and now.product.title in titles:
        own |= {now.product.low, now.product.high}
    return None if cents in own else "names a price that is another product's"


@register_claim("cheaper", "dear beside another")
def cheaper_one_costs_less(story: SessionStory, sentence: Sentence) -> str | None:
    """Of two things of one kind the cheaper is cheaper, at the prices that pages showed."""
    facts, now = sentence.facts, story.moments[sentence.at]
    here = [now.deed.thing] if now.deed else [now.product] if now.product else []
    others = list(story.known.values())
    cheap = sentence.things[int(facts["c"])] if "c" in facts else (here if now.deed else others)
    dear = sentence.things[int(facts["d"])] if "d" in facts else (others if now.deed else here)
    less, more = (parse_cents(facts[each]) if each in facts else None for each in ("cm", "dm"))
    pairs = [(one, other) for one, other in cartesian(cheap, dear) if one.title != other.title]
    right = [
        (one, other)
        for one, other in pairs
        if {less or one.low} <= story.prices.get(one.title, set())
        and {more or other.low} <= story.prices.get(other.title, set())
        and (less or one.low) < (more or other.low)
    ]
    if not right:
        return "is cheaper than what costs no more"
    return None if any(story.alike(*each) for each in right) else "compares unlike things"


@register_claim("cheapest")
def is_cheapest(story: SessionStory, sentence: Sentence) -> str | None:
    now = story.moments[sentence.at]
    if now.deed is None:
        return None
    this = now.deed.thing
    if any(each.low < this.low for each in now.listed):
        return "is the cheapest, and another costs less"
    others = (each for each in now.listed if each.id != this.id)
    return None if any(story.alike(this, each) for each in others) else "compares unlike things"


@register_claim("best rated")
def is_best_rated(story: SessionStory, sentence: Sentence) -> str | None:
    now = story.moments[sentence.at]
    if now.deed is None:
        return None
    best = max((each.rating or 0.0 for each in now.listed), default=0.0)
    return None if now.deed.thing.rating == best else "is the best rated, and another is rated better"


@register_claim("most reviewed")
def is_most_reviewed(story: SessionStory, sentence: Sentence) -> str | None:
    now = story.moments[sentence.at]
    if now.deed is None:
        return None
    others = (each.reviews for each in now.listed if each.id != now.deed.thing.id)
    most = now.deed.thing.reviews > max(others, default=0)
    return None if most else "has the most reviews, and another has as many"


@register_claim("top of list")
def is_at_the_top(story: SessionStory, sentence: Sentence) -> str | None:
    now = story.moments[sentence.at]
    first = now.listed[0] if now.listed else None
    is_first = now.deed is None or first is None or (now.deed.thing.id == first.id and "Page 1 " in now.page)
    return None if is_first else "is at the top, and is not"


@register_claim("another one", "after others")
def something_was_opened_before(story: SessionStory, sentence: Sentence) -> str | None:
    return None if story.before(sentence.at, "open") else "speaks of another, and opened none before"


@register_claim("asked for")
def fits_the_search(story: SessionStory, sentence: Sentence) -> str | None:
    """The title has the search's words, and the thing is not given up afterwards."""
    query = (story.queries(sentence.at) or [""])[-1]
    wanted = {word.lower().removesuffix("s") for word in WORD.findall(query)} - FILLING
    things = find_subject(story, sentence)

    def fits(thing: Thing) -> bool:
        return wanted <= {word.lower().removesuffix("s") for word in WORD.findall(thing.title)}

    if fault := fault_unless_any(things, fits, "fits the search, and its title lacks words of it"):
        return fault
    return fault_unless_any(
        things,
        lambda each: any(deed.thing.title == each.title for deed in story.after(sentence.at, "cart", "buy")),
        "is what was searched for, and is given up",
    )


@register_claim("dear", "dear beside another")
def is_too_dear(story: SessionStory, sentence: Sentence) -> str | None:
    """It is let go, and nothing that costs as much is opened later, or was or will be taken."""
    now = story.moments[sentence.at]
    this = now.product or next(iter(find_subject(story, sentence)), None)
    if this is None:
        return None
    if story.is_met_again(sentence.at, this):
        return "is too dear, and is taken up again"
    others = story.after(sentence.at) + story.before(sentence.at, "cart", "buy")
    return "is too dear, and something as dear is not" if any(each.thing.low >= this.low for each in others) else None


@register_claim("poor rating")
def is_poorly_rated(story: SessionStory, sentence: Sentence) -> str | None:
    now = story.moments[sentence.at]
    this = now.product or next(iter(find_subject(story, sentence)), None)
    if this is None or this.rating is None:
        return "is poorly rated, and no page shows how"
    if this.rating >= GOOD:
        return "is poorly rated, and is not"
    if story.is_met_again(sentence.at, this):
        return "is poorly rated, and is taken up again"
    others = [*story.after(sentence.at), *story.before(sentence.at, "cart", "buy")]
    worse = any(each.thing.rating is not None and each.thing.rating <= this.rating for each in others)
    return "is poorly rated, and something rated no better is not" if worse else None


@register_claim("well rated")
def is_well_rated(story: SessionStory, sentence: Sentence) -> str | None:
    return fault_unless_any(
        find_subject(story, sentence), lambda each: (each.rating or 0.0) >= GOOD, "is well rated, and is not"
    )


@register_claim("other color")
def is_of_another_color(story: SessionStory, sentence: Sentence) -> str | None:
    """The page says the one color and not the other, and what is opened or taken later is not of the first."""
    now = story.moments[sentence.at]
    have, want = (set(WORD.findall(sentence.facts.get(each, ""))) for each in ("have", "want"))
    title = set(WORD.findall((now.product.title if now.product else "").lower()))
    asked = set(WORD.findall(" ".join(story.queries(sentence.at)).lower()))
    if not have <= title:
        return "is of a color that its title does not say"
    if not want <= asked:
        return "wants a color that was not searched for"
    if now.product and story.is_met_again(sentence.at, now.product):
        return "is of the wrong color, and is taken up again"
    for deed in story.after(sentence.at):
        later = set(WORD.findall(deed.thing.title.lower()))
        if have and have <= later and not want <= later:
            return "is of the wrong color, and another of it is not"
    return None


@register_claim("sold out")
def is_sold_out(story: SessionStory, sentence: Sentence) -> str | None:
    now = story.moments[sentence.at]
    if now.product is None or not now.product.sold_out:
        return "is sold out, and the page does not say so"
    return "is sold out, and is taken up again" if story.is_met_again(sentence.at, now.product) else None


@register_claim("liked")
def may_be_it(story: SessionStory, sentence: Sentence) -> str | None:
    return fault_unless_any(
        find_subject(story, sentence),
        lambda each: story.is_met_again(sentence.at, each),
        "could be the one, and is forgotten",
    )


@register_claim("others")
def others_are_seen(story: SessionStory, sentence: Sentence) -> str | None:
    """What is to be compared: another is opened, or was."""
    now = story.moments[sentence.at]
    this = now.product or (now.deed.thing if now.deed else None)
    seen = story.after(sentence.at, "open") if now.product else story.before(sentence.at, "open")
    other = this is None or any(each.thing.title != this.title for each in seen)
    return None if other else "compares with others, and opens none"


@register_claim("not it")
def is_given_up(story: SessionStory, sentence: Sentence) -> str | None:
    things = find_subject(story, sentence)
    fault = fault_unless_any(
        things, lambda each: not story.is_met_again(sentence.at, each), "is given up, and is taken up again"
    )
    taken = {deed.thing.title for deed in story.before(sentence.at, "cart")}
    return fault or fault_unless_any(
        things, lambda each: each.title not in taken, "is given up, and was put in the cart"
    )


@register_claim("several", "nothing found at all")
def nothing_was_right(story: SessionStory, sentence: Sentence) -> str | None:
    return "finds nothing, and took something" if story.before(sentence.at, "cart", "buy") else None


@register_claim("several", "after others")
def several_were_seen(story: SessionStory, sentence: Sentence) -> str | None:
    opened = {deed.thing.title for deed in story.before(sentence.at, "open")}
    return None if len(opened) > 1 else "speaks of several, and opened one"


@register_claim("nothing on page")
def page_has_nothing(story: SessionStory, sentence: Sentence) -> str | None:
    here = {each.title for each in story.moments[sentence.at].listed}
    met = [*story.after(sentence.at), *story.before(sentence.at, "cart", "buy")]
    return "finds nothing on a page, and takes up something of it" if any(d.thing.title in here for d in met) else None


@register_claim("bought", "rest can wait", "got it all")
def was_bought(story: SessionStory, sentence: Sentence) -> str | None:
    return None if story.before(sentence.at, "buy") else "has bought, and bought nothing"


@register_claim("got it all")
def all_was_bought(story: SessionStory, sentence: Sentence) -> str | None:
    """Nothing was searched for after it."""
    steps = enumerate(story.moments[: sentence.at])
    bought = max((place for place, each in steps if each.deed and each.deed.verb == "buy"), default=0)
    searched = any(each.typed for each in story.moments[bought:])
    return "has what it came for, and searched for more" if bought and searched else None


@register_claim("in cart", "later")
def is_in_the_cart(story: SessionStory, sentence: Sentence) -> str | None:
    """Something was put there in this session, or lay there before."""
    put = {deed.thing.title for deed in story.before(sentence.at, "cart")}
    if not sentence.things:
        return None if put or story.had_cart(sentence.at) else "has something in the cart, and put nothing there"
    return fault_unless_any(sentence.things[0], lambda each: each.title in put, "is in the cart, and was not put there")


@register_claim("limit")
def is_the_limit(story: SessionStory, sentence: Sentence) -> str | None:
    """What is opened or taken until the next search, or until the limit is taken away, costs no more."""
    most = parse_cents(next(iter(sentence.facts.values()), "0"))
    for each in story.moments[sentence.at + 1 :]:
        if each.typed or each.name.startswith("refinements."):
            return None
        if each.deed and each.deed.verb != "buy" and each.deed.thing.low > most:
            return "sets a limit, and does not keep to it"
    return None


@register_claim("trusts reviews")
def trusts_reviews(story: SessionStory, sentence: Sentence) -> str | None:
    met = [*story.after(sentence.at, "open", "cart"), *story.before(sentence.at, "cart")]
    poor = any((each.thing.rating or 0.0) < GOOD for each in met)
    return "trusts no poor reviews, and takes up something with them" if poor else None


@register_claim("nothing found")
def search_was_no_good(story: SessionStory, sentence: Sentence) -> str | None:
    opened = {deed.thing.title for deed in story.before(sentence.at, "open")}
    if story.before(sentence.at, "cart"):
        return "saw nothing in mind, and put something in the cart"
    again = any(deed.thing.title in opened for deed in story.after(sentence.at))
    return "saw nothing in mind, and takes it up again" if again else None


def count_query_words(query: str) -> set[str]:
    return {word.removesuffix("s") for word in WORD.findall(query.lower())} - FILLING - SEVERAL


@register_claim("narrower")
def search_is_narrower(story: SessionStory, sentence: Sentence) -> str | None:
    """It has more words than the one before."""
    before, now = (story.queries(sentence.at) or [""])[-1], story.moments[sentence.at].typed
    sizes = [len(set(WORD.findall(each.lower())) - FILLING) for each in (before, now)]
    return None if sizes[0] < sizes[1] else "is more precise, with no more words"


@register_claim("wider")
def search_is_wider(story: SessionStory, sentence: Sentence) -> str | None:
    before, now = (story.queries(sentence.at) or [""])[-1], story.moments[sentence.at].typed
    sizes = [len(set(WORD.findall(each.lower()))) for each in (before, now)]
    return None if sizes[0] > sizes[1] else "is wider, with no fewer words"


@register_claim("same again")
def search_was_made_before(story: SessionStory, sentence: Sentence) -> str | None:
    same = story.moments[sentence.at].typed in story.queries(sentence.at)
    return None if same else "searches for it again, and has not before"


@register_claim("first search")
def nothing_was_searched_for(story: SessionStory, sentence: Sentence) -> str | None:
    """Nothing of this kind: it may be another errand."""
    before = (story.queries(sentence.at) or [""])[-1]
    again = count_query_words(before) & count_query_words(story.moments[sentence.at].typed)
    return "is a first search, and there was one like it" if again else None


@register_claim("another errand", "something else", "other words")
def something_was_searched_for(story: SessionStory, sentence: Sentence) -> str | None:
    return None if story.queries(sentence.at) else "turns to another search, and made none before"


@register_claim("likes brand")
def brand_is_liked(story: SessionStory, sentence: Sentence) -> str | None:
    things = find_subject(story, sentence)
    return fault_unless_any(
        things,
        lambda each: any(brand in each.title.lower() for brand in story.brands),
        "likes a brand that the customer does not prefer",
    )


@register_claim("from before")
def was_met_before(story: SessionStory, sentence: Sentence) -> str | None:
    """It lay in the cart from before, or something else was done since it was put there."""
    now = story.moments[sentence.at]
    if now.deed is None or now.deed.verb != "buy":
        return None
    places = [
        at
        for at, each in enumerate(story.moments[: sentence.at])
        if each.deed and each.deed.verb == "cart" and each.deed.thing.id == now.deed.thing.id
    ]
    between = story.deeds(places[-1] + 1, sentence.at, "open", "cart", "buy") if places else [now.deed]
    return None if between else "has thought about it long, and saw it just now"


GENERAL: tuple[Claim, ...] = (amounts_are_of_pages, ratings_are_the_subjects, prices_are_the_subjects)


def find_contradiction(
    behavior: Behavior, item: Callable[[str], Item | None], brands: Sequence[str], *, strict: bool = True
) -> str | None:
    """The first rationale that is not read as its reason, or claims what its pages or what was done next say otherwise.

    strict: every word has to be understood; a model's words need not be.
    """
    story = SessionStory(list(read_moments(behavior.steps)), item, tuple(brands))
    for at, (now, step) in enumerate(zip(story.moments, behavior.steps, strict=True)):
        story.see(now)
        reading = read_rationale(now.said, see_step(story, at, step))
        if strict and reading.fault:
            return f"a rationale that {reading.fault}"
        if strict and step.reason not in reading.reasons:
            return f"a rationale that is read as {' or '.join(sorted(reading.reasons))}"
        if fault := find_false_claim(story, at, reading, step.reason):
            return f"a rationale that {fault}"
    return None


def find_false_claim(story: SessionStory, at: int, reading: Reading, reason: str) -> str | None:
    things = [[thing for thing in story.known.values() if thing.title == title] for title in reading.things]
    plain = Sentence(at, things, reading.amounts, reading.numbers, {})
    caught = dict(chain.from_iterable(claim.facts.items() for claim in reading.claims))
    for holds in GENERAL:
        if fault := holds(story, replace(plain, facts=caught)):
            return fault
    for claim in reading.claims:
        if reason not in claim.reasons & reading.reasons:
            continue
        for holds in CLAIMS.get(claim.name, ()):
            if fault := holds(story, replace(plain, facts=claim.facts)):
                return fault
    return None
