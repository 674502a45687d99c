"""`shopwright serve`: the environments of a run for trainers on other machines, by OpenEnv."""

from fractions import Fraction
from functools import partial

from shopwright.pipeline.browse.guard import guard_app
from shopwright.pipeline.envs import select_collection
from shopwright.pipeline.envs.curriculum import AdaptiveDifficulty, make_ecomrlve_controller
from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.curriculum_state import GROUP, begin_training
from shopwright.pipeline.trainers.env import ENVIRONMENTS, count_env_tasks, get_run_world

ECOMRLVE = make_ecomrlve_controller()


def serve_environments(
    *,
    run: str,
    host: str,
    port: int,
    sessions: int,
    curriculum: str = "",
    group: int = GROUP,
    window: int = ECOMRLVE.window,
    threshold: Fraction = ECOMRLVE.threshold,
    rollouts: int = ECOMRLVE.count,
) -> int:
    """Serves until it is stopped. Raises Problem where openenv, or all that could be played, is missing.

    curriculum: a collection or env, of which each training run gets tasks at its own level; the settings behind it are the curriculum's.
    """
    counts = {name: number for name in ENVIRONMENTS if (number := count_env_tasks(run, name))}
    begin = None
    if curriculum:
        select_collection(curriculum)
        get_run_world(run)
        controller = AdaptiveDifficulty(window=window, threshold=threshold, count=rollouts)
        begin = partial(begin_training, run, collection=curriculum, group=group, controller=controller)
    elif not counts:
        raise Problem(f"{run} has no tasks to play. Build some: shopwright build env_tasks --run {run}")
    require("openenv", "shopwright serve")
    import uvicorn  # type: ignore[import-not-found, unused-ignore]

    from shopwright.pipeline.trainers.openenv import make_openenv_app

    tasks = ", ".join(f"{name} ({number:,})" for name, number in counts.items())
    levels = f"; levels of training runs: http://{host}:{port}/curriculum" if curriculum else ""
    served = ", ".join(filter(None, [tasks, curriculum and f"the curriculum {curriculum}"]))
    print(f"Serving {served} at http://{host}:{port}{levels}. Stop with Ctrl-C.", flush=True)
    app = make_openenv_app(run, sessions=sessions, begin=begin)
    uvicorn.run(guard_app(app, host), host=host, port=port, log_level="warning")
    return 0
