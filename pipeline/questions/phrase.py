"""A tree in English: every way in which its shape is asked, from `prompts/questions.offline.j2`."""

from functools import lru_cache
from typing import Any

from pipeline.prompts import phrases
from pipeline.questions.tree import from_json, to_json


def phrasings(shape: str, tree: Any) -> list[str]:
    """Each says all that the tree says."""
    return told(shape, to_json(tree))


@lru_cache(maxsize=1_024)
def told(shape: str, tree: str) -> list[str]:
    return phrases("questions", shape, from_json(tree))
