"""A product in the shopper's own words: as few as mean exactly one product of the trajectory."""

import re

from pipeline.questions.log import Event, Log, names, words_of
from pipeline.questions.rating import stands_in
from pipeline.questions.tree import Mention
from pipeline.words import STOP

PART = re.compile(r"[a-z0-9](?:[a-z0-9 .&'/-]*[a-z0-9])?")
"""What a database matches in the same way as we do: no letters with two cases of their own, no wildcards."""
SEGMENT = re.compile(r"[,;|()\[\]–—:]|\s-\s")
KELVIN = "\u212a"
"""A letter whose lower case is a plain k for some databases, and itself for others."""
DETAILS = 3
WORDS = 4


def mention(log: Log, asin: str) -> Mention | None:
    """What the shopper typed before the first click on it, as far as its name says the same, and details until it is unique."""
    first = next((each for each in log.by_asin.get(asin, []) if each.action == "click"), None)
    if first is None:
        return None
    spans = said_before(log, first)
    segments = segments_of(first)
    heads = [*(span for span in spans if is_a_noun(span)), *(each for each in segments if is_a_noun(each))]
    if not heads:
        return None
    head = max(heads, key=lambda text: (text in spans, text.count(" ") == 1, len(text)))
    found = Mention(brand=first.brand, parts=(head,))
    alike = log.products.values() if first.brand is None else log.products_of[first.brand]
    for _ in range(DETAILS + 1):
        others = [each for each in alike if each.asin != asin and names(each, found)]
        if not others:
            return found
        details = [each for each in dict.fromkeys([*spans, *segments]) if adds(each, found)]
        if not details:
            return None
        left = {each: sum(each in other.lower for other in others) for each in details}
        best = min(details, key=lambda text: (left[text], len(text)))
        if left[best] == len(others):
            return None
        found = found.model_copy(update={"parts": (*found.parts, best)})
    return None


def is_a_noun(text: str) -> bool:
    """Something one can say "the ..." of: words, of which the last is no measure."""
    words = text.split()
    return (
        text.replace(" ", "").replace("-", "").isalpha()
        and words[-1].isalpha()
        and len(words[-1]) > 2
        and len(words) < 4
    )


def adds(text: str, found: Mention) -> bool:
    return not any(text in part or part in text for part in found.parts)


def said_before(log: Log, click: Event) -> list[str]:
    """The runs of words of the product's name that are all in the search before its click, the maker's left out."""
    before = [each for each in log.by_action.get("search", []) if each.timestamp < click.timestamp]
    typed = set(words_of(before[-1].search_query if before else None))
    maker = set(words_of(click.brand))
    found: list[str] = []
    for piece in SEGMENT.split(click.lower):
        run: list[str] = []
        for word in [*piece.split(), ""]:
            parts = words_of(word)
            if parts and typed.issuperset(parts) and not maker & set(parts) and not STOP.issuperset(parts):
                run.append(word)
                continue
            if run:
                found.append(" ".join(run))
            run = []
    return [text for text in found if usable(text, click)]


def usable(text: str, click: Event) -> bool:
    """Whether it stands in the name as words of its own, and reads the same everywhere."""
    return (
        PART.fullmatch(text) is not None and stands_in(text, click.lower) and KELVIN not in (click.product_name or "")
    )


def segments_of(click: Event) -> list[str]:
    """The pieces of its name between commas and dashes, as far as they are short."""
    maker = (click.brand or "").lower()
    pieces = (piece.strip().removeprefix(maker).strip() for piece in SEGMENT.split(click.lower))
    short = [" ".join(piece.split()[-WORDS:]) for piece in pieces if piece]
    return [piece for piece in short if usable(piece, click) and not set(piece.split()) <= STOP]
