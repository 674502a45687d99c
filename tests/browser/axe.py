"""axe-core, the checker of barriers, where it is: in a folder that npm or `SHOPWRIGHT_AXE` names."""

import os
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
LACKING = "axe-core is not here: npm install axe-core, or SHOPWRIGHT_AXE=path/to/axe.min.js"


def find_axe() -> Path | None:
    """The script itself."""
    given = os.environ.get("SHOPWRIGHT_AXE")
    places = [Path(given)] if given else [HOME / "node_modules", HOME / ".venv-browser"]
    found = [each for each in places if each.is_file()]
    found += [path for each in places if each.is_dir() for path in sorted(each.rglob("axe.min.js"))]
    return next(iter(found), None)


needs_axe = pytest.mark.skipif(find_axe() is None, reason=LACKING)
