"""What a shape draws from: the events of one trajectory, and dice that fall the same for the same seed."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property, partial
from operator import attrgetter
from random import Random
from typing import Any, Final

from shopwright.pipeline.questions.log import Event, Log
from shopwright.pipeline.questions.mention import collect_product_nouns, describe_product, mention_product
from shopwright.pipeline.questions.product_nouns import ProductNouns
from shopwright.pipeline.questions.times import DAY, list_named_ranges
from shopwright.pipeline.questions.tree import (
    Mention,
    Pick,
    list_tree_picks,
    map_tree_picks,
)

ROW = attrgetter("row")
# What is drawn around an early or late event has evidence in the middle too, so that the middle is drawn less.
THIRDS = (0, 0, 1, 2, 2)
# Share of the ranges of days that are a week, a weekend or a part of a month, and their greatest length.
NAMED = 0.65
FORTNIGHT = 15
# Share of the products that are called by what they are where that means them alone.
DESCRIBED = 0.8
SEARCH: Final = "search"
CLICK: Final = "click"
CART: Final = "add to Cart"
BUY: Final = "purchase"


class NothingToAsk(Exception):
    """This trajectory has nothing for that shape."""


class Draw:
    """What a shape draws from: the events of one trajectory, and dice.

    Everything is drawn around an event of one third of the trajectory, so that evidence lies early, in the middle
    and late about equally often.
    """

    def __init__(self, log: Log, random: Random) -> None:
        self.log, self.random = log, random
        self.mentions: dict[str, Mention | None] = {}
        self.third = 0

    @cached_property
    def things(self) -> ProductNouns:
        return collect_product_nouns(self.log)

    def again(self, random: Random) -> "Draw":
        """With other dice, on another third."""
        self.random, self.third = random, THIRDS[int(random.random() * len(THIRDS))]
        return self

    def one_of(self, found: Sequence[Any]) -> Any:
        """Raises NothingToAsk where there is nothing to choose from."""
        if not found:
            raise NothingToAsk
        return found[int(self.random.random() * len(found))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self, low: int, high: int) -> int:
        return low + int(self.random.random() * (high - low + 1))

    def event(self, pick: Pick, *having: str) -> Event:
        """One of the events that a pick means, with a value in these columns."""
        found = self.log.pick(pick)
        for name in having:
            found = [each for each in found if getattr(each, name) is not None]
        one: Event = self.one_of(self.in_third(found) or found)
        return one

    def in_third(self, events: list[Event]) -> list[Event]:
        total = len(self.log.events)
        # -(-a // b) rounds up, so that the three parts share no row and leave none out
        begin, end = (bisect_left(events, -(-third * total // 3), key=ROW) for third in (self.third, self.third + 1))
        return events[begin:end]

    def common(self, pick: Pick, column: str, least: int) -> Any:
        """A value that at least so many of these events have; rarer and commoner ones alike."""
        counts = Counter(map(attrgetter(column), self.log.pick(pick)))
        return self.one_of([value for value, count in counts.items() if value is not None and count >= least])

    def days(self, around: Event, longest: int = 9, least: int = 1) -> dict[str, Any]:
        """A range of days with this event in it, often one that has a name."""
        first, last = self.log.events[0].day, self.log.events[-1].day
        if self.chance(NAMED):
            most = timedelta(days=max(longest, FORTNIGHT))
            spans = [
                (begin, end)
                for begin, end in list_named_ranges(around.day)
                if first <= begin and end <= last and timedelta(days=least) <= end - begin + DAY <= most
            ]
            if spans:
                begin, end = self.one_of(spans)
                return {"first_day": begin, "last_day": end}
        length = self.number(least, longest)
        back = int(self.random.random() * length)
        begin = min(around.day - timedelta(days=back), last - timedelta(days=length - 1))
        begin = max(first, begin)
        return {"first_day": begin, "last_day": min(last, begin + timedelta(days=length - 1))}

    def day(self, around: Event) -> dict[str, Any]:
        return {"first_day": around.day, "last_day": around.day}

    def since_or_until(self, around: Event) -> dict[str, Any]:
        return {self.one_of(["first_day", "last_day"]): around.day}

    def towards(self, around: Event, n: int) -> dict[str, Any]:
        """The one bound that counting from the front (n > 0) or from the back depends on: the other would say nothing."""
        return {"first_day" if n > 0 else "last_day": around.day}

    def some_time(self, around: Event, longest: int = 9) -> dict[str, Any]:
        """A range of days, a beginning or an end. A range decides the less, the longer it is."""
        return self.days(around, longest, 2) if self.chance(0.4) else self.since_or_until(around)

    def thing(self, pick: Pick, least: int = 0) -> Pick:
        """These events, of one brand or category that has at least so many of them, else of a number of its own."""
        least = least or self.number(1, 8)
        column, field = self.one_of([("brand", "brand"), ("product_types", "category")])
        return pick.model_copy(update={field: self.common(pick, column, least)})

    def mention(self, event: Event) -> Mention:
        """Words that mean this event's product and no other: most often what it is, else a piece of its name."""
        asin = event.asin or ""
        if self.chance(DESCRIBED) and (plain := describe_product(self.log, self.things, asin, self.random)) is not None:
            return plain
        if asin not in self.mentions:
            self.mentions[asin] = mention_product(self.log, self.things, asin)
        found = self.mentions[asin]
        if found is None:
            raise NothingToAsk
        return found

    def frequent_click(self, least: int, **linked: Any) -> Event:
        """A click on a product that has at least so many."""
        pick = Pick(action=CLICK, **linked)
        asin = self.common(pick, "asin", least)
        one: Event = self.one_of([each for each in self.log.by_asin[asin] if each.action == CLICK])
        return one

    def elsewhere(self, tree: Any) -> Any:
        """The same of another brand, color or category, or on other days: one of these, wherever the tree says it.

        Most often there is nothing. Picks that differ on purpose (before a day and from it on) stay as they are, and what goes with a product named.
        """
        other, picks = self.event(Pick(action=CLICK)), list_tree_picks(tree)
        moves: list[dict[str, Any]] = []
        for field, value in (("brand", other.brand), ("color", other.color), ("category", other.product_types)):
            said = {getattr(pick, field) for pick in picks} - {None}
            if len(said) == 1 and value is not None and not any(pick.product for pick in picks):
                moves.append({field: value})
        days = {(pick.first_day, pick.last_day) for pick in picks} - {(None, None)}
        if len(days) == 1:
            first, last = days.pop()
            # What is asked of several days, as which of them, is not asked of one.
            several = self.days(other, 2, 1 if first == last else 2)
            moves.append(several if first and last else {"first_day" if first else "last_day": other.day})
        if not moves:
            return tree
        move = self.one_of(moves)
        return map_tree_picks(tree, partial(move_pick, move))

    def of_all_days(self, tree: Any) -> Any:
        """The same of all days, where the tree says one time throughout; days that differ on purpose stay."""
        days = {(pick.first_day, pick.last_day) for pick in list_tree_picks(tree)} - {(None, None)}
        return map_tree_picks(tree, forget_days) if len(days) == 1 else tree

    def purchase(self) -> Event:
        return self.event(Pick(action=BUY))


def forget_days(pick: Pick) -> Pick:
    return pick.model_copy(update={"first_day": None, "last_day": None})


def move_pick(move: dict[str, Any], pick: Pick) -> Pick:
    """A pick with these values, where it has any in their place."""
    there = {field: value for field, value in move.items() if getattr(pick, field) is not None}
    return pick.model_copy(update=there)
