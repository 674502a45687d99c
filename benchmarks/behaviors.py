"""Steps a second of sessions seen page by page, and how long their pages are.

    python -m benchmarks.behaviors                        # 5,000 sessions of 24,000 products' customers
    python -m benchmarks.behaviors --sessions 50000
    python -m benchmarks.behaviors --run data/runs/mine   # a run that is there, with its sessions or without

A step is walked to through the shop's pages, its page is written as HTML, its rationale phrased, and all of it checked. The limits: what
pyarrow needs to write the same rows, and what Python's own parser needs to read the same pages once, which is the least that a check of
a page without our names for its parts would take. Figures go into benchmarks/README.md.
"""

import argparse
import os
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.trajectories import best, machine, write
from shopwright.pipeline.behaviors.evaluate import list_clickable_names
from shopwright.pipeline.dataset import Dataset, Manifest, ShardWriter
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages

SESSIONS, PRODUCTS, CUSTOMERS = 5_000, 24_000, 500
SOME = 500
"""Sessions that the limits are measured with."""


def built(run: Run, sessions: int, customers: int) -> tuple[Manifest, Manifest]:
    """Both datasets; what a manifest tells in seconds is without what it was made from."""
    if run.read("trajectories").manifest is None:
        run.build("personas", products=PRODUCTS, count=customers)
        run.build("trajectories", tokens="64k")
    behaviors = run.read("behaviors").manifest or run.build("behaviors", sessions=sessions)
    return behaviors, run.read("behavior_steps").manifest or run.build("behavior_steps")


def some_of(dataset: Dataset[Any], most: int) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = []
    for batch in dataset.batches():
        batches.append(batch.slice(0, most - sum(each.num_rows for each in batches)))
        if sum(each.num_rows for each in batches) >= most:
            break
    return batches


def written(batches: list[pa.RecordBatch]) -> None:
    with tempfile.TemporaryDirectory() as place:
        writer = ShardWriter(Path(place) / "part-00000.parquet", all_stages()["behaviors"].makes)
        for batch in batches:
            writer.write(batch)
        writer.commit()


def parsed(pages: list[str]) -> None:
    for page in pages:
        parser = HTMLParser()
        parser.feed(page)
        parser.close()


def sizes(dataset: Dataset[Any]) -> np.ndarray:
    """Bytes of each page."""
    lengths = [size for (size,) in dataset.sql("select unnest([strlen(step.html) for step in steps]) from rows")]
    return np.array(lengths)


def table(run: Run, sessions: int, customers: int, how: str) -> str:
    manifest, prompts = built(run, sessions, customers)
    behaviors, seconds, workers = run.read("behaviors"), manifest.seconds, manifest.workers
    pages = sizes(behaviors)
    batches = some_of(behaviors, SOME)
    html = [step["html"] for batch in batches for row in batch.to_pylist() for step in row["steps"]]
    floor, reading = best(lambda: written(batches)) / len(html), best(lambda: parsed(html)) / len(html)
    ours = seconds * workers / len(pages)
    half, most = np.quantile(pages, [0.5, 0.99])
    checks = len(all_stages()["behaviors"].checks) + len(all_stages()["behaviors"].across)
    what = f"{manifest.rows:,} sessions with {len(pages):,} steps, {manifest.rejected:,} rejected"
    lines = [
        f"`{how}`: {what}, {workers} workers",
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| steps a second | {len(pages) / seconds:,.0f} |",
        f"| steps a second and core | {len(pages) / seconds / workers:,.0f} |",
        f"| sessions a second | {manifest.rows / seconds:,.0f} |",
        f"| seconds in all | {seconds:.1f} |",
        f"| ours, per core: walk to a page, write it, phrase why, check ({checks} checks) and store a step | {1000 * ours:.3f} ms |",
        f"| floor: pyarrow writes a step in | {1000 * floor:.3f} ms |",
        f"| peer: html.parser reads its page in | {1000 * reading:.3f} ms |",
        f"| ratio to the floor | {ours / floor:,.1f} |",
        f"| ratio to the peer | {ours / reading:.2f} |",
        f"| prompts of `behavior_steps` a second | {prompts.rows / prompts.seconds:,.0f} |",
        "",
        "| a page's HTML | mean | median | 99 % | most |",
        "| --- | --- | --- | --- | --- |",
        f"| bytes | {pages.mean():,.0f} | {half:,.0f} | {most:,.0f} | {pages.max():,} |",
        clicks(html),
        "",
        machine(),
    ]
    return "\n".join(lines)


def clicks(html: list[str]) -> str:
    """How much can be clicked on these pages."""
    counts = np.array([len(list_clickable_names(page)) for page in html])
    half, most = np.quantile(counts, [0.5, 0.99])
    return f"| can be clicked, of the first {len(html):,} | {counts.mean():.1f} | {half:.0f} | {most:.0f} | {counts.max()} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=SESSIONS, help=f"default: {SESSIONS:,}")
    parser.add_argument("--customers", type=int, default=CUSTOMERS, help=f"whose they are (default: {CUSTOMERS:,})")
    parser.add_argument("--run", type=Path, help="one that is there, or the place where it is built")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    options = parser.parse_args()
    how = "python -m benchmarks.behaviors" + (f" --sessions {options.sessions}" if options.sessions != SESSIONS else "")
    how += f" --customers {options.customers}" if options.customers != CUSTOMERS else ""
    with tempfile.TemporaryDirectory() as place:
        run = Run(options.run or Path(place) / "run", seed=None if options.run else 0, workers=options.workers)
        text = table(run, options.sessions, options.customers, how)
    print(text)
    write("behaviors", text)


if __name__ == "__main__":
    main()
