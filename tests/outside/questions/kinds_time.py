"""Questions about moments and spans of time, and about what came before and after."""

from datetime import timedelta
from itertools import pairwise

from .kinds import Case, UnclearError, asks, distinct, first_of_each
from .log import Event
from .reading import holds


def next_after(found: list[Event], event: Event) -> Event | None:
    return next((other for other in found if other.time > event.time), None)


def last_before(found: list[Event], event: Event) -> Event | None:
    return next((other for other in reversed(found) if other.time < event.time), None)


def strictly_between(found: list[Event], first: Event, last: Event) -> list[Event]:
    return [event for event in found if first.time < event.time < last.time]


# Moments


@asks(
    "at what date and time did i (?P<nth>first) look at @p",
    "at what date and time was my NTH click on @p",
    "give the timestamp of the NTH click on @p",
    "when did i click on @p for the NTH time",
    "when did i (?P<nth>first) click on @p",
)
def moment_of_click(case: Case) -> str:
    case.note("look is click")
    return case.moment(case.nth(case.of_product("click")))


@asks(
    "at what date and time did i NTH make a search that has the word @q in it",
    "give the timestamp of the NTH search whose text has the word @q",
    "when did i NTH type a search with the word @q in it",
)
def moment_of_word(case: Case) -> str:
    word = case.quote()
    return case.moment(case.nth([event for event in case.acts("search") if holds(event.query, word)]))


@asks(
    "at what date and time was any of the @n last DONE by i",
    "give the latest timestamp at which one of the @n was DONE",
    "when did i last (?P<act>buy|click on) any of the @n",
    "when did i last (?P<act>put) any of the @n in the cart",
)
def last_moment(case: Case) -> str:
    found = case.acts(case.action())
    return case.moment(found[-1] if found else None)


# Spans


@asks(
    "give the time from the first (?P<cart>addition) of @p to the cart to the first purchase of the same product",
    "give the time between the first click on @p and the first purchase of the same product",
    "how long did i take from first clicking on @p to the first purchase of that product",
    "how long was it between my first (?P<cart>adding) @p to the cart and the first purchase of that product",
    "how much time passed from my first click on @p until my first purchase of that product",
    "how much time passed from when i first (?P<cart>put) @p in the cart until my first purchase of that product",
)
def span_to_purchase(case: Case) -> str:
    starts = case.of_product("add to Cart" if case["cart"] else "click")
    purchases = case.of_product("purchase")
    if not starts or not purchases:
        return case.none()
    if starts[0].time >= purchases[0].time:
        raise UnclearError("bought before")
    return case.span(purchases[0].time - starts[0].time)


@asks(
    "give the time from the first to the last click on @p",
    "how much time lies between my first and my last click on @p",
    "over how long a time did i keep coming back to @p, from the first click to the last",
)
def span_of_clicks(case: Case) -> str:
    found = case.of_product("click")
    return case.span(found[-1].time - found[0].time if found else None)


@asks(
    "among products purchased, what was my MOST time between a product's very first cart ever and its first "
    "purchase in that time",
    "for each product i bought, take the time from the very first addition of it to the cart ever, to its first "
    "purchase in that time[.] what was the MOST of these times",
    "give the MOST time from a product's very first cart ever, to its first purchase in that time, over all "
    "products purchased",
)
def span_cart_to_purchase(case: Case) -> str:
    spans = [length for length, _ in spans_to_purchase(case, "add to Cart")]
    if not spans:
        return case.none()
    return case.span(max(spans) if case["most"] == "longest" else min(spans))


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


@asks(
    "name the product purchased with the MOST time from its first click ever to its first purchase in that time",
    "of the products i bought, which had the MOST time from my very first click on it ever, to its first purchase "
    "in that time",
    "which product bought took i the MOST time, from the very first click on it ever to its first purchase in "
    "that time",
)
def product_by_span(case: Case) -> str:
    found = spans_to_purchase(case, "click")
    rule = case.tied("time to a purchase")
    if not found:
        return case.none()
    sign = -1 if case["most"] == "longest" else 1
    best = min(found, key=lambda pair: sign * pair[0])
    if not rule and sum(pair[0] == best[0] for pair in found) > 1:
        raise UnclearError("a tie without a rule")
    return case.name(best[1])


@asks(
    "give the longest interval between consecutive ACTS",
    "looking only at my ACTS, what is the longest gap from one to the next",
    "looking only at my ACTS, what was the longest time from one to the next",
)
def longest_gap(case: Case) -> str:
    found = case.acts(case.action())
    return case.span(max((other.time - one.time for one, other in pairwise(found)), default=None))


@asks(
    "give the timestamp of the action that the longest interval follows, taking only the ACTS",
    "looking only at my ACTS, after which one came the longest break before the next",
    "looking only at my ACTS, at what date and time was the action after which the longest gap followed",
)
def start_of_longest_gap(case: Case) -> str:
    found = case.acts(case.action())
    gaps = [other.time - one.time for one, other in pairwise(found)]
    rule = case.tied("break")
    if not gaps:
        return case.none()
    if not rule and gaps.count(max(gaps)) > 1:
        raise UnclearError("a tie without a rule")
    return case.moment(found[gaps.index(max(gaps))])


# What comes before and after


@asks(
    "after i first put @p in the cart, which product did i click on next",
    "give the name of the first product clicked after @p first went into the cart",
    "which product was my next click after first adding @p to the cart",
)
def click_after_cart(case: Case) -> str:
    carts = case.of_product("add to Cart")
    return case.name(next_after(case.ever("click"), carts[0]) if carts else None)


@asks(
    "give the name of the first product clicked after the NTH search for exactly @q",
    "the NTH time i searched for exactly @q, which product was clicked next",
    "which product did i click on first after the NTH time i searched for exactly @q",
)
def click_after_search(case: Case) -> str:
    text = case.quote()
    event = case.nth([event for event in case.ever("search") if event.query == text])
    if not event:
        raise UnclearError("no such search")
    return case.name(next_after(case.ever("click"), event))


@asks(
    "give the text of the last search before the first (?P<act>cart|purchase) of @p",
    "what did i search for last before i first (?P<act>bought) @p",
    "what did i search for last before i first (?P<act>put) @p in the cart",
    "which search did i make last before the first (?P<act>cart|purchase) of @p",
)
def search_before(case: Case) -> str:
    case.note("a search")
    found = case.of_product(case.action())
    event = last_before(case.ever("search"), found[0]) if found else None
    return event.query if event else case.none()


@asks(
    "after how many of my searches was the very next thing i did a click on a product",
    "count the searches whose next action is a click",
    "how many of my searches were followed immediately by a click",
)
def searches_then_click(case: Case) -> str:
    case.note("next")
    return str(
        sum(
            one.action == "search" and other.action == "click" and case.in_time(one)
            for one, other in pairwise(case.log.events)
        )
    )


@asks(
    "between my first and my last click on @p, on how many distinct @n did i click",
    "count the distinct @n clicked strictly between the first and the last click on @p",
    "how many distinct @n did i click on after the first and before the last click on @p",
)
def products_between(case: Case) -> str:
    found = case.of_product("click")
    if not found:
        return case.none()
    clicks = [event for event in case.ever("click") if case.fits_set(event)]
    between = strictly_between(clicks, found[0], found[-1])
    if not case.note("itself") and any(event.asin == found[0].asin for event in between):
        raise UnclearError("whether the product itself counts")
    return str(len(distinct(between, "asin")))


@asks(
    "count the searches after the first and before the last click on @p",
    "from the first click on @p to the last one, how many times did i search in between",
    "how many searches did i make between my first and my last click on @p",
    "between the first click on @p and the first (?P<buy>purchase) of that product, how many times did i search",
    "count the searches after the first click on @p and before the first (?P<buy>purchase) of the same product",
    "how many searches did i make between my first click on @p and my first (?P<buy>purchase) of that product",
)
def searches_between(case: Case) -> str:
    clicks = case.of_product("click")
    ends = case.of_product("purchase")[:1] if case["buy"] else clicks[-1:]
    if not clicks or not ends:
        return case.none()
    if case["buy"] and clicks[0].time >= ends[0].time:
        raise UnclearError("bought before")
    return str(len(strictly_between(case.ever("search"), clicks[0], ends[0])))
