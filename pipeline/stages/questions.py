"""Questions over customers' months, each with SQL and a proved answer (ShopTrajQA, arXiv 2606.07995)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from random import Random
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from pipeline.budgets import tokens_of
from pipeline.checks import questions as check
from pipeline.checks.questions import Roster, roster
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.models.play import Conversation
from pipeline.models.role import Role
from pipeline.problem import Problem
from pipeline.questions.asked import Draft, answered_again, asked, story_of, wishes
from pipeline.questions.compose import anything, compose
from pipeline.questions.engines import Engines, Table
from pipeline.questions.log import Log
from pipeline.questions.rating import words_of
from pipeline.questions.shapes import SHAPES
from pipeline.sandbox.data_loader import why_not_trajectories
from pipeline.stage import Plan, Shard, judged, stage
from schemas.questions import Question, Split
from schemas.record import Rejected
from schemas.samples import Trajectory

PAPER = {"test": 100, "sft": 114, "rl": 550}
"""Questions of each split for each of two budgets: the paper's 100 + 100, 228 and 1,100."""
PerTrajectory = Annotated[int, Field(description="questions for each trajectory", ge=1, le=150)]
Paper = Annotated[bool, Field(description="the paper's sizes: test 100 + 100, sft 228, rl 1,100")]
WrittenBy = Annotated[Literal["code", "model"], Field(description="who writes question and SQL; a model needs --model")]


def plan_questions(
    trajectories: Dataset[Trajectory], per_trajectory: int, paper: bool, written_by: str = "code"
) -> Plan:
    if paper and written_by == "model":
        raise Problem("--paper is for questions that code writes. Leave out --written-by model, or --paper.")
    for file in trajectories.files:
        why_not_trajectories(file)
    wanted(trajectories.once(roster), per_trajectory, paper)
    units = 1 if paper else len(trajectories)  # sizes that are exact want one hand
    return Plan(units, rows=units * per_trajectory if written_by == "model" else None)


def wanted(found: Roster, per_trajectory: int, paper: bool) -> list[int]:
    """How many questions each trajectory gets. Raises Problem where there are too few for the paper's sizes."""
    if not paper:
        return [per_trajectory] * len(found.budgets)
    budgets = sorted(set(found.budgets), key=tokens_of)
    if len(budgets) != 2:
        raise Problem(f"--paper needs trajectories of two budgets, and these have {', '.join(budgets) or 'none'}.")
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, group in enumerate(zip(found.splits, found.budgets, strict=True)):
        groups[group].append(row)
    counts = [0] * len(found.budgets)
    for split, total in PAPER.items():
        for budget in budgets:
            rows = groups[split, budget]
            if total > len(rows) * len(SHAPES) // 2:
                raise Problem(
                    "--paper needs more customers: build trajectories with --count 60 or more, in another --run."
                )
            for place, row in enumerate(rows):
                counts[row] = total * (place + 1) // len(rows) - total * place // len(rows)
    return counts


class Mix:
    """What has been asked so far, so that no answer of a shape becomes too common and no two splits ask the same."""

    def __init__(self) -> None:
        self.shapes: Counter[str] = Counter()
        self.answers: Counter[tuple[str, str]] = Counter()
        self.splits: dict[tuple[str, ...], Split] = {}

    def fits(self, split: Split, shape: str, answer: str, question: str) -> bool:
        """Whether one more like this is welcome."""
        same = self.answers[shape, answer]
        few = same < check.allowed(check.GUESSED, self.shapes[shape] - same)
        return few and self.splits.get(words_of(question), split) == split

    def add(self, asked: Question) -> None:
        self.shapes[asked.shape] += 1
        self.answers[asked.shape, asked.answer] += 1
        self.splits[words_of(asked.question)] = asked.split


CHECKS = (
    check.sql_reads_only_events,
    check.trajectory_is_there,
    check.answer_is_duckdbs,
    check.answer_is_sqlites,
    check.answer_is_plain_pythons,
    check.a_second_answering_agrees,
    check.row_order_does_not_matter,
    check.evidence_decides,
    check.unrelated_rows_do_not_matter,
    check.question_says_its_tree,
    check.it_names_what_is_there,
    check.answer_is_not_in_the_question,
    check.answer_is_canonical,
    check.days_are_real,
    check.difficulty_and_position_are_measured,
    check.split_is_its_trees,
)


@stage(
    makes=Question,
    plan=plan_questions,
    checks=CHECKS,
    across=[
        ids_are_unique,
        check.questions_of_a_trajectory_differ,
        check.splits_share_nothing,
        check.no_shape_or_answer_is_too_common,
    ],
    per_shard=(20, 1_000),
)
def questions(
    trajectories: Dataset[Trajectory],
    shard: Shard,
    plan: Plan,
    writer: Role,
    judge: Role,
    *,
    per_trajectory: PerTrajectory = 5,
    paper: Paper = False,
    written_by: WrittenBy = "code",
) -> Iterator[Question | Rejected]:
    """Questions over every trajectory, in English, each with SQL and an answer proved by three engines."""
    if written_by == "code":
        return by_code(trajectories, shard, plan, per_trajectory, paper)
    return by_model(
        trajectories, shard.of(plan.units), partial(shard.random, "questions"), writer, judge, per_trajectory
    )


def by_code(
    trajectories: Dataset[Trajectory], shard: Shard, plan: Plan, per_trajectory: int, paper: bool
) -> Iterator[Question | Rejected]:
    """Trees are drawn, and their SQL, answer and wording made from them."""
    found = trajectories.once(roster)
    counts = wanted(found, per_trajectory, paper)
    numbers = range(len(trajectories)) if paper else shard.of(plan.units)
    mix = Mix() if paper else None
    for row, (id, budget, events) in zip(numbers, events_of(trajectories, numbers), strict=True):
        if not is_budget(budget):
            yield of_unknown_budget(id, budget)
            continue
        fits = partial(mix.fits, found.splits[row]) if mix else anything
        drawn = compose(Log.of(events), partial(shard.random, "questions", id), found.splits[row], fits)
        asked = (
            Question(id=f"{id}-q{n:03d}", trajectory_id=id, budget=budget, second_sql="", **facts)
            for n, facts in enumerate(drawn, 1)
        )
        made = 0
        for question in asked if counts[row] else ():
            yield question
            if mix and any(any(said) for said in judged(CHECKS, None, [question], {"trajectories": trajectories})):
                continue  # it will be held back, and another takes its place
            if mix:
                mix.add(question)
            made += 1
            if made == counts[row]:
                break
        if made < counts[row]:
            yield too_little(id, made + 1)


def by_model(
    trajectories: Dataset[Trajectory],
    numbers: range,
    dice: Callable[..., Random],
    writer: Role,
    judge: Role,
    count: int,
) -> Iterator[Question | Rejected]:
    """All questions are written, then all are answered once more: a judge that waited for its writer could not be heard meanwhile."""
    found = trajectories.once(roster)
    writing, judging = Bench(trajectories), Bench(trajectories)
    conversations = (
        conversation(id, budget, found.splits[row], events.to_pylist(), partial(dice, id), count, writing)
        for row, (id, budget, events) in zip(numbers, events_of(trajectories, numbers), strict=True)
    )
    drafts = [draft for drafts in writer.play(conversations) for draft in drafts]
    yield from judge.play(answered_again(draft, judging.table, judging.why_agreed) for draft in drafts)


def conversation(
    id: str,
    budget: str,
    split: Split,
    events: list[dict[str, Any]],
    dice: Callable[..., Random],
    count: int,
    bench: "Bench",
) -> Conversation[list[Draft | Rejected]]:
    """The questions of one trajectory, or why there are none."""
    if not is_budget(budget):
        return settled([of_unknown_budget(f"{id}-q{number:03d}", budget) for number in range(1, count + 1)])
    if not events:
        return settled([too_little(id, number) for number in range(1, count + 1)])
    story = story_of(id, budget, split, events, dice("story"))
    return asked(story, wishes(dice("wishes"), count), bench.table, bench.why)


def settled(found: list[Draft | Rejected]) -> Conversation[list[Draft | Rejected]]:
    """A conversation in which nothing is said."""
    return found
    yield


class Bench:
    """Engines and checks for one role: SQLite answers only in the thread that opened it, and each role plays in its own."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        self.trajectories = trajectories

    @cached_property
    def own(self) -> Dataset[Trajectory]:
        """The same trajectories with engines of this bench alone."""
        found = Dataset(self.trajectories.run, self.trajectories.name, Trajectory)
        found.made[Engines] = Engines(found)
        return found

    def table(self, id: str) -> Table:
        return check.guarded(id, self.own)

    def why(self, question: Question) -> list[str]:
        """What the checks have against a question, but for the second answering, which it does not have yet."""
        return self.against(question, [each for each in CHECKS if each is not check.a_second_answering_agrees])

    def why_agreed(self, question: Question) -> list[str]:
        """What they have against its second query."""
        return self.against(
            question, [check.sql_reads_only_events, check.a_second_answering_agrees, check.days_are_real]
        )

    def against(self, question: Question, checks: list[Any]) -> list[str]:
        said = judged(checks, None, [question], {"trajectories": self.own})
        return list(dict.fromkeys(reason for (reason,) in said if reason))


def of_unknown_budget(id: str, budget: str) -> Rejected:
    return Rejected(id=id, reasons=["a trajectory of an unknown budget"], record=f'{{"budget": "{budget}"}}')


def too_little(id: str, number: int) -> Rejected:
    reason = "its trajectory holds too little for another question"
    return Rejected(id=f"{id}-q{number:03d}", reasons=[reason], record=f'{{"trajectory_id": "{id}"}}')


def events_of(trajectories: Dataset[Trajectory], numbers: range) -> Iterator[tuple[str, str, pa.StructArray]]:
    """Id, budget and events of these trajectories."""
    for batch in trajectories.slices(numbers, ["id", "budget", "events"]):
        for row in range(batch.num_rows):
            yield batch["id"][row].as_py(), batch["budget"][row].as_py(), batch["events"][row].values


def is_budget(budget: str) -> bool:
    try:
        return tokens_of(budget) > 0
    except ValueError:
        return False
