"""The rewards of WebShop and ShopSimulator as they are published, for comparison: success is decided by typed equality elsewhere.

    loose  = type * (attributes met + options met + price) / (|A| + |O| + 1)        WebShop, arXiv 2207.01206, section 3
    strict = type * attributes * options * price                                    ShopSimulator, arXiv 2601.18225, section 2.3

The parts are those of the public WebShop (`web_agent_site/engine/goal.py`) with what is wrong in them: a color is found inside
other words, a search that is empty on both sides counts as the same, and texts are like each other rather than equal.

Two things differ. WebShop asks spaCy for a title's nouns, and `extract_title_words` stands for it here, so the overlap of two titles
can be another. A goal without attributes, which divides by zero there, has all of them met.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import chain
from typing import Literal

from shopwright.pipeline.words import STOP, WORD, ascii_lower
from shopwright.schemas.shopping import Match

# They differ in one thing: WebShop's low overlap of the titles takes the type away even where another criterion holds.
Form = Literal["shopsimulator", "webshop"]
# Texts are taken for the same when their token set ratio is above.
LEAST_LIKENESS = 85
HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
# Letters that thefuzz throws away.
LATIN = dict.fromkeys(range(0x80, 0x100))
# WebShop's (`web_agent_site/engine/normalize.py`), in its order: the first that is found is taken.
COLORS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo caramel "
    "champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal dark denim "
    "eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory ivy khaki "
    "lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom mustard "
    "natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand sapphire seashell silver "
    "skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut wheat white wine yellow"
).split()


@dataclass(frozen=True)
class ProductText:
    """A product as the formulas see it: texts, and nothing of what they mean."""

    id: str
    title: str
    query: str = ""
    """The search that its listing was collected with; empty for every product of ShopSimulator's release."""
    category_path: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    bullets: tuple[str, ...] = ()
    description: str = ""

    @property
    def texts(self) -> tuple[str, str, str]:
        return self.title.lower(), " ".join(self.bullets).lower(), self.description.lower()


def score_purchase(
    bought: ProductText | None,
    goal: ProductText,
    *,
    attributes: Sequence[str] = (),
    options: Sequence[str] = (),
    chosen: Sequence[str] = (),
    price: float = 0.0,
    price_limit: float | None = None,
    form: Form = "shopsimulator",
) -> Match:
    """What buying this product, with these option values chosen, earns where that one is the goal with what is required of it.

    >>> goal = ProductText("1", "Steel milk filter", query="milk filter")
    >>> score_purchase(ProductText("2", "Down pillow", query="pillow"), goal).type
    0.0
    >>> score_purchase(ProductText("2", "Down pillow"), ProductText("1", "Steel milk filter")).type  # the release, which has no queries
    1.0
    """
    if bought is None:
        return score_no_purchase()
    type_ = score_type(bought, goal, form)
    met = [each for each in attributes if matches_attribute(bought, each)]
    picked = [each for each in options if is_picked_option(each, chosen)]
    cheap = price_limit is None or price <= price_limit
    lost = (
        [f"type is {float(type_)}: {bought.title!r} is held against {goal.title!r}"] * (type_ < 1)
        + [f"{each} is in neither its attributes nor its texts" for each in attributes if each not in met]
        + [f"{each} was not chosen" for each in options if each not in picked]
        + [f"price is {price:.2f}, above {price_limit or 0:.2f}"] * (not cheap)
    )
    return combine_match_parts(
        type_,
        (len(met), len(attributes)),
        (len(picked), len(options)),
        cheap,
        same_product=bought.id == goal.id,
        fault=lost[0] if lost else "",
    )


def combine_match_parts(
    type_: Fraction | int,
    attributes: tuple[int, int],
    options: tuple[int, int],
    price: bool,
    *,
    same_product: bool,
    fault: str,
) -> Match:
    """Both rewards from their parts; attributes and options are (met, required), and where none is required all are met.

    Strict is never above loose: a product of shares is not above their smallest, and their weighted mean is not below it.

    >>> half = combine_match_parts(1, (1, 2), (0, 0), True, same_product=False, fault="")
    >>> half.attributes, half.options, round(half.loose, 3), half.strict, half.success
    (0.5, 1.0, 0.667, 0.5, False)
    """
    shares = [Fraction(met, required) if required else Fraction(1) for met, required in (attributes, options)]
    loose = type_ * Fraction(attributes[0] + options[0] + price, attributes[1] + options[1] + 1)
    strict = type_ * shares[0] * shares[1] * price
    return Match(
        type=float(type_),
        attributes=float(shares[0]),
        options=float(shares[1]),
        price=float(price),
        loose=float(loose),
        strict=float(strict),
        success=strict == 1,
        same_product=same_product,
        fault=fault,
    )


def score_no_purchase() -> Match:
    parts = dict.fromkeys(("type", "attributes", "options", "price", "loose", "strict"), 0.0)
    return Match(**parts, success=False, same_product=False, fault="nothing was bought")


# The kind of thing.


def score_type(bought: ProductText, goal: ProductText, form: Form) -> Fraction:
    """1 for the same search, two shared nodes of the category paths, or titles that overlap by more than 0.2; else 1/2.

    Then an overlap below 0.1 makes it 1/10, and none at all 0.
    """
    overlap = score_title_overlap(bought.title, goal.title)
    nodes = {node.strip() for node in bought.category_path} & {node.strip() for node in goal.category_path}
    same = bought.query == goal.query or len(nodes) >= 2 or overlap > Fraction(1, 5)
    if same and form == "shopsimulator":
        return Fraction(1)
    if overlap < Fraction(1, 10):
        return Fraction(1, 10) if overlap else Fraction(0)
    return Fraction(1) if same else Fraction(1, 2)


def score_title_overlap(bought: str, goal: str) -> Fraction:
    """How many words they share, by how many the goal's title has, repeated ones too; 1/5 where it has none.

    >>> score_title_overlap("Steel tea strainer", "Steel milk filter, steel mesh"), score_title_overlap("Steel tea strainer", "The best")
    (Fraction(1, 5), Fraction(1, 5))
    """
    wanted = extract_title_words(goal)
    shared = set(wanted) & set(extract_title_words(bought))
    return Fraction(len(shared), len(wanted)) if wanted else Fraction(1, 5)


def extract_title_words(title: str) -> list[str]:
    """What stands for spaCy's nouns: content words without numbers and single letters; of Chinese, pairs of characters.

    >>> extract_title_words("The best 12 in. lamp by A. Norrvik"), extract_title_words("电饭煲 4L")
    (['lamp', 'norrvik'], ['电饭', '饭煲', '4l'])
    """
    words = list(chain.from_iterable(map(split_han_pairs, WORD.findall(ascii_lower(title)))))
    return [word for word in words if word not in STOP and not word.isdigit() and (len(word) > 1 or HAN.match(word))]


def split_han_pairs(word: str) -> list[str]:
    """A word itself; where Chinese or Japanese is written in it, the pairs of neighbouring characters there, and the rest.

    >>> split_han_pairs("lamp"), split_han_pairs("电饭煲4l"), split_han_pairs("灯")
    (['lamp'], ['电饭', '饭煲', '4l'], ['灯'])
    """
    runs = HAN.findall(word)
    pairs: list[str] = []
    for run in runs:
        pairs += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return pairs + [rest for rest in HAN.split(word) if rest]


# Attributes and options.


def matches_attribute(bought: ProductText, wanted: str) -> bool:
    """Like one of the product's attributes, or contained in one of its texts, which are in lower case and it is not."""
    return any(token_set_ratio(each, wanted) > LEAST_LIKENESS for each in bought.attributes) or any(
        wanted in text for text in bought.texts
    )


def is_picked_option(wanted: str, chosen: Sequence[str]) -> bool:
    """Like any option value that was chosen, whatever option it is of."""
    color = normalize_color(wanted)
    return any(token_set_ratio(normalize_color(each), color) > LEAST_LIKENESS for each in chosen)


def normalize_color(text: str) -> str:
    """The first color of the list that is contained in a text, wherever it stands: so all of these are one color.

    >>> normalize_color("red"), normalize_color("hundred"), normalize_color("shredded"), normalize_color("washed silk")
    ('red', 'red', 'red', 'ash')
    """
    return next((color for color in COLORS if color in text), text)


def token_set_ratio(one: str, other: str) -> int:
    """How like two texts are, 0 to 100, as thefuzz 0.19 says with Python's own matcher, which is what WebShop installs.

    The words they share, and those with the rest of each: the greatest likeness of two of these three.

    >>> token_set_ratio("powder snow", "cool powder snow"), token_set_ratio("tea bag", "tea tree")
    (100, 60)
    """
    some, others = tokenize_for_ratio(one), tokenize_for_ratio(other)
    if not some or not others:
        return 0
    shared = " ".join(sorted(some & others))
    left, right = (f"{shared} {' '.join(sorted(each))}".strip() for each in (some - others, others - some))
    return max(compute_match_ratio(shared, left), compute_match_ratio(shared, right), compute_match_ratio(left, right))


def tokenize_for_ratio(text: str) -> set[str]:
    return set(re.sub(r"\W", " ", text.translate(LATIN)).lower().split())


def compute_match_ratio(one: str, other: str) -> int:
    return round(100 * SequenceMatcher(None, one, other).ratio()) if one and other else 0
