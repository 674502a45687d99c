"""What a thing of a category may be called, for one who reads: by the category's title, and by the names that are known for it."""

import re
from functools import cache, lru_cache
from pathlib import Path

NAMES = Path(__file__).parents[2] / "data/reference/phrases/questions/kinds.txt"
# One of them is called as several are.
ALIKE = re.compile(
    r"(?:pants|jeans|leggings|shorts|tights|scissors|glasses|goggles|pliers|headphones|earbuds|trousers|pajamas|chinos|ss)$"
)
ODD = {
    "mice": "mouse",
    "knives": "knife",
    "shelves": "shelf",
    "bookshelves": "bookshelf",
    "scarves": "scarf",
    "lenses": "lens",
}
ODD_FORMS = {**ODD, **{one: several for several, one in ODD.items()}}


@cache
def load_known_names() -> dict[str, list[str]]:
    """Names of one thing by category; a line of the file is a category or, deeper, a name of the one before."""
    found: dict[str, list[str]] = {}
    last = ""
    for line in NAMES.read_text(encoding="utf-8").splitlines() if NAMES.exists() else ():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            found[last].append(line.strip())
        else:
            last = line.strip().removeprefix("kind/")
            found[last] = []
    return found


@lru_cache(4_096)
def list_names_of(category: str) -> frozenset[str]:
    """All that one thing of a category, or several, may be called, in lower case.

    >>> {"wall batteries", "wall battery"} <= list_names_of("Wall Batteries")
    True
    """
    found = {category.lower()}
    for name in (category, *load_known_names().get(category, ())):
        found |= {name.lower(), *list_forms(name.lower())}
    return frozenset(found)


def list_forms(name: str) -> set[str]:
    """The forms that a noun may have, of one and of several; too many rather than too few, for nobody says those that are none."""
    thing, of, rest = name.partition(" of ")
    if of:
        return {f"{form} of {rest}" for form in list_forms(thing)}
    head, _, last = name.rpartition(" ")
    forms = {ODD_FORMS.get(last, last)}
    if not ALIKE.search(last):
        forms |= {re.sub(r"ies$", "y", last), re.sub(r"(?<=[sxzh])es$", "", last), re.sub(r"s$", "", last)}
    forms |= {re.sub(r"y$", "ies", last), f"{last}s", f"{last}es"}
    return {f"{head} {form}".strip() for form in forms}
