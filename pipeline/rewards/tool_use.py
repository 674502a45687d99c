r"""What a rollout with code earned: 1 for the right answer, else a little for each tool call that executed.

    R = 1 if the answer is right, else min(alpha, -1 + 0.1 n)       arXiv 2606.07995, section 3.4

n counts calls that ran without an error. The public release counts tool turns instead, so a call that failed earned as much.

A text cannot prove what ran: a model can write `<interpreter>` itself. So n comes from the environment that ran the calls
(`executed`), or from running the blocks again (`execute`; blocks keep no state). Who writes the rollouts has to break the
tags `<interpreter>` and `</interpreter>` in what tools print: a tool that prints both can pass its text off as the model's.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, update_wrapper
from typing import Any, get_args

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_right_answer
from shopwright.schemas.questions import AnswerType

# The most that a wrong answer can earn.
ALPHA = -0.6
# Of one rollout that are run again: the paper's limit on turns.
MOST_BLOCKS = 16
# (trajectory's id, code): did it run without an error?
Executes = Callable[[str, str], bool]
# A text, or messages with `role` and `content`.
Completion = str | Sequence[Mapping[str, Any]]
# The second is what trainers' templates write around a tool's output.
TAGS = re.compile(r"(</?(?:interpreter|tool_response)>)")


def reward_answer(
    said: str | None, answer: str, answer_type: str, executed: int, *, strict: bool = False, alpha: float = ALPHA
) -> float:
    """
    >>> reward_answer("$3", "3.00", "money", 0), reward_answer("4", "3.00", "money", 2), reward_answer(None, "3.00", "money", 12)
    (1.0, -0.8, -0.6)
    """
    return compute_tool_use_reward(is_right_answer(said, answer, answer_type, strict=strict), executed, alpha)


def compute_tool_use_reward(correct: bool, executed: int, alpha: float = ALPHA) -> float:
    return 1.0 if correct else min(alpha, (executed - 10) / 10)  # exact in tenths


def extract_code_blocks(text: str) -> list[str]:
    """The code that the model wrote, in order, without fences; empty blocks are none.

    >>> extract_code_blocks("Look: <code>1 + 1</code><interpreter>2 <code>0</code></interpreter> <code>2 + 2</code>")
    ['1 + 1', '2 + 2']
    """
    found = []
    for part in select_model_text(text):
        pieces = re.split(r"(</?code>)", part)
        for before, block, after in zip(pieces[1::2], pieces[2::2], pieces[3::2], strict=False):
            if (before, after) == ("<code>", "</code>"):
                fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", block.strip(), re.DOTALL)
                found.append((fenced[1] if fenced else block).strip("\n").rstrip())
    return [code for code in found if code]


def select_model_text(text: str) -> list[str]:
    """The parts that the model wrote: neither after an opening tag of a tool's output nor before a closing one."""
    pieces = ["", *TAGS.split(text), ""]
    return [
        pieces[i]
        for i in range(1, len(pieces), 2)
        if not re.match(r"<\w", pieces[i - 1]) and not pieces[i + 1].startswith("</")
    ]


def extract_final_text(text: str) -> str:
    r"""What the model said after its last tool call; empty where a block of code is still open.

    >>> extract_final_text(r"<code>f()</code><interpreter>\boxed{3}</interpreter>So it is 4."), extract_final_text(r"\boxed{3} <code>f(")
    ('So it is 4.', '')
    """
    pieces = TAGS.split(text)
    if len(pieces) > 1 and not pieces[-2].startswith("</"):
        return ""
    last = pieces[-1].rpartition("</code>")[2]
    return "" if "<code>" in last else last


def flatten_completion(completion: Completion) -> str:
    """Messages as one text, in which what tools said stands as an empty `<interpreter>`.

    >>> flatten_completion([{"role": "assistant", "content": "<code>1</code>"}, {"role": "tool", "content": "1"}])
    '<code>1</code><interpreter></interpreter>'
    """
    return completion if isinstance(completion, str) else "".join(map(flatten_message, completion))


def flatten_message(message: Mapping[str, Any]) -> str:
    if message.get("role") != "assistant":
        return "<interpreter></interpreter>"
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(str(part.get("text") or "") for part in content)
    return content + "".join(f"<code>{code}</code>" for code in extract_call_code(message.get("tool_calls") or []))


def extract_call_code(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """The code of tool calls: what a trainer's parser makes of `<code>` blocks."""
    found = []
    for call in calls:
        arguments = call.get("function", call).get("arguments")
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, Mapping) and "code" in arguments:
            found.append(str(arguments["code"]))
    return found


def count_executed_calls(text: str, executed: int | None, execute: Executes | None, trajectory_id: str) -> int:
    """How many calls executed. Raises Problem where nobody can say."""
    if executed is not None:
        return max(0, int(executed))
    if execute is None:
        raise Problem(
            "Nobody says how many tool calls executed. Pass the environment's count as `executed` "
            '(verl: extra_info["executed"], TRL: a column), or a function that runs code: bind_executor(execute).'
        )
    if not trajectory_id:
        raise Problem("The code cannot be run again without a trajectory. Pass its id as `trajectory_id`.")
    return sum(bool(execute(trajectory_id, code)) for code in extract_code_blocks(text)[:MOST_BLOCKS])


def grade_completion(
    completion: Completion,
    answer: str,
    answer_type: str | None,
    *,
    executed: int | None = None,
    execute: Executes | None = None,
    trajectory_id: str | None = "",
    strict: bool = False,
) -> tuple[bool, int]:
    """Was the answer right, and how many tool calls executed? Raises Problem for what was not passed."""
    if answer_type is None or answer_type not in get_args(AnswerType):
        raise Problem(f"answer_type is {answer_type!r}. Pass the question's: {', '.join(get_args(AnswerType))}.")
    text = flatten_completion(completion)
    correct = is_right_answer(extract_boxed_answer(extract_final_text(text)), answer, answer_type, strict=strict)
    return correct, count_executed_calls(text, executed, execute, trajectory_id or "")


def score_rollout(
    completion: Completion,
    answer: str,
    answer_type: str,
    *,
    executed: int | None = None,
    execute: Executes | None = None,
    trajectory_id: str = "",
    strict: bool = False,
) -> float:
    r"""The reward of one rollout. Raises Problem without `executed` and `execute`.

    >>> score_rollout(r"<code>f()</code><interpreter>3</interpreter>\boxed{4}", "3", "integer", executed=1)
    -0.9
    """
    graded_so = grade_completion(
        completion, answer, answer_type, executed=executed, execute=execute, trajectory_id=trajectory_id, strict=strict
    )
    return compute_tool_use_reward(*graded_so)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    execute: Executes | None = None,
    strict: bool = False,
    **kwargs: Any,
) -> dict[str, float]:
    r"""For verl: `ground_truth` is the canonical answer; extra_info has answer_type and executed, or trajectory_id.

    >>> compute_score("shoptrajqa", r"\boxed{3}", "3", {"answer_type": "integer", "executed": 0})
    {'score': 1.0, 'correct': 1.0, 'executed': 0.0}
    """
    known = extra_info or {}
    correct, executed = grade_completion(
        solution_str,
        ground_truth,
        known.get("answer_type"),
        executed=known.get("executed"),
        execute=execute,
        trajectory_id=known.get("trajectory_id"),
        strict=strict,
    )
    return {"score": compute_tool_use_reward(correct, executed), "correct": float(correct), "executed": float(executed)}


def tool_use_reward(
    prompts: Any = None,
    completions: Sequence[Completion] = (),
    *,
    answer: Sequence[str],
    answer_type: Sequence[str],
    trajectory_id: Sequence[str] | None = None,
    executed: Sequence[int | None] | None = None,
    execute: Executes | None = None,
    strict: bool = False,
    **kwargs: Any,
) -> list[float]:
    r"""For TRL: one reward for each completion, from columns of the same length.

    >>> tool_use_reward(completions=[r"\boxed{3}", "3"], answer=["3", "3"], answer_type=["integer"] * 2, executed=[1, 1])
    [1.0, -0.9]
    """
    nothing = [None] * len(completions)
    rows = zip(completions, answer, answer_type, trajectory_id or nothing, executed or nothing, strict=True)
    return [
        compute_tool_use_reward(
            *grade_completion(text, truth, kind, executed=ran, execute=execute, trajectory_id=id, strict=strict)
        )
        for text, truth, kind, id, ran in rows
    ]


def bind_executor(execute: Executes, function: Callable[..., Any] = tool_use_reward) -> Callable[..., Any]:
    """`tool_use_reward` or `compute_score`, which finds out by this what executed; with the name that TRL asks for."""
    return update_wrapper(partial(function, execute=execute), function)
