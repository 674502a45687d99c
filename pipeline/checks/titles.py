"""Whether a title denies what a variant is, read by somebody who has only the page: the title, and the choices.

Shares no words with the code that makes variants: hues, grades, plugs and measures are listed here once more.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

DENIED = "its title says something else than its choices"
HUES = {
    hue: words.split("|")
    for hue, words in {
        "black": "black|jet black|onyx|ebony",
        "white": "white|snow white",
        "gray": "gray|grey|charcoal|gunmetal",
        "silver": "silver",
        "red": "red|crimson|scarlet|maroon|burgundy",
        "blue": "blue|navy|indigo|cyan",
        "teal": "teal|turquoise|aqua",
        "green": "green",
        "yellow": "yellow",
        "orange": "orange",
        "purple": "purple|lavender|violet|lilac|mauve",
        "pink": "pink|magenta|fuchsia",
        "brown": "brown|taupe",
        "beige": "beige|tan|ivory|khaki|cream",
    }.items()
}
HUE_OF: dict[str, str] = {}
for hue, words in HUES.items():
    HUE_OF |= dict.fromkeys(words, hue)
HUE = re.compile(
    # The longest name first; black tea and a cream cheese box are no colors.
    rf"(?<![\w'-])({'|'.join(sorted(HUE_OF, key=len, reverse=True))})(?![\w'’]|[ -](?:finish|bullet|cheese|tea|box|lip|lipstick)\b)"
)
GRADES = "like new|very good|good as new|excellent|good|fair|mint|brand new|open box"
GRADE = re.compile(rf"graded ({GRADES})\b|\b({GRADES}) condition|condition:? ({GRADES})\b")
PLUGS = {
    "usb-c": "usb-c|usb c|type-c|type c",
    "lightning": "lightning",
    "hdmi": "hdmi",
    "micro-usb": "micro-usb|micro usb",
    "displayport": "displayport",
    "dvi": "dvi",
    "vga": "vga",
}
PLUG = {plug: re.compile(rf"\b(?:{words})\b") for plug, words in PLUGS.items()}
MEASURES = {
    "gb": r"gb|gigabytes?",
    "tb": r"tb|terabytes?",
    "ft": r"ft|feet|foot|\'",
    "pack": r"packs?|pk|-pack|count|ct",
}
# Memory beside storage is another measure in the same unit.
MEASURED = {
    unit: re.compile(rf"(?<![\d.])(\d+(?:\.\d+)?)[\s-]*(?:{words})(?![a-z]|[\s-]*(?:ram|ddr|memory))")
    for unit, words in MEASURES.items()
}
WORN = re.compile(
    r"\bsize (xxs|xs|s|m|l|xl|xxl|\d{1,2}(?:\.5)?)\b|(?<![\w-])(xxs|xs|xl|xxl|small|medium|large)(?=$|[,)]| -)"
)
LETTERS = {"small": "s", "medium": "m", "large": "l"}


def find_denied_choice(title: str, choices: Iterable[tuple[str, str]]) -> str | None:
    """The choice that a title speaks against; None where it speaks against none.

    >>> find_denied_choice("Gooseneck kettle, sage green", [("color", "cream")]), find_denied_choice("Gooseneck kettle, sage green", [("color", "green")])
    ('color cream', None)
    >>> find_denied_choice("Film camera (like new condition)", [("condition", "fair")]), find_denied_choice("Cable, 6 ft, HDMI", [("length", "10 ft")])
    ('condition fair', 'length 10 ft')
    """
    text = title.lower()
    for name, value in choices:
        for read in (find_hues, find_grades, find_plugs, find_sizes_in_title):
            in_title, chosen = set(read(text, name)), set(read(value.lower(), name))
            if in_title and chosen and in_title.isdisjoint(chosen):
                return f"{name} {value}"
        if any(
            chosen and in_title and chosen.isdisjoint(in_title)
            for chosen, in_title in find_measures(text, name, value.lower())
        ):
            return f"{name} {value}"
    return None


def find_hues(text: str, name: str) -> Iterator[str]:
    if "color" in name.lower() or "colour" in name.lower():
        yield from (HUE_OF[found] for found in HUE.findall(text))


def find_grades(text: str, name: str) -> Iterator[str]:
    if "condition" in name.lower() or "grade" in name.lower():
        yield from (next(filter(None, found)) for found in GRADE.findall(text))
        if text in GRADES.split("|"):
            yield text


def find_plugs(text: str, name: str) -> Iterator[str]:
    if "connector" in name.lower() or "plug" in name.lower():
        yield from (plug for plug, pattern in PLUG.items() if pattern.search(text))


def find_sizes_in_title(text: str, name: str) -> Iterator[str]:
    """Of what is worn: letters, words, or a number after `size`."""
    if name.lower().endswith("size") and not name.lower().startswith("pack"):
        for one, other in WORN.findall(text):
            yield LETTERS.get(one or other, one or other)
        if re.fullmatch(r"xxs|xs|s|m|l|xl|xxl", text):
            yield text


def find_measures(text: str, name: str, value: str) -> Iterator[tuple[set[float], set[float]]]:
    """Numbers of one unit, in the choice and in the title, where the option is of such a kind."""
    kinds: Mapping[str, tuple[str, ...]] = {
        "capacity": ("gb", "tb"),
        "storage": ("gb", "tb"),
        "length": ("ft",),
        "pack": ("pack",),
        "pack size": ("pack",),
    }
    for unit in kinds.get(name.lower().replace("_", " "), ()):
        measured = MEASURED[unit]
        yield set(map(float, measured.findall(value))), set(map(float, measured.findall(text)))
