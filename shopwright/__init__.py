"""Verified synthetic data for shopping agents: one simulated shop, its customers and their months of behaviour.

    from shopwright import make, build, load, verify, evaluate

Nothing heavy is imported before one of them is called.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from shopwright.pipeline.dataset import Dataset
    from shopwright.pipeline.gym import make
    from shopwright.pipeline.verify import Verdict

__version__ = "0.1.0"
__all__ = ["__version__", "build", "evaluate", "load", "make", "verify"]


def build(
    dataset: str,
    run: "str | Path",
    *,
    seed: int | None = None,
    workers: int = 1,
    rebuild: bool = False,
    **settings: Any,
) -> "Dataset[Any]":
    """Make a dataset in the folder of a run, and before it whatever it reads that is not there yet.

    settings: its own or those of a dataset it is made from, as on the command line with `_` for `-`: `count=100`, or in full
    `**{"catalog.products": 1200}`. seed: as the folder was made, else 0. workers: processes; more than one wants a script that is
    guarded by `if __name__ == "__main__":`. What is there already is not made again. Raises Problem, whose message says what to change.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as run:
    ...     len(build("catalog", run, products=50))
    50
    """
    from shopwright.pipeline.problem import check_system

    check_system()
    from shopwright.pipeline.run import Run

    found = Run(run, seed=seed, workers=workers)
    found.build(dataset, rebuild=rebuild, **settings)
    return found.read(dataset)


def load(dataset: str, run: "str | Path") -> "Dataset[Any]":
    """A finished dataset: iterate over it for typed records; `table()`, `batches()` and `sql()` give columns.

    Raises Problem where it is not there.
    """
    from shopwright.pipeline.problem import check_system

    check_system()
    from shopwright.pipeline.commands.output import open_finished_dataset

    found: Dataset[Any] = open_finished_dataset(str(run), dataset)
    return found


def verify(run: "str | Path", *, workers: int = 1) -> "list[Verdict]":
    """Every check of every dataset in the run's folder again, from its files alone. A verdict with `failed` names its rows.

    Raises Problem where there is nothing to verify.
    """
    from shopwright.pipeline.problem import check_system

    check_system()
    from shopwright.pipeline.run import Run
    from shopwright.pipeline.verify import verify

    return verify(Run(run, workers=workers))


def evaluate(what: str, run: "str | Path", **options: Any) -> Any:
    """How well an agent does on what a run holds: what `shopwright evaluate WHAT --json` prints, as Python values.

    what: `envs`, `questions`, `shopping_tasks`, `behaviors` or `realism`. options: those of the command, with `_` for `-`:
    `agent="solver"` or `agent="openai:NAME@http://HOST:PORT/v1"`, `limit=100`. Raises Problem, whose message says what to change.
    """
    import json
    from contextlib import redirect_stdout
    from io import StringIO

    from shopwright.pipeline.__main__ import import_command, parse_arguments

    given = {"run": run, "json": True, **options}
    flags = [f"--{name}".replace("_", "-") + ("" if value is True else f"={value}") for name, value in given.items()]
    parsed = parse_arguments(["evaluate", what, *flags])
    printed = StringIO()
    with redirect_stdout(printed):
        import_command(parsed.pop("command")).run(**parsed)
    return json.loads(printed.getvalue())


def __getattr__(name: str) -> Any:
    """`make` is `shopwright.pipeline.gym.make`, imported when it is asked for."""
    if name != "make":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shopwright.pipeline.problem import check_system

    check_system()
    from shopwright.pipeline.gym import make

    return make
