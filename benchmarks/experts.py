"""How often the expert, who sees only what an agent sees, is fully successful in the environments, by env and level.

    python -m benchmarks.experts                                   # all envs, levels 0, 3, 6 and 12, 50 tasks of each
    python -m benchmarks.experts --envs voucher --levels 0 --episodes 20 --first 1000

Why it fails is counted, too, as the score says it; and of all values that it used, those that it had not seen.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import partial

from benchmarks.trajectories import write
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.difficulty import compute_axes, scale_limits_to_calls
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode
from shopwright.pipeline.envs.unseen import find_usage
from shopwright.pipeline.evaluate.situation import NothingToDraw
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.experts.player import load_lexicon, play_by_expert
from shopwright.pipeline.gym import world

SHOWN = 3
"""Reasons of an env that are shown."""


def play_tasks(shop: World, env: str, level: int, seeds: range) -> list[Episode]:
    """The plays of these tasks; those that the shop is too small for are left out."""
    found = []
    for seed in seeds:
        try:
            task = draw_task(get_env(env), shop, level, seed)
        except NothingToDraw:
            continue
        episode = Episode(get_env(env), shop, task, at=scale_limits_to_calls(compute_axes(level)))
        play_episode(episode, partial(play_by_expert, lexicon=load_lexicon(shop.store)))
        found.append(episode)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", default=list(all_envs()))
    parser.add_argument("--levels", nargs="+", type=int, default=[0, 3, 6, 12])
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="seed of the first task")
    parser.add_argument("--keep", action="store_true", help="write the table to benchmarks/README.md")
    given = parser.parse_args(arguments)
    heads = [f"level {level}" for level in given.levels]
    lines = [f"| env | {' | '.join(heads)} | why it failed |", f"| --- |{' ---: |' * len(heads)} --- |"]
    shop, unseen, used = world(), 0, 0
    for env in given.envs:
        shares, reasons = [], Counter[str]()
        for level in given.levels:
            plays = play_tasks(shop, env, level, range(given.first, given.first + given.episodes))
            rewards = [each.reward for each in plays if each.reward]
            usages = [find_usage(each.task.opening, each.turns) for each in plays]
            unseen += sum(len(each.unseen) for each in usages)
            used += sum(each.used for each in usages)
            reasons.update(each.fault for each in rewards if not each.success)
            share = measure_share(sum(each.success for each in rewards), len(rewards))
            shares.append(f"{share.share:.2f} ({share.low:.2f}-{share.high:.2f})" if rewards else "–")
        why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(SHOWN))
        lines.append(f"| {env} | {' | '.join(shares)} | {why} |")
        print(lines[-1], flush=True)
    last = given.first + given.episodes - 1
    text = "\n".join(
        [*lines, "", f"Seeds {given.first} to {last}. Of {used:,} values used, {unseen} had not been seen."]
    )
    print(text)
    if given.keep:
        write("experts", text)


if __name__ == "__main__":
    main()
