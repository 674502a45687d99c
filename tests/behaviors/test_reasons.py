"""What shoppers say: every phrasing of every reason says only facts, in the first person, whatever others called their things."""

from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest

from shopwright.pipeline.behaviors.rationales import (
    FIRST_PERSON,
    collect_page_words,
    describe_intent,
    find_model_rationale_fault,
    find_quoted_facts,
    find_rationale_fault,
)
from shopwright.pipeline.behaviors.reasons import (
    LETTERS,
    PageFacts,
    SessionMemory,
    clip_for_sentence,
    explain_search,
    find_color_mismatch,
    is_comparable,
    parse_fact_price,
    shorten_title,
)
from shopwright.pipeline.behaviors.sessions import CART, CLICK, PURCHASE, SEARCH, Act
from shopwright.pipeline.render.pages import Element, sanitize_text
from tests.behaviors.test_sessions import log

TITLES = {
    "plain": "Norrvik Gully tote bag",
    "markup": 'A <b>bold</b> & <script>alert("x")</script> bag',
    "mark": "lamp [SEP] of [ sep ] two",
    "quotes": "\"Quoted\" 'lamp' “of” ‘two’",
    "template": "{{ 7 * 7 }} {% for x in y %} lamp {# z #}",
    "lines": "lamp\nof\r\ntwo\u2028lines\x85and\ttabs",
    "emoji": "🪑 chair 😀‍🔥 lamp",
    "long": "x" * 2_000,
    "long words": "oak lamp " * 222,
    "numbers": "1234567890" * 200,
    "chinese": "石头智能洗地机12型" * 40,
    "arabic": "مصباح طاولة",
    "element": "The cart.add_to_cart search_input nav.previous",
    "braces": "$HOME `id` %s {0} \\1 \\n",
    "person": "they said it is theirs",
}


def test_said_in_has_nothing_twice():
    assert find_quoted_facts("An oak lamp of oak for $9.00", PageFacts(product="oak", query="oak", price="$9.00")) == [
        "oak",
        "$9.00",
    ]


# Names of things


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_name_is_the_beginning_of_what_the_page_shows(title):
    assert 0 < len(shorten_title(title)) <= LETTERS
    assert sanitize_text(title).startswith(shorten_title(title))
    assert sanitize_text(title).startswith(clip_for_sentence(title))
    assert shorten_title(title) == shorten_title(title).strip()


def test_what_is_cut_ends_with_a_word_and_not_within_a_number():
    assert clip_for_sentence("oak lamp " * 30).endswith("oak lamp")
    assert not clip_for_sentence("灯" * 98 + "12345")[-1].isdigit()
    assert clip_for_sentence("灯" * 98 + "12") == "灯" * 98 + "12"
    assert clip_for_sentence("12345 " * 40).endswith(" 12345")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Oak lamp, 12 in, red", "Oak lamp"),
        ("Lamp, oak, 12 in", "Lamp, oak"),
        ("Oak lamp - for the table", "Oak lamp"),
        ("Oak-table lamp", "Oak-table lamp"),
        ("one two three four five six seven eight nine", "one two three four five six seven eight"),
        ("one two three four five six with 40 mm lens", "one two three four five six"),
        ("???", "???"),
        ("lamp", "lamp"),
    ],
)
def test_a_name_stops_where_a_title_goes_on(title, name):
    assert shorten_title(title) == name


# What is searched for


def searched(seen, query, *, last):
    browser = SimpleNamespace(store=Lamps(), list_result=lambda number, row: SimpleNamespace(low=row))
    return explain_search(seen, query, browser, last=last)


def test_a_search_is_a_look_around_until_the_last_of_an_errand():
    seen = SessionMemory(Decimal(100))
    assert searched(seen, "lamp", last=True)[0] == "look around"
    seen.queries.append("lamp")
    told = {"query": "oak lamp", "before": "lamp", "in_vain": "yes", "turn": "narrower"}
    assert searched(seen, "oak lamp", last=False) == ("look around", PageFacts(told))
    assert searched(seen, "oak lamp", last=True)[0] == "look closer"
    reason, known = searched(seen, "oak lamp under $40", last=True)
    assert (reason, known["limit"]) == ("set a limit", "$40")


@pytest.mark.parametrize("query", ["lamp price", "rug", "best lamp"])
def test_a_search_with_no_more_words_of_the_thing_is_no_closer_look(query):
    seen = SessionMemory(Decimal(100))
    seen.queries.append("lamp")
    assert searched(seen, query, last=True)[0] == "look around"


def act(kind, product="", query=""):
    return Act(1, MORNING, kind, product, 1250, query)


MORNING = datetime(2024, 5, 1)


class Lamps:
    """A shop where every lamp costs the cents of its id."""

    colors = pa.array(["red", "blue"])

    def row(self, product):
        return int(product)


def test_a_limit_is_a_reason_only_where_what_is_opened_next_keeps_to_it():
    browser = SimpleNamespace(store=Lamps(), list_result=lambda number, row: SimpleNamespace(low=row))
    for lamp, reason in (("4000", "set a limit"), ("4001", "look around")):
        seen = SessionMemory(Decimal(100), [act(CLICK, lamp), act(SEARCH, query="rug"), act(CLICK, "9000")])
        assert explain_search(seen, "oak lamp under $40", browser, last=True)[0] == reason


def test_a_search_was_in_vain_where_nothing_of_it_is_met_again():
    seen = SessionMemory(Decimal(100), [act(CLICK, "1")])
    seen.queries.append("lamp")
    seen.opened["1"] = PageFacts(title="Oak lamp", price="$1.00")
    assert not searched(seen, "oak lamp", last=False)[1]["in_vain"]
    seen.ahead = []
    assert searched(seen, "oak lamp", last=False)[1]["in_vain"]
    seen.take(act(CART, "1"))
    assert not searched(seen, "oak lamp", last=False)[1]["in_vain"]


def test_who_gives_up_says_why():
    seen = SessionMemory(Decimal(10))
    assert seen.ending() == ("gives up", PageFacts(why="", several=""))
    seen.last = PageFacts(title="lamp", price="$10.01", rating="4.0")
    assert seen.ending()[1]["why"] == ""  # something else was searched for since
    seen.is_before_it = True
    assert seen.ending()[1]["why"] == "dear"
    seen.last = PageFacts(title="lamp", price="$10.00", rating="4.0")
    assert (seen.ending()[1]["why"], seen.ending()[1]["several"]) == ("", "")
    seen.last["rating"], seen.looked = "3.9", ["p1", "p2"]
    assert (seen.ending()[1]["why"], seen.ending()[1]["several"]) == ("rated", "yes")
    seen.carted["p1", "red"] = PageFacts(title="lamp")
    assert seen.ending([("p1", "red")]) == ("decides later", PageFacts(title="lamp"))
    seen.take(act(PURCHASE, "p1"))
    assert seen.ending() == ("gives up", PageFacts(why="done"))
    seen.search("rug")
    assert seen.ending() == ("gives up", PageFacts(why="rest"))


def test_another_errand_forgets_what_was_searched_for():
    seen = SessionMemory(Decimal(10))
    seen.queries, seen.last, seen.looked = ["lamp"], PageFacts(title="lamp"), ["p1"]
    seen.begin()
    assert (seen.queries, seen.last, seen.looked) == ([], PageFacts(), [])


def thing(title, category="Lamps", brand=None):
    return SimpleNamespace(title=title, category=category, brand=brand)


@pytest.mark.parametrize(
    ("one", "other", "query", "alike"),
    [
        (thing("Oak table lamp"), thing("Steel lamp"), "red lamp", True),
        (thing("Oak table lamp"), thing("Steel lamp"), "oak", True),  # what the category holds
        (thing("Oak lamp"), thing("Oak lamp", category="Candles"), "lamp", False),
        (thing("Watercolor set", "Sets"), thing("Garden tool set", "Sets"), "watercolor set", False),
        (thing("USB mouse", "Accessories"), thing("USB hub", "Accessories"), "usb mouse", False),
        (thing("Red shade", "Shades"), thing("Red bulb", "Shades"), "shade red", False),
        (thing("Lamp Co shade", "Decor", "Lamp Co"), thing("Lamp Co bulb", "Decor", "Lamp Co"), "lamp", False),
    ],
)
def test_prices_are_compared_between_things_of_one_kind_alone(one, other, query, alike):
    assert is_comparable(one, other, query, Lamps()) == is_comparable(other, one, query, Lamps()) == alike


def test_a_price_is_read_to_the_cent():
    assert parse_fact_price(PageFacts(price="$1299.05")) == 129_905


class OneLamp:
    """A shop of one product and these colors."""

    colors = pa.array(["Red", "blue", "Deep Red", None])

    def __init__(self, title, color):
        self.thing = SimpleNamespace(title=title, color=color)

    def item(self, row):
        return self.thing


@pytest.mark.parametrize(
    ("title", "color", "query", "found"),
    [
        ("Norrvik Red lamp", "Red", "Blue lamp", ("Red", "Blue")),
        ("Norrvik RED lamp", "red", "blue lamp", ("RED", "blue")),
        ("Norrvik Deep Red lamp", "Deep Red", "red lamp", None),
        ("Norrvik Red lamp", "Red", "RED lamp", None),
        ("Norrvik lamp", "Red", "blue lamp", None),
        ("Norrvik Red lamp", "Red", "green lamp", None),
        ("Norrvik Red lamp", None, "blue lamp", None),
    ],
)
def test_another_color_is_named_as_the_page_and_the_search_write_it(title, color, query, found):
    page = SimpleNamespace(parts=(Element("h1", title),))
    browser = SimpleNamespace(store=OneLamp(title, color), view=SimpleNamespace(row=0), page=page)
    seen = SessionMemory(Decimal(1))
    assert find_color_mismatch(seen, browser) is None
    seen.queries.append(query)
    assert find_color_mismatch(seen, browser) == found
    wanted = next(word for word in query.split() if word != "lamp")
    page.parts += (Element("button", wanted),)
    assert find_color_mismatch(seen, browser) is None  # the page offers it
    page.parts = page.parts[:1]
    seen.ahead = [act(SEARCH, query="red lamp" if wanted.lower() != "red" else "blue lamp")]
    assert find_color_mismatch(seen, browser) is None  # it asks for another color next
    seen.ahead = [act(SEARCH, query=query)]
    assert find_color_mismatch(seen, browser) == found
    seen.take(act(CART, "p2"))
    assert find_color_mismatch(seen, browser) is None


def test_an_intent_says_what_is_searched_for_last_and_whether_something_old_is_bought():
    acts = log((0, SEARCH, "lamp"), (1, SEARCH, "oak lamp"), (2, CLICK, "p1"), (3, PURCHASE, "p1")).acts
    old = log((0, PURCHASE, "p1")).acts
    both = log((0, SEARCH, "wool rug"), (1, PURCHASE, "p1")).acts
    assert describe_intent([acts]) == "I am looking for oak lamp."
    assert describe_intent([old]) == "I want to buy something that I put in my cart before."
    assert describe_intent([acts, both]) == (
        "I am looking for oak lamp. I am looking for wool rug, and I want to buy something that is in my cart already."
    )


# What a model says


KNOWN = PageFacts(product="Oak lamp", price="$12.50", why="cheapest", page="results")


@pytest.mark.parametrize(
    "text",
    [
        "The Oak lamp at $12.50 is just my thing.",
        "I'll take a look at it.",
        "Let me see it!",
        "I’m curious about the Oak lamp.",
    ],
)
def test_a_models_honest_words_are_taken(text):
    assert find_model_rationale_fault(text, KNOWN, "oak_lamp.view_product") is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The lamp at $12 is fine with me.", "number"),
        ("I have seen 20 lamps.", "number"),
        ("The shopper opens it.", "first person"),
        ("We open it.", "first person"),
        ("I click oak_lamp.view_product.", "names an element"),
        ("I use the search_input.", "names an element"),
        ("I go on to nav.previous", "names an element"),
        ("I like it\nvery much.", "one line"),
        ("", "one line"),
        ("I like it. " * 50 + "Yes.", "too long"),
    ],
)
def test_a_models_other_words_are_not(text, fault):
    assert fault in find_model_rationale_fault(text, KNOWN, "oak_lamp.view_product")


def test_a_title_that_looks_like_an_element_may_be_said_and_an_element_may_not():
    title = "cart.add_to_cart lamp"
    seen = collect_page_words(title)
    assert find_rationale_fault(f"I like the {title}.", seen, "cart.add_to_cart") is None
    assert (
        find_rationale_fault("I press nav.previous for the lamp.", seen, "nav.previous")
        == "a rationale that names an element"
    )
    assert find_rationale_fault("I press cart.buy_now for the lamp.", seen, "") == "a rationale that names an element"


def test_numbers_may_be_written_with_commas_for_thousands():
    assert find_rationale_fault("I pay $1,299.05 for it.", {"1299.05"}, "") is None
    assert (
        find_rationale_fault("I pay $1,299.06 for it.", {"1299.05"}, "")
        == "a rationale with a number that no page shows"
    )


def test_the_first_person_is_a_word_of_its_own():
    assert not FIRST_PERSON.search("It is mini, meant for home; Ida likes it")
