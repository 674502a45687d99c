"""`shopwright serve`: the environments of a run for trainers on other machines, by OpenEnv."""

from importlib.util import find_spec

from pipeline.browse.guard import guarded
from pipeline.problem import Problem
from pipeline.trainers.env import ENVIRONMENTS, count_of


def run(*, run: str, host: str, port: int, sessions: int) -> int:
    """Serves until it is stopped. Raises Problem where openenv or every dataset of tasks is missing."""
    counts = {name: count for name in ENVIRONMENTS if (count := count_of(run, name))}
    if not counts:
        raise Problem(f"{run} has no tasks to play. Build some: shopwright build env_tasks --run {run}")
    if find_spec("openenv") is None:
        raise Problem("The server needs another package: pip install 'openenv>=0.10,<0.11'")
    import uvicorn  # type: ignore[import-not-found, unused-ignore]

    from pipeline.trainers.openenv import app_of

    told = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    print(f"Serving {told} at http://{host}:{port}. Stop with Ctrl-C.", flush=True)
    uvicorn.run(guarded(app_of(run, sessions=sessions), host), host=host, port=port, log_level="warning")
    return 0
