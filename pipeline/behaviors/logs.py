"""Customers' logs with what the shop knows of them: which variants they bought, and what lay in their carts."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.behaviors.sessions import Log, acts_of, bought_in, log_of
from pipeline.dataset import Dataset
from pipeline.questions.engines import Shelf
from pipeline.shop.orders import largest
from pipeline.shop.store import Store
from schemas.samples import Trajectory
from schemas.shop import Order

AT_HAND = 150_000
"""Events whose logs are kept as objects: those of some 130 customers of 64k tokens each."""


class Logs:
    """The largest log of each customer; for `trajectories.once`."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        rows = trajectories.table(["id", "persona_id"]).take(pa.array(largest(trajectories))).to_pylist()
        self.largest = [(row["id"], row["persona_id"]) for row in rows]
        """Trajectory and customer."""
        self.customer = dict(self.largest)
        self.shelf = Shelf(trajectories)
        self.orders = Dataset(trajectories.run, "orders", Order).table(["trajectory_id", "rows", "lines"])
        of = self.orders["trajectory_id"].to_pylist()
        self.places: dict[str, list[int]] = {}
        for place, log in enumerate(of):
            self.places.setdefault(log, []).append(place)
        self.kept: OrderedDict[str, Log] = OrderedDict()
        self.events_kept = 0

    def of(self, trajectory: str, store: Store) -> Log:
        """Raises Problem where there is none such."""
        if trajectory not in self.kept:
            acts = acts_of(self.shelf.events(trajectory))
            self.kept[trajectory] = log_of(acts, bought_in(self.bought(trajectory), acts), store)
            self.events_kept += len(acts)
            while self.events_kept > AT_HAND and len(self.kept) > 1:
                self.events_kept -= len(self.kept.popitem(last=False)[1].acts)
        return self.kept[trajectory]

    def events(self, trajectory: str) -> pa.Table | None:
        """As the log has them; None where it is no customer's largest."""
        return self.shelf.events(trajectory) if trajectory in self.customer else None

    def bought(self, trajectory: str) -> list[dict[str, Any]]:
        places = np.array(self.places.get(trajectory, []), dtype=np.int64)
        found: list[dict[str, Any]] = self.orders.take(pa.array(places)).to_pylist()
        return found
