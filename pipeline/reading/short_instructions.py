"""A short shopping instruction read back: which thing it is about, and what it says of it, typed.

Written from English and from what a category has; it shares nothing with the phrase bank that such texts are made of.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from shopwright.pipeline.reading.effect_words import COMPARISONS, EFFECT_WORDS
from shopwright.pipeline.reading.purposes import find_purpose
from shopwright.pipeline.reading.value_words import VALUE_WORDS, YEARS_OLD

# Stands where something was read.
GONE = "\x00"
NUMBER = r"\d+(?:\.\d+)?"
MONEY = rf"(?:\$(?P<sign>{NUMBER})|(?P<plain>{NUMBER}) (?:dollars?|bucks?))"
LESS = r"(?:under|below|less than|lower than|cheaper than|no more than|up to|at most)"
ROUGHLY = r"(?:about|around|roughly)"
PRICES = (
    (
        "at most",
        rf"(?:{LESS} {MONEY})|(?:{MONEY.replace('sign', 'sign2').replace('plain', 'plain2')} (?:or less|at most))",
    ),
    ("about", rf"(?:{ROUGHLY} {MONEY})|(?:{MONEY.replace('sign', 'sign2').replace('plain', 'plain2')} or so)"),
)
NOT = (
    r"\b(?:not|no|nothing|anything but|other than|without|any color (?:but|except|other than))"
    r"(?: (?:by|from|made by|made of|with|in|for|one|something|kind|an?|the))*"
)
LEAST = (r"at least", r"no less than", r"a minimum of", r"minimum")
MOST = (r"at most", r"no more than", r"a maximum of", r"maximum", r"up to")
# As people write the units of measures, and in which unit they come to.
UNIT_WORDS: dict[str, tuple[str, float]] = {
    "inches": ("m", 0.0254), "inch": ("m", 0.0254), "in": ("m", 0.0254), "feet": ("m", 0.3048), "foot": ("m", 0.3048),
    "ft": ("m", 0.3048), "yards": ("m", 0.9144), "yard": ("m", 0.9144), "yd": ("m", 0.9144), "cm": ("m", 0.01), "mm": ("m", 0.001), "m": ("m", 1.0),
    "ounces": ("kg", 0.028349523125), "ounce": ("kg", 0.028349523125), "oz": ("kg", 0.028349523125), "g": ("kg", 0.001), "kg": ("kg", 1.0),
    "pounds": ("kg", 0.45359237), "pound": ("kg", 0.45359237), "lb": ("kg", 0.45359237),
    "watts": ("W", 1.0), "watt": ("W", 1.0), "w": ("W", 1.0), "kw": ("W", 1000.0), "liters": ("L", 1.0), "liter": ("L", 1.0), "l": ("L", 1.0),
    "milliliters": ("L", 0.001), "milliliter": ("L", 0.001), "quarts": ("L", 0.946352946), "gallons": ("L", 3.785411784), "ml": ("L", 0.001), "quart": ("L", 0.946352946), "qt": ("L", 0.946352946),
    "gallon": ("L", 3.785411784), "gal": ("L", 3.785411784), "pints": ("L", 0.473176473),
    "minutes": ("min", 1.0), "minute": ("min", 1.0), "min": ("min", 1.0), "hours": ("min", 60.0), "hour": ("min", 60.0),
    "seconds": ("min", 1 / 60), "second": ("min", 1 / 60), "sec": ("min", 1 / 60), "s": ("min", 1 / 60),
    "gigabytes": ("GB", 1.0), "terabytes": ("GB", 1000.0), "degrees": ("degree", 1.0), "cups": ("cup", 1.0), "day": ("days", 1.0), "gigabyte": ("GB", 1.0), "gb": ("GB", 1.0), "terabyte": ("GB", 1000.0), "tb": ("GB", 1000.0),
    "square feet": ("sq m", 0.09290304), "square foot": ("sq m", 0.09290304), "sq ft": ("sq m", 0.09290304), "sq in": ("sq m", 0.00064516),
    "month": ("months", 1.0), "year": ("years", 1.0), "lumen": ("lm", 1.0), "lumens": ("lm", 1.0), "lm": ("lm", 1.0),
}  # fmt: skip
SIDE_WORDS = {"tall": "height", "high": "height", "wide": "width", "long": "length", "deep": "depth", "across": ""}
# Words that say nothing by themselves.
FILLER = frozenset(
    """i am im i'm iam a an the to for of in with and it is be should would like i'd want need needs must looking searching find found me my
    get buy order show please can could you help do have having has are that which whose one some something any made from by out
    comes come up at as so interested trying need shop preferably hello hi hey what use want's color colored size sized condition
    flavor flavored tastes brand pair pack set box bag bottle jar can tube roll sheet bundle package plan suitable good meant somewhere
    priced price costs cost costing or less more than on type in's all but just not no except badly look anything minimum maximum along across
    tall high wide long deep height width length depth diameter head rest usually usual otherwise else everything always last time know take way i
    other same before id tin tub jug kit kind shape condition nothing love cost also choose pick select grab make sure it's they them ones
    prefer preferably ideally definitely other than something search wear go really just only still could sell got there here add cart market online item product hoping shopping buying us people person named
    ones well oh two three four five six seven eight nine ten eleven twelve""".replace("'", "").split()
)
NUMBER_WORDS = {
    word: float(number)
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
# Before what somebody has.
OWNED = r"(?:my|the|our)(?: old)? "
# A color of a family, whichever.
FAMILY = r"(?:beige|black|blue|brown|gold|gray|green|orange|pink|purple|red|silver|white|yellow)"
FAMILIES = re.compile(
    rf"\b(?:in )?(?:some|any) (?:shade|kind) of (?P<any>{FAMILY})\b|\b(?:in|with|of) a (?P<tone>{FAMILY}) tone\b"
)
# Words of a request that are long enough to be mistyped.
REQUESTS = ("looking", "would", "interested", "searching", "should", "please", "choose", "prefer", "buying", "trying")
# A number of people, whatever the category calls them.
HEADS = frozenset({"person", "people", "guest", "guests"})
# What is said of several things, as of one.
AS_OF_ONE = {"are": "is", "have": "has", "come": "comes", "cost": "costs", "arent": "isnt", "dont": "doesnt"}


@dataclass(frozen=True)
class ReadNeed:
    """What was read of a thing; the facts of which it can be said."""

    facts: frozenset[str]
    op: str
    value: str
    """In lower case, as the category writes it; a price in dollars."""


@dataclass(frozen=True)
class CategoryFacts:
    """What the things of a category have: by fact the values in lower case, each with its amount and base unit if it is a measure."""

    values: Mapping[str, Mapping[str, tuple[float, str] | None]]

    @cached_property
    def measures(self) -> dict[str, tuple[str, dict[float, str]]]:
        """By fact that is a measure throughout: its unit, and the values by their amounts."""
        found = {}
        for fact, values in self.values.items():
            amounts = [amount for amount in values.values() if amount is not None]
            if amounts and len(amounts) == len(values) and len({unit for _, unit in amounts}) == 1:
                found[fact] = (amounts[0][1], {amount[0]: value for value, amount in values.items() if amount})
        return found

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A number with a unit that people write, or that these things have."""
        own = {unit.lower() for unit, _ in self.measures.values() if unit}
        own |= self.single_units.keys()
        units = "|".join(map(re.escape, sorted({*UNIT_WORDS, *own, "people"}, key=lambda each: (-len(each), each))))
        words = "|".join(NUMBER_WORDS)
        return re.compile(rf"(?<![\w.$])(?P<number>{NUMBER}|(?:{words})(?= )) ?(?P<unit>{units})(?![\w])")

    @cached_property
    def single_units(self) -> dict[str, str]:
        """How units that count things are written before a thing: "6 preset"."""
        several = {unit for unit, _ in self.measures.values() if re.fullmatch(r"[a-z ]{3,}s", unit)}
        return {re.sub(r"(?<=x)es$|(?<!i)s$", "", unit): unit for unit in sorted(several)}

    def bound(self, fact: str, op: str) -> str | None:
        """Where much or little begins: the upper or lower half of what there is, without the middle one."""
        amounts = sorted(self.measures[fact][1])
        if len(amounts) < 3:
            return None
        half = len(amounts) // 2
        return self.measures[fact][1][amounts[-half] if op == "at least" else amounts[half - 1]]

    def next_value(self, fact: str, op: str, amount: float) -> str | None:
        """The next one that is more or less than this; None where there is none, or where nothing is just this."""
        amounts = self.measures[fact][1]
        if not any(is_equal(each, amount) for each in amounts):
            return None
        beyond = [each for each in amounts if (each > amount) == (op == "at least") and not is_equal(each, amount)]
        pick = min if op == "at least" else max
        return amounts[pick(beyond)] if beyond else None


def is_equal(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(one, other)


class ShortReader:
    """Reads one text of a known shop: each step takes what it understands out of the text."""

    def __init__(self, text: str, names: Sequence[tuple[str, str]], facts_of: Callable[[str], CategoryFacts]) -> None:
        """names: what things are called, the longest first, with the category."""
        self.text = normalize_typing(text)
        self.names, self.facts_of = names, facts_of
        self.needs: list[ReadNeed] = []
        # For whom or for what, in words that narrow nothing.
        self.purpose = ""

    def read(self) -> tuple[list[str], list[ReadNeed], list[str]]:
        """Categories, needs, and the words that were not understood."""
        self.read_prices()
        categories = self.read_things()
        if len(categories) == 1:
            facts = self.facts_of(categories[0])
            self.read_families(facts)
            self.read_values(facts, negated=True)
            self.read_comparisons(facts)
            self.read_bounds(facts)
            self.read_ages(facts)
            self.read_measures(facts)
            self.read_value_words(facts)
            self.read_values(facts, negated=False)
            self.read_effects(facts)
            if purpose := find_purpose(self.text, facts.values):
                self.purpose = purpose[0]
                self.take(*purpose.span())
        named = {word for need in self.needs for fact in need.facts for word in fact.split()}
        words = re.findall(r"[^\W_]+(?:'[a-z]+)?", self.text)
        return categories, self.needs, [word for word in words if word not in FILLER | named and not is_mistyped(word)]

    def take(self, start: int, end: int) -> None:
        self.text = self.text[:start] + GONE * (end - start) + self.text[end:]

    def read_prices(self) -> None:
        for op, pattern in PRICES:
            for found in list(re.finditer(pattern, self.text)):
                value = next(each for each in found.groups() if each)
                self.needs.append(ReadNeed(frozenset(["price"]), op, f"{float(value):.2f}"))
                self.take(*found.span())

    def read_things(self) -> list[str]:
        found = []
        for name, category in self.names:
            name = normalize_name(name)
            place = self.text.find(name)
            if place >= 0 and self.stands_alone(place, place + len(name)):
                self.take(place, place + len(name))
                found.append(category)
        return list(dict.fromkeys(found))

    def stands_alone(self, start: int, end: int) -> bool:
        # A hostile value may begin or end with the space that stands around every text.
        before, after = self.text[max(0, start - 1) : start] or " ", self.text[end : end + 1] or " "
        return not (before.isalnum() or before in "-'." or after.isalnum() or after == "-") and not (
            after == "." and self.text[end + 1 : end + 2].isdigit()
        )

    def read_families(self, facts: CategoryFacts) -> None:
        for found in list(FAMILIES.finditer(self.text)) if "color" in facts.values else []:
            self.needs.append(ReadNeed(frozenset(["color"]), "kind of", found["any"] or found["tone"]))
            self.take(*found.span())

    def read_values(self, facts: CategoryFacts, *, negated: bool) -> None:
        """Values as the category writes them, the longest first; of two facts the one that is named beside counts."""
        known: dict[str, set[str]] = {}
        for fact, values in facts.values.items():
            for value in values:
                known.setdefault(value, set()).add(fact)
        for value in sorted(known, key=lambda each: (-len(each), each)):
            # A seller's value may be nothing but signs that nobody types.
            typed = [each for each in write_as_typed(value) if each and each in self.text]
            if not typed:
                continue
            pattern = (NOT + " " if negated else "") + rf"(?P<value>{'|'.join(map(re.escape, typed))})"
            for found in list(re.finditer(pattern, self.text)):
                if self.stands_alone(*found.span("value")) and GONE not in found[0]:
                    self.take_value(found, value, known[value], negated=negated)

    def take_value(self, found: re.Match[str], value: str, facts: set[str], *, negated: bool) -> None:
        start, end = found.start() + (found[0][0] == " "), found.end()
        near = self.text[max(0, start - 24) : start], self.text[end : end + 24]
        named = {fact for fact in facts if is_named(fact, *near)}
        after = next((each for each in map(named_at_start(self.text[end:]), sorted(named or facts)) if each), 0)
        if (value.isdigit() or len(value) < 2) and not (named or (facts & {"size"} and is_sized(*near))):
            return
        self.needs.append(ReadNeed(frozenset(named or facts), "is not" if negated else "is", value))
        self.take(start, end + after)

    def read_value_words(self, facts: CategoryFacts) -> None:
        """Single values by use or in other words, the longest first; of two values in the same words both are read."""
        known: dict[str, set[str]] = {}
        for fact, values in facts.values.items():
            for value in values:
                known.setdefault(value, set()).add(fact)
        found = [
            (match, value)
            for pattern, value in list_value_patterns()
            if value in known
            if (match := pattern.search(self.text))
        ]
        for match, _ in sorted(found, key=lambda pair: (-len(pair[0][0]), pair[1])):
            alike = [other for one, other in found if one.span() == match.span()]
            if GONE not in self.text[match.start() : match.end()]:
                self.needs += [ReadNeed(frozenset(known[each]), "is", each) for each in alike]
                self.take(*match.span())

    def read_comparisons(self, facts: CategoryFacts) -> None:
        """More or less than what somebody has: from the next value on that the category has."""
        for words, op, names in COMPARISONS:
            for number, unit, found in list(self.find_measures(facts)):
                start = re.search(
                    rf"(?:a bit )?\b(?P<words>{words}) than (?:on )?{OWNED}$|\blike {OWNED}$",
                    self.text[: found.start()],
                )
                end = re.match(
                    rf" one(?: i have(?: now)?)?(?:(?: but|, only) (?P<words>{words})\b)?", self.text[found.end() :]
                )
                able = {
                    fact: value
                    for fact in sorted(names & facts.measures.keys())
                    if facts.measures[fact][0] == unit and (value := facts.next_value(fact, op, number))
                }
                if able and start and end and (start["words"] or end["words"]):
                    self.needs += [ReadNeed(frozenset([fact]), op, value) for fact, value in able.items()]
                    self.take(start.start(), found.end() + end.end())

    def read_ages(self, facts: CategoryFacts) -> None:
        """For a child of so many years: what has its age or size in years."""
        for found in list(re.finditer(YEARS_OLD, self.text)):
            years = f"{found['a'] or found['b']} years"
            able = frozenset(fact for fact, values in facts.values.items() if years in values)
            if able:
                self.needs.append(ReadNeed(able, "is", years))
                self.take(*found.span())

    def read_bounds(self, facts: CategoryFacts) -> None:
        """Numbers of a measure that are a limit: "at least 10 cup", "3 ports or more"."""
        for op, cues, after in (("at least", LEAST, "or more"), ("at most", MOST, "or less")):
            cue = "|".join(cues)
            for number, unit, found in list(self.find_measures(facts)):
                before = re.search(rf"(?:{cue})(?: an?| (?:[a-z]+ ){{1,2}}of)? $", self.text[: found.start()])
                behind = re.match(
                    rf"(?: (?:tall|high|wide|long|deep|across|in [a-z]+))? {after}", self.text[found.end() :]
                )
                if before or behind:
                    start = before.start() if before else found.start()
                    self.add_measure(facts, op, number, unit, start, found.end() + (behind.end() if behind else 0))

    def read_measures(self, facts: CategoryFacts) -> None:
        for number, unit, found in list(self.find_measures(facts)):
            if GONE not in self.text[found.start() : found.end()]:
                self.add_measure(facts, "is", number, unit, *found.span())

    def find_measures(self, facts: CategoryFacts) -> Iterator[tuple[float, str, re.Match[str]]]:
        """All numbers with a unit that the category knows, as amounts in the base unit; from the right, so that places stay."""
        own = {unit for unit, _ in facts.measures.values() if unit}
        lower = {unit.lower(): unit for unit in own}
        for found in reversed(list(facts.pattern.finditer(self.text))):
            base, factor = UNIT_WORDS.get(found["unit"], (found["unit"], 1.0))
            if base not in own and found["unit"] in lower:
                base, factor = lower[found["unit"]], 1.0
            if base not in own:
                base = facts.single_units.get(found["unit"], base)
            if found["unit"] in HEADS:
                base = min(own & HEADS, default=base)
            if base in own:
                number = NUMBER_WORDS.get(found["number"])
                yield (float(found["number"]) if number is None else number) * factor, base, found

    def add_measure(self, facts: CategoryFacts, op: str, amount: float, unit: str, start: int, end: int) -> None:
        """A measure with those facts of its unit that have such a value, of which one that is named beside counts."""
        able: dict[str, str] = {}
        for fact, (base, amounts) in facts.measures.items():
            value = next((text for each, text in amounts.items() if is_equal(each, amount)), None)
            if base == unit and value:
                able[fact] = value
        before, after = self.text[max(0, start - 24) : start], self.text[end : end + 24]
        inside = self.text[start:end]
        named = {fact for fact in able if is_named(fact, before + inside, after)}
        for word, side in SIDE_WORDS.items():
            beside = re.match(rf"\W*{word}\b", after) or re.search(rf"\b{word}\b", inside)
            sides = {side} if side else {"width", "diameter"}
            if word == "wide":
                sides.add("diameter")
            if beside and sides & able.keys():
                named = sides & able.keys()
                break
        chosen = named or set(able)
        if not chosen:
            return
        value = able[min(chosen)]
        self.needs.append(ReadNeed(frozenset(chosen), op, value))
        rest = re.match(r" (?:in )?(?:tall|high|wide|long|deep|across)\b", self.text[end:])
        more = next((each for each in map(named_at_start(self.text[end:]), sorted(chosen)) if each), 0)
        self.take(start, end + (rest.end() if rest else more))

    def read_effects(self, facts: CategoryFacts) -> None:
        """Words for much or little of something that the things of the category have a measure of."""
        found = []
        for pattern, op, names in list_effect_patterns():
            able = {fact: value for fact in sorted(names & facts.measures.keys()) if (value := facts.bound(fact, op))}
            if able and (match := pattern.search(self.text)):
                found.append((match, op, able))
        # "that isn't too long" before "long"
        for match, op, able in sorted(found, key=lambda each: -len(each[0][0])):
            if GONE in self.text[match.start() : match.end()]:
                continue
            for value in sorted(set(able.values())):
                same = frozenset(fact for fact in able if able[fact] == value)
                self.needs.append(ReadNeed(same, op, value))
            self.take(*match.span())


@lru_cache(4_096)
def is_mistyped(word: str) -> bool:
    """Whether one slip makes it one of the words that a request is made of; those are no words of products.

    >>> is_mistyped("lookng"), is_mistyped("cooking")
    (True, False)
    """
    return any(word[0] == one[0] and word[-1] in one[-2:] and is_letter_lost(word, one) for one in REQUESTS)


def is_letter_lost(typed: str, word: str) -> bool:
    """Whether a letter is left out, or two are swapped."""
    if len(typed) == len(word) - 1:
        return any(word[:place] + word[place + 1 :] == typed for place in range(len(word)))
    swapped = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))
    return len(typed) == len(word) and typed in swapped


@cache
def list_effect_patterns() -> list[tuple[re.Pattern[str], str, frozenset[str]]]:
    """The words for effects; of two joined by "and" the second may be without its "with"."""
    return [(compile_words(words), op, facts) for words, op, facts in EFFECT_WORDS]


@lru_cache(4_096)
def write_as_typed(value: str) -> list[str]:
    """A value without apostrophes, with a small number as a word, and somebody's own for any one; the longest first.

    >>> write_as_typed("men's 9"), write_as_typed("5 pieces"), write_as_typed("a guest room")
    (['mens size 9', 'size 9 mens', 'mens 9'], ['5 pieces', 'five pieces'], ['a guest room', 'my guest room', 'our guest room', 'the guest room'])
    """
    bare = open_hyphens(value.replace("'", ""))
    if whose := re.fullmatch(rf"(mens|womens|kids|boys|girls) ({NUMBER})", bare):
        return [f"{whose[1]} size {whose[2]}", f"size {whose[2]} {whose[1]}", bare]
    number, _, rest = bare.partition(" ")
    if number in ("a", "an", "the"):
        return [bare, *(f"{whose} {rest}" for whose in ("my", "our", "the"))]
    word = next((word for word, amount in NUMBER_WORDS.items() if number == f"{amount:.0f}"), "")
    return [bare, f"{word} {rest}"] if word and rest[:1].isalpha() else [bare]


@cache
def list_value_patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(compile_words(words), value) for words, value in VALUE_WORDS]


def compile_words(words: str) -> re.Pattern[str]:
    """As people type them, without apostrophes; of two joined by "and" the second may be without its "with" or "that is"."""
    words = open_hyphens(put_in_singular(words.replace("'", "")))
    for start in ("with", "that is", "that"):
        words = words.replace(f"{start} ", f"(?:{start} )?")
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")


def normalize_typing(text: str) -> str:
    """In lower case, without apostrophes or hyphens between words, what is said of several things as of one, and packs as "6 pack".

    >>> normalize_typing("Bags that don't leak, in a pack of six"), normalize_typing("over-ear headphones")
    (' bags that doesnt leak, in a six pack ', ' over ear headphones ')
    """
    text = open_hyphens(" ".join(re.sub(r"['’]", "", text.lower()).split()))
    text = put_in_singular(text)
    text = re.sub(r"\bwhich (is|has|comes)\b", r"that \1", text)
    count = rf"({NUMBER}|{'|'.join(NUMBER_WORDS)})"
    text = re.sub(
        rf"\b(?:with {count} in a pack|pack of {count})\b", lambda found: f"{found[1] or found[2]} pack", text
    )
    text = text.replace("single pack", "1 pack")
    return f" {text} "


def open_hyphens(text: str) -> str:
    """Words that may be typed with a hyphen or without, as single ones; in a pattern, ranges of letters stay."""
    return re.sub(r"(?<=[a-z])-(?=[a-z])(?![^\[]*\])", " ", text)


@lru_cache(65_536)
def normalize_name(name: str) -> str:
    """
    >>> normalize_name("men's t-shirt")
    'mens t shirt'
    """
    return open_hyphens(name.replace("'", ""))


def put_in_singular(text: str) -> str:
    """What is said of several things, as of one.

    >>> put_in_singular("bags that dont leak")
    'bags that doesnt leak'
    """
    verbs = "|".join(AS_OF_ONE)
    return re.sub(rf"\b(that|which|they) ({verbs})\b", lambda found: f"{found[1]} {AS_OF_ONE[found[2]]}", text)


def is_named(fact: str, before: str, after: str) -> bool:
    """Whether the fact's name stands right beside."""
    last = fact.split()[-1].rstrip("s")
    return bool(
        re.match(rf"\W*(?:of |in )?(?:{re.escape(fact)}|{re.escape(last)})s?\b", after)
        or re.search(rf"\b{re.escape(fact)}(?: of| is| at| least| most| a| an)*\W*$", before)
    )


def is_sized(before: str, after: str) -> bool:
    return bool(re.search(r"\bsize $|\bin an? $", before) or re.match(r" size\b", after))


def named_at_start(text: str) -> Callable[[str], int]:
    """How far a fact's name goes that a text begins with; 0 where it does not."""

    def length(fact: str) -> int:
        last = fact.split()[-1].rstrip("s")
        found = re.match(rf" (?:{re.escape(fact)}|{re.escape(last)}s?)\b", text)
        return found.end() if found else 0

    return length


def list_misreadings(expected: Iterable[tuple[str, str, str]], read: Sequence[ReadNeed]) -> list[str]:
    """What is said and not read, and what is read and not said; expected: fact, relation and value of each need.

    >>> list_misreadings([("color", "is", "red")], [ReadNeed(frozenset(["color"]), "is", "blue")])
    ['color is red', 'read: color is blue']
    """
    rest, missing = list(read), []
    for fact, op, value in expected:
        found = next((one for one in rest if one.facts == {fact} and (one.op, one.value) == (op, value.lower())), None)
        if found:
            rest.remove(found)
        else:
            missing.append(f"{fact} {op} {value}")
    return missing + [f"read: {'/'.join(sorted(one.facts))} {one.op} {one.value}" for one in rest]
