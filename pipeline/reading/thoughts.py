"""A thought about a table read back: which remark it is, of all that an analyst makes here, and with which facts.

    read_thought("Should several have that price, the earliest of them is meant.")[0].meaning     # 'mind tied price'

It has nothing in common with the phrase bank: remarks are known by expressions of its own (`thoughts.*.cues`). A remark is read when one of
its deciding expressions stands there, and each of the words belongs to a fact, to an expression of that same remark, or to what people say
without claiming anything (`thoughts.words`). Words that turn a remark round (not, before, after, earliest, fewer ...) are never among these.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
HARMLESS = FOLDER / "thoughts.words"
SIGNS = ".,;:!?()[]\"'“”‘’"
SENTENCE = re.compile(r"(?<=[.?!;:])\s+")
MONTHS = "january february march april may june july august september october november december".split()
MONTH = "|".join(MONTHS)
QUOTED = re.compile(r'"([^"]*)"')
TICKED = re.compile(r"`([^`]*)`")
FACTS = (
    ("S", re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")),
    ("D", re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")),
    ("D", re.compile(rf"\b(?:{MONTH}) \d{{1,2}}, \d{{4}}\b", re.IGNORECASE)),
    ("D", re.compile(rf"(?<!\w)\d{{1,2}} (?:{MONTH}) \d{{4}}\b", re.IGNORECASE)),
    ("H", re.compile(r"(?<![\w.:])-?\d+:\d\d:\d\d(?![\w:])")),
    ("O", re.compile(r"(?<![\w.:])\d\d:\d\d(?![\w:])")),
    ("M", re.compile(r"(?<!\w)-?\$-?\d[\d,]*(?:\.\d+)?")),
    ("E", re.compile(r"\b\w+(?:Error|Exception)\b")),
    ("T", re.compile(r"\b(?:datetime64\[\w+(?:, \w+)?\]|Timestamp\b)")),
    ("U", re.compile(r"\b(?:decimal128\(\d+, \d+\)(?:\[pyarrow\])?|float64|double\[pyarrow\]|object(?!\w))")),
)  # fmt: skip
"""A moment, a day, a span, a clock's hour, money, an error, a type of times and one of numbers."""
NUMBER = re.compile(r"(?<![\w.,$:-])-?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|:\d)")
HALF_HOUR = re.compile(r"(?<![\w.])30 min(?:utes?)?\b(?! \d+ s\b)")
ZERO = re.compile(r"(?<![\w.,$:-])0(?!\w|[.,:]\d)")
SHORT = {
    "i'm": "i am", "i'll": "i will", "i'd": "i would", "i've": "i have", "don't": "do not", "doesn't": "does not", "didn't": "did not",
    "isn't": "is not", "aren't": "are not", "wasn't": "was not", "can't": "cannot", "won't": "will not", "it's": "it is", "that's": "that is",
    "there's": "there is", "what's": "what is", "let's": "let us", "couldn't": "could not", "they're": "they are",
}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the", "", "-", "–"))
# Nouns of the bank by what people call them; one word may be said of two columns.
ROW_NOUNS = {
    "search": ("search", "searches"),
    "click": ("click", "clicks"),
    "cart": ("addition to cart|cart addition", "additions to cart|cart additions"),
    "purchase": ("purchase", "purchases"),
    "action": ("action|event", "actions|events"),
}
COLUMN_NOUNS = {
    "timestamp": ("time", "times"),
    "day": ("day", "days"),
    "weekday": ("weekday", "weekdays"),
    "hour": ("hour", "hours"),
    "asin": ("product", "products"),
    "product_name": ("product", "products"),
    "brand": ("brand", "brands"),
    "color": ("color", "colors"),
    "product_types": ("category", "categories"),
    "price": ("price", "prices"),
    "search_query": ("search text", "search texts"),
}
CONDITIONS = {
    "days": "dates",
    "history": "condition on what else happened to product",
    "prices": "price limits",
    "hours": "condition on weekday or hour",
    "color": "color",
    "words": "search text",
    "product": "product",
    "category": "category",
    "brand": "brand",
}
WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"


def join_nouns(nouns: Iterable[str]) -> str:
    """One of these, the longest first."""
    every = set(chain.from_iterable(noun.split("|") for noun in nouns))
    return "|".join(sorted(every, key=lambda word: (-len(word), word)))


ROW, ROWS = map(join_nouns, zip(*ROW_NOUNS.values(), strict=True))
THING, THINGS = map(join_nouns, zip(*COLUMN_NOUNS.values(), strict=True))
PLACE = r"(?:\w+-to-)?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|last|\d+(?:st|nd|rd|th))(?:-to-last)?"
CODE = r"`[^`\s]+`"
COLUMN = r"`(?:timestamp|action_type|asin|product_name|brand|color|product_types|price|search_query)`"
SLOTS = {
    "row": ROW, "rows": ROWS, "thing": THING, "things": THINGS, "condition": join_nouns(CONDITIONS.values()), "place": PLACE,
    "start": ROW, "end": rf"O\d+|{ROW}", "begin": r"O\d+", "one": rf"[VDN]\d+|zero|{WEEKDAY}|{ROWS}", "other": rf"[VDNM]\d+|zero|{WEEKDAY}|{ROWS}",
    "n": r"[NM]\d+|zero", "k": r"N\d+|zero", "m": r"[NM]\d+|zero", "minutes": r"N\d+|zero", "seconds": r"N\d+|zero", "all": r"N\d+|zero",
    "day": rf"D\d+|{WEEKDAY}", "first": r"[DS]\d+", "last": r"[DS]\d+", "next": r"D\d+", "latest": r"S\d+", "second": r"S\d+",
    "low": r"M\d+", "high": r"M\d+", "amount": r"M\d+", "price": r"M\d+", "words": r"Q\d+", "detail": r"Q\d+", "wrong": r"Q\d+", "misnomer": CODE,
    "value": r"V\d+", "quoted": r"Q\d+", "name": r"V\d+", "variable": CODE, "right": r"V\d+", "action": r"`(?:search|click|add_to_cart|purchase)`",
    "column": CODE, "field": COLUMN, "error": r"E\d+", "times": r"T\d+", "numbers": r"U\d+", "type": "date", "goal": r"G\d+",
    "number": r"N\d+|zero", "money": r"M\d+", "time": r"[DS]\d+", "span": r"H\d+", "text": rf"V\d+|{WEEKDAY}",
    "names": rf"(?:[VDNSM]\d+|{WEEKDAY})(?: (?:[VDNSM]\d+|{WEEKDAY}))+", "name_only": rf"[VDNSM]\d+|{WEEKDAY}", "rank": PLACE.replace("first|", ""), "answers": r"(?:yes|no)(?: (?:yes|no))*",
}  # fmt: skip
"""What may stand for a fact, in a text whose facts are signs."""
CALLED = {
    **dict.fromkeys(("number", "money", "time", "span", "text", "names", "answers"), "said"),
    "quoted": "value", "variable": "name", "misnomer": "wrong", "action": "right", "field": "right", "times": "type", "name_only": "said", "rank": "place", "numbers": "type",
}  # fmt: skip
"""Forms of facts that the bank calls by one name."""
MARK = re.compile(r"\{([\w-]+)\}")
RULE = re.compile(r"<([\w-]+)>")


Facts = tuple[tuple[str, tuple[str, ...]], ...]
Slots = tuple[tuple[str, str], ...]


class Reading(NamedTuple):
    """A remark that was read."""

    meaning: str
    facts: Facts
    """By slot what stands there: a fact, or the meanings that a noun may have."""
    goals: tuple[tuple[str, Facts], ...] = ()
    """What is asked for, where the remark names it: what that may mean, with its facts."""


class Masked(NamedTuple):
    text: str
    facts: dict[str, str]
    """By sign, as `N0`, what it stands for."""


class Cue(NamedTuple):
    text: str
    needs: frozenset[str]
    """Words without which it cannot match: most cues are passed over by these alone."""
    decides: bool

    @property
    def pattern(self) -> re.Pattern[str]:
        return compile_cue(self.text)


@cache
def load_harmless() -> frozenset[str]:
    return frozenset(HARMLESS.read_text(encoding="utf-8").split())


@cache
def load_cues() -> dict[str, tuple[Cue, ...]]:
    """By meaning its expressions."""
    files = sorted(FOLDER.glob("thoughts.*.cues"))
    lines = chain.from_iterable(file.read_text("utf-8").splitlines() for file in files)
    rules: dict[str, str] = {}
    found: dict[str, list[Cue]] = {}
    meaning = ""
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if rule := re.match(r"<([\w-]+)>: (.*)", line):
            rules[rule[1]] = fill_rules(rule[2], rules)
        elif not line[0].isspace():
            meaning = text
            found.setdefault(meaning, [])
        else:
            ways = split_alternatives(fill_rules(text.removeprefix("+ "), rules))
            found[meaning] += [Cue(way, list_needed_words(way), not text.startswith("+ ")) for way in ways]
    return {name: tuple(cues) for name, cues in found.items()}


@cache
def index_cues() -> dict[str, list[tuple[int, str, Cue]]]:
    """By the rarest word that it needs (empty: none) each expression, with its place among all and its meaning."""
    every = [(meaning, cue) for meaning, cues in load_cues().items() for cue in cues]
    counts = Counter(word for _, cue in every for word in cue.needs)
    found: dict[str, list[tuple[int, str, Cue]]] = {}
    for place, (meaning, cue) in enumerate(every):
        rarest = min(cue.needs, key=lambda word: (counts[word], word), default="")
        found.setdefault(rarest, []).append((place, meaning, cue))
    return found


def find_fitting_cues(text: str) -> dict[str, list[Cue]]:
    """By meaning the expressions all of whose words stand in a text, as the files have them."""
    index, words = index_cues(), frozenset(text.split())
    found: dict[str, list[Cue]] = {}
    for _, meaning, cue in sorted(chain.from_iterable(index.get(word, ()) for word in ("", *words))):
        if cue.needs <= words:
            found.setdefault(meaning, []).append(cue)
    return found


def split_alternatives(text: str) -> Iterator[str]:
    """Those that stand in no brackets, one by one, so that each is looked for wherever another begins.

    >>> list(split_alternatives("(?:a|b) c|d"))
    ['(?:a|b) c', 'd']
    """
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def list_needed_words(text: str) -> frozenset[str]:
    """
    >>> sorted(list_needed_words("^(?:a b|c) earliest row wins(?: it)? {n} of$"))
    ['earliest', 'of', 'row']
    """
    found, depth = set[str](), 0
    for word in text.split():
        if not depth and re.fullmatch(r"\^?[a-z'-]+\$?", word):
            found.add(word.strip("^$"))
        depth += word.count("(") - word.count(")")
    return frozenset(found)


def fill_rules(text: str, rules: dict[str, str]) -> str:
    return RULE.sub(lambda found: f"(?:{rules[found[1]]})", text)


@lru_cache(4_096)
def compile_cue(text: str) -> re.Pattern[str]:
    """Slots become groups; the second of a name gets another, as `n__2`."""
    count: dict[str, int] = {}

    def put(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        count[name] = count.get(name, 0) + 1
        return f"(?P<{name}__{count[name]}>{SLOTS[name]})"

    return re.compile(rf"(?<!\S)(?:{MARK.sub(put, text)})(?!\S)")


# Facts as signs


def mask_facts(text: str, names: Sequence[str] = ()) -> Masked:
    """
    >>> mask_facts('The limits $2.00 and $3.00, for "red".').text
    'limits M1 and M2 for Q0'
    """
    facts: dict[str, str] = {}

    def sign(kind: str, value: str) -> str:
        facts[key := f"{kind}{len(facts)}"] = value
        return f" {key} "

    def tick(found: re.Match[str]) -> str:
        facts[key := f"`{'_'.join(found[1].lower().split())}`"] = found[1]
        return f" {key} "

    text = TICKED.sub(tick, QUOTED.sub(lambda found: sign("Q", found[1]), text))
    if names:
        text = compile_names(tuple(names)).sub(lambda found: sign("V", found[0]), text)
    for kind, pattern in FACTS:
        text = pattern.sub(lambda found, kind=kind: sign(kind, normalize_fact(kind, found[0])), text)  # type: ignore[misc]
    text = ZERO.sub(" zero ", HALF_HOUR.sub(" half hour ", text))
    text = NUMBER.sub(lambda found: sign("N", found[0].replace(",", "")), text)
    return Masked(normalize_words(text, facts), facts)


@lru_cache(512)
def compile_names(names: tuple[str, ...]) -> re.Pattern[str]:
    every = sorted(set(names), key=lambda name: (-len(name), name))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, every))})(?!\w)")


def normalize_fact(kind: str, text: str) -> str:
    """
    >>> normalize_fact("D", "3 May 2024"), normalize_fact("D", "May 3, 2024"), normalize_fact("M", "$1,200.00")
    ('2024-05-03', '2024-05-03', '$1200.00')
    """
    if kind == "M":
        return text.replace(",", "")
    if kind != "D" or "-" in text:
        return text
    words = text.replace(",", "").lower().split()
    month = next(number for number, name in enumerate(MONTHS, 1) if name in words)
    day, year = (int(each) for each in words if each.isdigit())
    return f"{year:04d}-{month:02d}-{day:02d}"


def normalize_words(text: str, facts: dict[str, str]) -> str:
    found = []
    for token in text.replace("’", "'").split():
        word = token.strip(SIGNS)
        word = word.lower() if word.startswith("`") else word
        word = word.removesuffix("'s") if word.removesuffix("'s") in facts else word
        if word in facts:
            found.append(word)
        elif (small := word.lower()) not in ARTICLES or token == "-":
            found.append(SHORT.get(small, small))
    return " ".join(found)


def fold_fact(text: str) -> str:
    """
    >>> fold_fact("May 3, 2024"), fold_fact("2024-05-03"), fold_fact("$12.50"), fold_fact("Oak; Pell")
    ('2024-05-03', '2024-05-03', '12.50', 'oak pell')
    """
    masked = mask_facts(text)
    if masked.text in masked.facts:
        text = masked.facts[masked.text]
    return " ".join(text.replace("$", "").replace(";", "").casefold().split())


# Remarks


def read_thought(text: str, names: Iterable[str] = ()) -> list[Reading]:
    """All remarks that it may be. `names`: texts of the log that may stand in it: titles, brands, colors, categories, searches."""
    known = [name for name in dict.fromkeys(names) if name.strip() and name in text]
    # A name in small letters may be a word of the sentence: a color such as `clear`.
    plain = [name for name in known if not (name.isalpha() and name.islower())]
    found: dict[Reading, None] = {}
    for some in (known, plain) if len(plain) < len(known) else (known,):
        masked = mask_facts(text, some)
        for reading in read_masked(masked):
            found.setdefault(reading)
    return list(found)


def read_masked(masked: Masked) -> Iterator[Reading]:
    """What is asked for is looked for only in what is no remark without it: "the answer is" may speak of any."""
    plain = match_remarks(masked.text)
    for meaning, slots in plain:
        if (facts := unite_facts(slots, masked.facts)) is not None:
            yield Reading(meaning, facts)
    if plain:
        return
    text, goals = mask_goal(masked.text)
    for meaning, slots in match_remarks(text) if goals else ():
        facts = unite_facts([each for each in slots if each[0] != "goal"], masked.facts)
        inner = [(goal, unite_facts(parts, masked.facts)) for goal, parts in goals]
        if facts is not None and any(name == "goal" for name, _ in slots):
            yield Reading(meaning, facts, tuple((goal, parts) for goal, parts in inner if parts is not None))


def unite_facts(slots: Iterable[tuple[str, str]], facts: dict[str, str]) -> Facts | None:
    """What stands in each slot; None where two things stand in one."""
    found: dict[str, tuple[str, ...]] = {}
    for form, said in slots:
        name = CALLED.get(form, form)
        value = name_nouns(name, said) or (" ".join(facts.get(word, word) for word in said.split()),)
        if found.setdefault(name, value) != value:
            return None
    return tuple(sorted(found.items()))


@lru_cache(4_096)
def name_nouns(slot: str, said: str) -> tuple[str, ...]:
    """The meanings of the bank that a noun may have; none for facts.

    >>> name_nouns("things", "products"), name_nouns("one", "events")
    (('things asin', 'things product_name'), ('rows action',))
    """
    if slot == "condition":
        return tuple(f"condition {name}" for name, words in CONDITIONS.items() if said == words)
    if slot in ("thing", "things"):
        number = slot == "things"
        return tuple(f"{slot} {name}" for name, words in COLUMN_NOUNS.items() if said in words[number].split("|"))
    return tuple(
        f"{kind} {name}"
        for name, words in ROW_NOUNS.items()
        for kind, word in zip(("row", "rows"), words, strict=True)
        if said in word.split("|")
    )


@lru_cache(100_000)
def match_remarks(text: str) -> tuple[tuple[str, Slots], ...]:
    """Remarks of which an expression decides, and whose expressions leave nothing in the text that is not understood."""
    every = find_fitting_cues(text).items()
    found = ((meaning, match_cues(text, cues)) for meaning, cues in every if not meaning.startswith("goal "))
    return tuple((meaning, slots) for meaning, slots in found if slots is not None)


def match_cues(text: str, fitting: Sequence[Cue]) -> Slots | None:
    """What expressions whose words stand in a text catch, the longest first and none twice; None where nothing decides, or a word is left."""
    if not any(cue.decides for cue in fitting):
        return None
    matches = [(cue, match) for cue in fitting for match in cue.pattern.finditer(text)]
    chosen: list[tuple[Cue, re.Match[str]]] = []
    for cue, match in sorted(matches, key=lambda each: (each[1].start() - each[1].end(), not each[0].decides)):
        if all(match.end() <= other.start() or other.end() <= match.start() for _, other in chosen):
            chosen.append((cue, match))
    if not any(cue.decides for cue, _ in chosen):
        return None
    spans = [match.span() for _, match in chosen]
    for word in re.finditer(r"\S+", text):
        if word[0] not in load_harmless() and not any(a <= word.start() and word.end() <= b for a, b in spans):
            return None
    chosen.sort(key=lambda each: each[1].start())
    return tuple(
        (name.partition("__")[0], said) for _, match in chosen for name, said in match.groupdict().items() if said
    )


@lru_cache(100_000)
def mask_goal(text: str) -> tuple[str, tuple[tuple[str, Slots], ...]]:
    """The longest stretch that names what is asked for as a sign, and what it may mean."""
    best: tuple[int, int] = (0, 0)
    found: list[tuple[str, Slots]] = []
    for meaning, cues in find_fitting_cues(text).items():
        if not meaning.startswith("goal "):
            continue
        for match in (match for cue in cues for match in cue.pattern.finditer(text)):
            length = match.end() - match.start() - (best[1] - best[0])
            slots = tuple((name.partition("__")[0], said) for name, said in match.groupdict().items() if said)
            if length > 0:
                best, found = match.span(), [(meaning, slots)]
            elif length == 0 and match.span() == best and (meaning, slots) not in found:
                found.append((meaning, slots))
    return (f"{text[: best[0]]}G0{text[best[1] :]}", tuple(found)) if found else (text, ())


NAMED = ("asin", "product_name", "brand", "color", "product_types", "search_query")
"""Columns whose texts stand in thoughts as they are."""


def list_log_names(events: Any) -> tuple[str, ...]:
    """The texts of a log's events, an Arrow table."""
    texts = {text for column in NAMED for text in events[column].to_pylist() if text}
    return tuple(sorted({" ".join(text.split()) for text in texts}))
