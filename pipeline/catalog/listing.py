"""What a product's page says in words: title, bullets and description, and which of its facts stands where.

Titles name some of the facts, the same in all products of a line, so that no title is the beginning of another. Each fact stands in at
least one of the three; where differs by product.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from shopwright.pipeline.catalog.reference import Leaf, list_pattern_fields

# Of a title's parts that name facts, how many a line shows beside those that tell its products apart.
SHOWN = 0.35
# How often a title says what the product is for.
USE_IN_TITLE = 0.2
# How often a bullet of the leaf stands on a page, and one that only a fact without a place brings back.
BULLETS = 0.7
WITHOUT_FACTS = 0.6
# Where a fact that nothing else says is written.
AS_BULLET = 0.6
FEWEST_BULLETS = 2
USE = " for {use}"
# Of every title.
NAMING = {"brand", "series", "noun"}
PART = re.compile(r"(?=, | - | \| |: |(?<![,\-|:]) (?:with|for) )")

Fill = Mapping[str, str]


class Words(NamedTuple):
    title: str
    bullets: list[str]
    description: str


class Manner:
    """How the pages of one line are written: which patterns, and which facts its titles show."""

    def __init__(self, random: Random, leaf: Leaf, members: Sequence[Fill]) -> None:
        """members: the facts of each product of the line."""
        self.leaf, self.noun = leaf, random.choice(leaf.nouns)
        self.description = random.choice(leaf.description)
        self.title = choose_title_parts(random, random.choice(leaf.titles), members)
        self.shown = fields_of(self.title)

    def write(self, random: Random, fill: Fill, facts: Iterable[str]) -> Words:
        """The words of one product. facts: the names of those that its words have to tell."""
        description, told = self.description, self.shown | list_fields(self.description)
        bullets, spare = choose_bullets(random, self.leaf.bullets)
        told |= fields_of(bullets)
        for name in facts:
            if name in told:
                continue
            pattern = next((each for each in spare if name in list_fields(each)), None)
            if pattern is None and random.random() >= AS_BULLET:
                description += f" {write_fact(name)}."
                continue
            bullets.append(pattern or write_fact(name))
            told |= list_fields(bullets[-1])
        bullets += [each for each in spare if each not in bullets][: max(0, FEWEST_BULLETS - len(bullets))]
        return Words(
            fill_in("".join(self.title), fill), [fill_in(each, fill) for each in bullets], fill_in(description, fill)
        )


def choose_title_parts(random: Random, pattern: str, members: Sequence[Fill]) -> list[str]:
    """The parts of a line's titles, in their order: those that are drawn, and others as long as two products would be called the same.

    >>> choose_title_parts(Random(2), "{brand} {series} {noun}, {size}", [{"size": "1 L"}, {"size": "2 L"}])
    ['{brand} {series} {noun}', ', {size}']
    """
    naming, parts = split_title(pattern)
    parts = (USE, *parts)
    shown = {place for place in range(len(parts)) if random.random() < (SHOWN if place else USE_IN_TITLE)}
    for place in [*random.sample(range(1, len(parts)), len(parts) - 1), 0]:
        names = fields_of([naming, *(parts[at] for at in shown)])
        if count_apart(members, names) < count_apart(members, names | list_fields(parts[place])):
            shown.add(place)
    return [naming, *(parts[place] for place in sorted(shown))]


def count_apart(members: Sequence[Fill], names: Iterable[str]) -> int:
    return len({tuple(member.get(name) for name in names) for member in members})


@cache
def split_title(pattern: str) -> tuple[str, tuple[str, ...]]:
    """What a title always says, and the parts that it can do without.

    >>> split_title("{brand} {series} {noun} with {bulb} bulb, {height}")
    ('{brand} {series} {noun}', (' with {bulb} bulb', ', {height}'))
    """
    parts = PART.split(pattern)
    last = max(place for place, part in enumerate(parts) if NAMING & list_pattern_fields(part))
    return "".join(parts[: last + 1]), tuple(parts[last + 1 :])


list_fields = cache(list_pattern_fields)


def fields_of(patterns: Iterable[str]) -> set[str]:
    return set[str]().union(*map(list_fields, patterns))


def choose_bullets(random: Random, patterns: list[str]) -> tuple[list[str], list[str]]:
    """Those that stand on the page, and the others."""
    shares = [BULLETS if list_fields(pattern) else WITHOUT_FACTS for pattern in patterns]
    kept = [random.random() < share for share in shares]
    pairs = list(zip(patterns, kept, strict=True))
    return [pattern for pattern, is_kept in pairs if is_kept], [pattern for pattern, is_kept in pairs if not is_kept]


def write_fact(name: str) -> str:
    """The pattern that says a fact by its name.

    >>> write_fact("fits_up_to"), write_fact("use")
    ('Fits up to: {fits_up_to}', 'Made for {use}')
    """
    return "Made for {use}" if name == "use" else f"{name.replace('_', ' ').capitalize()}: {{{name}}}"


def fill_in(pattern: str, fill: Fill) -> str:
    return " ".join(pattern.format_map(fill).split())
