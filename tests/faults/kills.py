"""`kill -9` at random moments: the same build begun again and again, and killed, so many times; in the end nobody can tell.

    python -m tests.faults.kills personas trajectories --kills 50 --seed 1

builds a small run of every dataset, kills these (default: all of them), and tells what was met. Exits with 1 where something was lost.
"""

import argparse
import sys
import time
from collections import Counter
from random import Random

from tests.faults.builds import Case, Forge, shard_times


def kill(forge, case, folder, kills, seed, **options):
    """Counts how far it had come each time. Raises AssertionError where a finished shard was made again, or the end is not as undisturbed."""
    moments, landed = Random(f"{case.name} {seed}"), Counter()
    began = time.monotonic()
    case.fresh(folder)
    assert forge.begin(folder, case.name, **case.settings, **options).ended() == 0
    longest = time.monotonic() - began
    case.same(folder)
    case.fresh(folder)
    while landed.total() < kills:
        kept = shard_times(folder, case.name)
        begun = forge.begin(folder, case.name, **case.settings, **options)
        code = begun.ended(moments.uniform(0, longest))
        assert code in (0, -9), f"{code}: {begun.said.read_text()}"
        if code == 0:
            case.same(folder)
            case.fresh(folder)
            continue
        landed[case.phase(folder)] += 1
        now = shard_times(folder, case.name)
        again = [shard for shard in kept.keys() & now.keys() if kept[shard] != now[shard]]
        assert not again, f"a finished shard was made again: {again}"
    begun = forge.begin(folder, case.name, **case.settings, **options)
    assert begun.ended() == 0, begun.said.read_text()
    case.same(folder)
    return landed


def main():
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from docs.make import small_run
    from shopwright.pipeline.stages import all_stages

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", help="default: every one")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        run, forge, total = small_run(Path(name) / "small", workers=1), Forge(), Counter()
        for dataset in options.datasets or all_stages():
            case = Case(run.folder, dataset)
            found = kill(forge, case, Path(name) / "run", options.kills, options.seed, workers=options.workers)
            total += found
            print(f"{dataset:18} {dict(found)}", flush=True)
        print(f"{total.total()} kills, nothing lost: {dict(total)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
