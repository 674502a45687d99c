"""What a need is called in a few words: plainly, by its effect, or as people put a value."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from random import Random
from typing import NamedTuple

import numpy as np

from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank
from shopwright.pipeline.shopping.effects import find_effect
from shopwright.pipeline.shopping.facts import MEASURE, UNITS, VariantTable, is_close, parse_measurement
from shopwright.schemas.phrases import Use
from shopwright.schemas.shopping import Need

# Words that a trait begins with which stands behind the thing.
BEHIND = re.compile(
    r"(?:with|without|in|for|made|by|from|of|that|which|whose|suitable|good for|meant|as|at|up|so|under|below|less|lower|no|not|cheaper"
    r"|costing|priced|sold in|wrapped|around|about|roughly|somewhere|having|pack|to|on|after|before|against|down|minus|just|letting|charged|sometime"
    r"|past|until|late|early|just|ground|free|low in|minimum|maximum)\b"
    r"|\$|\d+(?:\.\d+)? (?:dollars|bucks)|.* (?:at most|tall|high|wide|long|across|deep|or so|included)$|\d.* in \w+$"
    r"|(?:three|four) of them|one to one|somebody|someone"
    r"|(?:a bit )?[\w ]+ than (?:my|the|our) |like (?:my|the|our) "
)
# How often a bound is said by its effect, a value in other words than the catalog's, a small number as a word.
EFFECT, OTHER_WORDS, NUMBER_WORD = 0.97, 0.75, 0.35
# How often a bound is said by what somebody has already: "like my 10 inch one but bigger".
COMPARED = 0.06
# Letters of a size that is said as one: "XL", "women's 9".
LONGEST_SIZE = 10
SIDES = ("height", "width", "length", "depth", "diameter")
SIDE_UNITS = ("in", "ft", "cm", "yd", "mm", "m")
FOR = frozenset(
    "use|room|skin type|hair type|players|guests|pets|garment|learner|age|language|recipient|occasion|gender|department|age range|target audience"
    "|benefit|goal|scope|original"
    .split("|")
)  # fmt: skip
# Facts whose values are said as they are: nobody says "that is bluffing" of a game, or "that has twice daily" of visits.
SAID_BARE = frozenset(
    "absorbency|blend|caffeine|claim|clippings|company|crystal|delivery|drain|drive|element|firmness|flour|format|formula|frequency|grain|kind|level"
    "|mechanic|mix|navigation|network|prep|ruling|sound mode|source|speed class|spf|stone|switches|thickness".split("|")
)  # fmt: skip
# Facts whose values go behind "with", whatever they look like: "with front cap only".
SAID_WITH = frozenset(("meter", "caps"))
MATERIALS = frozenset("material fabric wood yarn fiber upholstery leather upper shell".split())
# Measures of the whole thing, which need no name beside them.
WHOLE = frozenset(
    "size weight capacity volume power pack count pieces storage memory decade resolution output duration quantity".split()
)
# Said by their effect alone, or as a number of people: nobody wants a tent with at least 3 person.
PEOPLE = frozenset({"sleeps", "guests"})
STATE = re.compile(r".*(?:free|ed|ing|able|less|grade|style|proof|only)")
# What comes with a thing, and is no state of it: "packaging removal".
ADDED = frozenset("extra included feature retouch treatment job storage inclusion".split())
# A thing is of these, and does not come with them: "letter size".
KINDS = frozenset("size shape level style fit finish roast weave print tuning rise grain grind".split())
# Facts that say what the whole of a thing is like: "with a coral reef theme".
LOOKS = frozenset("theme motif pattern print texture style weave glaze shape design scent finish palette".split())
# What a part may be made of, whatever the part is called: "stamped steel".
STUFFS = frozenset(
    """acrylic alloy aluminum bamboo brass bronze canvas cardboard ceramic copper corduroy cotton denim felt fiberglass fleece glass jute leather
    linen mesh microfiber neoprene nylon oak plastic plywood polyester porcelain rattan rubber silicone silk spandex steel stoneware suede velvet
    vinyl walnut wood wool""".split()
)
# What a thing is sold in: "in a glass jar".
CONTAINERS = frozenset("container package packaging".split())
# Parts that can be counted: "with a wooden box".
PARTS = frozenset(
    """adapter attachment bag band bar barrel base basket battery belt blade board body bonnet bottle bowl box brush bucket buckle bulb button can
    canister cap carafe cart case chain clasp clip coat collar comb compact cord core cover cup cushion dial dimmer disc display dock drain drawer
    drum filter flap frame grip guard handle head hood hose indicator insole jar keypad latch lens lever lid liner lining lock loop map medallion
    mount nozzle nib panel pendant plug pocket pole pouch pump receiver rim saucer screen seal seat shade shell sleeve slot sole soleplate spout stand
    strap strip switch tab tag timer tin tip top topsheet tote tray trimmer wheel window wrap zip zipper""".split()
)
# A place in somebody's own home, which they call "my guest room".
OWN_PLACE = re.compile(
    r"(?:an? |the )?((?:[\w'-]+ )*(?:room|bedroom|kitchen|bathroom|office|nursery|entryway|hallway|basement|pantry|garage|balcony|patio|back yard|apartment|closet"
    r"|desk|countertop|corner|wall|window|shelf|table|island|bar|drawer))"
)
# Facts whose names nobody would say.
FACT_NAMES = {"fits up to": "head size"}
# What one wants one of: "for a brighter look".
WANTED = frozenset("look feel texture".split())
# A size that is of men or of women: "men's 10".
WHOSE_SIZE = re.compile(r"(?P<whose>men's|women's|kids|boys'|girls') (?P<number>\d[\d.]*)")
# Where what a value names ends, and what is said of it begins.
HEAD_END = re.compile(r" (?:with|for|of|in|on|to) ")
# What there is no "a" of.
MASS = frozenset(
    "packaging insulation coverage storage heat wax leather denim cotton foam yarn protection water control care content paper wood glass"
    " flow fizz sugar salt fleece wool silk linen light".split()
)
# A unit that counts things of its own: "6 presets", "4 jars"; what is sold in packs is a "6 pack".
COUNTED = re.compile(r"[a-z][a-z ]+s")
# As it stands before a thing: "14 day".
COUNT_OF_ONE = re.compile(r"\d+ [a-z]*[a-rt-z]")
MEASURED = re.compile(r"\s*-?\d+(?:\.\d+)? ?(?:[a-zA-Z%°].*)")
NUMBER_WORDS = dict(
    zip(map(str, range(2, 13)), "two three four five six seven eight nine ten eleven twelve".split(), strict=True)
)


# Nouns that are called as several are.
ALWAYS_SEVERAL = re.compile(
    r"(?:pants|jeans|leggings|shorts|tights|scissors|glasses|goggles|pliers|headphones|earbuds|trousers|accessories|supplies|parts|components"
    r"|electronics|products|media|discs|series|lens|\bups|\bgps)$"
)


def stands_behind(text: str) -> bool:
    """
    >>> [stands_behind(text) for text in ("in black", "lightweight", "with two slots", "$40 at most", "12 inches tall")]
    [True, False, True, True, True]
    """
    return bool(BEHIND.match(text))


def add_article(named: str, fact: str) -> str:
    """A value with "a" where it ends with a part, or with the one thing that its fact names.

    >>> add_article("thermal carafe", "carafe"), add_article("wooden box", "storage"), add_article("plain packaging", "packaging")
    ('a thermal carafe', 'a wooden box', 'plain packaging')
    >>> add_article("mirrorless users with an adapter", "use")
    'mirrorless users with an adapter'
    >>> add_article("a cracked display", "use")
    'a cracked display'
    """
    last = HEAD_END.split(named)[0].split()[-1].lower()
    if named.split()[0] in {*NUMBER_WORDS.values(), "one", "a", "an"}:
        return named
    one = (
        last in PARTS
        or (fact == "goal" and last in WANTED)
        or (last == fact.split()[-1] and not last.endswith("s") and last not in MASS)
    )
    return f"a {named}" if one else named


def is_adjective(text: str) -> bool:
    """What can be said of a thing behind "should be".

    >>> [is_adjective(text) for text in ("sugar free", "machine stitched", "bunny", "lightweight")]
    [True, True, False, True]
    """
    return bool(
        re.search(
            r"(?:free|ed|able|less|proof|ish|ous|ful|weight|light|quiet|bright|thick|thin|slim|narrow|compact|roomy|large|small|big|tall|short|long|wide|firm|soft|folding|heavy|warm|dark|loose|fitted|baggy)$",
            text,
        )
    )


class Hand(NamedTuple):
    """How somebody writes, whatever it is about."""

    plain: float
    """How often a need is said as most people say it."""
    wordings: int
    """Of how many other wordings the shortest is taken."""
    lower_case: bool
    apostrophes: bool
    hyphens: bool
    agrees: bool
    """Whether verbs agree with several things; else "bags that is black"."""


# Most people are brief; some say it in their own words, few of them at length: `plain`, `wordings`, and the share of such writers.
HANDS = ((0.93, 3, 0.7), (0.7, 2, 0.2), (0.25, 1, 0.1))
# How people type: in lower case, without apostrophes, without hyphens between words, with verbs that do not agree.
LOWER_CASE, NO_APOSTROPHE, NO_HYPHEN, WRONG_VERB = 0.85, 0.85, 0.75, 0.15


def draw_hand(random: Random) -> Hand:
    plain, wordings, _ = HANDS[draw_place([share for *_, share in HANDS], random)]
    lower_case, bare, open_, wrong = (
        random.random() < share for share in (LOWER_CASE, NO_APOSTROPHE, NO_HYPHEN, WRONG_VERB)
    )
    return Hand(plain, wordings, lower_case, not bare, not open_, not wrong)


def draw_place(shares: Sequence[float], random: Random) -> int:
    """The place of one of these shares, which add up to one."""
    point = random.random()
    return next((place for place, upto in enumerate(accumulate(shares)) if point < upto), len(shares) - 1)


def form_singular(noun: str) -> str:
    """The noun itself where it is no plural, or is called as several are.

    >>> [form_singular(noun) for noun in ("cables", "batteries", "mice", "accessories", "headphones", "cases", "switches", "glass", "memory", "ups")]
    ['cable', 'battery', 'mouse', 'accessories', 'headphones', 'case', 'switch', 'glass', 'memory', 'ups']
    """
    for plural, one in (
        ("scarves", "scarf"),
        ("shelves", "shelf"),
        ("knives", "knife"),
        ("mice", "mouse"),
        ("lenses", "lens"),
    ):
        if noun == plural:
            return one
    if not re.fullmatch(r"[a-z]+[^su\W]s", noun) or ALWAYS_SEVERAL.search(noun):
        return noun
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return re.sub(r"(?<=[sxz])es$|(?<=[cs]h)es$|s$", "", noun) if not noun.endswith("ses") else noun[:-1]


def is_of_stuff(value: str, fact: str) -> bool:
    """Whether it says what something is made of."""
    return fact in MATERIALS or value.split()[-1].lower() in STUFFS


def is_state(named: str, fact: str) -> bool:
    return bool(STATE.fullmatch(named.lower())) and fact not in ADDED and not named.lower().endswith(" led")


def is_part(named: str, fact: str) -> bool:
    """Whether a thing comes with it: it ends as its fact does, or has several words and is no state.

    >>> is_part("thermal carafe", "carafe"), is_part("machine stitched", "stitch")
    (True, False)
    """
    ends_alike = named.split()[-1].lower().rstrip("s") == fact.split()[-1].rstrip("s")
    return ends_alike or (len(named.split()) > 1 and not is_state(named, fact))


@dataclass
class TraitWriter:
    """Words for single needs of one thing: everything that is drawn for them comes from its own dice."""

    counter: VariantTable
    title: str
    use: Use
    random: Random
    hand: Hand
    phrases: list[str] = field(default_factory=list)

    @cached_property
    def bank(self) -> PhraseBank:
        return load_grammar_bank("shopping")

    def say(self, meaning: str, facts: Mapping[str, str]) -> str:
        said = self.bank.say(meaning, facts, self.random, use=self.use)
        self.phrases += said.templates
        return said.text

    def say_need(self, meaning: str, facts: Mapping[str, str]) -> str:
        """As most people say it, which all splits may, or in other words, of which each split has its own."""
        plain = f"plain {meaning}"
        if plain in self.bank.templates and self.random.random() < self.hand.plain:
            return self.say(plain, facts)
        ways = [self.bank.say(meaning, facts, self.random, use=self.use) for _ in range(self.hand.wordings)]
        shortest = min(ways, key=lambda way: len(way.text.split()))
        self.phrases += shortest.templates
        return shortest.text

    def phrase_trait(self, need: Need) -> str:
        if need.fact == "price":
            dollars = need.value.removesuffix(".00")
            said = self.say_need(f"price {need.op}", {"dollars": dollars})
            return re.sub(r"\b1 (dollar|buck)s", r"1 \1", said)
        if need.op == "is not":
            return self.phrase_denial(need)
        if need.op == "kind of":
            return self.say_need("color family", {"value": need.value})
        if need.op in ("at most", "at least"):
            return self.phrase_bound(need)
        return self.phrase_value(need)

    def phrase_denial(self, need: Need) -> str:
        fact, named = need.fact, self.name_value(need)
        how = "by" if fact == "brand" else "in" if fact == "color" else "for" if fact in FOR else ""
        if not how and not is_of_stuff(named, fact) and is_part(named, fact) and not BEHIND.match(named):
            how = "with"
        return self.say_need(f"not {how}".strip(), {"value": named, "a value": add_article(named, fact)})

    def phrase_bound(self, need: Need) -> str:
        measure = parse_measurement(need.value)
        effect = find_effect(self.counter.group, self.counter.leaf, need.fact, need.op, measure[1] if measure else "")
        # Nobody wants a set of at most two pack.
        whole = need.fact in PEOPLE or need.unit == "pack"
        compared = f"compare {effect.name}" if effect else ""
        known = compared in self.bank.templates and self.random.random() < COMPARED
        if known and (other := self.find_next_value(need)):
            return self.say_need(compared, self.measure_meaning(need.model_copy(update={"value": other}))[1])
        if effect and (whole or self.random.random() < EFFECT):
            return self.say_need(f"effect {effect.name}", {})
        meaning, facts = self.measure_meaning(need)
        how = "" if meaning in ("counted", "pack", "single pack") else " along" if meaning == "measure along" else " of"
        return self.say_need(f"{need.op}{how}", facts)

    def find_next_value(self, need: Need) -> str | None:
        """The nearest value that does not meet a bound: what somebody has who wants a larger or a smaller one."""
        bound = parse_measurement(need.value)
        column = np.unique(self.counter.columns[need.fact])
        offered = [self.counter.values[need.fact][code] for code in column[column >= 0].tolist()]
        amounts = {value: found[0] for value in offered if (found := parse_measurement(value))}
        assert bound
        beyond = [
            value
            for value, amount in amounts.items()
            if (amount < bound[0] if need.op == "at least" else amount > bound[0]) and not is_close(amount, bound[0])
        ]
        sign = -1 if need.op == "at least" else 1
        return min(beyond, key=lambda value: sign * amounts[value], default=None)

    def phrase_value(self, need: Need) -> str:
        fact, value = need.fact, need.value
        if f"means {value}" in self.bank.templates and self.random.random() < OTHER_WORDS:
            return self.say_need(f"means {value}", {})
        years = re.fullmatch(r"(\d+) years", value)
        if years and self.random.random() < OTHER_WORDS:
            return self.say_need("years old", {"number": years[1]})
        if fact in ("brand", "color", "condition", "flavor"):
            named = value if fact == "brand" else value.lower()
            return self.say_need(fact, {"value": named})
        if whose := WHOSE_SIZE.fullmatch(value):
            return self.say_need("whose size", whose.groupdict())
        if fact.endswith("size") and len(value) <= LONGEST_SIZE and not MEASURE.match(value):
            return self.say_need("size", {"value": value.removeprefix("size ")})
        if MEASURED.fullmatch(value) and parse_measurement(value) and fact != "players":
            meaning, facts = self.measure_meaning(need)
            return self.say_need(meaning, facts)
        named = self.name_value(need)
        if fact in FOR and not named.startswith(("for ", "in ", "at ", "on ", "with ")):
            own = OWN_PLACE.fullmatch(named)
            return (
                self.say_need("for room", {"value": own[1]})
                if own
                else self.say_need("for somebody", {"value": add_article(named, fact)})
            )
        if BEHIND.match(named):
            return named
        if named == value and is_of_stuff(value, fact) and fact.rstrip("s") in PARTS:
            named = f"{value} {fact}"
        if named == value and is_of_stuff(value, fact):
            return self.say_need("material", {"value": named})
        if fact in CONTAINERS and named == value:
            return self.say_need("sold in", {"value": named, "a value": add_article(named, fact)})
        if fact in LOOKS and named == value and value.split()[-1].lower() not in {fact, f"{fact}d", *KINDS, *PARTS}:
            return self.say_need("look", {"value": named, "fact": fact})
        if fact in SAID_BARE or named.split()[-1].lower() in KINDS or COUNT_OF_ONE.fullmatch(value):
            return named
        if fact in SAID_WITH:
            return self.say_need("value parts", {"value": named})
        plural = "parts" if named.endswith("s") else "part"
        how = plural if is_part(named, fact) else "state" if is_state(named, fact) or is_adjective(named) else "bare"
        if how == "bare":
            return named
        return self.say_need(f"value {how}", {"value": named, "a value": add_article(named, fact)})

    def name_value(self, need: Need) -> str:
        """A value, with the name of its fact where the title names it too or where it could be another fact's."""
        value, last = need.value, need.fact.split()[-1]
        behind = re.search(rf"{re.escape(value)} (\w+)", self.title, re.IGNORECASE)
        titled = behind and behind[1].lower().rstrip("s") == last.rstrip("s") and last not in ("color", "size")
        shared = sum(value.lower() in map(str.lower, values) for values in self.counter.values.values()) > 1
        named = last.rstrip("s") in value.lower().split()[-1]
        if named or need.fact in ("brand", "color") or not (titled or shared):
            return value
        return f"{value} {last}" if titled else f"{value} {need.fact}"

    def measure_meaning(self, need: Need) -> tuple[str, dict[str, str]]:
        """How a measure is said: by itself, along a side, or with what it measures; and its facts."""
        found = MEASURE.match(need.value)
        unit = (found["unit"] or "").strip() if found else ""
        digits = found["number"] if found else need.value
        counts = (
            bool(COUNTED.fullmatch(unit)) and unit not in UNITS and unit not in ("ounces", "years", "months", "days")
        )
        number = self.word_number(digits) if counts or unit in ("pack", "piece") else digits
        known = f"unit {unit}" in self.bank.templates
        written = need.value.replace(digits, number, 1)
        one, several = (f"{number} {self.say(f'{how} {unit}', {})}" if known else written for how in ("unit", "units"))
        facts = {
            "fact": FACT_NAMES.get(need.fact, need.fact.removeprefix("max ")),
            "number": number,
            "measure": one,
            "one": " ".join([number, *(form_singular(word) for word in unit.split())]),
            "measures": one if digits == "1" else several,
        }
        if need.fact in SIDES and unit in SIDE_UNITS:
            return "measure along", {**facts, "along": self.say(f"along {need.fact}", {})}
        if need.fact in PEOPLE:
            return "people" if digits != "1" else "person", facts
        if unit == "pack":
            return "pack" if digits != "1" else "single pack", facts
        if counts or need.fact.split()[-1].rstrip("s") in need.value.lower():
            return "counted" if counts or digits == "1" or need.op != "is" else "measure", facts
        if " " in unit and unit not in UNITS and unit[-1].isalpha():  # it names what is measured: "8 GB RAM"
            return "counted", facts
        return ("measure" if need.fact in WHOLE and self.is_only_one_in(unit) else "measure of"), facts

    def word_number(self, digits: str) -> str:
        """A small number as a word, sometimes."""
        return NUMBER_WORDS[digits] if digits in NUMBER_WORDS and self.random.random() < NUMBER_WORD else digits

    def is_only_one_in(self, unit: str) -> bool:
        """Whether one fact alone of the category is measured so."""
        base = UNITS.get(unit, (unit, 1.0))[0]
        bases = Counter(
            name
            for name, values in self.counter.values.items()
            if any((found := parse_measurement(value)) and found[1] == base for value in values)
        )
        return len(bases) == 1 and bool(unit)
