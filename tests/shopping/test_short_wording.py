"""Short instructions: said as people type, read back by other code to just what is needed."""

from itertools import chain
from random import Random
from types import SimpleNamespace
from typing import get_args

import pytest

from shopwright.pipeline.checks.short_instructions import find_title_run, list_category_names
from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.reading.short_instructions import CategoryFacts, ShortReader
from shopwright.pipeline.shopping.effects import load_effects
from shopwright.pipeline.shopping.short_wording import ShortWriter, name_own_category
from shopwright.pipeline.shopping.trait_words import OWN_PLACE, draw_hand, stands_behind
from shopwright.schemas.phrases import Use
from shopwright.schemas.shopping import Need

PANS = CategoryFacts(
    {
        "brand": {"norrvik": None, "osko": None},
        "color": {"black": None, "dark red": None, "red": None},
        "handle": {"beech": None, "steel": None},
        "body": {"steel": None, "cast iron": None},
        "diameter": {"8 in": (0.2032, "m"), "10 in": (0.254, "m"), "12 in": (0.3048, "m")},
        "depth": {"2 in": (0.0508, "m"), "3 in": (0.0762, "m"), "4 in": (0.1016, "m"), "5 in": (0.127, "m")},
        "ports": {"1 port": (1.0, "port"), "2 ports": (2.0, "ports")},
        "presets": {"6 presets": (6.0, "presets"), "8 presets": (8.0, "presets")},
    }
)
BANK = load_grammar_bank("shopping").templates
NAMES = [("frying pan", "Pans"), ("pan", "Pans"), ("pot", "Pots")]


def read(text, facts=PANS):
    categories, needs, strange = ShortReader(text, NAMES, lambda _: facts).read()
    return categories, {("/".join(sorted(need.facts)), need.op, need.value) for need in needs}, strange


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("i need a dark red frying pan", {("color", "is", "dark red")}),
        ("a Norrvik brand pan under $40", {("brand", "is", "norrvik"), ("price", "at most", "40.00")}),
        ("a pan under 1 dollar", {("price", "at most", "1.00")}),
        ("pan for 25 dollars or less", {("price", "at most", "25.00")}),
        ("i want a pan that costs about 30 bucks", {("price", "about", "30.00")}),
        ("a pan for $30 or so", {("price", "about", "30.00")}),
        ("a pan with a steel body", {("body", "is", "steel")}),
        ("a pan with a handle of steel, not black", {("handle", "is", "steel"), ("color", "is not", "black")}),
        ("a pan, anything but cast iron", {("body", "is not", "cast iron")}),
        ("a 12 inch wide pan", {("diameter", "is", "12 in")}),
        ("a pan 3 inches deep", {("depth", "is", "3 in")}),
        ("a pan with a depth of at least 4 inches", {("depth", "at least", "4 in")}),
        ("a pan 2 inches deep or less", {("depth", "at most", "2 in")}),
        ("a large pan", {("diameter", "at least", "12 in")}),
        ("a pan that isn't too big", {("diameter", "at most", "8 in")}),
        ("a pan made of steel", {("body/handle", "is", "steel")}),
        ("a 6 preset pan", {("presets", "is", "6 presets")}),
        ("a cast-iron frying-pan that is easy to clean", {("body", "is", "cast iron")}),
        ("an easy to clean, black pan", {("color", "is", "black")}),
    ],
)
def test_each_way_to_say_a_need_is_read(text, needs):
    assert read(text) == (["Pans"], needs, [])


def test_what_is_not_understood_is_told():
    assert read("a pan for my grandmother")[2] == ["grandmother"]
    assert read("a pan and a pot")[0] == ["Pans", "Pots"]


def test_a_slip_in_a_word_of_the_request_is_no_need_and_in_another_word_is_strange():
    assert read("i am lookng for a red pan")[1:] == ({("color", "is", "red")}, [])
    assert read("a cooking pan")[2] == ["cooking"]


def test_a_department_is_asked_for_an_item_and_several_things_for_one():
    dice = [Random(number) for number in range(40)]
    assert {name_own_category("Garden - General", each) for each in dice} == {
        "an item from garden",
        "a product from garden",
    }
    assert {name_own_category("Mice", each) for each in dice} == {"a mouse", "mice"}
    assert {"garden", "garden - general"} <= list_category_names("Garden - General")
    assert {"mouse", "mice"} <= list_category_names("Mice")


# What is also said as most people say it, in words that all splits share.
PLAIN = sorted(
    name.removeprefix("plain ") for name in load_grammar_bank("shopping").templates if name.startswith("plain ")
)


@pytest.mark.parametrize("meaning", [*PLAIN, "not", "not with", "not in", "not by", "not for", "color family"])
def test_each_split_has_words_of_its_own_for_a_need(meaning):
    bank = load_grammar_bank("shopping")
    frames = {use: {frame for each in bank.of(meaning, use) for frame in each.frames()} for use in get_args(Use)}
    assert all(frames.values())
    assert not frames["train"] & (frames["test"] | frames["test_wording"])
    assert not frames["test"] & frames["test_wording"]


@pytest.mark.parametrize("number", range(8))
def test_two_compounds_do_not_stand_before_a_thing(number):
    needs = [
        Need(fact=fact, op="is", value=value, number=None, unit=None, kind="attribute", known="stated", said="")
        for fact, value in (("lid", "glass lid"), ("grip", "cork grip"))
    ]
    counter = SimpleNamespace(values={"lid": ["glass lid"], "grip": ["cork grip"]}, columns={}, group="", leaf="Pans")
    hand = draw_hand(Random(number))._replace(plain=1.0)
    text = ShortWriter(counter, "", "train", Random(number), hand).write(needs, usual=False).text
    assert not {"glass lid cork grip", "cork grip glass lid"} & {text[at : at + 19] for at in range(len(text))}


@pytest.mark.parametrize("number", range(8))
def test_a_pack_is_of_several(number):
    pack = Need(fact="pack", op="is", value="12 pack", number=12, unit="pack", kind="option", known="stated", said="")
    counter = SimpleNamespace(values={"pack": ["12 pack"]}, columns={}, group="", leaf="Markers")
    text = ShortWriter(counter, "", "train", Random(number), draw_hand(Random(number))).write([pack], usual=False).text
    assert "markers" in text


def test_a_word_inside_another_is_not_a_value():
    assert read("a bored pan")[1] == set()
    assert read("a dark red pan")[1] == {("color", "is", "dark red")}


@pytest.mark.parametrize("effect", load_effects(), ids=lambda each: each.name)
def test_all_words_for_an_effect_are_read_as_that_end_of_its_measure(effect):
    """The reader has its own list of such words: each phrase of the bank must be in it."""
    for fact in effect.facts:
        values = {f"{n} u": (float(n), "u") for n in (1, 2, 3, 4)}
        facts = CategoryFacts({fact: values})
        bound = "3 u" if effect.op == "at least" else "2 u"
        names = f"effect {effect.name}", f"plain effect {effect.name}"
        templates = [each for name in names for each in BANK.get(name, [])]
        for said in chain.from_iterable(template.frames() for template in templates):
            text = f"i need a pan {said}" if stands_behind(said) else f"i need a {said} pan"
            assert read(text, facts) == (["Pans"], {(fact, effect.op, bound)}, []), (fact, said)


@pytest.mark.parametrize(
    "effect", [each for each in load_effects() if f"compare {each.name}" in BANK], ids=lambda each: each.name
)
def test_more_than_what_somebody_has_is_read_as_from_the_next_value_on(effect):
    for fact in effect.facts:
        facts = CategoryFacts({fact: {f"{n} in": (n * 0.0254, "m") for n in (8, 10, 12, 14)}})
        mine, bound = ("10", "12 in") if effect.op == "at least" else ("12", "10 in")
        for template in BANK[f"compare {effect.name}"]:
            for said in template.frames():
                text = said.format(measure=f"{mine} inch")
                assert stands_behind(text), text
                assert read(f"i need a pan {text}", facts) == (["Pans"], {(fact, effect.op, bound)}, []), (fact, text)


def test_what_nothing_of_the_category_is_compares_with_nothing():
    assert read("a pan bigger than my 9 inch one")[1] == set()


def test_a_color_of_a_family_is_read_as_the_family():
    for template in BANK["color family"]:
        for said in template.frames():
            text = said.format(value="red")
            assert stands_behind(text), text
            assert read(f"i need a pan {text}") == (["Pans"], {("color", "kind of", "red")}, []), text
    assert read("a red pan")[1] == {("color", "is", "red")}


def test_every_comparison_has_words_of_its_own_for_each_split():
    for meaning in (each for each in BANK if each.startswith("compare ")):
        assert {each.use for each in BANK[meaning]} == {"train", "test", "test_wording"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a pan but not the one with the beech handle", "beech"),
        ("a pan in any color but dark red", "dark red"),
        ("a pan, any color other than black", "black"),
        ("a pan without a beech handle", "beech"),
    ],
)
def test_what_a_thing_must_not_be_is_read(text, value):
    _, needs, strange = read(text)
    assert [(op, each) for _, op, each in needs] == [("is not", value)]
    assert not strange


def test_every_effect_has_words_of_its_own_for_each_split():
    templates = load_grammar_bank("shopping").templates
    for effect in load_effects():
        assert {each.use for each in templates[f"effect {effect.name}"]} == {"train", "test", "test_wording"}


def test_three_words_of_the_title_in_a_row_are_found():
    assert find_title_run("a frying pan in cast iron", "Norrvik Alder frying pan, cast iron") is None
    assert find_title_run("a frying pan, cast iron", "Norrvik Alder frying pan, cast iron")


def test_somebodys_own_room_is_any_such_room():
    facts = CategoryFacts({"use": {"a guest room": None, "late reading": None}, "pack": {"1 pack": (1.0, "pack")}})
    for whose in ("a", "my", "our", "the"):
        assert read(f"a pan for {whose} guest room", facts)[1:] == ({("use", "is", "a guest room")}, [])
    assert read("a pan in a single pack", facts)[1:] == ({("pack", "is", "1 pack")}, [])


@pytest.mark.parametrize(
    ("value", "own"),
    [("a guest room", "guest room"), ("an office desk", "office desk"), ("late reading", None), ("a rainy day", None)],
)
def test_places_that_people_call_their_own(value, own):
    found = OWN_PLACE.fullmatch(value)
    assert (found and found[1]) == own


def test_no_word_stands_twice_where_a_trait_meets_the_thing():
    """Nobody asks for "hardly used used skis"."""
    writer = ShortWriter(SimpleNamespace(leaf="Used Skis"), "", "train", Random(1), draw_hand(Random(1)))
    writer.noun = "a used ski set"
    assert [writer.repeats_noun(trait) for trait in ("hardly used", "used", "black", "that is hardly used")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("value", ["'", "''", ""])
def test_a_sellers_value_of_signs_that_nobody_types_is_in_no_text(value):
    facts = CategoryFacts({"color": {value: None, "red": None}})
    assert read("i need a red pan", facts) == read("i need a red pan", CategoryFacts({"color": {"red": None}}))
