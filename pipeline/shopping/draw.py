"""A task drawn for one product: what is needed of it, so that no other product of the catalog will do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, get_args

import numpy as np

from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shopping.effects import Bound, find_effect, find_effect_bounds
from shopwright.pipeline.shopping.facts import (
    ABOUT,
    MEASURE,
    ProductVariant,
    VariantTable,
    VariantTables,
    build_need,
    is_same_value,
    is_within_bound,
    normalize_attribute_name,
    parse_measurement,
)
from shopwright.schemas.certificates import AnyOf, End, Lines, Miss, certificate_to_text
from shopwright.schemas.shopping import Need, Profile

# Needs of each grade, and the share of tasks that are to have it.
GRADES = {1: range(2, 4), 2: range(4, 6), 3: range(6, 20)}
SHARES = {1: 0.4, 2: 0.35, 3: 0.25}
# Choices of needs that are tried for a variant, by grade: many that are all needed are rare.
TRIES = {1: 30, 2: 20, 3: 60}
# How often a try knows the brand, a price, a price that is about something rather than a limit; by grade where that matters.
BRAND = {1: 0.45, 2: 0.2, 3: 0.1}
PRICE = {1: 0.3, 2: 0.3, 3: 0.5}
ABOUT_PRICE = 0.35
# How often a measure is needed by a bound, and another fact by what it is not; between these shares, drawn for each try.
BOUNDS = {1: (0.4, 1.0), 2: (0.6, 1.0), 3: (0.5, 1.0)}
# Share of tasks that are to have a need which is said by its effect, where there is one, and of their tries those that insist on it.
INDIRECT, INSIST = 0.8, 0.9
NEGATION = {1: (0.0, 0.1), 2: (0.0, 0.2), 3: (0.1, 0.6)}
# A price that is about so much is nearer to it than this share of it, and no other product that would do is as near as twice the tenth.
NEAR = 0.05
# Values of a fact, at most, of which one is told by what it is not.
MOST_VALUES = 12
# Facts that are named only in some tasks, or where a profile carries them: they alone tell nearly everything.
NEVER_TELLS = ("brand",)
NEVER_DENIED = ("brand", "size", "shoe size", "cut", "garment", "condition")
# Facts that name the product itself: who knows them needs no shopping assistant.
IDENTIFIERS = frozenset(
    [
        "id",
        "sku",
        "asin",
        "upc",
        "ean",
        "gtin",
        "isbn",
        "mpn",
        "model",
        "modelno",
        "model number",
        "part number",
        "item number",
    ]
)
# Dollars that a limit is a multiple of: so that about twenty steps lie below it.
STEPS = (1, 5, 10, 20, 50, 100, 500)
MOST_STEPS = 20


@dataclass(frozen=True)
class TaskDraft:
    """One variant and what tells its product from all others."""

    thing: ProductVariant
    category: str
    group: str
    """The department that the category is of."""
    needs: tuple[Need, ...]
    grade: int
    acceptable: str
    """The certificate, as JSON."""
    nearest_miss: str


@dataclass(frozen=True)
class ProfileDemands:
    """What a profile says about one kind of thing: facts and their values, and what it pays at most, in cents."""

    facts: Mapping[str, str]
    most: int | None = None


NO_DEMANDS = ProfileDemands({})


@dataclass(frozen=True)
class Candidate:
    """A need that a task could have, with what of the category meets it."""

    need: Need
    met: int
    """A bit for each variant, which many tries put together faster than arrays of so few."""
    loose: int
    """What meets it for somebody who takes it less strictly: a price that is nearly about so much, a size in the middle."""


def draw_grade(random: Random) -> int:
    """A grade, by its share."""
    point = random.random()
    for grade, share in SHARES.items():
        point -= share
        if point < 0:
            return grade
    return max(SHARES)


def grade_of(needs: Sequence[Need]) -> int:
    """By the number of needs; few of them are grade 1.

    >>> [grade_of(["need"] * count) for count in (1, 3, 4, 6)]  # type: ignore[list-item]
    [1, 1, 2, 3]
    """
    return next((grade for grade, sizes in GRADES.items() if len(needs) in sizes), 1)


def draft_task(
    counters: VariantTables,
    row: int,
    random: Random,
    *,
    grade: int | None = None,
    carried: ProfileDemands = NO_DEMANDS,
    but: Iterable[str] = (),
) -> TaskDraft | None:
    """A task for the product of this row; None where nothing tells it from its siblings in as many needs as the grade has.

    grade: None takes any. carried: what the customer's profile says, which is then needed and not stated. but: variants that are
    tasks already.
    """
    store = counters.store
    leaf = int(store.leaf_of[row])
    counter = counters.of(leaf)
    here = np.flatnonzero((counter.rows == row) & counter.stocked)
    order = sorted(here.tolist(), key=lambda _: random.random())
    for place in order:
        thing = get_variant_at(store, counter, place)
        if thing.option and thing.option.id in but:
            continue
        needs = choose_telling_needs(counter, row, thing, random, carried, grade)
        if needs is not None:
            right = certificate_to_text(AnyOf(ends=[End(bought=[find_right_variants(store, counter, row, needs)])]))
            return TaskDraft(
                thing,
                store.leaves[leaf],
                store.groups[leaf],
                tuple(needs),
                grade_of(needs),
                right,
                certificate_to_text(find_nearest_miss(store, counter, row, needs)),
            )
    return None


def get_variant_at(store: Store, counter: VariantTable, place: int) -> ProductVariant:
    variant = int(counter.places[place])
    return ProductVariant(store.item(int(counter.rows[place])), store.option(variant) if variant >= 0 else None)


def choose_telling_needs(
    counter: VariantTable,
    row: int,
    thing: ProductVariant,
    random: Random,
    carried: ProfileDemands,
    grade: int | None,
) -> list[Need] | None:
    """Needs that only this product satisfies, none of which can be left out; None where no try comes to as many as the grade has."""
    known = list_possible_needs(counter, thing)
    from_profile = [
        known[fact].model_copy(update={"known": "profile"})
        for fact, value in carried.facts.items()
        if fact in known and known[fact].value == value
    ]
    if carried.facts and not from_profile:
        return None
    if carried.most is not None and thing.cents <= carried.most:
        from_profile.append(build_price_limit(carried.most, known="profile"))
    first = [weigh(counter, need) for need in from_profile]
    pool = TellingFacts(counter, thing, {fact: known[fact] for fact in known if fact not in carried.facts})
    free_price = all(need.fact != "price" for need in from_profile)
    others = pack_bits(counter.stocked & (counter.rows != row))
    tries = TRIES[grade or 1]
    insists = INSIST * tries if pool.effects and random.random() < INDIRECT else 0
    for number in range(tries):
        wanted, indirect = grade or draw_grade(random), number < insists
        candidates = pool.draw(random, wanted, price=free_price, indirect=indirect)
        chosen = select_smallest(others, first, candidates, random, wanted)
        if chosen is None or (grade and grade_of(chosen) != grade):
            continue
        if indirect and not any(need.fact in pool.effects and need.op.startswith("at ") for need in chosen):
            continue
        if not carried.facts or any(need.known == "profile" and need.fact != "price" for need in chosen):
            return sort_needs(chosen)
    return None


def pack_bits(mask: np.ndarray) -> int:
    return int.from_bytes(np.packbits(mask).tobytes(), "big")


def weigh(counter: VariantTable, need: Need, loose: Need | None = None) -> Candidate:
    met = pack_bits(counter.meets(need))
    return Candidate(need, met, met if loose is None else pack_bits(counter.meets(loose)))


class TellingFacts:
    """What can be needed of a variant: each fact as it is, by its effect, or by what it is not; and its price."""

    def __init__(self, counter: VariantTable, thing: ProductVariant, known: Mapping[str, Need]) -> None:
        self.counter, self.thing = counter, thing
        self.plain = {fact: weigh(counter, need) for fact, need in known.items()}
        self.bounds = {fact: found for fact, need in known.items() if (found := self.weigh_bound(need))}
        self.effects = {fact for fact, bound in self.bounds.items() if self.has_effect(bound.need)}
        self.negations = {fact: self.list_negations(need) for fact, need in known.items() if fact not in NEVER_DENIED}
        self.limits, self.about = list_price_limits(counter, thing.cents), weigh_about_price(counter, thing.cents)

    def has_effect(self, need: Need) -> bool:
        measure = parse_measurement(need.value)
        counter = self.counter
        return bool(measure and find_effect(counter.group, counter.leaf, need.fact, need.op, measure[1]))

    def draw(self, random: Random, grade: int, *, price: bool, indirect: bool) -> list[Candidate]:
        """One candidate for each fact, and perhaps a price, in an order of chance. indirect: by its effect, what has one."""
        found = []
        bounds, negations = draw_between(BOUNDS[grade], random), draw_between(NEGATION[grade], random)
        for fact, plain in self.plain.items():
            bounded, negated = random.random() < bounds, random.random() < negations
            pick, brand = random.random(), random.random() < BRAND[grade]
            others = self.negations.get(fact, [])
            if fact in self.bounds and (bounded or (indirect and fact in self.effects)):
                found.append(self.bounds[fact])
            elif negated and others:
                found.append(others[int(pick * len(others))])
            elif brand or fact not in NEVER_TELLS:
                found.append(plain)
        tells_price, about, pick = random.random() < PRICE[grade], random.random() < ABOUT_PRICE, random.random()
        if price and tells_price and about and self.about:
            found.append(self.about)
        elif price and tells_price and self.limits:
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
            if is_within_bound(measure[0], op, parse_measurement(strict.value)[0]):  # type: ignore[index]
                return weigh(self.counter, strict, loose)
        return None

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


def select_smallest(
    others: int, first: Sequence[Candidate], rest: Sequence[Candidate], random: Random, grade: int
) -> list[Need] | None:
    """Of these, needs that nothing else meets, none of which could go; None where all together are not enough.

    Few strong ones make a small set, weak ones a large one. Nothing else may meet them, loosely taken, either.
    """
    strength = {id(each): (others & ~each.met).bit_count() * (0.5 + random.random()) for each in rest}
    # Of a small set the strong come first and the weak go first, of a large one the other way round.
    rank = {id(each): {1: -1, 2: 0, 3: 1}[grade] * strength[id(each)] for each in rest}
    order = sorted(rest, key=lambda each: rank[id(each)])
    chosen, left = list(first), others
    for each in first:
        left &= each.loose
    for each in order:
        if left and left & ~each.loose:
            chosen.append(each)
            left &= each.loose
    if left:
        return None
    # What is stated goes before what the profile carries.
    keep = sorted(chosen, key=lambda each: (each.need.known == "profile", -rank.get(id(each), 0)))
    for each in tuple(keep):
        fewer = [one for one in keep if one is not each]
        if fewer and not meets_all(others, [one.loose for one in fewer]):
            keep = fewer
    # Strictly taken, each must still be needed.
    idle = any(not meets_all(others, [one.met for one in keep if one is not each]) for each in keep)
    return None if idle else [each.need for each in keep]


def meets_all(others: int, masks: Iterable[int]) -> bool:
    """Whether any of the others meets all."""
    for mask in masks:
        others &= mask
    return others != 0


def sort_needs(needs: Iterable[Need]) -> list[Need]:
    """Those of the profile first, then options, attributes and the price."""
    kinds = ("option", "attribute", "price")
    return sorted(needs, key=lambda need: (need.known != "profile", kinds.index(need.kind), need.fact))


def list_possible_needs(counter: VariantTable, thing: ProductVariant) -> dict[str, Need]:
    """What can be needed of it, by fact."""
    facts = sorted(counter.columns.keys() - IDENTIFIERS)
    found = {fact: build_need(fact, thing, known="stated", said="") for fact in facts}
    return {fact: need for fact, need in found.items() if need is not None}


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


def find_right_variants(store: Store, counter: VariantTable, row: int, needs: Sequence[Need]) -> Lines:
    """All variants of the product that satisfy the needs and can be bought."""
    places = counter.places[counter.where(needs) & (counter.rows == row)].tolist()
    variants = [store.option(place).id for place in places if place >= 0]
    return Lines(product_id=store.item(row).id, variants=variants)


def find_nearest_miss(store: Store, counter: VariantTable, row: int, needs: Sequence[Need]) -> Miss:
    """The other product's variant that breaks fewest needs: of equals the first in the shop."""
    broken = np.zeros(len(counter.rows), dtype=np.int32)
    for need in needs:
        broken += ~counter.meets(need)
    broken[(counter.rows == row) | ~counter.stocked] = len(needs) + 1
    if not len(broken) or broken.min() > len(needs):
        return Miss(breaks=[], end=End())
    place = int(broken.argmin())
    thing = get_variant_at(store, counter, place)
    breaks = [need.fact for need in needs if not counter.meets(need)[place]]
    bought = Lines(product_id=thing.item.id, variants=[thing.option.id] if thing.option else [])
    return Miss(breaks=breaks, end=End(bought=[bought]))


def derive_profile_demands(profile: Profile, counter: VariantTable, category: str) -> ProfileDemands:
    """What of a kind of thing follows from a profile alone, without a doubt.

    Its brand, where just one that it strongly prefers makes such things; its color, where it strongly prefers just one; its size,
    where the profile tells it for this kind; and its upper price.
    """
    facts: dict[str, str] = {}
    for fact, liked in (("brand", profile.interests.brands), ("color", profile.interests.colors)):
        strong = {each.name for each in liked if each.level == "high"} & set(counter.values.get(fact, []))
        if len(strong) == 1:
            facts[fact] = strong.pop()
    for size in profile.interests.sizes:
        name, _, value = size.value.partition(": ")
        if size.name == category and value in counter.values.get(normalize_attribute_name(name), []):
            facts[normalize_attribute_name(name)] = value
    top = profile.interests.price_range.partition("-")[2]
    return ProfileDemands(facts, int(top) * 100 if top.isdigit() else None)
