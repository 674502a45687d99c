"""What could be learnt of each dataset at all: players and readers that know the generator's rules, and not its dice.

    pip install -e '.[learn]'
    python -m benchmarks.ceiling                        # builds a run of its own first
    python -m benchmarks.ceiling --run data/runs/mine   # questions, behaviors and shopping_tasks of a run that is there
    python -m benchmarks.ceiling --quick                # whether it runs: no figures are kept

Questions are read by the parser of the phrase bank, and the query of its first reading is run in the log. Shopping tasks and environments are played by the expert, who
sees what an agent sees, and by the solver, who knows the goal. Next actions are drawn: of each event of a simulated life it is asked how likely the likeliest
is, to one who knows what the customer needs, likes and has in the cart, and the rules by which it chooses; searches are never foretold word by word. Beside it
stands how often a learner names the result that is opened, where it is told that one is.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from statistics import mean
from typing import NamedTuple

import numpy as np

from benchmarks.experts import play_tasks
from benchmarks.learning_parts import Bench, Measured, Part, run_command
from benchmarks.next_actions import Data, Steps, read_steps, teach
from benchmarks.page_policy import open_shop
from benchmarks.shortcuts import LEVELS, draw_tasks
from benchmarks.shortcuts import play_tasks as play_by
from benchmarks.taught_rows import HAND, SPLITS, Trial
from benchmarks.wordings import judge
from shopwright.pipeline.behaviors.predictors import PRODUCT, Choice, Moment
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.episode import play_solution
from shopwright.pipeline.evaluate.situation import SOLVER, play_offline
from shopwright.pipeline.evaluate.statistics import estimate_mean, measure_share
from shopwright.pipeline.gym import world
from shopwright.pipeline.proofs.questions import ExampleLogs
from shopwright.pipeline.questions.question_parser import Unclear, parse_trees
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.rewards.hierarchical import score_predictions
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.expert import EXPERT
from shopwright.pipeline.shopping.play import SCENARIOS
from shopwright.pipeline.world.actions import CLICK, SEARCH
from shopwright.pipeline.world.calendar import Numbers
from shopwright.pipeline.world.lives import Life, Mix, Shop
from shopwright.pipeline.world.lives import open_shop as open_world
from shopwright.schemas.questions import Question

ASKED, LIVES, TOKENS, PLAYED, START = 600, 40, 32_000, 25, date(2024, 5, 1)
"""Questions of a split, lives and how long they are, and tasks of an environment and level."""
MIX: Mix = "paper"


class Ceiling(NamedTuple):
    dataset: str
    what: str
    figure: str


# Questions.


def read_exactly(row: Question, logs: ExampleLogs) -> str:
    """The query of the first reading, by the phrase bank's parser and the names of the customer's log; empty where it has none."""
    with suppress(Unclear):
        for tree in parse_trees(row.question, logs.names(row.trajectory_id).on(row.asked_on)):
            return sql_of(tree)
    return ""


def read_questions(trial: Trial, logs: ExampleLogs, asked: int) -> Iterator[Ceiling]:
    for split in (*SPLITS, HAND):
        rows = trial.choose_asked(split, asked)
        right = sum(judge(row, read_exactly(row, logs), trial.engines) for row in rows)
        yield Ceiling("questions", f"exact parse, {split}", measure_share(right, len(rows)).format_interval("%"))


# Next actions.


class WatchedLife(Life):
    """A life that tells how likely the likeliest was, each time that something was drawn."""

    def watch(self) -> "WatchedLife":
        self.kinds_foretold, self.results_foretold, self.exact = list[float](), list[float](), list[float]()
        return self

    def draw_action(self, weights: list[float]) -> int:
        chances = np.array(weights) / sum(weights)
        if weights[SEARCH] and self.opened < 0:  # one search in so many is made whatever is on the page
            chances = 0.94 * chances + 0.06 * np.eye(4)[SEARCH]
        self.kinds_foretold.append(float(chances.max()))
        kind = super().draw_action(weights)
        click = 0.0
        if chances[CLICK] and self.shown and self.errand:
            results = self.weigh_results(self.shown, self.errand)
            click = float(results.max() / results.sum())
        self.exact.append(float(max(chances[CLICK] * click, *chances[2:])))
        return kind

    def draw_result(self, weights: np.ndarray) -> int:
        self.results_foretold.append(float(weights.max() / weights.sum()))
        return super().draw_result(weights)


def foresee_events(run: Run, lives: int, tokens: int) -> Iterator[Ceiling]:
    shop: Shop = open_world(run.read("catalog"), run.read("queries"))
    numbers: Numbers = lambda *names: np.random.default_rng([ord(letter) for letter in "/".join(map(str, names))])
    watched = [
        WatchedLife(person, shop, numbers, START, MIX).watch()
        for person, _ in zip(run.read("personas"), range(lives), strict=False)
    ]
    for life in watched:
        life.go(tokens)
    for name, what in (
        ("kinds_foretold", "kind of the next event"),
        ("results_foretold", "result that is opened, when one is"),
        ("exact", "next event but for what is typed"),
    ):
        found = [each for life in watched for each in getattr(life, name)]
        share, half = estimate_mean(found)
        yield Ceiling(
            "behaviors",
            f"{what}, expected of one who knows the customer's mind",
            f"{100 * share:.1f}% (±{100 * half:.1f}, {len(found):,} draws)",
        )


def name_results(taught: Steps, asked: Steps) -> Iterator[Ceiling]:
    """How often a learner names the result that is opened, where it is told that one is."""

    def keep(steps: Steps) -> Steps:
        opened = [(moment, action) for moment, action in steps if Choice(action).kind == PRODUCT]
        kept = (
            (tuple(each for each in moment.choices if each.kind == PRODUCT), moment, action)
            for moment, action in opened
        )
        return [(Moment(choices, moment.past, moment.query), action) for choices, moment, action in kept if choices]

    learnt, tested = keep(taught), keep(asked)
    places: dict[str, int] = {}
    weights = teach(Data(learnt, "all", places, grow=True), len(places), np.arange(len(learnt)))
    said = Data(tested, "all", places, grow=False).act(weights)
    right = score_predictions(said, [action for _, action in tested]).exact
    yield Ceiling("behaviors", "result that is opened, by the linear learner", right.format_interval("%"))


# Shopping and environments.


def play_shopping(folder: str, asked: int) -> Iterator[Ceiling]:
    for scenario in SCENARIOS:
        situation = open_shop(folder, "test", scenario, asked)
        for player in (EXPERT, SOLVER):
            traces = [
                play_offline(situation.begin(task), situation.players[player], player) for task in situation.tasks()
            ]
            share = measure_share(sum(trace.score.success for trace in traces), len(traces))
            yield Ceiling("shopping_tasks", f"{player}, {scenario}", share.format_interval("%"))


def play_env(shop: World, env: str, played: int) -> Iterator[Ceiling]:
    rewards = [
        each.reward.total
        for level in LEVELS
        for each in play_tasks(shop, env, level, range(10_000, 10_000 + played))
        if each.reward
    ]
    yield Ceiling(env, "expert, mean reward", f"{mean(rewards):+.2f} (±{estimate_mean(rewards)[1]:.2f})")
    solved = play_by(shop, draw_tasks(shop, env, played, 10_000, "test"), play_solution, opening=True)
    yield Ceiling(env, "solver, mean reward", f"{mean(solved):+.2f}")


def tabulate(found: Sequence[Ceiling]) -> str:
    return "\n".join(
        [
            "| dataset | what | figure |",
            "| --- | --- | --- |",
            *(f"| `{each.dataset}` | {each.what} | {each.figure} |" for each in found),
        ]
    )


def measure(bench: Bench) -> Measured:
    asked, lives, played = (30, 3, 1) if bench.quick else (ASKED, LIVES, PLAYED)
    run, folder = bench.run, str(bench.run.folder)
    found = [
        *read_questions(bench.read(Trial), ExampleLogs(run.read("trajectories")), asked),
        *foresee_events(run, lives, TOKENS),
        *name_results(*bench.read(read_steps)),
        *play_shopping(folder, asked),
    ]
    shop = world(folder)
    found += [each for env in all_envs() for each in play_env(shop, env, played)]
    about = f"; environments at levels {', '.join(map(str, LEVELS))}, {played} tasks each."
    return Measured(tabulate(found), about)


PART = Part("ceiling", "ceiling", ("questions", "behaviors", "shopping_episodes"), measure)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
