"""An electronics shop of accessories, as shops export them: titles composed around real names of devices."""

from itertools import product
from random import Random

PHONES = {
    "Apple": ["iPhone 6", "iPhone 6s", "iPhone 7", "iPhone 7 Plus", "iPhone 8", "iPhone 8 Plus", "iPhone X", "iPhone XR", "iPhone 11", "iPhone 11 Pro Max", "iPhone 12 mini", "iPhone SE"],
    "Samsung": ["Galaxy S8", "Galaxy S8+", "Galaxy S9", "Galaxy J3", "Galaxy J7", "Galaxy Note 9", "Galaxy A50", "Galaxy Tab A8"],
    "Google": ["Pixel 3", "Pixel 3 XL", "Pixel 4a"],
    "Motorola": ["Moto G7", "Moto G6 Play"],
}  # fmt: skip
LAPTOPS = {
    "Apple": ["MacBook Pro 13", "MacBook Air 13", "MacBook Pro 15"],
    "Dell": ["Inspiron 1520", "Latitude E6400", "Vostro 1500"],
    "HP": ["Pavilion dv6", "EliteBook 8460p"],
    "Lenovo": ["ThinkPad T420", "IdeaPad Y510"],
    "Acer": ["Aspire 5750"],
}
CAMERAS = {
    "Nikon": ["D3200", "D5100", "D7000"],
    "Canon": ["EOS 70D", "Rebel T3i"],
    "Sony": ["Alpha A6000", "Cyber-shot DSC-W510"],
}
PRINTERS = {
    "HP": [("564XL", "PhotoSmart 7520"), ("61", "DeskJet 1000"), ("950XL", "OfficeJet Pro 8600")],
    "Canon": [("CLI-221", "PIXMA MG5320"), ("PG-210", "PIXMA MP250")],
    "Brother": [("TN-360", "HL-2140"), ("TN-450", "HL-2270DW"), ("LC61", "MFC-490CW")],
    "Epson": [("T069", "Stylus NX400"), ("T125", "WorkForce 320")],
}
MAKERS = ["OtterBox", "Spigen", "Incipio", "Belkin", "Anker", "Case Logic", "UGREEN", "Insten"]
COLORS = ["Black", "Rose Gold", "Navy Blue", "Clear", "Red", "Gray"]
CASES = [
    "{maker} {line} Case for {brand} {device} - {color}",
    "{maker} {device} {line} Hard Shell Cover, {color}",
    "{maker} {line} Wallet Case compatible with {device} ({color})",
    "{brand} {device} Case, {maker} {line} Slim Fit TPU Bumper [{color}]",
]
LINES = ["Defender", "Armor", "Slim", "Symmetry", "Crystal", "Rugged", "Liquid"]


def accessories(count=2_400, seed=7):
    """Rows of a file: id, title, brand, category, color, price."""
    random = Random(seed)
    found = []

    def row(title, maker, category, low, color=""):
        number, price = len(found), f"{low + random.random() * 30:.2f}"
        found.append(
            {
                "id": f"E{number:05d}",
                "title": title,
                "brand": maker,
                "category": category,
                "color": color,
                "price": price,
            }
        )

    phones = [(brand, device) for brand, devices in PHONES.items() for device in devices]
    while len(found) < count * 0.55:
        (brand, device), maker, line, color = (
            random.choice(phones),
            random.choice(MAKERS),
            random.choice(LINES),
            random.choice(COLORS),
        )
        other = random.choice(phones)[1] if random.random() < 0.15 else ""
        named = f"{device} / {other}" if other and other != device else device
        title = random.choice(CASES).format(maker=maker, line=line, brand=brand, device=named, color=color)
        if f"{title} {len(found) % 3}" not in {one["title"] for one in found[-50:]}:
            row(title, maker, "Cell Phone Cases", 8, color)
    for (brand, device), maker in product(phones, MAKERS):
        row(
            f"{maker} Tempered Glass Screen Protector for {brand} {device}, {random.choice([1, 2, 3])} Pack",
            maker,
            "Screen Protectors",
            6,
        )
    for (brand, devices), maker in product(LAPTOPS.items(), MAKERS):
        for device in devices:
            row(
                f"{maker} {random.choice(['65W', '90W'])} AC Adapter Charger for {brand} {device}",
                maker,
                "Laptop Chargers",
                15,
            )
            row(
                f"Replacement Laptop Battery for {brand} {device} by {maker}, {random.choice([4400, 5200])}mAh",
                maker,
                "Laptop Batteries",
                20,
            )
    for (brand, devices), maker in product(CAMERAS.items(), MAKERS):
        for device in devices:
            row(f"{maker} Battery Charger for {brand} {device} Digital Camera", maker, "Camera Chargers", 12)
    for (brand, several), maker in product(PRINTERS.items(), [*MAKERS, "LD", "Office Depot"]):
        for number, printer in several:
            color = random.choice(["Black", "Cyan", "Magenta"])
            row(
                f"{maker} Remanufactured {brand} {number} {color} Ink Cartridge for {brand} {printer}",
                maker,
                "Ink Cartridges",
                10,
                color,
            )
    for maker, size, low in product(MAKERS, ["AA", "AAA", "CR2032", "9V"], (4, 8, 12)):
        row(f"{maker} {size} Batteries, {low} Pack", maker, "Household Batteries", 3)
    for maker, (low, high) in product(MAKERS, [(13, 27), (23, 42), (32, 55), (32, 65), (42, 75)]):
        row(f"{maker} Tilting TV Wall Mount for {low} to {high} inch TVs", maker, "TV Mounts", 20)
        row(f"{maker} Full Motion TV Wall Mount Bracket, fits {low}-{high} inch", maker, "TV Mounts", 20)
    for maker, size, color in product(MAKERS, ["11.6", "13.3", "14", "15.6", "17.3"], COLORS[:3]):
        row(f"{maker} {size}-inch Laptop Sleeve, {color}", maker, "Laptop Sleeves", 10, color)
    for maker, size in product(MAKERS, ["16GB", "32GB", "64GB", "128GB"]):
        row(f"{maker} {size} microSDHC Memory Card", maker, "Memory Cards", 8)
    unique = {one["title"]: one for one in found}
    return list(unique.values())
