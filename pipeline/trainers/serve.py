"""`shopwright serve`: the environments of a run for trainers on other machines, by OpenEnv."""

from shopwright.pipeline.browse.guard import guard_app
from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.env import ENVIRONMENTS, count_env_tasks


def serve_environments(*, run: str, host: str, port: int, sessions: int) -> int:
    """Serves until it is stopped. Raises Problem where openenv or every dataset of tasks is missing."""
    counts = {name: count for name in ENVIRONMENTS if (count := count_env_tasks(run, name))}
    if not counts:
        raise Problem(f"{run} has no tasks to play. Build some: shopwright build env_tasks --run {run}")
    require("openenv", "shopwright serve")
    import uvicorn  # type: ignore[import-not-found, unused-ignore]

    from shopwright.pipeline.trainers.openenv import make_openenv_app

    tasks = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    print(f"Serving {tasks} at http://{host}:{port}. Stop with Ctrl-C.", flush=True)
    uvicorn.run(guard_app(make_openenv_app(run, sessions=sessions), host), host=host, port=port, log_level="warning")
    return 0
