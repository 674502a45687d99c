"""What is shown is whole and readable, and what others wrote stays text."""

from html.parser import HTMLParser

import pytest

from shopwright.pipeline.playground import render
from shopwright.pipeline.playground.forms import list_tool_forms
from shopwright.pipeline.playground.game import Game, Line
from shopwright.pipeline.playground.guess import Guess
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.visit import ShopperExchange, Visit

HOSTILE = (
    "<script>alert(1)</script>",
    "</li></ol><img src=x onerror=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "`\\u003cscript>",
    '"\' onmouseover="alert(1)',
    "\u202egnikcab 🛒 م",
    "long " * 2_000,
)


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = [], set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        assert dict(attrs).get("href", "?").startswith("?")  # a game of this page

    def handle_data(self, data):
        self.text += data


KNOWN = {
    "class",
    "data-name",
    "data-part",
    "data-focus",
    "type",
    "title",
    "aria-label",
    "tabindex",
    "href",
    "role",
    "scope",
    "open",
}
KNOWN |= {"placeholder", "disabled"}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_stay_words(small, text):
    game = Game(str(small.folder))
    game.reset("policy_qa", 0, 1)
    game.lines += [Line("shopper", text), Line("shop", result={text: [{text: text}], "plain": [text, text]})]
    game.lines += [Line("you", call=text), Line("shop", fault=text)]
    visit = Visit(PlaygroundShop(str(small.folder)))
    visit.reset(1, talk=True, personal=False)
    visit.said, visit.fault = [ShopperExchange(text, text)], text
    for html in (render.render_game(game), render.render_visit(visit), render.render_fault(text)):
        found = Tags(html)
        assert " ".join(text.split()) in " ".join(found.text.split())
        assert not {"script", "img"} & set(found.tags)
        assert found.attributes <= KNOWN
        assert not set("{}$`\\") & set(html)


def test_a_page_shows_known_tags_and_names_alone():
    html = (
        '<html><body><h1>Mugs</h1><script>alert(1)</script><iframe src="//x"></iframe><a name="b.&quot;x" href="javascript:x" '
        'onclick="x">B0 &lt;b&gt;</a><input name="search_input" onfocus="x"></body></html>'
    )
    found = Tags(str(render.sanitize_page(html)))
    assert found.tags == ["h3", "button", "input"]
    assert found.attributes <= KNOWN
    assert "B0 <b>" in found.text


def test_a_page_that_is_guessed_can_not_be_clicked():
    assert "disabled" in render.sanitize_page('<button name="x">Buy</button>', live=False)
    assert "disabled" not in render.sanitize_page('<button name="x">Buy</button>')


def test_results_of_a_search_are_a_table(small):
    game = Game(str(small.folder))
    game.reset("product_discovery", 0, 1)
    game.call("user_get_visit_history", [None])
    html = render.render_game(game)
    assert [name in html for name in ("product id", "title", "in stock")] == [True] * 3
    assert Tags(html).tags.count("tr") == len(game.lines[-1].result["visits"]) + 1
    assert "None" not in html


def test_the_end_says_reward_goal_and_the_solvers_way(small):
    game = Game(str(small.folder))
    game.reset("cart_building", 0, 1)
    assert render.render_ending(game) == ""
    game.finish([None] * len(list_tool_forms()["submit"].fields))
    html = render.render_ending(game)
    for said in ("Not won.", "The cart is not what was asked for.", 'data-part="task"', "nearest miss", "submit()"):
        assert said in html
    for slot in game.task.slots:
        assert slot.name in html


def test_a_session_tells_the_truth_after_the_guess_and_not_before(small):
    guess = Guess(PlaygroundShop(str(small.folder)))
    guess.reset(1)
    rationale = guess.step.rationale
    assert rationale not in Tags(render.render_guess(guess)).text
    guess.predict("terminate")
    assert rationale in Tags(render.render_guess(guess)).text
    assert guess.playing.intent not in Tags(render.render_guess(guess)).text
