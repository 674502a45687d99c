"""Questions about money: spending, and the prices of products."""

import re

from .kinds import Case, UnclearError, asks, money
from .log import Event

# Spending


@asks("SPEND|PRICE|SUM SPEND|BUY THING? @s? SUM? PRICE? HOWMUCH?")
def spent(case: Case) -> str:
    found = case.acts("purchase")
    if not found and "none" in case.reading.notes:
        raise UnclearError("0.00, or none as it offers")
    return money(sum(event.cents for event in found))


@asks("FIRST @number BUY SUM|PRICE|SPEND|HOWMUCH PRICE? SPEND? SUM? HOWMUCH? THING?")
def spent_first(case: Case) -> str:
    number = case.number()
    found = case.acts("purchase")[:number]
    return money(sum(event.cents for event in found)) if len(found) == number else case.none()


@asks("SPEND|BUY MORE BEFORE|LATER HOWMUCH? SUM? SPEND? LATER? TIME? DAY? PRICE?")
def spent_after_less_before(case: Case) -> str:
    day = case.split_day()
    return money(sum(event.cents if event.time.date() >= day else -event.cents for event in case.ever("purchase")))


@asks("@money SPEND|BUY|SUM WHEN? TIME? FIRST? ORDER? EXACT? SPEND? BUY? THING? SUM?")
def running_total(case: Case) -> str:
    case.used.add("money")
    total = 0
    for event in case.ever("purchase"):
        total += event.cents
        if total >= case.reading.money:
            asked = next((token for token in case.reading.tokens if token in ("WHICH", "THING", "WHEN", "TIME")), "")
            return case.moment(event) if asked in ("WHEN", "TIME") else case.name(event)
    return case.none()


@asks("CATEGORY SPEND MOST|HIGH|@nth HOWMUCH? RANK? ORDER?")
def category_by_spending(case: Case) -> str:
    sums: dict[str, int] = {}
    for event in case.acts("purchase"):
        sums[event.category] = sums.get(event.category, 0) + event.cents
    return case.key_at_rank(sums, case.place() if case.has("@nth") else 1)


@asks("CATEGORY DEAR|CHEAP BUY THING? PRICE?")
def category_of_dearest(case: Case) -> str:
    event = extreme_price(case, case.acts("purchase"))
    return event.category if event else case.none()


# Prices


def extreme_price(case: Case, found: list[Event]) -> Event | None:
    """The event of the highest or lowest price, the first of equals."""
    sign = -1 if case.has("CHEAP") else 1
    return case.best(found, [sign * event.cents for event in found])


@asks("DEAR|CHEAP CLICK THING|@s PRICE? TIME? WHEN?")
def dearest_product(case: Case) -> str:
    return case.name(extreme_price(case, case.acts("click")))


@asks("HIGH|LOW|MOST PRICE CLICK|CART|BUY THING|@s? WHEN? TIME?", "HIGH|LOW CLICK|CART|BUY THING|@s WHEN? TIME?")
def extreme(case: Case) -> str:
    found = [event.cents for event in case.acts(case.action())]
    if not found:
        return case.none()
    return money(min(found) if case.has("LOW") else max(found))


@asks("AVERAGE CLICK|CART|BUY THING|@s PRICE? HOWMUCH? WHEN? TIME? HOWMANY?")
def mean_price(case: Case) -> str:
    found = [event.cents for event in case.acts(case.action())]
    return money(sum(found), len(found)) if found else case.none()


@asks(
    "HIGH LOW CLICK THING|@s PRICE? MORE? HOWLONG? HOWMUCH? APART? PAUSE? WHEN? TIME? BETWEEN?",
    "DEAR CHEAP CLICK THING|@s PRICE? MORE? HOWMUCH? APART? PAUSE? BETWEEN?",
    "PRICE MORE LONG CLICK THING|@s HOWMUCH",
)
def price_range(case: Case) -> str:
    found = [event.cents for event in case.acts("click")]
    return money(max(found) - min(found)) if found else case.none()


@asks("@p HIGH|DEAR|MOST CLICK MORE HOWMUCH? PRICE? LATER? SPEND?")
def price_difference(case: Case) -> str:
    if case.tokens["@p"] != 2:
        raise UnclearError("which two products")
    one, other = case.of_product("click", 0), case.of_product("click", 1)
    if re.search("subtract|how far above", case.reading.text):  # the first from the second
        one, other = other, one
    if not one or not other:
        return case.none()
    return money(max(event.cents for event in one) - max(event.cents for event in other))


@asks("@p PRICE|HOWMUCH FIRST CART|BUY PRICE? WHEN? TIME?")
def price_at_first(case: Case) -> str:
    found = case.of_product(case.action())
    return money(found[0].cents) if found else case.none()
