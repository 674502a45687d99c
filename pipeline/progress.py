"""What a person sees while a build is at work: a bar on a terminal, plain lines elsewhere."""

import sys
from time import monotonic
from typing import Any, Protocol

from shopwright.pipeline.dataset import Manifest

SECONDS_BETWEEN_LINES = 5.0


class Progress(Protocol):
    def report_damage(self, name: str, files: dict[str, str]) -> None: ...
    def start(self, name: str, units: int, shards: int, missing: int) -> None: ...
    def shard(self, rows: int, rejected: int) -> None: ...
    def end(self, manifest: Manifest) -> None: ...
    def stop(self) -> None: ...


class SilentProgress:
    def report_damage(self, name: str, files: dict[str, str]) -> None: ...
    def start(self, name: str, units: int, shards: int, missing: int) -> None: ...
    def shard(self, rows: int, rejected: int) -> None: ...
    def end(self, manifest: Manifest) -> None: ...
    def stop(self) -> None: ...


class LineProgress(SilentProgress):
    """One line when a dataset begins, one every few seconds, one at its end."""

    def report_damage(self, name: str, files: dict[str, str]) -> None:
        for path, how in files.items():
            self.say(f"{name}: {path} was damaged: {how}. Its shard is made again.")

    def start(self, name: str, units: int, shards: int, missing: int) -> None:
        self.name, self.missing, self.done, self.rows, self.rejected = name, missing, 0, 0, 0
        self.began = self.said = monotonic()
        kept = f", {shards - missing} of {shards} shards were there already" if missing < shards else ""
        self.say(f"{name}: {missing} shard{'' if missing == 1 else 's'} to make{kept}")

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

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class BarProgress(LineProgress):
    """A bar with rows a second, rejects and the time left."""

    def start(self, name: str, units: int, shards: int, missing: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.rows, self.rejected, self.began = 0, 0, monotonic()
        columns: list[Any] = [
            TextColumn("{task.description:14}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} shards  {task.fields[note]}"),
            TimeRemainingColumn(),
        ]
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(name, total=shards, completed=shards - missing, note="")
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
