"""Who makes it and what color it has."""

import re
from typing import Any

from shopwright.pipeline.catalog.repair.text import LETTER, LONGEST_NAME, MISSING, clean_text, make_word_set

NO_BRAND = MISSING | {"generic", "unbranded", "no brand", "does not apply", "not applicable"}
BRAND = "brand missing"
COLOR = "color taken from the title"
# What Amazon's pages have in place of a brand.
STORE = re.compile(r"visit the (.+) store|brand:\s*(.+)", re.IGNORECASE)
COLORS = (
    "black|white|grey|gray|silver|red|crimson|scarlet|maroon|burgundy|blue|navy|navy blue|royal blue|sky blue|light blue"
    "|dark blue|teal|turquoise|cyan|aqua|green|dark green|light green|olive green|sage green|yellow|gold|rose gold|orange"
    "|purple|lavender|violet|indigo|magenta|fuchsia|pink|hot pink|brown|dark brown|light brown|beige|tan|ivory|khaki"
    "|charcoal|dark grey|dark gray|light grey|light gray|space gray|space grey"
)
COLOR_WORDS = frozenset(word.split()[-1] for word in COLORS.split("|"))
COLOR_MAYBE = re.compile("|".join(sorted(COLOR_WORDS)))  # four times as fast as to look for whole words
COLOR_IN = re.compile(
    rf"(?<![\w'’-])({'|'.join(sorted(COLORS.split('|'), key=len, reverse=True))})(?![\w'’-])(?:\s+(\w+))?"
)
NO_COLOR = make_word_set(  # what follows: black friday, white noise, red bull, gold plated
    "friday box magic noise bull hat cross wolf plated filled tone medal juice tea rice pepper sea ray tooth jays sox widow"
    " decker ops swan edition standard card rush series plug plugs banana connector connectors"
    " contacts fibre alkaline laser onion"
)
WORD = re.compile(r"[^\W_]+")


def brand_of(value: Any, repairs: set[str]) -> str | None:
    """
    >>> brand_of("Visit the Koss Store", set()), brand_of("Brand: Koss", set()), brand_of("n/a", set())
    ('Koss', 'Koss', None)
    """
    brand = clean_text(value, repairs) if value is not None else None
    if brand and (store := STORE.fullmatch(brand)):
        brand = (store[1] or store[2]).strip()
    if brand is None or brand.lower() in NO_BRAND or len(brand) > LONGEST_NAME or not WORD.search(brand):
        repairs.add(BRAND)
        return None
    return brand


def find_color(value: Any, title: str, brand: str | None, repairs: set[str]) -> str | None:
    """The colour that the source gives, else the only one that the title names.

    >>> find_color(None, "Koss headphones, navy blue", "Koss", set()), find_color("", "A hundred red and blue pens", None, set())
    ('navy blue', None)
    >>> find_color(None, "infrared sensor for hundreds of redwoods", None, set()), find_color(None, "Black & Decker drill", "Black & Decker", set())
    (None, None)
    """
    color = clean_text(value, repairs) if value is not None else None
    if color is not None and color.lower() not in MISSING and len(color) <= LONGEST_NAME and LETTER.search(color):
        return color
    lower = title.lower()
    if not COLOR_MAYBE.search(lower):
        return None
    if brand:
        lower = lower.replace(brand.lower(), "")
    named = {found[1] for found in COLOR_IN.finditer(lower) if found[2] not in NO_COLOR}
    if len(named) != 1:
        return None
    repairs.add(COLOR)
    return named.pop()
