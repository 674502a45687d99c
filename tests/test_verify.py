"""Whatever is changed in a finished run, `verify` finds it and says where."""

import hashlib
import json
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Fault
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.verify import verify, verify_dataset
from tests.folders import listing


def failed(run, *names):
    """Check -> the places that fail it, over all datasets or those of some names."""
    verdicts = [one for name in names for one in verify_dataset(run, name)] if names else verify(run)
    return {f"{one.dataset}: {one.check}": one.places for one in verdicts if one.failed}


def rewrite(run, path, change):
    """Changes the rows of a file, and the manifest so that only a check can notice."""
    table = pq.read_table(run.folder / path)
    rows = change(table.to_pylist())
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), run.folder / path)
    sign(run, path, len(rows))


def sign(run, path, rows):
    name = path.split("/")[-2]
    manifest_path = run.folder / "manifests" / f"{name}.json"
    manifest = json.loads(manifest_path.read_text())
    content = (run.folder / path).read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    manifest["files"][path] = {"rows": rows, "bytes": len(content), "sha256": sha256}
    manifest["rows"] = sum(f["rows"] for p, f in manifest["files"].items() if not p.startswith("quarantine/"))
    manifest_path.write_text(json.dumps({**manifest, "sum": None}))
    if name == "personas":
        follow(run, "trajectories", name)
    if name == "catalog":
        follow(run, "personas", name)
        follow(run, "trajectories", name)


def follow(run, name, read):
    """What was made from changed rows says that it was, so that this is not what is noticed."""
    manifest_path = run.folder / "manifests" / f"{name}.json"
    manifest = json.loads(manifest_path.read_text())
    manifest["recipe"]["inputs"][read] = run.read(read).manifest.fingerprint
    manifest_path.write_text(json.dumps({**manifest, "sum": None}))


CATALOG = "catalog/part-00000.parquet"
PERSONAS = "personas/part-00000.parquet"
TRAJECTORIES = "trajectories/part-00000.parquet"


@pytest.fixture
def few(copy):
    """Only what trajectories are made from; the rest takes long to verify, and is verified once."""
    for path in (copy.folder / "manifests").iterdir():
        if path.stem not in ("catalog", "personas", "queries", "trajectories"):
            path.unlink()
    return copy


def test_a_run_as_it_was_built_passes_every_check(small):
    verdicts = verify(small)
    assert [verdict for verdict in verdicts if verdict.failed] == []
    assert len({(verdict.dataset, verdict.check) for verdict in verdicts}) == len(verdicts) > 30


def test_a_share_that_a_later_check_makes_too_large_is_mended_before_the_run_is_whole(toys, tmp_path, monkeypatch):
    def colors(toys):
        return [
            (str(path), row, each["color"])
            for path in toys.files
            for row, each in enumerate(pq.read_table(path).to_pylist())
        ]

    def few_are_red(toys):
        found = colors(toys)
        red = [place for *place, color in found if color == "red"]
        shares.append(len(red) / (len(found) - len(red)))  # what is allowed is what there is at first
        return [Fault(*place, "too many are red") for place in red[round(shares[0] * (len(found) - len(red))) :]]

    def none_is_blue(toys):
        return [Fault(*place, "blue") for *place, color in colors(toys) if color == "blue"]

    shares = []
    strict = replace(all_stages()["toys"], checks=(), across=(few_are_red, none_is_blue))
    monkeypatch.setitem(all_stages(), "toys", strict)
    run = Run(tmp_path, workers=1)
    run.build("toys")
    assert failed(run) == {}
    assert shares[1] > shares[0]
    assert {toy.color for toy in run.read("toys")} == {"red", "green", "octarine"}
    assert run.read("toys").manifest.rejects["too many are red"] > 0


def test_verify_writes_nothing(few, shopwright):
    before = {path: path.stat().st_mtime_ns for path in few.folder.rglob("*")}
    assert shopwright("verify", few.folder, "--workers", 1)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in few.folder.rglob("*")} == before


def test_one_or_two_workers_find_the_same(few):
    rewrite(few, TRAJECTORIES, lambda rows: [{**row, "tokens": 1} for row in rows])
    one, two = verify(Run(few.folder, workers=1)), verify(Run(few.folder, workers=2))
    assert [verdict.as_dict() for verdict in one] == [verdict.as_dict() for verdict in two]
    assert any(verdict.failed for verdict in one)


# --- files -------------------------------------------------------------------------------------------------------------


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (flip_a_byte, "changed since it was made"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged, cannot be read as Parquet"),
        (lambda path: path.write_bytes(b""), "damaged, cannot be read as Parquet"),
        (lambda path: path.unlink(), "missing"),
    ],
    ids=["a byte flipped", "truncated", "empty", "missing"],
)
@pytest.mark.parametrize("shard", [CATALOG, TRAJECTORIES])
def test_a_harmed_shard_is_named(copy, harm, said, shard):
    harm(copy.folder / shard)
    name = shard.partition("/")[0]
    found = failed(copy, name)[f"{name}: files are those of the manifest"]
    assert len(found) == 1
    assert found[0].startswith(f"{shard}: {said}")


@pytest.mark.parametrize(
    "stray", ["catalog/.part-00000.parquet.tmp", "catalog/notes.txt", "trajectories/part-00009.parquet"]
)
def test_a_stray_file_is_named(copy, stray):
    (copy.folder / stray).write_bytes(b"?")
    name = stray.partition("/")[0]
    assert failed(copy, name) == {f"{name}: files are those of the manifest": [f"{stray}: not in the manifest"]}


def test_a_stray_file_in_quarantine_is_named(copy):
    (copy.folder / "quarantine" / "catalog").mkdir(parents=True)
    (copy.folder / "quarantine" / "catalog" / "part-00000.parquet").write_bytes(b"?")
    assert list(failed(copy, "catalog").values()) == [["quarantine/catalog/part-00000.parquet: not in the manifest"]]


def test_a_folder_that_is_gone_is_a_failure_and_not_a_crash(copy):
    for path in (copy.folder / "personas").iterdir():
        path.unlink()
    (copy.folder / "personas").rmdir()
    found = failed(copy, "personas")
    assert found["personas: files are those of the manifest"] == [f"{PERSONAS}: missing"]


# --- rows that only a check can find -----------------------------------------------------------------------------------


def first(rows, **change):
    return [{**rows[0], **change}, *rows[1:]]


def event(rows, place, **change):
    """The first row with one of its events changed; `place` is a kind of action."""
    events = rows[0]["events"]
    number = next(n for n, one in enumerate(events) if one["action_type"] == place)
    return first(rows, events=[*events[:number], {**events[number], **change}, *events[number + 1 :]])


def without_event(rows, number):
    return first(rows, events=rows[0]["events"][:number] + rows[0]["events"][number + 1 :])


def swapped(rows, *names):
    one, two, *rest = rows
    return [
        {**one, **{name: two[name] for name in names}},
        {**two, **{name: one[name] for name in names}},
        *rest,
    ]


@pytest.mark.parametrize(
    ("path", "change", "check"),
    [
        (CATALOG, lambda rows: first(rows, price=Decimal("-1.00")), "price is positive"),
        (CATALOG, lambda rows: first(rows, price=None), "columns are the record's"),
        (CATALOG, lambda rows: first(rows, title="two\nlines"), "texts are clean"),
        (CATALOG, lambda rows: first(rows, category="Nothing"), "category is the leaf"),
        (CATALOG, lambda rows: first(rows, id=rows[1]["id"]), "ids are unique"),
        (CATALOG, lambda rows: first(rows, title=rows[1]["title"].upper()), "titles are unique"),
        (PERSONAS, lambda rows: first(rows, budget=Decimal("0.01")), "budget buys the taste"),
        (PERSONAS, lambda rows: first(rows, brands=["No Such Brand"]), "brands belong to the taste"),
        (PERSONAS, lambda rows: first(rows, age_band="12-17"), "columns are the record's"),
        (PERSONAS, lambda rows: [*rows, {**rows[0], "id": "persona-9999999"}], "personas are distinct"),
        (TRAJECTORIES, lambda rows: event(rows, "click", product_name="Another"), "facts are the catalogs"),
        (TRAJECTORIES, lambda rows: event(rows, "click", price=Decimal("0.49")), "facts are the catalogs"),
        (TRAJECTORIES, lambda rows: event(rows, "search", search_query="zeppelin"), "text tells the events"),
        (TRAJECTORIES, lambda rows: without_event(rows, 7), "text tells the events"),
        (TRAJECTORIES, lambda rows: first(rows, text=rows[0]["text"].replace(" ", "  ", 1)), "text tells the events"),
        (TRAJECTORIES, lambda rows: first(rows, tokens=rows[0]["tokens"] - 1), "tokens fill the budget"),
        (TRAJECTORIES, lambda rows: first(rows, budget="many"), "tokens fill the budget"),
        (TRAJECTORIES, lambda rows: first(rows, persona_id="nobody"), "hours are the personas"),
        (TRAJECTORIES, lambda rows: [{**rows[1], "id": "copy"}, *rows], "trajectories are distinct"),
    ],
)
def test_a_changed_row_fails_its_check_and_is_named(copy, path, change, check):
    rewrite(copy, path, change)
    name = path.partition("/")[0]
    found = failed(copy, name)
    assert "part-00000.parquet" in found[f"{name}: {check}"][0]
    assert "files are those of the manifest" not in " ".join(found)
    assert "manifest tells what the files hold" not in " ".join(found)


def test_two_personas_that_were_swapped_are_found(copy):
    rewrite(copy, PERSONAS, lambda rows: swapped(rows, "id"))
    assert "trajectories: hours are the personas" in failed(copy, "trajectories")


def test_two_trajectories_that_swapped_their_personas_are_found(copy):
    rewrite(copy, TRAJECTORIES, lambda rows: swapped(rows, "persona_id"))
    assert "trajectories: hours are the personas" in failed(copy, "trajectories")


def test_a_named_row_is_told_by_its_id_its_file_and_the_reason(copy):
    changed = copy.read("catalog").head(1)[0].id
    rewrite(copy, CATALOG, lambda rows: first(rows, price=Decimal(0)))
    assert failed(copy, "catalog")["catalog: price is positive"] == [
        f"{changed} (part-00000.parquet): price is not positive"
    ]


def test_a_column_of_another_type_is_found(copy):
    table = pq.read_table(copy.folder / CATALOG)
    place = table.schema.get_field_index("rating")
    table = table.set_column(place, "rating", table["rating"].cast(pa.float32()))
    pq.write_table(table, copy.folder / CATALOG)
    sign(copy, CATALOG, table.num_rows)
    assert failed(copy, "catalog")["catalog: columns are the record's"] == [
        "part-00000.parquet: columns are not those of Product"
    ]


# --- what the manifest tells -------------------------------------------------------------------------------------------


@pytest.fixture
def toybox(tmp_path, toys):
    run = Run(tmp_path / "toys", workers=1)
    run.build("boxes", **{"toys.count": 90})
    return run


def test_a_row_taken_out_of_quarantine_is_missed(toybox):
    rewrite(toybox, "quarantine/toys/part-00000.parquet", lambda rows: rows[1:])
    found = failed(toybox)
    (places,) = [places for check, places in found.items() if check.startswith("toys: manifest tells")]
    assert "rejects" in places[0]
    assert found.keys() == {"toys: manifest tells what the files hold"}


def test_a_reason_that_was_changed_is_missed(toybox):
    rewrite(toybox, "quarantine/toys/part-00000.parquet", lambda rows: first(rows, reasons=["bad luck"]))
    found = failed(toybox)
    assert found == {"toys: manifest tells what the files hold": ["rejects by reason are not those in quarantine"]}


def test_a_row_taken_out_of_a_shard_is_missed(toybox):
    path = "toys/part-00001.parquet"
    table = pq.read_table(toybox.folder / path).slice(1)
    pq.write_table(table, toybox.folder / path)
    rows = json.loads((toybox.folder / "manifests" / "toys.json").read_text())["rows"]
    sign(toybox, path, table.num_rows)
    manifest = json.loads((toybox.folder / "manifests" / "toys.json").read_text())
    (toybox.folder / "manifests" / "toys.json").write_text(json.dumps({**manifest, "rows": rows, "sum": None}))
    assert any("rows and" in place for place in failed(toybox)["toys: manifest tells what the files hold"])


def test_what_was_made_from_other_rows_than_those_that_are_there_is_named(toybox):
    toybox.build("toys", rebuild=True, count=60)
    found = failed(toybox)
    assert found["boxes: manifest tells what the files hold"] == ["made from another toys than the one that is here"]


def test_a_catalog_that_was_made_again_is_noticed_in_all_that_read_it(copy):
    copy.build("catalog", rebuild=True, products=1_300)
    said = "made from another catalog than the one that is here"
    names = ("personas", "trajectories")
    found = failed(copy, *names)
    for name in names:
        assert said in found[f"{name}: manifest tells what the files hold"]


def test_a_check_that_breaks_is_a_failure(copy):
    """Without its catalog a trajectory cannot be judged, so it must not pass."""
    for path in [*(copy.folder / "catalog").iterdir(), copy.folder / "manifests" / "catalog.json"]:
        path.unlink()
    found = failed(copy, "trajectories")
    assert found["trajectories: facts are the catalogs"]
    assert "trajectories: time goes on" not in found


# --- the command -------------------------------------------------------------------------------------------------------


def test_the_command_says_ok_and_ends_with_0(few, shopwright):
    code, out, err = shopwright("verify", few.folder, "--workers", 1)
    assert (code, err) == (0, "")
    assert "FAILED" not in out
    assert f"checks passed in {few.folder}" in out


def test_the_command_names_the_row_and_ends_with_1(few, shopwright):
    rewrite(few, CATALOG, lambda rows: first(rows, price=Decimal(-1)))
    code, out, _ = shopwright("verify", few.folder, "--workers", 1)
    assert code == 1
    assert "price is positive" in out
    assert "(part-00000.parquet): price is not positive" in out
    assert out.count("FAILED") == len(failed(few))


def test_the_command_shows_ten_places_of_many(few, shopwright):
    rewrite(few, CATALOG, lambda rows: [{**row, "price": Decimal(-1)} for row in rows])
    out = shopwright("verify", few.folder, "--workers", 1)[1]
    assert out.count("price is not positive") == 10
    assert "… and 1,190 more" in out


def test_the_command_tells_scripts_in_json(few, shopwright):
    flip_a_byte(few.folder / CATALOG)
    code, out, _ = shopwright("verify", few.folder, "--workers", 1, "--json")
    told = json.loads(out)
    assert code == 1
    assert all(one.keys() == {"dataset", "check", "rows", "places", "failed"} for one in told)
    assert [one["places"] for one in told if one["failed"] and one["dataset"] == "catalog"]


@pytest.mark.parametrize("folder", ["nothing", "."])
def test_a_folder_with_nothing_to_verify_ends_with_2(tmp_path, shopwright, folder):
    code, out, err = shopwright("verify", tmp_path / folder)
    assert (code, out) == (2, "")
    assert err.startswith("shopwright: error: There is no finished dataset in")
    assert err.count("\n") == 1
    assert not listing(tmp_path)
