"""How hard the next task is: the controllers of RLVE and EcomRLVE-GYM, and which groups of rollouts teach anything."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from random import Random
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.envs import select_collection


class AdaptiveDifficulty(BaseModel):
    """The hardest level that an agent is ready for, in one env. It rises with what the agent can do and never falls.

    With its defaults it is RLVE's: tasks come evenly from the hardest level and the three below, only those of the hardest count, and
    once 8 prompts x 16 samples of them are in, an accuracy of 0.9 makes the next level the hardest; either way counting begins anew.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)
    window: int = Field(default=4, ge=1)
    """Levels that are played, the hardest included."""
    threshold: Fraction = Field(default=Fraction(9, 10), gt=0, le=1)
    """Accuracy from which on the agent is ready for the next level."""
    count: int = Field(default=128, ge=1)
    """Rollouts at the hardest level after which it is decided."""
    hardest: int = Field(default=0, ge=0)
    rollouts: int = Field(default=0, ge=0)
    """At the hardest level, since the last decision."""
    successes: int = Field(default=0, ge=0)
    highest: int | None = Field(default=None, ge=0)
    """Level above which the shop is too small; None: none is known."""

    @property
    def levels(self) -> range:
        """Those that are played now.

        >>> list(AdaptiveDifficulty(hardest=5).levels), list(AdaptiveDifficulty(hardest=1).levels)
        ([2, 3, 4, 5], [0, 1])
        """
        return range(max(0, self.hardest - self.window + 1), self.hardest + 1)

    def draw(self, random: Random) -> int:
        """The level of the next task."""
        return self.levels[int(random.random() * len(self.levels))]

    def record(self, level: int, success: bool) -> bool:
        """Counts a rollout; whether it made the next level the hardest."""
        if level != self.hardest:  # RLVE counts samples of the hardest level alone
            return False
        self.rollouts += 1
        self.successes += success
        if self.rollouts < self.count:
            return False
        ready = self.successes >= self.threshold * self.rollouts and self.hardest != self.highest
        self.hardest += ready
        self.rollouts = self.successes = 0  # whether or not it was enough
        return ready

    def limit(self, highest: int) -> None:
        """What lies above is not played: the shop has no such tasks. It is the one way in which the hardest level falls."""
        self.highest = highest
        if self.hardest > highest:
            self.hardest = highest
            self.rollouts = self.successes = 0


def make_ecomrlve_controller() -> AdaptiveDifficulty:
    """EcomRLVE-GYM's: a window of five levels, and a decision after 32 rollouts."""
    return AdaptiveDifficulty(window=5, count=32)


class LevelChange(BaseModel):
    """An env's hardest level was another from then on."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rollouts: int = Field(ge=0)
    """Of all envs together, until then."""
    env: str
    level: int = Field(ge=0)
    reason: str = ""
    """Why there is no harder one; empty where results raised it."""


class Curriculum(BaseModel):
    """A controller for each env of a collection; its state is JSON. `pipeline/trainers/curriculum_state.py` keeps it in a file.

    curriculum = Curriculum.of("C4")
    env, level = curriculum.draw(random)
    curriculum.record(env, level, success)
    Path("state.json").write_text(curriculum.model_dump_json())
    curriculum = Curriculum.model_validate_json(Path("state.json").read_text())
    """

    model_config = ConfigDict(extra="forbid")
    envs: dict[str, AdaptiveDifficulty] = Field(min_length=1)
    rollouts: int = Field(default=0, ge=0)
    changes: list[LevelChange] = []
    """The levels over time, the first ones included."""

    @classmethod
    def of(cls, name: str, controller: AdaptiveDifficulty | None = None) -> Self:
        """Of C1, C2, C4, C8 or one env; all begin as `controller`, which is EcomRLVE-GYM's where none is given."""
        envs = {each: (controller or make_ecomrlve_controller()).model_copy() for each in select_collection(name)}
        begins = [LevelChange(rollouts=0, env=each, level=found.hardest) for each, found in envs.items()]
        return cls(envs=envs, changes=begins)

    def draw(self, random: Random) -> tuple[str, int]:
        """The env and the level of the next task; every env is as likely as the others."""
        env = list(self.envs)[int(random.random() * len(self.envs))]
        return env, self.envs[env].draw(random)

    def record(self, env: str, level: int, success: bool) -> bool:
        """Counts a rollout; whether it made the next level of its env the hardest."""
        self.rollouts += 1
        ready = self.envs[env].record(level, success)
        if ready:
            self.changes.append(LevelChange(rollouts=self.rollouts, env=env, level=self.envs[env].hardest))
        return ready

    def limit(self, env: str, highest: int, reason: str) -> None:
        """No level of this env above `highest` is played from now on."""
        self.envs[env].limit(highest)
        self.changes.append(LevelChange(rollouts=self.rollouts, env=env, level=highest, reason=reason))


def find_informative_groups(groups: Iterable[Sequence[float]]) -> list[int]:
    """Which groups of rewards of one prompt each are kept: those whose rewards differ, as DAPO samples (arXiv 2503.14476).

    >>> find_informative_groups([[1.0, 1.0], [1.0, -1.0], []])
    [1]
    """
    return [place for place, rewards in enumerate(groups) if len(set(rewards)) > 1]
