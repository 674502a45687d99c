"""One clean product from one dirty row: what was mended is named in `repairs`, what cannot be mended is rejected."""

import ast
import html
import html.entities
import json
import re
import unicodedata
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from math import isnan
from typing import Any

from pipeline.catalog.reference import Domain, domains

Row = dict[str, Any]
Phrases = dict[tuple[str, ...], tuple[str, ...]]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MISSING = frozenset(["", "-", "--", "n/a", "na", "nan", "none", "null", "unknown", "undefined", "not available"])
NO_BRAND = MISSING | {"generic", "unbranded", "no brand", "does not apply", "not applicable"}
ELSE = ("Everything Else",)
LONGEST_TITLE = 2000

MARKUP = "html entities or tags removed"
CONTROLS = "control characters removed"
NO_ID = "id missing"
BRAND = "brand missing"
CASE = "category case"
GUESSED = "category guessed"
NO_CATEGORY = "category missing"
COLOR = "color taken from the title"
NO_PRICE = "price unreadable"
RANGE = "price range: lowest taken"


def normalize(raw: Row, *, source: str, licence: str, number: int) -> Row | list[str]:
    """The fields of a `Product` with its price in cents, or why the row is rejected.

    >>> row = {"id": "B01", "title": "Koss <b>Portapro</b> Headphones", "brand": "Koss", "category": "headphones", "price": "$1,299.00"}
    >>> product = normalize(row, source="file", licence="unknown", number=7)
    >>> product["title"], product["category_path"], product["price"], product["repairs"]
    ('Koss Portapro Headphones', ['Headphones'], 129900, ['category case', 'html entities or tags removed'])
    >>> normalize({"title": "12", "price": "-3"}, source="file", licence="unknown", number=7)
    ['title has no letters', 'absurd price']
    """
    if "unreadable" in raw:
        return ["unreadable row"]
    get = raw.get
    repairs: set[str] = set()
    reasons: list[str] = []

    title = text(get("title"), repairs)
    if title is None or title.lower() in MISSING:
        reasons.append("title missing")
        title = ""
    elif not LETTER.search(title):
        reasons.append("title has no letters")
    elif len(title) > LONGEST_TITLE:
        reasons.append("title longer than 2000 characters")

    price = None
    try:
        price, ranged = amount(get("price"))
        if ranged:
            repairs.add(RANGE)
    except ValueError as error:
        if error.args == (ABSURD,):
            reasons.append(ABSURD)
        else:
            repairs.add(NO_PRICE)

    name = as_text(get("id"))
    name = known(name.strip()) if name else None
    if name is None:
        repairs.add(NO_ID)
        name = f"{re.sub(r'[^A-Za-z0-9.-]+', '-', source)[:40]}-{number}"
    elif len(name) > 64 or " " in name or not name.isprintable():
        reasons.append("id is not one word")

    brand = brand_of(get("brand"), repairs)
    color = color_of(get("color"), title, brand, repairs)
    if reasons:
        return reasons

    path = category_of(get("category_path"), get("category"), title, repairs)
    attributes, options, bullets, queries = get("attributes"), get("options"), get("bullets"), get("queries")
    description = get("description")
    rating, review_count, shipping_days = get("rating"), get("review_count"), get("shipping_days")
    return {
        "id": name,
        "title": title,
        "brand": brand,
        "category_path": list(path),
        "category": path[-1],
        "color": color,
        "price": price,
        "price_is_simulated": False,
        "promotions": [],
        "attributes": attributes_of(attributes, repairs) if attributes else [],
        "options": options_of(options, repairs) if options else [],
        "description": known(text(description, repairs)) if description is not None else None,
        "bullets": bullets_of(bullets, repairs) if bullets else [],
        "rating": rating_of(rating) if rating is not None else None,
        "review_count": whole(review_count, 10**9) if review_count is not None else None,
        "shipping_days": whole(shipping_days, 365) if shipping_days is not None else None,
        "queries": queries_of(queries, repairs) if queries else [],
        "repairs": sorted(repairs),
        "source": source,
        "source_licence": licence,
    }


# Text

LETTER = re.compile(r"[^\W\d_]")
NESTED = re.compile(r"&(?:amp;)+(?=#?\w+;)")
ENTITY = re.compile(r"&(#\d{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
TAG = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>|<!--[^<>]*-->|<![A-Za-z][^<>]*>")
CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    r"\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def text(value: Any, repairs: set[str]) -> str | None:
    """One line of clean text, or None.

    >>> text("Salt &amp;amp; Pepper\\u200b<br/> Mill", done := set()), sorted(done)
    ('Salt & Pepper Mill', ['control characters removed', 'html entities or tags removed'])
    >>> text("a < b and c > d, AT&T, R&notes; 5 || x] (brand: y)", set())
    'a < b and c > d, AT&T, R&notes; 5 || x] (brand: y)'
    """
    if type(value) is not str:
        value = as_text(value)
        if value is None:
            return None
    if value.isascii() and value.isprintable() and "<" not in value and "&" not in value and "  " not in value:
        return value.strip() or None  # nearly every text ends here
    return scrubbed(value, repairs) or None


def scrubbed(value: str, repairs: set[str]) -> str:
    for _ in range(5):  # what one round uncovers, the next removes; entities inside entities inside entities end here
        before = value
        value = unicodedata.normalize("NFC", value)
        if "&" in value or "<" in value:
            marked = value
            if "&" in value:
                value = ENTITY.sub(character, NESTED.sub("&", value))
            value = TAG.sub(between, value)
            if value != marked:
                repairs.add(MARKUP)
        if not value.isprintable() and CONTROL.search(value):
            value = CONTROL.sub(lambda match: " " if match[0].isspace() else "", value)
            repairs.add(CONTROLS)
        value = " ".join(value.split())
        if value == before:
            return value
    return " ".join(ENTITY.sub(" ", value).split())


def character(entity: re.Match[str]) -> str:
    if entity[1].startswith("#"):
        return html.unescape(entity[0])
    return html.entities.html5.get(
        entity[1] + ";", entity[0]
    )  # html.unescape would also read `&notebook;` as `¬ebook;`


def between(tag: re.Match[str]) -> str:
    """A space for a tag; what only looks like one, as in `a <b and c> d`, stays."""
    inside = tag[0].rstrip("/> ")
    return tag[0] if re.search(r"\s", inside) and "=" not in inside and not inside.startswith("<!") else " "


def as_text(value: Any) -> str | None:
    """
    >>> as_text(12.0), as_text(["a", None, 2]), as_text(float("nan"))
    ('12', 'a 2', None)
    """
    match value:
        case None | dict():
            return None
        case str():
            return value
        case float() if isnan(value):
            return None
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case list() | tuple():
            return " ".join(filter(None, map(as_text, value))) or None
    try:
        return str(value)
    except ValueError:  # an int of more than 4,300 digits
        return None


def known(value: str | None) -> str | None:
    return None if value is None or (len(value) < 14 and value.lower() in MISSING) else value


# Price

ABSURD = "absurd price"
UNREADABLE = "price unreadable"
USUAL = re.compile(r"\$?([0-9]{1,6})(?:\.([0-9]{1,2}))?")
PLAIN = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d{1,9})?")
NUMBER = r"(\d+(?:[.,'’\s]\d+)*)"
CURRENCY = r"(?:[^\W\d_]{0,4}\.?\s?[^\w\s.,'’+\-–—−()/~&%#*]?)"  # USD, US$, Rs., €, zł
BEFORE = rf"(?:(?:from|only|now|price|starting at|approx\.?|ab)\b:?\s*)?([-−]?)\s?{CURRENCY}\s?([-−]?)\s?"
AFTER = (
    rf"\s?{CURRENCY}\s?(?:[,.]?[-–—])?\s?"
    r"(?:(?:/|per|a)?\s?(?:each|ea|item|piece|pcs?|unit|pair|set|pack|box|count|ct|kg|lb|m|only)\.?)?"
)
ONE = re.compile(BEFORE + NUMBER + AFTER, re.IGNORECASE)
TWO = re.compile(BEFORE + NUMBER + AFTER + r"\s?(?:-|–|—|~|to|bis)?\s?" + BEFORE + NUMBER + AFTER, re.IGNORECASE)
POINT = re.compile(
    r"\d+(?:\.\d+)?|(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)*,\d{3})(?:\.\d+)?|\d{1,3}(?:[\s'’]\d{3})+(?:\.\d{1,2})?"
)
COMMA = re.compile(r"\d+,\d{1,2}|\d{1,3}(?:\.\d{3})+(?:,\d{1,2})?|\d{1,3}(?:[\s'’]\d{3})+,\d{1,2}")
CENT = Decimal("0.01")


def parse_price(value: Any) -> int | None:
    """Cents, or None where there is no price; raises ValueError("absurd price") or ValueError("price unreadable").

    A lone dot before three digits is a decimal point (`1.299` is 1.30) unless the price is in euros.

    >>> [parse_price(text) for text in ["$1,299.00", "1.299,00", "1 299,00 €", "USD 12", "12.5", "12,50", "1,299", "1.299 €"]]
    [129900, 129900, 129900, 1200, 1250, 1250, 129900, 129900]
    >>> parse_price("$10.00 - $20.00"), parse_price("10.99 each"), parse_price(""), parse_price(0), parse_price("nan")
    (1000, 1099, None, None, None)
    >>> parse_price("1e309")
    Traceback (most recent call last):
    ValueError: absurd price
    """
    return amount(value)[0]


def amount(value: Any) -> tuple[int | None, bool]:
    """The price in cents, and whether it is the lowest of several."""
    if type(value) is str and (usual := USUAL.fullmatch(value)):
        return int(usual[1]) * 100 + int((usual[2] or "").ljust(2, "0")) or None, False
    match value:
        case None:
            return None, False
        case str():
            prices = [Decimal(value)] if PLAIN.fullmatch(value) else prices_in(value)
        case bool():
            raise ValueError(UNREADABLE)
        case float():
            prices = [Decimal(float.__repr__(value))]
        case int() | Decimal():
            prices = [Decimal(value)]
        case list() | tuple():
            cents = {found for found, _ in map(amount, value) if found is not None}
            return min(cents, default=None), len(cents) > 1
        case _:
            raise ValueError(UNREADABLE)
    prices = [price for price in prices if price and not price.is_nan()]
    if not prices:
        return None, False
    price = min(prices)
    if not CENT / 2 <= price <= 1_000_000:
        raise ValueError(ABSURD)
    return int(price.quantize(CENT, ROUND_HALF_UP) * 100), len(set(prices)) > 1


def prices_in(value: str) -> list[Decimal]:
    value = html.unescape(value).strip()
    if value.lower() in MISSING:
        return []
    match = len(value) <= 80 and (ONE.fullmatch(value) or TWO.fullmatch(value))
    if not match:
        raise ValueError(UNREADABLE)
    european = "€" in value or "eur" in value.lower()
    parts = match.groups()
    return [decimal(parts[i + 2], european, minus=bool(parts[i] or parts[i + 1])) for i in range(0, len(parts), 3)]


def decimal(number: str, european: bool, *, minus: bool) -> Decimal:
    if COMMA.fullmatch(number) and (european or not POINT.fullmatch(number)):
        number = re.sub(r"[.\s'’]", "", number).replace(",", ".")
    elif POINT.fullmatch(number):
        number = re.sub(r"[,\s'’]", "", number)
    else:
        raise ValueError(UNREADABLE)
    return -Decimal(number) if minus else Decimal(number)


# Brand and colour

STORE = re.compile(r"visit the (.+) store|brand:\s*(.+)", re.IGNORECASE)
COLORS = (
    "black|white|grey|gray|silver|red|crimson|scarlet|maroon|burgundy|blue|navy|navy blue|royal blue|sky blue|light blue"
    "|dark blue|teal|turquoise|cyan|aqua|green|dark green|light green|olive green|sage green|yellow|gold|rose gold|orange"
    "|purple|lavender|violet|indigo|magenta|fuchsia|pink|hot pink|brown|dark brown|light brown|beige|tan|ivory|khaki"
    "|charcoal|dark grey|dark gray|light grey|light gray|space gray|space grey"
)
COLOR_WORDS = frozenset(word.split()[-1] for word in COLORS.split("|"))
COLOR_MAYBE = re.compile("|".join(sorted(COLOR_WORDS)))  # four times as fast as to look for whole words
COLOR_IN = re.compile(
    rf"(?<![\w'’-])({'|'.join(sorted(COLORS.split('|'), key=len, reverse=True))})(?![\w'’-])(?:\s+(\w+))?"
)
NO_COLOR = words(  # what follows: black friday, white noise, red bull, gold plated
    "friday box magic noise bull hat cross wolf plated filled tone medal juice tea rice pepper sea ray tooth jays sox widow"
    " decker ops swan edition standard card rush series plug plugs banana connector connectors"
    " contacts fibre alkaline laser onion"
)
WORD = re.compile(r"[^\W_]+")


def brand_of(value: Any, repairs: set[str]) -> str | None:
    """
    >>> brand_of("Visit the Koss Store", set()), brand_of("Brand: Koss", set()), brand_of("n/a", set())
    ('Koss', 'Koss', None)
    """
    brand = text(value, repairs) if value is not None else None
    if brand and (store := STORE.fullmatch(brand)):
        brand = (store[1] or store[2]).strip()
    if brand is None or brand.lower() in NO_BRAND or not WORD.search(brand):
        repairs.add(BRAND)
        return None
    return brand


def color_of(value: Any, title: str, brand: str | None, repairs: set[str]) -> str | None:
    """The colour that the source gives, else the only one that the title names.

    >>> color_of(None, "Koss headphones, navy blue", "Koss", set()), color_of("", "A hundred red and blue pens", None, set())
    ('navy blue', None)
    >>> color_of(None, "infrared sensor for hundreds of redwoods", None, set()), color_of(None, "Black & Decker drill", "Black & Decker", set())
    (None, None)
    """
    color = text(value, repairs) if value is not None else None
    if color is not None and color.lower() not in MISSING and LETTER.search(color):
        return color
    lower = title.lower()
    if not COLOR_MAYBE.search(lower):
        return None
    if brand:
        lower = lower.replace(brand.lower(), "")
    named = {found[1] for found in COLOR_IN.finditer(lower) if found[2] not in NO_COLOR}
    if len(named) != 1:
        return None
    repairs.add(COLOR)
    return named.pop()


# Category

SPLIT = re.compile(r"\s*[>›»|]+\s*")
SMALL = words("a an and as at by for from in of on or the to with")
ACRONYMS = {
    word.lower(): word
    for word in words(
        "AA AAA AC AM APS ATX AV BBQ BD CB CBD CCTV CD CDs CDR CPAP CPU CPUs DAT DC DIY DJ DNA DSL DSLR DTV DVD DVDs DVI DVR DVRs EVA FM FRS GMRS"
        " GPS GPU HD HDD HDMI HDTV HVAC ID IDE IP iPad iPads iPhone iPhones iPod iPods IR KVM LAN LCD LED LEDs LP MIDI MP3"
        " NAS NFL NBA NHL MLB OLED PA PC PCs PCI PCMCIA PDA PDAs PS2 PS3 PS4 PS5 PVC RAM RC RCA ROM RV RW SATA SCSI SD SDHC SIM"
        " SLR SSD SSDs TV TVs UPS USA UK USB UV VCR VCRs VGA VHF VoIP VPN VR WiFi XL eBook eBooks eReader eReaders"
    )
}
WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def category_of(path: Any, leaf: Any, title: str, repairs: set[str]) -> tuple[str, ...]:
    """From the broadest to the leaf.

    >>> category_of("home &amp; kitchen > DESK LAMPS", None, "", set()), category_of(["Audio"], "usb hubs", "", set())
    (('Home & Kitchen', 'Desk Lamps'), ('Audio', 'USB Hubs'))
    """
    names, done = spelled_path(
        *(part if part is None or type(part) is str else tuple(flat(part)) for part in (path, leaf))
    )
    if names:
        repairs |= done
        return names
    if guess := guess_category(title):
        repairs.add(GUESSED)
        return guess
    repairs.add(NO_CATEGORY)
    return ELSE


def flat(value: Any) -> list[str]:
    """
    >>> flat(["a", ["b", 3]]), flat('["a", "b"]'), flat(None)
    (['a', 'b', '3'], ['a', 'b'], [])
    """
    value = unpacked(value)
    if isinstance(value, list | tuple):
        return [name for part in value for name in flat(part)]
    name = as_text(value)
    return [] if name is None else [name]


@lru_cache(100_000)
def spelled_path(*paths: str | tuple[str, ...] | None) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names of a path, or of two, in one spelling each, and the repairs; worked out once, since few come often."""
    repairs: set[str] = set()
    names: list[str] = []
    for path in paths:
        parts = flat(path) if isinstance(path, str) else path or ()
        clean = [name for part in parts for name in SPLIT.split(text(part, repairs) or "") if is_name(name)]
        better = [spelled(name) for name in clean]
        if better != clean:
            repairs.add(CASE)
        if better != names[-len(better) :]:
            names += better
    return tuple(name for i, name in enumerate(names) if i == 0 or name != names[i - 1]), frozenset(repairs)


def is_name(name: str) -> bool:
    """A lone Latin letter is no category (`d`, for batteries), a lone Chinese character is."""
    return name.lower() not in MISSING and bool(LETTER.search(name)) and not (len(name) == 1 and name.isascii())


@lru_cache(100_000)
def spelled(name: str) -> str:
    """The same however the source writes it, so that a leaf is one leaf.

    >>> spelled("HARD DRIVES & ssds"), spelled("ipad cases for the car"), spelled("Men's t-shirts"), spelled("HARD drives & SSDs")
    ('Hard Drives & SSDs', 'iPad Cases for the Car', "Men's T-Shirts", 'Hard Drives & SSDs')
    """
    lower = name.lower()
    if lower in spellings():
        return spellings()[lower]
    return unicodedata.normalize("NFC", WORDS.sub(capital, lower))


def capital(match: re.Match[str]) -> str:
    word = match[0]
    if word in SMALL and match.start():
        return word
    if word in ACRONYMS or re.fullmatch(r"\d+[a-z]", word):
        return ACRONYMS.get(word) or word.upper()
    first = word[0].upper()
    return first + word[1:] if len(first) == 1 else word  # an initial ß has no capital


@cache
def spellings() -> dict[str, str]:
    """Names in the reference are spelled as there."""
    names = {name for domain in domains() for leaf in domain.leaves for name in [domain.name, *leaf.path, leaf.name]}
    return {name.lower(): name for name in sorted(names, reverse=True)}


def guess_category(title: str, shop: list[Domain] | None = None) -> tuple[str, ...] | None:
    """The path of the leaf whose name, or whose things' name, is what the title says the product is.

    The longest such phrase before `for` or `with` wins. A single word must end its part of the title, so that a
    laptop charger is no laptop; more words may stand anywhere, unless they name what it is an accessory of.
    """
    phrases = phrases_of(shop) if shop is not None else all_phrases()
    parts = [part_words(part) for part in PART.split(HEAD.split(title.lower(), maxsplit=1)[0])]
    for size in range(5, 0, -1):
        for words in parts:
            for end in range(len(words), size - 1, -1):
                path = phrases.get(tuple(words[end - size : end]))
                if path and (end == len(words) or (size > 1 and words[end] not in ACCESSORIES)):
                    return path
    return None


HEAD = re.compile(r" (?:for|with|compatible|fits|fit|by)(?= )| w/")
PART = re.compile(r",| - |[(\[;|:]")
ACCESSORIES = words(
    "accessory adapter bag base battery box bracket bulb cable cap case charger cleaner clip cover cushion dock filter frame"
    " holder hook insert kit lid liner mount of organizer pad part protector rack reader refill replacement shade skin sleeve"
    " stand storage strap system tool tray"
)
SECONDHAND = words("refurbished renewed used vintage owned secondhand antique")


def part_words(part: str) -> list[str]:
    """Without the sizes and colours at the end."""
    words = [singular(word) for word in WORD.findall(part)[:60]]
    while words and (len(words[-1]) < 2 or words[-1] in COLOR_WORDS | ATTACHED or not words[-1].isalpha()):
        words.pop()
    return words


@cache
def all_phrases() -> Phrases:
    return phrases_of(domains())


def phrases_of(shop: list[Domain]) -> Phrases:
    """What each leaf's things are called; a name that two leaves share means the first, and nothing is secondhand
    that does not say so."""
    phrases: Phrases = {}
    for domain in shop:
        for leaf in domain.leaves:
            for name in [leaf.name, *leaf.nouns]:
                found = tuple(singular(word) for word in WORD.findall(name.lower()))
                if SECONDHAND.isdisjoint(WORD.findall(leaf.name.lower())) or not SECONDHAND.isdisjoint(found):
                    phrases.setdefault(found, (domain.name, *leaf.path, leaf.name))
    return phrases


ODD = {
    "lenses": "lens", "lens": "lens", "mice": "mouse", "knives": "knife", "shelves": "shelf", "scarves": "scarf",
    "loaves": "loaf", "leaves": "leaf", "feet": "foot", "men": "man", "women": "woman", "children": "child",
    "potatoes": "potato", "tomatoes": "tomato", "movies": "movie", "cookies": "cookie", "gas": "gas",
}  # fmt: skip


@lru_cache(100_000)
def singular(word: str) -> str:
    """
    >>> [singular(word) for word in "batteries watches glasses lamps mice glass cases".split()]
    ['battery', 'watch', 'glass', 'lamp', 'mouse', 'glass', 'case']
    """
    if word in ODD or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return ODD.get(word, word)
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word.removesuffix("s")


# Lists

ATTACHED = words(
    "in inch inches ft foot feet yd yards cm mm m km oz ounce ounces lb lbs pound pounds g kg mg mcg ml l liter liters litre"
    " litres gal gallon gallons qt pt cup cups w watt watts kw v volt volts a amp amps mah ah wh gb tb mb kb hz khz mhz ghz"
    " pack packs pk count ct pc pcs piece pieces pair pairs sheet sheets ply hour hours hr hrs min minutes sec day days month"
    " months year years yr yrs % ° °c °f psi rpm db btu lm lumens k mp megapixels px dpi ppm fps mbps gbps"
)
QUANTITY = re.compile(
    r"(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d{1,9})?(\s?)([^\W\d_][^\W\d_./²³]*|%|°[cf]?|\"|fl\.? oz|sq\.? ft|cu\.? ft|fluid ounces?|square feet|cubic feet)\.?",
    re.IGNORECASE,
)
CODES = words("model modelno model_number model_no part_number mpn sku upc ean isbn gtin asin number")
BULLET = re.compile(r"[\r\n\u2028\u2029]+|\s*[•●▪◦‣]\s*|\s\|\s|<br\s*/?>|</?li>", re.IGNORECASE)
GRADES = {
    name: grade
    for grade, words in {
        "E": "e exact 100",
        "S": "s substitute 10",
        "C": "c complement 1",
        "I": "i irrelevant 0",
    }.items()
    for name in words.split()
}


def unpacked(value: Any) -> Any:
    """A list or dictionary that was written as text, as CSV files have them.

    >>> unpacked("['a', 'b']"), unpacked('{"a": 1}'), unpacked("[sic] text")
    (['a', 'b'], {'a': 1}, '[sic] text')
    """
    if not isinstance(value, str) or len(value) > 100_000:
        return value
    inside = value.strip()
    if inside[:1] + inside[-1:] not in ("[]", "{}"):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(inside)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(found, list | dict):
            return found
    return value


def facts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Names and values from whatever way a source writes them.

    >>> list(facts({"size": "10 in"})), list(facts([("size", "10 in"), "material: oak", {"name": "fit", "value": "slim"}, "long lasting"]))
    ([('size', '10 in')], [('size', '10 in'), ('material', 'oak'), ('fit', 'slim'), ('feature', 'long lasting')])
    """
    match unpacked(value):
        case {"name": name, "value": found}:
            yield name, found
        case dict() as named:
            yield from named.items()
        case [str() as name, str() | int() | float() as found] if isinstance(value, tuple):
            yield name, found
        case list() | tuple() as several:
            for one in several:
                yield from facts(tuple(one) if isinstance(one, list) and len(one) == 2 else one)
        case str() as line:
            name, colon, found = line.partition(": ")
            yield (name, found) if colon and len(name) <= 40 else ("feature", line)


def attributes_of(value: Any, repairs: set[str]) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for name, one in facts(value):
        name = text(name, repairs)
        one = (
            None
            if isinstance(one, dict)
            else known(text(", ".join(flat(one)) if isinstance(one, list) else one, repairs))
        )
        if name and one:
            number, unit = quantity(one) if name.lower().replace(" ", "_") not in CODES else (None, None)
            found.setdefault((name, one), {"name": name, "value": one, "number": number, "unit": unit})
    return list(found.values())


def quantity(value: str) -> tuple[float | None, str | None]:
    """
    >>> quantity("12 in"), quantity("1,299 mAh"), quantity("60gb"), quantity("802.11n"), quantity("7 x 5 in")
    ((12.0, 'in'), (1299.0, 'mAh'), (60.0, 'gb'), (None, None), (None, None))
    """
    match = QUANTITY.fullmatch(value) if "0" <= value[0] <= "9" else None
    if not match or not (match[3] or match[4].lower() in ATTACHED):
        return None, None
    return float(match[1].replace(",", "") + (match[2] or "")), match[4]


def options_of(value: Any, repairs: set[str]) -> list[Row]:
    """
    >>> options_of({"Size": ["S", {"value": "M", "image": "x"}, "S"], "Empty": None}, set())
    [{'name': 'Size', 'values': ['S', 'M']}]
    """
    value = unpacked(value)
    if isinstance(value, list):
        pairs = [(one.get("name"), one.get("values")) for one in value if isinstance(one, dict)]
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    found: dict[str, dict[str, None]] = {}
    for name, values in pairs:
        values = unpacked(values)
        values = values if isinstance(values, list | tuple) else [values]
        clean = [text(one.get("value") if isinstance(one, dict) else one, repairs) for one in values]
        if (name := text(name, repairs)) and any(clean):
            found.setdefault(name, {}).update(dict.fromkeys(filter(None, clean)))
    return [{"name": name, "values": list(values)} for name, values in found.items()]


def bullets_of(value: Any, repairs: set[str]) -> list[str]:
    """
    >>> bullets_of("• Warm light\\n• Oak base", set()), bullets_of(["Warm light", None, "Warm light"], set())
    (['Warm light', 'Oak base'], ['Warm light'])
    """
    value = unpacked(value)
    lines = flat(value) if isinstance(value, list | tuple) else BULLET.split(as_text(value) or "")
    clean = [known(text(line, repairs)) for line in lines]
    return list(dict.fromkeys(line for line in clean if line))


def queries_of(value: Any, repairs: set[str]) -> list[Row]:
    """
    >>> queries_of([("lamp", "Exact"), {"text": "desk lamp", "grade": 10.0}, ("lamp", "I"), ("chair", "?")], set())
    [{'text': 'lamp', 'grade': 'E'}, {'text': 'desk lamp', 'grade': 'S'}]
    """
    value = unpacked(value)
    pairs = value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found: dict[str, str] = {}
    for pair in pairs:
        match pair:
            case {"text": query, "grade": grade} | [query, grade]:
                pass
            case _:
                continue
        grade = GRADES.get(re.sub(r"\.0+$", "", (as_text(grade) or "").strip().lower()))
        if grade and (query := text(query, repairs)):
            found.setdefault(query, grade)
    return [{"text": query, "grade": grade} for query, grade in found.items()]


# Numbers

FIRST = re.compile(r"\d[\d.,]*")


def rating_of(value: Any) -> float | None:
    """
    >>> rating_of("4.5 out of 5 stars"), rating_of(0), rating_of(7), rating_of("none")
    (4.5, None, 5.0, None)
    """
    if not isinstance(value, float):
        found = FIRST.search(as_text(value) or "")
        try:
            value = float(found[0].rstrip(".,").replace(",", ".")) if found else 0.0
        except ValueError:
            return None
    return min(max(value, 1.0), 5.0) if value > 0 else None


def whole(value: Any, most: int) -> int | None:
    """
    >>> whole("1,234 ratings", 10**9), whole("2 to 5 days", 365), whole(3.0, 365), whole("-", 365), whole(-1, 365)
    (1234, 5, 3, None, None)
    """
    written = (as_text(value) or "").strip()
    numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]{0,15}(?:\.\d+)?", written[:200])]
    return int(numbers[-1]) if numbers and not written.startswith("-") and numbers[-1] <= most else None
