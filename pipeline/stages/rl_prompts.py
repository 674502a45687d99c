"""Questions to learn on by trying, with what a try is judged by and how often known policies are right (Customer-Agent, section 3.4)."""

import json
from collections.abc import Iterator
from itertools import product as cartesian
from typing import Annotated

from pydantic import Field

from shopwright.pipeline.checks import rollouts as check
from shopwright.pipeline.checks.unique import find_repeated_rows, ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.situation import play_through
from shopwright.pipeline.models.base import UnansweredRequest
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import catch_unanswered
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.rollouts.baselines import (
    MAJORITY,
    RANDOM,
    SCRIPTED,
    index_splits,
    open_trajectory_sandbox,
    read_questions_at,
)
from shopwright.pipeline.rollouts.conversation import AnsweredQuestion, build_question_prompt
from shopwright.pipeline.sandbox.interpreter import require_means
from shopwright.pipeline.stage import Fault, Plan, Section, Shard, Views, stage
from shopwright.schemas.questions import Question, Split
from shopwright.schemas.record import Rejected
from shopwright.schemas.rollouts import PassRate, RlPrompt
from shopwright.schemas.samples import Trajectory

SplitName = Annotated[Split, Field(description="of which split the questions are: sft, rl or test")]
Tries = Annotated[int, Field(description="how often a model, and the policy that guesses, is tried", ge=1, le=64)]


def plan_rl_prompts(questions: Dataset[Question], split: Split) -> Plan:
    units = len(questions.once(index_splits)[split])
    if not units:
        raise Lacking(f"No question is in the split {split}. Build more of them (--count 100), or say --split.")
    return Plan(units, rows=units)


def questions_differ(rl_prompts: Dataset[RlPrompt]) -> list[Fault]:
    return find_repeated_rows(rl_prompts, "question_id", "the same question twice")


VIEWS = Views(
    place=50,
    environments={"questions": "trainers.env:QuestionsEnv", "questions_boxed": "trainers.env:BoxedEnv"},
    forms=("publish.exporters.rl:rl_questions",),
    purposes=("reinforcement-learning",),
    columns=("question", "ground_truth", "kind", "difficulty"),
    report=(Section("prompts", "Prompts", "publish.report_rollouts:gather_prompt_facts"),),
)


@stage(
    makes=RlPrompt,
    plan=plan_rl_prompts,
    checks=[check.prompt_asks_its_question, check.pass_rates_are_measured],
    across=[ids_are_unique, questions_differ],
    per_shard=(50, 5_000),
    views=VIEWS,
)
def rl_prompts(
    questions: Dataset[Question],
    trajectories: Dataset[Trajectory],
    shard: Shard,
    plan: Plan,
    agent: Role,
    *,
    split: SplitName = "rl",
    tries: Tries = 4,
) -> Iterator[RlPrompt | Rejected]:
    """Questions with their truth and no rollout, and how often the teacher, two that guess and the model were right."""
    numbers = questions.once(index_splits)[split]
    chosen = list(read_questions_at(questions, [numbers[place] for place in shard.of(plan.units)]))
    measured: list[list[PassRate] | UnansweredRequest] = [[] for _ in chosen]
    if agent.asks:
        measured = model_rates(chosen, trajectories, agent, tries)
    for question, more in zip(chosen, measured, strict=True):
        if isinstance(more, UnansweredRequest):
            facts = json.dumps({"question_id": question.id})
            yield Rejected(id=f"{question.id}-rl", reasons=[more.reason], record=facts)
            continue
        rates = [
            PassRate(
                policy=name, tries=count, right=check.count_right_tries(question, name, count, questions, trajectories)
            )
            # Those that draw nothing say the same each time.
            for name, count in ((SCRIPTED, 1), (RANDOM, tries), (MAJORITY, 1))
        ]
        yield RlPrompt(
            id=f"{question.id}-rl",
            question_id=question.id,
            trajectory_id=question.trajectory_id,
            budget=question.budget,
            question=question.question,
            asked_on=question.asked_on,
            prompt=build_question_prompt(question),
            ground_truth=question.answer,
            answer_type=question.answer_type,
            kind=question.kind,
            answerable_from=question.answerable_from,
            difficulty=question.difficulty,
            split=question.split,
            pass_rates=[*rates, *more],
        )


def model_rates(
    chosen: list[Question], trajectories: Dataset[Trajectory], agent: Role, tries: int
) -> list[list[PassRate] | UnansweredRequest]:
    """How often the model is right about each question, with another seed each time; nothing of one that was not answered each time."""
    require_means()
    sandbox, name = trajectories.once(open_trajectory_sandbox), agent.spec.name
    asked = cartesian(chosen, range(tries))
    played = list(
        agent.play(
            catch_unanswered(play_through(AnsweredQuestion(question, sandbox, try_number=number), policy=name))
            for question, number in asked
        )
    )
    found: list[list[PassRate] | UnansweredRequest] = []
    for first in range(0, len(played), tries):
        mine = played[first : first + tries]
        heard = [each for each in mine if not isinstance(each, UnansweredRequest)]
        lost = [each for each in mine if isinstance(each, UnansweredRequest)]
        passed = sum(each.score.success for each in heard)
        found.append(lost[0] if lost else [PassRate(policy=name, tries=tries, right=passed)])
    return found
