"""A small shop, made by hand, of five departments, and customers with a few months of orders."""

from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.shop.store import Customer, Store
from shopwright.schemas.shop import Line, Order, Product, Variant

LEAVES = {
    "Home": ("Table Lamps", "Shoe Racks", "Wall Clocks", "Bath Mats", "Vases"),
    "Clothing": ("Running Shoes", "Rain Jackets", "Wool Socks", "Scarves"),
    "Digital": ("Headphones", "Webcams", "Game Controllers", "Power Banks"),
    "Food": ("Coffee Beans", "Olive Oils"),
    "Leisure": ("Board Games", "Jigsaw Puzzles", "Sketchbooks"),
}
GROUPS = {leaf: group for group, leaves in LEAVES.items() for leaf in leaves}
BRANDS = ("Norrvik", "Pell", "Quillhaven", "Orsolby", "Lindquarry", "Veradune", "Hethlowe", "Kettlebrae", "Damaruno")
COLORS = ("white", "black", "sage", "navy")
SIZES = ("S", "M", "L")


def product(number, random):
    leaf = list(GROUPS)[number % len(GROUPS)]
    brand, color = random.choice(BRANDS), random.choice(COLORS)
    facts = {"series": f"Series{random.randrange(3)}", "model": f"M-{number}"}
    attributes = [{"name": name, "value": value, "number": None, "unit": None} for name, value in facts.items()]
    return {
        "id": f"P{number:04d}",
        "title": f"{brand} {color} {leaf.lower()[:-1]}, number {number}",
        "brand": brand,
        "category_path": [GROUPS[leaf], leaf],
        "category": leaf,
        "color": color,
        "price": Decimal(random.randrange(500, 90_000)) / 100,
        "price_is_simulated": False,
        "promotions": [],
        "attributes": attributes,
        "options": [{"name": "size", "values": list(SIZES)}],
        "description": None,
        "bullets": [],
        "rating": random.choice([None, 3.2, 4.1, 4.8]),
        "review_count": random.choice([3, 40]),
        "shipping_days": random.choice([None, 2, 5, 9]),
        "queries": [],
        "repairs": [],
        "source": "hand",
        "source_licence": "CC0-1.0",
    }


def variants(item, random):
    for place, size in enumerate(SIZES):
        yield {
            "id": f"{item['id']}-{size}",
            "product_id": item["id"],
            "choices": [{"name": "size", "value": size}],
            "price": item["price"],
            "stock": 0 if random.random() < 0.1 else random.randrange(1, 20),
            "is_title": place == 0,
        }


def order(person, number, placed, items, random):
    bought = random.sample(items, random.choice([1, 2, 2, 3]))
    lines = [
        Line(
            line_id=f"{person}-{number}-{place}",
            product_id=item["id"],
            variant_id=f"{item['id']}-M",
            title=item["title"],
            quantity=random.choice([1, 1, 1, 2]),
            price=item["price"],
        )
        for place, item in enumerate(bought, 1)
    ]
    fate = random.random()
    shipped = None if fate < 0.06 else placed + timedelta(days=1, hours=3)
    delivered = None if fate < 0.09 else placed + timedelta(days=random.randrange(3, 9), hours=5)
    return Order(
        id=f"O-{person}-{number}",
        persona_id=person,
        trajectory_id="t",
        rows=[],
        lines=lines,
        placed=placed,
        shipped=shipped,
        delivered=delivered,
        cancelled=placed + timedelta(hours=20) if fate < 0.06 else None,
        total=sum((line.price * line.quantity for line in lines), Decimal(0)),
    )


def customer(number, items, random):
    placed, orders = datetime(2024, 1, 5, 9), []
    for k in range(14):
        placed += timedelta(days=random.randrange(1, 12), seconds=random.randrange(40_000))
        orders.append(order(f"customer-{number}", k, placed, items, random))
    nothing = np.zeros(0, np.int64)
    return Customer(f"customer-{number}", nothing, nothing, tuple(orders), member=number % 3 == 0)


def shop(*, products=540, customers=12, names=str, backwards=False):
    """The same shop with its ids changed by `names`, or its rows the other way round."""
    random = Random("past orders")
    items = [product(number, random) for number in range(products)]
    sold = {item["id"]: list(variants(item, random)) for item in items}
    people = [customer(number, items, random) for number in range(customers)]
    if backwards:
        items = items[::-1]
    catalog = pa.Table.from_pylist([item | {"id": names(item["id"])} for item in items], arrow_schema(Product))
    rows = [
        each | {"id": names(each["id"]), "product_id": names(each["product_id"])}
        for item in items
        for each in sold[item["id"]]
    ]
    store = Store(catalog, pa.Table.from_pylist(rows, arrow_schema(Variant)), [renamed(each, names) for each in people])
    return World(store, Search(store))


def renamed(person, names):
    orders = tuple(
        order.model_copy(
            update={
                "lines": [
                    line.model_copy(update={"product_id": names(line.product_id), "variant_id": names(line.variant_id)})
                    for line in order.lines
                ]
            }
        )
        for order in person.orders
    )
    return Customer(person.id, person.visited, person.visited_at, orders, person.member)
