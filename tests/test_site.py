"""The docs as a site: every page has a place in its menu, and a link that leads nowhere ends it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from docs import site
from shopwright.pipeline.commands.overview import COMMANDS

HOME = Path(__file__).parents[1]


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
    made = {"reference/python.md", "reference/commands.md"}
    assert sorted(list_places(filled)) == sorted(
        {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")} | made
    )


def test_every_command_is_in_the_reference():
    assert set(site.list_commands(site.read_help())) == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="make site installs what it needs")
def test_it_is_built_whole_and_ends_where_a_link_leads_nowhere(tmp_path):
    pages = tmp_path / "pages"
    site.copy_pages(pages)
    site.write_reference(pages / "reference")
    site.build_site(pages, tmp_path / "site")
    made = (tmp_path / "site" / "reference" / "python.html").read_text()
    assert "shopwright.evaluate" in made
    assert (tmp_path / "site" / "search" / "search_index.json").exists()
    for text in ("[x](nothing.md)", "[x](models.md#nothing)"):
        shutil.copy(HOME / "docs" / "limits.md", pages / "docs" / "limits.md")
        with (pages / "docs" / "limits.md").open("a") as page:
            page.write(f"\n{text}\n")
        with pytest.raises(SystemExit, match="nothing"):
            site.build_site(pages, tmp_path / "site")
