"""What shoppers say of their next step: filled with what the pages of a real session showed, and read back as its reason and its claims."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random

from shopwright.pipeline.behaviors.logs import Logs
from shopwright.pipeline.behaviors.meanings import list_meanings
from shopwright.pipeline.behaviors.mention import find_noun
from shopwright.pipeline.behaviors.rationales import FIRST_PERSON, Speaker, put_facts
from shopwright.pipeline.behaviors.rows import build_behavior
from shopwright.pipeline.behaviors.session_replay import (
    Move,
    ReplayError,
    SessionReplay,
    build_visit_day,
    start_replay,
)
from shopwright.pipeline.behaviors.sessions import SEARCH, cut_sessions
from shopwright.pipeline.behaviors.voices import write_in_register, writes_small
from shopwright.pipeline.checks.claims import SessionStory, find_false_claim, read_moments, see_step
from shopwright.pipeline.checks.record_cache import RecordCache
from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.phrases.grammar import Template
from shopwright.pipeline.proofs.family import Claim, Example, Family, Filled, Sources, Unproved
from shopwright.pipeline.questions.nouns import is_plural
from shopwright.pipeline.reading.rationales import Reading, Seen, read_rationale
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.world.catalog_columns import CatalogColumns

# Sessions that examples are looked for in.
SESSIONS = 400
UNIT = "rationales"
# What a meaning claims beside its reason, in the reader's names, one of which has to be read; where none is named, the reason says it all.
CLAIMS_OF: dict[str, tuple[str, ...]] = {
    "opens/cheapest": ("cheapest",),
    "opens/best rated": ("best rated",),
    "opens/most reviewed": ("most reviewed",),
    "opens/top of the list": ("top of list",),
    "opens/brand": ("likes brand",),
    "opens/asked": ("asked for",),
    "opens/cheaper": ("cheaper",),
    "opens/another": ("another one",),
    "opens/like": ("interested",),
    "look around/first": ("first search", "search"),
    "look around/another errand": ("another errand",),
    "look around/go on": ("looking on", "search"),
    "look around/nothing found": ("nothing found",),
    "look around/same again": ("same again",),
    "look around/wider": ("wider",),
    "look around/narrower": ("narrower",),
    "look around/other words": ("other words",),
    "look around/something else": ("something else",),
    "look closer": ("knows what it wants", "narrower"),
    "set a limit": ("limit",),
    "looks again/after others": ("look again",),
    "next page/nothing here": ("nothing on page",),
    "too dear/other": ("dear beside another",),
    "compare/others": ("others",),
    "compare/liked": ("liked",),
    "put in the cart/well rated": ("well rated",),
    "look into the cart/from before": ("in cart",),
    "look into the cart/put there": ("in cart",),
    "buy/from before": ("from before",),
    "decides later": ("later",),
    "narrow down/price": ("price filter",),
    "narrow down/price kept": ("limit",),
    "narrow down/rating": ("rating filter",),
    "narrow down/rating many": ("rating filter",),
    "narrow down/rating kept": ("trusts reviews",),
    "gives up/not it": ("not it",),
    "gives up/several": ("several",),
    "gives up/nothing": ("nothing found at all",),
    "gives up/rated": ("poor rating",),
    "gives up/dear": ("dear",),
    "gives up/done": ("got it all", "bought"),
    "gives up/rest": ("rest can wait", "bought"),
    "go on/bought": ("bought",),
    "go on/in the cart": ("in cart",),
    "go on/from before": ("keeps looking",),
}
# Claims that only the meaning says which is proved by them: beside another they would be true by chance.
DECISIVE = frozenset(
    "cheapest,best rated,most reviewed,top of list,likes brand,asked for,cheaper,another one,nothing found,same again,"
    "wider,dear beside another,from before,rest can wait,got it all".split(",")
)


@dataclass(frozen=True)
class StepExample(Example):
    """A step of a session, and what can be said of it."""

    move: Move
    at: int
    story: SessionStory
    seen: Seen
    texts: dict[str, str]
    """What stands in its slots."""


class Behaviors(Family[StepExample]):
    name = "behaviors"

    def list_units(self) -> list[str]:
        return [UNIT]

    def find_examples(self, unit: str, sources: Sources, random: Random) -> dict[str, list[StepExample]]:
        """For each meaning the step with the most facts about single things, and the first one."""
        best: dict[str, tuple[tuple[int, int], SessionReplay, int, str]] = {}
        for trajectory, walk in replay_sessions(sources):
            for at, move in enumerate(walk.moves):
                known = -count_plural_things(move, walk.store), count_sayable_facts(move)
                for meaning in list_meanings(move.reason, move.facts, Random(0)):
                    if meaning not in best or known > best[meaning][0]:
                        best[meaning] = known, walk, at, trajectory
        return {meaning: [make_step(meaning, *found[1:], random)] for meaning, found in best.items()}

    def fill(self, template: Template, frame: str, example: StepExample, random: Random) -> Filled:
        written = write_in_register(frame, True, template.register, random)
        said = put_facts(written, example.texts, small=writes_small(template.register))
        reading = read_rationale(said.text, example.seen)
        if fault := find_false_claim(example.story, example.at, reading, example.move.reason):
            raise Unproved(f"it says what is not so, as it {fault}: {said.text}")
        return Filled(said.text, json.dumps(asdict(example.seen), ensure_ascii=False))

    def read(self, claim: Claim, sources: Sources) -> str:
        try:
            seen = Seen(**json.loads(claim.facts))
        except (ValueError, TypeError):
            raise Unproved("its facts are no page") from None
        if not FIRST_PERSON.search(claim.text):
            raise Unproved(f"it is not in the first person: {claim.text}")
        reading = read_rationale(claim.text, seen)
        if fault := find_other_meaning(claim.meaning, reading):
            raise Unproved(f"it {fault}: {claim.text}")
        claims = sorted({each.name for each in reading.claims})
        return json.dumps({"reason": claim.meaning.partition("/")[0], "claims": claims}, ensure_ascii=False)


def count_sayable_facts(move: Move) -> int:
    """An option that its value names is not said, so it is none."""
    option, value = move.facts["option"].lower(), move.facts["value"].lower().split()
    return sum(map(bool, move.facts.values())) - (bool(option) and option in value)


def count_plural_things(move: Move, store: Store) -> int:
    """Beside things of several pieces, such as boots, verbs are not those of the template."""
    rows = filter(None, (move.facts["row"], move.facts["other_row"]))
    return sum(is_plural(find_noun(store.item(int(row)), store)) for row in rows)


def find_other_meaning(meaning: str, reading: Reading) -> str | None:
    """What is not understood, or read as something else than this meaning."""
    if reading.fault:
        return reading.fault
    reason = meaning.partition("/")[0]
    if reason not in reading.reasons:
        return f"is read as something else ({' or '.join(sorted(reading.reasons))})"
    wanted = CLAIMS_OF.get(meaning, ())
    claims = {each.name for each in reading.claims if reason in each.reasons or each.name in wanted}
    if wanted and not claims.intersection(wanted):
        return f"does not say all of it ({' or '.join(wanted)})"
    more = sorted(claims & DECISIVE - set(wanted))
    return f"says more ({more[0]})" if more else None


def replay_sessions(sources: Sources) -> Iterator[tuple[str, SessionReplay]]:
    """The first sessions in which something is opened, one customer after the other, walked to their ends."""
    logs, shop = sources.trajectories.once(Logs), sources.catalog.once(shop_of)
    stock, people = sources.catalog.once(CatalogColumns), sources.personas.once(RecordCache)
    number = 0
    for trajectory, person in logs.largest:
        for session in cut_sessions(logs.of(trajectory, shop.store), "errand"):
            if all(act.kind == SEARCH for act in session.acts):
                continue
            if number == SESSIONS:
                return
            number += 1
            dice = Random(f"{trajectory}/{session.acts[0].row}")
            walk = start_replay(session, shop, people[person], build_visit_day(session, shop.store, stock), dice)
            try:
                walk.go()
            except ReplayError:
                continue
            yield trajectory, walk


def make_step(meaning: str, walk: SessionReplay, at: int, trajectory: str, random: Random) -> StepExample:
    said = [("", list[str]())] * len(walk.moves)
    row = build_behavior("", trajectory, walk, "gave up", said, "code")
    store = walk.store

    def find_item(id: str) -> Item | None:
        found = store.row(id)
        return None if found is None else store.item(found)

    story = SessionStory(list(read_moments(row.steps)), find_item, tuple(walk.person.brands))
    for moment in story.moments[: at + 1]:
        story.see(moment)
    move = walk.moves[at]
    texts = Speaker("plain", "train", walk.store, random).fill_slots(move)
    return StepExample(
        meaning, trajectory, move.at.date(), list(texts), move, at, story, see_step(story, at, row.steps[at]), texts
    )
