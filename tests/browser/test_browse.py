"""`shopwright browse` as a person uses it, in a real browser: with the mouse, with the keyboard, on a phone."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.browse.visitor import serve_run
from tests.browser.axe import find_axe, needs_axe

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = Path(os.environ.get("SHOPWRIGHT_CHROMIUM", "/usr/bin/chromium"))
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no chromium here"),
]
PATIENCE = 60_000
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(small):
    with serve_run(small) as visitor:
        yield visitor.server.url


@pytest.fixture
def window(browser, address):
    """Opens a window of a size; at the end nothing was complained of, and nothing else was asked for."""
    said, asked = [], set()

    def opened(size, **more):
        page = browser.new_page(viewport=size, **more)
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda told: said.append(told.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.add("/".join(request.url.split("/")[:3]) + "/"))
        page.goto(address)
        return page

    yield opened
    for context in browser.contexts:
        context.close()
    assert said == []
    assert {url for url in asked if url.startswith("http")} == {address}


def is_in_view(page, selector):
    return page.evaluate(
        "selector => { const box = document.querySelector(selector).getBoundingClientRect(); "
        "return box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth + 1 }",
        selector,
    )


def fits(page):
    page.wait_for_load_state("load")  # with its style
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_from_the_first_page_to_the_evidence_of_a_question_and_back(small, window, size):
    number, question = next(
        (number, one)
        for number, one in enumerate(small.read("questions"))
        if one.kind == "price" and len(one.evidence) > 1
    )
    page = window(size)
    assert fits(page)
    page.get_by_role("link", name="questions", exact=True).click()
    page.get_by_text("SQL", exact=True).click()
    page.get_by_label("Filter by SQL").fill("kind = 'price' and len(evidence) > 1")
    page.get_by_role("button", name="Filter").click()
    assert fits(page)
    page.get_by_role("link", name=question.id).click()
    assert page.locator(".question").inner_text() == question.question
    assert fits(page)
    page.get_by_role("link", name="the trajectory, at the evidence").click()
    marked = page.locator("tr.marked")
    playwright.expect(marked).to_have_count(len(question.evidence))
    assert [each.get_attribute("id") for each in marked.all()] == [f"event-{row}" for row in question.evidence]
    assert "evidence" in marked.first.inner_text()
    assert is_in_view(page, f"#event-{question.evidence[0]}")
    assert fits(page)
    page.get_by_role("link", name=f"row {question.evidence[-1]}", exact=True).click()
    assert is_in_view(page, f"#event-{question.evidence[-1]}")
    page.get_by_role("link", name=f"Back to question {number}").click()
    assert page.locator(".question").inner_text() == question.question
    page.locator(".trail a").first.click()
    page.get_by_role("heading", name=small.folder.name, level=1).wait_for()


def test_a_wrong_filter_is_told_beside_its_field_and_mended_by_keyboard_alone(window):
    page = window(DESKTOP)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert is_in_view(page, ".skip:focus")
    page.get_by_role("link", name="catalog", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_text("SQL", exact=True).click()
    field = page.get_by_label("Filter by SQL")
    field.focus()
    playwright.expect(field).to_have_css("outline-style", "solid")  # once the sheet of the new page is there
    page.keyboard.type("price < 0")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("No row answers to that.").wait_for()
    page.get_by_label("Filter by SQL").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("price > 20")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("row").nth(1).wait_for()


def test_a_page_of_a_session_is_drawn_and_nothing_in_it_runs(window):
    page = window(DESKTOP)
    page.goto(page.url + "data/behaviors/0?step=1")
    frame = page.frame_locator("iframe")
    playwright.expect(frame.locator(".acted")).to_have_count(1)
    playwright.expect(frame.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    assert page.locator("iframe").bounding_box()["height"] > 200


def test_keys_lead_through_rows_and_the_row_is_copied_as_json(browser, address, small):
    page = browser.new_page(viewport=DESKTOP)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address.rstrip("/"))
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}data/personas")
    page.keyboard.press("/")
    page.keyboard.type("jjk")
    assert page.get_by_label("Search the texts").input_value() == "jjk"  # keys are letters where one types
    page.goto(f"{address}data/personas/0")
    page.keyboard.press("j")
    page.wait_for_url("**/personas/1")
    page.keyboard.press("k")
    page.wait_for_url("**/personas/0")
    page.keyboard.press("c")
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    first = small.read("personas").head(1)[0]
    assert type(first).model_validate_json(copied) == first
    page.keyboard.press("?")
    page.get_by_text("Keys: / search").wait_for()
    page.context.close()


@pytest.mark.parametrize(
    "target", ["", "data/catalog?find=a", "data/questions", "columns/questions", "links/personas/0"]
)
def test_without_a_script_all_is_there_and_nothing_is_cut_on_a_phone(browser, address, target):
    page = browser.new_page(viewport=PHONE, java_script_enabled=False)
    page.set_default_timeout(PATIENCE)
    page.goto(address + target)
    assert page.get_by_role("button", name="Copy").count() == 0
    cut = [
        box
        for region in page.locator(".wide, table, dl, ol").all()
        if region.is_visible() and (box := region.bounding_box())["x"] + box["width"] > PHONE["width"] + 1
    ]
    assert cut == []
    page.context.close()


@pytest.fixture
def elsewhere():
    """Another server of this machine, with what it was asked for."""
    asked = []

    class Note(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *told):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Note) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_what_stands_in_a_frame_can_neither_run_nor_load_nor_leave(browser, address, elsewhere):
    away, asked = elsewhere
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}data/behaviors/0")
    tries = (
        f'<p id="done">here</p><img src="{away}/image"><link rel="stylesheet" href="{away}/style">'
        f'<script>parent.document.title = "gone"; fetch("{away}/script")</script><iframe src="{away}/frame"></iframe>'
        f'<meta http-equiv="refresh" content="0;url={away}/refresh">'
        f'<form action="{away}/form"><button id="send">send</button></form><a id="out" href="{away}/link">out</a>'
    )
    page.evaluate("tries => { document.querySelector('iframe').srcdoc = tries }", tries)
    frame = page.frame_locator("iframe").first
    frame.locator("#done").wait_for()
    frame.locator("#send").click()
    frame.locator("#out").click()
    page.wait_for_timeout(500)
    assert page.title() != "gone"
    assert page.url == f"{address}data/behaviors/0"
    assert asked == []
    page.close()


@pytest.mark.slow
@needs_axe
@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_pages_have_no_barrier_that_axe_finds(window, address, size, scheme):
    page = window(size, color_scheme=scheme, bypass_csp=True)
    for target in (
        "", "data/questions", "data/questions/0", "data/questions/0/evidence", "data/catalog/0", "data/env_episodes/0",
        "data/shopping_episodes/0", "data/rollouts/0", "data/behaviors/0?step=1", "data/trajectories/0?as=text",
        "rejected/questions", "find?find=a", "data/catalog?find=a", "columns/questions", "links/personas/0", "agents",
    ):  # fmt: skip
        page.goto(address + target)
        assert fits(page), target
        page.add_script_tag(path=find_axe())
        found = page.evaluate("axe.run(document, {iframes: false}).then(found => found.violations)")
        told = [(one["id"], [node["html"][:120] for node in one["nodes"]][:2]) for one in found]
        assert told == [], target
