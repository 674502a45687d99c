"""Conversations that were played, as rows."""

from collections.abc import Sequence

from shopwright.pipeline.evaluate.situation import Trace
from shopwright.pipeline.rollouts.conversation import AnsweredQuestion, join_turn_spans
from shopwright.pipeline.rollouts.expert_output import parse_error_name
from shopwright.pipeline.tokens import estimate
from shopwright.schemas.rollouts import CodeCall, Rollout


def make_rollout(id: str, trace: Trace[AnsweredQuestion]) -> Rollout:
    """As it is: what is wrong with it, the checks say."""
    played = trace.episode
    question = played.question
    text, spans = join_turn_spans(played.messages)
    return Rollout(
        id=id,
        question_id=question.id,
        trajectory_id=question.trajectory_id,
        budget=question.budget,
        kind=question.kind,
        difficulty=question.difficulty,
        split=question.split,
        policy=trace.policy,
        mistake=find_first_error(played.calls),
        messages=played.messages,
        text=text,
        spans=spans,
        calls=played.calls,
        answer=played.said or "",
        turns=played.turns,
        executed=played.executed,
        reward=trace.score.parts["reward"],
        prompt_tokens=sum(estimate(each.content) for each in played.messages[:2]),
        tokens=estimate(text),
    )


def find_first_error(calls: Sequence[CodeCall]) -> str:
    """The first error among the calls, by its name; empty where all succeeded.

    >>> find_first_error([CodeCall(code="x", output="Traceback ...\\nNameError: name 'x' is not defined", ok=False)])
    'NameError'
    """
    failed = next((call for call in calls if not call.ok), None)
    if failed is None:
        return ""
    return parse_error_name(failed.output) or "stopped"
