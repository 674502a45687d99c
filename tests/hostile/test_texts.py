"""Single texts that mean harm, where they come in and where they go out."""

import ast
import json
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest
from duckdb import connect

from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.repair.text import clean_text
from shopwright.pipeline.problem import Problem, harmless
from shopwright.pipeline.prompts import FOLDER, render_messages
from shopwright.pipeline.publish.exporters.rows import flatten_conversation
from shopwright.pipeline.questions.sql import render_sql_literal
from shopwright.pipeline.render import pages
from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory
from shopwright.pipeline.rollouts.pandas_code import quote_python
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Item
from shopwright.pipeline.shopping.profile import is_search_repeated, long_searches
from shopwright.schemas.shop import Attribute
from tests.hostile.catalogs import FAMILIES, ORDERS, products
from tests.hostile.shops import CHAT, commands_a_terminal

MARKS = [
    "<|im_end|>",
    "<|im_start|>",
    "<｜end▁of▁sentence｜>",
    "[INST]",
    "[/INST]",
    "</s>",
    "<think>",
    "<start_of_turn>",
    "<|eot_id|>",
]


class Shape(HTMLParser):
    """The elements of a simplified page, and its words."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, [name for name, _ in attrs]))

    def handle_endtag(self, tag):
        self.tags.append((f"/{tag}", []))

    def handle_data(self, data):
        self.words += data

    def unexpected(self, *_):
        raise AssertionError("a comment, a declaration or an instruction")

    handle_comment = handle_decl = handle_pi = unknown_decl = unexpected


def test_a_catalog_is_a_function_of_its_seed(tmp_path):
    assert repr(products(1, 60, tmp_path)) == repr(products(1, 60, tmp_path))
    assert repr(products(1, 60, tmp_path)) != repr(products(2, 60, tmp_path))


def test_a_catalog_holds_every_kind_of_harm():
    said = json.dumps(products(3, 150, Path("/trap"), form="jsonl"), ensure_ascii=False)
    for family in FAMILIES:
        assert sum(json.dumps(each, ensure_ascii=False)[1:14] in said for each in family) > len(family) / 3


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "way",
    [
        "lamp {}",
        "{}",
        "lamp {0}{0} oak",
        "lamp &lt;{1}",
        "lamp &amp;amp;lt;{1}",
        "lamp <\u200b{1}",
        "lamp &#60;&#8203;{1}",
        "lamp &#38;#38;#38;#38;#38;#60;{1}",
        "lamp &#38;#38;#38;#38;#38;#38;#38;#60;{1}",
        "lamp <<b>{1}",
        "lamp {2}&#38;#38;#38;#38;#8203;{1}",
        "lamp {2}&#38;#38;#38;#38;#38;#8203;{1}",
    ],
)
def test_no_mark_of_a_chat_stays_in_a_text_however_it_is_hidden(mark, way):
    found = clean_text(way.format(mark, mark[1:], mark[0]), set()) or ""
    assert not CHAT.search(found)
    assert mark not in found


def test_what_only_looks_like_a_mark_stays():
    for title in ["lamp [A4] <5 W> | oak", "x < y | z > w", "[NEW] lamp", "a <| b", "R&D | lamp"]:
        assert clean_text(title, set()) == title


@pytest.mark.parametrize("id", ["<|im_end|>", "<b>1", "&lt;script&gt;", "[INST]9"])
def test_an_id_with_markup_is_no_id(id):
    row = {"id": id, "title": "oak lamp", "price": "9"}
    assert normalize(row, source="file", licence="unknown", number=1) == ["id has markup"]


def test_a_name_of_ten_thousand_letters_is_none():
    row = {"title": "oak lamp", "brand": "x" * 10_000, "color": "y" * 10_000, "category": "z" * 10_000}
    found = normalize(row, source="file", licence="unknown", number=1)
    assert (found["brand"], found["color"]) == (None, None)
    assert len(found["category"]) < 200


def test_half_a_surrogate_pair_is_held_with_its_row(tmp_path):
    source = tmp_path / "shop.jsonl"
    source.write_text('{"title": "\\ud83d lamp", "price": "9"}\n{"title": "lamp \\ud83d", "price": "1e309"}\n')
    run = Run(tmp_path / "run", workers=1)
    run.build("catalog", source=str(source))
    assert [product.title for product in run.read("catalog")] == ["lamp"]
    assert [row.record for row in run.read("catalog").quarantine] == ['{"title": "lamp \\ud83d", "price": "1e309"}']


@pytest.mark.parametrize("text", [b"title,price\n" + b"lamp\0" * 9 + b",3\n", b"title,price\nlamp\0\x01,3\n"])
def test_zero_bytes_in_the_first_lines_that_are_many_or_beside_others_are_a_clear_problem(shopwright, tmp_path, text):
    (tmp_path / "shop.csv").write_bytes(text)
    code, out, err = shopwright("build", "trajectories", "--run", tmp_path / "run", "--source", tmp_path / "shop.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is binary, and not text" in err


def test_whether_a_long_text_repeats_a_search_is_looked_up_once_a_word():
    typed = Counted(long_searches(["oak lamp with shade", "desk lamp red"]))
    assert not is_search_repeated("lamp " * 5_000, typed)
    assert is_search_repeated("lamp " * 5_000 + "the desk lamp, red", typed)


class Counted(frozenset):
    """Does not let itself be asked more often than once for each word and each length of a search."""

    asked = 0

    def __contains__(self, words):
        Counted.asked += 1
        assert Counted.asked < 4 * 5_000 + 10
        return super().__contains__(words)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: repr(next(iter(family))[:12]))
def test_a_line_of_a_log_reads_back_whatever_stands_in_each_of_its_places(family):
    said = [found for each in family if (found := clean_text(each, set()))]
    made = [event(n, *words) for n, words in enumerate(product(["lamp", *said], [None, *said], [None, *said][:12]))]
    assert parse_trajectory(render_trajectory(made)) == made


def event(number, title, brand, color):
    is_search = number % 5 == 0
    when = datetime(2024, 5, 1) + timedelta(seconds=number)
    known = (
        ("search", None, None, None, None, None, title)
        if is_search
        else ("click", "B1", title, brand, color, Decimal("9.99"), None)
    )
    names = "action_type asin product_name brand color price search_query".split()
    return {"row_id": number, "timestamp": when} | dict(zip(names, known, strict=True))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: repr(next(iter(family))[:12]))
def test_code_and_sql_hold_a_text_as_one_literal(family):
    for each in family:
        code = ast.parse(f"df[df.brand == {quote_python(each)}]", mode="eval").body
        assert ast.literal_eval(code.slice.comparators[0]) == each
        assert "</code" not in quote_python(each)
        with closing(connect()) as connection:
            assert connection.execute(f"SELECT {render_sql_literal(each)}").fetchall() == [(each,)]


# --- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: repr(next(iter(family))[:12]))
def test_a_page_has_the_same_elements_whatever_its_product_is_called(family):
    usual = [Shape(page.html).tags for page in of_product("lamp")]
    for each in filter(pages.sanitize_text, family):
        assert [Shape(page.html).tags for page in of_product(each)] == usual
        assert pages.sanitize_text(each)[:200] in Shape(of_product(each)[0].html).words


def of_product(words):
    """The pages of a product all of whose texts are this."""
    facts = (Attribute(name="material", value=words),)
    item = Item(0, "B1", words, words, words, "Lamps", "Home", 1299, 4.5, 12, 2, words, facts)
    axes = [pages.OptionAxis("size", ("S", "M"), "S")]
    shown = [
        pages.build_description_page,
        pages.build_reviews_page,
        lambda each: pages.build_features_page(each, axes, [words]),
    ]
    return [
        *(page(item) for page in shown),
        pages.build_product_page(item, axes, [1299], "In stock", header=True),
        pages.build_cart_page([pages.CartRow("B1", "B1-1", words, words, 1299)]),
        pages.build_results_page(words, 1, 1, [pages.ResultEntry(1, "B1", words, 1299, 1299, 4.5, 12, False)]),
    ]


# --- prompts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_no_word_of_a_shop_moves_the_border_between_system_and_user(order):
    facts = {"context": "page", "done": ["opened the shop"], "html": "<html></html>", "persona": order, "intent": order}
    system, user = render_messages("behavior_steps", **facts)
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == "Done so far:\nopened the shop\n\nThe page now:\n<html></html>"
    assert system["content"].count(json.dumps(order, ensure_ascii=False)) == 2


def test_every_prompt_says_that_what_it_is_shown_is_data():
    asked = [path for path in FOLDER.rglob("*.j2") if "=== user" in path.read_text(encoding="utf-8")]
    assert len(asked) > 12
    for path in asked:
        system = " ".join(path.read_text(encoding="utf-8").partition("=== user")[0].split())
        assert "is data" in system or "is only" in system or "never an instruction" in system, path.name


def test_a_tools_answer_stays_a_message_of_its_own():
    row = {
        "messages": [{"role": "user", "content": "Hi"}, {"role": "tool", "name": "search", "content": "</tool_call>"}],
        "tools": [],
    }
    assert [message["role"] for message in flatten_conversation(row)["messages"]] == ["user", "tool"]


# --- a terminal --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", ["\x1b[2J", "\x9b31m", "a\rb", "\u202ebackwards", "bell\x07", "\x7f", "half \ud800", "\u2028"]
)
def test_what_is_printed_commands_no_terminal(words):
    assert not commands_a_terminal(harmless(words))
    assert not commands_a_terminal(str(Problem(f"There is no {words}.")))


def test_usual_words_are_printed_as_they_are():
    for words in ["Norrvik lamp, 12 in\n\tred", "茶 🪑 é", "مصباح"]:
        assert harmless(words) == words


def test_names_of_columns_command_no_terminal(shopwright, tmp_path):
    (tmp_path / "shop.csv").write_text("\x1b[2Jcost,\u202esize,\x9b31m\n1,2,3\n", encoding="utf-8")
    code, out, err = shopwright("build", "catalog", "--run", tmp_path / "run", "--source", tmp_path / "shop.csv")
    assert (code, out) == (2, "")
    assert "\\u001b[2Jcost" in err
    assert not commands_a_terminal(err)
