"""A shopper's sentence read back: which things, prices and searches it names, what it claims, and for which reasons that can be said.

    seen = Seen(page=("Oak lamp, 12 in", "Oak desk"), typed="lamp")
    read_rationale("The oak lamp is the cheapest here, so I'll take a look.", seen).reasons     # {'opens'}

It has nothing in common with the phrase bank: products are found by the words of their titles, and claims by expressions of its own
(`rationales.cues`). A sentence is read when each of its words belongs to a fact, to a claim, or to what people say without claiming
anything; a thing that is named has to be one product.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

CUES = Path(__file__).with_name("rationales.cues")
HARMLESS = Path(__file__).with_name("rationales.words")
SIGNS = ".,;:!?()[]\"'“”‘’"
MONEY = re.compile(r"\$(\d+(?:\.\d\d)?)")
STARS = re.compile(r"(?<!\S)(\d) stars(?!\w)")
NUMBER = re.compile(r"(?<![\S])\d+(?:\.\d+)?(?=[\s.,;:!?)(]|$)")
# Names of what an expression caught that are places of amounts.
AMOUNTS = frozenset(("cm", "dm", "limit", "limit2", "filter"))
# What a thing of several pieces, such as boots, does: read as of one piece.
SEVERAL = re.compile(
    r"(?P<thing>@\d +)(?P<verb>are|were|weren't|aren't|have|haven't|do|don't|go|match|catch|stay|cost|look|suit|seem|fit|come|wait|speak|sound|save|offer|let|hold|compare|ask)(?= )"
)
ONE = {
    "are": "is", "aren't": "isn't", "were": "was", "weren't": "wasn't", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't",
    "go": "goes", "match": "matches", "catch": "catches",
}  # fmt: skip
# What stands before a product's name.
POINTER = re.compile(r"(?<![\w'])(?:the|these|this|that) (?=\S)", re.IGNORECASE)
# What a shop has, whatever it sells: "the cart" is no toy.
OF_THE_SHOP = frozenset(
    "cart features feature description reviews review price prices rating ratings filter results".split()
)
# Words that do not end a name.
LOOSE = frozenset("for with in at is and of to by on from a the it so or up as not one i was".split())
SHORT = {
    "i'm": "i am", "i'll": "i will", "i'd": "i would", "i've": "i have", "don't": "do not", "doesn't": "does not", "didn't": "did not",
    "isn't": "is not", "aren't": "are not", "wasn't": "was not", "can't": "cannot", "won't": "will not", "wouldn't": "would not",
    "haven't": "have not", "hasn't": "has not", "shouldn't": "should not", "couldn't": "could not", "needn't": "need not",
    "it's": "it is", "that's": "that is", "there's": "there is", "what's": "what is", "let's": "let us", "who's": "who is",
    "here's": "here is", "that'll": "that will", "they're": "they are", "everybody's": "everybody is", "we'll": "we will", "gonna": "going to",
    "wanna": "want to", "gotta": "have to", "lemme": "let me", "cuz": "because", "its": "it is", "lets": "let us", "im": "i am",
}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the"))
# What can be done on a page of each kind, by its reason; leaving and searching can be done on all.
ANYWHERE = frozenset(("look around", "look closer", "set a limit", "gives up", "decides later"))
ON_RESULTS = frozenset(("opens", "looks again", "next page", "page before", "narrow down", "widen again"))
ON_PRODUCT = frozenset(
    (
        "too dear",
        "poorly rated",
        "other color",
        "sold out",
        "compare",
        "seen enough",
        "read more",
        "choose",
        "put in the cart",
        "go on",
    )
)
INTO_CART = frozenset(("look into the cart",))
POSSIBLE = {
    "home": ANYWHERE | INTO_CART,
    "results": ANYWHERE | INTO_CART | ON_RESULTS,
    "product": ANYWHERE | INTO_CART | ON_PRODUCT,
    "text": ANYWHERE | INTO_CART | {"read enough"},
    "cart": ANYWHERE | {"buy", "go on"},
    "bought": ANYWHERE | INTO_CART | {"go on"},
}


@dataclass(frozen=True)
class Seen:
    """What a shopper knows when it says something; titles as pages write them."""

    place: str = ""
    """The kind of page: home, results, product, text (more of a product), cart or bought; empty: any."""
    page: Sequence[str] = ()
    """Of the products that the page shows."""
    opened: Sequence[str] = ()
    """Of those looked at, put in the cart or bought before."""
    listed: Sequence[str] = ()
    """Of the results seen last."""
    typed: str = ""
    """What is searched for now."""
    before: Sequence[str] = ()
    """What was searched for until now, the last first."""
    brands: Sequence[str] = ()
    """That this shopper prefers."""
    option: str = ""
    value: str = ""
    """What is chosen on the page."""


class Claim(NamedTuple):
    name: str
    reasons: frozenset[str]
    """For which it speaks."""
    facts: dict[str, str]
    """What the expression caught, by name."""


@dataclass
class Reading:
    text: str
    """The sentence in plain words: facts as signs (`$0` the first amount, `@0` the first product), short forms written out, without articles."""
    claims: list[Claim] = field(default_factory=list)
    things: list[str] = field(default_factory=list)
    """The titles that `@0`, `@1` ... of the text mean."""
    amounts: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    reasons: frozenset[str] = frozenset()
    fault: str = ""
    """Why it is not read."""


class Cue(NamedTuple):
    claim: str
    reasons: frozenset[str]
    beside: frozenset[str]
    """Reasons that it goes with where something else speaks for them."""
    pattern: re.Pattern[str]


@cache
def load_cues() -> tuple[Cue, ...]:
    found: list[Cue] = []
    claim, reasons, beside = "", frozenset[str](), frozenset[str]()
    for line in CUES.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("# "):
            continue
        if not line[0].isspace():
            claim, _, rest = line.partition(":")
            reasons, beside = (split_names(part) for part in (f"{rest};").split(";")[:2])
            continue
        found.append(Cue(claim, reasons, beside, re.compile(rf"(?<!\S)(?:{line.strip()})(?!\S)")))
    return tuple(found)


def split_names(text: str) -> frozenset[str]:
    return frozenset(each.strip() for each in text.split(",") if each.strip())


@cache
def load_harmless() -> frozenset[str]:
    return frozenset(HARMLESS.read_text(encoding="utf-8").split())


@lru_cache(50_000)
def list_title_words(title: str) -> frozenset[str]:
    return frozenset(word.strip(SIGNS).lower() for word in title.split()) - {""}


def read_rationale(text: str, seen: Seen) -> Reading:
    """
    >>> seen = Seen(page=("Osko oak lamp, 12 in", "Osko desk"))
    >>> found = read_rationale("At $9.00 the oak lamp is the cheapest here, so I'll take a look.", seen)
    >>> found.text, found.things, sorted(found.reasons), found.fault
    ('at $0 @0 is cheapest here so i will take look', ['Osko oak lamp, 12 in'], ['opens'], '')
    """
    masked, names = mask_products(mask_quoted_searches(text, seen), seen)
    masked = SEVERAL.sub(
        lambda two: two["thing"] + ONE.get(two["verb"], f"{two['verb']}s"), mask_bare_search(masked, seen)
    )
    found = Reading(normalize(mask_values(masked, seen)))
    found.amounts = MONEY.findall(found.text)
    places = count()
    found.text = MONEY.sub(lambda _: f"${next(places)}", found.text)
    for words, titles in names:
        if len(titles) != 1:
            found.fault = f"names {words!r}, which means {len(titles)} products"
            return found
        found.things.append(titles[0])
    found.numbers = NUMBER.findall(found.text)
    found.text = NUMBER.sub("%", STARS.sub("% stars", found.text))
    read_claims(found, seen.place)
    return found


def read_claims(found: Reading, place: str) -> None:
    """Finds the claims, the reasons that they speak for, and the words that none of them explains."""
    found.reasons, claims, strange = match_cues(found.text, place)
    found.claims = [claim._replace(facts=put_amounts(claim.facts, found.amounts)) for claim in claims]
    if not found.reasons:
        found.fault = "claims nothing that could be said here"
    elif strange:
        found.fault = f"says {strange!r}, which is not understood"


def put_amounts(facts: Mapping[str, str], amounts: Sequence[str]) -> dict[str, str]:
    return {name: amounts[int(text)] if name in AMOUNTS else text for name, text in facts.items()}


@lru_cache(100_000)
def match_cues(text: str, place: str) -> tuple[frozenset[str], tuple[Claim, ...], str]:
    """Of a text with signs for its facts: the reasons, what it claims for them, and its words that are not understood."""
    possible = POSSIBLE.get(place)
    cues = [cue for cue in load_cues() if possible is None or possible & (cue.reasons | cue.beside)]
    matches = [(cue, match) for cue in cues for match in cue.pattern.finditer(text)]
    reasons = choose_reasons({cue.claim: cue for cue, _ in matches}.values(), possible)
    matches = [(cue, match) for cue, match in matches if reasons & (cue.reasons | cue.beside)]
    claims = (
        Claim(cue.claim, cue.reasons, {name: said for name, said in match.groupdict().items() if said})
        for cue, match in matches
    )
    spans = [match.span() for _, match in matches]
    strange = [
        word[0]
        for word in re.finditer(r"\S+", text)
        if word[0] not in load_harmless()
        and word[0][0] not in "@$#&%="
        and not any(first <= word.start() and word.end() <= last for first, last in spans)
    ]
    return reasons, tuple(claims), " ".join(strange)


def choose_reasons(cues: Iterable[Cue], possible: frozenset[str] | None) -> frozenset[str]:
    """The reasons that most claims speak for."""
    votes: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for cue in cues:
        votes.update(reason for reason in cue.reasons if possible is None or reason in possible)
        beside.update(cue.beside)
    total = {reason: count + beside[reason] for reason, count in votes.items()}
    most = max(total.values(), default=0)
    return frozenset(reason for reason, count in total.items() if count == most)


# Facts


def mask_quoted_searches(text: str, seen: Seen) -> str:
    """What was typed as `#`, and what was typed before that as `##`, where it stands in quotes."""
    marks = [(seen.typed, " # "), *((query, " ## ") for query in seen.before)]
    for query, mark in sorted(marks, key=lambda each: -len(each[0])):
        words = " ".join(query.split())
        for shown in (words, cut_query(words, text)) if words else ():
            if shown:
                text = text.replace(f'"{shown}"', mark)
    return text


def mask_bare_search(text: str, seen: Seen) -> str:
    """The same without quotes, where they are a text's words."""
    last = [(seen.typed, " # "), *((query, " ## ") for query in seen.before[:1])]
    for query, mark in sorted(last, key=lambda each: -len(each[0])):
        text = compile_words(" ".join(query.split())).sub(mark, text) if query else text
    for query in sorted(seen.before[1:], key=len, reverse=True):
        text = compile_words(" ".join(query.split())).sub(" ## ", text) if " ## " not in text else text
    return text


@lru_cache(4_096)
def compile_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w@#$%&-]){re.escape(words)}(?![\w-])", re.IGNORECASE)


def cut_query(words: str, text: str) -> str:
    """The beginning of a long search, where a text quotes no more of it."""
    return next((quoted for quoted in re.findall(r'"([^"]{60,})"', text) if words.startswith(quoted)), "")


def mask_products(text: str, seen: Seen) -> tuple[str, list[tuple[str, list[str]]]]:
    """Each product as `@0`, `@1` ..., with the words that name it and the titles that these fit, among what is nearest."""
    tiers = [list(dict.fromkeys(tier)) for tier in (seen.page, seen.opened, seen.listed)]
    named: list[tuple[str, list[str]]] = []
    out, place = list[str](), 0
    for pointer in POINTER.finditer(text):
        if pointer.start() < place:
            continue
        end = find_name_end(text, pointer.end(), tiers)
        if end == pointer.end():
            continue
        words = text[pointer.end() : end]
        out += [text[place : pointer.start()], f" @{len(named)} "]
        named.append((words, find_meant(words, tiers)))
        place = end
    return "".join([*out, text[place:]]), named


def find_name_end(text: str, start: int, tiers: list[list[str]]) -> int:
    """How far words go that all stand in one title, without little words at their end."""
    best = start
    for title in dict.fromkeys(chain.from_iterable(tiers)):
        best = max(best, match_title(text, start, list_title_words(title)))
    said = text[start:best].split()
    if len(said) == 1 and said[0].strip(SIGNS).lower() in load_harmless() | OF_THE_SHOP:
        return start  # "the list" is no shopping list
    return best


def match_title(text: str, start: int, words: frozenset[str]) -> int:
    end, inside = start, False
    for match in re.finditer(r"\S+", text[start:]):
        token = match[0]
        word = token.strip(SIGNS).lower()
        if word not in words and token.rstrip(".,;:!?").lower() not in words:
            break
        inside = inside or "(" in token
        is_closed = ")" in token
        if word not in LOOSE or is_closed:
            end = start + match.start() + len(token.rstrip(".,;:!?"))
        inside = inside and not is_closed
        if is_closed or (token[-1] in ".,;:!?" and not inside):
            break
    return start if text[start:end].count("(") != text[start:end].count(")") else end


def find_meant(words: str, tiers: list[list[str]]) -> list[str]:
    """Of what is nearest: the page, then what was opened, then the results seen last."""
    wanted = list_title_words(words)
    for tier in tiers:
        if found := [title for title in tier if wanted <= list_title_words(title)]:
            return found
    return []


def mask_values(text: str, seen: Seen) -> str:
    """A preferred brand as `&`, the option and the value that are chosen as `=o` and `=v`."""
    for brand in sorted(seen.brands, key=len, reverse=True):
        text = mask_word(text, brand, " & ")
    if seen.value:
        text = mask_word(text, seen.value, " =v ")
        text = mask_word(text, seen.option, " =o ")
    return text


def mask_word(text: str, words: str, mark: str) -> str:
    return re.sub(rf"(?<![\w#@]){re.escape(words)}(?!\w)", mark, text, flags=re.IGNORECASE) if words else text


def normalize(text: str) -> str:
    """
    >>> normalize("I'll keep it, the lamp!")
    'i will keep it lamp'
    """
    words = (word.strip(SIGNS).lower() for word in text.replace("’", "'").split())
    return " ".join(SHORT.get(word, word) for word in words if word not in ARTICLES and word not in ("", "-", "–"))
