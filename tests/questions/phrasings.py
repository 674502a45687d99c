"""Every way in which a question is asked: each template of its meaning, with what has to be said beside it."""

from datetime import date
from random import Random

from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank
from shopwright.pipeline.questions.answers import is_tied
from shopwright.pipeline.questions.phrase import name_meaning, name_tie_note, phrase_question


def phrasings(shape, tree, asked_on=date(2024, 6, 30), notes=(), dice=0):
    """One after another, in the order of the file; other `dice` put other dates, persons and synonyms into them."""
    bank = load_grammar_bank("questions")
    meaning = name_meaning(shape, tree)
    for each in bank.templates[meaning]:
        random = Random(f"{each.id}/{dice}")
        yield phrase_question(shape, tree, asked_on, "rl", random, notes, say_only(bank, each)).question


def say_only(bank, template):
    """The bank, in which a meaning is said by one template alone."""
    found = PhraseBank(())
    found.templates = {**bank.templates, template.meaning: [template]}
    return found


def needed_notes(tree, log, value):
    """What has to be said beside a question with this answer."""
    return ((name_tie_note(tree),) if is_tied(tree, log) else ()) + (("none",) if value is None else ())
