"""Whether the error taxonomy of shopping episodes labels what hand-written players do on purpose: each error of ShopSimulator's table made
in failed episodes of real tasks, and careful episodes that make none.

    python -m benchmarks.error_labels                     # 180 tasks of the sample shop, some 330 episodes, three minutes
    python -m benchmarks.error_labels --run data/runs/mine

The players (`tests/outside/shopping`) play by the real loop, know the shop from its Parquet files and share nothing with the rules.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.trajectories import write
from shopwright.pipeline.run import Run
from tests.outside.shopping.error_labels import Audit, describe, tabulate

TASKS, PERSONAL = 120, 60
EPISODES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="play the tasks of this run; nothing is written to the page")
    parser.add_argument(
        "--episodes", type=int, default=EPISODES, help=f"of each script in each scenario (default: {EPISODES})"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--workers", type=int, default=1, help="default: 1")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        run = Run(args.run) if args.run else Run(Path(folder), seed=args.seed, workers=args.workers)
        if not args.run:
            run.build("shopping_tasks", count=TASKS, personal=PERSONAL)
        episodes = list(Audit.of_run(run).plays(args.episodes))
    wrong = [describe(each) for each in episodes if not each.right]
    careful = sum(not each.made for each in episodes)
    total = (
        f"{len(episodes):,} episodes by {len({each.script for each in episodes})} scripts, {careful:,} of them without an error; "
        f"{len(episodes) - len(wrong):,} have exactly the labels of what was done."
    )
    text = "\n".join(["`python -m benchmarks.error_labels`", "", total, "", *tabulate(episodes)])
    print(text, *wrong, sep="\n")
    if not args.run and not wrong:
        write("error_labels", text)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
