"""What TRL needs beside the classes, which it takes as they are.

GRPOTrainer(..., environment_factory=ENVIRONMENTS, reward_funcs=[last_words])
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shopwright.pipeline.trainers.env import TaskEnvironment


def last_words(
    completions: Sequence[Sequence[Mapping[str, Any]]], environments: Sequence[TaskEnvironment], **columns: Any
) -> list[float]:
    """Tells each environment what the model said last, and adds nothing to its reward, which TRL asks for afterwards.

    Only an answer in a box needs it: a call ends the other episodes.
    """
    for said, env in zip(completions, environments, strict=True):
        if said and said[-1]["role"] == "assistant" and not said[-1].get("tool_calls"):
            env._hear(said[-1].get("content") or "")
    return [0.0] * len(completions)
