"""Where one plays: the datasets of a run, or a small shop made for the occasion, shared by all visitors."""

import atexit
import os
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

import numpy as np
import pyarrow.compute as pc

from shopwright.pipeline.checks.shopping import index_profile_records, shop_of
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.gym import world
from shopwright.pipeline.playground.game import find_first_feasible_seed
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.play import ShopResources
from shopwright.pipeline.trainers.env import RUN
from shopwright.schemas.behaviors import Behavior
from shopwright.schemas.shopping import Profile, ShoppingTask

# What is built where no run is given: half a minute of work each.
SMALL_RUN: dict[str, dict[str, dict[str, Any]]] = {
    "en": {
        "trajectories": {"products": 1_200, "count": 20, "tokens": "16k"},
        "catalog_fine": {"leaves": 1},
        "shopping_tasks": {"count": 40, "personal": 12},
        "behaviors": {"sessions": 60},
    },
    "zh": {
        "trajectories": {"products": 3_000, "count": 20, "tokens": "16k", "language": "zh"},
        "catalog_fine": {"leaves": 1},
        "shopping_tasks": {"count": 40, "personal": 12},
    },
}


# What the pages are played of.
PLAYED = ("shopping_tasks", "behaviors")


class PlaygroundShop:
    """The shop that visitors play in. Without a run the envs play in one that is in memory, the pages in one that is built when first wanted."""

    def __init__(self, run: str = "", language: str = "en") -> None:
        self.run = run or os.environ.get(RUN, "")
        self.language = language
        self.lock, self.read = RLock(), dict[str, Dataset[Any]]()

    def open(self) -> None:
        """Makes what the first visitor would wait for. Raises Problem where a run has nothing to play."""
        if not self.run:
            world()
            return
        missing = [why for why in map(self.why_not, ("orders", *PLAYED)) if why]
        if len(missing) == 3:
            raise Problem(missing[0])

    def why_not(self, name: str) -> str:
        try:
            self.dataset(name)
        except Problem as problem:
            return str(problem)
        return ""

    def first(self, env: str) -> int:
        """The number of an env's first easiest game that can be done."""
        with self.lock:
            return find_first_feasible_seed(self.run, env)

    @cached_property
    def folder(self) -> str | Path:
        return self.run or build_small_run(self.language)

    def dataset(self, name: str) -> Dataset[Any]:
        """Raises Problem where the run has none."""
        with self.lock:
            if name not in self.read:
                found = Run(self.folder).read(name)
                if found.manifest is None:
                    raise Problem(f"{self.run} has no {name}. Build it: shopwright build {name} --run {self.run}")
                self.read[name] = found
            return self.read[name]

    def pages(self) -> ShopResources:
        with self.lock:
            return self.dataset("catalog").once(shop_of)

    def task(self, number: int, personal: bool) -> tuple[ShoppingTask, Profile | None]:
        """Raises Problem where no task is of this kind."""
        with self.lock:
            tasks = self.dataset("shopping_tasks")
            places = tasks.once(find_tasks_with_profile if personal else find_tasks_without_profile)
            if not len(places):
                raise Problem(f"There are no tasks {'with' if personal else 'without'} a profile here.")
            place = int(places[number % len(places)])
            (task,) = tasks.rows(range(place, place + 1))
            return task, self.dataset("profiles").once(index_profile_records)[
                task.profile_id
            ] if task.profile_id else None

    def session(self, number: int) -> Behavior:
        with self.lock:
            sessions = self.dataset("behaviors")
            if not len(sessions):
                raise Problem("There are no sessions here.")
            place = number % len(sessions)
            (found,) = sessions.rows(range(place, place + 1))
            return found


def build_small_run(language: str = "en") -> Path:
    """A run in a temporary folder, which is gone when the process ends; its shop speaks English or Chinese (`zh`)."""
    folder = TemporaryDirectory(prefix="shopwright-play-")
    atexit.register(folder.cleanup)
    run = Run(folder.name, workers=1)
    for name, settings in SMALL_RUN[language].items():
        run.build(name, **settings)
    return Path(folder.name)


def find_tasks_with_profile(tasks: Dataset[ShoppingTask]) -> np.ndarray:
    """The numbers of tasks that have one, for `once`."""
    return np.flatnonzero(has_profile(tasks))


def find_tasks_without_profile(tasks: Dataset[ShoppingTask]) -> np.ndarray:
    return np.flatnonzero(~has_profile(tasks))


def has_profile(tasks: Dataset[ShoppingTask]) -> np.ndarray:
    column = tasks.table(["profile_id"])["profile_id"]
    found: np.ndarray = pc.not_equal(column, "").to_numpy().astype(bool)
    return found
