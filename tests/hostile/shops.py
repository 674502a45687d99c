"""A hostile catalog and all that is built on it, and what must hold of that whatever the catalog says.

python -m tests.hostile.shops --seeds 20        # so many catalogs, every dataset of each, with figures at the end
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import category

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.texts import iterate_cells
from shopwright.pipeline.render.trajectory import parse_trajectory
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.data_loader import load_trajectory
from shopwright.pipeline.shards import OURS
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.verify import verify
from tests.hostile.catalogs import COMPUTED, SECRET, write

FEW = {
    "personas": {"count": 12},
    "queries": {"per_category": 3},
    "trajectories": {"tokens": "8k"},
    "questions": {"per_trajectory": 4},
    "rl_prompts": {"tries": 1},
    "env_tasks": {"count": 1, "levels": "0,3"},
    "catalog_fine": {"leaves": 1, "complexity": 0},
    "shopping_tasks": {"count": 12, "personal": 4},
    "behaviors": {"sessions": 16},
    "behavior_steps": {"customer_facts": "intent"},
    "phrases": {"families": "behaviors", "per_template": 1},
}
"""Settings of small datasets of each stage."""
NAME = "<img src=x onerror=window.__pwned=30> {{ 6521 * 7919 }} --- [x](y)"
"""Of the file and of the folder: a seller, or a user, can call them so."""
CHAT = re.compile(r"<[|｜][^<>]*[|｜]>|</?(?:s|think|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>")
"""What ends a message in the templates of models."""
TOLD = ("There are no ", "No question ", "Tasks with a profile need customers", "No product is left", "No two ")
"""How problems begin that say that a shop is too small for something."""
ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    pa.ArrowException,
)


@dataclass
class World:
    """A catalog of so many rows, and the run that was built on it."""

    run: Run
    source: Path
    trap: Path
    rows: int
    problems: dict[str, str] = field(default_factory=dict)
    """Dataset -> why it could not be built, in the words that a user is told."""


def world(folder: Path, seed: int, rows: int, form: str, names: list[str] | None = None) -> World:
    """Builds every dataset, or these, in the order in which they read one another."""
    source = write(folder, seed, rows, folder / "trap", form)
    source = source.rename(folder / f"{NAME.replace('/', '')}.{form}")
    found = World(Run(folder / NAME.replace("/", ""), seed=seed, workers=1), source, folder / "trap", rows)
    for name in names or all_stages():
        given = {"source": str(source), "invent_prices": True} if name == "catalog" else FEW.get(name, {})
        try:
            found.run.build(name, **given)
        except Problem as problem:
            found.problems[name] = str(problem)
    return found


def whole(found: World) -> list[str]:
    """The datasets that there are."""
    return [name for name in all_stages() if found.run.read(name).manifest]


def texts(found: World, name: str) -> list[str]:
    """Every text in the rows of a dataset, its quarantine left out."""
    files = [path for path in found.run.read(name).files if pq.read_metadata(path).num_rows]
    return [
        text
        for path in files
        for batch in pq.ParquetFile(path).iter_batches()
        for each in iterate_cells(batch)
        for text in each.texts.to_pylist()
    ]


def commands_a_terminal(said: str) -> list[str]:
    """The characters in it that a terminal would not show but do, or that turn what stands around them."""
    turning = set("\u200e\u200f\u061c\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    found = set(said) - {"\n", "\t"}
    return [each for each in found if each in turning or category(each) in ("Cc", "Cs")]


# What must hold. Each raises AssertionError.


def no_row_is_lost(found: World) -> None:
    made = found.run.read("catalog").manifest
    assert made.rows + made.rejected == found.rows, (made.rows, made.rejected, found.rows)
    assert all(row.reasons for row in found.run.read("catalog").quarantine)


def what_cannot_be_built_is_said_plainly(found: World) -> None:
    for name, said in found.problems.items():
        assert said.startswith(TOLD), (name, said)
        assert "\n" not in said


def every_check_passes_again(found: World) -> None:
    failed = [(verdict.dataset, verdict.check, verdict.places[:2]) for verdict in verify(found.run) if verdict.failed]
    assert failed == []


def the_text_of_a_log_reads_back_to_its_events(found: World) -> None:
    for row in found.run.read("trajectories"):
        told = parse_trajectory(row.text)
        assert len(told) == len(row.events)
        for said, event in zip(told, row.events, strict=True):
            assert said == {key: getattr(event, key) for key in said}


def the_table_of_a_log_holds_its_events_and_nothing_else(found: World) -> None:
    for row in found.run.read("trajectories").head(3):
        connection, frame = load_trajectory(row.id, str(found.run.folder / "trajectories"))
        (tables,) = zip(*connection.execute("select table_name from information_schema.tables").fetchall(), strict=True)
        assert tables == ("events",)
        names = connection.execute("select product_name from events order by row_id").fetchall()
        assert [name for (name,) in names] == [event.product_name for event in row.events]
        assert len(frame) == len(row.events)


def nothing_was_executed(found: World) -> None:
    assert [path.name for path in found.trap.iterdir()] == ["secret.csv"]
    for name in whole(found):
        for text in texts(found, name):
            assert SECRET not in text, (name, text[:200])
            assert not any(number in text for number in COMPUTED), (name, text[:200])


def no_text_ends_a_message(found: World) -> None:
    for name in whole(found):
        assert [text[:200] for text in texts(found, name) if CHAT.search(text)] == [], name


def file_names_are_ours(found: World) -> None:
    for name in whole(found):
        data = found.run.read(name)
        files = [*data.folder.iterdir(), *(data.quarantine.folder.iterdir() if data.quarantine.files else ())]
        assert all(OURS.fullmatch(path.name) for path in files)


HOLD = [
    no_row_is_lost,
    what_cannot_be_built_is_said_plainly,
    every_check_passes_again,
    the_text_of_a_log_reads_back_to_its_events,
    the_table_of_a_log_holds_its_events_and_nothing_else,
    nothing_was_executed,
    no_text_ends_a_message,
    file_names_are_ours,
]


def main(first: int, seeds: int, rows: int) -> int:
    """So many catalogs; returns 1 where something does not hold of one of them."""
    tried, kept, held, built, wrong = 0, 0, 0, 0, 0
    rejects: Counter[str] = Counter()
    for seed in range(first, first + seeds):
        form = ("csv", "jsonl", "parquet")[seed % 3]
        with tempfile.TemporaryDirectory() as folder:
            found = world(Path(folder), seed, rows + 50 * (seed % 4), form)
            made = found.run.read("catalog").manifest
            rejects.update(made.rejects)
            tried, kept, held = tried + found.rows, kept + made.rows, held + made.rejected
            built += len(whole(found))
            for holds in HOLD:
                try:
                    holds(found)
                except (AssertionError, *ERRORS) as error:
                    wrong += 1
                    print(
                        f"seed {seed} ({form}): {holds.__name__}: {type(error).__name__} {str(error)[:500]!r}",
                        flush=True,
                    )
            print(
                f"seed {seed} ({form}): {found.rows} rows, {made.rows} products, {found.problems or 'all built'}",
                flush=True,
            )
    print(f"{seeds} catalogs, {tried:,} rows: {kept:,} products, {held:,} in quarantine, {tried - kept - held} lost")
    print(f"{built} datasets built, {wrong} failures")
    for reason, count in rejects.most_common():
        print(f"{count:8,} {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--rows", type=int, default=100)
    given = options.parse_args()
    sys.exit(main(given.first, given.seeds, given.rows))
