"""A run: a folder of datasets that belong together, and the stages that fill it."""

import hashlib
import inspect
import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

from shopwright import __version__
from shopwright.pipeline.code_digest import digest_code
from shopwright.pipeline.dataset import (
    ALL_CODE,
    Dataset,
    Manifest,
    Recipe,
    digest,
    find_damaged_files,
    read_json_model,
    read_row_groups,
    write_json_model,
)
from shopwright.pipeline.files import (
    absolute,
    check_reachable,
    check_run_contents,
    is_here,
    lock_run,
    path_of,
    remove,
    sha256_of,
)
from shopwright.pipeline.forks import Origin
from shopwright.pipeline.languages import check_offered, language_of
from shopwright.pipeline.migrations import migrate
from shopwright.pipeline.models.base import UNANSWERED
from shopwright.pipeline.models.limits import wait_for_replies
from shopwright.pipeline.models.replies import ask_anew
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import STOPS, Ended, Problem, Stale, heed_stop, suggest_name
from shopwright.pipeline.progress import Progress, SilentProgress
from shopwright.pipeline.runners import TRIES, Executor, check_runner, open_executor
from shopwright.pipeline.schema_steps import schema_number
from shopwright.pipeline.shards import (
    OURS,
    Build,
    ShardMade,
    describe_damage,
    draft_path,
    finish,
    forget,
    make_first_row,
    make_shard,
    note,
    read_tries,
    shard_index_of,
    shard_name,
    so_far,
)
from shopwright.pipeline.stage import Reference, Stage, resolve_reference
from shopwright.pipeline.stages import all_stages, upstream
from shopwright.pipeline.worker_pool import (
    MINUTES_ASKING,
    ClusterPool,
    ShardTimeout,
    WorkerDied,
    WorkerPool,
    run_here,
    run_with_deadline,
    seconds_for,
)

# Folders of a run beside its datasets.
BESIDE = ("manifests", "quarantine", "replies", "evaluations", "curricula", ".publish")


class Run:
    """A folder of datasets made from one seed.

    `build` makes a dataset and before it whatever it reads that is not there yet. `seed` and `workers` default
    to what the folder was made with (else 0), and to the machine's cores. `runner` says where shards are made
    (`shopwright.pipeline.runners`), `minutes` how long one may take (`shopwright.pipeline.worker_pool`); the folder may be anywhere that fsspec reaches.
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
        check_reachable(self.folder)
        self.models = models
        self.seed = seed
        self.workers = workers or count_cores()
        try:
            self.runner = check_runner(runner)
        except ValueError as error:
            raise Problem(f"--runner {error}.") from None
        self.minutes = minutes
        self.key = ""
        self.pool: WorkerPool

    def read(self, name: str) -> Dataset[Any]:
        if name not in all_stages():
            raise Problem(f"There is no dataset {name}. {suggest_name(name, all_stages())}")
        return Dataset(self.folder, name, all_stages()[name].makes)

    def manifests(self, names: Iterable[str] = ()) -> list[Manifest]:
        """Of every dataset that is whole, of all or of these."""
        return [found for name in names or all_stages() if (found := self.read(name).manifest)]

    def call(self, reference: Reference, **given: Any) -> Any:
        """A function with what its parameters name: what is given, `run`, and datasets."""
        function = resolve_reference(reference)
        known = {"run": self, **given}
        wanted = [one.name for one in inspect.signature(function).parameters.values() if one.default is one.empty]
        # The name of a parameter is the name of a dataset.
        return function(**{name: known[name] if name in known else self.read(name) for name in wanted})

    def build(self, name: str, *, rebuild: bool = False, progress: Progress | None = None, **settings: Any) -> Manifest:
        """Make one dataset, and before it whatever it reads that is not there yet.

        Settings are the dataset's own, or those of one it is made from (`source="a.csv"`,
        `**{"catalog.source": "a.csv"}`). Raises `Problem` for what the caller can mend.
        """
        progress = progress or SilentProgress()
        with closing(self.builds(name, settings, rebuild=rebuild)) as builds:
            for build in builds:
                started = perf_counter()
                if build.damaged:
                    progress.report_damage(build.name, build.damaged)
                self.announce(build, progress)
                with closing(self.make(build)) as shards:
                    for made in shards:
                        progress.shard(made.rows, made.rejected)
                        heed_stop()
                manifest = finish(build, seconds=perf_counter() - started, workers=self.workers)
                progress.end(manifest)
        found = self.read(name).manifest
        assert found
        return found

    def announce(self, build: Build, progress: Progress) -> None:
        """Tells what is to be made, and by how many."""
        workers = 1 if build.loads else self.workers
        kind = f"{build.name} {describe_work(build, self.runner)}"
        progress.start(build.name, build.plan.units, build.shards, len(build.missing()), workers=workers, kind=kind)

    def builds(self, name: str, settings: dict[str, Any], *, rebuild: bool = False) -> Generator[Build]:
        """What has to be made for a dataset, one after the other: the next one when the last is finished."""
        self.read(name)
        given = settings_by_stage(name, settings)
        self.check_languages(upstream(name), given)
        names = upstream(name)
        with self.lock(), self.open_pool(names):
            migrate(self.folder)
            for each in names:
                build = self.prepare(each, given[each], target=each == name, rebuild=rebuild)
                if build is not None:
                    yield build

    def check_languages(self, names: Iterable[str], given: dict[str, dict[str, Any]]) -> None:
        """Raises Problem where one of these datasets, or a model that writes it, is not offered in the shop's language."""
        old, _ = self.recipe_of("catalog", forgive=True)
        language = language_of({**(old.settings if old else {}), **given.get("catalog", {})})
        for name in names:
            check_offered(name, all_stages()[name].languages, language)
            if (self.models or Models()).asks([role for role in all_stages()[name].roles if role == "writer"]):
                check_offered(f"{name} written by a model", ["en"], language)

    def prepare(self, name: str, given: dict[str, Any], *, target: bool = True, rebuild: bool = False) -> Build | None:
        """The work to be done for one dataset whose inputs are whole; None when it is there already."""
        stage, inputs = all_stages()[name], {read: self.read(read) for read in all_stages()[name].reads}
        old, whole = self.recipe_of(name, forgive=rebuild and target)
        damaged = self.damage(name) if whole and not (rebuild and target) else {}
        lost = self.list_unanswered(name) if whole and target and not rebuild and not damaged else []
        whole = whole and not damaged and not lost
        recipe = self.recipe_for(name, given, target=target or bool(damaged), rebuild=rebuild)
        plan = None
        # Files outside the run may have changed since, and only the plan knows which they are.
        if target or given or not whole:
            plan = stage.plan(inputs, recipe.settings)
            recipe = recipe.model_copy(update={"files": checksums(plan.files)})
        changed = describe_changes(old, recipe) if old else ""
        if changed and not rebuild:
            hurt_too = f"is damaged ({describe_damage(damaged)}) and " if damaged else ""
            state = f"{hurt_too}was made" if whole or damaged or lost else "is half-built"
            raise Stale(
                f"{name} in {self.folder} {state} differently: {changed}. Build with --rebuild to make it again, or use "
                "another --run folder."
            )
        # --rebuild is for the dataset that was named; what it is made from is made again only where it was made differently.
        again = changed or (rebuild and target and whole)
        if whole and not again:
            forget(self.folder, name)
            return None
        if plan is None:
            plan = stage.plan(inputs, recipe.settings)
            recipe = recipe.model_copy(update={"files": checksums(plan.files)})
        recipe = recipe.model_copy(
            # What is made now is made by this code, whatever made the shards that stay.
            update={"code": digest_code(stage), "models": self.describe_models(stage, recipe.settings)}
        )
        models, roles = self.models or Models(), stage.asks(recipe.settings)
        for role in roles:
            models.price(role)
            if recipe.settings.get("written_by") == "model" and not models.asks([role]):
                raise Problem(
                    f"--written-by model needs a model: say --model, or --{role}. See: shopwright build {name} -h"
                )
        shards = stage.shards(plan.units, at_least=models.units_per_shard(roles), at_most=plan.at_most)
        build = Build(self.folder, recipe, shards, plan, models)
        if again or old is None:
            self.clear(name)
        elif (damaged or lost) and (manifest := self.read(name).manifest):
            self.reopen(manifest, without=[*damaged, *lost])
        else:
            damaged = build.remove_damaged_shards()
        write_json_model(draft_path(self.folder, name), recipe)
        return replace(build, damaged=damaged, key=self.key)

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
        return find_damaged_files(self.folder, manifest.files)

    def list_unanswered(self, name: str) -> list[str]:
        """Files of rows that are not there because a model's request was not answered, where a model may be asked again now."""
        manifest, models = self.read(name).manifest, self.models or Models()
        lost = manifest is not None and any(reason.startswith(UNANSWERED) for reason in manifest.rejects)
        if manifest is None or not lost or not models.asks(all_stages()[name].asks(manifest.recipe.settings)):
            return []
        return [path.name for path in self.read(name).quarantine.files if has_unanswered_rows(path)]

    def reopen(self, manifest: Manifest, *, without: Iterable[str]) -> None:
        """A finished dataset counts as half-built from now on: less the shards that these files belong to."""
        name, lacking = manifest.dataset, {shard_index_of(path) for path in without}
        write_json_model(draft_path(self.folder, name), manifest.recipe)
        for index in range(len(manifest.files)):
            names = [f"{folder}{name}/{shard_name(index)}" for folder in ("quarantine/", "")]
            files = {path: manifest.files[path] for path in names if path in manifest.files}
            if index in lacking:
                remove(self.folder / name / shard_name(index))
            elif files:
                note(self.folder, name, index, files)
        # Last: stopped before, the dataset still counts as whole, with its damage seen.
        remove(self.read(name).manifest_path)

    def recipe_for(self, name: str, given: dict[str, Any], *, target: bool = True, rebuild: bool = False) -> Recipe:
        """As the dataset is to be made: as before, but for what is given."""
        stage, inputs = all_stages()[name], {read: self.read(read) for read in all_stages()[name].reads}
        old, whole = self.recipe_of(name, forgive=rebuild and target)
        defaults = {key: setting.default for key, setting in stage.settings.items()}
        kept = {key: value for key, value in (old.settings if old else {}).items() if key in defaults}
        settings = {key: stage.settings[key].parse(value) for key, value in (defaults | kept | given).items()}
        theirs = [found.manifest.recipe.seed for found in inputs.values() if found.manifest]
        seeds = [self.seed, old.seed if old else None, *theirs, 0]
        return Recipe(
            dataset=name,
            settings=settings,
            seed=next(seed for seed in seeds if seed is not None),
            inputs={read: found.manifest.fingerprint for read, found in inputs.items() if found.manifest},
            files=old.files if old else {},
            # A whole dataset that this one is made from is taken as it is, whichever code made it.
            code=old.code if old and whole and not target else digest_code(stage),
            version=__version__,
            schema_number=schema_number(stage.makes),
            models=old.models
            if old and whole and (self.models is None or not target)
            else self.describe_models(stage, settings),
        )

    def describe_models(self, stage: Stage, settings: dict[str, Any]) -> dict[str, str]:
        """Which model plays each role of the stage, and how it is drawn from."""
        return {role: (self.models or Models()).describe(role) for role in stage.asks(settings)}

    def recipe_of(self, name: str, *, forgive: bool) -> tuple[Recipe | None, bool]:
        """How the dataset that is there was made, and whether it is whole; what cannot be read may be forgiven."""
        try:
            manifest = self.read(name).manifest
            return (
                (manifest.recipe, True) if manifest else (read_json_model(draft_path(self.folder, name), Recipe), False)
            )
        except Problem:
            if forgive:
                return None, False
            raise

    def make(self, build: Build) -> Generator[ShardMade]:
        """Makes the missing shards, on as many processes as there are workers, in any order."""
        missing = build.missing()
        with self.clearing(build), build.share() as shared:
            minutes = self.minutes or (MINUTES_ASKING if build.asks else None)
            work, seconds = replace(shared, run=absolute(build.run)), seconds_for(build.name, minutes)
            runner = "local" if build.asks else self.runner
            # One shard is not worth starting other processes.
            if build.loads or (runner == "local" and (self.workers == 1 or len(missing) <= 1)):
                yield from (run_here(f"{build.name} {index}", seconds, make_shard, shared, index) for index in missing)
            elif runner == "local":
                with (
                    # The threads only wait, each for a process of the pool.
                    ThreadPoolExecutor(self.workers) as threads,
                    self.lend_workers(work, min(self.workers, len(missing))) as found,
                ):
                    calls = [threads.submit(make_shard_in_pool, found, seconds, work, index) for index in missing]
                    with wait_for_replies(work.models.limits, found.wait_until_idle):
                        for done in as_completed(calls):
                            yield done.result()
            else:
                with self.executor(len(missing)) as executor:
                    calls = [executor.submit(run_with_deadline, seconds, make_shard, work, index) for index in missing]
                    for done in as_completed(calls):
                        yield done.result()

    @contextmanager
    def open_pool(self, names: Iterable[str]) -> Iterator[None]:
        """For the shards of all these datasets: what its workers are forked from goes on learning from one to the next."""
        origin = Origin([all_stages()[name].function.__module__ for name in names])
        self.pool = WorkerPool(origin)
        try:
            yield
        finally:
            origin.close()

    @contextmanager
    def lend_workers(self, build: Build, at_once: int) -> Iterator[WorkerPool | ClusterPool]:
        """What makes a dataset's shards. What a model is asked for is made here, where all processes share its limits."""
        if build.asks or self.runner == "local":
            work = replace(build, run=absolute(build.run))
            with self.pool.lend(at_once, seconds_for(build.name, self.minutes), make_first_row, work) as found:
                yield found
        else:
            with open_executor(self.runner, self.workers) as executor:
                yield ClusterPool(executor)

    @contextmanager
    def executor(self, calls: int) -> Iterator[Executor]:
        """What makes so many shards: of processes of its own no more than these are started."""
        workers = min(self.workers, max(1, calls)) if self.runner == "local" else self.workers
        with open_executor(self.runner, workers) as found:
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
            # A stop may come as an error of the library that it fell into.
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
        now = now.model_copy(update={"models": self.describe_models(all_stages()[name], now.settings)})
        if changed := describe_changes(manifest.recipe, now):
            raise Stale(
                f"{name} in {self.folder} was made differently: {changed}. --requeue asks again with what it was made with; to "
                "change that, build with --rebuild."
            )
        keys: list[str] = []
        again: set[Path] = set()
        rows = 0
        for path in dataset.quarantine.files:
            for held in chain.from_iterable(batch.to_pylist() for batch in read_row_groups(path)):
                tries = read_tries(held["record"]) if any(reason in each for each in held["reasons"]) else []
                keys += [key for one in tries if (key := one.get("key"))]
                if tries:
                    rows += 1
                    again.add(path)
        if not keys:
            known = "; ".join(manifest.rejects) or "none"
            raise Problem(
                f"No row of {name} that a model wrote is in quarantine for {reason!r}. Reasons there: {known}."
            )
        with self.lock():
            ask_anew(self.folder / "replies", keys)
            self.reopen(manifest, without=[path.name for path in again])
        return rows

    def clear(self, name: str) -> None:
        """Takes a dataset away, its manifest first, so that it is never whole in name only; and nothing else."""
        folders = [self.folder / name, self.folder / "quarantine" / name]
        files = list(chain.from_iterable(folder.iterdir() for folder in folders if folder.is_dir()))
        if stranger := next((path for path in files if not OURS.fullmatch(path.name)), None):
            raise Problem(f"{stranger} was made by no build. Take it away, or use another --run folder.")
        for path in (self.read(name).manifest_path, *files):
            remove(path)
        forget(self.folder, name)
        # An object store has no folders, only names with slashes.
        for folder in (*folders, self.folder / "quarantine") if is_here(self.folder) else ():
            with suppress(OSError):
                folder.rmdir()

    def stands_alone(self) -> None:
        """Raises Problem where a link in it leads out, or something is no file: for all that writes here, or judges what is here."""
        if is_here(self.folder):
            check_run_contents(self.folder, (*all_stages().list_names(), *BESIDE))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One build at a time in a run's folder.

        What this made and the build did not fill is taken away again.
        """
        self.stands_alone()
        manifests = self.folder / "manifests"
        if not is_here(manifests):
            with lock_run(manifests, self.folder) as self.key:
                yield
            return
        new = [folder for folder in (manifests, *manifests.parents) if not folder.exists()]
        try:
            manifests.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(f"Cannot write to {self.folder}: {error.strerror}. Choose another --run folder.") from None
        try:
            with lock_run(manifests, self.folder) as self.key:
                yield
        finally:
            for folder in new:
                with suppress(OSError):
                    folder.rmdir()


def make_shard_in_pool(found: WorkerPool | ClusterPool, seconds: float, build: Build, index: int) -> ShardMade:
    """Makes one shard in one of these processes. Raises ShardTimeout or WorkerDied when several of them have hung, or were ended from outside, over it."""
    for again in reversed(range(TRIES)):
        try:
            made: ShardMade = found.make(f"{build.name} {index}", seconds, make_shard, build, index)
            return made
        except (ShardTimeout, WorkerDied):
            if not again:
                raise
    raise AssertionError  # the last try returned or raised


def describe_work(build: Build, runner: str) -> str:
    """A digest that builds share whose units take as long: numbers of the settings say how much is made, the rest what."""
    read = [found.manifest.recipe.settings for found in build.datasets.values() if found.manifest]
    what = [
        {key: value for key, value in settings.items() if isinstance(value, bool) or not isinstance(value, int)}
        for settings in (build.recipe.settings, *read)
    ]
    return digest(json.dumps([runner, build.recipe.models, what], sort_keys=True, default=str))


def settings_by_stage(name: str, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each given setting at the dataset it belongs to: its own first, else the one upstream that has it."""
    given: dict[str, dict[str, Any]] = {each: {} for each in upstream(name)}
    for key, value in settings.items():
        owners = [key.partition(".")[0]] if "." in key else owners_of(name, key)
        setting = key.rpartition(".")[2]
        if not owners or owners[0] not in given or setting not in all_stages()[owners[0]].settings:
            known = " or ".join(f"{each}.{setting}" for each in owners_of(name, setting))
            meant = f"Say {known}." if known else f"It has: {', '.join(setting_names(name))}."
            raise Problem(f"{name} has no setting {key}. {meant}")
        if len(owners) > 1:
            choice = " or ".join(f"{owner}.{setting}" for owner in owners)
            raise Problem(f"{key} belongs to several datasets: say {choice}.")
        given[owners[0]][setting] = all_stages()[owners[0]].settings[setting].parse(value)
    return given


def has_unanswered_rows(path: Path) -> bool:
    reasons = chain.from_iterable(batch["reasons"].to_pylist() for batch in read_row_groups(path))
    return any(each.startswith(UNANSWERED) for each in chain.from_iterable(reasons))


def owners_of(name: str, setting: str) -> list[str]:
    if setting in all_stages()[name].settings:
        return [name]
    return [each for each in upstream(name) if setting in all_stages()[each].settings]


def setting_names(name: str) -> list[str]:
    """Every setting that building a dataset takes, in the shortest unambiguous form."""
    names = []
    for each in reversed(upstream(name)):
        for setting in all_stages()[each].settings:
            names.append(setting if owners_of(name, setting) == [each] else f"{each}.{setting}")
    return names


def describe_changes(before: Recipe, now: Recipe) -> str:
    """What differs, in words; empty when nothing does.

    >>> one = Recipe(dataset="a", settings={"count": 10}, seed=0, inputs={}, files={}, code={"pipeline": "x"}, version="1")
    >>> describe_changes(one, one.model_copy(update={"settings": {"count": 20}}))
    'count 10 -> 20'
    >>> describe_changes(one, one.model_copy(update={"code": {"pipeline": "y", "prompts": "z"}}))
    'the code in pipeline, prompts'
    """
    old, new = flatten_recipe(before), flatten_recipe(now)
    found = [
        f"{key} {format_setting(old.get(key))} -> {format_setting(new.get(key))}" for key in list_differences(old, new)
    ]
    if parts := list_differences(before.code, now.code):
        found.append("the code" if ALL_CODE in before.code else f"the code in {', '.join(parts)}")
    return ", ".join(found)


def list_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]


def flatten_recipe(recipe: Recipe) -> dict[str, Any]:
    inputs = {f"input {name}": fingerprint for name, fingerprint in recipe.inputs.items()}
    files = {f"file {name}": checksum[:12] for name, checksum in recipe.files.items()}
    return {**recipe.settings, **recipe.models, "seed": recipe.seed, **inputs, **files}


def format_setting(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def checksums(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of each file by its name, so that it may be moved; files of one name have one together."""
    found: dict[str, str] = {}
    for path in files:
        also = found.get(path.name)
        found[path.name] = hashlib.sha256((also + sha256_of(path)).encode()).hexdigest() if also else sha256_of(path)
    return found


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # not on macOS
