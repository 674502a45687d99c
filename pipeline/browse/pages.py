"""What each page shows: facts for the templates, from a run and an address."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.browse.columns import describe_columns, list_labels
from shopwright.pipeline.browse.compare import (
    EPISODES,
    SHOWN,
    Difference,
    compare_datasets,
    find_tables,
    list_played,
    read_episode,
)
from shopwright.pipeline.browse.display import list_references_to, read_field_docs
from shopwright.pipeline.browse.links import Walk, condition_of
from shopwright.pipeline.browse.rows import Shards, find_row_number, query_rows, read_row, read_row_dicts, shards
from shopwright.pipeline.browse.search import (
    Filter,
    count_choices,
    count_rows,
    list_choice_columns,
    read_filter,
    select_rows,
)
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import map_paths
from shopwright.pipeline.publish.report import render_report
from shopwright.pipeline.run import Run
from shopwright.pipeline.shards import read_tries
from shopwright.pipeline.stage import resolve_reference
from shopwright.pipeline.stages import all_stages, find_reference

HERE = Path(__file__).parent
# Rows on a page.
PAGE = 25
# Events, or lines of a text, on a page.
EVENTS = 200
# Rows of evidence that stand under their question.
PROOF = 30
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


def open_page(browse: Browse, parts: list[str], given: Mapping[str, str]) -> Page | Redirect:
    """The page at an address. Raises NotFound, Problem."""
    match parts:
        case []:
            return home_page(browse)
        case ["find"]:
            return find_page(browse, given)
        case ["report"]:
            return Page("report", {"page": render_report(browse.run, home="/")})
        case ["agents"]:
            return agents_page(browse, given)
        case ["beside", *played] if len(played) == 4:
            return beside_page(browse, played)
        case ["diff", *rest] if len(rest) <= 1 and browse.other:
            return diff_page(browse, *rest)
        case ["data", name]:
            return rows_page(browse, name, given)
        case ["columns", name]:
            return columns_page(browse, name)
        case ["data", name, "id"]:
            return redirect_to_id(browse, name, given)
        case ["data", name, number, "evidence"] if name in all_stages() and all_stages()[name].views.proof:
            return redirect_to_evidence(browse, name, whole_number(number))
        case ["links", name, number]:
            return links_page(browse, name, whole_number(number))
        case ["data", name, number]:
            return row_page(browse, name, whole_number(number), given)
        case ["rejected", name]:
            return rejects_page(browse, name, given)
        case ["rejected", name, number]:
            return reject_page(browse, name, whole_number(number))
    raise NotFound("There is no such page.")


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


# --- lists -------------------------------------------------------------------------------------------------------------


def home_page(browse: Browse) -> Page:
    found = browse.manifests()
    played = any(name in EPISODES for name, manifest in found.items() if manifest)
    made = {name: manifest for name, manifest in found.items() if manifest}
    return Page(
        "home.html.j2",
        {
            "made": made,
            "played": played,
            "changed": {name: find_changed_settings(manifest) for name, manifest in made.items()},
            "missing": [name for name, manifest in found.items() if manifest is None],
            "abouts": {name: stage.about for name, stage in all_stages().items()},
        },
    )


def find_changed_settings(made: Manifest) -> Facts:
    """The settings that are not the stage's defaults."""
    known = all_stages()[made.dataset].settings
    settings = made.recipe.settings
    return {
        name: value
        for name, value in settings.items()
        if name in known and known[name].parse(known[name].default) != value
    }


def find_page(browse: Browse, given: Mapping[str, str]) -> Page:
    """How many rows of each dataset hold some words."""
    find = given.get("find", "").strip()
    counts: dict[str, int | None] = {}
    for name, found in browse.all_shards().items() if find else ():
        makes = all_stages()[name].makes
        counts[name] = count_rows(browse.worker, found, select_rows(makes, read_filter(makes, {"find": find}), ["id"]))
    return Page("find.html.j2", {"find": find, "counts": counts})


def rows_page(browse: Browse, name: str, given: Mapping[str, str]) -> Page:
    """The rows of a dataset: all of them, or those with some words, some values, or that a query gives."""
    made, found, stage = browse.read_manifest(name), browse.shards(name), all_stages()[name]
    columns = list(stage.views.columns) or [each for each in stage.makes.model_fields if each != "id"][:5]
    asked, skip = read_filter(stage.makes, given), given_number(given, "from")
    types = [(field.name, type_in_words(field.type)) for field in arrow_schema(stage.makes)]
    facts: Facts = {"name": name, "made": made, "asked": asked, "skip": skip, "total": found.rows, "error": None}
    facts |= {"fields": types, "manual": read_field_docs(stage.makes)}
    few = browse.keep("choices", made, lambda: list_choice_columns(browse.worker, found, stage.makes, columns))
    facts["choices"] = count_choices(browse.worker, found, stage.makes, asked, few)
    facts["code"] = write_python(browse, name, asked, ["id", *columns])
    if not asked:
        rows = read_row_dicts(found, range(skip, min(skip + PAGE, found.rows)), ["id", *columns])
        return Page(
            "rows.html.j2", facts | {"columns": ["id", *columns], "rows": rows, "more": skip + PAGE < found.rows}
        )
    query = select_rows(stage.makes, asked, ["n", "id", *columns])
    reply = query_rows(browse.worker, found, query, skip=skip, most=PAGE + 1)
    facts |= {"error": reply.get("error"), "columns": [c for c in reply.get("columns", []) if c != "n"]}
    rows = [dict(zip(reply["columns"], each, strict=True)) for each in reply.get("rows", [])]
    total = None if facts["error"] else count_rows(browse.worker, found, query)
    facts |= {"rows": rows[:PAGE], "more": len(rows) > PAGE, "total": total}
    return Page("rows.html.j2", facts, 400 if facts["error"] else 200)


def write_python(browse: Browse, name: str, asked: Filter, columns: Sequence[str]) -> str:
    """The lines that give these rows in Python."""
    folder = str(browse.run.folder / name)
    if not asked:
        return (
            f"from datasets import load_dataset\n\nrows = load_dataset('parquet', data_dir={folder!r}, split='train')"
        )
    query = select_rows(all_stages()[name].makes, asked, columns)
    return f"import duckdb\n\nrows = duckdb.read_parquet({folder + '/*.parquet'!r})\nfound = duckdb.sql({query!r}).df()"


def columns_page(browse: Browse, name: str) -> Page:
    made, found = browse.read_manifest(name), browse.shards(name)
    makes = all_stages()[name].makes
    known = browse.keep("columns", made, lambda: describe_columns(browse.worker, found, makes))
    facts = {"name": name, "made": made, "known": known, "manual": read_field_docs(makes), "labels": list_labels}
    return Page("columns.html.j2", facts)


def type_in_words(kind: pa.DataType) -> str:
    """
    >>> type_in_words(pa.list_(pa.struct([("name", pa.string()), ("price", pa.decimal128(12, 2))])))
    'list of {name, price}'
    """
    if pa.types.is_list(kind):
        return f"list of {type_in_words(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(field.name for field in kind) + "}"
    words = {"string": "text", "int64": "integer", "double": "number", "bool": "true or false", "halffloat": "number"}
    said = str(kind)
    return words.get(said, "money" if said.startswith("decimal") else "time" if said.startswith("timestamp") else said)


def rejects_page(browse: Browse, name: str, given: Mapping[str, str]) -> Page:
    made, found = browse.read_manifest(name), browse.shards(name, rejected=True)
    skip = given_number(given, "from")
    rows = read_row_dicts(found, range(skip, min(skip + PAGE, found.rows)), ["id", "reasons"])
    facts = {"name": name, "made": made, "rows": rows, "skip": skip, "total": found.rows}
    return Page("rejects.html.j2", facts | {"more": skip + PAGE < found.rows})


# --- one row -----------------------------------------------------------------------------------------------------------


def redirect_to_id(browse: Browse, name: str, given: Mapping[str, str]) -> Redirect:
    browse.read_manifest(name)
    number = browse.number(name, given.get("is", ""))
    if number is None:
        raise NotFound(f"No row of {name} has the id {given.get('is', '')[:80]}.")
    return Redirect(address("data", name, number, step=given_number(given, "step")))


def row_page(browse: Browse, name: str, number: int, given: Mapping[str, str]) -> Page:
    """A row: its fields, or a page of the kind that its dataset has."""
    made, found = browse.read_manifest(name), browse.shards(name)
    batch = read_row(found, number)
    if batch is None:
        raise NotFound(f"{name} has {found.rows:,} rows; there is no row {number}.")
    if given.get("as") == "json":
        return Page("json", batch.to_pylist()[0])
    facts: Facts = {"name": name, "number": number, "total": found.rows, "made": made}
    facts |= {"manual": read_field_docs(all_stages()[name].makes), "of": None}
    views = all_stages()[name].views
    own = resolve_reference(views.page)(browse, name, batch, given) if views.page else {}
    facts |= own if "row" in own else {"row": batch.to_pylist()[0], **own}
    facts["others"] = link_related_rows(browse, name, facts["row"])
    facts["code"] = write_python_row(browse, name, number, facts["row"]["id"])
    facts["beside"] = list_beside(browse, name, number, facts["row"])
    return Page(f"{name}.html.j2" if (HERE / f"{name}.html.j2").exists() else "row.html.j2", facts)


def link_related_rows(browse: Browse, name: str, row: Facts) -> list[tuple[str, str]]:
    """Where else this row plays a part: what it names, and who names it, each with its address."""
    found = [(field, target) for field in row if (target := find_reference(name, field)) and row[field]]
    there = {each for each, made in browse.manifests().items() if made}
    up = [(target, address("data", target, "id", **{"is": row[field]})) for field, target in found if target in there]
    down = [(other, field) for other, field in list_references_to(name) if other in there]
    return up + [
        (f"{other} of it", address("data", other, sql=condition_of(field, str(row["id"])))) for other, field in down
    ]


def write_python_row(browse: Browse, name: str, number: int, id: str) -> str:
    """The lines that give this row in Python."""
    return f"from shopwright import load\n\nrow = next(row for row in load({name!r}, {str(browse.run.folder)!r}) if row.id == {id!r})"


def list_beside(browse: Browse, name: str, number: int, row: Facts) -> list[tuple[str, str]]:
    """Other agents' ways through the same task: who, and the address of both side by side."""
    if name not in EPISODES:
        return []
    task = row[EPISODES[name]]
    played = list_played(browse.worker, find_tables(browse.run, {name: browse.shards(name)}), name).get(task, [])
    others = [each for each in played if (each.table, each.number) != (name, number)]
    return [(each.agent, address("beside", name, number, each.table, each.number)) for each in others]


def links_page(browse: Browse, name: str, number: int) -> Page:
    """What names a row, and what names that, down to three steps."""
    made, found = browse.read_manifest(name), browse.shards(name)
    batch = read_row(found, number)
    if batch is None:
        raise NotFound(f"{name} has {found.rows:,} rows; there is no row {number}.")
    id = batch.column("id")[0].as_py()
    groups = Walk(browse.worker, browse.all_shards()).groups_of(name, [id]).get(id, [])
    return Page("links.html.j2", {"name": name, "made": made, "number": number, "id": id, "groups": groups})


def reject_page(browse: Browse, name: str, number: int) -> Page:
    made, found = browse.read_manifest(name), browse.shards(name, rejected=True)
    batch = read_row(found, number)
    if batch is None:
        raise NotFound(f"{name} has {found.rows:,} rejected rows; there is no row {number}.")
    rejected = batch.to_pylist()[0]
    try:
        record = json.loads(rejected["record"])
    except ValueError:
        record = rejected["record"]
    facts = {"name": name, "made": made, "number": number, "total": found.rows, "row": rejected, "record": record}
    facts |= {"tries": read_tries(rejected["record"]), "manual": read_field_docs(all_stages()[name].makes)}
    return Page("reject.html.j2", facts)


# --- rows and their evidence -------------------------------------------------------------------------------------------


def gather_proof(browse: Browse, name: str, batch: pa.RecordBatch, given: Mapping[str, str]) -> Facts:
    """The trajectory of a question, and the first events that the answer rests on."""
    row = batch.to_pylist()[0]
    place, trajectories = find_trajectory(browse, name, row)
    found = read_row(browse.shards(trajectories), place) if place is not None else None
    if found is None:
        return {"trajectory": None, "proof": []}
    events, numbers = flatten_events(found), pa.array(row["evidence"][:PROOF], pa.int64())
    proof = events.filter(pc.is_in(events.field("row_id"), value_set=numbers)).to_pylist()
    return {"trajectory": place, "proof": proof}


def find_trajectory(browse: Browse, name: str, row: Facts) -> tuple[int | None, str]:
    """Its number, where it is in the run, and the dataset that it would be in."""
    column = all_stages()[name].views.proof
    dataset = find_reference(name, column)
    return browse.number(dataset, row[column]), dataset


def redirect_to_evidence(browse: Browse, name: str, number: int) -> Redirect:
    """The trajectory of a row, at the first event that the row rests on."""
    batch = read_row(browse.shards(name), number)
    if batch is None:
        raise NotFound(f"{name} has no row {number}.")
    row = batch.to_pylist()[0]
    place, _ = find_trajectory(browse, name, row)
    if place is None:
        raise NotFound(f"There is no trajectory {row[all_stages()[name].views.proof]} in this run.")
    return Redirect(at_event(place, number, min(row["evidence"], default=None)))


def at_event(trajectory: int, question: int | None, event: int | None) -> str:
    """The address of an event on its page of the trajectory.

    >>> at_event(7, 12, 431)
    '/data/trajectories/7?question=12&from=400#event-431'
    """
    first = (event or 0) // EVENTS * EVENTS
    words = [*([f"question={question}"] if question is not None else []), *([f"from={first}"] if first else [])]
    place = f"/data/trajectories/{trajectory}" + ("?" + "&".join(words) if words else "")
    return f"{place}#event-{event}" if event is not None else place


def flatten_events(batch: pa.RecordBatch) -> pa.StructArray:
    return batch.column("events").flatten()


def gather_trajectory_page(browse: Browse, name: str, batch: pa.RecordBatch, given: Mapping[str, str]) -> Facts:
    """A page of a trajectory's events, those that a question rests on marked."""
    events = flatten_events(batch)
    skip = min(given_number(given, "from"), max(0, len(events) - 1)) // EVENTS * EVENTS
    found = batch.drop_columns(["events", "text"]).to_pylist()[0]
    facts: Facts = {"row": found, "skip": skip, "length": len(events), "page": EVENTS, "question": None, "asked": None}
    facts |= {"events": events.slice(skip, EVENTS).to_pylist(), "marked": [], "as_text": given.get("as") == "text"}
    if facts["as_text"]:
        facts["lines"] = batch.column("text")[0].as_py().split("\n")[skip : skip + EVENTS]
    if "question" in given:
        facts |= find_question(browse, found["id"], given["question"])
    return facts


def find_question(browse: Browse, trajectory: str, number: str) -> Facts:
    """A question of this trajectory. Raises NotFound where it is of another."""
    name, column = next((name, stage.views.proof) for name, stage in all_stages().items() if stage.views.proof)
    batch = read_row(browse.shards(name), whole_number(number))
    question = batch.to_pylist()[0] if batch is not None else {}
    if question.get(column) != trajectory:
        raise NotFound(f"Question {number} is not about this trajectory.")
    return {"question": int(number), "asked": question, "asked_in": name, "marked": sorted(question["evidence"])}


# --- side by side ------------------------------------------------------------------------------------------------------


def agents_page(browse: Browse, given: Mapping[str, str]) -> Page:
    """Tasks, each with how every agent fared on it."""
    tables = find_tables(browse.run, browse.all_shards())
    kinds = list(dict.fromkeys(kind for kind, _ in tables.values()))
    kind = given.get("of", "") if given.get("of") in kinds else (kinds or [""])[0]
    played = list_played(browse.worker, tables, kind) if kind else {}
    skip = given_number(given, "from")
    some = list(played.items())[skip : skip + SHOWN]
    agents = list(dict.fromkeys(each.agent for each in chain.from_iterable(played.values())))
    facts = {"kinds": kinds, "kind": kind, "tasks": some, "agents": agents, "total": len(played), "skip": skip}
    return Page("agents.html.j2", facts | {"more": skip + SHOWN < len(played), "size": SHOWN})


def beside_page(browse: Browse, played: list[str]) -> Page:
    """Two episodes of one task, side by side."""
    tables, sides = find_tables(browse.run, browse.all_shards()), []
    for table, number in ((played[0], whole_number(played[1])), (played[2], whole_number(played[3]))):
        found = read_episode(tables, table, number)
        if found is None:
            raise NotFound(f"There is no episode {number} of {table[:80]} in this run.")
        sides.append((table, number, *found))
    kinds, tasks = {kind for _, _, kind, _ in sides}, {row[EPISODES[kind]] for _, _, kind, row in sides}
    if len(kinds | tasks) > 2:
        raise NotFound("These two are not of one task.")
    return Page("beside.html.j2", {"sides": sides, "task": tasks.pop(), "kind": kinds.pop()})


def diff_page(browse: Browse, name: str = "") -> Page:
    """Two runs: every dataset in a line, or one with the rows that differ."""
    assert browse.other
    theirs = Browse(browse.other, browse.worker)
    here, there = browse.manifests(), theirs.manifests()
    if name and not (here.get(name) and there.get(name)):
        raise NotFound(f"{name[:80]} is not in both runs.")
    found: dict[str, Difference] = {}
    for each in [name] if name else all_stages():
        mine, other = here[each], there[each]
        if mine and other:
            pair = (browse.shards(each), theirs.shards(each))
            found[each] = browse.keep(f"diff {other.fingerprint}", mine, partial(compare_datasets, mine, other, *pair))
    alone = [[each for each in all_stages() if a[each] and not b[each]] for a, b in ((here, there), (there, here))]
    facts = {"found": found, "name": name, "alone": alone, "other": str(browse.other.folder)}
    return Page("diff.html.j2", facts)


# --- sessions ----------------------------------------------------------------------------------------------------------


def gather_session_step(browse: Browse, name: str, batch: pa.RecordBatch, given: Mapping[str, str]) -> Facts:
    """One step of a session: the page as it was seen, and what was done on it."""
    steps = batch.to_pylist()[0]["steps"]
    if not steps:
        return {"step": 0, "now": None}
    number = min(given_number(given, "step"), len(steps) - 1)
    now = steps[number]
    try:
        action = json.loads(now["action"])
    except ValueError:
        action = {}
    acted = action.get("name") if isinstance(action, dict) else None
    return {"step": number, "now": now, "seen": frame_page(now["html"], acted), "action": action}


def frame_page(page: str, name: Any) -> str:
    """A simplified page for a frame of its own, with what was acted on marked.

    >>> frame_page('<a name="lamp">Lamp</a>', "lamp").partition("frame.css")[2]
    '"><a class="acted" name="lamp">Lamp</a>'
    """
    if isinstance(name, str) and name:
        own = f' name="{html.escape(name)}"'
        page = page.replace(own, f' class="acted"{own}', 1)
    head = '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/frame.css">'
    return head + page
