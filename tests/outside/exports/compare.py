"""Every price of a shop's own file against the catalog that was made from it, by a program that shares nothing with the maker.

Reads the file with csv and json alone, and the rows as dictionaries; knows where each system writes a price, and no more.
"""

import csv
import html
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path


def amount(text):
    """The number in a price of these files; none where nothing or nought is written, or no number."""
    found = re.search(r"\d+(?:,\d{3})*(?:\.\d+)?", str(text or ""))
    number = Decimal(found[0].replace(",", "")) if found else None
    return number or None


def table(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter, restval=""))


def shopify(path):
    """Title -> the prices of its variants, in file order."""
    found, titles = defaultdict(list), {}
    for row in table(path):
        titles.setdefault(row["Handle"], row["Title"])
        if amount(row["Variant Price"]):
            found[titles[row["Handle"]]].append(amount(row["Variant Price"]))
    return found


def woocommerce(path):
    found, titles = defaultdict(list), {}
    rows = table(path)
    for row in rows:
        titles |= {f"id:{row['ID']}": row["Name"], row["SKU"]: row["Name"]} if not row["Parent"] else {}
    for row in rows:
        price = amount("" if row["Date sale price ends"] else row["Sale price"]) or amount(row["Regular price"])
        if price:
            found[titles[row["Parent"]] if row["Parent"] else row["Name"]].append(price)
    return found


def magento(path):
    rows = table(path)
    parents = {
        pair.removeprefix("sku="): row["name"]
        for row in rows
        for pair in re.split(r"[|,]", row["configurable_variations"])
        if pair.startswith("sku=")
    }
    found = defaultdict(list)
    for row in rows:
        if not row["store_view_code"] and not row["configurable_variations"]:
            price = amount("" if row["special_price_to_date"] else row["special_price"]) or amount(row["price"])
            found[parents.get(row["sku"], row["name"])].append(price)
    return found


def bigcommerce(path):
    found, base, title, own = {}, None, "", False
    for row in table(path):
        price = amount(row["Sale Price"]) or amount(row["Price"])
        if row["Item"] == "Product":
            base, title, own = price, row["Name"], True
            found[title] = [base]
        elif row["Item"] == "Variant":  # with variants the product itself is not for sale
            found[title] = ([] if own else found[title]) + [price or base]
            own = False
    return found


def google(path):
    found, titles = defaultdict(list), {}
    for row in table(path, "\t"):
        group = row["item_group_id"] or row["id"]
        found[titles.setdefault(group, row["title"])].append(amount(row["sale_price"]) or amount(row["price"]))
    return found


def by_paths(title, *prices):
    """For JSON Lines: the first of these fields that has an amount."""

    def follow(value, path):
        for name in path.split("/"):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def read(path):
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line.endswith("}")]
        return {
            follow(row, title): [next((each for price in prices if (each := amount(follow(row, price)))), None)]
            for row in rows
        }

    return read


def plain(title):
    """Without markup and what commands a terminal, which no product keeps."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>|\x1b", " ", title)).split())


def list_faults(written, products, variants):
    """Products whose price is not the lowest of those written, and variants that are not exactly the written ones."""
    sold = defaultdict(list)
    for variant in variants:
        sold[variant["product_id"]].append(variant["price"])
    faults = []
    written = {plain(title): prices for title, prices in written.items()}
    for product in products:
        prices = [price for price in written.get(plain(product["title"]), []) if price is not None]
        if not prices:
            faults += [] if product["price_is_simulated"] else [f"{product['title']}: a price from nowhere"]
        elif product["price"] != min(prices) or product["price_is_simulated"]:
            faults.append(f"{product['title']}: {product['price']} instead of {min(prices)}")
        elif product["variants"] and sorted(sold[product["id"]]) != sorted(prices):
            faults.append(f"{product['title']}: variants {sold[product['id']]} instead of {prices}")
    return faults
