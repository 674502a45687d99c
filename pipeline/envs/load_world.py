"""The world of episodes from the datasets that it is made of."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.catalog.search import Search, open_search
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.files import path_of
from shopwright.pipeline.languages import find_language
from shopwright.pipeline.shop.store import Customer, Store
from shopwright.pipeline.world.orders import find_largest_trajectories
from shopwright.schemas.record import Record
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order, Persona, Product, Variant

# The datasets, and what each holds.
NEEDS: dict[str, type[Record]] = {
    "catalog": Product,
    "variants": Variant,
    "personas": Persona,
    "trajectories": Trajectory,
    "orders": Order,
}
# Of a run, the first ones; each is some 100 kB of orders and visits.
MOST_CUSTOMERS = 2_000
# Share of shoppers who are members of the shop, by spend tier.
MEMBERS = {"low": 0.2, "middle": 0.4, "high": 0.7}
SHOWN_COLUMNS = ["id", "title", "brand", "color", "category", "category_path", "attributes", "fits", "description"]
NUMBER_COLUMNS = ["price", "rating", "review_count", "shipping_days"]
# How another process gets the same world: a function of a module, and its arguments.
Origin = tuple[Callable[..., World], tuple[Any, ...]]


def load_world_beside(dataset: Dataset[Any]) -> World:
    """The world of the run that a dataset belongs to, the same one in a process while its datasets are the same."""
    if load_world_beside not in dataset.cache:
        have = [Dataset(dataset.run, name, makes).manifest for name, makes in NEEDS.items()]
        dataset.cache[load_world_beside] = load_run_world(
            str(dataset.run), tuple(found.fingerprint if found else "" for found in have)
        )
    found: World = dataset.cache[load_world_beside]
    return found


@lru_cache(2)
def load_run_world(folder: str, prints: tuple[str, ...]) -> World:
    """`prints` tell when a dataset was made again."""
    have = {name: Dataset(path_of(folder), name, makes) for name, makes in NEEDS.items()}
    return build_world(have, load_customers(have, MOST_CUSTOMERS), (load_run_world, (folder, prints)))


def build_world(
    have: Mapping[str, Dataset[Any]],
    customers: Iterable[Customer],
    origin: Origin,
    *,
    vectors: bool = False,
    seed: int | None = None,
) -> World:
    """The world of these datasets; who sells what is drawn by the seed, that of the catalog where none is given."""
    catalog = have["catalog"].table([*SHOWN_COLUMNS, *NUMBER_COLUMNS])
    made = have["catalog"].manifest
    if seed is None:
        seed = made.recipe.seed if made else 0
    found = Store(
        catalog,
        have["variants"].table(),
        tuple(customers),
        origin=(load_world_store, origin),
        seed=seed,
        language=find_language(have["catalog"]),
    )
    return ReloadedWorld(
        found, open_search(have["catalog"].run, found) if vectors else ReloadedSearch(found, origin), origin
    )


@dataclass(frozen=True)
class ReloadedWorld(World):
    """A world that another process makes again instead of receiving it, as it does with the two parts."""

    origin: Origin

    def __reduce__(self) -> Any:
        return self.origin


class ReloadedSearch(Search):
    """The search of such a world."""

    def __init__(self, store: Store, origin: Origin) -> None:
        super().__init__(store)
        self.origin = origin

    def __reduce__(self) -> Any:
        return load_world_search, self.origin


def load_world_store(world: Callable[..., World], arguments: tuple[Any, ...]) -> Store:
    return world(*arguments).store


def load_world_search(world: Callable[..., World], arguments: tuple[Any, ...]) -> Any:
    return world(*arguments).finder


def load_customers(have: Mapping[str, Dataset[Any]], most: int) -> Iterator[Customer]:
    """The first personas that have a log, with their visits and orders."""
    ids = have["catalog"].table(["id"])["id"]
    people = {one.id: one for one in have["personas"].head(most)}
    ordered: dict[str, list[Order]] = defaultdict(list)
    for order in read_orders_of_people(have["orders"], people):
        ordered[order.persona_id].append(order)
    found = collect_clicks(have["trajectories"], people, ids)
    for name, person in people.items():
        if name in found:
            orders = tuple(sorted(ordered[name], key=lambda order: order.placed))
            yield Customer(name, *found[name], orders, is_drawn_member(person))


def is_drawn_member(person: Persona) -> bool:
    """By dice of its own, in shares of its spend tier."""
    return Random(f"{person.id}/member").random() < MEMBERS[person.spend_tier]


def read_orders_of_people(orders: Dataset[Order], people: Iterable[str]) -> Iterator[Order]:
    wanted = pa.array(people, pa.string())
    for batch in orders.batches():
        here = batch.filter(pc.is_in(batch["persona_id"], value_set=wanted))
        yield from (orders.makes.model_validate(row) for row in here.to_pylist())


def collect_clicks(
    trajectories: Dataset[Trajectory], people: Iterable[str], ids: pa.ChunkedArray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By person: the rows of the products clicked in the largest log, and when, in seconds since 1970."""
    wanted, kept, first = pa.array(people, pa.string()), find_largest_trajectories(trajectories), 0
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for batch in trajectories.batches(["persona_id", "events"]):
        mine = batch.take(pa.array(kept[(kept >= first) & (kept < first + len(batch))] - first))
        first += len(batch)
        mine = mine.filter(pc.is_in(mine["persona_id"], value_set=wanted))
        owners = np.repeat(np.arange(len(mine)), pc.list_value_length(mine["events"]).to_numpy())
        events = pc.list_flatten(mine["events"])
        rows = pc.index_in(events.field("asin"), value_set=ids)
        clicked = pc.and_(pc.equal(events.field("action_type"), "click"), pc.is_valid(rows))
        products = rows.filter(clicked).to_numpy().astype(np.int64)
        seconds = events.field("timestamp").filter(clicked).cast(pa.int64()).to_numpy() // 1_000_000
        edges = np.searchsorted(owners[clicked.to_numpy(zero_copy_only=False)], np.arange(len(mine) + 1))
        for place, person in enumerate(mine["persona_id"].to_pylist()):
            span = slice(edges[place], edges[place + 1])
            found[person] = products[span].copy(), seconds[span].copy()
    return found
