"""Questions over customers' months, each with SQL and a proved answer (ShopTrajQA, arXiv 2606.07995)."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from pipeline.budgets import tokens_of
from pipeline.checks import questions as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.problem import Problem
from pipeline.questions.compose import anything, compose
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
BY_SPLIT: tuple[tuple[Split, float], ...] = (("sft", 0.3), ("rl", 0.9), ("test", 1.0))
"""Up to which part of the customers, as `place` spreads them."""
GOLDEN = 0.6180339887498949

PerTrajectory = Annotated[int, Field(description="questions for each trajectory", ge=1, le=150)]
Paper = Annotated[bool, Field(description="the paper's sizes: test 100 + 100, sft 228, rl 1,100")]


@dataclass(frozen=True)
class Roster:
    """Which customer each trajectory is of, and so which split it is in."""

    budgets: list[str]
    splits: list[Split]


def roster(trajectories: Dataset[Trajectory]) -> Roster:
    table = trajectories.table(["persona_id", "budget"])
    people = table["persona_id"].to_pylist()
    numbers = {person: number for number, person in enumerate(dict.fromkeys(people))}
    return Roster(table["budget"].to_pylist(), [split_of_customer(numbers[person]) for person in people])


def split_of_customer(number: int) -> Split:
    """Any run of customers is divided 30 : 60 : 10, as nearly as it can be.

    >>> [split_of_customer(number) for number in range(5)]
    ['rl', 'sft', 'rl', 'rl', 'test']
    """
    place = (number * GOLDEN + 0.5) % 1
    return next(split for split, upto in BY_SPLIT if place < upto)


def plan_questions(trajectories: Dataset[Trajectory], per_trajectory: int, paper: bool) -> Plan:
    for file in trajectories.files:
        why_not_trajectories(file)
    wanted(trajectories.once(roster), per_trajectory, paper)
    return Plan(1 if paper else len(trajectories))  # sizes that are exact want one hand


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
    *,
    per_trajectory: PerTrajectory = 5,
    paper: Paper = False,
) -> Iterator[Question | Rejected]:
    """Questions over every trajectory, in English, each with SQL and an answer proved by three engines."""
    found = trajectories.once(roster)
    counts = wanted(found, per_trajectory, paper)
    numbers = range(len(trajectories)) if paper else shard.of(plan.units)
    mix = Mix() if paper else None
    for row, (id, budget, events) in zip(numbers, events_of(trajectories, numbers), strict=True):
        if not is_budget(budget):
            yield Rejected(id=id, reasons=["a trajectory of an unknown budget"], record=f'{{"budget": "{budget}"}}')
            continue
        fits = partial(mix.fits, found.splits[row]) if mix else anything
        drawn = compose(Log(events), partial(shard.random, "questions", id), found.splits[row], fits)
        asked = (
            Question(id=f"{id}-q{n:03d}", trajectory_id=id, budget=budget, **facts) for n, facts in enumerate(drawn, 1)
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
            reason = "its trajectory holds too little for another question"
            yield Rejected(id=f"{id}-q{made + 1:03d}", reasons=[reason], record=f'{{"trajectory_id": "{id}"}}')


def events_of(trajectories: Dataset[Trajectory], numbers: range) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    for batch in trajectories.slices(numbers, ["id", "budget", "events"]):
        for row in range(batch.num_rows):
            yield batch["id"][row].as_py(), batch["budget"][row].as_py(), batch["events"][row].as_py()


def is_budget(budget: str) -> bool:
    try:
        return tokens_of(budget) > 0
    except ValueError:
        return False
