"""What must not be published as it is: tests that training gives away, personal data, licences that forbid it.

Everything is read from the laid files, batch by batch. What is judged, config by config: no two splits share what the tasks of
their kind must not share (`KEYS`), nor rows that are nearly the same (`likeness`), nor does one config train on what another of the
same kind tests; no text has a run of words of a given test set (`overlap`) or personal data (`personal`); every source's licence
allows it (`licences`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.dataset import as_it_stands
from pipeline.publish import likeness, overlap, personal
from pipeline.publish.licences import forbids
from pipeline.publish.texts import Files, batches, cells, columns_of, laid_files
from pipeline.run import Run

PLACES = 5
HELD_OUT = ("test", "validation", "valid", "dev", "eval")
"""Splits that are not trained on."""
FAMILIES = {
    "questions": ("question", "rollout", "prompt"),
    "envs": ("env",),
    "shopping": ("shopping",),
    "behaviors": ("behavior", "next_action"),
}
"""Configs that are about the same tasks, by how their names begin behind `sft_` and `rl_`."""
CUSTOMER = "regexp_replace(trajectory_id, '-[^-]*$', '')"
"""A trajectory's id is its customer's and its budget."""
KEYS = {
    "questions": {
        "customer": ("trajectory_id", CUSTOMER),
        "question": ("question_id", "question_id"),
        "wording": ("question", "trim(lower(regexp_replace(question, '\\W+', ' ', 'g')))"),
        "SQL": ("sql", "trim(regexp_replace(sql, '\\s+', ' ', 'g'))"),
    },
    "envs": {"customer": ("persona_id", "persona_id"), "task": ("task_id", "task_id"), "goal": ("goal", "goal")},
    "shopping": {
        "product": ("product_id", "product_id"),
        "task": ("task_id", "task_id"),
        "instruction": ("instruction", "trim(lower(regexp_replace(instruction, '\\W+', ' ', 'g')))"),
    },
    "behaviors": {
        "customer": ("persona_id", "persona_id"),
        "session": ("behavior_id", "behavior_id"),
        "log": ("trajectory_id", "trajectory_id"),
    },
}
"""What splits must not share -> the column that tells it, and its value in SQL; the first is what a form's `group` is of."""
ROW = {"row": ("id", "id")}
TASKS = {"questions": "question", "env_tasks": "task", "shopping_tasks": "task", "behaviors": "session"}
"""Configs whose ids are what others of their family refer to."""
MEMORY = "1GB"
"""For DuckDB, which goes to disk beyond it."""


@dataclass(frozen=True)
class Leak:
    """Something that must be mended before a config is published."""

    config: str
    what: str
    places: list[str] = field(default_factory=list)
    """Where, at most five of them."""

    def __str__(self) -> str:
        return f"{self.config}: {self.what}" + "".join(f"\n  {place}" for place in self.places)


def leaks(run: Run, folder: Path, against: Sequence[Path] = ()) -> list[Leak]:
    """All that is found in a laid folder, config by config; none: it may be published.

    against: public test sets. Raises Problem for one that cannot be read.
    """
    files = laid_files(folder)
    sets = [overlap.test_set(path) for path in against]
    return [
        *licence_leaks(run),
        *(leak for config, splits in files.items() for leak in split_leaks(config, splits)),
        *family_leaks(files),
        *(leak for config, splits in files.items() for leak in text_leaks(config, splits, sets)),
    ]


# Licences.


def licence_leaks(run: Run) -> list[Leak]:
    """What sources do not allow; everything in a run is made from its catalog."""
    sources = run.read("catalog").sql("select source, source_licence, min(id) from rows group by all order by all")
    return [
        Leak("catalog", f"of the source {source!r}: {why}", [f"product {some}"])
        for source, licence, some in sources
        if (why := forbids(licence or ""))
    ]


# What splits share.


def split_leaks(config: str, splits: dict[str, list[Path]]) -> Iterator[Leak]:
    """What two splits of a config have both, and should not."""
    if len(splits) < 2:
        return
    for what, column, value in keys_of(config, splits):
        for some, other, count, places in shared(splits, value):
            yield Leak(config, f"its splits {some} and {other} share {said(count, what)} ({column})", places)
    for (some, other), pairs in sorted(likeness.alike(splits).items()):
        told = [f"{pair.place} and {pair.other}: {pair.likeness:.2f} alike" for pair in pairs[:PLACES]]
        yield Leak(config, f"its split {some} has {said(len(pairs), 'row')} nearly the same as of {other}", told)


def keys_of(config: str, splits: dict[str, list[Path]]) -> Iterator[tuple[str, str, str]]:
    """What must not be shared, the column that tells it, and its value in SQL."""
    there = columns_of(path for files in splits.values() for path in files)
    family = family_of(config)
    known = KEYS.get(family, {})
    if "group" in there:
        known = known | {next(iter(known), "group"): ("group", '"group"')}
    yield from ((what, column, value) for what, (column, value) in (known | ROW).items() if column in there)


def family_of(config: str) -> str:
    """
    >>> family_of("rl_questions"), family_of("sft_rollouts_text"), family_of("rl_prompts"), family_of("catalog")
    ('questions', 'questions', 'questions', '')
    """
    name = re.sub(r"^(sft|rl)_", "", config)
    return next((family for family, begins in FAMILIES.items() if name.startswith(begins)), "")


def shared(splits: dict[str, list[Path]], value: str) -> Iterator[tuple[str, str, int, list[str]]]:
    """Each two splits with the same values, how many these are, and where some of them stand."""
    rows = " union all ".join(rows_of(files, value, "", split) for split, files in splits.items())
    yield from query(
        f"with rows as ({rows}), each as (select v, split, min(place) as place from rows group by v, split) "
        "select a.split, b.split, count(*), list(a.v[:80] || ': ' || a.place || ', ' || b.place order by a.v)"
        f"[:{PLACES}] from each a join each b on a.v = b.v and a.split < b.split group by all order by all"
    )


def rows_of(files: Sequence[Path], value: str, config: str, split: str) -> str:
    """SQL of the values in some files, each with where it stands."""
    paths = ", ".join(quoted(as_it_stands(path)) for path in files)
    return (
        f"select cast({value} as varchar) as v, {quoted(config)} as config, {quoted(split)} as split, "
        "parse_filename(filename) || ' row ' || file_row_number as place "
        f"from read_parquet([{paths}], filename = true, file_row_number = true) where v != ''"
    )


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def query(text: str) -> list[tuple[str, str, int, list[str]]]:
    import duckdb

    with TemporaryDirectory() as folder:
        settings = {"memory_limit": MEMORY, "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            return connection.execute(text).fetchall()


def said(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 or what == 'SQL' else 's'}"


# What one config trains on and another tests.


def family_leaks(files: Files) -> Iterator[Leak]:
    """What a config trains on while another of its family holds it out."""
    for family in FAMILIES:
        configs = {name: splits for name, splits in files.items() if family_of(name) == family}
        told = {name: dict(told_by(name, splits)) for name, splits in configs.items()}
        for what in dict.fromkeys(what for each in told.values() for what in each):
            having = {name: splits for name, splits in configs.items() if what in told[name]}
            yield from crossed(what, having, {name: told[name][what] for name in having})


def told_by(config: str, splits: dict[str, list[Path]]) -> Iterator[tuple[str, str]]:
    """What rows of other configs can be told by, and its value in SQL."""
    for what, _, value in keys_of(config, splits):
        if what != "row":
            yield what, value
        elif config in TASKS:
            yield TASKS[config], value


def crossed(what: str, configs: Files, values: dict[str, str]) -> Iterator[Leak]:
    sides: dict[bool, list[str]] = {True: [], False: []}
    for config, splits in configs.items():
        for split, files in splits.items():
            sides[split in HELD_OUT].append(rows_of(files, values[config], config, split))
    if not sides[True] or not sides[False]:
        return
    held, rest = (
        f"(select v, config, split, min(place) as place from ({' union all '.join(sides[side])}) group by all)"
        for side in (True, False)
    )
    for here, there, count, places in query(
        "select r.config || '/' || r.split, h.config || '/' || h.split, count(*), "
        f"list(r.v[:80] || ': ' || r.place || ', ' || h.place order by r.v)[:{PLACES}] "
        f"from {rest} r join {held} h on r.v = h.v and r.config != h.config group by all order by all"
    ):
        config, _, split = here.partition("/")
        other, _, test = there.partition("/")
        yield Leak(config, f"its split {split} has {said(count, what)} that {other} holds out in {test}", places)


# What stands in the texts.


def text_leaks(config: str, splits: dict[str, list[Path]], sets: Sequence[overlap.TestSet]) -> list[Leak]:
    """Personal data, and runs of words of test sets."""
    counts: Counter[str] = Counter()
    places: dict[str, list[str]] = {}
    for what, place in texts_that_leak((path for files in splits.values() for path in files), sets):
        counts[what] += 1
        if counts[what] <= PLACES:
            places.setdefault(what, []).append(place)
    return [Leak(config, f"{counts[what]:,} times {what}", some) for what, some in places.items()]


def texts_that_leak(files: Iterable[Path], sets: Sequence[overlap.TestSet]) -> Iterator[tuple[str, str]]:
    """What is wrong with a text, and where it stands."""
    for path in files:
        for first, batch in batches(path):
            for each in cells(batch):
                for kind, hit, text in personal.found(each.texts):
                    row = first + int(each.rows[each.texts.index(text).as_py()])
                    yield f"{kind} in {each.column}", f"{hit}: {path.name} row {row}"
            for met in overlap.hits(batch, sets) if sets else ():
                place = f"“{met.words}”: {path.name} row {first + met.row}"
                yield f"a text of {met.name} in {met.column}", place
