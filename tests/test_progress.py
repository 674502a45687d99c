"""What a build says of itself while it is at work, and what it knows of earlier ones."""

from types import SimpleNamespace

import pytest

from shopwright.pipeline.progress import LineProgress
from shopwright.pipeline.run import Run


def test_a_long_build_tells_rows_a_second_rejects_and_the_time_left(capsys, monkeypatch):
    clock = iter([0.0, 2.0, 6.0, 6.0, 7.0, 8.0])
    monkeypatch.setattr("shopwright.pipeline.progress.monotonic", lambda: next(clock))
    lines = LineProgress()
    lines.start("toys", units=400, shards=6, missing=4)
    for _ in range(3):
        lines.shard(rows=90, rejected=10)
    assert capsys.readouterr().err.splitlines() == [
        "toys: 4 shards to make, 2 of 6 shards were there already",
        "toys: 2 of 4 shards, 180 rows, 30 rows/s, 20 rejected, about 6 s left",
    ]


def build(capsys, folder, name="toys", **settings):
    Run(folder, workers=1).build(name, progress=LineProgress(), **settings)
    return capsys.readouterr().err.splitlines()


@pytest.fixture
def clock(monkeypatch, tmp_path):
    """A cache of its own, and a clock that goes on by the seconds of a step each time it is read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = SimpleNamespace(now=0.0, step=10.0)

    def read():
        found.now += found.step
        return found.now

    monkeypatch.setattr("shopwright.pipeline.progress.monotonic", read)
    return found


def test_a_build_begins_with_the_seconds_that_earlier_ones_of_its_kind_took_here(toys, capsys, tmp_path, clock):
    assert build(capsys, tmp_path / "first")[0] == "toys: 4 shards to make"
    # The clock is read as it begins, twice a shard, and at its end: 90 s for 80 toys.
    assert (
        build(capsys, tmp_path / "more", count=160)[0] == "toys: 8 shards to make, about 180 s by earlier builds here"
    )


def test_a_build_that_makes_other_things_is_no_measure(toys, capsys, tmp_path, clock):
    build(capsys, tmp_path / "first", "boxes")
    more = build(capsys, tmp_path / "second", "boxes", **{"boxes.count": 5})
    other = build(capsys, tmp_path / "third", "boxes", label="crate")
    told = [next(line for line in lines if line.startswith("boxes:")) for lines in (more, other)]
    assert ["earlier builds" in line for line in told] == [True, False]


def test_a_much_smaller_build_says_nothing_of_larger_ones_and_a_quick_one_tells_no_seconds(
    toys, capsys, tmp_path, clock
):
    build(capsys, tmp_path / "large", count=160)
    clock.step = 1_000.0
    build(capsys, tmp_path / "small", count=20)
    assert "about 170 s" in build(capsys, tmp_path / "same", count=160)[0]
    clock.step = 0.1
    build(capsys, tmp_path / "quick", count=160)
    assert build(capsys, tmp_path / "again", count=160)[0] == "toys: 8 shards to make"


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"a": ["b", 2]}', "\0"])
def test_broken_notes_of_earlier_builds_are_named_and_written_anew(toys, capsys, tmp_path, clock, text):
    notes = tmp_path / "cache" / "shopwright" / "build-times.json"
    notes.parent.mkdir(parents=True)
    notes.write_text(text)
    told = build(capsys, tmp_path / "run")
    assert told[0] == f"{notes} cannot be read, so nothing is known of earlier builds here; it is written anew."
    assert build(capsys, tmp_path / "again")[0].startswith("toys: 4 shards to make, about ")


def test_a_home_that_cannot_be_written_to_ends_no_build(toys, capsys, tmp_path, clock, monkeypatch):
    monkeypatch.setattr("shopwright.pipeline.progress.write_whole", raise_read_only)
    assert build(capsys, tmp_path / "run")[-1].startswith("toys: 43 rows")


def raise_read_only(path, text):
    raise OSError(30, "Read-only file system")
