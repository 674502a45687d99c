"""An expert for the cart: it finds out which products are meant, by their titles or by what was viewed, and puts the right versions in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shopwright.pipeline.experts.beliefs import Product, Said, find_words
from shopwright.pipeline.experts.expert import Acts
from shopwright.pipeline.experts.products import ProductExpert
from shopwright.pipeline.reading.wishes import Wish

PLACES = "first second third fourth fifth sixth".split()
ITEM = re.compile(
    rf"\b(?:item|number|thing|the)\b \w{{0,3}}? ?(\d+|{'|'.join(PLACES)})\b|\b({'|'.join(PLACES)})(?: one| item|,|:)"
)
VIEWED = re.compile(r"\b(?:vie+we?d|loo+ke?d|looking at|saw|click\w* on|my visit|had open|opened|checked)\b")
NOT_ASKED = re.compile(r"\bask|\brequest|\bwant|not mine|on my list|why there is")
NEAR = 60
"""Letters after a thing in which it is said that it was viewed."""
BEFORE = 45
"""Letters before the noun of a title in which its first words stand."""
SURE = 0.6
"""Share of a title's words that were said, from which it is the one that is meant."""
BEHIND = re.compile(r" \(|\) |[.!?] (?=[A-Z])|; ")
"""What ends the words of a title."""
APART = re.compile(r"[,;.(&+]|\b(?:and|n|plus)\b")
"""What stands between one thing and the next."""
QUESTION = re.compile(r"[^.!?]*\?")
PAGES = 2
"""Pages of visits that are looked at."""


@dataclass
class Line:
    """One thing that is to be put into the cart."""

    start: int
    end: int
    category: str
    title: str = ""
    """Where it was named by one that was seen."""
    wishes: list[Wish] = field(default_factory=list)
    clues: list[Wish] = field(default_factory=list)
    """A price, a brand or a day by which it is known among what was viewed."""
    pieces: int = 1
    product: Product | None = None
    offers: list[dict[str, Any]] = field(default_factory=list)
    """Its variants."""
    rejected: set[str] = field(default_factory=set)
    """Products of which the shopper said that they were not asked for."""
    added: str = ""
    """The variant in the cart."""


class Cart(ProductExpert):
    """Puts what was asked for into the cart, in the versions and numbers that were asked for."""

    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        self.visits: list[tuple[str, Product]] = []
        self.plain = " ".join(text.split())
        yield from self.read_visits()
        yield from self.find_titles()
        lines = self.list_lines()
        self.place_wishes(lines)
        yield from self.choose_products(lines)
        for line in lines:
            yield from self.look_at_versions(line)
        yield from self.ask_for_more(lambda answer: self.hear_lines(answer, lines), keep=len(lines) + 1)
        heard = len(self.asides)
        for line in lines:
            yield from self.put(line)
            heard = yield from self.correct(line, heard)
        return self.conclude(lines)

    def conclude(self, lines: Sequence[Line]) -> dict[str, Any]:
        if any(line.added for line in lines):
            added = [line.product.title for line in lines if line.product and line.added]
            missing = [line.product.title for line in lines if line.product and not line.added]
            gone = f" {'; '.join(missing)}: not to be had." if missing else ""
            return {"thought": f"In the cart: {'; '.join(added)}.{gone}"}
        offered = any(self.list_fitting(line) for line in lines)
        if offered or not any(line.offers for line in lines):
            return {"thought": "All that was asked for is sold out.", "refusal": "sold_out"}
        return {"thought": "No version of these products is as it was asked for.", "refusal": "contradiction"}

    # Which products are meant

    def read_visits(self) -> Acts:
        page, found = 1, 1
        while page == 1 or ((page - 1) * PAGES * 5 < found and page <= PAGES and self.left > 8):
            seen = yield from self.call(
                "user_get_visit_history",
                "Something may be meant that the shopper has viewed, so I look what that was.",
                **({"page": page} if page > 1 else {}),
            )
            for each in seen.get("visits", ()):
                self.visits.append((str(each["visited"])[:10], self.memory.products[each["product_id"]]))
            found = int(seen.get("found", 0))
            page += 1

    def list_lines(self) -> list[Line]:
        """The things in the order in which they are named."""
        said = self.read(self.plain, titles=True)
        titles = self.memory.know_titles().titles
        lines = [
            Line(each.start, each.end, each.wish.value)
            if each.wish.kind == "thing"
            else Line(each.start, each.end, titles[each.wish.value], each.wish.value)
            for each in said
            if each.wish.kind in ("thing", "title")
        ]
        return sorted(lines, key=lambda line: line.start)

    def is_viewed(self, line: Line, end: int) -> bool:
        """Whether it is said to have been viewed, before the next thing is named."""
        around = self.plain[line.end : min(end, line.end + NEAR)].lower()
        before = self.plain[max(0, line.start - 12) : line.start].lower()
        return bool(VIEWED.search(around)) or bool(re.search(r"\blast\b", before))

    def find_titles(self) -> Acts:
        """Looks for what is named by its title: that which is neither said to have been viewed nor word for word a title that was seen."""
        tried: set[int] = set()
        for _ in range(8):
            lines = self.list_lines()
            ends = [*(line.start for line in lines[1:]), len(self.plain)]
            unknown = [
                line.start
                for line, end in zip(lines, ends, strict=False)
                if (line.title not in self.plain.lower() if line.title else not self.is_viewed(line, end))
            ]
            unknown += self.list_lone_brands(lines)
            new = [start for start in sorted(unknown) if all(abs(start - place) > BEFORE // 2 for place in tried)]
            if not new or self.left <= 5:
                return
            tried.add(new[0])
            words = self.words_around(new[0], lines)
            yield from self.search(words, [], "This is named by its title, so I look for it.")

    def list_lone_brands(self, lines: Sequence[Line]) -> list[int]:
        """Where a brand stands after which no thing is named: a title may begin with it, whose thing has a name of its own."""
        return [
            start
            for start in (each.start for each in self.list_brands())
            if not any(0 <= line.start - start <= BEFORE or line.start <= start < line.end for line in lines)
        ]

    def list_brands(self) -> list[Said]:
        said = self.read(self.plain, titles=True)
        return [each for each in said if each.wish.kind == "value" and "brand" in each.wish.facts]

    def words_around(self, start: int, lines: Sequence[Line]) -> str:
        """The words among which the title of a thing stands."""
        last = max([0, *(other.end for other in lines if other.end <= start)])
        next_one = min([len(self.plain), *(other.start for other in lines if other.start > start)])
        begin = max(last, start - BEFORE)
        brands = [each.start for each in self.list_brands() if begin <= each.start <= start]
        if brands:
            begin = brands[-1]
        words = self.plain[begin : min(next_one, start + 3 * BEFORE)]
        if begin and " " in words and not brands:
            words = words[words.find(" ") + 1 :]
        return BEHIND.split(words, maxsplit=1)[0] if brands else words

    def place_wishes(self, lines: Sequence[Line]) -> None:
        """Each wish, clue and number of pieces is of the thing named last before it; a price or a brand may stand right before its thing."""
        for each in self.read(self.plain, [line.category for line in lines], titles=True):
            before = [line for line in lines if line.start <= each.start]
            line = before[-1] if before else None
            if self.is_clue(each.wish):
                after = [one for one in lines if 0 <= one.start - each.end <= BEFORE // 4]
                close = [one for one in after if not APART.search(self.plain[each.end : one.start].lower())]
                line = close[0] if close else line
                if line is not None:
                    line.clues.append(each.wish)
            elif line is not None and each.wish.kind == "pieces":
                line.pieces = int(each.wish.value)
            elif line is not None and each.wish.kind == "value" and each.start >= line.end:
                line.wishes.append(each.wish)

    def is_clue(self, wish: Wish) -> bool:
        brand = wish.kind == "value" and "brand" in wish.facts
        return brand or wish.kind in ("price", "price at most", "date")

    def choose_products(self, lines: Sequence[Line]) -> Acts:
        ends = [*(line.start for line in lines[1:]), len(self.plain)]
        for number, (line, end) in enumerate(zip(lines, ends, strict=False), 1):
            self.choose_product(line, lines, viewed=self.is_viewed(line, end))
            if line.product is None and self.left > len(lines) + 4:
                yield from self.ask_which(line, number, lines)

    def choose_product(self, line: Line, lines: Sequence[Line], *, viewed: bool) -> None:
        """By its title; by price, brand or day among what was viewed, of which the latest is meant; by most of a title's words."""
        products = [each for each in self.memory.products.values() if each.id not in line.rejected]
        if line.title:
            line.product = next((each for each in products if each.title.lower() == line.title), None)
            return
        mine = [(day, each) for day, each in self.visits if each.category == line.category]
        mine = [pair for pair in mine if pair[1].id not in line.rejected]
        for clue in line.clues:
            mine = [pair for pair in mine if has_clue(*pair, clue)] or mine
        closest = self.find_closest_title(line, lines, products)
        if closest is not None and not viewed:
            line.product = closest
        elif mine:
            line.product = mine[0][1]
        else:
            line.product = closest

    def find_closest_title(self, line: Line, lines: Sequence[Line], products: Sequence[Product]) -> Product | None:
        """The product of which most words were said, its first among them, and of several the one with the fewest more."""
        said = set(find_words(self.words_around(line.start, lines)))
        found: list[tuple[int, int, str, Product]] = []
        for each in products:
            words = find_words(each.title)
            common = len(said.intersection(words))
            if each.category == line.category and words and words[0] in said and common >= SURE * len(words):
                found.append((-common, len(words), each.id, each))
        return min(found, key=lambda each: each[:3])[3] if found else None

    def ask_which(self, line: Line, number: int, lines: Sequence[Line]) -> Acts:
        answer = yield from self.ask(
            f"What exactly is item {number}?", "I could not find this one, so I ask which it is."
        )
        yield from self.search(answer, [], "I look for it by what the shopper said now.")
        said = self.read(answer, titles=True)
        titles = [each.wish.value for each in said if each.wish.kind == "title"]
        known = self.memory.products.values()
        line.product = next((each for each in known if each.title.lower() in titles), None)

    # Versions and pieces

    def look_at_versions(self, line: Line) -> Acts:
        if line.product is None or self.left <= 2:
            return
        wanted = " and ".join(dict.fromkeys(wish.value for wish in line.wishes))
        why = f"{line.product.title} is meant{f', and wanted {wanted}' if wanted else ''}: I look which versions there are."
        found = yield from self.call("catalog_get_variants", why, product_id=line.product.id)
        line.offers = found.get("variants", [])

    def hear_lines(self, answer: str, lines: Sequence[Line]) -> bool:
        """Wishes and pieces of an answer, of the item that it names."""
        plain = " ".join(answer.split()).lower()
        marks = [(found.start(), read_place(found[1] or found[2])) for found in ITEM.finditer(plain)]
        news = False
        for each in self.read(answer, [line.category for line in lines]):
            before = [number for start, number in marks if start <= each.start]
            number = before[-1] if before else marks[0][1] if marks else 1
            if 1 <= number <= len(lines):
                news = self.take(lines[number - 1], each.wish, plain) or news
        return news

    def take(self, line: Line, wish: Wish, plain: str) -> bool:
        if wish.kind == "pieces":
            offered = [str(value).lower() for offer in line.offers for value in offer.values()]
            if any(value.startswith(f"{wish.value} piece") for value in offered) and "that" in plain:
                line.wishes.append(Wish("value", f"{wish.value} pieces"))
            else:
                line.pieces = int(wish.value)
        elif wish.kind == "value":
            line.wishes.append(wish)
        return wish.kind in ("pieces", "value")

    def list_fitting(self, line: Line) -> list[dict[str, Any]]:
        """The versions that have all that is wished of them; wishes about what does not vary say nothing here."""
        offers = line.offers
        options = {name for each in offers for name in each} - {"variant_id", "price", "stock"}
        for wish in line.wishes:
            facts = wish.facts & options if wish.facts else options
            if facts:
                offers = [
                    each for each in offers if any(str(each.get(fact, "")).lower() == wish.value for fact in facts)
                ]
        return offers

    def put(self, line: Line) -> Acts:
        stocked = [each for each in self.list_fitting(line) if each["stock"]]
        if line.product is None or not stocked or self.left <= 1:
            return
        best = max(stocked, key=lambda each: each["stock"])
        wanted = " and ".join(dict.fromkeys(wish.value for wish in line.wishes if self.varies(line, wish)))
        found = yield from self.call(
            "cart_add",
            f"This version of {line.product.title} is the one asked for: {wanted}."
            if wanted
            else f"Any version of {line.product.title} will do, and this one is in stock.",
            product_id=line.product.id,
            variant_id=best["variant_id"],
            quantity=min(line.pieces, int(best["stock"])),
        )
        if "error" not in found:
            line.added = best["variant_id"]

    def varies(self, line: Line, wish: Wish) -> bool:
        return any(wish.value == str(value).lower() for offer in line.offers for value in offer.values())

    # Corrections

    def correct(self, line: Line, heard: int) -> Acts:
        """What the shopper says to be wrong with what was just added, and mends it; gives how much was heard by then."""
        for _ in range(2):
            said = [each for each in self.asides[heard:] if self.is_about(line, each)]
            heard = len(self.asides)
            if not said or not line.added or self.left <= 3:
                break
            self.asides = [each for each in self.asides if each not in said]
            heard = len(self.asides)
            yield from self.mend(line, said[-1])
        return heard

    def is_about(self, line: Line, text: str) -> bool:
        """Whether it names what was added: its title, a version of it, or its number of pieces; not where it asks."""
        text = QUESTION.sub("", text)
        if line.product is None or self.asks_about_rules(text):
            return False
        said = self.read(text, [line.category], titles=True)
        kinds = {each.wish.kind for each in said if each.wish.kind != "value" or self.varies(line, each.wish)}
        return bool(kinds & {"title", "value", "thing"})

    def mend(self, line: Line, text: str) -> Acts:
        assert line.product is not None
        yield from self.call("cart_remove", "The shopper says that this is not right.", variant_id=line.added)
        line.added = ""
        said = self.read(text, [line.category], titles=True)
        wanted = [each.wish for each in said if each.wish.kind == "value" and self.varies(line, each.wish)]
        named = [each.end for each in said if each.wish.kind in ("title", "thing", "value")]
        numbers = re.findall(r"\b\d+\b", " ".join(text.split())[max(named, default=0) :])
        if wanted:
            same = wanted[-1].facts
            line.wishes = [wish for wish in line.wishes if not wish.facts & same] + wanted[-1:]
        elif NOT_ASKED.search(text.lower()) and not numbers:
            yield from self.choose_another(line)
        elif numbers:
            line.pieces = int(numbers[-1])
        yield from self.put(line)

    def choose_another(self, line: Line) -> Acts:
        """The next that may be meant of which there is such a version."""
        while line.product is not None and self.left > 4:
            line.rejected.add(line.product.id)
            line.title = ""
            self.choose_product(line, [line], viewed=False)
            yield from self.look_at_versions(line)
            if self.list_fitting(line):
                return


def has_clue(day: str, product: Product, clue: Wish) -> bool:
    if clue.kind == "date":
        return day[5:] == clue.value[5:]
    if clue.kind == "value":
        return str(product.shown.get("brand", "")).lower() == clue.value
    return product.cents == int(clue.value)


def read_place(text: str) -> int:
    """
    >>> read_place("third"), read_place("12")
    (3, 12)
    """
    return int(text) if text.isdigit() else PLACES.index(text) + 1
