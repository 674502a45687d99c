"""A run of an earlier release gets today's columns: it is listed, verified and made from, and a kill in between loses nothing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from shopwright.pipeline import migrations
from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.commands.listing import list_datasets
from shopwright.pipeline.dataset import digest, write_json_model
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.schema_steps import STEPS, schema_number
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.verify import verify
from shopwright.schemas.record import Record
from tests import toys as toy_stages
from tests.folders import checksums

PINNED = Path(__file__).with_name("schema_numbers.json")


class Painted(Record):
    """As a later release has a toy: a column renamed, one new, in another order."""

    paint: str
    number: int
    wheels: int | None


Painted.__name__ = "Toy"


def rename_color(table):
    return table.rename_columns({"color": "hue"})


def paint_and_count_wheels(table):
    import pyarrow as pa

    renamed = table.rename_columns({"hue": "paint"})
    return renamed.append_column("wheels", pa.nulls(len(table), pa.int64()))


@pytest.fixture
def early(toys, tmp_path):
    """A run of toys, and of boxes made from them, before the columns changed."""
    run = Run(tmp_path / "run", workers=1)
    run.build("boxes")
    return run


@pytest.fixture
def later(early, monkeypatch):
    """The release after that, on the same run."""
    monkeypatch.setitem(STEPS, "Toy", (rename_color, paint_and_count_wheels))
    monkeypatch.setitem(all_stages(), "toys", replace(toy_stages.toys, makes=Painted, checks=(), across=()))
    return early


def list_made(run):
    return [(toy.id, toy.number, getattr(toy, "color", None) or toy.paint) for toy in run.read("toys")]


def test_an_earlier_run_is_listed_and_says_what_to_do_where_its_rows_are_asked_for(later):
    rows = {each["dataset"]: each["rows"] for each in list_datasets(later.folder)}
    assert rows["toys"] > 40
    with pytest.raises(
        Problem, match=r"toys in .* has the columns of version .* \(schema 1, here 3\)\. Run: shopwright verify"
    ):
        _ = later.read("toys").manifest


def test_an_earlier_run_is_verified_with_todays_columns(early, request):
    before, fingerprint = list_made(early), early.read("boxes").manifest.fingerprint
    later = request.getfixturevalue("later")
    verdicts = verify(later)
    assert [each.places for each in verdicts if each.failed] == []
    assert list_made(later) == before
    assert all(toy.wheels is None for toy in later.read("toys"))
    assert later.read("toys").manifest.recipe.schema_number == 3
    assert later.read("boxes").manifest.fingerprint == fingerprint
    assert not list((later.folder / "manifests").glob("*migrating*"))


def test_an_earlier_run_goes_on(later):
    """What is made from the toys is made from the rows that are there; a half-built one keeps its shards."""
    boxes = later.folder / "manifests" / "boxes.json"
    recipe = json.loads(boxes.read_text())["recipe"]
    boxes.unlink()
    (later.folder / "manifests" / "boxes.building.json").write_text(json.dumps(recipe))
    toys = checksums(later.folder / "quarantine" / "toys")
    made = later.build("boxes")
    assert made.rows == 3
    assert made.recipe.inputs["toys"] == later.read("toys").manifest.fingerprint
    assert checksums(later.folder / "quarantine" / "toys") == toys


@pytest.mark.parametrize("moment", ["write_new_files", "move_into_place", "follow", "remove"])
def test_stopped_at_any_moment_it_is_ended_by_the_next_command(later, monkeypatch, moment):
    """Before each call of a step, and after it."""
    really, made = getattr(migrations, moment), []

    def stop_at_second(*given):
        if len(made) == 1:
            raise KeyboardInterrupt
        made.append(given)
        return really(*given)

    for stopped in (stop_at_second, lambda *given: (really(*given), stop())):
        made.clear()
        monkeypatch.setattr(migrations, moment, stopped)
        try:
            migrations.migrate(later.folder)
        except KeyboardInterrupt:
            monkeypatch.setattr(migrations, moment, really)
    monkeypatch.setattr(migrations, moment, really)
    assert [each.places for each in verify(later) if each.failed] == []
    assert later.read("boxes").manifest.recipe.inputs["toys"] == later.read("toys").manifest.fingerprint


def stop():
    raise KeyboardInterrupt


def test_damaged_rows_are_not_moved_and_are_named(later):
    file = later.read("toys").files[0]
    file.write_bytes(file.read_bytes()[:-1])
    (wrong, *_) = [each for each in verify(later) if each.failed]
    assert file.name in wrong.places[0]
    assert later.read("toys").read_manifest().recipe.schema_number == 1
    with pytest.raises(Problem, match="or build it with --rebuild"):
        later.build("boxes")
    assert later.recipe_of("toys", forgive=True) == (None, False)


def test_a_plan_that_was_damaged_is_made_again(later):
    plan = later.folder / "manifests" / "toys.migrating.json"
    plan.write_text("{}")
    assert migrations.migrate(later.folder) == ["toys"]
    assert not plan.exists()


def test_rows_of_a_later_release_are_left_to_it(early):
    path = early.read("toys").manifest_path
    made = early.read("toys").manifest
    recipe = made.recipe.model_copy(update={"schema_number": 2, "version": "9.0"})
    write_json_model(path, made.model_copy(update={"recipe": recipe}))
    with pytest.raises(Problem, match=r"has the columns of version 9\.0 \(schema 2, here 1\)\. Use that version"):
        early.build("boxes", rebuild=True)


def test_every_records_columns_are_those_of_its_number():
    """Columns that change want a step in `pipeline/schema_steps.py`; then this table is written anew, by the command in its message."""
    known, now = json.loads(PINNED.read_text()), describe_records()
    changed = [name for name in now if known.get(name) != now[name]]
    assert not changed, f"{changed}: add a step, then run: python -m tests.test_migrations"


def describe_records():
    """The schema number of each record, and a digest of its columns."""
    makes = {stage.makes for stage in all_stages().values()}
    found = {each.__name__: [schema_number(each), digest(str(arrow_schema(each)))] for each in makes}
    return dict(sorted(found.items()))


if __name__ == "__main__":
    PINNED.write_text(json.dumps(describe_records(), indent=1) + "\n")
