"""A walked session as a row, and a row as what a model is told and answers."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from pipeline.behaviors import wording
from pipeline.behaviors.sessions import split_of
from pipeline.behaviors.walk import Walk
from pipeline.tokens import estimates
from schemas.behaviors import Behavior, BehaviorStep, Outcome

NAMED = re.compile(r'<(\w+) name="([^"]*)">')
TAG = re.compile(r"<[^>]*>")


class Sight(NamedTuple):
    """What is to be seen on a page, read from its HTML."""

    text: str
    names: tuple[tuple[str, str], ...]
    """Tag and name of each element that can be acted on."""

    words: frozenset[str]
    """Of the text, as `wording.words_seen` has them."""


@lru_cache(256)
def sight(html: str) -> Sight:
    """
    >>> sight('<p>Price: $9.00 &amp; up</p><button name="cart.buy_now">Buy Now</button>')[:2]
    ('Price: $9.00 & up Buy Now', (('button', 'cart.buy_now'),))
    """
    text = " ".join(unescape(TAG.sub(" ", html)).split())
    names = tuple((tag, unescape(name)) for tag, name in NAMED.findall(html))
    return Sight(text, names, frozenset(wording.words_seen(text)))


def behavior(
    id: str,
    trajectory: str,
    walk: Walk,
    outcome: Outcome,
    rationales: Sequence[tuple[str, list[str]]],
    by: Literal["code", "model"],
) -> Behavior:
    """rationales: what is said of each move, and what in it is from the pages."""
    steps = [
        BehaviorStep(
            at=move.at,
            html=move.html,
            action=json.dumps(move.action, ensure_ascii=False),
            rationale=text,
            reason=move.reason,
            said=said,
            row=move.row,
        )
        for move, (text, said) in zip(walk.moves, rationales, strict=True)
    ]
    acts = walk.session.acts
    return Behavior(
        id=id,
        persona_id=walk.person.id,
        trajectory_id=trajectory,
        persona=walk.person.description,
        intent=wording.intent(walk.session.errands),
        start=steps[0].at,
        end=steps[-1].at,
        rows=[act.row for act in acts],
        outcome=outcome,
        steps=steps,
        tokens=tokens_of(steps),
        split=split_of(walk.person.id),
        written_by=by,
    )


def tokens_of(steps: Sequence[BehaviorStep]) -> int:
    """Of all pages and answers."""
    return sizes([text for step in steps for text in (step.html, answer(step))])


def sizes(texts: Sequence[str]) -> int:
    """Tokens of all these pages and answers: `estimate`, of all of them at once."""
    return int(estimates(pa.array(texts, pa.large_string())).sum())


@lru_cache(4_096)
def size(text: str) -> int:
    """The same of one that stands in every prompt after it."""
    return sizes([text])


def answer(step: BehaviorStep) -> str:
    """What a model is to say: one JSON object and nothing around it.

    The action is the row's own text, so that it is the same to the letter wherever it stands.
    """
    return f'{{"rationale": {json.dumps(step.rationale, ensure_ascii=False)}, "action": {step.action}}}'


def action_of(step: BehaviorStep) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(step.action)
    return found
