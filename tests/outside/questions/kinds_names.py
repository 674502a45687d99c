"""Questions that name things: what was never bought, what ranks highest, and what stands at a place in a row."""

from .kinds import ACTIONS, Case, asks, column, counts, distinct, first_of_each

# What was never done


def never_done(case: Case, acted: str) -> str:
    """The action that was never done, where the other one was."""
    other = "CART" if acted == "CLICK" and case.has("CART") and not case.has("BUY") else "BUY"
    return ACTIONS[other]


@asks(
    "HOWMANY DIFFERENT @s|THING CLICK NEVER EVER CART",
    "HOWMANY? DIFFERENT? @s|THING CART NEVER EVER BUY",
    "CART NEVER EVER BUY",
)
def products_never(case: Case) -> str:
    acted = "CLICK" if case.has("CLICK") else "CART"
    done = {event.asin for event in case.ever(never_done(case, acted))}
    found = [event for event in case.acts(ACTIONS[acted]) if event.asin not in done]
    return str(len(distinct(found, "asin"))) if case.has("HOWMANY") else case.listed(event.name for event in found)


@asks("FIRST|LAST|@nth @s|THING CART NEVER EVER BUY HOWMANY?")
def nth_never(case: Case) -> str:
    done = {event.asin for event in case.ever("purchase")}
    return case.name(case.nth([event for event in case.acts("add to Cart") if event.asin not in done]))


@asks("BRAND|CATEGORY CLICK NEVER EVER BUY|CART HOWMANY? DIFFERENT? THING?")
def things_never(case: Case) -> str:
    done = set(distinct(case.ever(never_done(case, "CLICK")), column(case)))
    found = [value for value in distinct(case.acts("click"), column(case)) if value not in done]
    return str(len(found)) if case.has("HOWMANY") else case.listed(found)


@asks("YESNO @bs CART|BUY|CLICK ORDER BRAND? THING?")
def yes_or_no(case: Case) -> str:
    case.used.add("brands")
    there = {event.brand for event in case.acts(case.action())}
    return "; ".join("yes" if brand in there else "no" for brand in case.reading.brands)


@asks("BRAND CART|BUY DIFFERENT? THING?")
def brands_done(case: Case) -> str:
    return case.listed(distinct(case.acts(case.action()), "brand"))


@asks("COLOR @s CLICK DIFFERENT?")
def colors(case: Case) -> str:
    return case.listed(distinct(case.acts("click"), "color"))


# Ranks


@asks("MOST SEARCH EXACT", "SEARCH MOST EXACT")
def commonest_query(case: Case) -> str:
    best = case.rank_keys(counts(event.query for event in case.acts("search")), 1)
    return best[0] if best else case.none()


@asks(
    "@number BRAND CLICK SKIP MOST|RANK FIRST? ORDER? HOWMANY? RANK?",
    "@number CATEGORY CLICK MOST|RANK FIRST? ORDER? HOWMANY? RANK?",
)
def top_things(case: Case) -> str:
    number = case.number()
    values = [getattr(event, column(case)) for event in case.acts("click")]
    return case.in_order(case.rank_keys(counts(values), number), number)


@asks("BRAND @nth CLICK|CART|BUY MOST? RANK? HIGH? HOWMANY? WHEN?")
def nth_brand(case: Case) -> str:
    return case.key_at_rank(counts(event.brand for event in case.acts(case.action())), case.place())


@asks("MOST|RANK CLICK THING|@s FIRST? MOST? HOWMANY?")
def commonest_product(case: Case) -> str:
    found = case.acts("click")
    best = case.rank_keys(counts(event.asin for event in found), 1)
    return case.name(first_of_each(found)[best[0]] if best else None)


# Places in a row


@asks("FIRST|LAST @number CLICK @s|THING ORDER TIME? LAST?", "FIRST|LAST @number BUY ORDER THING? TIME?")
def some_in_order(case: Case) -> str:
    number = case.number()
    names = [event.name for event in case.acts(case.action())]
    return case.in_order(names[-number:] if case.has("LAST") else names[:number], number)


@asks("FIRST|LAST|@nth CLICK THING? ORDER? HOWMANY?", "FIRST|LAST|@nth BUY THING? ORDER? HOWMANY?")
def nth_product(case: Case) -> str:
    return case.name(case.nth(case.acts(case.action())))


@asks("FIRST|LAST|@nth CLICK CATEGORY THING? ORDER?")
def nth_category(case: Case) -> str:
    event = case.nth(case.acts("click"))
    return event.category if event else case.none()


@asks("FIRST|LAST|@nth SEARCH THING? TIME? HOWMANY?")
def nth_search(case: Case) -> str:
    event = case.nth(case.acts("search"))
    return event.query if event else case.none()
