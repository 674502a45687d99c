"""The everyday words of the sample shop: all that it could sell can be said and told apart."""

import re
import tomllib
from collections import Counter
from functools import cache
from random import Random

import pytest

from shopwright.pipeline.catalog.reference import Domain, Leaf, domains
from shopwright.pipeline.shopping.facts import EVERYDAY, MEASURE
from shopwright.pipeline.shopping.wording import phrase_need
from tests.shopping.shops import need

PARTS = ("said", "vague")
# Words that say nothing of what a use is.
FUNCTION_WORDS = frozenset(
    "a an the and or of for with without in on at to by from after before under over above between beside that who "
    "where is are one his her your their".split()
)
DOMAINS = pytest.mark.parametrize("domain", domains(), ids=lambda domain: domain.name)


@cache
def words(name: str) -> dict:
    path = EVERYDAY / f"{name}.toml"
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
    return [(name, value) for name, choices in leaf.list_values().items() if name != "color" for value in choices]


def unit(value: str) -> str | None:
    """None for a text."""
    found = MEASURE.match(value)
    return (found["unit"] or "").strip() if found else None


def lacking(leaf: Leaf, known: dict) -> list[str]:
    if not known:
        return [leaf.name]
    names = known.get("names", {})
    missing = [
        *(part for part in PARTS if not is_worded(known.get(part))),
        *(f"the name {name!r}" for name in leaf.list_values() if not is_worded(names.get(name, {}).get("said"))),
        *(f"{name} {value!r}" for name, value, said in values(leaf, known) if not is_said(value, said)),
    ]
    return [f"{leaf.name}: {what}" for what in missing]


def is_said(value: str, said: dict) -> bool:
    """By words of its own, or as a number with its unit."""
    return is_worded(said.get("said")) if said else unit(value) is not None


def is_worded(said: str | list[str] | None) -> bool:
    ways = [said] if isinstance(said, str) else said
    return bool(ways) and all(way.strip() for way in ways)


def phrases(known: dict, parts: tuple[str, ...]) -> list[str]:
    return [phrase for part in parts for phrase in known.get(part, ())]


def twice(texts: list) -> list:
    return [text for text, count in Counter(texts).items() if count > 1]


@DOMAINS
def test_all_that_could_be_sold_can_be_said(domain):
    missing = [fact for leaf in domain.leaves for fact in lacking(leaf, leaves(domain).get(leaf.name, {}))]
    assert not missing, f"everyday/{domain.name.lower()}.toml lacks {len(missing)}:\n" + "\n".join(missing)


@DOMAINS
def test_there_are_no_words_for_what_is_not_sold(domain):
    assert leaves(domain).keys() <= {leaf.name for leaf in domain.leaves}
    for leaf, known in each(domain):
        told = {(name, value) for name, values in known.get("values", {}).items() for value in values}
        assert known.get("names", {}).keys() <= {*leaf.list_values(), "color"}, leaf.name
        assert told <= {*sold(leaf)}, leaf.name


@DOMAINS
def test_the_values_of_an_attribute_are_said_differently(domain):
    for leaf, known in each(domain):
        told = values(leaf, known)
        assert not twice([(name, way.lower()) for name, _, said in told for way in said.get("said", ())]), leaf.name


def uses(domain: Domain) -> list[tuple[str, str, str]]:
    """Leaf, use, and one way to say it."""
    return [
        (leaf.name, value, way)
        for leaf, known in each(domain)
        for name, value, said in values(leaf, known)
        if name == "use"
        for way in said.get("said", ())
    ]


def stems(text: str) -> set[str]:
    """The first letters of its content words: 'shops' and 'shopping' are the same word."""
    found = re.findall("[a-z]+", text.lower().replace("'s", ""))
    return {word.rstrip("s")[:5] for word in found if word not in FUNCTION_WORDS}


def is_same_word(one: str, other: str) -> bool:
    """Short words only as they are: 'car' is not in 'carpet'."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) if len(shorter) > 3 else one == other


@DOMAINS
def test_a_use_is_said_without_its_own_words(domain):
    told = [
        (leaf, value, way, one)
        for leaf, value, way in uses(domain)
        for one in sorted(stems(value))
        if any(is_same_word(one, other) for other in stems(way))
    ]
    assert not told, f"{len(told)} uses copy the page:\n" + "\n".join(map(str, told))


@DOMAINS
def test_a_use_is_said_in_at_most_nine_words_that_begin_with_for(domain):
    ways = [way for _, _, way in uses(domain)]
    assert not [way for way in ways if not way.startswith("for ") or not len(way.split()) <= 9]


@DOMAINS
def test_what_a_thing_is_is_said_without_the_words_of_its_titles(domain):
    for leaf, known in each(domain):
        for phrase in phrases(known, PARTS):
            assert not [noun for noun in leaf.nouns if noun in phrase.lower()], f"{leaf.name}: {phrase}"


@DOMAINS
def test_no_two_kinds_of_thing_are_said_alike(domain):
    told = [known for _, known in each(domain)]
    assert not twice([phrase.lower() for known in told for phrase in phrases(known, ("said",))])


def test_every_color_can_be_said_and_told_from_the_others():
    colors = {color for domain in domains() for leaf in domain.leaves for color in leaf.colors}
    known = words("colors")
    assert not [color for color in sorted(colors) if not is_worded(known.get(color, {}).get("said"))]
    assert not twice([way.lower() for said in known.values() for way in said["said"]])


@pytest.mark.parametrize(
    ("value", "denial"),
    [
        (("Drip Coffee Makers", "use", "busy mornings"), "not for when I have to rush to work"),
        (("Drip Coffee Makers", "carafe", "glass carafe"), "anything but a see-through pot"),
        (("Face Moisturizers", "ingredient", "squalane"), "not with the clear light oil, often from olives"),
    ],
)
def test_what_is_denied_is_said_as_people_do(value, denial):
    category, fact, text = value
    assert phrase_need(need(fact, text, "", op="is not"), category, Random(0)) == denial
