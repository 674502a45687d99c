"""One reward function for verl over rows of every source: it looks at `data_source` and asks the rule that is meant.

    custom_reward_function.path = .../pipeline/rewards/verl.py        custom_reward_function.name = compute_score

| data_source | what is scored | by |
| --- | --- | --- |
| shoptrajqa | the last box after the last tool's output | `tool_use`, with the calls that executed |
| shop_r1 | the answer as JSON | `hierarchical` |
| ecomrlve, shopsimulator | nothing: what was done is not in the text | the environment, in `extra_info["reward"]` |

verl wants the same keys of every row of a batch, all of them numbers: a rule's parts, and 0 for those of other rules.
"""

import json
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards import hierarchical, tool_use

EPISODES = ("ecomrlve", "shopsimulator")
# What each rule's reward is made of.
PARTS = {
    "shoptrajqa": ("correct", "executed"),
    "shop_r1": ("format", "type", "presence", "value", "rationale", "exact"),
    "ecomrlve": ("task", "efficiency", "hallucination", "success"),
    "shopsimulator": ("type", "attributes", "options", "price", "loose", "strict", "success"),
}
KEYS = ("score", *dict.fromkeys(chain.from_iterable(PARTS.values())))
ExtraInfo = Mapping[str, Any]


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: ExtraInfo | None = None,
    **kwargs: Any,
) -> dict[str, float]:
    r"""The reward and its parts; keyword arguments are the rule's own (`execute`, `strict`, `rule`, and `which` of strict and loose).

    Raises Problem for a source that has no rule, and for an episode whose environment does not say what it earned.

    >>> truth = '{"answer": "3", "answer_type": "integer"}'
    >>> said = r"<tool_response>\boxed{3}</tool_response>It is \boxed{4}."
    >>> got = compute_score("shoptrajqa", said, truth, {"executed": 2})
    >>> got["score"], got["correct"], got["executed"], got["exact"]
    (-0.8, 0.0, 2.0, 0.0)
    """
    if data_source not in RULES:
        raise Problem(f"No reward is known for data_source {data_source!r}. There are: {', '.join(RULES)}.")
    found = RULES[data_source](data_source, solution_str, ground_truth, extra_info or {}, **kwargs)
    return dict.fromkeys(KEYS, 0.0) | found


def score_question(source: str, text: str, ground_truth: str, known: ExtraInfo, **kwargs: Any) -> dict[str, float]:
    """Calls that nobody has counted earn nothing."""
    truth = json.loads(ground_truth)
    counted = {} if "execute" in kwargs else {"executed": known.get("executed") or 0}
    facts = {**known, **counted, "answer_type": truth["answer_type"]}
    return tool_use.compute_score(source, drop_open_call(text), truth["answer"], facts, **kwargs)


def drop_open_call(text: str) -> str:
    """The text without a last call that nothing came back to: what stands in it was not said.

    >>> drop_open_call('Look. <tool_call>{"arguments": {"code": "x"}}'), drop_open_call("<tool_call>{}</tool_call><tool_response>1</tool_response>")
    ('Look. ', '<tool_call>{}</tool_call><tool_response>1</tool_response>')
    """
    before, sign, last = text.rpartition("</tool_response>")
    return before + sign + last.partition("<tool_call>")[0]


def score_action(source: str, text: str, ground_truth: str, known: ExtraInfo, **kwargs: Any) -> dict[str, float]:
    return hierarchical.compute_score(source, text, ground_truth, known, **kwargs)


def score_env_episode(source: str, text: str, ground_truth: str, known: ExtraInfo, **kwargs: Any) -> dict[str, float]:
    """What the environment says: a number, or the parts of which `total`, or `strict`, is the reward.

    >>> score_env_episode("ecomrlve", "", "", {"reward": {"task": 1.0, "efficiency": -1.0, "total": 0.6}})
    {'score': 0.6, 'task': 1.0, 'efficiency': -1.0}
    """
    earned = known.get("reward")
    if earned is None:
        raise Problem(
            f"The reward of {source} is its environment's: use one that gives it (`agent_name`), or pass it as "
            'extra_info["reward"].'
        )
    if not isinstance(earned, Mapping):
        return {"score": float(earned)}
    score = earned["total" if source == "ecomrlve" else kwargs.get("which", "strict")]
    return {"score": float(score)} | {each: float(earned[each]) for each in PARTS[source] if each in earned}


RULES: dict[str, Callable[..., dict[str, float]]] = {
    "shoptrajqa": score_question,
    "shop_r1": score_action,
    **dict.fromkeys(EPISODES, score_env_episode),
}
