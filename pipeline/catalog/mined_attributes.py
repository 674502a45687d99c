"""Attributes that a catalog has no column for, read in titles, else in descriptions; and measures written in one way."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from shopwright.pipeline.catalog.repair.category import HEAD
from shopwright.pipeline.catalog.repair.color import WORD
from shopwright.pipeline.catalog.wishes import load_measures, load_reference

Row = dict[str, Any]
# Characters of a description that are read: what a thing is stands at its beginning.
BEGINNING = 400
PACK = re.compile(
    r"(?<![\w.-])(?:(\d{1,4})[ -]?(packs?|pk|count|ct|pieces?|pcs|pairs?)|(?:pack|set|box|case) of (\d{1,4}))(?![\w-])"
)
PACKED = {"pack": "pack", "pk": "pack", "ct": "count", "count": "count", "pcs": "pieces", "piece": "pieces", "pair": "pairs"}  # fmt: skip
# What stands before a number that is no measure of the thing alone: 8 x 10 in, 12-15 in, 1/2 in (also without its stroke), up to 32 gb, projects 150
# yards, usb 3.0 w window.
RANGE = (
    r"(?<![\w./-])(?<!\b\d )(?<!\b\d\d )(?<!\dx)(?<!\d x )(?<!\dx )(?<!\bto )(?<!\bprojects )(?<!\breaches )(?<!\breach )(?<!\brange )"
    r"(?<!\brange of )(?<!\bwithin )(?<!\bover )(?<!\bunder )(?<!\busb )"
)
# Behind it: 8 in x 10, 15 in lcd, 5.8 in-dash, sata 3gb s (a rate).
NO_UNIT = r"(?![\w/]|-\w| ?x ?\d| (?:lcd|display|screen|touch|s|sec)\b)"
NUMBER = r"(\d{1,5}(?:\.\d{1,2})?)"


def add_mined_attributes(row: Row, rare: Collection[tuple[str, str]] = ()) -> Row:
    """The row with its measures in one spelling, and with what its texts say that no attribute of it does; each with a repair note.

    rare: the attributes that are not read in a category, as pairs of both.

    >>> row = {"title": "Norrvik oak shelf, 24 inch, 2 pack", "brand": "Norrvik", "description": None, "attributes": [], "options": [], "repairs": []}
    >>> [(each["name"], each["value"]) for each in add_mined_attributes(row)["attributes"]], add_mined_attributes(row)["repairs"]
    ([('material', 'oak'), ('pack', '2 pack'), ('size', '24 in')], ['material taken from the title', 'pack taken from the title', 'size taken from the title'])
    """
    attributes, repairs = [], set(row["repairs"])
    for each in row["attributes"]:
        tidy = tidy_measure(each)
        if tidy != each:
            repairs.add("unit written in one way")
        attributes.append(tidy)
    known = {each["name"].lower() for each in (*attributes, *row["options"])}
    for place, text in (("title", strip_brand(row)), ("description", (row["description"] or "")[:BEGINNING].lower())):
        for name, value, number, unit in read_attributes(text):
            if (row.get("category"), name) not in rare and not any(name in other for other in known):
                known.add(name)
                repairs.add(f"{name} taken from the {place}")
                attributes.append({"name": name, "value": value, "number": number, "unit": unit})
    return row | {"attributes": attributes, "repairs": sorted(repairs)}


def find_rare_attributes(products: Iterable[tuple[str, Iterable[str]]]) -> frozenset[tuple[str, str]]:
    """Categories and attributes that few of their products have: they tell of other things that were put there, as of ink among printers.

    >>> sorted(find_rare_attributes([("Printers", ["volume"]), *[("Printers", ["color"])] * 19, ("Inks", ["volume"])]))
    [('Printers', 'volume')]
    """
    sizes: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for category, names in products:
        sizes[category] += 1
        counts.update((category, name) for name in set(names))
    return frozenset(pair for pair, count in counts.items() if count < load_measures()["rare"] * sizes[pair[0]])


def strip_brand(row: Row) -> str:
    title: str = row["title"].lower()
    return title.replace(row["brand"].lower(), " ", 1) if row["brand"] else title


def tidy_measure(attribute: Row) -> Row:
    """`15.6 inches` as `15.6 in`; a number whose unit stands in the name, with it: `weight (kg): 0.5`; one of counted things, with their name.

    >>> tidy = lambda name, value, number=None, unit=None: tidy_measure({"name": name, "value": value, "number": number, "unit": unit})
    >>> [(each["name"], each["value"]) for each in (tidy("screen", "15.6 inches", 15.6, "inches"), tidy("Weight (kg)", "0.5"), tidy("drawers", "3"))]
    [('screen', '15.6 in'), ('weight', '0.5 kg'), ('drawers', '3 drawers')]
    """
    name, value, number, unit = (attribute[each] for each in ("name", "value", "number", "unit"))
    spellings = list_spellings()
    if unit and unit.lower() in spellings:
        if spellings[unit.lower()] != unit:
            return attribute | {"value": f"{number:.12g} {spellings[unit.lower()]}", "unit": spellings[unit.lower()]}
    elif re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", value):
        named = re.fullmatch(r"(.+?)[ _]?[(\[](\w+)[)\]]", name)
        if named and named[2].lower() in spellings:
            written = spellings[named[2].lower()]
            return {"name": named[1].lower(), "value": f"{float(value):.12g} {written}", "number": float(value), "unit": written}  # fmt: skip
        if re.fullmatch(r"[a-z]{3,}[^su]s", name.lower()) and value.isdigit() and int(value) > 1:
            return attribute | {"value": f"{value} {name.lower()}", "number": float(value), "unit": name.lower()}
    return attribute


def read_attributes(text: str) -> Iterator[tuple[str, str, float | None, str | None]]:
    """Name, value, number and unit of what a text in lower case says once and clearly.

    >>> list(read_attributes("leather case for wood desks, 8 x 10 in"))
    [('material', 'leather', None, None)]
    >>> list(read_attributes("glass cleaner 32 oz, pack of 6"))
    [('pack', '6 pack', 6.0, 'pack'), ('volume', '32 oz', 32.0, 'oz')]
    >>> list(read_attributes("copy paper 20lb")), list(read_attributes("sata 3gb s dock")), list(read_attributes("5.8 in-dash receiver"))
    ([], [], [])
    """
    head = HEAD.split(text, maxsplit=1)[0]  # behind it stands what the thing is for, or comes with
    if material := read_material(head):
        yield "material", material, None, None
    packs = {
        (each[1] or each[3], PACKED[(each[2] or "pack").rstrip("s") if each[2] != "pcs" else "pcs"])
        for each in PACK.finditer(text)
    }
    if len(packs) == 1:
        count, unit = packs.pop()
        if int(count) > 1:
            yield "pack", f"{int(count)} {unit}", float(count), unit
    for name, shape, spellings in list_measures():
        found = {(float(each[1]), spellings[each[2]]) for each in shape.finditer(head)}
        is_of_paper = name == "weight" and not load_papers().isdisjoint(WORD.findall(head))
        if len(found) == 1 and not is_of_paper:
            number, unit = found.pop()
            if number > 0:
                yield name, f"{number:.12g} {unit}", number, unit


def read_material(text: str) -> str:
    """
    >>> read_material("stainless steel pot, wood finish handle"), read_material("oak and glass table"), read_material("glass cleaner")
    ('stainless steel', '', '')
    """
    behind, before = (frozenset(load_reference()["mined"][each]) for each in ("not_behind", "not_before"))
    found = set()
    for each in make_material_pattern().finditer(text):
        words = WORD.findall(text[: each.start()])[-1:], WORD.findall(text[each.end() :])[:1]
        if before.isdisjoint(words[0]) and behind.isdisjoint(words[1]):
            found.add(each[0])
    return found.pop() if len(found) == 1 else ""


@cache
def make_material_pattern() -> re.Pattern[str]:
    stuffs = sorted(load_reference()["mined"]["materials"], key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(stuffs)})(?![\w-])")


@cache
def load_papers() -> frozenset[str]:
    return frozenset(load_reference()["mined"]["papers"])


@cache
def list_measures() -> list[tuple[str, re.Pattern[str], Mapping[str, str]]]:
    """By name: how a measure is written, and the unit for each spelling."""
    found: list[tuple[str, re.Pattern[str], Mapping[str, str]]] = []
    for name, units in load_reference()["units"].items():
        spellings = {spelling: unit for unit, several in units.items() for spelling in several}
        words = "|".join(re.escape(each) for each in sorted(spellings, key=len, reverse=True))
        found.append(
            (
                name,
                re.compile(rf"{RANGE}{NUMBER}[ -]?({words}){NO_UNIT}"),
                spellings,
            )
        )
    return found


@cache
def list_spellings() -> dict[str, str]:
    return {spelling: unit for _, _, spellings in list_measures() for spelling, unit in spellings.items()}
