"""Plain phrases as other registers write them, where a register has none of its own in a split."""

from collections import Counter
from random import Random

import pytest

from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank, parse_texts
from shopwright.pipeline.phrases.grammar import USES
from shopwright.pipeline.phrases.register_wording import fill_registers

ASKS = (
    "asks\n"
    + "".join(f"    Don't I pay the {kind} fee?\n" for kind in "abcdef")
    + "    (teenager) what about the fee\n"
)


def said(text, use, register):
    bank = PhraseBank(fill_registers(parse_texts(text)))
    return {bank.say("asks", {}, Random(seed), use=use, register=register).text for seed in range(60)}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("register", ["teenager", "polite", "elderly", "chatty", "hurried", "non-native"])
def test_each_register_has_words_of_its_own_in_each_split(use, register):
    assert said(ASKS, use, register).isdisjoint(said(ASKS, use, "plain"))


def test_what_a_register_says_of_a_test_is_never_said_in_training():
    for register in ("polite", "chatty", "hurried"):
        assert said(ASKS, "test", register).isdisjoint(said(ASKS, "train", register))


def test_facts_are_left_as_they_are():
    text = "asks\n" + "".join(f"    I don't want {{I'm the {kind}}} {kind}\n" for kind in "abcdef") + "    (terse) no\n"
    frames = {
        frame for each in fill_registers(parse_texts(text)) if each.register == "elderly" for frame in each.frames()
    }
    assert {frame[: frame.index("the")] for frame in frames} == {"I do not want {I'm "}


def test_what_is_only_said_plainly_has_no_register():
    thing = parse_texts("thing Lamps\n    a lamp\n    the lamp\n    some lamp\n    one lamp\n")
    assert fill_registers(thing) == thing


@pytest.mark.parametrize(("family", "least"), [("questions", 0.95), ("envs", 0.65)])
def test_most_registers_have_words_of_their_own_in_the_tests(family, least):
    there = Counter[bool]()
    for meaning, templates in load_grammar_bank(family).templates.items():
        registers = {each.register for each in templates}
        if len(registers) > 1 and not meaning.startswith("note/"):
            for use in USES[1:]:
                own = {each.register for each in templates if each.use == use}
                there.update(register in own for register in ("terse", "chatty", "polite", "hurried", "elderly", "teenager", "non-native"))  # fmt: skip
    assert there[True] / there.total() > least
