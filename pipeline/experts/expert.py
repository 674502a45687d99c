"""How an expert acts: one call at a time, with a thought that says why; it asks, searches, reads pages, and hears what the shopper adds."""

import json
import re
from collections.abc import Generator, Iterable, Sequence
from datetime import date
from itertools import product as combine
from typing import Any, NamedTuple

from shopwright.pipeline.experts.beliefs import Memory, Product, Ranking, Said, has_words, read_placed
from shopwright.pipeline.reading.wishes import ShopVocabulary, Wish, leave_out_contrast
from shopwright.pipeline.words import content_words

MORE = (
    "Is there anything else that matters to you?",
    "Is there anything else that you need?",
    "Is there anything else that I should consider?",
    *(
        f"{begin} any {other} {what}?"
        for what, begin, other in combine(
            ("wish", "requirement", "preference", "detail", "information", "criteria", "constraint", "matter", "thing"),
            ("Do you have", "Is there"),
            ("other", "further", "additional"),
        )
    ),
)
"""Ways to ask for what was left out: nobody likes to hear the same question twice."""
PAGE = 10
HEARD = 60
"""Letters of an answer that a thought repeats."""


class Step(NamedTuple):
    """A call of a tool, and why."""

    name: str
    arguments: dict[str, Any]
    thought: str


Acts = Generator[Step, str, Any]
"""Yields calls, is sent what they said."""


class Expert:
    """What all situations share. `opening`: the shopper's first words; `calls`: how many calls there are."""

    def __init__(self, opening: str, calls: int, lexicon: ShopVocabulary) -> None:
        self.opening, self.left = opening, calls
        self.memory = Memory(lexicon, [opening])
        self.asides: list[str] = []
        """What the shopper said of itself."""
        self.reserve = 0
        """Calls that are kept for what was asked in between; `left` is without them."""
        self.asked = 0
        self.told: list[str] | None = None
        """Answers that were given before; then nothing more is asked in general."""

    # Acting

    def call(self, name: str, thought: str, **arguments: Any) -> Acts:
        """What a tool said, read."""
        text = yield Step(
            name,
            {key: value for key, value in arguments.items() if key == "query" or value not in ("", 0, None)},
            thought,
        )
        self.memory.seen.append(text.lower())
        try:
            found = json.loads(text)
        except ValueError:  # too long, and cut
            found = {}
        self.left = int(found.get("calls_left", self.left - 1 + self.reserve)) - self.reserve
        self.memory.see(found)
        if spoken := found.get("shopper"):
            self.hear(str(spoken))
        return found

    def hear(self, text: str) -> None:
        """Something that the shopper said without being asked."""
        self.asides.append(text)
        self.memory.note_sold_out(text)

    def ask(self, question: str, thought: str) -> Acts:
        found = yield from self.call("ask_user", thought, question=question)
        answer = leave_out_contrast(str(found.get("answer", "")))
        self.memory.heard.append(answer)
        return answer

    def ask_for_more(self, read: Any, *, keep: int) -> Acts:
        """Asks for what was left out until nothing new comes, or only `keep` calls are left. `read` takes an answer and says whether it is news."""
        for answer in self.told or ():
            read(answer)
        why = "The shopper may have left something out, so I ask."
        while self.told is None and self.asked < len(MORE) and self.left > keep:
            question = MORE[self.asked]
            self.asked += 1
            answer = yield from self.ask(question, why)
            if not read(answer):
                return
            why = f"That was new: {shorten(answer)} There may be more, so I ask again."

    def look_up_today(self) -> Acts:
        found = yield from self.call("datetime_now", "What was said has to do with dates, so I look what day it is.")
        self.memory.today = date.fromisoformat(str(found.get("now", "2000-01-01"))[:10])

    # Reading

    def read(
        self, text: str, categories: Iterable[str] = (), *, titles: bool = False, case: bool = False
    ) -> list[Said]:
        shop = self.memory.know_titles() if titles else self.memory.lexicon
        return read_placed(text, shop, self.memory.today, categories=categories, case=case)

    # Searching

    def search(
        self, words: str, wishes: Sequence[Wish], thought: str, *, category: str = "", page: int = 1, **limits: Any
    ) -> Acts:
        """Products of a search with the wishes as its filters; a category only where it was seen."""
        filters: dict[str, Any] = {}
        for wish in wishes:
            if wish.kind == "price at most":
                filters["max_price"] = min(filters.get("max_price", 1e9), int(wish.value) / 100)
            if wish.kind == "price between":
                filters["min_price"], filters["max_price"] = (int(part) / 100 for part in wish.value.split())
            if wish.kind == "rating":
                filters["min_rating"] = float(wish.value)
            if wish.kind == "shipping days":
                filters["max_shipping_days"] = int(wish.value)
        for name, value in limits.items():
            filters[name] = min(value, filters.get(name, value)) if name == "max_price" else value
        if brand := self.name_brand(wishes):
            filters["brand"] = brand
        values = [wish.value for wish in wishes if wish.kind == "value" and wish.value != brand.lower()]
        query = " ".join(dict.fromkeys([words, *values] if not category else [*values, *([] if values else [words])]))
        if category in self.memory.categories:
            filters["category"] = category
        elif category:
            query = " ".join([words, *values])
        query = self.memory.keep_seen_words(query)
        found = yield from self.call(
            "catalog_search",
            thought,
            query=query,
            **filters,
            **({"page": page} if page > 1 else {}),
        )
        ids = [each["product_id"] for each in found.get("results", ())]
        asked = frozenset(content_words(str(found.get("searched_for", query))))
        self.memory.rankings.append(Ranking(asked, tuple(dict.fromkeys(ids))))
        return [self.memory.products[id] for id in dict.fromkeys(ids)], int(found.get("found", 0))

    def name_brand(self, wishes: Sequence[Wish]) -> str:
        """The one brand that is wished, as the shop writes it, where it was heard or shown so; else nothing."""
        wished = {wish.value for wish in wishes if wish.kind == "value" and wish.facts == {"brand"}}
        names = [name for name in self.memory.lexicon.brands if name.lower() in wished]
        known = "\n".join([*self.memory.heard, *self.memory.seen]).lower()
        return names[0] if len(names) == 1 and has_words(known, names[0].lower()) else ""

    def check(self, product: Product, wishes: Sequence[Wish], *, keep: int = 1) -> Acts:
        """Whether a product does all that is wished; its page is read where its line in the list does not tell."""
        known = [product.meets(wish) for wish in wishes]
        if False in known or not product.in_stock:
            return False
        if None not in known:
            return True
        if self.left <= keep:
            return True
        yield from self.read_page(product, wishes)
        return product.in_stock and all(product.meets(wish) for wish in wishes)

    def read_page(self, product: Product, wishes: Sequence[Wish]) -> Acts:
        """Reads the page of a product of which not all was seen that is wished."""
        unknown = [wish.value for wish in wishes if product.meets(wish) is None]
        why = f"Whether {product.title} is right for {' and '.join(dict.fromkeys(unknown))} is not in the list, so I read its page."
        yield from self.call("catalog_get_product", why, product_id=product.id)

    def submit(self, thought: str, *, more: bool = False, **answer: Any) -> Acts:
        if more:
            answer["more"] = True
        yield from self.call("submit", thought, **answer)

    def name_thing(self, text: str, said: Iterable[Said], leaf: str) -> str:
        """The words by which the shopper named a thing."""
        plain = " ".join(text.split()).lower()
        for each in said:
            if each.wish.kind == "thing" and each.wish.value == leaf:
                return re.sub(r"[^\w -]", "", plain[each.start : each.end])
        return leaf


def shorten(text: str) -> str:
    """The first words of what somebody said, as a sentence.

    >>> shorten("And in navy, please, because I like it so much and my mother does, too!")
    'And in navy, please, because I like it so much and my ...'
    """
    plain = " ".join(text.split())
    if len(plain) > HEARD:
        return f"{plain[:HEARD].rpartition(' ')[0]} ..."
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


def order_candidates(products: Iterable[Product], wishes: Sequence[Wish], category: str) -> list[Product]:
    """Those in stock that may do: first what is known to do, the cheapest first, then the others as the search ranked them."""
    fitting = [each for each in products if each.category == category and each.in_stock]
    known = [(each, [each.meets(wish) for wish in wishes]) for each in fitting]
    left = [
        (met.count(None), place if None in met else each.cents, each.id, each)
        for place, (each, met) in enumerate(known)
        if False not in met
    ]
    return [each for *_, each in sorted(left, key=lambda found: found[:3])]
