"""How well an agent does on a run's shopping tasks: the figures of ShopSimulator's Table 2 and Figure 3 (arXiv 2601.18225).

Shares are means over episodes. Their 95 % intervals are Wilson's, which are too wide rather than too narrow for a reward between 0 and 1.
As in the paper, `overall` is the mean of the scenarios that were played, whatever number of episodes each has.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.dataset import Dataset
from pipeline.models.play import Conversation
from pipeline.models.role import Role, alone
from pipeline.problem import Problem
from pipeline.rewards.figures import wilson
from pipeline.rollouts import scores
from pipeline.rollouts.scores import Lines, hashed
from pipeline.shopping.blunders import ERRORS
from pipeline.shopping.play import SCENARIOS, Play, Shop, conversation, scenarios_of
from pipeline.shopping.players import PLAYERS
from schemas.record import Record
from schemas.shopping import Blunder, Language, Match, Profile, Scenario, ShoppingEpisode, ShoppingTask

SOLVER = "solver"
COPIER = "copies the profile"
OVERALL = "overall"
AUDITED = "audit_shopping.json"
"""The file in a run's folder."""
MOST = 0.1
"""Success that a policy which does not look closely may have in a scenario."""


class Outcome(Record):
    """What came of an episode, without its pages: those can be had by playing it again."""

    task_id: str
    scenario: Scenario
    policy: str
    category: str
    language: Language
    siblings: int
    """Products of the target's leaf category in the whole catalog, itself included."""
    actions: int
    asked: int
    """Of these, what was said to the shopper."""
    idle: int
    """Of these, what was not possible and did nothing."""
    bought_product: str
    bought_variant: str
    typed: Match
    literal: Match
    blunders: list[Blunder]


# Which tasks


def scenarios_named(text: str | None) -> tuple[Scenario, ...]:
    """The scenarios of a setting; all where there is none. Raises Problem for what is none.

    >>> scenarios_named("multi,single-personal")
    ('single personal', 'multi')
    """
    if text is None:
        return SCENARIOS
    wanted = {" ".join(each.replace("-", " ").split()) for each in text.split(",")}
    if strange := sorted(wanted.difference(SCENARIOS)):
        known = ", ".join(each.replace(" ", "-") for each in SCENARIOS)
        raise Problem(f"There is no scenario {strange[0]!r}. There are: {known}.")
    return tuple(each for each in SCENARIOS if each in wanted)


def chosen(
    tasks: Dataset[ShoppingTask], split: str, scenarios: Sequence[Scenario], limit: int | None = None
) -> list[ShoppingTask]:
    """The split's tasks that these scenarios are for, in their order. Raises Problem where there are none.

    limit: so many, with and without a profile in turn; a larger number holds the smaller one's.
    """
    found = [each for each in of_split(tasks, split) if set(scenarios_of(each)) & set(scenarios)]
    if not found:
        raise Problem(f"There are no tasks of the split {split} for {', '.join(scenarios)} here.")
    return found if limit is None else spread(found, limit)


def of_split(tasks: Dataset[ShoppingTask], split: str) -> Iterator[ShoppingTask]:
    import pyarrow.compute as pc

    for batch in tasks.batches():
        for row in batch.filter(pc.equal(batch["split"], split)).to_pylist():
            yield ShoppingTask.model_validate(row)


def spread(found: Sequence[ShoppingTask], most: int) -> list[ShoppingTask]:
    """So many of them, by chance that is always the same."""
    places: list[tuple[int, bool, str]] = []
    for personal in (False, True):
        ids = sorted((each.id for each in found if bool(each.profile_id) == personal), key=hashed)
        places += [(number, personal, id) for number, id in enumerate(ids)]
    taken = {id for _, _, id in sorted(places)[:most]}
    return [each for each in found if each.id in taken]


# Playing


def outcomes(
    shop: Shop,
    tasks: Iterable[ShoppingTask],
    profiles: Mapping[str, Profile],
    agent: Role | str,
    scenarios: Sequence[Scenario] = SCENARIOS,
) -> Iterator[Outcome]:
    """Each task in its scenarios, by a model's role or the player of this name, in the order of tasks.

    Raises Problem for a player or a profile that there is not; Spent, Away.
    """
    plays = begun(shop, tasks, profiles, scenarios)
    if isinstance(agent, Role):
        yield from agent.play(reduced(play, conversation(play, agent.spec.name)) for play in plays)
        return
    name = player_named(agent)
    yield from (alone(reduced(play, conversation(play, name, player=PLAYERS[name](play)))) for play in plays)


def begun(
    shop: Shop, tasks: Iterable[ShoppingTask], profiles: Mapping[str, Profile], scenarios: Sequence[Scenario]
) -> Iterator[Play]:
    for task in tasks:
        if task.profile_id and task.profile_id not in profiles:
            raise Problem(f"Task {task.id} has no profile here. Build both again: shopwright build shopping_tasks")
        for scenario in scenarios_of(task):
            if scenario in scenarios:
                yield Play(shop, task, scenario, profiles.get(task.profile_id))


def count(tasks: Iterable[ShoppingTask], scenarios: Sequence[Scenario]) -> int:
    """The episodes that it will be."""
    return sum(scenario in scenarios for task in tasks for scenario in scenarios_of(task))


def reduced(play: Play, begun: Conversation[ShoppingEpisode]) -> Conversation[Outcome]:
    """The conversation, of which only the outcome is kept."""
    return outcome(play, (yield from begun))


def outcome(play: Play, episode: ShoppingEpisode) -> Outcome:
    task, store = play.task, play.shop.store
    return Outcome(
        id=episode.id,
        task_id=task.id,
        scenario=episode.scenario,
        policy=episode.policy,
        category=task.category,
        language=task.language,
        siblings=len(store.shelf(store.place_of_leaf[task.category]).rows),
        actions=len(episode.steps),
        asked=sum(step.action.startswith("ask[") for step in episode.steps),
        idle=sum(bool(step.fault) for step in episode.steps),
        bought_product=episode.bought_product,
        bought_variant=episode.bought_variant,
        typed=episode.typed,
        literal=episode.literal,
        blunders=episode.blunders,
    )


def player_named(text: str) -> str:
    """A player as it is called here. Raises Problem with the names that there are.

    >>> player_named("first-result"), player_named("asks everything")
    ('first result', 'asks everything')
    """
    name = text.replace("-", " ")
    if name not in PLAYERS:
        known = ", ".join(each.replace(" ", "-") for each in PLAYERS)
        raise Problem(f"There is no player {text}. There are: {known}.")
    return name


def is_no_model(text: str | None) -> bool:
    """
    >>> is_no_model("first-result"), is_no_model("openai:NAME@URL"), is_no_model("scripted")
    (True, False, False)
    """
    return text is not None and ":" not in text and text != "scripted"


# Figures


class Share(NamedTuple):
    """A mean of figures between 0 and 1, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


SHARES: dict[str, Callable[[Outcome], float]] = {
    "loose": lambda each: each.typed.loose,
    "strict": lambda each: each.typed.strict,
    "success": lambda each: each.typed.success,
    "type": lambda each: each.typed.type,
    "attributes": lambda each: each.typed.attributes,
    "options": lambda each: each.typed.options,
    "price": lambda each: each.typed.price,
    "same product": lambda each: each.typed.same_product,
    "bought": lambda each: bool(each.bought_product),
    "literal loose": lambda each: each.literal.loose,
    "literal strict": lambda each: each.literal.strict,
    "literal success": lambda each: each.literal.success,
}
COUNTS: dict[str, Callable[[Outcome], float]] = {
    "actions": lambda each: each.actions,
    "asked": lambda each: each.asked,
    "idle": lambda each: each.idle,
    "chance": lambda each: 1 / each.siblings,
}
"""Means; `chance` is that of any product of the target's leaf category to be the target."""
PAPER = ("loose", "strict", "success")
PARTS = ("type", "attributes", "options", "price", "same product", "bought")


@dataclass(frozen=True)
class Row:
    """How an agent did in a scenario."""

    policy: str
    scenario: str
    episodes: int
    shares: dict[str, Share]
    counts: dict[str, float]


def figures(found: Iterable[Outcome]) -> list[Row]:
    """For each agent its scenarios, and `overall`."""
    groups: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        groups[each.policy][each.scenario].append(each)
    rows = []
    for policy, by in groups.items():
        mine = [row(policy, scenario, by[scenario]) for scenario in SCENARIOS if scenario in by]
        rows += [*mine, overall(policy, mine)]
    return rows


def row(policy: str, scenario: str, found: Sequence[Outcome]) -> Row:
    size = len(found)
    sums = {name: sum(map(of, found)) for name, of in SHARES.items()}
    return Row(
        policy=policy,
        scenario=scenario,
        episodes=size,
        shares={name: Share(total / size, *wilson(total, size)) for name, total in sums.items()},
        counts={name: sum(map(of, found)) / size for name, of in COUNTS.items()},
    )


def overall(policy: str, rows: Sequence[Row]) -> Row:
    return Row(
        policy=policy,
        scenario=OVERALL,
        episodes=sum(each.episodes for each in rows),
        shares={name: together([each.shares[name] for each in rows]) for name in SHARES},
        counts={name: sum(each.counts[name] for each in rows) / len(rows) for name in COUNTS},
    )


def together(shares: Sequence[Share]) -> Share:
    """The mean of some that have nothing to do with one another.

    >>> [round(each, 3) for each in together([Share(0.5, 0.4, 0.6), Share(0.7, 0.6, 0.8)])]
    [0.6, 0.529, 0.671]
    """
    mean = sum(each.mean for each in shares) / len(shares)
    half = sqrt(sum(each.half**2 for each in shares)) / len(shares)
    return Share(mean, max(0.0, mean - half), min(1.0, mean + half))


@dataclass(frozen=True)
class Error:
    """How often an error of the paper's taxonomy was made in episodes that failed."""

    policy: str
    area: str
    name: str
    count: int
    of_area: float
    """Share of the errors of its area, as in the paper's Figure 3."""
    of_all: float
    """Share of all errors."""
    of_failed: float
    """Share of the failed episodes that have it."""


def errors(found: Iterable[Outcome]) -> list[Error]:
    """In the order of the table, for each agent; those that were made."""
    failed: Counter[str] = Counter()
    made: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for each in found:
        failed[each.policy] += not each.typed.success
        made[each.policy].update((blunder.area, blunder.name) for blunder in each.blunders)
    return [
        Error(
            policy=policy,
            area=area,
            name=name,
            count=counts[area, name],
            of_area=counts[area, name] / sum(times for (other, _), times in counts.items() if other == area),
            of_all=counts[area, name] / counts.total(),
            of_failed=counts[area, name] / failed[policy],
        )
        for policy, counts in made.items()
        for area, name in ERRORS
        if counts[area, name]
    ]


# Tables


def tables(found: Sequence[Outcome]) -> list[Lines]:
    """All of them, to be printed."""
    rows = figures(found)
    return [reward_table(rows), part_table(rows), literal_table(rows), error_table(errors(found))]


def reward_table(rows: Iterable[Row]) -> Lines:
    """Table 2, a line a scenario: loose, strict and success in percent with half the width of their intervals."""
    lines = [["agent", "scenario", *(f"{name}, %" for name in PAPER)]]
    lines += [[each.policy, each.scenario, *(shown(each.shares[name]) for name in PAPER)] for each in rows]
    return lines


def shown(share: Share) -> str:
    """
    >>> shown(Share(0.5, 0.4, 0.6))
    '50.0 ±10.0'
    """
    return f"{100 * share.mean:.1f} ±{100 * share.half:.1f}"


def part_table(rows: Iterable[Row]) -> Lines:
    """How much of each part of the reward was right, and what it took."""
    lines = [["agent", "scenario", "episodes", *(f"{part}, %" for part in PARTS), "actions", "asked", "did nothing"]]
    for each in rows:
        shares = [f"{100 * each.shares[part].mean:.1f}" for part in PARTS]
        counts = [f"{each.counts[name]:.1f}" for name in ("actions", "asked", "idle")]
        lines.append([each.policy, each.scenario, f"{each.episodes:,}", *shares, *counts])
    return lines


def literal_table(rows: Iterable[Row]) -> Lines:
    """By typed equality and by the published formulas."""
    lines = [["agent", "scenario", *(f"{name}, {how} %" for name in PAPER for how in ("typed", "literal"))]]
    for each in rows:
        pairs = [each.shares[full].mean for name in PAPER for full in (name, f"literal {name}")]
        lines.append([each.policy, each.scenario, *(f"{100 * share:.1f}" for share in pairs)])
    return lines


def error_table(found: Iterable[Error]) -> Lines:
    """Figure 3; only its header where nothing went wrong."""
    return [
        ["agent", "error", "times", "of its kind, %", "of all errors, %", "of failed episodes, %"],
        *([each.policy, f"{each.area}: {each.name}", f"{each.count:,}", *map(percent, parts(each))] for each in found),
    ]


def parts(each: Error) -> tuple[float, float, float]:
    return each.of_area, each.of_all, each.of_failed


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def as_json(found: Sequence[Outcome]) -> dict[str, Any]:
    """The figures for scripts; a share is its mean, its low and its high end."""
    return {
        "rows": [asdict(each) for each in figures(found)],
        "errors": [asdict(each) for each in errors(found)],
    }


# Files


def file_of(run: Path, policy: str) -> Path:
    """
    >>> file_of(Path("run"), "solver").as_posix(), file_of(Path("run"), "first result").name
    ('run/evaluations/shopping-solver.parquet', 'shopping-first-result.parquet')
    """
    name = policy.replace(" ", "-") if policy in PLAYERS else policy
    return scores.file_of(run, name, what="shopping")


def write(found: Iterable[Outcome], path: Path, facts: Mapping[str, str]) -> None:
    scores.write_rows(Outcome, found, path, facts)


def read(path: Path) -> tuple[list[Outcome], dict[str, str]] | None:
    return scores.read_rows(Outcome, path)


# Audit


@dataclass(frozen=True)
class Verdict:
    """What must not be, in words, one line a case; all empty where nothing is."""

    unsolved: list[str]
    """Scenarios in which the solver fails."""
    cheated: list[str]
    """Scenarios in which a policy that does not look closely succeeds too often."""
    guessed: list[str]
    """Scenarios in which the profile alone finds the target more often than any of its siblings."""

    @property
    def failed(self) -> bool:
        return bool(self.unsolved or self.cheated or self.guessed)


def verdict(rows: Iterable[Row], *, most: float = MOST) -> Verdict:
    """most: the success that a cheap policy may have in a scenario."""
    unsolved, cheated, guessed = [], [], []
    for each in rows:
        success, same, where = each.shares["success"], each.shares["same product"], f"{each.policy}, {each.scenario}"
        if each.scenario == OVERALL:
            continue
        if each.policy == SOLVER and success.mean < 1:
            unsolved.append(f"{each.scenario}: {success.mean:.2%} of {each.episodes:,} episodes")
        if each.policy != SOLVER and success.mean > most:
            cheated.append(f"{where}: {success.mean:.1%} succeed (at most {success.high:.1%}), {most:.0%} may")
        if each.policy == COPIER and "personal" in each.scenario and same.low > each.counts["chance"]:
            guessed.append(
                f"{where}: {same.mean:.1%} find it (at least {same.low:.1%}), by chance {each.counts['chance']:.1%}"
            )
    return Verdict(unsolved, cheated, guessed)


def audit_table(rows: Iterable[Row]) -> Lines:
    """Success with its interval, both rewards, and how often it is the very product, beside chance among its siblings."""
    lines = [
        ["policy", "scenario", "episodes", "success, % (95 %)", "loose", "strict", "target, % (95 %)", "chance, %"]
    ]
    for each in rows:
        if each.scenario == OVERALL:
            continue
        cells = [between(each.shares["success"]), *(f"{each.shares[name].mean:.3f}" for name in ("loose", "strict"))]
        cells += [between(each.shares["same product"]), percent(each.counts["chance"])]
        lines.append([each.policy, each.scenario, f"{each.episodes:,}", *cells])
    return lines


def between(share: Share) -> str:
    """
    >>> between(Share(0.5, 0.4, 0.6))
    '50.0 (40.0 - 60.0)'
    """
    return f"{100 * share.mean:.1f} ({100 * share.low:.1f} - {100 * share.high:.1f})"
