"""Logs of customers as columns, from a run's trajectories, from a file of events or from the text form."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.realism.kinds import find_title_kind
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory
from shopwright.schemas.samples import Trajectory

ACTIONS = ("search", "click", "add to Cart", "purchase")
SEARCH, CLICK, CART, PURCHASE = range(4)
FIELDS = ("timestamp", "action_type", "asin", "product_name", "brand", "product_types", "search_query")
TEXTS = FIELDS[1:]
NOTHING = dict.fromkeys(("asin", "product_name", "brand", "color", "search_query"))
COLUMNS = pa.schema([("timestamp", pa.timestamp("us")), *((name, pa.string()) for name in TEXTS)])


@dataclass(frozen=True)
class RawLog:
    """What one customer did: a table of `COLUMNS` in order of time, and the same as text."""

    name: str
    events: pa.Table
    text: str


@dataclass(frozen=True)
class Logs:
    """All customers' actions one after the other; a text is the number of its place in a list, -1 where there is none."""

    names: list[str]
    edges: np.ndarray
    """Customer k has the actions from `edges[k]` to `edges[k + 1]`."""
    seconds: np.ndarray
    actions: np.ndarray
    """Places in `ACTIONS`."""
    products: np.ndarray
    kinds: np.ndarray
    """Of each action's product: its category, or what its title says it is."""
    brands: np.ndarray
    queries: np.ndarray
    product_ids: list[str]
    titles: list[str]
    """Of each product, as first seen."""
    kind_names: list[str]
    brand_names: list[str]
    query_texts: list[str]
    texts: list[str]
    kinds_from_titles: float
    """Share of products whose category is not in the log."""

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def owners(self) -> np.ndarray:
        """The customer of each action."""
        return np.repeat(np.arange(len(self.names)), np.diff(self.edges))

    def find(self, action: int) -> np.ndarray:
        """Where the actions of one type are."""
        return np.flatnonzero(self.actions == action)


def read_run_logs(trajectories: Dataset[Trajectory], most: int) -> list[RawLog]:
    """The longest log of each customer, of as many customers at most, spread evenly over the run."""
    lengths = trajectories.table(["persona_id", "tokens"])
    longest: dict[str, tuple[int, int]] = {}
    for row, (person, tokens) in enumerate(zip(*(column.to_pylist() for column in lengths.columns), strict=True)):
        longest[person] = max(longest.get(person, (-1, 0)), (tokens, row))
    rows = spread([row for _, row in longest.values()], most)
    found, first = list[RawLog](), 0
    for batch in trajectories.batches(["persona_id", "text", "events"]):
        inside = [row - first for row in rows if first <= row < first + len(batch)]
        found += read_event_rows(pa.Table.from_batches([batch]).take(inside))
        first += len(batch)
    return found


def spread(items: Sequence[int], most: int) -> list[int]:
    """At most so many, evenly, in order.

    >>> spread(range(10), 3), spread([5, 2], 9)
    ([0, 3, 6], [2, 5])
    """
    ordered = sorted(items)
    return [ordered[place * len(ordered) // most] for place in range(most)] if len(ordered) > most else ordered


def read_log_file(path: Path, most: int) -> list[RawLog]:
    """Logs of a file: Parquet with a column `events` or `text`, JSON Lines with `text`, or text with an empty line after each log.

    Raises Problem.
    """
    if not path.is_file():
        raise Problem(f"{path}: there is no such file.")
    try:
        found = read_parquet_file(path, most) if path.suffix == ".parquet" else read_texts(read_log_texts(path), most)
    except (OSError, KeyError, TypeError, RecursionError, UnicodeDecodeError, pa.ArrowException) as error:
        raise Problem(f"{path} cannot be read as logs: {str(error).splitlines()[0]}") from None
    except ValueError as error:
        raise Problem(f"{path}: {error}") from None
    if not found:
        raise Problem(f"{path} holds no log.")
    return found


def read_parquet_file(path: Path, most: int) -> list[RawLog]:
    import pyarrow.parquet as pq

    columns = pq.read_schema(path).names
    if "events" in columns:
        named = [name for name in ("persona_id", "id", "text", "tokens") if name in columns]
        rows = pq.read_table(path, columns=[*named, "events"])
        return read_event_rows(rows.take(spread(find_longest(rows), most)))
    if "text" not in columns:
        raise ValueError("it has neither a column `events` nor a column `text`.")
    return read_texts([text for text in pq.read_table(path, columns=["text"])["text"].to_pylist() if text], most)


def find_longest(rows: pa.Table) -> list[int]:
    """The row with the most events of each customer; all rows where no column names the customer."""
    if "persona_id" not in rows.column_names:
        return list(range(len(rows)))
    lengths = pc.list_value_length(rows["events"]).to_pylist()
    found: dict[str, tuple[int, int]] = {}
    for row, (person, length) in enumerate(zip(rows["persona_id"].to_pylist(), lengths, strict=True)):
        found[person] = max(found.get(person, (-1, 0)), (length or 0, row))
    return [row for _, row in found.values()]


def read_event_rows(rows: pa.Table) -> list[RawLog]:
    names = next((rows[name].to_pylist() for name in ("persona_id", "id") if name in rows.column_names), None)
    texts = rows["text"].to_pylist() if "text" in rows.column_names else None
    found = []
    for place, events in enumerate(rows["events"]):
        values = events.values
        there = {} if values is None else {field.name: values.field(field.name) for field in values.type}
        if values is not None and len(values) and (missing := {"timestamp", "action_type"} - set(there)):
            raise ValueError(f"its events have no {' and no '.join(sorted(missing))}.")
        size = 0 if values is None else len(values)
        columns = [
            (there[name] if name in there else pa.nulls(size)).cast(kind)
            for name, kind in zip(COLUMNS.names, COLUMNS.types, strict=True)
        ]
        table = pa.Table.from_arrays(columns, schema=COLUMNS)
        name = str(names[place]) if names else f"log {place + 1}"
        found.append(RawLog(name, table, texts[place] if texts else render_events(name, table, values)))
    return found


def render_events(name: str, table: pa.Table, values: Any) -> str:
    """The text of events; what they lack is empty there. Raises Problem for a bad row."""
    check_rows(table, [name], np.array([0, len(table)]))
    rows = values.to_pylist() if len(table) else []
    return render_trajectory([{**NOTHING, **row, "price": row.get("price") or 0} for row in rows])


def read_log_texts(path: Path) -> list[str]:
    """Texts of logs: of JSON Lines their `text`, else what empty lines divide."""
    lines = [line.rstrip("\r") for line in path.read_text(encoding="utf-8").split("\n")]
    if path.suffix == ".jsonl":
        return [str.strip(json.loads(line)["text"]) for line in lines if line.strip()]
    logs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            logs[-1].append(line.strip())
        elif logs[-1]:
            logs.append([])
    return ["\n".join(log) for log in logs if log]


def read_texts(texts: Sequence[str], most: int) -> list[RawLog]:
    """Logs in the text form. Raises ValueError, which names log and line."""
    found = []
    for place in spread(range(len(texts)), most):
        try:
            events = parse_trajectory(texts[place].strip())
        except ValueError as error:
            raise ValueError(f"log {place + 1}, {error}") from None
        found.append(RawLog(f"log {place + 1}", pa.Table.from_pylist(events, schema=COLUMNS), texts[place]))
    return found


def join_logs(found: Iterable[RawLog], catalog_kinds: dict[str, str] | None = None) -> Logs:
    """All of them as columns; `catalog_kinds`: categories by product id, for logs that name none. Raises Problem for a bad row."""
    raw = [log for log in found if len(log.events)]
    if not raw:
        raise Problem("There is no action in these logs.")
    names = [log.name for log in raw]
    edges = np.concatenate([[0], np.cumsum([len(log.events) for log in raw])])
    table = pa.concat_tables([log.events for log in raw]).combine_chunks()
    check_rows(table, names, edges)
    coded = {name: encode(table[name]) for name in TEXTS}
    actions, kinds_of = coded["action_type"]
    number = np.array([ACTIONS.index(kind) for kind in kinds_of])
    products, ids = coded["asin"]
    first = np.full(len(ids), -1)
    there = np.flatnonzero(products >= 0)[::-1]
    # From the end: what is written last is where a product first stands.
    first[products[there]] = there
    titles = [coded["product_name"][1][place] for place in coded["product_name"][0][first]]
    kinds, kind_names, guessed = find_kinds(coded, first, ids, titles, catalog_kinds or {})
    brands, brand_names = coded["brand"]
    queries, query_texts = coded["search_query"]
    return Logs(
        # Timestamps are microseconds; the kind -1 is for actions without a product, whose place is -1, too.
        names, edges, table["timestamp"].cast(pa.int64()).to_numpy() // 1_000_000, number[actions], products,
        np.append(kinds, -1)[products], brands, queries, ids, titles, kind_names, brand_names, query_texts,
        [log.text for log in raw], guessed,
    )  # fmt: skip


def encode(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    return coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary.to_pylist()


def find_kinds(
    coded: dict[str, tuple[np.ndarray, list[str]]],
    first: np.ndarray,
    ids: Sequence[str],
    titles: Sequence[str],
    known: dict[str, str],
) -> tuple[np.ndarray, list[str], float]:
    """The kind of each product: the log's category, else the catalog's, else what its title says; and how many titles had to."""
    codes, categories = coded["product_types"]
    brand_of, brands = coded["brand"]
    numbers: dict[str, int] = {}
    found, guessed = np.full(len(ids), -1), 0
    for product, row in enumerate(first.tolist()):
        category = categories[codes[row]] if codes[row] >= 0 else known.get(ids[product], "")
        if not category.strip():
            guessed += 1
            category = find_title_kind(titles[product], brands[brand_of[row]] if brand_of[row] >= 0 else "")
        found[product] = numbers.setdefault(category, len(numbers))
    return found, list(numbers), guessed / max(len(ids), 1)


def check_rows(table: pa.Table, names: Sequence[str], edges: np.ndarray) -> None:
    """Raises Problem that names the first bad row of all."""
    is_search = pc.fill_null(pc.equal(table["action_type"], ACTIONS[SEARCH]), False)
    owners = np.repeat(np.arange(len(names)), np.diff(edges))
    when = table["timestamp"].cast(pa.int64()).fill_null(0).to_numpy()
    back = np.concatenate([[False], (np.diff(when) < 0) & (np.diff(owners) == 0)])
    known = pc.is_in(table["action_type"], value_set=pa.array(ACTIONS))
    wrong = {
        "has no time": pc.is_null(table["timestamp"]),
        f"has an action type that is none of {', '.join(ACTIONS)}": pc.invert(known),
        "is earlier than the row before it; put the rows in order of time": pa.array(back),
        "is a search without a text": pc.and_(is_search, is_blank(table["search_query"])),
        "has no product id": pc.and_(pc.invert(is_search), is_blank(table["asin"])),
        "has no title": pc.and_(pc.invert(is_search), is_blank(table["product_name"])),
    }
    places = {why: np.flatnonzero(to_numpy(mask)) for why, mask in wrong.items()}
    bad = {why: int(found[0]) for why, found in places.items() if len(found)}
    if bad:
        why, row = min(bad.items(), key=lambda each: each[1])
        more = sum(len(found) for found in places.values()) - 1
        place = row - int(edges[owners[row]])
        raise Problem(
            f"{names[owners[row]]}, row {place}: it {why}." + (f" {more:,} more rows are wrong." if more else "")
        )


def is_blank(column: pa.ChunkedArray) -> Any:
    return pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(pc.fill_null(column, ""))), 0)


def to_numpy(mask: Any) -> np.ndarray:
    found = mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def read_people(path: Path) -> list[str]:
    """Strings that people typed, one a line. Raises Problem."""
    try:
        found = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"--against {path} cannot be read as text: {error}") from None
    if not found:
        raise Problem(f"--against {path} holds no text. It needs one search a line.")
    return found


def split_customers(logs: Logs) -> Iterator[slice]:
    for first, last in zip(logs.edges[:-1].tolist(), logs.edges[1:].tolist(), strict=True):
        yield slice(first, last)
