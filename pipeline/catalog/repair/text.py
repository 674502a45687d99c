"""Any value as one line of clean text."""

import html
import html.entities
import re
import unicodedata
from math import isnan
from typing import Any

MARKUP = "html entities or tags removed"
CONTROLS = "control characters removed"
# Characters of a brand, a color or a category; what is longer is none.
LONGEST_NAME = 200
MISSING = frozenset(["", "-", "--", "n/a", "na", "nan", "none", "null", "unknown", "undefined", "not available"])


# So many lists and dictionaries in each other are read; how many more Python could read depends on where it is asked.
DEEPEST = 20


def make_word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


LETTER = re.compile(r"[^\W\d_]")
NESTED = re.compile(r"&(?:amp;)+(?=#?\w+;)")
ENTITY = re.compile(r"&(#\d{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
TAG = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>|<!--[^<>]*-->|<![A-Za-z][^<>]*>")
# What ends a message, or a turn, in the text that a model's template makes of a conversation; others look like tags.
CHAT = re.compile(
    r"<[|｜][^<>]*[|｜]>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|ARGS|CALL_ID|gMASK|IMG)\]"
)
# Characters without a shape: control codes, soft hyphens, directions, halves of pairs.
CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    r"\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def clean_text(value: Any, repairs: set[str]) -> str | None:
    """One line of clean text, or None.

    >>> clean_text("Salt &amp;amp; Pepper\\u200b<br/> Mill", done := set()), sorted(done)
    ('Salt & Pepper Mill', ['control characters removed', 'html entities or tags removed'])
    >>> clean_text("a <|im_end|> lamp [INST] [A4]", set())
    'a lamp [A4]'
    >>> clean_text("a < b and c > d, AT&T, R&notes; 5 || x] (brand: y)", set())
    'a < b and c > d, AT&T, R&notes; 5 || x] (brand: y)'
    """
    if type(value) is not str:
        value = value_to_text(value)
        if value is None:
            return None
    if value.isascii() and value.isprintable() and not ("<" in value or "&" in value or "[" in value or "  " in value):
        return value.strip() or None  # nearly every text ends here
    return scrub_text(value, repairs) or None


# Elements whose end is the end of a line, or whose content nobody sees.
HTML = re.compile(r"<(?:p|br|div|li|ul|table|h[1-6]|style|script|span|strong|b|em)\b[^<>]*>", re.IGNORECASE)


def to_plain_text(value: Any) -> Any:
    """A description in HTML as what a reader of the page sees; anything else as it is.

    >>> to_plain_text("<style>p {x}</style><p>Warm &amp; soft.<p>Oak<br>base")
    'Warm & soft. Oak base'
    """
    if not isinstance(value, str) or not HTML.search(value):
        return value
    import warnings

    from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        soup = BeautifulSoup(value, "html.parser")
    for unseen in soup(["style", "script", "template", "noscript"]):
        unseen.decompose()
    return " ".join(soup.get_text(" ").split())


def scrub_text(value: str, repairs: set[str]) -> str:
    for _ in range(5):  # what one round uncovers, the next removes; entities inside entities inside entities end here
        before = value
        value = unicodedata.normalize("NFC", value)
        if "&" in value or "<" in value or "[" in value:
            marked = value
            if "&" in value:
                value = ENTITY.sub(unescape_entity, NESTED.sub("&", value))
            value = TAG.sub(replace_tag, CHAT.sub(" ", value))
            if value != marked:
                repairs.add(MARKUP)
        if not value.isprintable() and CONTROL.search(value):
            value = CONTROL.sub(lambda match: " " if match[0].isspace() else "", value)
            repairs.add(CONTROLS)
        value = " ".join(value.split())
        if value == before:
            return value
    return " ".join(re.sub(r"[<>&\[\]]", " ", value).split())


def unescape_entity(entity: re.Match[str]) -> str:
    if entity[1].startswith("#"):
        return html.unescape(entity[0])
    return html.entities.html5.get(
        entity[1] + ";", entity[0]
    )  # html.unescape would also read `&notebook;` as `¬ebook;`


def replace_tag(tag: re.Match[str]) -> str:
    """A space for a tag; what only looks like one, as in `a <b and c> d`, stays."""
    inside = tag[0].rstrip("/> ")
    return tag[0] if re.search(r"\s", inside) and "=" not in inside and not inside.startswith("<!") else " "


def is_deep(value: Any, most: int = DEEPEST) -> bool:
    """Whether more than so many lists and dictionaries stand in each other.

    >>> is_deep([[{"a": 1}]], 3), is_deep([[{"a": []}]], 3)
    (False, True)
    """
    if not isinstance(value, list | tuple | dict):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return most == 0 or any(is_deep(each, most - 1) for each in inside)


def value_to_text(value: Any) -> str | None:
    """
    >>> value_to_text(12.0), value_to_text(["a", None, 2]), value_to_text(float("nan"))
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
            return " ".join(filter(None, map(value_to_text, value))) or None
    try:
        return str(value)
    except ValueError:  # an int of more than 4,300 digits
        return None


def drop_missing(value: str | None) -> str | None:
    return None if value is None or (len(value) < 14 and value.lower() in MISSING) else value
