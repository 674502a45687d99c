"""The published formulas as they are, faults included: WebShop's own cases, and what a wrong purchase earns there."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.rewards.shopsimulator import (
    COLORS,
    ProductText,
    combine_match_parts,
    compute_match_ratio,
    extract_title_words,
    is_picked_option,
    matches_attribute,
    normalize_color,
    score_no_purchase,
    score_purchase,
    score_title_overlap,
    score_type,
    token_set_ratio,
)

NEEDED = ["tea tree", "essential oils", "natural ingredients"]
SHOE = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
SOUNDBAR = "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar"
CORD = "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home Theater System"
FILTER = ProductText("filter", "Steel milk filter with fine mesh", "milk filter", ("Home", "Kitchen", "Filters"))
PILLOW = ProductText("pillow", "Down pillow for side sleepers", "pillow", ("Home", "Bedding", "Pillows"))


def product(title="x", **more):
    return ProductText("product", title, **more)


# Type.


@pytest.mark.parametrize("form", ["shopsimulator", "webshop"])
def test_the_same_listing_is_of_the_same_type(form):
    assert score_type(FILTER, FILTER, form) == 1


@pytest.mark.parametrize(
    ("path", "shared"),
    [("bca", True), ("def", False), ("adb", True), ("aab", True), ("aad", False)],
)
def test_two_different_nodes_in_any_order_make_the_paths_alike(path, shared):
    goal = ProductText("goal", "Name one two three four five six", "one", tuple("abc"))
    bought = replace(goal, query="two", category_path=tuple(path), title="Name other")  # a sixth of the title's words
    assert score_type(bought, goal, "webshop") == (1 if shared else Fraction(1, 2))


def test_white_space_around_a_node_does_not_count():
    assert score_type(replace(PILLOW, category_path=(" Kitchen", "Filters ")), FILTER, "shopsimulator") == 1


def test_titles_that_overlap_by_more_than_a_fifth_are_of_one_type():
    goal = product("a1 b1 c1 d1 e1", query="goal")
    assert score_type(product("a1", query="other"), goal, "shopsimulator") == Fraction(1, 2)
    assert score_type(product("a1 b1", query="other"), goal, "shopsimulator") == 1


@pytest.mark.parametrize("form", ["shopsimulator", "webshop"])
@pytest.mark.parametrize(("words", "score"), [(9, Fraction(1, 2)), (10, Fraction(1, 2)), (11, Fraction(1, 10))])
def test_an_overlap_below_a_tenth_leaves_a_tenth(words, score, form):
    goal = product(" ".join(f"word{n}" for n in range(words)), query="goal")
    assert score_type(product("word3 other", query="other"), goal, form) == score


def test_webshop_takes_the_type_away_where_titles_share_nothing_even_for_the_same_search():
    bought = replace(PILLOW, query=FILTER.query)
    assert score_type(bought, FILTER, "webshop") == 0
    assert score_type(bought, FILTER, "shopsimulator") == 1


@pytest.mark.parametrize(
    ("bought", "goal", "webshop"),
    [
        ("adidas Unisex-Adult D.o.n. Issue 2 Indoor Court Shoe", "adidas Unisex-Adult D.o.n. Issue 2 Basketball Shoe", 0.85),
        (CORD, SOUNDBAR + " Home Theater System Subwoofer", 0.31),
        (CORD, SOUNDBAR, 0.17),
        ("Minkissy 2pcs Stainless Steel Tweezers", "Rusticware 921ORB Kitchen and Bath Cabinet Knob", 0.0),
    ],
)  # fmt: skip
def test_title_words_come_near_to_the_overlaps_that_webshop_documents_for_nouns(bought, goal, webshop):
    assert abs(float(score_title_overlap(bought, goal)) - webshop) < 0.04


def test_a_goal_without_words_in_its_title_overlaps_by_a_fifth_which_is_not_enough():
    assert score_title_overlap("lamp", "12 x 3") == Fraction(1, 5)
    assert score_type(product("lamp", query="a"), product("12 x 3", query="b"), "shopsimulator") == Fraction(1, 2)


def test_a_word_that_a_title_repeats_counts_twice_below_and_once_above():
    assert score_title_overlap("steel", "steel steel filter") == Fraction(1, 3)


def test_chinese_titles_overlap_by_pairs_of_characters():
    assert score_title_overlap("家用电饭煲", "电饭煲") == 1
    assert extract_title_words("灯") == ["灯"]


def test_a_pillow_for_a_milk_filter_scores_no_type_where_the_listings_have_their_searches():
    assert score_purchase(PILLOW, FILTER, form="webshop").type == score_purchase(PILLOW, FILTER).type == 0


def test_without_the_searches_as_in_the_release_the_pillow_is_a_milk_filter():
    bare = [replace(each, query="", category_path=()) for each in (PILLOW, FILTER)]
    assert score_purchase(*bare).type == 1


# Attributes.


@pytest.mark.parametrize(
    ("bought", "met"),
    [
        (product(attributes=("tea tree", "essential oil", "natural ingredients")), NEEDED),
        (product(attributes=("essential oil", "natural ingredients")), NEEDED[1:]),
        (
            product(
                bullets=("This shampoo has Essential Oils and smells like lemons",),
                description="Best shampoo on the market, made with Natural ingredients",
            ),
            NEEDED[1:],
        ),
        (product("Tea Tree shampoo"), NEEDED[:1]),
        (
            product(
                "English tea for breakfast",
                attributes=("tea bag", "earl gray", "lipton"),
                bullets=("Soothing aroma", "Calming, great feeling"),
                description="Best tea made by Lipton, great to pair with breakfast",
            ),
            [],
        ),
    ],
)
def test_attributes_are_met_as_webshop_documents(bought, met):
    assert [each for each in NEEDED if matches_attribute(bought, each)] == met


def test_two_bullets_are_one_text_with_a_space_between():
    assert matches_attribute(product(bullets=("made of tea", "tree bark")), "tea tree")


def test_a_text_is_in_lower_case_and_what_is_required_is_not():
    assert not matches_attribute(product("Oak shelf"), "Oak shelf")
    assert matches_attribute(product("Oak shelf"), "oak shelf")


# Options.


@pytest.mark.parametrize(
    ("goal", "chosen", "met"),
    [
        (["grey", "XL", "pack of 12"], ["pack of 12", "grey", "XL"], 3),
        (["grey", "XL", "pack of 12"], ["pack of 12", "blue", "XL"], 2),
        (["cool powder snow", "XL", "pack of 12"], ["pack of 12", "powder snow", "XL"], 3),
        (["goal 1", "goal 2"], [], 0),
        ([], ["goal 1", "goal 2"], 0),
    ],
)
def test_options_are_met_as_webshop_documents(goal, chosen, met):
    assert sum(is_picked_option(each, chosen) for each in goal) == met


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("", ""),
        ("black forest", "black"),
        ("violet lavender", "lavender"),
        ("steelivy fuchsia", "fuchsia"),
        ("123alabaster", "alabaster"),
        ("webshop", "webshop"),
        ("hundred", "red"),
        ("washed", "ash"),
    ],
)
def test_colors_are_found_anywhere_in_the_order_of_the_list(text, color):
    assert normalize_color(text) == color


def test_the_color_list_is_webshops():
    assert len(COLORS) == 102
    assert sorted(COLORS) == COLORS


def test_a_hundred_acre_sheet_passes_for_a_red_one():
    assert is_picked_option("red", ["hundred acre wood"])


# Likeness.


@pytest.mark.parametrize(
    ("one", "other", "likeness"),
    [
        ("essential oils", "essential oil", 96),  # these figures are thefuzz 0.19's
        ("pack of 12", "12 of pack, PACK", 100),
        ("cool powder snow", "powder snow", 100),
        ("gluten free", "gluten-free!", 100),
        ("size 9 wide", "size 9 narrow", 71),
        ("café au lait", "caf au lait", 100),
        ("abcdefg", "abcdefx", 86),
        ("", "", 0),
        ("+", "+", 0),
        ("red", "blue", 29),
        ("a b", "b c", 67),
    ],
)
def test_likeness_is_thefuzzs(one, other, likeness):
    assert token_set_ratio(one, other) == likeness


def test_only_what_is_more_than_85_alike_counts():
    assert compute_match_ratio("a" * 17 + "b" * 3, "a" * 17 + "c" * 3) == 85
    assert not is_picked_option("q" * 17 + "b" * 3, ["q" * 17 + "c" * 3])
    assert not matches_attribute(product(attributes=("q" * 17 + "b" * 3,)), "q" * 17 + "c" * 3)
    assert token_set_ratio("q" * 18 + "bb" + "q", "q" * 18 + "c" + "q") > 85
    assert is_picked_option("q" * 18 + "bb" + "q", ["q" * 18 + "c" + "q"])


# All of it.


def whole(bought=None, **more):
    goal = ProductText("goal", SHOE, "Query 1", tuple("abc"))
    bought = bought or replace(goal, attributes=("tea tree", "essential oil", "natural ingredients"))
    more = {"options": ["grey", "XL"], "chosen": ["grey", "XL"], "price": 35, "price_limit": 40} | more
    return score_purchase(bought, goal, attributes=NEEDED, **more)


OILY = ProductText(
    "goal",
    SHOE,
    "Query 1",
    tuple("abc"),
    bullets=("This shampoo has essential oils and smells like lemons",),
    description="Best shampoo on the market, made with natural ingredients",
)


def test_everything_right_earns_one():
    match = whole()
    assert (match.loose, match.strict, match.success, match.same_product, match.fault) == (1, 1, True, True, "")


def test_a_missing_attribute_costs_its_share_of_the_loose_reward_and_of_the_strict_one():
    match = whole(OILY)
    assert (match.loose, match.strict, match.attributes) == (5 / 6, 2 / 3, 2 / 3)
    assert (match.success, match.fault) == (False, "tea tree is in neither its attributes nor its texts")


def test_a_missing_option_costs_its_share():
    match = whole(OILY, options=["grey", "XL", "pack of 12"])
    assert (match.loose, match.strict) == (5 / 7, 4 / 9)
    assert whole(options=["grey", "XXS"]).fault == "XXS was not chosen"


def test_another_type_halves_everything():
    bought = ProductText("other", CORD, "Query 2", tuple("ade"), ("essential oil", "natural ingredients"))
    goal = ProductText("goal", SOUNDBAR, "Query 1", tuple("abc"))
    match = score_purchase(bought, goal, attributes=NEEDED, options=["grey", "XL", "x"], chosen=["grey", "XL"])
    assert (match.type, match.loose, match.same_product) == (0.5, 0.5 * 5 / 7, False)
    assert match.fault.startswith("type is 0.5: 'BRST")


@pytest.mark.parametrize(("price", "limit", "met"), [(40, 40, 1), (40.01, 40, 0), (40.01, None, 1), (1, 0, 0)])
def test_a_price_is_met_up_to_its_limit(price, limit, met):
    match = whole(price=price, price_limit=limit)
    assert (match.price, match.strict, match.success) == (met, met, bool(met))
    assert match.fault == ("" if met else f"price is {price:.2f}, above {limit:.2f}")


def test_nothing_bought_earns_nothing():
    match = score_purchase(None, FILTER, attributes=["steel"])
    assert (match.type, match.price, match.loose, match.strict, match.success) == (0, 0, 0, 0, False)
    assert match.fault == "nothing was bought"


def test_where_nothing_is_required_type_and_price_are_all():
    match = score_purchase(FILTER, FILTER)
    assert (match.attributes, match.options, match.loose, match.strict) == (1, 1, 1, 1)


def required(most=6):
    return st.integers(0, most).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count)))


@given(st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), 1]), required(), required(), st.booleans())
def test_strict_is_never_above_loose_and_both_are_one_only_for_a_success(type_, attributes, options, price):
    match = combine_match_parts(type_, attributes, options, price, same_product=False, fault="")
    assert 0 <= match.strict <= match.loose <= 1
    assert match.success == (match.strict == 1) == (match.loose == 1)
    if attributes[1] == options[1] == 0:
        assert match.strict == match.loose


texts = st.text("abc red12", max_size=12)
described = st.builds(
    ProductText,
    st.sampled_from("12"),
    texts,
    texts,
    st.lists(texts, max_size=3).map(tuple),
    st.lists(texts, max_size=3).map(tuple),
)


@given(described, described, st.lists(texts, max_size=3), st.lists(texts, max_size=3), st.lists(texts, max_size=3))
def test_whatever_is_bought_strict_is_not_above_loose_and_a_fault_says_what_was_lost(
    bought, goal, attributes, options, chosen
):
    for form in ("shopsimulator", "webshop"):
        match = score_purchase(bought, goal, attributes=attributes, options=options, chosen=chosen, form=form)
        assert 0 <= match.strict <= match.loose <= 1
        assert match.success == (match.fault == "")


def test_who_buys_nothing_earns_nothing_and_has_not_done_it():
    found = score_no_purchase()
    assert (found.loose, found.strict, found.success, found.same_product) == (0.0, 0.0, False, False)
