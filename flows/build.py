"""The builds as Prefect flows: the same datasets as `shopwright build`, one task for each shard.

    python -m shopwright.flows.build trajectories --count 100 --run data/runs/mine

uses the Prefect server that PREFECT_API_URL names, else one on this machine's port 4200, else one of its own for as long
as it runs (which stays behind if this process is ended by `kill -9`). What is finished is told by the run's own
manifests, so Prefect keeps no results and caches nothing. A shard has a time limit (`shopwright.pipeline.worker_pool`) and is tried again;
one build at a time asks a model server (`shopwright.flows.limits`).

Prefect is imported where it is used: worker processes import this file too, and bad input is told before it starts.
"""

import sys
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

from shopwright.flows.artifacts import PrefectProgress
from shopwright.flows.limits import wait_for_turn
from shopwright.flows.prefect_settings import hide_told_errors, prepare_prefect
from shopwright.pipeline.__main__ import run_command
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import absolute
from shopwright.pipeline.models.limits import wait_for_replies
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.progress import Progress, SilentProgress
from shopwright.pipeline.run import Run, settings_by_stage
from shopwright.pipeline.shards import Build, finish, make_shard
from shopwright.pipeline.worker_pool import MINUTES_ASKING, ShardTimeout, WorkerDied, seconds_for

LOCAL_SERVER = "http://127.0.0.1:4200/api"
RETRIES = 2


def build_in_prefect(
    dataset: str,
    folder: str,
    *,
    seed: int | None = None,
    workers: int | None = None,
    models: Models | None = None,
    runner: str = "local",
    rebuild: bool = False,
    progress: Progress | None = None,
    minutes: float | None = None,
    **settings: Any,
) -> Manifest:
    """`Run.build`, as a flow that shows in Prefect; `minutes` is the time limit of a shard (default: `shopwright.pipeline.worker_pool`)."""
    run = Run(folder, seed=seed, workers=workers, models=models, runner=runner, minutes=minutes)
    found = run.read(dataset)
    settings_by_stage(dataset, settings)
    prepare_prefect("A flow")
    from prefect import tags
    from prefect.settings import temporary_settings

    hide_told_errors()
    with temporary_settings(server_settings()), tags(dataset, runner):
        build_flow(run, progress or SilentProgress())(dataset, folder, seed, rebuild, settings)
    assert found.manifest
    return found.manifest


def build_flow(run: Run, progress: Progress) -> Any:
    """The flow, with as many shards at work as there are workers."""
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE
    from prefect.futures import as_completed
    from prefect.task_runners import ThreadPoolTaskRunner
    from prefect.utilities.annotations import quote

    @task(
        name="shard",
        task_run_name="{dataset} {index}",
        retries=RETRIES,
        retry_delay_seconds=[1, 10],
        retry_condition_fn=worth_another_try,
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    def shard(dataset: str, index: int, build: Any, executor: Any) -> Any:
        """Makes one shard: in a worker process, or in this one where it runs the model itself."""
        if executor is None:
            return make_shard(build, index)
        minutes = run.minutes or (MINUTES_ASKING if build.asks else None)
        return executor.make(f"{dataset} {index}", seconds_for(dataset, minutes), make_shard, build, index)

    @task(name="finish", task_run_name="finish {dataset}", cache_policy=NO_CACHE, persist_result=False)
    def whole(dataset: str, build: Any, seconds: float) -> Any:
        """Judges the dataset as a whole and writes its manifest."""
        return finish(build, seconds=seconds, workers=run.workers)

    def make(build: Build) -> None:
        started, missing, shown = perf_counter(), build.missing(), PrefectProgress(progress)
        if build.damaged:
            progress.report_damage(build.name, build.damaged)
        run.announce(build, shown)
        calls = max(1, min(run.workers, len(missing)))
        with (
            wait_for_turn() if build.asks else nullcontext(),
            build.share() as shared,
            nullcontext() if build.loads else run.lend_workers(build, calls) as executor,
            wait_for_replies(shared.models.limits, executor.wait_until_idle if executor else float),
        ):
            work = replace(shared, run=absolute(build.run))
            # Quoted, or Prefect would search the values for futures.
            futures = (shard.submit(build.name, index, quote(work), quote(executor)) for index in missing)
            # What runs the model itself makes one shard after the other.
            for future in futures if build.loads else as_completed(list(futures)):
                made = future.result()
                shown.shard(made.rows, made.rejected)
        manifest: Any = whole(build.name, quote(build), perf_counter() - started)
        shown.end(manifest)

    runner: Any = ThreadPoolTaskRunner(max_workers=run.workers)

    @flow(name="build", flow_run_name="{dataset} in {folder}", task_runner=runner)
    def build(dataset: str, folder: str, seed: int | None, rebuild: bool, settings: dict[str, Any]) -> None:
        """Make a dataset, and before it whatever it reads that is not there yet."""
        with closing(run.builds(dataset, settings, rebuild=rebuild)) as builds:
            for each in builds:
                with run.clearing(each):
                    make(each)

    return build


def worth_another_try(task: Any, run: Any, state: Any) -> bool:
    """A fault of the machine may pass, and so may a shard that hung or lost its process; bad input will not, and what was stopped shall not."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, ShardTimeout | WorkerDied) or not isinstance(
        error, Problem | BrokenExecutor | CancelledError
    )


def server_settings() -> dict[Any, Any]:
    """A running server if there is one; the heartbeat would cost a second for each flow, and is for those that nobody watches."""
    from prefect.context import FlowRunContext
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY

    if FlowRunContext.get():
        return {}
    quiet: dict[Any, Any] = {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    if not PREFECT_API_URL.value() and is_server_up(LOCAL_SERVER):
        quiet[PREFECT_API_URL] = LOCAL_SERVER
    return quiet


def is_server_up(url: str, seconds: float = 0.3) -> bool:
    from urllib.request import urlopen

    try:
        with urlopen(f"{url}/health", timeout=seconds) as reply:
            return bool(reply.read().strip() == b"true")
    except OSError:
        return False


def main() -> int:
    return run_command(["build", *sys.argv[1:]], build_in_prefect)


if __name__ == "__main__":
    sys.exit(main())
