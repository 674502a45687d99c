"""Which rows of an export are one product, wherever in the file they stand."""

import re
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from shopwright.pipeline.catalog.exports.systems import Export, Join
from shopwright.pipeline.catalog.exports.values import Row, says


def read_configurations(text: Any, own: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """
    >>> list(read_configurations("sku=A-S,size=S,color=Red|sku=A-M,size=M,color=Red", "sku"))
    [('A-S', [('size', 'S'), ('color', 'Red')]), ('A-M', [('size', 'M'), ('color', 'Red')])]
    """
    for one in str(text or "").split("|"):
        pairs = [pair.partition("=") for pair in re.split(r",(?=[\w-]+=)", one) if "=" in pair]
        named = [(name.strip(), value.strip()) for name, _, value in pairs]
        key = next((value for name, value in named if name == own), "")
        if key:
            yield key, [(name, value) for name, value in named if name != own]


def join_rows(rows: Any, export: Export) -> Iterator[Row]:
    """`{main, parts}` for each product, in the order in which the first row of each comes; `rows` begins anew whenever it is called."""
    import json
    import tempfile

    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("key", pa.string()), ("number", pa.int64()), ("is_main", pa.bool_()), ("row", pa.string())])
    with tempfile.TemporaryDirectory() as folder:
        keyed = Path(folder) / "rows.parquet"
        with pq.ParquetWriter(keyed, schema, compression="zstd") as writer:
            waiting: list[tuple[str, int, bool, str]] = []
            for number, (key, is_main, row) in enumerate(key_rows(rows, export)):
                waiting.append((key, number, is_main, json.dumps(row, default=str)))
                if len(waiting) >= 10_000:
                    writer.write_table(pa.table(list(zip(*waiting, strict=True)), schema=schema))
                    waiting = []
            if waiting:
                writer.write_table(pa.table([list(column) for column in zip(*waiting, strict=True)], schema=schema))
        with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": folder, "threads": 2}) as sql:
            found = sql.execute(
                "SELECT first, is_main, row FROM read_parquet(?) JOIN (SELECT key, min(number) AS first FROM read_parquet(?) GROUP BY key) "
                "USING (key) ORDER BY first, number",
                [str(keyed), str(keyed)],
            )
            while_there = iter(lambda: found.fetchmany(10_000), [])
            for _, group in groupby(chain.from_iterable(while_there), key=lambda each: each[0]):
                yield assemble([(is_main, json.loads(row)) for _, is_main, row in group])


def assemble(group: list[tuple[bool, Row]]) -> Row:
    place = next((place for place, (is_main, _) in enumerate(group) if is_main), 0)
    return {"main": group[place][1], "parts": [row for at, (_, row) in enumerate(group) if at != place]}


def key_rows(rows: Any, export: Export) -> Iterator[tuple[str, bool, Row]]:
    """Each row with the key that its product's rows share, and whether it is the one that tells of the product."""
    join = export.join
    assert join is not None
    titles = export.columns.get("title", [])
    if join.parent:
        yield from key_by_parent(rows, join)
    elif join.inside:
        yield from key_by_list(rows, join)
    elif join.below:
        yield from key_below(rows, join)
    else:
        for number, row in enumerate(rows()):
            key = (
                ""
                if "unreadable" in row
                else next((says(row.get(name)) for name in [*join.by, *join.otherwise] if says(row.get(name))), "")
            )
            yield key or f"\0{number}", any(says(row.get(name)) for name in titles), row


def key_by_parent(rows: Any, join: Join) -> Iterator[tuple[str, bool, Row]]:
    forms = [join.own] if isinstance(join.own, str) else join.own
    wanted = {says(row.get(join.parent)) for row in rows()} - {""}
    same: dict[str, str] = {}  # a parent may be named by its number here and by its SKU there
    for number, row in enumerate(rows()):
        if not says(row.get(join.parent)):
            same |= {name: f"\0{number}" for form in forms if (name := fill_name(form, row)) in wanted}
    for number, row in enumerate(rows()):
        parent = says(row.get(join.parent))
        yield same.get(parent, parent) or f"\0{number}", not parent, row


def fill_name(form: str, row: Row) -> str:
    """
    >>> fill_name("id:{ID}", {"ID": "7"}), fill_name("SKU", {"SKU": "a"})
    ('id:7', 'a')
    """
    if "{" not in form:
        return says(row.get(form))
    return re.sub(r"\{(\w+)\}", lambda name: says(row.get(name[1])), form)


def key_by_list(rows: Any, join: Join) -> Iterator[tuple[str, bool, Row]]:
    own, parent_of = str(join.own), dict[str, str]()
    for row in rows():
        for key, _ in read_configurations(row.get(join.inside), own):
            parent_of.setdefault(key, says(row.get(own)))
    for number, row in enumerate(rows()):
        name = says(row.get(own))
        is_main = name not in parent_of and not says(row.get("store_view_code"))
        yield parent_of.get(name, name) or f"\0{number}", is_main, row


def key_below(rows: Any, join: Join) -> Iterator[tuple[str, bool, Row]]:
    key = ""
    for number, row in enumerate(rows()):
        kind = next((says(row.get(name)) for name in join.below if says(row.get(name))), "")
        is_first = kind.lower().startswith(join.first.lower()) or "unreadable" in row or not key
        key = f"\0{number}" if is_first else key
        yield key, is_first, row
