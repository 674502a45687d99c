"""What keeps environments that can be cheated from being published: the run's audit, or a small one where it has none that is current."""

from collections.abc import Collection
from itertools import chain
from typing import Any

from shopwright.pipeline.envs.evaluate import PAID_FROM, EnvTasks
from shopwright.pipeline.evaluate.audit import AuditCell, audit, read_audit, write_audit
from shopwright.pipeline.evaluate.verdict import AuditVerdict, parse_verdict
from shopwright.pipeline.gym import world
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import name_of
from shopwright.pipeline.stages import views_in_place

DATASETS = ("env_tasks", "env_episodes")
# Of a small audit: so many episodes of each env at each of these levels.
LEVELS, EPISODES = (3, 6, 9, 12), 20


def has_environments(made: Run, configs: Collection[str]) -> bool:
    """Whether any of these configs of a run is made from its tasks of the environments."""
    if made.read("env_tasks").manifest is None:
        return False
    forms = set(map(name_of, chain.from_iterable(views_in_place()[name].forms for name in DATASETS)))
    return not forms.union(DATASETS).isdisjoint(configs)


def read_verdict(made: Run) -> AuditVerdict | None:
    """Of the last audit; None where the shop was built anew since, or it passed and not all environments were played where bounds hold."""
    found = read_audit(made.folder, EnvTasks.name)
    if found is None or found[0].get("made") != fingerprint_shop(made):
        return None
    verdict = parse_verdict(found[0])
    return verdict if verdict.failed or list_envs(made) <= list_bounded_envs(found[1]) else None


def fingerprint_shop(made: Run) -> str:
    """Of the dataset that is made last of all that episodes are played in."""
    manifest = made.read("orders").manifest
    return manifest.fingerprint if manifest else ""


def list_envs(made: Run) -> set[str]:
    return set(made.read("env_tasks").table(["env"])["env"].unique().to_pylist())


def list_bounded_envs(cells: Collection[AuditCell]) -> set[Any]:
    return {cell.group["env"] for cell in cells if cell.group["level"] >= PAID_FROM}


def audit_small(made: Run) -> AuditVerdict:
    """Every player on some tasks of each environment that the run has; kept in the run."""
    situation = EnvTasks(world(made.folder), sorted(list_envs(made)), LEVELS, range(EPISODES)).for_audit()
    cells = audit([situation])
    verdict = situation.judge(cells)
    write_audit(
        made.folder,
        situation.name,
        {"made": fingerprint_shop(made), **verdict.to_json(), "cells": [cell.to_json() for cell in cells]},
    )
    return verdict
