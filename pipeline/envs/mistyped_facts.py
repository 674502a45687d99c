"""Which facts of an opening are mistyped, and how: each slot keeps what is said, and holds what was typed beside it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from random import Random
from typing import NamedTuple, TypeVar

import pyarrow.compute as pc

from shopwright.pipeline.envs.base import DrawnTask, Goal
from shopwright.pipeline.envs.wording import name_thing
from shopwright.pipeline.phrases.speaker import Speaker, drop_article
from shopwright.pipeline.shop.fact_typos import (
    CASE,
    list_value_words,
    load_shop_words,
    mistype_fact,
    mistype_title,
)
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.tasks import Slot

GoalOf = TypeVar("GoalOf", bound=Goal)
# The chance of a stated fact to be mistyped, as a multiple of that of a letter.
PER_FACT = 3.0
# Words of the longest value that is typed in capitals.
LOUD = 2


class SaidFact(NamedTuple):
    """A fact within the words of a slot."""

    kind: str
    """title, thing, brand or value."""
    text: str


def mistype_facts(drawn: DrawnTask, store: Store, speaker: Speaker, random: Random, *, noise: float) -> DrawnTask:
    """The task, some stated slots of which say how they were typed.

    noise: chance of a letter to be mistyped. The constraint that a refusal hangs on stays clean.
    """
    goal = drawn.goal
    clean = set(drawn.nearest_miss.breaks) if goal.refusal else set()
    leaves = sorted(set(find_leaves(goal.slots, store)))
    slots = []
    for slot in goal.slots:
        wrong = random.random() < PER_FACT * noise
        keyed = slot.name in clean or slot.name.partition(" of ")[0] in clean
        if slot.known == "stated" and wrong and not keyed:
            slot = mistype_slot(slot, store, leaves, speaker, random)
        slots.append(slot)
    return replace(drawn, goal=goal.model_copy(update={"slots": slots}))


def find_leaves(slots: Iterable[Slot], store: Store) -> Iterator[int]:
    """The categories that slots speak of."""
    for slot in slots:
        named = slot.facts if slot.meaning == "things" else [each for each in slot.facts if each.name == "category"]
        yield from (store.place_of_leaf[each.value] for each in named if each.value in store.place_of_leaf)
        if (row := find_titled_row(slot, store)) >= 0:
            yield int(store.leaf_of[row])


def find_titled_row(slot: Slot, store: Store) -> int:
    """The product whose title a slot is; -1 where it is none."""
    return pc.index(store.titles, slot.said).as_py() if slot.form == "thing" and not slot.meaning else -1


def mistype_slot(slot: Slot, store: Store, leaves: list[int], speaker: Speaker, random: Random) -> Slot:
    said = list(list_said_facts(slot, speaker, is_title=find_titled_row(slot, store) >= 0))
    if not said:
        return slot
    fact = said[random.randrange(len(said))]
    place = slot.said.lower().find(fact.text.lower())
    if place < 0:
        return slot
    end = place + len(fact.text)
    typed = slot.said[:place] + type_fact(fact, slot.said[place:end], store, leaves, random) + slot.said[end:]
    return slot.model_copy(update={"typed": typed}) if typed != slot.said else slot


def list_said_facts(slot: Slot, speaker: Speaker, *, is_title: bool) -> Iterator[SaidFact]:
    """The facts of a slot that are words, as it says them."""
    facts = {each.name: each.value for each in slot.facts}
    meaning = facts.get("wish", slot.meaning)
    if is_title:
        yield SaidFact("title", slot.said)
    if "category" in facts or meaning == "things":
        for category in facts.values() if meaning == "things" else [facts["category"]]:
            yield SaidFact("thing", drop_article(name_thing(category, speaker)))
    if "brand" in facts:
        yield SaidFact("brand", facts["brand"])
    if meaning == "choices":
        yield from (SaidFact("value", value) for value in facts.values())
    elif meaning.endswith(" brand") and "value" in facts:
        yield SaidFact("brand", facts["value"])
    elif meaning.startswith("value "):
        yield SaidFact("value", facts["value"])


def type_fact(fact: SaidFact, said: str, store: Store, leaves: list[int], random: Random) -> str:
    """One fact as it is typed; as it is said where nothing else could be told."""
    words = load_shop_words(store)
    if fact.kind == "title":
        return mistype_title(said, words, random)
    if fact.kind in ("brand", "value") and said.replace(" ", "").isalpha() and random.random() < CASE:
        return said.lower() if fact.kind == "brand" or len(said.split()) > LOUD else said.upper()
    if fact.kind == "thing":
        return mistype_fact(said, words.things, words, random)
    values = frozenset(chain.from_iterable(list_value_words(store, leaf) for leaf in leaves))
    return mistype_fact(said, words.brands if fact.kind == "brand" else words.brands | values, words, random)


def say_as_typed(goal: GoalOf) -> GoalOf:
    """The goal whose slots say what was typed: what an opening is made of."""
    slots = [slot.model_copy(update={"said": slot.typed}) if slot.typed else slot for slot in goal.slots]
    return goal.model_copy(update={"slots": slots})
