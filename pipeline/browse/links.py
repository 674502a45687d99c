"""What a row has to do with others: a customer's months, their questions and what was answered; a product and who bought it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.browse.display import format_cell, list_references_to
from shopwright.pipeline.browse.rows import Shards, query_rows
from shopwright.pipeline.browse.search import quote_name, quote_text
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.stages import all_stages, find_reference

# Rows of a dataset under one row.
SHOWN = 8
# Steps from a customer: a month, a question, a rollout.
DEEP = 3


class Link(NamedTuple):
    """A row that names another, and what names that one in its turn."""

    dataset: str
    number: int
    id: str
    label: str
    names: dict[str, str]
    """Other rows that it names: the customer of an order, dataset -> id."""
    below: "list[Group]"


class Group(NamedTuple):
    dataset: str
    rows: int
    sql: str
    """The condition that gives them all."""
    links: list[Link]


class Walk:
    """From one row down to those that name it, level by level: one query for each dataset and level."""

    def __init__(self, worker: Worker, datasets: dict[str, Shards]) -> None:
        self.worker = worker
        self.datasets = datasets

    def groups_of(self, dataset: str, ids: list[str], depth: int = DEEP) -> dict[str, list[Group]]:
        """What names each of these rows of a dataset."""
        found: dict[str, list[Group]] = defaultdict(list)
        for other, place in list_places(dataset):
            if other in self.datasets and ids:
                for id, group in self.read_groups(other, place, ids, depth):
                    found[id].append(group)
        return found

    def read_groups(self, other: str, place: str, ids: list[str], depth: int) -> Iterator[tuple[str, Group]]:
        rows = self.read_links(other, place, ids)
        below = self.groups_of(other, [row["id"] for row in rows], depth - 1) if depth > 1 else {}
        by_id = defaultdict(list)
        for row in rows:
            link = Link(other, row["n"], row["id"], row["label"], row["names"], below.get(row["id"], []))
            by_id[row["of"]].append((row["all"], link))
        for id, links in by_id.items():
            yield id, Group(other, links[0][0], condition_of(place, id), [link for _, link in links])

    def read_links(self, other: str, place: str, ids: list[str]) -> list[dict[str, Any]]:
        """The first rows that name each id, with how many there are in all."""
        named = {find_reference(other, each): each for each in all_stages()[other].makes.model_fields if each != place}
        named = {target: each for target, each in named.items() if target in self.datasets}
        columns = [each for each in all_stages()[other].views.columns if each not in ("id", place, *named.values())][:2]
        label = ", ".join(["n", "id", *map(quote_name, [*named.values(), *columns])])
        if "." in place:
            listed, field = place.split(".")
            source = (
                f"(SELECT *, unnest(list_distinct(list_transform({listed}, lambda e: e.{field}))) AS named FROM rows)"
            )
        else:
            source = f"(SELECT *, {quote_name(place)} AS named FROM rows)"
        within = ", ".join(map(quote_text, ids))
        sql = (
            f"SELECT * FROM (SELECT named, count(*) OVER (PARTITION BY named) AS c, "
            f"row_number() OVER (PARTITION BY named ORDER BY n) AS place, {label} FROM {source} WHERE named IN ({within})) "
            f"WHERE place <= {SHOWN} ORDER BY n"
        )
        reply = query_rows(self.worker, self.datasets[other], sql, most=SHOWN * len(ids))
        found = []
        for of, count, _, n, id, *values in reply.get("rows", []):
            names = {target: value for target, value in zip(named, values, strict=False) if value}
            words = " · ".join(filter(None, map(format_cell, values[len(named) :])))
            found.append({"of": of, "all": count, "n": n, "id": id, "label": words, "names": names})
        return found


def condition_of(place: str, id: str) -> str:
    """The visitor's SQL for the rows that name an id.

    >>> condition_of("persona_id", "persona-1"), condition_of("lines.product_id", "B1")
    ("persona_id = 'persona-1'", "list_contains(list_transform(lines, lambda e: e.product_id), 'B1')")
    """
    if "." not in place:
        return f"{place} = {quote_text(id)}"
    listed, field = place.split(".")
    return f"list_contains(list_transform({listed}, lambda e: e.{field}), {quote_text(id)})"


def list_places(dataset: str) -> list[tuple[str, str]]:
    """Datasets with the column that names rows of this one, or with `list.field` where the items of a list do.

    >>> ("orders", "lines.product_id") in list_places("catalog"), ("questions", "trajectory_id") in list_places("trajectories")
    (True, True)
    """
    found = list_references_to(dataset)
    for name, stage in all_stages().items():
        for column in arrow_schema(stage.makes) if dataset == "catalog" else ():
            kind = column.type.value_type if pa.types.is_list(column.type) else None
            named = {part.name for part in kind} if kind is not None and pa.types.is_struct(kind) else set()
            found += [(name, f"{column.name}.product_id")] if "product_id" in named else []
    return found
