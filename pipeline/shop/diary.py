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
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from pipeline.models.base import Prompt, Reply
from pipeline.models.play import Conversation
from pipeline.models.written import Unwritten, Wrong, as_json, schema_of, written
from pipeline.prompts import messages, say
from pipeline.render.trajectory import SEARCH_HEAD, search_bodies
from pipeline.shop.calendar import DAY, Numbers, plan
from pipeline.shop.history import Count, Histories, blocks_for, line_tokens, running
from pipeline.shop.repertoire import MORE_WORDS, Repertoire
from pipeline.shop.stock import Stock
from pipeline.shop.visits import (
    ACTIONS,
    CART,
    CLICK,
    OPEN_CARTS,
    PURCHASE,
    SEARCH,
    WINDOW_SHOPPING,
    Grid,
    purchases,
    targets,
)
from pipeline.tokens import estimates
from pipeline.words import content_words
from schemas.shop import Persona

SECTION = 20
SHARES = ((2, 0), (1, 1), (2, 0), (1, 1), (1, 1))
"""Carts and purchases of the five sections of a block; with 11 searches and 7 clicks each they make 55, 35, 7 and 3."""
ALSO = 5
"""Products, beside the one that is meant, that a search shows."""
LONGEST = 120
"""Characters of a search."""
GUESS = 900
"""Tokens of a section before there is one."""
LATER = 16_000
"""Tokens of visits, a week of them, beyond those that are needed: where a model leaves no room in one, the next is taken."""
PACE = 0.97
"""A month's visits are for a little more than its tokens, so that its last section has room."""
LEISURE = 2
"""Seconds for a token at most: a line has about 45."""
LEAST = 60
ROOM = 400
"""Seconds at least for a visit's part and for a whole section."""
TOLD = 5
"""Faults that are told at once."""
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


class Typed(Repertoire):
    """The columns of a repertoire that lines are written from, for searches in somebody's own words."""

    def __init__(self, stock: Stock, queries: list[str]) -> None:
        self.stock = stock
        self.queries = pa.array(queries, pa.string())
        self.bodies = search_bodies(self.queries)
        self.body_tokens = estimates(self.bodies)


@dataclass
class Diary:
    """A customer's events so far; with `unwritten`, the section that no reply was right for."""

    person: Persona
    events: list[Event] = field(default_factory=list)
    tokens: int = 0
    """Of the text of its events."""
    carts: list[int] = field(default_factory=list)
    section: dict[str, Any] = field(default_factory=dict)
    """The facts of the last section that was asked for."""
    unwritten: Unwritten | None = None

    def add(self, events: list[Event], tokens: int) -> None:
        self.events += events
        self.tokens += tokens
        for event in events:
            if event.kind == CART:
                self.carts.append(event.product)
            elif event.kind == PURCHASE:
                self.carts.remove(event.product)
        del self.carts[:-OPEN_CARTS]

    def bought(self) -> list[int]:
        """The last products bought, each once."""
        found = [event.product for event in reversed(self.events) if event.kind == PURCHASE]
        return list(dict.fromkeys(found))[:OPEN_CARTS]


def diary(
    person: Persona, known: Repertoire, numbers: Numbers, *, first_day: date, tokens: int, count: Count | None = None
) -> Conversation[Diary]:
    """A customer's events from the first day on, asked for until they have so many tokens of text.

    `count` counts the tokens of lines exactly; without it they are estimated (`pipeline.tokens`).
    """
    found = Diary(person)
    visits = plan(person, tokens + LATER, first_day, numbers)
    for number, (needs, quota) in enumerate(agenda(person, known, numbers, tokens)):
        if found.tokens >= tokens:
            break
        section = Section(
            number,
            needs,
            opened(visits, found, number),
            quota,
            int(person.budget * 100),
            found.events[-1].seconds if found.events else 0,
            tuple(found.carts),
            tuple(found.bought()),
            frozenset(event.product for event in found.events),
        )
        found.section = shown(section, person, known.stock)
        events = yield from written(asked(section, found.section, known.stock), partial(read, section, known.stock))
        if isinstance(events, Unwritten):
            found.unwritten = events
            break
        size = as_columns(events, known.stock, count).tokens[-1] + 1  # the break before its first line
        found.add(events, int(size) - (number == 0))
    return found


def asked(section: Section, facts: dict[str, Any], stock: Stock) -> Prompt:
    lines = say("trajectories", events=[said(event, stock) for event in draft(section, stock)]).split("\n")
    return Prompt(
        "trajectories",
        tuple(messages("trajectories", **facts)),
        json.dumps({"shopping_trajectory": lines}),
        schema_of(Told),
        seed=section.number,
    )


def agenda(
    person: Persona, known: Repertoire, numbers: Numbers, tokens: int
) -> Iterator[tuple[tuple[Need, ...], tuple[int, int, int, int]]]:
    """What each section is about, and how many searches, clicks, carts and purchases it has.

    The products that are meant are those that taste, purse and habit would choose without a model.
    """
    stock, limit = known.stock, int(person.budget * 100)
    done, blocks = 0, blocks_for(person, stock, tokens)
    while True:
        grid = Grid([person], [blocks], numbers)
        grid.limit = np.minimum(grid.limit, limit)  # so that every section holds something that can be bought
        meant, _ = purchases(grid, stock, targets(grid, stock))
        for block in range(done, blocks):
            random = Random(int(numbers(person.id, "diary", block).random() * 2**53))
            shares = random.sample(SHARES, len(SHARES))
            products = meant[block, : grid.intents[block]].tolist()
            for place, (carts, bought) in enumerate(shares):
                first, last = (len(products) * edge // len(shares) for edge in (place, place + 1))
                yield needs(products[first:last], known, random, limit), (11, 7, carts, bought)
        done, blocks = blocks, 2 * blocks  # the first ones stay as they were


def needs(products: list[int], known: Repertoire, random: Random, limit: int) -> tuple[Need, ...]:
    """For each product the search that finds it, each search once, with siblings that it finds too."""
    stock = known.stock
    known.learn(np.array(products))
    found: dict[str, tuple[int, ...]] = {}
    for product in products:
        slot = int(known.slot[product])
        choices = random.sample(range(known.accurate.shape[1]), known.accurate.shape[1])
        for which in sorted(choices, key=lambda one: known.others[slot, one, 0] < 0):  # rather one that finds several
            query = known.texts[int(known.accurate[slot, which])]
            if can_be_typed(query) and content_words(query) and query not in found:
                others = [one for one in known.others[slot, which].tolist() if one >= 0]
                fair = [one for one in others if stock.cents[one] <= limit * WINDOW_SHOPPING]
                found[query] = tuple(sorted({product, *fair[:ALSO]}))
                break
    return tuple(Need(query, finds) for query, finds in found.items())


def can_be_typed(query: str) -> bool:
    """
    >>> can_be_typed("oak lamp"), can_be_typed(" oak"), can_be_typed("oak\\nlamp")
    (True, False, False)
    """
    return 0 < len(query) <= LONGEST and query == query.strip() and query.isprintable()


def opened(visits: tuple[np.ndarray, np.ndarray, np.ndarray], sofar: Diary, number: int) -> tuple[tuple[int, int], ...]:
    """When the next section can be: the part of the calendar's visits that is for its tokens."""
    expected = sofar.tokens // number if number else GUESS
    begin, last = sofar.tokens * PACE, sofar.events[-1].seconds if sofar.events else 0
    end = begin + expected * PACE
    found: list[tuple[int, int]] = []
    while sum(to - since for since, to in found) < ROOM:
        assert end <= visits[2][-1] + expected, "the calendar holds no more visits"
        found = list(parts(visits, begin, end, last))
        end += expected / 4
    return tuple(found)


def parts(
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


def shown(section: Section, person: Persona, stock: Stock) -> dict[str, Any]:
    """A section's facts, as the template takes them."""
    days = range(section.visits[0][0] // DAY, section.visits[-1][1] // DAY + 1)
    facts = partial(product_facts, stock, days=days)
    return {
        "description": person.description,
        "brands": person.brands,
        "limit": str(person.budget),
        "last": stamp(section.last) if section.last else None,
        "visits": [[stamp(since), stamp(to)] for since, to in section.visits],
        "needs": [{"query": need.query, "finds": [facts(one) for one in need.finds]} for need in section.needs],
        "carts": [facts(one) for one in section.carts],
        "bought": [stock.titles[one].as_py() for one in section.bought],
        "quota": dict(zip(ACTIONS, section.quota, strict=True)),
    }


def product_facts(stock: Stock, product: int, days: range) -> dict[str, Any]:
    """A product as a search shows it; where its price changes within these days, with the price of each day."""
    columns = {"id": stock.ids, "title": stock.titles, "brand": stock.brands, "color": stock.colors}
    prices = {stamp(day * DAY)[:10]: dollars(cents_on(stock, product, day)) for day in days}
    price = prices if len(set(prices.values())) > 1 else next(iter(prices.values()))
    return {**{name: column[product].as_py() for name, column in columns.items()}, "price": price}


def cents_on(stock: Stock, product: int, day: int) -> int:
    """What it costs on that day (days since 1970)."""
    if not stock.promoted[product]:
        return int(stock.cents[product])
    one = stock.on_promotion(np.zeros(1, np.int64), np.array([product]), np.array([day]))
    return one[0][2] if one else int(stock.cents[product])


def dollars(cents: int) -> str:
    """
    >>> dollars(1905)
    '19.05'
    """
    return f"{cents // 100}.{cents % 100:02}"


def stamp(seconds: int) -> str:
    """
    >>> stamp(1714591825)
    '2024-05-01 19:30:25'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


# What is replied


def read(section: Section, stock: Stock, reply: Reply) -> list[Event]:
    """The events that a reply tells. Raises Wrong with what breaks a rule of the section."""
    reader = Reader(section, stock)
    for line in as_json(reply, Told).shopping_trajectory:
        try:
            reader.read(line)
        except Wrong as wrong:
            reader.faults.append(f"{json.dumps(line[:LONGEST], ensure_ascii=False)} {wrong}")
    faults = [*reader.faults, *reader.missing()]
    if faults:
        more = f" (And {len(faults) - TOLD} more.)" if len(faults) > TOLD else ""
        raise Wrong(" ".join(faults[:TOLD]) + more)
    return reader.events


class Reader:
    """Reads line after line; a line that breaks a rule is Wrong, and still counts as what it wanted to be."""

    def __init__(self, section: Section, stock: Stock) -> None:
        self.section, self.stock = section, stock
        self.events: list[Event] = []
        self.faults: list[str] = []
        self.last = section.last
        self.counts = [0] * len(ACTIONS)
        self.needs = {need.query: need for need in section.needs}
        self.ended: list[str] = []
        """The needs whose searches are done."""
        self.clicked: Counter[str] = Counter()
        """Products clicked for each need."""
        self.run: list[str] = []
        """Exploratory searches that no need's own search has ended yet."""
        self.looked, self.carts = set(section.looked), Counter(section.carts)
        offered = [*section.carts, *(product for need in section.needs for product in need.finds)]
        self.offered = {stock.ids[product].as_py(): product for product in offered}

    def read(self, line: str) -> None:
        found = LINE.fullmatch(line)
        if not found:
            raise Wrong(f"is no action. Write {FORMS}.")
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
            raise Wrong("has a time that there is not.") from None
        if seconds <= self.last:
            raise Wrong(f"is not later than the action before it, at {stamp(self.last)}.")
        self.last = seconds
        if not any(since <= seconds <= to for since, to in self.section.visits):
            raise Wrong("is at a time when the shopper is not in the shop. Use only the times of the visits.")
        return seconds

    def words(self, body: str) -> str:
        if not body.startswith(SEARCH_HEAD) or not body.endswith("]"):
            raise Wrong(f"is no action. Write {FORMS}.")
        query = body[len(SEARCH_HEAD) : -1]
        if not can_be_typed(query):
            raise Wrong(f"is no search: write 1 to {LONGEST} plain characters, without spaces around them.")
        return query

    def product(self, body: str, day: int) -> int:
        """The product that a line names by its id, or by its whole line as the catalog has it."""
        id = next((one for one in self.offered if body.startswith((f"[{one}]", f"[{one} || "))), None)
        if id is None:
            raise Wrong("names a product that is not there now. Use only ids under finds and in the open carts.")
        product = self.offered[id]
        whole = f"{self.stock.heads[product].as_py()}{dollars(cents_on(self.stock, product, day))})"
        if body not in (f"[{id}]", whole):
            raise Wrong(f"states other facts than the catalog. Write only [{id}].")
        return product

    def search(self, query: str) -> None:
        if self.ended and not self.clicked[self.ended[-1]]:
            self.clicked[self.ended[-1]] = 1  # told once
            raise Wrong(f"comes before anything that {self.ended[-1]!r} finds was clicked. Click one or more first.")
        if query in self.ended:
            raise Wrong("ends a need that was searched for already. Search each need's words once.")
        if query in self.run:
            raise Wrong("is the same search again. Use other words.")
        apart = bool(self.run) and set(content_words(query)).isdisjoint(content_words(self.run[-1]))
        if query not in self.needs:
            self.run.append(query)
        else:
            alone, self.run = not self.run, []
            self.ended.append(query)
            if alone:
                raise Wrong("has no exploratory search before it. Put one or more in other words directly before it.")
        if apart:
            raise Wrong("shares no word with the search before it. Searches for one need have a word in common.")

    def click(self, event: Event) -> None:
        self.looked.add(event.product)
        self.after_searches()
        need = self.needs[self.ended[-1]] if self.ended else None
        if need is None or event.product not in need.finds:
            raise Wrong("clicks what the search before it does not find. Click what is under finds of that search.")
        self.clicked[need.query] += 1

    def cart(self, event: Event) -> None:
        self.carts[event.product] += 1
        self.after_searches()
        if event.product not in self.looked:
            raise Wrong("puts into the cart what was not clicked before. Click it first.")

    def purchase(self, event: Event) -> None:
        open_carts, self.carts[event.product] = self.carts[event.product], max(0, self.carts[event.product] - 1)
        self.after_searches()
        if not open_carts:
            raise Wrong("buys what is not in the cart. Add it to the cart first, once for each purchase.")
        if cents_on(self.stock, event.product, event.seconds // DAY) > self.section.limit:
            raise Wrong(f"costs more than the {dollars(self.section.limit)} that the shopper pays for one thing.")

    def after_searches(self) -> None:
        if self.run:
            self.run = []
            raise Wrong("comes between exploratory searches and the need's own. End them with the need's own words.")

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


def draft(section: Section, stock: Stock) -> list[Event]:
    """A plain way to fill a section: each need searched for, its products clicked in turn, then carts and purchases."""
    done: list[tuple[int, int, str]] = []
    cheap: list[int] = []
    count = len(section.needs)
    for place, need in enumerate(section.needs):
        searches, clicks = (wanted // count + (place < wanted % count) for wanted in section.quota[:2])
        done += [(SEARCH, -1, query) for query in [*explored(need.query, section)[: searches - 1], need.query]]
        finds = sorted(need.finds, key=lambda one: (int(stock.cents[one]), one))
        cheap.append(finds[0])
        done += [(CLICK, finds[look % len(finds)], "") for look in range(clicks)]
    cheap.sort(key=lambda one: int(stock.cents[one]))
    done += [(CART, cheap[place % count], "") for place in range(section.quota[CART])]
    done += [(PURCHASE, cheap[place % count], "") for place in range(section.quota[PURCHASE])]
    return [Event(at, *one) for at, one in zip(instants(section, len(done)), done, strict=True)]


def explored(query: str, section: Section) -> list[str]:
    """Searches around a word of this one."""
    taken = {need.query for need in section.needs}
    word = content_words(query)[0]
    return [f"{word} {more}" for more in MORE_WORDS if f"{word} {more}" not in taken]


def instants(section: Section, count: int) -> Iterator[int]:
    """So many seconds, spread evenly over the visits."""
    whole = sum(to - since for since, to in section.visits)
    for place in range(count):
        ahead = int(whole * (place + 0.5) / count)
        for since, to in section.visits:
            if ahead <= to - since:
                yield since + ahead
                break
            ahead -= to - since


def said(event: Event, stock: Stock) -> dict[str, str]:
    """An event as the template takes it."""
    named = event.query if event.kind == SEARCH else stock.ids[event.product].as_py()
    return {"time": stamp(event.seconds), "action": ACTIONS[event.kind], "named": named}


# What becomes of it


def as_columns(events: list[Event], stock: Stock, count: Callable[[list[str]], list[int]] | None = None) -> Histories:
    """One customer's events as columns, with what everything cost on its day."""
    kind, product, seconds = (
        np.array([event[place] for event in events], dtype=np.int64)
        for place in (Event._fields.index(name) for name in ("kind", "product", "seconds"))
    )
    typed = Typed(stock, [event.query for event in events])
    query = np.where(kind == SEARCH, np.arange(len(events)), -1)
    cents = np.where(kind == SEARCH, 0, stock.cents[product])
    places = np.flatnonzero((kind != SEARCH) & stock.promoted[product])
    promotions = stock.on_promotion(places, product[places], seconds[places] // DAY)
    for place, (_, _, price, _) in promotions.items():
        cents[place] = price
    begins = np.array([0, len(events)])
    size = running(line_tokens(kind, product, query, cents, typed, count), begins)
    met = {place: one[3] for place, one in promotions.items()}
    return Histories(begins, kind, product, query, seconds, cents, size, met)
