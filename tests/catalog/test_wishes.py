"""Which attributes are asked for: what a shop keeps for itself is not, and what tells one thing from another is."""

from random import Random

import pyarrow as pa
import pytest

from shopwright.pipeline.catalog.wishes import find_unwished_names, judge_attributes

ROWS = 60
PLUMBING = {
    "meta: uag css file name": lambda number, random: f"uag-css-{number}.css",
    "In stock?": lambda number, random: "1",
    "Published": lambda number, random: "1",
    "gtin": lambda number, random: f"40{number:011}",
    "bin": lambda number, random: f"AX-{number:05}",
    "lead picture": lambda number, random: f"https://shop.example/i/{number}.jpg",
    "asset": lambda number, random: f"large-{number}.webp",
    "first seen": lambda number, random: f"2023-0{1 + number % 9}-1{number % 10}T09:00:00",
    "wishlist count": lambda number, random: str(random.randrange(400)),
    "washable": lambda number, random: random.choice(["yes", "no"]),
    "maker's land": lambda number, random: "Portugal",
    "serial": lambda number, random: f"unit {number} of sixty",
    "care": lambda number, random: f"Wash it by hand, at {20 + number % 3} degrees. Do not dry it in the sun.",
    "depth": lambda number, random: str(round(random.uniform(1, 40), 2)),
    "blob": lambda number, random: f'{{"a": {number % 4}}}',
    "type": lambda number, random: random.choice(["simple", "variable"]),
}
WISHES = {
    "material": lambda number, random: random.choice(["oak", "beech", "recycled pine wood"]),
    "height": lambda number, random: f"{random.uniform(1, 40):.2f} cm",
    "keyboard layout": lambda number, random: random.choice(["QWERTY", "AZERTY"]),
    "handle material": lambda number, random: random.choice(["steel", "wood"]),
    "processor": lambda number, random: random.choice(["i5-2430M", "i7-2640M", "E-350"]),
    "age": lambda number, random: random.choice(["ages 3 and up", "ages 8 and up"]),
    "style_name": lambda number, random: random.choice(["plain", "striped"]),
    "材质": lambda number, random: random.choice(["棉", "羊毛"]),
}


@pytest.fixture(scope="module")
def rows():
    random = Random(4)
    made = {**PLUMBING, **WISHES}
    return [
        {"attributes": [{"name": name, "value": draw(number, random)} for name, draw in made.items()]}
        for number in range(ROWS)
    ]


def test_what_a_shop_keeps_for_itself_is_not_asked_for_and_each_has_a_reason(rows):
    judged = {each.name: each.reason for each in judge_attributes(rows)}
    assert {name for name, reason in judged.items() if reason} == set(PLUMBING)
    assert {judged[name] for name in ("serial", "bin")} == {"another for each product"}
    assert judged["maker's land"] == "the same for all"
    assert judged["care"] == "free text"


def test_the_column_of_a_catalog_is_judged_as_its_rows_are(rows):
    column = pa.array([row["attributes"] for row in rows])
    wanted = {each.name.replace("_", " ") for each in judge_attributes(rows) if each.reason}
    assert find_unwished_names(column) == wanted


def test_a_name_of_two_products_is_no_wish_and_of_three_may_be():
    rows = [{"attributes": [{"name": "lining", "value": value}]} for value in ("silk", "wool", "felt")]
    assert [each.is_asked_for for each in judge_attributes(rows)] == [True]
    assert [each.is_asked_for for each in judge_attributes(rows[:2])] == [False]


def test_nothing_of_the_sample_shop_is_the_shops_own(small):
    catalog = small.read("catalog").table(["attributes"])["attributes"]
    few = {"", "of fewer than three products"}
    assert not [
        each
        for each in judge_attributes({"attributes": each} for each in catalog.to_pylist())
        if each.reason not in few
    ]
