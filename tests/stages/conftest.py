"""What tests of stages look at: `STAGE` of their file, in the run of its fixture `run`, else in the small one."""

import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.stage import reasons_against


@pytest.fixture(scope="session")
def run(small):
    return small


@pytest.fixture(scope="module")
def rows(request, run):
    return run.read(request.module.STAGE.name).table().to_pylist()


@pytest.fixture(scope="module")
def find_reasons(request, run):
    """What the stage's checks have against each of these rows."""
    stage = request.module.STAGE
    have = {name: run.read(name) for name in stage.reads}
    return lambda *rows: [set(found) for found in reasons_against(stage, to_batch(stage.makes, rows), have)]


@pytest.fixture(scope="module")
def find_row_reasons(find_reasons):
    """The same of one row."""
    return lambda row: find_reasons(row)[0]
