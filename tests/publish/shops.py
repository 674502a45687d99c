"""A run whose texts try to break out of a page."""

import itertools
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.run import Run

HOSTILE = [
    '<script>document.title = "broken"</script>',
    '"><img src="https://example.org/x.png" onerror="document.title=1">',
    "</title></style></pre></svg></main><h1>broken</h1>",
    "' onload='document.title=1",
    "{{ 7 * 7 }} {% raw %} &amp; &lt;b&gt;",
    "\u202eright to left",
    "مصباح طاولة 🪑",
    "with\x01controls\x1bhere",
    "a" * 10_000,
]
TEXTS = {
    "title", "brand", "category_path", "description", "question", "sql", "answer", "text", "product_name", "search_query", "opening",
    "instruction", "persona", "intent", "rationale", "html", "persona_id",
}  # fmt: skip
"""Fields that a catalog or a model fills, and some that only code does."""
SHOWN = {"catalog", "personas", "trajectories", "questions", "env_tasks", "shopping_tasks", "behaviors"}


def hostile(run, folder):
    """A copy of a run in which such a text stands in each of these fields of what is shown."""
    place = shutil.copytree(run.folder, folder / "<b>run")
    texts = itertools.cycle(HOSTILE)
    for path in (path for dataset in sorted(SHOWN) for path in sorted((place / dataset).glob("part-*.parquet"))):
        table = pq.read_table(path)
        rows = [spoilt(row, texts) for row in table.to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    for dataset in ("catalog", "questions"):
        found = run.read(dataset)
        manifest = found.manifest.model_copy(update={"rejects": dict.fromkeys(HOSTILE, 1)})
        (place / "manifests" / f"{dataset}.json").write_text(manifest.model_dump_json())
    return Run(place)


def spoilt(value, texts, name=""):
    if isinstance(value, dict):
        return {key: spoilt(each, texts, key) for key, each in value.items()}
    if isinstance(value, list):
        return [spoilt(each, texts, name) for each in value]
    if not isinstance(value, str) or name not in TEXTS:
        return value
    return "\n".join(f"{line} {next(texts)}" for line in value.split("\n")) if name == "text" else value + next(texts)
