"""The folder of a Hugging Face Space in which the same pages are played: with the code, and with a run's shop where one is given."""

import re
import shutil
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.envs.world import NEEDS
from pipeline.playground.app import INSTALL
from pipeline.problem import Problem
from pipeline.run import Run
from pipeline.shards import HOME

CODE = ("pipeline", "schemas", "prompts", "data/reference")
NOT_PLAYED = ("prefect", "fastapi", "sqlalchemy", "pytest")
"""What only flows need; Gradio brings its own fastapi."""
PLAYED = (*NEEDS, "profiles", "shopping_tasks", "behaviors")
"""Datasets of a run that are taken along, where it has them."""
FILES = {"space.app.j2": "app.py", "space.requirements.j2": "requirements.txt", "space.readme.j2": "README.md"}
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,
)


def write_space(folder: str | Path, run: str | None = None) -> Path:
    """Writes it into a new or empty folder. Raises Problem where it holds something, or the run cannot be played."""
    found = Path(folder)
    if found.exists() and (not found.is_dir() or any(found.iterdir())):
        raise Problem(f"{found} holds something already. Give a new folder: shopwright play --space FOLDER")
    facts = {"gradio": gradio_version(), "requirements": requirements(), "run": bool(run)}
    if run:
        take_along(Run(run), found / "run")
    for name in CODE:
        shutil.copytree(HOME / name, found / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for template, name in FILES.items():
        (found / name).write_text(TEMPLATES.get_template(template).render(facts), encoding="utf-8")
    return found


def gradio_version() -> str:
    try:
        return version("gradio")
    except PackageNotFoundError:
        raise Problem(INSTALL) from None


def requirements() -> list[str]:
    """What the code needs to play: as the source says it, or as it was installed with."""
    project = HOME / "pyproject.toml"
    if project.exists():
        told = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    else:
        told = [each for each in requires("shopwright") or [] if "extra ==" not in each]
    return sorted(each for each in told if name_of(each) not in NOT_PLAYED)


def name_of(requirement: str) -> str:
    """
    >>> name_of("sqlglot[c]<31,>=30"), name_of("huggingface_hub>=1.33")
    ('sqlglot', 'huggingface_hub')
    """
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def take_along(run: Run, folder: Path) -> None:
    """The datasets that are played, with their manifests."""
    run.stands_alone()
    have = [found for found in map(run.read, PLAYED) if found.manifest is not None]
    if not {"catalog", "variants"} <= {found.name for found in have}:
        raise Problem(f"{run.folder} has no shop to play in. Build one: shopwright build behaviors --run {run.folder}")
    for found in have:
        for path in (*found.files, found.manifest_path):
            to = folder / path.relative_to(found.run)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
