"""Next actions as a task of lm-eval: one reply each, paid as Shop-R1 pays it. Its folder is written by:

    python -m shopwright.pipeline.trainers.lm_eval data/runs/mine build/lm-eval
    lm_eval run --model local-chat-completions --model_args model=NAME,base_url=http://127.0.0.1:8000/v1/chat/completions \\
        --include_path build/lm-eval --tasks shopwright_next_action --apply_chat_template
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.exporters.rl import rl_behaviors
from shopwright.pipeline.rewards import hierarchical
from shopwright.pipeline.run import Run

TASK = "shopwright_next_action"
METRICS = ("score", "exact", "format", "type")
SETTINGS: dict[str, Any] = {
    "task": TASK,
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "generate_until",
    "description": "system",
    "doc_to_text": "user",
    "doc_to_target": "action",
    "generation_kwargs": {"until": [], "max_gen_toks": 1_024, "do_sample": False},
    "metric_list": [{"metric": name, "aggregation": "mean", "higher_is_better": True} for name in METRICS],
    "metadata": {"version": 1},
}


def score_reply(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """What lm-eval counts of a reply.

    >>> leave = '{"type": "terminate"}'
    >>> score_reply({"action": leave}, ['{"rationale": "No.", "action": %s}' % leave])
    {'score': 0.8, 'exact': 1.0, 'format': 0.5, 'type': 0.3}
    """
    found = hierarchical.compute_score("shop_r1", results[0], doc["action"])
    return {name: found[name] for name in METRICS}


def write_lm_eval(run: str, folder: Path) -> Path:
    """The task and its rows, the held-out steps. Raises Problem where the run has none."""
    steps = Run(run).read("behavior_steps")
    if steps.manifest is None:
        raise Problem(f"{run} has no behavior_steps. Build them: shopwright build behavior_steps --run {run}")
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"{TASK}.jsonl"
    with data.open("w", encoding="utf-8") as file:
        for row in rl_behaviors(steps, "test"):
            system, *session = (message["content"] for message in row["prompt"])
            told = {
                "system": system,
                "user": "\n\n".join(session),
            }  # pages and what was done on them: it takes one message
            step = {"id": row["id"], **told, "action": row["reward_model"]["ground_truth"]}
            file.write(json.dumps(step, ensure_ascii=False) + "\n")
    # JSON is YAML, but for the function.
    settings = json.dumps({**SETTINGS, "dataset_kwargs": {"data_files": {"test": str(data.resolve())}}}, indent=2)
    path = folder / f"{TASK}.yaml"
    function = '"process_results": !function shopwright.pipeline.trainers.lm_eval.score_reply'
    path.write_text(settings.removesuffix("\n}") + f",\n  {function}\n}}\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    print(f"Written: {write_lm_eval(sys.argv[1], Path(sys.argv[2]))}")
