"""What must not be published as it is: tests that training gives away, personal data, licences that forbid it.

Everything is read from the laid files, batch by batch. What is judged, config by config: no two splits share what the tasks of
their kind must not share (`Views.apart` of its stage), nor rows that are nearly the same (`near_duplicates`), nor does one config train on what another of the
same kind tests; no text has a run of words of a given test set (`contamination`) or personal data (`personal`); every source's licence
allows it (`licences`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from shopwright.pipeline.dataset import escape_glob
from shopwright.pipeline.publish import contamination, near_duplicates, personal
from shopwright.pipeline.publish.licences import forbids
from shopwright.pipeline.publish.texts import (
    Files,
    iterate_cells,
    laid_files,
    list_common_columns,
    read_numbered_batches,
)
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, dataset_of, tasks_of, views_in_place

PLACES = 5
# Splits that are not trained on.
HELD_OUT = ("test", "test_wording", "validation", "valid", "dev", "eval")
ROW = {"row": ("id", "id")}
# For DuckDB, which goes to disk beyond it.
MEMORY = "1GB"


@dataclass(frozen=True)
class Leak:
    """Something that must be mended before a config is published."""

    config: str
    what: str
    places: list[str] = field(default_factory=list)
    """Where, at most five of them."""

    def __str__(self) -> str:
        return f"{self.config}: {self.what}" + "".join(f"\n  {place}" for place in self.places)


def find_leaks(run: Run, folder: Path, against: Sequence[Path] = ()) -> list[Leak]:
    """All that is found in a laid folder, config by config; none: it may be published.

    against: public test sets. Raises Problem for one that cannot be read.
    """
    files = laid_files(folder)
    sets = [contamination.read_test_set(path) for path in against]
    return [
        *licence_leaks(run),
        *chain.from_iterable(split_leaks(config, splits) for config, splits in files.items()),
        *family_leaks(files),
        *chain.from_iterable(text_leaks(config, splits, sets) for config, splits in files.items()),
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
    for what, column, value in list_split_keys(config, splits):
        for some, other, count, places in find_shared_values(splits, value):
            yield Leak(config, f"its splits {some} and {other} share {pluralize(count, what)} ({column})", places)
    for (some, other), pairs in sorted(near_duplicates.find_near_duplicates(splits).items()):
        told = [f"{pair.place} and {pair.other}: {pair.likeness:.2f} alike" for pair in pairs[:PLACES]]
        yield Leak(config, f"its split {some} has {pluralize(len(pairs), 'row')} nearly the same as of {other}", told)


def list_split_keys(config: str, splits: dict[str, list[Path]]) -> Iterator[tuple[str, str, str]]:
    """What must not be shared, the column that tells it, and its value in SQL."""
    there = list_common_columns(chain.from_iterable(splits.values()))
    known = read_keys(family_of(config))
    if "group" in there:
        known = known | {next(iter(known), "group"): ("group", '"group"')}
    yield from ((what, column, value) for what, (column, value) in (known | ROW).items() if column in there)


def read_keys(family: str) -> dict[str, tuple[str, str]]:
    """What the splits of a family must not share -> the column that tells it, and its value in SQL."""
    apart = all_stages()[family].views.apart if family else {}
    return {what: (key.column, key.sql or key.column) for what, key in apart.items()}


def family_of(config: str) -> str:
    """The dataset whose tasks a config is about.

    >>> family_of("rl_envs"), family_of("sft_behaviors_text"), family_of("env_episodes"), family_of("catalog")
    ('env_tasks', 'behaviors', 'env_tasks', '')
    """
    dataset = dataset_of(config)
    return tasks_of(dataset) if dataset else ""


def find_shared_values(splits: dict[str, list[Path]], value: str) -> Iterator[tuple[str, str, int, list[str]]]:
    """Each two splits with the same values, how many these are, and where some of them stand."""
    rows = " union all ".join(build_values_sql(files, value, "", split) for split, files in splits.items())
    yield from run_leak_query(
        f"with rows as ({rows}), each as (select v, split, min(place) as place from rows group by v, split) "
        "select a.split, b.split, count(*), list(a.v[:80] || ': ' || a.place || ', ' || b.place order by a.v)"
        f"[:{PLACES}] from each a join each b on a.v = b.v and a.split < b.split group by all order by all"
    )


def build_values_sql(files: Sequence[Path], value: str, config: str, split: str) -> str:
    """SQL of the values in some files, each with where it stands."""
    paths = ", ".join(quote_sql(escape_glob(path)) for path in files)
    return (
        f"select cast({value} as varchar) as v, {quote_sql(config)} as config, {quote_sql(split)} as split, "
        "parse_filename(filename) || ' row ' || file_row_number as place "
        f"from read_parquet([{paths}], filename = true, file_row_number = true) where v != ''"
    )


def quote_sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def run_leak_query(text: str) -> list[tuple[str, str, int, list[str]]]:
    import duckdb

    with TemporaryDirectory() as folder:
        settings = {"memory_limit": MEMORY, "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            return connection.execute(text).fetchall()


def pluralize(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 or what == 'SQL' else 's'}"


# What one config trains on and another tests.


def family_leaks(files: Files) -> Iterator[Leak]:
    """What a config trains on while another of its family holds it out."""
    for family in (name for name, views in views_in_place().items() if views.apart):
        configs = {name: splits for name, splits in files.items() if family_of(name) == family}
        keys = {name: dict(list_cross_config_keys(name, splits)) for name, splits in configs.items()}
        for what in dict.fromkeys(chain.from_iterable(keys.values())):
            having = {name: splits for name, splits in configs.items() if what in keys[name]}
            yield from find_crossings(what, having, {name: keys[name][what] for name in having})


def list_cross_config_keys(config: str, splits: dict[str, list[Path]]) -> Iterator[tuple[str, str]]:
    """What rows of other configs can be told by, and its value in SQL."""
    for what, _, value in list_split_keys(config, splits):
        if what != "row":
            yield what, value
        elif config == family_of(config):
            columns = {column: each for each, (column, _) in read_keys(config).items()}
            yield from ((columns[name], value) for name in all_stages()[config].views.named_by if name in columns)


def find_crossings(what: str, configs: Files, values: dict[str, str]) -> Iterator[Leak]:
    sides: dict[bool, list[str]] = {True: [], False: []}
    for config, splits in configs.items():
        for split, files in splits.items():
            sides[split in HELD_OUT].append(build_values_sql(files, values[config], config, split))
    if not sides[True] or not sides[False]:
        return
    held, rest = (
        f"(select v, config, split, min(place) as place from ({' union all '.join(sides[side])}) group by all)"
        for side in (True, False)
    )
    for here, there, count, places in run_leak_query(
        "select r.config || '/' || r.split, h.config || '/' || h.split, count(*), "
        f"list(r.v[:80] || ': ' || r.place || ', ' || h.place order by r.v)[:{PLACES}] "
        f"from {rest} r join {held} h on r.v = h.v and r.config != h.config group by all order by all"
    ):
        config, _, split = here.partition("/")
        other, _, test = there.partition("/")
        yield Leak(config, f"its split {split} has {pluralize(count, what)} that {other} holds out in {test}", places)


# What stands in the texts.


def text_leaks(config: str, splits: dict[str, list[Path]], sets: Sequence[contamination.TestSet]) -> list[Leak]:
    """Personal data, and runs of words of test sets."""
    counts: Counter[str] = Counter()
    places: dict[str, list[str]] = {}
    for what, place in texts_that_leak(chain.from_iterable(splits.values()), sets):
        counts[what] += 1
        if counts[what] <= PLACES:
            places.setdefault(what, []).append(place)
    return [Leak(config, f"{counts[what]:,} times {what}", some) for what, some in places.items()]


def texts_that_leak(files: Iterable[Path], sets: Sequence[contamination.TestSet]) -> Iterator[tuple[str, str]]:
    """What is wrong with a text, and where it stands."""
    for path in files:
        for first, batch in read_numbered_batches(path):
            for each in iterate_cells(batch):
                for kind, hit, text in personal.find_personal_data(each.texts):
                    row = first + int(each.rows[each.texts.index(text).as_py()])
                    yield f"{kind} in {each.column}", f"{hit}: {path.name} row {row}"
            for met in contamination.hits(batch, sets) if sets else ():
                place = f"“{met.words}”: {path.name} row {first + met.row}"
                yield f"a text of {met.name} in {met.column}", place
