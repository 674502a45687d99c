"""What rationales claim, read from their words: each kind of falsehood, planted in a session made by hand, is found, and what is so is not."""

from types import SimpleNamespace
from typing import get_args

import pytest

from shopwright.pipeline.checks.claims import CLAIMS, GENERAL, find_contradiction
from shopwright.pipeline.render import pages
from shopwright.pipeline.render.pages import CartRow, ResultEntry, map_names_to_labels, render_page_html
from shopwright.schemas.behaviors import BehaviorStep, Reason
from tests.behaviors.by_hand import MORNING

SHOP = {
    "p1": ("Norrvik red table lamp", "Lamps", 4000, 3.5),
    "p2": ("Osko blue table lamp", "Lamps", 2000, 4.5),
    "p3": ("Osko blue floor lamp", "Lamps", 3000, 4.2),
    "p4": ("Pell garden tool set", "Sets", 1000, 4.0),
    "p5": ("Pell watercolor set", "Sets", 1500, 4.0),
}
"""Title, category, cents and rating."""


def item(id):
    title, category, _, _ = SHOP[id]
    return SimpleNamespace(title=title, category=category, brand=title.split(" ")[0], color=None)


def step(page, said, action, **more):
    import json

    return BehaviorStep(
        at=MORNING,
        html=render_page_html(page),
        action=json.dumps(action),
        rationale=said,
        reason="opens",
        said=[],
        row=None,
        **more,
    )


def listing(query="table lamp", ids=tuple(SHOP)):
    shown = [
        ResultEntry(number, id, SHOP[id][0], SHOP[id][2], SHOP[id][2], SHOP[id][3], 9, False)
        for number, id in enumerate(ids, 1)
    ]
    return pages.build_results_page(query, 1, len(shown), shown, header=True)


def product(id, sold_out=False):
    title, _, cents, rating = SHOP[id]
    thing = SimpleNamespace(id=id, title=title, rating=rating, review_count=9)
    return pages.build_product_page(thing, (), [cents], "Sold out" if sold_out else "In stock", header=True)


def link(page, id):
    return next(name for name, label in map_names_to_labels(page).items() if label == id)


def search(text="table lamp", said="I look for it."):
    return step(
        pages.build_shop_home_page(header=True), said, {"type": "type_and_submit", "name": "search_input", "text": text}
    )


def opens(id, said="I open it.", **shown):
    page = listing(**shown)
    return step(page, said, {"type": "click", "name": link(page, id.lower())})


def back(id, said="I go back.", **more):
    return step(product(id, **more), said, {"type": "click", "name": "nav.previous"})


def put(id, said="I take it."):
    return step(product(id), said, {"type": "click", "name": "cart.add_to_cart"})


def buy(id, said="I buy it."):
    page = pages.build_cart_page([CartRow(id, "", SHOP[id][0], "", SHOP[id][2])])
    return step(
        page, said, {"type": "click", "name": next(name for name in map_names_to_labels(page) if name.endswith(".buy"))}
    )


def leave(said="I leave.", page=None):
    return step(page or listing(), said, {"type": "terminate"})


RED, BLUE, FLOOR, TOOLS, COLORS = (SHOP[id][0] for id in SHOP)
FALSE = {
    "is cheaper than what costs no more": [search(), opens("p2"), back("p2"), opens("p1", f"At $40.00 the {RED} costs less than the {BLUE}.")],
    "compares unlike things": [search(), opens("p5"), back("p5", f"$15.00 is a lot when I can have the {TOOLS} for $10.00, so I go back."), leave()],
    "is the cheapest, and another costs less": [search(), opens("p2", f"At $20.00 the {BLUE} is the cheapest here, so I look.")],
    "is the best rated, and another is rated better": [search(), opens("p3", f"With 4.2 nobody here beats the {FLOOR}, so I look.")],
    "fits the search, and its title lacks words of it": [search("table lamp"), opens("p3", f"The {FLOOR} is just what I asked for with \"table lamp\"."), put("p3")],
    "is what was searched for, and is given up": [search(), opens("p2", f"The {BLUE} fits my search word for word."), back("p2"), leave()],
    "is too dear, and is taken up again": [search(), opens("p2"), back("p2", "$20.00 is more than I want to spend."), opens("p2"), put("p2"), leave()],
    "is too dear, and something as dear is not": [search(), opens("p2"), back("p2", f"The {BLUE} is nice, but $20.00 is over my budget."), opens("p3"), leave()],
    "is poorly rated, and is not": [search(), opens("p2"), back("p2", "A rating of 4.5 is too low for me."), leave()],
    "is poorly rated, and something rated no better is not": [search(), opens("p1"), put("p1"), back("p1"), opens("p1"), leave("I leave: the lamp is rated only 3.5.", product("p1"))],
    "is of a color that its title does not say": [search("red lamp"), opens("p2"), back("p2", "It comes in green, and I want red, so I go back."), leave()],
    "is of the wrong color, and another of it is not": [search("red lamp"), opens("p2"), back("p2", "I was looking for red, not blue, so this is not for me."), opens("p3"), leave()],
    "is sold out, and the page does not say so": [search(), opens("p2"), back("p2", f"The {BLUE} is sold out, so I look on."), leave()],
    "could be the one, and is forgotten": [search(), opens("p2"), back("p2", f"The {BLUE} could be the one, but I look on."), opens("p3"), leave()],
    "compares with others, and opens none": [search(), opens("p2"), back("p2", "Before I decide I go back and look at another one."), leave()],
    "is given up, and is taken up again": [search(), opens("p2"), back("p2", f"I am not convinced by the {BLUE}, so I go back."), opens("p2"), put("p2")],
    "is given up, and was put in the cart": [search(), opens("p2"), put("p2"), leave(f"The {BLUE} was close, but I leave.")],
    "finds nothing, and took something": [search(), opens("p2"), put("p2"), leave("Nothing of what I saw is what I need.")],
    "speaks of several, and opened one": [search(), opens("p2"), back("p2"), leave("I have looked at several things and none is quite right.")],
    "finds nothing on a page, and takes up something of it": [search(), step(listing(), "Nothing on this page is quite right, so I look on.", {"type": "click", "name": "nav.home"}), opens("p2")],
    "has bought, and bought nothing": [search(), opens("p2"), leave("My order is placed, and I leave.")],
    "has what it came for, and searched for more": [search(), opens("p2"), put("p2"), buy("p2"), search("set"), leave("I have bought what I came for.")],
    "is in the cart, and was not put there": [search(), opens("p2"), leave(f"The {BLUE} is in my cart, and I sleep on it.")],
    "sets a limit, and does not keep to it": [search("lamp under 25", "I only want to see things under $25."), opens("p3")],
    "trusts no poor reviews, and takes up something with them": [search(), step(listing(), "I do not trust things with poor reviews.", {"type": "click", "name": "nav.home"}), opens("p1")],
    "saw nothing in mind, and put something in the cart": [search(), opens("p2"), put("p2"), search("lamp", '"table lamp" did not show me what I have in mind.')],
    "is more precise, with no more words": [search(), search("floor lamp", 'The results for "table lamp" are too broad for me.')],
    "likes a brand that the customer does not prefer": [search(), opens("p2", f"I like Pell, so the {BLUE} catches my eye.")],
    "names an amount that no page shows": [search(), opens("p2"), back("p2", "$21.00? That's too much for me."), leave()],
    "names a price that is another product's": [search(), opens("p1"), back("p1"), opens("p2", f"Let me have a look at the {BLUE}; it's at $40.00.")],
    "names a rating that is another product's": [search(), opens("p1"), back("p1", "A rating of 3.9 is too low for me."), leave()],
    "has the most reviews, and another has as many": [search(), opens("p2", f"No other one on this page has so many reviews, so I'm opening the {BLUE}.")],
    "is at the top, and is not": [search(), opens("p2", f"I may as well begin with the top result, the {BLUE}.")],
    "speaks of another, and opened none before": [search(), opens("p2", f"I've seen one, now let me look at the {BLUE}.")],
    "is well rated, and is not": [search(), opens("p1"), put("p1", "Rated 3.5, and it's what I want, so I put it in the cart.")],
    "wants a color that was not searched for": [search("lamp"), opens("p2"), back("p2", "I wanted green and this is blue."), leave()],
    "is wider, with no fewer words": [search("lamp"), search("red table lamp", "Let me go wider: \"red table lamp\".")],
    "searches for it again, and has not before": [search("lamp"), search("rug", "Let me do \"rug\" again, there may be something I missed.")],
    "is a first search, and there was one like it": [search("lamp"), search("red lamp", "To get an overview I'll search for \"red lamp\" first.")],
    "turns to another search, and made none before": [search("lamp", "I could also do with something else, so I search for \"lamp\".")],
    "has thought about it long, and saw it just now": [search(), opens("p2"), put("p2"), buy("p2", f"I have thought about the {BLUE} long enough.")],
}  # fmt: skip
TRUE = [
    [search(), opens("p1"), back("p1"), opens("p2", f"At $20.00 the {BLUE} costs less than the {RED}, so I want to compare.")],
    [search(), opens("p1"), back("p1", f"$40.00 is a lot when I can have the {BLUE} for $20.00, so I go back."), opens("p2"), leave()],
    [search(), opens("p2", f"I start with the {BLUE}, because $20.00 is the lowest price I see.", ids=("p1", "p2", "p3"))],
    [search("blue table lamp"), opens("p2", f'This is what I meant by "blue table lamp": the {BLUE}.'), put("p2"), leave(f"The {BLUE} is in my cart.")],
    [search(), opens("p1"), back("p1", "I wouldn't buy something rated 3.5; there must be better ones."), opens("p2"), leave()],
    [search("blue lamp"), opens("p1"), back("p1", "I wanted blue and this is red."), opens("p2"), leave()],
    [search(), opens("p2"), back("p2", f"The {BLUE} is sold out, so I look on.", sold_out=True), leave()],
    [search(), opens("p2"), back("p2", f"The {BLUE} could be the one, but I want to compare it with others first."), opens("p3"), back("p3"), opens("p2")],
    [search(), opens("p2"), back("p2"), opens("p3"), back("p3"), leave("None of these is what I had in mind.")],
    [search(), opens("p1"), back("p1", f"The {BLUE} could be the one, but I look on."), opens("p2")],
    [search(), buy("p2", f"I have thought about the {BLUE} long enough, and I buy it.")],
    [search("lamp under 25", "I only want to see things under $25."), opens("p2"), search("lamp"), opens("p1")],
    [search(), step(listing(), "I do not trust things with poor reviews.", {"type": "click", "name": "nav.home"}), opens("p2")],
    [search(), search("blue table lamp", 'The results for "table lamp" are too broad for me.'), opens("p2"), leave(f"I am not convinced by the {BLUE}.")],
]  # fmt: skip


def faults(steps, brands=("Pell",)):
    """What is wrong with the steps, by each of the reasons that they may be read as."""
    found = set()
    for reason in get_args(Reason):
        told = [step.model_copy(update={"reason": reason}) for step in steps]
        found.add(find_contradiction(SimpleNamespace(steps=told), item, brands, strict=False))
    return found - {None}


@pytest.mark.parametrize(("what", "steps"), FALSE.items(), ids=FALSE)
def test_a_planted_falsehood_is_found(what, steps):
    assert f"a rationale that {what}" in faults(steps)


def test_this_one_is_what_is_opened_just_now():
    false = "a rationale that is cheaper than what costs no more"
    assert false in faults([search(), opens("p2"), back("p2"), opens("p1", f"This one is cheaper than the {BLUE}.")])
    so = [search(), opens("p1"), back("p1"), opens("p2", f"This one is cheaper than the {RED}.")]
    assert not faults(so)


@pytest.mark.parametrize(("limit", "kept"), [("20", True), ("19", False)])
def test_what_costs_as_much_as_a_limit_keeps_to_it(limit, kept):
    steps = [search(f"lamp under {limit}", f"I want nothing over ${limit}."), opens("p2")]
    assert ("a rationale that sets a limit, and does not keep to it" in faults(steps)) != kept


def test_the_price_of_the_product_on_the_page_is_not_anothers():
    steps = [search(), opens("p1"), back("p1", f"The {BLUE} costs $40.00, so I go back."), leave()]
    assert "a rationale that names a price that is another product's" in faults(steps)


TOO_DEAR = f"The {BLUE} is nice, but $20.00 is over my budget."
POOR = step(listing(), "I do not trust things with poor reviews.", {"type": "click", "name": "nav.home"})
LONG = f"I have thought about the {BLUE} long enough, and I buy it."


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        (
            [search(), opens("p2"), back("p2", TOO_DEAR), opens("p4"), back("p4"), opens("p3")],
            "is too dear, and something as dear is not",
        ),
        ([search(), opens("p2"), back("p2", TOO_DEAR), opens("p4"), back("p4"), leave()], None),
        (
            [search(), POOR, opens("p2"), back("p2"), opens("p1")],
            "trusts no poor reviews, and takes up something with them",
        ),
        ([search(), opens("p2"), put("p2"), opens("p3"), back("p3"), buy("p2", LONG)], None),
        ([search("red dark"), opens("p2"), back("p2", "I wanted dark red and this is blue."), leave()], None),
    ],
)
def test_of_several_one_that_gives_it_the_lie_is_enough(steps, fault):
    assert faults(steps) == ({f"a rationale that {fault}"} if fault else set())


@pytest.mark.parametrize(
    ("reviews", "most"), [((9, 12, 5), False), ((12, 9, 5), True), ((9, 9, 5), False), ((9, 5, 5), True)]
)
def test_the_most_reviews_are_more_than_any_other_has(reviews, most):
    shown = [
        ResultEntry(number, id, SHOP[id][0], SHOP[id][2], SHOP[id][2], SHOP[id][3], count, False)
        for number, (id, count) in enumerate(zip(("p2", "p3", "p1"), reviews, strict=True), 1)
    ]
    page = pages.build_results_page("table lamp", 1, 3, shown, header=True)
    said = f"No other one on this page has so many reviews, so I'm opening the {BLUE}."
    found = faults([search(), step(page, said, {"type": "click", "name": link(page, "p2")})])
    assert ("a rationale that has the most reviews, and another has as many" not in found) == most


@pytest.mark.parametrize("steps", TRUE, ids=lambda steps: steps[-1].rationale[:30])
def test_what_is_so_is_not_found(steps):
    assert not faults(steps)


def test_a_brand_may_be_liked_by_who_prefers_it():
    assert not faults([search(), opens("p2", f"I like Osko, so the {BLUE} catches my eye.")], ["Osko"])


def test_words_of_code_are_read_to_the_last_one_and_a_models_need_not_be():
    steps = [search(), opens("p2", "I'll open this one, it is waterproof.")]
    told = SimpleNamespace(steps=[step.model_copy(update={"reason": "opens"}) for step in steps[1:]])
    assert "waterproof" in find_contradiction(told, item, ())
    assert find_contradiction(told, item, (), strict=False) is None


def test_words_of_code_are_read_as_their_rows_reason():
    told = SimpleNamespace(steps=[back("p2", "This one is too dear for me.").model_copy(update={"reason": "sold out"})])
    assert "is read as" in find_contradiction(told, item, ())


def test_every_kind_of_claim_is_planted():
    """What each claim can find stands in its source as a sentence."""
    import inspect

    claims = {claim.__name__: inspect.getsource(claim) for found in [GENERAL, *CLAIMS.values()] for claim in found}
    lacking = [name for name, source in claims.items() if not any(f'"{what}"' in source for what in FALSE)]
    assert lacking == []
