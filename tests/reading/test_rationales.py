"""A shopper's sentence read back: what it names, what it claims and for which reasons; and what is not understood is not taken."""

import ast
import re
from pathlib import Path

import pytest

from shopwright.pipeline.reading import rationales
from shopwright.pipeline.reading.rationales import Seen, read_rationale

PAGE = ("Osko oak table lamp, 12 in", "Osko steel table lamp, 15 in", "Pell floor lamp with linen shade")
RESULTS = Seen(place="results", page=PAGE, typed="", before=("table lamp",), brands=("Osko",))
PRODUCT = Seen(place="product", page=PAGE[:1], listed=PAGE, before=("table lamp",))


@pytest.mark.parametrize(
    ("text", "seen", "reason"),
    [
        ("The oak table lamp is the cheapest here, so I'll take a look.", RESULTS, "opens"),
        ("i'll open the floor lamp once more, to be sure", RESULTS, "looks again"),
        ("This one is too expensive for me.", PRODUCT, "too dear"),
        ("I want read what other people say.", PRODUCT, "read more"),
        ("This table lamp goes into my cart.", PRODUCT, "put in the cart"),
        ('"table lamp" got me nowhere, so I\'ll search for "red lamp".', Seen(typed="red lamp", before=("table lamp",)), "look around"),
        ("I have bought what I came for and need nothing else.", Seen(place="bought"), "gives up"),
    ],
)  # fmt: skip
def test_a_sentence_is_read_as_its_reason(text, seen, reason):
    found = read_rationale(text, seen)
    assert not found.fault
    assert reason in found.reasons
    assert len(found.reasons) <= 2


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("oak table lamp", PAGE[0]),
        ("15 in table lamp", PAGE[1]),
        ("table lamp (15 in)", PAGE[1]),
        ("Pell floor lamp with linen shade", PAGE[2]),
    ],
)
def test_a_short_name_is_the_one_product_that_has_its_words(words, title):
    assert read_rationale(f"I'm curious about the {words}.", RESULTS).things == [title]


def test_a_name_that_two_products_on_the_page_share_is_not_read():
    assert "means 2 products" in read_rationale("I'm curious about the Osko table lamp.", RESULTS).fault


def test_what_is_on_the_page_is_meant_before_what_was_seen_elsewhere():
    assert read_rationale("I'm not convinced by the table lamp.", PRODUCT).things == [PAGE[0]]


@pytest.mark.parametrize(
    "text",
    [
        "The oak table lamp is waterproof, so I'll take a look.",
        "I'll open the oak table lamp, it has free shipping.",
        "I'll open the oak table lamp, it is the bestseller of the year.",
        "Blue skies.",
    ],
)
def test_a_claim_that_is_not_understood_is_a_fault(text):
    assert read_rationale(text, RESULTS).fault


def test_what_cannot_be_done_on_a_page_is_not_said_there():
    assert read_rationale("This is sold out, I can't buy it.", PRODUCT).reasons == {"sold out"}
    assert "sold out" not in read_rationale("This is sold out, I can't buy it.", RESULTS).reasons


def test_a_word_of_a_title_that_everybody_uses_names_nothing():
    seen = Seen(place="product", page=("Shopping list pad",))
    found = read_rationale("I'm not convinced, so I go back to the list.", seen)
    assert (found.things, found.fault) == ([], "")


def test_the_cart_is_the_shops_and_no_toy():
    seen = Seen(place="product", page=("Toy block set with pull-along cart",))
    assert read_rationale("I'm adding it to the cart.", seen).things == []


def test_the_reader_knows_nothing_of_the_writer():
    source = Path(rationales.__file__).read_text(encoding="utf-8")
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert not any(name and name.startswith("shopwright") for name in imported)
    assert not re.search(r"data/reference|load_grammar_bank", source)
