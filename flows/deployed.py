"""A release as one flow that Prefect loads by its name, `shopwright.flows.deployed.release`: for schedules and for the form in its pages.

It does what the commands of `shopwright.flows.release` do, one after the other: each dataset of the recipe is a flow of its own under it, then
all is checked and published. A check that fails stops the release: its run is Failed, and the state says why.
"""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from time import monotonic
from typing import Any

from shopwright.flows.artifacts import show_release
from shopwright.flows.build import RETRIES, build_in_prefect, worth_another_try
from shopwright.flows.prefect_settings import prepare_prefect
from shopwright.flows.release import commands
from shopwright.flows.release_options import ReleaseOptions
from shopwright.pipeline.__main__ import parse_arguments
from shopwright.pipeline.commands import build
from shopwright.pipeline.problem import Lacking, Problem
from shopwright.pipeline.publish import command as publishing
from shopwright.pipeline.run import Run

SECONDS_PER_HOUR = 3600


class ReleaseStopped(Problem):
    """Why the release does not go on, for the state of its run."""


class TooLong(TimeoutError):
    """The release's own limit, and no other."""


def release_flow() -> Any:
    """The flow itself: this file is loaded by Prefect, or by nobody."""
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE

    again: dict[str, Any] = {
        "retries": RETRIES,
        "retry_delay_seconds": [10, 60],
        "retry_condition_fn": worth_another_try,
        "cache_policy": NO_CACHE,
        "persist_result": False,
    }
    steps = {
        "verify": task(name="verify", task_run_name="verify {folder}", **again)(verify_step),
        "publish": task(name="publish", task_run_name="verify and publish {folder}", log_prints=False, **again)(
            publish_step
        ),
    }

    @flow(name="release", flow_run_name="{wanted.recipe} at {wanted.scale}", log_prints=True)
    def release(wanted: ReleaseOptions) -> None:
        """Make every dataset of a recipe, check all of it, and publish what passes."""
        from prefect.runtime import deployment, flow_run
        from prefect.utilities.timeout import timeout

        name = deployment.name or wanted.recipe
        wanted = wanted.at(flow_run.scheduled_start_time)  # which a retry does not change; in UTC
        seconds = wanted.hours * SECONDS_PER_HOUR
        try:
            with timeout(seconds, TooLong):
                told = perform(wanted, steps, monotonic() + seconds)
        except Exception as error:
            show_release(name, wanted.run, {}, explain_failure(error, wanted))
            if isinstance(error, TooLong):
                raise ReleaseStopped(explain_failure(error, wanted)) from None
            raise
        show_release(name, wanted.run, told)

    return release


def explain_failure(error: Exception, wanted: ReleaseOptions) -> str:
    if isinstance(error, TooLong):
        said = f"The release took longer than {wanted.hours:g} hours. What is finished is kept"
        return f"{said}: run it again in {wanted.run}, with more."
    return f"{error}"


def perform(wanted: ReleaseOptions, steps: dict[str, Any], ends: float) -> dict[str, Any]:
    """Each command of the release; gives what the last one told. Raises Problem for what stops it, TooLong where it is not done when it ends.

    A dataset that cannot be made of this catalog does not stop the others: they are made and verified, and nothing is published.
    """
    told: dict[str, Any] = {}
    lacking: dict[str, Lacking] = {}
    for name, *words in commands(wanted):
        if monotonic() > ends:  # Prefect's alarm is not heard where it rings while a flow of a dataset ends
            raise TooLong
        options = parse_arguments([name, *words] if name == "build" or not lacking else ["verify", words[0]])
        command = options.pop("command")
        try:
            told = build_as_subflow(wanted, options) if command == "build" else steps[command](**options)
        except Lacking as error:
            lacking[options["dataset"]] = error
    if lacking:
        reasons = " ".join(f"{dataset}: {error}" for dataset, error in lacking.items())
        raise ReleaseStopped(f"Not made of this catalog: {reasons} The others are whole. Nothing is published.")
    return told


def build_as_subflow(wanted: ReleaseOptions, options: dict[str, Any]) -> dict[str, Any]:
    """A dataset, as a flow of its own."""
    if build.run(build_in_prefect, **options | {"minutes": wanted.minutes}):
        raise ReleaseStopped(
            f"Rows of {options['dataset']} that were asked for are missing. See: {wanted.run}/report.html"
        )
    return {}


def verify_step(folder: str, workers: int | None, **_: Any) -> dict[str, Any]:
    try:
        publishing.require_verified(Run(folder, workers=workers))
    except publishing.Unfit as unfit:
        raise ReleaseStopped(f"{unfit}") from None
    return {}


def publish_step(folder: str, **options: Any) -> dict[str, Any]:
    """Verifies it too, as `shopwright publish` does; what that prints is told in the run's log."""
    from prefect.logging import get_run_logger

    told, heard = StringIO(), StringIO()
    with redirect_stdout(told), redirect_stderr(heard):
        # Printed for scripts: what it told goes to Prefect as an artifact.
        code = publishing.publish_run(folder, **{**options, "json": True})
    get_run_logger().info(heard.getvalue())
    if code:
        raise ReleaseStopped(
            "\n".join(line for line in heard.getvalue().splitlines() if not line.startswith(f"{folder}: "))
        )
    return dict(json.loads(told.getvalue()))


prepare_prefect("A release")
release = release_flow()
