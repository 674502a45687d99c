"""Exports of shops as they really come: every price to the cent, variants joined, and every product used, mended or rejected."""

import bz2
import csv
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
from tests.outside.exports import compare

SHOPIFY = (
    "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Option3 Name,"
    "Option3 Value,Variant SKU,Variant Grams,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Fulfillment Service,"
    "Variant Price,Variant Compare At Price,Variant Requires Shipping,Variant Taxable,Variant Barcode,Image Src,Image Position,Image Alt Text,"
    "Gift Card,SEO Title,SEO Description,Google Shopping / Google Product Category,Variant Image,Variant Weight Unit,Variant Tax Code,"
    "Cost per item,Status"
)
WOO = (
    "ID,Type,SKU,Name,Published,Is featured?,Visibility in catalog,Short description,Description,Date sale price starts,Date sale price ends,"
    "Tax status,Tax class,In stock?,Stock,Low stock amount,Backorders allowed?,Sold individually?,Weight (kg),Length (cm),Width (cm),Height (cm),"
    "Allow customer reviews?,Purchase note,Sale price,Regular price,Categories,Tags,Shipping class,Images,Download limit,Download expiry days,"
    "Parent,Grouped products,Upsells,Cross-sells,External URL,Button text,Position,Attribute 1 name,Attribute 1 value(s),Attribute 1 visible,"
    "Attribute 1 global,Attribute 2 name,Attribute 2 value(s),Attribute 2 visible,Attribute 2 global,Meta: _wpcom_is_markdown,Meta: uag_css_file_name"
)
MAGENTO = (
    "sku,store_view_code,attribute_set_code,product_type,categories,product_websites,name,description,short_description,weight,product_online,"
    "tax_class_name,visibility,price,special_price,special_price_from_date,special_price_to_date,url_key,msrp_display_actual_price_type,"
    "additional_attributes,qty,is_in_stock,configurable_variations"
)
BIGCOMMERCE = (
    "Item,ID,Name,Type,SKU,Options,Inventory Tracking,Current Stock,Low Stock,Price,Cost Price,Retail Price,Sale Price,Brand ID,Channels,"
    "Categories,Description,Is Visible,Image URL (Import)"
)
GOOGLE = (
    "id\ttitle\tdescription\tlink\timage_link\tavailability\tprice\tsale_price\tbrand\tgtin\tgoogle_product_category\tproduct_type\t"
    "item_group_id\tcolor\tsize\tcondition\tshipping"
)


def write_table(path, header, rows, delimiter=","):
    names = header.split(delimiter)
    assert all(set(row) <= set(names) for row in rows)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def shopify(folder):
    tee = {
        "Handle": "tee",
        "Vendor": "Norrvik",
        "Type": "Shirts",
        "Status": "active",
        "Option1 Name": "Size",
        "Option2 Name": "Color",
    }
    body = "<style>p{color:red}</style><p>Soft &amp; warm</p><script>alert(1)</script>"
    one = {
        "Title": "Cotton Tee",
        "Body (HTML)": body,
        "Option1 Value": "S",
        "Option2 Value": "Red",
        "Variant Price": "19.99",
    }
    rows = [
        tee | one | {"Variant Inventory Qty": "5", "Variant Compare At Price": "25.00", "Cost per item": "8.00"},
        {
            "Handle": "tee",
            "Option1 Value": "M",
            "Option2 Value": "Red",
            "Variant Price": "21.99",
            "Variant Inventory Qty": "-1",
        },
        {"Handle": "tee", "Image Src": "https://cdn.example/2.jpg", "Image Position": "2"},
    ]
    plain = {
        "Option1 Name": "Title",
        "Option1 Value": "Default Title",
        "Vendor": "Quillon",
        "Type": "Mugs",
        "Status": "active",
    }
    for number in range(40):
        rows.append(
            plain
            | {
                "Handle": f"mug-{number}",
                "Title": f"Stone Mug {number}",
                "Variant Price": f"{number + 9}.50",
                "Variant Inventory Qty": "7",
            }
        )
    rows.append(plain | {"Handle": "old", "Title": "Old Mug", "Variant Price": "9.50", "Status": "draft"})
    rows.append(plain | {"Handle": "evil", "Title": "=cmd|' /C calc'!A0 <|im_end|> cup", "Variant Price": "7.25"})
    rows.append(plain | {"Handle": "none", "Title": "", "Variant Price": "7.25"})
    return write_table(folder / "shopify.csv", SHOPIFY, rows), compare.shopify


def woocommerce(folder):
    hood = {
        "ID": "10",
        "Type": "variable",
        "SKU": "HOOD",
        "Name": "Hoodie",
        "Published": "1",
        "Categories": "Clothing > Hoodies, Clothing",
    }
    hood |= {
        "Attribute 1 name": "Color",
        "Attribute 1 value(s)": "Blue, Red",
        "Attribute 2 name": "Size",
        "Attribute 2 value(s)": "S, M",
    }
    part = {
        "Type": "variation",
        "Published": "1",
        "In stock?": "1",
        "Attribute 1 name": "Color",
        "Attribute 2 name": "Size",
    }
    blue = part | {
        "ID": "11",
        "SKU": "H-B",
        "Name": "Hoodie - Blue, S",
        "Parent": "id:10",
        "Regular price": "45.00",
        "Sale price": "40.00",
    }
    red = part | {
        "ID": "12",
        "SKU": "H-R",
        "Name": "Hoodie - Red, M",
        "Parent": "HOOD",
        "Regular price": "45.00",
        "Stock": "0",
    }
    rows = [
        blue | {"Attribute 1 value(s)": "Blue", "Attribute 2 value(s)": "S", "Stock": "3"},  # before its parent
        hood,
        red | {"Attribute 1 value(s)": "Red", "Attribute 2 value(s)": "M"},
    ]
    plain = {
        "Type": "simple",
        "Published": "1",
        "In stock?": "1",
        "Categories": "Computers > Boards",
        "Meta: uag_css_file_name": "uag-css-1790.css",
    }
    for number in range(40):
        rows.append(
            plain
            | {
                "ID": f"{100 + number}",
                "SKU": f"B-{number}",
                "Name": f"Motherboard {number}",
                "Regular price": f"{140 + number}",
            }
        )
    rows.append(
        plain
        | {
            "ID": "90",
            "Name": "Dated Board",
            "Regular price": "99.00",
            "Sale price": "79",
            "Date sale price ends": "2024-02-01",
        }
    )
    rows.append(plain | {"ID": "91", "Name": "Private Board", "Regular price": "99.00", "Published": "0"})
    rows.append(plain | {"ID": "92", "Name": "<b>12</b>", "Regular price": "99.00"})
    return write_table(folder / "woocommerce.csv", WOO, rows), compare.woocommerce


def magento(folder):
    base = {
        "attribute_set_code": "Top",
        "product_type": "simple",
        "product_online": "1",
        "categories": "Default Category/Men,Default Category/Men/Tops",
    }
    rows = [
        base
        | {
            "sku": "MH-S",
            "name": "Chaz Hoodie-S",
            "price": "52.00",
            "qty": "100",
            "visibility": "Not Visible Individually",
        },
        base
        | {
            "sku": "MH-M",
            "name": "Chaz Hoodie-M",
            "price": "54.50",
            "qty": "0",
            "visibility": "Not Visible Individually",
        },
        base
        | {
            "sku": "MH",
            "name": "Chaz Hoodie",
            "product_type": "configurable",
            "price": "52.00",
            "additional_attributes": "material=Fleece,fit=Slim",
        }
        | {"configurable_variations": "sku=MH-S,size=S|sku=MH-M,size=M"},
        {"sku": "MH", "store_view_code": "german", "name": "Chaz Kapuze"},
        base
        | {
            "sku": "BAG",
            "name": "Gear Bag",
            "price": "34.00",
            "special_price": "29.99",
            "special_price_from_date": "1/1/20",
        },
        base
        | {
            "sku": "BIN",
            "name": "Gear Bin",
            "price": "34.00",
            "special_price": "29.99",
            "special_price_to_date": "1/1/21",
        },
    ]
    rows += [base | {"sku": f"T{n}", "name": f"Gym Towel {n}", "price": f"{n}.95", "qty": "3"} for n in range(5, 45)]
    return write_table(folder / "magento.csv", MAGENTO, rows), compare.magento


def bigcommerce(folder):
    base = {"Item": "Product", "Type": "physical", "Is Visible": "TRUE", "Categories": "Shop All;Clothes/Shirts"}
    rows = [
        base
        | {
            "ID": "77",
            "Name": "Cotton Shirt",
            "SKU": "CS",
            "Price": "30.00",
            "Cost Price": "10.00",
            "Retail Price": "35.00",
        },
        {
            "Item": "Variant",
            "ID": "1",
            "SKU": "CS-S",
            "Options": "Type=Rectangles|Name=Size|Value=SType=Swatch|Name=Color|Value=Red[#f00]",
        },
        {
            "Item": "Variant",
            "ID": "2",
            "SKU": "CS-M",
            "Options": "Type=Rectangles|Name=Size|Value=MType=Swatch|Name=Color|Value=Red[#f00]",
        }
        | {"Price": "32.00", "Current Stock": "5"},
        {"Item": "Image", "ID": "3", "Image URL (Import)": "https://cdn.example/y.jpg"},
        base | {"ID": "78", "Name": "Mug", "SKU": "MG", "Price": "12.00", "Sale Price": "9.99"},
        base | {"ID": "79", "Name": "Hidden Mug", "SKU": "HM", "Price": "12.00", "Is Visible": "FALSE"},
    ]
    rows += [base | {"ID": f"{n}", "Name": f"Bowl {n}", "SKU": f"BW{n}", "Price": f"{n}.10"} for n in range(100, 140)]
    return write_table(folder / "bigcommerce.csv", BIGCOMMERCE, rows), compare.bigcommerce


def google(folder):
    base = {
        "link": "https://shop.example",
        "availability": "in_stock",
        "condition": "new",
        "product_type": "Clothes > Shirts",
        "shipping": "US:::5.00 USD",
    }
    rows = [
        base
        | {
            "id": "A1",
            "title": "Linen Shirt",
            "price": "15.00 USD",
            "sale_price": "12.00 USD",
            "item_group_id": "G",
            "size": "S",
            "color": "red",
        },
        base
        | {"id": "A2", "title": "Linen Shirt", "price": "16.00 USD", "item_group_id": "G", "size": "M", "color": "red"},
    ]
    rows += [
        base | {"id": f"B{n}", "title": f"Wool Scarf {n}", "price": f"1,{n}.00 USD", "color": "blue"}
        for n in range(100, 140)
    ]
    return write_table(folder / "feed.tsv", GOOGLE, rows, "\t"), compare.google


def schema_org(folder):
    rows = [
        {
            "@context": "https://schema.org",
            "@type": "Product",
            "sku": f"C{n}",
            "name": f"Oak Chair {n}",
            "brand": {"@type": "Brand", "name": "Norrvik"},
        }
        | {
            "offers": {
                "@type": "Offer",
                "price": f"{n}.50",
                "priceCurrency": "USD",
                "availability": "https://schema.org/InStock",
            }
        }
        for n in range(40, 80)
    ]
    return write_lines(folder / "pages.jsonl", rows), compare.by_paths("name", "offers/price")


def open_graph(folder):
    rows = [
        {
            "og:title": f"Pine Desk {n}",
            "og:type": "product",
            "product:price:amount": f"{n}.05",
            "product:price:currency": "USD",
            "og:url": "https://x.y",
        }
        for n in range(40, 80)
    ]
    return write_lines(folder / "graph.jsonl", rows), compare.by_paths("og:title", "product:price:amount")


def amazon(folder):
    rows = [
        {
            "main_category": "Home",
            "title": f"Table Lamp {n}",
            "average_rating": 4.5,
            "rating_number": 12,
            "features": ["Oak"],
            "description": [],
        }
        | {
            "price": n + 0.99,
            "images": [],
            "videos": [],
            "store": "Norrvik",
            "categories": ["Home", "Lamps"],
            "details": {"Color": "Oak"},
        }
        | {"parent_asin": f"B{n}", "bought_together": None}
        for n in range(10, 50)
    ]
    return write_lines(folder / "meta_Home.jsonl", rows), compare.by_paths("title", "price")


def esci(folder):
    rows = [
        {
            "product_id": f"B{n}",
            "product_title": f"Desk Fan {n}",
            "product_description": "x",
            "product_bullet_point": "Quiet",
            "product_brand": "Quillon",
        }
        | {"product_color": "white", "product_locale": "us"}
        for n in range(40)
    ]
    return write_lines(folder / "products.jsonl", rows), compare.by_paths("product_title")


def best_buy(folder):
    rows = [
        {
            "sku": n,
            "name": f"Screen {n}",
            "regularPrice": 500.0 + n,
            "salePrice": 449.99 + n,
            "manufacturer": "Rexmoor",
            "onlineAvailability": True,
        }
        | {
            "categoryPath": [{"id": "0", "name": "Best Buy"}, {"id": "1", "name": "Screens"}],
            "details": [{"name": "Size", "value": "27 in"}],
        }
        for n in range(40)
    ]
    return write_lines(folder / "best.jsonl", rows), compare.by_paths("name", "salePrice", "regularPrice")


def icecat(folder):
    feature = {"PresentationValue": "10 kg", "Feature": {"Name": {"Value": "Weight"}}}
    rows = [
        {
            "GeneralInfo": {
                "IcecatId": n,
                "Title": f"Printer {n}",
                "Brand": "Oberlane",
                "Category": {"Name": {"Value": "Printers"}},
            }
        }
        | {"FeaturesGroups": [{"Features": [feature]}]}
        for n in range(40)
    ]
    return write_lines(folder / "icecat.jsonl", rows), compare.by_paths("GeneralInfo/Title")


def nested(folder):
    rows = [
        {
            "id": n,
            "fields": {
                "name": f"Standing Desk {n}",
                "price": {"amount": f"{n}.25", "currency": "USD"},
                "brand": {"name": "Caldwyn"},
                "weight": "9 kg",
            },
        }
        for n in range(100, 140)
    ]
    return write_lines(folder / "nested.jsonl", rows), compare.by_paths("fields/name", "fields/price/amount")


FORMS = [
    shopify,
    woocommerce,
    magento,
    bigcommerce,
    google,
    schema_org,
    open_graph,
    amazon,
    esci,
    best_buy,
    icecat,
    nested,
]
WITHOUT_PRICES = (esci, icecat)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_price_of_an_export_is_its_products_to_the_cent_and_every_row_is_counted(tmp_path, form):
    path, read = form(tmp_path)
    run = Run(tmp_path / "run", seed=5, workers=1)
    made = run.build("catalog", source=str(path), invent_prices=True if form in WITHOUT_PRICES else None)
    run.build("variants")
    products = run.read("catalog").table().to_pylist()
    assert not compare.list_faults(read(path), products, run.read("variants").table().to_pylist())
    assert made.rows >= 40
    assert all(product["price_is_simulated"] for product in products) == (form in WITHOUT_PRICES)
    facts = inspect_source(str(path), 0)
    assert facts["used"] + facts["mended"] == made.rows
    assert (facts["rejected"], facts["products"]) == (made.rejected, made.rows + made.rejected)
    facts_named = {each["name"] for product in products for each in product["attributes"]}
    assert not any(name.startswith(("Meta", "In stock", "meta")) for name in facts_named)


def test_the_program_from_outside_sees_a_price_that_is_a_cent_off(tmp_path):
    path, read = shopify(tmp_path)
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
    run.build("variants", source=str(form(folder)[0]))
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


@pytest.mark.parametrize("form", [shopify, woocommerce, magento, nested], ids=lambda form: form.__name__)
def test_a_mapping_that_is_written_builds_the_same_catalog(tmp_path, form):
    path, _ = form(tmp_path)
    write_mapping(str(path), str(tmp_path / "my-shop.toml"))
    first, second = open_source(str(path)), open_source(str(tmp_path / "my-shop.toml"))
    assert list(first.read(0, 99)) == list(second.read(0, 99))


def test_a_mapping_with_a_mistake_says_where_it_is(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,price\n1,Lamp,5.00\n")
    (tmp_path / "a.toml").write_text('source = "a.csv"\n[columns]\ntitel = ["name"]\n')
    with pytest.raises(BadSource, match=r"no field 'titel'. Did you mean title"):
        open_source(str(tmp_path / "a.toml"))
    (tmp_path / "a.toml").write_text('source = "a.csv"\n[columns]\ntitle = ["nmae"]\n')
    with pytest.raises(BadSource, match=r"has no column 'nmae'. Did you mean name"):
        open_source(str(tmp_path / "a.toml"))
