"""An agent on a run's questions, with code or with the whole trajectory in the prompt (arXiv 2606.07995, section 4).

A try is a conversation with somebody who cannot be trusted: whatever a model says, the others go on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any

from pydantic import ValidationError

from shopwright.pipeline.budget_names import format_budget, parse_budget
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.audit import AuditCell, describe_earnings, list_unsolved
from shopwright.pipeline.evaluate.held_out import KindResult, summarize_kinds_in_json, tabulate_held_out_kinds
from shopwright.pipeline.evaluate.progress import collect_answered
from shopwright.pipeline.evaluate.selection import limit_evenly, read_split
from shopwright.pipeline.evaluate.situation import SOLVER, Player, Situation, Trace
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.verdict import AuditVerdict
from shopwright.pipeline.held_out import is_held_out
from shopwright.pipeline.models.base import Sampling
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.questions.choose_shapes import TESTS
from shopwright.pipeline.questions.engines import TrajectoryReader
from shopwright.pipeline.rewards.matching import LONGEST
from shopwright.pipeline.rollouts import scores
from shopwright.pipeline.rollouts.baselines import list_question_players, open_trajectory_sandbox
from shopwright.pipeline.rollouts.conversation import RESPONSE_TOKENS, AnsweredQuestion, Mode, ReadQuestion
from shopwright.pipeline.rollouts.judge import judge_attempts
from shopwright.pipeline.sandbox.interpreter import Sandbox, require_means
from shopwright.pipeline.words import drop_surrogates
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import Attempt
from shopwright.schemas.samples import Trajectory

# How the paper draws replies for validation.
AGENT_SAMPLING = Sampling(temperature=1.0, top_p=0.6, max_tokens=RESPONSE_TOKENS)


@dataclass(frozen=True)
class Plan:
    """Which questions are asked, and how."""

    modes: tuple[Mode, ...] = ("tool",)
    split: str = "test"
    budgets: tuple[str, ...] = ()
    """All where none is named."""
    limit: int | None = None
    """So many questions, spread over kinds and budgets."""
    tries: int = 1
    """Of each question, each with a seed of its own."""
    strict: bool = False
    """The answer must be the same text."""


@dataclass(frozen=True)
class Questions(Situation[tuple[Mode, Question], AnsweredQuestion, Attempt]):
    """Questions in the order of modes and rows.

    Raises Problem for a trajectory that there is not, and where the machine cannot keep code in.
    """

    makes = Attempt
    questions: Dataset[Question]
    trajectories: Dataset[Trajectory]
    plan: Plan
    sandbox: Sandbox
    critic: Role | None = None
    """The model that judges answers."""

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.questions.name

    @cached_property
    def chosen(self) -> list[Question]:
        return select_questions(self.questions, self.plan)

    @cached_property
    def players(self) -> Mapping[str, Player]:  # type: ignore[override]
        return self.questions.once(list_question_players)

    @property
    def tries(self) -> int:  # type: ignore[override]
        return self.plan.tries

    @property
    def asked(self) -> int:
        return sum(1 for _ in self.tasks())

    def tasks(self) -> Iterator[tuple[Mode, Question]]:
        """Without tools those questions alone that the text can answer."""
        for mode in self.plan.modes:
            yield from product((mode,), select_askable(mode, self.chosen))

    def begin(self, task: tuple[Mode, Question]) -> AnsweredQuestion:
        mode, question = task
        if mode == "tool":
            return AnsweredQuestion(question, self.sandbox, strict=self.plan.strict)
        return ReadQuestion(question, partial(self.read_text, question.trajectory_id), strict=self.plan.strict)

    @cached_property
    def read_text(self) -> Callable[[str], str]:
        """A trajectory's text by its id."""
        return lru_cache(maxsize=4)(TrajectoryReader(self.trajectories).text)

    def keep(self, trace: Trace[AnsweredQuestion]) -> Attempt:
        return make_attempt(trace)

    def review(self, rows: Sequence[Attempt], say: Callable[[str], None]) -> Sequence[Attempt]:
        if self.critic is None:
            return rows
        texts = {each.id: each.question for each in self.chosen}
        return collect_answered(judge_attempts(rows, texts, self.critic), len(rows), say, "judge").rows

    def tables(self, rows: Sequence[Attempt]) -> list[Table]:
        found = scores.score_attempts(rows)
        tables = (
            scores.tabulate_accuracy,
            scores.tabulate_calls,
            scores.tabulate_question_passes,
            scores.tabulate_groups,
        )
        kinds = [tabulate_held_out_kinds(self.list_kind_results(rows))] if self.plan.split in TESTS else []
        return [*(tabulate(found) for tabulate in tables), *kinds, scores.tabulate_faults(rows)]

    def figures(self, rows: Sequence[Attempt]) -> dict[str, Any]:
        held_out = summarize_kinds_in_json(self.list_kind_results(rows))
        return {"rows": [asdict(each) for each in scores.score_attempts(rows)], "held_out": held_out}

    def list_kind_results(self, rows: Sequence[Attempt]) -> list[KindResult]:
        """Each try by the form of its question."""
        return [
            KindResult(each.policy, scores.MODE_LABELS[each.mode], is_held_out("shapes", [each.shape]), each.right)
            for each in rows
        ]

    def facts(self) -> dict[str, str]:
        return {"text_answers": count_text_answerable(self.questions, self.plan), "asked": str(self.asked * self.tries)}

    def notes(self, rows: Sequence[Attempt]) -> list[str]:
        tries = "1 try" if self.plan.tries == 1 else f"{self.plan.tries} tries"
        found = [f"{len(self.chosen):,} questions of the split {self.plan.split}, {tries} each"]
        if self.critic:
            found.append(f"judged     {sum(bool(each.judged) for each in rows):,} of {len(rows):,}")
        if "text" in self.plan.modes:
            without, of_text = len(select_askable("text", self.chosen)), self.facts()["text_answers"]
            found.append(
                f"w/o tool   {without:,} questions: the text can answer {of_text} of the split, and no other is asked"
            )
        return found

    def group(self, task: tuple[Mode, Question]) -> Mapping[str, Any]:
        return {"kind": task[1].kind}

    def judge(self, cells: Sequence[AuditCell]) -> AuditVerdict:
        """Who knows nothing of the trajectory earns less than nothing."""
        cheated = [describe_earnings(cell) for cell in cells if cell.policy != SOLVER and cell.parts["reward"] >= 0]
        return AuditVerdict(list_unsolved(cells), cheated)


def open_questions(
    questions: Dataset[Question], trajectories: Dataset[Trajectory], plan: Plan, critic: Role | None = None
) -> Questions:
    require_means()
    return Questions(questions, trajectories, plan, trajectories.once(open_trajectory_sandbox), critic)


def select_askable(mode: Mode, asked: Sequence[Question]) -> Sequence[Question]:
    return asked if mode == "tool" else [each for each in asked if "text" in each.answerable_from]


def parse_modes(mode: str, agent: Role | str) -> tuple[Mode, ...]:
    """Raises Problem for the solver without tools: it can only write code.

    >>> parse_modes("both", "random"), parse_modes("both", "solver")
    (('text', 'tool'), ('tool',))
    """
    if agent == SOLVER and mode == "text":
        raise Problem("The solver answers with code only. Say --mode tool, or --agent random, majority or a model.")
    if mode == "both" and agent != SOLVER:
        return "text", "tool"
    return ("text",) if mode == "text" else ("tool",)


def parse_token_budgets(text: str | None) -> tuple[str, ...]:
    """Raises Problem for what is no number of tokens.

    >>> parse_token_budgets("64k,32000")
    ('32k', '64k')
    """
    try:
        return tuple(map(format_budget, sorted({parse_budget(each) for each in text.split(",")}))) if text else ()
    except ValueError as error:
        raise Problem(f"--budgets: {error}.") from None


# Which questions


def select_questions(questions: Dataset[Question], plan: Plan) -> list[Question]:
    """The questions of the split in their order. Raises Problem where there are none of what is wanted."""
    try:
        found = [Question.model_validate(row) for row in read_split(questions, plan.split)]
    except ValidationError:
        raise Problem(
            "These questions are of another version. Build them again: shopwright build questions --rebuild"
        ) from None
    there = scores.sort_budgets({each.budget for each in found})
    if not there:
        raise Problem(f"There are no questions of the split {plan.split} here.")
    if missing := [budget for budget in plan.budgets if budget not in there]:
        raise Problem(f"The split {plan.split} has no questions of {missing[0]}. It has: {', '.join(there)}.")
    found = [each for each in found if each.budget in (plan.budgets or there)]
    if plan.modes == ("text",):
        found = [*select_askable("text", found)]
    if not found:
        raise Problem(f"The text of a trajectory answers no question of the split {plan.split}. Say --mode tool.")
    return list(limit_by_kind(found, plan.limit))


def count_text_answerable(questions: Dataset[Question], plan: Plan) -> str:
    """How many of the split's questions the text can answer: `74 of 100`."""
    found = [
        each
        for each in read_split(questions, plan.split, ["split", "budget", "answerable_from"])
        if each["budget"] in (plan.budgets or (each["budget"],))
    ]
    return f"{sum('text' in each['answerable_from'] for each in found):,} of {len(found):,}"


def limit_by_kind(found: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """So many of them, from each kind and budget alike."""
    kinds, there = sorted({each.kind for each in found}), scores.sort_budgets(each.budget for each in found)

    def turn(each: Question) -> tuple[int, int]:
        """Each kind once, with the budgets in turn, before any kind comes again."""
        kind, budget = kinds.index(each.kind), there.index(each.budget)
        return (budget - kind) % len(there), kind

    return limit_evenly(found, limit, turn)


# One try


def make_attempt(trace: Trace[AnsweredQuestion]) -> Attempt:
    """A try as a row; its prompt, which can hold a million tokens, is not kept."""
    played = trace.episode
    question = played.question
    return Attempt(
        id=f"{question.id}-{trace.policy}-{played.mode}-{played.try_number}",
        question_id=question.id,
        trajectory_id=question.trajectory_id,
        budget=question.budget,
        kind=question.kind,
        shape=question.shape,
        answerable_from=question.answerable_from,
        difficulty=question.difficulty,
        position=question.position or "",
        policy=trace.policy,
        mode=played.mode,
        try_number=played.try_number,
        said=drop_surrogates(played.said or "")[: LONGEST + len(question.answer) + 1],  # longer is wrong, and stays so
        answer=question.answer,
        answer_type=question.answer_type,
        right=trace.score.success,
        judged="",
        called=played.called,
        executed=played.executed,
        reward=trace.score.parts["reward"],
        turns=played.turns,
        prompt_tokens=played.prompt_tokens,
        tokens=played.tokens,
        seconds=round(played.seconds, 4),
        fault=drop_surrogates(played.fault),
    )
