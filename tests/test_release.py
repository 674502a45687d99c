from pathlib import Path

import pytest

from shopwright.flows import release
from shopwright.pipeline.__main__ import build_dataset
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages

NAMES = sorted(path.stem for path in release.RECIPES.glob("*.toml"))
OWN = """
datasets = ["personas", "queries"]
[sizes]
"personas.count" = 40
"catalog.products" = 2400
[settings]
per_category = 3
"""


def list_commands(*arguments):
    return list(release.commands(release.make_release_parser().parse_args([str(each) for each in arguments])))


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return path


def test_each_paper_has_a_recipe():
    assert NAMES == ["ecomrlve", "everything", "shop_r1", "shopsimulator", "shoptrajqa"]


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_names_datasets_and_settings_that_there_are(name):
    recipe = read_recipe(str(release.RECIPES / f"{name}.toml"))
    taken = {key for dataset in recipe.datasets for key in recipe.settings_of(dataset)}
    assert set(recipe.datasets) <= set(all_stages())
    assert {key.rpartition(".")[2] for key in taken} == {
        key.rpartition(".")[2] for key in [*recipe.sizes, *recipe.settings]
    }
    for key, value in {**recipe.sizes, **recipe.settings}.items():
        owner, _, setting = key.rpartition(".")
        owners = [owner] if owner else [each for each in all_stages() if setting in all_stages()[each].settings]
        assert [all_stages()[each].settings[setting].parse(value) for each in owners]


def test_a_release_builds_each_dataset_and_verifies_them(own, tmp_path, capfd):
    run = tmp_path / "run"
    assert (
        release.main([str(own), "--run", str(run), "--scale", "0.5", "--seed", "5", "--workers", "1"], build_dataset)
        == 0
    )
    found = Run(run)
    assert len(found.read("personas")) == 20
    assert len(found.read("catalog")) == 1_200
    assert {len(row.texts) for row in found.read("queries")} <= {1, 2, 3}
    assert found.read("personas").manifest.recipe.seed == 5
    assert "checks passed" in capfd.readouterr().out


def test_what_is_published_is_verified_by_that(own):
    assert list_commands(own, "--run", "r")[-1] == ["verify", "r"]
    assert list_commands(own, "--run", "r", "--to", "hub", "--private")[-1] == [
        "publish",
        "r",
        "--to",
        "hub",
        "--private",
    ]


def test_a_smaller_release_leaves_out_sizes_that_are_exact(tmp_path):
    whole, small = list_commands("shoptrajqa"), list_commands("shoptrajqa", "--scale", 0.1)
    assert "--paper" not in whole[0]
    assert small[0][small[0].index("--paper") :][:2] == ["--paper", "False"]
    assert small[1][small[1].index("--questions.paper") :][:2] == ["--questions.paper", "False"]
    assert small[0][small[0].index("--personas.count") + 1] == "40"


def test_a_release_stops_at_what_fails(own, tmp_path, capfd):
    own.write_text(OWN.replace("per_category = 3", "per_category = 0"))
    assert release.main([str(own), "--run", str(tmp_path / "run"), "--workers", "1"], build_dataset) == 2
    assert "--per-category 0" in capfd.readouterr().err.replace("_", "-")


def test_what_cannot_be_made_of_a_catalog_is_said_at_the_end_and_the_rest_is_made(own, tmp_path, capfd):
    own.write_text(OWN.replace('"personas", "queries"', '"catalog_fine", "queries"') + '"catalog_fine.leaves" = 500\n')
    run = tmp_path / "run"
    assert (
        release.main([str(own), "--run", str(run), "--workers", "1", "--to", str(tmp_path / "hub")], build_dataset) == 4
    )
    out, err = capfd.readouterr()
    assert "Lower --leaves" in err
    assert err.rstrip().endswith("release: not made: catalog_fine, for the reasons above. The others are whole.")
    assert "checks passed" in out
    assert len(Run(run).read("queries"))
    assert not (tmp_path / "hub").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 1", "names no datasets"),
        ('datasets = ["personas"]\n[settings]\nnonsense = 1', "no dataset has it"),
        ("datasets = [", "is not TOML"),
        ("datasets = 3", "datasets: Input should be a valid list"),
    ],
)
def test_a_bad_recipe_is_told_in_a_line(tmp_path, capfd, text, said):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert release.main([str(path)]) == 2
    assert said in capfd.readouterr().err


def test_a_recipe_that_there_is_not_is_told_with_those_there_are(capfd):
    assert release.main(["nonsense"]) == 2
    assert "shop_r1" in capfd.readouterr().err
    assert not Path("data/runs/nonsense").exists()


@pytest.mark.parametrize("scale", ["0", "-1", "2", "x", "nan"])
def test_a_scale_is_a_share(scale, capfd):
    with pytest.raises(SystemExit):
        list_commands("shop_r1", "--scale", scale)
    assert "is not a share" in capfd.readouterr().err
