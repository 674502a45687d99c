"""Customers' sessions page by page, with what was done on each page and why (Shop-R1, arXiv 2507.17842)."""

import json
from collections.abc import Iterator
from random import Random
from typing import Annotated, Literal, NamedTuple
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.behaviors import rationales
from shopwright.pipeline.behaviors.logs import Logs
from shopwright.pipeline.behaviors.reasons import PageFacts
from shopwright.pipeline.behaviors.rows import build_behavior
from shopwright.pipeline.behaviors.session_replay import Move, ReplayError, SessionReplay, build_visit_day, start_replay
from shopwright.pipeline.behaviors.sessions import SEARCH, Cut, assign_customer_split, cut_sessions
from shopwright.pipeline.behaviors.voices import draw_register
from shopwright.pipeline.checks import behaviors as check
from shopwright.pipeline.checks.record_cache import RecordCache
from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.checks.unique import find_repeated_rows, ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.phrases.bank import PhraseBank
from shopwright.pipeline.phrases.given import Bank, list_bank_files, load_bank
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.render import pages
from shopwright.pipeline.render.pages import sanitize_text
from shopwright.pipeline.stage import Fault, Key, Plan, Section, Shard, Views, stage
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.schemas.behaviors import Behavior, Outcome
from shopwright.schemas.phrases import Register
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order, Persona, Product, Variant

Sessions = Annotated[int, Field(description="sessions, shared evenly among the customers", ge=1, le=100_000_000)]
CutBy = Annotated[Cut, Field(description="a session is one errand, or all of a visit: what lies within 30 minutes")]
WrittenBy = Annotated[
    Literal["code", "model"], Field(description="who phrases the rationales; what they say is code's either way")
]
FEWER = "a session more than its customer has"
SPEECHLESS = "more steps of one kind than there are phrasings of them"


def plan_behaviors(trajectories: Dataset[Trajectory], sessions: int, bank: str = "") -> Plan:
    if not trajectories.once(Logs).largest:
        raise Lacking("There are no trajectories, so nobody has been to the shop. Look at why they were rejected.")
    return Plan(sessions, files=list_bank_files(bank), rows=sessions)


def sessions_differ(behaviors: Dataset[Behavior]) -> list[Fault]:
    return find_repeated_rows(behaviors, "trajectory_id || '/' || rows[1]", "the same events twice")


VIEWS = Views(
    place=80,
    apart={"customer": Key("persona_id"), "session": Key("behavior_id"), "log": Key("trajectory_id")},
    named_by=("behavior_id",),
    command="commands.behaviors",
    words={"rationales": "commands.words:read_rationales"},
    forms=("publish.exporters.sft:sft_behaviors",),
    purposes=("text-generation",),
    columns=("persona_id", "intent", "outcome", "tokens", "split"),
    page="browse.evidence:gather_session_step",
    report=(Section("sessions", "Sessions", "publish.report_behaviors:gather_behavior_facts"),),
)


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
        check.rationales_are_not_contradicted,
        check.words_are_not_repeated,
        check.ends_at_its_end,
        check.customer_is_the_personas,
        check.tokens_are_counted,
    ],
    across=[ids_are_unique, sessions_differ, check.splits_share_no_customer, check.test_says_nothing_of_training],
    per_shard=(100, 2_000),
    views=VIEWS,
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
    bank: Bank = "",
) -> Iterator[Behavior | Rejected]:
    """Sessions in which something is opened, page by page: the page as simplified HTML, what the customer did there, and why, in its own words."""
    spoken = load_bank(plan.files, "behaviors")
    phrases = spoken and spoken.phrases
    rows = replay_drawn_sessions(trajectories, catalog, personas, shard, shard.of(plan.units), sessions, cut)
    if written_by == "code":
        yield from (row if isinstance(row, Rejected) else phrase_by_code(row, phrases) for row in rows)
    else:
        yield from writer.play(phrase_rationales(row, phrases) for row in rows)


class FinishedSession(NamedTuple):
    """A session walked to its end."""

    id: str
    trajectory: str
    walk: SessionReplay
    outcome: Outcome
    register: Register = "plain"
    """How its customer writes."""


def replay_drawn_sessions(
    trajectories: Dataset[Trajectory],
    catalog: Dataset[Product],
    personas: Dataset[Persona],
    shard: Shard,
    wanted: range,
    total: int,
    cut: Cut,
) -> Iterator[FinishedSession | Rejected]:
    """Customer c has the rows from `total * c // customers` on: sessions that are drawn for it, in the order of time."""
    logs, shop, stock = trajectories.once(Logs), catalog.once(shop_of), catalog.once(CatalogColumns)
    people = personas.once(RecordCache)
    for customer, (trajectory, person) in enumerate(logs.largest):
        first, last = (total * each // len(logs.largest) for each in (customer, customer + 1))
        mine = range(max(first, wanted.start), min(last, wanted.stop))
        if not mine:
            continue
        # Who searches, opens nothing and leaves does as many others do: it would stand in two splits.
        sessions = cut_sessions(logs.of(trajectory, shop.store), cut)
        found = [session for session in sessions if {act.kind for act in session.acts} != {SEARCH}]
        numbers = shard.random("behaviors", trajectory).sample(range(len(found)), min(len(found), last - first))
        drawn = [found[number] for number in sorted(numbers)]
        register = draw_register(people[person].age_band, shard.random("behaviors", "voice", person))
        for row in mine:
            name = f"behavior-{trajectory.removeprefix('persona-')}-{row - first:04d}"
            session = drawn[row - first] if row - first < len(drawn) else None
            facts = {"persona_id": person, "trajectory_id": trajectory, "sessions": len(found), "wanted": last - first}
            if session is None:
                yield Rejected(id=name, reasons=[FEWER], record=json.dumps(facts))
                continue
            dice = shard.random("behaviors", trajectory, session.acts[0].row)
            walk = start_replay(session, shop, people[person], build_visit_day(session, shop.store, stock), dice)
            try:
                yield FinishedSession(name, trajectory, walk, walk.go(), register)
            except ReplayError as lost:
                rows = {"rows": [act.row for act in session.acts]}
                yield Rejected(id=name, reasons=[f"no way through the pages: {lost}"], record=json.dumps(facts | rows))


def phrase_by_code(walked: FinishedSession, bank: PhraseBank | None) -> Behavior | Rejected:
    try:
        return build_scripted_behavior(walked, bank)
    except rationales.NothingLeftToSay as lack:
        record = {"trajectory_id": walked.trajectory, "reason": str(lack), "steps": len(walked.walk.moves)}
        return Rejected(id=walked.id, reasons=[SPEECHLESS], record=json.dumps(record))


def build_scripted_behavior(walked: FinishedSession, bank: PhraseBank | None) -> Behavior:
    """The row with what code says. Raises rationales.NothingLeftToSay."""
    walk = walked.walk
    side = assign_customer_split(walk.person.id)
    speaker = rationales.Speaker(walked.register, side, walk.store, walk.random, bank)
    said = [speaker.say(move) for move in walk.moves]
    return build_behavior(walked.id, walked.trajectory, walk, walked.outcome, said, "code")


class Told(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    rationales: list[str]


def phrase_rationales(
    walked: FinishedSession | Rejected, bank: PhraseBank | None = None
) -> Conversation[Behavior | Rejected]:
    """The row with what a model says, held against what code knows."""
    if isinstance(walked, Rejected):
        return walked
    plain, moves = phrase_by_code(walked, bank), walked.walk.moves
    if isinstance(plain, Rejected):
        return plain
    known = [name_facts(move, walked) for move in moves]
    steps = []
    for move, each in zip(moves, known, strict=True):
        quotable = {name: each[name] for name in rationales.QUOTABLE_FACTS if each[name]}
        does = describe_move_action(move)
        steps.append({"page": move.page.kind, "does": does, "reason": move.reason, "facts": quotable})
    facts = {"shopper": plain.persona, "writes": walked.register, "came_for": plain.intent, "steps": steps}
    prompt = Prompt(
        "behaviors",
        tuple(render_messages("behaviors", **facts)),
        json.dumps({"rationales": [step.rationale for step in plain.steps]}),
        schema_of(Told),
        seed=crc32(plain.id.encode()),
    )

    def read(reply: Reply) -> Behavior:
        said = parse_reply_json(reply, Told).rationales
        if len(said) != len(moves):
            raise InvalidReply(f"There are {len(moves)} steps, so write {len(moves)} rationales.")
        wrong = [
            f"step {number}: {fault}"
            for number, (text, move, each) in enumerate(zip(said, moves, known, strict=True), 1)
            if (fault := rationales.find_model_rationale_fault(text, each, move.action.get("name", "")))
        ]
        if wrong:
            raise InvalidReply("; ".join(wrong) + ".")
        said_with_facts = [
            (text, rationales.find_quoted_facts(text, each)) for text, each in zip(said, known, strict=True)
        ]
        return build_behavior(walked.id, walked.trajectory, walked.walk, walked.outcome, said_with_facts, "model")

    found = yield from ask_until_valid(prompt, read)
    return found if isinstance(found, Behavior) else make_rejected_row(walked.id, "rationales", facts, found)


def name_facts(move: Move, walked: FinishedSession) -> PageFacts:
    """A step's facts, with products by the names that people would use."""
    speaker = rationales.Speaker(walked.register, "train", walked.walk.store, Random(len(walked.id)))
    names = {place: facts for place, facts in (("product", "row"), ("other", "other_row")) if move.facts[facts]}
    found = PageFacts(move.facts, row="", other_row="", title="", other="")
    for place, row in names.items():
        found["title"] += (
            f" {sanitize_text(walked.walk.store.item(int(move.facts[row])).title)}"  # a number of it may be said
        )
        found[place] = speaker.name(int(move.facts[row]), move).removeprefix("the ").removeprefix("this ")
    return found


def describe_move_action(move: Move) -> str:
    """What is done, in words.

    >>> from shopwright.pipeline.behaviors.reasons import PageFacts
    >>> from shopwright.pipeline.render import pages
    >>> describe_move_action(Move(pages.build_shop_home_page(), {"type": "terminate"}, "gives up", PageFacts()))
    'leaves the shop'
    """
    if move.action["type"] == "terminate":
        return "leaves the shop"
    if move.action["type"] == "type_and_submit":
        return f"searches for {json.dumps(move.action['text'], ensure_ascii=False)}"
    return pages.map_names_to_labels(move.page)[move.action["name"]]
