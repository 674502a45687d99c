"""Builds in processes that begin in a hundredth of a second, because one that has imported everything forks them: to be killed by the hundred.

Beside it what a test of faults needs: a run of which one dataset is to be made, and whether it came out as if nothing had happened.
"""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

from shopwright.pipeline.__main__ import explain_exit
from shopwright.pipeline.problem import stop
from shopwright.pipeline.progress import LineProgress, SilentProgress
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from tests.folders import checksums

PHASES = ("before it began", "while shards were made", "when all shards were there", "while it ended")


class Forge:
    """Starts builds."""

    def __init__(self):
        self.folder = TemporaryDirectory()
        self.said = Path(self.folder.name) / "said"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.builds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, folder, name, **options):
        """Begins to build; the keywords are those of `attempt`."""
        self.process.stdin.write(
            json.dumps({"folder": str(folder), "name": name, "said": str(self.said), **options}) + "\n"
        )
        self.process.stdin.flush()
        return Begun(self.process.stdout, int(self.process.stdout.readline()), self.said)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


class Begun:
    """A build at work, alone in its process group."""

    def __init__(self, told, pid, said):
        self.told, self.pid, self.said = told, pid, said

    def ended(self, after=None, how=signal.SIGKILL, most=300):
        """Its exit code, negative for a signal: it is sent one after so many seconds, and killed where it is still there after `most`."""
        if after is not None:
            time.sleep(after)
            self.send(how)
        alarm = Timer(most, self.send, (signal.SIGKILL,))
        alarm.start()
        try:
            return int(self.told.readline())
        finally:
            alarm.cancel()

    def send(self, how):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, how)


def main():
    all_stages()
    import duckdb  # noqa: F401  (what the first build would import)
    import pandas  # noqa: F401
    import pyarrow.dataset  # noqa: F401

    fork_each(attempt)


def fork_each(attempt):
    """For each line that comes in, one after the other: a process that makes the attempt, what it says in a file; tells its number, then its exit code."""
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            os.dup2(os.open(asked.pop("said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.dup2(2, 1)
            os._exit(attempt(**asked))
        os.setpgid(child, child)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def attempt(
    folder,
    name,
    *,
    seed=None,
    workers=1,
    memory=None,
    file_size=None,
    without_rights=False,
    environment=None,
    **settings,
):
    """Builds as the command does; gives its exit code. `memory`: bytes more than there are now; `file_size`: of the largest file."""
    os.environ.update(environment or {})
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    if memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit(resource.RLIMIT_AS, pages * os.sysconf("SC_PAGE_SIZE") + memory)
    if file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit(resource.RLIMIT_FSIZE, file_size)
    if without_rights:
        drop_rights()
    try:
        Run(folder, seed=seed, workers=workers).build(name, progress=LineProgress(), **settings)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - as the command does
        code, words = explain_exit(error)
        print(words, file=sys.stderr, flush=True)
        return code
    return 0


def limit(what, most):
    resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def drop_rights():
    """So that root, too, is refused what a folder's mode does not allow (CAP_DAC_OVERRIDE and what else does that)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if libc.syscall(126, header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")


class Case:
    """One dataset of a finished run, to be made again while something happens; what it reads is linked, not copied."""

    def __init__(self, base, name):
        self.base, self.name = Path(base), name
        self.manifest = Run(base).read(name).manifest
        self.settings = {f"{name}.{key}": value for key, value in self.manifest.recipe.settings.items()}
        self.settings["seed"] = self.manifest.recipe.seed

    def fresh(self, folder):
        """The run without this dataset, in a folder."""
        self.whole(folder)
        for path in (folder / self.name, folder / "quarantine" / self.name):
            shutil.rmtree(path, ignore_errors=True)
        (folder / "manifests" / f"{self.name}.json").unlink()
        return folder

    def copied(self, folder):
        """The run without it, on another file system."""
        with TemporaryDirectory(dir=self.base.parent) as name:
            return Path(shutil.copytree(self.fresh(Path(name) / "run"), folder))

    def whole(self, folder):
        """The run with it."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.base, folder, copy_function=os.link, ignore=shutil.ignore_patterns("report.html"))
        return folder

    def half(self, folder, lacking=()):
        """The run with it, all of its shards there but for these, and not yet judged."""
        run = Run(self.whole(folder), workers=1)
        with run.lock():
            names = [f"part-{index:05d}.parquet" for index in lacking]
            run.reopen(self.manifest, without=names)
        return folder

    def files(self):
        """Paths of its files from the run's folder."""
        return sorted(self.manifest.files)

    def build(self, folder, **options):
        """As it was made; what was told of damage."""
        told, settings = Told(), dict(self.settings)
        run = Run(folder, seed=settings.pop("seed"), workers=options.pop("workers", 1))
        run.build(self.name, progress=told, **settings, **options)
        return told.of

    def same(self, folder):
        """Raises AssertionError where the dataset is not as if nothing had happened, or something is left of what did."""
        here, there = (Run(each).read(self.name).manifest for each in (folder, self.base))
        assert here.model_dump(exclude={"seconds", "workers"}) == there.model_dump(exclude={"seconds", "workers"})
        self.same_files(folder)
        left = [path.name for path in (folder / "manifests").iterdir()]
        assert sorted(left) == sorted(path.name for path in (self.base / "manifests").iterdir())

    def same_files(self, folder):
        kept = ("part-", f"{self.name}/", f"quarantine/{self.name}/")
        mine, whole = (
            {path: sum_ for path, sum_ in checksums(each).items() if path.startswith(kept)}
            for each in (folder, self.base)
        )
        assert mine == whole

    def phase(self, folder):
        """How far a build had come that was killed there."""
        if (folder / "manifests" / f"{self.name}.json").exists():
            return PHASES[3]
        if not (folder / "manifests" / f"{self.name}.building.json").exists():
            return PHASES[0]
        shards = sum(not path.startswith("quarantine") for path in self.manifest.files)
        return PHASES[2] if len(list((folder / self.name).glob("part-*.parquet"))) == shards else PHASES[1]


class Told(SilentProgress):
    """Progress that keeps what was damaged."""

    def __init__(self):
        self.of = {}

    def report_damage(self, name, files):
        self.of |= files


def shard_times(folder, name):
    """When each shard that is finished was written."""
    notes = {path.stem for path in (folder / "manifests" / f"{name}.building").glob("part-*.json")}
    thinned = {path.name.split("-across")[0] for path in (folder / "quarantine" / name).glob("*-across.parquet")}
    shards = (folder / name).glob("part-*.parquet")
    return {path.name: path.stat().st_mtime_ns for path in shards if path.stem in notes - thinned}


if __name__ == "__main__":
    main()
