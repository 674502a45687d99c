"""The Chinese shop: its products, its searches and pages, and instructions that are read back by a reader of their own."""

from itertools import chain
from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pytest

from shopwright.pipeline.catalog.chinese_shop import generate_chinese_products, list_shelves, map_leaves
from shopwright.pipeline.checks.short_instructions import list_category_names
from shopwright.pipeline.languages import LANGUAGES, language_of
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.reading.chinese_instructions import ChineseReader
from shopwright.pipeline.reading.short_instructions import CategoryFacts, ReadNeed, list_misreadings
from shopwright.pipeline.render.pages import list_clickables, render_page_text
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.browser import Browser
from shopwright.pipeline.shopping.chinese_wording import ChineseWriter, list_templates, list_ways
from shopwright.pipeline.shopping.effects import load_effects
from shopwright.pipeline.shopping.facts import parse_measurement
from shopwright.pipeline.words import hash_word, hashed_words, split_words
from shopwright.schemas.shopping import Need
from tests.shopping.shops import shop, tasks

LEAVES = pytest.mark.parametrize("leaf", map_leaves().values(), ids=lambda leaf: leaf.name)
NAMES = sorted(
    {(name, leaf) for leaf in map_leaves() for name in list_category_names(leaf)},
    key=lambda pair: (-len(pair[0]), pair),
)


def facts_of(category):
    """As a catalog with everything that the reference has would say them."""
    leaf = map_leaves()[category]
    known = {**leaf.facts, "color": leaf.colors} if leaf.colors else leaf.facts
    measured = {}
    for fact, values in known.items():
        amounts = {value.lower(): parse_measurement(value) for value in values}
        measured[fact] = {value: found if found and found[1] else None for value, found in amounts.items()}
    return CategoryFacts(measured)


def read(text):
    return ChineseReader(text, NAMES, facts_of).read()


def expected(one):
    return [(need.fact, need.op, need.value) for need in one.needs if need.known == "stated" and need.fact != "brand"]


# The catalog


def test_a_product_is_a_function_of_seed_and_number():
    alone = list(generate_chinese_products(3, range(1_234, 1_236)))
    assert alone == list(generate_chinese_products(3, range(1_200, 1_300)))[34:36]
    assert alone != list(generate_chinese_products(4, range(1_234, 1_236)))


def test_titles_are_unique_and_leave_the_options_to_the_page():
    rows = list(generate_chinese_products(0, range(8_000)))
    assert len({row["title"] for row in rows}) == len(rows)
    assert {row["currency"] for row in rows} == {"CNY"}
    for row in rows:
        options = {option["name"] for option in row["options"]}
        shown = [fact["value"] for fact in row["attributes"] if fact["value"] in row["title"].split()]
        assert not [fact for fact in row["attributes"] if fact["name"] in options and fact["value"] in shown]


def test_names_mean_one_category_each():
    names = [noun for shelf in list_shelves() for noun in {*shelf.leaf.nouns, shelf.leaf.name}]
    assert len(names) == len(set(names))


@LEAVES
def test_why_somebody_wants_a_thing_says_nothing_of_what_it_is(leaf):
    for text in (*leaf.why, *leaf.vague):
        categories, needs, strange = read(f"{text}，想买{leaf.nouns[0]}。")
        assert (categories, needs, strange) == ([leaf.name], [], []), text


# Words


def test_chinese_words_are_told_apart_the_same_in_both_ways():
    text = "大容量316不锈钢保温杯 500ml，Type-C口"
    said = split_words(text)
    assert {"保温", "保温杯", "316", "500ml", "type"} <= set(said)
    assert sorted(hashed_words(pa.array([text]))[1].tolist()) == sorted(map(hash_word, said))


def test_a_search_by_words_in_any_order_finds_the_thing():
    store, finder = shop("zh").store, shop("zh").finder
    found = [store.item(int(row)) for row in finder.find("不锈钢 保温杯 50元以内", limit=5)]
    assert found == []  # the small shop has none so cheap, and a limit is a limit
    found = [store.item(int(row)) for row in finder.find("煮饭 电饭煲", limit=5)]
    assert {item.category for item in found} == {"电饭煲"}


# Pages


def test_pages_are_in_chinese_and_buttons_are_the_papers():
    browser = Browser(shop("zh").store, shop("zh").finder)
    assert browser.act("search[台灯]") == ""
    assert "“台灯”的搜索结果 [SEP] 第1页" in render_page_text(browser.page)
    assert browser.act(f"click[{list_clickables(browser.page)[2]}]") == ""
    text = render_page_text(browser.page)
    assert "价格：¥" in text
    assert "颜色 [SEP]" in text
    assert "$" not in text
    assert {"back to search", "< prev", "description", "features", "reviews", "buy now"} <= {
        *list_clickables(browser.page)
    }
    assert browser.act("click[features]") == ""
    assert "品牌：" in render_page_text(browser.page)


# Instructions


def test_instructions_are_read_as_their_needs_and_nothing_else():
    found = tasks(40, "zh")
    assert len(found) > 30
    for one in found:
        categories, needs, strange = read(one.instruction)
        assert categories == [one.category], one.instruction
        assert not list_misreadings(expected(one), [need for need in needs if need.facts != {"brand"}]), one.instruction
        assert not strange, one.instruction


def test_a_reader_notices_what_was_changed():
    instruction = "想买一款白色电饭煲，容量要4升的，不要机械旋钮的，预算200元左右。"
    categories, needs, strange = read(instruction)
    assert (categories, strange) == (["电饭煲"], [])
    assert set(needs) == {
        ReadNeed(frozenset(["color"]), "is", "白色"),
        ReadNeed(frozenset(["容量"]), "is", "4升"),
        ReadNeed(frozenset(["控制方式"]), "is not", "机械旋钮"),
        ReadNeed(frozenset(["price"]), "about", "200.00"),
    }
    assert read(instruction.replace("200元左右", "200元以内"))[1] != needs
    assert read(instruction.replace("不要机械", "要机械"))[1] != needs
    assert read(instruction.replace("白色", "紫色"))[2] == ["紫色"]
    assert set(read(instruction.replace("电饭煲", "电饭煲和空气炸锅"))[0]) == {"电饭煲", "空气炸锅"}


@pytest.mark.parametrize("effect", load_effects("zh"), ids=lambda effect: effect.name)
def test_all_words_for_an_effect_are_read_as_that_end_of_its_measure(effect):
    words = next(
        each["said"] for each in LANGUAGES["zh"].load("effects.toml")["effects"] if each["name"] == effect.name
    )
    for leaf in map_leaves().values():
        for fact in set(effect.facts) & leaf.facts.keys():
            for text in words:
                _, needs, strange = read(f"想买一款{leaf.nouns[0]}，{text}。")
                assert [(need.facts, need.op) for need in needs] == [({fact}, effect.op)], (leaf.name, text)
                assert not strange


def test_every_phrasing_belongs_to_one_use():
    ways = list_templates()
    parts = [list_ways(ways, use) for use in ("train", "test", "test_wording")]
    assert sorted(chain.from_iterable(parts)) == sorted(ways)
    assert all(parts)


# What is offered


def test_what_is_not_offered_in_chinese_says_so_before_anything_is_made(tmp_path):
    with pytest.raises(Problem, match="questions is not offered in Chinese yet"):
        Run(tmp_path / "run").build("questions", language="zh")
    assert not (tmp_path / "run").exists()


def test_a_catalog_of_ones_own_is_in_english(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("title,price\nA lamp,12.00\n", encoding="utf-8")
    with pytest.raises(Problem, match="--language goes with the sample"):
        Run(tmp_path / "run").build("catalog", source=str(path), language="zh")


def test_a_catalog_without_a_language_is_english():
    assert language_of({}) is LANGUAGES["en"]


@pytest.mark.parametrize(
    ("fact", "value", "others", "lacks"),
    [
        ("减震", "无减震", ["四轮减震"], True),
        ("灯光", "无背光", ["白光背光"], True),
        ("甜度", "无糖", ["低糖"], False),
        ("电机", "无刷电机", ["高速电机"], False),
        ("弹力", "高弹", ["无弹"], False),
    ],
)
def test_nobody_asks_for_the_lack_of_what_others_have(fact, value, others, lacks):
    need = Need(fact=fact, op="is", value=value, number=None, unit=None, kind="attribute", known="stated", said="")
    table = SimpleNamespace(leaf="婴儿推车", values={fact: [value, *others]})
    writer = ChineseWriter(table, "", "train", Random(1))
    assert writer.is_lack(need) == lacks
    assert not writer.is_lack(need.model_copy(update={"op": "is not"}))
    assert writer.write([need], usual=False) is None or not lacks


def test_no_reason_is_given_for_what_is_not_wanted():
    writer = ChineseWriter(SimpleNamespace(leaf="电饭煲", values={}), "", "train", Random(1))
    denied = Need(
        fact="功能", op="is not", value="低糖煮饭", number=None, unit=None, kind="attribute", known="stated", said=""
    )
    reasons = ["我妈血糖有点高", "家里的老锅用了十年"]
    assert {writer.draw_reason(reasons, [denied]) for _ in range(20)} == {reasons[1]}
    assert {writer.draw_reason(reasons, []) for _ in range(20)} == set(reasons)


def test_a_value_that_names_its_fact_is_said_without_its_name():
    writer = ChineseWriter(SimpleNamespace(leaf="瑜伽垫", values={}), "", "train", Random(1))
    wanted = Need(
        fact="防滑", op="is", value="双面防滑", number=None, unit=None, kind="attribute", known="stated", said=""
    )
    assert not any(writer.phrase_trait(wanted).startswith("防滑") for _ in range(60))
    other = wanted.model_copy(update={"fact": "款式"})
    assert any(writer.phrase_trait(other).startswith("款式") for _ in range(60))
