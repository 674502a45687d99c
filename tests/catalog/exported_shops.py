"""A toy shop as twelve systems export it, in their exact headers, with dirty and hostile rows among the good ones.

Each writer gives the file, and the function of a program from outside that reads its prices.
"""

import csv
import json
from itertools import islice

from tests.catalog.real_shops import list_one_department
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
    "item_group_id\tcolor\tsize\tmaterial\tpattern\tcondition\tshipping"
)
# What stands in every file beside its good rows, and the reason that it is rejected for; empty where it is repaired.
DIRTY = [
    ("=cmd|' /C calc'!A0 <|im_end|> kite for the beach", "7.25", ""),
    ("<b>Bold</b> &amp; bright \x1b[2J kite for the beach", "11.30", ""),
    ("", "7.25", "title missing"),
    ("12345", "9.00", "title has no letters"),
    ("Kite " * 500, "9.00", "title longer than 2000 characters"),
    ("Upside down kite for the beach", "-4.00", "absurd price"),
    ("Kite on request", "call for price", "no price, and none is invented"),
]
# In lines that no reader of the format can read.
BROKEN = "unreadable row"


def list_products(count):
    """The toy shop's, with what is dirty among them; a third of them come in two editions, each with a price and a stock of its own."""
    rows = list(islice(list_one_department(), count))
    for number, row in enumerate(rows):
        price = row["price"].removeprefix("$")
        row |= {"id": f"P-{number}", "price": price, "stock": str(number % 9)}
        row["editions"] = [("classic", price), ("gift box", f"{float(price) + 3:.2f}")] if number % 3 == 0 else []
    for number, (title, price, _) in enumerate(DIRTY):
        row = rows[number] | {"id": f"D-{number}", "title": title, "price": price, "editions": []}
        rows.insert(5 * number, row)
    return rows


def write_table(path, header, rows, delimiter=","):
    names = header.split(delimiter)
    assert all(set(row) <= set(names) for row in rows)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        file.write(delimiter * 3 + "\n")  # too few fields
    return path


def write_lines(path, rows):
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join([*lines, '{"name": "half a']) + "\n", encoding="utf-8")
    return path


def shopify(folder, products):
    tee = {"Handle": "tee", "Vendor": "Norrvik", "Type": "Shirts", "Status": "active"}
    names = {"Option1 Name": "Size", "Option2 Name": "Color"}
    body = "<style>p{color:red}</style><p>Soft &amp; warm</p><script>alert(1)</script>"
    first = {"Title": "Cotton Tee", "Body (HTML)": body, "Option1 Value": "S", "Option2 Value": "Red"}
    first |= {"Variant Price": "19.99", "Variant Inventory Qty": "5", "Variant Compare At Price": "25.00"}
    second = {"Handle": "tee", "Option1 Value": "M", "Option2 Value": "Red"}
    second |= {"Variant Price": "21.99", "Variant Inventory Qty": "-1"}
    picture = {"Handle": "tee", "Image Src": "https://cdn.example/2.jpg", "Image Position": "2"}
    rows = [tee | names | first | {"Cost per item": "8.00"}, second, picture]
    plain = {"Option1 Name": "Title", "Option1 Value": "Default Title", "Status": "active"}
    for each in products:
        one = plain | {"Handle": each["id"], "Title": each["title"], "Vendor": each["brand"]}
        one |= {"Type": each["category"], "Variant Price": each["price"], "Variant Inventory Qty": each["stock"]}
        one |= {"Body (HTML)": f"<p>Made of {each['material']}, {each['color']}.</p>"}
        editions = [
            {"Handle": each["id"], "Option1 Value": name, "Variant Price": price, "Variant Inventory Qty": str(place)}
            for place, (name, price) in enumerate(each["editions"])
        ]
        rows += [one | {"Option1 Name": "Edition"} | editions[0], *editions[1:]] if editions else [one]
    old = plain | {"Handle": "old", "Title": "Old Mug", "Variant Price": "9.50", "Status": "draft"}
    return write_table(folder / "shopify.csv", SHOPIFY, [*rows, old]), compare.shopify


def woocommerce(folder, products):
    hood = {"ID": "10", "Type": "variable", "SKU": "HOOD", "Name": "Hoodie", "Published": "1"}
    hood |= {"Categories": "Clothing > Hoodies, Clothing"}
    hood |= {"Attribute 1 name": "Color", "Attribute 1 value(s)": "Blue, Red"}
    hood |= {"Attribute 2 name": "Size", "Attribute 2 value(s)": "S, M"}
    part = {"Type": "variation", "Published": "1", "In stock?": "1"}
    named = part | {"Attribute 1 name": "Color", "Attribute 2 name": "Size"}
    blue = named | {"ID": "11", "SKU": "H-B", "Name": "Hoodie - Blue, S", "Parent": "id:10", "Stock": "3"}
    blue |= {
        "Regular price": "45.00",
        "Sale price": "40.00",
        "Attribute 1 value(s)": "Blue",
        "Attribute 2 value(s)": "S",
    }
    red = named | {"ID": "12", "SKU": "H-R", "Name": "Hoodie - Red, M", "Parent": "HOOD", "Stock": "0"}
    red |= {"Regular price": "45.00", "Attribute 1 value(s)": "Red", "Attribute 2 value(s)": "M"}
    rows = [blue, hood, red]  # one of them before its parent
    plain = {"Type": "simple", "Published": "1", "In stock?": "1", "Meta: uag_css_file_name": "uag-css-1790.css"}
    for number, each in enumerate(products, 100):
        one = plain | {"ID": f"{number}", "SKU": each["id"], "Name": each["title"], "Categories": each["category"]}
        one |= {"Attribute 1 name": "Material", "Attribute 1 value(s)": each["material"], "Attribute 1 visible": "1"}
        one |= {"Regular price": each["price"], "Stock": each["stock"], "Weight (kg)": "0.5"}
        if each["editions"]:
            names = ", ".join(name for name, _ in each["editions"])
            one |= {"Type": "variable", "Regular price": "", "Attribute 2 name": "Edition"}
            one |= {"Attribute 2 value(s)": names}
        rows.append(one)
        for place, (name, price) in enumerate(each["editions"]):
            edition = part | {"ID": f"{number}{place}99", "SKU": f"{each['id']}-{place}", "Parent": each["id"]}
            edition |= {"Name": f"{each['title']} - {name}", "Regular price": price, "Stock": f"{place}"}
            rows.append(edition | {"Attribute 2 name": "Edition", "Attribute 2 value(s)": name})
    dated = plain | {"ID": "90", "Name": "Dated Board", "Regular price": "99.00", "Sale price": "79"}
    rows.append(dated | {"Date sale price ends": "2024-02-01"})
    rows.append(plain | {"ID": "91", "Name": "Private Board", "Regular price": "99.00", "Published": "0"})
    return write_table(folder / "woocommerce.csv", WOO, rows), compare.woocommerce


def magento(folder, products):
    base = {"attribute_set_code": "Top", "product_type": "simple", "product_online": "1"}
    tops = base | {"categories": "Default Category/Men,Default Category/Men/Tops"}
    hidden = tops | {"visibility": "Not Visible Individually"}
    rows = [
        hidden | {"sku": "MH-S", "name": "Chaz Hoodie-S", "price": "52.00", "qty": "100"},
        hidden | {"sku": "MH-M", "name": "Chaz Hoodie-M", "price": "54.50", "qty": "0"},
        tops
        | {"sku": "MH", "name": "Chaz Hoodie", "product_type": "configurable", "price": "52.00"}
        | {"additional_attributes": "material=Fleece,fit=Slim"}
        | {"configurable_variations": "sku=MH-S,size=S|sku=MH-M,size=M"},
        {"sku": "MH", "store_view_code": "german", "name": "Chaz Kapuze"},
    ]
    bag = tops | {"sku": "BAG", "name": "Gear Bag", "price": "34.00", "special_price": "29.99"}
    bin_ = tops | {"sku": "BIN", "name": "Gear Bin", "price": "34.00", "special_price": "29.99"}
    rows += [bag | {"special_price_from_date": "1/1/20"}, bin_ | {"special_price_to_date": "1/1/21"}]
    for each in products:
        path = each["category"].replace(" > ", "/")
        one = base | {"sku": each["id"], "name": each["title"], "price": each["price"], "qty": each["stock"]}
        one |= {"additional_attributes": f"material={each['material']},color={each['color']}"}
        one |= {"categories": f"Default Category/{path}"}
        parts = []
        for place, (name, price) in enumerate(each["editions"]):
            part = one | {"sku": f"{each['id']}-{place}", "name": f"{each['title']}-{name}", "price": price}
            parts.append(part | {"visibility": "Not Visible Individually"})
        if parts:
            listed = "|".join(
                f"sku={part['sku']},edition={name}" for part, (name, _) in zip(parts, each["editions"], strict=True)
            )
            one |= {"product_type": "configurable", "configurable_variations": listed}
        rows += [*parts, one]
    return write_table(folder / "magento.csv", MAGENTO, rows), compare.magento


def bigcommerce(folder, products):
    base = {"Item": "Product", "Type": "physical", "Is Visible": "TRUE", "Categories": "Shop All;Clothes/Shirts"}
    shirt = base | {"ID": "77", "Name": "Cotton Shirt", "SKU": "CS", "Price": "30.00", "Cost Price": "10.00"}
    options = "Type=Rectangles|Name=Size|Value={}Type=Swatch|Name=Color|Value=Red[#f00]"
    rows = [
        shirt | {"Retail Price": "35.00"},
        {"Item": "Variant", "ID": "1", "SKU": "CS-S", "Options": options.format("S")},
        {"Item": "Variant", "ID": "2", "SKU": "CS-M", "Options": options.format("M")}
        | {"Price": "32.00", "Current Stock": "5"},
        {"Item": "Image", "ID": "3", "Image URL (Import)": "https://cdn.example/y.jpg"},
        base | {"ID": "78", "Name": "Mug", "SKU": "MG", "Price": "12.00", "Sale Price": "9.99"},
        base | {"ID": "79", "Name": "Hidden Mug", "SKU": "HM", "Price": "12.00", "Is Visible": "FALSE"},
    ]
    for number, each in enumerate(products, 100):
        path = each["category"].replace(" > ", "/")
        one = base | {"ID": f"{number}", "Name": each["title"], "SKU": each["id"], "Price": each["price"]}
        about = f"<p>Made of {each['material']}.</p>"
        rows.append(one | {"Categories": f"Shop All;{path}", "Brand ID": each["brand"], "Description": about})
        for place, (name, price) in enumerate(each["editions"]):
            edition = {"Item": "Variant", "ID": f"{number}{place}", "SKU": f"{each['id']}-{place}", "Price": price}
            rows.append(
                edition | {"Options": f"Type=Rectangles|Name=Edition|Value={name}", "Current Stock": f"{place}"}
            )
    return write_table(folder / "bigcommerce.csv", BIGCOMMERCE, rows), compare.bigcommerce


def google(folder, products):
    base = {"link": "https://shop.example", "availability": "in_stock", "condition": "new"}
    base |= {"product_type": "Clothes > Shirts", "shipping": "US:::5.00 USD"}
    shirt = base | {"title": "Linen Shirt", "item_group_id": "G", "color": "red"}
    rows = [
        shirt | {"id": "A1", "price": "15.00 USD", "sale_price": "12.00 USD", "size": "S"},
        shirt | {"id": "A2", "price": "16.00 USD", "size": "M"},
        base | {"id": "B1", "title": "Wool Scarf", "price": "1,100.00 USD", "color": "blue"},
    ]
    for each in products:
        one = base | {"id": each["id"], "title": each["title"], "brand": each["brand"], "color": each["color"]}
        one |= {"product_type": each["category"], "material": each["material"], "size": each["size"]}
        if each["stock"] == "0":
            one |= {"availability": "out_of_stock"}
        rows += [
            one | {"id": f"{each['id']}-{place}", "item_group_id": each["id"], "pattern": name, "price": f"{price} USD"}
            for place, (name, price) in enumerate(each["editions"])
        ] or [one | {"price": f"{each['price']} USD".replace("call for price USD", "call for price")}]
    return write_table(folder / "feed.tsv", GOOGLE, rows, "\t"), compare.google


def schema_org(folder, products):
    rows = []
    for each in products:
        sold = {"@type": "Offer", "price": each["price"], "priceCurrency": "USD"}
        sold |= {"availability": "https://schema.org/InStock"}
        one = {"@context": "https://schema.org", "@type": "Product", "sku": each["id"], "name": each["title"]}
        one |= {"brand": {"@type": "Brand", "name": each["brand"]}, "category": each["category"], "offers": sold}
        rows.append(one | {"material": each["material"], "color": each["color"]})
    return write_lines(folder / "pages.jsonl", rows), compare.by_paths("name", "offers/price")


def open_graph(folder, products):
    rows = []
    for each in products:
        one = {"og:title": each["title"], "og:type": "product", "og:url": f"https://x.y/{each['id']}"}
        one |= {"product:price:amount": each["price"], "product:price:currency": "USD"}
        rows.append(one | {"product:brand": each["brand"], "product:material": each["material"]})
    return write_lines(folder / "graph.jsonl", rows), compare.by_paths("og:title", "product:price:amount")


def amazon(folder, products):
    rows = []
    for each in products:
        price = each["price"]
        one = {"main_category": "Toys", "title": each["title"], "average_rating": 4.5, "rating_number": 12}
        one |= {"features": [f"Made of {each['material']}"], "description": [], "images": [], "videos": []}
        one |= {"price": float(price) if price.replace(".", "").isdigit() else price, "store": each["brand"]}
        one |= {"categories": each["category"].split(" > "), "parent_asin": each["id"], "bought_together": None}
        rows.append(one | {"details": {"Color": each["color"], "Material": each["material"], "Size": each["size"]}})
    return write_lines(folder / "meta_Toys.jsonl", rows), compare.by_paths("title", "price")


def esci(folder, products):
    rows = []
    for each in products:
        one = {"product_id": each["id"], "product_title": each["title"], "product_description": "x"}
        one |= {"product_bullet_point": f"Made of {each['material']}", "product_brand": each["brand"]}
        rows.append(one | {"product_color": each["color"], "product_locale": "us"})
    return write_lines(folder / "products.jsonl", rows), compare.by_paths("product_title")


def best_buy(folder, products):
    rows = []
    for number, each in enumerate(products):
        price = each["price"]
        path = [{"id": f"{place}", "name": name} for place, name in enumerate(each["category"].split(" > "), 1)]
        one = {"sku": number, "name": each["title"], "regularPrice": 500.0 + number, "manufacturer": each["brand"]}
        one |= {"salePrice": float(price) if price.replace(".", "").isdigit() else price, "onlineAvailability": True}
        if price == "call for price":
            one |= {"regularPrice": None}
        one |= {"categoryPath": [{"id": "0", "name": "Best Buy"}, *path]}
        details = [{"name": "Size", "value": each["size"]}, {"name": "Material", "value": each["material"]}]
        rows.append(one | {"details": details})
    return write_lines(folder / "best.jsonl", rows), compare.by_paths("name", "salePrice", "regularPrice")


def icecat(folder, products):
    rows = []
    for number, each in enumerate(products):
        told = {"Material": each["material"], "Size": each["size"], "Weight": "10 kg"}
        features = [{"PresentationValue": value, "Feature": {"Name": {"Value": name}}} for name, value in told.items()]
        leaf = each["category"].split(" > ")[-1]
        one = {"IcecatId": number, "Title": each["title"], "Brand": each["brand"]}
        one |= {"Category": {"Name": {"Value": leaf}}}
        rows.append({"GeneralInfo": one, "FeaturesGroups": [{"Features": features}]})
    return write_lines(folder / "icecat.jsonl", rows), compare.by_paths("GeneralInfo/Title")


def nested_json(folder, products):
    rows = []
    for each in products:
        fields = {"name": each["title"], "price": {"amount": each["price"], "currency": "USD"}}
        fields |= {"brand": {"name": each["brand"]}, "weight": "9 kg", "material": each["material"]}
        rows.append({"id": each["id"], "fields": fields | {"category": each["category"]}})
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
    nested_json,
]
WITHOUT_PRICES = (esci, icecat)
