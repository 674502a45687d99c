"""What is damaged is named and made again; the rows are those that were there before."""

import contextlib
import json
from random import Random

import pytest

from shopwright.pipeline.problem import Problem, Stale
from shopwright.pipeline.run import Run
from shopwright.pipeline.shards import finish, make_shard
from shopwright.pipeline.stages import all_stages
from tests.faults import damage
from tests.faults.builds import Case
from tests.folders import times

QUICK = ("personas", "queries", "trajectories", "orders", "env_episodes")
HURT = [pytest.param(hurt, id=hurt.__name__) for hurt in damage.ALL]


@pytest.fixture(params=[pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in all_stages()])
def case(request, small):
    return Case(small.folder, request.param)


@pytest.mark.parametrize("hurt", HURT)
def test_a_damaged_file_of_a_finished_dataset_is_named_and_made_again(case, hurt, tmp_path):
    chance = Random(f"{case.name} {hurt.__name__}")
    folder = case.whole(tmp_path / "run")
    path = chance.choice(case.files())
    hurt(folder / path, chance)
    told = case.build(folder)
    assert list(told) == [path]
    case.same(folder)
    assert case.build(folder) == {}


@pytest.fixture
def toybox(tmp_path, toys):
    """Four shards, rejects in each, rows that were held back when it was judged as a whole."""
    run = Run(tmp_path / "base", workers=1)
    run.build("toys")
    return Case(run.folder, "toys")


@pytest.mark.parametrize("hurt", HURT)
def test_whichever_file_it_is(toybox, hurt, tmp_path):
    chance = Random(hurt.__name__)
    assert {path.split("/")[0] for path in toybox.files()} == {"quarantine", "toys"}
    for path in toybox.files():
        folder = toybox.whole(tmp_path / "run")
        hurt(folder / path, chance)
        assert list(toybox.build(folder)) == [path]
        toybox.same(folder)


def test_every_single_bit_counts(toybox, tmp_path):
    folder, path = tmp_path / "run", "toys/part-00001.parquet"
    content = (toybox.base / path).read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        toybox.whole(folder)
        (folder / path).unlink()
        (folder / path).write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        assert list(Run(folder).damage("toys")) == [path]


def test_several_are_all_named(toybox, tmp_path):
    folder = toybox.whole(tmp_path / "run")
    paths = ["quarantine/toys/part-00003.parquet", "toys/part-00000.parquet", "toys/part-00002.parquet"]
    for path in paths:
        (folder / path).unlink()
    assert toybox.build(folder) == dict.fromkeys(paths, "missing")
    toybox.same(folder)


@pytest.mark.parametrize("hurt", HURT)
def test_a_damaged_shard_of_a_half_built_dataset_is_named_and_made_again(toybox, hurt, tmp_path):
    chance = Random(hurt.__name__)
    for kind in ("toys", "quarantine/toys"):
        folder = half_built(toybox, tmp_path / "run")
        path = f"{kind}/part-00001.parquet"
        kept = times(folder)
        hurt(folder / path, chance)
        told = toybox.build(folder)
        if not (kind == "toys" and hurt is damage.gone):  # then it is as if it had not been made yet
            assert list(told) == [path]
        toybox.same(folder)
        assert "toys/part-00000.parquet" in kept


def half_built(case, folder):
    """Two shards of four are made."""
    case.fresh(folder)
    run = Run(folder, workers=1)
    with run.lock():
        build = run.prepare(case.name, case.manifest.recipe.settings)
        for index in (0, 1):
            make_shard(build, index)
    return folder


@pytest.mark.parametrize("hurt", [each for each in HURT if each.values[0] is not damage.swapped])
def test_a_damaged_note_of_a_shard_costs_that_shard_and_no_more(toybox, hurt, tmp_path):
    chance = Random(hurt.__name__)
    folder = half_built(toybox, tmp_path / "run")
    hurt(folder / "manifests" / "toys.building" / "part-00001.json", chance)
    told = toybox.build(folder)
    assert all("part-00001" in path for path in told)
    toybox.same(folder)


def test_a_shard_that_changes_between_its_making_and_the_end_is_noticed(toybox, tmp_path):
    folder = toybox.fresh(tmp_path / "run")
    run = Run(folder, workers=1)
    with run.lock():
        build = run.prepare("toys", {})
        for index in range(build.shards):
            make_shard(build, index)
        damage.flipped(folder / "toys" / "part-00002.parquet", Random(1))
        with pytest.raises(Problem, match=r"toys/part-00002\.parquet: not the bytes that were written"):
            finish(build)
    assert toybox.build(folder) == {}
    toybox.same(folder)


def test_every_bit_of_a_manifest_counts(toybox, tmp_path):
    folder = toybox.whole(tmp_path / "run")
    path = folder / "manifests" / "toys.json"
    content = path.read_bytes()
    chance = Random(5)
    for _ in range(300):
        bit = chance.randrange(8 * len(content))
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.unlink()
        path.write_bytes(changed)
        with contextlib.suppress(Problem):  # else white space, or a letter that means the same
            assert Run(folder).read("toys").manifest == toybox.manifest


@pytest.mark.parametrize("hurt", [each for each in HURT if each.values[0] not in (damage.swapped, damage.gone)])
def test_a_damaged_manifest_or_recipe_is_named_and_rebuild_mends_it(toybox, hurt, tmp_path):
    chance = Random(hurt.__name__)
    for name in ("toys.json", "toys.building.json"):
        folder = (toybox.whole if name == "toys.json" else lambda to: half_built(toybox, to))(tmp_path / "run")
        hurt(folder / "manifests" / name, chance)
        with pytest.raises(Problem, match=rf"manifests/{name} cannot be read as a \w+ of this version .* --rebuild"):
            toybox.build(folder)
        toybox.build(folder, rebuild=True)
        toybox.same(folder)


@pytest.mark.parametrize("name", ["toys.json", "toys.building.json"])
def test_a_manifest_from_the_future_says_so_and_rebuild_makes_it_ours(toybox, name, tmp_path):
    folder = (toybox.whole if name == "toys.json" else lambda to: half_built(toybox, to))(tmp_path / "run")
    path = folder / "manifests" / name
    found = json.loads(path.read_text())
    found.get("recipe", found)["version"] = "7.0"
    path.unlink()
    path.write_text(json.dumps({**found, "sum": "of another kind", "lanes": 3}))
    with pytest.raises(Problem, match=r"of this version \(it was written by version 7\.0\)"):
        toybox.build(folder)
    toybox.build(folder, rebuild=True)
    toybox.same(folder)


def test_damage_to_what_other_code_made_is_named_and_not_mended_silently(toybox, tmp_path):
    folder = toybox.whole(tmp_path / "run")
    path = folder / "manifests" / "toys.json"
    found = json.loads(path.read_text())
    found["recipe"]["code"]["pipeline"] = "0123456789ab"
    path.unlink()
    path.write_text(json.dumps({**found, "sum": None}))
    (folder / "toys" / "part-00001.parquet").unlink()
    for name in ("toys", "boxes"):
        told = r"toys in .* is damaged \(toys/part-00001\.parquet: missing\) and was made differently: the code in pipeline\."
        with pytest.raises(Stale, match=told):
            Run(folder, workers=1).build(name)


def test_a_shard_that_the_manifest_does_not_know_is_named_and_left(toybox, tmp_path):
    folder = toybox.whole(tmp_path / "run")
    stray = folder / "toys" / "part-00009.parquet"
    stray.write_bytes((folder / "toys" / "part-00001.parquet").read_bytes())
    for name in ("toys", "boxes"):
        with pytest.raises(Problem, match=r"part-00009\.parquet is not in the manifest of toys\. Take it away"):
            Run(folder, workers=1).build(name)
    assert stray.exists()


def test_what_is_damaged_is_told_where_it_is_read_too(toybox, tmp_path, capsys):
    from shopwright.pipeline.progress import LineProgress

    folder = toybox.whole(tmp_path / "run")
    (folder / "toys" / "part-00001.parquet").unlink()
    Run(folder, workers=1).build("boxes", progress=LineProgress())
    told = capsys.readouterr().err
    assert "toys: toys/part-00001.parquet was damaged: missing. Its shard is made again." in told
    assert times(folder).keys() >= times(toybox.base).keys()
    assert Run(folder).damage("toys") == {}
