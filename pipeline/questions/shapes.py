"""The shapes of questions: each draws a tree for one trajectory, or finds nothing there to ask for.

The name of a shape is its function, its block in `data/reference/phrases/questions/` and its audit in `tests/questions/audit/`.
Its sentence says what is asked.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

from shopwright.pipeline.questions.draw_values import BUY, CART, CLICK, SEARCH, Draw, NothingToAsk
from shopwright.pipeline.questions.log import Event, split_query_words
from shopwright.pipeline.questions.tree import (
    Amid,
    Beside,
    Count,
    Difference,
    Directly,
    Extreme,
    Fold,
    Journey,
    Listed,
    Moment,
    Names,
    Nth,
    Often,
    Pause,
    Pick,
    Ratio,
    Running,
    Sessions,
    Sets,
    Share,
    Streak,
    SumOf,
    Switches,
    Top,
    Wait,
    Whether,
)
from shopwright.pipeline.words import STOP
from shopwright.schemas.questions import Kind


@dataclass(frozen=True)
class Shape:
    name: str
    kind: Kind
    draw: Callable[[Draw], Any]

    @property
    def about(self) -> str:
        return inspect.getdoc(self.draw) or ""


SHAPES: dict[str, Shape] = {}


def register_shape(kind: Kind) -> Callable[[Callable[[Draw], Any]], Callable[[Draw], Any]]:
    def register(draw: Callable[[Draw], Any]) -> Callable[[Draw], Any]:
        SHAPES[draw.__name__] = Shape(draw.__name__, kind, draw)
        return draw

    return register


# Search


@register_shape("search")
def searches_with_word(draw: Draw) -> Count:
    """How many searches have this word in them, in a range of days."""
    word, found = draw_search_word(draw)
    days = draw.some_time(found) if draw.chance(0.7) else {}
    return Count(of=Pick(action=SEARCH, word=word, **days))


def draw_search_word(draw: Draw) -> tuple[str, Event]:
    """A word of a search that is in no search as part of another word: "contains" then has one meaning."""
    found = draw.event(Pick(action=SEARCH))
    words = [
        word for word in split_query_words(found.search_query) if word not in STOP and word.isalpha() and len(word) > 3
    ]
    word = draw.one_of(words)
    holding = [
        each.search_query or "" for each in draw.log.by_action[SEARCH] if word in (each.search_query or "").lower()
    ]
    if any(word not in split_query_words(query) for query in holding):
        raise NothingToAsk
    return word, found


@register_shape("search")
def different_searches(draw: Draw) -> Count:
    """How many different search texts, in a range of days."""
    return Count(of=Pick(action=SEARCH, **draw.days(draw.event(Pick(action=SEARCH)), 3)), what="search_query")


@register_shape("search")
def nth_search_of_day(draw: Draw) -> Nth:
    """The n-th (or n-th last) search of a day."""
    n = draw.number(1, 5)
    return Nth(
        of=Pick(action=SEARCH, **draw.day(draw.event(Pick(action=SEARCH)))),
        n=n if draw.chance(0.6) else -n,
        what="search_query",
    )


@register_shape("search")
def when_searched_for(draw: Draw) -> Nth:
    """When a search with this word was made first or last."""
    word, _ = draw_search_word(draw)
    return Nth(of=Pick(action=SEARCH, word=word), n=draw.one_of([1, -1]), what="timestamp")


@register_shape("search")
def most_repeated_search(draw: Draw) -> Top:
    """The search text that was typed most often in a range of days."""
    return Top(of=Pick(action=SEARCH, **draw.some_time(draw.event(Pick(action=SEARCH)))), by="search_query")


@register_shape("search")
def searches_before_a_click(draw: Draw) -> Directly:
    """How many searches had a click as the very next action."""
    return Directly(of=Pick(action=SEARCH, **draw.days(draw.event(Pick(action=SEARCH)), 5)), action=CLICK)


@register_shape("search")
def clicked_after_search(draw: Draw) -> Beside:
    """The first product clicked after a search, given its text and which time it was typed."""
    query = draw.event(Pick(action=SEARCH)).search_query
    moment = Moment(of=Pick(action=SEARCH, query=query), n=draw.one_of([1, -1]))
    return Beside(of=Pick(action=CLICK), moment=moment, side="after", what="product_name")


@register_shape("search")
def searches_for_each_click(draw: Draw) -> Ratio:
    """Searches for each click, in a range of days."""
    days = draw.days(draw.event(Pick(action=CLICK)), 7)
    return Ratio(of=Pick(action=SEARCH, **days), to=Pick(action=CLICK, **days))


# Product interaction


@register_shape("product interaction")
def clicks_on_product(draw: Draw) -> Count:
    """How often one product was clicked, in a range of days or in all."""
    found = draw.frequent_click(draw.number(1, 6))
    days = draw.some_time(found) if draw.chance(0.3) else {}
    return Count(of=Pick(action=CLICK, product=draw.mention(found), **days))


@register_shape("product interaction")
def clicks_in_color(draw: Draw) -> Count:
    """How many clicks on products of a color, in a category or of a brand."""
    thing = draw.thing(Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK)))))
    return Count(of=thing.model_copy(update={"color": draw.event(thing, "color").color}))


@register_shape("product interaction")
def times_done(draw: Draw) -> Count:
    """How many purchases, additions to the cart, clicks or searches, of a brand, in a category or of all, at some time or in all."""
    pick = Pick(action=draw.one_of([BUY, BUY, CART, CLICK, SEARCH]))
    pick = pick.model_copy(update=draw.some_time(draw.event(pick)) if draw.chance(0.7) else {})
    return Count(of=draw.thing(pick, 1) if pick.action != SEARCH and draw.chance(0.6) else pick)


@register_shape("product interaction")
def products_clicked(draw: Draw) -> Count:
    """How many different products were clicked, in a range of days."""
    pick = Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK))))
    return Count(of=draw.thing(pick) if draw.chance(0.7) else pick, what="asin")


@register_shape("product interaction")
def nth_product_clicked(draw: Draw) -> Nth:
    """The n-th (or n-th last) product clicked on a day."""
    n = draw.number(1, 4)
    days = draw.day(draw.event(Pick(action=CLICK)))
    return Nth(of=Pick(action=CLICK, **days), n=n if draw.chance(0.5) else -n, what="product_name")


@register_shape("product interaction")
def first_look(draw: Draw) -> Nth:
    """When a product was first clicked."""
    return Nth(of=Pick(action=CLICK, product=draw.mention(draw.event(Pick(action=CLICK)))), n=1, what="timestamp")


@register_shape("product interaction")
def colors_clicked(draw: Draw) -> Names:
    """The colors of the products of a category that were clicked."""
    found = draw.event(Pick(action=CLICK), "color", "product_types")
    return Names(of=Pick(action=CLICK, category=found.product_types, **draw.some_time(found)), what="color")


@register_shape("product interaction")
def last_products_clicked(draw: Draw) -> Listed:
    """The first few products clicked since a day in a category or of a brand, or the last few until a day, in order."""
    n = draw.one_of([-4, -3, -2, 2, 3, 4])
    pick = Pick(action=CLICK, **draw.towards(draw.event(Pick(action=CLICK)), n))
    return Listed(of=draw.thing(pick, abs(n) + 1), what="product_name", n=n)


@register_shape("product interaction")
def most_clicked_product(draw: Draw) -> Top:
    """The product with the most clicks, of a brand, a category or a range of days."""
    pick = Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK))))
    return Top(of=draw.thing(pick, 3) if draw.chance(0.7) else pick, by="product_name")


@register_shape("product interaction")
def looked_at_after_carting(draw: Draw) -> Beside:
    """The next product clicked after one was put into the cart for the first time."""
    moment = Moment(of=Pick(action=CART, product=draw.mention(draw.event(Pick(action=CART)))))
    return Beside(of=Pick(action=CLICK), moment=moment, side="after", what="product_name")


# Purchase journey


@register_shape("purchase journey")
def carted_never_bought(draw: Draw) -> Count:
    """How many different products were put into the cart and never bought."""
    left = Pick(action=CART, never=BUY)
    again = draw.common(left, "asin", 2) if draw.chance(0.9) else None
    found = [each for each in draw.log.pick(left) if again in (None, each.asin)]
    pick = left.model_copy(update=draw.some_time(draw.one_of(found)) if draw.chance(0.7) else {})
    return Count(of=draw.thing(pick) if draw.chance(0.6) else pick, what="asin")


@register_shape("purchase journey")
def last_left_in_cart(draw: Draw) -> Nth:
    """The product that was put into the cart first since a day, or last until one, of those never bought."""
    n = draw.one_of([1, -1])
    pick = Pick(action=CART, never=BUY, **draw.towards(draw.event(Pick(action=CART)), n))
    return Nth(of=draw.thing(pick, 1) if draw.chance(0.3) else pick, n=n, what="product_name")


@register_shape("purchase journey")
def left_in_cart(draw: Draw) -> Names:
    """The products that were put into the cart in a range of days and never bought."""
    days = draw.days(draw.event(Pick(action=CART, never=BUY)), 9)
    return Names(of=Pick(action=CART, never=BUY, **days), what="product_name")


@register_shape("purchase journey")
def click_to_purchase(draw: Draw) -> Wait:
    """The time from the first click on a product to its first purchase."""
    product = draw.mention(draw.purchase())
    return Wait(start=Moment(of=Pick(action=CLICK, product=product)), end=Moment(of=Pick(action=BUY, product=product)))


@register_shape("purchase journey")
def cart_to_purchase(draw: Draw) -> Wait:
    """The time from first putting a product into the cart to its first purchase."""
    product = draw.mention(draw.event(Pick(action=CART, ever=None if draw.chance(0.1) else BUY)))
    return Wait(start=Moment(of=Pick(action=CART, product=product)), end=Moment(of=Pick(action=BUY, product=product)))


@register_shape("purchase journey")
def searches_before_purchase(draw: Draw) -> Amid:
    """How many searches between the first click on a product and its first purchase."""
    product = draw.mention(draw.frequent_click(2, ever=BUY) if draw.chance(0.7) else draw.purchase())
    start, end = Moment(of=Pick(action=CLICK, product=product)), Moment(of=Pick(action=BUY, product=product))
    return Amid(of=Pick(action=SEARCH), start=start, end=end)


@register_shape("purchase journey")
def slowest_decision(draw: Draw) -> Journey:
    """Of the products bought in a range of days, the one with the longest or shortest time since its first click."""
    days = draw.some_time(draw.purchase())
    return Journey(of=Pick(**days), since=CLICK, how=draw.one_of(["longest", "shortest"]), what="product_name")


@register_shape("purchase journey")
def longest_in_cart(draw: Draw) -> Journey:
    """The longest or shortest time from cart to purchase among the products bought in a range of days."""
    days = draw.some_time(draw.purchase())
    return Journey(of=Pick(**days), since=CART, how=draw.one_of(["longest", "shortest"]), what="length")


@register_shape("purchase journey")
def share_bought(draw: Draw) -> Share:
    """Percent of the different products clicked that were bought."""
    pick = draw.thing(Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK, ever=BUY)))), 4)
    return Share(of=pick, part=Pick(ever=BUY), what="asin")


@register_shape("purchase journey")
def nth_purchase(draw: Draw) -> Nth:
    """The n-th product bought since a day, or the n-th last until a day."""
    n = draw.one_of([-4, -3, -2, -1, 1, 2, 3, 4])
    return Nth(of=Pick(action=BUY, **draw.towards(draw.purchase(), n)), n=n, what="product_name")


@register_shape("purchase journey")
def purchases_in_order(draw: Draw) -> Listed:
    """The first few products bought since a day, in order."""
    n = draw.number(2, 5)
    return Listed(of=Pick(action=BUY, **draw.towards(draw.purchase(), n)), what="product_name", n=n)


@register_shape("purchase journey")
def search_before_purchase(draw: Draw) -> Beside:
    """The last search before a product was first bought, or first put into the cart."""
    action = draw.one_of([BUY, CART])
    moment = Moment(of=Pick(action=action, product=draw.mention(draw.event(Pick(action=action)))))
    return Beside(of=Pick(action=SEARCH), moment=moment, side="before", what="search_query")


# Brand


@register_shape("brand")
def brands_clicked(draw: Draw) -> Count:
    """How many different brands were clicked, in a category or a range of days."""
    days = draw.some_time(draw.event(Pick(action=CLICK)))
    category = draw.common(Pick(action=CLICK, **days), "product_types", 3) if draw.chance(0.6) else None
    return Count(of=Pick(action=CLICK, category=category, **days), what="brand")


@register_shape("brand")
def top_brands(draw: Draw) -> Top:
    """The two or three brands with the most clicks, in a range of days."""
    days = draw.days(draw.event(Pick(action=CLICK)), 20, 3)
    return Top(of=Pick(action=CLICK, **days), by="brand", k=draw.number(2, 3))


@register_shape("brand")
def brand_rank(draw: Draw) -> Top:
    """The brand with the second or third most clicks, or put into the cart that often."""
    action = draw.one_of([CLICK, CART])
    return Top(
        of=Pick(action=action, **draw.some_time(draw.event(Pick(action=action)))), by="brand", rank=draw.number(2, 3)
    )


@register_shape("brand")
def brands_put_in_cart(draw: Draw) -> Names:
    """The brands that were put into the cart, or bought, in a range of days."""
    action = draw.one_of([BUY, CART])
    return Names(of=Pick(action=action, **draw.days(draw.event(Pick(action=action)), 7)), what="brand")


@register_shape("brand")
def brand_share(draw: Draw) -> Share:
    """Percent of the clicks in a category that were on one brand."""
    days = draw.some_time(draw.event(Pick(action=CLICK))) if draw.chance(0.5) else {}
    whole = Pick(action=CLICK, **days)
    whole = whole.model_copy(update={"category": draw.common(whole, "product_types", 4)})
    return Share(of=whole, part=Pick(brand=draw.event(whole, "brand").brand))


@register_shape("brand")
def brand_spend(draw: Draw) -> Fold:
    """What was paid for one brand, or in one category, in all, since or until a day or in a range of days."""
    field, column = draw.one_of([("brand", "brand"), ("category", "product_types")])
    found = {field: getattr(draw.event(Pick(action=draw.one_of([BUY, BUY, BUY, CLICK])), column), column)}
    days = draw.some_time(draw.event(Pick(**found))) if draw.chance(0.6) else {}
    return Fold(of=Pick(action=BUY, **found, **days), how="sum")


def list_different_brands(events: list[Event]) -> list[str]:
    brands = dict.fromkeys(each.brand for each in events)
    return [brand for brand in brands if brand]


@register_shape("brand")
def brands_bought(draw: Draw) -> Whether:
    """For each of four brands that were looked at: was anything of it bought (or put into the cart)?"""
    action = draw.one_of([BUY, CART])
    days = draw.some_time(draw.event(Pick(action=action))) if draw.chance(0.5) else {}
    looked = list_different_brands(draw.log.by_action.get(CLICK, []))
    yes = list_different_brands(draw.log.pick(Pick(action=action, **days)))
    brands = [draw.one_of(yes if draw.chance(0.5) else looked) for _ in range(12)]
    chosen = list(dict.fromkeys(brands))[:4]
    if len(chosen) < 4:
        raise NothingToAsk
    return Whether(picks=tuple(Pick(action=action, brand=brand, **days) for brand in chosen))


@register_shape("brand")
def brands_never_bought(draw: Draw) -> Sets:
    """The brands clicked in a range of days of which nothing was ever bought: which, or how many."""
    pick = Pick(action=CLICK, **draw.days(draw.event(Pick(action=CLICK)), 6))
    return Sets(of=pick, other=Pick(action=BUY), what="brand", how="minus", counted=draw.chance(0.5))


@register_shape("brand")
def brand_switches(draw: Draw) -> Switches:
    """How often a purchase (or a cart) was of another brand than the one before it."""
    action = draw.one_of([BUY, CART])
    days = draw.days(draw.event(Pick(action=action)), 20, 3)
    return Switches(of=Pick(action=action, **days), what="brand")


@register_shape("brand")
def repeat_brands(draw: Draw) -> Often:
    """The brands that were bought, or put into the cart, more than once (or more often): which, or how many."""
    action = draw.one_of([BUY, CART])
    pick = Pick(action=action, **draw.some_time(draw.event(Pick(action=action))))
    return Often(of=pick, by="brand", n=draw.number(2, 3), counted=draw.chance(0.3))


# Price


@register_shape("price")
def spent(draw: Draw) -> Fold:
    """What was spent in a range of days."""
    return Fold(of=Pick(action=BUY, **draw.some_time(draw.event(Pick()))), how="sum")


@register_shape("price")
def average_price(draw: Draw) -> Fold:
    """The average price of what was clicked, put into the cart or bought: all of it, of a brand or in a category."""
    pick = Pick(action=draw.one_of([CLICK, CART, BUY]))
    pick = pick.model_copy(update=draw.some_time(draw.event(pick)) if draw.chance(0.5) else {})
    return Fold(of=draw.thing(pick, 3) if draw.chance(0.7) else pick, how="average")


@register_shape("price")
def dearest_product(draw: Draw) -> Extreme:
    """The dearest or cheapest product clicked, of a brand, in a category or in a range of days."""
    pick = Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK))))
    how = draw.one_of(["cheapest", "dearest"])
    return Extreme(of=draw.thing(pick, 3) if draw.chance(0.7) else pick, how=how, what="product_name")


@register_shape("price")
def cheapest_price(draw: Draw) -> Fold:
    """The lowest or highest price among the clicks, additions to the cart or purchases: of all, of a brand or category."""
    action = draw.one_of([CLICK, CART, BUY])
    pick = Pick(action=action, **draw.some_time(draw.event(Pick(action=action))))
    return Fold(of=draw.thing(pick, 2) if draw.chance(0.7) else pick, how=draw.one_of(["smallest", "largest"]))


@register_shape("price")
def clicks_in_price_band(draw: Draw) -> Count:
    """How many clicks on products in a price band, in a category or in a range of days."""
    found = draw.event(Pick(action=CLICK))
    step = next(step for step in (5, 10, 25, 50, 100, 500, 10**9) if (found.price or 0) < 8 * step)
    low = int((found.price or Decimal(0)) // step) * step
    high = Decimal(low + step * draw.number(1, 3))
    category = found.product_types if draw.chance(0.4) else None
    band = Pick(action=CLICK, category=category, at_least=Decimal(low), at_most=high, **draw.some_time(found))
    return Count(of=band)


@register_shape("price")
def price_gap(draw: Draw) -> Difference:
    """By how much one product's highest price seen is above another's."""
    one = draw.event(Pick(action=CLICK))
    other = draw.event(Pick(action=CLICK, category=one.product_types) if draw.chance(0.7) else Pick(action=CLICK))
    if one.asin == other.asin:
        raise NothingToAsk
    first, second = (Pick(action=CLICK, product=draw.mention(each)) for each in (one, other))
    figures = [Fold(of=pick, how="largest") for pick in (first, second)]
    if (one.price or 0) < (other.price or 0):
        figures.reverse()
    return Difference(of=figures[0], less=figures[1])


@register_shape("price")
def spent_before_and_after(draw: Draw) -> Difference:
    """How much more was spent from a day on than before it (negative if less)."""
    day = draw.event(Pick(first_day=draw.log.events[0].day + timedelta(days=1))).day
    before = Pick(action=BUY, last_day=day - timedelta(days=1))
    return Difference(of=Fold(of=Pick(action=BUY, first_day=day), how="sum"), less=Fold(of=before, how="sum"))


@register_shape("price")
def price_span(draw: Draw) -> Fold:
    """The span between the lowest and the highest price among the clicks on a brand or category."""
    pick = Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK))))
    return Fold(of=draw.thing(pick, 3), how="span")


@register_shape("price")
def paid_for(draw: Draw) -> Nth:
    """The price at which a product was first bought, or first put into the cart."""
    action = draw.one_of([BUY, CART])
    found = draw.event(Pick(action=action if draw.chance(0.8) else CART))
    return Nth(of=Pick(action=action, product=draw.mention(found)), n=1, what="price")


@register_shape("price")
def spending_reached(draw: Draw) -> Running:
    """The purchase that took the running total to an amount: its day, or its product."""
    until, bought = draw.purchase().timestamp, draw.log.by_action[BUY]
    totals = list(accumulate(each.price or Decimal(0) for each in bought if each.timestamp <= until))
    total = totals[-1]
    step = next(step for step in (10, 25, 50, 100, 250, 10**9) if total < 20 * step)
    amount = Decimal(int(total // step) * step)
    if not amount or amount in totals:  # exactly reached: a database that adds floats may not see it
        raise NothingToAsk
    return Running(of=Pick(action=BUY), amount=amount, what=draw.one_of(["timestamp", "product_name"]))


@register_shape("price")
def first_purchases_total(draw: Draw) -> SumOf:
    """What the first n purchases since a day cost together."""
    return SumOf(of=Pick(action=BUY, first_day=draw.purchase().day), n=draw.number(2, 6))


# Temporal


@register_shape("temporal")
def busiest_day(draw: Draw) -> Top:
    """The day with the most clicks, searches, carts or purchases, of a brand or category or in a range of days."""
    action = draw.one_of([CLICK, SEARCH, CART, BUY])
    pick = Pick(action=action, **draw.some_time(draw.event(Pick(action=action))))
    return Top(of=draw.thing(pick, 3) if action != SEARCH and draw.chance(0.4) else pick, by="day")


@register_shape("temporal")
def busiest_hour(draw: Draw) -> Top:
    """The hour of the day with the most clicks or searches, in a range of days."""
    action = draw.one_of([CLICK, SEARCH])
    return Top(of=Pick(action=action, **draw.some_time(draw.event(Pick(action=action)))), by="hour")


@register_shape("temporal")
def busiest_weekday(draw: Draw) -> Top:
    """The weekday with the most clicks, carts or purchases, of a brand or category or in a range of days."""
    pick = Pick(action=draw.one_of([CLICK, CART, BUY]))
    pick = pick.model_copy(update=draw.some_time(draw.event(pick), 14))
    return Top(of=draw.thing(pick, 3) if draw.chance(0.5) else pick, by="weekday")


@register_shape("temporal")
def shopping_sessions(draw: Draw) -> Sessions:
    """How many sessions, in a range of days."""
    return Sessions(of=Pick(**draw.days(draw.event(Pick()), 14)), what="count")


@register_shape("temporal")
def fullest_session(draw: Draw) -> Sessions:
    """The session with the most actions in a range of days: when it began, or how many actions it had."""
    return Sessions(of=Pick(**draw.days(draw.event(Pick()), 9)), what=draw.one_of(["start", "events"]))


@register_shape("temporal")
def longest_session(draw: Draw) -> Sessions:
    """How long the longest session took, in a range of days."""
    return Sessions(of=Pick(**draw.days(draw.event(Pick()), 9)), what="length")


@register_shape("temporal")
def longest_pause(draw: Draw) -> Pause:
    """The longest time between two purchases, two additions to the cart or two actions of any kind in a row, in a range of days."""
    action = draw.one_of([BUY, CART, None])
    return Pause(of=Pick(action=action, **draw.days(draw.event(Pick(action=action)), 12, 3)), what="length")


@register_shape("temporal")
def pause_began(draw: Draw) -> Pause:
    """When the longest time without an action began, in a range of days."""
    return Pause(of=Pick(**draw.days(draw.event(Pick()), 9, 2)), what="start")


@register_shape("temporal")
def days_in_a_row(draw: Draw) -> Streak:
    """The longest row of days that each have a click in a category or on a brand, a cart or a purchase."""
    pick = Pick(action=draw.one_of([CLICK, CART, BUY]))
    pick = pick.model_copy(update=draw.since_or_until(draw.event(pick)))
    return Streak(of=draw.thing(pick, 6) if pick.action == CLICK else pick)


@register_shape("temporal")
def actions_at_hours(draw: Draw) -> Count:
    """How many clicks or searches between two hours of the day, in a range of days."""
    action = draw.one_of([CLICK, SEARCH])
    found = draw.event(Pick(action=action))
    begin = max(0, found.hour - draw.number(0, 2))
    hours = (begin, min(24, begin + draw.number(1, 4)))
    return Count(of=Pick(action=action, hours=hours, **draw.days(found, 9)))


@register_shape("temporal")
def last_time_with_brand(draw: Draw) -> Nth:
    """When a product of a brand or category was last clicked, put into the cart or bought."""
    pick = Pick(action=draw.one_of([CLICK, CART, BUY]), **draw.some_time(draw.event(Pick(action=CLICK))))
    return Nth(of=draw.thing(pick, 1), n=-1, what="timestamp")


@register_shape("temporal")
def weekend_share(draw: Draw) -> Share:
    """Percent of the clicks, carts or purchases, all or of a brand or category, that fell on a weekend, or on one weekday."""
    pick = Pick(action=draw.one_of([CLICK, CART, BUY]))
    pick = pick.model_copy(update=draw.since_or_until(draw.event(pick)))
    pick = draw.thing(pick, 3) if draw.chance(0.7) else pick
    weekday: Any = "weekend" if draw.chance(0.5) else draw.event(pick).weekday
    return Share(of=pick, part=Pick(weekday=weekday))


# Category


@register_shape("category")
def categories_clicked(draw: Draw) -> Count:
    """How many different categories were clicked, put into the cart or bought, in a range of days."""
    action = draw.one_of([CLICK, CLICK, CART, BUY])
    return Count(of=Pick(action=action, **draw.days(draw.event(Pick(action=action)), 9)), what="product_types")


@register_shape("category")
def top_category_by_spending(draw: Draw) -> Top:
    """The category on which the most (or second most) was spent."""
    return Top(
        of=Pick(action=BUY, **draw.some_time(draw.purchase())),
        by="product_types",
        measure="spend",
        rank=draw.number(1, 2),
    )


@register_shape("category")
def top_categories(draw: Draw) -> Top:
    """The two or three categories with the most clicks, in a range of days."""
    days = draw.days(draw.event(Pick(action=CLICK)), 9)
    return Top(of=Pick(action=CLICK, **days), by="product_types", k=draw.number(2, 3))


@register_shape("category")
def category_share(draw: Draw) -> Share:
    """Percent of the clicks, carts or purchases in a range of days that were in one category."""
    whole = Pick(action=draw.one_of([CLICK, CART, BUY]))
    whole = whole.model_copy(update=draw.days(draw.event(whole), 9))
    return Share(of=whole, part=Pick(category=draw.event(whole, "product_types").product_types))


@register_shape("category")
def categories_never_bought(draw: Draw) -> Sets:
    """The categories clicked in a range of days in which nothing was ever bought (or carted): which, or how many."""
    pick = Pick(action=CLICK, **draw.days(draw.event(Pick(action=CLICK)), 5))
    return Sets(
        of=pick,
        other=Pick(action=draw.one_of([BUY, CART])),
        what="product_types",
        how="minus",
        counted=draw.chance(0.5),
    )


@register_shape("category")
def nth_category_of_day(draw: Draw) -> Nth:
    """The category of the n-th (or n-th last) product clicked on a day."""
    n = draw.number(1, 4)
    days = draw.day(draw.event(Pick(action=CLICK)))
    return Nth(of=Pick(action=CLICK, **days), n=draw.one_of([n, -n]), what="product_types")


@register_shape("category")
def category_of_dearest_purchase(draw: Draw) -> Extreme:
    """The category of the dearest or cheapest purchase in a range of days."""
    how = draw.one_of(["cheapest", "dearest"])
    return Extreme(of=Pick(action=BUY, **draw.some_time(draw.purchase())), how=how, what="product_types")


@register_shape("category")
def categories_often_clicked(draw: Draw) -> Often:
    """The categories with at least n clicks in a range of days: which, or how many."""
    pick = Pick(action=CLICK, **draw.days(draw.event(Pick(action=CLICK)), 14))
    return Often(of=pick, by="product_types", n=draw.number(2, 6), counted=draw.chance(0.5))


# Review: coming back to products


@register_shape("review")
def products_seen_again(draw: Draw) -> Often:
    """How many products of a brand or category were clicked on more than one day."""
    pick = Pick(action=CLICK)
    pick = pick.model_copy(update=draw.since_or_until(draw.event(pick))) if draw.chance(0.6) else pick
    return Often(of=draw.thing(pick, 4), by="asin", n=2, days=True, counted=True)


@register_shape("review")
def products_seen_often(draw: Draw) -> Often:
    """The products of a category that were clicked at least n times."""
    again = draw.frequent_click(3)
    days = draw.since_or_until(again) if draw.chance(0.5) else draw.days(again, 14, 7)
    pick = Pick(action=CLICK, category=again.product_types, **days)
    return Often(of=pick, by="product_name", n=draw.number(2, 3))


@register_shape("review")
def first_to_last_look(draw: Draw) -> Wait:
    """The time from the first to the last click on a product."""
    pick = Pick(action=CLICK, product=draw.mention(draw.frequent_click(2)))
    return Wait(start=Moment(of=pick), end=Moment(of=pick, n=-1))


@register_shape("review")
def searches_between_looks(draw: Draw) -> Amid:
    """How many searches between the first and the last click on a product."""
    pick = Pick(action=CLICK, product=draw.mention(draw.frequent_click(2)))
    return Amid(of=Pick(action=SEARCH), start=Moment(of=pick), end=Moment(of=pick, n=-1))


@register_shape("review")
def compared_between_looks(draw: Draw) -> Amid:
    """How many different products of its category were clicked between the first and the last click on a product."""
    found = draw.frequent_click(2)
    pick = Pick(action=CLICK, product=draw.mention(found))
    others = Pick(action=CLICK, category=found.product_types)
    return Amid(of=others, start=Moment(of=pick), end=Moment(of=pick, n=-1), what="asin")


@register_shape("review")
def last_look(draw: Draw) -> Nth:
    """When a product was last clicked, or second last."""
    product = draw.mention(draw.frequent_click(2))
    return Nth(of=Pick(action=CLICK, product=product), n=draw.one_of([-1, -1, -2, 2]), what="timestamp")


@register_shape("review")
def seen_in_both_times(draw: Draw) -> Sets:
    """The products clicked both before a day and from it on: which, or how many."""
    day = draw.event(Pick(action=CLICK, first_day=draw.log.events[0].day + timedelta(days=1))).day
    one, other = Pick(action=CLICK, last_day=day - timedelta(days=1)), Pick(action=CLICK, first_day=day)
    category = draw.common(one, "product_types", 3) if draw.chance(0.8) else None
    return Sets(
        of=one.model_copy(update={"category": category}),
        other=other.model_copy(update={"category": category}),
        what="product_name",
        how="both",
        counted=draw.chance(0.5),
    )


@register_shape("review")
def seen_never_carted(draw: Draw) -> Count:
    """How many different products of a brand or category were clicked and never put into the cart."""
    pick = Pick(action=CLICK, **draw.some_time(draw.event(Pick(action=CLICK))))
    return Count(
        of=draw.thing(pick.model_copy(update={"never": CART}) if draw.chance(0.9) else pick).model_copy(
            update={"never": CART}
        ),
        what="asin",
    )
