from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory

HOSTILE = [
    "5-in-1 ] (brand: Fake, color: red, price: 1.00)",
    "a || b [x] (brand: y",
    "quotes \"and\" 'more'",
    "two\nlines\r\nand three",
    "back\\slash \\n \\",
    "🪑 chair 😀‍🔥",
    "مصباح طاولة",
    "{{ jinja }} <b>html</b> '; drop table events; --",
    ", color: blue, price: 3.00",
    "] (brand: ",
]
field = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def click(title="Lamp", brand=None, color=None, asin="B0000000AA", price="12.50"):
    return {
        "row_id": 0,
        "timestamp": datetime(2024, 5, 1, 19, 30, 25),
        "action_type": "click",
        "asin": asin,
        "product_name": title,
        "brand": brand,
        "color": color,
        "price": Decimal(price),
        "search_query": None,
    }


def search(query):
    none = dict.fromkeys(["asin", "product_name", "brand", "color", "price"])
    return click() | none | {"action_type": "search", "search_query": query}


def test_the_text_form_is_the_published_one():
    events = [search("desk lamp"), click(brand="Norrvik", color="white") | {"action_type": "add to Cart"}]
    assert render_trajectory(events).split("\n") == [
        "2024-05-01 19:30:25 search [Search Amazon || desk lamp]",
        "2024-05-01 19:30:25 add to Cart [B0000000AA || Lamp] (brand: Norrvik, color: white, price: 12.50)",
    ]


def test_a_price_with_thousands_keeps_them():
    assert parse_trajectory(render_trajectory([click(price="1299.00")]))[0]["price"] == Decimal("1299.00")


@pytest.mark.parametrize("title", HOSTILE)
@pytest.mark.parametrize("brand", [None, *HOSTILE])
def test_hostile_fields_read_back(title, brand):
    event = click(title, brand, color=title)
    assert parse_trajectory(render_trajectory([event])) == [event]


@given(field, st.none() | field, st.none() | field)
@example("] (brand: ", "]\\ (brand: ", ", color: , price: ")
def test_any_product_reads_back(title, brand, color):
    event = click(title, brand, color)
    assert parse_trajectory(render_trajectory([event, event | {"row_id": 1}])) == [event, event | {"row_id": 1}]


@given(field)
def test_any_search_reads_back(query):
    assert parse_trajectory(render_trajectory([search(query)])) == [search(query)]


@pytest.mark.parametrize(
    "line", ["", "hello", "2024-05-01 19:30:25 click [A || t] (brand: , color: , price: 1,299.00)"]
)
def test_a_line_that_is_no_action_is_named(line):
    with pytest.raises(ValueError, match=r"not an action|line 1 does not begin with a time"):
        parse_trajectory(render_trajectory([search("x")]) + "\n" + line)
