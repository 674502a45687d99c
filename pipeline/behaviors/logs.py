"""Customers' logs with what the shop knows of them: which variants they bought, and what lay in their carts."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa

from shopwright.pipeline.behaviors.sessions import Log, build_log, convert_log_events, map_purchases_to_variants
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.questions.engines import TrajectoryReader
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.world.orders import find_largest_trajectories
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order

# Events whose logs are kept as objects: those of some 130 customers of 64k tokens each.
AT_HAND = 150_000


class Logs:
    """The largest log of each customer; for `trajectories.once`."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        rows = (
            trajectories.table(["id", "persona_id"]).take(pa.array(find_largest_trajectories(trajectories))).to_pylist()
        )
        # Trajectory and customer.
        self.largest = [(row["id"], row["persona_id"]) for row in rows]
        self.customer = dict(self.largest)
        self.shelf = TrajectoryReader(trajectories)
        self.orders = Dataset(trajectories.run, "orders", Order).table(["trajectory_id", "rows", "lines"])
        of = self.orders["trajectory_id"].to_pylist()
        self.places: dict[str, list[int]] = {}
        for place, log in enumerate(of):
            self.places.setdefault(log, []).append(place)
        self.kept: OrderedDict[str, Log] = OrderedDict()
        self.events_kept = 0

    def of(self, trajectory: str, store: Store) -> Log:
        """Raises Problem for an unknown one."""
        if trajectory not in self.kept:
            acts = convert_log_events(self.shelf.events(trajectory))
            self.kept[trajectory] = build_log(
                acts, map_purchases_to_variants(self.list_orders(trajectory), acts), store
            )
            self.events_kept += len(acts)
            while self.events_kept > AT_HAND and len(self.kept) > 1:
                self.events_kept -= len(self.kept.popitem(last=False)[1].acts)
        return self.kept[trajectory]

    def events(self, trajectory: str) -> pa.Table | None:
        """As the log has them; None where it is no customer's largest."""
        return self.shelf.events(trajectory) if trajectory in self.customer else None

    def list_orders(self, trajectory: str) -> list[dict[str, Any]]:
        places = np.array(self.places.get(trajectory, []), dtype=np.int64)
        found: list[dict[str, Any]] = self.orders.take(pa.array(places)).to_pylist()
        return found
