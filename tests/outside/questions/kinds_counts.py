"""Questions that count: actions, products, brands and categories; shares and ratios."""

from datetime import date
from decimal import Decimal
from itertools import pairwise

from .kinds import Case, UnclearError, asks, column, counts, distinct, fits, rounded
from .things import holds

# Counts


@asks(
    "@clock CLICK|SEARCH HOWMANY?",
    "HOWMANY @prices CLICK THING|@s?",
    "HOWMANY @p CLICK SUM? TIME?",
    "HOWMANY CLICK|CART|BUY|SEARCH @s? THING? SUM? COLOR?",
    "HOWMANY SEARCH @q THING?",
)
def how_many(case: Case) -> str:
    if case.has("@prices") and not case.reading.prices:
        raise UnclearError("whether the limits count")
    if case.has("@s") and not counts_clicks(case):
        raise UnclearError("clicks or products")
    found = case.acts(case.action())
    if case.reading.products:
        asins = {event.asin for event in case.of_product("click")}
        found = [event for event in found if event.asin in asins]
    if case.reading.quotes:
        word = case.quote()
        found = [event for event in found if holds(event.query, word)]
    return str(len(found))


def counts_clicks(case: Case) -> bool:
    """Whether what was done to a set of products is counted, as in "how many clicks on kettles", and not the products."""
    tokens = [token for token in case.reading.tokens if token in ("CLICK", "CART", "BUY", "@s")]
    return tokens[0] != "@s" or any(each in case.reading.text for each in ("how often", "times", "how many time"))


@asks("HOWMANY DIFFERENT CLICK @s|THING")
def how_many_products(case: Case) -> str:
    return str(len(distinct(case.acts("click"), "asin")))


@asks("HOWMANY|SUM DIFFERENT SEARCH THING? SUM? EXACT?")
def how_many_queries(case: Case) -> str:
    return str(len(distinct(case.acts("search"), "query")))


@asks(
    "HOWMANY BRAND CLICK|CART|BUY SKIP THING|@s DIFFERENT? SUM?",
    "HOWMANY|SUM BRAND CLICK|CART|BUY SKIP THING|@s DIFFERENT",
    "HOWMANY CATEGORY CLICK|CART|BUY DIFFERENT THING|@s?",
)
def how_many_things(case: Case) -> str:
    return str(len(distinct(case.acts(case.action()), column(case))))


@asks("BRAND|CATEGORY @least CLICK|CART|BUY HOWMANY? DIFFERENT? THING?")
def things_with_many(case: Case) -> str:
    least = case.least()
    sums = counts(getattr(event, column(case)) for event in case.acts(case.action()))
    found = [value for value, number in sums.items() if number >= least]
    return str(len(found)) if case.has("HOWMANY") else case.listed(found)


@asks("@s|THING CLICK @least")
def products_with_many(case: Case) -> str:
    least, found = case.least(), case.acts("click")
    sums = counts(event.asin for event in found)
    return case.listed(event.name for event in found if sums[event.asin] >= least)


@asks("HOWMANY @s|THING CLICK @days DIFFERENT? LATER?")
def products_of_two_days(case: Case) -> str:
    days: dict[str, set[date]] = {}
    for event in case.acts("click"):
        days.setdefault(event.asin, set()).add(event.time.date())
    return str(sum(len(dates) > 1 for dates in days.values()))


@asks("@s|THING CLICK BEFORE|LATER AFTER? HOWMANY? DIFFERENT? DAY?")
def products_before_and_after(case: Case) -> str:
    day = case.split_day()
    wanted = case.product_set()
    clicks = [event for event in case.ever("click") if fits(event, wanted)]
    earlier = {event.asin for event in clicks if event.time.date() < day}
    both = {event.asin for event in clicks if event.time.date() >= day} & earlier
    if case.has("HOWMANY"):
        return str(len(both))
    return case.listed(event.name for event in clicks if event.asin in both)


@asks("BRAND CHANGE SKIP CLICK|CART|BUY HOWMANY? CONSECUTIVE? BETWEEN? NEXT? BEFORE? ORDER?")
def brand_changes(case: Case) -> str:
    brands = [event.brand for event in case.acts(case.action()) if event.brand]
    return str(sum(one != other for one, other in pairwise(brands)))


# Shares and ratios


@asks("PERCENT @weekday CLICK|CART|BUY @s|THING WHEN? HOWMANY? HOWMUCH?")
def weekday_share(case: Case) -> str:
    case.used.add("weekdays")
    found = case.acts(case.action())
    return case.percent(sum(event.time.weekday() in case.reading.weekdays for event in found), len(found))


@asks("PERCENT CLICK|CART|BUY @s HOWMANY? HOWMUCH? THING?")
def set_share(case: Case) -> str:
    if len(case.reading.sets) == 1:
        wanted = case.product_set()
        found = case.in_period(case.action())
        return case.percent(sum(fits(event, wanted) for event in found), len(found))
    one, other = sorted(case.reading.sets, key=lambda each: each.brand)
    if one.brand or not other.brand or other.category:
        raise UnclearError("which is the part and which the whole")
    case.used.add("sets")
    found = [event for event in case.in_period(case.action()) if fits(event, one)]
    return case.percent(sum(fits(event, other) for event in found), len(found))


@asks("PERCENT DIFFERENT CLICK @s|THING BUY EVER")
def bought_share(case: Case) -> str:
    bought = {event.asin for event in case.ever("purchase")}
    asins = distinct(case.acts("click"), "asin")
    return case.percent(sum(asin in bought for asin in asins), len(asins))


@asks("SEARCH CLICK RATIO HOWMANY? THING? SUM? TIME? RANK?")
def ratio(case: Case) -> str:
    searches, clicks = len(case.acts("search")), len(case.acts("click"))
    return rounded(Decimal(searches) / clicks, 2) if clicks else case.none()
