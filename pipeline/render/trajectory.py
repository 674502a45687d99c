"""A trajectory as text, one action a line, and that text read back (ShopTrajQA, arXiv 2606.07995, appendix G.2).

    2024-05-01 19:30:25 search [Search Amazon || desk lamp]
    2024-05-01 19:31:02 click [B0AB12CD34 || Norrvik desk lamp] (brand: Norrvik, color: white, price: 38.99)

A missing brand or color is empty. So that every line reads back to exactly its event, a backslash, a line break and
the marks between the fields, where they stand inside a field, are written with a backslash (`\\\\`, `\\n`, `]\\ (brand: `).
"""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

SEARCH_HEAD = "[Search Amazon || "
MARKS = {"] (brand: ": "]\\ (brand: ", ", color: ": ",\\ color: ", ", price: ": ",\\ price: "}
ESCAPED = {"\\n": "\n", "\\r": "\r", "\\ ": " ", "\\\\": "\\"}

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", re.ASCII)
SEARCH = re.compile(r"search \[Search Amazon \|\| (.*)\]")
HEAD = re.compile(r"(click|add to Cart|purchase) \[(\S+) \|\| ", re.ASCII)
PRICE = re.compile(r"(\d{1,10}\.\d\d)\)", re.ASCII)
BRAND_MARK, COLOR_MARK, PRICE_MARK = MARKS
# What a line tells beside its time: action, asin, title, brand, color, price, query; all as text.
LineFields = tuple[str, str | None, str | None, str | None, str | None, str | None, str | None]


def escape_field(texts: pa.Array, marks: dict[str, str] | None = None) -> pa.Array:
    """Texts as they stand inside a line; a null is empty.

    >>> escape_field(pa.array(["two\\nlines", None])).to_pylist()
    ['two\\\\nlines', '']
    """
    texts = texts.fill_null("")
    for plain, written in {"\\": "\\\\", "\n": "\\n", "\r": "\\r", **(marks or {})}.items():
        if pc.any(pc.match_substring(texts, plain)).as_py():
            texts = pc.replace_substring(texts, plain, written)
    return texts


def product_heads(asin: pa.Array, title: pa.Array, brand: pa.Array, color: pa.Array) -> pa.Array:
    """`[{asin} || {title}] (brand: {brand}, color: {color}, price: `, for each product."""
    brand, color = escape_field(brand, MARKS), escape_field(color, MARKS)
    parts = ["[", asin, " || ", escape_field(title), "] (brand: ", brand, ", color: ", color, ", price: ", ""]
    return pc.binary_join_element_wise(*parts)


def product_bodies(heads: pa.Array, price: pa.Array) -> pa.Array:
    """What stands after the action of a click, a cart or a purchase."""
    return pc.binary_join_element_wise(heads, pc.cast(price, pa.string()), ")", "")


def search_bodies(query: pa.Array) -> pa.Array:
    """What stands after the action of a search."""
    return pc.binary_join_element_wise(SEARCH_HEAD, escape_field(query), "]", "")


def join_event_lines(timestamp: pa.Array, action: pa.Array, body: pa.Array) -> pa.Array:
    """One line for each event."""
    when = pc.cast(pc.cast(timestamp, pa.timestamp("s")), pa.string())
    return pc.binary_join_element_wise(when, action, body, " ")


def render_trajectory(events: list[dict[str, Any]]) -> str:
    """The text of a table of events."""
    if not events:
        return ""
    columns = {name: [event[name] for event in events] for name in events[0]}
    query = pa.array(columns["search_query"], pa.string())
    heads = product_heads(*(pa.array(columns[n], pa.string()) for n in ("asin", "product_name", "brand", "color")))
    shown = product_bodies(heads, pa.array(columns["price"], pa.decimal128(12, 2)))
    body = pc.if_else(pc.is_valid(query), search_bodies(query), shown)
    when = pa.array(columns["timestamp"], pa.timestamp("us"))
    return "\n".join(join_event_lines(when, pa.array(columns["action_type"]), body).to_pylist())


def parse_trajectory(text: str) -> list[dict[str, Any]]:
    """The events that a text tells of, without what it does not say (`product_types`).

    Raises ValueError with the number of the first line that has none of the four forms.
    """
    found = []
    for number, line in enumerate(text.split("\n") if text else []):
        try:
            when, rest = split_event_time(line)
            action, asin, title, brand, color, price, query = parse_event_body(rest)
        except ValueError as error:
            raise ValueError(f"line {number} {error}") from None
        found.append(
            {
                "row_id": number,
                "timestamp": when,
                "action_type": action,
                "asin": asin,
                "product_name": title,
                "brand": brand,
                "color": color,
                "price": None if price is None else Decimal(price),
                "search_query": query,
            }
        )
    return found


def split_event_time(line: str) -> tuple[datetime, str]:
    """The time of a line, and the rest. Raises ValueError."""
    try:
        if STAMP.match(line):
            return datetime.fromisoformat(line[:19]), line[20:]
    except ValueError:  # not in the calendar or on the clock
        pass
    raise ValueError(f"does not begin with a time: {line[:80]!r}")


def parse_event_body(rest: str) -> LineFields:
    """What a line tells after its time. Raises ValueError.

    The marks are looked for from the end: the last of each is the one that no field holds, and the work is one pass however
    many others there are.
    """
    if found := HEAD.match(rest):
        action, asin = found.groups()
        body, priced, price = rest[found.end() :].rpartition(PRICE_MARK)
        body, colored, color = body.rpartition(COLOR_MARK)
        title, branded, brand = body.rpartition(BRAND_MARK)
        cents = PRICE.fullmatch(price)
        if not (priced and colored and branded and cents):
            raise ValueError(f"is not an action: {rest[:80]!r}")
        if "\\" in rest:
            title, brand, color = unescape_event_text(title), unescape_event_text(brand), unescape_event_text(color)
        return action, asin, title, brand or None, color or None, cents[1], None
    if found := SEARCH.fullmatch(rest):
        return "search", None, None, None, None, None, unescape_event_text(found[1])
    raise ValueError(f"is not an action: {rest[:80]!r}")


def unescape_event_text(written: str) -> str:
    """
    >>> unescape_event_text("a\\\\\\\\b\\\\nc")
    'a\\\\b\\nc'
    """
    if "\\" not in written:
        return written
    return re.sub(r"\\[nr \\]", lambda found: ESCAPED[found.group()], written)
