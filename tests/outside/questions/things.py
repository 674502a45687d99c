"""What: the products, brands and categories that a question names in everyday words."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .log import Event, Log

KINDS = Path(__file__).parents[3] / "data/reference/phrases/questions/kinds.txt"


@dataclass(frozen=True)
class ProductSet:
    """A set of products: every condition that is given must hold."""

    brand: str = ""
    category: str = ""
    color: str = ""


def holds(name: str, text: str) -> bool:
    """Whether a product name or a search holds a text, as whole words."""
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", name, re.IGNORECASE) is not None


def one_of(texts: set[str] | list[str]) -> str:
    """A pattern for any of some texts, the longest first, which matches nothing where there are none."""
    return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text))) or "(?!)"


@cache
def everyday_names() -> dict[str, set[str]]:
    """What people call one thing of a category, by the category."""
    names: dict[str, set[str]] = {}
    category = ""
    for line in KINDS.read_text().splitlines():
        if line.startswith("kind/"):
            category = line.removeprefix("kind/")
        elif line.startswith(" "):
            names.setdefault(category, set()).add(line.strip().lower())
    return names


def plural(name: str) -> str:
    head, of, rest = name.partition(" of ")
    if head.endswith("shelf"):
        head = head[:-1] + "ves"
    elif head.endswith("y") and head[-2] not in "aeiou":
        head = head[:-1] + "ies"
    elif re.search(r"(?:sh|ch|x|ss|o)$", head):
        head += "es"
    elif not head.endswith("s"):
        head += "s"
    return head + of + rest


def singular(name: str) -> str:
    for end, other in (
        ("ies", "y"),
        ("shelves", "shelf"),
        ("lenses", "lens"),
        ("ches", "ch"),
        ("xes", "x"),
        ("shes", "sh"),
        ("sses", "ss"),
        ("s", ""),
    ):
        if name.endswith(end):
            return name.removesuffix(end) + other
    return name


def names_of(category: str) -> set[str]:
    """All that a category may be called, for one thing or for several, in lower case."""
    title = category.lower()
    kinds = everyday_names().get(category, set())
    return {title, singular(title), plural(title), *kinds, *(plural(name) for name in kinds)}


class Namer:
    """Reads what stands for products in questions about one log."""

    def __init__(self, log: Log) -> None:
        self.log = log
        called = Counter(name for category in log.categories for name in names_of(category))
        self.named = {name: category for category in log.categories for name in names_of(category) if called[name] == 1}
        brand, color, kind = one_of(log.brands), one_of(log.colors), one_of(set(self.named))
        things = "(?:products|items|things|stuff)"
        by = f"(?:by|from) (?P<b2>{brand})"
        self.set = re.compile(
            rf"(?<![\w@-])(?:(?i:(?P<c1>{color})) )?(?:(?i:{things}) in the category \"(?P<k1>[^\"]*)\""
            rf"|(?P<b1>{brand}) {things}|(?i:{things}) {by}|(?i:(?P<k2>{kind})))(?: in (?P<c2>{color}))?(?![\w-])"
        )
        self.brands = re.compile(rf"(?:{brand})(?:; (?:{brand}))+(?=[.?]| |$)")
        self.before_name = re.compile(rf"(?:(?P<c1>{color}) )?(?:(?P<b1>{brand}) )?")
        self.after_name = re.compile(
            rf"(?: (?:{by}))?(?: in (?P<c2>{color}))?(?: \((?!itself)(?P<details>[^()]*)\))?(?![\w-])"
        )

    def product_at(self, text: str, at: int, *, bare: bool) -> tuple[str, int] | None:
        """The product that "the ..." at a place means, and where the words for it end: the longest that mean one."""
        before = self.before_name.match(text, at)
        start = before.end() if before else at
        words = [start + match.end() for match in re.finditer(r"\S+?(?=[\s,:;?.]*(?:\s|$))", text[start:])][:7]
        for end in reversed(words):
            after = self.after_name.match(text, end)
            if not before or not after:
                continue
            said = {**before.groupdict(), **after.groupdict()}
            if not any(said.values()) and not (bare and text[start:end].lower() in self.named):
                continue
            fitting = {event.asin for event in self.log.products if self.fits(event, text[start:end], said)}
            if len(fitting) == 1:
                return fitting.pop(), after.end()
        return None

    def fits(self, event: Event, name: str, said: dict[str, str | None]) -> bool:
        """Whether a product is of the brand and color, is called by the name, and has all details."""
        if any(said[group] not in (None, event.brand) for group in ("b1", "b2")):
            return False
        if any(said[group] not in (None, event.color) for group in ("c1", "c2")):
            return False
        if not holds(event.name, name) and self.named.get(name.lower()) != event.category:
            return False
        details = said["details"].split(", ") if said["details"] else []
        return all(has_detail(event, detail) for detail in details)

    def take_products(self, text: str, *, bare: bool) -> tuple[str, list[str]]:
        """Put @p in the place of each product that is described, by the name of its category alone if bare."""
        found: list[str] = []
        at = 0
        while match := re.compile(r"\b[Tt]he ").search(text, at):
            at = match.end()
            if product := self.product_at(text, match.end(), bare=bare):
                found.append(product[0])
                text = f"{text[: match.start()]}@p{text[product[1] :]}"
                at = match.start()
        return text, found

    def take_sets(self, text: str) -> tuple[str, list[ProductSet]]:
        """Put @s in the place of each set of products, such as "products by BRAND" and "white kettles"."""
        found: list[ProductSet] = []

        def mark(match: re.Match[str]) -> str:
            part = match.groupdict()
            category = part["k1"] or self.named.get((part["k2"] or "").lower(), "")
            color = (part["c1"] or part["c2"] or "").lower()
            found.append(ProductSet(part["b1"] or part["b2"] or "", category, color))
            return "@s"

        return self.set.sub(mark, text), found

    def take_brands(self, text: str) -> tuple[str, list[str]]:
        """Put @bs in the place of a list of brands."""
        match = self.brands.search(text)
        if not match:
            return text, []
        return f"{text[: match.start()]}@bs{text[match.end() :]}", match[0].split("; ")


def has_detail(event: Event, detail: str) -> bool:
    """Whether a product has a detail: a piece of its name, its color, or a condition that a used thing is in."""
    if detail == event.color or holds(event.name, detail):
        return True
    grade = detail.removesuffix(" condition")
    return grade != detail and holds(event.name, f"graded {grade}")
