"""Folders of Hugging Face Spaces: one in which the same pages are played, and one that serves the environments by OpenEnv; with the code and a run."""

import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import requires, version
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shopwright.pipeline.code_digest import HOME
from shopwright.pipeline.envs.load_world import NEEDS
from shopwright.pipeline.extras import require
from shopwright.pipeline.playground.shop import PLAYED
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run

CODE = ("pipeline", "schemas", "prompts", "data/reference")
PACKAGE = ("__init__.py", "py.typed")
# Datasets of a run that are taken along, where it has them.
TAKEN = (*NEEDS, "profiles", *PLAYED)
FILES = {"space.app.j2": "app.py", "space.requirements.j2": "requirements.txt", "space.readme.j2": "README.md"}
OPENENV_FILES = {
    "openenv.docker.j2": "Dockerfile",
    "openenv.yaml.j2": "openenv.yaml",
    "openenv.readme.j2": "README.md",
    "openenv.requirements.j2": "requirements.txt",
}
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,
)


def write_space(folder: str | Path, run: str | None = None) -> Path:
    """Writes it into a new or empty folder. Raises Problem where it holds something, or the run cannot be played."""
    found = open_new_folder(folder, "shopwright play --space FOLDER")
    require("gradio", "shopwright play")
    facts = {"gradio": version("gradio"), "requirements": list_requirements(), "run": bool(run)}
    if run:
        copy_played_datasets(Run(run), found / "run")
    write_files(found, FILES, facts)
    return found


def write_openenv_space(folder: str | Path, run: str) -> Path:
    """The same for a server of OpenEnv, in a container. Raises Problem where the run has no tasks of the envs."""
    found = open_new_folder(folder, "shopwright serve --space FOLDER")
    Run(run).stands_alone()
    if Run(run).read("env_tasks").manifest is None:
        raise Problem(f"{run} has no tasks to play. Build some: shopwright build env_tasks --run {run}")
    copy_played_datasets(Run(run), found / "run", ["env_tasks"])
    served = list_requirements("metrics", "openenv", "search")
    write_files(found, OPENENV_FILES, {"requirements": served})
    return found


def open_new_folder(folder: str | Path, command: str) -> Path:
    found = Path(folder)
    if found.exists() and (not found.is_dir() or any(found.iterdir())):
        raise Problem(f"{found} holds something already. Give a new folder: {command}")
    return found


def write_files(folder: Path, files: Mapping[str, str], facts: Mapping[str, object]) -> None:
    """The package's code, and what is made of these templates."""
    code = folder / HOME.name
    for name in CODE:
        shutil.copytree(HOME / name, code / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in PACKAGE:
        shutil.copy(HOME / name, code / name)
    for template, name in files.items():
        (folder / name).write_text(TEMPLATES.get_template(template).render(facts), encoding="utf-8")


def list_requirements(*extras: str) -> list[str]:
    """What the code needs to play: what the package needs, with these extras."""
    wanted = {f"extra == '{name}'" for name in extras}
    found = [each.partition("; ") for each in requires("shopwright") or []]
    return sorted(what for what, _, when in found if not when or when in wanted)


def copy_played_datasets(run: Run, folder: Path, more: Sequence[str] = ()) -> None:
    """The datasets that are played, and more, where they are there, with their manifests."""
    run.stands_alone()
    have = [found for found in map(run.read, (*TAKEN, *more)) if found.manifest is not None]
    if not {"catalog", "variants"} <= {found.name for found in have}:
        raise Problem(f"{run.folder} has no shop to play in. Build one: shopwright build behaviors --run {run.folder}")
    for found in have:
        for path in (*found.files, found.manifest_path):
            to = folder / path.relative_to(found.run)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
