"""`shopwright evaluate realism`: how far a log is from a life, and whether a judge takes it for a real one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from shopwright.pipeline.commands.models import add_players, models_given
from shopwright.pipeline.commands.options import Parser, add_command, parse_positive
from shopwright.pipeline.commands.output import open_finished_dataset, print_json, print_tables, print_to_stderr
from shopwright.pipeline.evaluate.progress import collect_answered
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.files import path_of
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.run import Run

NAME = "realism"
EXAMPLE = "shopwright evaluate realism --run data/runs/mine --against people.txt"
MORE_EXAMPLES = (
    "shopwright evaluate realism --log logs.txt --html realism.html",
    "shopwright evaluate realism --run data/runs/mine --real logs.txt --judge openai:NAME@http://127.0.0.1:8000/v1",
)
CUSTOMERS = 1_000


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = (
        "measure how far a log is from a life: what is bought again, how searches are put, when things are done, what can be guessed; "
        "and, with --real and --judge, whether a judge takes it for a real one, as in the paper's Table 8"
    )
    options = add_command(kinds, NAME, about, [folder, as_json], EXAMPLE, *MORE_EXAMPLES)
    log_forms = (
        "Parquet with a column events or text, JSON Lines with text, or a text in which an empty line ends each log"
    )
    options.add_argument("--log", metavar="FILE", help=f"measure these logs instead of the run's: {log_forms}")
    options.add_argument(
        "--shop",
        metavar="FOLDER",
        help="with --log: the run of whose catalog its products are, to ask its search engine",
    )
    options.add_argument("--against", metavar="FILE", help="searches that people typed, one a line, to compare with")
    options.add_argument(
        "--customers",
        type=parse_positive,
        default=CUSTOMERS,
        metavar="N",
        help=f"most customers that are looked at, spread evenly (default: {CUSTOMERS:,})",
    )
    options.add_argument("--html", metavar="FILE", help="write the figures and pictures as a page of their own")
    add_players(options, "judge")
    options.add_argument("--real", metavar="FILE", help=f"real logs for the judge to compare with: {log_forms}")
    options.add_argument(
        "--pairs", type=parse_positive, default=100, metavar="N", help="number of pairs for the judge (default: 100)"
    )
    options.add_argument(
        "--lines",
        type=parse_positive,
        default=100,
        metavar="N",
        help="most events of each log that the judge sees (default: 100)",
    )


def run(
    run: str,
    log: str | None,
    shop: str | None,
    against: str | None,
    customers: int,
    html: str | None,
    real: str | None,
    pairs: int,
    lines: int,
    recipe: str | None,
    json: bool,
    **given: Any,
) -> int:
    from shopwright.pipeline.evaluate.realism.figures import tabulate_figures

    if given.get("judge") and not real:
        raise Problem("--judge compares with real logs. Say --real FILE.")
    if shop and not log:
        raise Problem("--shop belongs to --log. A run's own logs are of its own shop.")
    if log and real:
        raise Problem("--real is for the judge, who sees a run's logs. Leave --log out.")
    tables, facts = list[Table](), dict[str, Any]()
    judge_of = prepare_judge(run, recipe, given) if real else None
    found, places = measure_realism(run, log, shop, against, customers, html)
    tables.append(tabulate_figures(found))
    figures = [each.model_dump() | {"verdict": each.verdict} | each.goal.model_dump() for each in found.figures]
    facts |= found.model_dump(exclude={"made"}) | {"figures": figures}
    told = ""
    if judge_of and real:
        table, opinions, told = ask_judge(run, real, judge_of, pairs, lines)
        tables.append(table)
        facts |= opinions
    if json:
        print_json(facts)
        return 0
    print(f"{found.of}: {found.customers:,} customers, {found.actions:,} actions, {found.first} to {found.last}")
    if found.kinds_from_titles:
        print(
            f"{100 * found.kinds_from_titles:.0f} % of the products have no category in the log: their titles' last words stand for it."
        )
    print()
    print_tables(tables)
    notes = [f"{each.goal.name.strip()}: {each.note}" for each in found.figures if each.note and each.value is not None]
    print("\n" + "\n".join([*notes, *([told] if told else [])]))
    print("\n".join(f"{name:<10} {path}" for name, path in places.items()))
    return 0


def measure_realism(
    run: str, log: str | None, shop: str | None, against: str | None, customers: int, html: str | None
) -> tuple[Any, dict[str, Path]]:
    """The figures, and where pages of them are; those of a run are kept in it and stand in its report."""
    from shopwright.pipeline.evaluate.realism import logs
    from shopwright.pipeline.evaluate.realism.measure import measure_logs
    from shopwright.pipeline.evaluate.realism.shop import open_shop
    from shopwright.pipeline.publish.report import write_report
    from shopwright.pipeline.publish.report_realism import keep_realism, write_realism_page

    people = logs.read_people(Path(against)) if against else []
    places, made = dict[str, Path](), ""
    if log:
        raw, of, home = logs.read_log_file(Path(log), customers), Path(log).name, shop
    else:
        trajectories = open_finished_dataset(run, "trajectories")
        raw, of, home, made = (
            logs.read_run_logs(trajectories, customers),
            path_of(run).name,
            run,
            trajectories.manifest.fingerprint,
        )
    known = open_shop(path_of(home)) if home else None
    joined = logs.join_logs(raw, known.kinds if known else {})
    found = measure_logs(
        joined,
        rank=known.rank if known else None,
        shop_titles=known.titles if known else (),
        people=people,
        of=of,
        made=made,
    )
    if not log:
        keep_realism(path_of(run), found)
        places["report"] = write_report(Run(run))
    if html:
        places["page"] = write_realism_page(Path(html), found)
    return found, places


def prepare_judge(run: str, recipe: str | None, given: dict[str, Any]) -> Any:
    """Raises Problem where no model judges."""
    from shopwright.pipeline.models.role import Role
    from shopwright.pipeline.rollouts import judge

    models = models_given(given, read_recipe(recipe)) or Models()
    models = replace(models, sampling={"judge": judge.JUDGE_SAMPLING, **models.sampling})
    critic = judge.get_judge(Role("judge", models, path_of(run), "evaluate-realism"))
    models.price("judge")
    return critic


def ask_judge(run: str, real: str, critic: Any, pairs: int, lines: int) -> tuple[Table, dict[str, Any], str]:
    """The paper's Table 8, the same for scripts, and how many answered."""
    from shopwright.pipeline.rollouts import judge

    ours = judge.read_run_logs(open_finished_dataset(run, "trajectories"), lines=lines)
    compared = judge.draw_log_pairs(ours, judge.read_real_logs(Path(real)), pairs, lines=lines)
    answered = collect_answered(judge.compare_pairs(compared, critic), len(compared), print_to_stderr, "realism")
    return judge.tabulate_opinions(answered.rows), judge.opinions_to_json(answered.rows), str(answered)
