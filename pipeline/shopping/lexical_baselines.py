"""Two agents that read what they are told by rules: one by the words alone, one by a phrase book made from training tasks.

Both see what any agent sees, pages and clicks, and know nothing of the goal or of the catalog. How often they succeed says how much of a
task is in its code rather than in the shop.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from shopwright.pipeline.shopping.facts import is_within_bound, parse_measurement
from shopwright.pipeline.shopping.play import Observation, Play, TurnGenerator, format_turn
from shopwright.pipeline.words import content_words
from shopwright.schemas.shopping import Need, ShoppingTask

SEP = " [SEP] "
BUY = "click[buy now]"
SHOP_CLICKS = {"search", "back to search", "< prev", "next >", "buy now", "description", "features", "reviews"}
PRODUCT = re.compile(r"\d+\.")
AMOUNT = re.compile(r"[$¥]([\d,]+(?:\.\d\d)?)")
CHOSEN = re.compile(r" \(chosen\)$|（已选）$")
# What every rule reads of a price, whatever the book says.
LIMIT = re.compile(
    r"(?:under|below|less than|lower than|cheaper than|no more than|up to|at most|max(?:imum)?) \$?(\d+(?:\.\d+)?)"
)
LIMIT_AFTER = re.compile(r"\$?(\d+(?:\.\d+)?)(?: dollars| bucks)? (?:or less|at most|max|tops)")
ABOUT = re.compile(r"(?:about|around|roughly) \$?(\d+(?:\.\d+)?)(?: dollars| bucks|(?= |$|\.))")
MEASURE = re.compile(r"\d+(?:\.\d+)? ?[A-Za-z%°][\w%/]*(?: [a-z]+)?")
# Pages of results that the second one looks through, and products that it opens.
MOST_PAGES, MOST_OPENED = 4, 4
# Of naive Bayes: what is added to every count, and about how many words there are.
SMOOTH, MANY_WORDS = 0.05, 2_000
# People's units as titles write them.
UNITS_OF_TITLES = {
    "inches": "in", "inch": "in", "feet": "ft", "foot": "ft", "ounces": "oz", "ounce": "oz", "pounds": "lb", "pound": "lb", "watts": "W",
    "watt": "W", "w": "W", "liters": "L", "liter": "L", "l": "L", "quarts": "qt", "quart": "qt", "gallon": "gal", "minutes": "min", "minute": "min",
    "hour": "hours", "gb": "GB", "gigabytes": "GB", "yards": "yd", "yard": "yd",
}  # fmt: skip
DENIED = re.compile(r"\b(?:not|no|nothing|anything but|without)(?: (?:by|from|made of|with|in|an?|the))* ")


@dataclass(frozen=True)
class ResultLine:
    """A product as a list of results shows it."""

    id: str
    title: str
    low: float
    high: float


def parse_results(sight: Observation) -> list[ResultLine]:
    """The products on a page of results."""
    parts = sight.text.split(SEP)
    found = []
    for place, part in enumerate(parts[:-3]):
        id = parts[place + 1]
        if PRODUCT.fullmatch(part) and id.lower() in sight.clickables:
            prices = list_amounts(parts[place + 3]) or [0.0]
            found.append(ResultLine(id.lower(), parts[place + 2], min(prices), max(prices)))
    return found


def parse_axes(sight: Observation) -> list[list[str]]:
    """The values that can be clicked on a product's page, by what they are a choice of."""
    return list(parse_option_axes(sight).values())


def parse_option_axes(sight: Observation) -> dict[str, list[str]]:
    """The same by the names of the options, in lower case."""
    axes: dict[str, list[str]] = {}
    name = ""
    for part in sight.text.split(SEP):
        value = CHOSEN.sub("", part).lower()
        if value not in sight.clickables or value in SHOP_CLICKS:
            name = value
        elif name:
            axes.setdefault(name, []).append(value)
    return axes


def list_amounts(text: str) -> list[float]:
    """Prices in a text, as an English or a Chinese shop writes them."""
    return [float(each.replace(",", "")) for each in AMOUNT.findall(text)]


def stands_in(value: str, text: str) -> bool:
    """Whether a value is in a text as words of its own.

    >>> stands_in("Red", "a red mug"), stands_in("red", "a tired mug"), stands_in("不锈钢", "不锈钢杯")
    (True, False, True)
    """
    small, text = value.lower(), text.lower()
    if small not in text or not value.isascii():
        return small in text
    return re.search(rf"(?<![\w.]){re.escape(small)}(?![\w]|[.-]\w)", text) is not None


def read_words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


def turn(play: Play, action: str) -> str:
    return format_turn("", action, play.multi)


def stop_buying(play: Play) -> TurnGenerator:
    while True:
        yield turn(play, "click[back to search]")


# By words alone


def play_lexical(play: Play) -> TurnGenerator:
    """Searches what it was told, opens the result that shares most words with it, and picks the values that do."""
    told = read_words(play.opening)
    sight = yield turn(play, f"search[{play.opening}]")
    results = parse_results(sight)
    if results:
        best = max(results, key=lambda each: len(told & read_words(each.title)))
        sight = yield turn(play, f"click[{best.id}]")
        for values in parse_axes(sight):
            value = max(values, key=lambda each: count_shared(told, each))
            yield turn(play, f"click[{value}]")
        yield turn(play, BUY)
    yield from stop_buying(play)


def count_shared(told: frozenset[str], value: str) -> float:
    """How much of a value was told, more where all of it was."""
    words = read_words(value)
    return len(told & words) / len(words) + len(told & words) / 100 if words else 0.0


# By a phrase book


@dataclass(frozen=True)
class PhraseBook:
    """What phrases of training tasks meant, in each category and in any; and how often words stood in a category's tasks."""

    meanings: Mapping[tuple[str, str], Need]
    """By category (empty: in any) and phrase, the most frequent need."""
    words: Mapping[str, Counter[str]]

    def guess_category(self, text: str) -> str:
        """By naive Bayes, the category in whose tasks such words stood."""
        told = sorted(read_words(text))
        return max(sorted(self.words), key=lambda each: self.rate(self.words[each], told), default="")

    def rate(self, found: Counter[str], told: Sequence[str]) -> float:
        total = sum(found.values()) + SMOOTH * MANY_WORDS
        return sum(log((found[word] + SMOOTH) / total) for word in told)

    def find_phrases(self, text: str, category: str) -> Iterator[tuple[str, Need]]:
        """Those that stand in the text, the longest first; none inside another."""
        rest = f" {text.lower()} "
        known = {phrase: need for (where, phrase), need in self.meanings.items() if where == ""}
        known |= {phrase: need for (where, phrase), need in self.meanings.items() if where == category}
        for phrase in sorted(known, key=lambda each: (-len(each), each)):
            found = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", rest) if phrase in rest else None
            if found:
                rest = rest[: found.start()] + "\0" * len(phrase) + rest[found.end() :]
                yield phrase, known[phrase]


def make_phrase_book(tasks: Iterable[ShoppingTask]) -> PhraseBook:
    """From the training tasks among these."""
    seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    needs: dict[str, Need] = {}
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        if task.split != "train":
            continue
        words[task.category].update(read_words(task.instruction))
        for need in task.needs:
            if need.fact != "price":
                phrases = {need.said.lower(), need.value.lower()} if need.known == "stated" else {need.value.lower()}
                plain = need.model_copy(update={"op": "is"})
                for phrase in sorted(phrases):
                    meant = need if phrase == need.said.lower() else plain
                    key = f"{meant.fact}|{meant.op}|{meant.value}"
                    needs[key] = meant
                    for where in (task.category, ""):
                        seen[where, phrase][key] += 1
    return PhraseBook({key: needs[found.most_common(1)[0][0]] for key, found in seen.items()}, dict(words))


@dataclass
class BookReader:
    """What the book and the rules make of one instruction."""

    book: PhraseBook
    text: str
    category: str = ""
    needs: list[Need] = field(default_factory=list)
    low: float = 0.0
    high: float = float("inf")

    def __post_init__(self) -> None:
        self.category = self.book.guess_category(self.text)
        rest = self.text.lower()
        if limit := LIMIT.search(rest) or LIMIT_AFTER.search(rest):
            self.high = float(limit[1])
        elif about := ABOUT.search(rest):
            self.low, self.high = 0.9 * float(about[1]), 1.1 * float(about[1])
        for phrase, need in self.book.find_phrases(spell_units(self.text), self.category):
            denied = need.op == "is" and re.search(DENIED.pattern + re.escape(phrase), rest)
            self.needs.append(need.model_copy(update={"op": "is not"}) if denied else need)
            rest = rest.replace(phrase, " ")
        # What the book does not know is taken at its word.
        self.rest = spell_units(rest)

    @property
    def query(self) -> str:
        values = [need.value for need in self.needs if need.op == "is"]
        return " ".join([self.category, *values]) or self.text

    def rate(self, text: str) -> float:
        """How well a title, or all that a page says, agrees with what was read."""
        lower = text.lower()
        score = sum(self.rate_need(need, lower) for need in self.needs)
        measures = sum(found.lower() in lower for found in MEASURE.findall(self.rest))
        return score + measures + 0.5 * len(read_words(self.rest) & read_words(text))

    def rate_need(self, need: Need, text: str) -> float:
        stands = re.search(rf"(?<!\w){re.escape(need.value.lower())}(?!\w)", text) is not None
        if need.op in ("is", "is not"):
            return (1.0 if stands else 0.0) if need.op == "is" else (-1.0 if stands else 0.5)
        wanted = parse_measurement(need.value)
        for found in MEASURE.findall(text):
            have = parse_measurement(found) or parse_measurement(" ".join(found.split()[:2]))
            if wanted and have and have[1].lower() == wanted[1].lower():
                return 1.0 if is_within_bound(have[0], need.op, wanted[0]) else -1.0
        return 0.0

    def rate_price(self, line: ResultLine) -> float:
        return 0.5 if line.low <= self.high and line.high >= self.low else -2.0


def spell_units(text: str) -> str:
    """
    >>> spell_units("a 12 inch pan")
    'a 12 in pan'
    """
    return re.sub(r"(?<=\d )[a-z]+", lambda found: UNITS_OF_TITLES.get(found[0], found[0]), text.lower())


def play_by_phrase_book(book: PhraseBook) -> Callable[[Play], TurnGenerator]:
    """A player with this book."""

    def play_it(play: Play) -> TurnGenerator:
        reader = BookReader(book, play.opening)
        sight = yield turn(play, f"search[{reader.query}]")
        results, at = parse_results(sight), 1
        while at < MOST_PAGES and "next >" in sight.clickables:
            sight = yield turn(play, "click[next >]")
            results, at = results + parse_results(sight), at + 1
        ranked = sorted(results, key=lambda each: -reader.rate(each.title) - reader.rate_price(each))[:MOST_OPENED]
        yield from open_candidates(play, reader, ranked)
        yield from stop_buying(play)

    return play_it


def open_candidates(play: Play, reader: BookReader, ranked: Sequence[ResultLine]) -> TurnGenerator:
    """Opens them in turn, picks values, and buys the first whose price is right; the best one where none is."""
    for place, line in enumerate([*ranked, *ranked[:1]]):
        yield turn(play, "click[back to search]")
        sight = yield turn(play, f"search[{line.title}]")
        while line.id not in sight.clickables and "next >" in sight.clickables:
            sight = yield turn(play, "click[next >]")
        sight = yield turn(play, f"click[{line.id}]")
        for values in parse_axes(sight):
            value = max(values, key=lambda each: reader.rate(each) + count_shared(read_words(reader.text), each))
            sight = yield turn(play, f"click[{value}]")
        price = read_price(sight)
        if place == len(ranked) or (price is not None and reader.low <= price <= reader.high):
            yield turn(play, BUY)


def read_price(sight: Observation) -> float | None:
    """The one price on a product's page; None where what is chosen cannot be had, or has several."""
    part = next((each for each in sight.text.split(SEP) if each.startswith("Price: ")), "")
    prices = list_amounts(part)
    return prices[0] if len(prices) == 1 else None
