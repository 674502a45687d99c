"""Packages that only some things need: which extra installs each, said in one line where it is missing."""

import sys
from importlib.util import find_spec

from shopwright.pipeline.problem import Problem

# Module -> the extra of pyproject.toml that brings it.
EXTRA_OF = {
    "datasets": "hub",
    "faiss": "search",
    "gradio": "play",
    "huggingface_hub": "hub",
    "mcp_types": "mcp",
    "model2vec": "embedders",
    "openenv": "openenv",
    "prefect": "flows",
    "prometheus_client": "metrics",
    "sentence_transformers": "embedders",
    "tokenizers": "hub",
}


def explain_missing(module: str, purpose: str) -> str:
    """What to type so that `purpose` works; empty where the module is there.

    >>> explain_missing("pydantic", "A row")
    ''
    """
    if sys.modules.get(module) is not None or find_spec(module) is not None:
        return ""
    return f"{purpose} needs {module}. Install it: pip install 'shopwright[{EXTRA_OF[module]}]'"


def require(module: str, purpose: str) -> None:
    """Raises Problem where the module is not installed."""
    if missing := explain_missing(module, purpose):
        raise Problem(missing)
