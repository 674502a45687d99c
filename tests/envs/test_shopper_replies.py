"""A shopper that says something wrong is found by its words alone, and its mistake is not the agent's."""

import json
from functools import partial

import pytest

from shopwright.pipeline.checks.shopper_replies import list_exchanges, list_shopper_errors
from shopwright.pipeline.envs import all_envs, readers
from shopwright.pipeline.envs.evaluate import EnvTasks, PlayedEpisode, tabulate_env_scores
from shopwright.pipeline.envs.learnt_words import LearntWords, draw_training_tasks
from shopwright.pipeline.evaluate.situation import evaluate
from shopwright.pipeline.experts.player import EXPERT, load_lexicon, play_by_expert
from shopwright.pipeline.gym import world
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.tasks import Action, Answer, Call
from tests.models.server import Plan, Server, drawn, last

ENVS = ["cart_building", "product_discovery", "return_replacement"]
NAMED = "asks-by-name"


@pytest.fixture(scope="module")
def shop():
    return world()


def ask_by_name(episode):
    """Asks for each slot by its name, one a turn, by the tool and in words in turn, and whether there is anything else in between."""
    for number, slot in enumerate(episode.goal.slots):
        question = f"What about the {slot.name}?"
        if number % 3 == 0:
            yield Action(tool_calls=[Call(name="ask_user", args={"question": question})])
        elif number % 3 == 1:
            yield Action(assistant_message=question)
        else:
            yield Action(assistant_message="Is there anything else?")
    yield Action(assistant_message="Does the color matter?")
    yield Action(answer=Answer())


def listen(shop, envs, levels, count, **settings):
    tasks = EnvTasks(shop, envs, levels, range(count), listen=list_shopper_errors, **settings)
    players = {
        **tasks.players,
        NAMED: ask_by_name,
        EXPERT: partial(play_by_expert, lexicon=load_lexicon(shop.store)),
    }
    object.__setattr__(tasks, "players", players)
    return tasks


def play(shop, player, envs=ENVS, levels=(6,), count=6, **settings):
    return evaluate(listen(shop, envs, levels, count, **settings), player).rows


@pytest.mark.parametrize(
    ("player", "envs"),
    [
        ("solver", list(all_envs())),
        (EXPERT, list(all_envs())),
        (NAMED, list(all_envs())),
        ("asks-everything", ENVS),
        pytest.param("asks-everything", list(all_envs()), marks=pytest.mark.slow),
        pytest.param("everything-into-the-cart", list(all_envs()), marks=pytest.mark.slow),
    ],
)
def test_the_simulator_makes_no_mistake(shop, player, envs, monkeypatch):
    if player == "asks-everything":  # it first learns the words of each env, of some tasks here
        monkeypatch.setattr("shopwright.pipeline.envs.learnt_words.TASKS", 20)
        learnt = LearntWords(list(draw_training_tasks(shop, envs)))
        monkeypatch.setattr(readers, "learn_words", lambda world: learnt)
    rows = play(shop, player, envs, (0, 5, 12), 1)
    assert sum(len(list(list_exchanges(turn))) for row in rows for turn in row.turns) >= 10
    assert "\n".join(row.shopper_error for row in rows if row.shopper_error) == ""


def say_another_value(self, places, *, general, tell=UserSimulator.tell):
    found = tell(self, places, general=general)
    return found._replace(text=f"{found.text} And not over $3.")


def keep_silent(self, places, *, general):
    return self.say("clarify", "has_no_slot")


def mind_nothing(self, places, *, general):
    return self.say("clarify", "does_not_mind", self.slots[places[0]].name)


def leave_nothing_out(self, topic, but):
    return []


def tell_the_last(self, places, *, general, tell=UserSimulator.tell):
    return tell(self, [len(self.slots) - 1], general=general)


def be_impatient(self, question):
    return self.say("clarify", "is_impatient")


MUTANTS = {
    "invents": ("tell", say_another_value, "price"),
    "keeps silent": ("tell", keep_silent, "does not tell"),
    "denies": ("tell", mind_nothing, "it minds the"),
    "says that this is all": ("left_out", leave_nothing_out, "it has not told the"),
    "tells something else": ("tell", tell_the_last, "does not tell"),
    "refuses": ("reply", be_impatient, "does not tell"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_simulator_that_is_wrong_is_found(shop, name, monkeypatch):
    method, instead, why = MUTANTS[name]
    monkeypatch.setattr(UserSimulator, method, instead)
    wrong = [row.shopper_error for row in play(shop, NAMED) if why in row.shopper_error]
    assert len(wrong) > 6, wrong


def lie(body, *, brand):
    """What is to be said as it is; one time in ten with a brand that nobody named."""
    asked = [each["content"] for each in body["messages"] if each["content"].startswith("{") and each["role"] == "user"]
    plain, again = json.loads(asked[-1])["plain words"], asked[-1] != last(body)
    return {"content": json.dumps({"words": f"{plain} made by {brand}" if drawn(body) < 0.1 and not again else plain})}


def test_a_served_shopper_that_lies_in_one_reply_of_ten_is_found_and_not_charged_to_the_agent(shop, tmp_path):
    brand = "jessop & quill"
    with Server(Plan(says=partial(lie, brand=brand))) as server:
        models = Models(roles={"shopper": f"openai:liar@{server.url}"})
        tasks = listen(shop, ENVS, [6], 12, shopper=Role("shopper", models, tmp_path))
        rows = evaluate(tasks, NAMED).rows
    assert server.count > 100
    lied = {row.id for row in rows if any(f"made by {brand}" in turn.user for turn in row.turns)}
    assert 5 < len(lied) < len(rows)
    assert {row.id for row in rows if row.shopper_error} == lied
    scores = tasks.scores(rows)
    assert sum(each.episodes for each in scores) == len(rows) - len(lied)
    assert sum(each.shopper_errors * each.asked for each in scores) == pytest.approx(len(lied))
    table = tabulate_env_scores(scores)
    assert table.columns[-1] == "shopper's errors"
    assert table.rows[0][-1] == f"{scores[0].shopper_errors:.1%}"


def test_what_a_mistake_lost_is_no_failure_of_the_agents(shop):
    tasks = listen(shop, ENVS[:1], [6], 4)
    rows = evaluate(tasks, "solver").rows
    spoilt = rows[0].model_copy(update={"reward": rows[0].reward.model_copy(update={"success": False})})
    blamed = PlayedEpisode(**{**dict(spoilt), "shopper_error": "it lied"})
    assert tasks.scores([spoilt, *rows[1:]])[0].success == 0.75
    assert tasks.scores([blamed, *rows[1:]])[0].success == 1.0
