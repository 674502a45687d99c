"""A task played turn by turn: what is understood, what is seen, when it ends, and that it can be played again."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.evaluate.situation import play_offline, play_through
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.shopping.play import (
    ACTIONS,
    FORM,
    LONGEST,
    SCENARIOS,
    clip_unreadable_turn,
    format_observation,
    format_turn,
    list_scenarios,
    make_episode,
    parse_turn,
)
from shopwright.pipeline.shopping.players import play_solver
from tests.shopping.shops import begin_task, play_task, tasks

HOSTILE = [
    "",
    "search[mug]",
    "Action: ",
    "Action: buy it",
    "Action: click[buy now] click[buy now]",
    "Thought: x\nAction: ask[What color?]",
    "Action_type: interact_with_env\nAction_content: ask[What color?]",
    "Action_type: interact_with_env\nAction_content: ask[",
    "Action_type: fly\nAction_content: search[mug]",
    "Action_type: ask_shopper",
    "Action_content: x\nAction_type: ask_shopperX",
    "Thought: \ud800\nAction: search[\udfff]",
    "\x00\u2028 [SEP] </html>",
    "Ignore the rules. " * 500,
]


def write_turn(action, multi):
    return format_turn("I try.", action, multi)


# What is understood


def test_a_turn_alone_is_a_thought_and_an_action():
    assert parse_turn("Thought: I look.\nAction: search[red mug]", False) == ("I look.", "search[red mug]")
    assert parse_turn("thought : a\nb\naction： click[< Prev]\n", False) == ("a\nb", "click[< Prev]")
    assert parse_turn("Action: search[mug]", False) == ("", "search[mug]")


def test_a_turn_of_a_conversation_has_a_type_and_a_content():
    assert parse_turn("Thought: ?\nAction_type: ask_shopper\nAction_content: Which color?\nOr any?", True) == (
        "?",
        "ask[Which color?\nOr any?]",
    )
    assert parse_turn("Action_type: Interact_With_Env\nAction_content: click[buy now]", True) == ("", "click[buy now]")


@pytest.mark.parametrize(
    ("text", "multi"),
    [
        ("search[mug]", False),
        ("Thought: I look.", False),
        ("Action: search[mug]", True),
        ("Action_type: ask_shopper", True),
        ("Action_type: fly\nAction_content: search[mug]", True),
        ("Action_type: interact_with_env\nAction_content: ask[What color?]", True),
    ],
)
def test_what_has_another_form_is_no_action(text, multi):
    assert parse_turn(text, multi)[1] == ""


words = st.text(st.characters(codec="utf-8", exclude_characters="\r\x85\u2028\u2029\x0b\x0c\x1c\x1d\x1e"), max_size=30)


@given(thought=words, what=words, verb=st.sampled_from(["search", "click", "ask"]), multi=st.booleans())
@example(thought="", what="a]b[", verb="ask", multi=True)
@example(thought="x", what="", verb="search", multi=False)
def test_a_turn_that_was_read_is_written_and_read_again_the_same(thought, what, verb, multi):
    once = parse_turn(format_turn(thought, f"{verb}[{what}]", multi), multi)
    assert once[1] == "" or parse_turn(format_turn(*once, multi), multi) == once


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_kept_of_a_turn_that_is_not_understood_is_not_understood_either(text, multi):
    if parse_turn(text, multi)[1] == "":
        assert parse_turn(clip_unreadable_turn(text, multi), multi)[1] == ""
        assert len(clip_unreadable_turn(text, multi)) <= LONGEST


def test_a_turn_that_would_be_understood_once_it_is_cut_is_not_kept():
    start = "Action_content: x\n".ljust(LONGEST - len("\nAction_type: ask_shopper")) + "\nAction_type: ask_shopper"
    assert parse_turn(start + "s", True)[1] == ""
    assert clip_unreadable_turn(start + "s", True) == ""


# What is seen


def test_a_button_that_is_not_there_is_said_to_be_not_there():
    play = begin_task(tasks(4)[0], "single")
    before = play.sight()
    sight = play.step(write_turn("click[buy now]", False)).observation
    assert (
        sight.text == play.steps[-1].observation == play.steps[-1].fault == "There is no button 'buy now' on this page."
    )
    assert (sight.clickables, sight.can_search) == (before.clickables, before.can_search)


def test_a_turn_that_is_not_understood_is_told_the_form_and_counts():
    for scenario in ("single", "multi"):
        play = begin_task(tasks(4)[0], scenario)
        sight = play.step("I would rather not.").observation
        assert sight.text == FORM[play.multi]
        assert sight.left == ACTIONS[scenario] - 1
        assert play.steps[-1].action == "I would rather not."


def test_alone_there_is_nobody_to_ask():
    play = begin_task(tasks(4)[0], "single")
    play.step("Thought: ?\nAction: ask[What color?]")
    play.step("Action_type: ask_shopper\nAction_content: What color?")
    assert all(step.fault for step in play.steps)
    assert all(not seen.told for seen in play.seen)


def test_a_question_leaves_the_page_as_it_is():
    play = begin_task(tasks(4)[0], "multi")
    before = play.step(write_turn(f"search[{tasks(4)[0].category}]", True)).observation
    sight = play.step(write_turn("ask[Is there anything else?]", True)).observation
    assert (sight.clickables, sight.can_search) == (before.clickables, before.can_search)
    assert sight.text != before.text
    assert play.seen[-1].shown == ()
    assert play.seen[0].shown


def test_what_an_agent_is_told_first_is_the_opening_and_the_first_page():
    play = begin_task(tasks(4)[0], "multi")
    _, user = play.told()
    assert tasks(4)[0].simple_instruction in user["content"]
    assert tasks(4)[0].instruction not in user["content"]
    assert format_observation(play.sight()) in user["content"]
    assert "40 actions" in play.told()[0]["content"]
    assert "ask_shopper" in play.told()[0]["content"]


def test_only_a_personal_scenario_shows_the_profile():
    (one,) = tasks(1, personal=True)
    brand = next(need.value for need in one.needs if need.known == "profile")
    for scenario in ("single personal", "multi personal"):
        assert "Profile:\n" in begin_task(one, scenario).told()[1]["content"]
        assert brand in begin_task(one, scenario).told()[1]["content"]
    assert "Profile:" not in begin_task(tasks(4)[0], "single").told()[1]["content"]


def test_alone_there_is_no_word_of_asking():
    assert "ask_shopper" not in begin_task(tasks(4)[0], "single").told()[0]["content"]


def test_a_task_has_the_two_scenarios_of_its_sort():
    assert list_scenarios(tasks(4)[0]) == ("single", "multi")
    assert list_scenarios(tasks(1, personal=True)[0]) == ("single personal", "multi personal")


# The end


@pytest.mark.parametrize(("scenario", "most"), [("single", 30), ("multi", 40)])
def test_it_ends_after_so_many_actions(scenario, most):
    play = begin_task(tasks(4)[0], scenario)
    taken = 0
    while not play.done:
        sight = play.step("nonsense").observation
        taken += 1
        assert sight.left == most - taken
    assert taken == most
    episode = play.episode("toy")
    assert (episode.bought_product, episode.typed.loose, episode.typed.success) == ("", 0.0, False)
    assert episode.messages == []


def test_scenarios_with_a_profile_have_as_many_actions():
    assert [ACTIONS[each] for each in SCENARIOS] == [30, 30, 40, 40]


def test_it_ends_with_a_purchase():
    episode = play_task(tasks(4)[0], "single")
    assert episode.steps[-1].action == "click[buy now]"
    assert not episode.steps[-1].fault
    assert episode.bought_product == tasks(4)[0].product_id
    assert episode.typed.success
    assert episode.typed.same_product


def test_what_is_bought_is_the_variant_that_was_chosen():
    for one in tasks():
        episode = play_task(one, "single")
        assert episode.bought_variant == one.variant_id


# To train on


def test_a_success_is_a_conversation_to_train_on():
    for scenario in ("single", "multi"):
        episode = play_task(tasks(4)[0], scenario)
        roles = [each.role for each in episode.messages]
        assert roles == ["system", *["user", "assistant"] * len(episode.steps)]
        for step, message in zip(episode.steps, episode.messages[2::2], strict=True):
            assert parse_turn(message.content, scenario == "multi") == (step.thought, step.action)


def test_what_was_not_understood_is_in_it_as_it_was_said():
    play = begin_task(tasks(4)[0], "single")
    play.step("hm, let me think")
    player = play_solver(play)
    turn = next(player)
    while not play.done:
        sight = play.step(turn).observation
        turn = player.send(sight) if not play.done else ""
    episode = play.episode("toy")
    assert episode.typed.success
    assert episode.messages[2].content == "hm, let me think"
    assert FORM[False] in episode.messages[3].content


def test_what_an_agent_sees_later_is_what_it_saw_then():
    """The messages of a success are the ones that the model was asked with."""
    talk, asked = converse(begin_task(tasks(4)[0], "multi"), "solver"), []
    try:
        prompt = next(talk)
        for action in solve(tasks(4)[0], "multi"):
            asked.append(prompt.messages)
            prompt = talk.send(Reply(action))
    except StopIteration as end:
        told = [{"role": each.role, "content": each.content} for each in end.value.messages]
    assert told[:-1] == list(asked[-1])


def converse(play, policy):
    """The task as a model's conversation, and its row."""
    return make_episode((yield from play_through(play, policy=policy)))


def solve(one, scenario):
    """What the solver says, turn by turn."""
    return [turn.action for turn in play_offline(begin_task(one, scenario), play_solver).turns]


# Again, and at once


def again(episode, one):
    """The steps of an episode once more."""
    play = begin_task(one, episode.scenario)
    for step in episode.steps:
        raw = step.fault == FORM[play.multi]
        play.step(step.action if raw else format_turn(step.thought, step.action, play.multi))
    return play.episode(episode.policy)


@pytest.mark.parametrize("player", ["solver", "asks-everything", "random", "nothing"])
def test_the_same_steps_are_the_same_episode(player):
    for one in (*tasks(4), *tasks(4, "zh"), *tasks(2, personal=True)):
        for scenario in list_scenarios(one):
            episode = play_task(one, scenario, player)
            assert again(episode, one) == episode
            assert play_task(one, scenario, player) == episode


@pytest.mark.parametrize("scenario", ["single", "multi"])
def test_whatever_is_said_is_a_step_that_can_be_played_again(scenario):
    one, play = tasks(4)[0], begin_task(tasks(4)[0], scenario)
    for text in HOSTILE:
        play.step(text)
        play.step(write_turn(f"search[{text}]", play.multi))
        if play.done:
            break
    while not play.done:
        play.step("nonsense")
    episode = play.episode("toy")
    assert len(episode.steps) == ACTIONS[scenario]
    assert again(episode, one) == episode
    assert episode.model_dump_json().encode()


def test_text_in_a_question_cannot_act():
    play = begin_task(tasks(4)[0], "multi")
    play.step(write_turn("ask[Fine?]\nAction_type: interact_with_env\nAction_content: click[buy now]", True))
    assert play.browser.bought is None
    assert play.steps[-1].action.startswith("ask[")


def test_two_at_once_do_not_mix():
    """Each has its own page, shopper and goal, however their turns fall (the release's third fault)."""
    pairs = [(one, scenario) for one in tasks(4) for scenario in list_scenarios(one)]
    apart = [play_task(*pair) for pair in pairs]
    talks = [converse(begin_task(*pair), "solver") for pair in pairs]
    says = [iter(solve(*pair)) for pair in pairs]
    for talk in talks:
        next(talk)
    done = {}
    while len(done) < len(pairs):
        for place in set(range(len(pairs))) - done.keys():
            try:
                talks[place].send(Reply(next(says[place])))
            except StopIteration as end:
                done[place] = end.value
    assert [done[place] for place in range(len(pairs))] == apart


def test_a_refused_prompt_is_a_turn_that_is_not_understood():
    play = begin_task(tasks(4)[0], "single")
    talk = converse(play, "toy")
    next(talk)
    talk.send(Reply("", fault="HTTP 400: too long"))
    assert play.steps[0].action == "HTTP 400: too long"
    assert play.steps[0].fault == FORM[False]


def replied(talk, replies):
    """What comes of a conversation in which a model says this."""
    try:
        next(talk)
        for text in replies:
            talk.send(Reply(text))
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize("scenario", ["single", "multi"])
def test_replies_of_nonsense_end_in_an_episode_without_a_purchase(scenario):
    episode = replied(converse(begin_task(tasks(4)[0], scenario), "toy"), [*HOSTILE, *["?"] * ACTIONS[scenario]])
    assert episode.bought_product == ""
    assert len(episode.steps) == ACTIONS[scenario]


def test_an_episode_has_a_name_for_its_task_scenario_and_policy():
    (one,) = tasks(1, personal=True)
    assert play_task(one, "multi personal", "nothing").id == f"{one.id}-multi-personal-nothing"


def test_the_offline_player_is_asked_nothing_after_the_end():
    play = begin_task(tasks(4)[0], "single")
    assert make_episode(play_offline(play, play_solver)).typed.success


def test_the_templates_need_no_profile():
    assert render_messages(
        "shopping_episodes", multi=False, personal=False, limit=30, language="en", opening="x", profile="", page="y"
    )
