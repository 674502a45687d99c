"""The expert finds nearly everything by what a model gets alone, and uses nothing that it has not seen."""

import numpy as np
import pytest

from shopwright.pipeline.checks.shopping import index_profile_records, shop_of
from shopwright.pipeline.checks.short_instructions import open_short_shop
from shopwright.pipeline.evaluate.situation import play_offline
from shopwright.pipeline.reading.short_instructions import CategoryFacts, ReadNeed
from shopwright.pipeline.shopping.expert import (
    EXPERT,
    Candidate,
    ShoppingExpert,
    ShopVocabulary,
    copy_vocabulary,
    list_usual,
    parse_beginning,
    play_by_expert,
)
from shopwright.pipeline.shopping.lexical_baselines import ResultLine
from shopwright.pipeline.shopping.play import Play, list_scenarios, make_episode
from shopwright.pipeline.shopping.seen_words import SeenWords, list_unseen
from shopwright.schemas.shopping import Step


@pytest.fixture(scope="module")
def vocabulary(small):
    return copy_vocabulary(open_short_shop(small.read("catalog"), small.read("variants")))


def list_plays(small):
    shop, profiles = small.read("catalog").once(shop_of), small.read("profiles").once(index_profile_records)
    for task in small.read("shopping_tasks"):
        for scenario in list_scenarios(task):
            yield Play(shop, task, scenario, profiles.get(task.profile_id))


class OnlyTold:
    """A play of which nothing can be had but the messages that a model gets first."""

    def __init__(self, messages):
        self._messages = messages

    def told(self):
        return self._messages

    def __getattr__(self, name):
        raise AssertionError(f"{name} is nothing that a model gets")


def test_the_expert_gets_what_a_model_gets_and_nothing_else(small, vocabulary):
    for play in list(list_plays(small))[:8]:
        before = play_offline(play, play_by_expert(vocabulary), EXPERT).episode.steps
        play.reset()
        agent, sight = play_by_expert(vocabulary)(OnlyTold(play.told())), None
        while not play.done:
            sight = play.step(next(agent, "") if sight is None else agent.send(sight)).observation
        assert [step.action for step in play.steps] == [step.action for step in before]


def test_whoever_asks_for_more_than_a_model_gets_is_stopped(vocabulary):
    with pytest.raises(AssertionError, match="task is nothing that a model gets"):
        _ = OnlyTold([]).task


def test_the_expert_succeeds_at_nearly_all_tasks_of_every_scenario(small, vocabulary):
    found = {}
    for play in list_plays(small):
        score = play_offline(play, play_by_expert(vocabulary), EXPERT).score
        found.setdefault(play.scenario, []).append(score.success)
    assert len(found) == 4
    every = [success for all_of_one in found.values() for success in all_of_one]
    assert sum(every) >= 0.8 * len(every)


def test_where_nothing_is_found_the_expert_acts_to_the_end_by_what_it_sees(small):
    play = next(list_plays(small))
    episode = make_episode(play_offline(play, search_in_vain(ShopVocabulary([], {})), EXPERT))
    assert len(episode.steps) == play.limit
    assert not any(step.fault for step in episode.steps)


class Nowhere:
    """Finds nothing."""

    def find(self, text, **limits):
        return np.zeros(0, np.int64)


def search_in_vain(vocabulary):
    """The expert in a shop whose search finds nothing."""

    def play_it(play):
        play.browser.finder = Nowhere()
        return play_by_expert(vocabulary)(play)

    return play_it


def test_the_beginning_is_taken_apart_as_it_was_told(small):
    for play in list(list_plays(small))[::5]:
        start = parse_beginning(play.told())
        assert (start.opening, start.multi, start.language) == (play.opening, play.multi, play.task.language)
        assert start.sight == play.first
        assert bool(start.profile) == bool(play.profile)


def test_an_opening_is_read_as_its_stated_needs(small, vocabulary):
    for play in list_plays(small):
        if not play.multi:
            expert = ShoppingExpert(vocabulary, play.told())
            expert.read_opening()
            stated = [need for need in play.task.needs if need.known == "stated"]
            assert expert.category == play.task.category
            assert sorted(need.op for need in expert.needs) == sorted(need.op for need in stated)


PROFILE = """Interests:
- brands: Norrvik (high), Tal, Inc. (high), Pell & Thatch (low)
- colors: red (high), blue (high), sand (low)
- sizes: Kettles (capacity: 2 qt), Running Shoes (size: 9)
- price range: $20-60"""


def usual(profile=PROFILE, **values):
    facts = CategoryFacts({fact: dict.fromkeys(known) for fact, known in values.items()})
    return [(*need.facts, need.op, need.value) for need in list_usual(profile, "Kettles", facts)]


def test_what_a_profile_says_of_a_kind_of_thing_without_a_doubt():
    both = usual(brand=["norrvik", "pell & thatch"], color=["red", "blue"])
    assert both == [("brand", "is", "norrvik"), ("capacity", "is", "2 qt"), ("price", "at most", "60.00")]
    assert ("color", "is", "red") in usual(brand=["tal, inc."], color=["red", "sand"])
    assert usual("Interests:") == []


def test_titles_that_name_what_they_are_not_mislead_once(small, vocabulary):
    """A cable for a camera names the camera. After that it goes by the order of the search."""
    expert = ShoppingExpert(vocabulary, next(list_plays(small)).told())
    expert.read_opening()
    expert.needs, expert.preferences = [], []
    titles = ["no such word"] + [f"a cable for {expert.own_names[0][0]}"] * 2
    expert.found = {
        str(place): Candidate(ResultLine(str(place), title, 1.0, 1.0), (1, place)) for place, title in enumerate(titles)
    }
    first, misleads, _ = expert.found.values()
    assert expert.choose_next() is misleads
    misleads.facts = {"category": "cables"}
    expert.judge(misleads)
    assert expert.choose_next() is first
    first.facts = {"category": expert.category.lower()}
    expert.judge(first)
    assert (misleads.unmet != [], first.unmet) == (True, [])


def test_one_usual_thing_is_needed_and_of_several_any(vocabulary, small):
    play = next(play for play in list_plays(small) if play.profile)
    expert = ShoppingExpert(vocabulary, play.told())
    expert.read_opening()
    told = len(expert.needs)
    expert.use_profile()
    plain = [need for need in expert.preferences if "price" not in need.facts]
    assert len(expert.needs) - told == (1 if expert.usual else 0)
    assert len(plain) != 1
    assert all(isinstance(need, ReadNeed) for need in expert.needs)


# What was seen


def step(action, *, thought="", observation="", clickables=()):
    return Step(
        thought=thought, action=action, observation=observation, clickables=list(clickables), can_search=True, fault=""
    )


def unseen(*steps, things=("kettle",)):
    return list(list_unseen(["a red kettle", "Shop"], ["search"], steps, things))


def test_a_search_may_have_words_that_were_said_or_shown_or_name_things():
    assert unseen(step("search[red kettles]")) == []
    assert unseen(step("search[kettle 2 qt]")) == ["step 1 says '2'", "step 1 says 'qt'"]
    shown = step("search[kettle]", observation="Norrvik kettle, 2 qt")
    assert unseen(shown, step("search[2 qt kettle]")) == []


def test_only_what_a_page_offers_may_be_clicked():
    shown = step("search[kettle]", clickables=["b01"])
    assert unseen(shown, step("click[B01]")) == []
    assert unseen(shown, step("click[b02]")) == ["step 2 clicks 'b02'"]
    assert unseen(step("click[b01]", clickables=["b01"])) == ["step 1 clicks 'b01'"]


def test_questions_and_thoughts_name_nothing_that_was_not_seen():
    assert unseen(step("ask[Is there anything else that matters?]", thought="I ask before I buy the red kettle.")) == []
    assert unseen(step("ask[Is it Norrvik?]")) == ["step 1 says 'norrvik'"]
    assert unseen(step("search[kettle]", thought="It is the Norrvik one.")) == ["step 1 says 'norrvik'"]


def test_chinese_words_are_found_wherever_they_were_cut():
    seen = SeenWords(["不锈钢保温杯，500毫升"])
    assert seen.has("保温杯 500毫升")
    assert not seen.has("陶瓷杯")


def test_every_step_of_the_expert_uses_what_it_has_seen(small, vocabulary):
    things = open_short_shop(small.read("catalog"), small.read("variants")).thing_words
    for play in list(list_plays(small))[::3]:
        episode = make_episode(play_offline(play, play_by_expert(vocabulary), EXPERT))
        texts = [play.told()[1]["content"]]
        assert list(list_unseen(texts, play.first.clickables, episode.steps, things)) == []
