"""What each page shows: facts for the templates, from a run and an address."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.browse.display import list_references_to, read_field_docs
from shopwright.pipeline.browse.rows import Shards, find_row_number, query_rows, read_row, read_row_dicts, shards
from shopwright.pipeline.browse.sql import as_query
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import map_paths
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

    def __init__(self, run: Run, worker: Worker | None = None) -> None:
        self.run = run
        self.worker = worker or Worker()

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


def open_page(browse: Browse, parts: list[str], given: Mapping[str, str]) -> Page | Redirect:
    """The page at an address. Raises NotFound, Problem."""
    match parts:
        case []:
            return home_page(browse)
        case ["data", name]:
            return rows_page(browse, name, given)
        case ["data", name, "id"]:
            return redirect_to_id(browse, name, given)
        case ["data", name, number, "evidence"] if name in all_stages() and all_stages()[name].views.proof:
            return redirect_to_evidence(browse, name, whole_number(number))
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
    made = {name: manifest for name, manifest in found.items() if manifest}
    return Page(
        "home.html.j2",
        {
            "made": made,
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


def rows_page(browse: Browse, name: str, given: Mapping[str, str]) -> Page:
    """The rows of a dataset, all of them or those that a query gives."""
    from shopwright.pipeline.arrow import arrow_schema

    made, found = browse.read_manifest(name), browse.shards(name)
    fields = list(all_stages()[name].makes.model_fields)
    columns = list(all_stages()[name].views.columns) or [each for each in fields if each != "id"][:5]
    sql, skip = given.get("sql", "").strip(), given_number(given, "from")
    facts: Facts = {"name": name, "made": made, "sql": sql, "skip": skip, "total": found.rows, "error": None}
    types = [(field.name, type_in_words(field.type)) for field in arrow_schema(all_stages()[name].makes)]
    facts |= {"fields": types, "manual": read_field_docs(all_stages()[name].makes)}
    if not sql:
        rows = read_row_dicts(found, range(skip, min(skip + PAGE, found.rows)), ["id", *columns])
        facts |= {"columns": ["id", *columns], "rows": rows, "more": skip + PAGE < found.rows}
        return Page("rows.html.j2", facts)
    reply = query_rows(browse.worker, found, as_query(sql, ["n", "id", *columns]), skip=skip, most=PAGE + 1)
    facts |= {"error": reply.get("error"), "columns": [c for c in reply.get("columns", []) if c != "n"]}
    rows = [dict(zip(reply["columns"], each, strict=True)) for each in reply.get("rows", [])]
    facts |= {"rows": rows[:PAGE], "more": len(rows) > PAGE, "total": None}
    return Page("rows.html.j2", facts, 400 if facts["error"] else 200)


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
    return Page(f"{name}.html.j2" if (HERE / f"{name}.html.j2").exists() else "row.html.j2", facts)


def link_related_rows(browse: Browse, name: str, row: Facts) -> list[tuple[str, str]]:
    """Where else this row plays a part: what it names, and who names it, each with its address."""
    found = [(field, target) for field in row if (target := find_reference(name, field)) and row[field]]
    there = {each for each, made in browse.manifests().items() if made}
    up = [(target, address("data", target, "id", **{"is": row[field]})) for field, target in found if target in there]
    same = str(row["id"]).replace("'", "''")
    down = [(other, field) for other, field in list_references_to(name) if other in there]
    return up + [(f"{other} of it", address("data", other, sql=f"{field} = '{same}'")) for other, field in down]


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
