"""The envs as a situation: tasks by env, level and seed, what an agent earns in them, and whether they can be cheated."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from itertools import product as cartesian
from math import nan
from typing import Any, Literal, NamedTuple, TypeVar

from shopwright.pipeline.envs import get_env, select_collection
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.baselines import PLAYERS as BASELINES
from shopwright.pipeline.envs.conversation import run_env_conversations
from shopwright.pipeline.envs.episode import Episode, draw_task
from shopwright.pipeline.envs.kinds import is_of_held_out_kind
from shopwright.pipeline.envs.learnt_words import learn_words
from shopwright.pipeline.envs.readers import READERS
from shopwright.pipeline.envs.unseen import measure_invented
from shopwright.pipeline.evaluate.audit import AuditCell, describe_earnings, list_cheated, list_unsolved
from shopwright.pipeline.evaluate.held_out import KindResult, summarize_kinds_in_json, tabulate_held_out_kinds
from shopwright.pipeline.evaluate.situation import SOLVER, NothingToDraw, Situation, Trace, add_try_number
from shopwright.pipeline.evaluate.statistics import Share, estimate_mean, measure_auc, measure_share
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.tries import Passes, average_by_task, group_by_task, measure_passes, tabulate_passes
from shopwright.pipeline.evaluate.verdict import AuditVerdict
from shopwright.pipeline.models.base import UNHEARD
from shopwright.pipeline.models.play import Working
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.ecomrlve import JOB
from shopwright.schemas.behaviors import Side
from shopwright.schemas.tasks import EnvEpisode, Reward, Task, Turn

T = TypeVar("T")
PLAYERS = {**BASELINES, **READERS}
HARDEST = 99
"""No level is above it: from there on nothing gets harder."""
# From this level on a cheap player earns less than nothing, and succeeds in no more than this share of an env's tasks.
PAID_FROM, MOST_SUCCESS = 3, 0.15
# AUC, at most, of a classifier that says from the first words what cannot be done.
MOST_TOLD = 0.60
# Episodes from which on a figure itself is judged, and not only the end of its interval: of a share, and of the mean in one cell.
ENOUGH, ENOUGH_IN_A_CELL = 1_000, 100
# Draws, at most, for each task of a kind that is held out.
DRAWS = 400
TASKS_PER_PIECE = 50
"""Tasks of an env and a level in one piece of an audit's work."""


class EnvTask(NamedTuple):
    """A task that is not drawn yet."""

    env: str
    level: int
    seed: int


class PlayedEpisode(EnvEpisode):
    """What an evaluation keeps of an episode."""

    shopper_error: str = ""
    """What the shopper said wrongly first; empty where nothing was, or nobody listened."""
    kind: Literal["train", "test", "held out"] = "train"
    """The task's split, or that it is of a kind of which no task is trained on."""


@dataclass(frozen=True)
class EnvTasks(Situation[EnvTask, Episode, PlayedEpisode]):
    """Tasks 0, 1, ... of every env and level. Raises Problem for an env that there is not."""

    name = "envs"
    makes = PlayedEpisode
    players = PLAYERS
    world: World
    envs: Sequence[str]
    levels: Sequence[int]
    seeds: range
    native: bool = False
    """A model's server is told of the tools, for native tool calls."""
    side: Side | None = None
    """In the words of this split, whoever a task's customer is; an audit plays in those of `test`."""
    rule: str = JOB
    """Of the reward."""
    shopper: Role | None = None
    """The model that puts the shopper's words, where one does."""
    listen: Callable[[World, Task, Sequence[Turn]], Sequence[str]] | None = None
    """What the shopper of an episode said wrongly."""
    tries: int = 1
    held_out: bool = False
    """Tasks of kinds alone that nobody trains on."""

    def __post_init__(self) -> None:
        if not (self.envs and self.levels and self.seeds):
            raise Problem("There is nothing to evaluate. Give envs, levels and at least one episode.")
        for env in self.envs:
            get_env(env)

    @property
    def asked(self) -> int:
        return len(self.envs) * len(self.levels) * len(self.seeds)

    def tasks(self) -> Iterator[EnvTask]:
        for env, level in cartesian(self.envs, self.levels):
            seeds = islice(self.list_held_out(env, level), len(self.seeds)) if self.held_out else self.seeds
            yield from (EnvTask(env, level, seed) for seed in seeds)

    def list_held_out(self, env: str, level: int) -> Iterator[int]:
        """The seeds of tasks of a kind that is held out, as many as are found in so many draws for each that is asked for."""
        for seed in range(self.seeds.start, self.seeds.start + DRAWS * len(self.seeds)):
            with suppress(NothingToDraw):
                task = draw_task(get_env(env), self.world, level, seed, side=self.side)
                if is_of_held_out_kind(get_env(env).Goal.model_validate_json(task.goal), self.world.store):
                    yield seed

    def begin(self, task: EnvTask) -> Episode:
        """Raises NothingToDraw where the shop is too small for the level."""
        env = get_env(task.env)
        drawn = draw_task(env, self.world, task.level, task.seed, side=self.side)
        return Episode(env, self.world, drawn, words=self.shopper is not None, native=self.native, rule=self.rule)

    def converse(self, conversations: Iterable[Working[T]], agent: Role | None) -> Iterator[T]:
        if self.shopper is None:
            return super().converse(conversations, agent)
        return run_env_conversations(conversations, agent, self.shopper) if agent else self.shopper.play(conversations)

    def keep(self, trace: Trace[Episode]) -> PlayedEpisode:
        row = make_episode_record(trace)
        episode = trace.episode
        wrong = self.listen(self.world, episode.task, row.turns) if self.listen else ()
        held_out = is_of_held_out_kind(episode.goal, self.world.store)
        kind = "held out" if held_out else episode.task.split
        return PlayedEpisode(**dict(row), shopper_error=next(iter(wrong), ""), kind=kind)

    def tables(self, rows: Sequence[PlayedEpisode]) -> list[Table]:
        kinds = tabulate_held_out_kinds(list_kind_results(rows))
        return [tabulate_env_scores(self.scores(rows)), tabulate_env_passes(rows), kinds]

    def figures(self, rows: Sequence[PlayedEpisode]) -> dict[str, Any]:
        held_out = summarize_kinds_in_json(list_kind_results(rows))
        return {"rows": [asdict(each) for each in self.scores(rows)], "held_out": held_out}

    def facts(self) -> dict[str, str]:
        levels = ",".join(map(str, self.levels))
        return {"envs": ",".join(self.envs), "levels": levels, "episodes": str(len(self.seeds) * self.tries)}

    def scores(self, rows: Sequence[PlayedEpisode]) -> "list[EnvScore]":
        """For each env and level."""
        return score_episodes(rows, cartesian(self.envs, self.levels), len(self.seeds) * self.tries)

    def for_audit(self) -> "EnvTasks":
        """In words that nobody learnt from."""
        return replace(self, side="test")

    def pieces(self) -> "list[EnvTasks]":
        """The same in pieces, for several processes."""
        starts = range(self.seeds.start, self.seeds.stop, TASKS_PER_PIECE)
        return [
            replace(self, envs=[env], levels=[level], seeds=range(start, min(start + TASKS_PER_PIECE, self.seeds.stop)))
            for env, level, start in cartesian(self.envs, self.levels, starts)
        ]

    def group(self, task: EnvTask) -> Mapping[str, Any]:
        return {"env": task.env, "level": task.level}

    def judge(self, cells: Sequence[AuditCell]) -> AuditVerdict:
        """No cheap player may earn more than nothing from level 1 on, nor what is said at `PAID_FROM` from there on."""
        played = [cell for cell in cells if cell.episodes and cell.policy != SOLVER]
        paid = [describe_earnings(cell) for cell in played if cell.group["level"] >= 1 and cell.parts["reward"] > 0]
        undrawn = list(dict.fromkeys(cell.where for cell in cells if not cell.episodes))
        return AuditVerdict(
            list_unsolved(cells),
            [*list_cheated(cells), *list_overpaid(played), *list_lucky(played)],
            told=self.list_told(),
            paid=paid,
            undrawn=undrawn,
        )

    def list_told(self) -> list[str]:
        """Where a classifier that learnt from training tasks knows by the first words what cannot be done; none without a world."""
        if self.side is None:
            return []
        found = []
        for env in self.envs:
            tasks = []
            for level, seed in cartesian(self.levels, self.seeds):
                with suppress(NothingToDraw):
                    tasks.append(draw_task(get_env(env), self.world, level, seed, side=self.side))
            if 0 < sum(task.feasible for task in tasks) < len(tasks):
                rate = learn_words(self.world).feasible[env].rate
                auc = measure_auc([rate(task.opening) for task in tasks], [not task.feasible for task in tasks])
                if auc.low > MOST_TOLD or (auc.share > MOST_TOLD and auc.count >= ENOUGH):
                    found.append(f"{env}: AUC {auc.share:.3f} ({auc.low:.3f} - {auc.high:.3f})")
        return found


def list_overpaid(played: Iterable[AuditCell]) -> list[str]:
    """Where a cheap player earns nothing or more on average, from a level on; of few episodes, where that is beyond doubt."""
    return [
        describe_earnings(cell)
        for cell in played
        if cell.group["level"] >= PAID_FROM
        and cell.parts["reward"] >= 0
        and (cell.episodes >= ENOUGH_IN_A_CELL or bound_mean_reward(cell) >= 0)
    ]


def bound_mean_reward(cell: AuditCell) -> float:
    """The lower end of the mean reward's interval, as if each episode earned -1 or 1: no reward between them varies more."""
    as_share = (cell.parts["reward"] + 1) / 2
    return 2 * measure_share(as_share * cell.episodes, cell.episodes).low - 1


def list_lucky(played: Iterable[AuditCell]) -> list[str]:
    """Where a cheap player succeeds too often: over all levels from one on, or at one of them beyond doubt."""
    bounded = [cell for cell in played if cell.group["level"] >= PAID_FROM]
    found = [
        f"{cell.where}: {cell.policy} succeeds in {cell.success.format_interval('%')}"
        for cell in bounded
        if cell.success.low > MOST_SUCCESS
    ]
    for (env, policy), whole in measure_over_levels(bounded).items():
        if whole.low > MOST_SUCCESS or (whole.share > MOST_SUCCESS and whole.count >= ENOUGH):
            found.append(f"{env}: {policy} succeeds in {whole.format_interval('%')}")
    return found


def measure_over_levels(cells: Iterable[AuditCell]) -> dict[tuple[str, str], Share]:
    """The success of each player in each env, at whatever level."""
    sums = dict[tuple[str, str], list[Share]]()
    for cell in cells:
        sums.setdefault((cell.group["env"], cell.policy), []).append(cell.success)
    found = {}
    for key, shares in sums.items():
        count = sum(each.count for each in shares)
        found[key] = measure_share(sum(each.share * each.count for each in shares), count)
    return found


def list_kind_results(rows: Iterable[PlayedEpisode]) -> list[KindResult]:
    """Of tasks of the test, without those in which the shopper said something wrong."""
    return [
        KindResult(each.policy, each.env, each.kind == "held out", each.reward.success)
        for each in rows
        if each.kind != "train" and not each.shopper_error
    ]


def score_episodes(rows: Sequence[PlayedEpisode], cells: Iterable[tuple[str, int]], asked: int) -> "list[EnvScore]":
    """How an agent did in these envs and levels, of so many episodes each."""
    found: dict[tuple[str, int], list[PlayedEpisode]] = {cell: [] for cell in cells}
    for each in rows:
        found[each.env, each.difficulty].append(each)
    return [make_env_score(rows[0].policy, *cell, mine, asked) for cell, mine in found.items()]


def make_episode_record(trace: Trace[Episode]) -> EnvEpisode:
    """A finished episode as a row."""
    task, reward = trace.episode.task, trace.episode.reward
    assert reward is not None
    return EnvEpisode(
        id=add_try_number(f"{task.id}-{trace.policy}", trace.episode.try_number),
        task_id=task.id,
        env=task.env,
        difficulty=task.difficulty,
        policy=trace.policy,
        opening=task.opening,
        turns=trace.episode.turns,
        reward=reward,
    )


def parse_env_names(text: str) -> list[str]:
    """The envs of a setting: names and collections, with commas between them. Raises Problem where there is no such.

    >>> parse_env_names("C1,policy_qa")
    ['cart_building', 'policy_qa']
    """
    return list(dict.fromkeys(get_env(env).name for each in text.split(",") for env in select_collection(each.strip())))


def parse_levels(text: str) -> list[int]:
    """The levels of a setting. Raises Problem for what is none.

    >>> parse_levels("0-3,12")
    [0, 1, 2, 3, 12]
    """
    found: list[int] = []
    for each in text.split(","):
        first, between, last = each.strip().partition("-")
        last = last if between else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) <= HARDEST):
            raise Problem(f"There are no levels {text[:60]!r}. Say 0-12, or 0,3,6; the hardest is {HARDEST}.")
        found += range(int(first), int(last) + 1)
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class EnvScore:
    """How a policy did in one env at one level, with 95 % confidence intervals: Wilson's of the success, normal ones of means.

    Both are of tasks, whatever the number of tries at each.
    """

    policy: str
    env: str
    level: int
    asked: int
    """Episodes that were begun."""
    episodes: int
    """Of these, those of which every request was answered, and in which the shopper said nothing wrong: all figures are of them."""
    success: float
    success_low: float
    success_high: float
    reward: float
    reward_margin: float
    """Half the width of the interval; 0 for a single episode, of which nothing is known."""
    task: float
    task_margin: float
    efficiency: float
    efficiency_margin: float
    hallucination: float
    hallucination_margin: float
    turns: float
    turns_margin: float
    illegal: float
    """Share of episodes that malformed JSON or an illegal call ended."""
    invented: float
    """Share of the values in calls and answers that stand in no text before them."""
    shopper_errors: float
    """Share of the answered episodes in which the shopper said something wrong, which is no fault of the agent's."""
    passes: Passes


MEANS: Mapping[str, Callable[[EnvEpisode], float]] = {
    "reward": lambda each: each.reward.total,
    "task": lambda each: each.reward.task,
    "efficiency": lambda each: each.reward.efficiency,
    "hallucination": lambda each: each.reward.hallucination,
    "turns": lambda each: len(each.turns),
}


def make_env_score(policy: str, env: str, level: int, answered: Sequence[PlayedEpisode], asked: int) -> EnvScore:
    """Where nothing was answered there is nothing to say: every figure is not a number."""
    episodes = [each for each in answered if not each.shopper_error]
    tasks = group_by_task(episodes, lambda each: each.task_id)
    success = measure_share(sum(average_by_task(tasks, is_success)), len(tasks))
    if not episodes:
        success = Share(nan, nan, nan, 0)
    parts: dict[str, float] = {}
    for name, value in MEANS.items():
        found = average_by_task(tasks, value)
        parts[name], parts[f"{name}_margin"] = estimate_mean(found) if found else (nan, nan)
    return EnvScore(
        policy=policy,
        env=env,
        level=level,
        asked=asked,
        episodes=len(episodes),
        success=success.share,
        success_low=success.low,
        success_high=success.high,
        illegal=sum(is_broken_off(each.reward) for each in episodes) / len(episodes) if episodes else nan,
        invented=measure_invented(episodes) if episodes else nan,
        shopper_errors=1 - len(episodes) / len(answered) if answered else nan,
        passes=measure_passes(tasks, is_success),
        **parts,
    )


def is_success(episode: EnvEpisode) -> bool:
    return episode.reward.success


def is_broken_off(reward: Reward) -> bool:
    """Whether an illegal action ended it: who only fails loses nothing for hallucination there, and keeps above -1."""
    return reward.total == -1.0 and reward.hallucination == 0.0 and not reward.fault.startswith(UNHEARD)


def tabulate_env_scores(rows: Iterable[EnvScore]) -> Table:
    columns = ["policy", "env", "level", "answered", "success (95 %)"]
    columns += ["reward", "task", "efficiency", "hallucination", "turns", "illegal", "invented", "shopper's errors"]
    lines = []
    for each in rows:
        found = asdict(each)
        parts = [
            f"{found[name]:+.2f} ±{found[f'{name}_margin']:.2f}"
            for name in ("reward", "task", "efficiency", "hallucination")
        ]
        success = Share(each.success, each.success_low, each.success_high, each.episodes).format_interval("%")
        head = [each.policy, each.env, str(each.level), f"{each.episodes} of {each.asked}", success]
        shares = [f"{share:.1%}" for share in (each.illegal, each.invented, each.shopper_errors)]
        lines.append([*head, *parts, f"{each.turns:.1f} ±{each.turns_margin:.1f}", *shares])
    return Table(columns, lines)


def tabulate_env_passes(rows: Sequence[EnvEpisode]) -> Table:
    """pass@k and pass^k by env and level, and by level of all envs where there are several; no rows where each task was tried once."""
    groups: dict[tuple[str, ...], list[EnvEpisode]] = {}
    several = len({each.env for each in rows}) > 1
    for each in rows:
        for env in (each.env, "all") if several else (each.env,):
            groups.setdefault((each.policy, env, str(each.difficulty)), []).append(each)
    # Those of all come last.
    ordered = sorted(groups, key=lambda key: key[1] == "all")
    found = {key: measure_passes(group_by_task(groups[key], lambda each: each.task_id), is_success) for key in ordered}
    return tabulate_passes(("policy", "env", "level"), found)
