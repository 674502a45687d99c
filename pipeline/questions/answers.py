"""The answer to a tree in plain Python: the second opinion, which knows nothing of the SQL; and the rows it rests on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from typing import Any

from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.log import Event, Log
from shopwright.schemas.questions import AnswerType

SESSION_GAP = timedelta(seconds=t.GAP)
COLUMN_TYPES: dict[str, AnswerType] = {"timestamp": "date-time", "day": "date", "hour": "integer", "price": "money"}


class Undecided(ValueError):
    """The figure lies exactly between two roundings, so that two right computations may differ."""

    def __init__(self, exact: Fraction, digits: int) -> None:
        super().__init__(f"{exact} lies between two roundings")


@dataclass(frozen=True)
class Found:
    value: Any
    """int, Decimal, date, datetime, timedelta, str, frozenset, list; None if the answer is none."""
    evidence: list[Event]
    """The events that decide the answer: without them it is another."""
    looked_at: tuple[t.Pick, ...] | None
    """What was looked at: events outside of it do not matter. None: all events."""

    def scope(self, log: Log) -> list[Event] | None:
        """The events looked at: with `ever` and `never`, also those of the action named there."""
        return (
            None
            if self.looked_at is None
            else merge_log_events(*(pick_with_linked(log, pick) for pick in self.looked_at))
        )

    @property
    def rows(self) -> list[int]:
        return sorted({each.row for each in self.evidence})


def answer_tree(tree: Any, log: Log) -> Found:
    """What is true, from the events alone. Raises Undecided."""
    if tree.node in LOG_EVALUATORS:
        return LOG_EVALUATORS[tree.node](tree, log)
    events = log.pick(tree.of)
    value, evidence = PICK_EVALUATORS[tree.node](tree, events)
    return Found(value, evidence, (tree.of,))


def is_tied(tree: Any, log: Log) -> bool:
    """Whether the answer depends on which of several equals is taken."""
    match tree:
        case t.Top():
            groups = group_by_value(log.pick(tree.of), tree.by)
            sizes = sorted((measure_group(tree, events) for events in groups.values()), reverse=True)
            around = sizes[max(0, tree.rank - 2) : tree.rank + tree.k]
            return any(one == other for one, other in pairwise(around))
        case t.Extreme():
            _, equals = answer_extreme(tree, log.pick(tree.of))
            return len({read_event_column(each, tree.what) for each in equals}) > 1
        case t.Journey(what="product_name"):
            return (
                len({each.product_name for each in answer_journey(tree, log).evidence if each.action == "purchase"}) > 1
            )
        case t.Pause(what="start"):
            return len(answer_pause(tree, log.pick(tree.of))[1]) > 2
        case t.Sessions(what="start"):
            events = log.pick(tree.of)
            _, fullest = answer_sessions(tree, events)
            return len(fullest) > (answer_sessions(tree.model_copy(update={"what": "events"}), events)[0] or 0)
    return False


def pick_with_linked(log: Log, pick: t.Pick) -> list[Event]:
    plain = pick.model_copy(update={"ever": None, "never": None})
    linked = [log.by_action.get(action, []) for action in (pick.ever, pick.never) if action]
    return [*log.pick(plain), *chain.from_iterable(linked)]


def merge_log_events(*found: Iterable[Event]) -> list[Event]:
    return list({each.row: each for each in chain.from_iterable(found)}.values())


def read_event_column(each: Event, what: str) -> Any:
    return getattr(each, what)


def list_distinct_event_values(events: list[Event], what: str) -> list[Any]:
    """Different values in order of their first event, without missing ones."""
    values = dict.fromkeys(read_event_column(each, what) for each in events)
    return [value for value in values if value is not None]


def answer_count(tree: t.Count, events: list[Event]) -> tuple[Any, list[Event]]:
    return len(list_distinct_event_values(events, tree.what) if tree.what else events), events


def answer_fold(tree: t.Fold, events: list[Event]) -> tuple[Any, list[Event]]:
    priced = [each for each in events if each.price is not None]
    prices = [price for each in priced if (price := each.price) is not None]
    if tree.how == "sum":
        return sum(prices, Decimal("0.00")), priced
    if not prices:
        return None, []
    low, high = min(prices), max(prices)
    match tree.how:
        case "average":
            return round_exactly(Fraction(sum(prices)) / len(prices), 2), priced
        case "smallest":
            return low, [each for each in priced if each.price == low]
        case "largest":
            return high, [each for each in priced if each.price == high]
    return high - low, [each for each in priced if each.price in (low, high)]


def answer_nth(tree: t.Nth, events: list[Event]) -> tuple[Any, list[Event]]:
    place = tree.n - 1 if tree.n > 0 else len(events) + tree.n
    if not 0 <= place < len(events):
        return None, []
    return read_event_column(events[place], tree.what), [events[place]]


def answer_extreme(tree: t.Extreme, events: list[Event]) -> tuple[Any, list[Event]]:
    prices = [each.price for each in events if each.price is not None]
    if not prices:
        return None, []
    best = min(prices) if tree.how == "cheapest" else max(prices)
    equals = [each for each in events if each.price == best]
    return read_event_column(equals[0], tree.what), equals


def answer_top(tree: t.Top, events: list[Event]) -> tuple[Any, list[Event]]:
    groups = group_by_value(events, tree.by)

    order = sorted(groups, key=lambda name: (-measure_group(tree, groups[name]), groups[name][0].timestamp))
    first = tree.rank - 1
    chosen = order[first : first + tree.k]
    evidence = list(chain.from_iterable(groups[name] for name in chosen))
    if tree.k == 1:
        return (chosen[0] if chosen else None), evidence
    return (chosen or None), evidence


def measure_group(tree: t.Top, events: list[Event]) -> Any:
    if tree.measure == "events":
        return len(events)
    return sum((each.price for each in events if each.price is not None), Decimal(0))


def group_by_value(events: list[Event], what: str) -> dict[Any, list[Event]]:
    found: dict[Any, list[Event]] = {}
    for each in events:
        value = read_event_column(each, what)
        if value is not None:
            found.setdefault(value, []).append(each)
    return found


def answer_share(tree: t.Share, log: Log) -> Found:
    whole = log.pick(tree.of)
    inside = {each.row for each in log.pick(tree.part)}
    part = [each for each in whole if each.row in inside]
    scope = (tree.of, tree.part)
    over = len({each.asin for each in whole} - {None}) if tree.what == "asin" else len(whole)
    if not over:
        return Found(None, [], scope)
    under = len({each.asin for each in part} - {None}) if tree.what == "asin" else len(part)
    return Found(round_exactly(Fraction(100 * under, over), 1), part, scope)


def answer_names(tree: t.Names, events: list[Event]) -> tuple[Any, list[Event]]:
    found = frozenset(list_distinct_event_values(events, tree.what))
    return (found or None), [each for each in events if read_event_column(each, tree.what) is not None]


def answer_listed(tree: t.Listed, events: list[Event]) -> tuple[Any, list[Event]]:
    some = events[: tree.n] if tree.n > 0 else events[tree.n :]
    return ([read_event_column(each, tree.what) for each in some] or None), some


def answer_sets(tree: t.Sets, log: Log) -> Found:
    one, other = log.pick(tree.of), log.pick(tree.other)
    mine, theirs = set(list_distinct_event_values(one, tree.what)), set(list_distinct_event_values(other, tree.what))
    found = mine & theirs if tree.how == "both" else mine - theirs
    looked = one if tree.how == "minus" else [*one, *other]
    evidence = merge_log_events(each for each in looked if read_event_column(each, tree.what) in found)
    value = len(found) if tree.counted else frozenset(found) or None
    return Found(value, evidence, (tree.of, tree.other))


def answer_often(tree: t.Often, events: list[Event]) -> tuple[Any, list[Event]]:
    groups = group_by_value(events, tree.by)

    def size(name: Any) -> int:
        return len({each.day for each in groups[name]} if tree.days else groups[name])

    found = [name for name in groups if size(name) >= tree.n]
    evidence = list(chain.from_iterable(groups[name] for name in found))
    return (len(found) if tree.counted else frozenset(found) or None), evidence


def answer_whether(tree: t.Whether, log: Log) -> Found:
    found = [log.pick(pick) for pick in tree.picks]
    return Found([bool(events) for events in found], merge_log_events(*found), tree.picks)


def answer_ratio(tree: t.Ratio, log: Log) -> Found:
    one, other = log.pick(tree.of), log.pick(tree.to)
    value = round_exactly(Fraction(len(one), len(other)), 2) if other else None
    return Found(value, [*one, *other], (tree.of, tree.to))


def answer_difference(tree: t.Difference, log: Log) -> Found:
    one, other = answer_tree(tree.of, log), answer_tree(tree.less, log)
    value = None if one.value is None or other.value is None else one.value - other.value
    scope = (*(one.looked_at or ()), *(other.looked_at or ()))
    return Found(value, merge_log_events(one.evidence, other.evidence), scope)


def answer_wait(tree: t.Wait, log: Log) -> Found:
    start, end, scope = log.moment(tree.start), log.moment(tree.end), (tree.start.of, tree.end.of)
    if start is None or end is None:
        return Found(None, [], scope)
    return Found(end.timestamp - start.timestamp, [start, end], scope)


def answer_amid(tree: t.Amid, log: Log) -> Found:
    start, end = log.moment(tree.start), log.moment(tree.end)
    scope = (tree.of, tree.start.of, tree.end.of)
    if start is None or end is None:
        return Found(0, [], scope)
    inside = [each for each in log.pick(tree.of) if start.timestamp < each.timestamp < end.timestamp]
    value = len(list_distinct_event_values(inside, tree.what) if tree.what else inside)
    return Found(value, merge_log_events(inside, [start, end]), scope)


def answer_beside(tree: t.Beside, log: Log) -> Found:
    anchor = log.moment(tree.moment)
    scope = (tree.of, tree.moment.of)
    if anchor is None:
        return Found(None, [], scope)
    events = log.pick(tree.of)
    if tree.side == "after":
        there = next((each for each in events if each.timestamp > anchor.timestamp), None)
    else:
        there = next((each for each in reversed(events) if each.timestamp < anchor.timestamp), None)
    if there is None:
        return Found(None, [], scope)
    return Found(read_event_column(there, tree.what), [anchor, there], scope)


def answer_directly(tree: t.Directly, log: Log) -> Found:
    wanted = {each.row for each in log.pick(tree.of)}
    pairs = [(one, two) for one, two in pairwise(log.events) if one.row in wanted and two.action == tree.action]
    return Found(len(pairs), merge_log_events(*pairs), None)


def answer_switches(tree: t.Switches, events: list[Event]) -> tuple[Any, list[Event]]:
    there = [each for each in events if read_event_column(each, tree.what) is not None]
    pairs = [
        pair
        for pair in pairwise(there)
        if read_event_column(pair[0], tree.what) != read_event_column(pair[1], tree.what)
    ]
    return len(pairs), merge_log_events(*pairs)


def answer_pause(tree: t.Pause, events: list[Event]) -> tuple[Any, list[Event]]:
    if len(events) < 2:
        return None, []
    longest = max(two.timestamp - one.timestamp for one, two in pairwise(events))
    pairs = [pair for pair in pairwise(events) if pair[1].timestamp - pair[0].timestamp == longest]
    return (longest if tree.what == "length" else pairs[0][0].timestamp), merge_log_events(*pairs)


def answer_sessions(tree: t.Sessions, events: list[Event]) -> tuple[Any, list[Event]]:
    found: list[list[Event]] = []
    until = datetime.min
    for each in events:
        if each.timestamp <= until:
            found[-1].append(each)
        else:
            found.append([each])
        until = each.timestamp + SESSION_GAP
    if tree.what == "count":
        return len(found), events
    if not found:
        return None, []
    if tree.what == "length":
        longest = max(each[-1].timestamp - each[0].timestamp for each in found)
        return longest, merge_log_events(*(each for each in found if each[-1].timestamp - each[0].timestamp == longest))
    most = max(map(len, found))
    fullest = [each for each in found if len(each) == most]
    return (most if tree.what == "events" else fullest[0][0].timestamp), merge_log_events(*fullest)


def answer_streak(tree: t.Streak, events: list[Event]) -> tuple[Any, list[Event]]:
    days = {each.day for each in events}
    if not days:
        return 0, []
    lengths: dict[date, int] = {}
    for day in sorted(days):
        lengths[day] = lengths.get(day - timedelta(days=1), 0) + 1
    longest = max(lengths.values())
    inside: set[date] = set()
    for last in (day for day in days if lengths[day] == longest):
        inside.update(last - timedelta(days=back) for back in range(longest))
    return longest, [each for each in events if each.day in inside]


def answer_running(tree: t.Running, events: list[Event]) -> tuple[Any, list[Event]]:
    total = Decimal(0)
    for place, each in enumerate(events):
        total += each.price or Decimal(0)
        if total >= tree.amount:
            return read_event_column(each, tree.what), events[: place + 1]
    return None, []


def answer_sum_of(tree: t.SumOf, events: list[Event]) -> tuple[Any, list[Event]]:
    if len(events) < tree.n:
        return None, []
    totals = list(accumulate(each.price or Decimal(0) for each in events))
    return totals[tree.n - 1], events[: tree.n]


def answer_journey(tree: t.Journey, log: Log) -> Found:
    purchases = tree.of.model_copy(update={"action": "purchase"})
    bought = log.pick(purchases)
    first: dict[Any, Event] = {}
    for each in log.by_action.get(tree.since, []):
        first.setdefault(each.asin, each)
    done: dict[Any, Event] = {}
    for each in bought:
        if each.asin in first:
            done.setdefault(each.asin, each)
    scope = (purchases, t.Pick(action=tree.since))
    if not done:
        return Found(None, [], scope)
    took = {asin: done[asin].timestamp - first[asin].timestamp for asin in done}
    best = max(took.values()) if tree.how == "longest" else min(took.values())
    those = [asin for asin in done if took[asin] == best]
    evidence = merge_log_events(*([first[asin], done[asin]] for asin in those))
    if tree.what == "length":
        return Found(best, evidence, scope)
    return Found(min((done[asin] for asin in those), key=lambda each: each.timestamp).product_name, evidence, scope)


LOG_EVALUATORS: dict[str, Callable[[Any, Log], Found]] = {
    "whether": answer_whether,
    "difference": answer_difference,
    "wait": answer_wait,
    "amid": answer_amid,
    "beside": answer_beside,
    "directly": answer_directly,
    "journey": answer_journey,
    "sets": answer_sets,
    "share": answer_share,
    "ratio": answer_ratio,
}
PICK_EVALUATORS: dict[str, Callable[[Any, list[Event]], tuple[Any, list[Event]]]] = {
    "count": answer_count,
    "fold": answer_fold,
    "nth": answer_nth,
    "extreme": answer_extreme,
    "top": answer_top,
    "names": answer_names,
    "listed": answer_listed,
    "often": answer_often,
    "switches": answer_switches,
    "pause": answer_pause,
    "sessions": answer_sessions,
    "streak": answer_streak,
    "running": answer_running,
    "sum_of": answer_sum_of,
}


def round_exactly(exact: Fraction, digits: int) -> Decimal:
    """
    >>> round_exactly(Fraction(200, 3), 1)
    Decimal('66.7')
    >>> round_exactly(Fraction(1, 4), 1)
    Traceback (most recent call last):
    shopwright.pipeline.questions.answers.Undecided: 1/4 lies between two roundings
    """
    scaled = exact * 10**digits
    if (scaled * 2).denominator == 1 and scaled.denominator != 1:
        raise Undecided(exact, digits)
    whole = int((scaled + Fraction(1, 2)) // 1)
    return Decimal(whole).scaleb(-digits).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def type_of(tree: Any) -> AnswerType:
    """The type of a tree's answer, where there is one.

    >>> type_of(t.Nth(of=t.Pick(), n=1, what="price"))
    'money'
    """
    match tree:
        case t.Count() | t.Amid() | t.Directly() | t.Switches() | t.Streak():
            return "integer"
        case t.Fold() | t.SumOf():
            return "money"
        case t.Share() | t.Ratio():
            return "decimal"
        case t.Names():
            return "set"
        case t.Sets() | t.Often():
            return "integer" if tree.counted else "set"
        case t.Listed():
            return "ordered list"
        case t.Top():
            return COLUMN_TYPES.get(tree.by, "text") if tree.k == 1 else "ordered list"
        case t.Difference():
            return type_of(tree.of)
        case t.Wait():
            return "duration"
        case t.Pause():
            return "duration" if tree.what == "length" else "date-time"
        case t.Sessions():
            return {"count": "integer", "events": "integer", "start": "date-time", "length": "duration"}[tree.what]  # type: ignore[return-value]
        case t.Journey():
            return "duration" if tree.what == "length" else "text"
        case t.Whether():
            return "yes/no"
    return COLUMN_TYPES.get(tree.what, "text")
