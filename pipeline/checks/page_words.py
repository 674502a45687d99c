"""Whether a product's page says in words what the product is."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

# Catalogs of others write what they like; what is composed here has to tell all.
COMPOSED = "sample"
COLUMNS = ["source", "title", "description", "bullets", "options", "color", "attributes"]
BETWEEN = re.compile(r"[\W_]+")


def page_tells_all_facts(batch: pa.RecordBatch) -> list[str | None]:
    """Each fact of the sample's products is in the title, a bullet or the description, or is picked among the options."""
    return [find_untold_fact(row) if row["source"] == COMPOSED else None for row in batch.select(COLUMNS).to_pylist()]


def find_untold_fact(row: Mapping[str, Any]) -> str | None:
    """
    >>> row = {"title": "Oak lamp, 12 in", "description": None, "bullets": [], "color": "red", "attributes": [{"name": "base", "value": "oak"}]}
    >>> find_untold_fact(row | {"options": [{"name": "color", "values": ["red", "blue"]}]})
    >>> find_untold_fact(row | {"options": []})
    'no text tells its color: red'
    """
    picked = {option["name"]: option["values"] for option in row["options"]}
    words = normalize_words([row["title"], row["description"] or "", *row["bullets"]])
    facts = [(each["name"], each["value"]) for each in row["attributes"]]
    for name, value in [*facts, *([("color", row["color"])] if row["color"] else [])]:
        if value not in picked.get(name, ()) and normalize_words([value]) not in words:
            return f"no text tells its {name}: {value}"
    return None


def normalize_words(texts: Iterable[str]) -> str:
    """
    >>> normalize_words(["A 24-hour timer", "0.8 L"])
    ' a 24 hour timer 0 8 l '
    """
    return f" {BETWEEN.sub(' ', ' '.join(texts).lower()).strip()} "
