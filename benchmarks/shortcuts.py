"""What learners know of each dataset without its input: a dataset that is solved so teaches a shortcut.

    pip install -e '.[learn]'
    python -m benchmarks.shortcuts                        # builds a run of its own first
    python -m benchmarks.shortcuts --run data/runs/mine   # questions, behaviors and shopping_episodes of a run that is there
    python -m benchmarks.shortcuts --quick                # whether it runs: a small run, and no figures are kept

A learner is taught the training split of each dataset once as it is, and again without the instruction (what the shopper, or who asks, says), without the
history (the session, the profile), without the page (what the shop shows), and with answers alone. All are the learners of the other benchmarks: the forms of
queries (`learning`), the policy of next actions (`next_actions`), the policy of page actions (`shopping_policy`), and in the environments the cheap players of
the audit with the opening hidden, and one that hands in a fixed answer, of which the one is taken that earns most in training tasks.

The command ends with 1 where something is left beyond chance: of questions without their words more than a tenth, of next actions without the page more than the same
learner knows from the last two actions alone (as a Markov chain does), of shopping without the instruction more than a player that clicks at random has, of an environment
without the opening a mean reward above 0. Environments are those of the run's shop.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from statistics import mean
from typing import NamedTuple

import numpy as np

from benchmarks.learning_parts import Bench, Measured, Part, run_command
from benchmarks.levels import Features, Policy
from benchmarks.next_actions import CHAIN, Data, Steps, read_steps, teach
from benchmarks.page_policy import Shop, copy_solved, learn, learn_words, open_shop, read_solved
from benchmarks.shopping_policy import measure
from benchmarks.taught_rows import SHORTCUT, SPLITS, Trial, find_commonest
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.baselines import ENV_BASELINES, count_journey_parts
from shopwright.pipeline.envs.episode import Episode, Player, draw_task
from shopwright.pipeline.envs.readers import READERS
from shopwright.pipeline.evaluate.situation import NothingToDraw, play_offline
from shopwright.pipeline.evaluate.statistics import Share, estimate_mean, measure_share
from shopwright.pipeline.gym import world
from shopwright.pipeline.rewards.hierarchical import score_predictions
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.play import SCENARIOS
from shopwright.schemas.behaviors import Side
from shopwright.schemas.questions import Question
from shopwright.schemas.tasks import Action, Answer, Task

SHOWN = ("as it is", "no instruction", "no history", "no page", "answers alone")
ROWS, EPISODES, ASKED = 3_000, 150, 150
"""Questions and episodes of a scenario that are taught, and questions of a split and tasks of a scenario that are asked."""
LEVELS, TAUGHT, PLAYED = (1, 3, 6, 12), 15, 30
"""Of the environments, and at each the tasks by which a player is chosen, and those that it is judged by."""
HIDDEN = "Hello."
"""What a shopper says whose opening is hidden."""
COMMON_ANSWERS = 3
"""Answers about policies that are handed in unread."""
SILENT = tuple(name for name in READERS if name in ("lexical", "lists-and-guesses", "last-id"))
"""Readers that ask nothing."""


class Left(NamedTuple):
    """What was right, or earned, of a dataset of which something is hidden."""

    dataset: str
    shown: str
    """One of `SHOWN`."""
    value: float
    low: float
    high: float
    bound: float | None = None
    """More than it, or as much in an environment, is a shortcut."""
    how: str = ""

    @property
    def is_shortcut(self) -> bool:
        """Where the interval's lower end is above the bound: not by chance."""
        return self.bound is not None and self.low > self.bound


def count_right(dataset: str, shown: str, right: float, asked: int, bound: float | None = None, how: str = "") -> Left:
    share = measure_share(right, asked)
    return Left(dataset, shown, share.share, share.low, share.high, bound, how)


# Questions.


def look_at_questions(trial: Trial, rows: int, asked: int, say: Callable[[str], None]) -> Iterator[Left]:
    for name, shown in (("as it is", "all"), ("no instruction", "none")):
        found = trial.teach("linear", rows, 0, shown, most=asked, say=say).right
        right, of = (sum(found[split][place] for split in SPLITS) for place in range(2))
        yield count_right("questions", name, right, of, SHORTCUT if shown == "none" else None)
    tests = [row for split in SPLITS for row in trial.asked[split]]
    keys: dict[str, Callable[[Question], str]] = {
        "no history": lambda row: row.shape,
        "answers alone": lambda row: row.answer_type,
    }
    for name, key in keys.items():
        guesses = find_commonest(trial.taught, key)
        right = sum(guesses.get(key(row)) == row.result for row in tests)
        yield count_right("questions", name, right, len(tests), SHORTCUT, "the commonest answer")


# Next actions.


def look_at_steps(taught: Steps, asked: Steps) -> Iterator[Left]:
    """Bounded by the same learner that knows the last two actions alone, as a Markov chain does."""
    truth = [action for _, action in asked]

    def learn_shown(shown: str) -> Share:
        places: dict[str, int] = {}
        data = Data(taught, shown, places, grow=True)
        weights = teach(data, len(places), np.arange(len(taught)))
        return score_predictions(Data(asked, shown, places, grow=False).act(weights), truth).exact

    chain = learn_shown(CHAIN)
    names = {"all": "as it is", "no session": "no history", "no page": "no page", "neither": "answers alone"}
    for shown, name in names.items():
        found, bounded = learn_shown(shown), name in ("no page", "answers alone")
        how = f"by the last two actions {chain.format_interval('%')}" if bounded else ""
        yield Left("behaviors", name, found.share, found.low, found.high, chain.share if bounded else None, how)


# Shopping.


def look_at_shopping(run: Run, episodes: int, asked: int, say: Callable[[str], None]) -> Iterator[Left]:
    folder = str(run.folder)
    solved = {scenario: read_solved(run, scenario) for scenario in SCENARIOS}
    there = [scenario for scenario in SCENARIOS if solved[scenario]]
    train = {scenario: open_shop(folder, "train", scenario, None) for scenario in there}
    situation = train[there[0]]
    lore = learn_words([task for each in train.values() for task, _ in each.tasks()])
    tests = [task for scenario in there for task in open_shop(folder, "test", scenario, asked).tasks()]
    hidden = {
        "all": "as it is",
        "instruction": "no instruction",
        "profile": "no history",
        "page": "no page",
        "nothing": "answers alone",
    }
    chance = 0.0
    for shown, name in hidden.items():
        features = Features()
        moments = [
            moment
            for scenario, each in train.items()
            for moment in copy_solved(
                Shop(each, lore, features, shown), list(each.tasks()), solved[scenario], episodes, 0
            )
        ]
        features.grows = False
        shop = Shop(situation, lore, features, shown)
        result = measure(shop, learn(moments, len(features)), tests, name, 0)
        right = max(sum(result.greedy), sum(score.success for score in result.drawn))
        if shown == "all":
            clicks = measure(shop, Policy(len(features)), tests, "untaught", 0)
            chance = measure_share(sum(score.success for score in clicks.drawn), len(tests)).high
        say(f"shopping, {name}: {right} of {len(tests)}")
        bound = chance if shown in ("instruction", "nothing") else None
        yield count_right(
            "shopping_tasks", name, right, len(tests), bound, f"clicks at random: at most {chance:.1%}" if bound else ""
        )


# Environments.


def hand_in(answer: Answer) -> Player:
    """A player that looks at nothing."""

    def play(episode: Episode) -> Iterator[Action]:
        whole = answer.model_copy(update={"env": episode.task.env})
        parts = [answer] * count_journey_parts(episode.axes) if episode.task.env == "journey" else []
        yield Action(answer=whole.model_copy(update={"parts": parts}))

    return play  # type: ignore[return-value]


def list_fixed_answers(env: str, taught: Sequence[Task]) -> dict[str, Player]:
    """To refuse for each reason, and what is most often right about policies."""
    common = Counter(answer for task in taught for answer in re.findall(r'"policy_answer":"([^"]*)"', task.acceptable))
    answers = {f"refuses as {reason}": Answer(refusal=reason) for reason in get_env(env).refusals}
    answers |= {f"answers {text}": Answer(policy_answer=text) for text, _ in common.most_common(COMMON_ANSWERS)}
    return {name: hand_in(answer) for name, answer in {"nothing": Answer(), **answers}.items()}


def draw_tasks(shop: World, env: str, count: int, first: int, side: Side) -> list[Task]:
    found = []
    for level in LEVELS:
        for seed in range(first, first + count):
            with suppress(NothingToDraw):
                found.append(draw_task(get_env(env), shop, level, seed, side=side))
    return found


def play_tasks(shop: World, tasks: Sequence[Task], player: Player, *, opening: bool) -> list[float]:
    """What a player earns."""
    shown = tasks if opening else [task.model_copy(update={"opening": HIDDEN}) for task in tasks]
    return [play_offline(Episode(get_env(task.env), shop, task), player).score.parts["reward"] for task in shown]


def look_at_env(shop: World, env: str, taught: int, played: int, say: Callable[[str], None]) -> Iterator[Left]:
    tasks, tests = draw_tasks(shop, env, taught, 0, "train"), draw_tasks(shop, env, played, 10_000, "test")
    fixed = list_fixed_answers(env, tasks)
    silent = {**fixed, **{name: READERS[name] for name in SILENT}, **ENV_BASELINES}
    ways = (
        ("as it is", {**fixed, **READERS, **ENV_BASELINES}, True),
        ("no instruction", {**silent, **READERS}, False),
        ("no page", fixed, False),
    )
    for shown, players, opening in ways:
        earned = {name: mean(play_tasks(shop, tasks, player, opening=opening)) for name, player in players.items()}
        best = max(earned, key=lambda name: (earned[name], name))
        value, half = estimate_mean(play_tasks(shop, tests, players[best], opening=opening))
        say(f"{env}, {shown}: {best} earns {earned[best]:.3f} in training, {value:.3f} in {len(tests)} tests")
        yield Left(env, shown, value, value - half, value + half, None if opening else 0.0, best)


# The table.


def tabulate(found: Sequence[Left]) -> str:
    """A line for each dataset, and below it what was hidden where something is bounded."""
    lines = [f"| dataset | {' | '.join(SHOWN)} |", "| --- |" + " --- |" * len(SHOWN)]
    for dataset in dict.fromkeys(each.dataset for each in found):
        own = {each.shown: each for each in found if each.dataset == dataset}
        lines.append(f"| `{dataset}` | {' | '.join(describe(own[shown]) if shown in own else '' for shown in SHOWN)} |")
    return "\n".join(lines)


def describe(left: Left) -> str:
    """
    >>> describe(Left("policy_qa", "no page", -0.5, -0.6, -0.4, 0.0, "nothing")), describe(Left("questions", "no page", 0.2, 0.15, 0.25, 0.1))
    ('-0.50 (-0.60 to -0.40), nothing', '**20.0%** (15.0% to 25.0%)')
    """
    one = "{:+.2f}" if is_reward(left) else "{:.1%}"
    value = one.format(left.value)
    text = f"{f'**{value}**' if left.is_shortcut else value} ({one.format(left.low)} to {one.format(left.high)})"
    return f"{text}, {left.how}" if left.how else text


def is_reward(left: Left) -> bool:
    return left.dataset in all_envs()


def list_shortcuts(found: Sequence[Left]) -> list[str]:
    return [
        f"{each.dataset}, {each.shown}: {describe(each)}; at most {each.bound:.3f}"
        for each in found
        if each.is_shortcut
    ]


def measure_part(bench: Bench) -> Measured:
    rows, episodes, asked, taught, played = (
        (300, 30, 30, 2, 2) if bench.quick else (ROWS, EPISODES, ASKED, TAUGHT, PLAYED)
    )
    found = [
        *look_at_questions(bench.read(Trial), rows, asked, bench.say),
        *look_at_steps(*bench.read(read_steps)),
        *look_at_shopping(bench.run, episodes, asked, bench.say),
    ]
    shop = world(str(bench.run.folder))
    found += [each for env in all_envs() for each in look_at_env(shop, env, taught, played, bench.say)]
    return Measured(tabulate(found), ": what exceeds its bound is bold.", list_shortcuts(found))


PART = Part("shortcuts", "shortcuts", ("questions", "behaviors", "shopping_episodes"), measure_part)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
