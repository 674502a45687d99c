"""Each error of the paper's table in an episode that makes it, and none where nothing of the kind was done."""

import pytest

from shopwright.pipeline.shopping.error_taxonomy import ERRORS, label_errors
from shopwright.pipeline.shopping.score import score_typed_match
from shopwright.schemas.shop import Choice
from tests.shopping.kettles import BODY, BRAND, CAPACITY, COLOR, LIMIT, Visit, look, need, profile, task

FACTS = ("body", "capacity", "color", "price")
PERSONAL = (BODY, CAPACITY, COLOR, LIMIT, BRAND)


def careful(scenario="single", **more):
    """Reads about a kettle of the wrong capacity, the only error being that it is bought after all."""
    visit = Visit(scenario, **more)
    if scenario.startswith("multi"):
        visit.asks("What should it be like?", "walls that stay cool, red", told=FACTS)
    return visit.search("red double-wall kettle", "p1", "p2").opens("p2").reads().picks("red")


def talk(**more):
    """The same in a conversation."""
    return careful("multi", **more)


def personal(scenario="single personal", liked=None, **more):
    return Visit(scenario, task=task(*PERSONAL, **more), profile=liked or profile(brands=["Pellworth"]))


# None.


@pytest.mark.parametrize("scenario", ["single", "multi", "single personal", "multi personal"])
def test_a_careful_visit_that_fails_shows_no_error(scenario):
    assert careful(scenario).buys().found() == {}
    assert careful(scenario).found() == {}


def test_a_success_has_no_errors_however_it_came_about():
    visit = Visit().clicks("x", "There is no button 'x' on this page.").search("a", "p0").opens("p0").buys()
    assert visit.found() == {}
    assert visit.task.product_id == visit.bought.item.id


def test_an_episode_without_steps_has_none():
    assert Visit().found() == {}


def test_steps_and_what_they_led_to_have_to_be_equally_many():
    visit = careful()
    match = score_typed_match(visit.task.needs, visit.task.category, "p0", None)
    with pytest.raises(ValueError, match="4 steps, but 3 of"):
        label_errors(visit.task, "single", visit.steps, match, visit.seen[1:], look=look, bought=None)


def test_the_table_is_whole_and_in_its_order():
    areas = [area for area, _ in ERRORS]
    counts = [("search", 3), ("click", 4), ("buy", 2), ("ask", 3), ("personalisation", 3), ("shopper", 3)]
    assert areas == [area for area, count in counts for _ in range(count)]


def test_an_error_is_given_once_at_the_first_step_that_shows_it_in_the_tables_order():
    visit = Visit().clicks("x", "There is no button 'x' on this page.").clicks("y", "There is no button 'y'.")
    visit.search("kettle", "p1").search("kettle", "p1")
    match = score_typed_match(visit.task.needs, visit.task.category, "p0", None)
    made = label_errors(visit.task, "single", visit.steps, match, visit.seen, look=look, bought=None)
    assert [(each.area, each.name, each.step) for each in made] == [
        ("search", "repeated similar query", 3),
        ("click", "nonexistent button", 0),
    ]


# Search.

IGNORED = "ignored key attribute"


def searching(*queries, shown=("p1",), visit=None):
    visit = visit or Visit()
    for query in queries:
        visit.search(query, *shown)
    return visit


def test_a_third_search_without_a_word_of_what_is_known_ignores_it():
    assert searching("water boiler", "tea maker", "jug for tea").found() == {IGNORED: 2}
    assert searching("water boiler", "tea maker").found() == {}


@pytest.mark.parametrize(
    "query", ["red jug", "double-wall jug", "jug that stays cool", "jug for seven mugs", "1.7 jug"]
)
def test_a_search_with_any_word_of_a_need_does_not(query):
    assert searching("water boiler", "tea maker", query).found() == {}


def test_a_price_is_no_attribute_to_search_for():
    assert searching("water boiler", "tea maker", "jug 40 dollars").found() == {IGNORED: 2}


def test_what_the_shopper_has_not_told_cannot_be_ignored():
    assert searching("water boiler", "tea maker", "jug", visit=Visit("multi")).found().get(IGNORED) is None
    told = Visit("multi").asks("Color?", "red", told=["color"], asked=("color",))
    assert searching("water boiler", "tea maker", "jug", shown=["p3"], visit=told).found()[IGNORED] == 3


def test_what_the_opening_of_a_conversation_tells_can_be_ignored():
    visit = Visit("multi", task=task(opening_facts=["color"]))
    assert searching("water boiler", "tea maker", "jug", shown=["p3"], visit=visit).found()[IGNORED] == 2


def test_where_a_product_was_listed_that_has_it_all_the_words_need_not_be_there():
    known = searching("water boiler", shown=["p0"]).opens("p0")
    assert searching("tea maker", "jug", visit=known).found() == {}


@pytest.mark.parametrize("shown", ["p3", "p5", "p1", "gone"])
def test_what_is_of_another_kind_or_sold_out_or_lacks_one_is_no_such_product(shown):
    found = searching("water boiler", "tea maker", "jug", shown=[shown]).found()
    assert found == {IGNORED: 2}


def test_a_search_that_did_nothing_is_none():
    visit = searching("water boiler", "tea maker").search("jug", fault="There is no search box on this page.")
    assert visit.found() == {}


ABANDONED = "abandoned high-match result"


@pytest.mark.parametrize("listed", ["p0", "p4", "p9"])
def test_searching_again_without_opening_what_has_all_attributes_abandons_it(listed):
    assert Visit().search("red kettle", "p1", listed).search("red steel jug").found() == {ABANDONED: 1}


@pytest.mark.parametrize("listed", ["p1", "p2", "p3", "p5"])
def test_what_lacks_one_or_is_sold_out_or_of_another_kind_can_be_left(listed):
    assert Visit().search("red kettle", listed).search("red steel jug").found() == {}


def test_a_search_that_did_nothing_abandons_nothing():
    visit = Visit().search("red kettle", "p0").search("red jug", fault="There is no search box on this page.")
    assert visit.found() == {}


def test_the_right_product_counts_on_a_later_page_of_the_results():
    visit = Visit().search("red kettle", "p1").add("click[next >]", shown=("p0",)).search("red steel jug")
    assert visit.found() == {ABANDONED: 2}


def test_what_was_opened_by_then_was_not_abandoned():
    assert Visit().search("red kettle", "p0").opens("p0").search("red steel jug").found() == {}
    again = Visit().search("red kettle", "p0").opens("p0").search("red steel jug", "p0").search("red thing")
    assert again.found() == {}
    late = Visit().search("red kettle", "p0").search("red steel jug").opens("p0")
    assert late.found() == {ABANDONED: 1}


def test_without_attributes_only_the_right_product_is_a_high_match():
    few = task(COLOR, LIMIT)
    assert Visit(task=few).search("red kettle", "p1").search("red jug").found() == {}
    assert Visit(task=few).search("red kettle", "p0").search("red jug").found() == {ABANDONED: 1}


REPEATED = "repeated similar query"


@pytest.mark.parametrize("again", ["red tea kettle", "Kettle, red tea", "red tea kettles"])
def test_the_same_words_again_are_a_repeated_search(again):
    assert searching("red tea kettle", "double-wall pot", again).found() == {REPEATED: 2}


def test_four_words_of_five_are_the_same_and_three_of_four_are_not():
    assert searching("red tea kettle pot", "red tea kettle pot cool").found() == {REPEATED: 1}
    assert searching("red tea kettle", "red tea kettle cool").found() == {}


def test_a_chinese_search_is_held_against_another_by_pairs_of_characters():
    assert searching("红色电热水壶", "红色电热水壶").found() == {REPEATED: 1}
    assert searching("红色电热水壶", "红色玻璃茶具").found() == {}


def test_once_the_shopper_has_told_something_new_the_same_search_is_another():
    visit = talk().search("red cool kettle").asks("Capacity?", "Room for seven mugs", told=["capacity"])
    assert visit.search("red cool kettle").found() == {REPEATED: 4 + 1 + 1 + 1}  # told before, so nothing new
    visit = Visit("multi").search("kettle").asks("Color?", "red", told=["color"]).search("kettle")
    assert REPEATED not in visit.found()


# Click.

VIOLATED = "violated hard requirement"


def test_opening_another_kind_of_thing_violates_a_requirement():
    assert Visit().search("red kettle", "p3").opens("p3").found() == {VIOLATED: 1}


def test_opening_what_is_above_the_known_limit_violates_it():
    assert Visit().search("red kettle", "p4").opens("p4").found() == {VIOLATED: 1}
    assert VIOLATED not in Visit("multi").search("red kettle", "p4").opens("p4").found()
    assert Visit().search("red kettle").opens("p0").found() == {}  # one variant is above it, another is not


def test_choosing_another_value_than_the_known_one_violates_it():
    assert careful().picks("blue").found() == {VIOLATED: 4}
    visit = Visit("multi").search("kettle", "p2").opens("p2").reads().picks("blue")
    assert VIOLATED not in visit.found()


def test_an_attribute_that_is_chosen_is_a_requirement_as_well():
    assert careful().picks("steel", "Body").found() == {VIOLATED: 4}


def test_going_back_to_a_product_is_not_choosing_what_is_chosen_there():
    visit = careful()
    visit.chosen = (Choice(name="color", value="blue"),)
    visit.product = "p0"
    assert visit.add("click[< prev]").found() == {}


def test_a_choice_that_the_task_does_not_care_about_violates_nothing():
    assert careful().picks("long", "cord").found() == {}


def test_an_attribute_that_shows_only_on_the_page_can_be_looked_up():
    assert Visit().search("red kettle", "p1").opens("p1").found() == {}


def test_what_is_not_in_the_shop_violates_nothing():
    assert Visit().search("red kettle").opens("gone").found() == {}


UNCONFIRMED = "unconfirmed key attribute"


def test_choosing_an_option_before_reading_what_the_title_does_not_say():
    assert Visit().search("red kettle", "p2").opens("p2").picks("red").found() == {UNCONFIRMED: 2}
    assert Visit().search("red kettle", "p2").opens("p2").picks("red").reads().found() == {UNCONFIRMED: 2}
    assert Visit().search("red kettle", "p2").opens("p2").reads("features").picks("red").found() == {}


def test_buying_so_without_a_choice_is_the_same_error():
    visit = Visit().search("red kettle", "p2").opens("p2").buys()
    assert visit.found() == {UNCONFIRMED: 2, "no detail confirmation": 2}


def test_reading_about_another_product_confirms_nothing():
    visit = Visit().search("red kettle", "p1", "p2").opens("p1").reads().opens("p2").picks("red")
    assert visit.found() == {UNCONFIRMED: 4}


def test_where_the_title_says_it_all_nothing_is_unconfirmed():
    visit = Visit().search("red kettle", "p6").opens("p6").picks("red")
    assert visit.found() == {}


@pytest.mark.parametrize(("fact", "value"), [("filling", "goose down"), ("color", "red"), ("rating", "4")])
def test_what_title_options_or_stars_show_need_not_be_read_about(fact, value):
    """A pillow whose title names its filling, a kettle that is offered in colors."""
    shows = task(need(fact, value, op="is not" if fact == "filling" else "is"), LIMIT)
    product = {"filling": "p11"}.get(fact, "p1")
    assert UNCONFIRMED not in Visit(task=shows).search("red kettle", product).opens(product).buys().found()


def test_a_title_that_names_another_value_shows_what_is_wrong():
    oak = task(need("handle", "oak"), need("body", "steel"), LIMIT)
    assert Visit(task=oak).search("steel kettle", "p10").opens("p10").buys().found() == {"no detail confirmation": 2}


def test_an_attribute_that_is_not_known_yet_cannot_be_confirmed():
    assert UNCONFIRMED not in Visit("multi").search("red kettle", "p2").opens("p2").picks("red").found()


NO_BUTTON = "nonexistent button"


def test_a_click_on_what_is_not_there():
    assert Visit().search("red kettle").clicks("teal", "There is no button 'teal' on this page.").found() == {
        NO_BUTTON: 1
    }


def test_other_clicks_and_turns_that_do_nothing_are_not_such():
    visit = careful().clicks("buy now", "Choose color first.").add("buy it", fault="There is no button 'buy it'.")
    assert visit.found() == {}


RETRIED = "retried rejected attribute"


def test_clicking_again_what_the_shopper_turned_down():
    visit = talk().asks("Is P1 in blue fine?", "Neither.", rejected=("p1", "Blue"))
    assert visit.found() == {}
    assert visit.clicks("BLUE").found() == {RETRIED: 6}
    assert Visit("multi").asks("P1?", "No.", rejected=("p1",)).opens("p1").found()[RETRIED] == 1
    assert RETRIED not in Visit("multi").opens("p1").asks("P1?", "No.", rejected=("p1",)).found()


def test_a_value_that_the_shopper_answered_with_another_was_turned_down():
    visit = Visit("multi").search("kettle", "p2").asks("Is blue fine?", "No, red.", told=["color"], asked=("color",))
    assert RETRIED not in visit.found()
    assert visit.opens("p2").picks("blue").found()[RETRIED] == 3


@pytest.mark.parametrize("question", ["Is red fine?", "Which color?", "A blueish one?"])
def test_a_value_that_was_confirmed_or_not_named_was_not_turned_down(question):
    visit = Visit("multi").search("kettle", "p2").asks(question, "Red.", told=["color"])
    assert RETRIED not in visit.opens("p2").picks("red").picks("blue").found()


def test_the_same_measure_in_another_unit_was_not_turned_down():
    visit = Visit("multi").search("kettle", "p8").asks("Is 1700 ml fine?", "It is.", told=["capacity"])
    assert RETRIED not in visit.opens("p8").picks("1700 ml", "capacity").found()


def test_a_value_of_something_else_than_what_was_told_was_not_turned_down():
    visit = Visit("multi").search("kettle", "p2").asks("Is blue fine?", "Cool walls.", told=["body"])
    assert RETRIED not in visit.opens("p2").picks("blue").found()


# Buy.

NO_DETAIL = "no detail confirmation"


def test_buying_without_reading_about_it():
    visit = Visit().search("red kettle", "p6").opens("p6").picks("red").buys()
    assert visit.found() == {NO_DETAIL: 3}
    assert Visit().search("red kettle", "p6").opens("p6").picks("red").found() == {}


def test_reading_about_another_product_is_not_reading_about_it():
    visit = Visit().search("red kettle", "p1", "p6").opens("p1").reads().opens("p6").picks("red").buys()
    assert visit.found() == {NO_DETAIL: 5}


def test_in_a_conversation_what_was_not_told_has_to_be_asked_for():
    visit = Visit("multi").asks("?", "Cool walls, red", told=["body", "color", "capacity"])
    visit.search("red kettle", "p2").opens("p2").reads().picks("red").buys()
    assert visit.found() == {NO_DETAIL: 5, "do not ask when info missing": 5}


REJECTED = "purchase after rejection"


def test_buying_what_the_shopper_refused():
    assert talk().asks("Buy it?", "No!", verdict="refused").buys().found() == {REJECTED: 6}
    assert talk().asks("Buy it?", "No!", verdict="refused").found() == {}
    assert talk().asks("Buy it?", "Yes.", verdict="agreed").buys().found() == {}


def test_the_last_word_counts():
    visit = talk().asks("Buy it?", "No!", verdict="refused").asks("Really not?", "Well, yes.", verdict="agreed")
    assert visit.buys().found() == {}
    visit = talk().asks("Buy it?", "Yes.", verdict="agreed").asks("Sure?", "No!", verdict="refused")
    assert visit.buys().found() == {REJECTED: 7}


def test_once_something_else_is_chosen_it_is_not_what_was_refused():
    visit = talk().picks("blue").asks("Buy it?", "No!", verdict="refused").picks("red")
    assert REJECTED not in visit.buys().found()
    visit = talk().asks("Buy it?", "No!", verdict="refused").opens("p1").reads().buys()
    assert REJECTED not in visit.found()


def test_once_the_shopper_told_what_was_missing_it_is_no_longer_refused():
    visit = Visit("multi").asks("?", "Cool walls, red", told=FACTS[:3]).search("red kettle", "p2").opens("p2").reads()
    visit.picks("red").asks("Buy it?", "Not yet.", verdict="refused")
    assert REJECTED in visit.buys().found()
    visit = Visit("multi").asks("?", "Cool walls, red", told=FACTS[:3]).search("red kettle", "p2").opens("p2").reads()
    visit.picks("red").asks("Buy it?", "Not yet.", verdict="refused").asks("Price?", "40", told=["price"])
    assert REJECTED not in visit.buys().found()


# Ask.

NOT_ASKED = "do not ask when info missing"


def test_coming_to_an_end_without_having_asked():
    assert Visit("multi").search("red kettle", "p1").found() == {NOT_ASKED: 0}
    told = Visit("multi").asks("?", "Cool walls, red", told=FACTS[:3]).search("red kettle", "p1")
    assert told.found() == {NOT_ASKED: 1}


def test_what_was_said_at_once_or_is_in_the_profile_need_not_be_asked_for():
    assert Visit().search("red kettle", "p1").found() == {}
    assert personal("multi personal").asks("?", "Cool walls, red", told=FACTS).found() == {}


def test_what_was_asked_for_in_vain_is_not_the_agents_error():
    visit = talk(task=task(BODY, CAPACITY, COLOR, LIMIT, need("lid", "hinged"))).asks("The lid?", "Hm.", asked=("lid",))
    assert visit.found() == {"silent on key goal": 5}


OVER = "over-confirmed known info"


def test_asking_about_what_was_told_before():
    assert talk().asks("Red, right?", "Yes, red.", told=["color"], asked=("color",)).found() == {OVER: 5}


def test_asking_about_what_the_profile_says():
    visit = personal("multi personal").asks("?", "Cool walls, red", told=FACTS)
    assert visit.asks("Which brand?", "As usual.", asked=("brand",)).found() == {OVER: 1}


@pytest.mark.parametrize(
    "more",
    [{"asked": ()}, {"asked": ("color", "lid")}, {"asked": ("color",), "verdict": "agreed"}],
)
def test_asking_about_something_new_too_or_whether_to_buy_is_no_such_error(more):
    assert OVER not in talk().asks("Red, right? And the lid?", "Yes.", **more).found()


def test_the_first_question_about_something_is_no_such_error():
    assert OVER not in Visit("multi").asks("Color?", "red", told=["color"], asked=("color",)).found()


FAREWELL = "asked after farewell"


def test_asking_after_the_shopper_has_gone():
    visit = talk().asks("Thanks.", "Bye!", farewell=True)
    assert visit.found() == {}
    assert visit.asks("Still there?").found() == {FAREWELL: 6}


# Personalisation.

IGNORES = "ignore personal info"
MIXED = "mix short- and long-term priorities"


def bought(product, scenario="single personal", variant=0, **more):
    visit = personal(scenario, **more)
    if scenario.startswith("multi"):
        visit.asks("?", "Cool walls, red", told=FACTS)
    return visit.search("red kettle", product).opens(product).reads().buys(variant)


def test_buying_what_the_profile_speaks_against():
    assert bought("p2").found() == {IGNORES: 3}
    assert bought("p2", "multi personal").found() == {IGNORES: 4}


def test_without_the_profile_or_a_purchase_nothing_personal_is_ignored():
    assert IGNORES not in careful().buys().found()
    assert IGNORES not in personal().search("red kettle", "p2").opens("p2").found()
    assert IGNORES not in bought("p2", "single").found()


def test_buying_what_is_usual_and_not_what_was_stated():
    assert bought("p1").found() == {MIXED: 3}
    assert bought("p0", variant=1).found() == {MIXED: 3}


def test_the_usual_brand_of_another_kind_of_thing_is_mixed_up_as_well():
    wanted = task(BODY, CAPACITY, BRAND)
    visit = Visit("single personal", wanted, profile()).search("red kettle", "p3").opens("p3").reads().buys()
    assert visit.found() == {VIOLATED: 1, MIXED: 3}


def test_where_the_profile_carries_nothing_or_is_not_there_nothing_is_mixed_up():
    assert careful("single personal").buys().found() == {}
    assert MIXED not in bought("p1", "single").found()
    assert MIXED not in personal().search("red kettle", "p1").found()


INTERPRETED = "overinterpret personal info"
LIKED = profile(
    brands=["Pellworth", "Norrvik"],
    colors=["teal", "blue"],
    materials=["oak wood"],
    styles=["rustic"],
    functions=["whistle"],
    sizes=[Choice(name="Rings", value="size: 9"), Choice(name="Shirts", value="fit: slim")],
)


@pytest.mark.parametrize("word", ["Norrvik", "teal", "oak wood", "rustic", "whistle", "slim"])
def test_searching_for_what_is_liked_and_not_needed(word):
    assert personal(liked=LIKED).search(f"red {word} kettle").found() == {INTERPRETED: 0}


@pytest.mark.parametrize("word", ["Pellworth", "blue", "cream", "oak", "wood", "9"])
def test_searching_for_what_the_right_product_has_or_what_is_not_liked_is_not(word):
    assert personal(liked=LIKED).search(f"red {word} kettle").found() == {}


@pytest.mark.parametrize(
    "more",
    [
        {"instruction": "A teal one."},
        {"simple_instruction": "A teal one."},
        {"category": "Teal kettles"},
        {"needs": [*PERSONAL, need("lid", "teal")]},
        {"needs": [*PERSONAL, need("lid", "dark", said="a teal one")]},
    ],
)
def test_what_the_task_names_is_needed(more):
    assert INTERPRETED not in personal(liked=LIKED, **more).search("red teal kettle").found()


def test_the_titles_words_of_the_right_product_are_not_overinterpreted():
    assert personal(liked=profile(styles=["tea"])).search("red tea kettle").found() == {}


def test_without_a_profile_nothing_is_overinterpreted():
    assert Visit("single", task(*PERSONAL), LIKED).search("red teal kettle").found() == {}
    assert Visit("single personal", task(*PERSONAL)).search("red teal kettle").found() == {}


# The shopper.

ADDED = "adding extra intent"
DISTORTED = "distorting target intent"


def answered(answer, question="What should it be like?", shown=("p2", "p6")):
    return talk().search("red double-wall pot", *shown).asks(question, answer)


@pytest.mark.parametrize("answer", ["With a cork grip.", "It has to weigh 2 lb.", "I want Norrvik."])
def test_a_shopper_that_wants_something_the_task_does_not_say(answer):
    assert answered(answer).found() == {ADDED: 6}


@pytest.mark.parametrize("answer", ["Blue.", "About 1 L."])
def test_a_shopper_that_wants_another_value_than_the_task(answer):
    assert answered(answer).found() == {DISTORTED: 6}
    assert answered(answer, "Red or blue, 1 L?").found() == {DISTORTED: 6}


@pytest.mark.parametrize(
    "answer", ["Red, and walls that stay cool.", "Double-wall, 1.7 L.", "A cork board.", "As I usually do.", "Copper."]
)
def test_a_shopper_that_says_what_it_needs_or_what_is_no_fact_seen(answer):
    assert answered(answer).found() == {}


@pytest.mark.parametrize("answer", ["No, not blue.", "I don't want blue.", "不要 blue"])
def test_a_value_of_the_question_that_is_denied_is_not_the_shoppers(answer):
    assert answered(answer, "Is blue fine?").found() == {}
    assert answered(answer).found() == {DISTORTED: 6}


@pytest.mark.parametrize("answer", ["Up to $60.", "About 25.50 dollars.", "不超过300元。"])
def test_a_shopper_that_names_another_price(answer):
    assert answered(answer).found() == {DISTORTED: 6}
    frugal = Visit("multi", task=task(BODY, COLOR)).asks("?", "Red, cool walls", told=["body", "color"])
    assert frugal.asks("Anything else?", answer).found() == {ADDED: 1}


@pytest.mark.parametrize("answer", ["Up to $40.", "40 bucks", "40元以内"])
def test_a_shopper_that_names_its_price(answer):
    assert answered(answer).found() == {}


def test_a_value_that_a_needed_fact_has_too_is_meant_of_that():
    assert answered("Oak, please.", shown=["p7"]).found() == {DISTORTED: 6}


def test_only_what_was_seen_by_then_is_known_as_a_value():
    assert talk().asks("?", "With a cork grip.").search("red double-wall pot", "p6").found() == {}


SILENT = "silent on key goal"


def test_a_shopper_that_does_not_tell_what_is_needed():
    visit = Visit("multi").asks("?", "Cool walls, red", told=FACTS[:3]).asks("Price?", "Hm.", asked=("price",))
    assert visit.found() == {SILENT: 1}


def test_a_shopper_that_tells_it_or_told_it_or_is_asked_for_something_else_is_not_silent():
    asked = (
        Visit("multi").asks("?", "Cool walls", told=FACTS[:3]).asks("Price?", "40", told=["price"], asked=("price",))
    )
    assert asked.found() == {}
    assert SILENT not in talk().asks("Price?", "Hm.", asked=("price",)).found()
    assert SILENT not in talk().asks("The lid?", "Hm.", asked=("lid",)).found()
    assert SILENT not in personal("multi personal").asks("Brand?", "As usual.", asked=("brand",)).found()
