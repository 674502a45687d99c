"""Real queries that people typed, led to the products that fulfil them."""

import csv
import json
from itertools import chain, islice
from pathlib import Path
from typing import Any

from shopwright.pipeline.catalog.repair.text import CONTROL
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.words import content_words, split_words

GRADES = {
    "100": "E",
    "10": "S",
    "1": "C",
    "0": "I",
    "exact": "E",
    "substitute": "S",
    "complement": "C",
    "irrelevant": "I",
}


class RealQueries:
    """Queries by product id where people judged them, else by their words."""

    def __init__(self, judged: dict[str, list[tuple[str, str | None]]], texts: list[str]) -> None:
        self.judged = judged
        self.by_word: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for text in texts:
            wanted = frozenset(content_words(text))
            if len(wanted) >= 2:
                self.by_word.setdefault(max(wanted, key=lambda word: (len(word), word)), []).append((text, wanted))

    def of(self, product: dict[str, Any]) -> list[dict[str, Any]]:
        """The queries of a product: those judged for it, else those of which its title and brand hold every word."""
        if found := self.judged.get(product["id"]):
            return [{"text": text, "grade": grade} for text, grade in found]
        have = set(split_words(f"{product['title']} {product['brand'] or ''}"))
        candidates = chain.from_iterable(self.by_word[word] for word in sorted(have & self.by_word.keys()))
        fitting = (text for text, all_of in candidates if all_of <= have)
        return [{"text": text, "grade": None} for text in islice(fitting, 5)]


def read_queries(path: Path) -> RealQueries:
    """Reads judgements (`judgmentRatings` JSON) or a CSV / TSV / JSON list with a column or key `query`."""
    if not path.is_file():
        raise Problem(f"There is no file of queries {path}.")
    try:
        rows = [row for row in read_query_rows(path) if row[0]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise Problem(
            f"{path} cannot be read as queries: {str(error)[:120]}. It needs a column or key `query`."
        ) from None
    judged: dict[str, list[tuple[str, str | None]]] = {}
    for text, product, grade in rows:
        if product:
            judged.setdefault(product, []).append((text, grade))
    texts = sorted({text for text, _, _ in rows})
    if not texts:
        raise Problem(f"{path} has no queries. It needs a column or key `query`.")
    return RealQueries(judged, texts)


def read_query_rows(path: Path) -> Any:
    if path.suffix in (".csv", ".tsv"):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","):
                yield clean_query(row["query"]), row.get("product_id"), grade_of(row.get("esci_label"))
        return
    data = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(data, dict) and "judgmentRatings" in data:
        for item in data["judgmentRatings"]:
            for rating in item["ratings"]:
                yield clean_query(item["query"]), str(rating["docId"] or ""), grade_of(rating["rating"])
        return
    for item in data if isinstance(data, list) else chain.from_iterable(data.values()):
        yield clean_query(item["query"] if isinstance(item, dict) else item), None, None


def clean_query(text: str) -> str:
    return " ".join(CONTROL.sub(" ", text).split())[:200]


def grade_of(value: Any) -> str | None:
    """
    >>> grade_of("100.000"), grade_of("S"), grade_of(None)
    ('E', 'S', None)
    """
    text = str("" if value is None else value).strip()
    text = text.removesuffix(".000").removesuffix(".0")
    return text.upper() if text.upper() in set("ESCI") else GRADES.get(text.lower())
