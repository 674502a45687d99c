"""The shopper says little, tells what it is asked for, and lets nobody buy before all is said."""

import pytest

from shopwright.pipeline.shopping.approving_user import MARK, ApprovingUser, load_reply_frames
from tests.shopping.shops import need, tasks, toy

STEEL = need("material", "stainless steel", "of metal that never rusts")
BLUE = need("color", "navy", "as dark a blue as the sea at night", kind="option")
LIMIT = need("price", "40.00", "for at most $40", number=40.0)
BRAND = need("brand", "Norrvik", "made by Norrvik", known="profile")


def shopper(*needs, scenario="multi", language="en"):
    return ApprovingUser(
        toy(*(needs or (STEEL, BLUE, LIMIT)), language=language, personal="personal" in scenario), scenario
    )


def chinese():
    said = ("不生锈的金属", "像夜里的海一样深的蓝", "不超过40元")
    needs = [each.model_copy(update={"said": words}) for each, words in zip((STEEL, BLUE, LIMIT), said, strict=True)]
    return shopper(*needs, language="zh")


# The opening


@pytest.mark.parametrize("scenario", ["multi", "multi personal"])
def test_a_conversation_opens_vaguely(scenario):
    assert shopper(scenario=scenario).opening == "I am looking for something to drink from."


@pytest.mark.parametrize("scenario", ["single", "single personal"])
def test_alone_it_says_everything_at_once(scenario):
    found = shopper(scenario=scenario)
    assert found.opening == "Please get me a flask."
    assert found.untold == []


def test_alone_it_says_its_instruction_even_where_the_profile_carries_everything():
    assert shopper(BRAND, scenario="single personal").opening == "Please get me a flask."


def test_the_opening_stays_what_it_was_whatever_is_said_later():
    found = shopper()
    before = found.opening
    found.reply("What color should it be?")
    assert found.opening == before


def test_openings_of_tasks_tell_no_need():
    for one in (*tasks(), *tasks(language="zh")):
        assert not [each for each in one.needs if each.said in ApprovingUser(one, "multi").opening]


# Telling


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What color should it be?", "color"),
        ("Which material do you prefer?", "material"),
        ("What is your budget?", "price"),
        ("And the price?", "price"),
    ],
)
def test_what_is_asked_for_is_told_and_nothing_else(question, fact):
    found = shopper()
    heard = found.reply(question)
    assert heard.tells == heard.asked == (fact,)
    wanted = {each.fact: each.said for each in (STEEL, BLUE, LIMIT)}
    assert wanted.pop(fact) in heard.text
    assert not [said for said in wanted.values() if said in heard.text]
    assert {each.name for each in found.untold} == set(wanted)


def test_several_questions_at_once_get_all_their_answers():
    heard = shopper().reply("What color should it be, and what material?")
    assert heard.tells == ("color", "material")
    assert BLUE.said in heard.text
    assert STEEL.said in heard.text


def test_a_general_question_gets_one_thing_at_a_time_until_nothing_is_left():
    found = shopper()
    told = [found.reply("Is there anything else?") for _ in range(4)]
    assert [each.tells for each in told] == [("material",), ("color",), ("price",), ()]
    assert [each.asked for each in told] == [()] * 4
    assert told[-1].text in load_reply_frames("said_it_all", 0, "en")


def test_what_was_told_is_told_again():
    found = shopper()
    found.reply("What color should it be?")
    again = found.reply("What color should it be?")
    assert BLUE.said in again.text
    assert again.text.replace(BLUE.said.capitalize(), BLUE.said) in [
        frame.replace(MARK, BLUE.said) for frame in load_reply_frames("tells_again", 1, "en")
    ]


def test_it_does_not_mind_what_it_does_not_need():
    heard = shopper().reply("Which brand do you like?")
    assert heard.tells == ()
    assert heard.text in load_reply_frames("does_not_mind", 0, "en")


@pytest.mark.parametrize("question", ["Which brand do you like?", "How many reviews should it have, in stars?"])
def test_with_a_profile_the_rest_is_as_usual(question):
    heard = shopper(STEEL, BRAND, scenario="multi personal").reply(question)
    assert heard.text in load_reply_frames("usual", 0, "en")
    assert "Norrvik" not in heard.text


@pytest.mark.parametrize(("question", "asked"), [("Which brand do you like?", ("brand",)), ("Anything else?", ())])
def test_a_question_about_what_the_profile_tells_is_known_as_such(question, asked):
    heard = shopper(STEEL, BRAND, scenario="multi personal")
    heard.reply("What material should it be?")
    assert heard.reply(question).asked == asked


def test_with_a_profile_there_is_nothing_else_but_the_usual():
    found = shopper(STEEL, scenario="multi personal")
    found.reply("What material should it be?")
    assert found.reply("Is there anything else?").text in load_reply_frames("usual", 0, "en")


@pytest.mark.parametrize("said", ["", "Hello.", "Thank you", "?", "]]][[[", "\x00", "a" * 5_000])
def test_what_asks_for_nothing_gets_no_need(said):
    found = shopper()
    heard = found.reply(said)
    assert heard.tells == ()
    assert len(found.untold) == 3
    assert heard.text


# Buying


def test_a_purchase_is_refused_while_something_is_missing_and_the_kinds_of_thing_are_named():
    found = shopper()
    found.reply("What material should it be?")
    heard = found.reply("I have found one. Shall I buy it?")
    assert heard.act == "refused"
    assert "color" in heard.text
    assert "price" in heard.text
    assert "material" not in heard.text
    assert not [each for each in (STEEL, BLUE, LIMIT) if each.said in heard.text]
    assert heard.tells == ()


def test_a_purchase_is_agreed_to_once_all_is_said():
    found = shopper()
    for _ in range(3):
        found.reply("Is there anything else?")
    assert found.reply("May I buy it for you?").act == "agreed"


def test_what_the_opening_tells_is_not_missing():
    task = toy(STEEL, BLUE, LIMIT).model_copy(update={"opening_facts": ["color"]})
    found = ApprovingUser(task, "multi")
    assert {slot.name for slot in found.untold} == {"material", "price"}
    for _ in range(2):
        found.reply("Is there anything else?")
    assert found.reply("May I buy it for you?").act == "agreed"


def test_what_the_profile_carries_is_never_missing():
    found = shopper(STEEL, BRAND, scenario="multi personal")
    found.reply("What material should it be?")
    assert found.reply("Shall I order it?").act == "agreed"


@pytest.mark.parametrize(
    "question",
    [
        "What color do you want to buy?",
        "In order to find it, could you tell me the color?",
        "Does the border have a color?",
        "I can buy it later. Could you tell me about the color?",
    ],
)
def test_a_question_that_has_a_word_for_buying_need_not_be_about_that(question):
    heard = shopper().reply(question)
    assert heard.act == "clarify"
    assert heard.tells == ("color",)


@pytest.mark.parametrize(
    "question",
    ["Should I go ahead?", "It costs $12.50. Shall I purchase it now?", "May I check out?", "SHALL I BUY IT?"],
)
def test_a_purchase_can_be_proposed_in_many_ways(question):
    assert shopper().reply(question).act == "refused"


# Chinese


def test_in_chinese_it_tells_what_is_asked_for():
    found = chinese()
    heard = found.reply("请问颜色要什么样的？")
    assert heard.tells == heard.asked == ("color",)
    assert "像夜里的海一样深的蓝" in heard.text
    assert found.reply("还有其他要求吗？").tells == ("material",)
    assert found.reply("价格有什么要求吗？").tells == ("price",)
    assert found.reply("还有其他要求吗？").text in ("没有别的了。", "就这些。")


def test_in_chinese_it_refuses_and_agrees():
    found = chinese()
    refused = found.reply("找到了，可以下单吗？")
    assert refused.act == "refused"
    assert "颜色" in refused.text
    assert "像夜里的海" not in refused.text
    for _ in range(3):
        found.reply("还有其他要求吗？")
    assert found.reply("可以下单吗？").act == "agreed"


def test_in_chinese_a_question_with_a_word_for_buying_need_not_be_about_that():
    heard = chinese().reply("您想购买什么颜色的？")
    assert (heard.act, heard.tells) == ("clarify", ("color",))


def test_in_chinese_it_does_not_mind_what_it_does_not_need():
    assert chinese().reply("品牌呢？").text in ("这个我不在意。", "都可以。")


def test_in_chinese_nonsense_is_not_understood():
    assert chinese().reply("你好。").text == "你想问什么？"


# Always the same


def test_the_same_questions_get_the_same_answers():
    asked = ["What color?", "Anything else?", "Shall I buy it?", "Anything else?"]
    first, second = ([found.reply(each) for each in asked] for found in (shopper(), shopper()))
    assert first == second


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_need_of_a_drawn_task_can_be_asked_for_by_its_name(language):
    from shopwright.pipeline.shopping.wording import phrase_fact_name

    asks = {"en": "Could you tell me about {}?", "zh": "请问{}要什么样的？"}[language]
    for one in tasks(language=language):
        for each in one.needs:
            heard = ApprovingUser(one, "multi").reply(asks.format(phrase_fact_name(one.category, each.fact, language)))
            assert each.fact in heard.tells, (each.fact, heard.text)
