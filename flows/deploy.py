"""What `make deploy` does: registers the deployments of `flows/prefect.yaml` with a Prefect server, and what they need where it is missing.

    python -m shopwright.flows.deploy                                             # all of them
    python -m shopwright.flows.deploy --name nightly --cron "*/5 * * * *"         # as `prefect deploy` takes it

It is the server that PREFECT_API_URL names, else the one on this machine's port 4200. What is there already, a pool or a limit that was
changed, stays as it is.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from shopwright.flows.build import LOCAL_SERVER, is_server_up
from shopwright.flows.limits import ensure_limit
from shopwright.flows.prefect_settings import prepare_prefect
from shopwright.pipeline.problem import Problem

POOL = "shopwright"
DEPLOYMENTS = Path(__file__).parent / "prefect.yaml"
ENDS = ("Completed", "Failed", "Cancelling", "Cancelled", "Crashed", "AwaitingRetry", "AwaitingConcurrencySlot")
# Four heartbeats; `prefect.yaml` sets how often there is one.
SILENT = ("Nothing was heard of it for", {"heartbeat"}, {"heartbeat", *ENDS}, timedelta(minutes=2))
STUCK = ("It did not start in", {"Pending", "Submitting"}, {"Running", *ENDS}, timedelta(minutes=10))
# Flows of others on the same server may be heard of less often.
FLOWS = ["release", "build"]


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    url = os.environ.get("PREFECT_API_URL") or LOCAL_SERVER
    try:
        prepare_prefect("A deployment")
        if not is_server_up(url, seconds=5):
            raise Problem(f"No Prefect server answers at {url}. Start one: make serve; or name one in PREFECT_API_URL.")
    except Problem as problem:
        print(f"deploy: error: {problem}", file=sys.stderr)
        return 2
    os.environ["PREFECT_API_URL"] = url
    prepare()
    deploy = ["--no-prompt", "deploy", "--prefect-file", str(DEPLOYMENTS)]
    command = [sys.executable, "-m", "prefect", *deploy, *(words or ["--all"])]
    return subprocess.run(command, check=False).returncode


def prepare() -> None:
    """The work pool, the limit of the model server and the automations."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        ensure_pool(client)
        limit = ensure_limit(client)
        for crash in (SILENT, STUCK):
            ensure_automation(client, *crash)
    print(f"pool {POOL}; limit {limit.name}: {limit.limit} at a time")


def ensure_pool(client: Any) -> None:
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound
    from prefect.workers.process import ProcessWorker

    try:
        client.read_work_pool(POOL)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process", base_job_template=template))


def ensure_automation(client: Any, name: str, after: set[str], expect: set[str], within: timedelta) -> None:
    """A run of which none of the expected is heard in time after one of these counts as crashed. What ended it can have been what would
    have told so: the worker, the machine, or the flow above it."""
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

    if client.read_automations_by_name(name):
        return
    trigger = EventTrigger(
        after={f"prefect.flow-run.{each}" for each in after},
        expect={f"prefect.flow-run.{each}" for each in expect},
        match={"prefect.resource.id": "prefect.flow-run.*"},
        match_related={"prefect.resource.role": "flow", "prefect.resource.name": FLOWS},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=within,
    )
    crashed = ChangeFlowRunState(
        name="Crashed", state=StateType.CRASHED, message=f"{name} {within.seconds // 60} minutes.", force=False
    )
    client.create_automation(AutomationCore(name=name, trigger=trigger, actions=[crashed]))


if __name__ == "__main__":
    sys.exit(main())
