"""The form of a deployed release, and what `flows/prefect.yaml` fills in."""

from datetime import datetime

import pytest
from pydantic import ValidationError

from shopwright.flows import release
from shopwright.flows.deploy import DEPLOYMENTS
from shopwright.flows.release_options import RecipeName, ReleaseOptions

TIME = datetime(2026, 11, 21, 2, 30)


def list_commands(**given):
    return list(release.commands(ReleaseOptions(**given).at(TIME)))


def deployments():
    import yaml

    return yaml.safe_load(DEPLOYMENTS.read_text())["deployments"]


def parameters():
    """Of every deployment, and of each schedule that has its own."""
    for each in deployments():
        yield each["parameters"]
        yield from (schedule["parameters"] for schedule in each["schedules"] if "parameters" in schedule)


def test_the_form_offers_the_recipes_that_there_are():
    assert sorted(RecipeName.__args__) == sorted(path.stem for path in release.RECIPES.glob("*.toml"))


def test_each_field_is_explained():
    assert all(field.description for field in ReleaseOptions.model_fields.values())


def test_a_form_that_was_left_as_it_is_asks_for_what_the_command_does():
    assert list_commands() == list(
        release.commands(release.make_release_parser().parse_args(["everything", "--run", "data/runs/everything"]))
    )


def test_what_the_form_says_reaches_the_commands():
    given = list_commands(
        recipe="shop_r1",
        scale=0.5,
        run="s3://b/{time}",
        seed=3,
        workers=2,
        runner="dask",
        to="hub-{time}",
        private=True,
    )
    words = given[0]
    for option, value in {"--run": "s3://b/20261121-0230", "--seed": "3", "--workers": "2", "--runner": "dask"}.items():
        assert words[words.index(option) + 1] == value
    assert words[words.index("--personas.count") + 1] == "1000"
    assert given[-1] == ["publish", "s3://b/20261121-0230", "--to", "hub-20261121-0230", "--private"]


def test_a_model_is_named_to_the_datasets_that_it_can_write():
    spec = "openai:m@http://127.0.0.1:8000/v1"
    given = {words[1]: words for words in list_commands(recipe="ecomrlve", model=spec) if words[0] == "build"}
    assert given["env_episodes"][-2:] == ["--model", spec]
    assert "--model" not in given["embeddings"]


@pytest.mark.parametrize(
    "bad",
    [
        {"recipe": "x"},
        {"scale": 0},
        {"scale": 2},
        {"workers": 0},
        {"runner": "spark"},
        {"repo": "me"},
        {"model": "gpt"},
        {"hours": 0},
        {"x": 1},
    ],
)
def test_what_makes_no_sense_is_refused_before_a_run_exists(bad):
    with pytest.raises(ValidationError):
        ReleaseOptions(**bad)


def test_every_deployment_asks_for_what_can_be_made():
    for each in parameters():
        assert list(release.commands(ReleaseOptions(**each["wanted"]).at(TIME)))


def test_scheduled_releases_have_a_folder_of_their_own_and_do_not_overlap():
    for each in deployments():
        if each["schedules"]:
            assert each["concurrency_limit"]["limit"] == 1
    assert all("{time}" in each["wanted"]["run"] for each in parameters())


def test_the_week_has_every_paper_at_its_full_size():
    weekly = next(each for each in deployments() if each["name"] == "weekly")
    wanted = [
        ReleaseOptions(**schedule.get("parameters", weekly["parameters"])["wanted"]) for schedule in weekly["schedules"]
    ]
    assert sorted(each.recipe for each in wanted) == ["ecomrlve", "shop_r1", "shopsimulator", "shoptrajqa"]
    assert {each.scale for each in wanted} == {1.0}
