"""What kind of thing a product is: its kind where the log names no category, and whether one has it for years or uses it up.

Both are read from words. What no word decides counts as durable, so that a list which lacks a word makes a log look worse, never better.
"""

import re
from typing import Literal

Use = Literal["consumable", "several", "durable"]

CONSUMABLE = frozenset(
    """food grocery snack coffee tea cocoa drink beverage water juice wine beer soda cereal granola oat pasta rice flour sugar
    salt spice seasoning rub sauce oil vinegar honey butter jam chocolate candy cookie chip cracker nut mix bar bread bean
    vitamin supplement protein medicine bandage shampoo conditioner soap wash cleanser lotion cream serum moisturizer mask
    toothpaste mouthwash floss deodorant sunscreen perfume fragrance mist cologne makeup lipstick mascara foundation eyeshadow
    polish razor blade diaper wipe formula detergent bleach cleaner disinfectant tissue towel-paper napkin trash garbage
    foil wrap sponge cloth candle incense bulb battery ink toner cartridge refill filter paper envelope mailer tape glue
    pen pencil marker crayon paint yarn thread notebook label litter treat kibble seed soil fertilizer fuel charcoal
    propane film media pod capsule spray palette string chocolate cooky""".split()
)
SEVERAL = frozenset(
    """clothing shirt tee t-shirt top blouse sweater hoodie sweatshirt jean pant trouser short legging skirt dress sock
    hoody beany underwear bra pajama bodysuit onesie bib shoe sneaker boot sandal jacket coat jewelry necklace earring bracelet book novel
    comic magazine music album vinyl movie movy dvd game toy puzzle doll animal card gift print ticket course lesson tutoring visit
    walking sitting grooming mowing cleaning scanning printing alteration package appointment order plan plant cable connector adapter accessory case""".split()
)
# Where the words one by one would decide wrongly.
PHRASES: dict[str, Use] = {
    "paper towel": "consumable",
    "gift card": "several",
    "shower gel": "consumable",
    "bean bag": "durable",
    "shipping box": "consumable",
    "tea kettle": "durable",
    "coffee maker": "durable",
    "water bottle": "durable",
    "vacuum cleaner": "durable",
    "memory card": "durable",
    "graphics card": "durable",
    "card reader": "durable",
    "game console": "durable",
    "toy box": "durable",
}

# Where a title stops to say what the thing is.
ENDS = re.compile(r"\s+(?:with|for|w/|in|from|by|of|and)\s|[,(\[|:;/]|\s-\s|\s–\s", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_][\w'’&-]*", re.UNICODE)


def strip_ending(word: str) -> str:
    """One word for one and for many.

    >>> [strip_ending(each) for each in ("kettles", "batteries", "brushes", "glass", "bus")]
    ['kettle', 'battery', 'brush', 'glass', 'bus']
    """
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word.removesuffix("s")


def find_title_kind(title: str, brand: str = "") -> str:
    """The last two words of a title's first part, without the brand: the kind of a product that no category is known of.

    >>> find_title_kind("Yarrowfold Gully shoe racks, 2 tier, 30 in", "Yarrowfold")
    'shoe rack'
    >>> find_title_kind("KitchenAid Artisan Tilt-Head Stand Mixer with Pouring Shield, 5-Quart", "KitchenAid")
    'stand mixer'
    """
    text = title[len(brand) :] if brand and title.lower().startswith(brand.lower()) else title
    first = next((part for part in ENDS.split(text) if WORD.search(part)), text)
    words = WORD.findall(first.lower())
    return " ".join([*words[-2:-1], *map(strip_ending, words[-1:])]) or title.strip().lower()


def classify_use(category: str) -> Use:
    """Whether things of a category are used up, bought in numbers, or kept; kept where no word says otherwise.

    The last word that decides does: a category ends with what the thing is.

    >>> [classify_use(each) for each in ("Electric Kettles", "Coffee Pods", "Drip Coffee Makers", "Crew Socks", "Paper Towels")]
    ['durable', 'consumable', 'durable', 'several', 'consumable']
    """
    words = [strip_ending(word) for word in re.findall(r"[a-z][a-z-]*", category.lower())]
    for phrase, use in PHRASES.items():
        if words[-2:] == phrase.split():
            return use
    last = words[-1] if words else ""
    before = words[-2] if len(words) > 1 else ""
    if last in {"set", "pack", "kit", "supply"}:
        last = before or last
    if last in CONSUMABLE or (last == "bag" and before in CONSUMABLE):
        return "consumable"
    return "several" if last in SEVERAL else "durable"
