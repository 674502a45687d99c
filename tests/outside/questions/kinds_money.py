"""Questions about money: spending, and the prices of products."""

from .kinds import Case, UnclearError, asks, money
from .log import Event
from .reading import cents_of

# Spending


@asks(
    "give the total of the prices of all purchases",
    "how much money did i spend(?: on @b)?(?: in all)?",
    "what did all my purchases cost together",
    "give the sum of the prices of all purchases of the brand @b",
    "what did i pay for @b products(?: altogether)?",
)
def spent(case: Case) -> str:
    case.note("all purchases")
    found = case.acts("purchase")
    if case.reading.brands:
        brand = case.brand()
        found = [event for event in found if event.brand == brand]
    return money(sum(event.cents for event in found))


@asks(
    "adding up my first NUMBER purchases, what is the total",
    "give the sum of the prices of the first NUMBER purchases",
    "what did my first NUMBER purchases cost together",
)
def spent_first(case: Case) -> str:
    number = int(case["number"])
    found = case.acts("purchase")[:number]
    return money(sum(event.cents for event in found)) if len(found) == number else case.none()


@asks(
    "how much more did i spend than before it",
    "give the total of purchases less the total of purchases before that date",
    r"what is my spending on and after @d(?P<date>\d+) minus the spending before that day",
)
def spent_after_less_before(case: Case) -> str:
    if case["date"]:
        day = case.split_date()
    elif case.reading.start and not case.reading.end:
        case.used.add("time")
        day = case.reading.start
    else:
        raise UnclearError("no day")
    return money(sum(event.cents if event.time.date() >= day else -event.cents for event in case.ever("purchase")))


@asks(
    "adding up purchases, (?P<when>at what date and time) did my running total get to at least MONEY",
    "adding up purchases, with the purchase of which product did my running total get to at least MONEY",
    "give the (?P<when>timestamp) of the purchase that took the running total of spending to MONEY or above",
    "name the product whose purchase took the running total of spending to MONEY or above",
    "(?P<when>when) did the total price of all i had bought first reach MONEY or more",
    "which purchase took the total price of all i had bought to MONEY or more for the first time",
)
def running_total(case: Case) -> str:
    case.note("in order of time")
    total = 0
    for event in case.ever("purchase"):
        total += event.cents
        if total >= cents_of(case["money"]):
            return case.moment(event) if case["when"] else case.name(event)
    return case.none()


@asks(
    "(?:in|on) which category did i spend the (?P<second>second )?most(?: money)?",
    "name the category with the (?P<second>second )?highest total of purchases",
)
def category_by_spending(case: Case) -> str:
    sums: dict[str, int] = {}
    for event in case.acts("purchase"):
        sums[event.category] = sums.get(event.category, 0) + event.cents
    place = 2 if case["second"] else 1
    best = case.ranked("spending", sums, place)
    return best[-1] if len(best) == place else case.none()


@asks(
    "name the category of the MOST purchase",
    "of which category was the MOST thing i bought",
    "which category did my MOST purchase belong to",
)
def category_of_dearest(case: Case) -> str:
    event = extreme_price(case, case.acts("purchase"), "price of a purchase")
    return event.category if event else case.none()


# Prices


def extreme_price(case: Case, found: list[Event], subject: str) -> Event | None:
    """The event of the highest or lowest price, the first of equals."""
    rule = case.tied(subject)
    if not found:
        return None
    low = case["most"] in ("cheapest", "lowest")
    best = min(found, key=lambda event: event.cents if low else -event.cents)
    if not rule and len({event.asin for event in found if event.cents == best.cents}) > 1:
        raise UnclearError("a tie without a rule")
    return best


@asks(
    "going by the price at each click, what was the MOST of the PRODUCTS among my (?P<act>clicks)",
    "name the product of the click with the MOST price among the (?P<act>clicks) on PRODUCTS",
    "which of the PRODUCTS (?P<act>clicked) by i had the MOST price at a click",
)
def dearest_product(case: Case) -> str:
    return case.name(extreme_price(case, case.acts(case.action()), "price of a click"))


@asks(
    "give the MOST price over all ACTS (?:of|on) @n",
    "looking at all my ACTS (?:of|on) @n, what is the MOST price",
    "what was the MOST price at which i (?P<act>clicked on|put) any of the @n(?: in the cart)?",
)
def extreme(case: Case) -> str:
    found = [event.cents for event in case.acts(case.action())]
    if not found:
        return case.none()
    return money(min(found) if case["most"] == "lowest" else max(found))


@asks(
    "give the mean price over all ACTS (?:of|on) @n",
    "what was the mean price over all my ACTS (?:of|on) @n",
    "what was the average price of the @n that i DONE",
)
def mean_price(case: Case) -> str:
    case.note("each", "cents")
    found = [event.cents for event in case.acts(case.action())]
    return money(sum(found), len(found)) if found else case.none()


@asks(
    "give the highest minus the lowest price over all (?P<act>clicks) on @n",
    "over all my (?P<act>clicks) on @n, how far apart are the lowest and the highest price",
    "what is the difference between the highest and the lowest price at which i (?P<act>clicked on) @n",
)
def price_range(case: Case) -> str:
    case.note("cents")
    found = [event.cents for event in case.acts(case.action())]
    return money(max(found) - min(found)) if found else case.none()


@asks(
    "by how much does the highest price seen for @p exceed the highest price seen for @p",
    "give the highest clicked price of @p minus that of @p",
    "taking the highest price at which i clicked on each, by how much is @p above @p",
)
def price_difference(case: Case) -> str:
    case.note("at clicks")
    one, other = case.of_product("click", 0), case.of_product("click", 1)
    if not one or not other:
        return case.none()
    return money(max(event.cents for event in one) - max(event.cents for event in other))


@asks(
    "at what price did i first (?P<act>buy) @p",
    "at what price did i first (?P<act>put) @p in the cart",
    "give the price at the first (?P<act>cart|purchase) of @p",
)
def price_at_first(case: Case) -> str:
    found = case.of_product(case.action())
    return money(found[0].cents) if found else case.none()
