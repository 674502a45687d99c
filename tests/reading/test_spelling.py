"""Mistyped words and titles that are cut, read by the reader alone."""

from datetime import date

import pytest

from shopwright.pipeline.reading.spelling import Speller, TitleReader, is_one_slip, split_heard
from shopwright.pipeline.reading.wishes import ShopVocabulary, read_wishes

WORDS = "navy gray green oak a the in lamp desk snow show please it is with of by arlo linen shade base colored made".split()
VALUES = {"color": ["navy", "gray", "green"], "material": ["oak", "snow oak"]}
TITLES = {
    "arlo desk lamp, oak base, 12 in, with linen shade": "Table Lamps",
    "arlo desk lamp, oak base, 15 in, with linen shade": "Table Lamps",
    "arlo floor lamp with linen shade": "Floor Lamps",
}
SHOP = ShopVocabulary({"Table Lamps": ["desk lamp"]}, lambda leaf: VALUES, TITLES, ["Arlo"], words=frozenset(WORDS))
TODAY = date(2024, 5, 1)


def read(text):
    return [(wish.kind, wish.value) for wish in read_wishes(text, SHOP, TODAY)]


@pytest.mark.parametrize(("typed", "word"), [("nav", "navy"), ("navvy", "navy"), ("nxvy", "navy"), ("nvay", "navy")])
def test_one_slip_of_each_kind(typed, word):
    assert is_one_slip(typed, word)


@pytest.mark.parametrize(
    ("typed", "word"), [("navy", "navy"), ("vany", "navy"), ("nv", "navy"), ("navvvy", "navy"), ("yvan", "navy")]
)
def test_more_than_one_slip_is_none(typed, word):
    assert not is_one_slip(typed, word)


def test_a_word_is_read_as_the_one_near_it():
    speller = Speller(WORDS)
    assert speller.read_word("navvy", {"navy"}) == "navy"
    assert speller.read_word("show", {"snow"}) == "show"  # a word itself
    assert speller.read_word("shnow", {"snow"}) == "shnow"  # show is as near
    assert speller.read_word("navvy", {"green"}) == "navvy"  # not what could be meant here
    assert speller.read_word("oka", {"oak"}) == "oka"  # too short
    assert speller.read_word("blk", {"black"}) == "black"
    assert speller.read_word("blk", {"navy"}) == "blk"


def test_facts_are_read_through_their_errors():
    assert read("a dekk lamp in navvy") == [("thing", "Table Lamps"), ("value", "navy")]
    assert read("a desk lamp in nvy") == [("thing", "Table Lamps"), ("value", "navy")]
    assert read("a desk lamp, pleaze shwo it") == [("thing", "Table Lamps")]


def test_without_a_list_of_words_nothing_is_respelt():
    plain = ShopVocabulary(SHOP.things, SHOP.values, {}, SHOP.brands)
    assert [wish.kind for wish in read_wishes("a desk lamp in navvy", plain, TODAY)] == ["thing"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("the arlo desk lamp, 12 in please", "arlo desk lamp, oak base, 12 in, with linen shade"),
        ("the arlo desk lamp, oak base, 15 in", "arlo desk lamp, oak base, 15 in, with linen shade"),
        ("arlo desk lamp, oka base, 15 in, with linen shade", None),
        ("arlo desk lamp, oak base, 15 in, with linnen shade", "arlo desk lamp, oak base, 15 in, with linen shade"),
        ("the arlo desk lamp, oak base", None),
        ("that arlo desk lamp i saw", None),
    ],
)
def test_titles_are_read_by_what_is_said_of_them(text, title):
    assert [value for kind, value in read(text) if kind == "title"] == ([title] if title else [])


def test_a_brand_with_a_thing_is_no_title():
    titles = ["arlo big desk lamp, 12 in", "bex table"]
    reader = TitleReader(titles, ["arlo"], ["big desk lamp"], Speller(WORDS))
    assert reader.read_title(split_heard("arlo big desk lamp i saw"), 0) is None
    assert reader.read_title(split_heard("arlo big desk lamp, 12 in"), 0) == (titles[0], 6)
