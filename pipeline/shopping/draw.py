"""A task drawn for one product: what is needed of it, so that no other product of the catalog will do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shopping.facts import (
    NUMBERS,
    ProductVariant,
    VariantTable,
    VariantTables,
    build_need,
    normalize_attribute_name,
)
from shopwright.schemas.certificates import AnyOf, End, Lines, Miss, certificate_to_text
from shopwright.schemas.shopping import Need, Profile

# Attributes that a task needs: at least so many where the product has them, and no more beside what makes it the only
# one.
LEAST, MOST = 2, 5
# Facts that are named only where others do not tell the product from its siblings, or where a profile carries them.
NEVER_TELLS = ("brand",)
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


@dataclass(frozen=True)
class TaskDraft:
    """One variant and what tells its product from all others."""

    thing: ProductVariant
    category: str
    needs: tuple[Need, ...]
    acceptable: str
    """The certificate, as JSON."""
    nearest_miss: str


@dataclass(frozen=True)
class ProfileDemands:
    """What a profile says about one kind of thing: facts and their values, and what it pays at most, in cents."""

    facts: Mapping[str, str]
    most: int | None = None


NO_DEMANDS = ProfileDemands({})


def draft_task(
    counters: VariantTables, row: int, random: Random, *, carried: ProfileDemands = NO_DEMANDS, but: Iterable[str] = ()
) -> TaskDraft | None:
    """A task for the product of this row; None where nothing tells it from its siblings.

    carried: what the customer's profile says, which is then needed and not stated. but: variants that are tasks already.
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
        needs = choose_telling_needs(counter, row, thing, random, carried)
        if needs is not None:
            right = certificate_to_text(AnyOf(ends=[End(bought=[find_right_variants(store, counter, row, needs)])]))
            return TaskDraft(
                thing,
                store.leaves[leaf],
                tuple(needs),
                right,
                certificate_to_text(find_nearest_miss(store, counter, row, needs)),
            )
    return None


def get_variant_at(store: Store, counter: VariantTable, place: int) -> ProductVariant:
    variant = int(counter.places[place])
    return ProductVariant(store.item(int(counter.rows[place])), store.option(variant) if variant >= 0 else None)


def choose_telling_needs(
    counter: VariantTable, row: int, thing: ProductVariant, random: Random, carried: ProfileDemands
) -> list[Need] | None:
    """Needs that only this product satisfies: what the profile carries, options, attributes, a limit, and more where that is not enough."""
    known = list_possible_needs(counter, thing)
    from_profile = [
        known[fact] for fact, value in carried.facts.items() if fact in known and known[fact].value == value
    ]
    if carried.facts and not from_profile:
        return None
    chosen = [need.model_copy(update={"known": "profile"}) for need in from_profile]
    taken = {need.fact for need in chosen}
    free = [need for fact, need in known.items() if fact not in taken and fact not in carried.facts]
    options, mine = [need for need in free if need.kind == "option"], counter.rows == row
    # An option is needed where the product offers more than one value of it.
    chosen += [need for need in options if len(np.unique(counter.columns[need.fact][mine])) > 1]
    telling = [need for need in free if need.kind == "attribute" and need.fact not in NEVER_TELLS]
    # Of `Random` only the bits of `random` are promised not to change, so not by `shuffle`.
    attributes = sorted(telling, key=lambda _: random.random())
    chosen += attributes[:LEAST]
    rest = [*attributes[LEAST:], *(need for need in free if need.fact in NEVER_TELLS)]
    if carried.most is not None and thing.cents <= carried.most:
        chosen.append(build_price_limit(carried.most, known="profile"))
    left = counter.where(chosen)
    left = add_telling_needs(counter, left, row, rest[: MOST - LEAST + len(NEVER_TELLS)], chosen)
    if not is_only_product_left(counter, left, row) and all(need.fact != "price" for need in chosen):
        left = add_limit(counter, left, row, thing, chosen, random)
    left = add_telling_needs(counter, left, row, build_measure_needs(counter, left, row, thing, random), chosen)
    if not is_only_product_left(counter, left, row):
        return None
    if all(need.fact != "price" for need in chosen) and random.random() < 0.7:
        chosen.append(build_price_limit(round_up_price(thing.cents)))
    return chosen


def add_telling_needs(
    counter: VariantTable, left: np.ndarray, row: int, needs: Iterable[Need], chosen: list[Need]
) -> np.ndarray:
    """Adds to `chosen` each need that other products do not meet, until none is left; gives what is left then."""
    for need in needs:
        if is_only_product_left(counter, left, row):
            break
        fewer = left & counter.meets(need)
        if count_other_products(counter, fewer, row) < count_other_products(counter, left, row):
            chosen.append(need)
            left = fewer
    return left


def list_possible_needs(counter: VariantTable, thing: ProductVariant) -> dict[str, Need]:
    """What can be needed of it, by fact."""
    facts = sorted(counter.columns.keys() - IDENTIFIERS)
    found = {fact: build_need(fact, thing, known="stated", said="") for fact in facts}
    return {fact: need for fact, need in found.items() if need is not None}


def count_other_products(counter: VariantTable, left: np.ndarray, row: int) -> int:
    """Products beside this one that are left."""
    return len(np.unique(counter.rows[left & (counter.rows != row)]))


def is_only_product_left(counter: VariantTable, left: np.ndarray, row: int) -> bool:
    return not (left & (counter.rows != row)).any()


def add_limit(
    counter: VariantTable, left: np.ndarray, row: int, thing: ProductVariant, chosen: list[Need], random: Random
) -> np.ndarray:
    """A limit that leaves out as many as it can: below the cheapest dearer one, else just what it costs."""
    dearer = counter.cents[left & (counter.rows != row) & (counter.cents > thing.cents)]
    if not len(dearer):
        return left
    most = round_up_price(thing.cents)
    if most >= dearer.min():
        most = thing.cents
    need = build_price_limit(most)
    chosen.append(need)
    found: np.ndarray = left & counter.meets(need)
    return found


def round_up_price(cents: int) -> int:
    """The next round amount, in cents.

    >>> round_up_price(3649), round_up_price(495), round_up_price(129900)
    (3700, 500, 130000)
    """
    dollars = -(-cents // 100)
    step = next((step for step in STEPS if dollars <= 60 * step), STEPS[-1])
    return 100 * step * -(-dollars // step)


def build_price_limit(cents: int, *, known: Any = "stated") -> Need:
    value = f"{cents / 100:.2f}"
    return Need(
        fact="price", op="at most", value=value, number=cents / 100, unit="dollars", kind="price", known=known, said=""
    )


def build_measure_needs(
    counter: VariantTable, left: np.ndarray, row: int, thing: ProductVariant, random: Random
) -> list[Need]:
    """Figures of the product's page, as the last that may tell it apart; round ones where they leave out as many."""
    item = thing.item
    have = {"rating": item.rating, "shipping days": item.shipping_days, "review count": item.review_count}
    found = []
    for fact in sorted(NUMBERS, key=lambda _: random.random()):
        number = have[fact]
        if number is None:
            continue
        op: Any = "at most" if fact == "shipping days" else "at least"
        if op == "at least":
            column = counter.numbers[fact][left & (counter.rows != row)]
            number = find_round_bound(float(number), float(np.max(column[column < number], initial=0)))
        value = f"{number:g}" if number < 10 else f"{number:.0f}"
        found.append(
            Need(fact=fact, op=op, value=value, number=float(number), kind="attribute", known="stated", said="")
        )
    return found


def find_round_bound(number: float, next_best: float) -> float:
    """The roundest figure above the next best and not above the number.

    >>> find_round_bound(2588, 2310), find_round_bound(2588, 2530), find_round_bound(4.7, 4.3), find_round_bound(4.7, 4.6)
    (2500, 2550, 4.5, 4.7)
    """
    for step in (1000, 500, 100, 50, 10, 5, 1, 0.5):
        found = number // step * step
        if next_best < found:
            return found
    return number


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
