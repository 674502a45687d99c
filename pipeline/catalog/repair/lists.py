"""Attributes, options, bullets, queries and numbers, from whatever way a source writes them."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from shopwright.pipeline.catalog.repair.text import clean_text, drop_missing, is_deep, make_word_set, value_to_text

Row = dict[str, Any]
ATTACHED = make_word_set(
    "in inch inches ft foot feet yd yards cm mm m km oz ounce ounces lb lbs pound pounds g kg mg mcg ml l liter liters litre"
    " litres gal gallon gallons qt pt cup cups w watt watts kw v volt volts a amp amps mah ah wh gb tb mb kb hz khz mhz ghz"
    " pack packs pk count ct pc pcs piece pieces pair pairs sheet sheets ply hour hours hr hrs min minutes sec day days month"
    " months year years yr yrs % ° °c °f psi rpm db btu lm lumens k mp megapixels px dpi ppm fps mbps gbps"
)
QUANTITY = re.compile(
    r"(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d{1,9})?(\s?)([^\W\d_][^\W\d_./²³]*|%|°[cf]?|\"|fl\.? oz|sq\.? ft|cu\.? ft|fluid ounces?|square feet|cubic feet)\.?",
    re.IGNORECASE,
)
CODES = make_word_set("model modelno model_number model_no part_number mpn sku upc ean isbn gtin asin number")
BULLET = re.compile(r"[\r\n\u2028\u2029]+|[•●▪◦‣]|\s\|\s|<br\s*/?>|</?li>", re.IGNORECASE)
# ESCI's grades by all their names; the numbers are the gains in percent of its ranking task.
GRADES = {
    **dict.fromkeys(("e", "exact", "100"), "E"),
    **dict.fromkeys(("s", "substitute", "10"), "S"),
    **dict.fromkeys(("c", "complement", "1"), "C"),
    **dict.fromkeys(("i", "irrelevant", "0"), "I"),
}


def unpack_value(value: Any) -> Any:
    """A list or dictionary that was written as text, as CSV files have them.

    >>> unpack_value("['a', 'b']"), unpack_value('{"a": 1}'), unpack_value("[sic] text")
    (['a', 'b'], {'a': 1}, '[sic] text')
    """
    if not isinstance(value, str) or len(value) > 100_000:  # a longer text is a description, and slow to parse
        return value
    inside = value.strip()
    if inside[:1] + inside[-1:] not in ("[]", "{}"):
        return value
    # CSV files of pandas hold lists as Python writes them.
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(inside)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(found, list | dict):
            return value if is_deep(found) else found
    return value


def read_name_value_pairs(value: Any) -> Iterator[tuple[Any, Any]]:
    """Names and values from whatever way a source writes them.

    >>> list(read_name_value_pairs({"size": "10 in"})), list(read_name_value_pairs([("size", "10 in"), "material: oak", {"name": "fit", "value": "slim"}, "long lasting"]))
    ([('size', '10 in')], [('size', '10 in'), ('material', 'oak'), ('fit', 'slim'), ('feature', 'long lasting')])
    """
    match unpack_value(value):
        case {"name": name, "value": found}:
            yield name, found
        case dict() as named:
            yield from named.items()
        # A tuple is a pair; a list of two may be two features.
        case [str() as name, str() | int() | float() as found] if isinstance(value, tuple):
            yield name, found
        case list() | tuple() as several:
            for one in several:
                yield from read_name_value_pairs(tuple(one) if isinstance(one, list) and len(one) == 2 else one)
        case str() as line:
            name, colon, found = line.partition(": ")
            yield (name, found) if colon and len(name) <= 40 else ("feature", line)


def repair_attributes(value: Any, repairs: set[str]) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for name, one in read_name_value_pairs(value):
        name = clean_text(name, repairs)
        one = (
            None
            if isinstance(one, dict)
            else drop_missing(clean_text(", ".join(flatten_names(one)) if isinstance(one, list) else one, repairs))
        )
        if name and one:
            # A part number that begins with digits is no measure.
            number, unit = parse_quantity(one) if name.lower().replace(" ", "_") not in CODES else (None, None)
            found.setdefault((name, one), {"name": name, "value": one, "number": number, "unit": unit})
    return list(found.values())


def parse_quantity(value: str) -> tuple[float | None, str | None]:
    """
    >>> parse_quantity("12 in"), parse_quantity("1,299 mAh"), parse_quantity("60gb"), parse_quantity("802.11n"), parse_quantity("7 x 5 in")
    ((12.0, 'in'), (1299.0, 'mAh'), (60.0, 'gb'), (None, None), (None, None))
    """
    match = QUANTITY.fullmatch(value) if "0" <= value[0] <= "9" else None
    if not match or not (match[3] or match[4].lower() in ATTACHED):
        return None, None
    return float(match[1].replace(",", "") + (match[2] or "")), match[4]


def repair_options(value: Any, repairs: set[str]) -> list[Row]:
    """
    >>> repair_options({"Size": ["S", {"value": "M", "image": "x"}, "S"], "Empty": None}, set())
    [{'name': 'Size', 'values': ['S', 'M']}]
    """
    value = unpack_value(value)
    if isinstance(value, list):
        pairs = [(one.get("name"), one.get("values")) for one in value if isinstance(one, dict)]
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    found: dict[str, dict[str, None]] = {}
    for name, values in pairs:
        values = unpack_value(values)
        values = values if isinstance(values, list | tuple) else [values]
        clean = [clean_text(one.get("value") if isinstance(one, dict) else one, repairs) for one in values]
        if (name := clean_text(name, repairs)) and any(clean):
            found.setdefault(name, {}).update(dict.fromkeys(filter(None, clean)))
    return [{"name": name, "values": list(values)} for name, values in found.items()]


def repair_bullets(value: Any, repairs: set[str]) -> list[str]:
    """
    >>> repair_bullets("• Warm light\\n• Oak base", set()), repair_bullets(["Warm light", None, "Warm light"], set())
    (['Warm light', 'Oak base'], ['Warm light'])
    """
    value = unpack_value(value)
    lines = flatten_names(value) if isinstance(value, list | tuple) else BULLET.split(value_to_text(value) or "")
    clean = [drop_missing(clean_text(line, repairs)) for line in lines]
    return list(dict.fromkeys(line for line in clean if line))


def repair_queries(value: Any, repairs: set[str]) -> list[Row]:
    """
    >>> repair_queries([("lamp", "Exact"), {"text": "desk lamp", "grade": 10.0}, ("lamp", "I"), ("chair", "?")], set())
    [{'text': 'lamp', 'grade': 'E'}, {'text': 'desk lamp', 'grade': 'S'}]
    """
    value = unpack_value(value)
    pairs = value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found: dict[str, str] = {}
    for pair in pairs:
        match pair:
            case {"text": query, "grade": grade} | [query, grade]:
                pass
            case _:
                continue
        grade = GRADES.get(re.sub(r"\.0+$", "", (value_to_text(grade) or "").strip().lower()))
        if grade and (query := clean_text(query, repairs)):
            found.setdefault(query, grade)
    return [{"text": query, "grade": grade} for query, grade in found.items()]


FIRST = re.compile(r"\d[\d.,]*")


def repair_rating(value: Any) -> float | None:
    """
    >>> repair_rating("4.5 out of 5 stars"), repair_rating(0), repair_rating(7), repair_rating("none")
    (4.5, None, 5.0, None)
    """
    if not isinstance(value, float):
        found = FIRST.search(value_to_text(value) or "")
        try:
            value = float(found[0].rstrip(".,").replace(",", ".")) if found else 0.0
        except ValueError:
            return None
    return min(max(value, 1.0), 5.0) if value > 0 else None


def parse_count(value: Any, most: int) -> int | None:
    """
    >>> parse_count("1,234 ratings", 10**9), parse_count("2 to 5 days", 365), parse_count(3.0, 365), parse_count("-", 365), parse_count(-1, 365)
    (1234, 5, 3, None, None)
    """
    written = (value_to_text(value) or "").strip()
    # Cut, for a field of somebody else's may be of any length.
    numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]{0,15}(?:\.\d+)?", written[:200])]
    return int(numbers[-1]) if numbers and not written.startswith("-") and numbers[-1] <= most else None


def flatten_names(value: Any) -> list[str]:
    """
    >>> flatten_names(["a", ["b", 3]]), flatten_names('["a", "b"]'), flatten_names(None)
    (['a', 'b', '3'], ['a', 'b'], [])
    """
    value = unpack_value(value)
    if isinstance(value, list | tuple):
        return list(chain.from_iterable(map(flatten_names, value)))
    name = value_to_text(value)
    return [] if name is None else [name]
