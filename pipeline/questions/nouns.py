"""What people call the things of a category: one of them, and several."""

import re
from random import Random

from shopwright.pipeline.phrases.bank import QUESTIONS, load_grammar_bank

# A word that keeps its capitals: TV, USB-C, 3D.
OWN_CAPITALS = re.compile(r"(?=.*[A-Z].*[A-Z\d])|.*\d")
IRREGULAR = {
    "knives": "knife",
    "shelves": "shelf",
    "bookshelves": "bookshelf",
    "lenses": "lens",
    "scarves": "scarf",
    "loaves": "loaf",
    "mice": "mouse",
    "dice": "dice",
    "geese": "goose",
}
# Plurals of one thing: nobody wears a pant.
PAIRS = frozenset(
    "pants jeans leggings shorts tights scissors glasses sunglasses goggles binoculars pliers tweezers headphones earbuds trousers"
    " pajamas boots sneakers sandals shoes socks gloves mittens slippers skis clippers shears briefs overalls joggers chinos".split()
)

# Words that end as several do and are one.
ONE = frozenset("lens canvas gas atlas series christmas molasses".split())


def is_plural(noun: str) -> bool:
    """
    >>> [is_plural(each) for each in ("hiking boots", "oven mitts", "camera lens", "cactus", "dress", "desk lamp")]
    [True, True, False, False, False, False]
    """
    last = noun.rpartition(" ")[2].lower()
    return last in PAIRS or (last.endswith("s") and last not in ONE and not last.endswith(("ss", "us", "is")))


def name_kind(category: str, random: Random) -> tuple[str, str]:
    """A thing of this category and several, as the bank calls them or else as the category is called.

    >>> name_kind("USB-C Wall Chargers", Random(0))[1].endswith("chargers")
    True
    """
    templates = load_grammar_bank(QUESTIONS).templates.get(f"kind/{category}")
    plural = lower_title(category)
    singular = make_singular(plural)
    if templates:
        names = [singular, *(template.pattern for template in templates)]
        singular = names[int(random.random() * len(names))]
    return singular, make_plural(singular)


def is_plain_kind(category: str) -> bool:
    """Whether a category's title can stand in a sentence as a thing: words alone, not a list of them."""
    return re.fullmatch(r"[A-Za-z][\w' -]*", category) is not None


def lower_title(text: str) -> str:
    """
    >>> lower_title("TV Soundbars"), lower_title("Home & Garden")
    ('TV soundbars', 'home & garden')
    """
    return " ".join(word if OWN_CAPITALS.match(word) else word.lower() for word in text.split())


def make_singular(noun: str) -> str:
    """
    >>> [make_singular(each) for each in ("night lights", "batteries", "knitting yarn", "chelsea boots", "watches", "kitchen knives", "lenses")]
    ['night light', 'battery', 'knitting yarn', 'chelsea boots', 'watch', 'kitchen knife', 'lens']
    """
    head, _, last = noun.rpartition(" ")
    if last in PAIRS or last.endswith("ss"):
        return noun
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif last.endswith("ies") and len(last) > 4:
        last = f"{last[:-3]}y"
    elif re.search(r"(?:ch|sh|x|ss|zz)es$", last):
        last = last[:-2]
    elif last.endswith("s"):
        last = last[:-1]
    return f"{head} {last}".strip()


def make_plural(noun: str) -> str:
    """
    >>> [make_plural(each) for each in ("night light", "battery", "knitting yarn", "chelsea boots", "set of blocks", "kitchen knife")]
    ['night lights', 'batteries', 'knitting yarns', 'chelsea boots', 'sets of blocks', 'kitchen knives']
    """
    if " of " in noun:  # several sets of blocks
        thing, _, rest = noun.partition(" of ")
        return f"{make_plural(thing)} of {rest}"
    head, _, last = noun.rpartition(" ")
    backwards = {one: several for several, one in IRREGULAR.items()}
    if last in PAIRS:
        return noun
    if last in backwards:
        last = backwards[last]
    elif re.search(r"[^aeiou]y$", last):
        last = f"{last[:-1]}ies"
    elif re.search(r"(?:ch|sh|x|s|z)$", last):
        last = f"{last}es"
    else:
        last = f"{last}s"
    return f"{head} {last}".strip()
