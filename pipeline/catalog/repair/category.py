"""The category of a product: one spelling for each, and a guess where the source has none."""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from shopwright.pipeline.catalog.reference import Domain, domains, list_leaves
from shopwright.pipeline.catalog.repair.color import COLOR_WORDS, WORD
from shopwright.pipeline.catalog.repair.lists import ATTACHED, flatten_names
from shopwright.pipeline.catalog.repair.text import LETTER, LONGEST_NAME, MISSING, clean_text, make_word_set

Phrases = dict[tuple[str, ...], tuple[str, ...]]
ELSE = ("Everything Else",)
CASE = "category case"
GUESSED = "category guessed"
NO_CATEGORY = "category missing"
# Signs between the levels of a path that is one text.
SPLIT = re.compile(r"\s*[>›»|]+\s*")
SMALL = make_word_set("a an and as at by for from in of on or the to with")
ACRONYMS = {
    word.lower(): word
    for word in make_word_set(
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
    names, done = spell_category_path(
        *(part if part is None or type(part) is str else tuple(flatten_names(part)) for part in (path, leaf))
    )
    if names:
        repairs |= done
        return names
    if guess := guess_category(title):
        repairs.add(GUESSED)
        return guess
    repairs.add(NO_CATEGORY)
    return ELSE


@lru_cache(100_000)
def spell_category_path(*paths: str | tuple[str, ...] | None) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names of a path, or of two, in one spelling each, and the repairs; worked out once, since few come often."""
    repairs: set[str] = set()
    names: list[str] = []
    for path in paths:
        parts = flatten_names(path) if isinstance(path, str) else path or ()
        pieces = chain.from_iterable(SPLIT.split(clean_text(part, repairs) or "") for part in parts)
        clean = list(filter(is_category_name, pieces))
        better = [spell_category(name) for name in clean]
        if better != clean:
            repairs.add(CASE)
        if better != names[-len(better) :]:
            names += better
    return tuple(name for i, name in enumerate(names) if i == 0 or name != names[i - 1]), frozenset(repairs)


def is_category_name(name: str) -> bool:
    """A lone Latin letter is no category (`d`, for batteries), a lone Chinese character is."""
    lone = len(name) == 1 and name.isascii()
    return name.lower() not in MISSING and bool(LETTER.search(name)) and not lone and len(name) <= LONGEST_NAME


@lru_cache(100_000)
def spell_category(name: str) -> str:
    """The same however the source writes it, so that a leaf is one leaf.

    >>> spell_category("HARD DRIVES & ssds"), spell_category("ipad cases for the car"), spell_category("Men's t-shirts"), spell_category("HARD drives & SSDs")
    ('Hard Drives & SSDs', 'iPad Cases for the Car', "Men's T-Shirts", 'Hard Drives & SSDs')
    """
    lower = name.lower()
    if lower in load_reference_spellings():
        return load_reference_spellings()[lower]
    return unicodedata.normalize("NFC", WORDS.sub(capitalize_match, lower))


def capitalize_match(match: re.Match[str]) -> str:
    word = match[0]
    if word in SMALL and match.start():
        return word
    if word in ACRONYMS or re.fullmatch(r"\d+[a-z]", word):
        return ACRONYMS.get(word) or word.upper()
    first = word[0].upper()
    return first + word[1:] if len(first) == 1 else word  # an initial ß has no capital


@cache
def load_reference_spellings() -> dict[str, str]:
    """Names in the reference are spelled as there."""
    names = {domain.name for domain in domains()}
    for leaf in list_leaves():
        names.update([*leaf.path, leaf.name])
    return {name.lower(): name for name in sorted(names, reverse=True)}


def guess_category(title: str, shop: list[Domain] | None = None) -> tuple[str, ...] | None:
    """The path of the leaf whose name, or whose things' name, is what the title says the product is.

    The longest such phrase before `for` or `with` wins. A single word must end its part of the title, so that a
    laptop charger is no laptop; more words may stand anywhere, unless they name what it is an accessory of.
    """
    phrases = phrases_of(shop) if shop is not None else all_phrases()
    parts = [part_words(part) for part in PART.split(HEAD.split(title.lower(), maxsplit=1)[0])]
    for size in range(5, 0, -1):
        for part in parts:
            for end in range(len(part), size - 1, -1):
                path = phrases.get(tuple(part[end - size : end]))
                if path and (end == len(part) or (size > 1 and part[end] not in ACCESSORIES)):
                    return path
    return None


# Before one of these a title names the thing; behind it, what it is for.
HEAD = re.compile(r" (?:for|with|compatible|fits|fit|by)(?= )| w/")
PART = re.compile(r",| - |[(\[;|:]")
ACCESSORIES = make_word_set(
    "accessory adapter bag base battery box bracket bulb cable cap case charger cleaner clip cover cushion dock filter frame"
    " holder hook insert kit lid liner mount of organizer pad part protector rack reader refill replacement shade skin sleeve"
    " stand storage strap system tool tray"
)
SECONDHAND = make_word_set("refurbished renewed used vintage owned secondhand antique")


def part_words(part: str) -> list[str]:
    """Without the sizes and colors at the end."""
    kept = [make_singular(word) for word in WORD.findall(part)[:60]]
    while kept and (len(kept[-1]) < 2 or kept[-1] in COLOR_WORDS | ATTACHED or not kept[-1].isalpha()):
        kept.pop()
    return kept


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
                found = tuple(make_singular(word) for word in WORD.findall(name.lower()))
                if SECONDHAND.isdisjoint(WORD.findall(leaf.name.lower())) or not SECONDHAND.isdisjoint(found):
                    phrases.setdefault(found, (domain.name, *leaf.path, leaf.name))
    return phrases


ODD = {
    "lenses": "lens", "lens": "lens", "mice": "mouse", "knives": "knife", "shelves": "shelf", "scarves": "scarf",
    "loaves": "loaf", "leaves": "leaf", "feet": "foot", "men": "man", "women": "woman", "children": "child",
    "potatoes": "potato", "tomatoes": "tomato", "movies": "movie", "cookies": "cookie", "gas": "gas",
}  # fmt: skip


@lru_cache(100_000)
def make_singular(word: str) -> str:
    """
    >>> [make_singular(word) for word in "batteries watches glasses lamps mice glass cases".split()]
    ['battery', 'watch', 'glass', 'lamp', 'mouse', 'glass', 'case']
    """
    if word in ODD or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return ODD.get(word, word)
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word.removesuffix("s")
