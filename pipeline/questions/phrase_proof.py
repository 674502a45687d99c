"""Whether a phrasing of a question says what it should: filled with the facts of a real question, it is read back as that one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import product
from random import Random
from typing import Any

from shopwright.pipeline.phrases.bank import PhraseBank
from shopwright.pipeline.phrases.grammar import SLOT, Malformed, Template
from shopwright.pipeline.questions.draw import Draw, NothingToAsk
from shopwright.pipeline.questions.engines import Table
from shopwright.pipeline.questions.phrase import Voice, list_all_slots, name_meaning, raise_first
from shopwright.pipeline.questions.question_parser import Unclear, list_tree_differences, parse_trees
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.times import DAY
from shopwright.pipeline.questions.tree import list_tree_picks
from shopwright.pipeline.reading.words import Names

# Draws of a tree for one meaning, in one trajectory.
TRIES = 40
# What a verb may be done to beside what stands in a slot.
NOBODYS = ("it", "one", "products", "anything", "something")
# Characters of a phrasing.
LONGEST = 240
# What no customer types: markup, addresses, what speaks to a machine, signs that cannot be seen.
STRANGE = re.compile(
    r"[<>`*#|\\\n]|https?:|www\.|\b(?:ignore|disregard) (?:\w+ ){0,3}(?:instructions?|rules?)\b|\bsystem prompt\b",
    re.IGNORECASE,
)


class Unproved(ValueError):
    """Why a phrasing is not taken, in words that its writer can act on."""


@dataclass(frozen=True)
class Example:
    """A question that can be asked of a trajectory."""

    shape: str
    trajectory_id: str
    tree: Any
    names: Names
    asked_on: date

    @property
    def about(self) -> str:
        return SHAPES[self.shape].about


def find_examples(shape: str, tables: Iterable[tuple[str, Table]], random: Random) -> dict[str, Example]:
    """A question for each meaning of a shape, from the first trajectories: of some the first that says most."""
    found: dict[str, Example] = {}
    for id, table in tables:
        draw = Draw(table.log, random)
        for _ in range(TRIES):
            try:
                tree = SHAPES[shape].draw(draw.again(random))
            except NothingToAsk:
                continue
            asked_on = table.log.events[-1].day + DAY
            meaning = name_meaning(shape, tree)
            if meaning in found and count_conditions(found[meaning].tree) >= count_conditions(tree):
                continue
            found[meaning] = Example(shape, id, tree, table.names.on(asked_on), asked_on)
    return found


def count_conditions(tree: Any) -> int:
    """How much its picks say: of what says most, nothing can be left out unnoticed."""
    return sum(len(pick.model_dump(exclude_none=True)) for pick in list_tree_picks(tree))


def prove_phrase(template: Template, frame: str, example: Example, bank: PhraseBank, random: Random) -> str:
    """The frame with the example's facts, which is read back as the example's tree and as nothing else. Raises Unproved."""
    if not frame or len(frame) > LONGEST or not frame.isprintable() or STRANGE.search(frame):
        raise Unproved("not a line of plain text that a customer would type")
    voice = Voice(template.register, "first", "us")
    slots = list_all_slots(example.tree, example.asked_on, random, voice)
    if strange := sorted(set(SLOT.findall(frame)) - set(list_slot_forms(slots))):
        raise Unproved(f"there is no slot {{{strange[0]}}}")
    try:
        said = bank.fill(template, frame, slots, random, use=template.use, register=template.register)
    except Malformed as error:
        raise Unproved(str(error)) from None
    text = raise_first(said.text)
    try:
        found = [list_tree_differences(tree, example.tree, example.names) for tree in parse_trees(text, example.names)]
    except Unclear:
        raise Unproved(f"the reader does not understand it: {text}") from None
    if any(found):
        means = "can also mean" if [] in found else "means"
        raise Unproved(f"it {means} something else ({'; '.join(next(filter(None, found)))}): {text}")
    return text


def list_slot_forms(slots: Iterable[str]) -> list[str]:
    """The slots, and those of verbs with a thing that they are done to."""
    names = list(slots)
    verbs = [name for name in names if re.fullmatch(r"(?:did|do|doing)2?", name)]
    return [*names, *(f"{verb}:{name}" for verb, name in product(verbs, (*names, *NOBODYS)))]
