"""`shopwright evaluate questions` and `shopwright audit questions`: answering from a customer's months."""

from typing import Any, get_args

from shopwright.pipeline.commands.options import add_run, add_tries, parse_positive
from shopwright.pipeline.commands.output import open_finished_dataset
from shopwright.pipeline.files import path_of
from shopwright.schemas.questions import Split

ABOUT = "measure how well an agent (solver, random, majority or a model) answers questions: the figures of the paper's Tables 1 and 3"
EXAMPLE = "shopwright evaluate questions --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1"
AUDIT_ABOUT = (
    "answer the same questions by the solver and by two that guess; exit 1 if the solver fails or a guess pays"
)
AUDIT = "shopwright audit questions --run data/runs/mine --limit 200"
ROLES = ("agent", "judge")
SAMPLING = {"agent": "rollouts.evaluate:AGENT_SAMPLING", "judge": "rollouts.judge:JUDGE_SAMPLING"}


def add_selection(options: Any) -> None:
    add_run(options)
    options.add_argument("--split", choices=get_args(Split), default="test", help="which questions (default: test)")
    options.add_argument("--budgets", metavar="B", help="token budgets, as 32k,64k (default: all)")
    options.add_argument(
        "--limit", type=parse_positive, metavar="N", help="number of questions, spread over kinds and budgets"
    )


def add_options(options: Any) -> None:
    options.add_argument(
        "--mode",
        choices=("tool", "text", "both"),
        default="tool",
        help="tool: code over the file; text: the whole trajectory in the prompt, only questions that the text can answer; or both "
        "(default: tool)",
    )
    add_tries(options)
    options.add_argument(
        "--strict", action="store_true", help="accept only the same text, not another spelling of the same value"
    )


def open_situation(
    run: str,
    what: str,
    agent: Any,
    models: Any,
    *,
    split: str,
    budgets: str | None,
    limit: int | None,
    mode: str = "tool",
    tries: int = 1,
    strict: bool = False,
) -> tuple[Any, Any]:
    from shopwright.pipeline.models.role import Role
    from shopwright.pipeline.rollouts import evaluate, judge

    critic = None
    if "judge" in models.roles:
        critic = judge.get_judge(Role("judge", models, path_of(run), "evaluate-judge"))
        models.price("judge")
    questions, trajectories = open_finished_dataset(run, what), open_finished_dataset(run, "trajectories")
    modes = evaluate.parse_modes(mode, agent)
    plan = evaluate.Plan(modes, split, evaluate.parse_token_budgets(budgets), limit, tries, strict)
    return evaluate.open_questions(questions, trajectories, plan, critic), questions
