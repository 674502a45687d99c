"""What can be told of a variant: each fact as it is, by its effect, or by what it is not; its brand, and its price."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any, TypeVar, get_args

import numpy as np

from shopwright.pipeline.shopping.effects import Bound, find_effect, find_effect_bounds
from shopwright.pipeline.shopping.facts import (
    ABOUT,
    MEASURE,
    ProductVariant,
    VariantTable,
    find_color_family,
    is_same_value,
    is_within_bound,
    parse_measurement,
)
from shopwright.pipeline.shopping.right_products import Candidate, meets_all, pack_bits, unpack_bits
from shopwright.pipeline.shopping.trait_words import FOR, draw_place, is_of_stuff, is_part
from shopwright.schemas.shopping import Need

T = TypeVar("T")
# The same of products that cannot be told so sparingly; any of their measures may be told.
FREELY_BRANDED, FREELY_PRICED = 0.3, 0.03
# Plain measures of a task that may have any number of them.
MANY = 20
# How often a measure is needed by a bound, and another fact by what it is not; between these shares, drawn for each try.
BOUNDS = {1: (0.6, 1.0), 2: (0.7, 1.0), 3: (0.5, 1.0)}
# Of the bounds that have no effect, so many are stated as one: "at least 4 ports".
LIMITED = 0.15
NEGATION = {1: (0.0, 0.02), 2: (0.0, 0.04), 3: (0.03, 0.2)}
# A price that is about so much is nearer to it than this share of it, and no other product that would do is as near as twice the tenth.
NEAR = 0.05
# Share of tasks that are to have a need which is said by its effect, where there is one.
INDIRECT = 0.85
# Share of tasks, by grade, in which few words are to fit several products, any of which is right. Such words tell an effect and no brand:
# with one, whoever matches words finds some of them.
SEVERAL_RIGHT = {1: 0.09, 2: 0.07, 3: 0.03}
# How often a color is needed by its family, where several of it are there.
FAMILY = 0.12
# Values of a fact, at most, of which one is told by what it is not.
MOST_VALUES = 12
# Share of tasks in which somebody says how it is to be packed, where it comes in several ways: few people ask for gift wrapping.
PACKED = 0.03
# Facts that are named only in some tasks, or where a profile carries them: they alone tell nearly everything.
NEVER_TELLS = ("brand",)
# What everything comes as unless somebody says otherwise: nobody asks for it.
NEVER_ASKED = frozenset({"standard packaging"})
NEVER_DENIED = (
    *(
        "brand",
        "size",
        "shoe size",
        "bed size",
        "cut",
        "garment",
        "condition",
        "level",
        "grade",
        "decade",
        "theme",
        "season",
    ),
    *FOR,
)
# Dollars that a limit is a multiple of: so that about twenty steps lie below it.
STEPS = (1, 5, 10, 20, 50, 100, 500)
MOST_STEPS = 20


def weigh(counter: VariantTable, need: Need, loose: Need | None = None) -> Candidate:
    met = pack_met(counter, need)
    return Candidate(need, met, met if loose is None else pack_met(counter, loose))


def pack_met(counter: VariantTable, need: Need) -> int:
    """What meets it, looked up where another variant of the category was asked for the same."""
    key = need.fact, need.op, need.value
    if key not in counter.known_masks:
        counter.known_masks[key] = pack_bits(counter.meets(need))
    return counter.known_masks[key]


@dataclass(frozen=True)
class Habits:
    """How often people of a shop name a brand and a price, by grade, a price that is about so much, and how many plain measures."""

    grades: Mapping[int, float]
    """The share of tasks that are to have each number of needs."""
    brand: Mapping[int, float]
    price: Mapping[int, float]
    about: float
    measures: Mapping[int, Sequence[float]] | None
    """The shares of none, one, two and so on; None: any number."""
    untitled: float
    """How often only what the title does not tell is told, beside the brand and what has an effect."""
    brief: float
    """Share of tasks of grade 1 that are to have two needs where two are enough, as people's most often do."""
    unsaid: float
    """How often nobody says for whom or for what a thing is, which takes many words."""
    seldom: float
    """Weight of what people seldom name (a part, a number, a price, what it must not be) where something else would tell a thing, too."""


HABITS = {
    # They most often name two or three things, a brand in one instruction of six, hardly ever what a thing may cost, and a number in one
    # of three.
    "en": Habits(
        grades={1: 0.74, 2: 0.2, 3: 0.06},
        brand={1: 0.08, 2: 0.04, 3: 0.03},
        price={1: 0.04, 2: 0.05, 3: 0.12},
        about=0.45,
        measures={1: (0.75, 0.25), 2: (0.5, 0.4, 0.1), 3: (0.2, 0.4, 0.4)},
        untitled=0.4,
        brief=0.75,
        unsaid=0.75,
        seldom=0.5,
    ),
    # In Chinese shops most say about how much it may cost (29 of 49 that were read).
    "zh": Habits(
        {1: 0.4, 2: 0.42, 3: 0.18},
        {1: 0.2, 2: 0.1, 3: 0.05},
        {1: 0.95, 2: 0.95, 3: 0.95},
        0.85,
        None,
        0.0,
        0.0,
        0.6,
        1.0,
    ),
}


@dataclass(frozen=True)
class Manner:
    """What a person tells of a thing beside what it is like: whether its brand, a price, and how many measures at most."""

    brand: bool
    price: bool
    about: float
    """How often a price is about so much rather than a limit."""
    measures: int
    untitled: float
    several: bool
    """Whether few words are to fit several products."""
    indirect: bool
    """Whether something is to be said by its effect, where there is something."""
    brief: bool
    """Whether two needs are to be enough."""
    packed: bool
    """Whether it is told how the thing is to be packed."""
    unsaid: float
    """How often it is not told for whom or for what a thing is."""

    def allows(self, fact: str) -> bool:
        """Whether it tells such a fact at all."""
        return (self.brand or fact not in NEVER_TELLS) and (self.packed or fact != "packaging")


def draw_manner(habits: Habits, grade: int, random: Random, *, freely: bool) -> Manner:
    """freely: whatever is needed is told, for a product that cannot be told sparingly."""
    few = habits.measures if not freely else None
    several = random.random() < SEVERAL_RIGHT[grade]
    brand, price = habits.brand[grade], habits.price[grade]
    if freely:
        brand, price = max(FREELY_BRANDED, brand), max(FREELY_PRICED, price)
    return Manner(
        brand=not several and random.random() < brand,
        price=random.random() < price,
        about=habits.about,
        measures=draw_place(few[grade], random) if few else MANY,
        untitled=habits.untitled,
        several=several,
        indirect=random.random() < INDIRECT,
        brief=grade == 1 and not several and random.random() < habits.brief,
        packed=random.random() < PACKED,
        unsaid=habits.unsaid,
    )


def is_measure(need: Need) -> bool:
    """A number with a unit, other than a size or an age as people name it."""
    return need.number is not None and bool(need.unit) and need.unit not in ("years", "months", "pack", "person")


def is_detail(need: Need) -> bool:
    """A part that a thing has, or how many or how much of something: not its color, size, use or what it is made of."""
    plain = need.op == "is" and need.fact not in ("brand", "color", "condition", "flavor", "size", *FOR)
    if not plain or is_of_stuff(need.value, need.fact):
        return False
    return need.value[0].isdigit() or is_part(need.value, need.fact)


class TellingFacts:
    """What can be needed of a variant: each fact as it is, by its effect, or by what it is not; and its price."""

    def __init__(self, counter: VariantTable, thing: ProductVariant, known: Mapping[str, Need]) -> None:
        self.counter, self.thing = counter, thing
        known = {fact: need for fact, need in known.items() if need.value not in NEVER_ASKED}
        self.plain = {fact: weigh(counter, need) for fact, need in known.items()}
        self.measures = frozenset(fact for fact, need in known.items() if is_measure(need))
        self.bounds = {
            fact: found for fact, need in known.items() if (found := self.look_up("bound", need, self.weigh_bound))
        }
        self.effects = {fact for fact, bound in self.bounds.items() if self.has_effect(bound.need)}
        self.negations = {
            fact: self.look_up("not", need, self.list_negations)
            for fact, need in known.items()
            if fact not in NEVER_DENIED
        }
        self.family = self.weigh_family(known["color"]) if "color" in known else None
        self.title = thing.item.title.lower()
        self.titled = frozenset(
            fact for fact, need in known.items() if fact not in NEVER_TELLS and self.stands_in_title(need)
        )
        self.limits, self.about = list_price_limits(counter, thing.cents), weigh_about_price(counter, thing.cents)

    def leave_out(self, facts: Collection[str]) -> "TellingFacts":
        """The same without these."""
        rest = copy(self)
        rest.plain = {fact: each for fact, each in self.plain.items() if fact not in facts}
        rest.effects = self.effects.difference(facts)
        rest.measures, rest.titled = self.measures.difference(facts), self.titled.difference(facts)
        rest.family = None if "color" in facts else self.family
        return rest

    @property
    def is_told_by_title(self) -> bool:
        """Whether whoever compares words with titles knows all that there is to know."""
        return not self.effects and all(self.stands_in_title(each.need) for each in self.plain.values())

    def stands_in_title(self, need: Need) -> bool:
        """Whether the list of results shows it in the same words."""
        return need.op == "is" and need.value.lower() in self.title

    def look_up(self, what: str, need: Need, make: Callable[[Need], T]) -> T:
        """What is made of a fact's value, the same for all variants of the category that have it."""
        known, key = self.counter.known_candidates, (what, f"{need.fact} {need.kind}", need.value)
        if key not in known:
            known[key] = make(need)
        found: T = known[key]
        return found

    def has_effect(self, need: Need) -> bool:
        measure = parse_measurement(need.value)
        counter = self.counter
        return bool(measure and find_effect(counter.group, counter.leaf, need.fact, need.op, measure[1]))

    def can_tell(self, others: int, first: Sequence[Candidate], manner: "Manner", most: int) -> bool:
        """Whether all that may be told leaves no other variant, or those of so few products that the words may fit them, too."""
        masks = [each.met for each in first]
        for fact, plain in self.plain.items():
            if fact not in self.measures:
                masks += [plain.met] if manner.allows(fact) else []
            elif manner.measures:
                masks.append(plain.met)
            elif fact in self.effects:
                masks.append(self.bounds[fact].met)
        if manner.price and self.limits:
            masks.append(self.limits[0].met & self.about.met if self.about else self.limits[0].met)
        for mask in masks:
            others &= mask
        return others == 0 or len(set(self.counter.rows[unpack_bits(others, len(self.counter.rows))].tolist())) < most

    def can_tell_in(self, count: int, others: int, manner: "Manner") -> bool:
        """Whether so many needs are ever enough, with no more measures than the manner has. What denies a value tells less than the value."""
        able = [
            (plain.loose, fact in self.measures)
            for fact, plain in self.plain.items()
            if (manner.measures or fact not in self.measures) and manner.allows(fact)
        ]
        able += [(self.bounds[fact].loose, False) for fact in sorted(self.effects)]
        if manner.price:
            able += [(each.loose, False) for each in (*self.limits[:1], *([self.about] if self.about else []))]
        return any(
            sum(measure for _, measure in some) <= manner.measures and not meets_all(others, [met for met, _ in some])
            for size in range(1, count + 1)
            for some in combinations(able, size)
        )

    def draw(self, random: Random, grade: int, manner: "Manner", *, indirect: bool) -> list[Candidate]:
        """One candidate for each fact that may be told, and perhaps a price, in an order of chance. indirect: by its effect, what has one."""
        found = []
        bounds, negations = draw_between(BOUNDS[grade], random), draw_between(NEGATION[grade], random)
        measures = manner.measures
        hidden = self.titled if random.random() < manner.untitled else frozenset()
        for fact, plain in sorted(self.plain.items(), key=lambda _: random.random()):
            if random.random() < (manner.unsaid if fact in FOR else 0.0):
                continue
            bounded, negated, pick = random.random() < bounds, random.random() < negations, random.random()
            others = self.negations.get(fact, [])
            if fact in self.effects and (bounded or indirect):
                found.append(self.bounds[fact])
            elif negated and others:
                found.append(others[int(pick * len(others))])
            elif fact == "color" and self.family and pick < FAMILY:
                found.append(self.family)
            elif fact in hidden:
                continue
            elif fact in self.measures:
                if measures:
                    limited = fact in self.bounds and pick < LIMITED
                    found.append(self.bounds[fact] if limited else plain)
                measures -= 1 if measures else 0
            elif manner.allows(fact):
                found.append(plain)
        about, pick = random.random() < manner.about, random.random()
        if manner.price and about and self.about:
            found.append(self.about)
        elif manner.price and self.limits:
            found.append(self.limits[int(pick * len(self.limits))])
        return sorted(found, key=lambda _: random.random())

    def weigh_bound(self, need: Need) -> Candidate | None:
        """The end of its measure at which the variant is; it has a unit, else it is no measure but a name."""
        values = list_offered_values(self.counter, need.fact)
        measure = parse_measurement(need.value)
        for op in get_args(Bound):
            bounds = find_effect_bounds(values, op) if measure and measure[1] else None
            if not measure or not bounds:
                continue
            strict, loose = (build_bound(need, op, value) for value in bounds)
            if op == "at most" and self.is_wanted_more_of(strict):
                continue
            if is_within_bound(measure[0], op, parse_measurement(strict.value)[0]):  # type: ignore[index]
                return weigh(self.counter, strict, loose)
        return None

    def weigh_family(self, color: Need) -> Candidate | None:
        """The family of its color, where the category has several colors of it."""
        family = find_color_family(color.value)
        offered = map(find_color_family, list_offered_values(self.counter, "color"))
        if not family or sum(each == family for each in offered) < 2:
            return None
        need = color.model_copy(update={"op": "kind of", "value": family, "kind": "attribute"})
        return weigh(self.counter, need)

    def is_wanted_more_of(self, need: Need) -> bool:
        """Whether people only want more of it: nobody wants a battery of 40 hours at most."""
        return not self.has_effect(need) and self.has_effect(need.model_copy(update={"op": "at least"}))

    def list_negations(self, need: Need) -> list[Candidate]:
        """The other values, where there are three and more and everything has one; of numbers nobody says what they are not."""
        column = self.counter.columns[need.fact]
        values = list_offered_values(self.counter, need.fact)
        if (column < 0).any() or not 3 <= len(values) <= MOST_VALUES or any(value[0].isdigit() for value in values):
            return []
        rest = [value for value in values if not is_same_value(value, need.value)]
        return [
            weigh(self.counter, need.model_copy(update={"op": "is not", "value": value, "kind": "attribute"}))
            for value in rest
        ]


def draw_between(span: tuple[float, float], random: Random) -> float:
    return span[0] + random.random() * (span[1] - span[0])


def list_offered_values(counter: VariantTable, fact: str) -> list[str]:
    """What the things of a category have for a fact, sold out or not."""
    codes = np.unique(counter.columns[fact])
    return [counter.values[fact][code] for code in codes[codes >= 0].tolist()]


def build_bound(need: Need, op: Bound, value: str) -> Need:
    unit = MEASURE.match(value)
    number = float(unit["number"]) if unit else None
    return need.model_copy(update={"op": op, "value": value, "number": number, "kind": "attribute"})


def list_price_limits(counter: VariantTable, cents: int) -> list[Candidate]:
    """The next round amounts that nothing costs just as much as: who says "under" and who says "at most" mean the same."""
    limits = [round_up_price(cents)]
    for _ in range(2):
        limits.append(round_up_price(limits[-1] + 1))
    return [
        weigh(counter, build_price_limit(limit))
        for limit in limits
        if limit > cents and not (counter.cents == limit).any()
    ]


def weigh_about_price(counter: VariantTable, cents: int) -> Candidate | None:
    """The round amount that is about the price, where there is one."""
    step = 100 * find_step(cents)
    amount = max(step, round(cents / step) * step)
    if abs(cents - amount) > NEAR * amount:
        return None
    need = build_price_limit(amount).model_copy(update={"op": "about"})
    return Candidate(
        need, pack_bits(counter.meets(need)), pack_bits(np.abs(counter.cents - amount) * ABOUT <= 2 * amount)
    )


def round_up_price(cents: int) -> int:
    """The next round amount, in cents.

    >>> round_up_price(1649), round_up_price(3649), round_up_price(129900)
    (1700, 4000, 130000)
    """
    step = 100 * find_step(cents)
    return step * -(-cents // step)


def find_step(cents: int) -> int:
    """Dollars that a price near this one is rounded to."""
    return next((step for step in STEPS if cents <= 100 * MOST_STEPS * step), STEPS[-1])


def build_price_limit(cents: int, *, known: Any = "stated") -> Need:
    value = f"{cents / 100:.2f}"
    return Need(
        fact="price", op="at most", value=value, number=cents / 100, unit="dollars", kind="price", known=known, said=""
    )
