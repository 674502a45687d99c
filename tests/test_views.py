"""What a stage says of its dataset is all that the surfaces know of it: one file adds a dataset to each of them."""

import importlib
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright import schemas
from shopwright.pipeline import stages
from shopwright.pipeline.browse.display import list_references_to
from shopwright.pipeline.browse.pages import open_page
from shopwright.pipeline.browse.visited import Browse, Redirect
from shopwright.pipeline.publish.card import render_card
from shopwright.pipeline.publish.exporters.forms import configs
from shopwright.pipeline.publish.layout import lay
from shopwright.pipeline.publish.leaks import find_leaks
from shopwright.pipeline.publish.report import render_report
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import resolve_reference
from shopwright.pipeline.stages import all_stages
from tests.pages import blocks

PAGE = Path(__file__).parents[1] / "docs" / "add-a-dataset.md"
ADDED = "bargains"


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """The dataset of `docs/add-a-dataset.md`, from a folder outside the package; none of its surfaces' files is touched."""
    folder = tmp_path_factory.mktemp("added")
    for _, name, text in blocks(PAGE):
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    places = {schemas: "schemas", stages: "pipeline/stages"}
    for package, place in places.items():
        package.__path__.append(str(folder / place))
    importlib.invalidate_caches()
    all_stages.cache_clear()
    yield all_stages()[ADDED]
    for package, place in places.items():
        package.__path__.remove(str(folder / place))
        sys.modules.pop(f"{package.__name__}.{ADDED}", None)
    all_stages.cache_clear()


@pytest.fixture(scope="module")
def run(added, tmp_path_factory):
    made = Run(tmp_path_factory.mktemp("views"), seed=1, workers=1)
    made.build(ADDED, products=1_200, least=0.8)
    return made


@pytest.fixture(scope="module")
def laid(run, tmp_path_factory):
    return lay(configs(run), tmp_path_factory.mktemp("laid") / "hub")


def test_it_is_exported_with_its_training_form(run, laid):
    rows = run.read(ADDED).table(["split"])["split"].to_pylist()
    assert set(laid.configs) == {"catalog", ADDED, f"sft_{ADDED}", f"sft_{ADDED}_text"}
    for name in (ADDED, f"sft_{ADDED}"):
        assert {split: found.rows for split, found in laid.configs[name].splits.items()} == {
            side: rows.count(side) for side in ("train", "test")
        }


def test_it_has_its_section_of_the_report(run):
    page = render_report(run)
    assert f'<a href="#{ADDED}">Bargains</a>' in page
    assert "Bargains by category, and the cheapest" in page
    assert run.read(ADDED).head(1)[0].category in page.partition(f'<section id="{ADDED}">')[2]


def test_it_stands_on_the_card(run, laid):
    card = render_card(run, laid)
    assert f"From `{ADDED}`:" in card
    assert "text-generation" in card


def test_it_is_browsed_and_leads_to_what_it_extends(run):
    browse = Browse(run)
    assert open_page(browse, ["data", ADDED], {}).facts["columns"] == ["id", "title", "category", "price"]
    page = open_page(browse, ["data", ADDED, "0"], {})
    name, address = page.facts["others"][0]
    assert (name, address) == ("catalog", f"/data/catalog/id?is={page.facts['row']['id']}")
    assert isinstance(open_page(browse, ["data", "catalog", "id"], {"is": page.facts["row"]["id"]}), Redirect)
    assert (ADDED, "id") in list_references_to("catalog")


def test_the_leak_guard_keeps_its_splits_apart(run, laid, tmp_path):
    assert find_leaks(run, laid.folder) == []
    for config, splits in {
        ADDED: {"train": "category", "test": "category"},
        f"sft_{ADDED}": {"train": "group"},
    }.items():
        for split, column in splits.items():
            path = tmp_path / "data" / config / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"id": [f"{config}-{split}"], column: ["Lamps"]}), path)
    inside, across = map(str, find_leaks(run, tmp_path))
    assert inside.startswith(f"{ADDED}: its splits test and train share 1 category (category)")
    assert across.startswith(f"sft_{ADDED}: its split train has 1 category that {ADDED} holds out in test")


def references():
    for name, stage in all_stages().items():
        views = stage.views
        sections = [section.facts for section in views.report]
        for found in (*views.forms, *sections, *views.card.values(), *views.pictures.values(), views.page):
            if found:
                yield pytest.param(found, id=f"{name}-{found}")


@pytest.mark.parametrize("reference", list(references()))
def test_what_a_stage_names_is_there(reference):
    assert callable(resolve_reference(reference))
