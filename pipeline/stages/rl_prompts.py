"""Questions to learn on by trying, with what a try is judged by and how often known policies are right (Customer-Agent, section 3.4)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from pipeline.checks import rollouts as check
from pipeline.checks.unique import ids_are_unique, repeated
from pipeline.dataset import Dataset
from pipeline.models.role import Role
from pipeline.problem import Problem
from pipeline.rewards.matching import right
from pipeline.rollouts.conversation import conversation, prompt_of
from pipeline.rollouts.policies import MAJORITY, RANDOM, SCRIPTED, numbers_of, rows_of, sandboxed
from pipeline.stage import Fault, Plan, Shard, stage
from schemas.questions import Question, Split
from schemas.rollouts import PassRate, RlPrompt
from schemas.samples import Trajectory

SplitName = Annotated[Split, Field(description="of which split the questions are: sft, rl or test")]
Tries = Annotated[int, Field(description="how often a model, and the policy that guesses, is tried", ge=1, le=64)]


def plan_rl_prompts(questions: Dataset[Question], split: Split) -> Plan:
    units = len(questions.once(numbers_of)[split])
    if not units:
        raise Problem(f"No question is in the split {split}. Build more of them (--count 100), or say --split.")
    return Plan(units, rows=units)


def questions_differ(rl_prompts: Dataset[RlPrompt]) -> list[Fault]:
    return repeated(rl_prompts, "question_id", "the same question twice")


@stage(
    makes=RlPrompt,
    plan=plan_rl_prompts,
    checks=[check.prompt_asks_its_question, check.pass_rates_are_measured],
    across=[ids_are_unique, questions_differ],
    per_shard=(50, 5_000),
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
) -> Iterator[RlPrompt]:
    """Questions with their truth and no rollout, and how often the teacher, two that guess and the model were right."""
    numbers = questions.once(numbers_of)[split]
    chosen = list(rows_of(questions, [numbers[place] for place in shard.of(plan.units)]))
    measured = model_rates(chosen, trajectories, agent, tries) if agent.asks else [[] for _ in chosen]
    for question, more in zip(chosen, measured, strict=True):
        rates = [
            PassRate(policy=name, tries=count, right=check.tried(question, name, count, questions, trajectories))
            for name, count in ((SCRIPTED, 1), (RANDOM, tries), (MAJORITY, 1))
        ]
        yield RlPrompt(
            id=f"{question.id}-rl",
            question_id=question.id,
            trajectory_id=question.trajectory_id,
            budget=question.budget,
            question=question.question,
            prompt=prompt_of(question),
            ground_truth=question.answer,
            answer_type=question.answer_type,
            kind=question.kind,
            difficulty=question.difficulty,
            split=question.split,
            pass_rates=[*rates, *more],
        )


def model_rates(
    chosen: list[Question], trajectories: Dataset[Trajectory], agent: Role, tries: int
) -> list[list[PassRate]]:
    """How often the model is right about each question, with another seed each time."""
    sandbox, name = trajectories.once(sandboxed), agent.spec.name
    asked = [(question, number) for question in chosen for number in range(tries)]
    played = agent.play(conversation(question, sandbox, name, seed=number) for question, number in asked)
    passed = [
        right(each.said, question.answer, question.answer_type)
        for (question, _), each in zip(asked, played, strict=True)
    ]
    return [
        [PassRate(policy=name, tries=tries, right=sum(passed[place * tries : (place + 1) * tries]))]
        for place in range(len(chosen))
    ]
