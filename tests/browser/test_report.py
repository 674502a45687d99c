"""The report in a browser: nothing leaves, nothing breaks out, nothing is too wide, and everybody can read it."""

import shutil
from contextlib import contextmanager

import pytest

from shopwright.pipeline.publish.report import render_report
from tests.browser.axe import find_axe, needs_axe
from tests.publish.shops import hostile

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
MINUTE = 60_000
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no chromium")]


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=2 * MINUTE
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(small, tmp_path_factory):
    """The reports of a small run and of one whose texts are hostile, as files."""
    folder = tmp_path_factory.mktemp("pages")
    runs = {"small": small, "hostile": hostile(small, folder)}
    for name, run in runs.items():
        (folder / f"{name}.html").write_text(render_report(run), encoding="utf-8")
    return folder


@contextmanager
def shown(chromium, file, size, scheme="light"):
    """The page, and what it said on the console or asked of others."""
    with chromium.new_context(viewport=size, color_scheme=scheme) as context:
        page, said = context.new_page(), []
        page.set_default_timeout(2 * MINUTE)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        yield page, said


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_a_report_asks_for_nothing_and_fits_a_phone_and_a_desktop(chromium, pages, name):
    with shown(chromium, pages / f"{name}.html", PHONE, "dark") as (page, said):
        assert page.evaluate(WIDER) <= 0
        page.set_viewport_size(DESKTOP)
        assert page.evaluate(WIDER) <= 0
        assert [each for each in said if not each.startswith("data:")] == []


def test_hostile_texts_are_shown_as_they_are(chromium, pages):
    with shown(chromium, pages / "hostile.html", PHONE) as (page, _):
        assert page.title() == "Shopwright: <b>run"
        assert page.locator("h1").all_inner_texts() == ["<b>run"]
        assert page.locator("script, img, iframe, body > svg").count() == 0
        assert '<script>document.title = "broken"</script>' in page.locator("#questions").inner_text()


def test_the_contents_lead_to_each_section_by_keyboard(chromium, pages):
    with shown(chromium, pages / "small.html", DESKTOP) as (page, _):
        names = page.locator("nav a").all_inner_texts()
        assert len(names) == page.locator("main > section").count() >= 8
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == names[0]
        page.locator("nav a", has_text="Questions").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("Math.abs(document.querySelector('#questions').getBoundingClientRect().top) < 200")


def test_evidence_is_marked_so_that_it_is_seen(chromium, pages):
    with shown(chromium, pages / "small.html", PHONE) as (page, _):
        color = "(item) => getComputedStyle(item).backgroundColor"
        marked, others = page.locator("ol.log li.hit"), page.locator("ol.log li:not(.hit)")
        assert marked.count() > 8
        assert marked.first.evaluate(color) != others.first.evaluate(color)
        assert marked.first.locator("mark").inner_text().startswith("2024-")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_are_each_what_was_asked_for(chromium, pages, scheme):
    with shown(chromium, pages / "small.html", PHONE, scheme) as (page, _):
        red = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
        assert (int(red) < 60) == (scheme == "dark")


def test_a_printed_report_is_light_and_has_no_contents(chromium, pages):
    with shown(chromium, pages / "small.html", DESKTOP, "dark") as (page, _):
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator("nav").is_visible()


@needs_axe
@pytest.mark.parametrize(("name", "size", "scheme"), [("small", PHONE, "dark"), ("hostile", DESKTOP, "light")])
def test_axe_finds_nothing_serious(chromium, pages, name, size, scheme):
    with shown(chromium, pages / f"{name}.html", size, scheme) as (page, _):
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.evaluate(find_axe().read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in grave] == []
