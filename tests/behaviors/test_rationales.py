"""What shoppers say: phrasings of the bank in the first person, in one register, none twice, each read back as its reason."""

import re
from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import get_args

import pytest

from shopwright.pipeline.behaviors.meanings import list_meanings
from shopwright.pipeline.behaviors.mention import is_named_by, name_product
from shopwright.pipeline.behaviors.rationales import FIRST_PERSON, USES_OF_SIDE, NothingLeftToSay, Speaker, put_facts
from shopwright.pipeline.behaviors.reasons import PageFacts, compare_searches
from shopwright.pipeline.behaviors.session_replay import Move
from shopwright.pipeline.behaviors.voices import draw_register, load_voices, write_in_register
from shopwright.pipeline.evaluate.frames import mask_facts
from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.phrases.grammar import Register
from shopwright.pipeline.reading.rationales import ON_PRODUCT, ON_RESULTS, Seen, read_rationale
from shopwright.pipeline.render import pages
from shopwright.schemas.behaviors import Reason

BANK = load_grammar_bank("behaviors")
REASONS = get_args(Reason)
FACTS = {
    "product": "the oak table lamp", "other": "the steel floor lamp", "price": "$20.00", "other price": "$9.50", "asks": "from $20.00",
    "at": "at $20.00", "rating": "3.9", "query": '"red lamps"', "before": '"big lamps"', "brand": "Osko", "color": "blue",
    "wanted": "green", "option": "size", "value": "8 oz", "number": "2",
}  # fmt: skip
SEEN = Seen(
    page=("Osko oak table lamp, 12 in",), opened=("Pell steel floor lamp",), typed="red lamps", before=("big lamps",), brands=("Osko",),
    option="size", value="8 oz",
)  # fmt: skip


def frames(meaning):
    for template in BANK.templates[meaning]:
        for frame in template.frames():
            yield template, frame


def place(meaning):
    reason = meaning.partition("/")[0]
    if reason == "go on":
        return "bought" if meaning.endswith("bought") else "cart"
    known = {"buy": "cart", "read enough": "text", "gives up": "product", "decides later": "product"}
    return known.get(reason) or ("product" if reason in ON_PRODUCT else "results" if reason in ON_RESULTS else "home")


def say(frame, template, meaning):
    """With facts, as somebody of the template's register writes it."""
    limit = "$40" if "price" in meaning or "limit" in meaning else "4 stars"
    written = write_in_register(frame, True, template.register, Random(1))
    return put_facts(written, FACTS | {"limit": limit}, small=False)


def test_there_are_two_thousand_frames_and_forty_of_each_reason():
    counts = Counter(meaning.partition("/")[0] for meaning in BANK.templates for _ in frames(meaning))
    assert counts.keys() == set(REASONS)
    assert sum(counts.values()) >= 2_000
    assert min(counts.values()) >= 40


@pytest.mark.parametrize("meaning", BANK.templates)
def test_every_frame_is_in_the_first_person_and_is_read_as_its_reason(meaning):
    for template, frame in frames(meaning):
        text = say(frame, template, meaning).text
        found = read_rationale(text, replace(SEEN, place=place(meaning)))
        assert FIRST_PERSON.search(text), text
        assert not found.fault, (text, found.fault)
        assert meaning.partition("/")[0] in found.reasons, (text, found.reasons)


def test_no_frame_of_the_test_is_one_of_training():
    sides = {side: set() for side in USES_OF_SIDE}
    for meaning in BANK.templates:
        for template, frame in frames(meaning):
            said = say(frame, template, meaning)
            side = next(side for side, uses in USES_OF_SIDE.items() if template.use in uses)
            sides[side].add(mask_facts(said.text, said.said))
    assert len(sides["test"]) > 500
    assert not sides["train"] & sides["test"]


@pytest.mark.parametrize("meaning", BANK.templates)
def test_every_meaning_can_be_said_of_a_product_without_a_name_on_both_sides(meaning):
    for uses in USES_OF_SIDE.values():
        assert [each for each in BANK.templates[meaning] if each.use in uses and each.register == "plain"]


# A speaker


class Lamps:
    """A shop of some lamps."""

    titles = ("Osko oak table lamp, 12 in", "Osko steel table lamp, 15 in", "Pell floor lamp with linen shade")

    def __len__(self):
        return len(self.titles)

    def item(self, row):
        title = self.titles[row]
        return SimpleNamespace(title=title, brand=title.split()[0], color=None, category="Lamps")


def move(reason, **facts):
    known = PageFacts(row="0", title="Osko oak table lamp", price="$20.00", at="at $20.00") | facts
    page = pages.build_shop_home_page()
    return Move(page, {"type": "click", "name": "x"}, reason, PageFacts(known), in_view=(0, 1, 2))


@pytest.mark.parametrize("register", get_args(Register))
def test_a_speaker_keeps_its_register_and_says_nothing_twice(register):
    speaker = Speaker(register, "train", Lamps(), Random(3))
    said = [speaker.say(move("opens", why="like")) for _ in range(12)]
    assert len({mask_facts(each.text, each.said) for each in said}) == 12
    small = "small" in load_voices()["registers"][register]
    assert all(each.text[0].islower() == small for each in said if each.text[0].isalpha())
    own = {each.id for each in BANK.templates["opens/like"] if each.register not in ("plain", register)}
    assert not own & speaker.used


def test_a_speaker_takes_the_phrasings_of_its_side():
    for side, uses in USES_OF_SIDE.items():
        speaker = Speaker("plain", side, Lamps(), Random(3))
        for _ in range(5):
            speaker.say(move("opens", why="like"))
        of = {each.id: each.use for each in BANK.templates["opens/like"]}
        assert {of[each] for each in speaker.used} <= set(uses)


def test_who_has_used_up_all_phrasings_is_silent():
    speaker = Speaker("plain", "train", Lamps(), Random(3))
    speaker.used = {each.id for each in BANK.templates["sold out"]}
    with pytest.raises(NothingLeftToSay):
        speaker.say(move("sold out"))


def test_a_name_means_one_product_in_view():
    for seed in range(20):
        for row, title in enumerate(Lamps.titles):
            others = [each for each in Lamps.titles if each != title]
            name = name_product(Lamps().item(row), others, Lamps(), Random(seed))
            assert name
            assert is_named_by(title, name)
            assert not any(is_named_by(each, name) for each in others)
            assert len(name.split()) <= 6


def test_what_no_few_words_tell_apart_has_no_name():
    lamp = Lamps().item(0)
    assert name_product(lamp, [lamp.title], Lamps(), Random(1)) == ""


def test_facts_are_left_as_they_are_by_every_register():
    for register in get_args(Register):
        frame = write_in_register("I'll open the {product} because I like it.", False, register, Random(2))
        assert "I'll Be Red lamp" in put_facts(frame, {"product": "I'll Be Red lamp"}, small=False).text


def test_every_age_has_registers_that_there_are():
    known = set(get_args(Register))
    for age, weights in load_voices()["ages"].items():
        assert weights.keys() <= known
        assert draw_register(age, Random(1)) in weights


# Meanings


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_without_any_fact_has_a_meaning_of_the_bank(reason):
    facts = PageFacts(
        why="like" if reason == "opens" else "",
        tab="reviews",
        limit="$4",
        turn="wider" if reason == "look around" else "",
    )
    for seed in range(9):
        assert all(meaning in BANK.templates for meaning in list_meanings(reason, facts, Random(seed)))


@pytest.mark.parametrize(
    ("reason", "facts", "meaning"),
    [
        ("next page", {}, "next page/nothing here"),
        ("compare", {"why": "liked"}, "compare/others"),
        ("put in the cart", {"rating": "3.9"}, "put in the cart/well rated"),
        ("narrow down", {"limit": "$4"}, "narrow down/price kept"),
        ("look around", {}, "look around/nothing found"),
        ("gives up", {"title": "lamp"}, "gives up/several"),
    ],
)
def test_what_needs_a_fact_is_not_meant_without_it(reason, facts, meaning):
    assert all(meaning not in list_meanings(reason, PageFacts(facts), Random(seed)) for seed in range(20))


def test_searches_are_compared_by_their_words():
    assert compare_searches("best lamp", "lamp deals") == "other words"
    assert compare_searches("oak lamp", "oak lamp for kids") == "narrower"
    assert re.fullmatch("wider", compare_searches("oak lamp for kids", "oak lamp"))
