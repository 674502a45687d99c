"""The soak in short: rounds do what they say, count it, and notice what is lost."""

import contextlib

import pytest

from tests.faults import damage, elsewhere, figures, soak
from tests.faults.builds import Case

FAULTS = dict.fromkeys(soak.SINGLE)
ON_STORAGE, ON_CLUSTERS = elsewhere.draw_from(elsewhere.list_missing())


@pytest.fixture
def short(small, forge, tmp_path):
    return soak.Soak(tmp_path, 1, small.folder, forge)


@pytest.fixture
def with_storage(short, tmp_path):
    if "object storage" not in elsewhere.list_missing():
        short.storage = elsewhere.Storage(tmp_path)
    with contextlib.closing(short.storage or contextlib.ExitStack()):
        yield short


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=pytest.mark.slow if fault is soak.memory_short else []) for fault in FAULTS],
    ids=lambda fault: fault.__name__,
)
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


@pytest.mark.slow
@pytest.mark.parametrize("fault", ON_STORAGE, ids=lambda fault: fault.__name__)
def test_each_fault_of_object_storage_leaves_a_dataset_as_it_was(with_storage, fault):
    soak.one_round(with_storage, fault, "personas", chance=soak.Random(4))
    assert with_storage.wrong == []
    assert with_storage.figures["rows compared"] > 0
    assert with_storage.counts.total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", ON_CLUSTERS, ids=lambda fault: fault.__name__)
def test_each_fault_of_a_cluster_leaves_the_datasets_as_they_were(with_storage, fault):
    soak.one_round(with_storage, fault, chance=soak.Random(4))
    assert with_storage.wrong == []
    assert with_storage.counts.total() > 0


@pytest.mark.skipif(not ON_STORAGE, reason="needs s3fs and moto")
def test_a_byte_that_differs_on_storage_is_told(with_storage):
    case = Case(with_storage.base, "personas")
    with_storage.storage.put(case.whole(with_storage.folder / "run"))
    (path,) = [path for path in case.files() if "quarantine" not in path][:1]
    content = with_storage.storage.read(path)
    with_storage.storage.write(path, bytes([content[0] ^ 1]) + content[1:])
    with_storage.storage.fetch(with_storage.folder / "run")
    with pytest.raises(AssertionError):
        with_storage.compared(case, with_storage.folder / "run")


def test_what_is_not_installed_is_told_and_not_drawn(short, monkeypatch):
    monkeypatch.setattr(elsewhere, "find_spec", lambda name: None if name == "distributed" else name)
    assert "| no faults with Dask | distributed not installed |" in figures.tabulate(short, 60)
    assert elsewhere.draw_from(elsewhere.list_missing()) == (elsewhere.ON_STORAGE, [])


def test_what_is_lost_is_told_and_the_soak_goes_on(short, monkeypatch):
    def overlooked(case, folder):
        return {}

    monkeypatch.setattr(Case, "build", overlooked)
    soak.one_round(short, soak.damaged, "personas", chance=soak.Random(4))
    assert len(short.wrong) == 1
    assert "damaged personas: AssertionError" in short.wrong[0]
    assert any("**see below**" in line or "see below" in line for line in figures.tabulate(short, 60))


def test_a_round_is_a_function_of_the_seed_and_its_number(short):
    drawn = [soak.drawn(short, number)[:2] for number in range(40)]
    assert drawn == [soak.drawn(short, number)[:2] for number in range(40)]
    assert len({fault for fault, _ in drawn}) > 8
    short.seed = 2
    assert drawn != [soak.drawn(short, number)[:2] for number in range(40)]


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
