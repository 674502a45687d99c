import fcntl
import json
import os

import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.__main__ import parse_arguments
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish import command
from shopwright.pipeline.publish.layout import INDEX
from shopwright.pipeline.run import Run
from tests.folders import listing
from tests.publish.hub import TOKEN, LocalHub


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """A run of two datasets, which tests look at and put back as it was."""
    run = Run(tmp_path_factory.mktemp("made"), seed=1, workers=1)
    run.build("personas", products=300, count=12)
    return run


@pytest.fixture
def publish(whole_run, capfd):
    """The command on that run: its exit code, and what it printed."""

    def publish(*words, **more):
        capfd.readouterr()
        options = parse_arguments(["publish", str(whole_run.folder), *map(str, words)])
        assert options.pop("command") == "publish"
        return command.publish_run(**options, **more), *capfd.readouterr()

    return publish


@pytest.fixture
def damaged(whole_run):
    """A file of the run is not what it was, for one test."""
    path = whole_run.read("personas").files[0]
    before = path.read_bytes()
    pq.write_table(pq.read_table(path).slice(1), path)
    yield path
    path.write_bytes(before)


def test_a_folder_holds_what_would_be_on_the_hub(publish, whole_run, tmp_path):
    code, out, _ = publish("--to", tmp_path / "hub")
    assert code == 0
    assert {"README.md", INDEX, "data/personas/train-00000-of-00001.parquet"} <= listing(tmp_path / "hub")
    (row,) = [line.split() for line in out.splitlines() if line.startswith("personas ")]
    assert row[:4] == ["personas", "train", "12", "1"]
    assert f"folder     {tmp_path / 'hub'}" in out
    assert not (whole_run.folder / ".publish").exists()


def test_the_same_run_gives_the_same_files(publish, tmp_path):
    for name in ("one", "two"):
        publish("--to", tmp_path / name, "--unverified")
    one, two = ((tmp_path / name / INDEX).read_bytes() for name in ("one", "two"))
    assert one == two


def test_it_goes_to_the_hub_and_leaves_nothing_behind(publish, whole_run, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with LocalHub(tmp_path / "hub") as hub:
        to_hub = ("--repo", "user/shop")
        _, told, _ = publish(*to_hub, "--private", "--json", "--dry-run", endpoint=hub.url)
        assert "user/shop" not in hub.datasets
        code, out, err = publish(*to_hub, "--private", "--json", endpoint=hub.url)
        assert hub.datasets["user/shop"].private
        assert set(hub.files("user/shop")) == set(json.loads(out)["changes"]["added"])
        assert json.loads(told)["changes"] == json.loads(out)["changes"]
        assert json.loads(out)["commit"] == hub.datasets["user/shop"].branches["main"]
        assert hub.datasets["user/shop"].log()[1].startswith("2 configs, ")
        _, out, _ = publish(*to_hub, endpoint=hub.url)
        assert "0 added, 0 changed, 0 removed" in out
        with pytest.raises(Problem, match="--only would take away"):
            publish(*to_hub, "--only", "personas", "--unverified", endpoint=hub.url)
    assert code == 0
    assert TOKEN not in out + err + told
    assert ".publish" not in listing(whole_run.folder)


def test_what_fails_a_check_goes_nowhere(publish, damaged, tmp_path):
    code, out, err = publish("--to", tmp_path / "hub")
    assert (code, out) == (1, "")
    assert "personas: files are those of the manifest" in err
    assert "Nothing was published." in err
    assert not listing(tmp_path)
    assert publish("--to", tmp_path / "hub", "--unverified")[0] == 0


def test_what_leaks_goes_nowhere(publish, tmp_path, whole_run):
    """A test set of words that the run's own rows hold."""
    words = " ".join(product.description for product in whole_run.read("catalog").head(20))
    (tmp_path / "set.jsonl").write_text(json.dumps({"text": words}))
    code, out, err = publish(
        "--to", tmp_path / "hub", "--unverified", "--only", "catalog", "--against", tmp_path / "set.jsonl"
    )
    assert (code, out) == (1, "")
    assert "catalog" in err
    assert "Nothing was published." in err
    assert [*listing(tmp_path)] == ["set.jsonl"]


def test_only_some_configs_can_be_asked_for(publish, tmp_path):
    _, out, _ = publish("--to", tmp_path / "hub", "--unverified", "--only", "personas, catalog", "--json")
    assert {row["config"] for row in json.loads(out)["configs"]} == {"catalog", "personas"}
    with pytest.raises(Problem, match=r"There is no config nothing of .*There are: catalog, personas"):
        publish("--to", tmp_path / "hub", "--only", "nothing,personas")


def test_a_dry_run_tells_what_would_change_in_a_folder(publish, tmp_path):
    publish("--to", tmp_path / "hub", "--unverified", "--only", "catalog")
    before = listing(tmp_path)
    _, out, _ = publish("--to", tmp_path / "hub", "--unverified", "--only", "personas", "--dry-run")
    lines = {tuple(line.split()) for line in out.splitlines()}
    assert ("added", "data/personas/train-00000-of-00001.parquet") in lines
    assert ("removed", "data/catalog/train-00000-of-00001.parquet") in lines
    assert ("changed", INDEX) in lines
    assert "Nothing was changed" in out
    assert listing(tmp_path) == before


def test_it_asks_where_to(publish):
    with pytest.raises(Problem, match=r"--repo user/name, or --to FOLDER"):
        publish()


def test_a_run_without_datasets_is_told(tmp_path):
    with pytest.raises(Problem, match="no finished dataset"):
        command.choose_configs([], None, str(tmp_path))


def test_a_hub_that_would_refuse_is_asked_before_anything_is_done(publish, monkeypatch, capfd):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(Problem, match="--repo is user/name"):
        publish("--repo", "shop")
    assert capfd.readouterr().err == ""


def test_one_publish_at_a_time_lays_in_a_run(whole_run):
    own = whole_run.folder / ".publish"
    own.mkdir()
    handle = os.open(own, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(Problem, match="Another publish is at work"), command.open_laying_folder(whole_run, None):
        pass
    assert own.exists()
    os.close(handle)
    with command.open_laying_folder(whole_run, None) as where:
        assert where.parent == own
    assert not own.exists()


def test_what_stops_a_push_leaves_nothing_in_the_run(whole_run):
    def stopped():
        with command.open_laying_folder(whole_run, None) as where:
            where.mkdir()
            raise Problem("gone")

    with pytest.raises(Problem, match="gone"):
        stopped()
    assert not (whole_run.folder / ".publish").exists()


def test_a_run_that_is_built_anew_meanwhile_is_not_published(whole_run, tmp_path):
    configs = command.choose_configs(command.forms.configs(whole_run), "personas", "")
    manifest = whole_run.read("personas").manifest_path
    before = manifest.read_text()

    def rows():
        manifest.write_text(json.dumps({**json.loads(before.replace('"sha256": "', '"sha256": "0')), "sum": None}))
        yield from configs[0].splits["train"]()

    changed = command.forms.Config("personas", "", configs[0].schema, {"train": rows})
    try:
        with pytest.raises(Problem, match="was built anew meanwhile"):
            command.laid_in(tmp_path / "hub", whole_run, [changed], None, [])
    finally:
        manifest.write_text(before)
    assert not listing(tmp_path)


def test_a_catalog_of_ones_own_goes_all_the_way_under_its_licence(tmp_path, shopwright):
    rows = [f"L-{n},Norrvik oak lamp {n},{20 + n}.00,Home > Lamps" for n in range(60)]
    (tmp_path / "shop.csv").write_text("\n".join(["sku,name,price,categories", *rows]))
    build = ("build", "personas", "--count", 12, "--source", tmp_path / "shop.csv", "--workers", 1, "--run")
    assert shopwright(*build, tmp_path / "unsaid")[0] == 0
    code, _, err = shopwright("publish", tmp_path / "unsaid", "--to", tmp_path / "nowhere")
    assert code == 1
    assert "its licence is unknown" in err
    assert "--licence" in err
    assert not (tmp_path / "nowhere").exists()

    assert shopwright(*build, tmp_path / "said", "--licence", "cc-by-4.0")[0] == 0
    run = Run(tmp_path / "said")
    assert run.read("catalog").manifest.recipe.settings["licence"] == "CC-BY-4.0"
    assert {product.source_licence for product in run.read("catalog")} == {"CC-BY-4.0"}
    code, _, err = shopwright("publish", tmp_path / "said", "--to", tmp_path / "hub")
    assert code == 0, err
    card = (tmp_path / "hub" / "README.md").read_text(encoding="utf-8")
    assert "license: cc-by-4.0" in card
    assert "licence: CC-BY-4.0" in card
