"""The command line, made from the stages."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path
from shlex import quote
from typing import Any, NoReturn, get_args

from pipeline.dataset import Manifest, write_whole
from pipeline.models.role import Asked, Models, models_of
from pipeline.problem import Ended, Problem
from pipeline.progress import Bar, Lines, Progress
from pipeline.recipe import RecipeFile, read_recipe
from pipeline.run import Run, all_stages, owners_of, package_version, setting_names, upstream
from pipeline.stage import ROLES
from schemas.behaviors import Side
from schemas.questions import Split

RUN = "data/runs/demo"
NOTHING: tuple[Any, ...] = (None, "", {}, False)
"""Defaults that need not be told."""
EXAMPLES = {
    "list": "shopwright list",
    "build": "shopwright build questions --count 100 --tokens 32k,64k --per-trajectory 10 --run data/runs/mine",
    "show": "shopwright show personas -n 3",
    "verify": "shopwright verify data/runs/demo",
    "audit": "shopwright audit envs --levels 0-12 --episodes 200",
    "evaluate": "shopwright evaluate envs --agent openai:NAME@http://127.0.0.1:8000/v1 --envs C2 --levels 0,6,12",
    "evaluate questions": "shopwright evaluate questions --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1",
    "audit shopping_tasks": "shopwright audit shopping_tasks --run data/runs/mine --limit 200",
    "evaluate shopping_tasks": "shopwright evaluate shopping_tasks --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1",
    "evaluate behaviors": "shopwright evaluate behaviors --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1 --limit 1000",
    "evaluate realism": "shopwright evaluate realism --run data/runs/mine --real logs.txt --judge openai:NAME@http://127.0.0.1:8000/v1",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0 done, 1 something failed its check, 2 bad input, 3 ended early (run it again to go on), 130 stopped.
    """
    return run_command(arguments, build_dataset)


def run_command(arguments: Sequence[str] | None, build: Callable[..., Any]) -> int:
    """`main`, with the function that builds: here, or as a flow."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options = parsed(arguments)
        command = options.pop("command")
        code = build_command(build, **options) if command == "build" else COMMANDS[command](**options)
        sys.stdout.flush()
        return code
    except Problem as problem:
        print("\n".join([f"shopwright: error: {problem}", *getattr(problem, "__notes__", [])]), file=sys.stderr)
        return 3 if isinstance(problem, Ended) else 2
    except KeyboardInterrupt:
        print("Stopped. What is finished is kept: run the same command again to go on.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # as in `shopwright show catalog | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parsed(arguments: Sequence[str] | None) -> dict[str, Any]:
    found, unknown = parser().parse_known_args(arguments)
    options = vars(found)
    if unknown and options["command"] == "build":
        known = ", ".join(f"--{name.replace('_', '-')}" for name in setting_names(options["dataset"]))
        raise Problem(f"{options['dataset']} has no setting {' '.join(unknown)}. It has: {known}.")
    if unknown:
        raise Problem(
            f"{options['command']} does not take {' '.join(unknown)}. See: shopwright {options['command']} -h"
        )
    return options


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as everything else here does; and knows no abbreviations."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise Problem(f"{message}. See: {self.prog} -h")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def build_dataset(
    dataset: str,
    folder: str,
    *,
    seed: int | None,
    workers: int | None,
    models: Models | None,
    rebuild: bool,
    progress: Progress,
    **settings: Any,
) -> Manifest:
    return Run(folder, seed=seed, workers=workers, models=models).build(
        dataset, rebuild=rebuild, progress=progress, **settings
    )


def parser() -> Parser:
    top = Parser(
        prog="shopwright",
        description="Verified synthetic data for shopping agents.",
        epilog="\n".join(["examples:", *(f"  {example}" for example in EXAMPLES.values())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"shopwright {package_version()}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    folder = Parser(add_help=False)
    folder.add_argument("--run", default=RUN, metavar="FOLDER", help=f"the run's folder (default: {RUN})")
    as_json = Parser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="print JSON, for scripts")

    add(commands, "list", "every dataset: what it holds, what it reads, its settings", [folder, as_json])
    build = add(commands, "build", "make a dataset, and before it whatever it reads that is not there yet", [])
    datasets = build.add_subparsers(dest="dataset", required=True, metavar="DATASET")
    for name in all_stages():
        add_build(datasets, name, [folder, as_json])
    show = add(commands, "show", "print a dataset's first rows", [folder, as_json])
    show.add_argument("dataset", help=f"one of: {', '.join(all_stages())}")
    show.add_argument("-n", type=positive, default=3, metavar="ROWS", help="how many rows (default: 3)")
    show.add_argument("--rejected", action="store_true", help="rows in quarantine, with their reasons, instead")
    verify = add(
        commands, "verify", "recompute every check from the Parquet files alone; exit 1 if any fails", [as_json]
    )
    verify.add_argument("folder", nargs="?", default=RUN, help=f"the run's folder (default: {RUN})")
    verify.add_argument("--workers", type=positive, metavar="N", help="processes (default: the cores)")
    add_envs(commands, folder, as_json)
    return top


def add_envs(commands: Any, folder: Parser, as_json: Parser) -> None:
    """`audit envs`, and all that is evaluated."""
    audit = add(commands, "audit", "whether what can be played can be solved, and cannot be cheated", [])
    evaluate = add(commands, "evaluate", "how well a model does, or a scripted player", [])
    for command, about in (
        (audit, "the solver and eight cheap policies, level by level; exit 1 if one of them should not get out"),
        (evaluate, "success, reward by its parts and turns, with 95 %% intervals"),
    ):
        kinds = command.add_subparsers(dest="what", required=True, metavar="WHAT")
        envs = kinds.add_parser("envs", help=about, description=about, parents=[as_json])
        envs.add_argument("--run", metavar="FOLDER", help="the shop of a run (default: a sample shop, made in memory)")
        envs.add_argument("--vectors", action="store_true", help="search by the run's embeddings too")
        envs.add_argument(
            "--envs", default="C8", metavar="E", help="C1, C2, C4, C8 or names, with commas (default: C8)"
        )
        envs.add_argument("--levels", default="0-12", metavar="L", help="as 0-12 or 0,6,12 (default: 0-12)")
        envs.add_argument(
            "--episodes", default=20, type=positive, metavar="N", help="of each env and level (default: 20)"
        )
        if command is audit:
            envs.add_argument("--workers", type=positive, metavar="N", help="processes (default: the cores)")
            about = "the solver and five cheap policies on the same tasks; exit 1 if one of them should not get out"
            add_shopping(add_kind(kinds, "shopping_tasks", about, [folder, as_json], "audit"))
        else:
            add_models(envs, ["agent"], plans=False)
            envs.add_argument("--recipe", metavar="FILE", help="models, sampling and prices, as TOML")
            envs.add_argument(
                "--player", metavar="P", help="a scripted one instead: solver, do_nothing, first_result, ..."
            )
            envs.add_argument("--native", action="store_true", help="tell the server of the tools, for native calls")
            envs.add_argument("--to", metavar="FILE", help="write the table as Parquet too")
            add_questions(kinds, [folder, as_json])
            add_realism(kinds, [folder, as_json])
            add_shopping_agent(kinds, [folder, as_json])
            add_behaviors(kinds, [folder, as_json])


def add_shopping(options: Any) -> None:
    """What an audit and an evaluation of shopping tasks have in common."""
    options.add_argument(
        "--scenarios", metavar="S", help="of single, single-personal, multi, multi-personal, with commas (default: all)"
    )
    options.add_argument("--split", choices=("train", "test"), default="test", help="which tasks (default: test)")
    options.add_argument(
        "--limit", type=positive, metavar="N", help="so many tasks, with and without a profile in turn (default: all)"
    )


def add_shopping_agent(kinds: Any, parents: list[Parser]) -> None:
    """`evaluate shopping_tasks`."""
    about = (
        "a model or a scripted player (solver, first-result, ...) on shopping tasks: the paper's Table 2 and Figure 3"
    )
    options = add_kind(kinds, "shopping_tasks", about, parents)
    add_shopping(options)
    add_models(options, ["agent"], plans=False)
    options.add_argument("--recipe", metavar="FILE", help="models, sampling and prices, as TOML")
    options.add_argument(
        "--human",
        metavar="FILE",
        help="compare the instructions with people's: a JSON list; nothing is played where no agent is named",
    )
    options.add_argument(
        "--to",
        metavar="FILE",
        help="the episodes as Parquet (default: RUN/evaluations/shopping-AGENT.parquet, replaced)",
    )


def add_behaviors(kinds: Any, parents: list[Parser]) -> None:
    """`evaluate behaviors`."""
    about = (
        "an agent (scripted, terminate, frequent-click, echo, random-click or a model) predicts shoppers' next steps"
    )
    options = add_kind(kinds, "behaviors", about, parents)
    add_models(options, ["agent"], plans=False)
    options.add_argument("--recipe", metavar="FILE", help="models, sampling and prices, as TOML")
    options.add_argument("--split", choices=get_args(Side), default="test", help="which steps (default: test)")
    options.add_argument("--limit", type=positive, metavar="N", help="so many steps by chance (default: all)")
    options.add_argument(
        "--dars", type=amount, default=1000.0, metavar="X", help="what likeness is multiplied with (default: 1000)"
    )
    options.add_argument("--gated", action="store_true", help="that a field is there is paid only where it is right")
    options.add_argument(
        "--vocabulary",
        type=positive,
        default=0,
        metavar="N",
        help="so many tokens the model knows: measure how sure it is of its rationale (default: that pays 0)",
    )
    options.add_argument(
        "--likeliest", type=positive, default=20, metavar="K", help="tokens that is measured by (default: 20)"
    )
    options.add_argument(
        "--to", metavar="FILE", help="the predictions as Parquet (default: RUN/evaluations/behaviors-AGENT.parquet)"
    )


def add_questions(kinds: Any, parents: list[Parser]) -> None:
    """`evaluate questions`."""
    about = "an agent (scripted, random, majority or a model) on questions: the figures of the paper's Tables 1 and 3"
    options = add_kind(kinds, "questions", about, parents)
    add_models(options, ["agent", "judge"], plans=False)
    options.add_argument("--recipe", metavar="FILE", help="models, sampling and prices, as TOML")
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


def add_realism(kinds: Any, parents: list[Parser]) -> None:
    """`evaluate realism`."""
    about = "which log a judge takes for a real person's, one of a run's or a real one: as the paper's Table 8"
    options = add_kind(kinds, "realism", about, parents)
    add_models(options, ["judge"], plans=False)
    options.add_argument("--recipe", metavar="FILE", help="models, sampling and prices, as TOML")
    options.add_argument(
        "--real",
        required=True,
        metavar="FILE",
        help="real logs: Parquet or JSON Lines with a column text, or a text in which an empty line ends each log",
    )
    options.add_argument("--pairs", type=positive, default=100, metavar="N", help="how many (default: 100)")
    options.add_argument(
        "--lines", type=positive, default=100, metavar="N", help="of each log, at most, that are shown (default: 100)"
    )


def add_kind(kinds: Any, what: str, about: str, parents: list[Parser], command: str = "evaluate") -> Any:
    return kinds.add_parser(
        what,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {EXAMPLES[f'{command} {what}']}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=parents,
    )


def add(commands: Any, name: str, about: str, parents: list[Parser]) -> Any:
    return commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {EXAMPLES.get(name) or build_example(name)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=parents,
    )


def add_build(datasets: Any, name: str, parents: list[Parser]) -> None:
    options = add(datasets, name, all_stages()[name].about.rstrip("."), parents)
    options.add_argument("--seed", type=int, help="the run's seed (default: what the folder was made with, else 0)")
    options.add_argument("--workers", type=positive, metavar="N", help="processes (default: the cores)")
    options.add_argument("--recipe", metavar="FILE", help="settings, models, sampling and prices, as TOML")
    options.add_argument(
        "--rebuild", action="store_true", help="make it again, and what it reads where that has changed"
    )
    add_models(options, [role for each in upstream(name) for role in all_stages()[each].roles])
    for each in reversed(upstream(name)):
        group = options.add_argument_group(f"settings of {each}")
        for setting in all_stages()[each].settings.values():
            short = f"--{setting.name.replace('_', '-')}"
            flags = [short] if owners_of(name, setting.name) == [each] else []
            flags += [f"--{each}.{setting.name}".replace("_", "-")] if each != name else []
            default = "" if setting.default in NOTHING else f" (default: {words(setting.default)})"
            flag: dict[str, Any] = {"nargs": "?", "const": True} if setting.default is False else {}
            group.add_argument(
                *flags,
                **flag,
                dest=f"{each}.{setting.name}",
                default=argparse.SUPPRESS,
                metavar="X",
                help=f"{setting.about}{default}".replace("%", "%%"),
            )


def add_models(options: Any, roles: list[str], *, plans: bool = True) -> None:
    """The models that play the roles of these stages, and what they may cost."""
    if not roles:
        return
    group = options.add_argument_group("models (default: scripted, which is none at all)")
    about = "scripted, openai:NAME@http://HOST:PORT/v1 or vllm:NAME_OR_PATH"
    group.add_argument("--model", metavar="M", help=f"of every role: {about}")
    for role in dict.fromkeys(roles):
        group.add_argument(f"--{role}", metavar="M", help=f"of the {role} alone")
    group.add_argument("--at-once", type=positive, metavar="N", help="conversations at a time (default: 64)")
    group.add_argument(
        "--max-tokens", type=positive, metavar="N", help="stop cleanly after so many; the next command goes on"
    )
    group.add_argument(
        "--max-cost", type=amount, metavar="D", help="stop cleanly after so many dollars, at the recipe's prices"
    )
    group.add_argument(
        "--patience",
        type=amount,
        metavar="S",
        help="seconds without a good answer until a server is away (default: 120)",
    )
    group.add_argument("--fresh", action="store_true", help="ask again what was asked before")
    if not plans:
        return
    group.add_argument(
        "--preview", type=positive, metavar="N", help="print N rows with prompts and replies, and what all would cost"
    )
    group.add_argument(
        "--requeue", metavar="REASON", help="ask again for the rows in quarantine whose reason holds these words"
    )


def amount(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return found


def models_given(settings: dict[str, Any], recipe: RecipeFile) -> Models | None:
    """Takes the models' options out of the settings and adds the recipe's; None where none was given."""
    plain = {
        name: settings.pop(name, None) for name in ("model", "at_once", "max_tokens", "max_cost", "patience", "fresh")
    }
    said = {name: value for name, value in plain.items() if value}
    roles = {role: spec for role in ROLES if (spec := settings.pop(role, None))}
    options = recipe.model_options()
    before = {} if "model" in said else options.get("roles", {})  # --model is of every role, whatever the file says
    options |= {**said, "roles": {**before, **roles}}
    return models_of(options) if said or roles or recipe.model_options() else None


def build_example(name: str) -> str:
    """
    >>> build_example("personas")
    'shopwright build personas --run data/runs/mine --count 200'
    """
    own = all_stages()[name].settings.values()
    settings = [f"--{s.name.replace('_', '-')} {quote(words(s.default))}" for s in own if s.default not in NOTHING]
    return " ".join([f"shopwright build {name} --run data/runs/mine", *settings])


def words(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def list_command(run: str, json: bool) -> int:
    rows: list[dict[str, Any]] = []
    for name, stage in all_stages().items():
        manifest = Run(run).read(name).manifest
        rows.append(
            {
                "dataset": name,
                "rows": manifest.rows if manifest else None,
                "reads": stage.reads,
                "settings": {setting.name: setting.default for setting in stage.settings.values()},
                "about": stage.about,
            }
        )
    if json:
        print_json(rows)
        return 0
    print(f"{'dataset':14} {'rows':>10}  {'reads':18} about")
    for row in rows:
        count = "-" if row["rows"] is None else f"{row['rows']:,}"
        print(f"{row['dataset']:14} {count:>10}  {', '.join(row['reads']) or '-':18} {row['about']}")
        settings = "  ".join(
            f"--{key} {words(value)}" for key, value in row["settings"].items() if value not in NOTHING
        )
        print(f"{'':14} {'':>10}  {'':18} {settings}")
    print(f"\nrows: of the run in {run}. More on a dataset: shopwright build DATASET --help")
    return 0


def build_command(
    build: Callable[..., Any],
    dataset: str,
    run: str,
    json: bool,
    seed: int | None,
    workers: int | None,
    rebuild: bool,
    recipe: str | None,
    **settings: Any,
) -> int:
    wanted, reason = settings.pop("preview", None), settings.pop("requeue", None)
    given = read_recipe(recipe)
    models = models_given(settings, given)
    settings = given.settings_of(dataset) | settings
    seed = given.seed if seed is None else seed
    if wanted:
        return preview_command(Run(run, seed=seed, workers=workers, models=models), dataset, wanted, json, settings)
    if reason:
        again = Run(run, seed=seed, models=models).requeue(dataset, reason, **settings)
        print(f"{again:,} rows of {dataset} are asked for again.", file=sys.stderr)
    progress = Bar() if sys.stderr.isatty() else Lines()
    try:
        build(dataset, run, seed=seed, workers=workers, models=models, rebuild=rebuild, progress=progress, **settings)
    finally:
        progress.stop()
    from pipeline.publish.report import write_report

    write_report(Run(run))
    return summary(Run(run), dataset, json)


def preview_command(run: Run, dataset: str, count: int, as_json: bool, settings: dict[str, Any]) -> int:
    from pipeline import preview

    found = preview.preview(run, dataset, count, **settings)
    if as_json:
        print_json(preview.as_json(found))
    else:
        print("\n".join(preview.as_text(found, run.folder)))
    return 0


def summary(run: Run, dataset: str, as_json: bool) -> int:
    """What the run holds now: rows, tokens, rejects by reason, folders; returns 1 where rows that were asked for are missing."""
    manifests = [found for name in upstream(dataset) if (found := run.read(name).manifest)]
    if as_json:
        print_json([manifest.model_dump(mode="json") for manifest in manifests])
        return 1 if any(map(lost, manifests)) else 0
    print(f"\n{'dataset':14} {'rows':>10} {'tokens':>15} {'rejected':>9}  folder")
    for made in manifests:
        tokens = f"{made.tokens:,}" if made.tokens is not None else "-"
        print(f"{made.dataset:14} {made.rows:>10,} {tokens:>15} {made.rejected:>9,}  {run.folder / made.dataset}")
    for title, kind in (("rejected", "rejects"), ("mended", "repairs")):
        for made in manifests:
            for reason, count in sorted(getattr(made, kind).items(), key=lambda each: -each[1]):
                print(f"  {made.dataset}: {title} {count:,}: {reason}")
    for made in manifests:
        for name, facts in made.asked.items():
            print(f"  {made.dataset}: {told(name, Asked.model_validate(facts))}")
    for made in manifests:
        if made.requested is not None and (made.asked or lost(made)):
            sums = f"{made.requested:,} requested = {made.rows:,} accepted + {made.rejected:,} rejected + {lost(made):,} pending"
            print(f"  {made.dataset}: {sums}")
    print(f"\ndata       {run.folder}")
    print(f"rejects    {run.folder / 'quarantine'}" + ("" if any(m.rejected for m in manifests) else " (none)"))
    print(f"report     {run.folder / 'report.html'}")
    return 1 if any(map(lost, manifests)) else 0


def lost(made: Manifest) -> int:
    """Rows that were asked for and are neither accepted nor rejected."""
    return 0 if made.requested is None else made.requested - made.rows - made.rejected


def told(name: str, asked: Asked) -> str:
    """What was asked with a template, in words."""
    first, *again = asked.times or [0]
    back = f", {again[0] / first:.1%} sent back" if again and first else ""
    faults = f", {asked.faults:,} faults" if asked.faults else ""
    cost = f", ${asked.dollars:,.2f}" if asked.dollars else ""
    tokens = f"{asked.prompt_tokens:,} + {asked.tokens:,} tokens"
    return f"prompt {name}: {first:,} asked of {asked.model}{back}{faults}, {tokens}{cost}"


def show_command(dataset: str, run: str, n: int, json: bool, rejected: bool) -> int:
    found = Run(run).read(dataset)
    if found.manifest is None:
        raise Problem(f"There is no {dataset} in {run}. Build it: shopwright build {dataset} --run {run}")
    records = [record.model_dump(mode="json") for record in (found.quarantine if rejected else found).head(n)]
    if json:
        print_json(records)
        return 0
    for record in records:
        print_record(record)
    if not records:
        print(f"No rows of {dataset} {'are in quarantine' if rejected else 'passed'}.")
    return 0


def print_record(record: dict[str, Any]) -> None:
    for name, value in record.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines = text.split("\n")
        shown = [line if len(line) <= 200 else line[:199] + "…" for line in lines[:12]]
        more = [f"… {len(lines) - 12:,} more lines"] if len(lines) > 12 else []
        print(f"{name:18} " + f"\n{'':18} ".join(shown + more))
    print()


def verify_command(folder: str, json: bool, workers: int | None) -> int:
    from pipeline.verify import verify

    verdicts = verify(Run(folder, workers=workers))
    failed = [verdict for verdict in verdicts if verdict.failed]
    if json:
        print_json([verdict.as_dict() for verdict in verdicts])
        return 1 if failed else 0
    for verdict in verdicts:
        mark = "FAILED" if verdict.failed else "ok"
        print(f"{verdict.dataset:14} {verdict.check:44} {verdict.rows:>10,} rows  {mark}")
        for place in verdict.places[:10]:
            print(f"    {place}")
        if len(verdict.places) > 10:
            print(f"    … and {len(verdict.places) - 10:,} more")
    print(f"\n{len(verdicts) - len(failed)} of {len(verdicts)} checks passed in {folder}")
    return 1 if failed else 0


def audit_command(what: str, **options: Any) -> int:
    return audit_shopping(**options) if what == "shopping_tasks" else audit_envs(**options)


def audit_envs(
    run: str | None, vectors: bool, envs: str, levels: str, episodes: int, workers: int | None, json: bool
) -> int:
    from pipeline.envs import audit
    from pipeline.gym import world
    from pipeline.run import cores, pool

    names, wanted = audit.envs_of(envs), audit.levels_of(levels)
    found, count = world(run, vectors=vectors), workers or cores()
    with pool(count) if count > 1 else nullcontext() as executor:
        cells = audit.audit(found, names, wanted, episodes, executor=executor)
    verdict = audit.verdict(cells)
    if json:
        print_json(audit.audit_rows(cells))
    else:
        print(audit.table(cells))
        for title, said in (
            ("not solved", verdict.unsolved),
            ("cheated", verdict.cheated),
            ("a cheap policy earns more than nothing", verdict.paid),
            ("the shop is too small for", verdict.undrawn),
        ):
            print(f"\n{title}: {', '.join(said) or 'none'}")
    if run is not None:
        write_whole(Path(run) / "audit.json", dumps(audit.audit_rows(cells)))
    return 1 if verdict.failed else 0


def evaluate_command(what: str, **options: Any) -> int:
    kinds: dict[str, Callable[..., int]] = {
        "behaviors": evaluate_behaviors,
        "envs": evaluate_envs,
        "questions": evaluate_questions,
        "realism": evaluate_realism,
        "shopping_tasks": evaluate_shopping,
    }
    return kinds[what](**options)


def evaluate_envs(
    run: str | None,
    vectors: bool,
    envs: str,
    levels: str,
    episodes: int,
    player: str | None,
    recipe: str | None,
    native: bool,
    to: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.envs import audit, conversation
    from pipeline.gym import world
    from pipeline.models.role import Role

    models = models_given(given, read_recipe(recipe)) or Models()
    models.price("agent")
    role = Role("agent", models, Path(run or "data/runs/evaluations"), "evaluate-envs")
    names, wanted = audit.envs_of(envs), audit.levels_of(levels)
    rows = conversation.evaluate(world(run, vectors=vectors), names, wanted, episodes, player or role, native=native)
    if to:
        conversation.write_rows(rows, Path(to))
    if json:
        print_json([asdict(row) for row in rows])
    else:
        print(conversation.evaluated(rows))
    return 0


def evaluate_questions(
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
    role = Role("agent", models, Path(run), "evaluate-questions")
    agent = policy or (role if role.asks else SCRIPTED)
    critic = Role("judge", models, Path(run), "evaluate-judge") if "judge" in models.roles else None
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
    path = Path(to) if to else scores.file_of(Path(run), rows[0].policy)
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
    print(f"report     {Path(run) / 'report.html'}")
    return 0


def evaluate_behaviors(
    run: str,
    split: str,
    limit: int | None,
    dars: float,
    gated: bool,
    vocabulary: int,
    likeliest: int,
    to: str | None,
    recipe: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.behaviors import evaluate
    from pipeline.models.role import Role
    from pipeline.publish.report import write_report
    from pipeline.rewards.hierarchical import Rule, payoffs
    from pipeline.rollouts.evaluate import told

    policy = given.pop("agent") if given.get("agent") in evaluate.POLICIES else None
    models = models_given(given, read_recipe(recipe)) or Models()
    models = replace(models, sampling={"agent": evaluate.DRAWN, **models.sampling})
    role = Role("agent", models, Path(run), "evaluate-behaviors")
    agent = policy or (role if role.asks else evaluate.TRUTH)
    if isinstance(agent, Role):
        models.price("agent")
    plan = evaluate.Plan(split, limit, Rule(dars=dars, gated=gated), vocabulary, likeliest)
    steps = whole(run, "behavior_steps")
    asked = evaluate.chosen(steps, split, limit)
    seen = evaluate.seen(whole(run, "behaviors"), asked)
    rows = told(evaluate.predictions(steps, asked, seen, agent, plan), len(asked), say, "behaviors")
    path = Path(to) if to else evaluate.file_of(Path(run), rows[0].policy)
    evaluate.write(rows, path, plan, steps.manifest.fingerprint)
    write_report(Run(run))
    found, paid = evaluate.figures(rows), payoffs(list(seen.values()), rule=plan.rule)
    if json:
        print_json(evaluate.as_json(found, paid, plan))
        return 0
    print_tables(evaluate.tables(found, paid))
    print(f"\n{len(asked):,} steps of the split {split}\nself-certainty {evaluate.form_of(plan)}")
    print(f"predicted  {path}\nreport     {Path(run) / 'report.html'}")
    return 0


def evaluate_realism(run: str, real: str, pairs: int, lines: int, recipe: str | None, json: bool, **given: Any) -> int:
    from pipeline.models.role import Role
    from pipeline.rollouts import evaluate, judge

    models = models_given(given, read_recipe(recipe)) or Models()
    models = replace(models, sampling={"judge": judge.DRAWN, **models.sampling})
    critic = judge.judge_of(Role("judge", models, Path(run), "evaluate-realism"))
    models.price("judge")
    ours = judge.logs_here(whole(run, "trajectories"), lines=lines)
    compared = judge.pairs(ours, judge.logs_of(Path(real)), pairs, lines=lines)
    found = evaluate.told(judge.opinions(compared, critic), len(compared), say, "realism")
    if json:
        print_json(
            {"table": [asdict(each) for each in judge.tally(found)], "opinions": [asdict(each) for each in found]}
        )
        return 0
    print_tables([judge.tally_table(found)])
    return 0


def audit_shopping(run: str, scenarios: str | None, split: str, limit: int | None, json: bool) -> int:
    from pipeline.publish.report import write_report
    from pipeline.rollouts.evaluate import told
    from pipeline.shopping import evaluate
    from pipeline.shopping.players import PLAYERS

    wanted = evaluate.scenarios_named(scenarios)
    tasks = evaluate.chosen(whole(run, "shopping_tasks"), split, wanted, limit)
    shop, profiles = shop_in(run)
    total, found = evaluate.count(tasks, wanted), []
    for player in PLAYERS:
        found += told(evaluate.outcomes(shop, tasks, profiles, player, wanted), total, say, player)
    rows = evaluate.figures(found)
    verdict = evaluate.verdict(rows)
    facts = {"split": split, "tasks": len(tasks), "made": whole(run, "shopping_tasks").manifest.fingerprint}
    shown = facts | asdict(verdict) | evaluate.as_json(found)
    write_whole(Path(run) / evaluate.AUDITED, dumps(shown))
    write_report(Run(run))
    if json:
        print_json(shown)
    else:
        print_tables([evaluate.audit_table(rows)])
        for title, said in (
            ("not solved", verdict.unsolved),
            ("cheated", verdict.cheated),
            ("guessed from the profile", verdict.guessed),
        ):
            print(f"\n{title}: {', '.join(said) or 'none'}")
    return 1 if verdict.failed else 0


def evaluate_shopping(
    run: str,
    scenarios: str | None,
    split: str,
    limit: int | None,
    human: str | None,
    to: str | None,
    recipe: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.publish.report import write_report

    named = bool(given.get("agent") or given.get("model"))
    compared = instructions_compared(run, human) if human else None
    played = None
    if named or not human:
        played = shopping_played(run, scenarios, split, limit, to, recipe, given)
    write_report(Run(run))
    if json:
        print_json((played[1] if played else {}) | ({"instructions": compared[1]} if compared else {}))
        return 0
    print_tables([*(compared[0] if compared else []), *(played[0] if played else [])])
    print(f"\nreport     {Path(run) / 'report.html'}")
    return 0


def shopping_played(
    run: str,
    scenarios: str | None,
    split: str,
    limit: int | None,
    to: str | None,
    recipe: str | None,
    given: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """The tables of an agent's episodes, and the same for scripts."""
    from pipeline.models.role import Role
    from pipeline.rollouts.evaluate import told
    from pipeline.shopping import evaluate

    player = evaluate.player_named(given.pop("agent")) if evaluate.is_no_model(given.get("agent")) else None
    models = models_given(given, read_recipe(recipe)) or Models()
    role = Role("agent", models, Path(run), "evaluate-shopping_tasks")
    agent = player or (role if role.asks else evaluate.SOLVER)
    if isinstance(agent, Role):
        models.price("agent")
    wanted, tasks = evaluate.scenarios_named(scenarios), whole(run, "shopping_tasks")
    asked = evaluate.chosen(tasks, split, wanted, limit)
    shop, profiles = shop_in(run)
    played = evaluate.outcomes(shop, asked, profiles, agent, wanted)
    rows = told(played, evaluate.count(asked, wanted), say, "shopping tasks")
    path = Path(to) if to else evaluate.file_of(Path(run), rows[0].policy)
    evaluate.write(rows, path, {"split": split, "made": tasks.manifest.fingerprint})
    say(f"{len(asked):,} tasks of the split {split}, {len(rows):,} episodes: {path}")
    return evaluate.tables(rows), evaluate.as_json(rows)


def shop_in(run: str) -> tuple[Any, dict[str, Any]]:
    """A run's shop, and its customers' profiles by their ids."""
    from pipeline.checks.shopping import by_id, shop_of

    return whole(run, "catalog").once(shop_of), whole(run, "profiles").once(by_id)


def instructions_compared(run: str, file: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """Ours in English with those of a file, as tables and for scripts; kept for the report."""
    from pipeline.rollouts.scores import FOLDER
    from pipeline.shopping import human

    texts = whole(run, "shopping_tasks").sql("select instruction from rows where language = 'en' order by id")
    lines = human.compare([text for (text,) in texts], human.instructions_of(Path(file)))
    rows = [each._asdict() for each in lines]
    write_whole(Path(run) / FOLDER / human.FILE, dumps(rows))
    return [human.table(lines)], rows


def whole(run: str, dataset: str) -> Any:
    """Raises Problem where it is not there."""
    found = Run(run).read(dataset)
    if found.manifest is None:
        raise Problem(f"There is no {dataset} dataset in {run}. Build it: shopwright build {dataset} --run {run}")
    return found


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def print_tables(tables: Sequence[Sequence[Sequence[str]]]) -> None:
    """Those that have rows."""
    from pipeline.envs.audit import aligned

    print("\n\n".join(aligned(table) for table in tables if len(table) > 1))


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


COMMANDS: dict[str, Callable[..., int]] = {
    "list": list_command,
    "show": show_command,
    "verify": verify_command,
    "audit": audit_command,
    "evaluate": evaluate_command,
}


if __name__ == "__main__":
    sys.exit(main())
