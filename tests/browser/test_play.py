"""`shopwright play` as a person plays it: an episode won by clicking, a purchase in the shop's pages, a session guessed."""

import os
import re
import shutil
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.playground.app import launch_playground
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.visit import Visit
from shopwright.pipeline.render.pages import map_names_to_labels
from shopwright.pipeline.trainers.env import ShopEnv, solve_env_task
from tests.browser.axe import LACKING, find_axe

CHROMIUM = shutil.which("chromium")
MISSING = [name for name in ("gradio", "playwright") if find_spec(name) is None] + ["chromium"] * (not CHROMIUM)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
]
MINUTE = 60_000
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
SEVERE = ("serious", "critical")
SHOTS = os.environ.get("SHOPWRIGHT_SHOTS", "")
"""A folder for screenshots, to be looked at."""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        bool(MISSING), reason=f"no {', '.join(MISSING)} here: pip install 'shopwright[play]' playwright"
    ),
]


@pytest.fixture(scope="module")
def pages(small):
    with closing(launch_playground(str(small.folder), told=lambda line: None, wait=False)) as found:
        yield found.local_url


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


@pytest.fixture
def visitor(pages, chromium):
    """Opens the pages as somebody; afterwards nothing was wrong in the console, and nothing was asked of other machines."""
    wrong, elsewhere, open = [], [], []

    def come(size="desktop", scheme="light"):
        width, height = SIZES[size]
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.set_default_timeout(MINUTE)
        page = context.new_page()
        page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: elsewhere.append(asked.url) if not asked.url.startswith(LOCAL) else None)
        page.goto(pages)
        page.wait_for_selector("#begin")
        open.append(context)
        return page

    yield come
    for context in open:
        context.close()
    assert (wrong, elsewhere) == ([], [])


LOCAL = ("http://127.0.0.1", "data:", "blob:")


def shot(page, name):
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def tab(page, name):
    page.get_by_role("tab", name=name, exact=True).click()


def begin(page, number=1):
    page.locator("#number input").fill(str(number))
    page.click("#begin")
    page.wait_for_selector("#game .line")


def label(field):
    return field.replace("_", " ")


def called(page, name, given):
    """Fills in a tool's form and presses its button."""
    if name == "submit":
        form = page.locator("#hand-in")
        form.get_by_text("Hand in the answer").click()
    else:
        choose(page, name)
        form = page.locator(f"#form-{name}")
    for field, value in given.items():
        box = form.get_by_label(label(field)).first
        if box.get_attribute("role") in ("listbox", "combobox"):
            choose_value(box, str(value))
        else:
            box.fill(str(value))
            box.press("Tab")
    lines = page.locator("#game .line").count()
    page.click(f"#call-{name}")
    return lines


def choose_value(box, value, tries=20):
    """Types a value into a list until it stays: Enter takes what the list shows at that moment, which under load is not yet what was typed."""
    for _ in range(tries):
        box.fill(value)
        box.press("Enter")
        box.blur()
        if box.input_value().startswith(value):  # ids are listed with their titles
            return
    raise AssertionError(f"The list does not keep {value!r} but has {box.input_value()!r}.")


def choose(page, name):
    tool = page.get_by_label("Tool", exact=True)
    tool.click()
    page.get_by_role("option", name=name, exact=True).click()
    page.wait_for_selector(f"#call-{name}")


def part(page, within, name):
    return page.locator(f'{within} [data-part="{name}"] .number').first.inner_text()


def test_an_episode_of_cart_building_is_won_by_clicking(visitor, small):
    page = visitor()
    begin(page, number=1)
    for name, given in solve_env_task(ShopEnv(str(small.folder)), {"env": "cart_building", "difficulty": 0, "seed": 1}):
        if name == "ask_user":
            page.fill("#ask textarea, #ask input", given["question"])
            lines = page.locator("#game .line").count()
            page.click("#ask-button")
        else:
            lines = called(page, name, given)
        if name != "submit":
            page.wait_for_function("n => document.querySelectorAll('#game .line').length > n", arg=lines)
    page.wait_for_selector("#earned .ending")
    shot(page, "help-desktop")
    assert page.locator("#earned h3").inner_text() == "Won."
    assert part(page, "#earned", "task") == "1"
    assert float(part(page, "#earned", "total")) > 0.75
    page.locator("#earned summary", has_text="The solver's way").click()
    assert page.locator("#earned .way code").last.inner_text() == "submit()"


def test_the_first_game_is_won_by_doing_what_the_hints_say(visitor):
    page = visitor("phone")
    page.click("#begin")
    page.wait_for_selector("#game .line")
    for _ in range(8):
        page.click("#hint-button")
        page.locator("#hint .hint").wait_for()
        words = page.locator("#hint .hint").inner_text()
        if words.startswith("Ask the shopper: "):
            page.fill("#ask textarea, #ask input", words.removeprefix("Ask the shopper: "))
            lines = page.locator("#game .line").count()
            page.click("#ask-button")
        else:
            step = re.match(r"(Choose the tool (\w+)|Open “Hand in the answer”)\. (.*)\.", words)
            fields = "" if "as they are" in step[3] else step[3]
            lines = called(page, step[2] or "submit", dict(each.split(": ") for each in fields.split("; ") if fields))
        if words.startswith("Open"):
            break
        page.wait_for_function("n => document.querySelectorAll('#game .line').length > n", arg=lines)
        page.wait_for_function("!document.querySelector('#hint .hint')")
    page.wait_for_selector("#earned .ending")
    shot(page, "won-by-hints-phone")
    assert page.locator("#earned h3").inner_text() == "Won."
    page.locator("#earned summary", has_text="The expert's way").click()
    assert page.locator("#earned .way code").first.is_visible()


def test_a_link_begins_its_game(visitor):
    page = visitor()
    begin(page, number=4)
    said = page.locator("#game .line").first.inner_text()
    to = page.get_by_role("link", name="Link to this game").get_attribute("href")
    page.goto(page.url.partition("?")[0] + to)
    page.wait_for_selector("#game .line")
    assert page.locator("#game .line").first.inner_text() == said
    assert page.locator("#number input").input_value() == "4"


def test_a_wrong_id_and_a_missing_field_are_said_where_they_were_typed(visitor):
    page = visitor()
    begin(page)
    called(page, "cart_add", {"product_id": "B0NOSUCH"})
    fault = page.locator("#fault-cart_add .wrong")
    fault.wait_for()
    assert fault.inner_text() == "cart_add needs variant id. Nothing was called."
    page.locator("#form-cart_add").get_by_label("variant id").first.fill("B0NOSUCH-1")
    page.locator("#form-cart_add").get_by_label("variant id").first.press("Enter")
    page.click("#call-cart_add")
    page.wait_for_selector("#game .line.fault")
    assert fault.inner_text() == "Product B0NOSUCH has no variant B0NOSUCH-1."
    assert page.locator("#game .line.fault .wrong").inner_text() == "Product B0NOSUCH has no variant B0NOSUCH-1."


def test_a_new_game_begins_with_empty_forms(visitor):
    """Whatever was handed in, and asked, in the last one."""
    page = visitor()
    begin(page)
    called(page, "catalog_search", {"query": "lamp", "max price": 30})
    page.wait_for_selector("#game table")
    called(page, "submit", {"policy answer": "30", "order status": "delivered", "refusal": "not_found"})
    page.wait_for_selector("#earned .ending")
    shot(page, "answer-of-the-last-game")
    page.fill("#ask textarea, #ask input", "Which color?")
    page.wait_for_function(f"({FILLED}).length == 7")  # a page that is drawn again takes a moment
    begin(page, number=2)
    page.wait_for_function("!document.querySelector('#earned .ending')")
    shot(page, "forms-of-the-next-game")
    assert page.evaluate(FILLED) == ["page: 1"]  # which has a number of its own


FILLED = """[...document.querySelectorAll('#hand-in input, #hand-in textarea, [id^=form-] input, [id^=form-] textarea, #ask textarea')]
    .filter(each => each.type == 'checkbox' ? each.checked : each.value && each.value != '(none)').map(each => each.ariaLabel + ': ' + each.value)"""
"""Fields in which something stands."""


@pytest.mark.slow
def test_the_first_game_of_each_situation_can_be_done_and_others_say_that_they_may_not(visitor):
    page = visitor()
    said = {}
    for radio in page.locator("#situation input[type=radio]").all():
        radio.check(force=True)
        page.wait_for_timeout(700)
        page.click("#begin")
        page.wait_for_selector("#game .line")
        page.wait_for_timeout(300)
        said[radio.get_attribute("value")] = page.locator("#game .state").inner_text()
    shot(page, "first-game")
    assert len(said) == len(all_envs())
    assert all("This first game can be done." in text for text in said.values()), said
    begin(page, number=int(page.locator("#number input").input_value()) + 1)
    page.wait_for_function("document.querySelector('#game .state').innerText.includes('hand in a refusal')")
    shot(page, "another-game")


def test_a_product_is_bought_in_the_shops_pages(visitor, small):
    visit = Visit(PlaygroundShop(str(small.folder)))
    visit.reset(1, talk=False, personal=False)
    page = visitor()
    tab(page, "Find")
    page.click("#visit-begin")
    page.wait_for_selector("#visit .shop-page")
    for action in visit.list_solver_actions():
        verb, _, words = action.removesuffix("]").partition("[")
        left = page.locator("#visit .state").inner_text()
        if verb == "search":
            page.locator("#visit .shop-page input").fill(words)
            page.keyboard.press("Enter")
            visit.search(words)
        else:
            name = {said: name for name, said in map_names_to_labels(visit.playing.browser.page).items()}[words]
            page.locator(f'#visit .shop-page [data-name="{name}"]').click()
            visit.press(name)
        page.wait_for_function("told => document.querySelector('#visit .state').innerText != told", arg=left)
    page.wait_for_selector("#visit .ending")
    shot(page, "find-desktop")
    assert page.locator("#visit h3").first.inner_text() == "The right one."
    assert part(page, "#visit", "strict") == "1"


def test_a_step_is_guessed_and_then_told_on_a_phone(visitor):
    page = visitor("phone", "dark")
    tab(page, "Predict")
    page.click("#guess-begin")
    page.locator('#guess .shop-page [data-name="nav.view_cart"]').click()
    page.wait_for_function("document.querySelector('#predict') && !document.querySelector('#predict').disabled")
    page.wait_for_timeout(500)
    page.click("#predict")
    page.wait_for_selector("#guess .ending")
    shot(page, "predict-phone")
    assert page.locator("#guess .ending dd").first.inner_text() == "clicks nav.view_cart"
    assert part(page, "#guess", "format") == "0.5"
    before = page.locator("#guess .state").inner_text()
    page.click("#forward")
    page.wait_for_function("before => document.querySelector('#guess .state').innerText !== before", arg=before)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"][0]


@pytest.mark.slow
def test_two_visitors_do_not_see_one_anothers_episode(visitor):
    mine, yours = visitor(), visitor("phone")
    begin(mine)
    begin(yours)
    mine.bring_to_front()
    mine.fill("#ask textarea, #ask input", "Which color do you want?")
    mine.click("#ask-button")
    mine.wait_for_selector("#game .line.you")
    yours.bring_to_front()
    begin(yours, number=2)
    assert yours.locator("#game .line.you").count() == 0
    assert yours.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"][0]
    shot(yours, "help-phone")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_serious_stands_in_the_way_of_assistive_technology(visitor, size, scheme):
    page = visitor(size, scheme)
    begin(page)
    called(page, "user_get_visit_history", {})
    page.wait_for_selector("#game table")
    faults = audited(page)
    for name, start, seen in (
        ("Find", "#visit-begin", "#visit .shop-page"),
        ("Predict", "#guess-begin", "#guess .shop-page"),
    ):
        tab(page, name)
        page.click(start)
        page.wait_for_selector(seen)
        shot(page, f"{name.lower()}-{size}-{scheme}")
        faults |= audited(page)
    assert not faults


def audited(page):
    found = find_axe() or pytest.skip(LACKING)
    page.evaluate(found.read_text(encoding="utf-8"))
    told = page.evaluate("axe.run()")["violations"]
    return {f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in told if each["impact"] in SEVERE}
