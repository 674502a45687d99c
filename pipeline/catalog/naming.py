"""Whether a title calls a product what its category calls it: ink that a shop keeps among its printers is no printer."""

from collections.abc import Sequence
from itertools import pairwise

from shopwright.pipeline.catalog.grouping import is_department
from shopwright.pipeline.catalog.repair.category import ACCESSORIES, HEAD, PART, make_singular
from shopwright.pipeline.catalog.repair.color import WORD

# Two words for one thing, of which titles have either.
SAME = {
    "pc": "computer",
    "tvs": "television",
    "tv": "television",
    "hdtv": "television",
    "telephone": "phone",
    "cellphone": "phone",
}
# Of a shop's products, at least one in so many is called by its category; else its titles are no such names at all.
ONE_IN = 10


def is_called_by_category(title: str, leaf: str) -> bool:
    """Whether a title has the last word of its category, not as what something belongs to or is for.

    >>> [is_called_by_category(f"Brillo {title}", "Laser Printers") for title in ("C4 printer, white", "ink for printers", "printer cable", "C4")]
    [True, False, False, False]
    >>> is_called_by_category("Brillo leather phone case", "Cases"), is_called_by_category("Brillo lamp", "Lamps - General")
    (True, False)
    """
    if is_department(leaf):
        return False
    last = name_one(WORD.findall(leaf.lower())[-1])
    for part in PART.split(HEAD.split(title.lower(), maxsplit=1)[0]):
        words = [name_one(word) for word in WORD.findall(part)]
        if any(word == last and behind not in ACCESSORIES - {last} for word, behind in pairwise([*words, ""])):
            return True
    return False


def name_one(word: str) -> str:
    """
    >>> name_one("telephones"), name_one("TVs".lower()), name_one("lenses")
    ('phone', 'television', 'lens')
    """
    one = make_singular(word)
    return SAME.get(one, one)


def mark_called_products(titles: Sequence[str], leaves: Sequence[str]) -> list[bool]:
    """Which products may be asked for by the name of their category: all, where a shop's titles hardly ever have it."""
    called = list(map(is_called_by_category, titles, leaves))
    return called if sum(called) * ONE_IN >= len(called) else [True] * len(called)
