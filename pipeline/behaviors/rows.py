"""A walked session as a row, and a row as what a model is told and answers."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from itertools import chain
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from shopwright.pipeline.behaviors.rationales import collect_page_words, describe_intent
from shopwright.pipeline.behaviors.session_replay import SessionReplay
from shopwright.pipeline.behaviors.sessions import assign_customer_split
from shopwright.pipeline.tokens import estimates
from shopwright.schemas.behaviors import Behavior, BehaviorStep, Outcome

# What can be clicked or typed into has a name.
NAMED_ELEMENT = re.compile(r'<(\w+) name="([^"]*)">')
TAG = re.compile(r"<[^>]*>")


class PageContent(NamedTuple):
    """What is to be seen on a page, read from its HTML."""

    text: str
    names: tuple[tuple[str, str], ...]
    """Tag and name of each element that can be acted on."""

    words: frozenset[str]
    """Of the text, as `collect_page_words` has them."""


@lru_cache(256)
def parse_page_html(html: str) -> PageContent:
    """
    >>> parse_page_html('<p>Price: $9.00 &amp; up</p><button name="cart.buy_now">Buy Now</button>')[:2]
    ('Price: $9.00 & up Buy Now', (('button', 'cart.buy_now'),))
    """
    text = " ".join(unescape(TAG.sub(" ", html)).split())
    names = tuple((tag, unescape(name)) for tag, name in NAMED_ELEMENT.findall(html))
    return PageContent(text, names, frozenset(collect_page_words(text)))


def build_behavior(
    id: str,
    trajectory: str,
    walk: SessionReplay,
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
        intent=describe_intent(walk.session.errands),
        start=steps[0].at,
        end=steps[-1].at,
        rows=[act.row for act in acts],
        outcome=outcome,
        steps=steps,
        tokens=count_session_tokens(steps),
        split=assign_customer_split(walk.person.id),
        written_by=by,
    )


def count_session_tokens(steps: Sequence[BehaviorStep]) -> int:
    """Of all pages and answers."""
    texts = chain.from_iterable((step.html, format_step_answer(step)) for step in steps)
    return count_tokens_in_texts(list(texts))


def count_tokens_in_texts(texts: Sequence[str]) -> int:
    """Tokens of all these pages and answers: `estimate`, of all of them at once."""
    return int(estimates(pa.array(texts, pa.large_string())).sum())


@lru_cache(4_096)
def count_text_tokens(text: str) -> int:
    """The same of one that stands in every prompt after it."""
    return count_tokens_in_texts([text])


def format_step_answer(step: BehaviorStep) -> str:
    """What a model is to say: one JSON object and nothing around it.

    The action is the row's own text, so that it is the same to the letter wherever it stands.
    """
    return f'{{"rationale": {json.dumps(step.rationale, ensure_ascii=False)}, "action": {step.action}}}'


def parse_step_action(step: BehaviorStep) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(step.action)
    return found
