"""A household with things, and the needs that come of it: what is used up, worn out, broken, outgrown, given, begun and dreamt of.

    household = Household(person, kinds, stock, random)
    household.upto(day)             # the needs that have arisen by that day
    household.bought(need, day)     # the thing is there now

A need is a latent intent: it persists over visits until it is bought, given up, put off or solved elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import exp
from random import Random
from typing import Literal

import numpy as np

from shopwright.pipeline.words import split_words
from shopwright.pipeline.world.catalog_columns import EPOCH, CatalogColumns, ProductWords
from shopwright.pipeline.world.kinds import Kinds, load_households
from shopwright.schemas.shop import Persona

# Days that are looked ahead at once.
MONTH = 31
# Consumables that a household buys here, by share of those that it could use.
STOCKED = 0.55
MOST_STOCKED = 26
# Of a month: things that break or wear out, projects, hobbies begun.
BROKEN, PROJECTS, HOBBIES = 4.0, 0.9, 0.4
# Months, of two adults: relatives and friends whose birthdays are kept.
FRIENDS = (4, 9)
# How much more is needed of what one likes.
LIKED = 4.0
# Kinds that are looked at without need in a month, beside tastes.
CURIOUS = 120
# Shares of purchases that go back, and of those that get a replacement.
SENT_BACK, AGAIN = 0.07, 0.7
# Days until it is known that something goes back.
ARRIVES = (3, 14)
# Another one of a kind that is kept is looked for again only after this share of its life.
WORN = 0.8
# Of a kind that one has several of, and of clothes: days until the next one.
SOME_DAYS = 21
ADULT_AGES = {
    "18-24": (18, 24),
    "25-34": (25, 34),
    "35-44": (35, 44),
    "45-54": (45, 54),
    "55-64": (55, 64),
    "65+": (65, 84),
}

Reason = Literal[
    "used up", "worn out", "broken", "gift", "project", "hobby", "goes with", "sent back", "season", "looking around"
]
State = Literal["open", "bought", "given up", "put off", "solved elsewhere"]


@dataclass(eq=False)
class Need:
    """Something to look for."""

    leaf: int
    reason: Reason
    since: int
    """The day on which it arose; days since 1970, as are the others."""
    until: int
    """The day on which it is solved elsewhere, or no more of interest."""
    ideal: int
    """A product that would do: what is had in mind comes from it."""
    words: ProductWords
    wants: tuple[str, ...]
    """Details that it should have."""
    want_words: frozenset[str]
    """Their words, as titles are searched by them."""
    brand: str
    """The maker that it must be of; empty: any."""
    color: str
    most: int
    """Cents that it may cost."""
    keen: float
    """How much it is wanted, 0 to 1."""
    whom: str = ""
    """Whom it is given to; empty: the household."""
    state: State = "open"
    visits: int = 0
    last_visit: int = 0
    parts: dict[str, str] = field(default_factory=dict)
    """What the last search for it said, part by part."""
    last_text: str = ""
    """The same as it was typed."""
    seen: set[int] = field(default_factory=set)
    urgent: float = 1.5
    """How much more it is looked for, the nearer its last day."""
    carted: int = 0
    """Pieces in the cart."""
    fits: dict[int, float] = field(default_factory=dict)
    """How well the products that were met fit, by row."""


class Household:
    """Who lives there, what they have and use, and what will be needed."""

    def __init__(self, person: Persona, kinds: Kinds, stock: CatalogColumns, random: Random, first_day: date) -> None:
        self.person, self.kinds, self.stock, self.random = person, kinds, stock, random
        self.first = (first_day - EPOCH).days
        self.limit = int(person.budget * 100)
        low, high = ADULT_AGES[person.age_band]
        self.sex = "woman" if random.random() < 0.55 else "man"
        # Ages on the first day, the shopper's first.
        self.ages = [random.uniform(low, high)] + [
            random.uniform(*age) for age in load_households().get(person.household, [])
        ]
        dice = random.random()
        self.pets = {"dog"} if dice < 0.22 else {"cat"} if dice < 0.4 else {"dog", "cat"} if dice < 0.45 else set()
        self.has = {
            name for name, chance in (("car", 0.8), ("garden", 0.45), ("office", 0.6)) if random.random() < chance
        }
        self.friends = [(random.randrange(365), random.randrange(6)) for _ in range(random.randint(*FRIENDS))]
        self.tastes = {
            stock.place_of_leaf[taste.category]: taste.weight
            for taste in person.tastes
            if taste.category in stock.place_of_leaf
        }
        self.brands = frozenset(brand.lower() for brand in person.brands)
        # Every household has its own way: some need things that others never do.
        generator = np.random.default_rng(random.getrandbits(63))
        self.leaning = kinds.demand * np.exp(generator.normal(0.0, 0.9, len(kinds.leaves)))
        self.month = -1
        self.set_month(self.first)
        self.due: dict[int, float] = self.stock_up()
        # When each was bought last; things that are kept were, mostly, some time ago.
        self.owned: dict[int, int] = self.furnish()
        self.pending: list[Need] = []
        self.ahead: list[Need] = []
        self.planned_until, self.day = self.first, self.first - 1

    # Who they are

    def set_month(self, day: int) -> None:
        """What matters to them in the month of a day: children grow, seasons change."""
        when = EPOCH + timedelta(day)
        if when.year * 12 + when.month == self.month:
            return
        self.month = when.year * 12 + when.month
        years = (day - self.first) / 365.25
        ages = [age + years for age in self.ages]
        weight = {"home": 1.0, "adult": 1.0, "hobby": 0.06, "office": 0.9 if "office" in self.has else 0.1}
        weight["baby"] = 1.6 if any(age < 2.5 for age in ages) else 0.0
        weight["child"] = 1.3 if any(1.5 <= age < 12 for age in ages) else 0.0
        weight["teen"] = 1.0 if any(12 <= age < 18 for age in ages) else 0.0
        couple = sum(age >= 18 for age in ages) > 1
        weight["woman"] = 1.0 if self.sex == "woman" else 0.3 if couple else 0.0
        weight["man"] = 1.0 if self.sex == "man" else 0.3 if couple else 0.0
        for name, use in (("dog", 1.2), ("cat", 1.2)):
            weight[name] = use if name in self.pets else 0.0
        for name in ("car", "garden"):
            weight[name] = 0.8 if name in self.has else 0.03
        found = np.empty(len(self.kinds.leaves))
        for leaf, kind in enumerate(self.kinds.of):
            season = 1.0 if not kind.months else 2.2 if when.month in kind.months else 0.35
            found[leaf] = weight.get(kind.who, 1.0) * season
        for leaf in self.tastes:
            found[leaf] = LIKED * max(found[leaf], 0.8)
        prices = self.kinds.prices
        cheap = np.array([1.0 if prices[leaf].cheapest <= self.limit else 0.0 for leaf in range(len(found))])
        self.weight: np.ndarray = found * self.leaning
        self.payable: np.ndarray = self.weight * cheap
        # What is looked at without need this month.
        self.curious = [self.draw(self.weight) for _ in range(CURIOUS)]
        if not self.payable.any():
            self.payable = cheap if cheap.any() else np.ones(len(found))

    def stock_up(self) -> dict[int, float]:
        """What is used up regularly, with the day on which it is next."""
        kinds, random = self.kinds, self.random
        could = [
            leaf
            for leaf, kind in enumerate(kinds.of)
            if kind.use in ("consumable", "service") and self.payable[leaf] > 0.15
        ]
        wanted = min(len(could), MOST_STOCKED, max(3, round(STOCKED * len(could) * random.uniform(0.6, 1.2))))
        chosen = sorted(could, key=lambda leaf: -self.payable[leaf] * random.random())[:wanted]
        return {leaf: self.first + random.random() * kinds.of[leaf].days for leaf in chosen}

    def furnish(self) -> dict[int, int]:
        """When the things that they have were bought; most have what everybody has."""
        random, found = self.random, {}
        for leaf, kind in enumerate(self.kinds.of):
            if kind.use == "durable" and random.random() < 0.6 * min(1.0, self.weight[leaf]):
                found[leaf] = self.first - int(random.random() * kind.days)
        return found

    # What is needed

    def upto(self, day: int) -> list[Need]:
        """What is looked for on a day."""
        while self.planned_until <= day:
            self.plan(self.planned_until)
        if self.ahead and self.ahead[0].since <= day:
            cut = next((place for place, need in enumerate(self.ahead) if need.since > day), len(self.ahead))
            self.pending += self.ahead[:cut]
            del self.ahead[:cut]
        if day != self.day:
            self.day = day
            for need in self.pending:
                need.urgent = 1.0 + 4.0 / (2.0 + max(0, need.until - day))
                if need.until < day and not need.carted:  # what lies in the cart is still wanted
                    need.state = "solved elsewhere" if need.reason in ("used up", "gift", "broken") else "given up"
        self.pending = [need for need in self.pending if need.state == "open"]
        return self.pending

    def plan(self, day: int) -> None:
        """The needs that will arise in the month from a day on."""
        self.set_month(day)
        self.planned_until = day + MONTH
        self.ahead += [need for need in self.find_month(day) if need]
        self.ahead.sort(key=lambda need: need.since)

    def find_month(self, day: int) -> Iterator[Need | None]:
        random, kinds = self.random, self.kinds
        for leaf, when in list(self.due.items()):
            if when < day + MONTH:
                yield self.need(leaf, "used up", max(day, int(when)), random.randint(6, 18), keen=0.9)
                self.due[leaf] = max(day, when) + kinds.of[leaf].days * random.uniform(1.0, 2.0)  # bought: anew
        for _ in range(poisson(random, BROKEN)):
            leaf = self.draw(self.payable)
            kind = kinds.of[leaf]
            if kind.use in ("wears", "durable"):
                old = self.owned.get(leaf)
                reason: Reason = "worn out" if kind.use == "wears" or random.random() < 0.5 else "broken"
                if old is not None and kind.use == "durable" and day - old < kind.days * random.uniform(0.5, 1.2):
                    continue
                yield self.need(leaf, reason, day + random.randrange(MONTH), random.randint(10, 40), keen=0.85)
        if random.random() < PROJECTS:
            yield from self.project(random.choice(kinds.projects), "project", day)
        if random.random() < HOBBIES:
            taste = random.choice(list(self.tastes) or [self.draw(self.payable)])
            around = [
                taste,
                *kinds.of[taste].companions,
                *random.sample(kinds.of_group[kinds.groups[taste]], min(4, len(kinds.of_group[kinds.groups[taste]]))),
            ]
            yield from self.project(tuple(dict.fromkeys(around)), "hobby", day)
        yield from self.gifts(day)
        yield from self.season(day)

    def project(self, leaves: tuple[int, ...], reason: Reason, day: int) -> Iterator[Need | None]:
        """Some of what it takes, within three weeks; a project that is dropped leaves the rest."""
        random = self.random
        begin, wanted = day + random.randrange(MONTH - 8), random.randint(3, 8)
        fitting = [leaf for leaf in leaves if self.payable[leaf] > 0]
        for leaf in random.sample(fitting, min(wanted, len(fitting))):
            if self.may_need(leaf, begin):
                yield self.need(
                    leaf,
                    reason,
                    begin + int(random.expovariate(0.2)),
                    random.randint(8, 30),
                    keen=random.uniform(0.3, 0.9),
                )

    def gifts(self, day: int) -> Iterator[Need | None]:
        """For birthdays and holidays of this month, some days ahead."""
        random, kinds = self.random, self.kinds
        soon = day + 12
        weights = np.array([kind.gift for kind in kinds.of], dtype=float) * (
            np.array([one.quarter for one in kinds.prices]) <= self.limit
        )
        if not weights.any():
            return
        when = EPOCH + timedelta(soon)
        days = [(birthday - when.timetuple().tm_yday) % 365 for birthday, _ in self.friends]
        parties = [soon + ahead for ahead in days if ahead < MONTH]
        if (EPOCH + timedelta(day)).month in (11, 12):
            parties += [soon + random.randrange(MONTH) for _ in range(random.randint(2, 6))]
        for party in parties:
            leaf = self.draw(weights * self.leaning**0.3)
            yield self.need(
                leaf, "gift", max(day, party - random.randint(4, 16)), random.randint(5, 16), keen=0.8, whom="gift"
            )

    def season(self, day: int) -> Iterator[Need | None]:
        """What the time of the year asks for."""
        month = (EPOCH + timedelta(day)).month
        weights = np.array([1.0 if month in kind.months else 0.0 for kind in self.kinds.of]) * self.payable
        if weights.any():
            for _ in range(poisson(self.random, 1.5)):
                leaf = self.draw(weights)
                if self.may_need(leaf, day):
                    yield self.need(
                        leaf,
                        "season",
                        day + self.random.randrange(MONTH),
                        self.random.randint(10, 30),
                        keen=self.random.uniform(0.3, 0.8),
                    )

    def look_around(self, day: int) -> Need:
        """Nothing is needed: something is looked at all the same."""
        random = self.random
        for _ in range(4):
            dice = random.random()
            if self.tastes and dice < 0.75:
                leaf = random.choices(list(self.tastes), list(self.tastes.values()))[0]
            else:
                leaf = random.choice(self.curious) if dice < 0.94 else self.draw(self.weight)
            if self.may_need(leaf, day):
                break
        else:  # what is new to the household
            old = np.array([self.owned.get(each, 0) > day - MONTH for each in range(len(self.weight))])
            leaf = self.draw(np.where(old, 0.0, self.weight)) if self.weight[~old].any() else leaf
        found = self.need(leaf, "looking around", day, random.randint(0, 5), keen=random.uniform(0.05, 0.4))
        self.pending.append(found)
        return found

    def may_need(self, leaf: int, day: int) -> bool:
        """Whether it is not there already, nor looked for."""
        if any(need.leaf == leaf for need in self.pending) or any(need.leaf == leaf for need in self.ahead):
            return False
        last, kind = self.owned.get(leaf), self.kinds.of[leaf]
        if last is None:
            return True
        wait = SOME_DAYS if kind.use in ("several", "wears") else WORN * kind.days
        return day - last > max(wait, 10)

    def need(self, leaf: int, reason: Reason, day: int, days: int, *, keen: float, whom: str = "") -> Need:
        """A need with what is had in mind: drawn from a product that would do, at a price that this shopper would pay."""
        random, stock = self.random, self.stock
        first = int(stock.edges[leaf])
        last = int(stock.edges[leaf + 1])
        dream = reason == "looking around" and random.random() < 0.25
        limit = int(self.limit * (1.5 if dream else 1.0))
        end = int(np.searchsorted(stock.steps[first:last], leaf * 10**12 + limit, side="right")) + first
        end = end if end > first else min(first + 3, last)
        share = random.random() ** (1.0 + 1.6 * self.person.price_sensitivity)
        ideal = int(stock.by_price[first + int((end - first) * share)])
        words = stock.speech(ideal)
        details = [word for word in words.details if len(word) < 22]
        wants = tuple(random.sample(details, min(len(details), random.choice((0, 1, 1, 2, 3)))))
        liked = words.brand in self.brands
        brand = words.brand if random.random() < (0.45 if liked else 0.1) else ""
        cents = int(stock.cents[ideal])
        most = min(max(int(cents * random.uniform(1.05, 1.9)), cents), max(limit, cents))
        color = words.color if random.random() < 0.35 else ""
        want_words = frozenset(split_words(" ".join(wants)))
        return Need(leaf, reason, day, day + days, ideal, words, wants, want_words, brand, color, most, keen, whom)

    def bought(self, need: Need, day: int) -> None:
        """It is there: what is used up lasts for its time, what goes with it is thought of, some comes back."""
        random, kind = self.random, self.kinds.of[need.leaf]
        need.state = "bought"
        if not need.whom:
            self.owned[need.leaf] = day
        if need.leaf in self.due or kind.use in ("consumable", "service"):
            self.due[need.leaf] = day + kind.days * random.uniform(0.8, 1.3)
        for other in self.pending + self.ahead:
            is_same = other is not need and other.leaf == need.leaf and not other.whom and not need.whom
            if is_same and not other.carted and other.state == "open":
                other.state = "solved elsewhere"
        self.ahead = [other for other in self.ahead if other.state == "open"]
        kept = kind.use not in ("wears", "durable") or need.reason == "sent back"  # nobody sends two back
        if random.random() < SENT_BACK and not kept and random.random() < AGAIN:
            again = self.need(need.leaf, "sent back", day + random.randint(*ARRIVES), 20, keen=0.9, whom=need.whom)
            again.seen |= {need.ideal}
            self.later(again)
        elif kind.companions and not need.whom and random.random() < 0.5:
            leaf = random.choice(kind.companions)
            if self.payable[leaf] and self.may_need(leaf, day):
                self.later(
                    self.need(leaf, "goes with", day + int(random.expovariate(0.3)), 20, keen=random.uniform(0.3, 0.7))
                )

    def later(self, need: Need) -> None:
        self.ahead.append(need)
        self.ahead.sort(key=lambda each: each.since)

    def draw(self, weights: np.ndarray) -> int:
        total = np.cumsum(weights)
        return int(np.searchsorted(total, self.random.random() * total[-1], side="right"))


def poisson(random: Random, mean: float) -> int:
    """
    >>> poisson(Random(1), 0.0)
    0
    """
    least, count, chance = exp(-mean), 0, random.random()
    while chance > least:
        count, chance = count + 1, chance * random.random()
    return count
