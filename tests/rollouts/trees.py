"""A small table of events with gaps, ties and quotes in it, and any number of trees over it, likely or not."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.questions import tree as t
from shopwright.schemas.samples import Event

BRANDS = ("Brooks", "O'Neill", 'Say "Hi"', None, "A & B")
COLORS = ("red", None, "sea green")
KINDS = ("Running Shoes", "Mugs", "Lamps {new}")
QUERIES = ("red mug", "running shoes 10", "mug", 'a "quoted" mug')
DAY = date(2024, 5, 1)
TEXTS = ("brand", "color", "product_types", "product_name")
COLUMNS = (*TEXTS, "timestamp", "day", "weekday", "hour", "asin", "price")
ACTIONS = ("search", "click", "add to Cart", "purchase")
ON_PRODUCTS = ACTIONS[1:]


def one_of(random, options):
    return options[int(random.random() * len(options))]


def rows(random, count):
    """Few products and few prices, so that much is equal; some have no brand, color or price."""
    products = [
        (f"A{n}", f"Thing {n}, {one_of(random, ('small', 'large'))}", *(one_of(random, each) for each in (BRANDS, COLORS, KINDS)))
        for n in range(7)
    ]  # fmt: skip
    when = datetime(2024, 5, 1, 22, 0, 0)
    for row in range(count):
        when += timedelta(seconds=one_of(random, (1, 60, 60, 1800, 1801, 7200, 90_000)))
        action = one_of(random, ACTIONS)
        asin, name, brand, color, kind = one_of(random, products)
        if action == "search":
            facts = dict.fromkeys(("asin", "product_name", "brand", "color", "product_types", "price"))
        else:
            price = one_of(random, (Decimal("9.99"), Decimal("9.99"), Decimal("24.50"), Decimal("100.00"), None))
            facts = {
                "asin": asin,
                "product_name": name,
                "brand": brand,
                "color": color,
                "product_types": kind,
                "price": price,
            }
        query = one_of(random, QUERIES) if action == "search" else None
        yield {"row_id": row, "timestamp": when, "action_type": action, **facts, "search_query": query}


def table(random, count=120):
    return pa.Table.from_pylist(list(rows(random, count)), schema=arrow_schema(Event))


def pick(random, action="", deep=True):
    given = {"action": action or one_of(random, (*ACTIONS, None))}
    for name, options in (("brand", BRANDS), ("color", COLORS), ("category", KINDS)):
        if random.random() < 0.2:
            given[name] = one_of(random, options)
    if random.random() < 0.15:
        given["product"] = t.Mention(
            brand=one_of(random, BRANDS), parts=("thing", one_of(random, ("small", "3", "none")))
        )
    if random.random() < 0.1:
        given["query"] = one_of(random, QUERIES)
    if random.random() < 0.1:
        given["word"] = one_of(random, ("mug", "running", "nothing"))
    if random.random() < 0.2:
        given["at_least"] = one_of(random, (Decimal(5), Decimal("9.99"), Decimal("24.51")))
    if random.random() < 0.2:
        given["at_most"] = one_of(random, (Decimal(50), Decimal("24.50"), Decimal("9.98")))
    if random.random() < 0.3:
        given["first_day"] = DAY + timedelta(days=one_of(random, (0, 1, 3, 20)))
    if random.random() < 0.3:
        given["last_day"] = given.get("first_day", DAY) + timedelta(days=one_of(random, (0, 0, 2, 9)))
    if random.random() < 0.1:
        given["weekday"] = one_of(random, ("Monday", "Sunday", "weekend"))
    if random.random() < 0.1:
        given["hours"] = one_of(random, ((0, 8), (22, 24), (8, 9)))
    if deep and random.random() < 0.15:
        given[one_of(random, ("ever", "never"))] = one_of(random, ON_PRODUCTS)
    return t.Pick(**given)


def moment(random):
    return t.Moment(of=pick(random), n=one_of(random, (1, -1, 2, -2, 5)))


def trees(random):
    """One tree of each kind and way."""
    whole, other, n = pick(random), pick(random), one_of(random, (1, 2, 4, -1, -3))
    what, text, k = one_of(random, COLUMNS), one_of(random, TEXTS), one_of(random, (1, 2, 3))
    yield t.Count(of=whole)
    yield t.Count(of=whole, what=what)
    for how in ("sum", "average", "smallest", "largest", "span"):
        yield t.Fold(of=pick(random), how=how)
    yield t.Nth(of=whole, n=n, what=what)
    yield t.Nth(of=whole, n=one_of(random, (1, -1)), what="timestamp")
    yield t.Extreme(of=whole, how=one_of(random, ("cheapest", "dearest")), what=what)
    by = one_of(random, ("day", "weekday", "hour", *TEXTS))
    yield t.Top(of=whole, by=by, rank=one_of(random, (1, 1, 2)))
    yield t.Top(of=whole, by=text, k=k + 1)
    yield t.Top(of=pick(random, "purchase"), by=text, measure="spend", rank=one_of(random, (1, 2)))
    yield t.Share(of=whole, part=pick(random), what=one_of(random, ("events", "asin")))
    yield t.Share(
        of=whole, part=one_of(random, (t.Pick(brand="Brooks"), t.Pick(ever="purchase"), t.Pick(weekday="weekend")))
    )
    yield t.Ratio(of=whole, to=other)
    yield t.Names(of=whole, what=text)
    yield t.Listed(of=pick(random, "click"), what="product_name", n=n)
    for how in ("minus", "both"):
        yield t.Sets(of=whole, other=other, what=text, how=how, counted=random.random() < 0.5)
    yield t.Often(
        of=whole, by=one_of(random, (*TEXTS, "asin")), n=k, days=random.random() < 0.5, counted=random.random() < 0.5
    )
    yield t.Difference(
        of=t.Fold(of=whole, how=one_of(random, ("sum", "largest"))), less=t.Fold(of=other, how="smallest")
    )
    yield t.Difference(of=t.Count(of=whole), less=t.Count(of=other, what=text))
    yield t.Wait(start=moment(random), end=moment(random))
    yield t.Amid(of=whole, start=moment(random), end=moment(random), what=one_of(random, (None, "asin")))
    yield t.Beside(of=whole, moment=moment(random), side=one_of(random, ("after", "before")), what=what)
    yield t.Directly(of=whole, action=one_of(random, ACTIONS))
    yield t.Switches(of=whole, what=text)
    yield t.Pause(of=whole, what=one_of(random, ("length", "start")))
    for what_of in ("count", "events", "start", "length"):
        yield t.Sessions(of=pick(random), what=what_of)
    yield t.Streak(of=whole)
    yield t.Running(of=whole, amount=one_of(random, (Decimal(50), Decimal("19.98"), Decimal(9999))), what=what)
    yield t.SumOf(of=whole, n=k + 1)
    journey = pick(random, "purchase").model_copy(update={"action": None})
    for how in ("longest", "shortest"):
        of_journey = one_of(random, ("length", "product_name"))
        yield t.Journey(of=journey, since=one_of(random, ("click", "add to Cart")), how=how, what=of_journey)
    yield t.Whether(picks=(pick(random), pick(random)))
    yield t.Whether(picks=tuple(t.Pick(action="purchase", brand=brand) for brand in BRANDS if brand))
