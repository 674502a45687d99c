"""`shopwright evaluate questions`: an agent on questions over trajectories."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from pipeline.commands.models import add_players, models_given
from pipeline.commands.options import Parser, add_command, positive
from pipeline.commands.output import print_json, print_tables, say, whole
from pipeline.files import path_of
from pipeline.models.role import Models
from pipeline.recipe import read_recipe
from pipeline.run import Run
from schemas.questions import Split

EXAMPLE = "shopwright evaluate questions --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1"


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = "an agent (scripted, random, majority or a model) on questions: the figures of the paper's Tables 1 and 3"
    options = add_command(kinds, "questions", about, [folder, as_json], EXAMPLE)
    add_players(options, "agent", "judge")
    options.add_argument(
        "--mode",
        choices=("tool", "text", "both"),
        default="tool",
        help="code over the file, the whole trajectory in the prompt, or both (default: tool)",
    )
    options.add_argument("--split", choices=get_args(Split), default="test", help="which questions (default: test)")
    options.add_argument("--budgets", metavar="B", help="as 32k,64k (default: all that there are)")
    options.add_argument("--limit", type=positive, metavar="N", help="so many questions, spread over kinds and budgets")
    options.add_argument(
        "--tries", type=positive, default=1, metavar="K", help="of each question, for pass@k (default: 1)"
    )
    options.add_argument("--strict", action="store_true", help="right is only the same text, not what means the same")
    options.add_argument(
        "--to", metavar="FILE", help="the tries as Parquet (default: RUN/evaluations/questions-AGENT.parquet, replaced)"
    )


def run(
    run: str,
    mode: str,
    split: str,
    budgets: str | None,
    limit: int | None,
    tries: int,
    strict: bool,
    to: str | None,
    recipe: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.models.role import Role
    from pipeline.publish.report import write_report
    from pipeline.rollouts import evaluate, judge, scores
    from pipeline.rollouts.policies import POLICIES, SCRIPTED

    policy = given.pop("agent") if given.get("agent") in POLICIES else None
    models = models_given(given, read_recipe(recipe)) or Models()
    models = replace(models, sampling={"agent": evaluate.DRAWN, "judge": judge.DRAWN, **models.sampling})
    role = Role("agent", models, path_of(run), "evaluate-questions")
    agent = policy or (role if role.asks else SCRIPTED)
    critic = Role("judge", models, path_of(run), "evaluate-judge") if "judge" in models.roles else None
    for each in filter(None, [agent if isinstance(agent, Role) else None, critic and judge.judge_of(critic)]):
        models.price(each.name)
    questions, trajectories = whole(run, "questions"), whole(run, "trajectories")
    modes = evaluate.modes_of(mode, agent)
    plan = evaluate.Plan(modes, split, evaluate.budgets_of(budgets), limit, tries, strict)
    asked = evaluate.chosen(questions, plan)
    total = len(asked) * tries * len(modes)
    played = evaluate.attempts(asked, questions, trajectories, agent, plan)
    rows = evaluate.told(played, total, say, "questions")
    if critic:
        texts = {each.id: each.question for each in asked}
        rows = evaluate.told(judge.judged(rows, texts, critic), total, say, "judge")
    path = Path(to) if to else scores.file_of(path_of(run), rows[0].policy)
    scores.write_attempts(rows, path, {"split": split, "questions": questions.manifest.fingerprint})
    write_report(Run(run))
    found = scores.figures(rows)
    if json:
        print_json([asdict(each) for each in found])
        return 0
    print_tables([*scores.tables(found), scores.fault_table(rows)])
    print(
        f"\n{len(asked):,} questions of the split {split}, {tries} {'try' if tries == 1 else 'tries'} each\ntries      {path}"
    )
    print(f"report     {path_of(run) / 'report.html'}")
    return 0
