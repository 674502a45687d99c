"""`shopwright init`: a recipe file to edit, made from the stages, with every setting, what it is for and its default."""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shopwright.pipeline.commands.models import add_players
from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem, suggest_name
from shopwright.pipeline.recipe import ModelsOf, SamplingOf, as_toml
from shopwright.pipeline.stage import ROLES, Setting
from shopwright.pipeline.stages import all_stages, views_in_place

FILE = "my-recipe.toml"
# Settings that say how many; `--scale` of a release makes them smaller.
SIZES = ("products", "count", "sessions", "personal")
MODEL = '"openai:NAME@http://127.0.0.1:8000/v1"'
# Of what has no value by default.
EXAMPLES = {"products": "2400", "max_tokens": "5000000", "max_cost": "20.0"}


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "init", [])
    options.add_argument("file", nargs="?", default=FILE, help=f"the new file (default: {FILE})")
    # What agents are evaluated on first is what most people come for.
    first = next(name for name, views in views_in_place().items() if views.command)
    options.add_argument(
        "--datasets", default=first, metavar="A,B", help=f"datasets that a release builds (default: {first})"
    )


def run(file: str, datasets: str) -> int:
    names = [name.strip().replace("-", "_") for name in datasets.split(",")]
    text = render_recipe(names, file)
    try:
        with open(file, "x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise Problem(
            f"{file} is there already, and stays as it is. Name another file: shopwright init FILE."
        ) from None
    except OSError as error:
        raise Problem(f"Cannot write {file}: {error.strerror}.") from None
    print(f"{file}\nBuild by it:   shopwright build {names[-1]} --recipe {file}")
    print(f"Release by it: python -m shopwright.flows.release {file}")
    return 0


def render_recipe(datasets: list[str], file: str = FILE) -> str:
    """The text of a recipe that builds these. Raises Problem for an unknown one."""
    for name in datasets:
        if name not in all_stages():
            raise Problem(f"There is no dataset {name}. {suggest_name(name, all_stages())}")
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return found.get_template("init.toml.j2").render(
        file=file,
        datasets=datasets,
        stages=list(all_stages().values()),
        sizes={name: list_setting_lines(name, sizes=True) for name in all_stages()},
        settings={name: list_setting_lines(name, sizes=False) for name in all_stages()},
        models=list_model_lines(),
        roles=ROLES,
        sampling=SamplingOf().model_dump(),
    )


def list_setting_lines(name: str, *, sizes: bool) -> list[Any]:
    """The settings of a dataset that are sizes, or all the others."""
    settings = all_stages()[name].settings.values()
    return [describe_setting(name, each) for each in settings if (each.name in SIZES) == sizes]


def describe_setting(dataset: str, setting: Setting) -> dict[str, Any]:
    """A setting's line. TOML cannot say that there is none: where that is the default the value is an example."""
    none = setting.default is None
    return {
        "key": json.dumps(f"{dataset}.{setting.name}"),
        "value": EXAMPLES.get(setting.name, '""') if none else as_toml(setting.default),
        "about": setting.about,
        "none": none,
    }


def list_model_lines() -> list[dict[str, str]]:
    """What the command line says of models, for what a recipe may say of them."""
    options = Parser(add_help=False)
    add_players(options, *ROLES)
    about = {action.dest: action.help or "" for action in options._actions}
    given = {name: getattr(Models(), name, None) for name in ModelsOf.model_fields if name not in ("model", *ROLES)}
    values = {name: EXAMPLES[name] if value is None else as_toml(value) for name, value in given.items()}
    return [{"key": name, "value": values.get(name, MODEL), "about": about[name]} for name in ModelsOf.model_fields]
