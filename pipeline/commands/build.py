"""`shopwright build`: a dataset, and before it whatever it reads that is not there yet."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from itertools import chain
from shlex import quote
from typing import Any

from shopwright.pipeline.commands.models import add_models, models_given
from shopwright.pipeline.commands.options import Parser, add_command, add_listed_command, parse_amount, parse_positive
from shopwright.pipeline.commands.output import NOTHING, format_option_value, print_json
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import is_here
from shopwright.pipeline.models.role import PromptUsage
from shopwright.pipeline.problem import harmless
from shopwright.pipeline.progress import BarProgress, LineProgress
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.run import Run, owners_of
from shopwright.pipeline.stage import Setting
from shopwright.pipeline.stages import all_stages, upstream


def add(commands: Any, folder: Parser, as_json: Parser, datasets: Iterable[str]) -> None:
    several = add_listed_command(commands, "build", []).add_subparsers(dest="dataset", required=True, metavar="DATASET")
    for name in datasets:
        add_dataset(several, name, [folder, as_json])


def add_dataset(datasets: Any, name: str, parents: list[Parser]) -> None:
    about = all_stages()[name].about.rstrip(".")
    options = add_command(datasets, name, about, parents, build_example(name))
    options.add_argument("--seed", type=int, help="the run's seed (default: that of the folder, else 0)")
    options.add_argument(
        "--workers", type=parse_positive, metavar="N", help="number of processes (default: one for each core)"
    )
    options.add_argument(
        "--runner",
        default="local",
        metavar="R",
        help="where shards are made: local, dask, ray, or a running cluster: dask:tcp://HOST:8786, ray:HOST:6379",
    )
    options.add_argument(
        "--minutes",
        type=parse_amount,
        metavar="M",
        help="time limit of a shard in minutes; after it another process tries again (default: 60; 240 for embeddings)",
    )
    options.add_argument("--recipe", metavar="FILE", help="TOML file with settings, models, sampling and prices")
    options.add_argument("--rebuild", action="store_true", help="make it again, and its inputs if they have changed")
    add_models(options, list(chain.from_iterable(all_stages()[each].roles for each in upstream(name))))
    for each in reversed(upstream(name)):
        add_settings(options.add_argument_group(f"settings of {each}"), each, name)


def add_settings(group: Any, stage: str, name: str) -> None:
    """What can be set of a stage in a build of `name`, which is made from it: briefly where no other has the same."""
    for setting in all_stages()[stage].settings.values():
        short = f"--{setting.name.replace('_', '-')}"
        flags = [short] if owners_of(name, setting.name) == [stage] else []
        flags += [f"--{stage}.{setting.name}".replace("_", "-")] if stage != name else []
        default = "" if setting.default in NOTHING else f" (default: {format_option_value(setting.default)})"
        flag: dict[str, Any] = {"nargs": "?", "const": True} if bool in (type(setting.default), *setting.kinds) else {}
        flag |= {"action": "append"} if setting.is_repeatable else {}
        group.add_argument(
            *flags,
            **flag,
            dest=f"{stage}.{setting.name}",
            default=argparse.SUPPRESS,  # what is not said stays as the folder has it
            metavar=choose_metavar(setting),
            help=f"{setting.about}{default}".replace("%", "%%"),  # argparse fills in %
        )


def choose_metavar(setting: Setting) -> str:
    """What help writes for a value.

    >>> [choose_metavar(setting) for setting in all_stages()["trajectories"].settings.values()]
    ['A,B,...', 'DATE', 'TEXT', 'code|model', 'paper|life']
    """
    kinds = [kind for kind in setting.kinds if kind is not type(None)]
    if words := [kind for kind in kinds if isinstance(kind, str)]:
        return "|".join(words)
    if isinstance(setting.default, Mapping):
        return "NAME=VALUE,..."
    if isinstance(setting.default, list | tuple):
        return "A,B,..."
    typed = {bool: "yes|no", int: "INT", float: "NUMBER", date: "DATE"}
    starts = re.findall(r"\w+", setting.about)[:3]
    place = "FILE" if "PATH" in setting.about or "file" in starts else "FOLDER" if "folder" in starts else "TEXT"
    return next((typed[kind] for kind in kinds if kind in typed), place)


def build_example(name: str) -> str:
    """
    >>> build_example("personas")
    'shopwright build personas --run data/runs/mine --count 200'
    """
    own = all_stages()[name].settings.values()
    settings = [
        f"--{s.name.replace('_', '-')} {quote(format_option_value(s.default))}" for s in own if s.default not in NOTHING
    ]
    return " ".join([f"shopwright build {name} --run data/runs/mine", *settings])


def run(
    build: Callable[..., Any],
    dataset: str,
    run: str,
    json: bool,
    seed: int | None,
    workers: int | None,
    runner: str,
    minutes: float | None,
    rebuild: bool,
    recipe: str | None,
    **settings: Any,
) -> int:
    # An option that may be given again comes as a list.
    settings = {name: each[0] if isinstance(each, list) and len(each) == 1 else each for name, each in settings.items()}
    wanted, reason = settings.pop("preview", None), settings.pop("requeue", None)
    given = read_recipe(recipe)
    models = models_given(settings, given)
    settings = given.settings_of(dataset) | settings
    seed = given.seed if seed is None else seed
    if wanted:
        return preview_rows(Run(run, seed=seed, workers=workers, models=models), dataset, wanted, json, settings)
    if reason:
        again = Run(run, seed=seed, models=models).requeue(dataset, reason, **settings)
        print(f"{again:,} rows of {dataset} are asked for again.", file=sys.stderr)
    progress = BarProgress() if sys.stderr.isatty() else LineProgress()
    try:
        build(
            dataset,
            run,
            seed=seed,
            workers=workers,
            models=models,
            runner=runner,
            minutes=minutes,
            rebuild=rebuild,
            progress=progress,
            **settings,
        )
    finally:
        progress.stop()
    if not is_report_current(Run(run)):
        # Only now: the report loads templates and DuckDB, and `--help` and bad input should not wait for them.
        from shopwright.pipeline.publish.report import write_report

        write_report(Run(run))
    return summary(Run(run), dataset, json)


def is_report_current(run: Run) -> bool:
    """Whether a report is there that was written after all datasets of the run; on storage elsewhere it is always written again."""
    path = run.folder / "report.html"
    if not is_here(path) or path.is_symlink() or not path.exists():
        return False
    manifests = (run.folder / "manifests").glob("*.json")
    return all(each.stat().st_mtime_ns < path.stat().st_mtime_ns for each in manifests)


def preview_rows(run: Run, dataset: str, count: int, as_json: bool, settings: dict[str, Any]) -> int:
    from shopwright.pipeline import preview

    found = preview.preview(run, dataset, count, **settings)
    if as_json:
        print_json(preview.preview_to_json(found))
    else:
        print(harmless("\n".join(preview.preview_to_text(found, run.folder))))
    return 0


def summary(run: Run, dataset: str, as_json: bool) -> int:
    """What the run holds now: rows, tokens, rejects by reason, folders; returns 1 where rows that were asked for are missing."""
    manifests = run.manifests(upstream(dataset))
    if as_json:
        print_json([manifest.model_dump(mode="json") for manifest in manifests])
        return 1 if any(map(count_missing_rows, manifests)) else 0
    print(f"\n{'dataset':14} {'rows':>10} {'tokens':>15} {'rejected':>9}  folder")
    for made in manifests:
        tokens = f"{made.tokens:,}" if made.tokens is not None else "-"
        print(f"{made.dataset:14} {made.rows:>10,} {tokens:>15} {made.rejected:>9,}  {run.folder / made.dataset}")
    for title, kind in (("rejected", "rejects"), ("mended", "repairs")):
        for made in manifests:
            for reason, count in sorted(getattr(made, kind).items(), key=lambda each: -each[1]):
                print(harmless(f"  {made.dataset}: {title} {count:,}: {reason}"))
    for made in manifests:
        for name, facts in made.usage.items():
            print(f"  {made.dataset}: {describe_prompt_use(name, PromptUsage.model_validate(facts))}")
    for made in manifests:
        if made.requested is not None and (made.usage or count_missing_rows(made)):
            sums = f"{made.requested:,} requested = {made.rows:,} accepted + {made.rejected:,} rejected + {count_missing_rows(made):,} pending"
            print(f"  {made.dataset}: {sums}")
    print(f"\ndata       {run.folder}")
    print(f"rejects    {run.folder / 'quarantine'}" + ("" if any(m.rejected for m in manifests) else " (none)"))
    print(f"report     {run.folder / 'report.html'}")
    return 1 if any(map(count_missing_rows, manifests)) else 0


def count_missing_rows(made: Manifest) -> int:
    """Rows that were asked for and are neither accepted nor rejected."""
    return 0 if made.requested is None else made.requested - made.rows - made.rejected


def describe_prompt_use(name: str, asked: PromptUsage) -> str:
    """What was asked with a template, in words."""
    first, *again = asked.times or [0]
    back = f", {again[0] / first:.1%} sent back" if again and first else ""
    faults = f", {asked.faults:,} faults" if asked.faults else ""
    cost = f", ${asked.dollars:,.2f}" if asked.dollars else ""
    tokens = f"{asked.prompt_tokens:,} + {asked.tokens:,} tokens"
    return f"prompt {name}: {first:,} asked of {asked.model}{back}{faults}, {tokens}{cost}"
