"""How single needs are said: in words that the reader takes for that value and no other."""

from itertools import chain
from random import Random
from types import SimpleNamespace

import pytest

from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.reading.purposes import find_purpose
from shopwright.pipeline.reading.short_instructions import CategoryFacts, ShortReader
from shopwright.pipeline.shopping.trait_words import Hand, TraitWriter, stands_behind
from shopwright.schemas.shopping import Need

TEMPLATES = load_grammar_bank("shopping").templates
SAYINGS = sorted(meaning for meaning in TEMPLATES if meaning.startswith("means "))
GROUPS = sorted(meaning for meaning in TEMPLATES if meaning.startswith(("purpose ", "quality ")))


def read(text, facts):
    categories, needs, strange = ShortReader(text, [("pans", "Pans"), ("pan", "Pans")], lambda _: facts).read()
    assert categories == ["Pans"]
    return [(need.op, need.value) for need in needs], strange


@pytest.mark.parametrize("meaning", SAYINGS)
def test_all_words_for_a_value_are_read_as_it(meaning):
    """The reader has its own list of such words: each phrase of the bank must be in it."""
    value = meaning.removeprefix("means ").lower()
    facts = CategoryFacts({"kind": {value: None, "another": None}})
    templates = [*TEMPLATES[meaning], *TEMPLATES.get(f"plain {meaning}", [])]
    for said in chain.from_iterable(template.frames() for template in templates):
        for typed in (said, said.lower().replace("'", "")):
            text = f"i need a pan {typed}" if stands_behind(said) else f"i need a {typed} pan"
            assert read(text, facts) == ([("is", value)], []), said


@pytest.mark.parametrize("meaning", SAYINGS)
def test_every_value_that_is_said_in_other_words_has_some_for_each_split(meaning):
    assert {each.use for each in TEMPLATES[meaning]} == {"train", "test", "test_wording"}


def test_words_that_two_values_of_a_category_share_are_read_as_both():
    facts = CategoryFacts({"fit": {"roomy fit": None, "oversized": None}})
    assert sorted(read("a baggy pan", facts)[0]) == [("is", "oversized"), ("is", "roomy fit")]


def test_an_age_is_read_where_the_category_has_it_in_years():
    facts = CategoryFacts({"size": {"4 years": (4.0, "years"), "6 years": (6.0, "years")}})
    for text in ("a pan for my 4 year old niece", "a pan for my son who just turned 4", "a pan to fit a 4 year old"):
        assert read(text, facts) == ([("is", "4 years")], []), text


@pytest.mark.parametrize("meaning", GROUPS)
def test_every_purpose_is_read_as_one(meaning):
    for said in chain.from_iterable(template.frames() for template in TEMPLATES[meaning]):
        assert find_purpose(f"a pan {said} in red", []), said


def test_a_purpose_that_a_fact_could_mean_is_none():
    assert find_purpose("a visit for my living room", ["room"]) is None
    assert find_purpose("lessons for my dad", ["learner"]) is None


def test_what_is_said_of_several_things_is_read_as_of_one():
    facts = CategoryFacts({"feet": {"non-slip feet": None}, "lid": {"glass lid": None}})
    assert read("pans that dont slip and have a glass lid", facts)[0] == [("is", "non-slip feet"), ("is", "glass lid")]


def say_all(fact, value):
    """All ways in which a value is said that twenty people find."""
    counter = SimpleNamespace(values={fact: [value, "another"]}, columns={}, group="", leaf="")
    need = Need(fact=fact, op="is", value=value, number=None, unit=None, kind="attribute", known="stated", said="")
    hands = (Hand(plain, 1, True, True, True, True) for plain in (0.0, 1.0) for _ in range(10))
    return {
        TraitWriter(counter, "", "train", Random(number), hand).phrase_trait(need) for number, hand in enumerate(hands)
    }


@pytest.mark.parametrize(("fact", "value"), [("mechanic", "bluffing"), ("frequency", "twice daily")])
def test_what_is_neither_a_part_nor_a_state_is_said_as_it_is(fact, value):
    """Nobody says of a game that it is bluffing, or of visits that they have twice daily."""
    assert say_all(fact, value) == {value}


def test_what_is_wanted_of_it_is_what_it_is_for():
    assert all("for a brighter look" in said for said in say_all("goal", "brighter look"))
    assert not any("that is" in said for said in say_all("caps", "front cap only"))


def test_a_place_at_home_has_one_word_before_it():
    facts = CategoryFacts({"use": {"the home garage": None}})
    ways = say_all("use", "the home garage")
    assert any("my home garage" in said for said in ways)
    assert not any("my the" in said for said in ways)
    for said in ways:
        assert read(f"pans {said}", facts)[0] == [("is", "the home garage")], said


def test_a_size_of_men_or_women_is_read_however_it_is_said():
    facts = CategoryFacts({"size": {"men's 9": None, "men's 10": None, "women's 9": None}})
    ways = say_all("size", "men's 9")
    assert any("size 9" in said for said in ways)
    for said in ways:
        text = f"i need a pan {said}" if stands_behind(said) else f"i need a {said} pan"
        assert read(text, facts) == ([("is", "men's 9")], []), said
