"""Which facts the products of a block have: lines of makers whose members differ in one fact or a few, and rivals' lines like them.

A shop's shelf is no grid. Some values are commoner than others, a maker keeps to its own, more watts go with a larger tank, and what is
offered of a line is some of what it could come in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product
from random import Random

from shopwright.pipeline.catalog.reference import MOST_OF_A_MAKER, make_attribute

# Of the values of a fact the second is met so much as often as the first, the third as the second; drawn for each fact.
FALL = (0.55, 1.0)
# How often a maker's line has the value that the maker likes best, and how often a measure goes with how good the line is.
LOYALTY = 0.35
IN_STEP = 0.5
# Share of lines that have all facts of another maker's.
RIVALS = 0.3
# Facts in which the members of a line differ; and where all makers make much the same.
AXES = (1, 2, 2, 3, 3, 4)
FEW_AXES = (1, 2)
TRIES = 6
# A maker has two lines.
LARGEST_LINE = MOST_OF_A_MAKER // 2

Values = Mapping[str, Sequence[str]]
Facts = dict[str, str]


@dataclass(frozen=True)
class Sibling:
    """A product before it has words: the line it is of, by its place among the block's, and its facts."""

    line: int
    facts: Facts


class Leanings:
    """How common the values of a leaf's facts are, in all its blocks."""

    def __init__(self, seed: int, leaf: str, values: Values, ordinary: float = 0.0) -> None:
        """ordinary: how many of its facts a line has as most of the leaf have them."""
        self.seed, self.leaf, self.values, self.ordinary = seed, leaf, values, ordinary
        self.weights = {name: self.draw_weights(name) for name in values}
        self.usual = {name: self.draw_value(Random(f"{seed}/leanings/{leaf}/{name}/usual"), name) for name in values}

    def draw_weights(self, name: str) -> list[float]:
        random = Random(f"{self.seed}/leanings/{self.leaf}/{name}")
        fall = random.uniform(*FALL)
        weights = [fall**place for place in range(len(self.values[name]))]
        random.shuffle(weights)
        return list(accumulate(weights))

    def draw_value(self, random: Random, name: str) -> str:
        return random.choices(self.values[name], cum_weights=self.weights[name])[0]

    def draw_line(self, random: Random, maker: str, place: float) -> Facts:
        """The facts of a maker's line. place: how good it is, from 0 to 1."""
        return {name: self.draw_line_value(random, name, maker, place) for name in self.values}

    def draw_line_value(self, random: Random, name: str, maker: str, place: float) -> str:
        if random.random() < self.ordinary:
            return self.usual[name]
        values, dice = self.values[name], random.random()
        if dice < LOYALTY:
            return self.draw_value(Random(f"{self.seed}/leanings/{self.leaf}/{name}/{maker}"), name)
        if dice < LOYALTY + IN_STEP and is_a_scale(tuple(values)):
            at = round(place * (len(values) - 1) + random.uniform(-0.7, 0.7))
            return values[min(max(at, 0), len(values) - 1)]
        return self.draw_value(random, name)


@lru_cache(4_096)
def is_a_scale(values: tuple[str, ...]) -> bool:
    """Whether they are numbers in one unit, each more than the one before.

    >>> is_a_scale(("0.8 L", "1 L")), is_a_scale(("oak", "ash")), is_a_scale(("7 ft", "30 in"))
    (True, False, False)
    """
    found = [make_attribute("", value) for value in values]
    numbers = [each["number"] for each in found if isinstance(each["number"], float)]
    return len(numbers) == len(values) and numbers == sorted(numbers) and len({each["unit"] for each in found}) == 1


def draw_siblings(random: Random, leanings: Leanings, makers: Sequence[str], count: int) -> list[Sibling]:
    """The products of a block, line after line; no two of one maker have the same facts. makers: of each line."""
    found: list[Sibling] = []
    bases: list[Facts] = []
    taken = {maker: set[tuple[str, ...]]() for maker in makers}
    for line, (maker, size) in enumerate(zip(makers, draw_sizes(random, len(makers), count), strict=True)):
        base = draw_base(random, leanings, makers, bases, line, taken[maker])
        bases.append(base)
        members = [base]
        taken[maker].add(tuple(base.values()))
        axes = random.sample(list(base), min(len(base), random.choice(AXES if not leanings.ordinary else FEW_AXES)))
        while len(members) < size:
            member = change_one_fact(random, leanings, members, axes, taken[maker])
            members.append(member)
            taken[maker].add(tuple(member.values()))
        found += [Sibling(line, facts) for facts in members]
    return found


def draw_sizes(random: Random, lines: int, count: int) -> list[int]:
    """How many products each line has: two at least, some many more, up to twenty.

    >>> sum(draw_sizes(Random(1), 24, 120)), min(draw_sizes(Random(1), 24, 120)) >= 2
    (120, True)
    """
    weights = list(accumulate(random.expovariate(1) + 0.1 for _ in range(lines)))
    sizes = [2] * lines
    while sum(sizes) < count:
        line = random.choices(range(lines), cum_weights=weights)[0]
        sizes[line] += sizes[line] < LARGEST_LINE
    return sizes


def draw_base(
    random: Random,
    leanings: Leanings,
    makers: Sequence[str],
    bases: list[Facts],
    line: int,
    taken: set[tuple[str, ...]],
) -> Facts:
    """What the first member of a line is: like another maker's, or what this maker would make."""
    others = [base for maker, base in zip(makers, bases, strict=False) if maker != makers[line]]
    if others and random.random() < RIVALS:
        rival = random.choice(others)
        if tuple(rival.values()) not in taken:
            return dict(rival)
    place = random.random()
    while tuple((base := leanings.draw_line(random, makers[line], place)).values()) in taken:
        place = random.random()
    return base


def change_one_fact(
    random: Random, leanings: Leanings, members: list[Facts], axes: Sequence[str], taken: set[tuple[str, ...]]
) -> Facts:
    """A member of the line with another value in one fact, that no product of this maker is yet."""
    near = members[:1] if leanings.ordinary else members
    for _ in range(TRIES):
        member, name = random.choice(near), random.choice(axes)
        changed = member | {name: leanings.draw_value(random, name)}
        if tuple(changed.values()) not in taken:
            return changed
    for some, names in ((near, axes), (near, list(leanings.values)), (members, list(leanings.values))):
        left = []
        for member, name in product(some, names):
            changes = (member | {name: value} for value in leanings.values[name])
            left += [changed for changed in changes if tuple(changed.values()) not in taken]
        if left:
            return random.choice(left)
    raise AssertionError(f"{leanings.leaf}: a maker has more products than there are facts")
