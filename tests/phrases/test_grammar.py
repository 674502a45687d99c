"""Files of phrasings: what the notation means, and which words each split may use."""

import re
import tomllib
from collections import Counter
from random import Random

import pytest

from shopwright.pipeline.phrases.bank import FOLDER, PhraseBank, Ref, load_grammar_bank, parse_texts, tidy_sentence
from shopwright.pipeline.phrases.grammar import (
    ONE_IN,
    SLOT,
    USES,
    Malformed,
    deal_uses,
    deal_uses_by_register,
    join_alike,
)
from shopwright.schemas.phrases import Use

FAMILIES = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
LAMPS = """
<open>
    open
    look at
clicks
    How [often|many times] did {I} <open> {product} {when}?
    (terse) clicks on {product} {when}
"""


def frames(text):
    return [frame for template in parse_texts(text) for frame in template.frames()]


def test_choices_and_rules_make_frames_in_which_slots_stay():
    assert frames(LAMPS) == [
        "How often did {I} open {product} {when}?",
        "How often did {I} look at {product} {when}?",
        "How many times did {I} open {product} {when}?",
        "How many times did {I} look at {product} {when}?",
        "clicks on {product} {when}",
    ]


def test_the_facts_stand_in_the_words_and_nothing_stays_open():
    bank = PhraseBank(parse_texts(LAMPS))
    slots = {"I": "the customer", "product": "the red lamp", "when": ""}
    said = {bank.say("clicks", slots, Random(seed)).text for seed in range(50)}
    assert said == {
        f"How {often} did the customer {look} the red lamp?"
        for often in ("often", "many times")
        for look in ("open", "look at")
    }
    assert not [each for each in said if "{" in each or "  " in each or " ?" in each]


def test_a_slot_may_be_said_by_the_bank_with_what_it_is_done_to():
    bank = PhraseBank(parse_texts("asks\n    What did {I} {do:thing}?\n", "buy\n    order {x} {when}\n"))
    slots = {"I": "I", "do": Ref("buy", {"x": ""}), "thing": "as a gift", "when": "last week"}
    assert bank.say("asks", slots, Random(1)).text == "What did I order as a gift last week?"


def test_a_register_is_kept_to_where_it_has_words_and_else_plain():
    bank = PhraseBank(parse_texts(LAMPS))
    slots = {"I": "I", "product": "the rug", "when": ""}
    assert {bank.say("clicks", slots, Random(n), register="terse").text for n in range(9)} == {"clicks on the rug"}
    assert all(bank.say("clicks", slots, Random(n), register="elderly").text[:3] == "How" for n in range(9))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("    clicks on {product}\n", "belongs to no meaning"),
        ("clicks\n    How <often>?\n", "uses the rule <often>"),
        ("clicks\n    (angry) clicks!\n", "no register 'angry'"),
        ("clicks\n    twice\n    twice\n", "says 'twice' twice"),
        ("clicks!\n    once\n", "neither a meaning nor a <rule>"),
    ],
)
def test_a_file_that_breaks_the_notation_is_named_with_what_is_wrong(text, why):
    with pytest.raises(Malformed, match=why):
        parse_texts(text)


def test_a_slot_that_is_not_given_is_named():
    with pytest.raises(Malformed, match="has the slot 'color'"):
        PhraseBank(parse_texts("asks\n    in {color}\n")).say("asks", {}, Random(1))


def test_an_article_fits_the_word_behind_it():
    assert tidy_sentence("a oak lamp , a usb cable and a hour ?") == "an oak lamp, a usb cable and an hour?"


def test_each_use_has_templates_and_those_for_training_are_most():
    uses = Counter(deal_uses([f"way {number}" for number in range(18)]))
    assert uses == {"train": 12, "test": 3, "test_wording": 3}


def test_where_a_template_stands_does_not_change_its_use():
    ways = [f"way {number}" for number in range(18)]
    assert dict(zip(ways, deal_uses(ways), strict=True)) == dict(zip(ways[::-1], deal_uses(ways[::-1]), strict=True))


def test_each_register_with_enough_templates_has_all_uses():
    ways = [(register, f"{register} {number}") for register in ("plain", "terse") for number in range(4)]
    uses = deal_uses_by_register(ways)
    assert Counter(uses[way] for _, way in ways[:4]) == Counter(uses[way] for _, way in ways[4:])
    assert set(uses.values()) == set(USES)


def test_registers_with_few_templates_are_dealt_together():
    ways = [("plain", "a"), ("terse", "b"), ("polite", "c"), ("elderly", "d"), ("chatty", "e"), ("hurried", "f")]
    assert Counter(deal_uses_by_register(ways).values()) == {"train": 4, "test": 1, "test_wording": 1}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_meaning_with_enough_templates_has_all_uses(family):
    for meaning, templates in load_grammar_bank(family).templates.items():
        apart = set(join_alike([template.pattern for template in templates]).values())
        if len(apart) >= ONE_IN:
            assert {template.use for template in templates} == set(USES), meaning


@pytest.mark.parametrize("family", FAMILIES)
def test_no_frame_of_a_test_is_one_of_training(family):
    for meaning, templates in load_grammar_bank(family).templates.items():
        uses: dict[Use, set[str]] = {}
        for template in templates:
            said = [frame.lower() for frame in template.frames() if re.search(r"\w", SLOT.sub("", frame))]
            uses.setdefault(template.use, set()).update(said)
        for use in uses.keys() - {"train"}:
            assert uses[use].isdisjoint(uses.get("train", ())), meaning


@pytest.mark.parametrize("family", FAMILIES)
def test_all_files_keep_to_the_notation_and_no_meaning_is_empty(family):
    assert [meaning for meaning, templates in load_grammar_bank(family).templates.items() if not templates] == []


def test_an_everyday_name_means_one_category_of_the_sample_shop():
    names = {
        kind.removeprefix("kind/"): [template.pattern for template in templates]
        for kind, templates in load_grammar_bank("questions").templates.items()
        if kind.startswith("kind/")
    }
    leaves = {leaf["name"]: leaf["nouns"] for leaf in read_reference_leaves()}
    assert names.keys() <= leaves.keys()
    taken = [
        (name, category, other)
        for category, own in names.items()
        for name in own
        for other, nouns in leaves.items()
        if other != category and any(f" {name} " in f" {noun} " for noun in (*nouns, *names.get(other, ())))
    ]
    assert taken == []
    assert len(names) > 50


def read_reference_leaves():
    folder = FOLDER.parent / "catalog"
    return [
        leaf
        for file in sorted(folder.glob("*.toml"))
        for leaf in tomllib.loads(file.read_text(encoding="utf-8"))["leaves"]
    ]
