"""What a shopper asks of a product: drawn from products that have it, so that it can be had."""

from collections.abc import Iterable, Sequence
from math import isnan
from random import Random

import numpy as np

from pipeline.envs.base import SellOut
from pipeline.envs.difficulty import Axes
from pipeline.shop.store import Constraint, Shelf, Store
from schemas.record import Part

LONGEST = 60
"""Characters of a value that somebody would say."""


class Demand(Part):
    """One wish about a product, and what it comes to; a span of prices is two constraints."""

    name: str
    """Of the wish."""
    said: str
    constraints: list[Constraint]


def met(shelf: Shelf, demands: Sequence[Demand]) -> np.ndarray:
    """For each demand a row: which products of the shelf meet it."""
    found = np.ones((len(demands), len(shelf.rows)), dtype=bool)
    for number, each in enumerate(demands):
        found[number] = shelf.where(each.constraints)
    return found


def telling(shelf: Shelf, demands: Sequence[Demand]) -> tuple[list[Demand], np.ndarray]:
    """Those that some product of the shelf does not meet, and for each of them a row: which do."""
    meets = met(shelf, demands)
    kept = np.flatnonzero(~meets.all(axis=1))
    return [demands[each] for each in kept.tolist()], meets[kept]


def shared(shelf: Shelf, places: Sequence[int], axes: Axes, random: Random) -> list[Demand]:
    """All that the products at these places of a shelf have in common, a number within bounds; without the price."""
    found, bounded = [], set()
    for fact, column in shelf.numbers.items():
        numbers = [float(column[place]) for place in places]
        name = fact.partition(" (")[0]
        if fact == "price" or any(isnan(number) for number in numbers):
            continue
        if fact in ("rating", "shipping days"):
            found.append(rated(numbers, axes, random) if fact == "rating" else shipped(numbers, axes, random))
        elif name not in bounded and (min(numbers) < max(numbers) or random.random() < 0.5):
            bounded.add(name)
            found.append(sized(fact, column, numbers, axes, random))
    for fact, codes in shelf.codes.items():
        code = int(codes[places[0]])
        if code < 0 or fact in bounded or any(codes[place] != code for place in places[1:]):
            continue
        value = shelf.values[fact][code]
        if len(value) <= LONGEST and int(np.count_nonzero(codes == code)) > 1:
            found.append(exactly(fact, value))
    return found


def exactly(fact: str, value: str) -> Demand:
    """
    >>> exactly("material", "oak").said, exactly("season", "4 season").said
    ('material oak', '4 season')
    """
    said = value if fact in value.lower() else f"{fact} {value}"
    return Demand(name=fact, said=said, constraints=[Constraint(fact=fact, op="is", value=value)])


def rated(numbers: Sequence[float], axes: Axes, random: Random) -> Demand:
    least = max(10, int(10 * min(numbers) * (1 - axes.slack * random.random() / 2))) / 10
    return Demand(name="rating", said=f"a rating of at least {least}", constraints=[bound("rating", "at least", least)])


def shipped(numbers: Sequence[float], axes: Axes, random: Random) -> Demand:
    days = int(max(numbers) * (1 + axes.slack * random.random()))
    said = f"shipping within {days} day{'s' if days != 1 else ''}"
    return Demand(name="shipping", said=said, constraints=[bound("shipping days", "at most", days)])


def sized(fact: str, column: np.ndarray, numbers: Sequence[float], axes: Axes, random: Random) -> Demand:
    """A bound that some product of the shelf has, no looser than the level allows: `height at most 30 in`."""
    name, _, unit = fact.rstrip(")").partition(" (")
    if random.random() < 0.5:
        most = max(numbers)
        near = column[(column >= most) & (column <= most * (1 + axes.slack))]
        limit = bound(fact, "at most", float(near[random.randrange(len(near))]), unit)
    else:
        least = min(numbers)
        near = column[(column <= least) & (column >= least * (1 - axes.slack))]
        limit = bound(fact, "at least", float(near[random.randrange(len(near))]), unit)
    return Demand(name=name, said=f"{name} {limit.op} {limit.value}", constraints=[limit])


def bound(fact: str, op: str, number: float, unit: str = "") -> Constraint:
    return Constraint.model_validate(
        {"fact": fact, "op": op, "value": f"{number:.12g} {unit}".strip(), "number": number}
    )


def priced(most: int, least: int | None = None, *, of: str = "price") -> Demand:
    """
    >>> priced(4000).said, priced(4000, 1995).said
    ('a price of at most $40', 'a price from $19.95 to $40')
    """
    constraints = [Constraint(fact="price", op="at most", value=dollars(most), number=most)]
    said = f"a {of} of at most {dollars(most)}"
    if least is not None:
        constraints.append(Constraint(fact="price", op="at least", value=dollars(least), number=least))
        said = f"a {of} from {dollars(least)} to {dollars(most)}"
    return Demand(name=of, said=said, constraints=constraints)


def around(cents: Sequence[int], axes: Axes, random: Random, *, span: bool = False) -> Demand:
    """A limit that these prices are within, or a span of prices."""
    most = rounded(int(max(cents) * (1 + axes.slack * random.random())), up=True)
    least = rounded(int(min(cents) * (1 - axes.slack * random.random()))) if span else None
    return priced(most, least)


def rounded(cents: int, *, up: bool = False) -> int:
    """As people say a limit: whole dollars from ten dollars on.

    >>> rounded(2_495, up=True), rounded(2_495), rounded(499)
    (2500, 2400, 499)
    """
    step = 100 if cents >= 1_000 else 1
    return -(-cents // step) * step if up else cents // step * step


def dollars(cents: int) -> str:
    """
    >>> dollars(4_000), dollars(1_995)
    ('$40', '$19.95')
    """
    return f"${cents // 100}" if cents % 100 == 0 else f"${cents / 100:.2f}"


def beyond(cents: int, random: Random) -> int | None:
    """A limit below this price; None where it is too low already."""
    found = rounded(int(cents * (0.6 + 0.35 * random.random())))
    return found if 0 < found < cents else None


def any_of(mask: np.ndarray, random: Random) -> int | None:
    """One of the places where a mask holds."""
    places = np.flatnonzero(mask)
    return int(places[random.randrange(len(places))]) if len(places) else None


def variants_of(store: Store, rows: Iterable[int]) -> list[str]:
    return [option.id for row in rows for option in store.options(row)]


def sold_out_later(store: Store, row: int, random: Random) -> SellOut:
    """The whole product, after one of the agent's first two turns."""
    return SellOut(after=random.randint(1, 2), variants=variants_of(store, [row]))
