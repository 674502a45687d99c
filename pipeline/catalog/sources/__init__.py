"""Where products come from: one file per source, each giving raw rows that `normalize` cleans."""

import importlib
import os
import pkgutil
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from shopwright.pipeline.hub_files import HUB_ID, download_from_hub
from shopwright.pipeline.problem import Problem


class BadSource(Problem):
    """The input cannot be read as a catalog; the message says what is wrong and what to do."""


class Source(Protocol):
    """Raw rows of one catalog, in a fixed order.

    A raw row has the names of `Product`'s fields (`id, title, brand, category, category_path, color, price,
    currency, attributes, options, description, bullets, rating, review_count, shipping_days, queries`), whichever the source
    has, with values as dirty as they come; `{"unreadable": reason, "raw": text}` stands for a row that could not be read.

    A source holds no open file: it can be sent to a worker, and `len` asked before that is not counted again there.
    """

    name: str
    licence: str
    files: list[Path]
    """What it reads; their checksums go into the recipe."""
    currency: str
    """Of prices that do not say theirs; empty where the source has none of its own."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        """Rows start to stop - 1; the same whatever was read before."""
        ...


def list_source_names() -> list[str]:
    """The modules beside this one; the sample is not among them, since it is made and not read.

    >>> list_source_names()
    ['amazebay', 'esci', 'file', 'shopsimulator', 'webshop']
    """
    return sorted({module.name for module in pkgutil.iter_modules(__path__)} - {"sample"})


class Several:
    """Sources side by side as one shop; the number of each stands before its products' ids."""

    def __init__(self, sources: list[Source]):
        self.sources = sources
        self.name = " and ".join(source.name for source in sources)
        self.licence = "unknown"
        self.files = [file for source in sources for file in source.files]
        currencies = {source.currency for source in sources}
        self.currency = currencies.pop() if len(currencies) == 1 else ""
        self.unused_prices = [name for source in sources for name in getattr(source, "unused_prices", [])]

    def __len__(self) -> int:
        return sum(map(len, self.sources))

    def read(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        first = 0
        for number, source in enumerate(self.sources, 1):
            last = first + len(source)
            about = {"source": f"{source.name} {number}", "licence": source.licence}
            if not self.currency and source.currency:
                about["currency"] = source.currency
            for raw in source.read(max(start - first, 0), max(min(stop, last) - first, 0)):
                name = raw.get("id")
                yield (
                    about
                    | {ours: each for ours, each in raw.items() if each is not None}
                    | ({"id": f"{number}-{name}"} if isinstance(name, str | int) and name != "" else {})
                )
            first = last


def open_sources(several: str | list[str], columns: dict[str, str] | None = None) -> Source:
    """One source, or several side by side."""
    texts = [several] if isinstance(several, str) else several
    opened = [open_source(text, columns) for text in texts]
    return opened[0] if len(opened) == 1 else Several(opened)


def open_source(text: str, columns: dict[str, str] | None = None) -> Source:
    """What `--source` names: `esci`, `webshop:items_shuffle.json`, or simply the path of a file."""
    name, _, where = text.partition(":")
    if name not in list_source_names() or exists(text):
        name, where = "file", text
    if columns and name != "file":
        raise BadSource(f"--columns goes with a file of your own; {name} knows its columns. Leave it out.")
    module = importlib.import_module(f"{__name__}.{name}")
    source: Source = module.file(where, columns) if name == "file" else getattr(module, name)(where)
    return source


def locate_files(where: str, suffixes: tuple[str, ...], *, name: str, patterns: list[str]) -> list[Path]:
    """The files of a local path, or of the Hub dataset with that id, those with the first suffix first."""
    folder = Path(where).expanduser()
    if not exists(where):
        if not patterns or not HUB_ID.fullmatch(where) or where.endswith(suffixes):
            raise BadSource(describe_missing_source(where))
        folder = download_from_hub(where, patterns, option="--source", copy=f"{name}:PATH", failure=BadSource)
    if folder.is_file():
        return [folder]
    found = [path for path in folder.rglob("*") if path.name.endswith(suffixes) and not is_hidden(path, folder)]
    files = sorted(found, key=lambda path: ([not path.name.endswith(suffix) for suffix in suffixes], path))
    if not files:
        raise BadSource(f"{where} holds no {' or '.join(suffixes)} file. Check the path.")
    return files


def exists(where: str) -> bool:
    try:
        return Path(where).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # a name too long, a zero byte, no such user
        return False


def is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)


def describe_missing_source(where: str) -> str:
    """
    >>> describe_missing_source("ecsi")
    'There is no file or folder ecsi. Did you mean esci? Else give the path of a file, or one of amazebay, esci, file, shopsimulator, webshop.'
    """
    near = get_close_matches(os.fspath(where), list_source_names(), n=1)
    hint = f"Did you mean {near[0]}? Else give" if near else "Give"
    return f"There is no file or folder {where}. {hint} the path of a file, or one of {', '.join(list_source_names())}."
