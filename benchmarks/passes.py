"""pass@k and pass^k of a model that is known: a server that solves each task in a share of its tries, behind `shopwright evaluate envs --k 8`.

    python -m benchmarks.passes --run data/runs/mine    # the tasks of a run's shop; without --run of the sample shop
    python -m benchmarks.passes --run data/runs/mine --keep

Each try is the solver's moves or nothing, by a draw from the request's seed; how often is drawn for each task. So what the figures should
be is known: of a task that is solved with chance p, one of k tries is right with 1 - (1 - p)^k, and all of them are with p^k.
"""

import argparse
import contextlib
import hashlib
import io
import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.trajectories import write
from shopwright.pipeline.__main__ import main as shopwright
from shopwright.pipeline.envs.episode import play_episode, play_solution
from shopwright.pipeline.envs.evaluate import EnvTasks
from shopwright.pipeline.gym import world
from tests.models.server import Plan, Server

CHANCES = (0.95, 0.8, 0.5, 0.1)
"""One of which is each task's."""
NOTHING = '{"answer":{}}'
SHOWN = (1, 2, 4, 8)


class KnownAgent:
    """Answers requests about tasks of which it knows the solver's moves."""

    def __init__(self, tasks: EnvTasks) -> None:
        self.moves: dict[str, list[str]] = {}
        """By the first message."""
        self.chances: dict[str, tuple[int, float]] = {}
        """Of each task its level, and how likely a try is right."""
        for task in tasks.tasks():
            episode = tasks.begin(task)
            episode.reset()
            first = episode.prompt().messages[-1]["content"]
            play_episode(episode, play_solution)
            self.moves[first] = [turn.action for turn in episode.turns]
            self.chances[first] = task.level, CHANCES[int(draw_share(first) * len(CHANCES))]

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        said = [each["content"] for each in body["messages"] if each["role"] != "system"]
        first, turn = said[0], len(said) // 2
        right = draw_share(f"{first}/{body['seed']}") < self.chances[first][1]
        return {"content": self.moves[first][turn] if right else NOTHING}


def draw_share(text: str) -> float:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest()) / 2**56


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="of which the shop is")
    parser.add_argument("--envs", default="policy_qa,order_tracking,cart_building,product_discovery")
    parser.add_argument("--levels", default="0,6,12")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="write the table to benchmarks/README.md")
    given = parser.parse_args(arguments)
    levels = [int(level) for level in given.levels.split(",")]
    agent = KnownAgent(EnvTasks(world(given.run), given.envs.split(","), levels, range(given.episodes)))
    with Server(Plan(says=agent.reply)) as server, contextlib.redirect_stdout(io.StringIO()) as out:
        run = ["--run", given.run] if given.run else []
        what = ["--envs", given.envs, "--levels", given.levels, "--episodes", str(given.episodes), "--k", "8"]
        shopwright(["evaluate", "envs", *run, *what, "--agent", f"openai:known@{server.url}", "--fresh", "--json"])
    lines = [
        f"| level | tasks |{'|'.join(f' pass@{k} | pass^{k} ' for k in SHOWN)}|",
        f"|{' --- |' * (2 + 2 * len(SHOWN))}",
    ]
    for level in levels:
        rows = [row["passes"] for row in json.loads(out.getvalue())["rows"] if row["level"] == level]
        chances = [chance for at, chance in agent.chances.values() if at == level]
        cells = []
        for k in SHOWN:
            found = [fmean(row[kind][str(k)]["share"] for row in rows) for kind in ("pass_at", "pass_all")]
            known = [fmean(1 - (1 - chance) ** k for chance in chances), fmean(chance**k for chance in chances)]
            cells += [f"{one:.2f} ({other:.2f})" for one, other in zip(found, known, strict=True)]
        lines.append(f"| {level} | {sum(row['tasks'] for row in rows)} | {' | '.join(cells)} |")
    text = "\n".join(lines)
    print(text)
    if given.keep:
        write("passes", text)


if __name__ == "__main__":
    main()
