"""Questions that count: actions, products, brands and categories; shares and ratios."""

from datetime import date
from decimal import Decimal
from itertools import pairwise

from .kinds import Case, UnclearError, asks, column, counts, distinct
from .reading import holds

# Counts


@asks(
    "count the ACTS(?: on @n)?(?: made)?",
    "count the (?P<act>clicks) on products made",
    "count the (?P<act>clicks) on @p",
    "count the (?P<act>searches) made that contain the word @q",
    "how many ACTS did i make",
    "how many times did i (?P<act>click on) (?:@p|PRODUCTS)",
    "how many of my (?P<act>clicks) were on PRODUCTS",
    "how many of my (?P<act>searches) had the word @q in them",
    "how often did i open the (?P<page>page) of @p",
    "how often did i type a (?P<act>search) with the word @q in it",
)
def how_many(case: Case) -> str:
    if case["page"] and not case.note("look is click"):
        raise UnclearError("what opening the page is")
    found = case.acts("click" if case["page"] else case.action())
    if case.reading.products:
        asins = {event.asin for event in case.of_product("click")}
        found = [event for event in found if event.asin in asins]
    if case.reading.quotes:
        word = case.quote()
        found = [event for event in found if holds(event.query, word)]
    return str(len(found))


@asks("count the distinct PRODUCTS clicked", "how many distinct PRODUCTS did i (?:click on|look at)")
def how_many_products(case: Case) -> str:
    case.note("once")
    return str(len(distinct(case.acts("click"), "asin")))


@asks("count the distinct search queries", "how many distinct search (?:queries|texts) did i (?:make|type)")
def how_many_queries(case: Case) -> str:
    case.note("once")
    return str(len(distinct(case.acts("search"), "query")))


@asks(
    "count the distinct (?P<thing>brands|categories)(?: of products|, of the PRODUCTS) DONE",
    "among the PRODUCTS DONE by i, how many distinct THING were there",
    "from how many distinct THING were the PRODUCTS that i DONE",
    "from how many distinct THING did i (?P<act>click on) PRODUCTS",
    "from how many distinct THING did i (?P<act>put) PRODUCTS in the cart",
    "products of how many distinct THING were DONE by i",
)
def how_many_things(case: Case) -> str:
    case.note("skip")
    return str(len(distinct(case.acts(case.action()), column(case))))


@asks(
    "LIST the THING with at least NUMBER ACTS",
    "for WHICH THING did i have NUMBER or more ACTS",
    "WHICH THING did i (?P<act>click on) at least NUMBER times",
    "of WHICH THING did i (?P<act>buy) products at least NUMBER times in all",
    "of WHICH THING did i (?P<act>put) products in the cart at least NUMBER times in all",
)
def things_with_many(case: Case) -> str:
    sums = counts(getattr(event, column(case)) for event in case.acts(case.action()))
    found = [value for value, number in sums.items() if number >= int(case["number"])]
    return str(len(found)) if case["count"] else case.listed(found)


@asks(
    "list the names of the PRODUCTS with at least NUMBER clicks",
    "which PRODUCTS did i click on at least (?:NUMBER times|(?P<twice>twice))",
    "which PRODUCTS got NUMBER or more clicks from i",
)
def products_with_many(case: Case) -> str:
    found = case.acts("click")
    sums = counts(event.asin for event in found)
    least = 2 if case["twice"] else int(case["number"])
    return case.listed(event.name for event in found if sums[event.asin] >= least)


@asks(
    "count the PRODUCTS clicked on at least two different dates",
    "for how many of the PRODUCTS do i have clicks on more than one day",
    "how many PRODUCTS did i come back to, with clicks on at least two different days",
)
def products_of_two_days(case: Case) -> str:
    days: dict[str, set[date]] = {}
    for event in case.acts("click"):
        days.setdefault(event.asin, set()).add(event.time.date())
    return str(sum(len(dates) > 1 for dates in days.values()))


@asks(
    r"(?:list the names of|(?P<count>count)) the (?:distinct )?PRODUCTS clicked both before @d(?P<date>\d+) and on "
    "or after it",
    r"WHICH (?:distinct )?PRODUCTS did i click on before @d(?P<date>\d+) and come back to on or after that day",
    r"WHICH (?:distinct )?PRODUCTS did i click on both before @d(?P<date>\d+) and again from that day onwards",
)
def products_before_and_after(case: Case) -> str:
    day = case.split_date()
    clicks = case.acts("click")
    earlier = {event.asin for event in clicks if event.time.date() < day}
    both = {event.asin for event in clicks if event.time.date() >= day} & earlier
    if case["count"]:
        return str(len(both))
    return case.listed(event.name for event in clicks if event.asin in both)


@asks(
    "going through my ACTS one by one, how many times was one from a different brand than the one before",
    "going through my ACTS, how often did the brand change from one to the next",
    "count the (?:(?P<act>carts) whose brand differs from that of the previous cart"
    "|purchases whose brand differs from that of the previous purchase) in that time",
)
def brand_changes(case: Case) -> str:
    case.note("in order of time")
    action = case.action() if case["act"] else "purchase"
    found = [event.brand for event in case.acts(action)]
    if not case.note("skip") and "" in found:
        raise UnclearError("products without a brand")
    return str(sum(one != other for one, other in pairwise(filter(None, found))))


# Shares and ratios


@asks(
    "give the percentage, of ACTS (?:of|on) @n that happened @weekday",
    "of all my ACTS (?:of|on) @n, what percentage took place @weekday",
    "what percentage of my ACTS (?:of|on) @n was made @weekday",
)
def weekday_share(case: Case) -> str:
    case.used.add("weekday")
    found = case.acts(case.action())
    return case.percent(sum(event.time.weekday() in case.reading.weekdays for event in found), len(found))


@asks(
    "give the percentage, of ACTS that were (?:of|on) @n",
    "of all my ACTS, what percentage were (?:of|on) @n",
    "what percentage of my ACTS was (?:of|on) @n",
)
def set_share(case: Case) -> str:
    found = case.in_period(case.action())
    return case.percent(sum(case.fits_set(event) for event in found), len(found))


@asks(
    "give the percentage, of ACTS on @n that were on the brand @b",
    "of all my ACTS on @n, what percentage were on @b",
    "what percentage of my ACTS on @n went to @b",
)
def brand_share(case: Case) -> str:
    brand = case.brand()
    found = case.acts(case.action())
    return case.percent(sum(event.brand == brand for event in found), len(found))


@asks(
    "give the percentage, of distinct PRODUCTS clicked that have a purchase ever",
    "of the distinct PRODUCTS clicked by i, what percentage was purchased ever",
    "what percentage of the distinct PRODUCTS among my clicks did i buy ever",
)
def bought_share(case: Case) -> str:
    bought = {event.asin for event in case.ever("purchase")}
    asins = distinct(case.acts("click"), "asin")
    return case.percent(sum(asin in bought for asin in asins), len(asins))


@asks(
    "give the number of searches divided by the number of clicks",
    "what was my ratio of searches to clicks",
    "how many searches did i make for each click on a product[?] divide the number of searches by the number of clicks",
)
def ratio(case: Case) -> str:
    searches, clicks = len(case.acts("search")), len(case.acts("click"))
    return case.rounded(Decimal(searches) / clicks) if clicks else case.none()
