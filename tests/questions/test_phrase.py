"""How a question's words are chosen: its template, its small phrases; and that the reader's own groups of phrases are of use."""

import re
from random import Random

from shopwright.pipeline.phrases.bank import PhraseBank, parse_texts
from shopwright.pipeline.questions.phrase import draw_short_template
from shopwright.pipeline.questions.question_parser import GRAMMARS, SYNONYMS
from shopwright.pipeline.reading.grammar import Grammar, Sentence, widen_by

TEXTS = """asks
    How many {things} did {I} buy in all of {when}?
    How many {things} {when}?
    What is the number of all the {things} that {I} bought {when}?
    Count them {when}.
    (terse) {things} bought {when}: how many?
"""


def draw(register):
    bank = PhraseBank(parse_texts(TEXTS))
    for templates in bank.templates.values():  # all of training
        bank.templates["asks"] = [
            type(each)(each.meaning, each.register, each.pattern, each.pieces, "train") for each in templates
        ]
    return {draw_short_template(bank, "asks", "train", register, Random(n)).pattern for n in range(200)}


def test_who_is_terse_says_plain_templates_as_short_as_terse_ones_and_no_longer_ones():
    assert draw("terse") == {"How many {things} {when}?", "Count them {when}.", "{things} bought {when}: how many?"}


def test_others_keep_to_their_register_and_prefer_what_is_short():
    assert "{things} bought {when}: how many?" not in draw("plain")
    assert {"How many {things} {when}?", "Count them {when}."} <= draw("plain")


def test_a_phrase_of_a_group_is_read_where_a_rule_has_another():
    grammar = Grammar("asks\n    how often did <who> buy => n=1\nwho\n    I\n", {}, "how often | how many times\n")
    assert grammar.readings("asks", "How many times did I buy") == [{"n": 1}]
    assert grammar.readings("asks", "how often did I buy") == [{"n": 1}]


def test_what_can_be_read_in_two_ways_that_say_the_same_is_read_once():
    """Else the ways would multiply with every part of a sentence."""
    grammar = Grammar("how\n    {often|often}\n    often\n", {})
    assert len(grammar.memoize_rule("how")(Sentence("often", None), 0)) == 1


def test_names_of_rules_and_parts_of_words_stay_as_they_are():
    assert widen_by("click | look\n")("click <click> clicks") == "{click|look} <click> clicks"


def test_each_group_of_the_reader_stands_in_its_grammar():
    rules = "\n".join(path.read_text(encoding="utf-8") for path in GRAMMARS)
    lines = SYNONYMS.read_text(encoding="utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            assert any(re.search(rf"(?<![\w-]){re.escape(each)}(?![\w-])", rules) for each in line.split(" | ")), line
