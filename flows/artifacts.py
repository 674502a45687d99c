"""What people see of a build in Prefect: a bar while shards are made, tables of what there is, and where it lies."""

import logging
import re
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from shopwright.pipeline.dataset import Manifest, list_counted_reasons
from shopwright.pipeline.problem import harmless
from shopwright.pipeline.progress import Progress, describe_finished_build
from shopwright.pipeline.run import Run

# Between two steps of a bar: each is a request to the server.
SECONDS_BETWEEN = 1.0


class PrefectProgress:
    """The same progress, and as a bar on the page of the flow run and lines in its log."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def report_damage(self, name: str, files: dict[str, str]) -> None:
        self.progress.report_damage(name, files)
        for path, how in files.items():
            log(f"{name}: {path} was damaged: {how}. Its shard is made again.", logging.WARNING)

    def start(self, name: str, units: int, shards: int, missing: int, *, workers: int = 1, kind: str = "") -> None:
        from prefect.artifacts import create_progress_artifact

        self.progress.start(name, units, shards, missing, workers=workers, kind=kind)
        self.shards, self.done, self.said = shards, shards - missing, monotonic()
        log(f"{name}: {missing} of {shards} shards to make")
        self.bar: Any = create_progress_artifact(self.share(), description=f"{name}: {shards} shards")

    def shard(self, rows: int, rejected: int) -> None:
        self.progress.shard(rows, rejected)
        self.done += 1
        if self.done == self.shards or monotonic() - self.said > SECONDS_BETWEEN:
            self.show()

    def end(self, manifest: Manifest) -> None:
        self.progress.end(manifest)
        log(describe_finished_build(manifest))
        for reason, rows in manifest.rejects.items():
            log(harmless(f"{manifest.dataset}: rejected {rows:,}: {reason}"))

    def stop(self) -> None:
        self.progress.stop()

    def show(self) -> None:
        from prefect.artifacts import update_progress_artifact

        self.said = monotonic()
        update_progress_artifact(self.bar, self.share())

    def share(self) -> float:
        return round(100 * self.done / self.shards, 1)


def log(line: str, level: int = logging.INFO) -> None:
    """In the log of the flow run, as Prefect keeps it."""
    from prefect import get_run_logger

    get_run_logger().log(level, line)


def show_release(name: str, run: str, published: Mapping[str, Any], fault: str = "") -> None:
    """The tables and links of a release as it is now, each with a time line under `name`."""
    from prefect.artifacts import create_markdown_artifact, create_table_artifact

    made = Run(run).manifests()
    about = f"Of {run}" + (f", which failed: {fault}" if fault else "")
    create_table_artifact(datasets(made), key=make_artifact_key(name, "datasets"), description=about)
    create_table_artifact(rejects(made), key=make_artifact_key(name, "rejects"), description=about)
    create_markdown_artifact(links(run, published, fault), key=make_artifact_key(name, "links"), description=about)


def datasets(made: Sequence[Manifest]) -> list[dict[str, Any]]:
    """A row for each; rejects count no bytes."""
    rows: list[dict[str, Any]] = []
    for each in made:
        row = {
            "dataset": each.dataset,
            "rows": each.rows,
            "tokens": each.tokens,
            "rejected": each.rejected,
            "seconds": round(each.seconds, 1),
            "bytes": sum(facts.bytes for path, facts in each.files.items() if not path.startswith("quarantine/")),
        }
        rows.append(row)
    return rows


def rejects(made: Sequence[Manifest]) -> list[dict[str, Any]]:
    """A row for each reason, the most frequent first."""
    found = sorted(list_counted_reasons(made), key=lambda row: -row[2])
    return [dict(zip(("dataset", "reason", "rows"), row, strict=True)) for row in found]


def links(run: str, published: Mapping[str, Any], fault: str = "") -> str:
    """Markdown with the places of a release.

    >>> print(links("data/runs/a", {"url": "https://hub/datasets/me/a", "commit": "0123456789"}))
    | what | where |
    | --- | --- |
    | run | `data/runs/a` |
    | report | `data/runs/a/report.html` |
    | rejects | `data/runs/a/quarantine` |
    | dataset | [https://hub/datasets/me/a](https://hub/datasets/me/a) |
    | commit | [01234567](https://hub/datasets/me/a/commit/0123456789) |
    """
    folder, url, commit = run.rstrip("/"), published.get("url"), published.get("commit")
    places = {"run": folder, "report": f"{folder}/report.html", "rejects": f"{folder}/quarantine"}
    places |= {"laid out in": published["folder"]} if published.get("folder") else {}
    rows = [f"| {what} | `{where}` |" for what, where in places.items()]
    rows += [f"| dataset | [{url}]({url}) |"] if url else []
    rows += [f"| commit | [{commit[:8]}]({url}/commit/{commit}) |"] if commit else []
    return "\n".join(
        [
            *([f"**Failed, nothing was published:** {fault}\n"] if fault else []),
            "| what | where |",
            "| --- | --- |",
            *rows,
        ]
    )


def make_artifact_key(*words: str) -> str:
    """As Prefect wants it.

    >>> make_artifact_key("my_recipe 2", "datasets")
    'my-recipe-2-datasets'
    """
    return re.sub("[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
