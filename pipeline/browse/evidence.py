"""What a row rests on: a question with its events, a trajectory with what is marked in it, a session step by step."""

import html
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.browse.rows import read_row
from shopwright.pipeline.browse.visited import (
    Browse,
    Facts,
    NotFound,
    Redirect,
    given_number,
    whole_number,
)
from shopwright.pipeline.stages import all_stages, find_reference

# Events, or lines of a text, on a page.
EVENTS = 200
# Rows of evidence that stand under their question.
PROOF = 30


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
