"""What a purchase earns by typed equality, and that the faults of the published formulas are not in it."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.shopping.facts import ProductVariant
from shopwright.pipeline.shopping.score import list_product_variants, score_by_formula, score_typed_match
from tests.shopping.kettles import BODY, BRAND, CAPACITY, COLOR, KETTLES, LIMIT, SHOP, item, need, task
from tests.shopping.kettles import things as variants

NEEDS = (BODY, CAPACITY, COLOR, LIMIT)
RATING = need("rating", "4.5", op="at least", number=4.5)


def scored(product, variant=0, needs=NEEDS):
    return score_typed_match(needs, KETTLES, "p0", SHOP[product][variant])


def test_the_right_variant_of_the_right_product_earns_everything():
    match = scored("p0")
    parts = (match.type, match.attributes, match.options, match.price, match.loose, match.strict)
    assert parts == (1, 1, 1, 1, 1, 1)
    assert (match.success, match.same_product, match.fault) == (True, True, "")


def test_another_product_that_is_all_that_is_needed_is_a_success_and_not_the_same_product():
    match = scored("p4", needs=(BODY, CAPACITY))
    assert (match.success, match.same_product) == (True, False)


def test_a_need_that_is_not_met_costs_its_share_and_is_said_with_what_it_is_instead():
    match = scored("p1")
    assert (match.attributes, match.loose, match.strict, match.success) == (0.5, 0.75, 0.5, False)
    assert match.fault == "body is steel, not double-wall"


def test_the_price_and_the_color_are_the_variants_own():
    match = scored("p0", 1)
    assert (match.options, match.price, match.loose, match.strict, match.same_product) == (0, 0, 0.5, 0, True)
    assert match.fault == "color is blue, not red"
    assert scored("p0", 1, needs=(LIMIT,)).fault == "price is 45.00, above 40.00"


def test_the_wrong_leaf_earns_nothing_whatever_else_is_right():
    match = scored("p3", needs=(BODY, CAPACITY))
    assert (match.type, match.attributes, match.loose, match.strict, match.success) == (0, 1, 0, 0, False)
    assert match.fault == "category is Pillows, not Electric Kettles"


def test_by_the_formulas_two_nodes_of_the_whole_path_are_enough():
    gold = replace(SHOP["p0"][0].item, path=("Home", "Kitchen", KETTLES))
    other = replace(SHOP["p3"][0].item, title="Something else altogether")
    for path, type in (
        (("Home", "Kitchen", "Pillows"), 1),
        (("Home", "Bedroom", "Pillows"), 0),
        (("Garden", "Kitchen", KETTLES), 1),
    ):
        bought = ProductVariant(replace(other, path=path), None)
        assert score_by_formula(task(), gold, bought).type == type


def test_the_wrong_leaf_is_said_before_a_need_that_is_not_met():
    assert scored("p3").fault.startswith("category")


def test_without_needs_of_a_kind_its_share_is_whole():
    match = scored("p0", 1, needs=())
    assert (match.attributes, match.options, match.price, match.loose, match.success) == (1, 1, 1, 1, True)


def test_what_is_not_known_is_said_so():
    assert scored("p0", needs=[need("lid", "hinged")]).fault == "lid is unknown, not hinged"


def test_figures_of_the_page_are_bounds():
    assert scored("p0", needs=[RATING]).success
    assert (
        scored("p0", needs=[need("shipping days", "1", op="at most", number=1.0)]).fault
        == "shipping days is 2, above 1"
    )
    assert scored("p0", needs=[need("rating", "4.7", op="at least", number=4.7)]).fault == "rating is 4.5, below 4.7"


def test_nothing_bought_earns_nothing():
    match = score_typed_match((), KETTLES, "p0", None)
    assert (match.type, match.loose, match.success, match.fault) == (0, 0, False, "nothing was bought")


def test_units_do_not_matter_and_parts_of_words_are_no_colors():
    jug = variants(item(9, "Jug", capacity="1700 ml"), ("hundred acre", 3500, 1), ("red", 3500, 1))
    assert [score_typed_match([CAPACITY, COLOR], KETTLES, "p0", each).options for each in jug] == [0, 1]
    assert score_typed_match([CAPACITY], KETTLES, "p0", jug[0]).success
    wanted = task(CAPACITY, COLOR)
    assert score_by_formula(wanted, SHOP["p0"][0].item, jug[0]).options == 1  # the literal one finds red in hundred


THINGS = [each for several in SHOP.values() for each in several]
SOME = st.lists(st.sampled_from([*NEEDS, BRAND, RATING, need("handle", "cork grip")]), unique_by=lambda each: each.fact)


@given(SOME, st.sampled_from(["p0", "p2"]), st.sampled_from(THINGS))
def test_strict_is_never_above_loose_and_a_success_is_what_has_no_fault(needs, gold, bought):
    match = score_typed_match(needs, KETTLES, gold, bought)
    assert 0 <= match.strict <= match.loose <= 1
    assert match.success == (match.fault == "") == (match.strict == 1) == (match.loose == 1)
    if all(each.kind == "price" for each in needs):
        assert match.strict == match.loose


# The published formulas, given a task.


def by_texts(product, variant=0, *, needs=NEEDS, **more):
    return score_by_formula(task(*needs), SHOP["p0"][0].item, SHOP[product][variant], **more)


def test_the_target_is_a_success_by_the_formulas_too():
    match = by_texts("p0", needs=(*NEEDS, BRAND, RATING))
    assert (match.success, match.same_product, match.fault) == (True, True, "")
    assert score_by_formula(task(), SHOP["p0"][0].item, None).fault == "nothing was bought"


def test_the_formulas_read_texts_and_the_variants_price():
    assert by_texts("p1").fault == "double-wall is in neither its attributes nor its texts"
    assert by_texts("p6", needs=(BODY, CAPACITY)).attributes == 1
    assert by_texts("p0", 1).options == 0
    assert by_texts("p0", 1, needs=(LIMIT,)).fault == "price is 45.00, above 40.00"
    free = task(LIMIT, price_limit=None)
    assert score_by_formula(free, SHOP["p0"][0].item, SHOP["p0"][1]).price == 1
    assert score_by_formula(task(price_limit=Decimal("35.00")), SHOP["p0"][0].item, SHOP["p0"][0]).price == 1


def test_bullets_are_read_too():
    assert by_texts("p1", bullets=("A Double-wall body",)).attributes == 1


def test_what_is_required_is_held_against_texts_in_lower_case():
    shout = need("body", "DOUBLE-WALL KETTLE, 1.7")
    assert by_texts("p6", needs=(shout,)).attributes == 1
    assert score_by_formula(task(need("color", "RED", "option")), SHOP["p0"][0].item, SHOP["p0"][0]).options == 1
    loud = variants(item(9, "Jug"), ("RED", 1, 1))[0]
    assert score_by_formula(task(COLOR), SHOP["p0"][0].item, loud).options == 1


@pytest.mark.parametrize("form", ["shopsimulator", "webshop"])
def test_a_pillow_is_no_kettle_by_the_formulas_either(form):
    assert by_texts("p3", form=form).type == 0


def test_the_same_leaf_is_the_same_type_unless_webshop_finds_nothing_in_common_in_the_titles():
    jug = ProductVariant(item(9, "Copper jug"), None)
    gold = SHOP["p0"][0].item
    assert [score_by_formula(task(), gold, jug, form=form).type for form in ("shopsimulator", "webshop")] == [1, 0]


# From a store.


def test_the_things_of_a_product_are_its_variants_or_itself():
    options = {0: [each.option for each in SHOP["p0"]], 3: []}
    store = SimpleNamespace(
        row={"p0": 0, "p3": 3}.get, item=lambda row: SHOP[f"p{row}"][0].item, options=options.__getitem__
    )
    assert list_product_variants(store, "p0") == SHOP["p0"]
    assert list_product_variants(store, "p3") == SHOP["p3"]
    assert list_product_variants(store, "") == []
