"""A tree in English: every way in which its shape is asked, from `prompts/questions.offline.j2`."""

from typing import Any

from pipeline.prompts import phrases


def phrasings(shape: str, tree: Any) -> list[str]:
    """Each says all that the tree says."""
    return phrases("questions", shape, tree)
