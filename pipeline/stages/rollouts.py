"""Questions answered with a code interpreter, turn by turn, to learn from (Customer-Agent, arXiv 2606.07995, section 3.3)."""

import json
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Annotated

from pydantic import Field

from pipeline.checks import rollouts as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.models.play import Working
from pipeline.models.role import Role
from pipeline.problem import Problem
from pipeline.rewards.matching import right
from pipeline.rollouts.conversation import Played, conversation
from pipeline.rollouts.policies import SCRIPTED, numbers_of, rows_of, sandboxed
from pipeline.rollouts.rows import rollout
from pipeline.rollouts.teacher import teacher
from pipeline.sandbox.interpreter import Sandbox
from pipeline.stage import Plan, Shard, stage
from schemas.questions import Question, Split
from schemas.record import Rejected
from schemas.rollouts import Rollout
from schemas.samples import Trajectory

SplitName = Annotated[Split, Field(description="of which split the questions are: sft, rl or test")]
PerQuestion = Annotated[int, Field(description="rollouts for each question", ge=1, le=64)]
Mistakes = Annotated[
    float,
    Field(
        description="share of rollouts in which a call fails and is mended; a model's own are kept if above 0",
        ge=0,
        le=1,
    ),
]


def plan_rollouts(questions: Dataset[Question], split: Split, per_question: int) -> Plan:
    units = len(questions.once(numbers_of)[split])
    if not units:
        raise Problem(
            f"No question is in the split {split}. Build more: shopwright build questions --count 100, or say --split."
        )
    return Plan(units, rows=units * per_question)


@stage(
    makes=Rollout,
    plan=plan_rollouts,
    checks=[
        check.question_is_there,
        check.prompt_is_the_agents,
        check.messages_and_calls_agree,
        check.spans_cover_the_text,
        check.only_the_interpreter_says_what_came_back,
        check.every_call_succeeded,
        check.every_block_loads_again,
        check.answer_is_right,
        check.answer_was_seen,
        check.first_turn_gives_nothing_away,
        check.is_within_turns_and_tokens,
        check.reward_is_earned,
        check.calls_run_again_the_same,
    ],
    across=[ids_are_unique, check.rollouts_differ],
    per_shard=(50, 2_000),
)
def rollouts(
    questions: Dataset[Question],
    trajectories: Dataset[Trajectory],
    shard: Shard,
    plan: Plan,
    agent: Role,
    *,
    split: SplitName = "sft",
    per_question: PerQuestion = 1,
    mistakes: Mistakes = 0.0,
) -> Iterator[Rollout | Rejected]:
    """Conversations in which an agent writes code, is told what it printed, and answers: by a scripted teacher or a model."""
    sandbox = trajectories.once(sandboxed)
    chosen = questions.once(numbers_of)[split]
    numbers = [chosen[place] for place in shard.of(plan.units)]
    asked = [(question, number) for question in rows_of(questions, numbers) for number in range(per_question)]
    policy = agent.spec.name if agent.asks else SCRIPTED
    conversations = (
        begun(question, number, sandbox, policy, partial(shard.random, "rollouts", question.id, number), mistakes)
        for question, number in asked
    )
    for (question, number), played in zip(asked, agent.play(conversations), strict=True):
        id = f"{question.id}-r{number + 1}"
        yield why_not(id, played, mistakes) if agent.asks else rollout(id, played)


def begun(
    question: Question, number: int, sandbox: Sandbox, policy: str, dice: "partial[Random]", mistakes: float
) -> Working[Played]:
    if policy != SCRIPTED:
        return conversation(question, sandbox, policy, seed=number)
    says = teacher(question, dice("teacher"), mistake=dice("mistake").random() < mistakes)
    return conversation(question, sandbox, policy, teacher=says)


def why_not(id: str, played: Played, mistakes: float) -> Rollout | Rejected:
    """A model's rollout, or why there is none: what it said is kept, and where it can be asked for again."""
    question, row = played.question, rollout(id, played)
    reason = played.fault and "no answer: " + played.fault
    if not reason and not right(played.said, question.answer, question.answer_type):
        reason = "a wrong answer"
    if not reason and row.mistake and not mistakes:
        reason = f"a call that failed: {row.mistake}"
    if not reason:
        return row
    said = [message.content for message in played.messages if message.role == "assistant"]
    tries = [{"reply": reply, "key": key} for reply, key in zip(said, played.keys, strict=False)]
    return Rejected(
        id=id, reasons=[reason], record=json.dumps({**row.model_dump(mode="json"), "tries": tries}, ensure_ascii=False)
    )
