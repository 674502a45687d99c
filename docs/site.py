"""The docs as a site, in build/site: `make site`, or `python -m docs.site FOLDER`.

The pages lie there as they lie in the repository, so that each link leads to the same place; reference pages are made of docstrings and of `--help`,
and notebooks are run and shown with what they print and draw.
It ends with an error where a link or an anchor leads nowhere, or a page is in no menu. Needs docs/requirements.txt, and no network.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from shopwright import __all__ as exported

HOME = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
START = "README.md"
NOTEBOOKS = "docs/notebooks"
SECONDS_OF_A_CELL = 500
# Commands that have commands of their own.
WITH_MORE = ("audit", "evaluate")


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else HOME / "build" / "site").resolve()
    with TemporaryDirectory() as folder:
        pages = Path(folder)
        copy_pages(pages)
        write_reference(pages / "reference")
        write_notebooks(pages / NOTEBOOKS)
        build_site(pages, target)
    print(f"The site is in {target}. To read and search it: python -m http.server --directory {target}")


def copy_pages(target: Path) -> None:
    """All pages of docs/, and whatever a page links to: other pages with what they link to, and files as they are."""
    waiting = {HOME / START, *(HOME / "docs").rglob("*.md")}
    seen = set[Path]()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        place = target / path.relative_to(HOME)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            place.write_text(text.replace(".ipynb)", ".md)"), encoding="utf-8")
            found = {(path.parent / link).resolve() for link in LINK.findall(text)}
            waiting |= {each for each in found if each.is_file() and each.suffix != ".ipynb"} - seen
        else:
            shutil.copy(path, place)


def write_notebooks(folder: Path) -> None:
    """A page of each notebook, as it comes out when its cells are run here; what they draw lies beside it."""
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import MarkdownExporter

    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((HOME / NOTEBOOKS).glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with TemporaryDirectory() as place:
            client = NotebookClient(notebook, timeout=SECONDS_OF_A_CELL, resources={"metadata": {"path": place}})
            client.execute()
        text, found = MarkdownExporter().from_notebook_node(
            notebook, resources={"output_files_dir": path.stem, "unique_key": path.stem}
        )
        text = text.replace("![png]", "![What the code above draws]")
        (folder / f"{path.stem}.md").write_text(text, encoding="utf-8")
        for name, drawn in found["outputs"].items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(drawn)


def write_reference(folder: Path) -> None:
    folder.mkdir()
    names = [name for name in exported if not name.startswith("_")]
    python = ["# Python", "", "```python", f"from shopwright import {', '.join(names)}", "```", ""]
    python += [f"::: shopwright.{'pipeline.gym.' if name == 'make' else ''}{name}" + "\n" for name in names]
    python += ["::: shopwright.pipeline.dataset.Dataset", ""]
    (folder / "python.md").write_text("\n".join(python), encoding="utf-8")
    lines = ["# Command line", "", *quote_help()]
    for command in list_commands(read_help()):
        lines += [f"## {command}", "", *quote_help(command)]
        for more in list_commands(read_help(command)) if command in WITH_MORE else ():
            lines += [f"### {command} {more}", "", *quote_help(command, more)]
    (folder / "commands.md").write_text("\n".join(lines), encoding="utf-8")


def list_commands(text: str) -> list[str]:
    return re.findall(
        r"^    ([a-z_]+)\b", text.partition("positional arguments:")[2].partition("\noptions:")[0], re.MULTILINE
    )


def quote_help(*words: str) -> list[str]:
    return ["```text", f"$ shopwright {' '.join([*words, '--help'])}", read_help(*words).rstrip(), "```", ""]


def read_help(*words: str) -> str:
    command = [sys.executable, "-m", "shopwright.pipeline", *words, "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def build_site(pages: Path, target: Path) -> None:
    config = yaml.safe_load((HOME / "docs" / "mkdocs.yml").read_text(encoding="utf-8"))
    folders = {"DATASETS": "docs/datasets", "DECISIONS": "docs/decisions"}
    menu = fill_menu(config["nav"], {name: sorted_pages(pages, each) for name, each in folders.items()})
    options = next(each for each in config["plugins"] if "mkdocstrings" in each)["mkdocstrings"]["handlers"]["python"][
        "options"
    ]
    options["extensions"] = [str(HOME / "docs" / "examples.py")]
    path = pages.with_name(f"{pages.name}.yml")
    path.write_text(
        yaml.safe_dump({**config, "nav": menu, "docs_dir": str(pages), "site_dir": str(target)}), encoding="utf-8"
    )
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(path)]
    try:
        made = subprocess.run(  # noqa: PLW1510 - its own words are shown, below
            command, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        )
        if made.returncode:
            sys.exit(made.stderr)
    finally:
        path.unlink()


def fill_menu(menu: list[Any], folders: dict[str, list[str]]) -> list[Any]:
    """The menu, with the pages of a folder in the place of its name."""
    filled: list[Any] = []
    for entry in menu:
        ((title, what),) = entry.items()
        filled.append({title: fill_menu(what, folders) if isinstance(what, list) else folders.get(what, what)})
    return filled


def sorted_pages(pages: Path, folder: str) -> list[str]:
    found = sorted((pages / folder).glob("*.md"), key=lambda path: (path.name != START, path.name))
    return [path.relative_to(pages).as_posix() for path in found]


if __name__ == "__main__":
    main()
