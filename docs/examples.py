"""Examples in docstrings as code, for the pages that mkdocstrings makes: it knows them under a heading only, and ours have none."""

import re
from typing import Any

import griffe  # type: ignore[import-not-found, unused-ignore]

EXAMPLE = re.compile(r"(?:^ *>>>.*\n?(?:^(?! *>>>) *\S.*\n?)*)+", re.MULTILINE)


class Examples(griffe.Extension):  # type: ignore[misc, unused-ignore]
    """Each is fenced where it stands."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
