"""Whether an env can be solved and cannot be cheated: the solver and eight cheap policies on the same tasks, level by level."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from pipeline.envs import collection, env_of
from pipeline.envs.base import World
from pipeline.envs.episode import Episode, Player, draw, played
from pipeline.envs.players import PLAYERS
from pipeline.problem import Problem
from schemas.tasks import Reward

SOLVER = "solver"
HARDEST = 99
"""No level is above it: from there on nothing gets harder."""
TOGETHER = 50
"""Tasks of a cell in one piece of work."""


@dataclass(frozen=True)
class Cell:
    """How one policy did in one env at one level."""

    env: str
    level: int
    policy: str
    episodes: int
    """Tasks that could be drawn: the shop may be too small for a level."""
    success: float | None
    """Share of them."""
    reward: float | None
    """Mean of the whole reward."""


def audit(
    world: World,
    envs: Sequence[str],
    levels: Iterable[int],
    episodes: int,
    *,
    players: Sequence[str] = tuple(PLAYERS),
    executor: Executor | None = None,
) -> list[Cell]:
    """Every player on the same tasks, those of seeds 0, 1, ...; the same cells with and without an executor.

    Raises Problem for an env, a level or a player that there is not.
    """
    for name in players:
        player_of(name)
    cells = [(env_of(env).name, level) for env in envs for level in levels]
    pieces = [
        (world, *cell, begin, min(begin + TOGETHER, episodes), tuple(players))
        for cell in cells
        for begin in range(0, episodes, TOGETHER)
    ]
    found = executor.map(piece, pieces) if executor else map(piece, pieces)
    sums: dict[tuple[str, int, str], list[tuple[int, int, Fraction]]] = {
        (*cell, player): [] for cell in cells for player in players
    }
    for (_, env, level, *_), sum_of in zip(pieces, found, strict=True):
        for player, counted in sum_of.items():
            sums[env, level, player].append(counted)
    return [Cell(*key, *means(parts)) for key, parts in sums.items()]


def piece(given: tuple[World, str, int, int, int, tuple[str, ...]]) -> dict[str, tuple[int, int, Fraction]]:
    """By player: tasks played, successes, and the sum of rewards."""
    world, name, level, begin, end, players = given
    env, rewards = env_of(name), {player: list[Reward]() for player in players}
    for seed in range(begin, end):
        try:
            episode = Episode(env, world, draw(env, world, level, seed))
        except Problem:
            if level < 0:
                raise
            continue
        for player, found in rewards.items():
            found.append(played(episode, PLAYERS[player]))
    return {
        player: (
            len(found),
            sum(each.success for each in found),
            sum((Fraction(each.total) for each in found), Fraction(0)),
        )
        for player, found in rewards.items()
    }


def means(parts: list[tuple[int, int, Fraction]]) -> tuple[int, float | None, float | None]:
    """The rewards are added as fractions, so that their mean does not hang on how the work was shared."""
    count = sum(part[0] for part in parts)
    if not count:
        return 0, None, None
    total = sum((part[2] for part in parts), Fraction(0))
    return count, sum(part[1] for part in parts) / count, round(float(total / count), 6)


def envs_of(text: str) -> list[str]:
    """The envs of a setting: names and collections, with commas between them. Raises Problem where there is no such.

    >>> envs_of("C1,policy_qa")
    ['cart_building', 'policy_qa']
    """
    return list(dict.fromkeys(env_of(env).name for each in text.split(",") for env in collection(each.strip())))


def levels_of(text: str) -> list[int]:
    """The levels of a setting. Raises Problem for what is none.

    >>> levels_of("0-3,12")
    [0, 1, 2, 3, 12]
    """
    found: list[int] = []
    for each in text.split(","):
        first, between, last = each.strip().partition("-")
        last = last if between else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) <= HARDEST):
            raise Problem(f"There are no levels {text[:60]!r}. Say 0-12, or 0,3,6; the hardest is {HARDEST}.")
        found += range(int(first), int(last) + 1)
    return list(dict.fromkeys(found))


def player_of(name: str) -> Player:
    """Raises Problem with the names that there are."""
    if name not in PLAYERS:
        raise Problem(f"There is no player {name}. There are: {', '.join(PLAYERS)}.")
    return PLAYERS[name]


@dataclass(frozen=True)
class Verdict:
    """What an audit found, in words, one line a cell."""

    unsolved: list[str]
    """Cells in which the solver does not succeed every time: a release must not get out with one."""
    cheated: list[str]
    """Cells in which a cheap policy earns as much as the solver, or more: likewise."""
    paid: list[str]
    """Cells from level 1 on in which a cheap policy earns more than nothing."""
    undrawn: list[str]
    """Cells for which the shop is too small."""

    @property
    def failed(self) -> bool:
        return bool(self.unsolved or self.cheated)


def verdict(cells: Iterable[Cell]) -> Verdict:
    cells = list(cells)
    best = {(cell.env, cell.level): cell.reward for cell in cells if cell.policy == SOLVER}
    unsolved, cheated, paid = [], [], []
    for cell in cells:
        if cell.reward is None or cell.success is None:
            continue
        where = f"{cell.env} level {cell.level}"
        if cell.policy == SOLVER:
            if cell.success < 1:
                unsolved.append(f"{where}: solved in {cell.success:.2%} of {cell.episodes} episodes")
            continue
        most = best.get((cell.env, cell.level))
        if most is not None and cell.reward >= most:
            cheated.append(f"{where}: {cell.policy} earns {cell.reward:+.3f}, the solver {most:+.3f}")
        if cell.level >= 1 and cell.reward > 0:
            paid.append(f"{where}: {cell.policy} earns {cell.reward:+.3f}")
    undrawn = list(dict.fromkeys(f"{cell.env} level {cell.level}" for cell in cells if not cell.episodes))
    return Verdict(unsolved, cheated, paid, undrawn)


def audit_rows(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """As `--json` prints them: env, level, policy, episodes, success, reward."""
    return [asdict(cell) for cell in cells]


def table(cells: Iterable[Cell]) -> str:
    """For each env and policy the mean reward by level, with its success beside it where that is neither 0 nor 100 %."""
    cells = list(cells)
    levels = sorted({cell.level for cell in cells})
    found = {(cell.env, cell.policy, cell.level): cell for cell in cells}
    rows = [["env", "policy", *map(str, levels)]]
    for env, policy in dict.fromkeys((cell.env, cell.policy) for cell in cells):
        rows.append([env, policy, *(shown(found.get((env, policy, level))) for level in levels)])
    return aligned(rows)


def shown(cell: Cell | None) -> str:
    """
    >>> shown(Cell("policy_qa", 3, "solver", 200, 1.0, 0.985)), shown(Cell("policy_qa", 3, "echo_the_query", 200, 0.015, -0.6))
    ('+0.98', '-0.60 (1.5%)')
    """
    if cell is None or cell.reward is None or cell.success is None:
        return "-"
    usual = 1.0 if cell.policy == SOLVER else 0.0
    return f"{cell.reward:+.2f}" + ("" if cell.success == usual else f" ({cell.success:.1%})")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text in columns, the first row over a line."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
