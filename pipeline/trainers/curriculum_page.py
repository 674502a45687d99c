"""The levels of a training run as a small page, which loads itself again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

# Pixels of an environment's chart.
WIDTH, HEIGHT = 320, 90


def render_curriculum_page(summary: Mapping[str, Any]) -> str:
    """summary: of `summarize_training`. A chart for each env: rollouts of all envs to the right, its hardest level upwards."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    top = max(1, *(change["level"] for change in summary["changes"]))
    charts = {env: draw_levels(summary, env, top) for env in summary["levels"]}
    return templates.get_template("curriculum.html.j2").render(
        summary=summary, charts=charts, top=top, width=WIDTH, height=HEIGHT
    )


def draw_levels(summary: Mapping[str, Any], env: str, top: int) -> str:
    """The path of a line that goes up in steps, as SVG draws it.

    >>> changes = [{"env": "x", "rollouts": 0, "level": 0}, {"env": "x", "rollouts": 50, "level": 1}]
    >>> draw_levels({"rollouts": 100, "changes": changes}, "x", 1)
    'M0.0 90.0H160.0V0.0H320'
    """
    total = max(1, summary["rollouts"])
    places = [
        (WIDTH * each["rollouts"] / total, HEIGHT * (1 - each["level"] / top))
        for each in summary["changes"]
        if each["env"] == env
    ]
    first, *rest = places
    return f"M{first[0]:.1f} {first[1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest) + f"H{WIDTH}"
