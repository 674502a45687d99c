"""Small phrases exchanged for others that say the same, in all templates and splits alike."""

import re
from random import Random

from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.phrases.grammar import join_alike
from shopwright.pipeline.phrases.synonyms import FILE, Synonyms, load_synonyms

GROUPS = [line.split(" | ") for line in FILE.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")]


def test_a_phrase_is_in_one_group_alone():
    phrases = [phrase for group in GROUPS for phrase in group]
    assert len(phrases) == len(set(phrases))
    assert all(len(group) > 1 for group in GROUPS)


def test_the_slots_of_a_group_are_the_same():
    """But that a number can be said as times, and whose it is by who did it."""
    for group in GROUPS:
        same = {"{times}": "{n}", "{my}": "{I}"}
        slots = [{same.get(slot, slot) for slot in re.findall(r"\{\w+\}", phrase)} for phrase in group]
        assert all(each == slots[0] for each in slots), group


def test_each_phrase_of_a_group_is_drawn_and_settles_as_the_first():
    synonyms = Synonyms([("how often did", "how many times did", "on how many occasions did")])
    said = {
        synonyms.exchange("How often did {I} search, and how many times did it help?", Random(n)) for n in range(60)
    }
    assert len(said) == 9
    assert {synonyms.settle(text) for text in said} == {"How often did {I} search, and how often did it help?"}


def test_parts_of_words_and_of_slots_stay():
    synonyms = Synonyms([("most", "best"), (", aside", ", skipped")])
    assert synonyms.settle("The almost {most} one, skipped? The best, skippedly") == (
        "The almost {most} one, aside? The most, skippedly"
    )


def test_patterns_that_can_be_exchanged_for_each_other_are_in_one_use():
    settle = Synonyms([("how often did", "how many times did")]).settle
    one, other = "How often did {I} buy?", "How many times did {I} buy?"
    assert join_alike([one, other], settle) == {one: one, other: one}
    assert join_alike([one, other]) == {one: one, other: other}


def test_each_group_is_of_use_and_shared_by_all_splits():
    """A phrase that no template has would never be said."""
    frames = {
        use: " \n ".join(frame.lower() for templates in load_grammar_bank("questions").templates.values()
                         for each in templates if each.use == use for frame in each.frames())
        for use in ("train", "test", "test_wording")
    }  # fmt: skip
    for group in GROUPS:
        assert any(phrase.lower() in frames["train"] for phrase in group), group


def test_no_frame_of_a_test_is_one_of_training_in_other_small_phrases():
    settle = load_synonyms().settle
    for meaning, templates in load_grammar_bank("questions").templates.items():
        if len({each.use for each in templates}) < 3 or ("/" in meaning.partition(" ")[0] and len(templates) < 12):
            continue
        settled = {
            use: {settle(frame).lower() for each in templates if each.use == use for frame in each.frames()}
            for use in ("train", "test", "test_wording")
        }
        assert settled["train"].isdisjoint(settled["test"] | settled["test_wording"]), meaning


def test_what_counts_purchases_says_no_orders():
    """An order may be of several products, each of which is a purchase of its own."""
    questions = FILE.parent / "phrases" / "questions"
    nouns = re.findall(
        r"^(?:click|acts|clicks)/purchase\n((?: +.*\n)+)", (questions / "words.txt").read_text("utf-8"), re.MULTILINE
    )
    counted = [FILE.read_text("utf-8"), *nouns]
    counted += re.findall(r".*\{(?:n|nth)\}.*", "\n".join(path.read_text("utf-8") for path in questions.glob("*.txt")))
    assert len(nouns) == 3
    assert not [text for text in counted if re.search(r"\borders\b|(?:\{nth\}|first|^ +) order\b", text, re.MULTILINE)]
