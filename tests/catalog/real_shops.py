"""Small shops as real ones are at their hardest: one department, no categories, one kind of thing, many kinds, no facts. Functions of nothing."""

import csv
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random

Row = dict[str, str]
MAKERS = "Norrvik Oberlane Caldwyn Quillon Rexmoor Tessaline Brackwell Vantora Ellmoor Havelund".split()
COLORS = "black white red blue green gray brown yellow".split()
TOYS = {
    "Wooden Train Sets": (["birch", "beech", "pine"], ["24 pieces", "48 pieces", "90 pieces"], "train set"),
    "Dolls": (["vinyl", "fabric"], ["12 in", "14 in", "18 in"], "doll with a dress"),
    "Jigsaw Puzzles": (["cardboard", "wood"], ["100 pieces", "500 pieces", "1000 pieces"], "jigsaw puzzle"),
    "Kites": (["nylon", "polyester"], ["32 in", "48 in", "60 in"], "kite for the beach"),
    "Bath Toys": (["rubber", "silicone"], ["4 pieces", "6 pieces", "10 pieces"], "bath toy boat"),
    "Board Games": (["cardboard", "wood"], ["2 players", "4 players", "6 players"], "board game"),
}
PHONES = [f"iPhone {each}" for each in (7, 8, 11, 12, 13, 14, 15)] + [f"Galaxy S{each}" for each in range(8, 24)]
STYLES = "Slim Rugged Wallet Clear Bumper Folio Ring".split()
CASES = "leather silicone TPU cork wood".split()
THINGS = "Clamp Bracket Hinge Hook Pulley Gasket Washer Valve Nozzle Filter Sensor Relay Faucet Fuse Lamp".split()
USES = "Garden Kitchen Marine Bicycle Garage Workshop Camping Office Bathroom Attic".split()


def draw_price(random: Random) -> str:
    return f"${random.randrange(4, 90)}.{random.choice(('99', '49', '00', '95'))}"


def list_one_department() -> Iterator[Row]:
    """A toy shop: six leaves under one first-level category, as shops of one trade have them."""
    random = Random(1)
    for leaf, (materials, sizes, noun) in TOYS.items():
        for maker, material, size in product(MAKERS, materials, sizes):
            color = random.choice(COLORS)
            title = f"{maker} {color} {material} {noun}, {size}"
            yield {"title": title, "brand": maker, "category": f"Toys > {leaf}", "color": color, "price": draw_price(random), "material": material, "size": size}  # fmt: skip


def list_flat() -> Iterator[Row]:
    """No column of categories at all."""
    for row in list_one_department():
        yield {name: value for name, value in row.items() if name != "category"}


def list_own_leaves() -> Iterator[Row]:
    """A category for each product, as where tags were put in its column."""
    for number, row in enumerate(list_one_department()):
        yield row | {"category": f"Collection {number // 26}{chr(65 + number % 26)}"}


def list_one_kind() -> Iterator[Row]:
    """Cases for telephones and nothing else."""
    random = Random(2)
    made = [*product(PHONES, STYLES, CASES)]
    for number, (phone, style, material) in enumerate(random.sample(made, 320)):
        maker, color = MAKERS[number % len(MAKERS)], random.choice(COLORS)
        title = f"{maker} {style} {material} case for {phone}, {color}"
        yield {"title": title, "brand": maker, "category": "Phone Cases", "color": color, "price": draw_price(random), "material": material, "style": style}  # fmt: skip


def list_many_kinds() -> Iterator[Row]:
    """A hundred and fifty leaves of two things each."""
    random = Random(3)
    for use, thing in product(USES, THINGS):
        for maker in random.sample(MAKERS, 2):
            color, pack = random.choice(COLORS), random.choice((2, 4, 10))
            title = f"{maker} {use.lower()} {thing.lower()}, {color}, {pack} pack"
            yield {"title": title, "brand": maker, "category": f"{use} > {use} {thing}s", "price": draw_price(random)}


def list_no_facts() -> Iterator[Row]:
    """Title, maker and price."""
    for row in list_one_kind():
        yield {name: row[name] for name in ("title", "brand", "price")}


SHOPS: dict[str, Callable[[], Iterator[Row]]] = {
    "one department": list_one_department,
    "flat": list_flat,
    "own leaves": list_own_leaves,
    "one kind": list_one_kind,
    "many kinds": list_many_kinds,
    "no facts": list_no_facts,
}


def write_shop(name: str, path: Path) -> Path:
    rows = [{"id": f"P{number:05}", **row} for number, row in enumerate(SHOPS[name]())]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path
