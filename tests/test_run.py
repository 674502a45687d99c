"""A build gives the same rows however it goes, keeps what is finished, and names what has changed."""

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from shopwright.pipeline import run as run_module
from shopwright.pipeline.code_digest import digest_code
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.problem import Ended, Problem, Stale
from shopwright.pipeline.run import Run, checksums
from shopwright.pipeline.runners import open_process_pool
from shopwright.pipeline.shards import make_shard
from shopwright.pipeline.stage import Fault, compares_rows
from shopwright.pipeline.stages import all_stages, upstream
from tests.folders import checksums as files_in
from tests.folders import listing, times
from tests.processes import Build

AT_WORK = "trajectories:"
SMALL = ("build", "trajectories", "--products", "1200", "--count", "96", "--tokens", "6k")


# --- the same rows, always ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """A build with one worker that nobody disturbs, and how long its last dataset took."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    command(*SMALL, "--run", folder, "--workers", "1", hash_seed="1")
    return folder


def command(*arguments, hash_seed="0"):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    words = [sys.executable, "-m", "shopwright.pipeline", *map(str, arguments)]
    done = subprocess.run(words, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_or_two_workers_in_processes_with_other_hashes_write_the_same_bytes(undisturbed, tmp_path):
    command(*SMALL, "--run", tmp_path / "run", "--workers", "2", hash_seed="2")
    assert files_in(tmp_path / "run") == files_in(undisturbed)
    one, two = (Run(folder).read("trajectories").manifest for folder in (undisturbed, tmp_path / "run"))
    assert one.model_dump(exclude={"seconds", "workers"}) == two.model_dump(exclude={"seconds", "workers"})
    assert len(one.files) > 5


def test_another_seed_gives_other_rows_of_every_dataset(small, tmp_path):
    other = Run(tmp_path / "run", seed=4, workers=1)
    other.build("questions", products=1_200, count=4, tokens="6k", per_trajectory=2)
    for name in upstream("questions"):
        one, two = (set(map(str, run.read(name).table().to_pylist())) for run in (small, other))
        assert two
        assert not one & two


def test_a_build_of_what_is_there_does_nothing(copy):
    before = {**files_in(copy.folder), **times(copy.folder)}
    copy.build("questions")
    assert {**files_in(copy.folder), **times(copy.folder)} == before


# --- stopped at any moment ---------------------------------------------------------------------------------------------


def kill_the_group(build):
    os.killpg(build.process.pid, signal.SIGKILL)


def kill_only_the_parent(build):
    build.process.kill()


def killed_again_and_again(folder, undisturbed, kills):
    """Builds, is killed, builds on, and so forth; in the end nobody can tell."""
    kept = {}
    for kill, said, moment in kills:
        build = Build("shopwright.pipeline", folder, *SMALL)
        build.until(said)
        if said == AT_WORK:
            build.a_worker()
        time.sleep(moment)
        kill(build)
        assert build.process.wait() == -signal.SIGKILL, "it was finished before it was killed"
        assert build.gone(), "a worker outlived it"
        whole = times(folder)
        assert whole == whole | kept, "a finished shard was made again"
        kept = whole
    command(*SMALL, "--run", folder, "--workers", "2")
    assert times(folder) == times(folder) | kept, "a finished shard was made again"
    assert files_in(folder) == files_in(undisturbed)
    assert listing(folder) == listing(undisturbed)


@pytest.mark.slow
def test_killed_at_random_moments_a_build_ends_as_an_undisturbed_one(tmp_path, undisturbed):
    moments = Random("short")
    kills = [
        (kill_the_group, "to make", moments.uniform(0, 0.8)),
        (kill_only_the_parent, AT_WORK, moments.uniform(0, 0.2)),
    ]
    killed_again_and_again(tmp_path / "run", undisturbed, kills)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kill", [kill_the_group, kill_only_the_parent])
def test_killed_at_five_random_moments_a_build_ends_as_an_undisturbed_one(tmp_path, undisturbed, kill, seed):
    moments = Random(f"{kill.__name__} {seed}")
    early = [(kill, "to make", moments.uniform(0, 0.8)) for _ in range(3)]
    late = [(kill, AT_WORK, moments.uniform(0, 0.3)) for _ in range(2)]
    killed_again_and_again(tmp_path / "run", undisturbed, early + late)


def test_asked_to_stop_a_build_says_so_and_can_go_on(tmp_path, undisturbed):
    for stop, moment in ((signal.SIGTERM, 0.8), (signal.SIGINT, 0.2)):
        build = Build("shopwright.pipeline", tmp_path / "run", *SMALL)
        build.until(AT_WORK)
        time.sleep(moment)
        os.killpg(build.process.pid, stop)
        assert build.ended() == (130, "Stopped. What is finished is kept: run the same command again to go on.\n")
        assert build.gone()
    command(*SMALL, "--run", tmp_path / "run")
    assert files_in(tmp_path / "run") == files_in(undisturbed)
    assert listing(tmp_path / "run") == listing(undisturbed)


class Killed(BaseException):
    """As `kill -9`: from then on nothing in the folder is renamed or removed."""


@contextlib.contextmanager
def killed_before(step):
    """Ends the build before its n-th renaming or removal of a file."""
    steps = 0
    with pytest.MonkeyPatch.context() as patch:

        def counting(act):
            def counted(*arguments, **options):
                nonlocal steps
                steps += 1
                if steps > step:
                    raise Killed
                return act(*arguments, **options)

            return counted

        patch.setattr(os, "replace", counting(os.replace))
        patch.setattr(Path, "unlink", counting(Path.unlink))
        yield


def test_killed_between_any_two_steps_a_build_ends_as_an_undisturbed_one(tmp_path, toys):
    whole = Run(tmp_path / "whole", workers=1)
    manifest = whole.build("toys", count=60)
    assert min(manifest.rejects.values()) > 0
    for step in range(1_000):
        run = Run(tmp_path / str(step), workers=1)
        try:
            with killed_before(step):
                run.build("toys", count=60)
            break
        except Killed:
            run.build("toys", count=60)
            assert files_in(run.folder) == files_in(whole.folder), step
            assert listing(run.folder) == listing(whole.folder), step
            assert run.read("toys").manifest.rejects == manifest.rejects
    assert 20 < step < 999


@pytest.mark.slow
def test_killed_while_rows_are_held_back_and_killed_again_while_that_is_mended(tmp_path, toys):
    whole = Run(tmp_path / "whole", workers=1)
    whole.build("toys", count=40)
    first = Run(tmp_path / "first", workers=1)
    for step in range(1_000):
        with contextlib.suppress(Killed), killed_before(step):
            first.build("toys", count=40)
        if list((first.folder / "quarantine" / "toys").glob("*-across.parquet")):
            break
        first.clear("toys")
    for step in range(1_000):
        run = Run(shutil.copytree(first.folder, tmp_path / str(step)), workers=1)
        try:
            with killed_before(step):
                run.build("toys")
            break
        except Killed:
            run.build("toys")
            assert files_in(run.folder) == files_in(whole.folder), step
            assert listing(run.folder) == listing(whole.folder), step
    assert 5 < step < 999


def test_what_judges_shares_is_asked_again_when_rows_were_taken_out_and_what_compares_rows_is_not(
    tmp_path, toys, monkeypatch
):
    asked = []

    @compares_rows
    def twins(found):
        asked.append("twins")
        return ()

    def share(found):
        asked.append(f"share of {len(found)}")
        return ()

    def first_of_all(found):
        asked.append(f"first of {len(found)}")
        return [Fault(str(found.files[0]), 0, "first of all")] if len(found) == 80 else ()

    stage = replace(all_stages()["toys"], checks=(), across=(twins, share, first_of_all))
    monkeypatch.setitem(all_stages(), "toys", stage)
    assert Run(tmp_path / "run", workers=1).build("toys", lost=1_000).rows == 79
    assert asked == ["twins", "share of 80", "first of 80", "share of 79"]


def test_what_a_killed_worker_had_begun_is_taken_away_when_the_dataset_is_whole(tmp_path, toys):
    run = Run(tmp_path / "run", workers=1)
    with run.lock():
        run.prepare("toys", {})
        for folder in ("toys", "quarantine/toys"):
            (run.folder / folder).mkdir(parents=True, exist_ok=True)
            (run.folder / folder / ".part-00000.parquet.0123abcd.tmp").write_text("half")
        assert len(list(run.folder.rglob("*.tmp"))) == 2
    run.build("toys")
    assert not list(run.folder.rglob("*.tmp"))


def test_bad_input_that_shows_in_the_middle_of_a_build_leaves_nothing(tmp_path, toys, monkeypatch):
    def fails_late(build, index):
        if index == 2:
            raise Problem("The file is damaged.")
        return make_shard(build, index)

    monkeypatch.setattr(run_module, "make_shard", fails_late)
    with pytest.raises(Problem, match="damaged"):
        Run(tmp_path / "run", workers=1).build("toys")
    assert not (tmp_path / "run").exists()


def test_a_worker_that_memory_ran_out_for_costs_nothing_that_is_finished(tmp_path, toys, monkeypatch):
    def dies_late(build, index):
        if index == 2:
            raise Ended("A worker process was ended from outside.")
        return make_shard(build, index)

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "make_shard", dies_late)
        with pytest.raises(Ended):
            Run(tmp_path, workers=1).build("toys")
    kept = times(tmp_path)
    assert len(kept) == 2
    Run(tmp_path, workers=1).build("toys")
    assert set(kept) < set(times(tmp_path))


@pytest.mark.slow  # in one process in `test_worker_pool.py`
def test_a_worker_that_is_killed_is_replaced_and_its_shard_made_again(tmp_path, undisturbed):
    build = Build("shopwright.pipeline", tmp_path / "run", *SMALL)
    build.until(AT_WORK)
    os.kill(build.a_worker(), signal.SIGKILL)
    code, told = build.ended()
    assert code == 0, told
    assert build.gone()
    assert files_in(tmp_path / "run") == files_in(undisturbed)
    assert listing(tmp_path / "run") == listing(undisturbed)


def test_workers_that_are_killed_again_and_again_end_the_build_with_advice(tmp_path):
    build = Build("shopwright.pipeline", tmp_path / "run", *SMALL)
    build.until(AT_WORK)
    while build.process.poll() is None:
        for worker in build.list_forked("worker"):
            with contextlib.suppress(OSError):
                os.kill(worker, signal.SIGKILL)
        time.sleep(0.01)
    code, told = build.ended()
    assert code == 3, told
    assert told.startswith("shopwright: error: A worker process was ended from outside")
    assert "accepted" in told
    assert told.count("\n") == 2
    assert build.gone()
    assert (tmp_path / "run" / "manifests" / "trajectories.building.json").exists()


def fails_with_a_worker_at_work():
    with open_process_pool(1) as executor:
        executor.submit(time.sleep, 60)
        raise KeyError


def test_a_build_that_fails_ends_its_own_workers_and_nobody_elses():
    other = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(60,))
    other.start()
    with pytest.raises(KeyError):
        fails_with_a_worker_at_work()
    assert multiprocessing.active_children() == [other]
    other.kill()  # what our server of forks forks is deaf to SIGTERM
    other.join()


def test_files_that_no_build_made_are_never_taken_away(tmp_path, toys):
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "notes.txt").write_text("mine")
    with pytest.raises(Problem, match=r"notes\.txt was made by no build"):
        Run(tmp_path, workers=1).build("toys")
    assert (tmp_path / "toys" / "notes.txt").read_text() == "mine"
    assert listing(tmp_path) == {"toys", "toys/notes.txt"}


def test_a_worker_whose_build_is_no_more_writes_nothing(tmp_path, toys):
    """As on a cluster, where it goes on when the one who asked it was killed."""
    run = Run(tmp_path, workers=1)
    with run.lock():
        first = run.prepare("toys", {})
    with pytest.raises(Ended, match="is no more"):
        make_shard(first, 0)
    with run.lock():
        second = run.prepare("toys", {})
        make_shard(second, 0)
        before = times(tmp_path)
        with pytest.raises(Ended, match="is no more"):
            make_shard(first, 0)
        assert times(tmp_path) == before
        assert len(list(tmp_path.rglob("*.tmp"))) == 0


def test_a_worker_whose_build_ends_while_it_is_at_work_writes_nothing(tmp_path, toys, monkeypatch):
    from shopwright.pipeline import shards

    run = Run(tmp_path, workers=1)
    judge = shards.reasons_against

    def slowly(*given):
        (tmp_path / "manifests" / ".lock").write_text("{}")
        return judge(*given)

    monkeypatch.setattr(shards, "reasons_against", slowly)
    with run.lock():
        build = run.prepare("toys", {})
        with pytest.raises(Ended, match="is no more"):
            make_shard(build, 0)
    assert not list(tmp_path.glob("toys/*"))


def test_only_one_build_is_at_work_in_a_folder(tmp_path, toys):
    run = Run(tmp_path, workers=1)
    with closing(run.builds("toys", {})) as builds:
        next(builds)
        with pytest.raises(Problem, match="Another build is at work"):
            Run(tmp_path, workers=1).build("toys")
    run.build("toys")


# --- what has changed is named -----------------------------------------------------------------------------------------


@pytest.fixture
def boxes_run(tmp_path, toys):
    run = Run(tmp_path / "run", seed=5, workers=1)
    run.build("boxes", **{"toys.count": 60})
    return run


def test_a_setting_that_changed_is_named(boxes_run):
    with pytest.raises(Stale, match=r"boxes in .* was made differently: count 3 -> 4\. Build with --rebuild"):
        boxes_run.build("boxes", count=4)


def test_several_changes_are_all_named(boxes_run):
    with pytest.raises(Stale, match=r"toys in .*: count 60 -> 61, lost 25 -> 7, seed 5 -> 6\."):
        Run(boxes_run.folder, seed=6, workers=1).build("toys", count=61, lost=7)


def test_a_seed_that_changed_is_named(boxes_run):
    with pytest.raises(Stale, match=r"toys in .*: seed 5 -> 6"):
        Run(boxes_run.folder, seed=6, workers=1).build("boxes")


def test_a_setting_of_what_it_reads_that_is_there_already_is_named(boxes_run):
    with pytest.raises(Stale, match=r"toys in .* was made differently: lost 25 -> 10"):
        boxes_run.build("boxes", lost=10)
    with pytest.raises(Stale, match=r"toys in .* was made differently: count 60 -> 70"):
        boxes_run.build("boxes", **{"toys.count": 70})


def test_what_is_not_said_again_stays_as_it_was(boxes_run):
    boxes_run.build("boxes")
    boxes_run.build("boxes", **{"toys.count": 60})
    (boxes_run.folder / "manifests" / "boxes.json").unlink()
    Run(boxes_run.folder, workers=1).build("boxes")
    assert boxes_run.read("boxes").manifest.recipe.seed == 5
    assert boxes_run.read("toys").manifest.recipe.settings["count"] == 60


def test_a_half_built_dataset_is_not_gone_on_with_in_another_way(tmp_path, toys):
    run = Run(tmp_path, workers=1)
    with closing(run.builds("toys", {"count": 80})) as builds:
        make_shard(next(builds), 0)
    with pytest.raises(Stale, match=r"toys in .* is half-built differently: count 80 -> 81"):
        run.build("toys", count=81)
    with closing(run.builds("toys", {})) as builds:
        assert next(builds).missing() == [1, 2, 3]
    run.build("toys")
    assert run.read("toys").manifest.recipe.settings["count"] == 80


def test_code_that_changed_is_named(boxes_run, monkeypatch):
    changed = digest_code(all_stages()["boxes"]) | {"pipeline": "0123456789ab", "prompts": "0123456789ab"}
    monkeypatch.setattr(run_module, "digest_code", lambda stage: changed)
    with pytest.raises(Stale, match=r"boxes in .*: the code in pipeline, prompts\. Build with"):
        boxes_run.build("boxes")


def test_a_run_of_0_1_0_opens_and_is_made_from_but_not_gone_on_with(tmp_path, toys):
    """Its manifests have one digest of all code."""
    run = Run(tmp_path, workers=1)
    made = run.build("toys", count=20)
    path = run.read("toys").manifest_path
    found = json.loads(path.read_text())
    found["recipe"]["code"] = "0123456789ab"
    path.write_text(json.dumps({**found, "sum": None}))
    assert run.read("toys").manifest.rows == len(list(run.read("toys"))) == made.rows
    run.build("boxes")
    with pytest.raises(Stale, match=r"toys in .* was made differently: the code\. Build with --rebuild"):
        run.build("toys")


def test_a_source_file_whose_content_changed_is_named(tmp_path):
    shop = tmp_path / "shop.csv"
    shop.write_text("title,price\nRed lamp,12\nBlue lamp,13\n")
    run = Run(tmp_path / "run", workers=1)
    run.build("catalog", source=str(shop))
    run.build("catalog", source=str(shop))
    shop.write_text("title,price\nRed lamp,12\nBlue lamp,14\n")
    for name in ("catalog", "personas"):
        with pytest.raises(Stale, match=r"catalog in .*: file shop\.csv \w{12} -> \w{12}\."):
            run.build(name, source=str(shop))


def test_files_of_one_name_are_told_apart(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.csv").write_text(folder)
    files = [tmp_path / folder / "part.csv" for folder in "ab"]
    before = checksums(files)
    (tmp_path / "a" / "part.csv").write_text("c")
    assert list(checksums(files)) == ["part.csv"]
    assert before != checksums(files)


def test_a_catalog_from_a_file_is_used_without_saying_its_source_again(tmp_path):
    rows = [f"item-{n},Lamp number {n},{10 + n},Lamps" for n in range(40)]
    (tmp_path / "shop.csv").write_text("\n".join(["id,title,price,category", *rows]))
    run = Run(tmp_path / "run", seed=8, workers=1)
    run.build("catalog", source=str(tmp_path / "shop.csv"))
    (tmp_path / "shop.csv").unlink()
    made = Run(tmp_path / "run", workers=1).build("personas", count=5)
    assert made.recipe.seed == 8
    assert {taste.category for persona in run.read("personas") for taste in persona.tastes} == {"Lamps"}


def test_what_it_reads_was_made_again_with_other_rows_is_named(boxes_run):
    boxes_run.build("toys", count=70, rebuild=True)
    with pytest.raises(Stale, match=r"boxes in .*: input toys \w{12} -> \w{12}"):
        boxes_run.build("boxes")
    boxes_run.build("boxes", rebuild=True)
    assert len({toy for box in boxes_run.read("boxes") for toy in box.toys}) == len(boxes_run.read("toys"))


def test_the_same_rows_made_again_leave_what_reads_them_whole(boxes_run):
    boxes_run.build("toys", rebuild=True)
    before = times(boxes_run.folder)
    boxes_run.build("boxes")
    assert times(boxes_run.folder) == before


def test_rebuild_keeps_what_is_not_said_again_and_makes_what_it_reads_anew_where_that_changed(boxes_run):
    before = times(boxes_run.folder)
    boxes_run.build("boxes", rebuild=True, label="bag")
    assert boxes_run.read("boxes").head(1)[0].id == "bag-0"
    assert boxes_run.read("boxes").manifest.recipe.seed == 5
    now = times(boxes_run.folder)
    assert {path for path in before if now[path] != before[path]} == {
        "boxes/part-00000.parquet",
        "boxes/part-00001.parquet",
    }
    boxes_run.build("boxes", rebuild=True, lost=10)
    assert boxes_run.read("toys").manifest.recipe.settings == {"count": 60, "lost": 10}
    assert boxes_run.read("boxes").manifest.recipe.settings["label"] == "bag"


def test_rebuild_after_a_kill_goes_on(boxes_run):
    with closing(boxes_run.builds("toys", {"count": 80}, rebuild=True)) as builds:
        make_shard(next(builds), 0)
    with closing(boxes_run.builds("toys", {"count": 80}, rebuild=True)) as builds:
        assert next(builds).missing() == [1, 2, 3]


def test_rebuild_mends_a_manifest_that_cannot_be_read(boxes_run):
    (boxes_run.folder / "manifests" / "toys.json").write_text("{")
    with pytest.raises(Problem, match=r"toys\.json cannot be read as a manifest of this version"):
        boxes_run.build("toys")
    boxes_run.build("toys", rebuild=True)
    assert boxes_run.read("toys").manifest.rows == len(boxes_run.read("toys"))


# --- whose setting it is -----------------------------------------------------------------------------------------------


def test_a_setting_goes_to_the_dataset_that_has_it(tmp_path, toys):
    run = Run(tmp_path, workers=1)
    run.build("boxes", count=2, lost=30, **{"toys.count": 40})
    assert run.read("toys").manifest.recipe.settings == {"count": 40, "lost": 30}
    assert run.read("boxes").manifest.recipe.settings == {"count": 2, "label": "box"}


def test_a_setting_that_no_dataset_has_is_told_with_those_that_there_are(tmp_path, toys):
    with pytest.raises(Problem, match=r"boxes has no setting colour\. It has: count, label, toys\.count, lost\."):
        Run(tmp_path, workers=1).build("boxes", colour="red")
    for wrong in ("toys.colour", "trajectories.tokens", "nothing.count"):
        with pytest.raises(Problem, match=rf"no setting {wrong}"):
            Run(tmp_path, workers=1).build("boxes", **{wrong: 1})
    with pytest.raises(Problem, match=r"boxes has no setting boxes\.lost\. Say toys\.lost\."):
        Run(tmp_path, workers=1).build("boxes", **{"boxes.lost": 1})
    assert not listing(tmp_path)


def test_a_setting_of_two_datasets_has_to_be_said_in_full(tmp_path, toys, monkeypatch):
    from shopwright.pipeline.stage import stage

    def crates(boxes, toys, shard):
        """Crates."""

    monkeypatch.setitem(all_stages(), "crates", stage(makes=all_stages()["boxes"].makes)(crates))
    with pytest.raises(Problem, match=r"count belongs to several datasets: say toys\.count or boxes\.count"):
        Run(tmp_path, workers=1).build("crates", count=3)


def test_a_dataset_that_there_is_not_is_told_with_those_that_there_are(tmp_path):
    with pytest.raises(Problem, match=rf"There is no dataset lamps\. There are: {', '.join(all_stages())}\."):
        Run(tmp_path).build("lamps")


def test_what_is_read_comes_first():
    assert upstream("trajectories") == ["catalog", "personas", "queries", "trajectories"]
    assert upstream("catalog") == ["catalog"]


# --- quarantine, not silence -------------------------------------------------------------------------------------------


def test_every_row_is_kept_or_held_with_its_reasons(tmp_path, toys):
    run = Run(tmp_path, workers=1)
    made = run.build("toys", count=120)
    assert made.rows + made.rejected == 120
    assert made.rejects.keys() == {"lost", "thirteen", "no such color", "duplicate id", "same color as the one before"}
    kept, held = list(run.read("toys")), list(run.read("toys").quarantine)
    assert (len(kept), len(held)) == (made.rows, made.rejected)
    numbers = [toy.number for toy in kept] + [json.loads(one.record)["number"] for one in held if one.record != "{}"]
    lost = [int(one.id.removeprefix("toy-")) for one in held if one.reasons == ["lost"]]
    assert sorted(numbers + lost) == list(range(120))
    assert [toy.number for toy in kept] == sorted(toy.number for toy in kept)


def test_a_row_with_several_faults_tells_them_all(tmp_path, toys):
    run = Run(tmp_path, workers=1)
    run.build("toys", count=120, lost=1_000)
    reasons = {json.loads(one.record)["number"]: one.reasons for one in run.read("toys").quarantine}
    assert reasons[13] == reasons[113] == ["thirteen"]
    assert reasons[29] == ["no such color"]
    assert 19 not in reasons or reasons[19] != ["thirteen"]


def test_a_rejected_row_can_be_read_back_from_quarantine(tmp_path, toys):
    run = Run(tmp_path, workers=1)
    run.build("toys")
    held = next(one for one in run.read("toys").quarantine if one.reasons == ["duplicate id"])
    toy = all_stages()["toys"].makes.model_validate_json(held.record)
    assert toy.id == held.id == f"toy-{toy.number - 1}"


def test_a_dataset_without_rows_is_whole_too(tmp_path, toys):
    made = Run(tmp_path, workers=1).build("toys", count=0)
    assert (made.rows, made.rejected, len(made.files)) == (0, 0, 1)
    assert isinstance(Run(tmp_path).read("toys").manifest, Manifest)


def test_the_manifest_tells_how_a_dataset_was_made(undisturbed):
    made = Run(undisturbed).read("trajectories").manifest
    assert made.recipe.settings["tokens"] == ["6k"]
    assert made.recipe.inputs.keys() == {"catalog", "personas", "queries"}
    assert made.recipe.code == digest_code(all_stages()["trajectories"])
    assert made.tokens == sum(row.tokens for row in Run(undisturbed).read("trajectories"))
    assert made.seconds > 0
    assert made.workers == 1
    assert all(len(facts.sha256) == 64 and facts.bytes > 0 for facts in made.files.values())
