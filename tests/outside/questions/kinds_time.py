"""Questions about moments and spans of time, and about what came before and after."""

from datetime import timedelta
from itertools import pairwise

from .kinds import Case, OtherKindError, UnclearError, asks, distinct, first_of_each, fits
from .log import Event
from .things import holds


def next_after(found: list[Event], event: Event) -> Event | None:
    return next((other for other in found if other.time > event.time), None)


def last_before(found: list[Event], event: Event) -> Event | None:
    return next((other for other in reversed(found) if other.time < event.time), None)


def strictly_between(found: list[Event], first: Event, last: Event) -> list[Event]:
    return [event for event in found if first.time < event.time < last.time]


# Moments


@asks("@p CLICK FIRST|LAST|@nth WHEN|TIME EVER? ORDER? DAY? TIME? EXACT?")
def moment_of_click(case: Case) -> str:
    return case.moment(case.nth(case.of_product("click")))


@asks("@q SEARCH FIRST|LAST|@nth WHEN|TIME|DAY TIME? THING?")
def moment_of_word(case: Case) -> str:
    word = case.quote()
    return case.moment(case.nth([event for event in case.acts("search") if holds(event.query, word)]))


@asks("LAST @s|THING CLICK|CART|BUY WHEN|TIME TIME?", "LAST @s CLICK|CART|BUY")
def last_moment(case: Case) -> str:
    return case.moment(case.nth(case.acts(case.action())))


# Spans


@asks("@p CLICK|CART FIRST BUY HOWLONG|TIME BETWEEN? AFTER? BEFORE? LATER? WHEN? TIME?")
def span_to_purchase(case: Case) -> str:
    starts = case.of_product("add to Cart" if case.has("CART") else "click")
    purchases = case.of_product("purchase")
    if not starts or not purchases:
        return case.none()
    if starts[0].time >= purchases[0].time:
        raise UnclearError("bought before")
    return case.span(purchases[0].time - starts[0].time)


@asks("@p CLICK FIRST LAST HOWLONG|TIME|APART HOWMANY? BETWEEN? BEFORE? WHEN? TIME?")
def span_of_clicks(case: Case) -> str:
    found = case.of_product("click")
    return case.span(found[-1].time - found[0].time if found else None)


@asks("LONG|SHORT CART FIRST EVER? BUY THING? TIME? HOWLONG? HOWMUCH? BETWEEN? PAUSE?")
def span_cart_to_purchase(case: Case) -> str:
    spans = [length for length, _ in spans_to_purchase(case, "add to Cart")]
    if not spans:
        return case.none()
    return case.span(min(spans) if case.has("SHORT") else max(spans))


def spans_to_purchase(case: Case, action: str) -> list[tuple[timedelta, Event]]:
    """For each product bought in the time: how long after its first event of an action it was first bought."""
    starts = first_of_each(case.ever(action))
    found: list[tuple[timedelta, Event]] = []
    for asin, purchase in first_of_each(case.acts("purchase")).items():
        if asin in starts:
            if starts[asin].time >= purchase.time:
                raise UnclearError("bought before")
            found.append((purchase.time - starts[asin].time, purchase))
    return found


@asks("LONG|SHORT CLICK FIRST EVER? BUY THING BEFORE? TIME? HOWLONG? BETWEEN? AFTER?")
def product_by_span(case: Case) -> str:
    found = spans_to_purchase(case, "click")
    sign = -1 if case.has("SHORT") else 1
    return case.name(
        case.best([event for _, event in found], [sign * round(length.total_seconds()) for length, _ in found])
    )


@asks(
    "LONG CONSECUTIVE|NEXT|BETWEEN|PAUSE CLICK|CART|BUY|SEARCH|ACTION @number? TIME? HOWLONG? BETWEEN? PAUSE? NEXT? BEFORE? CONSECUTIVE? EVER? TIME?"
)
def longest_gap(case: Case) -> str:
    if asks_start(case):
        raise OtherKindError("when it began")
    between_two(case)
    found = case.acts(case.action())
    return case.span(max((other.time - one.time for one, other in pairwise(found)), default=None))


def between_two(case: Case) -> None:
    """A number can only stand in "between two of my actions"."""
    if case.number() not in (0, 2):
        raise OtherKindError("what the number is")


def asks_start(case: Case) -> bool:
    """Whether a moment is asked for and not how long it was."""
    return case.has("WHEN", "START") or case.reading.tokens[0] == "TIME"


@asks("LONG PAUSE|NEXT ACTION WHEN|START|TIME PAUSE? BETWEEN? BEFORE? START? TIME? LAST? NEXT? CONSECUTIVE? @number?")
def start_of_longest_gap(case: Case) -> str:
    if not asks_start(case):
        raise OtherKindError("how long it was")
    between_two(case)
    found = case.acts("")
    gaps = [round((other.time - one.time).total_seconds()) for one, other in pairwise(found)]
    rule = case.settles_ties()
    if not gaps:
        return case.none()
    if not rule and gaps.count(max(gaps)) > 1:
        raise UnclearError("a tie without a rule")
    return case.moment(found[gaps.index(max(gaps))])


# What comes before and after


@asks("@p CART FIRST CLICK NEXT|AFTER AFTER? THING? TIME?")
def click_after_cart(case: Case) -> str:
    carts = case.of_product("add to Cart")
    return case.name(next_after(case.ever("click"), carts[0]) if carts else None)


@asks("@q SEARCH EXACT FIRST|LAST|@nth CLICK NEXT|AFTER|FIRST AFTER? THING? TIME?")
def click_after_search(case: Case) -> str:
    text = case.quote()
    found = [event for event in case.ever("search") if event.query == text]
    event = case.nth(found) if not case.has("LAST") else found[-1] if found else None
    if not event:
        raise UnclearError("no such search")
    return case.name(next_after(case.ever("click"), event))


@asks("@p LAST SEARCH BEFORE|WHEN FIRST CART|BUY THING? TIME?")
def search_before(case: Case) -> str:
    found = case.of_product("add to Cart" if case.has("CART") else "purchase")
    event = last_before(case.ever("search"), found[0]) if found else None
    return event.query if event else case.none()


@asks("HOWMANY SEARCH CLICK NEXT ACTION? THING? AFTER?")
def searches_then_click(case: Case) -> str:
    return str(
        sum(
            one.action == "search" and other.action == "click" and case.in_time(one)
            for one, other in pairwise(case.log.events)
        )
    )


@asks("HOWMANY @s DIFFERENT @p FIRST LAST CLICK ITSELF BETWEEN? BEFORE? AFTER? TIME?")
def products_between(case: Case) -> str:
    found = case.of_product("click")
    if not found:
        return case.none()
    wanted = case.product_set()
    clicks = [event for event in case.ever("click") if fits(event, wanted)]
    return str(len(distinct(strictly_between(clicks, found[0], found[-1]), "asin")))


@asks(
    "HOWMANY|BETWEEN SEARCH @p FIRST LAST CLICK BETWEEN? BEFORE? AFTER? TIME? HOWMUCH?",
    "HOWMANY|BETWEEN SEARCH @p FIRST CLICK BUY LATER? BETWEEN? BEFORE? AFTER? TIME?",
)
def searches_between(case: Case) -> str:
    clicks = case.of_product("click")
    ends = case.of_product("purchase")[:1] if case.has("BUY") else clicks[-1:]
    if not clicks or not ends:
        return case.none()
    if case.has("BUY") and clicks[0].time >= ends[0].time:
        raise UnclearError("bought before")
    return str(len(strictly_between(case.ever("search"), clicks[0], ends[0])))
