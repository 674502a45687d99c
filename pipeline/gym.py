"""The world that episodes play in: from the datasets of a run's folder, or made in memory where there is none.

from shopwright import make

env = make("cart_building", difficulty=6, seed=7)
observation = env.reset()
observation, reward, done, info = env.step('{"tool_calls": [{"name": "datetime_now"}]}')
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.episode import Episode, draw_task
from shopwright.pipeline.envs.load_world import MOST_CUSTOMERS, NEEDS, build_world, is_drawn_member, load_customers
from shopwright.pipeline.files import path_of
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.shards import in_batches
from shopwright.pipeline.shop.store import Customer
from shopwright.pipeline.shop_cache import find_shop_folder, keep, keep_batches, read_batches
from shopwright.pipeline.stage import ROLES, Shard, Stage
from shopwright.pipeline.stages import all_stages, upstream
from shopwright.schemas.record import Record
from shopwright.schemas.shop import Order, Persona

T = TypeVar("T")
# In a world that is made in memory.
CUSTOMERS = 60
LIVES: dict[str, dict[str, Any]] = {"trajectories": {"tokens": "64k"}, "orders": {}}
"""Datasets that are made for one customer at a time, when an episode asks for it."""


def make(
    name: str, difficulty: int = 0, seed: int = 0, run: str | Path | None = None, *, vectors: bool = False
) -> Episode:
    """An episode of an env, to be reset and stepped through. Raises Problem for an env or a level that there is not."""
    env, found = get_env(name), world(run, vectors=vectors)
    return Episode(env, found, draw_task(env, found, difficulty, seed))


def world(
    run: str | Path | None = None,
    products: int = 2_400,
    customers: int | None = None,
    seed: int = 0,
    vectors: bool = False,
) -> World:
    """
    run: a folder with the datasets NEEDS; None: so many products and customers are made in memory, from the seed.
    vectors: search by the run's `embeddings` too, which finds misspelt and related words; tasks are drawn by words alone.

    The same one in a process for the same arguments. Raises Problem where a dataset is missing.
    """
    if run is None and vectors:
        raise Problem("A shop in memory is searched by words alone. For vectors give a run that has embeddings.")
    if run is None:
        return build_world_in_memory(products, CUSTOMERS if customers is None else customers, seed)
    folder, needed = path_of(run), [*NEEDS, *(["embeddings"] if vectors else [])]
    manifests = {name: Run(folder).read(name).manifest for name in needed}
    if missing := [name for name in needed if manifests[name] is None]:
        raise Problem(f"{folder} has no {missing[0]}. Build it: shopwright build {missing[-1]} --run {folder}")
    prints = tuple(found.fingerprint for found in manifests.values() if found)
    return from_run(str(folder), MOST_CUSTOMERS if customers is None else customers, prints, vectors)


@lru_cache(4)
def from_run(folder: str, customers: int, prints: tuple[str, ...], vectors: bool) -> World:
    """`prints` tell when a dataset was made again."""
    have = {name: Run(folder).read(name) for name in NEEDS}
    people = load_customers(have, customers)
    return build_world(have, people, (world, (folder, 0, customers, 0, vectors)), vectors=vectors)


@lru_cache(4)
def build_world_in_memory(products: int, customers: int, seed: int) -> World:
    """The stages as they are, kept for the next process where it can be; for speed their checks are left out."""
    given: dict[str, dict[str, Any]] = {"catalog": {"products": products}, "personas": {"count": customers}}
    have: dict[str, Dataset[Any]] = {}
    folder = find_shop_folder(products, customers, seed, LIVES)
    for name in upstream("orders"):
        if name not in LIVES:
            have[name] = read_or_build_dataset(folder, name, have, given.get(name, {}), seed)
    people = [SimulatedCustomer(place, person, have, seed, folder) for place, person in enumerate(have["personas"])]
    return build_world(have, people, (world, (None, products, customers, seed)), seed=seed)


def read_or_build_dataset(
    folder: Path | None, name: str, have: dict[str, Dataset[Any]], given: Mapping[str, Any], seed: int
) -> "MemoryDataset":
    """A dataset of a shop in memory, from its folder where it is kept there."""
    if folder is None:
        return build_dataset_in_memory(name, have, given, seed)
    stage, path = all_stages()[name], folder / f"{name}.arrow"
    if (batches := read_batches(path)) is not None:
        return MemoryDataset(name, stage.makes, batches, find_catalog_settings(stage, have, given))
    found = build_dataset_in_memory(name, have, given, seed)
    keep_batches(path, arrow_schema(stage.makes), found.held)
    return found


class Life(BaseModel):
    """What a simulated customer looked at and ordered, as it is kept."""

    visited: list[int]
    visited_at: list[int]
    orders: tuple[Order, ...]


class SimulatedCustomer(Customer):
    """One whose months are simulated when an episode first asks what it looked at or ordered."""

    def __init__(
        self, place: int, person: Persona, have: Mapping[str, Dataset[Any]], seed: int, folder: Path | None
    ) -> None:
        """place: of the person among all personas; folder: where its months are kept."""
        origin = place, have, seed, folder
        for name, value in {"id": person.id, "member": is_drawn_member(person), "origin": origin}.items():
            object.__setattr__(self, name, value)  # the class is frozen

    def __getattr__(self, name: str) -> Any:
        """Asked for nothing but what is not there yet."""
        if name not in ("visited", "visited_at", "orders"):
            raise AttributeError(name)
        life = self.read_or_simulate_life()
        for each in ("visited", "visited_at"):
            object.__setattr__(self, each, np.array(getattr(life, each), np.int64))
        object.__setattr__(self, "orders", life.orders)
        return getattr(self, name)

    def read_or_simulate_life(self) -> Life:
        place, _, _, folder = self.origin
        path = folder / f"life-{place}.json" if folder else None
        if path:
            with suppress(OSError, ValueError):  # not there, or damaged
                return Life.model_validate_json(path.read_bytes())
        life = self.simulate_life()
        if path:
            keep(path, lambda new: new.write_text(life.model_dump_json(), "utf-8"))
        return life

    def simulate_life(self) -> Life:
        place, have, seed, _ = self.origin
        found = dict(have)
        for dataset, settings in LIVES.items():
            slice_of_work = Shard(place, len(have["personas"]), seed) if dataset == "trajectories" else None
            found[dataset] = build_dataset_in_memory(dataset, found, settings, seed, slice_of_work)
        [lived] = load_customers(found, len(have["personas"]))
        return Life(visited=lived.visited.tolist(), visited_at=lived.visited_at.tolist(), orders=lived.orders)

    def __reduce__(self) -> Any:
        return Customer, (self.id, self.visited, self.visited_at, self.orders, self.member)


class MemoryDataset(Dataset[Record]):
    """A dataset in memory."""

    def __init__(
        self, name: str, makes: type[Record], batches: Iterable[pa.RecordBatch], settings: Mapping[str, Any] = {}
    ) -> None:
        """settings: the catalog's."""
        super().__init__(Path(), name, makes)
        self.held, self.settings = list(batches), settings

    @property
    def catalog_settings(self) -> Mapping[str, Any]:
        return self.settings

    @property
    def files(self) -> list[Path]:
        return []

    def __len__(self) -> int:
        return sum(map(len, self.held))

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        return (batch.select(columns) if columns else batch for batch in self.held)

    def table(self, columns: list[str] | None = None) -> pa.Table:
        found = pa.Table.from_batches(self.held, arrow_schema(self.makes))
        return found.select(columns) if columns else found

    def slices(self, numbers: range, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from self.table(columns).slice(numbers.start, len(numbers)).to_batches()

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError("nothing asks SQL of a dataset in memory")

    def once(self, make: Callable[[Dataset[Record]], T]) -> T:
        if make not in self.cache:
            self.cache[make] = make(self)
        found: T = self.cache[make]
        return found


def find_catalog_settings(
    stage: Stage, have: Mapping[str, Dataset[Any]], given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Those of the catalog that a dataset in memory is made from, or its own where it is the catalog."""
    if "catalog" in have:
        return have["catalog"].catalog_settings
    settings = {key: setting.parse(given.get(key, setting.default)) for key, setting in stage.settings.items()}
    return {key: stage.settings[key].adapter.validate_python(value) for key, value in settings.items()}


def build_dataset_in_memory(
    name: str, have: dict[str, Dataset[Any]], given: Mapping[str, Any], seed: int, shard: Shard | None = None
) -> MemoryDataset:
    """A dataset as its stage makes it from others in memory, in one piece or a slice of it, and without any model."""
    stage = all_stages()[name]
    settings = {key: setting.parse(given.get(key, setting.default)) for key, setting in stage.settings.items()}
    roles = {role: Role(role, Models(), Path()) for role in ROLES}
    plan = stage.plan(have, settings)
    inputs: dict[str, Any] = {**have, **roles, "shard": shard or Shard(0, 1, seed), "plan": plan}
    values = {key: stage.settings[key].adapter.validate_python(value) for key, value in settings.items()}
    found = in_batches(stage, stage.function(*map(inputs.get, stage.needs), **values))
    return MemoryDataset(name, stage.makes, (batch for batch, _, _ in found), find_catalog_settings(stage, have, given))
