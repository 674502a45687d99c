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

AT_HAND = 64
"""Logs that are kept as objects."""


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

    def of(self, trajectory: str, store: Store) -> Log:
        """Raises Problem where there is none such."""
        if trajectory not in self.kept:
            acts = acts_of(self.shelf.events(trajectory))
            self.kept[trajectory] = log_of(acts, bought_in(self.bought(trajectory), acts), store)
            if len(self.kept) > AT_HAND:
                self.kept.popitem(last=False)
        return self.kept[trajectory]

    def events(self, trajectory: str) -> pa.Table | None:
        """As the log has them; None where it is no customer's largest."""
        return self.shelf.events(trajectory) if trajectory in self.customer else None

    def bought(self, trajectory: str) -> list[dict[str, Any]]:
        places = np.array(self.places.get(trajectory, []), dtype=np.int64)
        found: list[dict[str, Any]] = self.orders.take(pa.array(places)).to_pylist()
        return found
