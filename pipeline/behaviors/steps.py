"""A session's steps one by one: the prompt of each, and which of them are taken so that the actions are mixed as is wished."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from math import isfinite
from typing import Any, Literal, get_args

from shopwright.pipeline.behaviors.rows import count_text_tokens, format_step_answer
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.files import parquet
from shopwright.pipeline.prompts import render_messages
from shopwright.schemas.behaviors import ActionType, Behavior, NextAction
from shopwright.schemas.rollouts import Message

Context = Literal["session", "page"]
CustomerFacts = Literal["nothing", "persona", "intent"]
TYPES: tuple[ActionType, ...] = get_args(ActionType)
# Shares of type_and_submit, click and terminate in Shop-R1's test set, as they follow from its Tables 2 and 3.
PAPER = (36.2, 36.6, 27.2)
# Mostly clicks, as in people's recorded sessions (OPeRA, arXiv 2506.05606); round figures of ours, not counted there.
OPERA = (8.0, 83.0, 9.0)
# Of the subset to learn on by trying (Shop-R1, section 4.1).
RL = (1.1, 1.1, 1.0)
NAMED_MIXES: dict[str, tuple[float, ...] | None] = {"log": None, "paper": PAPER, "opera": OPERA}
# One more than the largest hash of eight bytes.
SCALE = 1 << 64
# Split and type.
Kind = tuple[str, str]


def parse_mix(mix: str) -> tuple[float, ...]:
    """Shares of the three types; empty: all steps. Raises ValueError for what is neither a name nor three shares.

    >>> parse_mix("36:36:27"), parse_mix("log")
    ((36.0, 36.0, 27.0), ())
    """
    if mix in NAMED_MIXES:
        return NAMED_MIXES[mix] or ()
    try:
        found = tuple(float(part) for part in mix.split(":"))
    except ValueError:
        found = ()
    if len(found) != len(TYPES) or not all(map(isfinite, found)) or min(found) < 0 or not any(found):
        raise ValueError(f"{mix} is no mix: {', '.join(NAMED_MIXES)}, or three shares such as 36:36:27")
    return found


@dataclass(frozen=True)
class Cutoffs:
    """Which steps are taken: those whose number, made from their id, is not above that of their kind."""

    rows: int
    counts: Mapping[Kind, int]
    """Of each split and type, how many are taken."""
    taken: Mapping[ActionType, int]
    rl: Mapping[ActionType, int]


def hash_step(behavior: str, step: int) -> int:
    """Spread evenly from 0 to SCALE."""
    return int.from_bytes(blake2b(f"{behavior}/{step}".encode(), digest_size=8).digest(), "big")


# Split, type and number of each step.
StepTypes = list[tuple[str, ActionType, int]]


def list_step_types(behaviors: Dataset[Behavior]) -> StepTypes:
    """For `behaviors.once`; reads only the actions."""
    found: StepTypes = []
    for path in behaviors.files:
        for batch in parquet(path).iter_batches(columns=["id", "split", "steps.list.element.action"]):
            for row in batch.to_pylist():
                for place in places_to_predict(row["steps"]):
                    kind = parse_action_type(row["steps"][place]["action"])
                    found.append((row["split"], kind, hash_step(row["id"], place)))
    return found


def places_to_predict(steps: Sequence[Any]) -> range:
    """The places of a session's steps that are to be predicted: all but the first move, before which nothing was seen (Shop-R1).

    >>> list(places_to_predict(["search", "click", "terminate"]))
    [1, 2]
    """
    return range(1, len(steps))


def parse_action_type(action: str) -> ActionType:
    """
    >>> parse_action_type('{"type": "click", "name": "cart.buy_now"}')
    'click'
    """
    return next(kind for kind in TYPES if action.startswith(f'{{"type": "{kind}"'))


def compute_cutoffs(steps: StepTypes, shares: Sequence[float]) -> Cutoffs:
    """As many steps as the rarest type allows, by its share; and of those for training as many as RL's shares allow."""
    numbers: dict[ActionType, list[tuple[int, str]]] = defaultdict(list)
    for split, kind, number in steps:
        numbers[kind].append((number, split))
    ordered = {kind: sorted(numbers[kind]) for kind in TYPES}
    sizes = scale_to_shares({kind: len(ordered[kind]) for kind in TYPES}, shares)
    kept = {kind: ordered[kind][: sizes[kind]] for kind in TYPES}
    train: dict[ActionType, list[int]] = {}
    counts: Counter[Kind] = Counter()
    for kind in TYPES:
        train[kind] = [number for number, split in kept[kind] if split == "train"]
        counts.update((split, kind) for _, split in kept[kind])
    rl = scale_to_shares({kind: len(train[kind]) for kind in TYPES}, RL)
    return Cutoffs(
        rows=sum(sizes.values()),
        counts=counts,
        taken={kind: kept[kind][-1][0] if kept[kind] else -1 for kind in TYPES},
        rl={kind: train[kind][rl[kind] - 1] if rl[kind] else -1 for kind in TYPES},
    )


def scale_to_shares(have: Mapping[ActionType, int], shares: Sequence[float]) -> dict[ActionType, int]:
    """How many of each are taken.

    >>> scale_to_shares({"type_and_submit": 50, "click": 90, "terminate": 20}, (1.1, 1.1, 1))
    {'type_and_submit': 22, 'click': 22, 'terminate': 20}
    """
    if not shares:
        return dict(have)
    of = dict(zip(TYPES, shares, strict=True))
    scale = min(have[kind] / share for kind, share in of.items() if share)
    return {kind: min(have[kind], round(scale * share)) for kind, share in of.items()}


def is_step_selected(found: Cutoffs, behavior: str, step: int, split: str, kind: ActionType) -> tuple[bool, bool]:
    """Whether a step is taken, and for RL too."""
    number = hash_step(behavior, step)
    kept = number <= found.taken[kind]
    return kept, kept and split == "train" and number <= found.rl[kind]


# Prompts


def build_step_prompt(behavior: Behavior, place: int, context: Context, known: CustomerFacts) -> list[Message]:
    """What a model sees before the step at this place, from 1.

    known: what it learns of the customer. The first move stands in the first message, because no model is asked to predict it.
    """
    step, before = behavior.steps[place], behavior.steps[:place]
    html = step.html
    if context != "page":
        opening, then = behavior.steps[:2]
        html = "\n".join([opening.html.strip(), format_step_answer(opening), then.html.strip()])
    facts: dict[str, Any] = {
        "context": context,
        "persona": behavior.persona if known != "nothing" else "",
        "intent": behavior.intent if known == "intent" else "",
        "done": [format_step_answer(each) for each in before],
        "html": html,
    }
    system, first = (Message.model_validate(each) for each in render_messages("behavior_steps", **facts))
    if context == "page":
        return [system, first]
    turns = [first]
    for each, after in pairwise(behavior.steps[1 : place + 1]):
        turns += [
            Message(role="assistant", content=format_step_answer(each)),
            Message(role="user", content=after.html.strip()),
        ]
    return [system, *turns]


def count_message_tokens(prompt: Sequence[Message]) -> int:
    return sum(count_text_tokens(each.content) for each in prompt)


def build_next_action(
    behavior: Behavior, place: int, context: Context, known: CustomerFacts, *, in_rl: bool
) -> NextAction:
    """The row of one step."""
    step = behavior.steps[place]
    prompts = {name: build_step_prompt(behavior, place, name, known) for name in get_args(Context)}
    return NextAction(
        id=f"{behavior.id}-{place:03d}",
        behavior_id=behavior.id,
        persona_id=behavior.persona_id,
        step=place,
        prompt=prompts[context],
        action=step.action,
        rationale=step.rationale,
        action_type=parse_action_type(step.action),
        session_tokens=count_message_tokens(prompts["session"]),
        page_tokens=count_message_tokens(prompts["page"]),
        in_rl=in_rl,
        split=behavior.split,
    )


def build_session_messages(behavior: Behavior, known: CustomerFacts = "nothing") -> list[Message]:
    """A session of two steps or more as one conversation, to train on: each page, and what was answered to it, from the second on."""
    last = len(behavior.steps) - 1
    return [
        *build_step_prompt(behavior, last, "session", known),
        Message(role="assistant", content=format_step_answer(behavior.steps[last])),
    ]
