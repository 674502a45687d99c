"""What shoppers say in environments: wishes, clues, cases, policy questions, things and openings, read back by the reader of wishes."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import chain
from random import Random

from pydantic import ValidationError

from shopwright.pipeline.checks.openings import expect_limits, expect_wishes, find_misreading, make_shop
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import CannotDraw, DrawnTask, Env, World
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.envs.wording import make_slot, mean_value, phrase_opening, word_facts, word_slot
from shopwright.pipeline.phrases.grammar import Template
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.proofs.family import Claim, Example, Family, Filled, Sources, Unproved, replace_meaning
from shopwright.pipeline.reading.wishes import Wish, denies, excludes_limit
from shopwright.pipeline.shop.policies import COUNT, load_policies, name_policies
from shopwright.pipeline.shop.policy_families import load_policy_facts
from shopwright.pipeline.shop.policy_questions import mean_fact, mean_question
from shopwright.schemas.tasks import Slot

# Tasks of an environment that facts are looked for in, at each of these levels.
TASKS, LEVELS = 12, (0, 2, 4, 6, 9, 12)
# Examples of a meaning that are kept: some have facts that others lack.
KEPT = 3
# Sets of policies in which topics are looked for.
POLICIES = 40
# Of examples that say nothing of days.
ANY_DAY = date(2024, 6, 3)
# Slots that no template of their own says, or that are found in other ways.
OTHERWISE = ("", "thing", "things", "choices")
# Units beside the environments.
FACTS, CASES, TOPICS, THINGS = "what is wanted", "cases of policies", "policy questions", "things"
ANSWERS = "answers"
# How an answer with a fact of each form may be meant: asked for by name, or in general, or again.
ANSWERED = {
    "trait": ("tells trait", "volunteers trait", "tells again"),
    "thing": ("tells thing",),
    "clause": ("tells clause", "volunteers clause"),
}
# Meanings that may deny: what is not so of a case, what is not wanted, what is asked.
MAY_DENY = ("case ", "wants ", "asks ", "cart rule", "thing ")


@dataclass(frozen=True)
class SaidExample(Example):
    """Slots to be said, alone or as the opening of a task."""

    slots_said: tuple[Slot, ...]
    context: tuple[str, ...] = ()
    """The categories that it is known to be about."""
    task: DrawnTask | None = None
    """The task that an opening is of."""
    env: str = ""


class Envs(Family[SaidExample]):
    name = "envs"

    def list_units(self) -> list[str]:
        return [FACTS, CASES, TOPICS, THINGS, ANSWERS, *all_envs()]

    def find_examples(self, unit: str, sources: Sources, random: Random) -> dict[str, list[SaidExample]]:
        world = load_world_beside(sources.catalog)
        if unit in all_envs():
            return collect_examples(find_openings(get_env(unit), world))
        if unit == FACTS:
            return collect_examples(chain(find_wishes(world), find_values(sources, world)))
        return collect_examples(
            {CASES: find_cases, TOPICS: find_topics, THINGS: find_things, ANSWERS: find_answers}[unit](world)
        )

    def fill(self, template: Template, frame: str, example: SaidExample, random: Random) -> Filled:
        speaker = Speaker(template.register, use=template.use, key=template.id)
        if template.meaning in chain.from_iterable(ANSWERED.values()):
            return fill_answer(
                replace(speaker, given=replace_meaning(speaker.bank, template, frame)), template, example, random
            )
        if example.task is None:
            return fill_meaning(speaker, template, frame, example, random)
        return fill_opening(replace(speaker, given=replace_meaning(speaker.bank, template, frame)), example, random)

    def read(self, claim: Claim, sources: Sources) -> str:
        slots, context, shown = parse_facts(claim)
        more = [Wish("number", each) for each in shown]
        text, shop = claim.text, sources.catalog.once(make_shop)
        if not claim.meaning.startswith(MAY_DENY) and denies(claim.words):
            raise Unproved(f"it is read as something else: it denies: {text}")
        if fault := find_misreading(text, slots, shop, claim.on, more=more, context=context):
            raise Unproved(f"it is read as something else: {fault}: {text}")
        if claim.meaning == "price at most" and excludes_limit(text):
            raise Unproved(f"it is read as something else: the limit itself is left out: {text}")
        asked = [Wish("question", slot.meaning.removeprefix("asks ")) for slot in slots if slot.form == "question"]
        found = [*asked, *chain.from_iterable(map(expect_wishes, slots)), *more]
        return json.dumps([[wish.kind, wish.value] for wish in found], ensure_ascii=False)


def parse_facts(claim: Claim) -> tuple[list[Slot], list[str], list[str]]:
    """What is to be said, the categories it is about, and how many products may be shown. Raises Unproved."""
    try:
        found = json.loads(claim.facts)
        slots = [Slot.model_validate(each) for each in found["slots"]]
    except (ValueError, KeyError, TypeError, ValidationError):
        raise Unproved("its facts are no slots") from None
    alone = not found["opens"] and claim.meaning not in chain.from_iterable(ANSWERED.values())
    if alone and [slot.meaning for slot in slots] != [claim.meaning]:
        raise Unproved("its facts are of another meaning")
    return slots, found["about"], found["shown"]


def pack_facts(slots: Iterable[Slot], about: Iterable[str], shown: Iterable[str] = (), *, opens: bool = False) -> str:
    said = [slot.model_dump(exclude_defaults=True, mode="json") for slot in slots]
    return json.dumps({"slots": said, "about": [*about], "shown": [*shown], "opens": opens}, ensure_ascii=False)


def collect_examples(found: Iterable[tuple[str, SaidExample]]) -> dict[str, list[SaidExample]]:
    """By meaning the first examples, those with the most facts before others."""
    kept: dict[str, list[SaidExample]] = {}
    for meaning, example in found:
        mine = kept.setdefault(meaning, [])
        if len(mine) < KEPT or any(set(example.slots) - set(each.slots) for each in mine):
            mine.append(example)
    return {meaning: sorted(mine, key=lambda each: -len(each.slots))[:KEPT] for meaning, mine in kept.items()}


# Single meanings


def make_example(slot: Slot, of: str, today: date, context: Iterable[str] = ()) -> tuple[str, SaidExample]:
    facts = {each.name: each.value for each in slot.facts}
    known = word_facts(facts, Speaker(key=of), Random(of))
    about = f"{slot.meaning}: {json.dumps(facts, ensure_ascii=False)}"
    return slot.meaning, SaidExample(about, of, today, sorted(known), (slot,), tuple(context))


def fill_meaning(speaker: Speaker, template: Template, frame: str, example: SaidExample, random: Random) -> Filled:
    (slot,) = example.slots_said
    known = word_facts({each.name: each.value for each in slot.facts}, speaker, random)
    text = speaker.bank.fill(template, frame, known, random, use=template.use, register=template.register).text
    return Filled(text, pack_facts([slot.model_copy(update={"said": text})], example.context))


@lru_cache(32)
def draw_tasks(env: Env, world: World) -> Sequence[tuple[str, DrawnTask]]:
    """Tasks without words, easy ones before hard ones; none where the shop has none. Three units look at the same ones."""
    found = []
    for level in LEVELS:
        for seed in range(TASKS):
            name = f"{env.name}/{level}/{seed}/phrases"
            here = replace(world, task_id=name, policy_number=Random(name).randrange(COUNT))
            try:
                drawn = env.draw(here, replace(compute_axes(level), noise=0), Random(name))
            except CannotDraw:
                continue
            policies = here.policies_for(drawn.goal.persona_id).id
            found.append((name, replace(drawn, goal=drawn.goal.model_copy(update={"policies": policies}))))
    return found


def find_wishes(world: World) -> Iterator[tuple[str, SaidExample]]:
    """What the slots of tasks say."""
    for env in all_envs().values():
        for name, drawn in draw_tasks(env, world):
            context = list_categories(drawn.goal.slots, world)
            for slot in drawn.goal.slots:
                if slot.meaning in OTHERWISE or slot.meaning.startswith(("case ", "asks ")):
                    continue
                yield make_example(slot, name, drawn.goal.now.date(), context)
                facts = {each.name: each.value for each in slot.facts}
                if facts.get("span", "today") != "today":  # "today" alone may be any day's
                    part = make_slot(slot.name, f"when {facts['span']}", facts, "plain")
                    yield make_example(part, name, drawn.goal.now.date())
                if "wish" in facts:
                    rest = {each: value for each, value in facts.items() if each not in ("wish", "category")}
                    wish = make_slot(slot.name, facts["wish"], rest, "trait", slot.value)
                    yield make_example(wish, name, drawn.goal.now.date(), context)


def list_categories(slots: Iterable[Slot], world: World) -> list[str]:
    """The categories that a task is about: those of its slots, and of the titles there."""
    texts = chain.from_iterable([slot.said, *(each.value for each in slot.facts)] for slot in slots)
    leaves = load_title_leaves(world)
    return list(dict.fromkeys(leaf for text in texts if (leaf := leaves.get(text))))


@lru_cache(2)
def load_title_leaves(world: World) -> Mapping[str, str]:
    """By title, and by its own name, a category."""
    store = world.store
    titles = dict(zip(store.titles.to_pylist(), (store.leaves[leaf] for leaf in store.leaf_of.tolist()), strict=True))
    return titles | {leaf: leaf for leaf in store.leaves}


def find_values(sources: Sources, world: World) -> Iterator[tuple[str, SaidExample]]:
    """Values of the shop's categories, for what no task drew."""
    shop = sources.catalog.once(make_shop)
    for leaf in shop.things:
        for fact, values in shop.values(leaf).items():
            for value in values[:1]:
                meaning, facts, asked = mean_value(fact, value)
                yield make_example(make_slot(fact, meaning, facts, "trait", asked), leaf, ANY_DAY, [leaf])


def find_cases(world: World) -> Iterator[tuple[str, SaidExample]]:
    for name, fact in load_policy_facts().items():
        for value in fact.values or ((fact.low + fact.high) // 2, fact.high):
            meaning, facts = mean_fact(name, value)
            yield make_example(make_slot(name, meaning, facts, "clause"), "", ANY_DAY)


def find_topics(world: World) -> Iterator[tuple[str, SaidExample]]:
    for number in range(POLICIES):
        for topic in load_policies(name_policies("train", number)).topics.values():
            meaning, facts = mean_question(topic)
            yield make_example(make_slot("question", meaning, facts, "question"), "", ANY_DAY)


def find_answers(world: World) -> Iterator[tuple[str, SaidExample]]:
    """A wish, a thing and a clause, as somebody answers who was asked for them."""
    _, thing = next(find_things(world))
    for _, example in (("", thing), *find_wishes(world)):
        (slot,) = example.slots_said
        for meaning in ANSWERED.get(slot.form, ()):
            yield meaning, replace(example, about=f"{meaning}: {example.about}", slots=["fact"])


def fill_answer(speaker: Speaker, template: Template, example: SaidExample, random: Random) -> Filled:
    slot = word_slot(example.slots_said[0], speaker, random)
    text = speaker.sentence(template.meaning, {"fact": slot.said.rstrip(".")}, random).fill()
    return Filled(text, pack_facts([slot], example.context))


def find_things(world: World) -> Iterator[tuple[str, SaidExample]]:
    for leaf in world.store.leaves:
        yield make_example(make_slot("thing", f"thing {leaf}", {"category": leaf}, "thing"), leaf, ANY_DAY)


# Openings


def find_openings(env: Env, world: World) -> Iterator[tuple[str, SaidExample]]:
    """Tasks of which all is stated, and such of which something is left out: these begin in other ways."""
    for name, drawn in draw_tasks(env, world):
        try:
            worded = env.word(drawn, Speaker(key=name), Random(name))
            opening = env.open(worded.goal, worded.facts, Speaker(key=name), Random(name))
        except CannotDraw:
            continue
        pieces = chain.from_iterable(each.slots for each in Speaker().bank.templates[opening.meaning])
        slots = sorted({*(each for each, text in opening.facts.items() if text), *opening.parts, *pieces})
        today = drawn.goal.now.date()
        yield opening.meaning, SaidExample(opening.meaning, name, today, slots, (), (), drawn, env.name)


def fill_opening(speaker: Speaker, example: SaidExample, random: Random) -> Filled:
    assert example.task is not None
    env, name = get_env(example.env), random.getrandbits(32)
    try:
        worded = env.word(example.task, speaker, Random(name))
        goal = worded.goal
        text = phrase_opening(
            env.open(goal, worded.facts, speaker, Random(name)), goal.slots, speaker, noise=0, random=Random(name)
        )
    except CannotDraw as error:
        raise Unproved(f"its slots cannot be asked for: {error}") from None
    except AssertionError as error:
        raise Unproved(f"it does not say all that is stated: {error}") from None
    stated = [slot for slot in goal.slots if slot.known == "stated"]
    shown = [wish.value for wish in expect_limits(env.name, json.loads(goal.model_dump_json()))]
    return Filled(text, pack_facts(stated, (), shown, opens=True))
