"""What each page shows: facts for the templates, from a run and an address."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

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
from shopwright.pipeline.browse.evidence import redirect_to_evidence
from shopwright.pipeline.browse.links import Walk, condition_of
from shopwright.pipeline.browse.rows import query_rows, read_row, read_row_dicts
from shopwright.pipeline.browse.search import (
    Filter,
    count_choices,
    count_rows,
    list_choice_columns,
    read_filter,
    select_rows,
)
from shopwright.pipeline.browse.visited import (
    Browse,
    Facts,
    NotFound,
    Page,
    Redirect,
    address,
    given_number,
    whole_number,
)
from shopwright.pipeline.publish.report import changed_settings, render_report
from shopwright.pipeline.shards import read_tries
from shopwright.pipeline.stage import resolve_reference
from shopwright.pipeline.stages import all_stages, find_reference

HERE = Path(__file__).parent
# Rows on a page.
PAGE = 25


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


def home_page(browse: Browse) -> Page:
    found = browse.manifests()
    played = any(name in EPISODES for name, manifest in found.items() if manifest)
    made = {name: manifest for name, manifest in found.items() if manifest}
    return Page(
        "home.html.j2",
        {
            "made": made,
            "played": played,
            "changed": {name: changed_settings(manifest) for name, manifest in made.items()},
            "missing": [name for name, manifest in found.items() if manifest is None],
            "abouts": {name: stage.about for name, stage in all_stages().items()},
        },
    )


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
