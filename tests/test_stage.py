"""What every stage promises, whichever there are; and how a stage tells what it is."""

import inspect
import socket
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.code_digest import HOME
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.phrases.bank import FOLDER as PHRASES
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import FOLDER as PROMPTS
from shopwright.pipeline.run import Run
from shopwright.pipeline.shards import Build, finish, make_shard
from shopwright.pipeline.stage import GIVEN, ROLES, Setting, Shard
from shopwright.pipeline.stages import all_stages
from tests.toys import boxes, toys

STAGES = list(all_stages().values())
every_stage = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
LONG = ("phrases", "rl_prompts")


def test_there_are_the_datasets_of_the_readme():
    assert {"catalog", "personas", "trajectories", "questions"} <= {stage.name for stage in STAGES}


@every_stage
def test_a_stage_says_what_it_makes(stage):
    assert stage.about.endswith(".")
    assert len(stage.about) > 20


@every_stage
def test_a_stage_has_a_check_for_its_rows_and_unique_ids(stage):
    assert stage.checks
    assert "ids_are_unique" in {check.__name__ for check in stage.across}


@every_stage
def test_a_check_is_named_as_a_sentence_and_once(stage):
    names = [check.__name__ for check in (*stage.checks, *stage.across)]
    assert len(set(names)) == len(names)
    assert all(name.count("_") >= 1 and name.islower() for name in names)


@every_stage
def test_a_setting_says_what_it_is_and_its_default_is_allowed(stage):
    for setting in stage.settings.values():
        assert setting.about, setting.name
        assert setting.parse(setting.default) == setting.parse(setting.parse(setting.default))
        assert setting.default is not inspect.Parameter.empty


@every_stage
def test_one_noun_names_the_file_the_function_and_the_dataset(stage):
    source = Path(inspect.getsourcefile(stage.function))
    assert source == HOME / "pipeline" / "stages" / f"{stage.name}.py"
    assert (HOME.parent / "tests" / "stages" / f"test_{stage.name}.py").exists()


@every_stage
def test_what_a_stage_needs_is_there(stage):
    assert set(stage.needs) <= {*GIVEN, *all_stages()}
    assert set(stage.reads) <= set(all_stages())


# Whose words without a model are those of a family of another name.
SPOKEN = {"shopper": "envs"}


def test_a_prompt_is_named_after_its_dataset_and_can_do_without_a_model():
    for prompt in PROMPTS.rglob("*.j2"):
        dataset = prompt.name.removesuffix(".j2").removesuffix(".offline")
        folder = prompt.parent.name
        if folder == "trainers":
            continue  # what a model in training is told; nobody is asked with it here
        if any(f'include "{prompt.name}"' in other.read_text(encoding="utf-8") for other in PROMPTS.rglob("*.j2")):
            continue  # a part of others
        assert dataset in (all_envs() if folder == "envs" else {*all_stages(), *ROLES})
        twins = (
            PROMPTS / f"{dataset}.offline.j2",
            PROMPTS / folder / f"{dataset}.offline.j2",
            PHRASES / dataset,
            PHRASES / SPOKEN.get(dataset, dataset),
        )
        assert dataset == "phrases" or any(twin.exists() for twin in twins)
        code = [path.read_text(encoding="utf-8") for path in (HOME / "pipeline").rglob("*.py")]
        said = [f'{how}("{dataset}"' for how in ("render_offline", "render_phrases", "render_messages")]
        said.append(f'TEMPLATE = "{dataset}"')
        assert folder == "envs" or any(each in text for text in code for each in said)


def rows_of(small, name, shards, folder):
    """The rows of a finished dataset made again as another number of shards."""
    stage, recipe = all_stages()[name], small.read(name).manifest.recipe
    (folder / "manifests").mkdir(parents=True)
    for read in stage.reads:
        (folder / read).symlink_to(small.folder / read)
        # Who sells what goes by the seed of the catalog, which its manifest names.
        (folder / "manifests" / f"{read}.json").symlink_to(small.read(read).manifest_path)
    inputs = {read: small.read(read) for read in stage.reads}
    settings = {key: setting.parse(recipe.settings[key]) for key, setting in stage.settings.items()}
    build = Build(folder, recipe, shards, stage.plan(inputs, settings))
    made = [make_shard(build, index) for index in reversed(range(shards))]
    finish(build)
    assert sum(shard.rows > 0 for shard in made) > shards // 2
    return Run(folder).read(name).table(), Counter(map(repr, Run(folder).read(name).quarantine))


@pytest.fixture
def offline(monkeypatch):
    """No process of this machine can be reached, nor any other."""

    def refused(*_):
        raise ConnectionError("a stage asked the network")

    monkeypatch.setattr(socket.socket, "connect", refused)


@pytest.mark.parametrize(
    "stage",
    [pytest.param(stage, marks=pytest.mark.slow if stage.name in LONG else []) for stage in STAGES],
    ids=lambda stage: stage.name,
)
def test_the_rows_are_the_same_in_another_number_of_shards_made_offline(small, stage, tmp_path, offline):
    made = small.read(stage.name)
    rows, held = rows_of(small, stage.name, 4 if len(made.files) == 1 else 1, tmp_path / "again")
    assert rows.equals(made.table())
    assert held == Counter(map(repr, made.quarantine))


@every_stage
def test_a_small_build_has_rows_and_its_manifest_counts_them(small, stage):
    made = small.read(stage.name).manifest
    assert made.rows == len(small.read(stage.name)) > 0
    assert made.rows > 9 * made.rejected


@given(st.integers(0, 3_000), st.integers(1, 40))
def test_slices_are_contiguous_and_hold_each_unit_once(units, total):
    slices = [Shard(index, total, seed=0).of(units) for index in range(total)]
    assert [unit for one in slices for unit in one] == list(range(units))
    assert max(map(len, slices)) - min(map(len, slices)) <= 1


def test_chance_belongs_to_the_row_and_the_seed_and_not_to_the_slice():
    one, other = Shard(0, 1, seed=5), Shard(3, 9, seed=5)
    assert one.random("a", 7).random() == other.random("a", 7).random()
    assert one.numbers("a", 7).random(3).tolist() == other.numbers("a", 7).random(3).tolist()
    drawn = {Shard(0, 1, seed).random(*key).random() for seed in (5, 6) for key in (("a", 7), ("a", 8), ("b", 7))}
    assert len(drawn) == 6


def test_a_stage_tells_what_it_reads_and_what_can_be_set():
    assert toys.reads == []
    assert boxes.reads == ["toys"]
    assert list(boxes.settings) == ["count", "label"]
    assert boxes.settings["label"].about == "what is written on them"


@pytest.mark.parametrize(
    ("units", "shards"), [(0, 1), (1, 1), (20, 1), (21, 2), (1_280, 64), (64_000, 64), (64_001, 65)]
)
def test_small_work_is_shared_among_64_shards_and_large_work_among_more(units, shards):
    assert toys.shards(units) == shards


def test_a_value_that_is_not_allowed_is_named_with_its_setting():
    with pytest.raises(Problem, match=r"^--count -1: .* greater than or equal to 0\.$"):
        toys.settings["count"].parse("-1")


def test_a_setting_reads_the_command_lines_text_and_a_manifests_value_alike():
    count = toys.settings["count"]
    assert count.parse("12") == count.parse(12) == 12
    assert Setting("names", ["a"], list[str]).parse(("a", "b")) == ["a", "b"]
