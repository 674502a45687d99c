"""What a question is about: its words held against the names of what a shopper may want."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from shopwright.pipeline.words import STOP, WORD, ascii_lower, content_words, strip_plural
from shopwright.schemas.tasks import Slot

# Letters by which words are told apart: `deliver`, `delivered` and `delivery` are one.
STEM = 6
# Words, at most, of a slot that a question may name by its value: `Is Norrvik fine?`
FEW = 5
# One question may ask for several things; each clause is read alone.
CLAUSE = re.compile(r"[,;:?!]|\.(?:\s|$)|\b(?:and|or)\b|\n", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
# Questions without a question mark.
REQUEST = re.compile(
    r"\b(?:tell me|let me know|(?:please|could you|can you) (?:say|specify|share|describe|name|give))\b", re.IGNORECASE
)
# What a slot is called, and what a question about it says.
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
# What nobody minds who has not said so.
OPEN_ON = ("brand", "color", "size", "material", "rating", "shipping", "price", "style", "weight", "power", "capacity")
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
class SlotKeys:
    """The stems by which a question can mean a slot."""

    own: frozenset[str]
    """Of its name."""
    strong: frozenset[str]
    weak: frozenset[str]
    about: frozenset[str]
    """Of what the slot is: `lamp` of `color of lamp`."""


@dataclass
class ParsedQuestion:
    """What a text asks for: places of slots, and what no slot is about."""

    topics: list[list[int]]
    """What is asked for, topic by topic: the places of its slots, such as the prices of several things."""
    others: list[str]
    """Topics that are no slot's."""
    more: list[frozenset[str]]
    """General questions: the stems of what each is about, none where it is about anything."""
    confirms: bool = False
    unknown: bool = False

    @property
    def slots(self) -> list[int]:
        """The places of all slots that are asked for, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.topics)))

    @property
    def count(self) -> int:
        """Topics in all."""
        return len(self.topics) + len(self.others) + len(self.more)


@lru_cache(maxsize=20_000)
def stem_word(word: str) -> str:
    """
    >>> stem_word("delivered"), stem_word("sizes")
    ('delive', 'size')
    """
    return strip_plural(SAME_AS.get(word, word))[:STEM]


def stem_words(text: str) -> tuple[str, ...]:
    return tuple(map(stem_word, WORD.findall(ascii_lower(text))))


def build_stem_table(rows: Sequence[tuple[str, str]]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((frozenset(stem_words(names)), frozenset(stem_words(asks))) for names, asks in rows)


STRONG, WEAK = build_stem_table(ASKED_BY), build_stem_table(ALSO_ASKED_BY)
KNOWN = frozenset(chain.from_iterable(asks for _, asks in (*STRONG, *WEAK)))


def find_topics_of(name: str) -> frozenset[str]:
    return next(asks for names, asks in STRONG if stem_word(name) in names)


NOT_MINDED = tuple((name, find_topics_of(name)) for name in OPEN_ON)
OPEN = frozenset[str]().union(*(asks for _, asks in NOT_MINDED))
PLAIN = {
    name: frozenset(map(stem_word, found))
    for name, found in {"general": GENERAL, "else": ELSE, "filler": FILLER | GENERAL}.items()
}


@lru_cache(maxsize=20_000)
def build_keys(name: str, value: str, topics: tuple[str, ...]) -> SlotKeys:
    """How a question can mean the slot of this name: by its words, their synonyms, its topics, or its value."""
    head, _, rest = name.partition(" of ")
    own = {each for each in stem_words(head) if each not in PLAIN["filler"]} or set(stem_words(head))
    called = own.union(*map(stem_words, topics))
    strong = called.union(*(asks for names, asks in STRONG if own & names))
    weak = frozenset[str]().union(*(asks for names, asks in WEAK if own & names))
    if len(value.split()) <= FEW:
        values = {stem_word(word) for word in content_words(value) if word.isalpha() and len(word) > 2}
        strong |= values - KNOWN - PLAIN["filler"]
    return SlotKeys(frozenset(own), frozenset(strong), weak, frozenset(stem_words(rest)) - {"item"})


def build_slot_keys(slot: Slot) -> SlotKeys:
    return build_keys(slot.name, slot.value if slot.meaning else slot.said, tuple(slot.topics))


def extract_questions(text: str) -> str:
    """The sentences of a text that ask; empty where none does.

    >>> extract_questions("I found a red one. Which size do you need? It costs $40.")
    'Which size do you need?'
    """
    if "?" not in text and not REQUEST.search(text):
        return ""
    return " ".join(each for each in SENTENCE.split(text) if "?" in each or REQUEST.search(each))


def parse_user_question(text: str, slots: Sequence[SlotKeys]) -> ParsedQuestion:
    """What a question asks for, clause by clause; a slot comes once, in the order of the question."""
    found = ParsedQuestion([], [], [])
    things = frozenset[str]().union(*(keys.about for keys in slots))
    for clause in CLAUSE.split(text.replace("$", " dollars ")):
        said = stem_words(clause)
        if said:
            parse_question_clause(said, slots, things, found)
    found.others = list(dict.fromkeys(found.others))
    return found


def parse_question_clause(
    clause: tuple[str, ...], slots: Sequence[SlotKeys], things: frozenset[str], found: ParsedQuestion
) -> None:
    """One clause; adds to `found`."""
    said = frozenset(clause)
    asks = frozenset(drop_things(clause, slots)) or said
    about = things
    if things:
        # `lamp`, or the 2 of `item 2`, be there such an item or not.
        beside_item = chain.from_iterable(pair for pair in pairwise(clause) if "item" in pair)
        about = things.intersection(clause) | {word for word in beside_item if word.isdigit()}
    hits = [place for place, keys in enumerate(slots) if not keys.strong.isdisjoint(asks)]
    if len(hits) > 1:
        hits = resolve_slot_matches(asks, hits, slots)
    topics = [] if hits or OPEN.isdisjoint(said) else [name for name, asks in NOT_MINDED if asks & said]
    if not hits and not topics:
        hits = [place for place, keys in enumerate(slots) if not keys.weak.isdisjoint(said)]
    if about:
        loose = [] if any(map(str.isdigit, about)) else [place for place in hits if not slots[place].about]
        hits = [place for place in hits if about <= slots[place].about] or loose
    if hits:
        found.topics += group_topics(asks, hits, slots)
    elif topics:
        found.others += topics[:1]
    elif said & (about | PLAIN["general"]) and (said & PLAIN["else"] or said - about <= PLAIN["filler"]):
        found.more.append(about)
    elif clause[0] in YES_OR_NO:
        found.confirms = True
    elif not said <= PLAIN["filler"]:
        found.unknown = True


def drop_things(clause: Sequence[str], slots: Sequence[SlotKeys]) -> list[str]:
    """The words beside the whole names of things: who asks for the use of single-origin coffee does not ask for its origin."""
    words = list(clause)
    for name in sorted({keys.about for keys in slots}, key=lambda name: (-len(name), sorted(name))):
        if name and all(word in words for word in name):
            for word in name:
                words.remove(word)
    return words


def group_topics(said: frozenset[str], hits: list[int], slots: Sequence[SlotKeys]) -> list[list[int]]:
    """The slots that a clause means by topics: of one name are the prices of several things, and what is not named goes with what is.

    "color size material" without a comma are three topics.
    """
    named = [slots[place].own for place in hits if slots[place].own <= said]
    topics: dict[frozenset[str], list[int]] = {own: [] for own in named}
    for place in hits:
        own = slots[place].own
        topics.setdefault(own if own in topics or not named else named[0], []).append(place)
    return list(topics.values())


def resolve_slot_matches(said: frozenset[str], hits: list[int], slots: Sequence[SlotKeys]) -> list[int]:
    """Of several, those that are named in full, and those that other words of the clause mean: `pack size` is not `size`."""
    whole = {slots[place].own for place in hits if slots[place].own <= said}
    named = {own for own in whole if not any(map(own.__lt__, whole))}
    used = frozenset[str]().union(*named)
    return [place for place in hits if slots[place].own in named or slots[place].strong & said - used]
