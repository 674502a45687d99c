"""A run's folder that somebody else made: whatever is in it, each command ends in one line, and touches nothing outside."""

import hashlib
import json
import os
import shutil
import stat
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.browse.server import route_request
from shopwright.pipeline.browse.visited import Browse
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import footer, is_readable_parquet, parquet
from shopwright.pipeline.models.replies import Replies, line_checksum, list_reply_places
from shopwright.pipeline.playground.space import copy_played_datasets
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run

READ = (("list", "--run"), ("show", "catalog", "--run"), ("verify",), ("report",), ("publish", "--to", "{out}"))
BUILD = ("build", "personas", "--count", "12", "--run")


@pytest.fixture
def run_command(shopwright, tmp_path):
    """The exit code of a command on a folder; what it says is one line wherever it is an error."""

    def run(words, folder):
        code, _, err = shopwright(*[str(word).format(out=tmp_path / "out") for word in words], folder)
        assert "Traceback" not in err
        assert code != 2 or err.count("\n") == 1, err
        return code, err

    return run


@pytest.fixture
def outside(tmp_path):
    """Files beside the folder, which must stay what they are."""
    place = tmp_path / "mine"
    place.mkdir()
    (place / "notes.txt").write_text("precious\n")
    before = seen(place)
    yield place
    assert seen(place) == before


def seen(place):
    return {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def changed(folder, name="catalog", **fields):
    """The manifest with other fields; `recipe.x` by `recipe__x`."""
    path = folder / "manifests" / f"{name}.json"
    found = json.loads(path.read_text())
    found.pop("sum", None)  # who writes such a manifest writes no sum, or the right one
    for field, value in fields.items():
        outer, _, inner = field.partition("__")
        (found[outer] if inner else found)[inner or outer] = value
    path.write_text(json.dumps(found))
    return found


# --- links and what is no file ---


@pytest.mark.parametrize("link", [".report.html.tmp", "report.html"])
def test_a_link_where_the_report_is_written_is_replaced_and_not_followed(run_command, theirs, outside, link):
    (theirs / link).symlink_to(outside / "notes.txt")
    assert run_command(("report",), theirs)[0] == 0
    assert (theirs / "report.html").read_text().startswith("<!doctype html>")


def test_a_link_where_a_manifest_is_written_is_not_followed(run_command, theirs, outside):
    (theirs / "manifests" / ".personas.json.tmp").symlink_to(outside / "notes.txt")
    code, err = run_command((*BUILD[:2], "--rebuild", *BUILD[2:]), theirs)
    assert (code, "is a link that leads out of" in err) == (2, True)


@pytest.mark.parametrize("name", ["catalog", "manifests", "quarantine", "replies", "evaluations", ".publish"])
@pytest.mark.parametrize(
    "words", [(*BUILD[:2], "--rebuild", *BUILD[2:]), ("verify",), ("publish", "--to", "{out}", "--unverified")]
)
def test_a_folder_that_is_a_link_to_another_run_is_refused(run_command, plain, theirs, outside, name, words):
    """Else `--rebuild` takes that run's shards away, and replies are written to its end."""
    here, there = theirs / name, outside / name
    shutil.copytree(here, there) if here.is_dir() else there.mkdir()
    shutil.rmtree(here, ignore_errors=True)
    here.symlink_to(there)
    before = seen(outside)
    code, err = run_command(words, theirs)
    assert (code, f"{here} is a link that leads out of" in err) == (2, True)
    assert seen(outside) == before
    shutil.rmtree(there)


def test_a_link_that_stays_inside_is_no_harm(run_command, theirs):
    (theirs / "catalog" / "part-00000.parquet").rename(theirs / "kept.parquet")
    (theirs / "catalog" / "part-00000.parquet").symlink_to("../kept.parquet")
    assert run_command(("verify",), theirs)[0] == 0


def test_a_link_in_a_list_of_replies_is_refused(run_command, theirs, outside):
    (theirs / "replies").mkdir()
    (theirs / "replies" / "personas-writer-00000.jsonl").symlink_to(outside / "notes.txt")
    assert run_command((*BUILD[:2], "--rebuild", *BUILD[2:]), theirs)[0] == 2


def test_a_space_takes_nothing_along_from_outside_the_run(theirs, tmp_path):
    (tmp_path / "secret").write_text("key")
    (theirs / "catalog" / "part-00001.parquet").symlink_to(tmp_path / "secret")
    with pytest.raises(Problem, match="leads out of"):
        copy_played_datasets(Run(theirs), tmp_path / "space")
    assert not (tmp_path / "space").exists()


@pytest.mark.parametrize("words", [("verify",), ("publish", "--to", "{out}"), BUILD])
def test_a_pipe_is_refused_and_not_waited_for(run_command, theirs, words):
    os.mkfifo(theirs / "catalog" / "part-00001.parquet")
    code, err = run_command(words, theirs)
    assert (code, "is neither a file nor a folder" in err) == (2, True)


# --- manifests ---


@pytest.mark.parametrize(
    "path",
    [
        "../mine/catalog/part-00000.parquet", "/etc/passwd", "/dev/zero", "catalog/../../mine/part-00000.parquet", "catalog/x\0y.parquet",
        "personas/part-00000.parquet", "catalog/part-00000.parquet/", "catalog\\part-00000.parquet", "", "quarantine/../catalog/part-00000.parquet",
        "catalog/part-00000.parquet\n", "s3://bucket/part-00000.parquet", "catalog/*.parquet", "https://shop.example/part-00000.parquet",
    ],
)  # fmt: skip
def test_a_manifest_that_names_other_files_is_none(theirs, path):
    facts = {"rows": 1, "bytes": 1, "sha256": "0"}
    changed(theirs, files={path: facts})
    with pytest.raises(Problem, match="tells of what is not catalog"):
        assert Run(theirs).read("catalog").manifest


def test_every_command_tells_of_such_a_manifest_in_one_line(run_command, theirs):
    changed(theirs, files={"../../etc/passwd": {"rows": 1, "bytes": 1, "sha256": "0"}})
    for words in (*READ, BUILD):
        code, err = run_command(words, theirs)
        assert (code, "tells of what is not catalog" in err) == (2, True)


@pytest.mark.parametrize("fields", [{"dataset": "../../x"}, {"dataset": "personas"}, {"recipe__dataset": "personas"}])
def test_a_manifest_of_another_dataset_is_none(theirs, fields):
    changed(theirs, **fields)
    with pytest.raises(Problem, match="tells of what is not catalog"):
        assert Run(theirs).read("catalog").manifest


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 100_000, '{"rows": ' + "9" * 6_000 + "}", '{"rows": NaN}', "[]", "null", '"x"', "\ufeff{}", "{}\0"]
)  # fmt: skip
def test_a_manifest_that_is_no_manifest_is_told_in_one_line(run_command, theirs, text):
    (theirs / "manifests" / "catalog.json").write_text(text)
    for words in (READ[0], READ[2], BUILD):
        code, err = run_command(words, theirs)
        assert (code, "manifests/catalog.json cannot be read" in err) == (2, True)


def test_fields_that_nobody_knows_are_not_passed_over(theirs):
    changed(theirs, surprise=1)
    with pytest.raises(Problem, match="cannot be read"):
        assert Run(theirs).read("catalog").manifest


def test_counts_that_cannot_be_are_told_by_verify_and_hurt_nobody(run_command, theirs):
    huge = {
        "rows": 10**30,
        "rejected": -5,
        "tokens": 10**40,
        "workers": -1,
        "rejects": {"<script>": -(10**30)},
        "stats": {"x": 1e308},
    }
    changed(theirs, **huge)
    code, _ = run_command(("verify",), theirs)
    assert code == 1
    for words in (READ[0], READ[1], READ[3]):
        assert run_command(words, theirs)[0] == 0


def test_settings_that_are_none_are_told_before_anything_is_built(run_command, theirs):
    changed(theirs, recipe__settings={"products": {"a": 1}})
    before = seen(theirs)
    assert run_command(("build", "catalog", "--rebuild", "--run"), theirs)[0] == 2
    assert seen(theirs) == before


@pytest.mark.parametrize("asked", [{"x": 5}, {"x": {"role": []}}])
def test_what_was_asked_of_models_is_read_strictly(run_command, theirs, asked):
    changed(theirs, asked=asked)
    assert run_command(("report",), theirs)[0] == 2


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[" * 100_000, "[1]", "[null]"])
def test_an_audit_that_is_none_is_told_in_one_line(run_command, theirs, text):
    (theirs / "evaluations").mkdir(exist_ok=True)
    (theirs / "evaluations" / "audit-envs.json").write_text(text)
    code, err = run_command(("report",), theirs)
    assert (code, "audit-envs.json is no audit" in err) == (2, True)


# --- Parquet ---


def with_facts_of(folder, name="catalog"):
    """The manifest tells the file as it is now: somebody who spoils a folder spoils its manifest too."""
    path = next((folder / name).glob("part-*.parquet"))
    found = json.loads((folder / "manifests" / f"{name}.json").read_text())
    found.pop("sum", None)
    facts = found["files"][f"{name}/{path.name}"]
    facts |= {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    with suppress(pa.ArrowException, OSError):
        facts["rows"] = found["rows"] = pq.read_metadata(path).num_rows
    (folder / "manifests" / f"{name}.json").write_text(json.dumps(found))


def lies(path):
    """Titles are numbers."""
    table = pq.read_table(path)
    place = table.schema.get_field_index("title")
    pq.write_table(table.set_column(place, "title", pa.array(range(len(table)))), path)


def one_column(path):
    pq.write_table(pa.table({"id": ["x"]}), path)


def nested(path):
    """A column of lists of lists of lists."""
    kind = pa.int8()
    for _ in range(60):
        kind = pa.list_(kind)
    pq.write_table(pa.table({"id": pa.array([None], kind)}), path)


def billions(path):
    """The footer counts more rows than there are."""
    table = pq.read_table(path)
    whole, count = path.read_bytes(), varint(len(table))
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    head, tail = whole[:footer], whole[footer:-8]
    tail = tail.replace(b"\x16" + count, b"\x16" + varint(40_000_000_000))
    path.write_bytes(head + tail + len(tail).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).num_rows == 40_000_000_000


def varint(number):
    """As Thrift's compact form writes an i64."""
    number *= 2
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def footer_of_lies(path):
    path.write_bytes(path.read_bytes()[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1")


def words(path):
    path.write_text("PAR1 this is not Parquet PAR1")


@pytest.mark.parametrize("spoil", [lies, one_column, nested, billions, footer_of_lies, words])
def test_parquet_that_lies_is_named_damage(run_command, theirs, spoil, outside):
    spoil(next((theirs / "catalog").glob("part-*.parquet")))
    with_facts_of(theirs)
    assert run_command(("verify",), theirs)[0] == 1
    assert run_command(("publish", "--to", "{out}"), theirs)[0] == 1
    assert not (theirs.parent / "out").exists()


def test_rows_that_no_file_of_that_size_can_hold_are_not_believed(theirs):
    path = next((theirs / "catalog").glob("part-*.parquet"))
    assert footer(path).num_rows == parquet(path).metadata.num_rows == Run(theirs).read("catalog").manifest.rows
    billions(path)
    for read in (footer, parquet):
        with pytest.raises(pa.ArrowInvalid, match=r"counts 40,000,000,000 rows in [\d,]+ bytes"):
            read(path)
    assert not is_readable_parquet(path)


@pytest.mark.parametrize("spoil", [billions, footer_of_lies, words])
def test_a_page_of_parquet_that_lies_is_an_answer(theirs, spoil):
    spoil(next((theirs / "catalog").glob("part-*.parquet")))
    browse = Browse(Run(theirs))
    try:
        for parts, given in (
            (["data", "catalog"], {}),
            (["data", "catalog", "0"], {}),
            (["data", "catalog"], {"sql": "price > 0"}),
        ):
            with suppress(pa.ArrowException, OSError):  # the server answers 500 to these, and says which
                assert route_request(browse, parts, given).status in (200, 400, 404, 500)
    finally:
        browse.worker.stop()


def test_an_extension_type_of_parquet_runs_nothing(tmp_path):
    """Old pyarrow unpickled what such a type says of itself (CVE-2023-47248)."""
    target = tmp_path / "executed"
    payload = f"cposix\nsystem\n(S'touch {target}'\ntR.".encode()
    meta = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": payload}
    schema = pa.schema([pa.field("id", pa.string(), metadata=meta)])
    pq.write_table(pa.Table.from_arrays([pa.array(["x"])], schema=schema), tmp_path / "part-00000.parquet")
    pq.ParquetFile(tmp_path / "part-00000.parquet").read()
    assert not target.exists()


# --- replies ---

REPLIES = [
    {"key": "a", "text": 5}, {"key": "b", "text": "x", "calls": [5]}, {"key": "c", "surprise": 1}, {"key": ["d"]}, {"key": "e", "round": "x"},
    {"key": "f", "tokens": "many"}, {"key": "g", "chances": {}}, {"text": "no key"}, ["key"], None, 5,
]  # fmt: skip


def test_lines_that_are_no_replies_are_passed_over(tmp_path):
    bodies = [json.dumps(each)[:-1].encode() for each in REPLIES] + [
        b"[" * 100_000,
        b'{"key": ' * 50_000,
        b'{"key": "h", "text": "good"',
    ]
    (tmp_path / "hostile.jsonl").write_bytes(
        b"".join(b'%b, "sum": "%b"}\n' % (body, line_checksum(body)) for body in bodies)
    )
    assert [key for key, _ in list_reply_places(tmp_path)] == ["h"]
    replies = Replies(tmp_path, "mine")
    assert replies.get("h").text == "good"
    assert replies.get("a") is None


@pytest.mark.parametrize("text", ["[]", "{", '{"a": "x"}', '{"a": null}', "[" * 100_000])
def test_a_list_of_what_is_asked_anew_that_is_none_is_told(tmp_path, text):
    (tmp_path / "anew.json").write_text(text)
    with pytest.raises(Problem, match="cannot be read"):
        Replies(tmp_path, "mine")


# --- what we write ---


def test_what_a_build_writes_is_no_program(plain):
    for path in plain.folder.rglob("*"):
        assert path.is_dir() or not path.stat().st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH | stat.S_ISUID)


def test_a_manifest_of_ours_passes(plain):
    for name in ("catalog", "personas"):
        assert isinstance(plain.read(name).manifest, Manifest)


def test_a_published_folder_holds_data_and_a_card_and_no_code(plain, tmp_path, run_command):
    assert run_command(("publish", "--to", "{out}"), plain.folder)[0] == 0
    kinds = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert kinds <= {".parquet", ".md", ".json", ".svg", ".png", ".toml"}
    assert [path.name for path in (tmp_path / "out").rglob("*.toml")] == ["recipe.toml"]
    card = (tmp_path / "out" / "README.md").read_text()
    assert "trust_remote_code" not in card
