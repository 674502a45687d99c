"""Conversations that were played, as rows."""

import re
from collections.abc import Sequence

from pipeline.rewards.tool_use import reward
from pipeline.rollouts.conversation import Played, spans_of
from pipeline.tokens import estimate
from schemas.rollouts import CodeCall, Rollout

ERROR = re.compile(r"^(?:\w+\.)*(\w+)(?::|$)")


def rollout(id: str, played: Played) -> Rollout:
    """As it is: what is wrong with it, the checks say."""
    question = played.question
    text, spans = spans_of(played.messages)
    return Rollout(
        id=id,
        question_id=question.id,
        trajectory_id=question.trajectory_id,
        budget=question.budget,
        kind=question.kind,
        difficulty=question.difficulty,
        split=question.split,
        policy=played.policy,
        mistake=mistake_of(played.calls),
        messages=played.messages,
        text=text,
        spans=spans,
        calls=played.calls,
        answer=played.said or "",
        turns=played.turns,
        executed=played.executed,
        reward=reward(played.said, question.answer, question.answer_type, played.executed),
        prompt_tokens=sum(estimate(each.content) for each in played.messages[:2]),
        tokens=estimate(text),
    )


def mistake_of(calls: Sequence[CodeCall]) -> str:
    """The first error among the calls, by its name; empty where all succeeded.

    >>> mistake_of([CodeCall(code="x", output="Traceback ...\\nNameError: name 'x' is not defined", ok=False)])
    'NameError'
    """
    failed = next((call for call in calls if not call.ok), None)
    if failed is None:
        return ""
    names = [found[1] for line in failed.output.splitlines() if (found := ERROR.match(line))]
    return names[-1] if names else "stopped"
