"""Whether one accessory is for another device than another, by two titles alone: which line of devices, and which model of it.

A second reading beside `shopwright.pipeline.catalog.fits`, with which it shares nothing: no vocabulary, no rules.
"""

import re
from collections import defaultdict

LINES = (
    "iphone", "ipad", "ipod touch", "ipod nano", "ipod classic", "ipod", "macbook pro", "macbook air", "macbook", "galaxy tab", "galaxy note", "galaxy",
    "pixel", "playbook", "curve", "torch", "kindle fire", "kindle", "nook", "xoom", "droid", "evo", "inspire", "zune", "sansa", "psp", "ps3", "ps4", "ps5", "xbox",
    "wii", "3ds", "surface pro", "surface", "inspiron", "latitude", "vostro", "pavilion", "presario", "elitebook", "probook", "touchpad", "laserjet",
    "officejet", "deskjet", "photosmart", "thinkpad", "ideapad", "aspire one", "aspire", "eee pc", "satellite", "tecra", "thrive", "vaio", "pixma",
    "powershot", "vixia", "eos", "rebel", "coolpix", "finepix", "lumix", "easyshare", "stylus", "workforce", "phaser", "magicolor", "hero", "nuvi",
    "fitbit", "redmi note", "oneplus", "moto", "xperia", "lumia", "streak",
)  # fmt: skip
FIND = re.compile(rf"\b({'|'.join(sorted(LINES, key=len, reverse=True))})(?=[^a-z]|$)")
# A device's model has a number; years and prices are ruled out below.
MODEL = re.compile(r"[a-z]{0,4}[1-9][\w.]{0,7}|[a-z]{1,4}\d[\w.]{0,7}")
# Measures and connections that look like a model.
NO_MODEL = re.compile(
    r"\d+(?:\.\d+)?(?:gb|tb|mb|in|inch|mm|mah|w|v|pk|pack|ft|x|mp|m|oz|ct)|\d+-inch|\d{1,2}\.\d|3g|4g|wi.?fi|\d+(?:rd|nd|st|th)"
)
# A title of the device itself, which is for no other one.
ITSELF = re.compile(r"\b\d+ ?mp\b|\bcamcorder\b|\b(?:notebook|laptop) pc\b|\bprinter\b|\bsmartphone\b")
CARTRIDGE = re.compile(r"\d{2,3}[ax]")
PART_OF_NAME = ("plus", "max", "mini", "ultra", "lite")
MADE_FOR = re.compile(
    r"\b(?:cases?|covers?|sleeves?|skins?|protectors?|chargers?|adapters?|batter(?:y|ies)|toner|ink|cartridges?|mounts?|docks?|cradles?|cables?|folios?|bumpers?|holsters?"
    r"|decals?|films?|stands?|armbands?|straps?|bands?|styluses|keyboards? for|glass)\b"
)


def parse_device_lines(title: str) -> dict[str, set[str]]:
    """The lines of devices that a title names, with the models of each.

    >>> parse_device_lines("Case for iPhone 7 Plus / 8 Plus") == {"iphone": {"7 plus", "8 plus"}}
    True
    >>> parse_device_lines("Case for iPod touch 5th 32GB, 6 colors") == {"ipod touch": {"5"}}
    True
    """
    text = title.lower().replace("+", " plus ")
    found: dict[str, set[str]] = defaultdict(set)
    for match in FIND.finditer(text):
        models: list[str] = []
        for word in re.split(r"[\s/,&-]+", text[match.end() :].lstrip(" -"))[:8]:
            if word in PART_OF_NAME and models:
                models[-1] += f" {word}"
            elif MODEL.fullmatch(word) and not (NO_MODEL.fullmatch(word) and match[1] not in ("iphone", "ipod touch")):
                if (match[1].startswith("ipod") and word[:2].isdigit()) or (
                    match[1] == "laserjet" and CARTRIDGE.fullmatch(word)
                ):
                    break
                models.append(re.sub(r"(?<=^\d)(?:g|th|rd|nd|st)$", "", word) if match[1].startswith("ipod") else word)
            elif word not in ("and", "or", ""):
                break
        found[match[1]].update(models)
    return dict(found)


def is_for_another(original: str, other: str) -> bool:
    """Whether both say for which devices they are, and the second is for another: of another line, or another model of it.

    >>> is_for_another("Slim case for iPhone 7 Plus", "Slim case for Galaxy J3"), is_for_another("Case for iPhone 7", "Case, iPhone 7 / 8")
    (True, False)
    """
    head = original.lower().partition(" with ")[0]  # a camera with a case is no case
    if not MADE_FOR.search(head) or (ITSELF.search(head) and " for " not in head):
        return False
    one, two = parse_device_lines(original), parse_device_lines(other)
    if not one or not two:
        return False
    common = one.keys() & two.keys()
    return not common or any(one[line] and two[line] and one[line].isdisjoint(two[line]) for line in common)
