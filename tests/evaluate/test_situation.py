"""One loop, one evaluation and one audit play whatever is a situation; and the four are."""

from dataclasses import dataclass

import pytest

from shopwright.pipeline.behaviors.evaluate import NextActions, collect_page_contexts, select_prediction_steps
from shopwright.pipeline.behaviors.evaluate import Plan as StepPlan
from shopwright.pipeline.envs.evaluate import EnvTasks
from shopwright.pipeline.evaluate.audit import audit, judge_cells, tabulate_audit
from shopwright.pipeline.evaluate.situation import (
    Episode,
    NothingToDraw,
    Score,
    Situation,
    Step,
    evaluate,
    find_player,
    play_offline,
    play_through,
)
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.gym import world
from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rollouts.evaluate import Plan, open_questions
from shopwright.pipeline.shopping.evaluate import ShoppingTasks
from shopwright.schemas.record import Record
from tests.shopping.shops import profile_of, shop, tasks


class Guess(Episode):
    """A number up to 9, guessed in three turns; it says whether it is more."""

    def __init__(self, number):
        self.number = number

    @property
    def task_id(self):
        return f"n{self.number}"

    def reset(self):
        self.guesses = []
        return "?"

    def prompt(self):
        return Prompt("guess", ({"role": "user", "content": str(self.guesses)},))

    def step(self, action):
        self.guesses.append(action.text if isinstance(action, Reply) else action)
        over = self.right or len(self.guesses) == 3
        return Step("more" if self.guesses[-1] < str(self.number) else "less", float(self.right), over, {})

    @property
    def right(self):
        return bool(self.guesses) and self.guesses[-1] == str(self.number)

    def score(self):
        return Score({"reward": 1.0 if self.right else -1.0}, self.right, "" if self.right else "another number")


class Guessed(Record):
    policy: str
    right: bool


def know(episode):
    yield "0"
    yield str(episode.number)


def say_three(episode):
    yield "3"


PLAYERS = {"solver": know, "says-three": say_three}


@dataclass(frozen=True)
class Numbers(Situation):
    name = "numbers"
    makes = Guessed
    players = PLAYERS
    numbers: tuple[int, ...] = (1, 3, 5)

    @property
    def asked(self):
        return len(self.numbers)

    def tasks(self):
        return iter(self.numbers)

    def begin(self, task):
        if task > 9:
            raise NothingToDraw("no such number")
        return Guess(task)

    def keep(self, trace):
        return Guessed(id=trace.episode.task_id, policy=trace.policy, right=trace.score.success)

    def tables(self, rows):
        return [Table(["id"], [[row.id] for row in rows])]

    def figures(self, rows):
        return {"rows": [row.model_dump() for row in rows]}

    def group(self, task):
        return {"odd": "odd" if task % 2 else "even"}

    def judge(self, cells):
        return judge_cells(cells)


# The loop


def test_a_trace_holds_what_was_seen_and_done_until_the_end():
    trace = play_offline(Guess(5), know)
    assert trace.turns == [("?", "0"), ("more", "5")]
    assert trace.score == Score({"reward": 1.0}, True)


def test_a_player_that_has_no_more_to_say_is_silent_until_the_end():
    trace = play_offline(Guess(5), say_three)
    assert [turn.action for turn in trace.turns] == ["3", "", ""]
    assert trace.score.fault == "another number"


def test_a_model_plays_by_its_replies():
    talk = play_through(Guess(5), policy="toy")
    assert next(talk).messages == ({"role": "user", "content": "[]"},)
    assert talk.send(Reply("0")).messages == ({"role": "user", "content": "['0']"},)
    with pytest.raises(StopIteration) as end:
        talk.send(Reply("5"))
    assert (end.value.value.policy, end.value.value.score.success) == ("toy", True)


def test_an_episode_is_played_again_from_its_beginning():
    episode = Guess(3)
    assert play_offline(episode, know).turns == play_offline(episode, know).turns


# Evaluation


def test_rows_come_in_the_order_of_the_tasks():
    found = evaluate(Numbers((5, 3, 1)), "solver")
    assert [(row.id, row.policy, row.right) for row in found.rows] == [(f"n{n}", "solver", True) for n in (5, 3, 1)]
    assert (len(found.rows), found.asked) == (3, 3)


@pytest.mark.parametrize("typed", ["says-three", "says three", "says_three"])
def test_a_player_is_found_however_its_words_are_joined(typed):
    assert find_player(typed, Numbers.players) == ("says-three", say_three)
    assert [row.right for row in evaluate(Numbers(), typed).rows] == [False, True, False]


def test_an_unknown_player_is_named_with_those_that_there_are():
    with pytest.raises(Problem, match=r"There is no player wizard\. There are: solver, says-three, and models"):
        evaluate(Numbers(), "wizard")


# The audit


def test_an_audit_counts_by_group_and_player():
    cells = audit([Numbers((1, 3, 4))])
    assert [(cell.where, cell.policy, cell.success, cell.parts["reward"]) for cell in cells] == [
        ("odd", "solver", measure_share(2, 2), 1.0),
        ("odd", "says-three", measure_share(1, 2), 0.0),
        ("even", "solver", measure_share(1, 1), 1.0),
        ("even", "says-three", measure_share(0, 1), -1.0),
    ]
    assert not judge_cells(cells).failed
    assert {len(line) for line in tabulate_audit(cells).rows} == {5}


def test_pieces_count_as_the_whole():
    assert audit([Numbers((1,)), Numbers((3, 4))]) == audit([Numbers((1, 3, 4))])


def test_a_player_that_earns_as_much_as_the_solver_fails_the_audit():
    assert judge_cells(audit([Numbers((3,))])).cheated == ["odd: says-three earns +1.000, the solver +1.000"]


def test_a_solver_that_misses_fails_the_audit(monkeypatch):
    monkeypatch.setitem(Numbers.players, "solver", say_three)
    assert judge_cells(audit([Numbers()], ["solver"])).unsolved == ["odd: solved in 33.33% of 3 episodes"]


def test_what_could_not_be_drawn_is_a_group_without_episodes():
    cells = audit([Numbers((1, 20))])
    assert [(cell.where, cell.episodes, cell.parts) for cell in cells if cell.policy == "solver"] == [
        ("odd", 1, {"reward": 1.0}),
        ("even", 0, {}),
    ]
    assert not judge_cells(cells).failed


# The four


@pytest.fixture(scope="module")
def situations(small):
    steps = select_prediction_steps(small.read("behavior_steps"), "train", 6)
    contexts = collect_page_contexts(small.read("behaviors"), steps)
    some = [*tasks(2), *tasks(1, personal=True)]
    profiles = {one.profile_id: profile_of(one) for one in some if one.profile_id}
    return [
        EnvTasks(world(), ["policy_qa", "cart_building"], [0, 6], range(2)),
        open_questions(small.read("questions"), small.read("trajectories"), Plan(split="sft", limit=3)),
        ShoppingTasks(shop(), some, profiles),
        NextActions(small.read("behavior_steps"), steps, contexts, StepPlan("train")),
    ]


def test_each_is_driven_by_reset_and_step_alone(situations):
    """As a server or a trainer would: what the solver did, done again, earns the same."""
    for situation in situations:
        for task in situation.tasks():
            trace = play_offline(situation.begin(task), situation.players["solver"])
            assert trace.score.success, (situation.name, trace.score.fault)
            episode = situation.begin(task)
            assert episode.task_id == trace.episode.task_id
            episode.reset()
            for turn in trace.turns:
                step = episode.step(turn.action)
            assert step.done
            assert step.reward == trace.score.parts["reward"]
            assert episode.score() == trace.score


def test_each_has_the_solver_first_and_players_that_are_typed_with_dashes(situations):
    for situation in situations:
        assert next(iter(situation.players)) == "solver"
        assert not [name for name in situation.players if {" ", "_"} & set(name)]
        assert situation.asked == sum(1 for _ in situation.tasks())


def test_each_asks_a_model_something_and_counts_nonsense_as_no_success(situations):
    for situation in situations:
        episode = situation.begin(next(situation.tasks()))
        episode.reset()
        assert episode.prompt().messages
        step, turns = episode.step(Reply("nonsense")), 1
        while not step.done:
            assert step.reward == 0
            step, turns = episode.step(Reply("nonsense")), turns + 1
        assert turns <= 40
        assert not episode.score().success
