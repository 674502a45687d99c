"""Questions over customers' months, each with SQL and a proved answer (ShopTrajQA, arXiv 2606.07995)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import chain
from random import Random
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from shopwright.pipeline.budget_names import parse_budget
from shopwright.pipeline.checks import question_sets, question_words
from shopwright.pipeline.checks import questions as check
from shopwright.pipeline.checks.question_sets import Roster, load_roster
from shopwright.pipeline.checks.text_reader import TextReader
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.phrases.bank import QUESTIONS
from shopwright.pipeline.phrases.given import Bank, GivenBank, list_bank_files, load_bank
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.questions.choose_shapes import accept_any, compose
from shopwright.pipeline.questions.engines import Engines, Table
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.model_written import (
    Draft,
    answer_again,
    draw_question_specs,
    excerpt_trajectory,
    write_trajectory_questions,
)
from shopwright.pipeline.questions.rating import extract_question_words
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.sandbox.data_loader import check_trajectories_file
from shopwright.pipeline.stage import Key, Plan, Section, Shard, Views, judge_batch, stage
from shopwright.schemas.questions import Question, Split
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory

# Questions of each split for each of two budgets: the paper's 100 + 100, 228 and 1,100.
PAPER = {"test": 100, "sft": 114, "rl": 550}
PerTrajectory = Annotated[int, Field(description="questions for each trajectory", ge=1, le=150)]
Paper = Annotated[bool, Field(description="the paper's sizes: test 100 + 100, sft 228, rl 1,100")]
WrittenBy = Annotated[Literal["code", "model"], Field(description="who writes question and SQL; a model needs --model")]


def plan_questions(
    trajectories: Dataset[Trajectory], per_trajectory: int, paper: bool, written_by: str = "code", bank: str = ""
) -> Plan:
    if paper and written_by == "model":
        raise Problem("--paper is for questions that code writes. Leave out --written-by model, or --paper.")
    for file in trajectories.files:
        check_trajectories_file(file)
    count_questions_per_trajectory(trajectories.once(load_roster), per_trajectory, paper)
    units = 1 if paper else len(trajectories)  # sizes that are exact want one hand
    rows = units * per_trajectory if written_by == "model" else None
    return Plan(units, files=list_bank_files(bank), rows=rows)


def count_questions_per_trajectory(found: Roster, per_trajectory: int, paper: bool) -> list[int]:
    """How many questions each trajectory gets. Raises Problem where there are too few for the paper's sizes."""
    if not paper:
        return [per_trajectory] * len(found.budgets)
    budgets = sorted(set(found.budgets), key=parse_budget)
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
        same = self.answers[shape, answer]  # so many have it already
        few = same < question_sets.max_alike(question_sets.GUESSED, self.shapes[shape] - same)
        return few and self.splits.get(extract_question_words(question), split) == split

    def add(self, asked: Question) -> None:
        self.shapes[asked.shape] += 1
        self.answers[asked.shape, asked.answer] += 1
        self.splits[extract_question_words(asked.question)] = asked.split


CHECKS = (
    check.sql_reads_only_events,
    check.a_sample_is_read_alone,
    check.trajectory_is_there,
    check.answer_is_duckdbs,
    check.answer_is_sqlites,
    check.answer_is_plain_pythons,
    check.a_second_answering_agrees,
    check.row_order_does_not_matter,
    check.evidence_decides,
    check.unrelated_rows_do_not_matter,
    question_words.question_is_made_of_its_tree,
    question_words.question_says_its_tree,
    question_words.it_names_what_is_there,
    question_words.products_are_named,
    question_words.none_is_offered,
    question_words.ties_are_settled,
    question_words.it_is_asked_after_all,
    question_words.idle_conditions_are_told,
    question_words.answer_is_not_in_the_question,
    check.answer_is_canonical,
    question_words.days_are_real,
    check.difficulty_and_position_are_measured,
    check.text_answers_what_it_should,
    check.split_is_its_trees,
)


VIEWS = Views(
    place=30,
    apart={
        # The id of a trajectory is a customer and a budget.
        "customer": Key("trajectory_id", "regexp_replace(trajectory_id, '-[^-]*$', '')"),
        "question": Key("question_id"),
        "wording": Key("question", "trim(lower(regexp_replace(question, '\\W+', ' ', 'g')))"),
        "SQL": Key("sql", "trim(regexp_replace(sql, '\\s+', ' ', 'g'))"),
    },
    named_by=("question_id",),
    purposes=("question-answering", "table-question-answering"),
    columns=("question", "answer", "kind", "difficulty", "split"),
    page="browse.evidence:gather_proof",
    proof="trajectory_id",
    command="commands.questions",
    words={"questions": "commands.words:read_questions"},
    report=(
        Section("questions", "Questions", "publish.report_questions:gather_question_facts"),
        Section("answers", "Answers", "publish.report_questions:summarize_question_agents"),
    ),
    sample=("question", "answer"),
    card={"asked": "publish.card:measure_answerability"},
    pictures={"difficulty": "publish.pictures:draw_difficulty"},
)


@stage(
    makes=Question,
    plan=plan_questions,
    checks=CHECKS,
    across=[
        ids_are_unique,
        question_sets.questions_of_a_trajectory_differ,
        question_sets.splits_share_nothing,
        question_sets.few_conditions_are_idle,
        question_sets.no_shape_or_answer_is_too_common,
    ],
    per_shard=(20, 1_000),
    views=VIEWS,
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
    bank: Bank = "",
) -> Iterator[Question | Rejected]:
    """Questions over every trajectory, in English, each with SQL and an answer proved by three engines."""
    if written_by == "code":
        return make_questions_by_code(
            trajectories, shard, plan, per_trajectory, paper, load_bank(plan.files, QUESTIONS)
        )
    return make_questions_by_model(
        trajectories, shard.of(plan.units), partial(shard.random, "questions"), writer, judge, per_trajectory
    )


def make_questions_by_code(
    trajectories: Dataset[Trajectory],
    shard: Shard,
    plan: Plan,
    per_trajectory: int,
    paper: bool,
    bank: GivenBank | None,
) -> Iterator[Question | Rejected]:
    """Trees are drawn, and their SQL, answer and wording made from them."""
    found = trajectories.once(load_roster)
    counts = count_questions_per_trajectory(found, per_trajectory, paper)
    numbers = range(len(trajectories)) if paper else shard.of(plan.units)
    mix = Mix() if paper else None
    for row, (id, budget, events) in zip(numbers, slice_trajectory_events(trajectories, numbers), strict=True):
        if paper and found.splits[row] not in PAPER:
            continue  # the paper has no split of new wordings
        if not is_budget(budget):
            yield reject_unknown_budget(id, budget)
            continue
        fits = partial(mix.fits, found.splits[row]) if mix else accept_any
        drawn = compose(
            Log.of(events), partial(shard.random, "questions", id), found.splits[row], fits, bank and bank.phrases
        )
        asked = (
            Question(id=f"{id}-q{n:03d}", trajectory_id=id, budget=budget, second_sql="", **facts)
            for n, facts in enumerate(drawn, 1)
        )
        made = 0
        for question in asked if counts[row] else ():
            yield question
            if mix and any(any(said) for said in judge_batch(CHECKS, None, [question], {"trajectories": trajectories})):
                continue  # it will be held back, and another takes its place
            if mix:
                mix.add(question)
            made += 1
            if made == counts[row]:
                break
        if made < counts[row]:
            yield reject_short_trajectory(id, made + 1)


def make_questions_by_model(
    trajectories: Dataset[Trajectory],
    numbers: range,
    dice: Callable[..., Random],
    writer: Role,
    judge: Role,
    count: int,
) -> Iterator[Question | Rejected]:
    """All questions are written, then all are answered once more: a judge that waited for its writer could not be heard meanwhile."""
    found = trajectories.once(load_roster)
    writing, judging = Bench(trajectories), Bench(trajectories)
    conversations = (
        start_question_conversation(
            id, budget, found.splits[row], events.to_pylist(), partial(dice, id), count, writing
        )
        for row, (id, budget, events) in zip(numbers, slice_trajectory_events(trajectories, numbers), strict=True)
    )
    drafts = list(chain.from_iterable(writer.play(conversations)))
    yield from judge.play(answer_again(draft, judging.table, judging.why_agreed) for draft in drafts)


def start_question_conversation(
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
        return end_without_asking(
            [reject_unknown_budget(f"{id}-q{number:03d}", budget) for number in range(1, count + 1)]
        )
    if not events:
        return end_without_asking([reject_short_trajectory(id, number) for number in range(1, count + 1)])
    story = excerpt_trajectory(id, budget, split, events, dice("story"))
    return write_trajectory_questions(story, draw_question_specs(dice("wishes"), count), bench.table, bench.why)


def end_without_asking(found: list[Draft | Rejected]) -> Conversation[list[Draft | Rejected]]:
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
        # Put there by hand: `once` would share them with all that read these files.
        found.cache |= {Engines: Engines(found), TextReader: TextReader(found)}
        return found

    def table(self, id: str) -> Table:
        return check.guard_table(id, self.own)

    def why(self, question: Question) -> list[str]:
        """What the checks have against a question, but for the second answering, which it does not have yet."""
        return self.against(question, [each for each in CHECKS if each is not check.a_second_answering_agrees])

    def why_agreed(self, question: Question) -> list[str]:
        """What they have against its second query."""
        second = (check.a_second_answering_agrees, check.text_answers_what_it_should)
        return self.against(question, [check.sql_reads_only_events, *second, question_words.days_are_real])

    def against(self, question: Question, checks: list[Any]) -> list[str]:
        said = judge_batch(checks, None, [question], {"trajectories": self.own})
        return list(dict.fromkeys(reason for (reason,) in said if reason))


def reject_unknown_budget(id: str, budget: str) -> Rejected:
    return Rejected(id=id, reasons=["a trajectory of an unknown budget"], record=f'{{"budget": "{budget}"}}')


def reject_short_trajectory(id: str, number: int) -> Rejected:
    reason = "its trajectory holds too little for another question"
    return Rejected(id=f"{id}-q{number:03d}", reasons=[reason], record=f'{{"trajectory_id": "{id}"}}')


def slice_trajectory_events(
    trajectories: Dataset[Trajectory], numbers: range
) -> Iterator[tuple[str, str, pa.StructArray]]:
    """Id, budget and events of these trajectories."""
    for batch in trajectories.slices(numbers, ["id", "budget", "events"]):
        for row in range(batch.num_rows):
            yield batch["id"][row].as_py(), batch["budget"][row].as_py(), batch["events"][row].values


def is_budget(budget: str) -> bool:
    try:
        return parse_budget(budget) > 0
    except ValueError:
        return False
