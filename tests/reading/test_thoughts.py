"""A thought about a table read back: as the one remark that it is, with its facts; and as none where a word turns it round."""

import re
from collections import Counter
from random import Random

import pytest

from shopwright.pipeline.proofs.family import Claim
from shopwright.pipeline.proofs.rollouts import (
    HOSTS,
    Rollouts,
    collect_facts,
    find_lost_fact,
    find_other_fact,
    parse_facts,
)
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.reading.thoughts import list_log_names, load_cues, read_thought

NAMES = ("Osko oak lamp, 12 in", "Brooks", "Pell", "Table Lamps", "gold")
TURNS = """earliest/latest first/last before/after more/fewer more/less highest/lowest largest/smallest cheapest/dearest included/excluded inside/outside
earlier/later same/different no/every none/all not/also never/always without/with minimum/maximum max/min longest/shortest most/fewest equal/unequal
exactly/roughly narrow/broad agree/differ agrees/differs title/brand column/title day/hour search/click purchase/click purchases/searches cart/purchase
whole/half both/neither only/hardly any/no above/below strictly/loosely missing/present keep/drop smaller/larger splits/joins alone/together sum/count
rows/products backwards/forwards fullest/emptiest slowest/quickest average/total start/end""".split()
"""Words that turn a remark round, in pairs: either is put for the other."""


@pytest.mark.parametrize(
    ("text", "meaning", "facts"),
    [
        ("If several have that price, the earliest of them is meant.", "mind tied price", {}),
        ("So the result comes to 1:00:05.", "say duration", {"said": "1:00:05"}),
        ("Only prices between $2.00 and $3.00 count, both limits included.", None, {}),
        ("Prices between $2.00 and $3.00 count, and so do both limits.", "mind price limits", {"low": "$2.00", "high": "$3.00"}),
        ("Brooks has 5 and Pell only 3, so no tie.", "saw clear rank", {"one": "Brooks", "n": "5", "other": "Pell", "m": "3"}),
        ("each search counts", None, {}),
        ("rows first, then we will see", "mind rows", {}),
        ("the second way confirms it", "checked", {}),
        ("the second block gives another result", None, {}),
        ('"oak lamp" fits 4 titles; I need something more', "saw several products", {"words": "oak lamp", "n": "4"}),
        ("Missing values show up as NaN here.", "saw empty cells", {}),
        ("It is gold.", "say text", {"said": "gold"}),
        ("I like cake.", None, {}),
    ],
)  # fmt: skip
def test_a_sentence_is_one_remark_with_its_facts_or_none(text, meaning, facts):
    found = read_thought(text, NAMES)
    assert [each.meaning for each in found] == ([meaning] if meaning else [])
    assert {name: values[0] for each in found for name, values in each.facts} == facts


def test_what_is_asked_for_is_read_inside_the_remark_that_names_it():
    (found,) = read_thought("One query is enough to get the color with the most purchases.")
    assert found.meaning == "open sql"
    assert found.goals == (("goal top events", (("rows", ("rows purchase",)), ("thing", ("thing color",)))),)


def test_a_word_that_is_said_of_two_columns_may_be_either():
    (found,) = read_thought("products repeat, so each product counts once, dedupe by product") or [None]
    assert found is None
    (found,) = read_thought("each product once")
    assert dict(found.facts) == {"thing": ("thing asin", "thing product_name")}


def test_facts_in_the_places_of_each_other_are_read_so():
    (right,), (wrong,) = (read_thought(f"{one} = {other} = 4; {one} earlier (2024-05-01 10:00:00)", NAMES) for one, other in (("Brooks", "Pell"), ("Pell", "Brooks")))  # fmt: skip
    assert dict(right.facts)["one"] == ("Brooks",) != dict(wrong.facts)["one"]
    assert read_thought("Brooks = Pell = 4; Pell earlier (2024-05-01 10:00:00)", NAMES) == []


@pytest.fixture(scope="module")
def said(small):
    """A text for each template, with its claim, and the names of the log."""
    engines = small.read("trajectories").once(Engines)
    id = max(engines.places, key=lambda id: len(engines.events(id)))
    log, family = collect_facts(id, engines), Rollouts()
    family_log = pytest.MonkeyPatch()
    try:
        family_log.setattr("shopwright.pipeline.proofs.rollouts.pick_log", lambda sources: log)
        examples = {}
        for unit in family.list_units():
            examples |= family.find_examples(unit, None, Random(unit))
    finally:
        family_log.undo()
    texts = []
    for meaning, (example,) in examples.items():
        for template in family.bank.templates[meaning]:
            frame = next(template.frames())
            filled = family.fill(template, frame, example, Random(frame))
            texts.append(Claim(meaning, frame, filled.text, filled.facts, id, log.last))
    return texts, list_log_names(engines.events(id))


def means(claim, text, names):
    """Whether the text is read as what the claim says."""
    found = read_thought(text, names)
    host, slot = HOSTS.get(claim.meaning.split()[0], (claim.meaning, ""))
    facts = parse_facts(claim)
    return {each.meaning for each in found} == {host} and any(
        not (find_other_fact(each, facts) or find_lost_fact(each, claim, slot)) for each in found
    )


def test_every_template_is_read_as_its_meaning(said):
    texts, names = said
    assert {claim.meaning for claim in texts} == set(Rollouts().bank.templates)
    assert [claim.text for claim in texts if not means(claim, claim.text, names)] == []


def test_no_word_can_be_turned_round(said):
    texts, names = said
    pairs = [(one, other) for pair in TURNS for one, other in (pair.split("/"), reversed(pair.split("/")))]
    tried, alive = Counter(), []
    for claim in texts:
        for one, other in pairs:
            text = re.sub(rf"(?<![\w`\"]){one}(?![\w`\"])", other, claim.text, flags=re.IGNORECASE)
            if text != claim.text and one in claim.words.lower().split():
                tried[one] += 1
                if means(claim, text, names):
                    alive.append(text)
    assert sum(tried.values()) > 2_000
    assert alive == []


def test_no_denial_can_be_dropped(said):
    texts, names = said
    denials = [(claim, re.sub(r" (?:not|no|never|without|nothing|none)(?= )", "", claim.text)) for claim in texts]
    changed = [(claim, text) for claim, text in denials if text != claim.text]
    assert len(changed) > 200
    assert [text for claim, text in changed if means(claim, text, names)] == []


def test_every_meaning_of_the_bank_has_cues_and_no_other_has():
    parts = {meaning for meaning in Rollouts().bank.templates if meaning.split()[0] in HOSTS} - set(load_cues())
    assert set(load_cues()) | parts == set(Rollouts().bank.templates)
    assert all(meaning.split()[0] != "goal" for meaning in parts)
    assert all(any(cue.decides for cue in cues) for cues in load_cues().values())
    assert all(cue.pattern.groups >= 0 for cues in load_cues().values() for cue in cues), "it is no expression"
