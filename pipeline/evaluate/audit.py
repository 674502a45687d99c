"""Whether tasks can be solved and cannot be cheated: the solver and simple players on the same tasks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from json import dumps, loads
from pathlib import Path
from typing import Any

from shopwright.pipeline.evaluate.situation import (
    AT_ONCE,
    SOLVER,
    Episode,
    NothingToDraw,
    Player,
    Score,
    Situation,
    find_player,
    play_through,
)
from shopwright.pipeline.evaluate.statistics import Share, measure_share
from shopwright.pipeline.evaluate.storage import FOLDER
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.verdict import AuditVerdict
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.models.play import Working, play_blocking
from shopwright.pipeline.models.scripted import Scripted
from shopwright.pipeline.problem import Problem

# Names and values by which tasks are counted together.
Group = tuple[tuple[str, Any], ...]
# Of each group and player: episodes, successes, and each part of the score.
Sums = dict[tuple[Group, str], Counter[str]]
EPISODES, SUCCESSES = "episodes", "successes"


@dataclass(frozen=True)
class AuditCell:
    """How a player did on the tasks of a group."""

    group: Mapping[str, Any]
    """As `env` and `level`, or `scenario`."""
    policy: str
    success: Share
    parts: Mapping[str, float]
    """The mean of each part of the score; empty where no task could be drawn."""

    @property
    def episodes(self) -> int:
        return self.success.count

    @property
    def where(self) -> str:
        """
        >>> AuditCell({"env": "policy_qa", "level": 3}, "solver", measure_share(1, 1), {}).where
        'policy_qa level 3'
        """
        return " ".join(f"{name} {value}" if isinstance(value, int) else value for name, value in self.group.items())

    def format_level(self) -> str:
        """The mean reward, with the success beside it where that is neither the solver's 100 % nor another's 0.

        >>> some = Share(0.015, 0.0, 0.1, 200)
        >>> AuditCell({"env": "policy_qa", "level": 3}, "echo-the-query", some, {"reward": -0.6}).format_level()
        '-0.60 (1.5%)'
        """
        if not self.episodes:
            return "-"
        usual = 1.0 if self.policy == SOLVER else 0.0
        beside = "" if self.success.share == usual else f" ({self.success.share:.1%})"
        return f"{self.parts['reward']:+.2f}{beside}"

    def to_json(self) -> dict[str, Any]:
        """For scripts, and as it is kept."""
        kept = {"policy": self.policy, "episodes": self.episodes, "success": asdict(self.success), "parts": self.parts}
        return {**self.group, **kept}


def audit(
    pieces: Sequence[Situation[Any, Any, Any]], players: Sequence[str] = (), *, executor: Executor | None = None
) -> list[AuditCell]:
    """Every player (all where none is named) on all tasks of a situation, which may come in pieces for several processes.

    The same cells with and without an executor. Raises Problem for a player that there is not.
    """
    names = [find_player(name, pieces[0].players)[0] for name in players or pieces[0].players]
    count = partial(count_piece, names=names)
    sums: Sums = {}
    for found in executor.map(count, pieces) if executor else map(count, pieces):
        for key, added in found.items():
            sums.setdefault(key, Counter()).update(added)
    cells = []
    for (group, policy), total in sums.items():
        episodes, successes = total.pop(EPISODES, 0), total.pop(SUCCESSES, 0)
        means = {name: round(float(part / episodes), 6) for name, part in total.items()}
        cells.append(AuditCell(dict(group), policy, measure_share(successes, episodes), means))
    return cells


def count_piece(piece: Situation[Any, Any, Any], names: Sequence[str]) -> Sums:
    """Parts are added as fractions, so that a mean does not hang on how the work was shared."""
    found: Sums = {}
    for group, policy, score in play_blocking(play_by_all(piece, names), Scripted, at_once=AT_ONCE):
        sums = found.setdefault((group, policy), Counter())
        if score:
            parts = {name: Fraction(value) for name, value in score.parts.items()}
            sums.update({EPISODES: 1, SUCCESSES: score.success, **parts})
    return found


def play_by_all(
    piece: Situation[Any, Any, Any], names: Sequence[str]
) -> Iterator[Working[tuple[Group, str, Score | None]]]:
    """Every task by each player; no score where the shop is too small for a task."""
    for task in piece.tasks():
        group = tuple(piece.group(task).items())
        try:
            drawn = piece.begin(task)
        except NothingToDraw:
            drawn = None
        for name in names:
            # Each plays an episode of its own.
            yield score_player(drawn and copy(drawn), group, name, piece.players[name])


def score_player(
    episode: Episode | None, group: Group, name: str, player: Player
) -> Working[tuple[Group, str, Score | None]]:
    if episode is None:
        return group, name, None
    return group, name, (yield from play_through(episode, player, name)).score


# What is wrong


def judge_cells(cells: Sequence[AuditCell]) -> AuditVerdict:
    """The solver succeeds every time, and no other player earns as much on average."""
    return AuditVerdict(list_unsolved(cells), list_cheated(cells))


def list_unsolved(cells: Iterable[AuditCell]) -> list[str]:
    return [
        f"{cell.where}: solved in {cell.success.share:.2%} of {cell.episodes:,} episodes"
        for cell in cells
        if cell.policy == SOLVER and cell.episodes and cell.success.share < 1
    ]


def list_cheated(cells: Iterable[AuditCell]) -> list[str]:
    cells = [cell for cell in cells if cell.episodes]
    best = {cell.where: cell.parts["reward"] for cell in cells if cell.policy == SOLVER}
    return [
        f"{describe_earnings(cell)}, the solver {best[cell.where]:+.3f}"
        for cell in cells
        if cell.policy != SOLVER and cell.where in best and cell.parts["reward"] >= best[cell.where]
    ]


def describe_earnings(cell: AuditCell) -> str:
    return f"{cell.where}: {cell.policy} earns {cell.parts['reward']:+.3f}"


# How it is shown


def tabulate_audit(cells: Sequence[AuditCell], parts: Sequence[str] = ("reward",)) -> Table:
    """A line for each group and player with its success and these parts; or, where groups have levels, with a column for each level."""
    if any("level" in cell.group for cell in cells):
        levels, rows = arrange_by_level(cells)
        lines = [[env, policy, *(cell.format_level() if cell else "-" for cell in mine)] for env, policy, mine in rows]
        return Table(["env", "policy", *map(str, levels)], lines)
    lines = []
    for cell in cells:
        means = [f"{cell.parts[part]:.3f}" if part in cell.parts else "-" for part in parts]
        lines.append([cell.policy, cell.where, f"{cell.episodes:,}", cell.success.format_interval(), *means])
    (name,) = {next(iter(cell.group)) for cell in cells}
    return Table(["policy", name, "episodes", "success, % (95 %)", *parts], lines)


def arrange_by_level(cells: Sequence[AuditCell]) -> tuple[list[int], list[tuple[str, str, list[AuditCell | None]]]]:
    """The levels, and for each env and player its cells by level."""
    levels = sorted({cell.group["level"] for cell in cells})
    found = {(cell.group["env"], cell.policy, cell.group["level"]): cell for cell in cells}
    rows = []
    for env, policy in dict.fromkeys((env, policy) for env, policy, _ in found):
        rows.append((env, policy, [found.get((env, policy, level)) for level in levels]))
    return levels, rows


def get_audit_path(run: Path, name: str) -> Path:
    """
    >>> get_audit_path(Path("run"), "envs").as_posix()
    'run/evaluations/audit-envs.json'
    """
    return run / FOLDER / f"audit-{name}.json"


def write_audit(run: Path, name: str, found: Mapping[str, Any]) -> None:
    """Its facts, verdict and `cells`."""
    write_whole(get_audit_path(run, name), dumps(found))


def read_audit(run: Path, name: str) -> tuple[dict[str, Any], list[AuditCell]] | None:
    """What an audit left in a run; None where it left nothing. Raises Problem for another file."""
    path = get_audit_path(run, name)
    if not path.exists():
        return None
    try:
        found = loads(path.read_text(encoding="utf-8"))
        return found, [parse_audit_cell(cell) for cell in found["cells"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Problem(
            f"{path} is no audit. Take it away, or make it again: shopwright audit WHAT --run {run}"
        ) from None


def parse_audit_cell(found: Mapping[str, Any]) -> AuditCell:
    """A cell as it was kept."""
    known = {"policy", "episodes", "success", "parts"}
    group = {name: value for name, value in found.items() if name not in known}
    return AuditCell(group, found["policy"], Share(**found["success"]), found["parts"])
