"""Records by id, of which only some are held."""

import pytest

from shopwright.pipeline.checks.record_cache import READ_AHEAD, RecordCache
from shopwright.schemas.record import Rejected
from tests.rows import write_dataset


@pytest.fixture
def rows(tmp_path):
    found = [Rejected(id=f"r{number}", reasons=[], record=str(number)) for number in range(140)]
    return write_dataset(tmp_path, "rejects", Rejected, found[:70], found[70:])


@pytest.mark.parametrize("order", [1, -1])
def test_every_record_is_found_in_whatever_order_it_is_asked_for(rows, order):
    found = RecordCache(rows)
    ids = [f"r{number}" for number in range(140)][::order]
    assert [found[id].record for id in ids] == [id[1:] for id in ids]


def test_what_is_not_there_is_none_before_and_after_others(rows):
    found = RecordCache(rows)
    assert found.of("nobody") is None
    assert found["r139"].id == "r139"
    assert found.of("nobody") is None
    with pytest.raises(KeyError):
        found["nobody"]


def test_no_more_are_held_than_are_read_together(rows):
    found = RecordCache(rows)
    for number in range(140):
        found.of(f"r{number}")
        assert len(found.near) <= READ_AHEAD
