"""Which attributes of a catalog a shopper may ask for, and which are the shop's own records, by measured rules."""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.catalog.repair.lists import parse_quantity

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "attributes.toml"
# Values that an attribute is shown with.
EXAMPLES = 3
WORD = re.compile(r"[^\W_]+")
LINK = re.compile(
    r"\w+://.*|www\.\S+|/?[\w.-]+(?:/[\w.-]+)+/?\.\w{2,4}|\S*\.(?:css|jsx?|jpe?g|png|gif|webp|svg|pdf|html?|php|mp4|zip|csv|xml|json|txt)(?:\?\S*)?",
    re.IGNORECASE,
)
DATE = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{4}(?: .*)?|\w{3,9}\.? \d{1,2},? \d{4}|\d{1,2} \w{3,9} \d{4}|1\d{9}(?:\d{3})?"
)
CODE = re.compile(r"(?=\S*\d)[A-Za-z0-9][\w./-]{4,}")
NUMBER = re.compile(r"[-+]?\d{1,15}(?:[.,]\d{1,15})?")
MARKUP = re.compile(r"[\[{<].*[\]}>]")
SENTENCE = re.compile(r"[.!?] \S|[!?。！？]$|\w\w\.$")


@dataclass(frozen=True)
class AttributeJudgement:
    """One attribute of a catalog, and why nobody would ask for it."""

    name: str
    products: int
    """That have it, of those looked at."""
    values: int
    """Different ones."""
    examples: tuple[str, ...]
    """The commonest."""
    reason: str = ""
    """Why it is not asked for; empty for what may be."""

    @property
    def is_asked_for(self) -> bool:
        return not self.reason


def judge_attributes(rows: Iterable[Mapping[str, Any]]) -> list[AttributeJudgement]:
    """Every attribute of these products, as `normalize` gives them, the commonest first.

    >>> rows = [{"attributes": [{"name": "fabric", "value": value}, {"name": "in stock?", "value": "1"}]} for value in ["linen", "wool"] * 15]
    >>> [(each.name, each.reason) for each in judge_attributes(rows)]
    [('fabric', ''), ('in stock?', "a count of the shop's own")]
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name, value in {each["name"]: each["value"] for each in row["attributes"]}.items():
            counts[name][value] += 1
    return judge_counts(counts)


def find_unwished_names(attributes: pa.ListArray | pa.ChunkedArray) -> frozenset[str]:
    """The names that no shopper asks for, of a catalog's column; `_` in a name is a space."""
    step = -(-len(attributes) // load_measures()["sample"]) or 1
    lists = attributes.take(pa.array(np.arange(0, len(attributes), step)))
    flat = pc.list_flatten(lists)
    pairs = pa.table({name: pc.struct_field(flat, name) for name in ("name", "value")})
    groups = pairs.group_by(["name", "value"], use_threads=False).aggregate([([], "count_all")])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, value, count in zip(*(groups[each].to_pylist() for each in ("name", "value", "count_all")), strict=True):
        counts[name.replace("_", " ")][value] += count
    return frozenset(each.name for each in judge_counts(counts) if each.reason)


def judge_counts(counts: Mapping[str, Counter[str]]) -> list[AttributeJudgement]:
    """By name: how often it has each value."""
    found = [
        AttributeJudgement(
            name,
            values.total(),
            len(values),
            tuple(value for value, _ in sorted(values.items(), key=lambda each: (-each[1], each[0]))[:EXAMPLES]),
            find_reason_not_to_ask(name, values),
        )
        for name, values in counts.items()
    ]
    return sorted(found, key=lambda each: (-each.products, each.name))


def find_reason_not_to_ask(name: str, values: Counter[str]) -> str:
    """Why a shopper would not ask for it; empty where one could."""
    return read_reason_in_name(name) or read_reason_in_values(values) or measure_reason(values)


@lru_cache(4_096)
def read_reason_in_name(name: str) -> str:
    """
    >>> read_reason_in_name("Meta: uag_css_file_name"), read_reason_in_name("Handle"), read_reason_in_name("handle material")
    ('a link or a file', 'a link or a file', '')
    """
    words = " ".join(WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " ")).lower()))
    for reason, entries in load_reference()["names"].items():
        for entry in entries:
            if entry == f"={words}" or f" {entry} " in f" {words} ":
                return str(reason)
    return ""


def read_reason_in_values(values: Counter[str]) -> str:
    """
    >>> read_reason_in_values(Counter({"Yes": 3, "no": 9})), read_reason_in_values(Counter({"https://a.example/1": 2})), read_reason_in_values(Counter(oak=2))
    ('yes or no without a word', 'a link or a file', '')
    """
    plain = {value.strip().lower() for value in values}
    for reason, known in load_reference()["values"].items():
        if plain <= set(known):
            return str(reason)
    for reason, shape in (("a link or a file", LINK), ("a date of the shop's own", DATE), ("markup or a list", MARKUP)):
        if is_mostly(values, shape):
            return reason
    return ""


def is_mostly(values: Counter[str], shape: re.Pattern[str]) -> bool:
    shaped = sum(count for value, count in values.items() if shape.fullmatch(value.strip()))
    return bool(shaped >= load_measures()["shaped"] * values.total())


def measure_reason(values: Counter[str]) -> str:
    measures, products = load_measures(), values.total()
    if products < measures["fewest"]:
        return "of fewer than three products"
    words = sum(len(value.split()) * count for value, count in values.items()) / products
    letters = sum(len(value) * count for value, count in values.items()) / products
    sentences = sum(count for value, count in values.items() if SENTENCE.search(value))
    if words > measures["words"] or letters > measures["letters"] or 2 * sentences > products:
        return "free text"
    if 2 * sum(count for value, count in values.items() if value.count(",") > 1) > products:
        return "markup or a list"
    if is_mostly(values, NUMBER):
        return "a number without a unit"
    if products < measures["enough"]:
        return ""
    if values.most_common(1)[0][1] >= measures["constant"] * products:
        return "the same for all"
    measured = sum(count for value, count in values.items() if parse_quantity(value)[0] is not None)
    if measured >= measures["shaped"] * products:
        return ""  # a measure may be of each product alone, and is asked for within bounds
    if len(values) >= measures["unique"] * products:
        return "another for each product"
    if len(values) >= measures["coded"] * products and is_mostly(values, CODE):
        return "an identifier"
    return ""


def is_ordinary(value: str) -> bool:
    """Whether somebody gets it who asks for nothing.

    >>> is_ordinary("Standard packaging"), is_ordinary("gift wrapping")
    (True, False)
    """
    return value.strip().lower() in load_reference()["ordinary"]["values"]


@cache
def load_reference() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


def load_measures() -> dict[str, float]:
    found: dict[str, float] = load_reference()["measured"]
    return found
