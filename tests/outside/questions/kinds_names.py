"""Questions that name things: what was never bought, what ranks highest, and what stands at a place in a row."""

from .kinds import ACTIONS, ORDINALS, Case, UnclearError, asks, column, counts, distinct, first_of_each

# What was never done


@asks(
    "count the distinct PRODUCTS (?P<act>clicked) (?P<count>that) have no (?P<never>cart) ever",
    "LIST the (?:distinct )?PRODUCTS (?P<act>added to the cart) that have no (?P<never>purchase) ever",
    "(?P<count>how many) distinct PRODUCTS (?P<act>clicked) by i never went into the (?P<never>cart) ever",
    "(?P<count>how many) distinct PRODUCTS did i (?P<act>click on) without ever putting them in the (?P<never>cart) "
    "ever",
    "(?:name every product that|(?P<count>how many) PRODUCTS) went into the cart but (?:was|were) never "
    "(?P<never>purchased) ever",
    "of the distinct PRODUCTS i (?P<act>put in the cart), (?P<count>how many) have i never (?P<never>bought) ever",
    "which PRODUCTS did i (?P<act>put) in the cart and never (?P<never>buy) ever",
)
def products_never(case: Case) -> str:
    case.note("once")
    done = {event.asin for event in case.ever(ACTIONS[case["never"]])}
    action = case.action() if case["act"] else "add to Cart"
    found = [event for event in case.acts(action) if event.asin not in done]
    return str(len(distinct(found, "asin"))) if case["count"] else case.listed(event.name for event in found)


@asks(
    "looking at my ACTS, and only at PRODUCTS that were never purchased ever, of which product was the NTH one",
    "name the product of the NTH ACT, taking only PRODUCTS that have no purchase ever",
    "of the PRODUCTS i (?P<act>put in the cart) and never bought ever, which did i put there NTH in that time",
)
def nth_never(case: Case) -> str:
    done = {event.asin for event in case.ever("purchase")}
    return case.name(case.nth([event for event in case.acts(case.action()) if event.asin not in done]))


@asks(
    "LIST the distinct THING clicked that have no (?P<never>purchase) ever",
    "LIST the distinct THING clicked in which nothing was (?P<never>bought|put in the cart) ever",
    "in WHICH of the THING of my clicks have i never (?P<never>bought) anything ever",
    "in WHICH of the THING of my clicks have i never (?P<never>put) anything in the cart ever",
    "in WHICH of the THING clicked did i never (?P<never>buy) anything ever",
    "in WHICH of the THING clicked did i never (?P<never>put) anything in the cart ever",
    "WHICH of the THING of my clicks have i never (?P<never>bought) anything from ever",
    "of the THING clicked, from WHICH did i never (?P<never>purchase) anything ever",
)
def things_never(case: Case) -> str:
    done = set(distinct(case.ever(ACTIONS[case["never"]]), column(case)))
    found = [value for value in distinct(case.acts("click"), column(case)) if value not in done]
    return str(len(found)) if case["count"] else case.listed(found)


@asks(
    "was (?:anything from it|at least one of its products) DONE(?: by i)?(?P<ever> ever)?[:?] @bs",
    "did i (?P<act>buy) anything from these brands(?P<ever> ever)?: @bs",
    "did i (?P<act>put) anything from these brands in the cart(?P<ever> ever)?: @bs",
)
def yes_or_no(case: Case) -> str:
    case.note("yes or no")
    if bool(case["ever"]) == bool(case.reading.timed):
        raise UnclearError("in which time")
    case.used.add("brand")
    there = {event.brand for event in case.acts(case.action())}
    return "; ".join("yes" if brand in there else "no" for brand in case.reading.brands)


@asks(
    "from which brands did i (?P<act>buy) something",
    "from which brands did i (?P<act>put) something in the cart",
    "list the distinct brands of which something was DONE",
    "products of which brands were DONE by i",
)
def brands_done(case: Case) -> str:
    case.note("once")
    return case.listed(distinct(case.acts(case.action()), "brand"))


@asks(
    "in which colors were the @n that i DONE",
    "list the distinct colors of the @n DONE",
    "which colors did the @n have that i DONE",
)
def colors(case: Case) -> str:
    case.note("once")
    return case.listed(distinct(case.acts(case.action()), "color"))


# Ranks


@asks(
    "give the search query used most often",
    "what was my most repeated search query",
    "which search text did i type most often",
)
def commonest_query(case: Case) -> str:
    case.note("exact")
    best = case.ranked("search", counts(event.query for event in case.acts("search")), 1)
    return best[0] if best else case.none()


@asks(
    "list the NUMBER most (?P<act>clicked) THING",
    "rank my top NUMBER THING by number of (?P<act>clicks)",
    "which NUMBER THING did i (?P<act>click on) most often",
)
def top_things(case: Case) -> str:
    case.note("most first")
    number = int(case["number"])
    values = [getattr(event, column(case)) for event in case.acts(case.action())]
    if not case.note("skip") and "" in values:
        raise UnclearError("products without a brand")
    return case.in_order(case.ranked(f"clicked {case['thing']}", counts(values), number), number)


@asks(
    "name the brand with the NTH most ACTS",
    "ranked by the number of ACTS, which brand is my NTH",
    "which brand comes NTH when brands are ranked by how many times i (?P<act>clicked on) their products",
    "which brand comes NTH when brands are ranked by how many times i (?P<act>put) their products in the cart",
)
def nth_brand(case: Case) -> str:
    place = ORDINALS[case["nth"]]
    best = case.ranked("ranked brands", counts(event.brand for event in case.acts(case.action())), place)
    return best[-1] if len(best) == place else case.none()


@asks(
    "name the product clicked most often",
    "of the @n, name the one clicked most often",
    "of all @n, which one did i click on the most",
    "which product did i click on (?:the most|most often)",
    "which of the @n did i click on most often",
)
def commonest_product(case: Case) -> str:
    found = case.acts("click")
    best = case.ranked("product", counts(event.asin for event in found), 1)
    return case.name(first_of_each(found)[best[0]] if best else None)


# Places in a row


@asks(
    "list, the names of the products of the (?P<end>first|last) NUMBER ACTS(?: on @n)?",
    "name the products? of (?:each of )?my (?P<end>first|last) NUMBER ACTS(?: on @n)?",
    "what were my (?P<end>first|last) NUMBER ACTS(?: on @n)?",
)
def some_in_order(case: Case) -> str:
    case.note("each", "in order of time")
    number = int(case["number"])
    names = [event.name for event in case.acts(case.action())]
    return case.in_order(names[:number] if case["end"] == "first" else names[-number:], number)


@asks(
    "give the name of the product of the NTH ACT",
    "what was the product of my NTH ACT",
    "counting every (?P<act>click), what was the product of my NTH one",
    "which product was my NTH ACT",
    "name the (?P<category>category) of the product of the NTH ACT",
    "of which (?P<category>category) was the product of my NTH ACT",
    "which (?P<category>category) did the product of my NTH ACT belong to",
)
def nth_product(case: Case) -> str:
    case.note("each")
    event = case.nth(case.acts(case.action()))
    if event and case["category"]:
        return event.category
    return case.name(event)


@asks("give the text of the NTH search made", "what did i type in (?:my|the) NTH search")
def nth_search(case: Case) -> str:
    case.note("each")
    event = case.nth(case.acts("search"))
    return event.query if event else case.none()
