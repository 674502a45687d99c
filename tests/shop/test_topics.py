"""What a question is about."""

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from shopwright.pipeline.shop.topics import build_slot_keys, extract_questions, parse_user_question
from shopwright.schemas.tasks import Slot

CATALOG = Path(__file__).parents[2] / "data" / "reference" / "catalog"
SLOTS = {
    "category": "desk lamp",
    "brand": "Norrvik",
    "color": "red",
    "price": "under $40",
    "width (in)": "at most 12 in",
    "quantity of item 1": "2 pieces",
    "quantity of item 2": "3 pieces",
    "color of rug": "gray",
    "deadline": "by Friday",
    "shipping days": "at most 3 days",
    "reason": "it arrived broken",
}


def slot(name, said, topics=()):
    return Slot(name=name, said=said, known="asked", topics=list(topics))


def meant(question, slots=SLOTS):
    """The names of the slots that a question asks for."""
    found = parse_user_question(question, [build_slot_keys(slot(name, said)) for name, said in slots.items()])
    return [list(slots)[place] for place in found.slots]


def wants_more(question):
    return bool(parse_user_question(question, []).more)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which brand?", ["brand"]),
        ("Do you prefer a certain manufacturer?", ["brand"]),
        ("what COLOUR would you like", ["color", "color of rug"]),
        ("Which shade should the rug have?", ["color of rug"]),
        ("Is there a budget?", ["price"]),
        ("How much would you like to spend?", ["price"]),
        ("Is $35 all right?", ["price"]),
        ("How wide may it be?", ["width (in)"]),
        ("How many of item 2?", ["quantity of item 2"]),
        ("How many do you want of the first item?", ["quantity of item 1"]),
        ("How many days may shipping take?", ["shipping days"]),
        ("When do you need it?", ["deadline"]),
        ("Why do you send it back?", ["reason"]),
        ("Is Norrvik fine?", ["brand"]),
        ("What kind of product are you looking for?", ["category"]),
        ("Which brand, what's your budget and how quick must delivery be?", ["brand", "price", "shipping days"]),
    ],
)
def test_a_question_means_the_slots_that_its_words_name(question, names):
    assert meant(question) == names


@pytest.mark.parametrize(
    "question",
    ["What about lumens?", "Shall I go ahead?", "How many of item 7?", "Are you happy?", "", "?!", "x" * 1_000],
)
def test_a_question_about_something_else_means_none(question):
    assert meant(question) == []


def test_the_name_of_a_thing_asks_for_nothing():
    """Who is asked for the use of coffee and the price of pods is not asked for an origin, too, which would be a topic too many."""
    slots = ["use of Single-Origin Coffees", "origin of Single-Origin Coffees", "price of Coffee Pods"]
    keys = [build_slot_keys(slot(name, "so")) for name in slots]
    found = parse_user_question(
        "What about the use of Single-Origin Coffees? What about the price of Coffee Pods?", keys
    )
    assert (found.slots, found.count) == ([0, 2], 2)
    assert parse_user_question("What about the origin of Single-Origin Coffees?", keys).slots == [1]


def test_a_topic_of_a_slot_means_it():
    plain, told = (build_slot_keys(slot("opened", "still sealed", topics)) for topics in ((), ("box", "seal intact")))
    assert parse_user_question("Is the box untouched?", [plain]).slots == []
    assert parse_user_question("Is the box untouched?", [told]).slots == [0]


@pytest.mark.parametrize(
    "question",
    ["Anything else?", "Do you have other requirements?", "Tell me more.", "What do you need?", "Any preferences?"],
)
def test_a_question_about_anything_is_general(question):
    assert wants_more(question)


@pytest.mark.parametrize(
    "question", ["Any preference on brands?", "Shall I go ahead?", "How many lumens?", "Hello there"]
)
def test_a_question_about_something_is_not_general(question):
    assert not wants_more(question)


def test_each_fact_of_the_catalog_can_be_asked_for_and_no_other_is_meant():
    """Over all leaves of the sample shop: its attributes and options side by side."""
    seen = 0
    for path in sorted(CATALOG.glob("*.toml")):
        for leaf in tomllib.loads(path.read_text(encoding="utf-8"))["leaves"]:
            facts = [name.replace("_", " ") for name in [*leaf.get("attributes", {}), *leaf.get("options", [])]]
            slots = dict.fromkeys([*facts, "brand", "color", "price", "rating", "shipping days", "category"], "Qqq Zzz")
            for name in slots:
                assert meant(f"Which {name} would you like?", slots) == [name]
                seen += 1
            for one, other in pairwise(slots):
                assert set(meant(f"Which {one} or {other}?", slots)) == {one, other}
    assert seen > 2_000


def test_only_the_sentences_that_ask_are_a_question():
    assert (
        extract_questions("I put the red one into the cart. It costs $35.99. Which size do you need?")
        == "Which size do you need?"
    )
    assert extract_questions("Please tell me your budget.") == "Please tell me your budget."
    assert extract_questions("I put the red one into the cart.") == ""
