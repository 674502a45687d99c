"""What a shopper asks of a product: drawn from products that have it, so that it can be had."""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from math import isnan
from random import Random

import numpy as np

from shopwright.pipeline.catalog.fits import Fits, decisive, does_for, may_do_for
from shopwright.pipeline.envs.base import SellOut
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.wording import make_slot, slot_of_constraint
from shopwright.pipeline.phrases.speaker import spell_dollars
from shopwright.pipeline.shop.store import Shelf, Store
from shopwright.schemas.certificates import Constraint
from shopwright.schemas.record import Part
from shopwright.schemas.tasks import Slot

# Characters of a value that somebody would say.
LONGEST_VALUE = 60

# Characters of a value that is said of something else.
LONGEST = 60
# Limits that something else may have, too, as a fact and how it is bounded; and in tenths the lowest rating that anybody asks for.
SAID_LIMITS = (("price", "at most"), ("rating", "at least"), ("shipping days", "at most"))
LOWEST_RATING = 30
# Products that are looked at for the one most easily taken for what is wanted.
MOST_OTHERS = 20


class Requirement(Part):
    """One slot about a product, and what it comes to; a span of prices is two constraints."""

    name: str
    """Of the slot."""
    constraints: list[Constraint]

    def slot(self, shelf: Shelf | None = None) -> Slot:
        """What is asked for, as a slot; "under" a price is said where nothing on the shelf costs just that."""
        first = self.constraints[0]
        if len(self.constraints) > 1:
            most, least = (spell_dollars(round(each.number or 0))["limit"] for each in self.constraints)
            return make_slot(self.name, "price between", {"low": least, "limit": most}, "trait", most)
        exact = shelf is None or first.fact != "price" or bool((shelf.numbers["price"] == first.number).any())
        return slot_of_constraint(first, self.name, exact=exact)


def match_requirements(shelf: Shelf, demands: Sequence[Requirement]) -> np.ndarray:
    """For each demand a row: which products of the shelf meet it."""
    found = np.ones((len(demands), len(shelf.rows)), dtype=bool)
    for number, each in enumerate(demands):
        found[number] = shelf.where(each.constraints)
    return found


def select_telling_requirements(shelf: Shelf, demands: Sequence[Requirement]) -> tuple[list[Requirement], np.ndarray]:
    """Those that some product of the shelf does not meet, and for each of them a row: which do."""
    meets = match_requirements(shelf, demands)
    kept = np.flatnonzero(~meets.all(axis=1))
    return [demands[each] for each in kept.tolist()], meets[kept]


def list_shared_requirements(shelf: Shelf, places: Sequence[int], axes: Axes, random: Random) -> list[Requirement]:
    """All that the products at these places of a shelf have in common, a number within bounds; without the price."""
    found, bounded = [], set()
    for fact, column in shelf.numbers.items():
        numbers = [float(column[place]) for place in places]
        name = fact.partition(" (")[0]
        if fact == "price" or any(isnan(number) for number in numbers):
            continue
        if fact == "rating":
            found.append(require_rating(numbers, axes, random))
        elif fact == "shipping days":
            found.append(require_shipping(numbers, axes, random))
        elif name not in bounded and is_measure(fact) and (min(numbers) < max(numbers) or random.random() < 0.5):
            bounded.add(name)
            found.append(require_measure(fact, column, numbers, axes, random))
    for fact, codes in shelf.codes.items():
        code = int(codes[places[0]])
        if code < 0 or fact in bounded or any(codes[place] != code for place in places[1:]):
            continue
        value = shelf.values[fact][code]
        # A value of one product alone would name it.
        if len(value) <= LONGEST_VALUE and int(np.count_nonzero(codes == code)) > 1:
            found.append(require_value(fact, value))
    return found


def is_measure(fact: str) -> bool:
    """Whether a number of it can be held against a limit: not of "2 to 4 players", whose unit has a number of its own, nor of the "1980s".

    >>> is_measure("height (in)"), is_measure("players (to 4 players)"), is_measure("decade (s)")
    (True, False, False)
    """
    unit = fact.partition(" (")[2].rstrip(")")
    return unit != "s" and not any(map(str.isdigit, unit))


def require_value(fact: str, value: str) -> Requirement:
    return Requirement(name=fact, constraints=[Constraint(fact=fact, op="is", value=value)])


def require_compatibility(fits: Fits) -> list[Requirement]:
    """That a product fits what this one does, kind by kind.

    >>> [each.name for each in require_compatibility({"device": frozenset(["iphone 7", "iphone 8"]), "screen": frozenset(["0-15.6"])})]
    ['device', 'screen']
    """
    return [require_fit(kind, " and ".join(sorted(values))) for kind, values in sorted(decisive(fits).items())]


def require_fit(kind: str, value: str) -> Requirement:
    return Requirement(name=kind, constraints=[Constraint(fact=kind, op="fits", value=value)])


def is_sayable(fits: Fits) -> bool:
    """Whether it is not a list of devices that nobody would say."""
    return all(len(each.constraints[0].value) <= LONGEST_VALUE for each in require_compatibility(fits))


def find_doubtful_fits(shelf: Shelf, fits: Fits) -> np.ndarray:
    """Products of which nobody knows whether they do for what fits this: made for something, where it says nothing, or the reverse."""
    found = np.zeros(len(shelf.rows), dtype=bool)
    for place, other in enumerate(shelf.fits):
        if fits or other:
            found[place] = not does_for(other, fits) and may_do_for(other, fits) if fits else True
    return found


def require_rating(numbers: Sequence[float], axes: Axes, random: Random) -> Requirement:
    # In tenths, as ratings are said; 1.0 is the lowest that there is.
    loose = 1 - axes.slack * random.random() / 2
    least = max(10, int(10 * min(numbers) * loose)) / 10
    return Requirement(name="rating", constraints=[make_bound("rating", "at least", least)])


def require_shipping(numbers: Sequence[float], axes: Axes, random: Random) -> Requirement:
    days = int(max(numbers) * (1 + axes.slack * random.random()))
    return Requirement(name="shipping", constraints=[make_bound("shipping days", "at most", days)])


def require_measure(fact: str, column: np.ndarray, numbers: Sequence[float], axes: Axes, random: Random) -> Requirement:
    """A bound that some product of the shelf has, no looser than the level allows: `height at most 30 in`."""
    name, _, unit = fact.rstrip(")").partition(" (")
    if random.random() < 0.5:
        most = max(numbers)
        near = column[(column >= most) & (column <= most * (1 + axes.slack))]
        limit = make_bound(fact, "at most", float(near[random.randrange(len(near))]), unit)
    else:
        least = min(numbers)
        near = column[(column <= least) & (column >= least * (1 - axes.slack))]
        limit = make_bound(fact, "at least", float(near[random.randrange(len(near))]), unit)
    return Requirement(name=name, constraints=[limit])


def make_bound(fact: str, op: str, number: float, unit: str = "") -> Constraint:
    """
    >>> [make_bound("crew (workers)", "at most", number, "workers").value for number in (1, 2)]
    ['1 worker', '2 workers']
    """
    if number == 1 and len(unit) > 3:
        unit = unit.removesuffix("s")
    return Constraint.model_validate(
        {"fact": fact, "op": op, "value": f"{number:.12g} {unit}".strip(), "number": number}
    )


def require_price(most: int, least: int | None = None, *, of: str = "price") -> Requirement:
    """
    >>> [each.value for each in require_price(4000, 1995).constraints]
    ['$40', '$19.95']
    """
    constraints = [Constraint(fact="price", op="at most", value=format_limit(most), number=most)]
    if least is not None:
        constraints.append(Constraint(fact="price", op="at least", value=format_limit(least), number=least))
    return Requirement(name=of, constraints=constraints)


def require_price_around(cents: Sequence[int], axes: Axes, random: Random, *, span: bool = False) -> Requirement:
    """A limit that these prices are within, or a span of prices."""
    most = round_price_limit(int(max(cents) * (1 + axes.slack * random.random())), up=True)
    least = round_price_limit(int(min(cents) * (1 - axes.slack * random.random()))) if span else None
    return require_price(most, least)


def round_price_limit(cents: int, *, up: bool = False) -> int:
    """As people say a limit: whole dollars from ten dollars on.

    >>> round_price_limit(2_495, up=True), round_price_limit(2_495), round_price_limit(499)
    (2500, 2400, 499)
    """
    step = 100 if cents >= 1_000 else 1
    return -(-cents // step) * step if up else cents // step * step


def format_limit(cents: int) -> str:
    """
    >>> format_limit(4_000), format_limit(1_995)
    ('$40', '$19.95')
    """
    return f"${cents // 100}" if cents % 100 == 0 else f"${cents / 100:.2f}"


def draw_limit_below(cents: int, random: Random) -> int | None:
    """A limit below this price; None where it is too low already."""
    found = round_price_limit(int(cents * (0.6 + 0.35 * random.random())))
    return found if 0 < found < cents else None


def draw_place(mask: np.ndarray, random: Random) -> int | None:
    """One of the places where a mask holds."""
    places = np.flatnonzero(mask)
    return int(places[random.randrange(len(places))]) if len(places) else None


def list_variant_ids(store: Store, rows: Iterable[int]) -> list[str]:
    return [option.id for option in chain.from_iterable(map(store.options, rows))]


def schedule_sell_out(store: Store, row: int, random: Random) -> SellOut:
    """The whole product, after one of the agent's first two turns."""
    return SellOut(after=random.randint(1, 2), variants=list_variant_ids(store, [row]))


def contrast_products(
    shelf: Shelf, constraints: Iterable[Constraint], axes: Axes, random: Random, *, category: str = ""
) -> list[Slot]:
    """By chance what another product is like, the one most easily taken for what is wanted. category: of a thing of a list.

    Who counts what fits finds as much in it: what it has in common with what is wanted, its own value or limit of all else, and one fact more.
    """
    constraints = list(constraints)
    if random.random() >= axes.contrast or not constraints:
        return []
    meets = match_requirements(shelf, [Requirement(name=each.fact, constraints=[each]) for each in constraints])
    right = np.asarray(meets.all(axis=0))
    wrong = np.flatnonzero(~right).tolist()
    best, other, most = list[Constraint](), -1, 0
    for place in random.sample(wrong, min(len(wrong), MOST_OTHERS)):
        told = [found for each in constraints if (found := draw_own_constraint(shelf, right, place, each, random))]
        # What all that is wanted is within, too, tells nobody anything.
        count = int(meets[:, place].sum()) + sum(not (shelf.meets(each) & right).any() for each in told)
        if told and count > most:
            best, other, most = told, place, count
    if best:
        best = [*best, *draw_own_value(shelf, right, other, {each.fact for each in constraints}, axes, random)]
    slots = map(slot_of_constraint, best)
    return [slot_of_thing(slot, category) for slot in slots] if category else list(slots)


def draw_own_constraint(
    shelf: Shelf, right: np.ndarray, place: int, it: Constraint, random: Random
) -> Constraint | None:
    """The same fact as this product has it; None where it is the same, or would not be said.

    right: which products of the shelf are wanted. None of them is within a narrower limit: who takes the narrower of two finds nothing by it.
    """
    if (it.fact, it.op) in SAID_LIMITS:
        return draw_own_limit(shelf.numbers[it.fact], right, place, it, random)
    value = get_shelf_value(shelf, it.fact, place) if it.op == "is" else ""
    return (
        it.model_copy(update={"value": value}) if is_said_easily(value) and value.lower() != it.value.lower() else None
    )


def get_shelf_value(shelf: Shelf, fact: str, place: int) -> str:
    """Of a product; empty where it has none."""
    codes = shelf.codes.get(fact)
    return shelf.values[fact][int(codes[place])] if codes is not None and codes[place] >= 0 else ""


def draw_own_limit(
    numbers: np.ndarray, right: np.ndarray, place: int, it: Constraint, random: Random
) -> Constraint | None:
    """A wider limit, or a narrower one that nothing right is within, but this product is; None where there is none that somebody would say."""
    limit, own, wanted = it.number or 0, float(numbers[place]), numbers[right]
    if it.fact == "price":
        cheapest = int(wanted.min()) if len(wanted) else int(limit)
        wider = {round_price_limit(int(limit * factor), up=True) for factor in (1.5, 2.5)}
        narrower = {round_price_limit(int(cheapest * factor)) for factor in (0.6, 0.9)}
        limits = {float(cents): format_limit(cents) for cents in sorted(wider | narrower) if cents >= own}
    elif it.fact == "shipping days":
        among = [days for days in range(1, 2 * round(limit) + 2) if days >= own]
        limits = {days: f"{days}" for days in among if days > limit or not (wanted <= days).any()}
    else:
        tenths = [each / 10 for each in range(LOWEST_RATING, 50) if each / 10 <= own]
        limits = {least: f"{least}" for least in tenths if least < limit or not (wanted >= least).any()}
    others = sorted(each for each in limits if 0 < each != limit)
    if not others:
        return None
    number = random.choice(others)
    return it.model_copy(update={"value": limits[number], "number": number})


def draw_own_value(
    shelf: Shelf, right: np.ndarray, place: int, but: Collection[str], axes: Axes, random: Random
) -> list[Constraint]:
    """A value of this product, of another fact than these, that nothing right has; none where there is none."""
    among = [each.constraints[0] for each in list_shared_requirements(shelf, [place], axes, random)]
    others = [each for each in among if each.op == "is" and each.fact not in but and is_said_easily(each.value)]
    return next(([each] for each in random.sample(others, len(others)) if not (shelf.meets(each) & right).any()), [])


def is_said_easily(value: str) -> bool:
    """Whether a value stands in a sentence that a reader finds the end of."""
    return 0 < len(value) <= LONGEST and value.isprintable() and not set(value) & set(".!?:;")


def slot_of_thing(slot: Slot, category: str) -> Slot:
    """A slot about a product as a wish for one thing of a list."""
    facts = {"category": category, "wish": slot.meaning, **{each.name: each.value for each in slot.facts}}
    return make_slot(f"{slot.name} of {category}", "wish of", facts, "clause", slot.value)
