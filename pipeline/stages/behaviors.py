"""Customers' sessions page by page, with what was done on each page and why (Shop-R1, arXiv 2507.17842)."""

import json
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field

from pipeline.behaviors import wording
from pipeline.behaviors.logs import Logs
from pipeline.behaviors.rows import behavior
from pipeline.behaviors.sessions import Cut
from pipeline.behaviors.sessions import sessions as sessions_of
from pipeline.behaviors.walk import Lost, Move, Walk, day_of, start
from pipeline.checks import behaviors as check
from pipeline.checks.nearby import Nearby
from pipeline.checks.shopping import shop_of
from pipeline.checks.unique import ids_are_unique, repeated
from pipeline.dataset import Dataset
from pipeline.models.base import Prompt, Reply
from pipeline.models.play import Conversation
from pipeline.models.role import Role
from pipeline.models.written import Wrong, as_json, refused, schema_of, written
from pipeline.problem import Problem
from pipeline.prompts import messages
from pipeline.render import pages
from pipeline.shop.stock import Stock
from pipeline.stage import Fault, Plan, Shard, stage
from schemas.behaviors import Behavior, Outcome
from schemas.record import Rejected
from schemas.samples import Trajectory
from schemas.shop import Order, Persona, Product, Variant

Sessions = Annotated[int, Field(description="sessions, shared evenly among the customers", ge=1, le=100_000_000)]
CutBy = Annotated[Cut, Field(description="a session is one errand, or all of a visit: what lies within 30 minutes")]
WrittenBy = Annotated[
    Literal["code", "model"], Field(description="who phrases the rationales; what they say is code's either way")
]
FEWER = "a session more than its customer has"


def plan_behaviors(trajectories: Dataset[Trajectory], sessions: int) -> Plan:
    if not trajectories.once(Logs).largest:
        raise Problem("There are no trajectories, so nobody has been to the shop. Look at why they were rejected.")
    return Plan(sessions, rows=sessions)


def sessions_differ(behaviors: Dataset[Behavior]) -> list[Fault]:
    return repeated(behaviors, "trajectory_id || '/' || rows[1]", "the same events twice")


@stage(
    makes=Behavior,
    plan=plan_behaviors,
    checks=[
        check.events_are_the_logs,
        check.pages_follow_from_actions,
        check.actions_are_on_their_page,
        check.names_are_unique,
        check.typed_text_is_the_intents,
        check.rationales_tell_what_was_seen,
        check.ends_at_its_end,
        check.customer_is_the_personas,
        check.tokens_are_counted,
    ],
    across=[ids_are_unique, sessions_differ, check.splits_share_no_customer],
    per_shard=(100, 2_000),
)
def behaviors(
    trajectories: Dataset[Trajectory],
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    orders: Dataset[Order],
    shard: Shard,
    plan: Plan,
    writer: Role,
    *,
    sessions: Sessions = 1_000,
    cut: CutBy = "errand",
    written_by: WrittenBy = "code",
) -> Iterator[Behavior | Rejected]:
    """Sessions page by page: the page as simplified HTML, what the customer did there, and why, in its own words."""
    rows = walks(trajectories, catalog, personas, shard, shard.of(plan.units), sessions, cut)
    if written_by == "code":
        yield from (row if isinstance(row, Rejected) else behavior_of(row) for row in rows)
    else:
        yield from writer.play(phrased(row) for row in rows)


class Walked(NamedTuple):
    """A session walked to its end."""

    id: str
    trajectory: str
    walk: Walk
    outcome: Outcome


def walks(
    trajectories: Dataset[Trajectory],
    catalog: Dataset[Product],
    personas: Dataset[Persona],
    shard: Shard,
    wanted: range,
    total: int,
    cut: Cut,
) -> Iterator[Walked | Rejected]:
    """Customer c has the rows from `total * c // customers` on: sessions that are drawn for it, in the order of time."""
    logs, shop, stock = trajectories.once(Logs), catalog.once(shop_of), catalog.once(Stock)
    people = personas.once(Nearby)
    for customer, (trajectory, person) in enumerate(logs.largest):
        first, last = (total * each // len(logs.largest) for each in (customer, customer + 1))
        mine = range(max(first, wanted.start), min(last, wanted.stop))
        if not mine:
            continue
        found = sessions_of(logs.of(trajectory, shop.store), cut)
        numbers = shard.random("behaviors", trajectory).sample(range(len(found)), min(len(found), last - first))
        drawn = [found[number] for number in sorted(numbers)]
        for row in mine:
            name = f"behavior-{trajectory.removeprefix('persona-')}-{row - first:04d}"
            session = drawn[row - first] if row - first < len(drawn) else None
            facts = {"persona_id": person, "trajectory_id": trajectory, "sessions": len(found), "wanted": last - first}
            if session is None:
                yield Rejected(id=name, reasons=[FEWER], record=json.dumps(facts))
                continue
            dice = shard.random("behaviors", trajectory, session.acts[0].row)
            walk = start(session, shop, people[person], day_of(session, shop.store, stock), dice)
            try:
                yield Walked(name, trajectory, walk, walk.go())
            except Lost as lost:
                rows = {"rows": [act.row for act in session.acts]}
                yield Rejected(id=name, reasons=[f"no way through the pages: {lost}"], record=json.dumps(facts | rows))


def behavior_of(walked: Walked) -> Behavior:
    """The row with what code says."""
    said = [wording.rationale(move.reason, move.facts, walked.walk.random) for move in walked.walk.moves]
    return behavior(walked.id, walked.trajectory, walked.walk, walked.outcome, said, "code")


class Told(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    rationales: list[str]


def phrased(walked: Walked | Rejected) -> Conversation[Behavior | Rejected]:
    """The row with what a model says, held against what code knows."""
    if isinstance(walked, Rejected):
        return walked
    plain, moves = behavior_of(walked), walked.walk.moves
    steps = [
        {"page": move.page.kind, "does": doing(move), "reason": move.reason, "facts": facts_told(move)}
        for move in moves
    ]
    facts = {"shopper": plain.persona, "came_for": plain.intent, "steps": steps}
    prompt = Prompt(
        "behaviors",
        tuple(messages("behaviors", **facts)),
        json.dumps({"rationales": [step.rationale for step in plain.steps]}),
        schema_of(Told),
        seed=crc32(plain.id.encode()),
    )

    def read(reply: Reply) -> Behavior:
        said = as_json(reply, Told).rationales
        if len(said) != len(moves):
            raise Wrong(f"There are {len(moves)} steps, so write {len(moves)} rationales.")
        wrong = [
            f"step {number}: {fault}"
            for number, (text, move) in enumerate(zip(said, moves, strict=True), 1)
            if (fault := wording.model_fault(text, move.facts, move.action.get("name", "")))
        ]
        if wrong:
            raise Wrong("; ".join(wrong) + ".")
        told = [(text, wording.said_in(text, move.facts)) for text, move in zip(said, moves, strict=True)]
        return behavior(walked.id, walked.trajectory, walked.walk, walked.outcome, told, "model")

    found = yield from written(prompt, read)
    return found if isinstance(found, Behavior) else refused(walked.id, "rationales", facts, found)


def facts_told(move: Move) -> dict[str, str]:
    return {name: move.facts[name] for name in wording.NAMED if move.facts[name]}


def doing(move: Move) -> str:
    """What is done, in words.

    >>> from pipeline.behaviors.reasons import Facts
    >>> from pipeline.render import pages
    >>> doing(Move(pages.home(), {"type": "terminate"}, "gives up", Facts()))
    'leaves the shop'
    """
    if move.action["type"] == "terminate":
        return "leaves the shop"
    if move.action["type"] == "type_and_submit":
        return f"searches for {json.dumps(move.action['text'], ensure_ascii=False)}"
    return pages.names(move.page)[move.action["name"]]
