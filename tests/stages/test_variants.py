"""Each promise about a variant, broken once; and what the variants of a build are like."""

import copy
from collections import defaultdict
from decimal import Decimal

import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.catalog.variants import (
    FEWEST,
    collect_values_by_leaf,
    draw_variant_offers,
    find_value_in_title,
    normalize_option_value,
)
from shopwright.pipeline.checks.titles import find_denied_choice
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Shard, reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.variants import (
    AGAINST,
    COUNT,
    DENIED,
    NOTHING,
    OTHER_PRICE,
    OTHERWISE,
    RAGGED,
    SAME,
    STRANGER,
    UNFIT,
    ProductFacts,
    find_variant_fault,
)
from shopwright.schemas.shop import Product, Variant
from tests.rows import list_faults, write_dataset

STAGE = all_stages()["variants"]
HDMI = {"name": "connector", "value": "HDMI", "number": None, "unit": None}
PLAIN = {
    "id": "p1",
    "title": "Oak stool, black, 18 in",
    "brand": None,
    "category_path": ["Home", "Stools"],
    "category": "Stools",
    "color": "black",
    "price": Decimal("49.95"),
    "price_is_simulated": False,
    "promotions": [],
    "attributes": [],
    "options": [],
    "description": None,
    "bullets": [],
    "rating": None,
    "review_count": None,
    "shipping_days": None,
    "queries": [],
    "repairs": [],
    "source": "sample",  # of another shop's things only some kinds come in several
    "source_licence": "unknown",
}


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("variants"), seed=5, workers=1)
    found.build("variants", products=2_400)
    return found


@pytest.fixture(scope="session")
def catalog(run):
    return {product["id"]: product for product in run.read("catalog").table().to_pylist()}


@pytest.fixture(scope="module")
def families(rows):
    found = defaultdict(list)
    for row in rows:
        found[row["product_id"]].append(row)
    return dict(found)


@pytest.fixture
def family(families):
    """A product whose title variant differs from others, to be broken."""
    return copy.deepcopy(next(iter(families.values())))


@pytest.fixture
def make_variants(tmp_path):
    """The variants of a catalog with these products."""

    def make(*products, seed=0, **settings):
        folder = tmp_path / f"made-{len(list(tmp_path.iterdir()))}"
        data = write_dataset(folder, "catalog", Product, [PLAIN | product for product in products])
        batches = list(STAGE.function(data, Shard(0, 1, seed), **settings))
        assert not any(reasons for batch in batches for reasons in reasons_against(STAGE, batch, {"catalog": data}))
        return [row for batch in batches for row in batch.to_pylist()]

    return make


def find_variant_reasons(run, *rows):
    return reasons_against(STAGE, to_batch(Variant, rows), {"catalog": run.read("catalog")})


def choices(variant):
    return {each["name"]: each["value"] for each in variant["choices"]}


def test_a_build_rejects_nothing(run):
    assert run.read("variants").manifest.rejected == 0


def test_every_product_has_its_title_variant_and_two_others_side_by_side(run, catalog, rows, families):
    assert list(families) == list(catalog)
    assert [row["product_id"] for row in rows] == [id for id, family in families.items() for _ in family]
    for id, family in families.items():
        assert [row["is_title"] for row in family].count(True) == 1
        assert FEWEST <= len(family) <= 5
        assert [row["id"] for row in family] == [f"{id}-{number}" for number in range(1, len(family) + 1)]


def test_the_title_variant_is_what_the_product_says_at_its_price(catalog, families):
    for id, family in families.items():
        title = next(row for row in family if row["is_title"])
        facts = {each["name"].replace("_", " "): each["value"] for each in catalog[id]["attributes"]}
        facts["color"] = catalog[id]["color"]
        assert all(facts[name] == value for name, value in choices(title).items())
        assert title["price"] == catalog[id]["price"]


def test_others_differ_and_one_of_them_in_a_single_option(families):
    for family in families.values():
        title = choices(next(row for row in family if row["is_title"]))
        apart = [
            sum(value != title[name] for name, value in choices(row).items()) for row in family if not row["is_title"]
        ]
        assert min(apart) == 1
        assert len({tuple(choices(row).values()) for row in family}) == len(family)


def test_options_are_the_pages_in_its_order(catalog, families):
    for id, family in families.items():
        page = [option["name"].replace("_", " ") for option in catalog[id]["options"]]
        assert all(list(choices(row))[: len(page)] == page for row in family)


def test_options_interact(families):
    """There are products of which every size and every color is sold, and not every pair of them."""
    found = 0
    for family in families.values():
        values = [{list(choices(row).values())[place] for row in family} for place in range(len(choices(family[0])))]
        grid = 1
        for one in values:
            grid *= len(one)
        found += len(family) < grid
    assert found > len(families) / 4


def test_the_place_of_a_variant_does_not_tell_that_it_is_the_titles(families):
    first = sum(family[0]["is_title"] for family in families.values()) / len(families)
    assert 0.2 < first < 0.4


def test_as_many_are_sold_out_as_wanted_and_few_products_wholly(rows, families):
    assert 0.06 < sum(row["stock"] == 0 for row in rows) / len(rows) < 0.10
    wholly = sum(not any(row["stock"] for row in family) for family in families.values())
    assert 0 < wholly / len(families) < 0.03


def test_nothing_is_sold_out_where_that_is_set(make_variants):
    assert all(
        row["stock"] > 0
        for row in make_variants(*({"id": f"p{n}", "title": f"stool {n}"} for n in range(50)), sold_out=0)
    )


def test_of_nine_tenths_sold_out_most_products_still_have_one(make_variants):
    rows = make_variants(*({"id": f"p{n}", "title": f"stool {n}"} for n in range(400)), sold_out=0.9)
    left = {row["product_id"] for row in rows if row["stock"]}
    assert len(left) > 380


def test_variants_are_those_of_the_product_wherever_it_stands(make_variants):
    products = [{"id": f"p{n}", "title": f"stool number {n}"} for n in range(20)]
    forth, back = make_variants(*products), make_variants(*reversed(products))
    assert sorted(forth, key=lambda row: row["id"]) == sorted(back, key=lambda row: row["id"])
    assert forth != make_variants(*products, seed=1)


@pytest.mark.parametrize(
    ("product", "name", "own"),
    [
        ({"title": "Oak stool, 18 in"}, "packaging", "standard packaging"),
        ({"title": "Bar stool, 18 in"}, "color", "black"),
        ({}, "packaging", "standard packaging"),
        (
            {"title": "printer cable", "color": None, "category_path": ["Cables"], "attributes": [HDMI]},
            "connector",
            "HDMI",
        ),
        ({"title": "hdmi cable 6 ft", "color": None, "category_path": ["Cables"], "attributes": [HDMI]}, "color", None),
        ({"title": "printer cable", "color": None, "category_path": ["Cables"]}, "color", None),
        ({"title": "running shoe", "color": None, "category_path": ["Men's Shoes"]}, "size", None),
        (
            {
                "attributes": [{"name": "Material", "value": "bamboo", "number": None, "unit": None}],
                "category_path": ["Kitchen"],
            },
            "material",
            "bamboo",
        ),
        (
            {"title": "Bar stool", "options": [{"name": "Seat_Height", "values": ["18 in", "24 in", "30 in"]}]},
            "seat height",
            None,
        ),
        ({"title": "Bar stool", "options": [{"name": "price", "values": ["1", "2", "3"]}]}, "color", "black"),
    ],
    ids=[
        "a wood, which may be a color",
        "a color",
        "a color that the title says",
        "a connector",
        "a connector that the title says",
        "no connector said",
        "a size",
        "its own material",
        "its page's",
        "no option named price",
    ],
)
def test_what_varies_most_naturally(make_variants, product, name, own):
    """What the product states beside its title; a size and a color need not be stated; what the title says does not vary."""
    rows = make_variants(product)
    assert {tuple(choices(row)) for row in rows} == {(name,)}
    title = choices(next(row for row in rows if row["is_title"]))[name]
    assert own is None or title == own


@pytest.mark.parametrize(
    "options",
    [
        [{"name": "color", "values": ["black"]}],
        [{"name": "color", "values": ["black", "Black"]}],
        [{"name": "size", "values": ["one size"]}, {"name": "color", "values": ["black"]}],
        [{"name": "legs", "values": ["four"]}],
        [{"name": "legs", "values": ["three", "four"]}, {"name": "legs", "values": ["five"]}],
    ],
)
def test_a_page_with_too_little_choice_still_has_three_variants(make_variants, options):
    assert len(make_variants({"options": options})) >= FEWEST


def test_a_page_with_very_much_choice_has_a_few_of_it(make_variants):
    options = [{"name": f"part {letter}", "values": [f"{letter}{n}" for n in range(200)]} for letter in "abcdef"]
    assert FEWEST <= len(make_variants({"options": options})) <= 5


def test_a_catalog_without_products_has_no_variants(make_variants):
    assert make_variants() == []


def test_a_larger_size_costs_more_and_prices_keep_their_ending(make_variants):
    options = [{"name": "storage", "values": ["64 GB", "128 GB", "256 GB"]}]
    stated = [{"name": "storage", "value": "128 GB", "number": 128.0, "unit": "GB"}]
    rows = make_variants({"title": "phone", "price": Decimal("399.99"), "options": options, "attributes": stated})
    costs = {choices(row)["storage"]: row["price"] for row in rows}
    assert costs["64 GB"] < costs["128 GB"] == Decimal("399.99") < costs["256 GB"]
    assert {price % 1 for price in costs.values()} == {Decimal("0.99")}


@pytest.mark.parametrize("price", ["0.01", "0.50", "9999999999.99"])
def test_the_cheapest_and_the_dearest_have_prices(make_variants, price):
    options = [
        {"name": "storage", "values": ["64 GB", "1 GB", "999 GB", "2 GB"]},
        {"name": "ram", "values": ["8 GB", "99 GB"]},
    ]
    assert all(
        row["price"] > 0 for row in make_variants({"title": "64 GB", "price": Decimal(price), "options": options})
    )


def other_value(row, value):
    return {"choices": [row["choices"][0] | {"value": value}, *row["choices"][1:]]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: {"product_id": "B000"}, STRANGER),
        (lambda row: {"choices": []}, NOTHING),
        (lambda row: other_value(row, "octarine"), UNFIT),
        (lambda row: {"choices": [*row["choices"], {"name": "wheels", "value": "four"}]}, UNFIT),
        (lambda row: {"choices": [*row["choices"], {"name": "stock", "value": "4"}]}, UNFIT),
        (lambda row: {"price": row["price"] + 1}, OTHER_PRICE),
        (lambda row: {"price": Decimal(0)}, "price is not positive"),
        (lambda row: {"stock": -1}, "stock below nothing"),
    ],
    ids=["stranger", "nothing", "value", "option", "reserved", "price", "free", "stock"],
)
def test_a_broken_promise_is_seen(run, family, change, reason):
    title = next(row for row in family if row["is_title"])
    assert find_variant_reasons(run, title) == [[]]
    assert reason in find_variant_reasons(run, title | change(title))[0]


def test_a_title_variant_that_the_title_denies_is_seen(run, family):
    title = next(row for row in family if row["is_title"])
    other = next(row for row in family if choices(row) != choices(title))
    assert DENIED in find_variant_reasons(run, title | {"choices": other["choices"]})[0]


def test_two_with_the_same_choices_are_seen(run, family):
    one, other, *_ = (row for row in family if not row["is_title"])
    twin = other | {"choices": one["choices"]}
    assert [SAME in found for found in find_variant_reasons(run, one, twin)] == [False, True]


def test_two_with_different_options_are_seen(run, family):
    one, other, *_ = family
    assert [RAGGED in found for found in find_variant_reasons(run, one, other | {"choices": other["choices"][:1]})] == [
        False,
        True,
    ]
    assert find_variant_reasons(run, one | {"choices": [one["choices"][0]] * 2}) == [[RAGGED]]


def test_a_product_without_its_title_or_two_others_is_held_back(tmp_path, families):
    (a, b, c) = (copy.deepcopy(family) for family in list(families.values())[:3])
    untitled = [row | {"is_title": False} for row in b]
    rows = [*a, *untitled, *c[:2]]
    assert set(list_faults(STAGE, tmp_path, rows)) == {(0, row, COUNT) for row in range(len(a), len(rows))}


def test_values_of_a_leaf_are_its_own_the_commonest_first(tmp_path, make_variants):
    make_variants(
        {"id": "a", "color": "teal"},
        {"id": "b", "color": "teal"},
        {"id": "c", "color": "plum"},
        {"id": "d", "category": "Beds"},
    )
    known = collect_values_by_leaf(Dataset(tmp_path / "made-0", "catalog", Product))
    assert known["Stools"]["color"] == ["teal", "plum"]
    assert known["Beds"]["color"] == ["black"]


@pytest.mark.parametrize(
    ("title", "values", "said"),
    [
        ("Blackstone stool", ["black"], None),
        ("12-inch pan", ["2 inch", "12 inch"], "12 inch"),
        ("1.5 l jug", ["5 l", "1.5 l"], "1.5 l"),
        ("jug", ["?"], None),
        ("", ["red"], None),
    ],
)
def test_a_title_names_a_value_by_whole_words(title, values, said):
    assert find_value_in_title(title, values) == said


def test_spelling_is_the_same_for_other_signs():
    assert normalize_option_value("USB-C") == normalize_option_value("usb c") != normalize_option_value("usb")


def test_offers_need_no_dataset():
    from random import Random

    names, found = draw_variant_offers(PLAIN | {"cents": 4995}, {}, Random(1), 0.1)
    assert names == ["packaging"]
    assert {offer.choices for offer in found if offer.is_title} == {("standard packaging",)}


@pytest.mark.parametrize(
    ("title", "options", "varies"),
    [
        ("Kettle, sage green", [{"name": "color", "values": ["cream", "sage green", "black"]}], {"packaging"}),
        ("Kettle, sage green", [{"name": "color", "values": ["cream", "black"]}], {"packaging"}),
        ("Film camera, graded fair", [{"name": "condition", "values": ["like new", "fair", "good"]}], {"color"}),
        ("SanDisk 16GB card", [{"name": "capacity", "values": ["16 GB", "32 GB", "64 GB"]}], {"color"}),
        ("Skillet, 12-inch", [{"name": "diameter", "values": ["10 in", "12 in", "14 in"]}], {"color"}),
        ("Kettle", [{"name": "color", "values": ["cream", "sage green", "black"]}], {"color"}),
        (
            "Kettle, black, 1 L",
            [{"name": "color", "values": ["cream", "black"]}, {"name": "lid", "values": ["flat", "round", "none"]}],
            {"lid"},
        ),
    ],
)
def test_what_a_title_says_does_not_vary(make_variants, title, options, varies):
    rows = make_variants({"title": title, "color": None, "options": options})
    values = defaultdict(set)
    for row in rows:
        for name, value in choices(row).items():
            values[name].add(value)
    assert {name for name, several in values.items() if len(several) > 1} == varies
    assert not any(find_denied_choice(title, choices(row).items()) for row in rows)


def test_a_cream_lip_color_may_be_of_any_color():
    assert (
        find_denied_choice("Pearlby cream lip color with jojoba oil, lasts 6 hours", [("color", "brick red")]) is None
    )
    assert find_denied_choice("Pearlby cream kettle", [("color", "brick red")]) == "color brick red"


OWN = [
    {"choices": [{"name": "Size", "value": "S"}], "price": Decimal("21.00"), "stock": None},
    {"choices": [{"name": "Size", "value": "M"}], "price": Decimal("19.50"), "stock": 0},
]


def test_variants_of_the_source_are_taken_as_they_are_and_invented_pieces_are_marked(make_variants):
    made = make_variants({"source": "shopify", "price": Decimal("19.50"), "variants": OWN})
    assert [(choices(row), row["price"], row["is_title"]) for row in made] == [
        ({"size": "S"}, Decimal("21.00"), False),
        ({"size": "M"}, Decimal("19.50"), True),
    ]
    assert not any(row["is_simulated"] for row in made)
    assert [row["stock_is_simulated"] for row in made] == [True, False]
    assert made[1]["stock"] == 0


def test_only_kinds_of_things_that_have_options_get_invented_ones(make_variants):
    board, shoe = {"id": "b", "title": "Board X570"}, {"id": "s", "title": "Canvas shoes"}
    board |= {"category_path": ["Parts", "Motherboards"], "category": "Motherboards", "color": None, "source": "file"}
    shoe |= {"category_path": ["Clothing", "Shoes"], "category": "Shoes", "color": None, "source": "file"}
    made = make_variants(board, shoe)
    (plain,) = [row for row in made if row["product_id"] == "b"]
    assert (plain["choices"], plain["price"], plain["is_simulated"]) == ([], Decimal("49.95"), False)
    invented = [row for row in made if row["product_id"] == "s"]
    assert len(invented) >= 3
    assert all(row["is_simulated"] and "size" in choices(row) for row in invented)


@pytest.mark.parametrize(
    "change",
    [{"price": Decimal("19.49")}, {"stock": 5}, {"is_simulated": True}, {"choices": [{"name": "size", "value": "L"}]}],
)
def test_a_variant_that_the_source_has_otherwise_is_seen(make_variants, tmp_path, change):
    product = PLAIN | {"source": "shopify", "price": Decimal("19.50"), "variants": OWN}
    row = make_variants(product)[1] | change
    data = write_dataset(tmp_path / "catalog", "catalog", Product, [product])
    (reasons,) = reasons_against(STAGE, to_batch(Variant, [row]), {"catalog": data})
    assert OTHERWISE in reasons


def test_a_variant_that_the_title_denies_is_seen():
    told = ProductFacts("Kettle, sage green", "Kettles", ("Home",), 100, {}, {"color": ["red", "cream"]})
    assert find_variant_fault(told, [("color", "cream")], 100, False, {}) == AGAINST
    assert find_variant_fault(told._replace(nameless="Kettle"), [("color", "cream")], 100, False, {}) is None
