"""The docs as a site: every page has a place in its menu, and a link that leads nowhere ends it."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from docs import site
from shopwright.pipeline.commands.overview import COMMANDS

HOME = Path(__file__).parents[1]
NOTEBOOKS = sorted((HOME / site.NOTEBOOKS).glob("*.ipynb"))


def list_places(menu):
    if isinstance(menu, str):
        yield menu
    for entry in menu.values() if isinstance(menu, dict) else menu if isinstance(menu, list) else ():
        yield from list_places(entry)


def test_the_menu_leads_to_every_page_once(tmp_path):
    site.copy_pages(tmp_path)
    menu = yaml.safe_load((HOME / "docs" / "mkdocs.yml").read_text())["nav"]
    folders = {"DATASETS": "docs/datasets", "DECISIONS": "docs/decisions"}
    filled = site.fill_menu(menu, {name: site.sorted_pages(tmp_path, each) for name, each in folders.items()})
    made = {"reference/python.md", "reference/commands.md", *(f"{site.NOTEBOOKS}/{path.stem}.md" for path in NOTEBOOKS)}
    assert sorted(list_places(filled)) == sorted(
        {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")} | made
    )


def test_every_command_is_in_the_reference():
    assert set(site.list_commands(site.read_help())) == set(COMMANDS)


def test_a_link_to_a_notebook_leads_to_its_page(tmp_path):
    site.copy_pages(tmp_path)
    assert "(notebooks/agent.md)" in (tmp_path / "docs" / "README.md").read_text()
    assert not list(tmp_path.rglob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_no_outputs(path):
    assert not any(cell.get("outputs") for cell in json.loads(path.read_text())["cells"])


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="make site installs what it needs")
def test_it_is_built_whole_and_ends_where_a_link_leads_nowhere(tmp_path):
    pages = tmp_path / "pages"
    site.copy_pages(pages)
    site.write_reference(pages / "reference")
    site.write_notebooks(pages / site.NOTEBOOKS)
    site.build_site(pages, tmp_path / "site")
    shown = [(tmp_path / "site" / site.NOTEBOOKS / f"{path.stem}.html").read_text() for path in NOTEBOOKS]
    for text, said in zip(
        shown, ["order-0000019-0006", "succeed, mean reward", "12 months, 60 questions"], strict=True
    ):
        assert said in text
        assert str(HOME) not in text
    drawn = list((tmp_path / "site" / site.NOTEBOOKS).rglob("*.png"))
    assert len(drawn) == shown[2].count('alt="What the code above draws"') == 2
    made = (tmp_path / "site" / "reference" / "python.html").read_text()
    assert "shopwright.evaluate" in made
    assert (tmp_path / "site" / "search" / "search_index.json").exists()
    for text in ("[x](nothing.md)", "[x](models.md#nothing)"):
        shutil.copy(HOME / "docs" / "limits.md", pages / "docs" / "limits.md")
        with (pages / "docs" / "limits.md").open("a") as page:
            page.write(f"\n{text}\n")
        with pytest.raises(SystemExit, match="nothing"):
            site.build_site(pages, tmp_path / "site")
