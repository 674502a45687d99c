"""A player of shopping tasks that knows the truth and can do each thing rightly; what it does wrong on purpose, it writes down."""

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from shopwright.pipeline.shopping.play import Play
from tests.outside.shopping.shop import Product, Row, Variant, are_equal, meets, meets_all, write_name

WORDS = re.compile(r"[a-z0-9.]+")
SHOWN_FACTS = ("price", "rating", "review count")
Turns = Generator[str, Any, None]


class CannotMake(Exception):
    """This mistake cannot be made on this task."""


def words_of(text: str) -> list[str]:
    return [word.strip(".") for word in WORDS.findall(text.lower())]


@lru_cache(100_000)
def write_singular(text: str) -> str:
    words = (word[:-1] if len(word) > 3 and word[-1] == "s" else word for word in words_of(text))
    return f" {' '.join(words)} "


def has_words(text: str, value: str) -> bool:
    """Whether a value stands in a text, whole words in a row; a plural is the word itself."""
    return bool(write_singular(value).strip()) and write_singular(value) in write_singular(text)


class Player:
    """One episode: steps that can be put together, and the errors made with the places of their steps."""

    def __init__(self, play: Play, shop: dict[str, Product], category: Sequence[Product], random: Random) -> None:
        self.play, self.shop, self.category, self.random = play, shop, category, random
        self.task: Row = play.task.model_dump()
        self.needs: list[Row] = self.task["needs"]
        self.target = shop[self.task["product_id"]]
        self.errors: dict[tuple[str, str], int] = {}
        # Errors of the last step, whichever that will be.
        self.at_the_end: list[tuple[str, str]] = []
        self.left_out: set[str] = set()

    @property
    def multi(self) -> bool:
        return self.play.multi

    @property
    def personal(self) -> bool:
        return "personal" in self.play.scenario

    @property
    def stated(self) -> list[Row]:
        return [need for need in self.needs if need["known"] == "stated"]

    @property
    def carried(self) -> list[Row]:
        return [need for need in self.needs if need["known"] == "profile"]

    @property
    def known(self) -> list[Row]:
        """To who has asked for all that is not left out on purpose."""
        return [need for need in self.needs if need["fact"] not in self.left_out]

    @property
    def clicks(self) -> tuple[str, ...]:
        return self.play.sight().clickables

    @property
    def can_search(self) -> bool:
        return self.play.sight().can_search

    def makes(self, area: str, name: str) -> None:
        """The next step is this error, unless it was made before."""
        self.errors.setdefault((area, name), len(self.play.steps))

    def ends_with(self, area: str, name: str) -> None:
        self.at_the_end.append((area, name))

    def list_errors(self) -> dict[tuple[str, str], int]:
        last = len(self.play.steps) - 1
        return dict.fromkeys(self.at_the_end, last) | self.errors

    def choose(self, among: Iterable[Any]) -> Any:
        """Any one. Raises CannotMake where there is none."""
        there = list(among)
        if not there:
            raise CannotMake
        return there[int(self.random.random() * len(there))]

    # Turns

    def say(self, action: str) -> str:
        if not self.multi:
            return f"Thought: So it goes.\nAction: {action}"
        kind, content = ("ask_shopper", action[4:-1]) if action.startswith("ask[") else ("interact_with_env", action)
        return f"Thought: So it goes.\nAction_type: {kind}\nAction_content: {content}"

    def click(self, what: str) -> Turns:
        """On what is there. Raises CannotMake where it is not."""
        if what.lower() not in self.clicks:
            raise CannotMake
        yield self.say(f"click[{what.lower()}]")

    def search(self, query: str) -> Turns:
        """From wherever it is."""
        yield from self.goes_to_search()
        yield self.say(f"search[{query}]")

    def goes_to_search(self) -> Turns:
        """To a page with a search box, without searching."""
        while not self.can_search:
            yield from self.click("back to search")

    def ask(self, question: str) -> Turns:
        yield self.say(f"ask[{question}]")

    # Parts of an episode

    def begins(self) -> Turns:
        """In a conversation it asks for all that is not left out; by name, then in general."""
        if self.multi:
            for fact in self.list_untold():
                if fact not in self.left_out and fact in self.list_untold():
                    yield from self.ask(f"What should it be like in terms of {fact}?")
            while self.list_untold() and not self.left_out:
                yield from self.ask("Is there anything else that matters?")
            if set(self.list_untold()) != self.left_out:
                raise CannotMake

    def list_untold(self) -> list[str]:
        return [slot.name for slot in self.play.buyer.untold]

    def leaves_out(self) -> Row:
        """A need that the shopper is not asked for, and did not tell first."""
        need: Row = self.choose(need for need in self.stated if self.multi and need["fact"] in self.list_untold())
        self.left_out.add(need["fact"])
        return need

    def finds(self, product: Product) -> Turns:
        """Searches for a product, turns pages until it is listed, and opens it."""
        yield from self.lists(product)
        yield from self.click(product.id)

    def lists(self, product: Product) -> Turns:
        """By what is needed and its title, of which nothing is kept that the profile tells."""
        values = [need["value"] for need in self.known if need["fact"] != "price"]
        told = {word for value in self.list_likings() for word in words_of(value)}
        title = [word for word in product.title.split() if told.isdisjoint(words_of(word))]
        yield from self.search(" ".join([*title, *values]))
        for _ in range(6):
            if product.id.lower() in self.clicks:
                return
            yield from self.click("next >")
        raise CannotMake

    def reads(self) -> Turns:
        for tab in ("description", "features"):
            yield from self.click(tab)
            yield from self.click("< prev")

    def picks(self, variant: Variant) -> Turns:
        for _, value in self.list_choices(variant):
            yield from self.click(value)

    def list_choices(self, variant: Variant) -> list[tuple[str, str]]:
        """The values to be picked: of options in which the product's variants differ."""
        siblings = self.shop[variant.product].variants
        return [
            (name, value)
            for name, value in variant.choices.items()
            if len({each.choices.get(name) for each in siblings}) > 1
        ]

    def buys(self) -> Turns:
        yield from self.click("buy now")

    def stalls(self) -> Turns:
        """Does nothing of use until all actions are spent."""
        while not self.play.done:
            yield from self.click("back to search" if "back to search" in self.clicks else "search")

    # What is known

    def list_likings(self) -> list[str]:
        """What the profile says is liked, by name."""
        if self.play.profile is None:
            return []
        groups = ("brands", "colors", "materials", "styles", "functions")
        return [each.name for group in groups for each in getattr(self.play.profile.interests, group)]

    # What is in the shop

    def unmet(self, variant: Variant) -> list[Row]:
        return [need for need in self.needs if not meets(need, variant)]

    def list_siblings(self) -> Iterator[Variant]:
        """What can be bought of the same kind, in an order of chance, the target's own variants too."""
        variants = [each for product in self.category for each in product.variants if each.stock > 0]
        return iter(self.random.sample(variants, len(variants)))

    def is_affordable(self, product: Product) -> bool:
        """Whether some variant keeps to every known price."""
        limits = [need for need in self.known if need["fact"] == "price"]
        return any(meets_all(limits, each) for each in product.variants)

    def find_flawed(
        self, *, kinds: Sequence[str] = ("attribute",), known: str = "stated", plain: bool = False
    ) -> Variant:
        """A variant that breaks only needs of these kinds which are stated or of the profile, and none by what is picked on its page.

        plain: whose page shows, without its details, all that is known to be needed.
        """
        for variant in self.list_siblings():
            broken, product = self.unmet(variant), self.shop[variant.product]
            options = set(map(write_name, variant.choices))
            right = broken and all(
                need["kind"] in kinds and need["known"] == known and need["fact"] not in options for need in broken
            )
            if right and self.is_affordable(product) and (not plain or not self.list_hidden(product)):
                return variant
        raise CannotMake

    def find_any_flawed(self, *, plain: bool = False) -> Variant:
        """By an attribute or by its price, which no label is about."""
        kinds = self.choose((("attribute",), ("price",), ("attribute", "price")))
        return self.find_flawed(kinds=kinds, plain=plain)

    def list_hidden(self, product: Product) -> list[Row]:
        """The known attributes that stand in the product's description, features or reviews alone."""
        offered = set(map(write_name, product.variants[0].choices))
        return [
            need
            for need in self.known
            if need["kind"] == "attribute"
            and need["fact"] not in SHOWN_FACTS
            and need["fact"] not in offered
            and not has_words(product.title, product.facts.get(need["fact"], ""))
        ]

    def list_listed(self) -> list[Product]:
        """The products on the page."""
        return [self.shop[each.upper()] for each in self.clicks if each.upper() in self.shop]

    def draw_unrelated_queries(self, count: int) -> list[str]:
        """Names of other categories, without a word of this one or of a need."""
        texts = [self.task["category"], self.target.title, self.task["instruction"]]
        texts += [text for need in self.needs for text in (need["value"], need["said"])]
        own = {word[:4] for text in texts for word in words_of(text)}
        names = sorted({product.category for product in self.shop.values()})
        queries: list[str] = []
        for name in self.random.sample(names, len(names)):
            stems = {word[:4] for word in words_of(name)}
            if stems.isdisjoint(own) and len(words_of(name)) > 1:
                queries.append(name.lower())
                own |= stems
        if len(queries) < count:
            raise CannotMake
        return queries[:count]

    def looks_for(self, query: str) -> Turns:
        """A search that lists nothing like the target. Raises CannotMake where it does."""
        yield from self.search(query)
        if any(map(self.is_high_match, self.list_listed())):
            raise CannotMake

    def is_high_match(self, product: Product) -> bool:
        """Whether something of it, of the right kind, has all attributes that are needed."""
        needs = [need for need in self.needs if need["kind"] == "attribute"]
        fits = any(meets_all(needs, each) for each in product.variants if each.stock > 0)
        return product.category == self.task["category"] and fits

    def is_like(self, value: str, need: Row) -> bool:
        return are_equal(value, need["value"]) or has_words(need["value"], value) or has_words(value, need["value"])
