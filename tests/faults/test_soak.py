"""The soak in short: rounds do what they say, count it, and notice what is lost."""

import pytest

from tests.faults import damage, soak
from tests.faults.builds import Case


@pytest.fixture
def short(small, forge, tmp_path):
    return soak.Soak(tmp_path, 1, small.folder, forge)


FAULTS = dict.fromkeys(soak.SINGLE)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_of_one_dataset_leaves_it_as_it_was(short, fault):
    soak.one_round(short, fault, "personas", chance=soak.Random(4))
    assert short.wrong == []
    assert short.figures["rows compared"] > 0
    assert short.counts.total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*soak.COMMANDS, *soak.INPUT], ids=lambda fault: fault.__name__)
def test_each_fault_of_whole_commands_and_each_bad_input_too(short, fault):
    soak.one_round(short, fault, chance=soak.Random(4))
    assert short.wrong == []
    assert short.counts.total() + short.bad.total() > 0


def test_what_is_lost_is_told_and_the_soak_goes_on(short, monkeypatch):
    def overlooked(case, folder):
        return {}

    monkeypatch.setattr(Case, "build", overlooked)
    soak.one_round(short, soak.damaged, "personas", chance=soak.Random(4))
    assert len(short.wrong) == 1
    assert "damaged personas: AssertionError" in short.wrong[0]
    assert any("**see below**" in line or "see below" in line for line in soak.tabulate(short, 60))


def test_a_round_is_a_function_of_the_seed_and_its_number(short):
    drawn = [soak.drawn(short, number)[:2] for number in range(40)]
    assert drawn == [soak.drawn(short, number)[:2] for number in range(40)]
    assert len({fault for fault, _ in drawn}) > 8
    short.seed = 2
    assert drawn != [soak.drawn(short, number)[:2] for number in range(40)]


def test_the_slope_of_memory_is_that_of_the_second_half():
    rising = [(60.0 * minute, 1e9 + 1e6 * minute) for minute in range(60)]
    assert soak.slope(rising) == pytest.approx(60)
    settled = [(60.0 * minute, 1e9 * min(1, minute / 20)) for minute in range(60)]
    assert soak.slope(settled) == pytest.approx(0)
    assert soak.slope([]) == 0


def test_damage_is_damage():
    """Each kind changes the file that it is given."""
    from pathlib import Path
    from random import Random
    from tempfile import TemporaryDirectory

    for hurt in damage.ALL:
        for number in range(20):
            with TemporaryDirectory() as name:
                path = Path(name) / "file"
                path.write_bytes(content := Random(number).randbytes(500))
                hurt(path, Random(number))
                assert not path.exists() or path.read_bytes() != content
