"""What one dirty row becomes."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.reference import Domain, domains
from shopwright.pipeline.catalog.repair import money
from shopwright.pipeline.catalog.repair.category import guess_category, spell_category
from shopwright.pipeline.catalog.repair.money import convert_to_cents, read_price
from shopwright.pipeline.catalog.repair.text import clean_text
from shopwright.pipeline.catalog.sources import open_source
from shopwright.schemas.shop import Product

DATA = Path(__file__).parents[3] / "shared" / "data"
CLEAN = {
    "id": "B01",
    "title": "Koss Portapro",
    "brand": "Koss",
    "category": "Headphones",
    "color": "Teal",
    "price": "9.99",
}
REASONS = {
    "title missing",
    "title has no letters",
    "title longer than 2000 characters",
    *money.REASONS,
    "id is not one word",
    "unreadable row",
}
NO_RATE = re.compile("price in [A-Z]{3} without a rate")
REPAIRS = {
    "html entities or tags removed",
    "control characters removed",
    "id missing",
    "brand missing",
    "category case",
    "category guessed",
    "category missing",
    "color taken from the title",
    "price range: lowest taken",
    "price reduced: the lower one taken",
    "price in other digits",
    "price with a decimal comma",
    "price separator taken for thousands",
    "price rounded to cents",
    "price with a word for its magnitude",
    "price of zero: missing",
    "price on request: missing",
}
PIECES = [
    *"ab<>&;#x2/=' \t\n|](brand:,",
    "amp;",
    "lt;",
    "\u200b",
    "\u2028",
    "é",
    "e\u0301",
    "\ud800",
    "\u037e",
    "😀",
]
dirt = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


RATES = dict.fromkeys(["EUR", "GBP", "CHF", "INR"], 1.0)


def parse_price(value):
    return convert_to_cents(read_price(value), RATES)[0]


def product(**changes):
    row = normalize({**CLEAN, **changes}, source="file", licence="unknown", number=7)
    assert isinstance(row, dict), row
    return row


def rejected(**changes):
    row = normalize({**CLEAN, **changes}, source="file", licence="unknown", number=7)
    assert isinstance(row, list), row
    return row


def as_product(row):
    price = Decimal(row["price"]) / 100 if row["price"] is not None else Decimal(1)
    return Product(**{**row, "price": price})


def again(row):
    """A clean row as a source would give it."""
    raw = {**row, "price": None if row["price"] is None else Decimal(row["price"]) / 100}
    found = normalize(raw, source=row["source"], licence=row["source_licence"], number=7)
    return {**found, "price_written": row["price_written"]}


def test_a_clean_row_has_exactly_the_fields_of_a_product_and_no_repairs():
    row = product()
    assert set(row) == set(Product.model_fields) - {"fits"}  # read from the clean title by the stage
    assert row["repairs"] == []
    assert as_product(row).price == Decimal("9.99")


@pytest.mark.parametrize(
    ("value", "cents"),
    [
        ("$1,299.00", 129900),
        ("1.299,00", 129900),
        ("1 299,00 €", 129900),
        ("1\u202f299,00\u00a0€", 129900),
        ("1'299.00 CHF", 129900),
        ("1,29,999", 12999900),
        ("USD 12", 1200),
        ("US$12", 1200),
        ("₹499", 49900),
        ("12.5", 1250),
        ("12,50", 1250),
        ("12,-", 1200),
        ("$.99", 99),
        ("1,299", 129900),
        ("19.9950", 2000),
        ("1.299 €", 129900),
        ("129.000,50", 12900050),
        ("10.99 each", 1099),
        ("£10.99/ea.", 1099),
        ("from $10", 1000),
        ("&pound;5.00", 500),
        (12, 1200),
        (0.1 + 0.2, 30),
        (19.99, 1999),
        (1.005, 101),
        (Decimal("2.675"), 268),
        ("1000000", 100000000),
        ("", None),
        ("0", None),
        ("$0.00", None),
        (0, None),
        (None, None),
        ("None", None),
        ("nan", None),
        (float("nan"), None),
        (Decimal("sNaN"), None),
    ],
)
def test_a_price_is_read_to_the_cent_however_it_is_written(value, cents):
    assert parse_price(value) == cents


@pytest.mark.parametrize(
    "value",
    [
        "-5",
        "$-5.00",
        "-$5",
        -0.01,
        "1e309",
        float("inf"),
        "1000000.01",
        10**400,
        "0.001",
        "1e-999999999",
        "9" * 5000,
    ],
)
def test_an_absurd_price_is_a_reason(value):
    with pytest.raises(ValueError, match="absurd price"):
        parse_price(value)
    assert rejected(price=value) == ["absurd price"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *(
            (value, "price unreadable")
            for value in ["call 5", "12.34.56", "1,2345", "$", "12 for 3 for 4", "5 6", "0x10"]
        ),
        *(
            (value, "price unreadable")
            for value in [{"amount": 3}, True, "1e9999999999", "+5", "($5.00)", "19<sup>99</sup>"]
        ),
        ("1.299", "price separator ambiguous"),
        ("2 for $5", "price of several pieces"),
        ("$5/kg", "price of a measure or a month, not of the product"),
        ("£5 ex VAT", "price without tax"),
        ("Free", "price is free of charge"),
        ("¥1200", "price currency not said"),
        ("$12 €", "price in two currencies"),
        ("15 €", "price in EUR without a rate"),
    ],
)
def test_a_price_that_is_not_sure_is_a_reason(value, reason):
    assert rejected(price=value) == [reason]


@pytest.mark.parametrize(
    ("value", "note"),
    [
        (0, "price of zero: missing"),
        ("0.00", "price of zero: missing"),
        ("call for price", "price on request: missing"),
    ],
)
def test_a_price_that_says_that_there_is_none_is_missing_and_named(value, note):
    row = product(price=value)
    assert (row["price"], row["repairs"]) == (None, [note])


@pytest.mark.parametrize(
    "value",
    ["$10.00 - $20.00", "$20.00 to $10.00", "10-20", "$10.00$20.00", "USD 10.00 – 20.00", [10.0, 20.0], "from $10"],
)
def test_of_a_price_range_the_lowest_is_taken_and_named(value):
    row = product(price=value)
    assert row["price"] == 1000
    assert row["repairs"] == ["price range: lowest taken"]


def test_one_price_said_twice_is_no_range():
    assert product(price="$10.00 - $10.00")["repairs"] == []


@given(
    st.one_of(
        st.text(max_size=30),
        st.text("0123456789.,-$€ e", max_size=15),
        st.floats(),
        st.integers(),
        st.decimals(),
        st.none(),
    )
)
@example("٣٤")
@example("1e9999999999")
@example("0." + "9" * 400)
def test_reading_a_price_raises_nothing_but_its_reasons(value):
    try:
        cents = parse_price(value)
    except ValueError as error:
        assert str(error) in REASONS or NO_RATE.fullmatch(str(error))  # noqa: PT017
    else:
        assert cents is None or (type(cents) is int and 0 < cents <= 100_000_000)


@given(st.integers(1, 100_000_000))
def test_no_cent_is_lost_in_any_way_of_writing_it(cents):
    dollars, rest = divmod(cents, 100)
    european = f"{dollars:,}".replace(",", ".") + f",{rest:02} €"
    for written in [
        f"${dollars:,}.{rest:02}",
        f"{dollars}.{rest:02}",
        european,
        Decimal(cents) / 100,
        cents / 100,
    ]:
        assert parse_price(written) == cents


def test_html_is_unescaped_however_often_it_was_escaped_and_tags_go():
    row = product(
        title="Salt &amp;amp; Pepper<br/>Mill &lt;b&gt;XL&lt;/b&gt; <a href='x'>see</a>&nbsp;caf&eacute;&#33;"
    )
    assert row["title"] == "Salt & Pepper Mill XL see café!"
    assert row["repairs"] == ["html entities or tags removed"]


@pytest.mark.parametrize(
    "title",
    [
        "AT&T R&D pen&notebook;",
        "5 < 6 and 7 > 3 mm",
        "a <b and c> d",
        "x] (brand: y) || \"z'",
        "שלום 👍🏽 ‐ مرحبا",
    ],
)
def test_what_only_looks_like_dirt_stays(title):
    row = product(title=title)
    assert row["title"] == title
    assert row["repairs"] == []


def test_control_and_invisible_characters_go_and_are_named():
    row = product(title="A\u200bB\x00C\u2028D\ufeff\u202eE \ud800F")
    assert row["title"] == "ABC DE F"
    assert row["repairs"] == ["control characters removed"]


def test_plain_white_space_is_collapsed_without_a_word():
    row = product(title="  A\t\n B  ", description="a\r\nb")
    assert (row["title"], row["description"], row["repairs"]) == ("A B", "a b", [])


@given(dirt)
@example("&amp;" * 3 + "amp;lt;b&amp;gt;")
@example("&#&#8203;38;lt;")
@example("&amp\u037e")
def test_cleaning_text_twice_changes_nothing_and_leaves_no_control_character(value):
    once = clean_text(value, set())
    assert once is None or (
        once == " ".join(once.split()) and once.encode() and "\u200b" not in once and "\u2028" not in once
    )
    assert clean_text(once, repairs := set()) == once
    assert not repairs


def test_a_text_of_nothing_but_entities_is_cleaned_in_reasonable_time():
    assert clean_text("&" + "amp;" * 300_000 + "lt;", set()) == "<"
    assert clean_text("<a " * 100_000, set())
    assert clean_text("&#&#8203;" * 50_000 + "38;" * 50_000, set())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"title": None}, "title missing"),
        ({"title": " <br> "}, "title missing"),
        ({"title": float("nan")}, "title missing"),
        ({"title": "nan"}, "title missing"),
        ({"title": "12-34 !!"}, "title has no letters"),
        ({"title": "a" * 2001}, "title longer than 2000 characters"),
        ({"id": "two words"}, "id is not one word"),
        ({"id": "a || b"}, "id is not one word"),
        ({"id": "a\u200bb"}, "id is not one word"),
        ({"id": "a" * 65}, "id is not one word"),
        ({"unreadable": "wrong number of fields", "raw": "a,b"}, "unreadable row"),
    ],
)
def test_a_row_that_cannot_be_mended_says_why_in_a_fixed_sentence(changes, reason):
    assert rejected(**changes) == [reason]


def test_all_reasons_are_given_at_once():
    assert rejected(title="", id="a b", price=-1) == ["title missing", "absurd price", "id is not one word"]


def test_a_title_of_2000_characters_is_kept_whole():
    assert len(product(title="a" * 2000)["title"]) == 2000


@pytest.mark.parametrize(("value", "id"), [(12, "12"), (12.0, "12"), (" B01 ", "B01"), ("產品-1", "產品-1")])
def test_an_id_is_text(value, id):
    assert product(id=value)["id"] == id


@pytest.mark.parametrize("value", [None, "", "nan", float("nan")])
def test_a_missing_id_is_made_from_the_source_and_the_row(value):
    row = product(id=value)
    assert (row["id"], row["repairs"]) == ("file-7", ["id missing"])


@pytest.mark.parametrize(
    ("value", "brand"),
    [
        ("Visit the Koss Store", "Koss"),
        ("Brand: Koss", "Koss"),
        ("  Koss ", "Koss"),
        ("Black &amp; Decker", "Black & Decker"),
    ],
)
def test_a_brand_is_only_its_name(value, brand):
    assert product(brand=value)["brand"] == brand


@pytest.mark.parametrize("value", [None, "", "Unknown", "N/A", "generic", "none", "-", "Brand: unknown", float("nan")])
def test_no_brand_is_none_and_named(value):
    row = product(brand=value)
    assert (row["brand"], row["repairs"]) == (None, ["brand missing"])


@pytest.mark.parametrize(
    "value",
    [
        "home &amp; kitchen > desk lamps",
        "HOME & KITCHEN › DESK LAMPS",
        "Home & kitchen | Desk lamps",
        ["home & kitchen", "DESK lamps"],
        "['home & kitchen', 'desk lamps']",
        "home & kitchen > desk lamps > Desk Lamps",
    ],
)
def test_the_same_category_is_one_path_however_it_is_written(value):
    row = product(category=value)
    assert row["category_path"] == ["Home & Kitchen", "Desk Lamps"]
    assert row["category"] == "Desk Lamps"
    assert "category case" in row["repairs"]


def test_a_category_beside_a_path_is_its_leaf():
    row = product(category_path=["Audio"], category="Headphones")
    assert (row["category_path"], row["category"]) == (["Audio", "Headphones"], "Headphones")
    assert product(category_path=["Audio", "Headphones"], category="headphones")["category_path"] == [
        "Audio",
        "Headphones",
    ]


@given(st.text("abcdefg usbtv&'-ßİé1", min_size=1))
def test_a_name_has_one_spelling(name):
    assert spell_category(spell_category(name)) == spell_category(name)
    if name.isascii():
        assert spell_category(name.upper()) == spell_category(name.title()) == spell_category(name)


def shop(*leaves):
    """A reference of those leaves, with their nouns; the rest of a leaf does not matter here."""
    made = [
        domains()[0].leaves[0].model_copy(update={"name": name, "path": ["All"], "nouns": nouns})
        for name, nouns in leaves
    ]
    return [Domain.model_construct(name="Shop", brands=[], leaves=made)]


LEAVES = shop(
    ("Lamps", ["lamp", "light"]),
    ("Table Lamps", ["table lamp", "bedside lamp"]),
    ("Laptops", ["laptop"]),
    ("Refurbished Phones", ["phone", "refurbished phone"]),
    ("Washcloths", ["washcloth", "dish"]),
)


@pytest.mark.parametrize(
    ("title", "leaf"),
    [
        ("Norrvik oak TABLE LAMP, white", "Table Lamps"),
        ("Two bedside lamps for the table", "Table Lamps"),
        ("Norrvik floor lamp 12 in black", "Lamps"),
        ("Oak dishes", "Washcloths"),
        ("Dell laptop charger", None),
        ("Charger for Dell laptops", None),
        ("Table lamp shade", None),
        ("Clamps and lamplight", None),
        ("Nokia phone", None),
        ("Refurbished phone, Nokia", "Refurbished Phones"),
        ("", None),
    ],
)
def test_a_category_is_guessed_from_what_the_title_says_it_is(title, leaf):
    path = guess_category(title, LEAVES)
    assert path == (("Shop", "All", leaf) if leaf else None)


def test_every_leaf_of_the_reference_is_guessed_from_its_own_name():
    leaves = [(domain.name, leaf) for domain in domains() for leaf in domain.leaves]
    wrong = [leaf.name for name, leaf in leaves if guess_category(leaf.name) != (name, *leaf.path, leaf.name)]
    assert len(wrong) < len(leaves) / 20, wrong


def test_a_missing_category_is_guessed_or_said_to_be_missing():
    leaf = domains()[0].leaves[0]
    guessed = product(category=None, title=f"Norrvik {leaf.name}")
    assert guessed["category_path"] == [domains()[0].name, *leaf.path, leaf.name]
    assert guessed["repairs"] == ["category guessed"]
    missing = product(category=" ", title="Zzyzx qwrt")
    assert (missing["category_path"], missing["repairs"]) == (["Everything Else"], ["category missing"])


@pytest.mark.parametrize(
    ("title", "color"),
    [
        ("Koss headphones, black", "black"),
        ("Navy Blue shirt, navy blue", "navy blue"),
        ("A hundred washed redwood pens", None),
        ("Infrared thermometer", None),
        ("Black and white printer", None),
        ("Blue-ray disc and Blu-ray", None),
        ("White noise machine", None),
        ("18k gold plated chain", None),
    ],
)
def test_a_colour_is_taken_from_the_title_only_if_it_is_the_only_one_and_a_word_of_its_own(title, color):
    row = product(title=title, color=None)
    assert row["color"] == color
    assert ("color taken from the title" in row["repairs"]) == (color is not None)


def test_a_brand_that_is_called_like_a_colour_gives_no_colour():
    assert product(title="Black & Decker drill", brand="Black & Decker", color="n/a")["color"] is None


def test_attributes_come_from_every_way_of_writing_them():
    expected = [
        {"name": "Size", "value": "12 in", "number": 12.0, "unit": "in"},
        {"name": "Material", "value": "oak", "number": None, "unit": None},
    ]
    for value in [
        {"Size": "12 in", "Material": "oak", "Empty": "", "None": None, "Deep": {"a": 1}},
        [("Size", "12 in"), ("Material", "oak")],
        [["Size", "12 in"], ["Material", "oak"]],
        ["Size: 12 in", "Material: oak"],
        '{"Size": "12 in", "Material": "oak"}',
        expected,
        [{"Size": "12 in"}, {"Material": "oak"}],
    ]:
        assert product(attributes=value)["attributes"] == expected
    assert product(attributes=["easy carry"])["attributes"][0]["name"] == "feature"


@pytest.mark.parametrize(
    ("value", "number", "unit"),
    [
        ("12 in", 12.0, "in"),
        ("1,299 mAh", 1299.0, "mAh"),
        ("2.5GB", 2.5, "GB"),
        ("12 fl oz", 12.0, "fl oz"),
        ("3 pack", 3.0, "pack"),
        ("50%", 50.0, "%"),
        ("802.11n", None, None),
        ("7 x 5 inches", None, None),
        ("12", None, None),
        ("9" * 400 + " in", None, None),
    ],
)
def test_a_number_and_its_unit_are_read_from_a_value(value, number, unit):
    attribute = product(attributes={"size": value})["attributes"][0]
    assert (attribute["number"], attribute["unit"]) == (number, unit)


def test_a_model_number_is_no_quantity():
    assert product(attributes={"modelno": "10 b"})["attributes"][0]["number"] is None


def test_lists_options_and_figures_are_read():
    row = product(
        options={"Size": [{"value": "S"}, {"value": "M", "image": "u"}, "S"], "Color": None},
        bullets="• Warm &amp; soft\n• Oak base | Dimmable",
        rating="4.5 out of 5 stars",
        review_count="1,234 ratings",
        shipping_days="2-5 days",
        queries=[
            ("lamp", "Exact"),
            ("desk", 10),
            ("chair", "100.000"),
            ("sofa", "1"),
            ("x", "0"),
            ("y", "?"),
        ],
    )
    assert row["options"] == [{"name": "Size", "values": ["S", "M"]}]
    assert row["bullets"] == ["Warm & soft", "Oak base", "Dimmable"]
    assert (row["rating"], row["review_count"], row["shipping_days"]) == (4.5, 1234, 5)
    assert [query["grade"] for query in row["queries"]] == ["E", "S", "E", "C", "I"]
    as_product(row)


def test_figures_that_make_no_sense_are_missing_or_clipped():
    row = product(rating=0, review_count="-3", shipping_days="soon")
    assert (row["rating"], row["review_count"], row["shipping_days"]) == (None, None, None)
    assert product(rating=87)["rating"] == 5.0
    assert product(rating=0.4)["rating"] == 1.0
    assert product(rating=float("nan"), review_count=float("inf"))["rating"] is None


anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        dirt,
        st.text(max_size=20),
        st.decimals(),
        st.binary(max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(dirt, inner, max_size=3),
    max_leaves=6,
)
fields = st.fixed_dictionaries({}, optional=dict.fromkeys(Product.model_fields, anything))


@given(fields, dirt)
def test_any_row_becomes_a_valid_product_or_reasons_and_a_product_stays_as_it_is(raw, title):
    for row in [raw, {**CLEAN, **raw, "id": "B01", "title": "Lamp " + title, "price": "1"}]:
        done = normalize(row, source="file", licence="unknown", number=7)
        if isinstance(done, list):
            assert done
            assert {reason for reason in done if not NO_RATE.fullmatch(reason)} <= REASONS
            continue
        as_product(done).model_dump_json()
        assert set(done["repairs"]) <= REPAIRS
        assert done["repairs"] == sorted(set(done["repairs"]))
        assert {**again(done), "repairs": []} == {**done, "repairs": []}


@pytest.mark.parametrize(
    ("name", "rows"),
    [("walmart_amazon_tableB_amazon.csv", 22_074), ("walmart_amazon_tableA_walmart.csv", 2_554)],
)
def test_every_row_of_a_real_table_is_a_product_or_has_reasons(name, rows):
    if not (DATA / name).exists():
        pytest.skip("the real tables are not there")
    source = open_source(str(DATA / name))
    done = [
        normalize(raw, source=source.name, licence=source.licence, number=number)
        for number, raw in enumerate(source.read(0, len(source)))
    ]
    products = [row for row in done if isinstance(row, dict)]
    print(
        f"{name}: {len(products)} products, {rows - len(products)} rejected, {sum(p['price'] is None for p in products)} no price"
    )
    assert len(done) == rows
    assert len(products) > 0.99 * rows
    for row in products[:500]:
        as_product(row)
    assert all({**again(row), "repairs": []} == {**row, "repairs": []} for row in products[:500])
    assert sum(row["price"] is not None for row in products) > 0.8 * rows
