"""pass@k and pass^k of agents whose chances are known, with intervals that are of tasks and not of tries."""

from dataclasses import dataclass
from itertools import combinations
from random import Random

import pytest

from shopwright.pipeline.evaluate.situation import Score, Step, evaluate
from shopwright.pipeline.evaluate.statistics import Share, estimate_pass_all, measure_share
from shopwright.pipeline.evaluate.tries import average_passes, group_by_task, measure_passes, tabulate_passes
from tests.evaluate.test_situation import Guess, Guessed, Numbers

KS = [1, 2, 4, 8]


class Throw(Guess):
    """A task that is right when somebody says yes."""

    def step(self, action):
        self.guesses.append(action)
        return Step("", float(self.right), True, {})

    @property
    def right(self):
        return self.guesses == ["yes"]

    def score(self):
        return Score({"reward": float(self.right)}, self.right)


def say_yes_with(chance):
    def play(episode):
        luck = Random(f"{episode.task_id}/{episode.try_number}").random()
        yield "yes" if luck < chance(episode.number) else "no"

    return play


PLAYERS = {"solver": say_yes_with(lambda _: 1.0), "half": say_yes_with(lambda _: 0.5)}
PLAYERS["often"] = say_yes_with(lambda _: 0.8)
PLAYERS["sure-or-lost"] = say_yes_with(lambda number: number % 2)


@dataclass(frozen=True)
class Throws(Numbers):
    players = PLAYERS
    tries: int = 8

    def begin(self, task):
        return Throw(task)


def play(player, tasks=400):
    found = evaluate(Throws(tuple(range(tasks))), player)
    assert (len(found.rows), found.asked) == (8 * tasks, 8 * tasks)
    return measure_passes(group_by_task(found.rows, task_of), is_right)


def task_of(row: Guessed):
    return row.id


def is_right(row: Guessed):
    return row.right


@pytest.mark.parametrize(("player", "chance"), [("half", 0.5), ("often", 0.8), ("solver", 1.0)])
def test_an_agent_with_a_known_chance_has_the_passes_that_follow_from_it(player, chance):
    found = play(player)
    assert (found.tasks, found.tries, list(found.pass_at), list(found.pass_all)) == (400, 8, KS, KS)
    for k in KS:
        any_of, all_of = found.pass_at[k], found.pass_all[k]
        assert any_of.low <= 1 - (1 - chance) ** k <= any_of.high
        assert all_of.low <= chance**k <= all_of.high
        assert any_of.share == pytest.approx(1 - (1 - chance) ** k, abs=0.05)
        assert all_of.share == pytest.approx(chance**k, abs=0.05)


def test_tries_at_tasks_that_always_end_alike_tell_no_more_than_one_try():
    """Half of the tasks are always solved and the others never: eight tries at 400 tasks are 400 facts."""
    found = play("sure-or-lost")
    assert all(share == measure_share(200, 400) for share in (*found.pass_at.values(), *found.pass_all.values()))


def test_an_interval_holds_the_truth_as_often_as_it_says():
    """Of agents that solve each task with a chance of its own, which is drawn anew for each of 300 evaluations."""
    random, held = Random(3), {"any": 0, "all": 0}
    for _ in range(300):
        chances = [random.choice((0.1, 0.6, 0.95)) for _ in range(60)]
        found = measure_passes([[random.random() < chance for _ in range(8)] for chance in chances], bool)
        truth = {"any": mean(1 - (1 - p) ** 4 for p in (0.1, 0.6, 0.95)), "all": mean(p**4 for p in (0.1, 0.6, 0.95))}
        held["any"] += found.pass_at[4].low <= truth["any"] <= found.pass_at[4].high
        held["all"] += found.pass_all[4].low <= truth["all"] <= found.pass_all[4].high
    assert min(held.values()) >= 0.94 * 300


def mean(values):
    found = list(values)
    return sum(found) / len(found)


@pytest.mark.parametrize("tries", range(1, 7))
def test_pass_all_is_the_share_of_draws_that_are_right_alone(tries):
    for right in range(tries + 1):
        for k in range(1, tries + 1):
            draws = list(combinations([True] * right + [False] * (tries - right), k))
            assert estimate_pass_all(k, tries, right) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_a_task_that_was_not_answered_so_often_counts_for_fewer_tries_alone():
    found = measure_passes([[True] * 4, [True, False], [False] * 4], bool)
    assert {k: share.count for k, share in found.pass_all.items()} == {1: 3, 2: 3, 4: 2}
    assert found.pass_all[4] == measure_share(1, 2)
    assert found.pass_all[2].share == pytest.approx(1 / 3)


def test_the_number_of_tries_itself_is_a_k():
    assert list(measure_passes([[True] * 5], bool).pass_all) == [1, 2, 4, 5]
    assert list(measure_passes([[True]], bool).pass_all) == [1]
    assert measure_passes([], bool).pass_all == {}


def test_the_mean_of_groups_gives_each_the_same_weight():
    two = average_passes([measure_passes([[True, True]], bool), measure_passes([[False, True]] * 9, bool)])
    assert (two.tasks, two.tries) == (10, 2)
    assert (two.pass_all[2].share, two.pass_at[1].share) == (0.5, 0.75)


def test_the_table_has_a_line_for_each_group_and_none_where_each_task_was_tried_once():
    once, twice = measure_passes([[True]], bool), measure_passes([[True, False]], bool)
    assert not tabulate_passes(["level"], {("0",): once}).rows
    table = tabulate_passes(["level"], {("0",): once, ("3",): twice})
    assert table.columns == ["level", "tasks", "pass@1, %", "pass@2, %", "pass^2, %"]
    sure, half, none = (measure_share(right, 1).format_interval() for right in (1, 0.5, 0))
    assert table.rows == [["0", "1", sure, "–", "–"], ["3", "1", half, sure, none]]
    assert isinstance(once.pass_at[1], Share)
