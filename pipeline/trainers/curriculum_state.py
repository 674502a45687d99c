"""Tasks at the level that a training run's results call for; every process of the training shares one file with its state.

    training = begin_training("data/runs/mine", "first", "C4", group=8)
    rows = training.rows(2_400)                                # for TRL and verl: each is a number, its task is drawn at its reset
    env.reset(extra_info={"task": {"training": "first"}})      # or one after the other, as a server asks
    training.read().curriculum.changes                         # the levels over time

The levels are RLVE's, by `pipeline/envs/curriculum.py`. Rollouts of one task are a group. The file is read and written whole under a lock,
so a training that was killed goes on at the same levels, and with the tasks that were under way. Tasks are of the training side alone.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.curriculum import (
    AdaptiveDifficulty,
    Curriculum,
    find_informative_groups,
    make_ecomrlve_controller,
)
from shopwright.pipeline.files import here, path_of, write_whole
from shopwright.pipeline.problem import Problem, suggest_name
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.stages.env_tasks import draw_solved_task
from shopwright.schemas.record import Rejected

T = TypeVar("T")
# In a run, beside its datasets.
FOLDER = "curricula"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Groups that are remembered: more than are under way at once.
GROUPS = 1_000
GROUP = 8
# Seeds, of which one in ten is of the test: a level at which none of so many has a task is none of this shop.
TRIES = 12
SEEDS = 10**9


class Group(BaseModel):
    """The rollouts of one task."""

    model_config = ConfigDict(extra="forbid")
    env: str
    level: int = Field(ge=0)
    seed: int = Field(ge=0)
    """The task is of the first seed from here on that has one."""
    successes: list[bool] = []


class TrainingState(BaseModel):
    """All that is kept of a training run."""

    model_config = ConfigDict(extra="forbid")
    collection: str
    group: int = Field(ge=1)
    """Rollouts of a task."""
    curriculum: Curriculum
    drawn: int = Field(default=0, ge=0)
    """Tasks."""
    begun: int = Field(default=0, ge=0)
    """Rollouts that were asked for without a number."""
    groups: dict[int, Group] = {}
    """By their number, the oldest first."""

    @property
    def settings(self) -> dict[str, Any]:
        """What it was begun with."""
        first = next(iter(self.curriculum.envs.values()))
        return {
            "collection": self.collection,
            "group": self.group,
            **{name: getattr(first, name) for name in ("window", "threshold", "count")},
        }


@dataclass(frozen=True)
class Rollout:
    """A task that was handed out."""

    training: "Training"
    number: int
    """Of its group."""
    env: str
    level: int
    start: int
    """The seed at which its task was looked for."""
    seed: int

    @property
    def task(self) -> dict[str, Any]:
        return {"env": self.env, "difficulty": self.level, "seed": self.seed}

    def record(self, success: bool) -> None:
        """Counts its result, once for each rollout."""

        def change(state: TrainingState) -> None:
            state.curriculum.record(self.env, self.level, success)
            group = state.groups.get(self.number)
            if group and group.seed == self.start:  # else the number has another task by now
                group.successes.append(success)

        self.training.update(change)


@dataclass(frozen=True)
class Training:
    """A training run, which is no more than its file."""

    run: str
    name: str

    @property
    def path(self) -> Path:
        return folder_of(self.run) / f"{check_name(self.name)}.json"

    def read(self) -> TrainingState:
        """Raises Problem where there is none of this name, or its file holds something else."""
        try:
            return TrainingState.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            known = list_trainings(self.run)
            hint = suggest_name(self.name, known) if known else "None was begun yet."
            raise Problem(f"{self.run} has no training run {self.name}. {hint}") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the file"
            why = f"{place[:80]}: {first['msg'][:120]}"
        except OSError as error:
            why = str(error.strerror or error)
        raise Problem(
            f"{self.path} is not the state of a training run ({why}). Put a copy of it back, or take it away to begin anew at level 0."
        )

    def update(self, change: Callable[[TrainingState], T]) -> T:
        """Reads, changes and writes the state, while no other thread or process does."""
        if not self.path.exists():
            self.read()  # says so, and leaves no lock behind
        with lock_file(self.path):
            state = self.read()
            found = change(state)
            write_whole(self.path, state.model_dump_json())
        return found

    def take(self, world: World, number: int | None = None) -> Rollout:
        """The next rollout, or one of the group of this number. Raises Problem where the shop has no task of an env at any level."""
        while True:
            at, group = self.update(partial(choose_group, name=self.name, number=number))
            seed, why = find_training_seed(world, group.env, group.level, group.seed)
            if seed is not None:
                return Rollout(self, at, group.env, group.level, group.seed, seed)
            if not group.level:
                raise Problem(
                    f"The curriculum needs {group.env}, and there is {why}. Choose another collection or a larger shop."
                )
            number = at
            self.update(partial(give_up_level, number=at, group=group, why=why))

    def rows(self, count: int, first: int = 0) -> list[dict[str, Any]]:
        """Rows for TRL and verl, in the form of `rl_envs`: as many prompts as the training takes; their tasks are drawn when they are played."""
        from shopwright.pipeline.publish.exporters.rl import build_rl_row

        # TRL puts what `reset` returns behind the user's last message; our loop for verl takes the environment's own.
        system = render_messages("trainers/envs", opening="", calls=0)[0]
        return [
            build_rl_row(
                f"{self.name}-{number:07d}",
                "ecomrlve",
                "envs",
                [system, {"role": "user", "content": ""}],
                truth="",
                extra={"split": "train", "index": number, "task": {"training": self.name, "number": number}},
            )
            for number in range(first, first + count)
        ]


def begin_training(
    run: str | Path, name: str, collection: str, *, group: int = GROUP, controller: AdaptiveDifficulty | None = None
) -> Training:
    """A training run of a collection or env, new or as it was left. Raises Problem where one of this name was begun otherwise."""
    training = Training(str(run), name)
    curriculum = Curriculum.of(collection, controller or make_ecomrlve_controller())
    if group < 1:
        raise Problem(f"A group of {group} rollouts is none. Give 1 or more.")
    wanted = TrainingState(collection=collection, group=group, curriculum=curriculum)
    with lock_file(training.path):
        if not training.path.exists():
            write_whole(training.path, wanted.model_dump_json())
        known = training.read()
    if differs := [key for key, value in wanted.settings.items() if known.settings[key] != value]:
        said = ", ".join(f"{key} {known.settings[key]}, not {wanted.settings[key]}" for key in differs)
        raise Problem(f"The training run {name} was begun with {said}. Ask for it as it was, or choose another name.")
    return training


def choose_group(state: TrainingState, name: str, number: int | None) -> tuple[int, Group]:
    """The group that a rollout joins. One whose rollouts have all ended is drawn anew: its number came again in another epoch."""
    if number is None:
        number = state.begun // state.group
        state.begun += 1
    found = state.groups.get(number)
    if found is None or len(found.successes) >= state.group:
        random = Random(f"{name}/{state.drawn}")
        env, level = state.curriculum.draw(random)
        found = Group(env=env, level=level, seed=random.randrange(SEEDS))
        state.drawn += 1
        state.groups.pop(number, None)
        state.groups[number] = found
        while len(state.groups) > GROUPS:
            state.groups.pop(next(iter(state.groups)))
    return number, found


def give_up_level(state: TrainingState, number: int, group: Group, why: str) -> None:
    """The shop has no task at this level: the one below is the hardest, and the number gets another task."""
    if state.groups.get(number) == group:
        del state.groups[number]
    if state.curriculum.envs[group.env].hardest >= group.level:  # else another rollout has found it out
        state.curriculum.limit(group.env, group.level - 1, why)


@lru_cache(4_096)
def find_training_seed(world: World, env: str, level: int, start: int) -> tuple[int | None, str]:
    """The first seed from `start` on whose task is of the training side and solved by its solver; else why there is none."""
    why = ""
    for seed in range(start, start + TRIES):
        found = draw_solved_task(world, env, level, seed)
        if isinstance(found, Rejected):
            why = found.reasons[0]
        elif found.split == "train":
            return seed, ""
    return None, why or "no task of the training side"


def summarize_training(training: Training) -> dict[str, Any]:
    """The levels now and over time, as JSON."""
    state = training.read()
    counts = [len(group.successes) for group in state.groups.values()]
    whole = [
        group.successes for group, count in zip(state.groups.values(), counts, strict=True) if count >= state.group
    ]
    return {
        "training": training.name,
        **{name: float(value) if isinstance(value, Fraction) else value for name, value in state.settings.items()},
        "rollouts": state.curriculum.rollouts,
        "levels": {env: each.hardest for env, each in state.curriculum.envs.items()},
        "highest": {env: each.highest for env, each in state.curriculum.envs.items() if each.highest is not None},
        "changes": [change.model_dump() for change in state.curriculum.changes],
        "groups": {
            "whole": len(whole),
            "informative": len(find_informative_groups(whole)),
            "open": len(counts) - len(whole),
        },
    }


def summarize_group(training: Training, number: int) -> dict[str, Any]:
    """A group's results as JSON; `informative` is null until all are in. Raises Problem where it is not remembered."""
    state = training.read()
    group = state.groups.get(number)
    if group is None:
        raise Problem(f"The training run {training.name} remembers no group {number}. It keeps the latest {GROUPS:,}.")
    ended = len(group.successes) >= state.group
    return {
        "number": number,
        "env": group.env,
        "level": group.level,
        "successes": group.successes,
        "informative": bool(find_informative_groups([group.successes])) if ended else None,
    }


def list_trainings(run: str) -> list[str]:
    return sorted(path.stem for path in folder_of(run).glob("*.json") if NAME.fullmatch(path.stem))


def folder_of(run: str) -> Path:
    """Of a run elsewhere, its folder on this machine."""
    if not run:
        raise Problem(
            "A training run needs a run's folder, which keeps its state and has the shop: ShopEnv(run=FOLDER)."
        )
    return here(path_of(run)) / FOLDER


def check_name(name: str) -> str:
    """Raises Problem for what is no file's name everywhere."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Problem(
            f"{str(name)[:80]!r} is no name of a training run. Use up to 64 letters, digits, dots, - and _, a letter or digit first."
        )
    return name


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """One at a time; the lock goes with the process that holds it, however that ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise Problem(f"Cannot write to {path.parent}: {error.strerror}. Choose another --run folder.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
