"""Two stages to test the machinery with: toys, of which some fail, and the boxes that they come in."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.stage import Fault, Shard, stage
from shopwright.schemas.record import Record, Rejected


class Toy(Record):
    number: int
    color: str


class Box(Record):
    toys: list[str]


def number_is_not_thirteen(toy: Toy) -> str | None:
    return "thirteen" if toy.number % 100 == 13 else None


def color_is_known(batch):
    return ["no such color" if color == "octarine" else None for color in batch["color"].to_pylist()]


def neighbors_differ(toys: Dataset[Toy]) -> Iterator[Fault]:
    """Of toys of one color in a row only the first stays: a row may be judged by one that is held back itself."""
    before = None
    for path in toys.files:
        for row, toy in enumerate(one_file(toys, path)):
            if toy.color == before:
                yield Fault(str(path), row, "same color as the one before")
            before = toy.color


def one_file(toys, path):
    import pyarrow.parquet as pq

    return [toys.makes.model_validate(row) for row in pq.read_table(path).to_pylist()]


def toy(number: int, shard: Shard) -> Toy:
    """Every 30th is of no known color, every 20th has the id of the one before."""
    color = "octarine" if number % 30 == 29 else shard.random(number).choice(["red", "blue", "green"])
    return Toy(id=f"toy-{number - (number % 20 == 19)}", number=number, color=color)


@stage(
    makes=Toy,
    checks=[number_is_not_thirteen, color_is_known],
    across=[ids_are_unique, neighbors_differ],
    per_shard=(20, 1_000),
)
def toys(
    shard: Shard,
    *,
    count: Annotated[int, Field(ge=0, description="how many toys")] = 80,
    lost: Annotated[int, Field(ge=1, description="every so many-th is lost")] = 25,
) -> Iterator[Toy | Rejected]:
    """Toys, some of them broken."""
    for number in shard.of(count):
        if number % lost == lost - 1:
            yield Rejected(id=f"toy-{number}", reasons=["lost"], record="{}")
        else:
            yield toy(number, shard)


@stage(makes=Box, checks=[lambda box: None if box.toys else "empty"], across=[ids_are_unique], per_shard=(2, 10))
def boxes(
    toys: Dataset[Toy],
    shard: Shard,
    *,
    count: Annotated[int, Field(ge=1, description="how many boxes")] = 3,
    label: Annotated[str, Field(description="what is written on them")] = "box",
) -> Iterator[Box]:
    """Boxes with toys in them."""
    found = list(toys)
    for number in shard.of(count):
        yield Box(id=f"{label}-{number}", toys=[toy.id for toy in found[number::count]])
