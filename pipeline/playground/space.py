"""The folder of a Hugging Face Space in which the same pages are played: with the code, and with a run's shop where one is given."""

import shutil
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
    require("gradio", "shopwright play")
    facts = {"gradio": version("gradio"), "requirements": list_requirements(), "run": bool(run)}
    if run:
        copy_played_datasets(Run(run), found / "run")
    code = found / HOME.name
    for name in CODE:
        shutil.copytree(HOME / name, code / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in PACKAGE:
        shutil.copy(HOME / name, code / name)
    for template, name in FILES.items():
        (found / name).write_text(TEMPLATES.get_template(template).render(facts), encoding="utf-8")
    return found


def list_requirements() -> list[str]:
    """What the code needs to play: what the package needs without its extras."""
    return sorted(each for each in requires("shopwright") or [] if "extra ==" not in each)


def copy_played_datasets(run: Run, folder: Path) -> None:
    """The datasets that are played, with their manifests."""
    run.stands_alone()
    have = [found for found in map(run.read, TAKEN) if found.manifest is not None]
    if not {"catalog", "variants"} <= {found.name for found in have}:
        raise Problem(f"{run.folder} has no shop to play in. Build one: shopwright build behaviors --run {run.folder}")
    for found in have:
        for path in (*found.files, found.manifest_path):
            to = folder / path.relative_to(found.run)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
