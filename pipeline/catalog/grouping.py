"""What groups the products of a catalog: its categories, the levels above them where each product has its own, else what titles call things.

Only categories that are the source's own or guessed are known to a row alone; this looks at all rows of a source at once.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shopwright.pipeline.catalog.repair.category import (
    ELSE,
    HEAD,
    ODD,
    PART,
    SMALL,
    guess_category,
    make_singular,
    part_words,
    spell_category,
)

Path = tuple[str, ...]
# The last words of what a title says that a thing is.
Ending = tuple[str, ...]
# Products of a leaf on average, below which leaves are names of products: a leaf of two can still be compared.
FEWEST = 1.5
# Products from which on this can be known of a catalog.
ENOUGH = 20
# Titles that call a thing by the same words make a kind: three, or one in two thousand, so that a large catalog has no thousands of kinds.
TITLES, ONE_IN = 3, 2_000
# Words of a kind's name; one more is taken where it stands before half of what has the others: half of all boats are bath toy boats.
LONGEST, HALF = 3, 2
# What holds or goes with things, and is no kind of thing alone.
NO_KIND = frozenset(
    "set kit pack system piece series edition pair item accessory unit model version style size color new product".split()
)
OWN, TITLED = "category of its own dropped", "category taken from the title"
SEVERAL = {one: several for several, one in sorted(ODD.items()) if one != several}
# Words that end the name of a department, which is no thing: nobody asks for "an electronics".
DEPARTMENTS = frozenset(
    """accessories apparel audio automotive bath beauty care clothing distribution electronics furniture games garden general gps grocery health home kitchen machinery materials
    memory music networking organization other pet presentation photography printing repair security software stationery storage surveillance theater video wares ware housewares""".split()
)
NEVER_LAST = (
    frozenset("series serie brand tech edition model version style size color window rule cart".split()) | SMALL
)
# Words that end what is said before a thing: heavy weight, letter size, 6 inch, new.
NEVER_FIRST = frozenset(
    "weight duty size sized quality gauge capacity style count pack strength grade speed new inch foot feet ft mm cm meter watt volt gb ounce lb".split()
)
# Words with an s that stand before a thing and are no thing beside it.
ONE_KIND = frozenset(
    "kids mens womens girls boys babies sports series graphics lens permanent tools ladies games computers cds dvds news goods arts".split()
)
LATIN = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True)
class Grouping:
    depth: int | None = None
    """Levels of categories that group products, where those below do not."""
    kinds: Mapping[Ending, Path] = field(default_factory=dict)
    """Words that titles end with, where they name things, as `(train, set)`, and the path of those."""
    departments: Mapping[Path, Mapping[Ending, Path]] = field(default_factory=dict)
    """The same within leaves that are departments."""


def find_grouping(products: Iterable[tuple[Path, str, str | None]]) -> Grouping:
    """How products are grouped, each given by its path, title and maker.

    What has no category goes to the shop's own where its title ends with the name of one; in a shop mostly without, titles make them.
    """
    known = list(products)
    depth = find_grouping_depth(Counter(path for path, _, _ in known))
    titles: dict[Path, list[tuple[str, str | None]]] = defaultdict(list)
    for path, title, brand in known:
        titles[group_path(path, title, brand, Grouping(depth))].append((title, brand))
    several = collect_plurals(known)
    departments = {}
    for path, here in titles.items():
        if path != ELSE and is_department(path[-1]):
            kinds = learn_kinds(here)
            departments[path] = {
                ending: kind for ending, kind in kinds.items() if pluralize_noun(ending[-1]) in several
            }
    mostly_loose = 2 * len(titles[ELSE]) >= len(known)
    kinds = (
        learn_kinds(titles[ELSE])
        if mostly_loose
        else list_own_kinds({path: len(here) for path, here in titles.items()})
    )
    return Grouping(depth, kinds, departments)


def collect_plurals(products: Iterable[tuple[Path, str, str | None]]) -> frozenset[str]:
    """Words that end with s in titles and categories: of a thing there are several, of "dozen", "clear" and "letter size" there are not."""
    words = Counter(
        word
        for path, title, _ in products
        for text in (title, *path)
        for word in text.lower().split()
        if word.endswith("s")
    )
    return frozenset(word for word, count in words.items() if count >= TITLES)


def is_department(leaf: str) -> bool:
    """Whether a category's name is that of no thing.

    >>> [is_department(name) for name in ("Garden - General", "Board Games", "Electronics", "Stationery & Office Machinery", "Cases Sleeves", "Printer Ink")]
    [True, False, True, True, True, False]
    >>> [is_department(name) for name in ("Electronics-Inflexible Kit", "Accessories Apparel", "MP3", "Walkie-Talkies", "Printer Labels Laser Inkjet")]
    [True, True, True, False, True]
    """
    words = leaf.lower().split()
    first, sign, _ = words[0].partition("-")
    if (len(words) == 1 and re.search(r"\d", leaf)) or (sign and first in DEPARTMENTS):
        return True  # MP3: what of it, no name says
    odd = not all(re.fullmatch(r"[\w'-]+", word) for word in words) or "-" in words
    # Cases & Sleeves without its sign: two kinds of things in one name.
    several = [word for word in words[:-1] if re.fullmatch(r"[a-z]{2,}[^sui']s", word) and word not in ONE_KIND]
    odd = odd or bool(several)
    # Games and accessories are things where a word before says which: board games are, "games" are not.
    countable = len(words) > 1 and words[-1] in ("games", "accessories")
    return odd or (words[-1] in DEPARTMENTS and not countable)


def list_own_kinds(paths: Mapping[Path, int]) -> dict[Ending, Path]:
    """The words for things that are the names of leaves; of two leaves of one name that with more products.

    >>> list_own_kinds({("Office", "USB Mice"): 5, ("Everything Else",): 2, ("Home", "Kits"): 9})
    {('kit',): ('Home', 'Kits'), ('usb', 'mouse'): ('Office', 'USB Mice')}
    """
    found: dict[Ending, Path] = {}
    for path in sorted(paths, key=lambda path: (-paths[path], path)):
        words = tuple(map(make_singular, path[-1].lower().split()))
        if path != ELSE and len(words) <= LONGEST:
            found.setdefault(words, path)
    return found


def find_grouping_depth(paths: Mapping[Path, int]) -> int | None:
    """How many levels of these paths group products; None where all do. paths: how many products have each.

    >>> find_grouping_depth({("Toys", f"Item {number}"): 1 for number in range(40)}), find_grouping_depth({("Toys", "Kites"): 30})
    (1, None)
    >>> find_grouping_depth({(f"Item {number}",): 1 for number in range(40)})
    0
    """
    products, deepest = sum(paths.values()), max(map(len, paths), default=0)
    if products < ENOUGH:
        return None
    for depth in range(deepest, 0, -1):
        if len({path[:depth] for path in paths}) * FEWEST <= products:
            return None if depth == deepest else depth
    return 0


def learn_kinds(titles: Sequence[tuple[str, str | None]]) -> dict[Ending, Path]:
    """The words for things that several of these titles, each with its maker, end with.

    >>> learn_kinds([(f"Norrvik {wood} train set, {size} pieces", "Norrvik") for wood in ("oak", "pine", "beech") for size in (12, 24)])
    {('set',): ('Sets',), ('train', 'set'): ('Train Sets',)}
    """
    counts = Counter(ending for title, brand in titles for ending in list_endings(title, brand))
    least = max(TITLES, len(titles) // ONE_IN)
    kept = {ending: count for ending, count in counts.items() if count >= least and ending[0] not in NEVER_FIRST}
    # Of words that stand before an ending, those that half of its titles have.
    kept = {ending: count for ending, count in kept.items() if len(ending) == 1 or count * HALF >= counts[ending[1:]]}
    return {ending: (spell_category(" ".join([*ending[:-1], pluralize_noun(ending[-1])])),) for ending in kept}


def list_endings(title: str, brand: str | None) -> Iterable[Ending]:
    """The last words of what a title says that the thing is, shortest first."""
    plain = title.lower().replace(brand.lower(), " ", 1) if brand else title.lower()
    words = part_words(PART.split(HEAD.split(plain, maxsplit=1)[0])[0])
    if not words or words[-1] in NEVER_LAST:
        return
    for size in range(1, min(LONGEST, len(words)) + 1):
        if not LATIN.fullmatch(words[-size]):
            return
        yield tuple(words[-size:])


def name_kind(title: str, brand: str | None, kinds: Mapping[Ending, Path]) -> Path:
    """
    >>> name_kind("Norrvik oak train set, 12 pieces", "Norrvik", {("train", "set"): ("Train Sets",)}), name_kind("Quillon", None, {})
    (('Train Sets',), ('Everything Else',))
    """
    known = [ending for ending in list_endings(title, brand) if ending in kinds]
    if not known or (len(known[-1]) == 1 and known[-1][0] in NO_KIND):
        return ELSE
    return kinds[known[-1]]


def pluralize_noun(noun: str) -> str:
    """
    >>> [pluralize_noun(noun) for noun in ("kite", "battery", "watch", "mouse")]
    ['kites', 'batteries', 'watches', 'mice']
    """
    if noun in SEVERAL:
        return SEVERAL[noun]
    noun = re.sub(r"(?<=[^aeiou])y$", "ie", noun)
    return f"{noun}es" if re.search(r"(?:s|x|z|ch|sh)$", noun) else f"{noun}s"


def group_path(path: Path, title: str, brand: str | None, grouping: Grouping) -> Path:
    """The path without the levels that do not group; what has none then is guessed by its title."""
    if grouping.depth is not None:
        path = path[: grouping.depth] or guess_category(title) or ELSE
    if path in grouping.departments:
        kind = name_kind(title, brand, grouping.departments[path])
        return path if kind == ELSE else (*path, *kind)
    return name_kind(title, brand, grouping.kinds) if path == ELSE else path


def regroup(row: dict[str, Any], grouping: Grouping) -> dict[str, Any]:
    before = tuple(row["category_path"])
    path = group_path(before, row["title"], row["brand"], grouping)
    if path == before:
        return row
    note = OWN if grouping.depth is not None and len(before) > grouping.depth else TITLED
    repairs = sorted({*row["repairs"], note})
    return row | {"category_path": list(path), "category": path[-1], "repairs": repairs}
