"""A customer's months as a model tells them, section by section, each held against the shop before the next is asked.

The model decides what is searched, clicked, put into the cart and bought, and when (Customer-Agent, arXiv 2606.07995,
appendix G.2). What a shopper needs, what each search finds and what it costs come from the catalog.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from itertools import chain
from itertools import count as count_from
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    NoValidReply,
    ask_until_valid,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.prompts import render_messages, render_offline
from shopwright.pipeline.render.trajectory import SEARCH_HEAD
from shopwright.pipeline.words import content_words
from shopwright.pipeline.world.actions import ACTIONS, CART, CLICK, OPEN_CARTS, PURCHASE, SEARCH, WINDOW_SHOPPING
from shopwright.pipeline.world.calendar import DAY, Numbers, plan_customer_visits
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.history import Count, Histories, TypedQueries, accumulate_tokens, count_line_tokens
from shopwright.pipeline.world.lives import Life, Shop
from shopwright.schemas.shop import Persona

SECTION = 20
# Carts and purchases of the five sections of a block; with 11 searches and 7 clicks each they make 55, 35, 7 and 3.
SHARES = ((2, 0), (1, 1), (2, 0), (1, 1), (1, 1))
# Of a section, fewest and most.
NEEDS = (3, 4)
# Searches of a life that are looked at for a section.
TRIES = 30
# Words beside a need's own in an exploratory search, where there is no model.
MORE_WORDS = (
    "price",
    "top rated",
    "on sale",
    "compare",
    "online",
    "for me",
    "new",
    "to buy",
    "near me",
    "shop",
    "order",
    "again",
)
# Products, beside the one that is meant, that a search shows.
ALSO = 5
# Characters of a search.
LONGEST = 120
# Tokens of a section before there is one.
GUESS = 900
# Tokens of visits, a week of them, beyond those that are needed: where a model leaves no room in one, the next is
# taken.
LATER = 16_000
# A month's visits are for a little more than its tokens, so that its last section has room.
PACE = 0.97
# Seconds for a token at most: a line has about 45.
LEISURE = 2
# Seconds.
LEAST = 60
# Seconds at least for a visit's part and for a whole section.
ROOM = 400
# Faults that are told at once.
MAX_FAULTS_SHOWN = 5
LINE = re.compile(rf"(\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d) ({'|'.join(ACTIONS)}) (\[.*)", re.ASCII)
FORMS = "TIME search [Search Amazon || WORDS], TIME click [ID], TIME add to Cart [ID] or TIME purchase [ID]"


class Event(NamedTuple):
    seconds: int
    kind: int
    product: int = -1
    """Row of the stock."""
    query: str = ""


@dataclass(frozen=True)
class Need:
    """Something to look for: the search that finds it, and the products that this search shows."""

    query: str
    finds: tuple[int, ...]


@dataclass(frozen=True)
class Section:
    """What twenty actions are to be, and what was before them."""

    number: int
    needs: tuple[Need, ...]
    visits: tuple[tuple[int, int], ...]
    """First and last second of each time in the shop."""
    quota: tuple[int, int, int, int]
    limit: int
    """The most, in cents, that is paid for one thing."""
    last: int
    """When the action before it was, 0 where there is none."""
    carts: tuple[int, ...]
    """What may still be bought: the products of carts left open, the oldest first."""
    bought: tuple[int, ...]
    looked: frozenset[int]


class Told(BaseModel):
    """What a model is asked for, as in the paper but line by line."""

    model_config = ConfigDict(extra="forbid")
    shopping_trajectory: Annotated[list[str], Field(json_schema_extra={"minItems": SECTION, "maxItems": SECTION})]


@dataclass
class ModelTrajectory:
    """A customer's events so far; with `unwritten`, the section that no reply was right for."""

    person: Persona
    events: list[Event] = field(default_factory=list)
    tokens: int = 0
    """Of the text of its events."""
    carts: list[int] = field(default_factory=list)
    section: dict[str, Any] = field(default_factory=dict)
    """The facts of the last section that was asked for."""
    unwritten: NoValidReply | None = None

    def add(self, events: list[Event], tokens: int) -> None:
        self.events += events
        self.tokens += tokens
        for event in events:
            if event.kind == CART:
                self.carts.append(event.product)
            elif event.kind == PURCHASE:
                self.carts.remove(event.product)
        del self.carts[:-OPEN_CARTS]

    def recent_purchases(self) -> list[int]:
        """The last products bought, each once."""
        found = [event.product for event in reversed(self.events) if event.kind == PURCHASE]
        return list(dict.fromkeys(found))[:OPEN_CARTS]


def generate_trajectory(
    person: Persona,
    shop: Shop,
    numbers: Numbers,
    *,
    first_day: date,
    tokens: int,
    count: Count | None = None,
) -> Conversation[ModelTrajectory]:
    """A customer's events from the first day on, asked for until they have so many tokens of text.

    `count` counts the tokens of lines exactly; without it they are estimated (`shopwright.pipeline.tokens`).
    """
    found = ModelTrajectory(person)
    visits = plan_customer_visits(person, tokens + LATER, first_day, numbers)
    for number, (needs, quota) in enumerate(plan_trajectory_sections(person, shop, numbers, first_day)):
        if found.tokens >= tokens:
            break
        section = Section(
            number,
            needs,
            allot_visit_times(visits, found, number),
            quota,
            int(person.budget * 100),
            found.events[-1].seconds if found.events else 0,
            tuple(found.carts),
            tuple(found.recent_purchases()),
            frozenset(event.product for event in found.events),
        )
        found.section = describe_section(section, person, shop.stock)
        events = yield from ask_until_valid(
            build_section_prompt(section, found.section, shop.stock),
            partial(parse_section_reply, section, shop.stock),
        )
        if isinstance(events, NoValidReply):
            found.unwritten = events
            break
        size = events_to_columns(events, shop.stock, count).tokens[-1] + 1  # the break before its first line
        found.add(events, int(size) - (number == 0))
    return found


def build_section_prompt(section: Section, facts: dict[str, Any], stock: CatalogColumns) -> Prompt:
    events = []
    for event in draft_section(section, stock):
        named = event.query if event.kind == SEARCH else stock.ids[event.product].as_py()
        events.append({"time": format_timestamp(event.seconds), "action": ACTIONS[event.kind], "named": named})
    lines = render_offline("trajectories", events=events).split("\n")
    return Prompt(
        "trajectories",
        tuple(render_messages("trajectories", **facts)),
        json.dumps({"shopping_trajectory": lines}),
        schema_of(Told),
        seed=section.number,
    )


def plan_trajectory_sections(
    person: Persona, shop: Shop, numbers: Numbers, first_day: date
) -> Iterator[tuple[tuple[Need, ...], tuple[int, int, int, int]]]:
    """What each section is about, and how many searches, clicks, carts and purchases it has.

    Needs are those of the life that this customer would lead without a model, in their order.
    """
    limit, needs = int(person.budget * 100), find_needs_of_life(person, shop, numbers, first_day)
    for block in count_from(0):
        random = Random(int(numbers(person.id, "diary", block).random() * 2**53))
        for carts, bought in random.sample(SHARES, len(SHARES)):
            chosen: dict[str, Need] = {}
            wanted = random.randint(*NEEDS)
            for tried in count_from(0):
                need = next(needs)
                alike = any(not set(need.finds).isdisjoint(one.finds) for one in chosen.values())
                # The first one can be bought; the others are for something else, where the shop has enough.
                payable = any(shop.stock.cents[one] <= limit for one in need.finds)
                if payable if not chosen else not alike or tried > TRIES:
                    chosen.setdefault(need.query, need)
                if len(chosen) == wanted or (chosen and tried > 2 * TRIES):
                    break
            yield tuple(chosen.values()), (11, 7, carts, bought)


def find_needs_of_life(person: Persona, shop: Shop, numbers: Numbers, first_day: date) -> Iterator[Need]:
    """The searches of a life after which something was opened, each with some of what its page showed, for ever."""
    life, done = Life(person, shop, numbers, first_day, "paper"), 0
    while True:
        life.go(life.tokens + GUESS)
        for place in range(max(1, done), len(life.kinds)):
            if life.kinds[place] == CLICK and life.kinds[place - 1] == SEARCH:
                query, opened = life.texts[place - 1], life.products[place]
                leaf = shop.stock.leaf_of[opened]
                rows = [row for row in shop.pages.of(query).tolist() if shop.stock.leaf_of[row] == leaf]
                fair = [row for row in rows if shop.stock.cents[row] <= life.limit * WINDOW_SHOPPING and row != opened]
                if can_be_typed(query) and content_words(query):
                    yield Need(query, tuple(sorted({opened, *fair[:ALSO]})))
        done = len(life.kinds)


def can_be_typed(query: str) -> bool:
    """
    >>> can_be_typed("oak lamp"), can_be_typed(" oak"), can_be_typed("oak\\nlamp")
    (True, False, False)
    """
    return 0 < len(query) <= LONGEST and query == query.strip() and query.isprintable()


def allot_visit_times(
    visits: tuple[np.ndarray, np.ndarray, np.ndarray], sofar: ModelTrajectory, number: int
) -> tuple[tuple[int, int], ...]:
    """When the next section can be: the part of the calendar's visits that is for its tokens."""
    expected = sofar.tokens // number if number else GUESS
    begin, last = sofar.tokens * PACE, sofar.events[-1].seconds if sofar.events else 0
    end = begin + expected * PACE
    found: list[tuple[int, int]] = []
    while sum(to - since for since, to in found) < ROOM:
        assert end <= visits[2][-1] + expected, "the calendar holds no more visits"
        found = list(cut_visit_times(visits, begin, end, last))
        end += expected / 4
    return tuple(found)


def cut_visit_times(
    visits: tuple[np.ndarray, np.ndarray, np.ndarray], begin: float, end: float, last: int
) -> Iterator[tuple[int, int]]:
    """The seconds, after `last`, of the visits for the tokens from `begin` to `end`."""
    starts, room, ends = visits
    for place in range(int(np.searchsorted(ends, begin, side="right")), len(ends)):
        before = ends[place - 1] if place else 0.0
        if before >= end:
            return
        size = ends[place] - before
        length = min(int(room[place]), int(size * LEISURE))
        since = int(starts[place] + length * max(0.0, (begin - before) / size))
        to = int(starts[place] + length * min(1.0, (end - before) / size))
        since = max(since, last + 1)
        if to - since >= LEAST:
            yield since, to


# What is told


def describe_section(section: Section, person: Persona, stock: CatalogColumns) -> dict[str, Any]:
    """A section's facts, as the template takes them."""
    days = range(section.visits[0][0] // DAY, section.visits[-1][1] // DAY + 1)
    facts = partial(describe_product_for_section, stock, days=days)
    return {
        "description": person.description,
        "brands": person.brands,
        "limit": str(person.budget),
        "last": format_timestamp(section.last) if section.last else None,
        "visits": [[format_timestamp(since), format_timestamp(to)] for since, to in section.visits],
        "needs": [{"query": need.query, "finds": list(map(facts, need.finds))} for need in section.needs],
        "carts": [facts(one) for one in section.carts],
        "bought": [stock.titles[one].as_py() for one in section.bought],
        "quota": dict(zip(ACTIONS, section.quota, strict=True)),
    }


def describe_product_for_section(stock: CatalogColumns, product: int, days: range) -> dict[str, Any]:
    """A product as a search shows it; where its price changes within these days, with the price of each day."""
    columns = {"id": stock.ids, "title": stock.titles, "brand": stock.brands, "color": stock.colors}
    prices = {
        format_timestamp(day * DAY)[:10]: format_plain_dollars(find_price_on_day(stock, product, day)) for day in days
    }
    price = prices if len(set(prices.values())) > 1 else next(iter(prices.values()))
    return {**{name: column[product].as_py() for name, column in columns.items()}, "price": price}


def find_price_on_day(stock: CatalogColumns, product: int, day: int) -> int:
    """What it costs on that day (days since 1970)."""
    if not stock.promoted[product]:
        return int(stock.cents[product])
    one = stock.on_promotion(np.zeros(1, np.int64), np.array([product]), np.array([day]))
    return one[0][2] if one else int(stock.cents[product])


def format_plain_dollars(cents: int) -> str:
    """
    >>> format_plain_dollars(1905)
    '19.05'
    """
    return f"{cents // 100}.{cents % 100:02}"


def format_timestamp(seconds: int) -> str:
    """
    >>> format_timestamp(1714591825)
    '2024-05-01 19:30:25'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


# What is replied


def parse_section_reply(section: Section, stock: CatalogColumns, reply: Reply) -> list[Event]:
    """The events that a reply tells. Raises InvalidReply with what breaks a rule of the section."""
    reader = SectionParser(section, stock)
    for line in parse_reply_json(reply, Told).shopping_trajectory:
        try:
            reader.read(line)
        except InvalidReply as wrong:
            reader.faults.append(f"{json.dumps(line[:LONGEST], ensure_ascii=False)} {wrong}")
    faults = [*reader.faults, *reader.missing()]
    if faults:
        more = f" (And {len(faults) - MAX_FAULTS_SHOWN} more.)" if len(faults) > MAX_FAULTS_SHOWN else ""
        raise InvalidReply(" ".join(faults[:MAX_FAULTS_SHOWN]) + more)
    return reader.events


class SectionParser:
    """Reads line after line; a line that breaks a rule is Wrong, and still counts as what it wanted to be."""

    def __init__(self, section: Section, stock: CatalogColumns) -> None:
        self.section, self.stock = section, stock
        self.events: list[Event] = []
        self.faults: list[str] = []
        self.last = section.last
        self.counts = [0] * len(ACTIONS)
        self.needs = {need.query: need for need in section.needs}
        # The needs whose searches are done.
        self.ended: list[str] = []
        # Products clicked for each need.
        self.clicked: Counter[str] = Counter()
        # Exploratory searches that no need's own search has ended yet.
        self.run: list[str] = []
        self.looked, self.carts = set(section.looked), Counter(section.carts)
        offered = [*section.carts, *chain.from_iterable(need.finds for need in section.needs)]
        self.offered = {stock.ids[product].as_py(): product for product in offered}

    def read(self, line: str) -> None:
        found = LINE.fullmatch(line)
        if not found:
            raise InvalidReply(f"is no action. Write {FORMS}.")
        kind, body = ACTIONS.index(found[2]), found[3]
        self.counts[kind] += 1
        seconds = self.time(found[1])
        if kind == SEARCH:
            event = Event(seconds, kind, query=self.words(body))
            self.search(event.query)
        else:
            event = Event(seconds, kind, self.product(body, seconds // DAY))
            (self.click, self.cart, self.purchase)[kind - CLICK](event)
        self.events.append(event)

    def time(self, said: str) -> int:
        try:
            seconds = int(datetime.fromisoformat(said).replace(tzinfo=UTC).timestamp())
        except ValueError:
            raise InvalidReply("has an invalid timestamp.") from None
        if seconds <= self.last:
            raise InvalidReply(f"is not later than the action before it, at {format_timestamp(self.last)}.")
        self.last = seconds
        if not any(since <= seconds <= to for since, to in self.section.visits):
            raise InvalidReply("is at a time when the shopper is not in the shop. Use only the times of the visits.")
        return seconds

    def words(self, body: str) -> str:
        if not body.startswith(SEARCH_HEAD) or not body.endswith("]"):
            raise InvalidReply(f"is no action. Write {FORMS}.")
        query = body[len(SEARCH_HEAD) : -1]
        if not can_be_typed(query):
            raise InvalidReply(f"is no search: write 1 to {LONGEST} plain characters, without spaces around them.")
        return query

    def product(self, body: str, day: int) -> int:
        """The product that a line names by its id, or by its whole line as the catalog has it."""
        id = next((one for one in self.offered if body.startswith((f"[{one}]", f"[{one} || "))), None)
        if id is None:
            raise InvalidReply("names a product that is not there now. Use only ids under finds and in the open carts.")
        product = self.offered[id]
        whole = (
            f"{self.stock.heads[product].as_py()}{format_plain_dollars(find_price_on_day(self.stock, product, day))})"
        )
        if body not in (f"[{id}]", whole):
            raise InvalidReply(f"states other facts than the catalog. Write only [{id}].")
        return product

    def search(self, query: str) -> None:
        if self.ended and not self.clicked[self.ended[-1]]:
            self.clicked[self.ended[-1]] = 1  # told once
            raise InvalidReply(
                f"comes before anything that {self.ended[-1]!r} finds was clicked. Click one or more first."
            )
        if query in self.ended:
            raise InvalidReply("ends a need that was searched for already. Search each need's words once.")
        if query in self.run:
            raise InvalidReply("is the same search again. Use other words.")
        apart = bool(self.run) and set(content_words(query)).isdisjoint(content_words(self.run[-1]))
        if query not in self.needs:
            self.run.append(query)
        else:
            alone, self.run = not self.run, []
            self.ended.append(query)
            if alone:
                raise InvalidReply(
                    "has no exploratory search before it. Put one or more in other words directly before it."
                )
        if apart:
            raise InvalidReply("shares no word with the search before it. Searches for one need have a word in common.")

    def click(self, event: Event) -> None:
        self.looked.add(event.product)
        self.after_searches()
        need = self.needs[self.ended[-1]] if self.ended else None
        if need is None or event.product not in need.finds:
            raise InvalidReply(
                "clicks what the search before it does not find. Click what is under finds of that search."
            )
        self.clicked[need.query] += 1

    def cart(self, event: Event) -> None:
        self.carts[event.product] += 1
        self.after_searches()
        if event.product not in self.looked:
            raise InvalidReply("puts into the cart what was not clicked before. Click it first.")

    def purchase(self, event: Event) -> None:
        open_carts, self.carts[event.product] = self.carts[event.product], max(0, self.carts[event.product] - 1)
        self.after_searches()
        if not open_carts:
            raise InvalidReply("buys what is not in the cart. Add it to the cart first, once for each purchase.")
        if find_price_on_day(self.stock, event.product, event.seconds // DAY) > self.section.limit:
            raise InvalidReply(
                f"costs more than the {format_plain_dollars(self.section.limit)} that the shopper pays for one thing."
            )

    def after_searches(self) -> None:
        if self.run:
            self.run = []
            raise InvalidReply(
                "comes between exploratory searches and the need's own. End them with the need's own words."
            )

    def missing(self) -> Iterator[str]:
        """What the section as a whole lacks."""
        for action, have, wanted in zip(ACTIONS, self.counts, self.section.quota, strict=True):
            if have != wanted:
                yield f"It has {have} times {action}, and must have {wanted}."
        for query in self.needs:
            if query not in self.ended:
                yield f"The need {query!r} was not searched for: its own words are missing."
            elif not self.clicked[query]:
                yield f"Nothing that {query!r} finds was clicked."
        if self.run:
            yield f"After the search {self.run[-1]!r} the need's own words are missing."


# What is said without a model


def draft_section(section: Section, stock: CatalogColumns) -> list[Event]:
    """A plain way to fill a section: each need searched for, its products clicked in turn, then carts and purchases."""
    done: list[tuple[int, int, str]] = []
    cheap: list[int] = []
    taken = {need.query for need in section.needs}
    count = len(section.needs)
    for place, need in enumerate(section.needs):
        searches, clicks = (wanted // count + (place < wanted % count) for wanted in section.quota[:2])
        # Before its own search others around a word of it.
        around = [f"{content_words(need.query)[0]} {more}" for more in MORE_WORDS]
        untaken = [query for query in around if query not in taken]
        done += [(SEARCH, -1, query) for query in [*untaken[: searches - 1], need.query]]
        finds = sorted(need.finds, key=lambda one: (int(stock.cents[one]), one))
        cheap.append(finds[0])
        done += [(CLICK, finds[look % len(finds)], "") for look in range(clicks)]
    cheap.sort(key=lambda one: int(stock.cents[one]))
    done += [(CART, cheap[place % count], "") for place in range(section.quota[CART])]
    done += [(PURCHASE, cheap[place % count], "") for place in range(section.quota[PURCHASE])]
    return [Event(at, *one) for at, one in zip(spread_over_visits(section, len(done)), done, strict=True)]


def spread_over_visits(section: Section, count: int) -> Iterator[int]:
    """So many seconds, spread evenly over the visits."""
    whole = sum(to - since for since, to in section.visits)
    for place in range(count):
        ahead = int(whole * (place + 0.5) / count)
        for since, to in section.visits:
            if ahead <= to - since:
                yield since + ahead
                break
            ahead -= to - since


# What becomes of it


def events_to_columns(
    events: list[Event], stock: CatalogColumns, count: Callable[[list[str]], list[int]] | None = None
) -> Histories:
    """One customer's events as columns, with what everything cost on its day."""
    kind = np.array([event.kind for event in events], dtype=np.int64)
    product = np.array([event.product for event in events], dtype=np.int64)
    seconds = np.array([event.seconds for event in events], dtype=np.int64)
    typed = TypedQueries(stock, [event.query for event in events])
    query = np.where(kind == SEARCH, np.arange(len(events)), -1)
    cents = np.where(kind == SEARCH, 0, stock.cents[product])
    places = np.flatnonzero((kind != SEARCH) & stock.promoted[product])
    promotions = stock.on_promotion(places, product[places], seconds[places] // DAY)
    for place, (_, _, price, _) in promotions.items():
        cents[place] = price
    begins = np.array([0, len(events)])
    size = accumulate_tokens(count_line_tokens(kind, product, query, cents, typed, count), begins)
    met = {place: one[3] for place, one in promotions.items()}
    return Histories(begins, kind, product, query, seconds, cents, size, met)
