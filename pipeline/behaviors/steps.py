"""A session's steps one by one: the prompt of each, and which of them are taken so that the actions are mixed as is wished."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import isfinite
from typing import Any, Literal, get_args

from pipeline.behaviors.rows import answer, size
from pipeline.dataset import Dataset
from pipeline.files import parquet
from pipeline.prompts import messages
from schemas.behaviors import ActionType, Behavior, NextAction
from schemas.rollouts import Message

Context = Literal["session", "page"]
Told = Literal["nothing", "persona", "intent"]
TYPES: tuple[ActionType, ...] = get_args(ActionType)
PAPER = (36.2, 36.6, 27.2)
"""Shares of type_and_submit, click and terminate in Shop-R1's test set, as they follow from its Tables 2 and 3."""
OPERA = (8.0, 83.0, 9.0)
"""Mostly clicks, as in people's recorded sessions (OPeRA, arXiv 2506.05606); round figures of ours, not counted there."""
RL = (1.1, 1.1, 1.0)
"""Of the subset to learn on by trying (Shop-R1, section 4.1)."""
NAMED: dict[str, tuple[float, ...] | None] = {"log": None, "paper": PAPER, "opera": OPERA}
SCALE = 1 << 64
Kind = tuple[str, str]
"""Split and type."""


def weights(mix: str) -> tuple[float, ...]:
    """Shares of the three types; empty: all steps. Raises ValueError for what is neither a name nor three shares.

    >>> weights("36:36:27"), weights("log")
    ((36.0, 36.0, 27.0), ())
    """
    if mix in NAMED:
        return NAMED[mix] or ()
    try:
        found = tuple(float(part) for part in mix.split(":"))
    except ValueError:
        found = ()
    if len(found) != len(TYPES) or not all(map(isfinite, found)) or min(found) < 0 or not any(found):
        raise ValueError(f"{mix} is no mix: {', '.join(NAMED)}, or three shares such as 36:36:27")
    return found


@dataclass(frozen=True)
class Cutoffs:
    """Which steps are taken: those whose number, made from their id, is not above that of their kind."""

    rows: int
    counts: Mapping[Kind, int]
    """Of each split and type, how many are taken."""
    taken: Mapping[ActionType, int]
    rl: Mapping[ActionType, int]


def number_of(behavior: str, step: int) -> int:
    """Spread evenly from 0 to SCALE."""
    return int.from_bytes(blake2b(f"{behavior}/{step}".encode(), digest_size=8).digest(), "big")


Counted = list[tuple[str, ActionType, int]]
"""Split, type and number of each step."""


def counted(behaviors: Dataset[Behavior]) -> Counted:
    """For `behaviors.once`; reads only the actions."""
    found: Counted = []
    for path in behaviors.files:
        for batch in parquet(path).iter_batches(columns=["id", "split", "steps.list.element.action"]):
            for row in batch.to_pylist():
                for place, step in enumerate(row["steps"]):
                    found.append((row["split"], kind_of(step["action"]), number_of(row["id"], place)))
    return found


def kind_of(action: str) -> ActionType:
    """
    >>> kind_of('{"type": "click", "name": "cart.buy_now"}')
    'click'
    """
    return next(kind for kind in TYPES if action.startswith(f'{{"type": "{kind}"'))


def cutoffs(steps: Counted, shares: Sequence[float]) -> Cutoffs:
    """As many steps as the rarest type allows, by its share; and of those for training as many as RL's shares allow."""
    numbers: dict[ActionType, list[tuple[int, str]]] = defaultdict(list)
    for split, kind, number in steps:
        numbers[kind].append((number, split))
    ordered = {kind: sorted(numbers[kind]) for kind in TYPES}
    sizes = shared({kind: len(ordered[kind]) for kind in TYPES}, shares)
    kept = {kind: ordered[kind][: sizes[kind]] for kind in TYPES}
    train = {kind: [number for number, split in kept[kind] if split == "train"] for kind in TYPES}
    rl = shared({kind: len(train[kind]) for kind in TYPES}, RL)
    return Cutoffs(
        rows=sum(sizes.values()),
        counts=Counter((split, kind) for kind in TYPES for _, split in kept[kind]),
        taken={kind: kept[kind][-1][0] if kept[kind] else -1 for kind in TYPES},
        rl={kind: train[kind][rl[kind] - 1] if rl[kind] else -1 for kind in TYPES},
    )


def shared(have: Mapping[ActionType, int], shares: Sequence[float]) -> dict[ActionType, int]:
    """How many of each are taken.

    >>> shared({"type_and_submit": 50, "click": 90, "terminate": 20}, (1.1, 1.1, 1))
    {'type_and_submit': 22, 'click': 22, 'terminate': 20}
    """
    if not shares:
        return dict(have)
    of = dict(zip(TYPES, shares, strict=True))
    scale = min(have[kind] / share for kind, share in of.items() if share)
    return {kind: min(have[kind], round(scale * share)) for kind, share in of.items()}


def chosen(found: Cutoffs, behavior: str, step: int, split: str, kind: ActionType) -> tuple[bool, bool]:
    """Whether a step is taken, and for RL too."""
    number = number_of(behavior, step)
    kept = number <= found.taken[kind]
    return kept, kept and split == "train" and number <= found.rl[kind]


# Prompts


def prompt_of(behavior: Behavior, place: int, context: Context, told: Told) -> list[Message]:
    """What a model is told before the step at this place."""
    step, before = behavior.steps[place], behavior.steps[:place]
    facts: dict[str, Any] = {
        "context": context,
        "persona": behavior.persona if told != "nothing" else "",
        "intent": behavior.intent if told == "intent" else "",
        "done": [answer(each) for each in before],
        "html": behavior.steps[0].html if context == "session" else step.html,
    }
    system, first = (Message.model_validate(each) for each in messages("behavior_steps", **facts))
    if context == "page":
        return [system, first]
    told_so_far = [first]
    for each, after in zip(before, behavior.steps[1 : place + 1], strict=True):
        told_so_far += [
            Message(role="assistant", content=answer(each)),
            Message(role="user", content=after.html.strip()),
        ]
    return [system, *told_so_far]


def tokens_in(prompt: Sequence[Message]) -> int:
    return sum(size(each.content) for each in prompt)


def next_action(behavior: Behavior, place: int, context: Context, told: Told, *, in_rl: bool) -> NextAction:
    """The row of one step."""
    step = behavior.steps[place]
    prompts = {name: prompt_of(behavior, place, name, told) for name in get_args(Context)}
    return NextAction(
        id=f"{behavior.id}-{place:03d}",
        behavior_id=behavior.id,
        persona_id=behavior.persona_id,
        step=place,
        prompt=prompts[context],
        action=step.action,
        rationale=step.rationale,
        action_type=kind_of(step.action),
        session_tokens=tokens_in(prompts["session"]),
        page_tokens=tokens_in(prompts["page"]),
        in_rl=in_rl,
        split=behavior.split,
    )


def whole(behavior: Behavior, told: Told = "nothing") -> list[Message]:
    """A session as one conversation, to train on: each page, and what was answered to it."""
    last = len(behavior.steps) - 1
    return [
        *prompt_of(behavior, last, "session", told),
        Message(role="assistant", content=answer(behavior.steps[last])),
    ]
