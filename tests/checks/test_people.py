"""What checks know of every persona."""

import numpy as np
import pyarrow as pa
import pytest

from shopwright.pipeline.checks.people import PersonaColumns
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.run import Run
from shopwright.schemas.shop import Persona
from tests.rows import write_dataset


@pytest.fixture(scope="module")
def personas(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("people"), seed=5, workers=1)
    run.build("personas", products=2_400, count=40)
    return run.read("personas")


def hours(bits):
    return [hour for hour in range(24) if bits >> hour & 1]


def test_everybody_is_found_with_hours_and_budget(personas):
    known, rows = PersonaColumns(personas), list(personas)
    found = known.find(pa.array([row.id for row in rows]))
    assert known.budgets[found].tolist() == [int(row.budget * 100) for row in rows]
    assert [hours(bits) for bits in known.hours[found].tolist()] == [row.active_hours for row in rows]


def test_a_stranger_is_nobody_who_has_no_hours_and_no_budget(personas):
    known = PersonaColumns(personas)
    found = known.find(pa.array(["persona-0000003", "persona-3", ""]))
    assert (found >= 0).tolist() == [True, False, False]
    assert known.hours[found[1:]].tolist() == known.budgets[found[1:]].tolist() == [0, 0]


def test_without_personas_everybody_is_a_stranger(tmp_path):
    assert PersonaColumns(Dataset(tmp_path, "personas", Persona)).find(pa.array(["persona-0000003"])).tolist() == [-1]


def test_hours_that_no_day_has_are_none(personas, tmp_path):
    row = personas.head(1)[0].model_dump() | {"active_hours": [-1, 9, 24, 33]}
    found = write_dataset(tmp_path, "personas", Persona, [row, row | {"active_hours": []}])
    assert np.unique(PersonaColumns(found).hours).tolist() == [0, 1 << 9]
