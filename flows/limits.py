"""How many builds may ask a model server at once."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# The name of Prefect's limit on builds that ask a model at the same time, whichever it is.
MODEL_SERVER = "model-server"
# Seconds after which the place of a build that was killed is free again.
LEASE = 60.0


@contextmanager
def wait_for_turn() -> Iterator[None]:
    """Held while a model is asked; waits until there is a place."""
    from prefect.client.base import ServerType
    from prefect.client.orchestration import get_client
    from prefect.concurrency.sync import concurrency

    with get_client(sync_client=True) as client:
        stays = client.server_type != ServerType.EPHEMERAL
        limit = ensure_limit(client) if stays else None
    if limit is not None and limit.active_slots >= limit.limit:
        tell_of_waiting(limit.limit)
    with concurrency(MODEL_SERVER, lease_duration=LEASE) if stays else wait_for_file():
        yield


@contextmanager
def wait_for_file() -> Iterator[None]:
    """The same where no server stays: a temporary one, ended with its build, frees no place; the system frees a locked file."""
    from prefect.settings import PREFECT_HOME

    path = PREFECT_HOME.value() / f"{MODEL_SERVER}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell_of_waiting(1)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def tell_of_waiting(count: int) -> None:
    print(f"{MODEL_SERVER}: {count} at work already; waiting for a place.", file=sys.stderr, flush=True)


def ensure_limit(client: Any) -> Any:
    """The limit as it is, made where it is missing."""
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

    try:
        return client.read_global_concurrency_limit_by_name(MODEL_SERVER)
    except ObjectNotFound:
        with suppress(ObjectAlreadyExists):
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=MODEL_SERVER, limit=1))
        return client.read_global_concurrency_limit_by_name(MODEL_SERVER)
