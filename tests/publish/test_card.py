"""The dataset's card: what the Hub and `datasets` read of it, and what people see."""

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.dom import minidom

import pyarrow as pa
import pytest
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from shopwright.pipeline.evaluate.audit import AuditCell, write_audit
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.card import (
    HERE,
    escape_cell,
    fence_text,
    render_card,
    render_croissant,
    write_run_recipe,
)
from shopwright.pipeline.publish.exporters.forms import Config, configs
from shopwright.pipeline.publish.layout import lay
from shopwright.pipeline.publish.learnt import get_learnt_path, keep_learnt
from shopwright.pipeline.publish.pictures import Bar, draw_pictures, render_picture
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages

HOSTILE = '# x|y\n---\n```\n</svg><script>alert(1)</script> {{ 7 * 7 }} [a](b) "q": \x00 \u202e & <!--'
KINDS = (
    "catalog",
    "trajectories",
    "questions",
    "shopping_tasks",
    "behaviors",
    "sft_envs",
    "sft_envs_text",
    "rl_questions",
)
MARKDOWN = MarkdownIt("commonmark").enable("table")


@pytest.fixture(scope="module")
def laid(small, tmp_path_factory):
    """Some of each kind of a small run, laid with its card."""
    folder = tmp_path_factory.mktemp("card") / "laid"
    some = [each for each in configs(small) if each.name in KINDS]
    return lay(some, folder, finish=lambda whole: put(small, whole))


@pytest.fixture(scope="module")
def readme(laid):
    return (laid.folder / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """A run that holds a catalog alone, from a file in which others wrote what they liked."""
    folder = tmp_path_factory.mktemp("catalog")
    titles = [{"title": f"{HOSTILE} lamp {number}", "category": HOSTILE, "price": "9.50"} for number in range(8)]
    source = folder / "my & <shop>.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in titles), encoding="utf-8")
    run = Run(folder / "# run|<b>", seed=1, workers=1)
    run.build("catalog", source=str(source))
    return run


def put(run, whole, repo=""):
    (whole.folder / "README.md").write_text(render_card(run, whole, repo), encoding="utf-8")


def of(run, folder, *names, repo=""):
    """The card of some of its datasets."""
    some = [each for each in configs(run) if each.name in names]
    whole = lay(some, folder, finish=lambda laid: put(run, laid, repo))
    return (whole.folder / "README.md").read_text(encoding="utf-8")


def head(text):
    return DatasetCard(text).data.to_dict()


def headings(text):
    tokens = MARKDOWN.parse(text.split("\n---\n", 1)[1])
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]


def tables(text):
    """Of each table its rows, each a list of texts."""
    rows = [line.strip("| ").split(" | ") for line in text.split("\n") if line.startswith("|")]
    return [[part.strip() for part in row] for row in rows]


# What programs read.


def test_the_lines_of_the_card_load_every_config_as_it_was_laid(laid, readme, tmp_path):
    lines = re.search("```python\n(.*?)```", readme, re.DOTALL)[1].replace(HERE, str(laid.folder))
    assert lines.count("\n") <= 11
    env = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run([sys.executable, "-c", lines], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.split("\n") if re.fullmatch(r"\w+ \w+ \d+", line)]
    configs = laid.configs.values()
    assert told == [f"{one.name} {split.name} {split.rows}" for one in configs for split in one.splits.values()]


def test_the_card_tells_the_features_and_rows_that_the_files_have(laid, readme):
    from datasets import Features

    for info, config in zip(head(readme)["dataset_info"], laid.configs.values(), strict=True):
        assert Features._from_yaml_list(info["features"]) == config.features
        rows = {split["name"]: split["num_examples"] for split in info["splits"]}
        assert rows == {name: split.rows for name, split in config.splits.items()}


def test_the_hub_is_told_of_sizes_licence_language_and_use(laid, readme):
    told = head(readme)
    assert told["license"] == "apache-2.0"
    assert "license_name" not in told
    assert told["language"] == ["en"]
    assert set(told["task_categories"]) >= {"question-answering", "text-generation"}
    assert "synthetic" in told["tags"]
    for info, config in zip(told["dataset_info"], laid.configs.values(), strict=True):
        assert info["config_name"] == config.name
        assert info["download_size"] == config.bytes
        assert info["dataset_size"] == sum(split["num_bytes"] for split in info["splits"]) > 0


@pytest.mark.parametrize(
    ("licences", "licence", "name"),
    [
        (["unknown"], "unknown", None),
        (["Apache-2.0", "MIT"], "other", "apache-2.0-and-mit"),
        ([HOSTILE], "other", "x-y-script"),
    ],
)
def test_licences_of_several_sources_are_all_named(licences, licence, name):
    from shopwright.pipeline.publish.card import licence_of

    told = licence_of(licences)
    assert told["license"] == licence
    assert re.fullmatch("[a-z0-9.-]+", told.get("license_name", "none"))
    assert told.get("license_name", "").startswith(name or "") or name == "x-y-script"


def test_chinese_is_named_where_tasks_are_in_it(copy, tmp_path):
    import pyarrow.parquet as pq

    for path in copy.read("shopping_tasks").files:
        table = pq.read_table(path)
        languages = pa.array(["zh"] * len(table))
        pq.write_table(table.set_column(table.schema.get_field_index("language"), "language", languages), path)
    assert head(of(copy, tmp_path / "laid", "shopping_tasks"))["language"] == ["en", "zh"]


# What people see.


def test_every_picture_that_the_card_shows_lies_beside_it(laid, readme):
    shown = re.findall(r"!\[\w+\]\((images/\w+\.svg)\)", readme)
    assert {"images/actions.svg", "images/tokens.svg", "images/hours.svg", "images/prices.svg"} < set(shown)
    assert {path.relative_to(laid.folder).as_posix() for path in laid.folder.glob("images/*")} == set(shown)
    for path in shown:
        minidom.parse(str(laid.folder / path))


def test_pictures_show_each_action_with_its_target(small):
    picture = draw_pictures(small)["actions"]
    for action, target in (("search", 55), ("click", 35), ("add to Cart", 7), ("purchase", 3)):
        assert re.search(rf">{action}<(?s:.*?)% of {target} %<", picture)
    told = [(float(share), int(wanted)) for share, wanted in re.findall(r">([\d.]+) % of (\d+) %<", picture)]
    marks = [float(at) for at in re.findall(r'x="([\d.]+)"[^>]*fill="#d98a1f"', picture)]
    most = max(max(each) for each in told)
    assert marks == pytest.approx([205 + 340 * wanted / most for _, wanted in told], abs=0.1)


def test_bars_are_as_long_as_their_shares():
    picture = render_picture("prices", [Bar("a", 1.0, "2"), Bar("b", 0.5, "1")])
    assert [float(wide) for wide in re.findall(r'width="([\d.]+)" height="16"', picture)] == [340, 170]
    assert render_picture("prices", []) == ""


def test_the_table_has_every_split_with_its_rows(laid, readme):
    rows = tables(readme)
    for config in laid.configs.values():
        first, *others = config.splits.values()
        assert [
            f"`{config.name}`",
            escape_cell(config.about),
            first.name,
            f"{first.rows:,}",
            f"{first.bytes / 1e6:.1f}",
        ] in rows
        for split in others:
            assert [split.name, f"{split.rows:,}", f"{split.bytes / 1e6:.1f}"] in rows


def test_what_was_turned_away_is_told_by_reason(small, readme):
    for name in all_stages():
        for reason, count in small.read(name).manifest.rejects.items():
            assert [f"`{name}`", escape_cell(reason), f"{count:,}"] in tables(readme)


def test_the_card_says_how_it_was_made_and_what_it_follows(small, readme):
    assert f"seed {small.read('catalog').manifest.recipe.seed}" in readme
    code = json.dumps(small.read("catalog").manifest.recipe.code, sort_keys=True)
    assert hashlib.sha256(code.encode()).hexdigest()[:12] in readme
    assert re.search(r"`trajectories` \| \d+ \| \d+ \| tokens 6k", readme)
    assert "`personas` (writer: scripted)" in readme
    for paper in ("2606.07995", "2601.18225", "2507.17842", "huggingface.co/blog/ecom-rlve"):
        assert paper in readme


def test_audits_are_shown_where_they_were_made(copy, tmp_path):
    before = of(copy, tmp_path / "before", "env_tasks")
    assert "Environments: mean" not in before
    assert "Shopping tasks:" not in before
    cells = [
        AuditCell({"env": "cart_building", "level": level}, policy, measure_share(20, 20), {"reward": reward})
        for policy, level, reward in (
            *(("solver", 0, 0.8), ("solver", 6, 0.6)),
            *(("do-nothing", 0, -0.6), ("do-nothing", 6, -0.6)),
        )
    ]
    write_audit(copy.folder, "envs", {"cells": [cell.to_json() for cell in cells]})
    parts = {"loose": 0.3, "strict": 0.275, "same_product": 0.125, "chance": 0.008}
    cells = [AuditCell({"scenario": "single"}, "first-result", measure_share(10, 40), parts)]
    write_audit(
        copy.folder, "shopping", {"made": "another", "split": "test", "cells": [cell.to_json() for cell in cells]}
    )
    text = of(copy, tmp_path / "after", "env_tasks")
    assert ["cart building", "+0.70", "-0.60"] in tables(text)
    assert ["environment", "solver", "do nothing"] in tables(text)
    assert ["first result", "single", "40", "25.0", "12.5", "0.8"] in tables(text)
    assert "(of an earlier build of them)" in text


def test_what_was_learnt_is_shown_while_the_rows_are_those_it_was_learnt_from(copy, tmp_path):
    assert "What was learnt" not in of(copy, tmp_path / "before", "questions")
    table = f"| dataset | no instruction |\n| --- | --- |\n| `questions` | **0.7%** {HOSTILE.splitlines()[0]}"
    keep_learnt(copy, "shortcuts", "python -m benchmarks.shortcuts", table + " |", ["questions"])
    text = of(copy, tmp_path / "after", "questions")
    assert "What was learnt from it" in headings(text)
    assert any(row[0] == "questions" and row[1].startswith("0.7%") for row in tables(text))
    path = get_learnt_path(copy.folder, "shortcuts")
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept.replace(copy.read("questions").manifest.fingerprint, "another"), encoding="utf-8")
    assert "What was learnt" not in of(copy, tmp_path / "later", "questions")
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(Problem, match="no table of what was learnt"):
        of(copy, tmp_path / "broken", "questions")


def test_policies_that_do_not_look_are_shown_with_what_they_earn(readme):
    rows = {row[0]: row for row in tables(readme)}
    assert {"always terminate", "most frequent click", "echo the last query", "random clickable"} <= set(rows)


def test_where_it_is_loaded_from_is_said(small, tmp_path):
    text = of(small, tmp_path / "laid", "personas", repo="someone/shop")
    assert 'source = "someone/shop"' in text
    assert 'load_dataset(source, "personas", split="train")' in text
    assert headings(text)[0] == "shop"


def test_what_the_run_has_not_is_left_out(catalog, tmp_path):
    text = of(catalog, tmp_path / "laid", "catalog")
    told = headings(text)[1:]
    assert told == ["Limits, first", "Load it", "What there is", "How it looks", "How it was made", "What it follows"]
    for word in ("None", "Undefined", "uestion", "rajector", "rejected (", "tokenizer", "invented", "Who wrote"):
        assert word not in text.partition("## What it follows")[0].replace("trajectories", "")
    assert not re.search(r"\| *---[^\n]*\n(?!\|)", text)
    assert {path.name for path in (tmp_path / "laid" / "images").iterdir()} == {"prices.svg", "categories.svg"}


# What others wrote.


def test_nothing_that_others_wrote_means_anything_in_the_card(catalog, tmp_path):
    text = of(catalog, tmp_path / "laid", "catalog")
    tokens = MARKDOWN.parse(text.split("\n---\n", 1)[1])
    inner = [child for token in tokens for child in token.children or []]
    assert not [token for token in [*tokens, *inner] if token.type in ("html_block", "html_inline")]
    assert headings(text)[0] == r"Shopwright: \# run\|&lt;b\>"
    assert str(tmp_path) not in text
    assert head(text)["pretty_name"] == "Shopwright: # run|<b>"
    assert head(text)["license"] == "unknown"


def test_nothing_that_others_wrote_means_anything_in_a_picture(catalog):
    for picture in draw_pictures(catalog).values():
        document = minidom.parseString(picture.encode())
        assert not document.getElementsByTagName("script")
    (label,) = [
        each
        for each in minidom.parseString(render_picture("prices", [Bar(HOSTILE, 1, "1")]).encode()).getElementsByTagName(
            "text"
        )
        if "x|y" in each.firstChild.data
    ]
    assert len(label.firstChild.data) <= 30


def test_a_sample_stays_in_its_fence():
    text = f"before\n\n{fence_text(HOSTILE + chr(10) + '`' * 7)}\n\nafter\n"
    kinds = [token.type for token in MARKDOWN.parse(text) if token.type != "paragraph_close"]
    assert kinds == ["paragraph_open", "inline", "fence", "paragraph_open", "inline"]


def test_a_cell_stays_in_its_table():
    table = MARKDOWN.parse(f"| a | b |\n| --- | --- |\n| {escape_cell(HOSTILE)} | c |\n")
    assert [token.type for token in table].count("td_open") == 2
    inner = [child.type for token in table for child in token.children or []]
    assert not {"html_inline", "link_open", "code_inline"} & set(inner)


def test_folders_and_servers_of_the_machine_are_not_told(copy, tmp_path):
    path = copy.read("catalog").manifest_path
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["recipe"]["settings"]["source"] = "webshop:/home/jane/secret/items.json"
    manifest["recipe"]["models"] = {"writer": "openai:small@http://10.0.0.7:8000/v1 (Sampling(temperature=0.7))"}
    path.write_text(json.dumps({**manifest, "sum": None}), encoding="utf-8")
    text = of(copy, tmp_path / "laid", "personas")
    assert "source webshop:items.json" in text
    assert "openai:small (Sampling(temperature" in text.replace("\\", "")
    for secret in ("jane", "10.0.0.7", str(copy.folder.parent)):
        assert secret not in text


def test_the_recipe_beside_the_data_names_every_setting_that_made_it(small, tmp_path):
    manifests = small.manifests()
    (tmp_path / "recipe.toml").write_text(write_run_recipe(manifests), encoding="utf-8")
    found = read_recipe(str(tmp_path / "recipe.toml"))
    assert found.seed == manifests[0].recipe.seed
    for made in manifests:
        mine = {
            name.removeprefix(f"{made.dataset}."): value
            for name, value in found.settings_of(made.dataset).items()
            if name.startswith(f"{made.dataset}.")
        }
        settings = {name: each for name, each in made.recipe.settings.items() if each is not None}
        assert {name: each for name, each in mine.items() if name in settings} == settings


def test_the_same_rows_are_made_from_the_recipe_beside_the_data(tmp_path):
    Run(tmp_path / "one", seed=5, workers=1).build("personas", products=300, count=4)
    (tmp_path / "recipe.toml").write_text(write_run_recipe(Run(tmp_path / "one").manifests()), encoding="utf-8")
    found = read_recipe(str(tmp_path / "recipe.toml"))
    again = Run(tmp_path / "two", seed=found.seed, workers=1)
    again.build("personas", **found.settings_of("personas"))
    assert list(again.read("personas")) == list(Run(tmp_path / "one").read("personas"))


def test_a_recipe_tells_no_folder_of_the_machine(copy):
    (made, *_) = copy.manifests()
    settings = made.recipe.settings | {"source": "webshop:/home/jane/secret/items.json"}
    text = write_run_recipe([made.model_copy(update={"recipe": made.recipe.model_copy(update={"settings": settings})})])
    assert '"catalog.source" = "webshop:items.json"' in text
    assert "jane" not in text


def test_croissant_names_every_file_and_column(small, laid):
    found = json.loads(render_croissant(small, laid, "user/shop"))
    assert found["url"].endswith("user/shop")
    records = {each["@id"]: {field["name"] for field in each["field"]} for each in found["recordSet"]}
    assert records == {name: set(config.features) for name, config in laid.configs.items()}
    for each in found["distribution"][1:]:
        assert any(Path(path).match(each["includes"]) for path in laid.files)
    assert {"arxiv:2606.07995", "arxiv:2601.18225", "arxiv:2507.17842"} <= set(head(render_card(small, laid))["tags"])


def test_a_run_without_anything_is_said_in_one_line(tmp_path):
    from shopwright.pipeline.problem import Problem

    empty = Config("a", "", pa.schema({"id": pa.string()}), {})
    with pytest.raises(Problem, match="no finished dataset"):
        lay([empty], tmp_path / "laid", finish=lambda laid: put(Run(tmp_path), replace(laid, folder=tmp_path)))
