"""One number for how hard a task is, and the twelve axes that it turns (EcomRLVE-GYM, section on difficulty)."""

from dataclasses import dataclass, replace
from math import exp, floor

from shopwright.pipeline.problem import Problem

# Orders that are shown, at most, but for what the published formula asks.
MOST_ORDERS = 14
# Products that are as like what was said as a right one, at most.
MOST_LOOK_ALIKES = 8


def compute_sigmoid(x: float) -> float:
    """The logistic function.

    >>> compute_sigmoid(0.0)
    0.5
    """
    return 1 / (1 + exp(-x))


@dataclass(frozen=True)
class Axes:
    """The axes at one difficulty; tests and users may set one by hand (`dataclasses.replace`)."""

    difficulty: int
    constraints: int
    """How many must hold."""
    omission: float
    """Chance of each to be left out of the opening."""
    distractors: float
    """Share of search results that do not fit."""
    sells_out: float
    """Chance that something the shopper could want is sold out in mid-conversation."""
    turns: int
    """Of the agent, after which the shopper leaves."""
    noise: float
    """Chance of each character of the shopper's to be mistyped, and of its words to be slang."""
    switch: float
    """Chance that the shopper brings up something else on the way."""
    depth: int
    """Results of a search that can be paged to."""
    orders: int
    """Orders that the customer has, at least."""
    clauses: int
    """Rules that a question about the policy must go through."""
    tool_calls: int
    """In one turn, at most."""
    recommendations: int
    """Products that may be named in an answer."""

    @property
    def orders_shown(self) -> int:
        """Orders among which one is meant, where the customer has so many: of the few published, who guesses is right too often.

        >>> [compute_axes(level).orders_shown for level in (0, 1, 3, 6, 12)]
        [1, 5, 13, 14, 14]
        """
        return max(self.orders, min(MOST_ORDERS, 1 + 4 * self.difficulty))

    @property
    def look_alikes(self) -> int:
        """For each product that does, so many do not and have no fewer of the words that were said.

        >>> [compute_axes(level).look_alikes for level in (0, 1, 3, 12)]
        [2, 4, 8, 8]
        """
        return min(MOST_LOOK_ALIKES, 2 + 2 * self.difficulty)

    @property
    def contrast(self) -> float:
        """Chance that the shopper also says what it does not mean, or what it had before."""
        return 0.97 * compute_sigmoid(4 * (self.difficulty - 2))

    @property
    def slack(self) -> float:
        """By how much a numeric constraint is looser than what it was drawn from, as a share."""
        return 0.5 * exp(-self.difficulty / 5)


def compute_axes(difficulty: int) -> Axes:
    """The published formulas.

    >>> compute_axes(6).turns, compute_axes(6).constraints, round(compute_axes(6).omission, 2), compute_axes(12).depth
    (7, 5, 0.7, 80)

    Raises Problem for a difficulty below 0.
    """
    d = difficulty
    if isinstance(d, bool) or not isinstance(d, int) or d < 0:
        raise Problem(
            f"There is no difficulty {difficulty!r}. It is a whole number from 0 on; 12 is the hardest published."
        )
    return Axes(
        difficulty=d,
        constraints=2 + d // 2,
        # 5 / 70 / 80 % at 0 / 6 / 12, as the publication's table has it; its release's formula gives 9.5 % at 0
        omission=0.8 * compute_sigmoid((d - 3.49) / 1.289),
        distractors=min(0.4, 0.02 * d),
        sells_out=min(0.5, 0.05 * d),
        turns=4 + d // 2,
        noise=min(0.125, 0.01 * d),  # per character
        switch=0.6 * compute_sigmoid((d - 5) / 2),
        depth=max(20, 200 - 10 * d),
        orders=1 + d // 2,
        clauses=1 + d // 3,
        tool_calls=1 + d // 2,
        recommendations=min(10, 3 + floor(d / 3)),
    )


def scale_limits_to_calls(at: Axes) -> Axes:
    """One call a turn, and as many turns as there were calls, and words or an answer, in all.

    >>> scale_limits_to_calls(compute_axes(6)).turns, scale_limits_to_calls(compute_axes(6)).tool_calls
    (35, 1)
    """
    return replace(at, turns=at.turns * (at.tool_calls + 1), tool_calls=1)
