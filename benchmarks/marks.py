"""What a learner of queries is shown of a question, and how it is put back into a query: what it need not know, it copies.

Times, values of the table, parts of the names of products, what is quoted, numbers and rare words of a question are marks, each with a letter for its kind and a number; a
query has the same marks where it says the same.
"""

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from datetime import date, timedelta
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

from shopwright.pipeline.reading.calendar import read_calendar, read_date
from shopwright.pipeline.run import Run
from shopwright.pipeline.words import content_words
from shopwright.schemas.questions import Question

NUMBERS = 8
"""Numbers that marks of a kind are given at least."""
WORD = re.compile(r"\ue000[a-z]\d+|\d+(?:[.,]\d+)*|[^\W\d_]+|[^\w\s]|_")
SQL_PIECE = re.compile(r"'(?:[^']|'')*'|\d+(?:\.\d+)?|\w+|::|[<>!=|]=|<>|\|\||[^\w\s]")
LITERAL_PIECE = re.compile(r"\d+|[^\W\d_]+|\s|[^\w\s]|_")
ISO = re.compile(r"'(\d{4}-\d\d-\d\d)'")
KINDS = "bcdknpqw"
"""Letters of marks: brands, categories, days, colors, numbers, parts of the names of products, what is quoted, rare words."""
MARK = re.compile(rf"[{KINDS}]\d+(?::\w+)?")
OPEN, CLOSE, ENDING = "«", "»", "##s"
LITERAL = re.compile(r"'((?:[^']|'')*)'")
RUN, OFTEN, SEEN, SURE = 4, 0.02, 2, 0.9
"""Of another name for a category: its words at most, the share of questions from which on a word is none of it, the questions that have it, and the share of
them that ask about that category."""
LEAST = 3
"""Smaller numbers are words like others: a query has ones and twos that no question names."""
COUNTS = "three four five six seven eight nine ten eleven twelve".split()
PLACES = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
IN_WORDS = {word: LEAST + place for words in (COUNTS, PLACES) for place, word in enumerate(words)} | {
    "noon": 12,
    "midnight": 24,
}
NUMBER = re.compile(
    rf"\b(?:(\d+):00|(\d+(?:\.\d+)?)(?:st|nd|rd|th)?|({'|'.join(IN_WORDS)}))\b(?![.,:]\d)", re.IGNORECASE
)


class Encoded(NamedTuple):
    """A question as its learner sees it, and what its marks stand for."""

    words: list[str]
    marks: dict[str, str]
    """Of each mark, as it stands in a query."""


def find_times(text: str, asked_on: date) -> tuple[str, dict[str, str]]:
    """The text with a mark for each time, and the days that they are: its first, its last, the day after.

    >>> find_times("How many clicks in May 2024, on May 3?", date(2024, 6, 1))[1]["d1:first"]
    '2024-05-03'
    """
    names, found, marks = SimpleNamespace(asked_on=asked_on), [], {}
    place = 0
    while place < len(text):
        begins = place == 0 or not text[place - 1].isalnum()
        ways = [(end, span) for end, span in read_calendar(text, place, names)] if begins else []
        ways += (
            [(end, {"first_day": day, "last_day": day}) for end, day in read_date(text, place, names)] if begins else []
        )
        if not ways:
            found.append(text[place])
            place += 1
            continue
        place, span = max(ways, key=lambda way: way[0])
        name = f"d{len(marks) // 4}"
        marks |= mark_days(name, span["first_day"], span["last_day"])
        found.append(f" \ue000{name} ")
    return "".join(found), marks


def mark_days(name: str, first: date, last: date) -> dict[str, str]:
    one = timedelta(days=1)
    days = {"first": first, "last": last, "next": last + one, "before": first - one}
    return {f"{name}:{which}": day.isoformat() for which, day in days.items()}


class Values:
    """The brands, categories and colors of a run, by letters for their columns, and what they are called in a question; the names of products in each log."""

    def __init__(self, values: Mapping[str, Iterable[str]], names: Mapping[str, str] = MappingProxyType({})) -> None:
        """names: of each log in one text, a line each."""
        self.names = names
        exact, short = {}, {}
        for letter in sorted(values, reverse=True):
            for value in sorted(values[letter]):
                exact[value.lower()] = letter, value
                short |= dict.fromkeys(list_numbers_of(value.lower()), (letter, value))
        self.know(short | exact)

    def know(self, known: Mapping[str, tuple[str, str]]) -> None:
        self.known = known
        self.titles = {value for _, value in known.values()}
        alternatives = "|".join(map(re.escape, sorted(known, key=lambda each: (-len(each), each))))
        self.pattern = re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)

    def learn_names(self, rows: Iterable[Question]) -> "Values":
        """The same with other names of categories: what questions say nearly only where their queries have a category that they do not name.

        >>> rows = [SimpleNamespace(question=text, sql="... product_types = 'Nightstands'") for text in ("Any bedside table?", "A bedside table")]
        >>> Values({"c": ["Nightstands"]}).learn_names(rows).mark("my bedside table")[1]
        {'c0': 'Nightstands', 'c0:said': 'bedside table'}
        """
        said: dict[str, Counter[str]] = {}
        shown = [(row, *self.mark(row.question)) for row in rows]
        counts = Counter(word for _, text, _ in shown for word in set(WORD.findall(text.lower())))
        common = {word for word, count in counts.items() if count > max(SEEN, OFTEN * len(shown))}
        for row, text, marks in shown:
            wanted = {self.known.get(each.lower(), ("", "")) for each in LITERAL.findall(row.sql)}
            missing = [value for letter, value in sorted(wanted) if letter == "c" and value not in marks.values()]
            for run in list_runs(text, common):
                said.setdefault(run, Counter()).update(missing or [""])
        found = {}
        for run, asked in said.items():
            value, count = asked.most_common(1)[0]
            if value and count >= SEEN and count >= SURE * asked.total():
                found[run] = "c", value
        learnt = copy(self)
        learnt.know(found | dict(self.known))
        return learnt

    def mark(self, text: str) -> tuple[str, dict[str, str]]:
        """The text with a mark for each, what they are in the table and as they are said; what is quoted is one thing, but for a title.

        >>> Values({"c": ["Table Lamps"], "b": ["Arlo"], "k": ["red"]}).mark("Arlo's red table lamp")[1]
        {'b0': 'Arlo', 'b0:said': 'Arlo', 'k0': 'red', 'k0:said': 'red', 'c0': 'Table Lamps', 'c0:said': 'table lamp'}
        """
        marks: dict[str, str] = {}

        def name(found: re.Match[str]) -> str:
            letter, value = self.known[found[0].lower()]
            own = [mark for mark in marks if mark[0] == letter and ":" not in mark]
            mark = next((mark for mark in own if marks[mark] == value), f"{letter}{len(own)}")
            marks[mark] = value
            marks[f"{mark}:said"] = found[0]
            return f" \ue000{mark} "

        parts = text.split('"')
        for number, part in enumerate(parts):
            if number % 2 and part not in self.titles:
                marks[mark := f"q{number // 2}"] = part
                parts[number] = f" \ue000{mark} "
            else:
                parts[number] = self.pattern.sub(name, part)
        return '"'.join(parts), marks

    def mark_parts(self, text: str, log: str) -> tuple[str, dict[str, str]]:
        """The text with a mark for each run of two words and more that stands in the name of one of the log's products.

        >>> Values({}, {"a": "oak desk lamp, 9 ft cord"}).mark_parts("The lamp (9 ft cord)?", "a")
        ('The lamp ( \ue000p0 )?', {'p0': '9 ft cord'})
        """
        names, marks, parts = self.names.get(log, ""), dict[str, str](), list[str]()
        words = list(WORD.finditer(text))
        place = end = 0
        while place < len(words):
            found = find_longest(text, words, place, names)
            if found > place + 1:
                begin = words[place].start()
                parts.append(f"{text[end:begin]} \ue000p{len(marks)} ")
                end = words[found - 1].end()
                marks[f"p{len(marks)}"] = text[begin:end]
            place = max(found, place + 1)
        return "".join([*parts, text[end:]]), marks


def list_numbers_of(name: str) -> list[str]:
    """One of them, and several.

    >>> [list_numbers_of(name) for name in ("trail mixes", "batteries", "dental floss")]
    [['trail mixe', 'trail mix'], ['batterie', 'battery'], ['dental flosses']]
    """
    if name.endswith("s") and not name.endswith("ss"):
        found = [name[:-1]]
        found += [name[:-2]] if re.search(r"(?:s|x|z|ch|sh)es$", name) else []
        return found + ([f"{name[:-3]}y"] if name.endswith("ies") else [])
    return [f"{name}es" if re.search(r"(?:s|x|z|ch|sh)$", name) else f"{name}s"]


def list_runs(text: str, common: Collection[str]) -> set[str]:
    """Of one to `RUN` words that stand together, none of which is common, and of which the ends say something.

    >>> sorted(list_runs("My clicks on sets of lamps?", {"clicks", "on"}))
    ['lamps', 'sets', 'sets of lamps']
    """
    words, found = list(WORD.finditer(text.lower())), set[str]()
    for first in range(len(words)):
        for place in range(first, min(first + RUN, len(words))):
            word = words[place][0]
            if word in common or not word[0].isalnum():
                break
            if says_something(words[first][0]) and says_something(word):
                found.add(text[words[first].start() : words[place].end()].lower())
    return found


@cache
def says_something(word: str) -> bool:
    return bool(content_words(word))


def find_longest(text: str, words: Sequence[re.Match[str]], place: int, names: str) -> int:
    """The end of the longest run of words from this one on that a name has, and that says something; 0 where there is none."""
    longest = 0
    for end in range(place + 1, len(words) + 1):
        run = text[words[place].start() : words[end - 1].end()].lower()
        if run not in names or "\ue000" in run or not words[end - 1][0][0].isalnum():
            break
        if content_words(run) and re.search(rf"\b{re.escape(run)}\b", names):
            longest = end
    return longest


def mark_numbers(text: str) -> tuple[str, dict[str, str]]:
    """The text with a mark for each number, which stands for it and for one less.

    >>> mark_numbers("the third from 16:00 on, below $20")
    ('the  \ue000n0  from  \ue000n1  on, below $ \ue000n2 ', {'n0': '3', 'n1': '16', 'n2': '20', 'n0:less': '2', 'n1:less': '15', 'n2:less': '19'})
    """
    exact: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        hour, digits, word = found.groups()
        value = (hour or digits or "").lstrip("0") or str(IN_WORDS.get((word or "").lower(), 0))
        if float(value) < LEAST:
            return found[0]
        exact[mark := f"n{len(exact)}"] = value.removesuffix(".00")
        return f" \ue000{mark} "

    text = "".join(
        part if part[:1] == "\ue000" else NUMBER.sub(name, part) for part in re.split("(\ue000[a-z]\\d+)", text)
    )
    return text, exact | {f"{mark}:less": str(int(value) - 1) for mark, value in exact.items() if value.isdigit()}


def list_values(run: Run) -> Values:
    """Those of all trajectories."""
    found: dict[str, set[str]] = {"b": set(), "c": set(), "k": set()}
    names = {}
    for row in run.read("trajectories"):
        names[row.id] = "\n".join(sorted({(event.product_name or "").lower() for event in row.events}))
        for event in row.events:
            for letter, value in zip(found, (event.brand, event.product_types, event.color), strict=True):
                found[letter].update([value] if value else [])
    return Values(found, names)


def mark_question(row: Question, values: Values) -> Encoded:
    """Its words, with marks for its times, for values of the table, for what is quoted and for numbers."""
    text, marks = find_times(row.question, row.asked_on)
    text, more = values.mark(text)
    text, parts = values.mark_parts(text, row.trajectory_id)
    text, numbers = mark_numbers(text)
    return Encoded(WORD.findall(text), marks | more | parts | numbers)


def encode_question(marked: Encoded, common: Collection[str]) -> Encoded:
    """The words in lower case, those that are not common as marks, too."""
    marks = dict(marked.marks)
    words, numbered = [], {}
    for word in marked.words:
        if word[0] == "\ue000":
            words.append(word[1:])
        elif word.lower() in common or not word[0].isalnum():
            words.append(word.lower())
        else:
            mark = numbered.setdefault(word.lower(), f"w{len(numbered)}")
            marks.setdefault(mark, word)
            words.append(mark)
    return Encoded(words, marks)


def renumber_words(one: Encoded, order: random.Random) -> Encoded:
    """The same with other numbers for rare words, so that what a number stands for has to be read from the words around it."""
    own = [mark for mark in one.marks if mark[0] == "w"]
    numbers = order.sample(range(max(len(own), NUMBERS)), len(own))
    names = {mark: f"w{number}" for mark, number in zip(own, numbers, strict=True)}
    return Encoded(
        [names.get(word, word) for word in one.words], {names.get(mark, mark): text for mark, text in one.marks.items()}
    )


def encode_query(sql: str, marks: Mapping[str, str]) -> list[str]:
    """The query's signs and words, with the question's marks where they say the same."""
    by_text = {text.lower(): mark for mark, text in reversed(marks.items())}
    found: list[str] = []
    for piece in SQL_PIECE.findall(sql):
        if ISO.fullmatch(piece) or (piece[0] == "'" and piece[1:-1].lower() in by_text):
            found += [OPEN, by_text.get(piece[1:-1].lower(), piece[1:-1]), CLOSE]
        elif piece[0] == "'" and (core := piece[1:-1].strip("%")).lower() in by_text:
            before, after = piece[1:-1].split(core, 1)
            found += [OPEN, *before, by_text[core.lower()], *after, CLOSE]
        elif piece[0] == "'":
            found += [OPEN, *(encode_word(each, by_text) for each in LITERAL_PIECE.findall(piece[1:-1])), CLOSE]
        else:
            found.append(by_text.get(piece, piece) if piece[0].isdigit() else piece)
    return [each for token in found for each in (token if isinstance(token, tuple) else (token,))]


def encode_word(word: str, by_text: Mapping[str, str]) -> str | tuple[str, str]:
    known = by_text.get(word.lower())
    if known is None and word.lower().endswith("s") and word.lower()[:-1] in by_text:
        return by_text[word.lower()[:-1]], ENDING
    return known or word


def decode_query(tokens: Iterable[str], marks: Mapping[str, str]) -> str:
    """
    >>> decode_query(["SELECT", "1", "WHERE", "brand", "=", "«", "w0", "##s", "»"], {"w0": "Lamp"})
    "SELECT 1 WHERE brand = 'Lamps'"
    """
    found, inside = [], False
    for token in tokens:
        text = marks.get(token, token)
        if token == OPEN:
            found.append(" '")
        elif token == CLOSE:
            found.append("'")
        elif token == ENDING:
            found.append("s")
        else:
            found.append(text if inside else f" {text}")
        inside = token == OPEN or (inside and token != CLOSE)
    return "".join(found).strip()
