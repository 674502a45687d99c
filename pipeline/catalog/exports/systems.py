"""The exports that are known by their columns, and the mappings that have the same keys.

The systems are a table, `data/reference/exports.toml`; a mapping that `shopwright inspect --write` makes has the same keys.
"""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shopwright.pipeline.catalog.exports.values import Row, follow
from shopwright.pipeline.catalog.reference import FOLDER
from shopwright.pipeline.catalog.sources import BadSource

FIELDS = (
    "id title brand category_path category color price currency attributes options description bullets rating review_count"
    " shipping_days queries stock variant_id sale_ends"
).split()


class Join(BaseModel):
    """Which rows are one product."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    by: list[str] = Field(default_factory=list)
    otherwise: list[str] = Field(default_factory=list, alias="else")
    parent: str = ""
    own: str | list[str] = ""
    below: list[str] = Field(default_factory=list)
    first: str = ""
    inside: str = Field("", alias="list")


class Options(BaseModel):
    """What a variant is chosen by."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    names: list[str] = Field(default_factory=list)
    values: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)
    text: list[str] = Field(default_factory=list)


class Nested(BaseModel):
    """Variants that stand within their product."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    inside: str = Field(alias="list")
    names: str = ""
    values: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)


class Listed(BaseModel):
    """A list of objects, each a fact with a name."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    inside: str = Field(alias="list")
    name: str
    value: str


class Paths(BaseModel):
    """How several categories of a product, each with those above it, are one text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    between: str
    within: str
    drop: list[str] = Field(default_factory=list)
    """Names above all of the shop, which say nothing."""

    def deepest(self, text: Any) -> Any:
        """
        >>> Paths(between=",", within="/", drop=["Default"]).deepest("Default/Men,Default/Men/Tops")
        ['Men', 'Tops']
        """
        if not isinstance(text, str):
            return [name for name in text if name not in self.drop] if isinstance(text, list) else text
        paths = [[name.strip() for name in path.split(self.within)] for path in text.split(self.between)]
        return [name for name in max(paths, key=len) if name and name not in self.drop] or None


class Export(BaseModel):
    """How a kind of file is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = ""
    about: str = ""
    needs: list[list[str]] = Field(default_factory=list)
    licence: str = ""
    currency: str = ""
    columns: dict[str, list[str]] = Field(default_factory=dict)
    other: list[str] = Field(default_factory=list)
    attributes: list[str] | None = None
    ignore: list[str] = Field(default_factory=list)
    sold: dict[str, list[str]] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    paths: Paths | None = None
    pairs: list[str] = Field(default_factory=list)
    lists: list[Listed] = Field(default_factory=list)
    join: Join | None = None
    options: Options | None = None
    nested: Nested | None = None

    @field_validator("columns")
    @classmethod
    def are_fields(cls, columns: dict[str, list[str]]) -> dict[str, list[str]]:
        for ours in columns:
            if ours not in FIELDS:
                raise ValueError(f"a product has no field {ours!r}.{suggestion(ours, FIELDS)}")
        return columns


@cache
def load_exports() -> dict[str, Any]:
    return tomllib.loads((FOLDER.parent / "exports.toml").read_text(encoding="utf-8"))


@cache
def list_systems() -> list[Export]:
    """
    >>> [system.name for system in list_systems()][:3]
    ['shopify', 'shopify-json', 'woocommerce']
    """
    return [Export.model_validate(each) for each in load_exports()["systems"]]


@cache
def list_names() -> dict[str, list[str]]:
    """Our field -> the names that its column may have."""
    prices = load_exports()["prices"]
    found = {ours: names.split() for ours, names in load_exports()["names"].items()}
    return found | {"price": [*prices["paid"].split(), *prices["usual"].split()]}


def identify(columns: Iterable[str], rows: Iterable[Row]) -> Export | None:
    """The system whose columns these are."""
    known = {column.strip().lower() for column in columns}
    first = next(iter(rows), {})
    for system in list_systems():
        for needed in system.needs:
            if all(
                name.lower() in known or ("." in name and follow(first, tuple(name.split("."))) is not None)
                for name in needed
            ):
                return system
    return None


def resolve(export: Export, columns: list[str]) -> Export:
    """The same with the names that the file's columns have, whatever their case; `#` becomes each number that there is."""
    real = {name.strip().lower(): name for name in reversed(columns)}

    def find(name: str) -> list[str]:
        if "#" in name:
            return list(
                chain.from_iterable(
                    find(name.replace("#", str(number)))
                    for number in range(1, 100)
                    if name.replace("#", str(number)).lower() in real
                )
            )
        if name.lower() in real:
            return [real[name.lower()]]
        head, dot, rest = name.partition(".")
        if dot and head.lower() in real:
            return [f"{real[head.lower()]}.{rest}"]
        return []

    def all_of(names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(map(find, names))))

    fields = {ours: all_of(names) for ours, names in export.columns.items()}
    options, join = export.options, export.join
    if options is not None:
        parts = {part: all_of(names) for part, names in options.model_dump().items()}
        options = Options(**parts) if any(parts.values()) else None
    if join is not None:
        told = {
            "by": all_of(join.by),
            "else": all_of(join.otherwise),
            "below": all_of(join.below),
            "parent": "".join(find(join.parent)[:1]),
            "list": "".join(find(join.inside)[:1]),
        }
        has_rows = told["by"] or told["below"] or told["parent"] or told["list"]
        join = Join.model_validate(told | {"own": join.own, "first": join.first}) if has_rows else None
    changed = {
        "columns": {ours: names for ours, names in fields.items() if names},
        "sold": {found: values for name, values in export.sold.items() for found in find(name)},
        "options": options,
        "join": join,
    }
    return export.model_copy(update=changed)


def suggestion(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=3)
    return (f" Did you mean {' or '.join(near)}?" if near else "") + f" There are {join_column_names(names)}."


def join_column_names(names: list[str]) -> str:
    return ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def is_listed(name: str, patterns: Iterable[str]) -> bool:
    """
    >>> is_listed("Attribute 2 visible", ["Attribute # *"]), is_listed("In stock?", ["In stock?"])
    (True, True)
    """
    plain = name.lower()
    return any(
        plain == pattern.lower()
        or fnmatchcase(plain, pattern.lower().replace("[", "[[]").replace("?", "[?]").replace("#", "[0-9]*"))
        for pattern in patterns
    )


def read_mapping(path: Path) -> tuple[Export, list[str], Row]:
    """The mapping in a file of one's own, the sources that it names, and what else it says."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSource(f"{path} cannot be read as TOML: {error}.") from None
    files = found.pop("source", None)
    if not files:
        raise BadSource(f'{path} names no source. Write the file that it is about: source = "my-shop.csv".')
    more = {key: found.pop(key) for key in ("invent_prices",) if key in found}
    try:
        export = Export.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadSource(f"{path}: {place}: {first['msg'].removeprefix('Value error, ').rstrip('.')}.") from None
    return export, [files] if isinstance(files, str) else list(files), more
