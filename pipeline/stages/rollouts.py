"""Questions answered with a code interpreter, turn by turn, to learn from (Customer-Agent, arXiv 2606.07995, section 3.3)."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import product as cartesian
from random import Random
from typing import Annotated

from pydantic import Field

from shopwright.pipeline.checks import rollouts as check
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.situation import Trace, play_through
from shopwright.pipeline.models.play import Working
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import reject_if_unanswered
from shopwright.pipeline.phrases.bank import PhraseBank
from shopwright.pipeline.phrases.given import Bank, list_bank_files, load_bank
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.rollouts.baselines import (
    SCRIPTED,
    index_splits,
    open_trajectory_sandbox,
    play_reader,
    read_questions_at,
)
from shopwright.pipeline.rollouts.conversation import AnsweredQuestion, ExpertTurns
from shopwright.pipeline.rollouts.rows import make_rollout
from shopwright.pipeline.sandbox.interpreter import Sandbox, require_means
from shopwright.pipeline.stage import Plan, Section, Shard, Views, stage
from shopwright.schemas.questions import Question, Split
from shopwright.schemas.record import Rejected
from shopwright.schemas.rollouts import Rollout
from shopwright.schemas.samples import Trajectory

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


def plan_rollouts(questions: Dataset[Question], split: Split, per_question: int, bank: str = "") -> Plan:
    units = len(questions.once(index_splits)[split])
    if not units:
        raise Lacking(
            f"No question is in the split {split}. Build more: shopwright build questions --count 100, or say --split."
        )
    return Plan(units, files=list_bank_files(bank), rows=units * per_question)


VIEWS = Views(
    place=40,
    forms=("publish.exporters.sft:sft_rollouts",),
    words={"thoughts": "commands.words:read_thoughts"},
    purposes=("text-generation",),
    columns=("question_id", "kind", "answer", "turns", "reward"),
    report=(Section("rollouts", "Rollouts", "publish.report_rollouts:gather_rollout_facts"),),
)


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
        check.nothing_is_used_unseen,
        check.thoughts_are_true,
        check.is_within_turns_and_tokens,
        check.reward_is_earned,
        check.calls_run_again_the_same,
    ],
    across=[ids_are_unique, check.rollouts_differ],
    per_shard=(50, 2_000),
    views=VIEWS,
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
    bank: Bank = "",
) -> Iterator[Rollout | Rejected]:
    """Conversations in which an agent writes code, is told what it printed, and answers: by a scripted teacher or a model."""
    spoken = load_bank(plan.files, "rollouts")
    if agent.asks:
        require_means()
    sandbox = trajectories.once(open_trajectory_sandbox)
    chosen = questions.once(index_splits)[split]
    numbers = [chosen[place] for place in shard.of(plan.units)]
    asked = list(cartesian(read_questions_at(questions, numbers), range(per_question)))
    policy = agent.spec.name if agent.asks else SCRIPTED
    conversations = (
        reject_if_unanswered(
            make_rollout_id(question, number),
            {"question_id": question.id, "policy": policy},
            start_rollout(
                question,
                number,
                sandbox,
                policy,
                partial(shard.random, "rollouts", question.id, number),
                mistakes,
                spoken and spoken.phrases,
            ),
        )
        for question, number in asked
    )
    for (question, number), played in zip(asked, agent.play(conversations), strict=True):
        id = make_rollout_id(question, number)
        if isinstance(played, Rejected):
            yield played
        else:
            yield keep_or_reject_rollout(id, played, mistakes) if agent.asks else make_rollout(id, played)


def make_rollout_id(question: Question, number: int) -> str:
    return f"{question.id}-r{number + 1}"


def start_rollout(
    question: Question,
    number: int,
    sandbox: Sandbox,
    policy: str,
    dice: "partial[Random]",
    mistakes: float,
    bank: PhraseBank | None,
) -> Working[Trace[AnsweredQuestion]]:
    def solve(episode: AnsweredQuestion) -> ExpertTurns:
        return play_reader(episode, dice("teacher"), mistake=dice("mistake").random() < mistakes, bank=bank)

    episode = AnsweredQuestion(question, sandbox, try_number=number)
    return play_through(episode, solve if policy == SCRIPTED else None, policy)


def keep_or_reject_rollout(id: str, trace: Trace[AnsweredQuestion], mistakes: float) -> Rollout | Rejected:
    """A model's rollout, or why there is none: what it said is kept, and where it can be asked for again."""
    played, row = trace.episode, make_rollout(id, trace)
    reason = trace.score.fault and "no answer: " + trace.score.fault
    if not reason and not trace.score.success:
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
