"""One reward function for TRL over rows of every source, as `shopwright.pipeline.rewards.verl` is for verl.

GRPOTrainer(reward_funcs=[reward], train_dataset=rl_questions, ...)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shopwright.pipeline.rewards.tool_use import Completion, flatten_completion
from shopwright.pipeline.rewards.verl import EPISODES, compute_score


def reward(
    prompts: Any = None,
    completions: Sequence[Completion] = (),
    *,
    data_source: Sequence[str],
    reward_model: Sequence[Mapping[str, Any]],
    extra_info: Sequence[Mapping[str, Any] | None],
    **kwargs: Any,
) -> list[float | None]:
    r"""None for an episode, which its environment rewards. `tool_use.bind_executor(execute, reward)` also counts what executed.

    >>> row = {"ground_truth": '{"answer": "3", "answer_type": "integer"}'}
    >>> reward(completions=[r"\boxed{3}", ""], data_source=["shoptrajqa", "ecomrlve"], reward_model=[row] * 2, extra_info=[{}] * 2)
    [1.0, None]
    """
    own = {name: kwargs[name] for name in ("execute", "strict", "rule") if name in kwargs}
    rows = zip(completions, data_source, reward_model, extra_info, strict=True)
    return [
        None
        if source in EPISODES
        else compute_score(source, flatten_completion(said), truth["ground_truth"], known, **own)["score"]
        for said, source, truth, known in rows
    ]
