"""The expert as a player of the environments that models train in: it is given the opening and the texts of tools, and nothing else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from shopwright.pipeline.checks.openings import make_vocabulary
from shopwright.pipeline.experts.expert import Step
from shopwright.pipeline.experts.play import play
from shopwright.pipeline.experts.seen import list_unseen
from shopwright.pipeline.reading.wishes import ShopVocabulary
from shopwright.pipeline.trainers.env import ShopEnv, call_env_tool, get_run_world
from shopwright.schemas.tasks import Reward


@dataclass(frozen=True)
class ExpertPlay:
    """An episode of the expert."""

    steps: tuple[Step, ...]
    texts: tuple[str, ...]
    """What was heard: the prompt's last message, then what each call returned."""
    reward: Reward | None
    """None where it ended without an answer."""

    @property
    def unseen(self) -> list[str]:
        """What the calls use that no text before them has."""
        found: list[str] = []
        for place, step in enumerate(self.steps, 1):
            found += list_unseen(step.name, step.arguments, self.texts[:place])
        return found


@cache
def load_lexicon(run: str) -> ShopVocabulary:
    """How things are called in a run's shop: categories, nouns, values; of products nothing, not even their titles."""
    return replace(make_vocabulary(get_run_world(run).store), titles={})


def play_expert(env: ShopEnv, task: Mapping[str, Any]) -> ExpertPlay:
    """Plays a task: all that the expert is given are texts."""
    env.reset(extra_info={"task": task})
    prompt = env._prompt[-1]["content"]
    first = json.loads(prompt)
    steps: list[Step] = []
    texts = [prompt]
    plan = play(first["shopper"], first["calls_left"], load_lexicon(env._run))
    step = next(plan, None)
    while step is not None and not env._done:
        steps.append(step)
        texts.append(call_env_tool(env, step.name, step.arguments))
        try:
            step = None if env._done else plan.send(texts[-1])
        except StopIteration:
            break
    return ExpertPlay(tuple(steps), tuple(texts), env._episode.reward)
