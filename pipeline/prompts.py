"""Words live in `prompts/`, as text: `name.offline.j2` says a thing when there is no model to say it."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

FOLDER = Path(__file__).parents[1] / "prompts"
TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


@cache
def template(name: str) -> Template:
    return TEMPLATES.get_template(f"{name}.j2")


def say(name: str, **facts: object) -> str:
    """The facts in words, as the template's offline form says them."""
    return template(f"{name}.offline").render(facts).strip()
