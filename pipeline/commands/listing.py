"""`shopwright list`: every dataset, with its size, its inputs and its settings."""

from typing import Any

from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.commands.output import NOTHING, format_option_value, print_json
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    add_listed_command(commands, "list", [folder, as_json])


def run(run: str, json: bool) -> int:
    rows = list_datasets(run)
    if json:
        print_json(rows)
        return 0
    wide = max(len(row["dataset"]) for row in rows)
    print(f"{'dataset':{wide}}  {'rows':>10}  about")
    for row in rows:
        count = "-" if row["rows"] is None else f"{row['rows']:,}"
        print(f"{row['dataset']:{wide}}  {count:>10}  {row['about']}")
        if row["reads"]:
            print(f"{'':{wide}}  {'':>10}  reads {', '.join(row['reads'])}")
        changed = {
            name.replace("_", "-"): default for name, default in row["settings"].items() if default not in NOTHING
        }
        if changed:
            settings = "  ".join(f"--{name} {format_option_value(default)}" for name, default in changed.items())
            print(f"{'':{wide}}  {'':>10}  {settings}")
    print(f"\nrows: of the run in {run}. More on a dataset: shopwright build DATASET --help")
    return 0


def list_datasets(folder: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, stage in all_stages().items():
        manifest = Run(folder).read(name).read_manifest()
        rows.append(
            {
                "dataset": name,
                "rows": manifest.rows if manifest else None,
                "reads": stage.reads,
                "settings": {setting.name: setting.default for setting in stage.settings.values()},
                "about": stage.about,
            }
        )
    return rows
