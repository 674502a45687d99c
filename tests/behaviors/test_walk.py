"""Sessions walked through the shop: the pages are the shop's of that day, and what cannot be walked says why."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime, time, timedelta

import pytest

from shopwright.pipeline.behaviors.rows import parse_page_html
from shopwright.pipeline.behaviors.session_replay import (
    ReplayError,
    build_visit_day,
    open_session_browser,
    price_on,
)
from shopwright.pipeline.behaviors.sessions import CART, CLICK, PURCHASE, SEARCH
from shopwright.pipeline.checks.behaviors import shows_price
from shopwright.pipeline.render.pages import PAGE, format_money, render_page_html
from shopwright.pipeline.shop.browser import QUERY_LETTERS
from shopwright.pipeline.world.catalog_columns import EPOCH
from tests.behaviors.world import World

LISTED = re.compile(
    r'<li><span>\d+\.</span><a name="[^"]*">[^<]*</a><span>([^<]*)</span><span>\$([\d.]+)[^<]*</span>'
    r"<span>Rating: (\S+)"
)
"""Title, lowest price and rating of each result."""


@pytest.fixture(scope="module")
def world(small):
    return World(small)


@pytest.fixture(scope="module")
def walks(world):
    """Some errands and visits, walked."""
    names = [*world.sessions()[:60], *world.sessions("visit")[::6]]
    found = [world.walk(name, session, seed) for seed, (name, session) in enumerate(names)]
    for walk in found:
        walk.go()
    return found


@pytest.fixture(scope="module")
def errand(world):
    """One that searches, opens, puts in the cart and buys."""
    return next(
        (name, session)
        for name, session in world.sessions()
        if [act.kind for act in session.acts[-3:]] == [CLICK, CART, PURCHASE]
        and not any(product == session.acts[-1].product for product, _ in session.cart)
    )


def moves(walks, *reasons):
    return [(walk, place, move) for walk in walks for place, move in enumerate(walk.moves) if move.reason in reasons]


def text(move):
    return parse_page_html(move.html).text


# Pages


def test_done_again_a_session_shows_the_same_pages(world, walks):
    for walk in walks:
        browser = open_session_browser(walk.session, world.shop, build_visit_day(walk.session, walk.store, world.stock))
        for move in walk.moves:
            assert render_page_html(browser.page) == move.html
            if move.action["type"] == "click":
                assert not browser.press(move.action["name"])
            elif move.action["type"] == "type_and_submit":
                assert not browser.submit(move.action["name"], move.action["text"])


def test_whatever_the_dice_say_the_events_are_the_logs(world):
    name, session = next((name, each) for name, each in world.sessions() if len(each.acts) > 8)
    for seed in range(4):
        walk = world.walk(name, session, seed)
        walk.go()
        assert [(m.row, m.at) for m in walk.moves if m.row is not None] == [(act.row, act.at) for act in session.acts]
        times = [move.at for move in walk.moves]
        assert times == sorted(times)
        assert session.until is None or times[-1] <= session.until


def test_the_same_dice_make_the_same_walk(world):
    name, session = world.sessions()[0]
    assert world.row(name, session) == world.row(name, session)


def test_a_promotions_price_is_on_the_pages_of_its_days_and_on_no_others(world):
    name, session = world.sessions()[0]
    row = next(row for row in range(len(world.stock.cents)) if world.stock.promoted[row])
    first, last, cents, _ = world.stock.promotions[row][0]
    listed = int(world.stock.cents[row])
    for day, price, other in ((first - 1, listed, cents), (first, cents, listed), (last, cents, listed)):
        at = datetime.combine(EPOCH, time(12)) + timedelta(days=day)
        acts = [
            session.acts[0]._replace(at=at, query=world.stock.titles[row].as_py()),
            session.acts[0]._replace(at=at, kind=CLICK, product=str(world.shop.store.ids[row])),
        ]
        walk = world.walk(name, replace(session, errands=(tuple(acts),), cart=()))
        walk.go()
        page = next(move for move in walk.moves if move.page.kind == "product")
        assert shows_price(text(page), price)
        assert format_money(other) not in text(page).partition("Price: ")[2].partition("Rating")[0]


def test_who_comes_on_a_day_of_an_offer_sees_it_and_nobody_else(world):
    row = next(row for row in range(len(world.stock.cents)) if world.stock.promoted[row])
    first, last, cents, _ = world.stock.promotions[row][0]
    assert price_on(world.stock, first, row) == price_on(world.stock, last, row) == cents
    assert price_on(world.stock, first - 1, row) == price_on(world.stock, last + 1, row) == world.stock.cents[row]


def test_what_is_opened_after_a_search_stands_on_the_pages_that_the_engine_gave(world):
    """The replay has no order of its own: its browser is given the shop's engine itself."""
    name, session = next(iter(world.sessions()))
    assert world.walk(name, session).browser.finder is world.shop.finder
    for _, one in world.sessions():
        query = ""
        for act in one.acts:
            query = act.query if act.kind == SEARCH else query
            if act.kind == CLICK:
                row = world.shop.store.row(act.product)
                assert row in world.shop.finder.find(query.strip()[:QUERY_LETTERS], limit=2 * PAGE)


# Carts


def test_what_was_put_aside_months_before_is_bought_from_the_cart(world):
    """With no product's page in between."""
    found = 0
    for name, session in world.sessions():
        looked = {act.product for act in session.acts if act.kind != PURCHASE}
        old = [act for act in session.acts if act.kind == PURCHASE and act.product not in looked]
        if old:
            walk = world.walk(name, session)
            walk.go()
            buys = [(place, move) for place, move in enumerate(walk.moves) if move.row == old[0].row]
            (place, move), title = buys[0], world.shop.store.item(world.shop.store.row(old[0].product)).title
            assert move.page.kind == "cart"
            assert parse_page_html(render_page_html(world_cart(world, session))).text in text(move) or title in text(
                move
            )
            assert walk.moves[place - 1].reason in ("look into the cart", "buy", "put in the cart")
            found += 1
    assert found


def world_cart(world, session):
    browser = open_session_browser(session, world.shop, build_visit_day(session, world.shop.store, world.stock))
    browser.press("nav.view_cart")
    return browser.page


def test_a_piece_is_put_in_the_cart_and_one_is_bought_for_every_event(world, walks):
    for walk in walks:
        before = open_session_browser(
            walk.session, world.shop, build_visit_day(walk.session, walk.store, world.stock)
        ).lines
        pieces = Counter({thing: line.pieces for thing, line in before.items()})
        for act in walk.session.acts:
            if act.kind in (CART, PURCHASE):
                pieces[act.product, walk.session.variants[act.row]] += 1 if act.kind == CART else -1
        assert pieces == Counter({thing: line.pieces for thing, line in walk.browser.lines.items()})


def test_options_are_chosen_before_a_thing_with_several_is_put_in_the_cart(walks):
    chosen = moves(walks, "choose")
    assert chosen
    for _, _, move in chosen:
        assert f">{move.facts['value']}" in move.html
        assert move.page.kind == "product"


# Reasons


def listing(move):
    return [(title, float(price), rating) for title, price, rating in LISTED.findall(move.html)]


def test_the_cheapest_and_the_best_rated_are_so_on_their_page(walks):
    found = Counter()
    for _, _, move in moves(walks, "opens"):
        price = float(move.facts["price"][1:])
        if move.facts["why"] == "cheapest":
            assert price == min(price for _, price, _ in listing(move))
        if move.facts["why"] == "best rated":
            assert move.facts["rating"] == max(rating for _, _, rating in listing(move) if rating != "N.A.")
        if move.facts["why"] == "brand":
            assert move.facts["brand"] in text(move)
        if move.facts["why"] == "cheaper":
            assert float(move.facts["other_price"][1:]) > price
        found[move.facts["why"]] += 1
    reasons = {
        "cheapest",
        "best rated",
        "brand",
        "asked",
        "cheaper",
        "most reviewed",
        "top of the list",
        "another",
        "like",
    }
    assert set(found) == reasons


def test_who_finds_it_too_dear_has_seen_it_cheaper_or_has_not_so_much(walks):
    found = moves(walks, "too dear")
    assert found
    for walk, place, move in found:
        price = float(move.facts["price"][1:])
        assert move.facts["price"] in text(move)
        if move.facts["other"]:
            assert float(move.facts["other_price"][1:]) < price
            pages = [text(before) for before in walk.moves[:place]]
            assert any(move.facts["other"] in page and move.facts["other_price"] in page for page in pages)
        else:
            assert price > walk.person.budget


def test_nobody_reads_what_is_not_there(walks):
    read = moves(walks, "read enough")
    assert {move.page.kind for _, _, move in read} == {"description", "features", "reviews"}
    for _, _, move in read:
        assert "(0 reviews)" not in text(move) or move.page.kind != "reviews"
        assert "No description" not in text(move)


def test_nobody_reads_reviews_that_nobody_wrote(world):
    name, session = world.sessions()[0]
    item = next(item for item in map(world.shop.store.item, range(1_000)) if not item.review_count)
    search = session.acts[0]._replace(query=item.title)
    acts = (search, search._replace(kind=CLICK, product=item.id))
    read = set()
    for seed in range(40):
        walk = world.walk(name, replace(session, errands=(acts,), cart=()), seed)
        walk.go()
        read |= {move.page.kind for move in walk.moves if move.reason == "read enough"}
    assert read == {"description", "features"}


def test_what_is_said_to_be_in_the_cart_is_there(walks):
    said = moves(walks, "decides later", "look into the cart", "go on")
    assert {move.reason for _, _, move in said} >= {"decides later", "look into the cart"}
    for walk, place, move in said:
        titles = put_in_the_cart(walk, place)
        assert any(title.startswith(move.facts["title"]) for title in titles) or not move.facts["title"]


def put_in_the_cart(walk, place):
    """Titles of what was put in the cart before this move."""
    first = walk.session.acts[0].row
    acts = [walk.session.acts[move.row - first] for move in walk.moves[:place] if move.row is not None]
    return [walk.store.item(walk.store.row(act.product)).title for act in acts if act.kind == CART]


def test_who_bought_a_thing_and_looks_at_it_again_does_not_say_that_it_is_in_the_cart(world, errand):
    name, session = errand
    *acts, last = session.acts
    click = next(act for act in acts if act.product == last.product)
    others = world.walk(name, session).browser.finder.find(last_query(acts), limit=5).tolist()
    other = next(id for id in (str(world.shop.store.ids[row]) for row in others) if id != last.product)
    more = [click._replace(row=last.row + 1, at=last.at), click._replace(row=last.row + 2, at=last.at, product=other)]
    walk = world.walk(name, replace(session, errands=((*acts, last, *more),), until=None))
    walk.go()
    back = [move for move in walk.moves if move.reason == "go on" and move.page.kind == "product"]
    assert back[-1].facts["page"] == "bought"


def last_query(acts):
    return next(act.query for act in reversed(acts) if act.kind == SEARCH)


def test_a_color_is_said_as_the_page_and_the_search_write_it(walks):
    found = moves(walks, "other color")
    for walk, place, move in found:
        assert move.facts["color"] in text(move)
        assert any(move.facts["wanted"] in each.action.get("text", "") for each in walk.moves[:place])


# What cannot be walked


def lost(world, name, session):
    with pytest.raises(ReplayError) as caught:
        world.walk(name, session).go()
    return str(caught.value)


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ([-3, -2, -1], "a product opened that the search before it does not show"),
        ([0, -2, -1], "something put in the cart from another page"),
        ([0, -3, -1], "something bought that the cart does not hold any more"),
    ],
)
def test_events_without_those_before_them_lead_nowhere(world, errand, kept, reason):
    name, session = errand
    acts = session.acts
    assert lost(world, name, replace(session, errands=(tuple(acts[place] for place in kept),))) == reason


def test_a_product_that_is_not_sold_leads_nowhere(world, errand):
    name, session = errand
    acts = [session.acts[0], session.acts[-3]._replace(product="nothing")]
    reason = lost(world, name, replace(session, errands=(tuple(acts),)))
    assert reason == "a product that the catalog does not have"


def test_a_variant_that_is_not_offered_leads_nowhere(world, errand):
    name, session = errand
    cart = session.acts[-2].row
    changed = replace(session, variants={**session.variants, cart: "no-such-variant"}, cart=())
    assert lost(world, name, changed)


def test_a_search_of_more_letters_than_the_shop_takes_is_walked_too(world, errand):
    name, session = errand
    first = session.acts[0]._replace(query="lamp " * 500)
    row = int(world.shop.finder.find(first.query[:QUERY_LETTERS], limit=1)[0])
    acts = (first, session.acts[-3]._replace(product=str(world.shop.store.ids[row])))
    session = replace(session, errands=(acts,))
    walk = world.walk(name, session)
    assert walk.go() == "gave up"
    assert len(json.loads(json.dumps(walk.moves[0].action))["text"]) == 2_500


def test_a_session_that_ends_without_a_purchase_ends_with_leaving(walks):
    for walk in walks:
        last = walk.session.acts[-1].kind
        assert (walk.moves[-1].action["type"] == "terminate") == (last != PURCHASE)
        assert [move.action["type"] for move in walk.moves[:-1]].count("terminate") == 0
