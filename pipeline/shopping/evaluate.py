"""How well an agent does on a run's shopping tasks: the figures of ShopSimulator's Table 2 and Figure 3 (arXiv 2601.18225).

Shares are means over episodes. Their 95 % intervals are Wilson's, which are too wide rather than too narrow for a reward between 0 and 1.
As in the paper, `average_scenarios` is the mean of the scenarios that were played, whatever number of episodes each has.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.audit import AuditCell, list_unsolved
from shopwright.pipeline.evaluate.held_out import KindResult, summarize_kinds_in_json, tabulate_held_out_kinds
from shopwright.pipeline.evaluate.selection import limit_evenly, read_split
from shopwright.pipeline.evaluate.situation import SOLVER, Player, Situation, Trace
from shopwright.pipeline.evaluate.statistics import Share, average_shares, chance_of_at_least, measure_share
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.tries import (
    Passes,
    average_by_task,
    average_passes,
    group_by_task,
    measure_passes,
    tabulate_passes,
)
from shopwright.pipeline.evaluate.verdict import AuditVerdict
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shopping.draw import GRADES
from shopwright.pipeline.shopping.error_taxonomy import ERRORS
from shopwright.pipeline.shopping.expert import EXPERT, ShopVocabulary, play_by_expert
from shopwright.pipeline.shopping.lexical_baselines import PhraseBook, play_by_phrase_book
from shopwright.pipeline.shopping.play import SCENARIOS, Play, ShopResources, count_siblings, list_scenarios
from shopwright.pipeline.shopping.players import PLAYERS
from shopwright.pipeline.shopping.reply_reader import ReplyReader
from shopwright.schemas.record import Record
from shopwright.schemas.shopping import ErrorLabel, Language, Match, Profile, Scenario, ShoppingEpisode, ShoppingTask

PROFILE_COPIER = "copies-the-profile"
OVERALL = "overall"
# What is more likely than this where nobody knows anything may be chance. Of 100 tries at 1 in 50 five hits are found, as by Wilson's interval.
BY_CHANCE = 0.06
# Success that a policy which does not look closely may have in a scenario; of instructions with plain words in them those may have
# more that search for words, or read by rules.
MOST_BASELINE_SUCCESS = 0.1
PHRASE_BOOK = "phrase-book"
MOST_READING_SUCCESS = {"first-result": 0.3, "asks-everything": 0.3, "lexical": 0.3, PHRASE_BOOK: 0.45}


class Outcome(Record):
    """What came of an episode, without its pages: those can be had by playing it again."""

    task_id: str
    scenario: Scenario
    policy: str
    category: str
    language: Language
    grade: int
    """The task's: 1 with up to three needs, 3 with six and more."""
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
    errors: list[ErrorLabel]
    shopper_error: str = ""
    """What the shopper said wrongly first; empty where nothing was, or nobody listened."""
    split: Literal["train", "test"] = "test"
    held_out: bool = False
    """Whether its category is one of which no task is trained on."""


# Which tasks


def parse_scenario_names(text: str | None) -> tuple[Scenario, ...]:
    """The scenarios of a setting; all where there is none. Raises Problem for what is none.

    >>> parse_scenario_names("multi,single-personal")
    ('single personal', 'multi')
    """
    if text is None:
        return SCENARIOS
    wanted = {" ".join(each.replace("-", " ").split()) for each in text.split(",")}
    if strange := sorted(wanted.difference(SCENARIOS)):
        known = ", ".join(each.replace(" ", "-") for each in SCENARIOS)
        raise Problem(f"There is no scenario {strange[0]!r}. There are: {known}.")
    return tuple(each for each in SCENARIOS if each in wanted)


def select_shopping_tasks(
    tasks: Dataset[ShoppingTask], split: str, scenarios: Sequence[Scenario], limit: int | None = None
) -> list[ShoppingTask]:
    """The split's tasks that these scenarios are for, in their order. Raises Problem where there are none.

    limit: so many, with and without a profile in turn; a larger number holds the smaller one's.
    """
    rows = map(ShoppingTask.model_validate, read_split(tasks, split))
    found = [each for each in rows if set(list_scenarios(each)) & set(scenarios)]
    if not found:
        raise Problem(f"There are no tasks of the split {split} for {', '.join(scenarios)} here.")
    return list(limit_evenly(found, limit, is_personal))


def is_personal(task: ShoppingTask) -> bool:
    return bool(task.profile_id)


# Playing


@dataclass(frozen=True)
class ShoppingTasks(Situation[tuple[ShoppingTask, Scenario], Play, Outcome]):
    """Each task in its scenarios, in the order of tasks. Raises Problem for a profile that there is not."""

    name = "shopping"
    makes = Outcome
    audited = ("loose", "strict", "same_product", "chance")
    shop: ShopResources
    chosen: Sequence[ShoppingTask]
    profiles: Mapping[str, Profile]
    scenarios: Sequence[Scenario] = SCENARIOS
    book: PhraseBook | None = None
    """What the training tasks' phrases mean, for the player that reads by it."""
    vocabulary: ShopVocabulary | None = None
    """What words mean in this shop, for the expert."""
    tries: int = 1

    @property
    def players(self) -> Mapping[str, Player]:  # type: ignore[override]
        found: dict[str, Player] = dict(PLAYERS)
        if self.vocabulary:
            found[EXPERT] = play_by_expert(self.vocabulary)
        if self.book:
            found[PHRASE_BOOK] = play_by_phrase_book(self.book)
        return found

    @property
    def asked(self) -> int:
        return sum(1 for _ in self.tasks())

    def tasks(self) -> Iterator[tuple[ShoppingTask, Scenario]]:
        for task in self.chosen:
            yield from ((task, scenario) for scenario in list_scenarios(task) if scenario in self.scenarios)

    def begin(self, task: tuple[ShoppingTask, Scenario]) -> Play:
        one, scenario = task
        if one.profile_id and one.profile_id not in self.profiles:
            raise Problem(f"Task {one.id} has no profile here. Build both again: shopwright build shopping_tasks")
        return Play(self.shop, one, scenario, self.profiles.get(one.profile_id))

    def keep(self, trace: Trace[Play]) -> Outcome:
        play = trace.episode
        found = summarize_episode(play, play.episode(trace.policy))
        if self.vocabulary is None:
            return found
        wrong = ReplyReader(play.task, play.scenario, self.vocabulary).list_errors(play.steps)
        return found.model_copy(update={"shopper_error": next(wrong, "")})

    def tables(self, rows: Sequence[Outcome]) -> list[Table]:
        return tabulate_outcomes(rows)

    def notes(self, rows: Sequence[Outcome]) -> list[str]:
        return [f"{len(self.chosen):,} tasks"]

    def figures(self, rows: Sequence[Outcome]) -> dict[str, Any]:
        return {
            "rows": [asdict(each) for each in summarize_outcomes(rows)],
            "errors": [asdict(each) for each in count_errors(rows)],
            "held_out": summarize_kinds_in_json(list_kind_results(rows)),
        }

    def group(self, task: tuple[ShoppingTask, Scenario]) -> Mapping[str, Any]:
        return {"scenario": task[1]}

    def judge(self, cells: Sequence[AuditCell]) -> AuditVerdict:
        """Who does not look closely hardly ever succeeds, and the profile alone finds no target."""
        plain = any(task.wording == "short" for task in self.chosen)
        cheated = filter(None, (find_cheating(cell, plain=plain) for cell in cells))
        guessed = filter(None, map(find_guessing, cells))
        return AuditVerdict(list_unsolved(cells), list(cheated), guessed=list(guessed))


def find_cheating(cell: AuditCell, *, plain: bool) -> str:
    """How often a player succeeds that does not look closely, plain: instructions have plain words in them; empty where that is no more than it may."""
    success, most = cell.success, MOST_READING_SUCCESS.get(cell.policy, 0) if plain else 0
    most = most or MOST_BASELINE_SUCCESS
    if cell.policy in (SOLVER, EXPERT) or success.share <= most:
        return ""
    return f"{cell.where}: {cell.policy} succeeds in {success.share:.1%} (at most {success.high:.1%}), {most:.0%} may"


def find_guessing(cell: AuditCell) -> str:
    """How often the profile alone finds the target; empty where that may be chance."""
    if cell.policy != PROFILE_COPIER or "personal" not in cell.group["scenario"]:
        return ""
    chance, found = cell.parts["chance"], round(cell.parts["same_product"] * cell.episodes)
    if chance_of_at_least(found, cell.episodes, chance) > BY_CHANCE:
        return ""
    return f"{cell.where}: {cell.policy} finds {found / cell.episodes:.1%}, by chance {chance:.1%}"


def summarize_episode(play: Play, episode: ShoppingEpisode) -> Outcome:
    task = play.task
    return Outcome(
        id=episode.id,
        task_id=task.id,
        scenario=episode.scenario,
        policy=episode.policy,
        category=task.category,
        language=task.language,
        grade=play.task.grade,
        siblings=count_siblings(play.shop, task),
        actions=len(episode.steps),
        asked=sum(step.action.startswith("ask[") for step in episode.steps),
        idle=sum(bool(step.fault) for step in episode.steps),
        bought_product=episode.bought_product,
        bought_variant=episode.bought_variant,
        split=task.split,
        held_out=task.category in play.shop.store.held_out_leaves,
        typed=episode.typed,
        literal=episode.literal,
        errors=episode.errors,
    )


# Figures


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
# Means; `chance` is that of any product of the target's leaf category to be the target.
COUNTS: dict[str, Callable[[Outcome], float]] = {
    "actions": lambda each: each.actions,
    "asked": lambda each: each.asked,
    "idle": lambda each: each.idle,
    "chance": lambda each: 1 / each.siblings,
}
PAPER = ("loose", "strict", "success")
PARTS = ("type", "attributes", "options", "price", "same product", "bought")


@dataclass(frozen=True)
class Row:
    """How an agent did in a scenario."""

    policy: str
    scenario: str
    episodes: int
    shares: dict[str, Share]
    """Of tasks, whatever the number of tries at each."""
    counts: dict[str, float]
    shopper_errors: float
    """Share of all episodes in which the shopper said something wrong: no figure is of them."""
    passes: Passes


def summarize_outcomes(found: Iterable[Outcome]) -> list[Row]:
    """For each agent its scenarios, and `average_scenarios`."""
    groups: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        groups[each.policy][each.scenario].append(each)
    rows = []
    for policy, by in groups.items():
        mine = [summarize_scenario(policy, scenario, by[scenario]) for scenario in SCENARIOS if scenario in by]
        rows += [*mine, average_scenarios(policy, mine)]
    return rows


def summarize_scenario(policy: str, scenario: str, played: Sequence[Outcome]) -> Row:
    found = [each for each in played if not each.shopper_error]
    size, tasks = len(found), group_by_task(found, lambda each: each.task_id)
    sums = {name: sum(average_by_task(tasks, of)) for name, of in SHARES.items()}
    return Row(
        policy=policy,
        scenario=scenario,
        episodes=size,
        shares={name: measure_share(total, len(tasks)) for name, total in sums.items()},
        counts={name: sum(map(of, found)) / max(size, 1) for name, of in COUNTS.items()},
        shopper_errors=1 - size / len(played),
        passes=measure_passes(tasks, lambda each: each.typed.success),
    )


def average_scenarios(policy: str, rows: Sequence[Row]) -> Row:
    return Row(
        policy=policy,
        scenario=OVERALL,
        episodes=sum(each.episodes for each in rows),
        shares={name: average_shares([each.shares[name] for each in rows]) for name in SHARES},
        counts={name: sum(each.counts[name] for each in rows) / len(rows) for name in COUNTS},
        shopper_errors=sum(each.shopper_errors for each in rows) / len(rows),
        passes=average_passes([each.passes for each in rows]),
    )


@dataclass(frozen=True)
class ErrorCount:
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


def count_errors(found: Iterable[Outcome]) -> list[ErrorCount]:
    """In the order of the table, for each agent; those that were made."""
    failed: Counter[str] = Counter()
    made: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for each in filter(lambda outcome: not outcome.shopper_error, found):
        failed[each.policy] += not each.typed.success
        made[each.policy].update((error.area, error.name) for error in each.errors)
    found_errors = []
    for policy, counts in made.items():
        of_area: Counter[str] = Counter()
        for (area, _), times in counts.items():
            of_area[area] += times
        for area, name in ERRORS:
            if count := counts[area, name]:
                shares = (count / of_area[area], count / counts.total(), count / failed[policy])
                found_errors.append(ErrorCount(policy, area, name, count, *shares))
    return found_errors


# Tables


def tabulate_outcomes(found: Sequence[Outcome]) -> list[Table]:
    """All of them, to be printed."""
    rows = summarize_outcomes(found)
    return [
        tabulate_shopping_rewards(rows),
        tabulate_reward_parts(rows),
        tabulate_literal_rewards(rows),
        tabulate_shopping_passes(rows),
        tabulate_grades(found),
        tabulate_errors(count_errors(found)),
        tabulate_held_out_kinds(list_kind_results(found)),
    ]


def list_kind_results(found: Iterable[Outcome]) -> list[KindResult]:
    """Of tasks of the test, without those in which the shopper said something wrong."""
    return [
        KindResult(each.policy, each.scenario, each.held_out, bool(each.typed.success))
        for each in found
        if each.split == "test" and not each.shopper_error
    ]


def tabulate_shopping_rewards(rows: Iterable[Row]) -> Table:
    """Table 2, a line a scenario: loose, strict and success in percent with half the width of their intervals."""
    lines = [[each.policy, each.scenario, *(each.shares[name].format_margin() for name in PAPER)] for each in rows]
    return Table(["agent", "scenario", *(f"{name}, %" for name in PAPER)], lines)


def tabulate_reward_parts(rows: Iterable[Row]) -> Table:
    """How much of each part of the reward was right, what it took, and what the shopper said wrongly."""
    columns = ["agent", "scenario", "episodes", *(f"{part}, %" for part in PARTS), "actions", "asked", "did nothing"]
    columns.append("shopper's errors, %")
    lines = []
    for each in rows:
        shares = [f"{100 * each.shares[part].share:.1f}" for part in PARTS]
        counts = [f"{each.counts[name]:.1f}" for name in ("actions", "asked", "idle")]
        errors = f"{100 * each.shopper_errors:.1f}"
        lines.append([each.policy, each.scenario, f"{each.episodes:,}", *shares, *counts, errors])
    return Table(columns, lines)


def tabulate_shopping_passes(rows: Iterable[Row]) -> Table:
    """pass@k and pass^k of full success by scenario; no rows where each task was tried once."""
    return tabulate_passes(("agent", "scenario"), {(each.policy, each.scenario): each.passes for each in rows})


def tabulate_literal_rewards(rows: Iterable[Row]) -> Table:
    """By typed equality and by the published formulas."""
    lines = []
    for each in rows:
        pairs = [each.shares[full].share for name in PAPER for full in (name, f"literal {name}")]
        lines.append([each.policy, each.scenario, *map(format_percent, pairs)])
    return Table(["agent", "scenario", *(f"{name}, {how} %" for name in PAPER for how in ("typed", "literal"))], lines)


def tabulate_grades(found: Iterable[Outcome]) -> Table:
    """Success by the number of needs: a line for each agent and scenario, a column for each grade."""
    groups: dict[tuple[str, str], dict[int, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for each in filter(lambda outcome: not outcome.shopper_error, found):
        groups[each.policy, each.scenario][each.grade].append(each.typed.success)
    lines = []
    for (policy, scenario), by in sorted(groups.items(), key=lambda pair: (pair[0][0], SCENARIOS.index(pair[0][1]))):
        shares = [
            f"{100 * sum(by[grade]) / len(by[grade]):.1f} of {len(by[grade]):,}" if by[grade] else ""
            for grade in GRADES
        ]
        lines.append([policy, scenario, *shares])
    return Table(["agent", "scenario", "up to 3 needs, %", "4 and 5, %", "6 and more, %"], lines)


def tabulate_errors(found: Iterable[ErrorCount]) -> Table:
    """Figure 3; no rows where nothing went wrong."""
    lines = []
    for each in found:
        shares = map(format_percent, (each.of_area, each.of_all, each.of_failed))
        lines.append([each.policy, f"{each.area}: {each.name}", f"{each.count:,}", *shares])
    return Table(["agent", "error", "times", "of its kind, %", "of all errors, %", "of failed episodes, %"], lines)


def format_percent(share: float) -> str:
    return f"{100 * share:.1f}"
