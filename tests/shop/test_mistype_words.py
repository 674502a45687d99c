"""Typing errors and short words."""

from collections import Counter
from random import Random

import pytest

from shopwright.pipeline.shop.mistype_words import add_typos, load_slang

FILLER = "hello there could someone look around because everything seems rather expensive these mornings " * 40


def changed(noise, seed=1):
    return add_typos(FILLER, noise=noise, random=Random(seed))


def test_no_noise_changes_nothing():
    assert changed(0.0) == FILLER


@pytest.mark.parametrize("noise", [0.01, 0.06, 0.12])
def test_as_many_letters_go_wrong_as_the_axis_says(noise):
    """Counted in words of seven letters: one stays as it was with the chance that all of its letters do."""
    told = add_typos("mornings " * 4_000, noise=noise, random=Random(3)).split()
    assert sum(word == "mornings" for word in told) / 4_000 == pytest.approx((1 - noise) ** 8, abs=0.03)


def test_letters_are_left_out_doubled_swapped_and_hit_beside_the_key():
    told = Counter(add_typos("make " * 3_000, noise=0.1, random=Random(5)).split())
    assert {"ake", "mmake", "amke", "nake", "mke", "makke"} <= set(told)
    assert "amake" not in told  # two letters that are swapped are both done


def test_words_get_short():
    told = changed(0.12).split()
    assert "cuz" in told
    assert load_slang()["please"] == "pls"


@pytest.mark.parametrize(
    "fact",
    [
        "$39.99",
        "12 in",
        "1.5 l",
        "B0UY90ETWE",
        "XL",
        "Norrvik",
        "USB-C",
        '"soft warm light"',
        "“desk lamp”",
        "don't",
        "not",
        "2024-05-01",
    ],
)
def test_what_is_demanded_stays_as_it_is(fact):
    text = f"hello there, someone wants {fact} because everything else seems rather expensive these mornings"
    for seed in range(200):
        told = add_typos(text, noise=0.3, random=Random(seed))
        assert fact in told
        assert told != text


def test_facts_stay_word_for_word_and_so_do_their_words_alone():
    text = "hello there, someone wants a desk lamp of solid oak; every lamp seems rather expensive"
    for seed in range(100):
        told = add_typos(text, noise=0.3, random=Random(seed), keep=["desk lamp", "solid oak", ""])
        assert "desk lamp" in told
        assert "solid oak" in told
        assert " lamp " in told.partition(";")[2]


def test_a_fact_inside_another_word_keeps_nothing():
    assert any("another" not in add_typos("another", noise=0.3, random=Random(seed), keep=["an"]) for seed in range(20))


@pytest.mark.parametrize("text", ["", " ", "a", "?", "\ue000", "ß ø 漢字", "x" * 500, "{{ x }}"])
def test_any_text_can_be_typed(text):
    for seed in range(20):
        assert isinstance(add_typos(text, noise=0.125, random=Random(seed)), str)
    assert add_typos(text, noise=0.125, random=Random(1)) == add_typos(text, noise=0.125, random=Random(1))
