"""How single needs are said: in words that the reader takes for that value and no other."""

from itertools import chain

import pytest

from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.reading.purposes import find_purpose
from shopwright.pipeline.reading.short_instructions import CategoryFacts, ShortReader
from shopwright.pipeline.shopping.trait_words import stands_behind

TEMPLATES = load_grammar_bank("shopping").templates
SAYINGS = sorted(meaning for meaning in TEMPLATES if meaning.startswith("means "))
GROUPS = sorted(meaning for meaning in TEMPLATES if meaning.startswith("purpose "))


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
