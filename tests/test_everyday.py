"""The everyday words of the sample shop: all that it could sell can be said, in English and Chinese, and told apart."""

import re
import tomllib
from collections import Counter
from functools import cache

import pytest

from shopwright.pipeline.catalog.reference import Domain, Leaf, domains
from shopwright.pipeline.shopping.facts import MEASURE
from shopwright.pipeline.shopping.wording import FOLDER

HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH, CHINESE = ("said", "vague"), ("zh_said", "zh_vague")
DOMAINS = pytest.mark.parametrize("domain", domains(), ids=lambda domain: domain.name)


@cache
def words(name: str) -> dict:
    path = FOLDER / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def leaves(domain: Domain) -> dict[str, dict]:
    return words(domain.name.lower()).get("leaves", {})


def each(domain: Domain) -> list[tuple[Leaf, dict]]:
    """The leaves that there are words for; that none is missing is a test of its own."""
    return [(leaf, leaves(domain)[leaf.name]) for leaf in domain.leaves if leaf.name in leaves(domain)]


def values(leaf: Leaf, known: dict) -> list[tuple[str, str, dict]]:
    """Attribute, value, and how it is said; nothing where its unit says it."""
    said = known.get("values", {})
    return [(name, value, said.get(name, {}).get(value, {})) for name, value in sold(leaf)]


def sold(leaf: Leaf) -> list[tuple[str, str]]:
    return [(name, value) for name, choices in leaf.attributes.items() for value in choices]


def unit(value: str) -> str | None:
    """None for a text."""
    found = MEASURE.match(value)
    return (found["unit"] or "").strip() if found else None


def lacking(leaf: Leaf, known: dict) -> list[str]:
    if not known:
        return [leaf.name]
    names = known.get("names", {})
    missing = [
        *(part for part in ENGLISH if not is_english(known.get(part))),
        *(part for part in ("zh", *CHINESE) if not is_chinese(known.get(part))),
        *(
            f"the name {name!r}"
            for name in {**leaf.attributes, **dict.fromkeys(leaf.options)}
            if not both(names.get(name))
        ),
        *(f"{name} {value!r}" for name, value, said in values(leaf, known) if not is_said(known, value, said)),
    ]
    return [f"{leaf.name}: {what}" for what in missing]


def is_said(known: dict, value: str, said: dict) -> bool:
    """By words of its own, or as a number with its unit."""
    return both(said) if said or unit(value) is None else unit(value) in {"", *known.get("units", {})}


def both(said: dict | None) -> bool:
    """In English, and in Chinese, which may be letters: a code such as IPX4."""
    return bool(said) and is_english(said.get("said")) and bool(said.get("zh", "").strip())


def is_english(said: str | list[str] | None) -> bool:
    return bool(said) and all(way.strip() and not HAN.search(way) for way in ways(said))


def is_chinese(said: str | list[str] | None) -> bool:
    return bool(said) and all(HAN.search(way) for way in ways(said))


def ways(said: str | list[str]) -> list[str]:
    return [said] if isinstance(said, str) else said


def phrases(known: dict, parts: tuple[str, ...]) -> list[str]:
    return [phrase for part in parts for phrase in known.get(part, ())]


def in_chinese(known: dict, value: str, said: dict) -> str:
    """A value in Chinese; a number with its unit."""
    pattern = known.get("units", {}).get(unit(value))
    return said.get("zh") or (pattern.replace("{n}", MEASURE.match(value)["number"]) if pattern else value)


def twice(texts: list) -> list:
    return [text for text, count in Counter(texts).items() if count > 1]


@DOMAINS
def test_all_that_could_be_sold_can_be_said_in_english_and_chinese(domain):
    missing = [fact for leaf in domain.leaves for fact in lacking(leaf, leaves(domain).get(leaf.name, {}))]
    assert not missing, f"everyday/{domain.name.lower()}.toml lacks {len(missing)}:\n" + "\n".join(missing)


@DOMAINS
def test_there_are_no_words_for_what_is_not_sold(domain):
    assert leaves(domain).keys() <= {leaf.name for leaf in domain.leaves}
    for leaf, known in each(domain):
        told = {(name, value) for name, values in known.get("values", {}).items() for value in values}
        assert known.get("names", {}).keys() <= {*leaf.attributes, "color"}, leaf.name
        assert told <= {*sold(leaf)}, leaf.name
        assert known.get("units", {}).keys() <= {unit(value) for _, value in sold(leaf)}, leaf.name


@DOMAINS
def test_the_values_of_an_attribute_are_said_differently(domain):
    for leaf, known in each(domain):
        told = values(leaf, known)
        assert not twice([(name, way.lower()) for name, _, said in told for way in said.get("said", ())]), leaf.name
        assert not twice([(name, in_chinese(known, value, said)) for name, value, said in told]), leaf.name


@DOMAINS
def test_what_a_thing_is_is_said_without_the_words_of_its_titles(domain):
    for leaf, known in each(domain):
        for phrase in phrases(known, ENGLISH):
            assert not [noun for noun in leaf.nouns if noun in phrase.lower()], f"{leaf.name}: {phrase}"
        for phrase in phrases(known, CHINESE):
            assert known.get("zh", "-") not in phrase, f"{leaf.name}: {phrase}"


@DOMAINS
def test_a_unit_has_a_place_for_its_number(domain):
    for leaf, known in each(domain):
        assert all(pattern.count("{n}") == 1 for pattern in known.get("units", {}).values()), leaf.name


@DOMAINS
def test_no_two_kinds_of_thing_are_said_alike(domain):
    told = [known for _, known in each(domain)]
    assert not twice([known.get("zh") for known in told])
    assert not twice([phrase.lower() for known in told for phrase in phrases(known, ("said", "zh_said"))])


def test_every_color_can_be_said_in_english_and_chinese_and_told_from_the_others():
    colors = {color for domain in domains() for leaf in domain.leaves for color in leaf.colors}
    known = words("colors")
    assert not [color for color in sorted(colors) if not both(known.get(color))]
    assert not twice([said["zh"] for said in known.values()])
    assert not twice([way.lower() for said in known.values() for way in said["said"]])
