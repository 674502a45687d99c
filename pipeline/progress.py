"""What a person sees while a build is at work: a bar on a terminal, plain lines elsewhere.

Before the first shard is there, the time left is what earlier builds on this machine took; they are noted in a small file of the user's cache.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import find_cache_folder, write_whole

SECONDS_BETWEEN_LINES = 5.0
# Kinds of builds whose times are kept; the one that was noted first goes first.
MOST_KINDS = 200


class Progress(Protocol):
    def report_damage(self, name: str, files: dict[str, str]) -> None: ...
    def start(self, name: str, units: int, shards: int, missing: int, *, workers: int = 1, kind: str = "") -> None: ...
    def shard(self, rows: int, rejected: int) -> None: ...
    def end(self, manifest: Manifest) -> None: ...
    def stop(self) -> None: ...


class SilentProgress:
    def report_damage(self, name: str, files: dict[str, str]) -> None: ...
    def start(self, name: str, units: int, shards: int, missing: int, *, workers: int = 1, kind: str = "") -> None: ...
    def shard(self, rows: int, rejected: int) -> None: ...
    def end(self, manifest: Manifest) -> None: ...
    def stop(self) -> None: ...


class LineProgress(SilentProgress):
    """One line when a dataset begins, one every few seconds, one at its end."""

    kind = ""

    def report_damage(self, name: str, files: dict[str, str]) -> None:
        for path, how in files.items():
            self.say(f"{name}: {path} was damaged: {how}. Its shard is made again.")

    def start(self, name: str, units: int, shards: int, missing: int, *, workers: int = 1, kind: str = "") -> None:
        self.name, self.missing, self.done, self.rows, self.rejected = name, missing, 0, 0, 0
        expected = self.expect(units * missing / shards, min(workers, missing), kind)
        self.began = self.said = monotonic()
        kept = f", {shards - missing} of {shards} shards were there already" if missing < shards else ""
        self.say(f"{name}: {missing} shard{'' if missing == 1 else 's'} to make{kept}{expected and f', {expected}'}")

    def expect(self, units: float, workers: int, kind: str) -> str:
        """How long so much work may take, in words; empty where nothing is known, or it ends before the next line.

        units: of the shards that are missing. kind: what builds have in common that are as fast as each other.
        """
        self.units, self.workers, self.kind = units, max(1, workers), kind
        path = find_build_times()
        try:
            known = read_build_times(path).get(kind)
        except ValueError:
            self.say(f"{path} cannot be read, so nothing is known of earlier builds here; it is written anew.")
            known = None
        seconds = known[1] / known[0] * units / self.workers if known else 0.0
        return f"about {seconds:,.0f} s by earlier builds here" if seconds > SECONDS_BETWEEN_LINES else ""

    def shard(self, rows: int, rejected: int) -> None:
        self.done, self.rows, self.rejected = self.done + 1, self.rows + rows, self.rejected + rejected
        if monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = monotonic()
            spent = self.said - self.began
            left = spent / self.done * (self.missing - self.done)
            self.say(
                f"{self.name}: {self.done} of {self.missing} shards, {self.rows:,} rows, "
                f"{self.rows / spent:,.0f} rows/s, {self.rejected:,} rejected, about {left:,.0f} s left"
            )

    def end(self, manifest: Manifest) -> None:
        self.say(describe_finished_build(manifest))
        if self.kind:
            note_build_time(self.kind, self.units, (monotonic() - self.began) * self.workers)

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class BarProgress(LineProgress):
    """A bar with rows a second, rejects and the time left."""

    def start(self, name: str, units: int, shards: int, missing: int, *, workers: int = 1, kind: str = "") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        expected = self.expect(units * missing / shards, min(workers, missing), kind)
        self.rows, self.rejected, self.began = 0, 0, monotonic()
        columns: list[Any] = [
            TextColumn("{task.description:14}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} shards  {task.fields[note]}"),
            TimeRemainingColumn(),
        ]
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(name, total=shards, completed=shards - missing, note=expected)
        self.bar.start()

    def shard(self, rows: int, rejected: int) -> None:
        self.rows, self.rejected = self.rows + rows, self.rejected + rejected
        rate = self.rows / max(monotonic() - self.began, 1e-9)
        note = f"{self.rows:,} rows  {rate:,.0f} rows/s  {self.rejected:,} rejected"
        self.bar.update(self.task, advance=1, note=note)

    def end(self, manifest: Manifest) -> None:
        self.bar.stop()
        super().end(manifest)

    def stop(self) -> None:
        if hasattr(self, "bar"):
            self.bar.stop()


def describe_finished_build(manifest: Manifest) -> str:
    return (
        f"{manifest.dataset}: {manifest.rows:,} rows, {manifest.rejected:,} rejected, "
        f"{manifest.seconds:.1f} s on {manifest.workers} worker{'s' if manifest.workers > 1 else ''}"
    )


def find_build_times() -> Path:
    return find_cache_folder() / "build-times.json"


def read_build_times(path: Path) -> dict[str, tuple[float, float]]:
    """Of each kind of build, units that were made and seconds of all its workers. Raises ValueError for a broken file."""
    try:
        found = json.loads(path.read_bytes())
        return {kind: (float(units), float(seconds)) for kind, (units, seconds) in found.items() if units > 0}
    except OSError:
        return {}
    except (AttributeError, TypeError) as error:
        raise ValueError from error


def note_build_time(kind: str, units: float, seconds: float) -> None:
    """A build of less than half of what is known of says less: what every build pays once weighs more in it."""
    path = find_build_times()
    try:
        known = read_build_times(path)
    except ValueError:
        known = {}
    if not units or units < known.get(kind, (0.0, 0.0))[0] / 2:
        return
    known.pop(kind, None)
    newest = [*known.items(), (kind, (round(units, 3), round(seconds, 3)))][-MOST_KINDS:]
    # It is never required: a cache that is full or read-only is no reason to end a build.
    with suppress(OSError):
        write_whole(path, json.dumps(dict(newest), indent=1))
