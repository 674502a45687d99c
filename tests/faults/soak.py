"""Hours of faults: builds are killed, stopped, starved and damaged, hostile catalogs are built, and everything is compared with what it should be.

    python -m tests.faults.soak --minutes 60 --seed 1 --write docs/reliability.md

Each round draws a dataset and a fault, lets it happen, here or elsewhere, builds again, and compares every byte with an undisturbed build; all checks
are run again now and then. At the end it tells what was tried, what was lost (exit code 1 where anything was) and what the process that builds
again took of memory. A round is a function of the seed and its number; how many there are depends on the machine. Ctrl-C ends it with its figures.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa

from docs.make import small_run
from shopwright.pipeline.problem import Problem, stop
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.verify import verify
from tests.faults import damage, disk, elsewhere, figures
from tests.faults.builds import Case, Forge, shard_times
from tests.faults.elsewhere import TRAJECTORIES
from tests.hostile import shops
from tests.processes import Build

HEAVY = {
    "rl_prompts": 0.1,
    "rollouts": 0.1,
    "shopping_tasks": 0.3,
    "behaviors": 0.3,
    "questions": 0.5,
    "shopping_episodes": 0.5,
}
"""How often a dataset is drawn, where not as often as the others: it takes many times as long."""


@dataclass
class Soak:
    """What one has at hand, and what was counted."""

    folder: Path
    seed: int
    base: Path
    forge: Forge
    counts: Counter = field(default_factory=Counter)
    """Faults by kind."""
    bad: Counter = field(default_factory=Counter)
    """Bad input by kind."""
    figures: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    """Seconds by some clock, and resident bytes of this process, whenever it had built something."""
    storage: elsewhere.Storage | None = None

    def compared(self, case, folder):
        """Every byte of a dataset is as it was made undisturbed."""
        case.same(folder)
        self.figures["datasets compared byte by byte"] += 1
        self.figures["rows compared"] += case.manifest.rows + case.manifest.rejected

    def again(self, case, folder, **options):
        """The same build once more, undisturbed, which must end well."""
        begun = self.forge.begin(folder, case.name, **case.settings, **options)
        code = begun.ended()
        assert code == 0, f"exit code {code}: {begun.said.read_text()[-2_000:]}"
        self.compared(case, folder)

    def weigh(self):
        """What this process, which builds again and again, holds of memory now; what is free for the next build is given back first."""
        gc.collect()
        pa.default_memory_pool().release_unused()
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.memory.append((time.monotonic(), pages * os.sysconf("SC_PAGE_SIZE")))

    def told_plainly(self, code, said):
        assert code in (0, 2, 3, 130, -9), f"exit code {code}: {said[-2_000:]}"
        assert "Traceback" not in said, said[-1_500:]


# --- faults: each lets one happen to a build of one dataset, and sees to it that nothing came of it ----------------------


def killed(soak, case, chance):
    """`kill -9`, several times on the way."""
    folder = case.fresh(soak.folder / "run")
    took = max(0.1, case.manifest.seconds * 2)
    for _ in range(chance.randrange(1, 7)):
        kept = shard_times(folder, case.name)
        begun = soak.forge.begin(folder, case.name, **case.settings)
        code = begun.ended(chance.uniform(0, took))
        assert code in (0, -9), begun.said.read_text()[-2_000:]
        if code == 0:
            break
        soak.counts["kill -9"] += 1
        now = shard_times(folder, case.name)
        assert all(now[shard] == kept[shard] for shard in kept.keys() & now.keys()), "a finished shard was made again"
    soak.again(case, folder)


def asked_to_stop(soak, case, chance):
    """Ctrl-C, SIGTERM, or its terminal was closed."""
    folder = case.fresh(soak.folder / "run")
    how = chance.choice([signal.SIGINT, signal.SIGTERM])
    begun = soak.forge.begin(folder, case.name, **case.settings)
    code = begun.ended(chance.uniform(0, max(0.1, case.manifest.seconds * 2)), how)
    assert code in (0, 130, -how), begun.said.read_text()[-2_000:]
    soak.counts[how.name] += code != 0
    soak.again(case, folder)


def damaged(soak, case, chance):
    """A file of a finished dataset is not as it was."""
    folder, path, hurt = case.whole(soak.folder / "run"), chance.choice(case.files()), chance.choice(damage.ALL)
    hurt(folder / path, chance)
    told = case.build(folder)
    assert list(told) == [path], f"{hurt.__name__} {path}: told {told}"
    soak.counts[f"file {hurt.__name__}"] += 1
    soak.compared(case, folder)
    soak.weigh()


def disk_full(soak, case, chance):
    folder = soak.folder / "full" / "run"
    folder.parent.mkdir()
    written = sum(facts.bytes for facts in case.manifest.files.values()) // 1024
    room = str(chance.randrange(4, max(8, written + 8)))
    words = [*disk.ALONE, sys.executable, "-m", "tests.faults.disk", case.base, case.name, folder, room]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    told = json.loads(done.stdout)
    soak.told_plainly(told["code"], told["said"])
    assert told["then"] == 0, told["then_said"][-2_000:]
    soak.counts["disk full"] += told["code"] != 0
    soak.compared(case, folder)


def file_too_large(soak, case, chance):
    folder = case.fresh(soak.folder / "run")
    largest = max(facts.bytes for facts in case.manifest.files.values())
    begun = soak.forge.begin(folder, case.name, file_size=chance.randrange(1_000, max(1_001, largest)), **case.settings)
    code = begun.ended()
    soak.told_plainly(code, begun.said.read_text())
    soak.counts["file too large"] += code != 0
    soak.again(case, folder)


def without_rights(soak, case, chance):
    folder = case.fresh(soak.folder / "run")
    place = folder / chance.choice([".", "manifests"])
    place.chmod(0o555)
    begun = soak.forge.begin(folder, case.name, without_rights=True, **case.settings)
    code = begun.ended()
    place.chmod(0o755)
    soak.told_plainly(code, begun.said.read_text())
    soak.counts["no right to write"] += code != 0
    soak.again(case, folder)


def memory_short(soak, case, chance):
    folder = case.fresh(soak.folder / "run")
    begun = soak.forge.begin(folder, case.name, memory=chance.randrange(1, 64) << 20, **case.settings)
    code = begun.ended(most=max(20, case.manifest.seconds * 5))
    soak.counts["memory short"] += code != 0  # -9: it waited for a thread that there was no room for
    soak.again(case, folder)


def note_damaged(soak, case, chance):
    """A half-built dataset, one file of which is not as it was."""
    folder = case.half(soak.folder / "run")
    there = [*(folder / case.name).glob("part-*"), *(folder / "manifests" / f"{case.name}.building").glob("part-*")]
    hurt = chance.choice([damage.flipped, damage.cut, damage.zeros, damage.longer])
    hurt(chance.choice(sorted(there)), chance)
    case.build(folder)
    soak.counts["half-built file damaged"] += 1
    soak.compared(case, folder)
    soak.weigh()


def manifest_damaged(soak, case, chance):
    folder = case.whole(soak.folder / "run")
    path = folder / "manifests" / f"{case.name}.json"
    chance.choice([damage.flipped, damage.cut, damage.zeros])(path, chance)
    try:
        case.build(folder)
    except Problem as problem:
        if str(path) not in str(problem):
            raise
        case.build(folder, rebuild=True)
    soak.counts["manifest damaged"] += 1
    soak.compared(case, folder)
    soak.weigh()


# --- faults of whole commands: workers, and builds that meet -------------------------------------------------------------


def command(soak, chance):
    """A build with two workers on the command line, and where it is."""
    folder = soak.folder / "commanded"
    build = Build("shopwright.pipeline", folder, *TRAJECTORIES, "--minutes", "0.2")
    build.until("trajectories:")
    return build, folder


def goes_on(soak, folder):
    elsewhere.ends_as_here(soak, folder, folder)


def worker_killed(soak, chance):
    worker_sent(soak, chance, signal.SIGKILL, "worker killed")


def worker_stopped(soak, chance):
    worker_sent(soak, chance, signal.SIGSTOP, "worker hung")


def worker_sent(soak, chance, how, kind):
    build, folder = command(soak, chance)
    os.kill(build.a_worker(), how)
    code, said = build.ended()
    soak.told_plainly(code, said)
    assert build.gone()
    soak.counts[kind] += 1
    goes_on(soak, folder)


def parent_killed(soak, chance):
    build, folder = command(soak, chance)
    time.sleep(chance.uniform(0, 0.6))
    with contextlib.suppress(ProcessLookupError):
        build.process.kill()
    build.process.wait()
    assert build.gone(), "a worker outlived it"
    soak.counts["parent killed"] += 1
    goes_on(soak, folder)


def terminal_closed(soak, chance):
    build, folder = command(soak, chance)
    time.sleep(chance.uniform(0, 0.6))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(build.process.pid, chance.choice([signal.SIGHUP, signal.SIGINT, signal.SIGTERM]))
    code, said = build.ended()
    assert code in (0, 130), said[-2_000:]
    assert build.gone()
    soak.counts["command asked to stop"] += 1
    goes_on(soak, folder)


def two_at_once(soak, chance):
    folder = soak.folder / "commanded"
    builds = [Build("shopwright.pipeline", folder, *TRAJECTORIES) for _ in range(chance.randrange(2, 5))]
    ends = [build.ended() for build in builds]
    for code, said in ends:
        # Which process it is stands there as soon as that one has written it down.
        assert code == 0 or (
            code == 2 and re.search(r"Another build is at work in \S+( \(process \d+ on |\. Wait)", said)
        ), said
    assert any(code == 0 for code, _ in ends)
    soak.counts["builds in one folder at once"] += len(builds)
    goes_on(soak, folder)


# --- bad input -----------------------------------------------------------------------------------------------------------


def hostile_catalog(soak, chance):
    """A random shop full of what breaks out elsewhere, and some or all datasets built on it."""
    names = chance.choice([["catalog"], ["catalog", "personas", "queries", "trajectories"], list(all_stages())])
    form = chance.choice(["csv", "jsonl", "parquet"])
    place = soak.folder / "hostile"
    place.mkdir()
    found = shops.world(place, chance.randrange(10**6), chance.randrange(40, 200), form, names)
    for holds in shops.HOLD:
        if len(names) > 1 or "_log_" not in holds.__name__:
            holds(found)
    soak.bad["hostile catalogs"] += 1
    soak.bad["rows of hostile catalogs"] += found.rows
    soak.bad["datasets built on them"] += len(shops.whole(found))
    soak.weigh()


SINGLE = [
    killed,
    killed,
    asked_to_stop,
    damaged,
    damaged,
    file_too_large,
    without_rights,
    memory_short,
    note_damaged,
    manifest_damaged,
]
COMMANDS = [worker_killed, worker_stopped, parent_killed, terminal_closed, two_at_once]
INPUT = [hostile_catalog]


def drawn(soak, number):
    """What happens in a round, to which dataset (none where it is a whole command), and the chance that it has left."""
    chance = Random(f"{soak.seed} {number}")
    there, with_dask = elsewhere.draw_from(elsewhere.list_missing())
    kind = chance.random()
    if kind < 0.22:
        return (
            chance.choice(INPUT if kind < 0.08 else COMMANDS if kind < 0.16 or not with_dask else with_dask),
            None,
            chance,
        )
    small_disk = [disk_full] if soak.figures["small disks"] else []
    fault = chance.choice(there if kind < 0.34 and there else [*SINGLE, *small_disk])
    (name,) = chance.choices(list(all_stages()), [HEAVY.get(name, 1) for name in all_stages()])
    return fault, name, chance


def one_round(soak, fault, name=None, *, chance):
    """Lets it happen; what was lost is told and kept, and the next round can begin."""
    label = f"{fault.__name__} {name or ''}".strip()
    try:
        fault(soak, *([Case(soak.base, name)] if name else []), chance)
    except Exception as error:  # noqa: BLE001 - whatever it is, the soak goes on and tells it
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {str(error)[:1_500] or where.line}"
        soak.wrong.append(
            f"round {soak.figures['rounds']}, {label}: {said} ({Path(where.filename).name}:{where.lineno})"
        )
        print(soak.wrong[-1], flush=True)
    for folder in ("run", "full", "hostile", "commanded"):
        subprocess.run(["rm", "-rf", soak.folder / folder], check=False)
    soak.figures["rounds"] += 1
    return label


def checked(soak):
    """All checks of the undisturbed run again."""
    failed = [f"{verdict.dataset}: {verdict.check}" for verdict in verify(Run(soak.base, workers=1)) if verdict.failed]
    soak.figures["times that all checks were run again"] += 1
    if failed:
        soak.wrong.append(f"verify: {failed}")
    soak.weigh()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="FILE", type=Path, help="put the figures there, between its marks")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="shopwright-soak-") as name, contextlib.ExitStack() as stack:
        print("building the run that everything is compared with ...", flush=True)
        base, forge = small_run(Path(name) / "base", workers=1).folder, stack.enter_context(contextlib.closing(Forge()))
        soak = Soak(Path(name), options.seed, base, forge)
        if "object storage" not in elsewhere.list_missing():
            soak.storage = stack.enter_context(contextlib.closing(elsewhere.Storage(Path(name))))
        soak.figures["small disks"] = int(disk.available())
        began = said = time.monotonic()
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, stop)
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() - began < 60 * options.minutes:
                fault, dataset, chance = drawn(soak, soak.figures["rounds"])
                label = one_round(soak, fault, dataset, chance=chance)
                if soak.figures["rounds"] % 50 == 1:
                    checked(soak)
                if time.monotonic() - said > 30:
                    said = time.monotonic()
                    print(
                        f"{(said - began) / 60:5.1f} min  {soak.figures['rounds']:,} rounds, {soak.counts.total():,} faults, "
                        f"{len(soak.wrong)} wrong, {soak.memory[-1][1] / 1e6:,.0f} MB; last: {label}",
                        flush=True,
                    )
        lines = figures.tabulate(soak, time.monotonic() - began)
    print("\n".join([*lines, *soak.wrong]))
    if options.write:
        figures.put_between_marks(lines, options.write)
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
