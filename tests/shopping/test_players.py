"""The solver always succeeds; those who do not look closely hardly ever do."""

import numpy as np
import pytest

from shopwright.pipeline.evaluate.situation import play_offline
from shopwright.pipeline.shopping.evaluate import MOST_BASELINE_SUCCESS, MOST_READING_SUCCESS
from shopwright.pipeline.shopping.play import Play, list_scenarios, make_episode
from shopwright.pipeline.shopping.players import PLAYERS, list_top_likes
from tests.shopping.shops import begin_task, customer, play_task, shop, tasks

CHEAP = [name for name in PLAYERS if name != "solver"]


def draw_sample():
    return [*tasks(), *tasks(language="zh"), *tasks(8, personal=True)]


def list_episodes():
    return [(one, scenario) for one in draw_sample() for scenario in list_scenarios(one)]


def to_the_end(play):
    """What comes of it if the solver plays."""
    return make_episode(play_offline(play, PLAYERS["solver"]))


def test_the_sample_has_all_scenarios_and_languages():
    assert {scenario for _, scenario in list_episodes()} == {"single", "multi", "single personal", "multi personal"}
    assert {one.language for one in draw_sample()} == {"en", "zh"}


def test_the_solver_succeeds_in_every_scenario():
    for one, scenario in list_episodes():
        episode = play_task(one, scenario)
        assert episode.typed.success, (one.id, scenario, episode.typed.fault)
        assert episode.typed.same_product
        assert episode.literal.success
        assert episode.errors == []
        assert not [step.fault for step in episode.steps if step.fault]


def test_the_solver_asks_reads_chooses_and_proposes_before_it_buys():
    one = next(each for each in draw_sample() if each.variant_id and each.language == "en" and not each.profile_id)
    actions = [step.action for step in play_task(one, "multi").steps]
    assert actions[0].startswith("ask[")
    assert "click[description]" in actions
    assert "click[features]" in actions
    assert actions[-2].startswith("ask[")
    assert actions[-1] == "click[buy now]"


def test_the_solver_is_agreed_with_in_the_end():
    for one in draw_sample():
        play = begin_task(one, list_scenarios(one)[1])
        to_the_end(play)
        assert play.buyer.untold == []
        assert play.seen[-2].verdict == "agreed"


def test_the_solver_ends_without_a_purchase_where_its_product_cannot_be_found():
    one = draw_sample()[0].model_copy(update={"needs": []})

    class Nothing:
        def find(self, text, *, limit, **filters):
            return np.array([], np.int64)

    play = Play(type(shop())(shop().store, Nothing()), one, "single")
    assert to_the_end(play).bought_product == ""
    assert not [step for step in play.steps if step.action == "click[buy now]"]


def test_the_solver_goes_on_to_the_end_where_its_purchase_fails():
    one = next(each for each in draw_sample() if each.variant_id and any(need.kind == "option" for need in each.needs))
    play = begin_task(one.model_copy(update={"variant_id": ""}), "single")  # so that it does not know what to choose
    assert to_the_end(play).bought_product == ""
    assert next(step.fault for step in play.steps if step.action == "click[buy now]").startswith("Choose ")


@pytest.mark.parametrize("player", CHEAP)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_does_not_look_closely_seldom_succeeds(player, language):
    """Chinese tasks are short: who searches their own words may succeed as often as the audit of such tasks allows."""
    sample = tasks(60, language="zh") if language == "zh" else [one for one in draw_sample() if one.language == "en"]
    found = [play_task(one, scenario, player) for one in sample for scenario in list_scenarios(one)]
    most = MOST_READING_SUCCESS.get(player, MOST_BASELINE_SUCCESS) if language == "zh" else MOST_BASELINE_SUCCESS
    assert sum(each.typed.success for each in found) <= most * len(found)
    assert all(each.bought_product or len(each.steps) in (30, 40) for each in found)


def test_who_never_asks_is_told_nothing():
    for one in tasks(4):
        episode = play_task(one, "multi", "first-result")
        assert not [step for step in episode.steps if step.action.startswith("ask[")]
        assert episode.steps[0].action == f"search[{one.simple_instruction}]"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_asks_everything_hears_everything(language):
    for one in tasks(4, language):
        play = begin_task(one, "multi")
        player = PLAYERS["asks-everything"](play)
        turn = next(player)
        while turn.partition("Action_type: ")[2].startswith("ask_shopper"):
            turn = player.send(play.step(turn).observation)
        assert play.buyer.untold == []
        assert all(need.said in turn for need in one.needs)


def test_who_copies_the_profile_searches_what_is_liked_best():
    (one,) = tasks(1, personal=True)
    brand = next(need.value for need in one.needs if need.known == "profile")
    assert play_task(one, "single personal", "copies-the-profile").steps[0].action == f"search[{brand}]"
    assert play_task(tasks(1)[0], "single", "copies-the-profile").steps[0].action == "search[]"


def test_what_is_liked_best_is_the_first_of_each_sort():
    assert list_top_likes(customer("Norrvik", "Osko")) == ["Norrvik"]
    assert list_top_likes(None) == []


def test_who_plays_at_random_does_only_what_can_be_done():
    for one in tasks(4):
        faults = {step.fault for step in play_task(one, "multi", "random").steps}
        assert not [fault for fault in faults if fault.startswith(("There is no", "An action is", "Your turn"))]


def test_who_does_nothing_buys_nothing():
    episode = play_task(tasks(1)[0], "single", "nothing")
    assert (episode.bought_product, len(episode.steps)) == ("", 30)
