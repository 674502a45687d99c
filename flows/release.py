"""A release: every dataset of a recipe, verified, with its report, and where it is wished laid out or published.

    python -m shopwright.flows.release shop_r1                                  # the paper's sizes, into data/runs/shop_r1
    python -m shopwright.flows.release shop_r1 --scale 0.01 --to build/hub      # a hundredth of them, as they would be on the Hub
    python -m shopwright.flows.release my-recipe.toml --repo user/name --private

`shopwright.flows.deployed` does the same as one flow, from a form or by a schedule. Recipes are the files of `flows/recipes/`; one of your own is any file of that form. Each dataset is built as `shopwright.flows.build` builds it, so a
release that was stopped goes on where it was. What fails a check is not published.
"""

import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from shopwright.flows.build import build_in_prefect
from shopwright.pipeline.__main__ import run_command
from shopwright.pipeline.problem import LACKING, Problem
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.stages import all_stages, upstream

RECIPES = Path(__file__).parent / "recipes"


def main(arguments: Sequence[str] | None = None, build: Callable[..., Any] = build_in_prefect) -> int:
    """The exit code is that of the first command of `shopwright` that fails: 1 where a check did, 2 for bad input, 3 where there is more to do.

    4: a dataset cannot be made of this catalog; the others are made and verified, and nothing is published.
    """
    options = make_release_parser().parse_args(arguments)
    lacking: list[str] = []
    try:
        for name, *words in list(commands(options)):
            command = [name, *words] if name == "build" or not lacking else ["verify", words[0]]
            code = run_command(command, build)
            if code == LACKING:
                lacking.append(words[0])
            elif code:
                return code
    except Problem as problem:
        print(f"release: error: {problem}", file=sys.stderr)
        return 2
    if lacking:
        print(f"release: not made: {', '.join(lacking)}, for the reasons above. The others are whole.", file=sys.stderr)
    return LACKING if lacking else 0


def make_release_parser() -> ArgumentParser:
    names = ", ".join(sorted(path.stem for path in RECIPES.glob("*.toml")))
    found = ArgumentParser(
        "python -m shopwright.flows.release", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    found.add_argument("recipe", help=f"one of: {names}; or a file")
    found.add_argument("--run", metavar="FOLDER", help="the run's folder (default: data/runs/RECIPE)")
    found.add_argument("--scale", type=scale, default=1.0, metavar="X", help="share of the recipe's sizes (default: 1)")
    found.add_argument("--seed", type=int, help="another world (default: the recipe's, or 0)")
    found.add_argument("--workers", type=int, help="processes (default: one for each core)")
    found.add_argument("--runner", metavar="R", help="local, or a cluster: see shopwright build DATASET -h")
    found.add_argument(
        "--model", metavar="M", help="of every role: openai:NAME@http://HOST:PORT/v1 (default: the recipe's, or none)"
    )
    found.add_argument("--to", metavar="FOLDER", help="a folder that holds what would be on the Hub")
    found.add_argument("--repo", metavar="USER/NAME", help="the dataset on the Hub")
    found.add_argument("--private", action="store_true", help="only you may see it")
    return found


def scale(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise ArgumentTypeError(f"{text} is not a share above 0 and up to 1")
    return found


def commands(options: Any) -> Iterator[list[str]]:
    """The commands of `shopwright` that make it, as their arguments; `options` has the parser's names. Raises Problem for a bad recipe."""
    path = find_recipe_file(options.recipe)
    recipe = read_recipe(str(path))
    if not recipe.datasets:
        raise Problem(f"{path} names no datasets. Write: datasets = [...], see {RECIPES.parent.name}/{RECIPES.name}/.")
    run = options.run or f"data/runs/{path.stem}"
    plain = format_options(options, "seed", "workers", "runner")
    for dataset in recipe.datasets:
        sizes = recipe.sizes_of(dataset, options.scale).items()
        given = list(chain.from_iterable((option(dataset, name), str(size)) for name, size in sizes))
        asked = format_options(options, "model") if any(all_stages()[each].roles for each in upstream(dataset)) else []
        yield ["build", dataset, "--run", run, "--recipe", str(path), *given, *plain, *asked]
    if options.to or options.repo:
        yield ["publish", run, *format_options(options, "to", "repo"), *(["--private"] if options.private else [])]
    else:
        yield ["verify", run]


def format_options(options: Any, *names: str) -> list[str]:
    """Those that were given, as words of a command."""
    given = [(name, value) for name in names if (value := getattr(options, name)) not in (None, "")]
    return list(chain.from_iterable((f"--{name}", str(value)) for name, value in given))


def option(dataset: str, setting: str) -> str:
    """As the command line calls it.

    >>> option("behaviors", "behaviors.sessions"), option("behaviors", "personas.count")
    ('--sessions', '--personas.count')
    """
    return f"--{setting.removeprefix(f'{dataset}.').replace('_', '-')}"


def find_recipe_file(name: str) -> Path:
    """Raises Problem for an unknown recipe."""
    known = RECIPES / f"{name}.toml"
    found = known if known.is_file() else Path(name)
    if not found.is_file():
        names = ", ".join(sorted(path.stem for path in RECIPES.glob("*.toml")))
        raise Problem(f"There is no recipe {name}. There are: {names}; or name a file.")
    return found


if __name__ == "__main__":
    sys.exit(main())
