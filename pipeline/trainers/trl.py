"""What TRL needs beside the classes, which it takes as they are.

GRPOTrainer(..., environment_factory=ENVIRONMENTS, reward_funcs=[last_words, drop_uniform_groups])
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from shopwright.pipeline.envs.curriculum import find_informative_groups
from shopwright.pipeline.trainers.env import TaskEnvironment, refuse_unknown_tool


def last_words(
    completions: Sequence[Sequence[Mapping[str, Any]]], environments: Sequence[TaskEnvironment], **columns: Any
) -> list[float]:
    """Tells each environment what the model said last, and adds nothing to its reward, which TRL asks for afterwards.

    An answer in a box needs it: a call ends the other episodes. And it tells of calls of tools that there are not, which TRL answers itself.
    """
    for said, env in zip(completions, environments, strict=True):
        for call in chain.from_iterable(message.get("tool_calls") or () for message in said):
            if call["function"]["name"] == "submit" and env._done:
                break  # what is called after the end costs nothing elsewhere
            refuse_unknown_tool(env, call["function"]["name"])
        if said and said[-1]["role"] == "assistant" and not said[-1].get("tool_calls"):
            env._hear(said[-1].get("content") or "")
    return [0.0] * len(completions)


def drop_uniform_groups(
    completions: Sequence[Any], environments: Sequence[TaskEnvironment], **columns: Any
) -> list[float]:
    """Takes the rewards back of groups of a curriculum that all succeed or all fail, so that they have no gradient (DAPO, arXiv 2503.14476).

    A group is the rollouts of one number here; DAPO draws other prompts for those that it drops, which TRL cannot.
    """
    groups: dict[Any, list[TaskEnvironment]] = {}
    for env in environments:
        if env._rollout:
            groups.setdefault((env._rollout.training, env._rollout.number), []).append(env)
    found = list(groups.values())
    kept = find_informative_groups([env._succeeds() for env in group] for group in found)
    dropped = list(chain.from_iterable(group for place, group in enumerate(found) if place not in kept))
    return [-env.get_reward() if env in dropped else 0.0 for env in environments]
