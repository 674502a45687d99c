"""An expert for shopping tasks that gets what a model gets: the messages of the beginning, then pages and replies, and nothing else.

It understands words, by the parser of the phrase bank, and what the things of a category are like, as one who knows shops does. Which
product is meant it finds out from pages: it asks, searches with words that it has met, reads, compares, chooses and buys.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, product
from random import Random
from typing import Protocol

from shopwright.pipeline.languages import LANGUAGES, PageWords
from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.reading.chinese_instructions import ChineseReader
from shopwright.pipeline.reading.short_instructions import (
    CategoryFacts,
    ReadNeed,
    ShortReader,
    normalize_typing,
    open_hyphens,
)
from shopwright.pipeline.shopping.facts import (
    ABOUT,
    find_color_family,
    is_close,
    is_same_value,
    is_within_bound,
    parse_measurement,
)
from shopwright.pipeline.shopping.lexical_baselines import (
    BUY,
    SEP,
    ResultLine,
    list_amounts,
    parse_option_axes,
    parse_results,
    stands_in,
)
from shopwright.pipeline.shopping.play import Observation, Play, TurnGenerator, format_turn
from shopwright.pipeline.shopping.seen_words import SeenWords
from shopwright.pipeline.shopping.wording import draw_wording
from shopwright.pipeline.words import HAN, content_words
from shopwright.schemas.shopping import Language

EXPERT = "expert"
GOES_BACK = ("goes_back",)
READERS: dict[Language, type[ShortReader] | type[ChineseReader]] = {"en": ShortReader, "zh": ChineseReader}
# Pages of results that are looked through, questions that are asked, and ways to choose that are tried.
MOST_SEARCHES, MOST_PAGES, MOST_QUESTIONS, MOST_WAYS = 4, 6, 14, 6
# Ways to choose that are put together to find the best of them.
MOST_COMBINED = 1_000
# Of what a title says of a need: it has it, it has something else instead, it has something else of what a product may come in several of.
HAS, HAS_ANOTHER, MAY_COME_IN_IT = 0.5, -3.0, -0.5
PREFERENCE = 0.3
# What a shopper says who has no more to say.
ENOUGH = re.compile(
    r"^(?:no|nope|i think),? that is (?:all|it)|^that is everything|nothing else|know everything|\busual"
    r"|没有别的|就这些|没什么了|都说了|平常|平时",
    re.IGNORECASE,
)
OPTIONAL = frozenset({"color", "size"})
LIKED = re.compile(r"(.+?)(?: \((high|medium|low)\)(?:, |$)|（([高中低])）(?:、|$))")
SIZED = re.compile(r"(.+?)(?: \((.+?): (.+?)\)(?:, |$)|（(.+?): (.+?)）(?:、|$))")
TOP_PRICE = re.compile(r"[\d.]+-([\d.]+)")
PROFILE_LINES = tuple(
    (head, fact)
    for fact, heads in (
        ("brand", ("- brands: ", "- 品牌：")),
        ("color", ("- colors: ", "- 颜色：")),
        ("size", ("- sizes: ", "- 尺寸：")),
        ("price", ("- price range: ", "- 价格区间：")),
    )
    for head in heads
)


class Vocabulary(Protocol):
    """What things are called, and what the things of a category have: all that words are understood by."""

    @property
    def names(self) -> Sequence[tuple[str, str]]: ...

    def facts_of(self, category: str) -> CategoryFacts: ...


@dataclass(frozen=True)
class ShopVocabulary:
    """A shop's, at hand for other processes."""

    names: Sequence[tuple[str, str]]
    facts: Mapping[str, CategoryFacts]

    def facts_of(self, category: str) -> CategoryFacts:
        return self.facts[category]


def copy_vocabulary(words: Vocabulary) -> ShopVocabulary:
    return ShopVocabulary(words.names, {category: words.facts_of(category) for _, category in words.names})


@dataclass(frozen=True)
class Beginning:
    """What a model is told first, taken apart."""

    opening: str
    profile: str
    multi: bool
    sight: Observation

    @property
    def language(self) -> Language:
        return "zh" if HAN.search(self.opening) else "en"


def parse_beginning(messages: Sequence[Mapping[str, str]]) -> Beginning:
    """The system's message and the first of the user's, as `prompts/shopping_episodes.j2` writes them."""
    system, user = (each["content"] for each in messages)
    head, _, rest = user.partition("\n")
    *middle, text, facts = rest.split("\n")
    known = json.loads(facts)
    return Beginning(
        json.loads(head)["shopper"],
        "\n".join(middle),
        "ask_shopper" in system,
        Observation(text, tuple(known["clickable"]), known["search"], known["actions left"]),
    )


@dataclass
class Candidate:
    """A product that was on a page of results, and what is known of it since."""

    line: ResultLine
    place: tuple[int, int] = (0, 0)
    """The search that found it last, and where."""
    facts: dict[str, str] | None = None
    """By name, from its page of features; None: it was not opened."""
    axes: dict[str, list[str]] = field(default_factory=dict)
    unmet: list[ReadNeed] = field(default_factory=list)
    liked: int = 0
    """How much it has of what the profile prefers."""
    failed: bool = False
    """It could not be bought."""


def play_by_expert(vocabulary: Vocabulary) -> Callable[[Play], TurnGenerator]:
    """A player who knows these words; of the play it takes what a model is told."""
    return lambda play: ShoppingExpert(vocabulary, play.told()).plays()


class ShoppingExpert:
    """Plays one task."""

    def __init__(self, vocabulary: Vocabulary, messages: Sequence[Mapping[str, str]]) -> None:
        self.vocabulary, self.start = vocabulary, parse_beginning(messages)
        self.language, self.sight = self.start.language, self.start.sight
        self.random = Random(f"{self.start.opening}/{self.start.profile}/expert")
        self.seen = SeenWords([self.start.opening, self.start.profile, self.sight.text])
        self.category, self.noun = "", ""
        self.needs, self.preferences = list[ReadNeed](), list[ReadNeed]()
        # Facts of which the profile says what is needed.
        self.usual: frozenset[str] = frozenset()
        self.found: dict[str, Candidate] = {}
        self.queries: list[str] = []
        self.option_names: set[str] = set()
        # Whether a title named the thing and its page another kind; the search knows the kinds better then.
        self.misled = False
        self.opened: Candidate | None = None
        # Why the product that is open is left, with what the thought names.
        self.why_left: tuple[str, ...] = GOES_BACK
        # The page of results that was reached, and how it looked; nothing to turn where another list was made since.
        self.pages, self.listed = 0, self.sight

    @property
    def words(self) -> PageWords:
        return LANGUAGES[self.language].pages

    @cached_property
    def facts(self) -> CategoryFacts:
        return self.vocabulary.facts_of(self.category) if self.category else CategoryFacts({})

    def plays(self) -> TurnGenerator:
        self.read_opening()
        if self.start.multi:
            yield from self.ask()
        self.use_profile()
        yield from self.look_for()
        while self.sight.left:
            best, each = self.find_best(), self.choose_next()
            if not best and self.can_turn() and not self.has_promising():
                yield from self.turn_page()
                continue
            if each is None or (best and self.sight.left <= self.count_reserve(best)):
                each = best or self.find_nearest()
                if each is None:
                    break
                yield from self.open(each)
                yield from self.choose_and_buy(each, anyway=True)
                each.failed, self.why_left = True, ("not_sold",)
                continue
            yield from self.examine(each)
            if self.is_right(each):
                yield from self.choose_and_buy(each)
                # What the profile prefers of it cannot be had; without any preference nothing of it can.
                each.failed, each.liked, self.why_left = not self.preferences, each.liked - 1, ("not_sold",)
            elif self.compose_query() not in self.queries:
                yield from self.look_for()

        yield from self.give_up()

    def give_up(self) -> TurnGenerator:
        """There is no action to say so: it looks at the same results until its actions are used up."""
        while True:
            action = f"search[{self.queries[-1]}]" if self.sight.can_search else "click[back to search]"
            yield from self.act("gives_up", action=action)

    def find_best(self) -> Candidate | None:
        """Of those that were read and are all that is needed, the one that the profile speaks for."""
        able = [each for each in self.found.values() if each.facts is not None and not each.unmet and not each.failed]
        return max(able, key=lambda each: each.liked, default=None)

    def find_nearest(self) -> Candidate | None:
        """Of those that were read the one that lacks least."""
        read = [each for each in self.found.values() if each.facts is not None and not each.failed]
        return min(read, key=lambda each: len(each.unmet), default=None)

    def count_reserve(self, best: Candidate) -> int:
        """Actions that looking at one more, finding the best again and buying it takes."""
        return 11 + self.start.multi + len(best.axes)

    def is_right(self, each: Candidate) -> bool:
        return not each.unmet and each.liked == self.count_potential(None)

    def count_potential(self, each: Candidate | None) -> int:
        """How much of what the profile prefers its title and prices leave open; None: all of it. The price counts least."""
        able = [need for need in self.preferences if each is None or self.rate_need(need, each.line) >= MAY_COME_IN_IT]
        return sum(map(self.weigh, able))

    def weigh(self, need: ReadNeed) -> int:
        return 2 - ("price" in need.facts)

    def act(self, why: str, *facts: str, action: str) -> TurnGenerator:
        """why: the thought's name in `prompts/shopping_episodes.offline.j2`, with what it names."""
        thought = self.say(f"thinks_{why}", *facts)
        self.sight = yield format_turn(thought, action, self.start.multi)
        self.seen.add(self.sight.text)

    def say(self, how: str, *facts: str) -> str:
        return draw_wording(render_phrases("shopping_episodes", how, *facts, self.language), self.random)

    # What is wanted

    def read_opening(self) -> None:
        categories, needs = self.read(self.start.opening, self.vocabulary.names)
        self.category = categories[0] if categories else ""
        if len(categories) > 1:
            # "tea" in a case for tea: what the rest of the text makes sense of.
            readings = {each: self.read(self.start.opening, self.list_names(each))[1] for each in categories}
            self.category = max(categories, key=lambda each: len(readings[each]))
            needs = readings[self.category]
        self.needs = needs
        text = normalize_typing(self.start.opening) if self.language == "en" else self.start.opening.lower()
        self.noun = next(
            (name for name, of in self.list_names(self.category) if open_hyphens(name.replace("'", "")) in text), ""
        )

    def read(self, text: str, names: Sequence[tuple[str, str]]) -> tuple[list[str], list[ReadNeed]]:
        categories, needs, _ = READERS[self.language](text, names, self.vocabulary.facts_of).read()
        return categories, needs

    def list_names(self, category: str) -> list[tuple[str, str]]:
        return [(name, of) for name, of in self.vocabulary.names if of == category]

    def ask(self) -> TurnGenerator:
        """For all that matters, one thing after the other, until nothing new comes."""
        replies = list[str]()
        for _ in range(MOST_QUESTIONS):
            yield from self.act("asks_more", action=f"ask[{self.say('anything_else')}]")
            if ENOUGH.search(self.sight.text):
                break
            replies.append(self.sight.text)
        if not self.category:
            self.guess_category(replies)
        self.needs = list(dict.fromkeys(chain(self.needs, *map(self.hear, replies))))

    def hear(self, reply: str) -> list[ReadNeed]:
        """The needs in a reply."""
        glue = "" if self.language == "zh" else " "
        return self.read(f"{self.noun}{glue}{reply}", [(self.noun, self.category)])[1]

    def guess_category(self, replies: Sequence[str]) -> None:
        """The kind of thing whose name has most in common with a vague opening, and of which the replies can be understood."""
        best, said = 0.0, set(self.start.opening)
        for name, category in self.vocabulary.names:
            known, old = len(said & set(name)) / len(name), (self.noun, self.category)
            self.noun, self.category = name, category
            rate = known + sum(bool(self.hear(reply)) for reply in replies)
            if rate > best:
                best = rate
            else:
                self.noun, self.category = old

    def use_profile(self) -> None:
        """What the profile says of things of this kind without a doubt, where nobody has said otherwise: one thing is meant, of more
        than one some may be; and it says what is usually paid."""
        told = {fact for need in self.needs for fact in need.facts}
        usual = [need for need in list_usual(self.start.profile, self.category, self.facts) if not need.facts & told]
        plain = [need for need in usual if "price" not in need.facts]
        if len(plain) == 1:
            self.needs += plain
            self.usual = plain[0].facts
            usual = [need for need in usual if need not in plain]
        self.preferences = usual

    # Where it may be

    def look_for(self) -> TurnGenerator:
        """Searches until pages teach no more of the shop's words for what is needed; the last list is looked through."""
        for _ in range(MOST_SEARCHES - len(self.queries)):
            query = self.compose_query()
            if query in self.queries:
                break
            self.queries.append(query)
            if not self.sight.can_search:
                yield from self.act("starts_again", action="click[back to search]")
            yield from self.act("looks", query, action=f"search[{query}]")
            self.pages = 1
            self.take_results()
        while not self.has_promising() and self.can_turn():
            yield from self.turn_page()

    def can_turn(self) -> bool:
        """Whether there is another page of the last search."""
        return "next >" in self.listed.clickables and self.pages < MOST_PAGES

    def turn_page(self) -> TurnGenerator:
        if "next >" not in self.sight.clickables:
            yield from self.act("goes_back", action="click[< prev]")
        yield from self.act("turns", action="click[next >]")
        self.pages += 1
        self.take_results()

    def compose_query(self) -> str:
        """The thing, with the values that are needed, in words that were met."""
        brands = [need for need in self.preferences if "brand" in need.facts]
        known = [need for need in (*self.needs, *brands) if need.op == "is" and self.seen.has(need.value)]
        # What is chosen on a product's page says little of which product it is.
        chosen = self.option_names if self.opened else OPTIONAL
        fixed = [need for need in known if not need.facts & chosen] or known
        values = dict.fromkeys(need.value for need in fixed)
        noun = self.category.lower() or " ".join(content_words(self.start.opening))
        return " ".join([*values, noun])

    def take_results(self) -> None:
        self.listed = self.sight
        for line in parse_results(self.sight):
            self.found.setdefault(line.id, Candidate(line)).place = len(self.queries), len(self.found)

    def has_promising(self) -> bool:
        """Whether the title and prices of any new one leave it open that it is right."""
        return any(each.facts is None and self.is_promising(each) for each in self.found.values())

    def rate(self, each: Candidate) -> float:
        """How well title and prices agree with what is wanted, and a little with what the profile prefers."""
        liked = sum(self.rate_need(need, each.line) for need in self.preferences)
        named = not self.misled and self.names_thing(each.line.title)
        return self.rate_needs(each) + named + PREFERENCE * liked

    def rate_needs(self, each: Candidate) -> float:
        return sum(self.rate_need(need, each.line) for need in self.needs)

    def is_promising(self, each: Candidate) -> bool:
        """Whether title and prices leave it open that it is right."""
        return self.rate_needs(each) >= MAY_COME_IN_IT

    def names_thing(self, title: str) -> bool:
        return any(stands_in(name, title) for name, _ in self.own_names)

    @cached_property
    def own_names(self) -> list[tuple[str, str]]:
        return self.list_names(self.category)

    def rate_need(self, need: ReadNeed, line: ResultLine) -> float:
        if "price" in need.facts:
            return (
                0.0
                if any(map(self.price_checker(need), (line.low, line.high))) or self.spans(need, line)
                else HAS_ANOTHER
            )
        return max(self.rate_fact(fact, need, line.title) for fact in need.facts)

    def spans(self, need: ReadNeed, line: ResultLine) -> bool:
        return line.low <= float(need.value) <= line.high

    def rate_fact(self, fact: str, need: ReadNeed, title: str) -> float:
        values = self.facts.values.get(fact, {})
        said = [value for value in values if stands_in(value, title)]
        # The longest: "dark blue" is no blue.
        said = [one for one in said if not any(one != other and one.lower() in other.lower() for other in said)]
        said = [one for one in said if self.belongs_to(one, fact)]
        if not said:
            return 0.0
        if any(self.is_met(need, fact, value) for value in said):
            return HAS if need.op.startswith("at ") else 0.0
        return MAY_COME_IN_IT if fact in OPTIONAL else HAS_ANOTHER

    def belongs_to(self, value: str, fact: str) -> bool:
        """Whether no other fact of the category has this value."""
        return not any(value in values for name, values in self.facts.values.items() if name != fact)

    def choose_next(self) -> Candidate | None:
        """The one that its title and price speak for; of equals what the search found first, which knows more than titles say."""
        best = self.find_best()
        new = [each for each in self.found.values() if each.facts is None]
        if best:
            new = [each for each in new if self.is_promising(each) and self.count_potential(each) > best.liked]
        return max(new, key=lambda each: (self.rate(each), each.place[0], -each.place[1]), default=None)

    # A product

    def examine(self, each: Candidate) -> TurnGenerator:
        """Opens it and reads what it is."""
        yield from self.open(each)
        each.facts = {}
        if "features" not in self.sight.clickables:
            each.failed = True
            return
        each.axes = {self.name_fact(name): values for name, values in parse_option_axes(self.sight).items()}
        self.option_names.update(name for name, values in each.axes.items() if len(values) > 1)
        if missing := next((need for need in self.needs if not self.can_offer(need, each)), None):
            each.unmet = [missing]
            offered = sorted(missing.facts & each.axes.keys())
            self.why_left = ("lacks", self.words.name(offered[0])) if offered else ("costs_other",)
            return
        yield from self.act("reads", "features", action="click[features]")
        each.facts = self.parse_facts(self.sight)
        self.judge(each)
        if each.unmet:
            yield from self.act(*self.reject(each), action="click[< prev]")
        else:
            yield from self.act("returns", action="click[< prev]")

    def can_offer(self, need: ReadNeed, each: Candidate) -> bool:
        """Whether options and prices of a product's page leave a need open."""
        return self.can_meet(need, each) if need.facts & {"price", *each.axes} else True

    def reject(self, each: Candidate) -> tuple[str, ...]:
        """The thought about what a page says otherwise, or not at all."""
        need, told = each.unmet[0], each.facts or {}
        fact = next((fact for fact in sorted(need.facts) if fact in told), "")
        return (
            ("rejects", self.words.fact.format(name=self.words.name(fact), value=told[fact])) if fact else ("misses",)
        )

    def open(self, each: Candidate) -> TurnGenerator:
        """From the list where it stands, or by its title."""
        if self.opened is each and "buy now" in self.sight.clickables:
            return
        self.opened = each
        if each.line.id not in self.sight.clickables and "< prev" in self.sight.clickables:
            yield from self.act(*self.why_left, action="click[< prev]")
        self.why_left = GOES_BACK
        if each.line.id not in self.sight.clickables:
            if not self.sight.can_search:
                yield from self.act("goes_back", action="click[back to search]")
            yield from self.act("finds_again", each.line.title, action=f"search[{each.line.title}]")
            self.pages = MOST_PAGES
        yield from self.act(*self.explain_opening(each), action=f"click[{each.line.id}]")

    def explain_opening(self, each: Candidate) -> tuple[str, ...]:
        if each.facts is not None:
            return ("opens_again",)
        if not self.is_promising(each):
            return ("opens_anyway",)
        wanted = [need.value for need in self.needs if need.op == "is" and not need.facts & self.option_names]
        unsaid = [value for value in wanted if self.seen.has(value) and not stands_in(value, each.line.title)]
        return ("opens_unsure", unsaid[0]) if unsaid else ("opens_likely",)

    def parse_facts(self, sight: Observation) -> dict[str, str]:
        """What a page of features says, by name."""
        mark = self.words.fact.format(name="", value="")
        found = {}
        for part in sight.text.split(SEP):
            name, colon, value = part.partition(mark)
            if colon:
                found[self.name_fact(name)] = value
        return found

    def name_fact(self, shown: str) -> str:
        """A fact by its name on a page."""
        names = {name: fact for fact, name in (self.words.names or {}).items()}
        return names.get(shown, shown).lower()

    def judge(self, each: Candidate) -> None:
        kind = ReadNeed(frozenset(["category"]), "is", self.category.lower())
        each.unmet = [need for need in (kind, *self.needs) if not self.can_meet(need, each)]
        self.misled |= kind in each.unmet and self.names_thing(each.line.title)
        each.liked = sum(self.weigh(need) for need in self.preferences if self.can_meet(need, each))

    def can_meet(self, need: ReadNeed, each: Candidate) -> bool:
        if "price" in need.facts:
            return self.rate_need(need, each.line) >= 0
        return any(self.is_met(need, fact, value) for fact in need.facts for value in self.list_values(fact, each))

    def list_values(self, fact: str, each: Candidate) -> list[str]:
        for name, values in each.axes.items():
            if name == fact:
                return values
        value = (each.facts or {}).get(fact)
        return [value] if value is not None else []

    def is_met(self, need: ReadNeed, fact: str, value: str) -> bool:
        if need.op == "kind of":
            return find_color_family(value) == need.value
        if need.op in ("is", "is not"):
            return is_same_value(value, need.value) == (need.op == "is") or (
                need.op == "is" and self.amounts_agree(fact, need, value)
            )
        have, wanted = self.measure(fact, value), self.measure(fact, need.value)
        return bool(have and wanted and have[1] == wanted[1] and is_within_bound(have[0], need.op, wanted[0]))

    def amounts_agree(self, fact: str, need: ReadNeed, value: str) -> bool:
        have, wanted = self.measure(fact, value), self.measure(fact, need.value)
        return bool(have and wanted and have[1] == wanted[1] and is_close(have[0], wanted[0]))

    def measure(self, fact: str, value: str) -> tuple[float, str] | None:
        known = self.facts.values.get(fact, {})
        same = next((amount for text, amount in known.items() if text.lower() == value.lower() and amount), None)
        return same or parse_measurement(value)

    # Choosing and buying

    def choose_and_buy(self, each: Candidate, *, anyway: bool = False) -> TurnGenerator:
        """anyway: not just in what the profile prefers."""
        fits = yield from self.choose(each, anyway=anyway)
        if fits:
            yield from self.buy("" if not each.unmet else "_nearest")

    def choose(self, each: Candidate, *, anyway: bool = False) -> Generator[str, Observation, bool]:
        """Every option; whether a way to choose can be bought at a price that is right."""
        ways = self.list_ways(each)
        for way in (ways if anyway else [way for way in ways if self.count_liked(way) == self.count_liked(ways[0])])[
            :MOST_WAYS
        ]:
            if self.sight.left <= len(way) + 1:
                return False
            for name, value in way.items():
                if len(each.axes[name]) > 1 and not self.is_chosen(name, value):
                    why, shown = self.explain_choice(name, value), self.words.name(name)
                    yield from self.act(why, value, shown, action=f"click[{self.label(name, value)}]")
            price = read_page_price(self.sight, self.words)
            limits = [need for need in (*self.needs, *self.preferences) if "price" in need.facts]
            limits = [need for need in limits if need in self.needs or (self.can_meet(need, each) and not anyway)]
            if (
                price is not None
                and self.words.in_stock in self.sight.text.split(SEP)
                and all(self.price_checker(need)(price) for need in limits)
            ):
                return True
        return False

    def is_chosen(self, name: str, value: str) -> bool:
        return f"{value}{self.words.chosen}" in self.sight.text.lower().split(SEP.lower())

    def explain_choice(self, name: str, value: str) -> str:
        needs = [need for need in self.needs if name in need.facts]
        liked = [need for need in self.preferences if name in need.facts and self.is_met(need, name, value)]
        return "chooses_usual" if liked or (needs and name in self.usual) else "chooses" if needs else "chooses_any"

    def label(self, name: str, value: str) -> str:
        """As the button says it."""
        shown = self.words.fact.format(name=self.words.name(name), value=value)
        return value if value in self.sight.clickables else shown

    def list_ways(self, each: Candidate) -> list[dict[str, str]]:
        """Choices that are all that is needed, those that the profile prefers first."""
        able = []
        for name, values in each.axes.items():
            needs = [need for need in self.needs if name in need.facts and len(need.facts) == 1]
            good = [value for value in values if all(self.is_met(need, name, value) for need in needs)]
            able.append(sorted(good, key=lambda value, name=name: -self.count_liked({name: value})))  # type: ignore[misc]
        ways = [dict(zip(each.axes, way, strict=True)) for way in islice(product(*able), MOST_COMBINED)]
        return sorted(ways, key=lambda way: -self.count_liked(way))

    def count_liked(self, way: Mapping[str, str]) -> int:
        return sum(
            self.is_met(need, name, value)
            for need in self.preferences
            for name, value in way.items()
            if name in need.facts
        )

    def price_checker(self, need: ReadNeed) -> Callable[[float], bool]:
        wanted = round(100 * float(need.value))

        def is_right(price: float) -> bool:
            cents = round(100 * price)
            return abs(cents - wanted) * ABOUT <= wanted if need.op == "about" else cents <= wanted

        return is_right

    def buy(self, how: str) -> TurnGenerator:
        """how: empty where it is all that was needed."""
        if self.start.multi:
            yield from self.act(f"proposes{how}", action=f"ask[{self.say(f'may_i_buy{how}')}]")
        yield from self.act(f"buys{how}", action=BUY)


def read_page_price(sight: Observation, words: PageWords) -> float | None:
    """The one price on a product's page; None where what is chosen has none, or several."""
    head = words.price.format(price="")
    part = next((each for each in sight.text.split(SEP) if each.startswith(head)), "")
    prices = list_amounts(part)
    return prices[0] if len(prices) == 1 else None


def list_usual(profile: str, category: str, facts: CategoryFacts) -> list[ReadNeed]:
    """What a profile says of a kind of thing: the one brand and the one color that it strongly prefers among those that there are, its
    size, and the upper end of what is paid.

    profile: as `prompts/profiles.offline.j2` writes it.
    """
    found = []
    for line in profile.splitlines():
        fact, rest = next(
            ((fact, line.removeprefix(head)) for head, fact in PROFILE_LINES if line.startswith(head)), ("", "")
        )
        if fact in ("brand", "color"):
            there = {value.lower() for value in facts.values.get(fact, ())}
            strong = [name.lower() for name, *levels in LIKED.findall(rest) if {"high", "高"} & {*levels}]
            here = [name for name in strong if name in there]
            found += [ReadNeed(frozenset([fact]), "is", here[0])] if len(here) == 1 else []
        elif fact == "size":
            sizes = [(kind, name or other, value or amount) for kind, name, value, other, amount in SIZED.findall(rest)]
            found += [
                ReadNeed(frozenset([name.lower()]), "is", value.lower())
                for kind, name, value in sizes
                if kind == category
            ]
        elif fact == "price" and (top := TOP_PRICE.search(rest)):
            found.append(ReadNeed(frozenset(["price"]), "at most", f"{float(top[1]):.2f}"))
    return found
