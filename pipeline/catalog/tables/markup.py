"""XML feeds, and what HTML pages say of their product to machines."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import IO, Any
from xml.etree import ElementTree

from shopwright.pipeline.catalog.repair.text import is_deep
from shopwright.pipeline.catalog.tables.table import Row, make_unreadable_row

# What holds one product in a feed, an export or a page of them.
ELEMENTS = ("item", "entry", "product", "offer", "row", "record")


def read_xml(binary: IO[bytes]) -> Iterator[Row]:
    """The elements of an RSS or Atom feed, or whatever else is called a product, without their namespaces."""
    depth, begun = 0, 0
    try:
        for event, element in ElementTree.iterparse(binary, ("start", "end")):
            name = element.tag.rpartition("}")[2].lower()
            depth += 1 if event == "start" else -1
            if event == "start" and name in ELEMENTS and not begun and depth > 1:
                begun = depth
            if event == "end" and begun and depth < begun:
                row = element_to_value(element)
                yield row if isinstance(row, dict) else {name: row}
                begun = 0
                element.clear()
    except ElementTree.ParseError as error:
        yield make_unreadable_row(f"no XML from here on: {error}", "")


def element_to_value(element: ElementTree.Element) -> Any:
    """A text, or a dictionary of what stands in it; what stands there several times is a list."""
    found: Row = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    for child in element:
        name, value = child.tag.rpartition("}")[2], element_to_value(child)
        if name in found:
            found[name] = [*(found[name] if isinstance(found[name], list) else [found[name]]), value]
        else:
            found[name] = value
    text = (element.text or "").strip()
    return text if not found or (text and not len(element)) else found


class Page(HTMLParser):
    """What a page says of its product to machines: JSON-LD, and Open Graph."""

    def __init__(self) -> None:
        super().__init__()
        self.data: list[str] = []
        self.graph: Row = {}
        self.is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.is_inside = tag == "script" and "ld+json" in (said.get("type") or "")
        name = said.get("property") or said.get("name") or ""
        if tag == "meta" and name.startswith(("og:", "product:")):
            self.graph.setdefault(name, said.get("content") or "")

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.data.append(data)
            self.is_inside = False


def read_html(binary: IO[bytes]) -> Iterator[Row]:
    page = Page()
    text = binary.read().decode("utf-8", "replace")
    page.feed(text)
    found = [row for data in page.data for row in list_things(data)]
    yield from found or ([page.graph] if page.graph else [make_unreadable_row("page without a product", text)])


def list_things(data: str) -> list[Row]:
    """The products of a text of JSON-LD."""
    try:
        value = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return []
    things = value if isinstance(value, list) else value.get("@graph", [value]) if isinstance(value, dict) else []
    return [
        each for each in things if isinstance(each, dict) and "Product" in str(each.get("@type")) and not is_deep(each)
    ]
