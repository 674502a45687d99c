"""What the shopper of a shopping task says is read back from its words alone, in both languages."""

from types import SimpleNamespace

import pytest

from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.checks.short_instructions import open_short_shop
from shopwright.pipeline.evaluate.situation import evaluate
from shopwright.pipeline.shopping.approving_user import MARK, ApprovingUser, load_reply_frames
from shopwright.pipeline.shopping.evaluate import ShoppingTasks, summarize_outcomes, tabulate_reward_parts
from shopwright.pipeline.shopping.expert import ENOUGH
from shopwright.pipeline.shopping.play import format_turn
from shopwright.pipeline.shopping.reply_reader import AGREES, ALL_SAID, REFUSES, UNMINDED, ReplyReader
from tests.shopping.shops import tasks
from tests.shopping.test_chinese import NAMES as CHINESE_NAMES
from tests.shopping.test_chinese import facts_of as chinese_facts_of

QUESTIONS = {
    "en": ("What {} should it be?", "Is there anything else that matters?", "Which wattage?", "Shall I buy it?"),
    "zh": ("{}有什么要求吗？", "还有其他要求吗？", "重量有什么要求吗？", "可以下单吗？"),
}
SOME = 12


@pytest.fixture(scope="module")
def vocabulary(small):
    return open_short_shop(small.read("catalog"), small.read("variants"))


@pytest.fixture(scope="module")
def english(small):
    return [task for task in small.read("shopping_tasks").head(64) if not task.profile_id][:SOME]


def talk(task, vocabulary, *, stop=None):
    """What the reader finds in a conversation in which everything is asked for, the purchase first and last."""
    buyer, (about, more, odd, buys) = ApprovingUser(task, "multi"), QUESTIONS[task.language]
    named = [about.format(buyer.names[need.fact] if task.language == "zh" else need.fact) for need in task.needs]
    asked = [buys, *named[:stop], more, odd, *named[:1], more, buys]
    steps = [SimpleNamespace(action=f"ask[{question}]", observation=buyer.reply(question).text) for question in asked]
    return list(ReplyReader(task, "multi", vocabulary).list_errors(steps))


def test_the_simulator_makes_no_mistake(english, vocabulary):
    assert [wrong for task in english for wrong in talk(task, vocabulary)] == []
    assert [wrong for task in english for wrong in talk(task, vocabulary, stop=1)] == []


def test_nor_in_chinese():
    found = tasks(20, "zh")
    assert len(found) > 15
    known = SimpleNamespace(names=CHINESE_NAMES, facts_of=chinese_facts_of)
    assert [wrong for task in found for wrong in talk(task, known)] == []


def invent(self, places, *, general, tell=ApprovingUser.tell):
    heard = tell(self, places, general=general)
    return heard._replace(text=heard.text + (" 不超过3元" if self.language == "zh" else " under $3"))


def keep_silent(self, places, *, general):
    return self.say("clarify", "does_not_understand")


def mind_nothing(self, places, *, general):
    return self.say("clarify", "does_not_mind")


def agree_at_once(self):
    return self.say("agreed", "confirms")


def never_agree(self):
    return self.say("refused", "refuses", "price")


def say_that_is_all(self, places, *, general, tell=ApprovingUser.tell):
    return self.say("clarify", "said_it_all") if general else tell(self, places, general=general)


MUTANTS = {
    "invents": ("tell", invent, "was read and is not wanted"),
    "keeps silent": ("tell", keep_silent, "does not tell"),
    "does not mind": ("tell", mind_nothing, "it minds the"),
    "agrees too early": ("consent", agree_at_once, "it agrees before"),
    "agrees never": ("consent", never_agree, "it refuses, and has told everything"),
    "says that this is all": ("tell", say_that_is_all, "it has not told the"),
}


READ_AS = {
    "tells": (),
    "tells_again": (),
    "said_it_all": (ALL_SAID, ENOUGH),
    "usual": (ENOUGH,),
    "does_not_mind": (UNMINDED,),
    "refuses": (REFUSES,),
    "confirms": (AGREES,),
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("how", READ_AS)
def test_each_way_to_say_something_is_read_as_that_and_nothing_else(how, language):
    facts = 1 if how in ("tells", "tells_again", "refuses") else 0
    for frame in load_reply_frames(how, facts, language):
        said = frame.replace(MARK, "").lower()
        found = tuple(each for each in (ALL_SAID, ENOUGH, UNMINDED, REFUSES, AGREES) if each.search(said))
        assert found == READ_AS[how], frame


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_simulator_that_is_wrong_is_found(name, language, english, vocabulary, monkeypatch):
    method, instead, why = MUTANTS[name]
    monkeypatch.setattr(ApprovingUser, method, instead)
    if language == "zh":
        vocabulary = SimpleNamespace(names=CHINESE_NAMES, facts_of=chinese_facts_of)
    some = english if language == "en" else tasks(20, "zh")
    found = [talk(task, vocabulary, stop=0 if "all" in name else None) for task in some]
    assert sum(any(why in wrong for wrong in each) for each in found) > 5, found


def test_an_episode_with_a_mistake_is_counted_apart(small, english, vocabulary, monkeypatch):
    """An agent that buys nothing after a lie failed by the shopper's fault, and is judged by the other episodes."""

    def ask_for_all(play):
        for fact in play.buyer.names:
            yield format_turn("", f"ask[What {fact} should it be?]", True)
        play.stop("it is a test")

    situation = ShoppingTasks(small.read("catalog").once(shop_of), english, {}, ["multi"], vocabulary=vocabulary)
    first = english[0].id
    tell = ApprovingUser.tell

    def lie_once(self, places, *, general):
        return (invent if self.task.id == first else tell)(self, places, general=general)

    monkeypatch.setattr(ApprovingUser, "tell", lie_once)
    monkeypatch.setattr(ShoppingTasks, "players", {"solver": ask_for_all})
    rows = evaluate(situation, "solver").rows
    assert [row.task_id for row in rows if row.shopper_error] == [first]
    (row, _) = summarize_outcomes(rows)
    assert (row.episodes, row.shopper_errors) == (len(english) - 1, pytest.approx(1 / len(english)))
    assert tabulate_reward_parts([row]).rows[0][-1] == f"{100 / len(english):.1f}"
