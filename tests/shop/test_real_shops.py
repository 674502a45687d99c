"""Every dataset of shops as real ones are at their hardest: built small and verified. No task asks for what only the shop cares about."""

import csv
import re
from pathlib import Path

import pytest

from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.verify import verify
from tests.catalog.exported_shops import FORMS, WITHOUT_PRICES, google, list_products, woocommerce
from tests.catalog.real_shops import SHOPS, write_shop
from tests.outside.exports import compare

SMALL = {
    "personas": {"count": 12},
    "trajectories": {"tokens": "6k"},
    "questions": {"per_trajectory": 3},
    "env_tasks": {"count": 1, "levels": "0,6"},
    "shopping_tasks": {"count": 12, "personal": 4},
    "behaviors": {"sessions": 12},
    "phrases": {"families": "envs", "per_template": 1},
}
DATA = Path(__file__).parents[3] / "shared" / "data"
TABLES = ("walmart_amazon_tableA_walmart.csv", "walmart_amazon_tableB_amazon.csv")
# What no shopper says, by this file's own eyes: file names, codes of the shop's, booleans and names of its columns.
PLUMBING = re.compile(
    r"\.(?:css|jpg|webp)\b|\bmeta\b|\bsku\b|\bgtin\b|in stock\?|\bvisible\b|\btaxable\b|40\d{11}|WC-\d+|https?:",
    re.IGNORECASE,
)
FEWEST = {"shopping_tasks": 8, "shopping_episodes": 8, "env_tasks": 6, "questions": 20}
# Products of a shop that everything has to work on.
PRODUCTS = 300


def build_all(folder, source, names=(), **settings):
    """All datasets of a source, or those of these names."""
    run = Run(folder / "run", seed=1, workers=1)
    for name in names or all_stages():
        run.build(name, **({"source": str(source), **settings} if name == "catalog" else SMALL.get(name, {})))
    return run


def check(run, names=()):
    rows = {name: run.read(name).manifest.rows for name in names or all_stages()}
    assert [name for name, count in rows.items() if count < FEWEST.get(name, 1)] == []
    assert [(verdict.dataset, verdict.check) for verdict in verify(run) if verdict.failed] == []
    assert list_plumbing(run) == []


def list_plumbing(run):
    """Texts of tasks in which somebody asks for what the shop keeps for itself."""
    tasks, openings = run.read("shopping_tasks"), run.read("env_tasks")
    said = [f"{task.instruction} {task.simple_instruction} {task.needs}" for task in tasks]
    said += [f"{task.opening} {task.slots}" for task in openings]
    return [text for text in said if PLUMBING.search(text)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOPS)
def test_every_dataset_is_made_of_any_shop(tmp_path, name):
    check(build_all(tmp_path, write_shop(name, tmp_path / "shop.csv")))


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="no real tables here")
@pytest.mark.parametrize("tables", [TABLES[:1], TABLES[1:], TABLES])
def test_every_dataset_is_made_of_real_tables_and_of_both_side_by_side(tmp_path, tables):
    with open(tmp_path / "shop.csv", "w", newline="", encoding="utf-8") as file:
        table = None
        for name in tables:
            with open(DATA / name, newline="", encoding="utf-8") as real:
                for row in csv.DictReader(real):
                    table = table or csv.DictWriter(file, list(row))
                    if not file.tell():
                        table.writeheader()
                    table.writerow(row | {"id": f"{name[20]}{row['id']}"})
    check(build_all(tmp_path, tmp_path / "shop.csv", invent_prices=False))


def build_export(folder, form, names=()):
    path, read = form(folder, list_products(PRODUCTS))
    run = build_all(folder, path, names, invent_prices=form in WITHOUT_PRICES)
    products = run.read("catalog").table().to_pylist()
    assert len(products) >= PRODUCTS
    assert compare.list_faults(read(path), products, run.read("variants").table().to_pylist()) == []
    return run


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_dataset_is_made_of_an_export_of_any_system(tmp_path, form):
    check(build_export(tmp_path, form))


@pytest.mark.slow
@pytest.mark.parametrize("form", [woocommerce, google], ids=lambda form: form.__name__)
def test_tasks_and_questions_are_made_of_an_export(tmp_path, form):
    names = ("catalog", "personas", "trajectories", "variants", "questions", "env_tasks", "shopping_tasks")
    check(build_export(tmp_path, form, names), names)


def add_plumbing(path):
    """The same shop as an export has it, with what its system keeps of each product."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        row |= {
            "Type": ("simple", "variable")[number % 2],
            "In stock?": "1",
            "Meta: uag_css_file_name": f"uag-css-{number % 90}.css",
        }
        row |= {
            "GTIN": f"40{number:011}",
            "Visibility in catalog": "visible",
            "Tax status": ("taxable", "none")[number % 7 == 0],
        }
        row |= {
            "Bin": f"WC-{number % 150:05}",
            "Swatch": f"https://shop.example/s/{number % 9}.webp",
            "Weight (kg)": f"{0.2 + number % 7 / 10:.1f}",
        }
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def test_no_task_asks_for_what_the_shop_keeps_for_itself(tmp_path):
    source = add_plumbing(write_shop("one department", tmp_path / "shop.csv"))
    run = Run(tmp_path / "run", seed=1, workers=1)
    run.build("shopping_tasks", source=str(source), tokens="6k", **{"personas.count": 12}, count=40, personal=8)
    run.build("env_tasks", count=1, levels="0,3,6")
    assert len(run.read("shopping_tasks")) > 30
    assert len(run.read("env_tasks")) > 8
    assert list_plumbing(run) == []
    assert any("GTIN" in str(row.attributes) for row in run.read("catalog")), "what is not asked for stays on the page"
