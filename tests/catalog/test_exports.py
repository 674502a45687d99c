"""Exports of shops as they really come: every price to the cent, variants joined, and every product used, mended or rejected."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from decimal import Decimal

import pyarrow as pa
import pytest

from shopwright.pipeline.catalog.sources import BadSource, open_source
from shopwright.pipeline.commands.inspect import inspect_source, write_mapping
from shopwright.pipeline.run import Run
from tests.catalog.exported_shops import (
    DIRTY,
    FORMS,
    SHOPIFY,
    WITHOUT_PRICES,
    list_products,
    magento,
    nested_json,
    shopify,
    woocommerce,
    write_table,
)
from tests.outside.exports import compare


def build_shop(folder, form, count):
    """The run of an export of so many products, and what the program from outside reads in it."""
    path, read = form(folder, list_products(count))
    run = Run(folder / "run", seed=5, workers=1)
    run.build("catalog", source=str(path), invent_prices=form in WITHOUT_PRICES)
    run.build("variants")
    return path, read(path), run


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_price_of_an_export_is_its_products_to_the_cent_and_every_row_is_counted(tmp_path, form):
    path, written, run = build_shop(tmp_path, form, 40)
    products, made = run.read("catalog").table().to_pylist(), run.read("catalog").manifest
    assert not compare.list_faults(written, products, run.read("variants").table().to_pylist())
    assert made.rows >= 40
    assert all(product["price_is_simulated"] for product in products) == (form in WITHOUT_PRICES)
    reasons = {reason for _, price, reason in DIRTY if reason and (form not in WITHOUT_PRICES or price == "9.00")}
    assert set(made.rejects) >= {*reasons, "unreadable row"}
    facts = inspect_source(str(path), 0)
    unpriced = 0 if form in WITHOUT_PRICES else facts["without_price"]
    assert facts["used"] + facts["mended"] - unpriced == made.rows
    assert facts["rejected"] + unpriced == made.rejected
    assert facts["products"] == made.rows + made.rejected
    facts_named = {each["name"] for product in products for each in product["attributes"]}
    assert not any(name.startswith(("Meta", "In stock", "meta")) for name in facts_named)


def test_the_program_from_outside_sees_a_price_that_is_a_cent_off(tmp_path):
    path, read = shopify(tmp_path, [])
    product = {
        "id": "tee",
        "title": "Cotton Tee",
        "price": Decimal("19.98"),
        "price_is_simulated": False,
        "variants": [],
    }
    assert compare.list_faults(read(path), [product], []) == ["Cotton Tee: 19.98 instead of 19.99"]
    assert compare.list_faults(read(path), [product | {"price": Decimal("19.99"), "variants": [1]}], [])


def built_variants(folder, form):
    run = Run(folder / "run", seed=5, workers=1)
    run.build("variants", source=str(form(folder, [])[0]))
    by_id = {product["id"]: product for product in run.read("catalog").table().to_pylist()}
    return by_id, [
        (row["product_id"], {each["name"]: each["value"] for each in row["choices"]}, str(row["price"]), row["stock"])
        for row in run.read("variants").table().to_pylist()
    ]


def test_rows_of_a_handle_are_variants_and_its_html_is_read_as_a_page(tmp_path):
    products, variants = built_variants(tmp_path, shopify)
    assert products["tee"]["description"] == "Soft & warm"
    assert [row for row in variants if row[0] == "tee"] == [
        ("tee", {"size": "S", "color": "Red"}, "19.99", 5),
        ("tee", {"size": "M", "color": "Red"}, "21.99", 0),
    ]


def test_variations_find_their_parent_before_or_behind_them_by_number_or_sku(tmp_path):
    _, variants = built_variants(tmp_path, woocommerce)
    assert [row for row in variants if row[0] == "HOOD"] == [
        ("HOOD", {"color": "Blue", "size": "S"}, "40.00", 3),
        ("HOOD", {"color": "Red", "size": "M"}, "45.00", 0),
    ]


def test_simple_products_of_a_configurable_one_are_its_variants(tmp_path):
    products, variants = built_variants(tmp_path, magento)
    assert [row for row in variants if row[0] == "MH"] == [
        ("MH", {"size": "S"}, "52.00", 100),
        ("MH", {"size": "M"}, "54.50", 0),
    ]
    assert products["MH"]["title"] == "Chaz Hoodie"
    assert {each["name"]: each["value"] for each in products["MH"]["attributes"]} == {
        "material": "Fleece",
        "fit": "Slim",
    }
    assert products["MH"]["category_path"] == ["Men", "Tops"]


TEXT = "id,name,price\n" + "".join(f"{n},Müsli Schüssel {n},{n}.50\n" for n in range(1, 30))


def pack(name, data):
    if name.endswith(".zip"):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as file:
            file.writestr("folder/shop.csv", data)
            file.writestr("__MACOSX/._shop.csv", b"\0")
        return whole.getvalue()
    pack = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda each: pa.compress(each, "zstd", asbytes=True),
    }
    return pack[name.rpartition(".")[2]](data)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst", "a.zip"])
def test_a_packed_file_is_read_from_any_place(tmp_path, name):
    (tmp_path / name).write_bytes(pack(name, TEXT.encode()))
    source = open_source(str(tmp_path / name))
    assert [raw["title"] for raw in source.read(9, 11)] == ["Müsli Schüssel 10", "Müsli Schüssel 11"]
    assert len(source) == 29


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings_keep_their_words(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes(TEXT.encode(encoding))
    assert next(open_source(str(tmp_path / "a.csv")).read(3, 4))["title"] == "Müsli Schüssel 4"


def test_a_folder_a_pattern_and_several_sources_are_one_shop(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"id,name,price\n1,Lamp {name},5.00\n")
    assert [raw["title"] for raw in open_source(str(tmp_path)).read(0, 9)] == ["Lamp a", "Lamp b"]
    assert len(open_source(str(tmp_path / "*.csv"))) == 2
    run = Run(tmp_path / "run", seed=5, workers=1)
    run.build("catalog", source=[str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], licence="CC-BY-4.0")
    assert [(row.id, row.source, row.source_licence) for row in run.read("catalog")] == [
        ("1-1", "file 1", "CC-BY-4.0"),
        ("2-1", "file 2", "CC-BY-4.0"),
    ]


def test_a_feed_in_xml_is_read(tmp_path):
    (tmp_path / "feed.xml").write_text(
        '<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel><title>Shop</title><item><g:id>A</g:id>'
        "<g:title>Lamp &amp; Co</g:title><g:link>https://x.y</g:link><g:price>19.99 USD</g:price><g:availability>in stock</g:availability>"
        "<g:shipping><g:price>5 USD</g:price></g:shipping></item></channel></rss>"
    )
    (raw,) = open_source(str(tmp_path / "feed.xml")).read(0, 9)
    assert (raw["title"], raw["price"]) == ("Lamp & Co", "19.99 USD")


def test_a_price_that_would_be_invented_stops_the_build_until_somebody_says_yes_or_no(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,price\n1,Lamp,5.00\n2,Mug,\n")

    def build(**settings):
        return Run(tmp_path / str(len(list(tmp_path.iterdir()))), seed=5, workers=1).build(
            "catalog", source=str(tmp_path / "a.csv"), **settings
        )

    with pytest.raises(BadSource, match=r"1 of 2 products .* --invent-prices draws .* --invent-prices no"):
        build()
    assert (build(invent_prices=True).rows, build(invent_prices=False).rejects) == (
        2,
        {"no price, and none is invented": 1},
    )


def test_a_column_that_may_be_a_price_and_is_not_used_stops_the_build(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,price,member price\n1,Lamp,5.00,4.00\n2,Mug,6.00,3.00\n")
    with pytest.raises(BadSource, match="'member price', which may be a price"):
        Run(tmp_path / "run", seed=5, workers=1).build("catalog", source=str(tmp_path / "a.csv"))
    run = Run(tmp_path / "run", seed=5, workers=1)
    run.build("catalog", source=str(tmp_path / "a.csv"), columns={"price": "member price"})
    assert [row.price for row in run.read("catalog")] == [Decimal("4.00"), Decimal("3.00")]


def test_a_price_that_is_an_object_in_one_row_costs_that_row_alone(tmp_path):
    rows = [{"id": n, "title": f"Lamp {n}", "price": {"a": 1} if n == 2 else f"{n}.00"} for n in range(1, 5)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = Run(tmp_path / "run", seed=5, workers=1)
    made = run.build("catalog", source=str(tmp_path / "a.jsonl"), invent_prices=False)
    assert (made.rows, made.rejected) == (3, 1)
    assert sorted(row.price for row in run.read("catalog")) == [Decimal("1.00"), Decimal("3.00"), Decimal("4.00")]


@pytest.mark.parametrize("form", [shopify, woocommerce, magento, nested_json], ids=lambda form: form.__name__)
def test_a_mapping_that_is_written_builds_the_same_catalog(tmp_path, form):
    path, _ = form(tmp_path, list_products(40))
    write_mapping(str(path), str(tmp_path / "my-shop.toml"))
    first, second = open_source(str(path)), open_source(str(tmp_path / "my-shop.toml"))
    assert list(first.read(0, 199)) == list(second.read(0, 199))


def test_a_mapping_with_a_mistake_says_where_it_is(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,price\n1,Lamp,5.00\n")
    (tmp_path / "a.toml").write_text('source = "a.csv"\n[columns]\ntitel = ["name"]\n')
    with pytest.raises(BadSource, match=r"no field 'titel'. Did you mean title"):
        open_source(str(tmp_path / "a.toml"))
    (tmp_path / "a.toml").write_text('source = "a.csv"\n[columns]\ntitle = ["nmae"]\n')
    with pytest.raises(BadSource, match=r"has no column 'nmae'. Did you mean name"):
        open_source(str(tmp_path / "a.toml"))


NEW_SHOPIFY = (
    "Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,Option1 value,"
    "Option1 Linked To,Option2 name,Option2 value,Option2 Linked To,Option3 name,Option3 value,Option3 Linked To,Price,Compare-at price,"
    "Cost per item,Charge tax,Tax code,Unit price total measure,Inventory tracker,Inventory quantity,Continue selling when out of stock,"
    "Weight value (grams),Weight unit for display,Requires shipping,Fulfillment service,Product image URL,Image position,Image alt text,"
    "Variant image URL,Gift card,SEO title,SEO description"
)


def test_the_new_headers_of_shopify_are_read(tmp_path):
    tee = {"URL handle": "tee", "Option1 name": "Size", "Charge tax": "TRUE"}
    first = tee | {
        "Title": "Cotton tee",
        "Description": "<p>Soft &amp; warm</p>",
        "Vendor": "Norrvik",
        "Type": "Shirts",
    }
    first |= {"Status": "Active", "Option1 value": "S", "Price": "19.99", "Compare-at price": "25.00"}
    first |= {"Cost per item": "8.00", "Inventory quantity": "5", "SKU": "T-S", "Weight value (grams)": "200"}
    second = tee | {"Option1 value": "M", "Price": "21.99", "Inventory quantity": "0", "SKU": "T-M"}
    path = write_table(tmp_path / "products.csv", NEW_SHOPIFY, [first, second])
    raw, broken = open_source(str(path)).read(0, 9)
    assert broken["unreadable"] == "wrong number of fields"
    assert (raw["id"], raw["title"], raw["brand"], raw["price"]) == ("tee", "Cotton tee", "Norrvik", "19.99")
    assert [(dict(each["choices"]), each["price"], each["stock"]) for each in raw["offers"]] == [
        ({"Size": "S"}, "19.99", "5"),
        ({"Size": "M"}, "21.99", "0"),
    ]
    assert "refused" not in raw


BIGCOMMERCE_2 = (
    "Item Type,Product ID,Product Name,Product Type,Product Code/SKU,Bin Picking Number,Brand Name,Option Set,Option Set Align,"
    "Product Description,Price,Cost Price,Retail Price,Sale Price,Fixed Shipping Cost,Free Shipping,Product Warranty,Product Weight,"
    "Product Width,Product Height,Product Depth,Allow Purchases?,Product Visible?,Product Availability,Track Inventory,Current Stock Level,"
    "Low Stock Level,Category,Product Image File - 1,Search Keywords,Page Title,Product Condition"
)


def test_the_second_form_of_bigcommerce_is_read_with_its_rows_of_skus(tmp_path):
    shirt = {"Item Type": "Product", "Product ID": "77", "Product Name": "Cotton shirt", "Product Code/SKU": "CS"}
    shirt |= {
        "Price": "30.00",
        "Cost Price": "10.00",
        "Retail Price": "35.00",
        "Sale Price": "0.00",
        "Brand Name": "Norrvik",
    }
    shirt |= {"Product Visible?": "Y", "Category": "Clothes/Shirts", "Product Description": "<p>Soft</p>"}
    small = {"Item Type": "  SKU", "Product Name": "[S]Size=Small,[RT]Color=Red", "Product Code/SKU": "CS-S"}
    large = {
        "Item Type": "  SKU",
        "Product Name": "[S]Size=Large,[RT]Color=Red",
        "Product Code/SKU": "CS-L",
        "Price": "32.00",
    }
    rule = {"Item Type": "  Rule", "Product Code/SKU": "CS-R", "Price": "[FIXED]99"}
    mug = {
        "Item Type": "Product",
        "Product ID": "78",
        "Product Name": "Mug",
        "Product Code/SKU": "MG",
        "Price": "12.00",
    }
    hidden = mug | {"Product ID": "79", "Product Name": "Hidden mug", "Product Code/SKU": "HM", "Product Visible?": "N"}
    rows = [shirt, small | {"Current Stock Level": "4"}, large, rule, mug | {"Sale Price": "9.99"}, hidden]
    path = write_table(tmp_path / "products.csv", BIGCOMMERCE_2, rows)
    one, other, third, _ = open_source(str(path)).read(0, 9)
    assert (one["id"], one["title"], one["brand"], one["category_path"]) == (
        "CS",
        "Cotton shirt",
        "Norrvik",
        ["Clothes", "Shirts"],
    )
    assert [(dict(each["choices"]), each["price"], each["stock"]) for each in one["offers"]] == [
        ({"Size": "Small", "Color": "Red"}, "30.00", "4"),
        ({"Size": "Large", "Color": "Red"}, "32.00", None),
    ]
    assert other["price"] == "9.99"
    assert third["refused"] == "not for sale: Product Visible? is N"


PAGE = """<!doctype html><html><head><meta property="og:title" content="Oak lamp"><meta property="og:type" content="product">
<meta property="product:price:amount" content="19.99"><meta property="product:price:currency" content="USD">{}</head><body><p>Buy</p></body></html>"""
LINKED = """<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [{"@type": "WebPage", "name": "Shop"},
{"@type": "Product", "name": "Oak lamp & shade", "sku": "L1", "offers": {"@type": "Offer", "price": "24.50", "priceCurrency": "USD"}}]}</script>"""


def test_pages_are_read_by_what_they_say_to_machines(tmp_path):
    (tmp_path / "a.html").write_text(PAGE.replace("{}", LINKED))
    (tmp_path / "b.html").write_text(PAGE.replace("{}", ""))
    (tmp_path / "c.html").write_text("<html><body>About us</body></html>")
    linked, *_ = open_source(str(tmp_path / "a.html")).read(0, 9)
    assert (linked["title"], linked["id"], linked["price"], linked["currency"]) == (
        "Oak lamp & shade",
        "L1",
        "24.50",
        "USD",
    )
    graph, *_ = open_source(str(tmp_path / "b.html")).read(0, 9)
    assert (graph["title"], graph["price"], graph["currency"]) == ("Oak lamp", "19.99", "USD")
    with pytest.raises(BadSource):
        open_source(str(tmp_path / "c.html"))


BODY = """<div class="rte"><style>.a{color:red}</style><h2>Soft &amp; warm</h2><ul><li>Cotton</li><li>Washable</li></ul><!-- old -->
<script>track("<p>no</p>")</script><p>Größe: M&nbsp;–&nbsp;L<br>Made in Portugal</p><img src=x onerror=alert(1)></div>"""


def test_a_body_of_html_becomes_the_words_that_a_shopper_reads(tmp_path):
    row = {"Handle": "tee", "Title": "Cotton tee", "Body (HTML)": BODY, "Type": "Shirts", "Variant Price": "19.99"}
    row |= {"Option1 Name": "Title", "Option1 Value": "Default Title"}
    path = write_table(tmp_path / "shopify.csv", SHOPIFY, [row])
    run = Run(tmp_path / "run", seed=5, workers=1)
    run.build("catalog", source=str(path))
    (product,) = run.read("catalog")
    assert product.description.split() == "Soft & warm Cotton Washable Größe: M – L Made in Portugal".split()
