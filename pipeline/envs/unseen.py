"""Whether a player used only what it had seen: each value of a call or an answer stands in a text before it, or follows by named arithmetic.

Ids, categories, brands, sellers, the words of a search, limits, pieces, days and states. What the tools' manuals say (the reasons of a refusal, yes and
no) needs not be seen, nor does one piece.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shopwright.pipeline.reading.wishes import TENS
from shopwright.schemas.tasks import EnvEpisode, Turn

WORD = re.compile(r"\d+(?:\.\d+)+|\w+")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
IDS = (
    "product_id",
    "variant_id",
    "order_id",
    "line_id",
    "product_ids",
    "recommended_product_ids",
    "selected_order_id",
    "selected_line_id",
)
TEXTS = ("category", "brand", "seller", "order_status", "arrival_date")
NUMBERS = ("min_price", "max_price", "min_rating", "max_shipping_days", "quantity")
PLAIN = ("yes", "no")
"""Answers that need not be read anywhere."""
FEW = 12
"""Whole numbers up to it count things, and need not be seen in arithmetic."""
CENT = 0.01
SUM = re.compile(r"(?P<sum>\$?[\d.,]*\d(?: %)?(?: [-+x/] \$?[\d.,]*\d(?: %)?)+) = \$?(?P<is>[\d.,]*\d)")
PART = re.compile(r"(?P<sign>[-+x/])? ?\$?(?P<number>[\d.,]*\d)(?P<share> %)?")


class Used(NamedTuple):
    """A value of a call or an answer."""

    kind: str
    """`id`, `text`, `word` or `number`."""
    value: str


@dataclass
class SeenTexts:
    """All that was said and shown so far."""

    text: str = ""
    words: set[str] = field(default_factory=set)
    numbers: set[float] = field(default_factory=set)

    def add(self, text: str) -> None:
        said = text.lower()
        self.text += f"\n{said}"
        self.words |= {word for each in (said, said.replace("_", " ")) for word in WORD.findall(each)}
        self.numbers |= set(map(read_number, NUMBER.findall(said)))
        self.numbers |= {float(tens) for name, tens in TENS.items() if name in said}

    def has(self, used: Used) -> bool:
        value = used.value.lower()
        if used.kind == "number":
            return round(float(value), 2) in self.numbers
        if used.kind == "word":
            return value in self.words
        return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", self.text) is not None


def read_number(text: str) -> float:
    """
    >>> read_number("1,200.50"), read_number("7")
    (1200.5, 7.0)
    """
    return round(float(text.replace(",", "")), 2)


def list_used(name: str, arguments: Mapping[str, Any]) -> Iterator[Used]:
    """The values that a call uses.

    >>> list(list_used("catalog_search", {"query": "oak lamp", "max_price": 40.0}))
    [Used(kind='word', value='oak'), Used(kind='word', value='lamp'), Used(kind='number', value='40.0')]
    """
    if name == "catalog_search":
        yield from (Used("word", word) for word in WORD.findall(str(arguments.get("query", "")).lower()))
    if name == "ask_user":
        numbers = NUMBER.findall(str(arguments.get("question", "")))
        yield from (Used("number", str(read_number(each))) for each in numbers if read_number(each) > FEW)
    for key in IDS:
        given = arguments.get(key) or ""
        ids = given.split(",") if isinstance(given, str) else given
        yield from (Used("id", str(id).strip()) for id in ids if str(id).strip())
    for key in TEXTS:
        if value := str(arguments.get(key) or ""):
            yield Used("text", value)
    for key in NUMBERS:
        limit = arguments.get(key) or 0
        if limit and not (key == "quantity" and limit == 1):
            yield Used("number", str(limit))
    yield from list_used_of_answer(str(arguments.get("policy_answer") or "").strip())


def list_used_of_answer(said: str) -> Iterator[Used]:
    numbers = NUMBER.findall(said)
    if numbers:
        yield from (Used("number", str(read_number(each))) for each in numbers)
    elif said and said.lower() not in PLAIN:
        yield Used("text", said)


def list_results_of_sums(thought: str, numbers: Iterable[float]) -> set[float]:
    """What follows from numbers by the sums that a thought names, each from what was seen, and from the sums before it.

    >>> sorted(list_results_of_sums("$190 / 3 = $63.33, and 20 x 150 % = 30; 8 + 1 = 10", {190.0, 20.0, 150.0}))
    [30.0, 63.33]
    """
    known, found = {*numbers, CENT, 100.0, *map(float, range(FEW + 1))}, set[float]()
    for each in SUM.finditer(thought):
        held = 0.0
        right = True
        for part in PART.finditer(each["sum"]):
            number = read_number(part["number"])
            right = right and number in known
            value = number / 100 if part["share"] else number
            held = calculate(held, part["sign"] or "+", value)
        result = read_number(each["is"])
        if right and abs(held - result) <= CENT + 1e-6:
            found.add(result)
            known.add(result)
    return found


def calculate(held: float, sign: str, value: float) -> float:
    if sign == "x":
        return held * value
    if sign == "/":
        return held / value if value else held
    return held + value if sign == "+" else held - value


@dataclass(frozen=True)
class Usage:
    """How many values an episode used, and which of them it had not seen."""

    used: int
    unseen: tuple[str, ...]


def find_usage(opening: str, turns: Iterable[Turn]) -> Usage:
    """Of an episode, by its opening, its actions and what they returned."""
    seen, count, unseen = SeenTexts(), 0, list[str]()
    seen.add(opening)
    for number, turn in enumerate(turns, 1):
        for name, arguments, thought in list_calls(turn.action):
            known = list_results_of_sums(thought, seen.numbers)
            for used in list_used(name, arguments):
                count += 1
                right = seen.has(used) or (used.kind == "number" and round(float(used.value), 2) in known)
                unseen += [] if right else [f"turn {number}: {used.kind} {used.value!r}"]
        seen.add(turn.results)
        seen.add(turn.user)
    return Usage(count, tuple(unseen))


def list_calls(action: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """The calls of an action and the parts of its answer, with what was thought or said before them; none of what is no action."""
    try:
        found = json.loads(action)
    except ValueError:
        return
    if not isinstance(found, dict):
        return
    thoughts = " ".join(map(str, [*(found.get("thoughts") or ()), found.get("assistant_message") or ""]))
    for call in found.get("tool_calls") or ():
        if isinstance(call, dict) and isinstance(call.get("args", {}), dict):
            yield str(call.get("name", "")), call.get("args", {}), thoughts
    answer = found.get("answer")
    if isinstance(answer, dict):
        for part in answer.get("parts") or [answer]:
            yield "submit", part, thoughts


def measure_invented(episodes: Iterable[EnvEpisode]) -> float:
    """The share of values that stand in no text before them; 0 where none is used."""
    found = [find_usage(each.opening, each.turns) for each in episodes]
    used = sum(each.used for each in found)
    return sum(len(each.unseen) for each in found) / used if used else 0.0
