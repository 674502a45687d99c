"""Attributes, options, bullets, queries and numbers, from whatever way a source writes them."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from pipeline.catalog.mend.text import as_text, is_deep, known, text, words

Row = dict[str, Any]
ATTACHED = words(
    "in inch inches ft foot feet yd yards cm mm m km oz ounce ounces lb lbs pound pounds g kg mg mcg ml l liter liters litre"
    " litres gal gallon gallons qt pt cup cups w watt watts kw v volt volts a amp amps mah ah wh gb tb mb kb hz khz mhz ghz"
    " pack packs pk count ct pc pcs piece pieces pair pairs sheet sheets ply hour hours hr hrs min minutes sec day days month"
    " months year years yr yrs % ° °c °f psi rpm db btu lm lumens k mp megapixels px dpi ppm fps mbps gbps"
)
QUANTITY = re.compile(
    r"(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d{1,9})?(\s?)([^\W\d_][^\W\d_./²³]*|%|°[cf]?|\"|fl\.? oz|sq\.? ft|cu\.? ft|fluid ounces?|square feet|cubic feet)\.?",
    re.IGNORECASE,
)
CODES = words("model modelno model_number model_no part_number mpn sku upc ean isbn gtin asin number")
BULLET = re.compile(r"[\r\n\u2028\u2029]+|[•●▪◦‣]|\s\|\s|<br\s*/?>|</?li>", re.IGNORECASE)
GRADES = {
    name: grade
    for grade, words in {
        "E": "e exact 100",
        "S": "s substitute 10",
        "C": "c complement 1",
        "I": "i irrelevant 0",
    }.items()
    for name in words.split()
}


def unpacked(value: Any) -> Any:
    """A list or dictionary that was written as text, as CSV files have them.

    >>> unpacked("['a', 'b']"), unpacked('{"a": 1}'), unpacked("[sic] text")
    (['a', 'b'], {'a': 1}, '[sic] text')
    """
    if not isinstance(value, str) or len(value) > 100_000:
        return value
    inside = value.strip()
    if inside[:1] + inside[-1:] not in ("[]", "{}"):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(inside)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(found, list | dict):
            return value if is_deep(found) else found
    return value


def facts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Names and values from whatever way a source writes them.

    >>> list(facts({"size": "10 in"})), list(facts([("size", "10 in"), "material: oak", {"name": "fit", "value": "slim"}, "long lasting"]))
    ([('size', '10 in')], [('size', '10 in'), ('material', 'oak'), ('fit', 'slim'), ('feature', 'long lasting')])
    """
    match unpacked(value):
        case {"name": name, "value": found}:
            yield name, found
        case dict() as named:
            yield from named.items()
        case [str() as name, str() | int() | float() as found] if isinstance(value, tuple):
            yield name, found
        case list() | tuple() as several:
            for one in several:
                yield from facts(tuple(one) if isinstance(one, list) and len(one) == 2 else one)
        case str() as line:
            name, colon, found = line.partition(": ")
            yield (name, found) if colon and len(name) <= 40 else ("feature", line)


def attributes_of(value: Any, repairs: set[str]) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for name, one in facts(value):
        name = text(name, repairs)
        one = (
            None
            if isinstance(one, dict)
            else known(text(", ".join(flat(one)) if isinstance(one, list) else one, repairs))
        )
        if name and one:
            number, unit = quantity(one) if name.lower().replace(" ", "_") not in CODES else (None, None)
            found.setdefault((name, one), {"name": name, "value": one, "number": number, "unit": unit})
    return list(found.values())


def quantity(value: str) -> tuple[float | None, str | None]:
    """
    >>> quantity("12 in"), quantity("1,299 mAh"), quantity("60gb"), quantity("802.11n"), quantity("7 x 5 in")
    ((12.0, 'in'), (1299.0, 'mAh'), (60.0, 'gb'), (None, None), (None, None))
    """
    match = QUANTITY.fullmatch(value) if "0" <= value[0] <= "9" else None
    if not match or not (match[3] or match[4].lower() in ATTACHED):
        return None, None
    return float(match[1].replace(",", "") + (match[2] or "")), match[4]


def options_of(value: Any, repairs: set[str]) -> list[Row]:
    """
    >>> options_of({"Size": ["S", {"value": "M", "image": "x"}, "S"], "Empty": None}, set())
    [{'name': 'Size', 'values': ['S', 'M']}]
    """
    value = unpacked(value)
    if isinstance(value, list):
        pairs = [(one.get("name"), one.get("values")) for one in value if isinstance(one, dict)]
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    found: dict[str, dict[str, None]] = {}
    for name, values in pairs:
        values = unpacked(values)
        values = values if isinstance(values, list | tuple) else [values]
        clean = [text(one.get("value") if isinstance(one, dict) else one, repairs) for one in values]
        if (name := text(name, repairs)) and any(clean):
            found.setdefault(name, {}).update(dict.fromkeys(filter(None, clean)))
    return [{"name": name, "values": list(values)} for name, values in found.items()]


def bullets_of(value: Any, repairs: set[str]) -> list[str]:
    """
    >>> bullets_of("• Warm light\\n• Oak base", set()), bullets_of(["Warm light", None, "Warm light"], set())
    (['Warm light', 'Oak base'], ['Warm light'])
    """
    value = unpacked(value)
    lines = flat(value) if isinstance(value, list | tuple) else BULLET.split(as_text(value) or "")
    clean = [known(text(line, repairs)) for line in lines]
    return list(dict.fromkeys(line for line in clean if line))


def queries_of(value: Any, repairs: set[str]) -> list[Row]:
    """
    >>> queries_of([("lamp", "Exact"), {"text": "desk lamp", "grade": 10.0}, ("lamp", "I"), ("chair", "?")], set())
    [{'text': 'lamp', 'grade': 'E'}, {'text': 'desk lamp', 'grade': 'S'}]
    """
    value = unpacked(value)
    pairs = value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found: dict[str, str] = {}
    for pair in pairs:
        match pair:
            case {"text": query, "grade": grade} | [query, grade]:
                pass
            case _:
                continue
        grade = GRADES.get(re.sub(r"\.0+$", "", (as_text(grade) or "").strip().lower()))
        if grade and (query := text(query, repairs)):
            found.setdefault(query, grade)
    return [{"text": query, "grade": grade} for query, grade in found.items()]


FIRST = re.compile(r"\d[\d.,]*")


def rating_of(value: Any) -> float | None:
    """
    >>> rating_of("4.5 out of 5 stars"), rating_of(0), rating_of(7), rating_of("none")
    (4.5, None, 5.0, None)
    """
    if not isinstance(value, float):
        found = FIRST.search(as_text(value) or "")
        try:
            value = float(found[0].rstrip(".,").replace(",", ".")) if found else 0.0
        except ValueError:
            return None
    return min(max(value, 1.0), 5.0) if value > 0 else None


def whole(value: Any, most: int) -> int | None:
    """
    >>> whole("1,234 ratings", 10**9), whole("2 to 5 days", 365), whole(3.0, 365), whole("-", 365), whole(-1, 365)
    (1234, 5, 3, None, None)
    """
    written = (as_text(value) or "").strip()
    numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]{0,15}(?:\.\d+)?", written[:200])]
    return int(numbers[-1]) if numbers and not written.startswith("-") and numbers[-1] <= most else None


def flat(value: Any) -> list[str]:
    """
    >>> flat(["a", ["b", 3]]), flat('["a", "b"]'), flat(None)
    (['a', 'b', '3'], ['a', 'b'], [])
    """
    value = unpacked(value)
    if isinstance(value, list | tuple):
        return [name for part in value for name in flat(part)]
    name = as_text(value)
    return [] if name is None else [name]
