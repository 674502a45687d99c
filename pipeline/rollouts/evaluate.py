"""An agent on a run's questions, with code or with the whole trajectory in the prompt (arXiv 2606.07995, section 4).

A try is a conversation with somebody who cannot be trusted: whatever a model says, the others go on.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from time import monotonic
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.budgets import name_of, tokens_of
from pipeline.dataset import Dataset
from pipeline.models.base import Sampling
from pipeline.models.play import Working, played
from pipeline.models.role import Role
from pipeline.models.scripted import Scripted
from pipeline.problem import Problem
from pipeline.questions.engines import Shelf
from pipeline.rewards.matching import LONGEST, right
from pipeline.rewards.tool_use import earned
from pipeline.rollouts.conversation import RESPONSE_TOKENS, Played, conversation, reading
from pipeline.rollouts.policies import SCRIPTED, Policy, policy_of
from pipeline.rollouts.scores import Mode, hashed, in_order
from pipeline.sandbox.block import Limits
from pipeline.sandbox.interpreter import Sandbox
from schemas.questions import Question
from schemas.rollouts import Attempt
from schemas.samples import Trajectory

T = TypeVar("T")
DRAWN = Sampling(temperature=1.0, top_p=0.6, max_tokens=RESPONSE_TOKENS)
"""How the paper draws replies for validation."""
AT_ONCE = 8
"""Conversations of a policy at a time: while one block of code runs, the next is written."""
SECONDS = 5.0
"""Between two lines that say how far it is."""


@dataclass(frozen=True)
class Plan:
    """Which questions are asked, and how."""

    modes: tuple[Mode, ...] = ("tool",)
    split: str = "test"
    budgets: tuple[str, ...] = ()
    """All where none is named."""
    limit: int | None = None
    """So many questions, spread over kinds and budgets."""
    tries: int = 1
    """Of each question, each with a seed of its own."""
    strict: bool = False
    """The answer must be the same text."""


def attempts(
    asked: Sequence[Question],
    questions: Dataset[Question],
    trajectories: Dataset[Trajectory],
    agent: Role | str,
    plan: Plan,
    *,
    limits: Limits | None = None,
) -> Iterator[Attempt]:
    """Each try of the agent (a model's role, or the name of a policy), in the order of modes, questions and tries.

    Raises Problem for a policy or trajectory that there is not, and where the machine cannot keep code in; Spent, Away.
    """
    shelf = Shelf(trajectories)
    with Sandbox(shelf.events, limits=limits) as sandbox:
        if isinstance(agent, Role):
            yield from agent.play(by_model(asked, shelf, sandbox, agent.spec.name, plan))
        else:
            policy = policy_of(agent, questions)
            yield from played(by_policy(asked, sandbox, agent, policy, plan), Scripted, at_once=AT_ONCE)


def by_model(
    asked: Sequence[Question], shelf: Shelf, sandbox: Sandbox, name: str, plan: Plan
) -> Iterator[Working[Attempt]]:
    text = lru_cache(maxsize=4)(shelf.text)
    for mode, question, number in product(plan.modes, asked, range(plan.tries)):
        if mode == "tool":
            begun = conversation(question, sandbox, name, seed=number)
        else:
            begun = reading(question, text(question.trajectory_id), name, seed=number)
        yield tried(begun, mode, number, plan)


def by_policy(
    asked: Sequence[Question], sandbox: Sandbox, name: str, policy: Policy, plan: Plan
) -> Iterator[Working[Attempt]]:
    for mode, question, number in product(plan.modes, asked, range(plan.tries)):
        teacher = policy(question, number)
        if mode == "tool":
            begun = conversation(question, sandbox, name, teacher=teacher)
        else:  # who knows nothing of the trajectory need not have it read out
            begun = reading(question, "", name, offline=next(teacher))
        yield tried(begun, mode, number, plan)


def modes_of(mode: str, agent: Role | str) -> tuple[Mode, ...]:
    """Raises Problem for the scripted policy without tools: it can only write code.

    >>> modes_of("both", "random"), modes_of("both", "scripted")
    (('text', 'tool'), ('tool',))
    """
    if agent == SCRIPTED and mode == "text":
        raise Problem(
            "The scripted agent answers with code only. Say --mode tool, or --agent random, majority or a model."
        )
    if mode == "both" and agent != SCRIPTED:
        return "text", "tool"
    return ("text",) if mode == "text" else ("tool",)


def budgets_of(text: str | None) -> tuple[str, ...]:
    """Raises Problem for what is no number of tokens.

    >>> budgets_of("64k,32000")
    ('32k', '64k')
    """
    try:
        return tuple(name_of(size) for size in sorted({tokens_of(each) for each in text.split(",")})) if text else ()
    except ValueError as error:
        raise Problem(f"--budgets: {error}.") from None


# Which questions


def chosen(questions: Dataset[Question], plan: Plan) -> list[Question]:
    """The questions of the split in their order. Raises Problem where there are none of what is wanted."""
    try:
        found = list(of_split(questions, plan.split))
    except ValidationError:
        raise Problem(
            "These questions are of another version. Build them again: shopwright build questions --rebuild"
        ) from None
    there = in_order({each.budget for each in found})
    if not there:
        raise Problem(f"There are no questions of the split {plan.split} here.")
    if missing := [budget for budget in plan.budgets if budget not in there]:
        raise Problem(f"The split {plan.split} has no questions of {missing[0]}. It has: {', '.join(there)}.")
    found = [each for each in found if each.budget in (plan.budgets or there)]
    return found if plan.limit is None else spread(found, plan.limit)


def of_split(questions: Dataset[Question], split: str) -> Iterator[Question]:
    import pyarrow.compute as pc

    for batch in questions.batches():
        for row in batch.filter(pc.equal(batch["split"], split)).to_pylist():
            yield Question.model_validate(row)


def spread(found: Sequence[Question], most: int) -> list[Question]:
    """So many of them, from each kind and budget alike, in their order; a larger number holds the smaller one's."""
    queues: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for each in sorted(found, key=lambda each: hashed(each.id)):
        queues[each.kind, each.budget].append(each)
    kinds, there = sorted({kind for kind, _ in queues}), in_order({budget for _, budget in queues})

    def turn(cell: tuple[str, str]) -> tuple[int, int]:
        """Each kind once, with the budgets in turn, before any kind comes again."""
        kind, budget = kinds.index(cell[0]), there.index(cell[1])
        return (budget - kind) % len(there), kind

    places = ((number, turn(cell), each.id) for cell, queue in queues.items() for number, each in enumerate(queue))
    taken = {id for _, _, id in sorted(places)[:most]}
    return [each for each in found if each.id in taken]


# One try


def tried(begun: Working[Played], mode: Mode, number: int, plan: Plan) -> Generator[Any, Any, Attempt]:
    """The conversation, of which only the row is kept: a prompt can hold a million tokens."""
    return attempt((yield from begun), mode, number, strict=plan.strict)


def attempt(played: Played, mode: Mode, number: int, *, strict: bool = False) -> Attempt:
    question = played.question
    correct = right(played.said, question.answer, question.answer_type, strict=strict)
    return Attempt(
        id=f"{question.id}-{played.policy}-{mode}-{number}",
        question_id=question.id,
        trajectory_id=question.trajectory_id,
        budget=question.budget,
        kind=question.kind,
        difficulty=question.difficulty,
        position=question.position or "",
        policy=played.policy,
        mode=mode,
        try_number=number,
        said=writable(played.said or "")[: LONGEST + len(question.answer) + 1],  # longer is wrong, and stays so
        answer=question.answer,
        answer_type=question.answer_type,
        right=correct,
        judged="",
        called=played.called,
        executed=played.executed,
        reward=earned(correct, played.executed),
        turns=played.turns,
        prompt_tokens=played.prompt_tokens,
        tokens=played.tokens,
        seconds=round(played.seconds, 4),
        fault=writable(played.fault),
    )


def writable(text: str) -> str:
    """Without halves of characters, which no file can hold.

    >>> writable("a\\ud800b")
    'a?b'
    """
    return text.encode(errors="replace").decode()


@contextmanager
def telling(line: Callable[[], str], say: Callable[[str], None], *, every: float = SECONDS) -> Iterator[None]:
    """Says how far it is every few seconds, whether anything has come or not, and once at the end."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.wait(every):
            say(line())

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield
    finally:
        stopped.set()
        worker.join()
        say(line())


def told(found: Iterable[T], total: int, say: Callable[[str], None], what: str, *, every: float = SECONDS) -> list[T]:
    """All of them, with word of how far it is meanwhile."""
    rows: list[T] = []
    began = monotonic()

    def line() -> str:
        spent = monotonic() - began
        left = f", about {spent / len(rows) * (total - len(rows)):,.0f} s left" if 0 < len(rows) < total else ""
        return f"{what}: {len(rows):,} of {total:,}, {spent:,.0f} s{left}"

    with telling(line, say, every=every):
        for each in found:
            rows.append(each)  # noqa: PERF402 - the line counts them as they come
    return rows
