"""How many openings have a mistyped fact, how many are read back, and what the shop's search makes of such a fact.

    python -m benchmarks.typed_facts                # 200 tasks of each env and level
    python -m benchmarks.typed_facts --tasks 40

A fact is recovered by a search if its words as they were typed bring the product of the title, or else a product of the category, brand or
value, among the first ten. Beside it stands the same with the words as they are spelt: what a search cannot do with these it cannot recover.
"""

import argparse
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from benchmarks.trajectories import machine, write
from shopwright.pipeline import gym
from shopwright.pipeline.checks.openings import find_misread_opening, make_vocabulary
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.reading.wishes import ShopVocabulary
from shopwright.pipeline.shop.store import Item
from shopwright.schemas.tasks import Slot, Task

LEVELS, FIRST = (0, 6, 12), 10
# Facts of a slot that say how its words are put, not what they are about.
GRAMMAR = ("be", "a value", "fact", "wish")


class Recovery(NamedTuple):
    """Of the mistyped slots of some tasks: how many a search recovers, as they were typed and as they are spelt."""

    facts: int
    typed: int
    said: int


def list_sought_texts(slot: Slot) -> list[str]:
    """What a right result has: the title, or what the mistyped words are about."""
    named = [each.value for each in slot.facts if each.name not in GRAMMAR and not any(map(str.isdigit, each.value))]
    return [text.lower() for text in (named if slot.meaning else [slot.said])]


def find_sought(world: World, words: str, slot: Slot) -> bool:
    """Whether the first ten products that a search for these words brings have one that the slot is about."""
    rows = world.finder.find(world.finder.correct(words), limit=FIRST).tolist()
    sought = list_sought_texts(slot)
    return any(text in list_item_texts(world.store.item(row)) for row in rows for text in sought)


def list_item_texts(item: Item) -> list[str]:
    texts = [item.title, item.category, item.brand, item.color, *(each.value for each in item.attributes)]
    return [" ".join(text.lower().split()) for text in texts if text]


def measure_recovery(world: World, tasks: Iterable[Task]) -> Recovery:
    slots = [slot for task in tasks for slot in task.slots if slot.typed]
    typed, said = (sum(find_sought(world, words(slot), slot) for slot in slots) for words in (get_typed, get_said))
    return Recovery(len(slots), typed, said)


def get_typed(slot: Slot) -> str:
    return slot.typed


def get_said(slot: Slot) -> str:
    return slot.said


def list_rows(world: World, count: int) -> Iterator[str]:
    shop = make_vocabulary(world.store)
    for name in all_envs():
        for level in LEVELS:
            tasks = [draw_task(get_env(name), world, level, seed) for seed in range(count)]
            yield describe_tasks(name, level, tasks, shop, measure_recovery(world, tasks))


def describe_tasks(name: str, level: int, tasks: list[Task], shop: ShopVocabulary, found: Recovery) -> str:
    noised = [task for task in tasks if any(slot.typed for slot in task.slots)]
    read = [sum(find_misread_opening(task, shop) is None for task in some) for some in (tasks, noised)]
    shares = [
        format_share(len(noised), len(tasks)),
        format_share(read[0], len(tasks)),
        format_share(read[1], len(noised)),
        f"{found.facts}",
        format_share(found.typed, found.facts),
        format_share(found.said, found.facts),
    ]
    return f"| `{name}` | {level} | {' | '.join(shares)} |"


def format_share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200, help="of each env and level")
    count = parser.parse_args().tasks
    text = "\n".join(
        [
            f"`python -m benchmarks.typed_facts --tasks {count}`: openings with a mistyped fact, those read back, and such facts that a search recovers",
            "",
            "| env | level | openings with one | all read back | those read back | facts | recovered by search | if spelt right |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            *list_rows(gym.world(), count),
            "",
            machine(),
        ]
    )
    print(text)
    write("typed_facts", text)


if __name__ == "__main__":
    main()
