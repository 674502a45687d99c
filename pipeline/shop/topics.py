"""What a question is about: its words held against the names of what a shopper may want."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from pipeline.words import STOP, WORD, ascii_lower, content_words
from schemas.tasks import Wish

STEM = 6
"""Letters by which words are told apart: `deliver`, `delivered` and `delivery` are one."""
FEW = 5
"""Words, at most, of a wish that a question may name by its value: `Is Norrvik fine?`"""
CLAUSE = re.compile(r"[,;:?!]|\.(?:\s|$)|\b(?:and|or)\b|\n", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
REQUEST = re.compile(
    r"\b(?:tell me|let me know|(?:please|could you|can you) (?:say|specify|share|describe|name|give))\b", re.IGNORECASE
)
# What a wish is called, and what a question about it says.
ASKED_BY = (
    ("brand manufacturer maker", "brand maker manufacturer company label"),
    (
        "color colour shade finish",
        "color colour colored coloured shade hue black white red blue green gray grey silver gold pink purple brown beige",
    ),
    ("size", "size sized big large medium fit fits xs xl xxl"),
    (
        "size width height length depth diameter",
        "dimension dimensions measure measures measurement measurements size big",
    ),
    ("width", "wide"),
    ("height", "tall high"),
    ("length", "long"),
    ("depth", "deep"),
    ("weight", "heavy light weigh weighs weight"),
    ("power wattage watts", "power powerful watt watts wattage"),
    ("capacity volume storage memory", "capacity volume storage memory hold holds litre liter gallon gigabyte gb"),
    ("screen display", "screen display inch inches"),
    ("material fabric", "material fabric made"),
    ("rating stars review", "rating rated star stars review reviews score"),
    (
        "shipping delivery",
        "shipping ship shipped ships delivery deliver delivered arrive arrives fast quick quickly dispatch",
    ),
    ("deadline arrival needed", "deadline date arrive arrival soon urgent"),
    (
        "price budget cost total spend",
        "price priced pricing prices budget cost costs spend spending pay paying expensive cheap cheaper afford dollar dollars",
    ),
    ("quantity pieces count amount number", "quantity amount piece pieces unit units copies count"),
    ("category product kind", "category department"),
    ("order purchase bought line", "order orders ordered purchase purchased bought buy line"),
    ("reason problem fault", "reason why wrong problem issue fault broken defect defective happened"),
    ("replacement exchange instead", "replacement replace exchange instead swap refund"),
    ("condition opened unopened", "condition open opened unopened used worn sealed"),
    ("member membership", "member membership subscription"),
    ("region country state address", "region country state address live located location where"),
    ("compatible compatibility device model", "compatible compatibility device model fit fits work works"),
    ("variant version option", "variant version option options model"),
    ("purpose use occasion project", "purpose use used occasion project room event"),
    ("recipient gift", "who whom gift recipient"),
    ("connector plug port", "connector connection plug port"),
    ("style pattern design", "style pattern design look"),
    ("age", "age old year years"),
)
# The same, by words that say it only where nothing else in their clause says more.
ALSO_ASKED_BY = (
    ("brand manufacturer maker", "make"),
    ("price budget cost total spend", "much maximum max limit range"),
    ("quantity pieces count amount number", "many number"),
    ("category product kind", "kind type sort product item thing looking"),
    ("deadline arrival needed", "when"),
    ("order purchase bought line", "when which"),
)
OPEN_ON = ("brand", "color", "size", "material", "rating", "shipping", "price", "style", "weight", "power", "capacity")
"""What nobody minds who has not said so."""
GENERAL = frozenset(
    "else other more anything everything something detail detail requirement preference prefer specific important need want"
    " wish tell describe feature must criteria consider know information info additional further matter looking share"
    " constraint condition".split()
)
ELSE = frozenset("else other anything everything additional further detail requirement criteria constraint".split())
YES_OR_NO = frozenset("shall should is are am does do did would can could may will was has have ok okay right".split())
FILLER = STOP | frozenset(
    "please could can would will shall should may might must do does did be been was were have has had am there here let us"
    " give say help so if about regarding concerning on its it's they them he she we our yes no not just also too now then"
    " sure okay ok thanks thank hi hello particular exactly what's any some kind type sort product item thing one ones get"
    " got think thinking mind who when why much many range care specify name question ask right before still me i'm".split()
)
SAME_AS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5"}


@dataclass(frozen=True)
class Keys:
    """The stems by which a question can mean a wish."""

    own: frozenset[str]
    """Of its name."""
    strong: frozenset[str]
    weak: frozenset[str]
    about: frozenset[str]
    """Of what the wish is: `lamp` of `color of lamp`."""


@dataclass
class Asked:
    """What a text asks for: places of wishes, and what no wish is about."""

    wishes: list[int]
    others: list[str]
    """Topics that are no wish's."""
    more: list[frozenset[str]]
    """General questions: the stems of what each is about, none where it is about anything."""
    confirms: bool = False
    unknown: bool = False


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """
    >>> stem("delivered"), stem("sizes")
    ('delive', 'size')
    """
    word = SAME_AS.get(word, word)
    return (word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word)[:STEM]


def stems(text: str) -> tuple[str, ...]:
    return tuple(map(stem, WORD.findall(ascii_lower(text))))


def table(rows: Sequence[tuple[str, str]]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((frozenset(stems(names)), frozenset(stems(asks))) for names, asks in rows)


STRONG, WEAK = table(ASKED_BY), table(ALSO_ASKED_BY)
KNOWN = frozenset(each for _, asks in (*STRONG, *WEAK) for each in asks)
NOT_MINDED = tuple((name, next(asks for names, asks in STRONG if stem(name) in names)) for name in OPEN_ON)
OPEN = frozenset[str]().union(*(asks for _, asks in NOT_MINDED))
PLAIN = {
    name: frozenset(stem(word) for word in found)
    for name, found in {"general": GENERAL, "else": ELSE, "filler": FILLER | GENERAL}.items()
}


@lru_cache(maxsize=20_000)
def keys_of(name: str, said: str, topics: tuple[str, ...]) -> Keys:
    """How a question can mean the wish of this name: by its words, their synonyms, its topics, or its value."""
    head, _, rest = name.partition(" of ")
    own = {each for each in stems(head) if each not in PLAIN["filler"]} or set(stems(head))
    called = own.union(*map(stems, topics))
    strong = called.union(*(asks for names, asks in STRONG if own & names))
    weak = frozenset[str]().union(*(asks for names, asks in WEAK if own & names))
    if len(said.split()) <= FEW:
        values = {stem(word) for word in content_words(said) if word.isalpha() and len(word) > 2}
        strong |= values - KNOWN - PLAIN["filler"]
    return Keys(frozenset(own), frozenset(strong), weak, frozenset(stems(rest)) - {"item"})


def keys(wish: Wish) -> Keys:
    return keys_of(wish.name, wish.said, tuple(wish.topics))


def questions(text: str) -> str:
    """The sentences of a text that ask; empty where none does.

    >>> questions("I found a red one. Which size do you need? It costs $40.")
    'Which size do you need?'
    """
    if "?" not in text and not REQUEST.search(text):
        return ""
    return " ".join(each for each in SENTENCE.split(text) if "?" in each or REQUEST.search(each))


def asked(text: str, wishes: Sequence[Keys]) -> Asked:
    """What a question asks for, clause by clause; a wish comes once, in the order of the question."""
    found = Asked([], [], [])
    things = frozenset[str]().union(*(keys.about for keys in wishes))
    for clause in CLAUSE.split(text.replace("$", " dollars ")):
        said = stems(clause)
        if said:
            read(said, wishes, things, found)
    found.wishes = list(dict.fromkeys(found.wishes))
    found.others = list(dict.fromkeys(found.others))
    return found


def read(clause: tuple[str, ...], wishes: Sequence[Keys], things: frozenset[str], found: Asked) -> None:
    """One clause; adds to `found`."""
    said = frozenset(clause)
    about = spoken_of(clause, things) if things else things
    hits = [place for place, keys in enumerate(wishes) if not keys.strong.isdisjoint(said)]
    if len(hits) > 1:
        hits = meant(said, hits, wishes)
    topics = [] if hits or OPEN.isdisjoint(said) else [name for name, asks in NOT_MINDED if asks & said]
    if not hits and not topics:
        hits = [place for place, keys in enumerate(wishes) if not keys.weak.isdisjoint(said)]
    if about:
        loose = [] if any(map(str.isdigit, about)) else [place for place in hits if not wishes[place].about]
        hits = [place for place in hits if about <= wishes[place].about] or loose
    if hits:
        found.wishes += hits
    elif topics:
        found.others += topics[:1]
    elif said & (about | PLAIN["general"]) and (said & PLAIN["else"] or said - about <= PLAIN["filler"]):
        found.more.append(about)
    elif clause[0] in YES_OR_NO:
        found.confirms = True
    elif not said <= PLAIN["filler"]:
        found.unknown = True


def meant(said: frozenset[str], hits: list[int], wishes: Sequence[Keys]) -> list[int]:
    """Of several, those that are named in full, and those that other words of the clause mean: `pack size` is not `size`."""
    whole = {wishes[place].own for place in hits if wishes[place].own <= said}
    named = {own for own in whole if not any(own < other for other in whole)}
    used = frozenset[str]().union(*named)
    return [place for place in hits if wishes[place].own in named or wishes[place].strong & said - used]


def spoken_of(clause: tuple[str, ...], things: frozenset[str]) -> frozenset[str]:
    """Which of the things that wishes are about a clause names: `lamp`, or the 2 of `item 2`, be there such an item or not."""
    pairs = {frozenset(pair) for pair in pairwise(clause)} if "item" in clause else set()
    return things.intersection(clause) | {each for pair in pairs if "item" in pair for each in pair if each.isdigit()}
