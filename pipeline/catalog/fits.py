"""What a product fits, read from its title: the device it is for, the cartridge, the cell, the socket, the size of the screen.

Rules over a vocabulary (`data/reference/fits.toml`), so that a catalog that nobody saw before is read too. What a thing *is* is not what it
fits: a phone has no device, a case for it has. Nothing is read where a title is not clear.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "fits.toml"
# By kind what it fits.
Fits = Mapping[str, frozenset[str]]
# Kinds of which a title gives several names for one thing: one in common is enough. Of the others all must be covered.
OTHER_NAMES = frozenset(["cartridge", "battery"])
# Kinds with a value such as `32-55`, which covers what lies within.
RANGES = frozenset(["screen", "year"])
WORD = re.compile(r"[a-z0-9]+(?:[.'-][a-z0-9]+)*\+?|[/,&;()|]")
# May stand between two models of one family.
BETWEEN = frozenset(
    ["and", "or", "&", "/", ",", "series", "generation", "gen", "models", "model", "the", "both", "serie", "new"]
)
UNITS = frozenset(
    "gb tb mb in inch inches mm cm ft feet foot mah mp w watt watts v volt volts pack packs pk pc pcs piece pieces x hz ghz mhz page pages sheets"
    " megapixel megapixels megapixels port ports hour hours year years channel channels cell cells lb lbs oz ct count wh".split()
)
MEASURE = re.compile(r"\d+(?:\.\d+)?(?:-?(?:gb|tb|mb|in|inch|inches|mm|cm|ft|feet|foot|m|mah|mp|w|watts?|v|volts?|a|amps?|pk|pack|pc|pcs|x|hz|ghz|mhz|p|i|d|th|st|nd|rd|"
    r"page|pages|sheet|sheets|port|ports|oz|lb|lbs|ct|k|bit|way|pin|cell|wh|rpm|dpi|ohm|u|db|gbps|mbps|yield|hours?|days?|minutes?|pieces?|persons?|cups?))+|80211[a-z]*|802\.11[a-z]*|usb\d.*|ddr\d?|mp[34]|cat\d[a-z]?|wi-?fi.*|\d+x\d+.*|\d+-in-\d+|.*-?bit|h\.26\d|mpeg\d|pc-?\d{4,5}|ipx?\d{1,2}k?|(?:19|20)\d0s")  # fmt: skip
QUANTITY = re.compile(r"\d+(?:\.\d+)?-?(?:gb|tb|mb|in|inch|mm|cm|ft|mah|mp|w|v|pk|pack|pc|pcs|hz|x)")
# Letters and digits, as makers name their models.
CODE = re.compile(r"(?=[a-z0-9-]*\d)(?=[a-z0-9-]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")
# From here on a title speaks of what comes with the thing.
TAIL = re.compile(r"\b(?:with|w/|includes?|including|bundle)\b")
INK = re.compile(
    r"\b(?:toners?|inkjet cart\w*|ink cart\w*|cartridges?|cart|inks?|drum|ribbons?|fuser|printhead|developer)\b"
)
# Cartridges that hold no ink.
NO_INK = re.compile(
    r"\b(?:data|tape|disk|disc|dlttape|ultrium|game|audio|filter) cart|printer w|all-in-one|\bdlt|\blto|label"
)
NUMBERED = re.compile(r"\b(hp|lexmark|kodak|epson|canon|brother|dell|samsung)(?: (?:series|high|yield|no|original|laserjet|deskjet|officejet|photosmart|stylus))* (\d{2,3}(?:xl|a|x|bk|b|c|m|y)?(?: (?=\d))?(?:\d{2,3}(?:xl|a|x)?(?= |$))?)"
    r"(?= (?:black|cyan|magenta|yellow|color|tri|ink|inkjet|toner|photo|combo|twin|value|high|cartridge|print|large|light|series|xl|pack)|$)")  # fmt: skip
# How makers number what holds ink.
CARTRIDGE = re.compile(
    r"[cq][a-z]?\d{3,4}[a-z]{1,2}|(?:cli|pgi|pg|cl|bci|crg|tn|dr|lc|t0|mlt|clt)-?[a-z]?\d{1,4}[a-z]*|\d{3}r\d{5}|\d\d[a-z]\d{4}[a-z]*"
)
CELL = re.compile(
    r"\b(?<!usb-)(?:a{2,4}|9v|cr\d{3,4}|lr\d{2,4}|18650|14500|16340|21700|cr123a?|(?:[cd])(?= (?:cell|size|batter)))(?= |$)"
)
BULB = re.compile(
    r"\b(?:e26|e27|e12|e14|e17|gu10|gu24|gu5\.3|g9|g4|b22|mr16|mr11|par\d\d|a19|a21|br30|br40|r20|r30|r40|g25|t5|t8|t12|candelabra)\b"
)
BED = re.compile(r"\b(?:twin xl|twin|full|queen|california king|cal king|king|crib)\b(?!-)")
SPAN = re.compile(
    r"\b(\d{2,3})\s*(?:in|inch|inches)?\s*(?:-|–|to| -|- )\s*(\d{2,3})(?=\s*-?(?:in\b|inch|inches|displays?|screens?|tvs?|televisions?|lcd|led|flat|plasma|panel|monitors?|black|\"|$))"
)
# A largest size alone: everything smaller fits too.
UP_TO = re.compile(
    r"\bup to (?:a )?(\d{1,3}(?:\.\d)?)(?=\s*-?(?:in\b|inch|inches|displays?|screens?|tvs?|notebook|laptop|\"|$))"
)
INCHES = re.compile(
    r"\b(\d{1,2}(?:\.\d)?)(?=\s?-?(?:in\b|inch\b|inches\b|\"|'')|(?: \w+){0,2} (?:laptop|notebook|netbook|macbook)\b)"
)
# Model years of cars, or a span of them.
YEARS = re.compile(r"(?:19|20)\d\d(?:-(?:(?:19|20)?\d\d))?")
CLOTHES = re.compile(
    r"\b(?:shirts?|hoodie|hoodies|sweater|jacket|coat|dress|pants|jeans|leggings|shorts|gloves?|socks?|blouse|skirt|underwear|bra|suit|uniform|apron|tee|t-shirt|sweatshirt|vest)\b"
)
SHOES = re.compile(r"\b(?:shoes?|sneakers?|boots?|sandals?|slippers?|heels|loafers?|clogs?)\b")
WORN = re.compile(r"\b(?:size )?(xxs|xs|xxl|xl|[2-5]xl|x-large|xx-large|x-small|small|medium|large)\b(?! (?:cushion|weight|support|compression|coverage|rise))|\bsize (s|m|l|\d{1,2}(?:\.5)?)\b|, (s|m|l)$")  # fmt: skip
SHOE = re.compile(r"\b(?:size|us|uk|eu) (\d{1,2}(?:\.5)?)\b|\b(\d{1,2}(?:\.5)?)(?= (?:m us|w us|us\b|d\(m\)|b\(m\)))")
WORN_AS = {"x-large": "xl", "xx-large": "xxl", "2xl": "xxl", "x-small": "xs", "small": "s", "medium": "m", "large": "l"}
PAPER = ((re.compile(r"\bletter\b|8(?:\.5| 1[ /]2|-1[ /]2)\s?x\s?11\b"), "letter"), (re.compile(r"\blegal\b|8(?:\.5| 1[ /]2|-1[ /]2)\s?x\s?14\b"), "legal"),
    (re.compile(r"\ba4\b"), "a4"), (re.compile(r"\ba3\b"), "a3"), (re.compile(r"\btabloid\b|\bledger\b|\b11 x 17\b"), "tabloid"))  # fmt: skip
MEDIA = re.compile(r"\b(?:lto-?\s?(?:ultrium )?-?\d|super dlt\w*|sdlt\w*|dlt\w*|mini ?dv|vhs-c|dds-?\d|hi8|dat ?\d+)\b")


class Family(NamedTuple):
    """A line of devices."""

    name: str
    models: re.Pattern[str]
    more: frozenset[str]
    same: Mapping[str, str]
    """One way to write a model -> the usual one."""
    is_bare: bool
    """Whether its name alone says a device."""


class Vocabulary(NamedTuple):
    families: Mapping[str, Sequence[tuple[tuple[str, ...], Family]]]
    """By the first word of the name, the longest name first."""
    glued: re.Pattern[str]
    """A name and a model in one word: `ipad2`."""
    vehicles: Mapping[str, frozenset[str]]
    cars: frozenset[str]
    """Their models, whoever makes them."""
    accessories: re.Pattern[str]
    devices: frozenset[str]
    cues: frozenset[tuple[str, ...]]


@cache
def load_fit_vocabulary() -> Vocabulary:
    read = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
    found: dict[str, list[tuple[tuple[str, ...], Family]]] = {}
    for each in read["families"]:
        for name in each["names"]:
            family = Family(
                name.removeprefix("blackberry "),
                re.compile(each["models"]),
                frozenset(each["more"]),
                each.get("same", {}),
                name in each.get("bare", each["names"]),
            )
            words = tuple(name.split())
            found.setdefault(words[0], []).append((words, family))
    for several in found.values():
        several.sort(key=lambda each: -len(each[0]))
    single = []
    for name, several in found.items():
        single += [name for words, _ in several if len(words) == 1]
    single.sort(key=len)
    accessories = "|".join(read["words"]["accessories"].split())
    return Vocabulary(
        found,
        re.compile(rf"({'|'.join(reversed(single))})-?(\d[a-z0-9]*)"),
        {maker: frozenset(models) for maker, models in read["vehicles"].items()},
        frozenset(chain.from_iterable(read["vehicles"].values())),
        re.compile(rf"\b(?:{accessories})\b"),
        frozenset(read["words"]["devices"].split()),
        frozenset(tuple(cue.split()) for cue in read["words"]["cues"]),
    )


def fits_of(title: str, category: str = "", description: str = "") -> list[tuple[str, str]]:
    """What a product fits: kind and value, in the order of both.

    >>> fits_of("Slim Case for iPhone 7 Plus / 8 Plus, black")
    [('device', 'iphone 7 plus'), ('device', 'iphone 8 plus')]
    >>> fits_of("Apple iPhone 7 Plus 32GB smartphone"), fits_of("Tilting wall mount for 32 to 55 inch TVs")
    ([], [('screen', '32-55')])
    """
    text = normalize_title(title)
    near = f"{text} {category.lower()}"
    found = set()
    for kind, read in (*READERS, ("device", find_devices)):
        found |= {(kind, value) for value in read(text, near)}
    if (
        description
        and not any(kind == "device" for kind, _ in found)
        and load_fit_vocabulary().accessories.search(near)
    ):
        found |= {("device", value) for value in find_fit_statements(normalize_title(description))}
    return sorted(found)


@lru_cache(4_096)
def normalize_title(text: str) -> str:
    """In lower case, with plain quotes and dashes, and plus signs as a word."""
    lower = text.lower().replace("”", '"').replace("″", '"').replace("–", "-").replace("\N{NON-BREAKING HYPHEN}", "-")
    return re.sub(r"\s+", " ", re.sub(r"(?<=[a-z0-9])\+", " plus ", lower).replace("'s ", " ")).strip()


# Devices


# Families whose name alone may only stand before another's.
MAKERS = frozenset(["blackberry", "htc", "galaxy", "nook", "kindle"])


class Mention(NamedTuple):
    begin: int
    end: int
    values: tuple[str, ...]
    is_bare: bool


def find_devices(text: str, near: str) -> set[str]:
    """The devices that a thing is for; none where it is one itself."""
    known = load_fit_vocabulary()
    words = WORD.findall(text)
    found: set[str] = set()
    head = TAIL.split(text)[0]
    is_accessory = known.accessories.search(near.removeprefix(text)) or known.accessories.search(head)
    mentions = list(find_mentions(words))
    for number, each in enumerate(mentions):
        after = mentions[number + 1] if number + 1 < len(mentions) else None
        if each.is_bare and each.values[0] in MAKERS and after and after.begin == each.end:
            continue  # blackberry playbook: the second name is the device
        is_made_for = follows_cue(words, each.begin) or known.accessories.search(" ".join(words[: each.begin]))
        if is_made_for or (is_accessory and not known.devices.intersection(words[each.end : each.end + 5])):
            found.update(each.values)
    ends = [(each.begin, each.end) for each in mentions]
    is_ink = bool(INK.search(near))
    if is_accessory or is_ink:
        found.update(code for code in find_model_codes(words, ends) if not (is_ink and CARTRIDGE.fullmatch(code)))
    return found


def find_mentions(words: Sequence[str]) -> Iterator[Mention]:
    """Every family that is named, with its models."""
    known, at = load_fit_vocabulary(), 0
    while at < len(words):
        word = words[at].replace("-", "")
        glued = known.glued.fullmatch(word)
        if glued and (family := find_family(glued[1])) and family.models.fullmatch(glued[2]):
            values, end = parse_models(family, [glued[2], *words[at + 1 : at + 40]])
            yield Mention(at, at + end, values, False)
            at += max(1, end)
            continue
        for name, family in known.families.get(word, ()):
            if tuple(each.replace("-", "") for each in words[at : at + len(name)]) == name:
                values, end = parse_models(family, words[at + len(name) : at + 60])
                if values or family.is_bare:
                    yield Mention(at, at + len(name) + end, values or (family.name,), not values)
                    at += len(name) + end - 1
                    break
        at += 1


def find_family(name: str) -> Family | None:
    return next((family for words, family in load_fit_vocabulary().families[name] if len(words) == 1), None)


def parse_models(family: Family, words: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The models that follow the name of a family, and how many words these take.

    >>> parse_models(find_family("iphone"), ["6", "/", "6s", "plus", "case"])
    (('iphone 6', 'iphone 6s plus'), 4)
    """
    found: list[str] = []
    end = 0
    for place, raw in enumerate(words):
        word = raw.rstrip(".").replace("-", "")
        after = words[place + 1] if place + 1 < len(words) else ""
        if word in family.more and (found or word not in ("a", "s", "x", "play", "power")):
            if found and end == place:
                found[-1] += f" {word}"
            else:
                found.append(word)
        elif (
            family.models.fullmatch(word)
            and after not in UNITS
            and (word in family.same or not QUANTITY.fullmatch(raw))
        ):
            found.append(family.same.get(word, word))
        elif word in BETWEEN and place - end < 2:
            continue
        elif (
            (parts := raw.split("-"))[0]
            and len(parts) > 1
            and not found
            and all(family.models.fullmatch(part) for part in parts)
        ):
            found += parts
        else:
            break
        end = place + 1
    return tuple(dict.fromkeys(f"{family.name} {each}" for each in found)), end


def follows_cue(words: Sequence[str], begin: int) -> bool:
    """Whether `for`, or the like, stands before it: directly, or before the maker's name."""
    cues = load_fit_vocabulary().cues
    for back in range(4):
        end = begin - back
        if end > 0 and any(tuple(words[max(0, end - size) : end]) in cues for size in (1, 2, 3)):
            return True
        if end <= 0 or words[end - 1] in ("/", ",", ";", "(", ")", "|", "with", "-"):
            return False
    return False


def find_model_codes(words: Sequence[str], taken: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Models by their codes alone, after `for` and a maker: `for optoma ep757 756`."""
    cars = load_fit_vocabulary().cars
    at = 0
    while at < len(words):
        at += 1
        if words[at - 1] not in ("for", "fits") and words[max(0, at - 2) : at] != ["compatible", "with"]:
            continue
        maker, strange = "", 0
        while at < len(words):
            word = words[at]
            inside = next((end for begin, end in taken if begin <= at < end), None)
            code = word.replace("-", "")
            if inside:
                at, maker, strange = inside, maker or words[inside - 1], -9
                continue
            if is_code(word) and code not in cars and not load_fit_vocabulary().glued.fullmatch(code):
                yield code if len(code) > 3 else f"{maker} {code}".strip()
                strange = -9 if strange >= 0 else strange
            elif (
                maker
                and strange < 0
                and re.fullmatch(r"\d{3,5}", word)
                and (at + 1 >= len(words) or words[at + 1] not in UNITS)
            ):
                yield f"{maker} {word}"
            elif word in BETWEEN:
                pass
            elif strange < 0 or strange > 2 or not word.replace("-", "").isalpha() or word in STOPS:
                break
            else:
                maker, strange = maker or word, strange + 1
            at += 1


STOPS = frozenset(
    "with includes include use all any your most home office car travel black white up in by a of to on desktop desktops laptop laptops notebook notebooks"
    " computers cameras phones players printers monitors displays tvs screens tablets books labels handset".split()
)


def is_code(word: str) -> bool:
    return (
        bool(CODE.fullmatch(word))
        and not MEASURE.fullmatch(word)
        and 2 < len(word.replace("-", "")) < 14
        and not re.fullmatch(r"\d+[a-z]?-inch", word)
    )


def find_vehicles(words: Sequence[str]) -> Iterator[str]:
    """Maker and model; after a maker its other models too, between years."""
    makers = load_fit_vocabulary().vehicles
    for at, word in enumerate(words):
        if word not in makers:
            continue
        place = at + 1
        while place < len(words):
            pair = f"{words[place]} {words[place + 1]}" if place + 1 < len(words) else ""
            model = words[place].replace("-", "")
            if pair in makers[word]:
                yield f"{word} {pair}"
                place += 1
            elif model in makers[word]:
                yield f"{word} {MISSPELT.get(model, model)}"
            elif not YEARS.fullmatch(words[place]) and words[place] not in BETWEEN:
                break
            place += 1


MISSPELT = {"protoge": "protege"}


def find_years(words: Sequence[str]) -> Iterator[str]:
    """Of the only vehicle that is named.

    >>> list(find_years("floor mats for 2015-20 ford f150".split()))
    ['2015-2020']
    """
    found = [word for word in words if YEARS.fullmatch(word)]
    if len(found) == 1 and len(set(find_vehicles(words))) == 1:
        first, _, last = found[0].partition("-")
        yield f"{first}-{(first[: 4 - len(last)] if first[: 4 - len(last)] + last >= first else '20') + last}"


def find_fit_statements(text: str) -> Iterator[str]:
    """The devices that a description says it is for, in so many words."""
    words = WORD.findall(text)
    for each in find_mentions(words):
        if follows_cue(words, each.begin) and not each.is_bare:
            yield from each.values


# The other kinds


def find_cartridges(text: str, near: str) -> Iterator[str]:
    """The number of a cartridge, in all the ways that the title gives it."""
    if not INK.search(near) or NO_INK.search(text):
        return
    numbered: dict[str, str] = {}
    for brand, numbers in NUMBERED.findall(text):
        numbered |= dict.fromkeys(numbers.split(), brand)
    yield from (f"{brand} {number}" for number, brand in numbered.items())
    words = WORD.findall(text)
    is_cued = False
    for word in words:
        is_cued = is_cued or ((word,) in load_fit_vocabulary().cues and word != "4")
        code = word.replace("-", "").removeprefix("new")
        is_long = len(code) > 3 and sum(letter.isdigit() for letter in code) > 1 and is_code(word)
        if code not in numbered and (CARTRIDGE.fullmatch(code) or (is_long and not is_cued)):
            yield re.sub(r"(?<=\d[a-z])d$", "", code)  # a dual pack


def find_batteries(text: str, near: str) -> Iterator[str]:
    """The maker's number of a battery, by which its charger goes too."""
    if not re.search(r"\bbatter(?:y|ies)\b|\bcharger\b", text) or re.search(
        r"batter(?:y|ies) (?:operated|powered|life|pack advance)|camera (?:with|w)\b", text
    ):
        return
    for word in WORD.findall(text):
        if (word,) in load_fit_vocabulary().cues:
            break
        if (
            len(word.replace("-", "")) > 4
            and is_code(word)
            and re.match(r"[a-z]{2}", word)
            and not CELL.fullmatch(word)
        ):
            yield word.replace("-", "")


def find_battery_cells(text: str, near: str) -> Iterator[str]:
    if re.search(r"\bbatter(?:y|ies)\b", near):
        yield from (found.split()[0] for found in CELL.findall(text))


def find_memory_types(text: str, near: str) -> Iterator[str]:
    """The kind of module, or of card."""
    if re.search(
        r"\bso-?dimm|\bdimm\b|\b\d{3}-pin|memory (?:module|kit|upgrade)|(?:desktop|laptop|notebook|server) memory|\bram\b",
        text,
    ):
        if re.search(
            r"graphics|video card|motherboard|laptop pc|netbook|laptop computer|laptop\b.*, \d+ ?gb ram", text
        ):
            return
        yield from (found.replace(" ", "") for found in re.findall(r"\bddr ?\d?(?=\b|-)", text))
        if re.search(r"so-?dimm|\b20[04]-pin|laptop|notebook", text):
            yield "sodimm"
        elif re.search(r"dimm|\b(?:184|240|288)-pin|desktop", text):
            yield "dimm"
        return
    if re.search(r"memory card|flash card|\bsdhc\b|\bsdxc\b|micro ?sd|compact ?flash", text) and not re.search(
        r"reader|camera|camcorder|player|recorder|frame|printer|phone|tablet|slot|receiver|scanner|copier|accepts", text
    ):
        if re.search(r"micro ?sd|transflash", text):
            yield "microsd"
        elif re.search(r"compact ?flash|\bcf\b", text):
            yield "cf"
        elif re.search(r"\bxd\b", text):
            yield "xd"
        elif re.search(r"memory stick|\bms\b", text):
            yield "memory stick"
        elif re.search(r"\bsd(?:hc|xc)?\b|secure digital", text):
            yield "sd"


def find_screen_sizes(text: str, near: str) -> Iterator[str]:
    """Inches of the screen, or of the computer, that goes on or into it."""
    carried = re.search(
        r"\b(?:sleeve|case|bag|backpack|briefcase|brief|cover|protector|filter|privacy|skin|messenger|tote)s?\b", near
    )
    if not carried and not re.search(r"\b(?:mounts?|bracket|stand(?!-up))\b", near):
        return
    if found := SPAN.search(text):
        low, high = int(found[1]), int(found[2])
        if 7 <= low < high <= 120:
            yield f"{low}-{high}"
        return
    if found := UP_TO.search(text):
        yield f"0-{found[1]}"
    elif carried and re.search(r"\b(?:sleeve|laptop|notebook|netbook|macbook|tablet|ipad|lcd|monitor|wide)\b", text):
        yield from (f"{size}-{size}" for size in INCHES.findall(text) if 7 <= float(size) <= 32)


def find_voltages(text: str, near: str) -> Iterator[str]:
    if re.search(
        r"\b(?:ac|power|laptop) (?:adapt|suppl|charger)|\bbatter(?:y|ies)\b|\bbulbs?\b", text
    ) and not re.search(r"camera|radio|player|portable dvd|\batx\b", text):
        yield from (
            f"{float(found):g}v" for found in re.findall(r"\b(\d{1,3}(?:\.\d{1,2})?) ?v(?:olts?)?(?= |$|,)", text)
        )


def find_bulb_bases(text: str, near: str) -> Iterator[str]:
    """Socket and shape; of a bulb also its watts."""
    if re.search(r"\b(?:bulbs?|floodlight|tubes?|lamps?)\b", text) and not re.search(r"projector|flashlight", text):
        yield from BULB.findall(text)
        if re.search(r"\bbulbs?\b", text):
            yield from (f"{found}w" for found in re.findall(r"\b(\d{1,3})[ -]?w(?:atts?)?\b(?!.?equi)", text)[:1])


def find_bed_sizes(text: str, near: str) -> Iterator[str]:
    if re.search(
        r"\b(?:mattress|sheets?|sheet set|duvet|comforter|quilt|bedding|bed frame|headboard|bedspread|coverlet|box spring)\b",
        text,
    ):
        yield from ("california king" if found == "cal king" else found for found in BED.findall(text))


def find_clothing_sizes(text: str, near: str) -> Iterator[str]:
    """What is worn: a garment's size, a shoe's."""
    if SHOES.search(text):
        yield from (one or other for one, other in SHOE.findall(text))
    elif CLOTHES.search(text) and not re.search(
        r"\b(?:for|case|cover|bag|dress shirt box)\b", text.partition(" size")[0]
    ):
        for found in WORN.findall(text):
            size = next(filter(None, found))
            yield WORN_AS.get(size, size)


def find_threads(text: str, near: str) -> Iterator[str]:
    if re.search(r"\b(?:screws?|bolts?|nuts?|taps?|standoffs?|thread(?:ed)?|washers?)\b", text):
        yield from re.findall(r"\bm(?:[2-9]|1[0-9]|2[0-4])(?=\b|x)", text)
        yield from re.findall(r"\b(?:1/4|3/8|5/16|1/2|#?\d{1,2})-(?:20|16|18|13|24|32)\b", text)
    if re.search(
        r"\b(?:filters?|lens cap|lens hood|step(?:ping)?.?(?:up|down)? ring|close.?up|cap)\b", text
    ) and re.search(r"lens|camera|uv|polari|close|digital|photo|cap", near):
        yield from re.findall(r"\b(?:2[5-9]|[3-9]\d|10[0-5])mm\b", text)[:1]


def find_paper_sizes(text: str, near: str) -> Iterator[str]:
    if re.search(
        r"\b(?:paper|pouch(?:es)?|laminat\w*|labels?|folders?|sheets?|protectors?|dividers?|binders?|pads?|pressboard)\b",
        text,
    ):
        yield from (name for pattern, name in PAPER if pattern.search(text))


def find_media(text: str, near: str) -> Iterator[str]:
    if re.search(r"\b(?:tapes?|cartridges?|cassettes?|media)\b", text):
        for found in MEDIA.findall(text):
            kind = re.sub(r"[ -]|ultrium|tape.*", "", found)
            yield {"superdlt": "sdlt"}.get(kind, kind)


Reader = Callable[[str, str], Iterator[str]]
READERS: tuple[tuple[str, Reader], ...] = (
    ("vehicle", lambda text, near: find_vehicles(WORD.findall(text))),
    ("year", lambda text, near: find_years(WORD.findall(text))),
    ("cartridge", find_cartridges),
    ("battery", find_batteries),
    ("cell", find_battery_cells),
    ("memory", find_memory_types),
    ("screen", find_screen_sizes),
    ("voltage", find_voltages),
    ("bulb", find_bulb_bases),
    ("bed", find_bed_sizes),
    ("size", find_clothing_sizes),
    ("thread", find_threads),
    ("paper", find_paper_sizes),
    ("media", find_media),
)


# Whether one does for the other


def decisive(one: Fits) -> dict[str, frozenset[str]]:
    """By what it is known to fit: its number where it has one, whatever devices a seller lists beside it."""
    numbered = bool(OTHER_NAMES & one.keys())
    return {kind: values for kind, values in one.items() if not (numbered and kind == "device")}


def does_for(other: Fits, one: Fits) -> bool:
    """Whether what fits `other` does where `one` did: all that `one` is for is covered, and of several names for one thing one is shared.

    >>> case = {"device": frozenset(["iphone 7"])}
    >>> does_for({"device": frozenset(["iphone 7", "iphone 8"])}, case), does_for({}, case), does_for(case, {})
    (True, False, True)
    """
    return all(covers(kind, other.get(kind, frozenset()), values) for kind, values in decisive(one).items())


def covers(kind: str, have: frozenset[str], wanted: frozenset[str]) -> bool:
    """
    >>> covers("screen", frozenset(["26-60"]), frozenset(["32-55"])), covers("cell", frozenset(["aa"]), frozenset(["aa", "aaa"]))
    (True, False)
    """
    if kind in OTHER_NAMES:
        return bool(wanted & have)
    if kind not in RANGES:
        return wanted <= have
    left = list(map(parse_span, wanted))
    for low, high in map(parse_span, have):
        left = [(first, last) for first, last in left if first < low or high < last]
    return not left


def parse_span(value: str) -> tuple[float, float]:
    low, _, high = value.partition("-")
    return float(low), float(high)


def may_do_for(other: Fits, one: Fits) -> bool:
    """Whether nothing says that it does not: it does, or one of them says nothing of what the other is for.

    >>> may_do_for({}, {"device": frozenset(["iphone 7"])}), may_do_for({"cell": frozenset(["aaa"])}, {"cell": frozenset(["aa"])})
    (True, False)
    """
    common = one.keys() & other.keys()
    return not common or does_for({kind: other[kind] for kind in common}, {kind: one[kind] for kind in common})


def by_kind(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """
    >>> by_kind([("cell", "aa"), ("cell", "aaa")]) == {"cell": frozenset(["aa", "aaa"])}
    True
    """
    found: dict[str, frozenset[str]] = {}
    for kind, value in pairs:
        found[kind] = found.get(kind, frozenset()) | {value}
    return found
