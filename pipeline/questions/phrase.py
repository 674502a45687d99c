"""A tree in English: every way in which its shape is asked, from `prompts/questions.offline.j2`."""

from functools import lru_cache
from typing import Any

from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.questions.tree import tree_from_json, tree_to_json

TEMPLATE = "questions"
"""The prompt, and its offline form."""


def phrasings(shape: str, tree: Any) -> list[str]:
    """Each says all that the tree says."""
    return render_phrasings(shape, tree_to_json(tree))


@lru_cache(maxsize=1_024)
def render_phrasings(shape: str, tree: str) -> list[str]:
    return render_phrases(TEMPLATE, shape, tree_from_json(tree))
