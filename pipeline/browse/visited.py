"""What is looked at: a run and the process that answers queries over it; the kinds of answers; numbers and addresses."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from shopwright.pipeline.browse.rows import Shards, find_row_number, shards
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import map_paths
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages

# Of the largest number of a row.
DIGITS = 12
Facts = dict[str, Any]


class NotFound(Exception):
    """There is no such page; says why."""


class Page(NamedTuple):
    template: str
    facts: Facts
    status: int = 200


class Redirect(NamedTuple):
    """The page is elsewhere."""

    to: str


class Browse:
    """A run to be looked at, and the process that answers queries over it."""

    def __init__(self, run: Run, worker: Worker | None = None, other: Run | None = None) -> None:
        self.run = run
        self.other = other
        self.worker = worker or Worker()
        self.kept: dict[tuple[str, str], Any] = {}

    def keep(self, what: str, made: Manifest, find: Callable[[], Any]) -> Any:
        """What was found of a dataset, as long as it is the same; what took too long is tried again."""
        key = (what, made.fingerprint)
        if key in self.kept:
            return self.kept[key]
        found = find()
        if found and not any(getattr(each, "error", "") for each in (found if isinstance(found, list) else [found])):
            self.kept[key] = found
        return found

    def read_manifest(self, name: str) -> Manifest:
        if name not in all_stages():
            raise NotFound(f"There is no dataset {name}.")
        found = self.run.read(name).manifest
        if found is None:
            raise NotFound(f"There is no {name} in this run. Build it: shopwright build {name} --run {self.run.folder}")
        return found

    def shards(self, name: str, *, rejected: bool = False) -> Shards:
        return shards(self.run, self.read_manifest(name), rejected=rejected)

    def number(self, name: str, id: str) -> int | None:
        """Of the row with this id, where this dataset is in the run and has it."""
        try:
            return find_row_number(self.shards(name), id)
        except NotFound:
            return None

    def manifests(self) -> dict[str, Manifest | None]:
        found = map_paths(
            lambda folder: self.run.read(folder.name).manifest, [self.run.folder / name for name in all_stages()]
        )
        return dict(zip(all_stages(), found, strict=True))

    def all_shards(self) -> dict[str, Shards]:
        return {name: shards(self.run, made) for name, made in self.manifests().items() if made}


def whole_number(text: str) -> int:
    if not is_row_number(text):
        raise NotFound(f"{text[:40]} is not the number of a row.")
    return int(text)


def is_row_number(text: str) -> bool:
    """
    >>> is_row_number("12"), is_row_number("-1"), is_row_number("9" * 13)
    (True, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS


def given_number(given: Mapping[str, str], name: str) -> int:
    """A number of an address; 0 where it is none."""
    text = given.get(name, "").strip()
    return int(text) if is_row_number(text) else 0


def address(*parts: object, **given: object) -> str:
    """
    >>> address("data", "catalog", "id", **{"is": "a b"})
    '/data/catalog/id?is=a+b'
    """
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    words = urlencode({name: value for name, value in given.items() if value not in (None, "", 0)})
    return f"{path}?{words}" if words else path
