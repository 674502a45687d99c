"""Questions about a log: filled with the facts of a real one, and read back as its tree by the parser of questions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from random import Random
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.phrases.bank import QUESTIONS
from shopwright.pipeline.phrases.grammar import Template
from shopwright.pipeline.proofs.family import Claim, Example, Family, Filled, Sources, Unproved
from shopwright.pipeline.questions.draw_values import Draw, NothingToAsk
from shopwright.pipeline.questions.engines import TrajectoryReader, collect_names
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.phrase import Voice, list_all_slots, name_meaning, raise_first
from shopwright.pipeline.questions.question_parser import Unclear, list_tree_differences, parse_trees
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.times import DAY
from shopwright.pipeline.questions.tree import list_tree_picks, tree_from_json, tree_to_json
from shopwright.schemas.samples import Trajectory

# Trajectories in which an example is looked for, and draws of a tree in each.
LOOKED_AT, TRIES = 12, 40
# What a verb may be done to beside what stands in a slot.
NOBODYS = ("it", "one", "products", "anything", "something")


@dataclass(frozen=True)
class AskedExample(Example):
    """A question that can be asked of a trajectory."""

    tree: Any


class ExampleLogs(TrajectoryReader):
    """The logs that examples are of and what each can name; those few are kept, as every shape looks at them in turn."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        super().__init__(trajectories)
        self.log = lru_cache(LOOKED_AT)(lambda id: Log.of(self.events(id)))
        self.names = lru_cache(LOOKED_AT)(lambda id: collect_names(self.log(id)))


class Questions(Family[AskedExample]):
    name = QUESTIONS

    def list_units(self) -> list[str]:
        return list(SHAPES)

    def find_examples(self, unit: str, sources: Sources, random: Random) -> dict[str, list[AskedExample]]:
        """A question for each meaning of a shape, from the first trajectories: of some the first that says most."""
        found: dict[str, AskedExample] = {}
        logs = sources.trajectories.once(ExampleLogs)
        for id in islice(sources.trajectories.table(["id"])["id"].to_pylist(), LOOKED_AT):
            log = logs.log(id)
            draw = Draw(log, random)
            for _ in range(TRIES):
                try:
                    tree = SHAPES[unit].draw(draw.again(random))
                except NothingToAsk:
                    continue
                meaning = name_meaning(unit, tree)
                if meaning in found and count_conditions(found[meaning].tree) >= count_conditions(tree):
                    continue
                asked_on = log.events[-1].day + DAY
                slots = list_slot_forms(list_all_slots(tree, asked_on, random, Voice("plain", "first", "us")))
                found[meaning] = AskedExample(SHAPES[unit].about, id, asked_on, slots, tree)
        return {meaning: [example] for meaning, example in found.items()}

    def fill(self, template: Template, frame: str, example: AskedExample, random: Random) -> Filled:
        slots = list_all_slots(example.tree, example.asked_on, random, Voice(template.register, "first", "us"))
        said = self.bank.fill(template, frame, slots, random, use=template.use, register=template.register)
        return Filled(raise_first(said.text), tree_to_json(example.tree))

    def read(self, claim: Claim, sources: Sources) -> str:
        logs = sources.trajectories.once(ExampleLogs)
        if claim.of not in logs:
            raise Unproved("its trajectory is not there")
        names = logs.names(claim.of).on(claim.on)
        try:
            tree = tree_from_json(claim.facts)
        except ValueError:
            raise Unproved("its facts are no question") from None
        try:
            found = [list_tree_differences(each, tree, names) for each in parse_trees(claim.text, names)]
        except Unclear:
            raise Unproved(f"the reader does not understand it: {claim.text}") from None
        if any(found):
            means = "can also mean" if [] in found else "means"
            raise Unproved(f"it {means} something else ({'; '.join(next(filter(None, found)))}): {claim.text}")
        return tree_to_json(tree)


def count_conditions(tree: Any) -> int:
    """How much its picks say: of what says most, nothing can be left out unnoticed."""
    return sum(len(pick.model_dump(exclude_none=True)) for pick in list_tree_picks(tree))


def list_slot_forms(slots: Iterable[str]) -> list[str]:
    """The slots, and those of verbs with a thing that they are done to."""
    names = list(slots)
    verbs = [name for name in names if re.fullmatch(r"(?:did|do|doing|acts)2?", name)]
    return [*names, *(f"{verb}:{name}" for verb, name in product(verbs, (*names, *NOBODYS)))]
