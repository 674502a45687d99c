"""The rewards of ShopSimulator and WebShop written down again from the papers' text, over rows of the Parquet files.

Of the package come two word lists alone: the stop words that stand for spaCy's nouns, and WebShop's colours.
"""

import re
from difflib import SequenceMatcher
from fractions import Fraction

from shopwright.pipeline.rewards.shopsimulator import COLORS
from shopwright.pipeline.words import STOP
from tests.outside.shopping.shop import Row

LIKE = 85


def score(
    task: Row, gold: Row, bought: Row, chosen: list[str], cents: int, *, webshop: bool = False
) -> dict[str, float]:
    """r_type, r_att, r_option, r_price; loose = r_type (n_att + n_opt + r_price) / (|A| + |O| + 1), strict = their product."""
    attributes = [need["value"].lower() for need in task["needs"] if need["kind"] == "attribute" and need["op"] == "is"]
    options = [need["value"].lower() for need in task["needs"] if need["kind"] == "option"]
    limit = task["price_limit"]
    kind = rate_type(gold, bought, webshop)
    matched = sum(has_attribute(bought, each) for each in attributes)
    picked = sum(any(ratio(name_color(each), name_color(value.lower())) > LIKE for value in chosen) for each in options)
    price = int(limit is None or Fraction(cents, 100) <= Fraction(str(limit)))
    att = Fraction(matched, len(attributes)) if attributes else Fraction(1)
    opt = Fraction(picked, len(options)) if options else Fraction(1)
    strict = kind * att * opt * price
    loose = kind * Fraction(matched + picked + price, len(attributes) + len(options) + 1)
    parts = {"type": kind, "attributes": att, "options": opt, "price": price, "loose": loose, "strict": strict}
    return {name: float(value) for name, value in parts.items()} | {
        "success": float(strict == 1),
        "same_product": float(gold["id"] == bought["id"]),
    }


def rate_type(gold: Row, bought: Row, webshop: bool) -> Fraction:
    wanted = list_nouns(gold["title"])
    shared = set(wanted) & set(list_nouns(bought["title"]))
    overlap = Fraction(len(shared), len(wanted)) if wanted else Fraction(1, 5)
    nodes = {node.strip() for node in gold["category_path"]} & {node.strip() for node in bought["category_path"]}
    same = gold["category"] == bought["category"] or len(nodes) >= 2 or overlap > Fraction(1, 5)
    if same and not webshop:
        return Fraction(1)
    if overlap == 0:
        return Fraction(0)
    if overlap < Fraction(1, 10):
        return Fraction(1, 10)
    return Fraction(1) if same else Fraction(1, 2)


def list_nouns(title: str) -> list[str]:
    words = re.findall(r"[a-z0-9]+(?:['’][a-z]+)?", title.lower())
    return [word for word in words if word not in STOP and not word.isdigit() and len(word) > 1]


def has_attribute(bought: Row, wanted: str) -> bool:
    own = [each["value"] for each in bought["attributes"]] + [
        each for each in (bought["brand"], bought["color"]) if each
    ]
    texts = (bought["title"], " ".join(bought["bullets"] or []), bought["description"] or "")
    return any(ratio(each, wanted) > LIKE for each in own) or any(wanted in text.lower() for text in texts)


def name_color(text: str) -> str:
    for color in COLORS:
        if color in text:
            return color
    return text


def ratio(one: str, other: str) -> int:
    """The token set ratio: the best likeness of the shared words, and these with the rest of either text."""
    first, second = (set(re.sub(r"\W", " ", re.sub("[\x80-\xff]", "", text)).lower().split()) for text in (one, other))
    if not first or not second:
        return 0
    shared = " ".join(sorted(first & second))
    whole = [" ".join([shared, *sorted(words)]).strip() for words in (first - second, second - first)]
    pairs = [(shared, whole[0]), (shared, whole[1]), (whole[0], whole[1])]
    return max(round(100 * SequenceMatcher(None, *pair).ratio()) if all(pair) else 0 for pair in pairs)
