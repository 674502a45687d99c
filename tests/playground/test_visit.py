"""A visitor's shopping task without any browser."""

import re
from threading import Thread

import pytest

from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.visit import NOT_BEGUN, OVER, Visit
from shopwright.pipeline.render.pages import SEARCH_INPUT, map_names_to_labels


@pytest.fixture
def visit(small):
    return Visit(PlaygroundShop(str(small.folder)))


def follow(visit):
    """Does what the solver does, by what stands on the pages."""
    for action in visit.list_solver_actions():
        verb, _, words = action.removesuffix("]").partition("[")
        if verb == "ask":
            assert visit.ask(words) == ""
        elif verb == "search":
            assert visit.press(SEARCH_INPUT, words) == ""
        else:
            labels = {label: name for name, label in map_names_to_labels(visit.playing.browser.page).items()}
            assert visit.press(labels[words]) == ""


@pytest.mark.parametrize(("talk", "personal"), [(False, False), (True, False), (False, True), (True, True)])
def test_the_solvers_way_through_the_pages_earns_both_rewards(visit, talk, personal):
    assert visit.reset(1, talk=talk, personal=personal) == ""
    assert bool(visit.profile) == personal
    follow(visit)
    ending = visit.ending()
    assert (ending.typed.success, ending.typed.strict, ending.literal.loose > 0) == (True, 1.0, True)
    assert visit.way


def test_who_has_said_everything_is_not_asked(visit):
    visit.reset(1, talk=False, personal=False)
    left = visit.actions_left
    assert "said everything" in visit.ask("Which color?")
    assert (visit.actions_left, visit.said) == (left, [])


def test_an_empty_question_costs_nothing(visit):
    visit.reset(1, talk=True, personal=False)
    assert visit.ask("  ") == "Write a question first. Nothing was asked."
    assert visit.actions_left == visit.playing.limit


def test_what_is_not_on_the_page_is_said_there(visit):
    visit.reset(1, talk=False, personal=False)
    assert visit.press("cart.buy_now") == "That is not on this page any more." == visit.fault
    assert visit.press(SEARCH_INPUT, "anything at all") == "" == visit.fault


def test_it_ends_without_a_purchase_when_the_actions_are_used_up(visit):
    visit.reset(1, talk=False, personal=False)
    while not visit.over:
        visit.search("nothing")
        visit.press("nav.back_to_search")
    assert visit.ending().bought_product == ""
    assert visit.search("more") == OVER


def test_nothing_can_be_done_before_it_begins(visit):
    assert visit.press("search_button") == visit.ask("What?") == visit.search("mug") == NOT_BEGUN
    assert visit.ending() is None


def test_numbers_begin_again_after_the_last_task(visit, small):
    visit.reset(0, talk=False, personal=False)
    first = visit.playing.task.id
    visit.reset(sum(not task.profile_id for task in small.read("shopping_tasks")), talk=False, personal=False)
    assert visit.playing.task.id == first


def test_a_run_without_tasks_says_what_to_build(tmp_path):
    visit = Visit(PlaygroundShop(str(tmp_path)))
    assert visit.reset(0, talk=False, personal=False) == (
        f"{tmp_path} has no shopping_tasks. Build it: shopwright build shopping_tasks --run {tmp_path}"
    )
    assert visit.play is None


@pytest.mark.slow
def test_without_a_run_a_small_shop_is_built_when_first_wanted():
    place = PlaygroundShop("")
    visit, found = Visit(place), []
    thread = Thread(target=lambda: found.append(visit.reset(1, talk=True, personal=True)))  # as a server would
    thread.start()
    thread.join()
    assert found == [""]
    assert place.session(1).steps


@pytest.mark.slow
def test_the_small_shop_speaks_chinese_too():
    visit = Visit(PlaygroundShop(language="zh"))
    assert visit.reset(1, talk=False, personal=False) == ""
    assert visit.playing.task.language == "zh"
    assert re.search("[\u4e00-\u9fff]", visit.html)
