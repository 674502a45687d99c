"""Bad input: one clear line, exit code 2, and nothing left behind."""

import gzip
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from tests.folders import listing

SHOP = "id,title,price,category\n" + "".join(f"item-{n},Lamp number {n},{10 + n},Lamps\n" for n in range(40))


@pytest.fixture
def refused(shopwright, tmp_path):
    """Runs a command that must fail, and gives the one line that it says."""

    def one_line(*arguments, code=2):
        before = listing(tmp_path)
        ended, out, err = shopwright(*arguments)
        assert (ended, out) == (code, ""), err
        assert err.startswith("shopwright: error: ")
        assert err.count("\n") == 1, err
        assert listing(tmp_path) == before
        return err

    return one_line


def build(tmp_path, *settings, dataset="trajectories"):
    return ("build", dataset, "--run", tmp_path / "run", "--workers", "1", *settings)


# --- files -------------------------------------------------------------------------------------------------------------


def parquet():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"title": [f"Lamp {n}" for n in range(500)], "price": [9.5] * 500}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b" \n\n", "is empty"),
        ("header.csv", b"title,price\n", "has no rows"),
        ("one.csv", b"title\nRed lamp\nBlue lamp\n", "has only one column, 'title'"),
        ("untitled.csv", b"cost,size\n3,4\n", "No column looks like a title"),
        ("half.parquet", parquet()[:-200], "is not Parquet, or not all of it is there"),
        ("false.parquet", b"title,price\nLamp,3\n", "is not Parquet"),
        ("rubbish.csv", bytes(range(256)) * 40, "is binary"),
        ("rubbish.jsonl", os.urandom(2_000), ""),
        ("list.json", b"[1, 2, 3]", "No row of"),
        ("half.json", b'[{"title": "Lam', "No row of"),
        ("half.csv.gz", gzip.compress(SHOP.encode())[:-40], "ends too early"),
        ("shop.xlsx", b"PK\x03\x04 and so on", ""),
        ("shop.doc", b"a lamp, and another", "has no type that is known here"),
    ],
)
def test_a_source_that_is_no_catalog_is_told(refused, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    for dataset in ("catalog", "trajectories"):
        told = refused(*build(tmp_path, "--source", tmp_path / name, dataset=dataset))
        assert said in told
        assert name in told or "column" in told


def test_a_source_that_is_not_there_is_told_with_what_was_meant(refused, tmp_path):
    assert "There is no file or folder" in refused(*build(tmp_path, "--source", tmp_path / "shop.csv"))
    assert "Did you mean esci?" in refused(*build(tmp_path, "--source", "ecsi"))
    (tmp_path / "folder").mkdir()
    assert "holds no .parquet file" in refused(*build(tmp_path, "--source", tmp_path / "folder"))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("title=nmae", "--columns: there is no column 'nmae'"),
        ("titel=title", "a product has no field 'titel'"),
        ("title", "write it as ours=theirs"),
        ("title=", "write it as ours=theirs"),
    ],
)
def test_columns_that_there_are_not_are_told(refused, tmp_path, columns, said):
    (tmp_path / "shop.csv").write_text(SHOP)
    assert said in refused(*build(tmp_path, "--source", tmp_path / "shop.csv", "--columns", columns))


@pytest.mark.parametrize(
    ("name", "content"), [("no.csv", None), ("no.csv", "text\nlamp\n"), ("q.json", "{"), ("e.json", "[]")]
)
def test_queries_that_are_none_are_told(refused, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_text(content)
    assert name in refused(*build(tmp_path, "--queries", tmp_path / name))


@pytest.mark.parametrize(
    ("name", "content"), [("tokenizer.json", None), ("t.json", "{}"), ("t.txt", "hello"), ("dir", None)]
)
def test_a_tokenizer_that_is_none_is_told_before_anything_is_built(refused, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_text(content)
    if name == "dir":
        (tmp_path / name).mkdir()
    assert "okenizer" in refused(*build(tmp_path, "--tokenizer", tmp_path / name))


# --- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("--count", "-5", "--count -5: Input should be greater than or equal to 1."),
        ("--count", "0", "--count 0: Input should be greater than or equal to 1."),
        ("--count", "abc", "--count abc: Input should be a valid integer"),
        ("--count", "2.5", "--count 2.5: Input should be a valid integer"),
        ("--tokens", "5", "--tokens 5: '5' is not a number of tokens from 2000 on"),
        ("--tokens", "lots", "--tokens lots: 'lots' is not a number of tokens"),
        ("--tokens", "32k,", "--tokens 32k,: '' is not a number of tokens"),
        ("--promoted", "2", "--promoted 2: Input should be less than or equal to 1."),
        ("--promoted", "nan", "--promoted nan: "),
        ("--currency", "euro", "--currency euro: euro is no ISO code of a currency, as EUR is"),
        ("--rates", "EUR", "--rates EUR: write it as code=dollars, as in EUR=1.08,GBP=1.27"),
        ("--rates", "EUR=0", "--rates EUR=0: 0 is not a rate in dollars, such as EUR=1.08"),
        ("--rates", "XYZ=1", "--rates XYZ=1: XYZ is no ISO code of a currency, as EUR is"),
        ("--licence", "mine", "--licence mine: it is no identifier of the SPDX list, as CC-BY-4.0 and Apache-2.0 are"),
        ("--products", "0", "--products 0: Input should be greater than or equal to 1."),
        ("--start", "yesterday", "--start yesterday: Input should be a valid date"),
        ("--source", "", "--source : String should have at least 1 character."),
        ("--seed", "x", "argument --seed: invalid int value: 'x'."),
        ("--workers", "0", "argument --workers: 0 is not a whole number from 1 on."),
        ("--workers", "-2", "argument --workers: -2 is not a whole number from 1 on."),
    ],
)
def test_a_value_that_is_not_allowed_is_told_with_its_setting(refused, tmp_path, setting, value, said):
    assert said in refused("build", "trajectories", "--run", tmp_path / "run", setting, value)


def test_a_setting_that_there_is_not_is_told_with_those_that_there_are(refused, tmp_path):
    told = refused(*build(tmp_path, "--colour", "red"))
    assert (
        "trajectories has no setting --colour red. It has: --tokens, --start, --tokenizer, --written-by, --mix, --per-category, --count, --source"
        in told
    )
    assert "no setting --toke 6k. Did you mean --tokens?" in refused(*build(tmp_path, "--toke", "6k"))
    assert "catalog has no setting --count 3" in refused(*build(tmp_path, "--count", "3", dataset="catalog"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bild",), "There is no command bild. Did you mean build?"),
        (("build",), "the following arguments are required: DATASET"),
        (
            ("build", "lamps"),
            f"There is no dataset lamps. There are: {', '.join(all_stages())}.",
        ),
        (
            ("show", "lamps"),
            f"There is no dataset lamps. There are: {', '.join(all_stages())}.",
        ),
        (("show", "catalog", "-n", "0"), "0 is not a whole number from 1 on"),
        (("show", "catalog", "--columns", "id"), "show does not take --columns id"),
        (("verify", "a", "b"), "verify does not take b"),
    ],
)
def test_a_command_that_there_is_not_is_told(refused, words, said):
    assert said in refused(*words)


def test_showing_what_is_not_there_tells_how_to_build_it(refused, tmp_path):
    told = refused("show", "personas", "--run", tmp_path / "run")
    assert f"Build it: shopwright build personas --run {tmp_path / 'run'}" in told


# --- the run's folder --------------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_told(refused, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "run", tmp_path / "file", "/proc/nothing/run"):
        assert f"Cannot write to {folder}: " in refused("build", "catalog", "--run", folder)


WITHOUT_RIGHTS = """
import os, sys
from shopwright.pipeline.__main__ import main, make_parser
make_parser()  # imports the stages, which may lie where only root can look
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("there", ["", "run", "run/manifests"])
def test_a_folder_without_the_right_to_write_is_told(there):
    with TemporaryDirectory() as parent:
        (Path(parent) / there).mkdir(parents=True, exist_ok=True)
        for folder in (Path(parent), *Path(parent).rglob("*")):
            folder.chmod(0o555)
        words = [sys.executable, "-c", WITHOUT_RIGHTS, "build", "catalog", "--run", f"{parent}/run"]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        before = {"run", there} - {""} if there else set()
        assert listing(Path(parent)) == before
        for folder in (Path(parent), *Path(parent).rglob("*")):
            folder.chmod(0o755)
    why = "Permission denied. Choose another --run folder."
    assert done.stderr == f"shopwright: error: Cannot write to {parent}/run: {why}\n"
    assert done.returncode == 2


def test_a_run_made_by_another_recipe_is_told_and_left_as_it_was(refused, copy):
    before = times(copy.folder)
    told = refused("build", "trajectories", "--run", copy.folder, "--count", "30", "--tokens", "8k")
    assert "personas in" in told
    assert "was made differently: count 20 -> 30. Build with --rebuild" in told
    told = refused("build", "trajectories", "--run", copy.folder, "--tokens", "8k")
    assert 'tokens ["6k"] -> ["8k"]' in told
    assert times(copy.folder) == before


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def of_the_future(text):
    found = json.loads(text)
    return json.dumps({**found, "moon": "full", "recipe": {**found["recipe"], "version": "9.1"}})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (of_the_future, "it was written by version 9.1"),
        (lambda text: text[: len(text) // 2], "it is damaged"),
        (lambda text: "", "it is damaged"),
        (lambda text: "[" * 100_000, "it is damaged"),
    ],
    ids=["of the future", "half", "empty", "deep"],
)
def test_a_manifest_of_the_future_or_damaged_is_told(refused, copy, change, why):
    path = copy.folder / "manifests" / "catalog.json"
    path.write_text(change(path.read_text()))
    for words in (("build", "trajectories", "--run"), ("verify",), ("list", "--run"), ("show", "catalog", "--run")):
        assert f"{path} cannot be read as a manifest of this version ({why})." in refused(*words, copy.folder)


def test_a_second_build_in_one_folder_is_told_and_the_first_goes_on(refused, copy):
    with closing(copy.builds("trajectories", {"tokens": "7k"}, rebuild=True)) as builds:
        next(builds)
        told = refused("build", "trajectories", "--run", copy.folder, "--tokens", "7k")
    assert f"Another build is at work in {copy.folder} (process {os.getpid()} on {gethostname()} since 20" in told


def test_a_build_that_fails_late_leaves_what_was_there_before(refused, tmp_path):
    (tmp_path / "shop.csv").write_text(SHOP)
    run = Run(tmp_path / "run", workers=1)
    run.build("catalog", source=str(tmp_path / "shop.csv"))
    assert "--count 0" in refused(*build(tmp_path, "--count", "0"))
    assert run.read("catalog").manifest.rows == 40
