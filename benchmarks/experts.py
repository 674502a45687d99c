"""How often the expert, who sees only what an agent sees, is fully successful in the environments, by env and level.

    python -m benchmarks.experts                                   # nine envs, levels 0, 3, 6 and 12, 50 tasks of each
    python -m benchmarks.experts --envs voucher --levels 0 --episodes 20

Why it fails is counted, too, as the score says it; and of all calls of the successful episodes, what they use that was not seen.
"""

import argparse
from collections import Counter
from collections.abc import Sequence

from benchmarks.trajectories import write
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.evaluate.situation import NothingToDraw
from shopwright.pipeline.trainers.env import ShopEnv
from shopwright.pipeline.trainers.experts import ExpertPlay, play_expert

SHOWN = 3
"""Reasons of an env that are shown."""


def play_tasks(env: str, level: int, episodes: int) -> list[ExpertPlay]:
    """The plays of tasks 0, 1, ...; tasks that the shop is too small for are left out."""
    shop, found = ShopEnv(), []
    for seed in range(episodes):
        try:
            found.append(play_expert(shop, {"env": env, "difficulty": level, "seed": seed}))
        except NothingToDraw:
            continue
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", default=[name for name in all_envs() if name != "journey"])
    parser.add_argument("--levels", nargs="+", type=int, default=[0, 3, 6, 12])
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--keep", action="store_true", help="write the table to benchmarks/README.md")
    given = parser.parse_args(arguments)
    heads = [f"level {level}" for level in given.levels]
    lines = [f"| env | {' | '.join(heads)} | why it failed |", f"| --- |{' ---: |' * len(heads)} --- |"]
    unseen = calls = 0
    for env in given.envs:
        shares, reasons = [], Counter[str]()
        for level in given.levels:
            plays = play_tasks(env, level, given.episodes)
            won = [each for each in plays if each.reward is not None and each.reward.success]
            unseen += sum(len(each.unseen) for each in won)
            calls += sum(len(each.steps) for each in won)
            reasons.update(each.reward.fault if each.reward else "no answer" for each in plays if each not in won)
            shares.append(f"{len(won) / len(plays):.2f}" if plays else "–")
        why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(SHOWN))
        lines.append(f"| {env} | {' | '.join(shares)} | {why} |")
        print(lines[-1], flush=True)
    text = "\n".join(
        [*lines, "", f"Of {calls:,} calls in the successful episodes, {unseen} use something that was not seen."]
    )
    print(text)
    if given.keep:
        write("experts", text)


if __name__ == "__main__":
    main()
