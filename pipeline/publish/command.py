"""`shopwright publish`: a run's datasets and their training forms, on the Hub or in a folder.

Every check again, the audit of the environments, the leak guard and the card come before the first byte goes up; what fails one of them goes nowhere.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Any

from shopwright import __version__
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.extras import require
from shopwright.pipeline.files import here, write_whole
from shopwright.pipeline.problem import Problem, harmless
from shopwright.pipeline.publish import hub
from shopwright.pipeline.publish.exporters import forms
from shopwright.pipeline.publish.layout import INDEX, Laid, lay, list_laid_paths
from shopwright.pipeline.recipe import RECIPE
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages


class Unfit(Exception):
    """What was found that must not be published; one line for each."""


def publish_run(
    folder: str,
    repo: str | None,
    to: str | None,
    private: bool,
    revision: str,
    dry_run: bool,
    only: str | None,
    against: Sequence[str],
    unverified: bool,
    unaudited: bool,
    json: bool,
    *,
    endpoint: str | None = None,
) -> int:
    """Exit code 1 where something must not be published; raises Problem for what the caller can mend.

    endpoint: another Hub than HF_ENDPOINT names, else huggingface.co.
    """
    if not repo and not to:
        raise Problem("Say where to: --repo user/name, or --to FOLDER.")
    require("huggingface_hub", "shopwright publish")  # said now, not after minutes of checks
    require("datasets", "shopwright publish")
    made = Run(folder)
    made.stands_alone()
    configs = choose_configs(forms.configs(made), only, folder)
    if repo:
        hub.check(repo, revision=revision, private=private, dry_run=dry_run, endpoint=endpoint)
    try:
        if not unverified:
            require_verified(made)
        if not unaudited:
            require_audited(made, [each.name for each in configs])
        with open_laying_folder(made, None if dry_run else to) as where:
            laid = laid_in(where, made, configs, repo, [Path(each) for each in against])
            outcome: dict[str, Any] = {"configs": list(list_laid_splits(laid))}
            if to:
                outcome |= {"folder": to, "changes": asdict(changes_in(where, Path(to)))} if dry_run else {"folder": to}
            if repo:
                done = hub.push(
                    where,
                    repo,
                    revision=revision,
                    private=private,
                    part=bool(only),
                    dry_run=dry_run,
                    message=f"{len(laid.configs)} configs, {count_laid_rows(laid):,} rows (shopwright {__version__})",
                    endpoint=endpoint,
                    say=print_publish_progress,
                )
                outcome |= asdict(done)
    except Unfit as unfit:
        print(f"{harmless(str(unfit))}\nNothing was published.", file=sys.stderr)
        return 1
    print(dumps(outcome, indent=2, ensure_ascii=False) if json else format_publish_report(outcome, dry_run=dry_run))
    return 0


def choose_configs(configs: Sequence[forms.Config], only: str | None, folder: str) -> list[forms.Config]:
    """Those named, in their order; all of them without names. Raises Problem for an unknown name."""
    if not configs:
        raise Problem(f"There is no finished dataset in {folder}. Build one: shopwright build DATASET --run {folder}")
    named = [name.strip() for name in only.split(",")] if only is not None else [each.name for each in configs]
    there = {each.name for each in configs}
    if unknown := [name for name in named if name not in there]:
        known = ", ".join(each.name for each in configs)
        raise Problem(f"There is no config {', '.join(unknown)} of {folder}. There are: {known}.")
    return [each for each in configs if each.name in named]


def require_verified(made: Run) -> None:
    """Raises Unfit where a check fails."""
    from shopwright.pipeline.verify import verify

    print_publish_progress(f"{made.folder}: every check again")
    found = verify(made)
    if failed := [f"{each.dataset}: {each.check}" for each in found if each.failed]:
        raise Unfit(
            f"{len(failed)} of {len(found)} checks fail, first {failed[0]}. See: shopwright verify {made.folder}"
        )


def require_audited(made: Run, configs: Sequence[str]) -> None:
    """Raises Unfit where the solver fails in the environments, or a cheap player passes its bound."""
    from shopwright.pipeline.publish import audited

    if not audited.has_environments(made, configs):
        return
    verdict = audited.read_verdict(made)
    if verdict is None:
        print_publish_progress(f"{made.folder}: a small audit of its environments; --unaudited goes without")
        verdict = audited.audit_small(made)
    if verdict.failed:
        found = "; ".join(line for line in verdict.lines() if not line.endswith(": none"))
        raise Unfit(
            f"The environments fail their audit: {found}. See: shopwright audit envs --run {made.folder}. To publish all the same: --unaudited"
        )


def laid_in(where: Path, made: Run, configs: Sequence[forms.Config], repo: str | None, against: Sequence[Path]) -> Laid:
    """The configs in a folder, with their card; raises Unfit where something leaks."""
    from shopwright.pipeline.publish.card import render_card, render_croissant, write_run_recipe
    from shopwright.pipeline.publish.leaks import find_leaks

    before = fingerprints(made)

    def finish(laid: Laid) -> None:
        print_publish_progress(
            f"{made.folder}: {count_laid_rows(laid):,} rows in {len(laid.configs)} configs; looking for leaks"
        )
        if found := find_leaks(made, laid.folder, against):
            raise Unfit("\n".join(map(str, found)))
        write_whole(laid.folder / "README.md", render_card(made, laid, repo or ""))
        write_whole(laid.folder / "croissant.json", render_croissant(made, laid, repo or ""))
        write_whole(laid.folder / RECIPE, write_run_recipe(made.manifests()))
        if fingerprints(made) != before:
            raise Problem(f"{made.folder} was built anew meanwhile. Publish again when no build is at work there.")

    return lay(configs, where, finish=finish)


def fingerprints(made: Run) -> dict[str, str]:
    found = {name: made.read(name).manifest for name in all_stages()}
    return {name: manifest.fingerprint for name, manifest in found.items() if manifest}


@contextmanager
def open_laying_folder(made: Run, to: str | None) -> Iterator[Path]:
    """Where to lay: the folder that was asked for, else one of the run's own, which goes when all is done."""
    if to:
        yield Path(to)
        return
    own = here(made.folder) / ".publish"
    with lock_publish_folder(own, made.folder):
        try:
            yield own / "laid"
        finally:
            shutil.rmtree(own)


@contextmanager
def lock_publish_folder(own: Path, folder: Path) -> Iterator[None]:
    """One at a time in a folder; the lock goes with the process that holds it."""
    try:
        own.mkdir(exist_ok=True)
        handle = os.open(own, os.O_RDONLY)
    except OSError as error:
        raise Problem(f"Cannot write to {folder}: {error.strerror}. Lay it elsewhere, with --to.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Problem(f"Another publish is at work in {folder}. Wait for it, or use --to.") from None
    try:
        yield
    finally:
        os.close(handle)


def changes_in(laid: Path, to: Path) -> hub.Changes:
    """What laying it there for good would change; all else that was laid there goes."""
    there = {
        path: min(hub.digests_of(to / path), key=len) for path in [*list_laid_paths(to), INDEX] if (to / path).is_file()
    }
    mine = hub.digests(laid)
    found = hub.compare_digests(mine, there)
    return hub.Changes(found.added, found.changed, sorted(set(there) - set(mine)), found.unchanged)


def count_laid_rows(laid: Laid) -> int:
    return sum(config.rows for config in laid.configs.values())


def list_laid_splits(laid: Laid) -> Iterator[dict[str, Any]]:
    """Of each split of each config, what there is."""
    for config in laid.configs.values():
        for split in config.splits.values():
            size = {"rows": split.rows, "files": len(split.files), "bytes": split.bytes}
            yield {"config": config.name, "split": split.name, **size}


def format_publish_report(outcome: dict[str, Any], *, dry_run: bool) -> str:
    rows = [
        (row["config"], row["split"], f"{row['rows']:,}", str(row["files"]), f"{row['bytes'] / 1e6:,.2f}")
        for row in outcome["configs"]
    ]
    lines = [str(Table(("config", "split", "rows", "files", "MB"), rows)), ""]
    changes = outcome.get("changes", {})
    if dry_run:
        for kind, files in changes.items():
            lines += [f"{kind:10} {path}" for path in files]
    elif changes:
        counts = ", ".join(f"{len(files):,} {kind}" for kind, files in changes.items())
        lines.append(f"files      {counts}")
    lines += [f"{name:10} {outcome[name]}" for name in ("folder", "url", "commit") if outcome.get(name)]
    return "\n".join([*lines, *(["Nothing was changed: --dry-run."] if dry_run else [])])


def print_publish_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
