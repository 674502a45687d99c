"""What a session's rationales claim, read from their words alone, held against the pages and against what was done next.

It shares nothing with what chose and phrased them (`shopwright.pipeline.behaviors`): pages are read from their HTML, products are found in a sentence
by their titles, and each claim by its verb. A sentence without a claim that is known here says nothing that could be wrong.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from itertools import chain
from itertools import product as cartesian
from typing import Any, NamedTuple

from shopwright.pipeline.shop.store import Item
from shopwright.schemas.behaviors import Behavior, BehaviorStep

MONEY = r"\$(\d+(?:\.\d\d)?)"
LISTED = re.compile(
    rf'<li><span>\d+\.</span><a name="([^"]*)">([^<]*)</a><span>([^<]*)</span><span>{MONEY}(?: to {MONEY})?</span>'
    r"<span>Rating: (\S+) [^<]*</span>(<span>Sold out</span>)?"
)
HEADING = re.compile(r"<h1>([^<]*)</h1>")
PRICE = re.compile(rf"<p>Price: {MONEY}(?: to {MONEY})?</p>")
RATING = re.compile(r"<p>Rating: (\d\S*) ")
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
    brands: frozenset[str]
    """Those that the shopper prefers, in lower case."""
    known: dict[str, Thing] = field(default_factory=dict)
    """By title, what was seen by now."""
    prices: dict[str, set[int]] = field(default_factory=dict)
    """By title, what pages said by now that it costs at least."""

    def see(self, now: Moment) -> None:
        for each in (*now.listed, now.product, now.deed.thing if now.deed and now.deed.verb == "buy" else None):
            if each:
                self.known[each.title] = each
                self.prices.setdefault(each.title, set()).add(each.low)

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


@lru_cache(512)
def parse_product_list(html: str) -> dict[str, Thing]:
    """By the name of its link."""
    found = {}
    for name, id, title, low, high, rating, gone in LISTED.findall(html):
        stars = None if rating == "N.A." else float(rating)
        found[unescape(name)] = Thing(
            unescape(id), unescape(title), parse_cents(low), parse_cents(high or low), stars, sold_out=bool(gone)
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
    """A rationale with its products as `@0@`, `@1@`, and its searches as `#`, in lower case."""

    text: str
    things: list[list[Thing]]
    """Of each product that is named, those that the words may mean: titles begin alike."""
    names: list[str]
    """These words."""
    at: int


def parse_rationale(story: SessionStory, at: int) -> Sentence:
    """
    Words that stand at the beginning of several titles may mean any of them: what is true of one of these is not wrong.
    """
    now = story.moments[at]
    text = now.said
    queries = [now.typed, *story.queries(at)]
    for query in sorted({" ".join(each.split()) for each in queries if each}, key=len, reverse=True):
        text = text.replace(f'"{query}"', "#")
    named: dict[str, list[Thing]] = {}
    for thing in story.known.values():
        if words := find_title_beginning(thing.title, text):
            named.setdefault(words, []).append(thing)
    names: list[str] = []
    for words in sorted(named, key=len, reverse=True):
        if compile_whole_words(words).search(text):
            text = compile_whole_words(words).sub(f"@{len(names)}@", text)
            names.append(words)
    return Sentence(text.lower(), [named[words] for words in names], names, at)


def find_title_beginning(title: str, text: str) -> str:
    """The longest beginning of a title, of two words or more or all of it, that a text has as words of its own; empty where it has none.

    >>> find_title_beginning("Oak lamp 12 in", "I open the Oak lamp 120 again."), find_title_beginning("Lamp", "I see lamps.")
    ('Oak lamp', '')
    """
    parts = title.split(" ")
    if parts[0].rstrip(",;:") not in text:
        return ""
    for count in range(len(parts), min(2, len(parts)) - 1, -1):
        words = " ".join(parts[:count]).rstrip(" ,;:-–/|(&")
        if words and words in text and compile_whole_words(words).search(text):
            return words
    return ""


@lru_cache(1_024)
def compile_whole_words(words: str) -> re.Pattern[str]:
    """Where these stand and no letter goes on with them."""
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")


# Claims


Claim = Callable[[SessionStory, Sentence, re.Match[str]], str | None]
CLAIMS: list[tuple[re.Pattern[str], Claim]] = []


def register_claim(*ways: str) -> Callable[[Claim], Claim]:
    """What a sentence claims that is said in one of these ways."""

    def kept(claim: Claim) -> Claim:
        CLAIMS.extend((re.compile(way), claim) for way in ways)
        return claim

    return kept


def find_subject(story: SessionStory, sentence: Sentence) -> list[Thing]:
    """What a sentence is about: what the page shows or what is opened, where it is named or nothing is; else what is named first."""
    now = story.moments[sentence.at]
    here = now.deed.thing if now.deed else now.product
    named = [each.title for each in chain.from_iterable(sentence.things)]
    if here and (not sentence.things or here.title in named):
        return [here]
    if found := re.search(r"@(\d+)@", sentence.text):
        return sentence.things[int(found[1])]
    return []


def fault_unless_any(things: Sequence[Thing], holds: Callable[[Thing], bool], fault: str) -> str | None:
    return None if not things or any(holds(each) for each in things) else fault


P, M = r"@(?P<{}>\d+)@", r"\$(?P<{}>\d+(?:\.\d\d)?)"


def list_comparison_patterns() -> list[str]:
    """Which is cheaper (c) and which dearer (d): products and what they cost."""
    cheap, dear, less, more = P.format("c"), P.format("d"), M.format("cm"), M.format("dm")
    return [
        rf"{cheap} costs less than (?:the )?{dear}",
        rf"{dear} was {more}; the {cheap} is cheaper",
        rf"rather pay {less} than {more}.*{cheap}",
        rf"{more} is a lot when i can have the {cheap} for {less}",
        rf"saw the {cheap} at {less}, so (?:from )?{more} for the {dear} is too much",
        rf"{dear} costs (?:from )?{more}, and the {cheap} only {less}",
    ]


@register_claim(*list_comparison_patterns())
def cheaper_one_costs_less(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """Of two things of one kind the cheaper is cheaper, at the prices that pages showed."""
    groups = found.groupdict()
    now = story.moments[sentence.at]
    here = [now.deed.thing] if now.deed else [now.product] if now.product else []
    others = list(story.known.values())
    cheap = sentence.things[int(groups["c"])] if groups.get("c") else others
    dear = sentence.things[int(groups["d"])] if groups.get("d") else (others if now.deed else here)
    less, more = (parse_cents(groups[each]) if groups.get(each) else None for each in ("cm", "dm"))
    pairs = [(one, other) for one, other in cartesian(cheap, dear) if one.title != other.title]
    right = [
        (one, other)
        for one, other in pairs
        if {less or one.low} <= story.prices[one.title]
        and {more or other.low} <= story.prices[other.title]
        and (less or one.low) < (more or other.low)
    ]
    if not right:
        return "is cheaper than what costs no more"
    return None if any(story.alike(*each) for each in right) else "compares unlike things"


@register_claim(r"cheaper|costs less|less expensive|more expensive|dearer|pricier")
def compares(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """Two products that are compared are of one kind, in whatever words."""
    if len(sentence.things) < 2:
        return None
    pairs = cartesian(sentence.things[0], sentence.things[1])
    return None if any(story.alike(*each) for each in pairs) else "compares unlike things"


@register_claim(r"cheapest here", r"nothing on this page costs less", r"lowest price i see")
def is_cheapest(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    now = story.moments[sentence.at]
    if now.deed is None:
        return None
    this = now.deed.thing
    if any(each.low < this.low for each in now.listed):
        return "is the cheapest, and another costs less"
    others = (each for each in now.listed if each.id != this.id)
    return None if any(story.alike(this, each) for each in others) else "compares unlike things"


@register_claim(r"best rating on this page", r"nobody here beats", r"the best i see here")
def is_best_rated(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    now = story.moments[sentence.at]
    if now.deed is None:
        return None
    best = max((each.rating or 0.0 for each in now.listed), default=0.0)
    return None if now.deed.thing.rating == best else "is the best rated, and another is rated better"


@register_claim(r"word for word", r"just what i asked for", r"this is what i meant by", r"has every word of")
def fits_the_search(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
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


@register_claim(
    r"too much for me", r"more than i want to", r"over my budget", r"cannot justify", r"not at \$", r"is a lot when",
    r"; i go back to the list",
)  # fmt: skip
def is_too_dear(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """It is let go, and nothing that costs as much is opened later, or was or will be taken."""
    now = story.moments[sentence.at]
    this = now.product or next(iter(find_subject(story, sentence)), None)
    if this is None:
        return None
    if story.is_met_again(sentence.at, this):
        return "is too dear, and is taken up again"
    others = story.after(sentence.at) + story.before(sentence.at, "cart", "buy")
    return "is too dear, and something as dear is not" if any(each.thing.low >= this.low for each in others) else None


@register_claim(
    r"is too low for me",
    r"would not buy something rated",
    r" only (\d\.\d|\d), so i go back",
    r"rated only",
    r"not sure about something rated",
)
def is_poorly_rated(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
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


@register_claim(
    r"comes in (?P<have>.+), and i want (?P<want>.+), so",
    r"looking for (?P<want>.+), not (?P<have>.+), so",
    r"is (?P<have>[^;]+); i would rather have it in (?P<want>[^.]+)",
)
def is_of_another_color(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """The page says the one color and not the other, and what is opened or taken later is not of the first."""
    now = story.moments[sentence.at]
    have, want = (set(WORD.findall(found[each])) for each in ("have", "want"))
    title = set(WORD.findall((now.product.title if now.product else "").lower()))
    if not have <= title:
        return "is of a color that its title does not say"
    if want <= set(WORD.findall(now.page.lower())) and not want <= set(
        WORD.findall(" ".join(story.queries(sentence.at)).lower())
    ):
        return "is not of the color that its page offers"
    if now.product and story.is_met_again(sentence.at, now.product):
        return "is of the wrong color, and is taken up again"
    for deed in story.after(sentence.at):
        later = set(WORD.findall(deed.thing.title.lower()))
        if have <= later and not want <= later:
            return "is of the wrong color, and another of it is not"
    return None


@register_claim(r"is sold out")
def is_sold_out(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    now = story.moments[sentence.at]
    if now.product is None or not now.product.sold_out:
        return "is sold out, and the page does not say so"
    return "is sold out, and is taken up again" if story.is_met_again(sentence.at, now.product) else None


@register_claim(r"could be the one")
def may_be_it(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    return fault_unless_any(
        find_subject(story, sentence),
        lambda each: story.is_met_again(sentence.at, each),
        "could be the one, and is forgotten",
    )


@register_claim(
    r"compare it with others",
    r"look at another one",
    r"what else there is",
    r"go back to compare",
    r"so i want to compare",
)
def others_are_seen(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """What is to be compared: another is opened, or was."""
    now = story.moments[sentence.at]
    this = now.product or (now.deed.thing if now.deed else None)
    seen = story.after(sentence.at, "open") if now.product else story.before(sentence.at, "open")
    other = this is None or any(each.thing.title != this.title for each in seen)
    return None if other else "compares with others, and opens none"


@register_claim(r"not quite what i had in mind", r"not convinced by", r"does not convince me", r"was close, but")
def is_given_up(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    things = find_subject(story, sentence)
    fault = fault_unless_any(
        things, lambda each: not story.is_met_again(sentence.at, each), "is given up, and is taken up again"
    )
    taken = {deed.thing.title for deed in story.before(sentence.at, "cart")}
    return fault or fault_unless_any(
        things, lambda each: each.title not in taken, "is given up, and was put in the cart"
    )


@register_claim(
    r"none of these is", r"none is quite right", r"nothing of what i saw", r"have not found what", r"nothing else convinced",
    r"i saw nothing better",
)  # fmt: skip
def nothing_was_right(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    return "finds nothing, and took something" if story.before(sentence.at, "cart", "buy") else None


@register_claim(r"several things and none", r"none of these is", r"compared with the others")
def several_were_seen(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    opened = {deed.thing.title for deed in story.before(sentence.at, "open")}
    return None if len(opened) > 1 else "speaks of several, and opened one"


@register_claim(r"nothing on this page is quite right")
def page_has_nothing(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    here = {each.title for each in story.moments[sentence.at].listed}
    met = [*story.after(sentence.at), *story.before(sentence.at, "cart", "buy")]
    return "finds nothing on a page, and takes up something of it" if any(d.thing.title in here for d in met) else None


@register_claim(r"my order is placed", r"i have bought")
def was_bought(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    return None if story.before(sentence.at, "buy") else "has bought, and bought nothing"


@register_claim(r"what i came for", r"do not need anything else", r"nothing else here tempts")
def all_was_bought(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """Nothing was searched for after it."""
    if not story.before(sentence.at, "buy"):
        return "has bought, and bought nothing"
    bought = max(
        place for place, each in enumerate(story.moments[: sentence.at]) if each.deed and each.deed.verb == "buy"
    )
    searched = any(each.typed for each in story.moments[bought:])
    return "has what it came for, and searched for more" if searched else None


@register_claim(r"is in my cart", r"safe in my cart", r"have put the .* in my cart")
def is_in_the_cart(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    put = {deed.thing.title for deed in story.before(sentence.at, "cart")}
    if not sentence.things:
        return None if put else "has something in the cart, and put nothing there"
    return fault_unless_any(sentence.things[0], lambda each: each.title in put, "is in the cart, and was not put there")


@register_claim(r"want to spend more than \$(?P<m>\d+)", r"budget for this is \$(?P<m>\d+)", r"things under \$(?P<m>\d+)", r"up to \$(?P<m>\d+) is (?:what|enough)", r"costs no more than \$(?P<m>\d+)", r"keep what costs up to \$(?P<m>\d+)")  # fmt: skip
def is_the_limit(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """What is opened or taken until the next search, or until the limit is taken away, costs no more."""
    most = 100 * int(found["m"])
    for each in story.moments[sentence.at + 1 :]:
        if each.typed or re.search(r"take it away|look at everything|show all", each.said):
            return None
        if each.deed and each.deed.verb != "buy" and each.deed.thing.low > most:
            return "sets a limit, and does not keep to it"
    return None


@register_claim(r"do not trust things with poor reviews")
def trusts_reviews(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    met = [*story.after(sentence.at, "open", "cart"), *story.before(sentence.at, "cart")]
    poor = any((each.thing.rating or 0.0) < GOOD for each in met)
    return "trusts no poor reviews, and takes up something with them" if poor else None


@register_claim(r"did not show me what i have in mind")
def search_was_no_good(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    opened = {deed.thing.title for deed in story.before(sentence.at, "open")}
    if story.before(sentence.at, "cart"):
        return "saw nothing in mind, and put something in the cart"
    again = any(deed.thing.title in opened for deed in story.after(sentence.at))
    return "saw nothing in mind, and takes it up again" if again else None


@register_claim(
    r"too broad for me", r"be more precise", r"fewer and better", r"i know better what i want", r"want to be more exact"
)
def search_is_narrower(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """It has more words than the one before."""
    before, now = (story.queries(sentence.at) or [""])[-1], story.moments[sentence.at].typed
    sizes = [len(set(WORD.findall(each.lower())) - FILLING) for each in (before, now)]
    return None if sizes[0] < sizes[1] else "is more precise, with no more words"


@register_claim(r"what (?:i )?(?:was|am) looking for, so i put", r"like the @\d+@ best", r"i am happy to put")
def is_liked(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    now = story.moments[sentence.at]
    return None if now.deed and now.deed.verb == "cart" else "is liked, and is not put in the cart"


@register_claim(
    r"i like (?P<brand>[^,]+), so the",
    r"good things from (?P<brand>[^,]+), so",
    r"is by (?P<brand>.+), a brand i trust",
)
def brand_is_liked(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    brand = re.sub(r"@(\d+)@", lambda name: sentence.names[int(name[1])].lower(), found["brand"])
    return None if brand in story.brands else "likes a brand that the customer does not prefer"


@register_claim(r"i have thought about", r"i still want the", r"keep thinking about")
def was_met_before(story: SessionStory, sentence: Sentence, found: re.Match[str]) -> str | None:
    """It lay in the cart from before, or something else was done since it was put there; or others were opened since it was."""
    now = story.moments[sentence.at]
    if now.deed is None:
        return None
    verbs = ("cart",) if now.deed.verb == "buy" else ("open",)
    last = [
        at
        for at, each in enumerate(story.moments[: sentence.at])
        if each.deed and each.deed.verb in verbs and each.deed.thing.id == now.deed.thing.id
    ]
    between = story.deeds(last[-1] + 1, sentence.at, "open", "cart", "buy") if last else [now.deed]
    return None if between else "has thought about it long, and saw it just now"


def find_contradiction(behavior: Behavior, item: Callable[[str], Item | None], brands: Sequence[str]) -> str | None:
    """The first claim of a session's rationales that its pages or what was done next say otherwise."""
    story = SessionStory(list(read_moments(behavior.steps)), item, frozenset(each.lower() for each in brands))
    for at, now in enumerate(story.moments):
        story.see(now)
        sentence = parse_rationale(story, at)
        for way, claim in CLAIMS:
            found = way.search(sentence.text)
            if found and (fault := claim(story, sentence, found)):
                return f"a rationale that {fault}"
    return None
