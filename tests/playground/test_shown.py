"""What is shown is whole and readable, and what others wrote stays text."""

from html.parser import HTMLParser

import pytest

from pipeline.playground import shown
from pipeline.playground.forms import forms
from pipeline.playground.game import Game, Line
from pipeline.playground.guess import Guess
from pipeline.playground.place import Place
from pipeline.playground.visit import Said, Visit

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
    visit = Visit(Place(str(small.folder)))
    visit.reset(1, talk=True, personal=False)
    visit.said, visit.fault = [Said(text, text)], text
    for html in (shown.game(game), shown.visit(visit), shown.fault(text)):
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
    found = Tags(str(shown.page(html)))
    assert found.tags == ["h3", "button", "input"]
    assert found.attributes <= KNOWN
    assert "B0 <b>" in found.text


def test_a_page_that_is_guessed_can_not_be_clicked():
    assert "disabled" in shown.page('<button name="x">Buy</button>', live=False)
    assert "disabled" not in shown.page('<button name="x">Buy</button>')


def test_results_of_a_search_are_a_table(small):
    game = Game(str(small.folder))
    game.reset("product_discovery", 0, 1)
    game.call("user_get_visit_history", [None])
    html = shown.game(game)
    assert [name in html for name in ("product id", "title", "in stock")] == [True] * 3
    assert Tags(html).tags.count("tr") == len(game.lines[-1].result["visits"]) + 1
    assert "None" not in html


def test_the_end_says_reward_goal_and_the_solvers_way(small):
    game = Game(str(small.folder))
    game.reset("cart_building", 0, 1)
    assert shown.ended(game) == ""
    game.finish([None] * len(forms()["submit"].fields))
    html = shown.ended(game)
    for said in ("Not won.", "The cart is not what was asked for.", 'data-part="task"', "nearest miss", "submit()"):
        assert said in html
    for wish in game.task.wishes:
        assert wish.name in html


def test_a_session_tells_the_truth_after_the_guess_and_not_before(small):
    guess = Guess(Place(str(small.folder)))
    guess.reset(1)
    rationale = guess.step.rationale
    assert rationale not in Tags(shown.guess(guess)).text
    guess.predict("terminate")
    assert rationale in Tags(shown.guess(guess)).text
    assert guess.playing.intent not in Tags(shown.guess(guess)).text
