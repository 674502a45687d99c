"""A run: a folder of datasets that belong together, and the stages that fill it."""

import hashlib
import importlib
import json
import os
import pkgutil
import re
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from socket import gethostname
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from pipeline import stages
from pipeline.arrow import to_batch
from pipeline.dataset import (
    Dataset,
    FileFacts,
    Manifest,
    Recipe,
    ShardWriter,
    file_facts,
    hurt,
    package_version,
    read_told,
    row_groups,
    tally,
    write_told,
)
from pipeline.files import (
    absolute,
    alone,
    each,
    footer,
    is_here,
    is_whole,
    only_its_own,
    path_of,
    reachable,
    remove,
    sha256_of,
    write_whole,
)
from pipeline.hands import Hands, Late, Lost, hands, in_time, seconds_for
from pipeline.models.replies import ask_anew, places
from pipeline.models.role import Asked, Models, Role
from pipeline.problem import STOPS, Ended, Problem, Stale, meant
from pipeline.progress import Progress, Silent
from pipeline.runners import TRIES, Executor, known_runner, running
from pipeline.stage import Fault, Plan, Shard, Stage, reasons_against
from schemas.record import Record, Rejected

ROWS_PER_BATCH = 1_000
HOME = Path(__file__).parents[1]
ONLY_SHOW = ("__main__.py", "progress.py", "verify.py", "commands", "publish", "browse", "playground", "trainers")
"""Files and folders that decide no row."""
BESIDE = ("manifests", "quarantine", "replies", "evaluations", ".publish")
"""Folders of a run beside its datasets."""
OURS = re.compile(r"\.?part-\d{5,}(-across)?\.parquet(\.[0-9a-f]{8}\.tmp)?")
"""The only names that a build gives to files in a dataset's folders."""


@cache
def all_stages() -> dict[str, Stage]:
    """Every stage in `pipeline/stages/`, those that others read first; a new file there is all it takes."""
    names = [info.name for info in pkgutil.iter_modules(stages.__path__)]
    modules = [importlib.import_module(f"{stages.__name__}.{name}") for name in names]
    found = {s.name: s for module in modules for s in vars(module).values() if isinstance(s, Stage)}
    return {name: found[name] for top in found for name in upstream(top, found)}


def upstream(name: str, found: dict[str, Stage] | None = None) -> list[str]:
    """A dataset and all that it is made from, each after what it reads."""
    found = found or all_stages()
    before = [name for read in found[name].reads for name in upstream(read, found)]
    return list(dict.fromkeys([*before, name]))


@dataclass(frozen=True)
class Build:
    """The work on one dataset, decided: any process can make any of its shards from this alone."""

    run: Path
    recipe: Recipe
    shards: int
    plan: Plan
    models: Models = field(default_factory=Models)
    damaged: dict[str, str] = field(default_factory=dict)
    """Files of what was there that were not as they had been written, and how; their shards are made again."""

    @property
    def name(self) -> str:
        return self.recipe.dataset

    @property
    def stage(self) -> Stage:
        return all_stages()[self.name]

    @property
    def dataset(self) -> Dataset[Any]:
        return Dataset(self.run, self.name, self.stage.makes)

    @property
    def asks(self) -> bool:
        """Whether a real model is asked: by one process then, which holds many conversations at once."""
        return self.models.asks(self.stage.asks(self.recipe.settings))

    @property
    def datasets(self) -> dict[str, Dataset[Any]]:
        return {name: Dataset(self.run, name, all_stages()[name].makes) for name in self.stage.reads}

    def shard_path(self, index: int) -> Path:
        return self.run / self.name / shard_name(index)

    def held_path(self, index: int, kind: str = "") -> Path:
        return self.run / "quarantine" / self.name / shard_name(index, kind)

    def role(self, name: str, index: int) -> Role:
        return Role(name, self.models, self.run, f"{self.name}-{name}-{index:05d}")

    def asked_path(self, index: int) -> Path:
        """What models were asked for one shard."""
        return self.run / "replies" / f"{self.name}-{index:05d}.asked.json"

    def note_path(self, index: int) -> Path:
        """What is known of a shard's files while the dataset is not whole; elsewhere than here nothing is noted."""
        return note_path(self.run, self.name, index)

    def missing(self) -> list[int]:
        """The shards still to be made, and those whose rows a judgement of the whole, since stopped, had thinned out."""
        if is_here(self.run):
            noted = {path.stem for path in self.note_path(0).parent.glob("part-*.json")}
            there = {path.stem for path in (self.run / self.name).glob("part-*.parquet")} & noted
            whole = [f"part-{index:05d}" in there for index in range(self.shards)]
        else:
            whole = each(is_whole, map(self.shard_path, range(self.shards)))
        thinned = self.thinned()
        return [index for index, found in enumerate(whole) if not found or index in thinned]

    def thinned(self) -> set[int]:
        return {index_of(path.name) for path in (self.run / "quarantine" / self.name).glob("part-*-across.parquet")}

    def noted(self, index: int) -> dict[str, FileFacts]:
        """Path from the run's folder -> its facts; nothing where the note is damaged."""
        try:
            return NOTE.validate_json(self.note_path(index).read_bytes())
        except (ValueError, OSError):
            return {}

    def made(self) -> list[int]:
        missing = set(self.missing())
        return [index for index in range(self.shards) if index not in missing]

    def weed(self) -> dict[str, str]:
        """Takes shards away that are not as they were written; their files, and how these differ. Elsewhere than here nothing is noted of them."""
        noted = {index: self.noted(index) for index in (self.made() if is_here(self.run) else [])}
        found = {self.told(self.note_path(index)): "cannot be read" for index, files in noted.items() if not files}
        found |= hurt(self.run, {name: facts for files in noted.values() for name, facts in files.items()})
        for index, files in noted.items():
            if not files or found.keys() & files.keys():
                remove(self.shard_path(index))
                remove(self.note_path(index))
        return found

    def told(self, path: Path) -> str:
        return path.relative_to(self.run).as_posix()


NOTE = TypeAdapter(dict[str, FileFacts])


def note_path(run: Path, name: str, index: int) -> Path:
    return run / "manifests" / f"{name}.building" / f"part-{index:05d}.json"


def note(run: Path, name: str, index: int, files: dict[str, FileFacts]) -> None:
    """Says what a shard's files are, before they take their places."""
    if is_here(run):
        write_whole(note_path(run, name, index), NOTE.dump_json(files).decode())


def shard_name(index: int, kind: str = "") -> str:
    return f"part-{index:05d}{kind}.parquet"


def index_of(path: str) -> int:
    """Of the shard that a file belongs to; -1 where it is of none.

    >>> index_of("quarantine/toys/part-00012-across.parquet"), index_of("notes.txt")
    (12, -1)
    """
    found = re.search(r"part-(\d{5,})(-across)?\.parquet$", path)
    return int(found[1]) if found else -1


@dataclass(frozen=True)
class ShardMade:
    index: int
    rows: int
    rejected: int


class Run:
    """A folder of datasets made from one seed.

    `build` makes a dataset and before it whatever it reads that is not there yet. `seed` and `workers` default
    to what the folder was made with (else 0), and to the machine's cores. `runner` says where shards are made
    (`pipeline.runners`), `minutes` how long one may take (`pipeline.hands`); the folder may be anywhere that fsspec reaches.
    """

    def __init__(
        self,
        folder: str | Path = "data/runs/demo",
        *,
        seed: int | None = None,
        workers: int | None = None,
        models: Models | None = None,
        runner: str = "local",
        minutes: float | None = None,
    ) -> None:
        self.folder = path_of(folder)
        reachable(self.folder)
        self.models = models
        self.seed = seed
        self.workers = workers or cores()
        self.runner = as_known(runner)
        self.minutes = minutes

    def read(self, name: str) -> Dataset[Any]:
        if name not in all_stages():
            raise Problem(f"There is no dataset {name}. {meant(name, all_stages())}")
        return Dataset(self.folder, name, all_stages()[name].makes)

    def build(self, name: str, *, rebuild: bool = False, progress: Progress | None = None, **settings: Any) -> Manifest:
        """Make one dataset, and before it whatever it reads that is not there yet.

        Settings are the dataset's own, or those of one it is made from (`source="a.csv"`,
        `**{"catalog.source": "a.csv"}`). Raises `Problem` for what the caller can mend.
        """
        progress = progress or Silent()
        with closing(self.builds(name, settings, rebuild=rebuild)) as builds:
            for build in builds:
                started = perf_counter()
                if build.damaged:
                    progress.damaged(build.name, build.damaged)
                progress.start(build.name, build.plan.units, build.shards, len(build.missing()))
                with closing(self.make(build)) as shards:
                    for made in shards:
                        progress.shard(made.rows, made.rejected)
                manifest = finish(build, seconds=perf_counter() - started, workers=self.workers)
                progress.end(manifest)
        found = self.read(name).manifest
        assert found
        return found

    def builds(self, name: str, settings: dict[str, Any], *, rebuild: bool = False) -> Generator[Build]:
        """What has to be made for a dataset, one after the other: the next one when the last is finished."""
        self.read(name)
        given = settings_by_stage(name, settings)
        with self.locked():
            for each in upstream(name):
                build = self.prepare(each, given[each], target=each == name, rebuild=rebuild)
                if build is not None:
                    yield build

    def prepare(self, name: str, given: dict[str, Any], *, target: bool = True, rebuild: bool = False) -> Build | None:
        """The work to be done for one dataset whose inputs are whole; None when it is there already."""
        stage, inputs = all_stages()[name], {read: self.read(read) for read in all_stages()[name].reads}
        old, whole = self.recipe_of(name, forgive=rebuild and target)
        damaged = self.damage(name) if whole and not (rebuild and target) else {}
        whole = whole and not damaged
        recipe = self.recipe_for(name, given, target=target or bool(damaged), rebuild=rebuild)
        plan = None
        if target or given or not whole:
            plan = stage.plan(inputs, recipe.settings)
            recipe = recipe.model_copy(update={"files": checksums(plan.files)})
        changed = changes(old, recipe) if old else ""
        if changed and not rebuild:
            hurt_too = f"is damaged ({in_words(damaged)}) and " if damaged else ""
            state = f"{hurt_too}was made" if whole or damaged else "is half-built"
            raise Stale(
                f"{name} in {self.folder} {state} differently: {changed}. Build with --rebuild to make it again, or use "
                "another --run folder."
            )
        again = changed or (rebuild and target and whole)
        if whole and not again:
            self.forget(name)
            return None
        if plan is None:
            plan = stage.plan(inputs, recipe.settings)
            recipe = recipe.model_copy(update={"files": checksums(plan.files)})
        recipe = recipe.model_copy(update={"code": code_version(), "models": self.played(stage, recipe.settings)})
        models, roles = self.models or Models(), stage.asks(recipe.settings)
        for role in roles:
            models.price(role)
            if recipe.settings.get("written_by") == "model" and not models.asks([role]):
                raise Problem(
                    f"--written-by model needs a model: say --model, or --{role}. See: shopwright build {name} -h"
                )
        build = Build(self.folder, recipe, stage.shards(plan.units, few=models.asks(roles)), plan, models)
        if again or old is None:
            self.clear(name)
        elif damaged and (manifest := self.read(name).manifest):
            self.reopen(manifest, without=damaged)
        else:
            damaged = build.weed()
        write_told(self.draft_path(name), recipe)
        return replace(build, damaged=damaged)

    def damage(self, name: str) -> dict[str, str]:
        """Files of a finished dataset that are not what its manifest says, and how they differ. Raises Problem for one that it does not know."""
        dataset, manifest = self.read(name), self.read(name).manifest
        if manifest is None:
            return {}
        for path in (*dataset.files, *dataset.quarantine.files):
            if path.relative_to(self.folder).as_posix() not in manifest.files:
                raise Problem(
                    f"{path} is not in the manifest of {name}. Take it away, or build that dataset with --rebuild."
                )
        return hurt(self.folder, manifest.files)

    def reopen(self, manifest: Manifest, *, without: Iterable[str]) -> None:
        """A finished dataset counts as half-built from now on: less the shards that these files belong to."""
        name, lacking = manifest.dataset, {index_of(path) for path in without}
        write_told(self.draft_path(name), manifest.recipe)
        for index in range(len(manifest.files)):
            names = [f"{folder}{name}/{shard_name(index)}" for folder in ("quarantine/", "")]
            files = {path: manifest.files[path] for path in names if path in manifest.files}
            if index in lacking:
                remove(self.folder / name / shard_name(index))
            elif files:
                note(self.folder, name, index, files)
        remove(self.read(name).manifest_path)

    def forget(self, name: str) -> None:
        """Takes away what was known of a dataset while it was not whole."""
        notes = self.draft_path(name).with_suffix("")
        for path in notes.glob("*") if is_here(notes) else ():
            remove(path)
        if is_here(notes) and notes.is_dir():
            notes.rmdir()
        remove(self.draft_path(name))

    def recipe_for(self, name: str, given: dict[str, Any], *, target: bool = True, rebuild: bool = False) -> Recipe:
        """As the dataset is to be made: as before, but for what is given."""
        stage, inputs = all_stages()[name], {read: self.read(read) for read in all_stages()[name].reads}
        old, whole = self.recipe_of(name, forgive=rebuild and target)
        settings = {key: setting.default for key, setting in stage.settings.items()}
        kept = {key: value for key, value in (old.settings if old else {}).items() if key in settings}
        settings = parsed(stage, settings | kept | given)
        return Recipe(
            dataset=name,
            settings=settings,
            seed=next(seed for seed in (self.seed, old.seed if old else seed_of(inputs), 0) if seed is not None),
            inputs={read: found.manifest.fingerprint for read, found in inputs.items() if found.manifest},
            files=old.files if old else {},
            code=old.code if old and whole and not target else code_version(),
            version=package_version(),
            models=old.models
            if old and whole and (self.models is None or not target)
            else self.played(stage, settings),
        )

    def played(self, stage: Stage, settings: dict[str, Any]) -> dict[str, str]:
        """Which model plays each role of the stage, and how it is drawn from."""
        return {role: (self.models or Models()).told(role) for role in stage.asks(settings)}

    def recipe_of(self, name: str, *, forgive: bool) -> tuple[Recipe | None, bool]:
        """How the dataset that is there was made, and whether it is whole; what cannot be read may be forgiven."""
        try:
            manifest = self.read(name).manifest
            return (manifest.recipe, True) if manifest else (read_told(self.draft_path(name), Recipe), False)
        except Problem:
            if forgive:
                return None, False
            raise

    def draft_path(self, name: str) -> Path:
        """How a dataset that is not whole yet is being made."""
        return self.folder / "manifests" / f"{name}.building.json"

    def make(self, build: Build) -> Generator[ShardMade]:
        """Makes the missing shards, on as many processes as there are workers, in any order."""
        missing = build.missing()
        with self.clearing(build):
            work, seconds = replace(build, run=absolute(build.run)), seconds_for(build.name, self.minutes)
            if build.asks or (self.runner == "local" and (self.workers == 1 or len(missing) <= 1)):
                yield from (make_shard(build, index) for index in missing)
            elif self.runner == "local":
                with (
                    ThreadPoolExecutor(self.workers) as threads,
                    hands(lambda: self.executor(1), min(self.workers, len(missing))) as found,
                ):
                    for done in as_completed(
                        [threads.submit(in_hands, found, seconds, work, index) for index in missing]
                    ):
                        yield done.result()
            else:
                with self.executor(len(missing)) as executor:
                    calls = [executor.submit(in_time, seconds, make_shard, work, index) for index in missing]
                    for done in as_completed(calls):
                        yield done.result()

    @contextmanager
    def executor(self, calls: int) -> Iterator[Executor]:
        """What makes so many shards: of processes of its own no more than these are started."""
        workers = min(self.workers, max(1, calls)) if self.runner == "local" else self.workers
        with running(self.runner, workers) as found:
            yield found

    @contextmanager
    def clearing(self, build: Build) -> Iterator[None]:
        """Bad input that shows only while a dataset is made leaves nothing of it behind; what ended it early, what is done."""
        try:
            yield
        except Ended as error:
            error.add_note(so_far(build))
            raise
        except Problem:
            if not STOPS:
                self.clear(build.name)
            raise

    def requeue(self, name: str, reason: str, **settings: Any) -> int:
        """Rows in quarantine whose reason holds these words count as not made yet, and what models replied for them as not said.

        Returns how many; the next build makes them. Raises Problem where there are none, or where that build would make
        the others differently too: nothing is touched then.
        """
        dataset = self.read(name)
        manifest = dataset.manifest
        if manifest is None:
            raise Problem(f"There is no finished {name} in {self.folder}: build it first, then --requeue.")
        now = self.recipe_for(name, settings_by_stage(name, settings)[name])
        now = now.model_copy(update={"models": self.played(all_stages()[name], now.settings)})
        if changed := changes(manifest.recipe, now):
            raise Stale(
                f"{name} in {self.folder} was made differently: {changed}. --requeue asks again with what it was made with; to "
                "change that, build with --rebuild."
            )
        keys: list[str] = []
        again: set[Path] = set()
        rows = 0
        for path in dataset.quarantine.files:
            for held in (row for batch in row_groups(path) for row in batch.to_pylist()):
                tries = tried(held["record"]) if any(reason in each for each in held["reasons"]) else []
                keys += [key for one in tries if (key := one.get("key"))]
                if tries:
                    rows += 1
                    again.add(path)
        if not keys:
            known = "; ".join(manifest.rejects) or "none"
            raise Problem(
                f"No row of {name} that a model wrote is in quarantine for {reason!r}. Reasons there: {known}."
            )
        with self.locked():
            ask_anew(self.folder / "replies", keys)
            self.reopen(manifest, without=[path.name for path in again])
        return rows

    def clear(self, name: str) -> None:
        """Takes a dataset away, its manifest first, so that it is never whole in name only; and nothing else."""
        folders = [self.folder / name, self.folder / "quarantine" / name]
        files = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
        if stranger := next((path for path in files if not OURS.fullmatch(path.name)), None):
            raise Problem(f"{stranger} was made by no build. Take it away, or use another --run folder.")
        for path in (self.read(name).manifest_path, *files):
            remove(path)
        self.forget(name)
        for folder in (*folders, self.folder / "quarantine") if is_here(self.folder) else ():
            with suppress(OSError):
                folder.rmdir()

    def stands_alone(self) -> None:
        """Raises Problem where a link in it leads out, or something is no file: for all that writes here, or judges what is here."""
        if is_here(self.folder):
            only_its_own(self.folder, (*all_stages(), *BESIDE))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One build at a time in a run's folder.

        What this made and the build did not fill is taken away again.
        """
        self.stands_alone()
        manifests = self.folder / "manifests"
        if not is_here(manifests):
            with alone(manifests, self.folder):
                yield
            return
        new = [folder for folder in (manifests, *manifests.parents) if not folder.exists()]
        try:
            manifests.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(f"Cannot write to {self.folder}: {error.strerror}. Choose another --run folder.") from None
        try:
            with alone(manifests, self.folder):
                yield
        finally:
            for folder in new:
                with suppress(OSError):
                    folder.rmdir()


def in_hands(found: Hands, seconds: float, build: Build, index: int) -> ShardMade:
    """Makes one shard in one of these processes. Raises Late or Lost when several of them have hung, or were ended from outside, over it."""
    for again in reversed(range(TRIES)):
        try:
            made: ShardMade = found.make(f"{build.name} {index}", seconds, make_shard, build, index)
            return made
        except (Late, Lost):
            if not again:
                raise
    raise AssertionError


def make_shard(build: Build, index: int) -> ShardMade:
    """Makes one shard: the rows that pass into it, the others into quarantine with their reasons."""
    stage, datasets = build.stage, build.datasets
    if build.recipe.code != code_version():
        raise Problem(
            f"The code has changed since this build began, or {gethostname()} has another. Use the same one everywhere."
        )
    remove(build.held_path(index))
    kept = ShardWriter(build.shard_path(index), stage.makes, always=True)
    held = ShardWriter(build.held_path(index), Rejected)
    roles = {role: build.role(role, index) for role in stage.roles}
    try:
        for batch, records, rejected in made(build, Shard(index, build.shards, build.recipe.seed), roles):
            reasons = reasons_against(stage, batch, datasets, records)
            kept.write(without(batch, [row for row, found in enumerate(reasons) if found]))
            rejected += [reject(batch, row, found) for row, found in enumerate(reasons) if found]
            held.write(to_batch(Rejected, rejected))
        files = {build.told(writer.path): writer.facts() for writer in (held, kept) if writer.close()}
        note(build.run, build.name, index, files)
        held.commit()
        if roles:
            note_asked(build, index, roles.values())
        kept.commit()
        remove(build.held_path(index, "-across"))  # last: until then it says that rows are missing
    except BaseException:
        kept.discard()
        held.discard()
        raise
    return ShardMade(index, kept.rows, held.rows)


def made(
    build: Build, shard: Shard, roles: dict[str, Role]
) -> Iterator[tuple[pa.RecordBatch, list[Record] | None, list[Rejected]]]:
    """What the stage makes for a shard, unjudged: batches, each with the rejects that came before it."""
    stage = build.stage
    given = {**build.datasets, **roles, "shard": shard, "plan": build.plan}
    settings = {name: stage.settings[name].adapter.validate_python(v) for name, v in build.recipe.settings.items()}
    return in_batches(stage, stage.function(*map(given.get, stage.needs), **settings))


def tried(record: str) -> list[dict[str, Any]]:
    """The tries in a rejected row's record, where models wrote it."""
    try:
        found = json.loads(record)
    except ValueError:
        return []
    tries = found.get("tries", []) if isinstance(found, dict) else []
    return [one for one in tries if isinstance(one, dict)] if isinstance(tries, list) else []


def note_asked(build: Build, index: int, roles: Iterable[Role]) -> None:
    asked = {name: found.model_dump() for role in roles if role.asks for name, found in role.asked.items()}
    if asked:
        write_whole(build.asked_path(index), json.dumps(asked))
    else:
        remove(build.asked_path(index))


def asked_of_all(build: Build) -> dict[str, Asked]:
    """What was asked for the whole dataset, by template."""
    found: dict[str, Asked] = {}
    for told in each(asked_in, map(build.asked_path, range(build.shards))) if build.stage.roles else []:
        for name, facts in told.items():
            asked = Asked.model_validate(facts)
            found[name] = found[name].joined(asked) if name in found else asked
    return found


def asked_in(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def so_far(build: Build) -> str:
    """What was asked for and what there is of it, in words."""
    made = build.made()
    rows = sum(found.num_rows for found in each(footer, map(build.shard_path, made)))
    held = [path for path in build.dataset.quarantine.files if path.name in set(map(shard_name, made))]
    rejected = sum(found.num_rows for found in each(footer, held))
    kept = sum(1 for _ in places(build.run / "replies")) if build.asks else 0
    requested = build.plan.rows
    pending = f"{requested - rows - rejected:,} pending" if requested is not None else "others pending"
    of = f"{requested:,} requested = " if requested is not None else ""
    return f"{build.name}: {of}{rows:,} accepted + {rejected:,} rejected + {pending}" + (
        f" ({kept:,} replies are kept)." if kept else "."
    )


def in_batches(
    stage: Stage, items: Iterator[Any]
) -> Iterator[tuple[pa.RecordBatch, list[Record] | None, list[Rejected]]]:
    """What a stage yields (records, batches, rejects) as batches, each with the rejects that came before it."""
    records: list[Record] = []
    rejected: list[Rejected] = []
    for item in items:
        if isinstance(item, Rejected):
            rejected.append(item)
        elif isinstance(item, Record):
            records.append(item)
        else:
            yield item, None, rejected
            rejected = []
        if len(records) + len(rejected) >= ROWS_PER_BATCH:
            yield to_batch(stage.makes, records), records, rejected
            records, rejected = [], []
    if records or rejected:
        yield to_batch(stage.makes, records), records, rejected


def without(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    if not rows:
        return batch
    keep = pc.invert(pc.is_in(pa.array(range(batch.num_rows)), value_set=pa.array(rows, pa.int64())))
    return batch.filter(keep)


def reject(batch: pa.RecordBatch, row: int, reasons: list[str]) -> Rejected:
    record = batch.slice(row, 1).to_pylist()[0]
    return Rejected(id=record["id"], reasons=reasons, record=json.dumps(record, default=str, ensure_ascii=False))


def finish(build: Build, *, seconds: float = 0.0, workers: int = 1) -> Manifest:
    """Judges the dataset as a whole and writes its manifest, which makes it whole."""
    sweep(build)
    if damaged := build.weed():
        raise Ended(
            f"{in_words(damaged)}: not as it was written a moment ago; the disk may be failing. Its shard is taken away: run the "
            "same command again."
        )
    for check in build.stage.across:
        hold_back(build, list(check(build.dataset)))
    dataset, quarantine = build.dataset, build.dataset.quarantine
    files = [*dataset.files, *quarantine.files]
    names = [path.relative_to(build.run).as_posix() for path in files]
    known = {name: facts for index in build.made() if is_here(build.run) for name, facts in build.noted(index).items()}
    new = [path for path, name in zip(files, names, strict=True) if name not in known]
    known |= dict(zip(map(build.told, new), each(file_facts, new), strict=True))
    manifest = Manifest(
        dataset=build.name,
        about=build.stage.about,
        recipe=build.recipe,
        rows=len(dataset),
        rejected=len(quarantine),
        rejects=tally(quarantine, "reasons"),
        requested=build.plan.rows,
        told=dict(build.plan.told),
        asked=asked_of_all(build),
        repairs=tally(dataset, "repairs") if "repairs" in build.stage.makes.model_fields else {},
        tokens=total_of(dataset, "tokens") if "tokens" in build.stage.makes.model_fields else None,
        seconds=round(seconds, 3),
        workers=workers,
        files={name: known[name] for name in names},
    )
    write_told(dataset.manifest_path, manifest)
    Run(build.run).forget(build.name)
    return manifest


def in_words(damaged: dict[str, str], most: int = 3) -> str:
    """
    >>> in_words({"toys/part-00000.parquet": "missing"})
    'toys/part-00000.parquet: missing'
    """
    told = [f"{name}: {how}" for name, how in list(damaged.items())[:most]]
    return "; ".join(told) + (f"; and {len(damaged) - most} more" if len(damaged) > most else "")


def sweep(build: Build) -> None:
    """Takes away what workers that were killed had begun."""
    for folder in (build.dataset.folder, build.dataset.quarantine.folder):
        for path in folder.glob(".part-*.tmp"):
            remove(path)


def total_of(dataset: Dataset[Any], column: str) -> int:
    return sum(pc.sum(batch.column(0)).as_py() or 0 for batch in dataset.batches([column]))


def hold_back(build: Build, faults: list[Fault]) -> None:
    """Moves rows from their shards to quarantine, a shard's rejects first: with them there, and no manifest, the
    shard counts as missing, so that a judgement that was stopped begins anew."""
    by_file: dict[str, dict[int, list[str]]] = {}
    for fault in faults:
        reasons = by_file.setdefault(Path(fault.file).name, {}).setdefault(fault.row, [])
        if fault.reason not in reasons:
            reasons.append(fault.reason)
    for name, rows in by_file.items():
        path = build.dataset.folder / name
        index = int(name.removeprefix("part-").removesuffix(".parquet"))
        kept = ShardWriter(path, build.stage.makes, always=True)
        held = ShardWriter(build.held_path(index, "-across"), Rejected)
        before = held.path if held.path.exists() else None
        for batch in row_groups(before) if before else []:
            held.write(batch)
        first = 0
        for batch in row_groups(path):
            here = {row - first: found for row, found in rows.items() if first <= row < first + batch.num_rows}
            held.write(to_batch(Rejected, [reject(batch, row, found) for row, found in sorted(here.items())]))
            kept.write(without(batch, list(here)))
            first += batch.num_rows
        held.commit()
        kept.commit()


def settings_by_stage(name: str, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each given setting at the dataset it belongs to: its own first, else the one upstream that has it."""
    given: dict[str, dict[str, Any]] = {each: {} for each in upstream(name)}
    for key, value in settings.items():
        owners = [key.partition(".")[0]] if "." in key else owners_of(name, key)
        setting = key.rpartition(".")[2]
        if not owners or owners[0] not in given or setting not in all_stages()[owners[0]].settings:
            raise Problem(f"{name} has no setting {key}. It has: {', '.join(setting_names(name))}.")
        if len(owners) > 1:
            choice = " or ".join(f"{owner}.{setting}" for owner in owners)
            raise Problem(f"{key} belongs to several datasets: say {choice}.")
        given[owners[0]][setting] = all_stages()[owners[0]].settings[setting].parse(value)
    return given


def seed_of(inputs: dict[str, Dataset[Any]]) -> int | None:
    return next((found.manifest.recipe.seed for found in inputs.values() if found.manifest), None)


def owners_of(name: str, setting: str) -> list[str]:
    if setting in all_stages()[name].settings:
        return [name]
    return [each for each in upstream(name) if setting in all_stages()[each].settings]


def setting_names(name: str) -> list[str]:
    """Every setting that building a dataset takes, in the shortest unambiguous form."""
    return [
        setting if owners_of(name, setting) == [each] else f"{each}.{setting}"
        for each in reversed(upstream(name))
        for setting in all_stages()[each].settings
    ]


def parsed(stage: Stage, settings: dict[str, Any]) -> dict[str, Any]:
    return {name: stage.settings[name].parse(value) for name, value in settings.items()}


def changes(before: Recipe, now: Recipe) -> str:
    """What differs, in words; empty when nothing does.

    >>> one = Recipe(dataset="a", settings={"count": 10}, seed=0, inputs={}, files={}, code="x", version="1")
    >>> changes(one, one.model_copy(update={"settings": {"count": 20}}))
    'count 10 -> 20'
    """
    flat = [
        {**r.settings, **r.models, "seed": r.seed, **{f"input {k}": v for k, v in r.inputs.items()}}
        | {f"file {k}": v[:12] for k, v in r.files.items()}
        | {"code": r.code}
        for r in (before, now)
    ]
    keys = dict.fromkeys([*flat[0], *flat[1]])
    differ = [key for key in keys if flat[0].get(key) != flat[1].get(key)]
    return ", ".join(f"{key} {shown(flat[0].get(key))} -> {shown(flat[1].get(key))}" for key in differ)


def shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


@cache
def code_version() -> str:
    """Fingerprint of everything that decides the rows: code (less what only shows them), prompts, reference facts."""
    found = hashlib.sha256()
    for folder, pattern in (("pipeline", "*.py"), ("schemas", "*.py"), ("prompts", "*.j2"), ("data/reference", "*.*")):
        for path in sorted((HOME / folder).rglob(pattern)):
            if path.is_file() and not {path.name, path.parent.name} & set(ONLY_SHOW):
                found.update(path.relative_to(HOME).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def checksums(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of each file by its name, so that it may be moved; files of one name have one together."""
    found: dict[str, str] = {}
    for path in files:
        also = found.get(path.name)
        found[path.name] = hashlib.sha256((also + sha256_of(path)).encode()).hexdigest() if also else sha256_of(path)
    return found


def as_known(runner: str) -> str:
    try:
        return known_runner(runner)
    except ValueError as error:
        raise Problem(f"--runner {error}.") from None


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
