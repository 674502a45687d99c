"""Facts that are mistyped: only where what was meant can be told from everything else that the shop has."""

from random import Random

import pyarrow as pa
import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.reading.spelling import SHORT_FORMS
from shopwright.pipeline.shop.fact_typos import (
    ShopWords,
    count_edits,
    cut_title,
    is_only_title,
    is_recoverable,
    load_abbreviations,
    load_real_words,
    load_shop_words,
    mistype_fact,
    mistype_title,
)
from shopwright.pipeline.shop.mistype_words import add_typos

COLORS = frozenset("red navy green gray grape olive orange white".split())
TITLES = [
    "arlo lamp, oak base, 12 in, with linen shade",
    "arlo lamp, oak base, 15 in, with linen shade",
    "bex desk, steel frame, 40 in",
]


def words_of(values=COLORS, others=("read", "then", "need"), titles=TITLES):
    known = {word for title in titles for word in title.replace(",", "").split() if word.isalpha()}
    return ShopWords(
        frozenset(["lamp", "desk"]), frozenset(["arlo", "bex"]), values, frozenset(others) | known, pa.array(titles)
    )


WORDS = words_of()


@pytest.fixture(scope="module")
def shop():
    return load_shop_words(gym.world().store)


@pytest.mark.parametrize(
    ("typed", "word", "why"),
    [
        ("grey", "gray", "it is fewer than three edits from green"),
        ("gree", "green", "it may be cut, but gray is two edits away"),
        ("nav", "navy", "it is too short"),
        ("grape", "gray", "it is another value"),
        ("nvay", "navvy", "it is no word one edit away"),
        ("navvvy", "navy", "it is two edits away"),
    ],
)
def test_what_could_be_another_word_is_not_typed(typed, word, why):
    assert not is_recoverable(typed, word, COLORS | {"grey"} if typed != "grey" else COLORS, WORDS), why


@pytest.mark.parametrize(
    ("typed", "word"), [("orrange", "orange"), ("ornage", "orange"), ("whit", "white"), ("blk", "black")]
)
def test_what_can_be_nothing_else_is(typed, word):
    assert is_recoverable(typed, word, COLORS | {"black"}, WORDS)


def test_a_neighbor_of_the_same_kind_keeps_a_word_clean():
    assert is_recoverable("coverd", "covered", {"covered"}, WORDS)
    assert not is_recoverable("coverd", "covered", {"covered", "covers"}, WORDS)
    assert not is_recoverable("coverd", "covered", {"covered"}, words_of(others=["cover"]))


def test_no_fact_becomes_a_word_of_the_language():
    assert "steal" in load_real_words()
    assert not is_recoverable("steal", "steel", {"steel"}, WORDS)
    for seed in range(300):
        assert mistype_fact("steel", {"steel"}, WORDS, Random(seed)) not in load_real_words()


@pytest.mark.parametrize("fact", ["12 in", "XL", "red", "2 to 4 players", "USB-C", "$40", "e26"])
def test_numbers_and_short_words_stay(fact):
    assert {mistype_fact(fact, set(fact.lower().split()), WORDS, Random(seed)) for seed in range(100)} == {fact}


def test_a_fact_has_one_error_and_keeps_its_first_letter():
    seen = set()
    for seed in range(300):
        typed = mistype_fact("brushed steel", {"brushed", "steel"}, WORDS, Random(seed))
        wrong = [(one, other) for one, other in zip(typed.split(), ["brushed", "steel"], strict=True) if one != other]
        assert len(wrong) <= 1
        assert all(one[0] == other[0] and count_edits(one, other) == 1 for one, other in wrong)
        seen.add(typed)
    assert len(seen) > 20


def test_all_errors_of_a_real_shop_leave_one_word(shop):
    values = sorted(word for word in shop.values if len(word) > 3)
    found = 0
    for place, word in enumerate(values):
        typed = mistype_fact(word, shop.values, shop, Random(place))
        if typed != word and typed not in load_abbreviations().values():
            near = [other for other in shop.values | shop.things | shop.brands if count_edits(typed, other) <= 1]
            assert near == [word]
            found += 1
    assert found > len(values) / 3


def test_abbreviations_are_read_as_they_are_written():
    written = load_abbreviations()
    assert len(set(written.values())) == len(written)
    assert {short: word for word, short in written.items()} == SHORT_FORMS


# Titles


def test_a_title_is_cut_to_what_no_other_title_has():
    for seed in range(20):
        cut = cut_title("Arlo lamp, oak base, 12 in, with linen shade", WORDS, Random(seed))
        assert "12 in" in cut, cut
        assert len(cut) < len(TITLES[0])
    assert cut_title("Bex desk, steel frame, 40 in", WORDS, Random(1)) == ""  # two words are too few


def test_a_title_is_mistyped_where_the_rest_decides():
    twins = words_of(titles=["arlo lamp oaken base", "arlo lamp beech base"])
    typed = {mistype_title("Arlo lamp oaken base", twins, Random(seed)) for seed in range(200)}
    assert any("oaken" in each and each.lower() != "arlo lamp oaken base" for each in typed)
    assert all("oaken" in each.lower() for each in typed)


def test_a_title_of_two_is_no_proof():
    assert is_only_title(["Arlo", "12 in"], WORDS)
    assert not is_only_title(["Arlo", "oak"], WORDS)
    assert not is_only_title(["Arlo", "walnut"], WORDS)


# Other words


def test_no_other_word_becomes_a_fact():
    text = "could you read it and tell me when they are here then " * 30
    bare = {word for seed in range(60) for word in add_typos(text, noise=0.2, random=Random(seed)).split()}
    told = {
        word
        for seed in range(60)
        for word in add_typos(text, noise=0.2, random=Random(seed), avoid=WORDS.could_be_fact).split()
    }
    assert "red" in bare
    assert not told & COLORS
    assert not {word for word in told if WORDS.could_be_fact(word)}
    assert len(told) > len(bare) / 2


def test_what_would_be_read_as_a_fact_is_avoided():
    assert WORDS.could_be_fact("red")
    assert WORDS.could_be_fact("naavy")
    assert WORDS.could_be_fact("blk")
    assert not WORDS.could_be_fact("read")
    assert not WORDS.could_be_fact("kitchen")
