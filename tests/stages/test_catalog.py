"""Each promise about a product, broken once; and what a catalog of the sample is."""

import copy
from collections import Counter
from datetime import date
from decimal import Decimal

import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.shop import Product
from tests.rows import list_faults

STAGE = all_stages()["catalog"]
PRICE = "price is not positive"
TITLE = "title is empty or has control characters"
LEAF = "category is not the last of its path"
LOWER = "promotion does not lower the price"
OVERLAP = "promotions overlap"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("catalog"), seed=5, workers=1)
    found.build("catalog", products=2_400, promoted=0.3)
    return found


@pytest.fixture(scope="session")
def products(run):
    return run.read("catalog").table().to_pylist()


@pytest.fixture
def product(products):
    """A product with two promotions or more, as of a shop's own file: what the sample composes has to keep more promises."""
    return copy.deepcopy(next(product for product in products if len(product["promotions"]) > 1)) | {"source": "own"}


def why(*rows):
    return [set(found) for found in reasons_against(STAGE, to_batch(Product, rows), {})]


def test_the_products_of_a_build_break_no_promise(run, products):
    assert why(*products) == [set()] * 2_400
    assert run.read("catalog").manifest.rejected == 0


def test_a_fact_of_the_sample_that_no_text_tells_fails(products):
    product = copy.deepcopy(products[0])
    picked = {option["name"] for option in product["options"]}
    fact = next(each for each in product["attributes"] if each["name"] not in picked)
    fact["value"] = "unheard of"
    assert why(product) == [{f"no text tells its {fact['name']}: unheard of"}]
    assert why(product | {"source": "own"}) == [set()]


@pytest.mark.parametrize("price", ["0", "-0.01", "-12.00"])
def test_a_price_of_nothing_or_less_fails(product, price):
    assert why(product | {"price": Decimal(price), "promotions": []}) == [{PRICE}]


def test_a_cent_is_a_price(product):
    assert why(product | {"price": Decimal("0.01"), "promotions": []}) == [set()]


@pytest.mark.parametrize("title", ["", "   ", "\t", " lamp", "lamp ", "a\x00b", "a\nb", "a\tb", "a\x1bb", "a\x7fb"])
def test_an_empty_title_or_one_with_control_characters_fails(product, title):
    assert why(product | {"title": title}) == [{TITLE}]


@pytest.mark.parametrize(
    "title",
    ["\u00a0", "\u2003lamp", "a\x85b", "a\x9fb", "\u200b"],
    ids=["no-break space", "em space", "next line", "a control of Latin-1", "zero width"],
)
def test_an_empty_title_or_a_control_character_beyond_ascii_fails(product, title):
    assert why(product | {"title": title}) == [{TITLE}]


@pytest.mark.parametrize("title", ["مصباح طاولة", "😀 lamp", "a || b] (brand: x", '"quoted"', "{{ x }}", "<b>lamp</b>"])
def test_a_title_of_any_script_or_signs_passes(product, title):
    assert why(product | {"title": title}) == [set()]


@pytest.mark.parametrize("path", [[], ["Home"], ["Home", "Lighting"], ["Lamps ", "lamps"]])
def test_a_category_that_is_not_the_last_of_its_path_fails(product, path):
    assert why(product | {"category_path": path, "category": "Lamps"}) == [{LEAF}]


def test_a_category_higher_in_its_path_fails(product):
    assert why(product | {"category": product["category_path"][0]}) == [{LEAF}]


@pytest.mark.parametrize("factor", ["1", "1.01", "0", "-1"])
def test_a_promotion_that_does_not_lower_the_price_fails(product, factor):
    price = (product["price"] * Decimal(factor)).quantize(Decimal("0.01"))
    product["promotions"][0] |= {"price": price}
    assert why(product) == [{LOWER}]


def test_a_promotion_that_ends_before_it_begins_fails(product):
    one = product["promotions"][0]
    assert why(product | {"promotions": [one | {"first_day": one["last_day"], "last_day": one["first_day"]}]}) == [
        {LOWER}
    ]


def test_promotions_that_share_a_day_fail(product):
    one, other = product["promotions"][:2]
    assert one["last_day"] < other["first_day"]
    assert why(product | {"promotions": [one, other | {"first_day": one["last_day"]}]}) == [{OVERLAP}]
    assert why(product | {"promotions": [one, one]}) == [{OVERLAP}]


def test_a_promotion_inside_a_longer_one_fails_wherever_it_stands(product):
    def dated(first, last):
        return {"first_day": date(2024, 5, first), "last_day": date(2024, 5, last), "price": Decimal("0.50")}

    assert why(product | {"promotions": [dated(1, 30), dated(5, 6)]}) == [{OVERLAP}]
    assert why(product | {"promotions": [dated(5, 6), dated(1, 30)]}) == [{OVERLAP}]
    assert why(product | {"promotions": [dated(1, 30), dated(5, 6), dated(20, 21)]}) == [{OVERLAP}]


def test_a_broken_product_does_not_make_its_neighbours_fail(product):
    assert why(product, product | {"title": ""}, product) == [set(), {TITLE}, set()]


# Across the whole catalog


def test_products_of_different_shards_may_not_share_an_id(tmp_path, products):
    one, other, third = products[:3]
    assert list_faults(STAGE, tmp_path, [one], [other], [third | {"id": one["id"]}]) == [(2, 0, "duplicate id")]


def test_products_may_not_share_a_title_whatever_its_case(tmp_path, products):
    one, other = products[:2]
    shouted = other | {"title": one["title"].upper()}
    assert list_faults(STAGE, tmp_path, [one], [shouted]) == [(1, 0, "duplicate title")]


def test_different_products_may_stay(tmp_path, products):
    assert list_faults(STAGE, tmp_path, products[:3]) == []


# What a build gives


def test_the_share_of_products_with_promotions_is_as_asked(products):
    share = sum(bool(product["promotions"]) for product in products) / len(products)
    assert 0.25 < share < 0.35


def test_no_promotions_when_none_are_asked_for(tmp_path):
    run = Run(tmp_path, seed=5, workers=1)
    run.build("catalog", products=1_200, promoted=0)
    assert not any(product.promotions for product in run.read("catalog"))


def test_another_seed_gives_other_products_and_the_same_seed_the_same(tmp_path, products):
    def titles(seed):
        run = Run(tmp_path / str(seed), seed=seed, workers=1)
        run.build("catalog", products=1_200, promoted=0.3)
        return run.read("catalog").table().to_pylist()

    assert titles(5) == products[:1_200]
    assert not {product["title"] for product in titles(6)} & {product["title"] for product in products}


def test_what_a_source_lacks_is_simulated_once_and_said(tmp_path):
    """A file with some prices missing: those are drawn from the others of the category, and flagged."""
    lines = [f"A{n},Norrvik oak lamp {n},lamps,{20 + n % 5 if n % 3 else ''}" for n in range(90)]
    (tmp_path / "shop.csv").write_text("id,title,category,price\n" + "\n".join(lines))

    def prices(name):
        run = Run(tmp_path / name, seed=5, workers=1)
        run.build("catalog", source=str(tmp_path / "shop.csv"), invent_prices=True)
        return {product.id: (product.price, product.price_is_simulated) for product in run.read("catalog")}

    found = prices("one")
    assert [flag for _, flag in found.values()] == [n % 3 == 0 for n in range(90)]
    assert all(Decimal(15) < price < Decimal(35) for price, _ in found.values())
    assert found == prices("other")


def test_what_cannot_be_mended_is_held_with_its_reason_and_counted(tmp_path):
    rows = ["1,oak lamp,12.00", "2,,9.00", "3,Oak Lamp,12.00", "3,ash lamp,8.00", "4,pine lamp,-3", "5,12345,3.00"]
    (tmp_path / "shop.csv").write_text("id,title,price\n" + "\n".join(rows))
    run = Run(tmp_path / "run", seed=5, workers=1)
    made = run.build("catalog", source=str(tmp_path / "shop.csv"))
    assert made.rejects == {
        "absurd price": 1,
        "duplicate id": 1,
        "duplicate title": 1,
        "title has no letters": 1,
        "title missing": 1,
    }
    assert (made.rows, made.rejected) == (1, 5)
    held = run.read("catalog").quarantine
    assert Counter(reason for record in held for reason in record.reasons) == made.rejects


# Money


def built(folder, *written, **settings):
    """A catalog of lamps with these prices, and its run; `said` gives the currency column."""
    said = settings.pop("said", [""] * len(written))
    rows = [f"{n}\tOak lamp {n}\t{text}\t{code}" for n, (text, code) in enumerate(zip(written, said, strict=True))]
    folder.mkdir(exist_ok=True)
    (folder / "shop.tsv").write_text("\n".join(["id\ttitle\tprice\tcurrency", *rows]), encoding="utf-8")
    run = Run(folder / "run", seed=5, workers=1)
    return run.build("catalog", source=str(folder / "shop.tsv"), invent_prices=True, **settings), run


def test_every_price_is_the_one_that_is_written(tmp_path):
    rates = {"JPY": 0.01, "EUR": 1.1}
    written = ["1.5k", "$1,299.00", "¥1200", "2 for $5", "12,50 €", "Free", "5.00-", "call for price", ""]
    made, run = built(tmp_path, *written, said=["", "", "JPY", *[""] * 6], currency="USD", rates=rates)
    assert not [reason for reason in made.rejects if reason.startswith("price is not as written")]
    assert made.rejects == {"absurd price": 1, "price is free of charge": 1, "price of several pieces": 1}
    found = {row["price_written"]: row for row in run.read("catalog").table().to_pylist()}
    assert {text: row["price"] for text, row in found.items() if not row["price_is_simulated"]} == {
        "1.5k": Decimal("1500.00"),
        "$1,299.00": Decimal("1299.00"),
        "¥1200 JPY": Decimal("12.00"),
        "12,50 €": Decimal("13.75"),
    }
    assert "price converted from JPY" in found["¥1200 JPY"]["repairs"]
    assert {row["currency"] for row in found.values()} == {"USD"}


@pytest.mark.parametrize(
    ("written", "settings", "said"),
    [
        (["19,99 €", "12 €", "$5"], {}, "are in EUR (2), and the shop's .* Give your rates: --rates EUR=DOLLARS"),
        (["¥120", "¥980"], {}, "2 of 2 prices .* do not say which currency they are in. Say it: --currency CODE"),
        (["¥120", "¥980"], {"currency": "JPY"}, "are in JPY (2), .* --rates JPY=DOLLARS"),
        (["12", "13", "14", "€5"], {}, "3 of 4 prices .* do not say"),
        (["12", "13"], {"currency": "SEK"}, "are in SEK (2), .* --rates SEK=DOLLARS"),
    ],
)
def test_a_catalog_in_another_currency_is_stopped_with_what_to_do(tmp_path, written, settings, said):
    with pytest.raises(Problem, match=said.replace("(", r"\(").replace(")", r"\)")):
        built(tmp_path, *written, **settings)


def test_a_few_prices_in_another_currency_are_held_back(tmp_path):
    made, _ = built(tmp_path, "$5", "$6", "$7", "8 €")
    assert (made.rows, made.rejects) == (3, {"price in EUR without a rate": 1})
    made, _ = built(tmp_path / "unmarked", *map(str, range(5, 45)), "8 €")
    assert (made.rows, made.rejects) == (40, {"price in EUR without a rate": 1})


def test_the_other_prices_of_a_column_say_what_one_does_not(tmp_path):
    made, run = built(tmp_path, "1.299 €", "12,50 €", "99,90", rates={"EUR": 1.0})
    assert [str(row.price) for row in run.read("catalog")] == ["1299.00", "12.50", "99.90"]
    assert made.rejected == 0
    made, run = built(tmp_path / "other", "1.299", "12.50", "99.90")
    assert [str(row.price) for row in run.read("catalog")] == ["1.30", "12.50", "99.90"]
    assert "price rounded to cents" in next(iter(run.read("catalog"))).repairs


def test_a_price_that_is_not_what_is_written_fails(product):
    row = product | {"price": Decimal("1.50"), "promotions": []}
    assert why(row | {"price_written": "1.5k"}) == [{"price is not as written: magnitude"}]
    assert why(row | {"price_written": "$1.50"}) == [set()]


def test_a_product_in_another_currency_than_the_shop_fails(product):
    assert why(product | {"currency": "EUR"}) == [{"currency is not the shop's"}]


def test_settings_of_money_and_licence_go_with_a_catalog_of_ones_own(tmp_path):
    for settings in ({"currency": "USD"}, {"rates": {"EUR": 1.1}}, {"licence": "MIT"}):
        with pytest.raises(Problem, match="go with a catalog of your own"):
            Run(tmp_path, seed=5, workers=1).build("catalog", products=60, **settings)
