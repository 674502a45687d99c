"""The purchases of the logs, as orders: what was bought together, and how it travelled."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.dataset import Dataset
from shopwright.schemas.samples import Trajectory

# Purchases that follow one another within it are one order.
ORDER_GAP = timedelta(hours=1)
# Shares of orders.
CANCELLED, LOST = 0.06, 0.02
# Of shipping, where the catalog does not say.
USUAL_DAYS = (3, 7)
# Hours until an order leaves, at least and at most.
HANDLING = (4, 20)


class LoggedPurchase(NamedTuple):
    """A purchase of the log."""

    row: int
    product_id: str
    title: str
    cents: int
    when: datetime


@dataclass(frozen=True)
class Shipment:
    """When an order left, arrived or was cancelled; None: never."""

    shipped: datetime | None
    delivered: datetime | None
    cancelled: datetime | None


class Purchases:
    """The purchases of each customer's largest trajectory, as columns: those of log k from `edges[k]` to `edges[k + 1]`."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        # Ids of the trajectories, in their order.
        self.logs: list[str] = []
        self.people: list[str] = []
        kept, first, sizes = find_largest_trajectories(trajectories), 0, [0]
        tables = []
        for batch in trajectories.batches(["id", "persona_id", "events"]):
            rows = pa.array(kept[(kept >= first) & (kept < first + len(batch))] - first)
            first += len(batch)
            here = batch.take(rows)
            self.logs += here["id"].to_pylist()
            self.people += here["persona_id"].to_pylist()
            owners = np.repeat(np.arange(len(here)), pc.list_value_length(here["events"]).to_numpy())
            events = pc.list_flatten(here["events"])
            bought = pc.equal(events.field("action_type"), "purchase")
            sizes += np.bincount(owners[bought.to_numpy(zero_copy_only=False)], minlength=len(here)).tolist()
            names = ["row_id", "asin", "product_name", "price", "timestamp"]
            tables.append(pa.table([events.field(name).filter(bought) for name in names], names=names))
        self.edges = np.cumsum(sizes)
        self.table = pa.concat_tables(tables).combine_chunks() if tables else None
        self.place_of = {log: place for place, log in enumerate(self.logs)}

    def __len__(self) -> int:
        return len(self.logs)

    def of(self, log: int) -> list[LoggedPurchase]:
        """In order of time."""
        if self.table is None:
            return []
        columns = self.table.slice(int(self.edges[log]), int(self.edges[log + 1] - self.edges[log]))
        price = decimal_to_cents(pa.concat_arrays(columns["price"].chunks)).tolist() if len(columns) else []
        plain = (columns[name].to_pylist() for name in ("row_id", "asin", "product_name"))
        return [LoggedPurchase(*each) for each in zip(*plain, price, columns["timestamp"].to_pylist(), strict=True)]

    def products(self, logs: range) -> pa.Array:
        """Ids of what these bought, each once."""
        if self.table is None or not logs:
            return pa.array([], pa.string())
        first, last = int(self.edges[logs.start]), int(self.edges[logs.stop])
        return pc.unique(self.table["asin"].slice(first, last - first))


def find_largest_trajectories(trajectories: Dataset[Trajectory]) -> np.ndarray:
    """The row of each customer's trajectory with most tokens, the first of those alike; ascending."""
    best: dict[str, tuple[int, int]] = {}
    first = 0
    for batch in trajectories.batches(["persona_id", "tokens"]):
        for row, (person, tokens) in enumerate(zip(*(column.to_pylist() for column in batch.columns), strict=True)):
            if person not in best or tokens > best[person][0]:
                best[person] = tokens, first + row
        first += len(batch)
    return np.array(sorted(row for _, row in best.values()), dtype=np.int64)


def group_into_orders(bought: Iterable[LoggedPurchase]) -> Iterator[list[LoggedPurchase]]:
    """The purchases of each order: those that follow one another within an hour."""
    order: list[LoggedPurchase] = []
    for each in bought:
        if order and each.when - order[-1].when > ORDER_GAP:
            yield order
            order = []
        order.append(each)
    if order:
        yield order


def group_into_lines(order: Iterable[LoggedPurchase]) -> list[list[LoggedPurchase]]:
    """The same product at the same price is one line, of so many pieces."""
    lines: dict[tuple[str, int], list[LoggedPurchase]] = {}
    for each in order:
        lines.setdefault((each.product_id, each.cents), []).append(each)
    return list(lines.values())


def find_bought_variant(variants: Sequence[dict[str, Any]]) -> str:
    """Which variant was bought: the title's, of which the log says price and color; it may be sold out since."""
    found: str = next(each["id"] for each in variants if each["is_title"])
    return found


def draw_shipment(placed: datetime, days: Sequence[int | None], random: Random) -> Shipment:
    """How an order travels whose products take so many days; the slowest decides, and some are a day early or two late."""
    dice = random.random()
    if dice < CANCELLED:
        return Shipment(None, None, placed + timedelta(minutes=int(random.uniform(10, 60 * HANDLING[0]))))
    shipped = placed + timedelta(minutes=int(random.uniform(60 * HANDLING[0], 60 * HANDLING[1])))
    if dice < CANCELLED + LOST:
        return Shipment(shipped, None, None)
    slowest = max(random.randint(*USUAL_DAYS) if each is None else each for each in days)
    late = (-1, 0, 0, 0, 0, 0, 0, 1, 1, 2)[int(random.random() * 10)]
    day = placed.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=max(1, slowest + late))
    delivered = day + timedelta(minutes=int(random.uniform(9 * 60, 20 * 60)))
    if delivered < shipped + timedelta(hours=4):
        delivered += timedelta(days=1)
    return Shipment(shipped, delivered, None)
