"""The grammar reads what it has, all of it, in every way there is, and nothing else."""

from datetime import date

import pytest

from shopwright.pipeline.reading.grammar import Grammar, Misread, Sentence
from shopwright.pipeline.reading.words import TERMINALS, LogProduct, Names

RULES = """
question
    how many <lamps> <when>?                => node=count
    which <lamps> [of a <what:place>] <when>?       => node=names
lamps
    {lamps|floor lamps}                     => category=lamps
    lamps by <brand:brand>
    <product:mention>
when
    <>
    on <first,last:day>
    since <first:day> and until <last:day>
    from <split:split> on                   => since=$split.since
place
    first                                   => 1
    second                                  => 2
"""
LAMPS = (
    LogProduct("B1", "Norrvik", "white", 'norrvik oak lamp (2 pack), 19" wide, white'),
    LogProduct("B2", "Norrvik Oak", "red", "norrvik oak desk lamp"),
    LogProduct("B3", None, "blue", "lamp of the north, blue"),
)


def read(text):
    return Grammar(RULES, TERMINALS).readings("question", text, Names(LAMPS))


@pytest.mark.parametrize(
    "text",
    [
        "how many  lamps?",
        "how many lamps ?",
        "how many lamps",
        "how many lamps? ",
        "how many lamps? Please.",
        "how many lampshades?",
        "how many lamps by Zuma?",
        "how many lamps by Norrviks?",
        "how many lamps on 31 June 2024?",
        "how many lamps on 1 Juny 2024?",
        "which lamps of a third?",
        "",
    ],
)
def test_nothing_is_read_but_what_the_grammar_has_to_the_last_sign(text):
    with pytest.raises(Misread):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "how many lamps?",
        "How many floor lamps on 3 May 2024?",
        "Which Lamps by Norrvik Oak of a second?",
        "which the Norrvik oak lamp (2 pack) of a first?",
        "how many lamps since 3 May 2024 and until 5 May 2024?",
        "how many lamps from 3 May 2024 on?",
    ],
)
def test_wordings_passed_over_for_the_words_they_need_would_have_read_nothing(text):
    whole = Sentence(text, Names(LAMPS), pruned=False)
    ways = Grammar(RULES, TERMINALS).rule("question")(whole, 0)
    assert read(text) == [value for end, value in ways if end == len(text)] != []


def test_it_says_how_far_it_understood():
    with pytest.raises(Misread, match="not understood from 'lights\\?' on") as told:
        read("How many lights?")
    assert told.value.place == len("How many")


def test_days_are_the_same_however_they_are_written():
    (first,), (second,), (third,) = (
        read(f"How many lamps on {day}?") for day in ("May 3, 2024", "3 May 2024", "2024-05-03")
    )
    assert first == second == third
    assert first["first"] == first["last"] == date(2024, 5, 3)


def test_a_value_can_be_taken_from_another():
    (found,) = read("How many lamps from 3 May 2024 on?")
    assert (found["since"], found["split"]["before"]) == (date(2024, 5, 3), date(2024, 5, 2))


def test_all_readings_are_told_and_equal_ones_once():
    twice = Grammar("all\n    <one> <two>\none\n    a [b]  => x=1\ntwo\n    [b] c  => y=1\n", {})
    assert twice.readings("all", "a b c") == [{"x": 1, "y": 1}]
    differing = Grammar("all\n    a <one>\none\n    b  => x=1\n    b  => x=2\n", {})
    assert differing.readings("all", "a b") == [{"x": 1}, {"x": 2}]


def test_parts_that_say_different_things_are_no_reading():
    rules = "all\n    <one> and <one>\none\n    a  => x=1\n    b  => x=2\n    c  => y=1\n"
    grammar = Grammar(rules, {})
    assert grammar.readings("all", "a and a") == [{"x": 1}]
    assert grammar.readings("all", "a and c") == [{"x": 1, "y": 1}]
    with pytest.raises(Misread):
        grammar.readings("all", "a and b")


def test_one_and_true_are_not_the_same():
    grammar = Grammar("all\n    <one> <two>\none\n    a  => x=1\ntwo\n    b  => x=true\n", {})
    with pytest.raises(Misread):
        grammar.readings("all", "a b")


@pytest.mark.parametrize(
    ("mention", "brand", "parts"),
    [
        ("the Norrvik oak lamp", "Norrvik", ["oak lamp"]),
        ("the Norrvik lamp (white)", "Norrvik", ["lamp", "white"]),
        ('the Norrvik lamp (19" wide, white)', "Norrvik", ["lamp", '19" wide', "white"]),
        ("the Norrvik Oak desk lamp", "Norrvik Oak", ["desk lamp"]),
        ("the lamp of the north (blue)", None, ["lamp of the north", "blue"]),
    ],
)
def test_a_product_is_read_from_its_words(mention, brand, parts):
    (found,) = read(f"How many {mention} on May 3, 2024?")
    assert found["product"] == {"brand": brand, "parts": parts}


def test_brackets_of_a_title_are_read_both_ways():
    found = [each["product"]["parts"] for each in read("How many the Norrvik lamp (2 pack)?")]
    assert sorted(found) == [["lamp", "2 pack"], ["lamp (2 pack)"]]
    assert {tuple(Names(LAMPS).products({"brand": "Norrvik", "parts": parts})) for parts in found} == {("B1",)}


@pytest.mark.parametrize(
    "mention", ["the Norrvik mug", "the Norrvik lamp (red)", "the Norrvik Oak lamp (white)", "the x"]
)
def test_what_no_product_has_is_not_read(mention):
    with pytest.raises(Misread):
        read(f"How many {mention}?")


@pytest.mark.parametrize("rules", ["all\n    <none>\n", "all\n    a]\n"])
def test_a_grammar_with_a_mistake_is_refused(rules):
    with pytest.raises(ValueError, match=r"no rule|too many"):
        Grammar(rules, {})
