"""What every source promises: all rows, in order, whatever was read before; and one clear error for a bad input."""

import bz2
import csv
import gzip
import json
import lzma
import os
import pickle
import random
import socket
import subprocess
import sys
import zipfile
from decimal import Decimal
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.sources import BadSource, open_source
from shopwright.pipeline.catalog.tables import text
from shopwright.pipeline.catalog.tables.table import STEP
from tests.catalog.hub import Hub

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"


def rows(source):
    return list(source.read(0, len(source)))


def products(source):
    done = [
        normalize(raw, source=source.name, licence=source.licence, number=number)
        for number, raw in enumerate(rows(source))
    ]
    assert all(isinstance(row, dict) for row in done), done
    return done


def items(count):
    return [
        {"sku": f"p{i}", "Name": f"Lamp, {i} “é”\nsecond line", "Cost": f"{i}.50", "weight": f"{i} kg"}
        for i in range(count)
    ]


def write(path, records):
    """The same records in the format that the name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=700)
        return path
    opener = gzip.open if path.suffix == ".gz" else open
    name = path.name.removesuffix(".gz")
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if name.endswith("jsonl"):
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        elif name.endswith("json"):
            json.dump(records, file, ensure_ascii=False, indent=1)
        else:
            table = csv.DictWriter(file, list(records[0]), delimiter="\t" if name.endswith("tsv") else ",")
            table.writeheader()
            table.writerows(records)
    return path


FORMATS = ["x.csv", "x.tsv", "x.jsonl", "x.json", "x.parquet", "x.csv.gz", "x.jsonl.gz", "x.json.gz"]


@pytest.fixture(scope="module", params=FORMATS)
def written(request, tmp_path_factory):
    return write(tmp_path_factory.mktemp("file") / request.param, items(2_345))


def test_every_format_gives_the_same_products(written):
    source = open_source(str(written))
    assert len(source) == 2_345
    assert source.files == [written]
    row = rows(source)[2_344]
    assert row == {
        "id": "p2344",
        "title": "Lamp, 2344 “é”\nsecond line",
        "price": "2344.50",
        "attributes": {"weight": "2344 kg"},
    }
    assert [row["id"] for row in rows(source)] == [f"p{i}" for i in range(2_345)]


def test_a_slice_is_the_same_whatever_was_read_before(written):
    source = open_source(str(written))
    everything = rows(open_source(str(written)))
    for start, stop in [
        (2_000, 2_010),
        (0, 3),
        (999, 1_001),
        (1_399, 1_402),
        (2_340, 9_999),
        (5_000, 6_000),
        (7, 7),
        (9, 3),
    ]:
        assert list(source.read(start, stop)) == everything[start:stop]


def test_a_source_can_be_sent_to_a_worker(written):
    source = open_source(str(written))
    len(source)
    assert next(pickle.loads(pickle.dumps(source)).read(1_500, 1_501))["id"] == "p1500"


def test_a_folder_of_shards_is_read_in_the_order_of_their_names_and_hidden_ones_are_not(tmp_path):
    for name, ids in {"b": ["3", "4"], "a": ["1", "2"], "_quarantine/c": ["5"]}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / f"{name}.parquet", [{"id": id, "title": "Lamp"} for id in ids])
    source = open_source(str(tmp_path))
    assert [row["id"] for row in rows(source)] == ["1", "2", "3", "4"]
    assert [path.name for path in source.files] == ["a.parquet", "b.parquet"]


def test_row_groups_before_the_slice_are_not_read(tmp_path, monkeypatch):
    source = open_source(str(write(tmp_path / "x.parquet", items(2_345))))
    read = []
    real = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile,
        "iter_batches",
        lambda self, **options: read.append(options["row_groups"]) or real(self, **options),
    )
    list(source.read(1_500, 1_600))
    assert read == [[2]]


def test_shards_of_which_some_lack_a_column_are_read(tmp_path):
    write(tmp_path / "a.parquet", [{"id": "1", "title": "Lamp", "brand": "Norrvik"}])
    write(tmp_path / "b.parquet", [{"id": "2", "title": "Lamp"}])
    assert [row["brand"] for row in rows(open_source(str(tmp_path)))] == ["Norrvik", None]


def test_columns_say_which_is_which_and_beat_the_guess(tmp_path):
    path = write(tmp_path / "x.csv", [{"name": "Lamp", "label": "Oak lamp", "price": "1", "net": "2", "code": "x"}])
    source = open_source(str(path), {"title": "label", "price": "net"})
    assert rows(source) == [{"title": "Oak lamp", "price": "2", "attributes": {"code": "x"}}]


def test_unknown_columns_become_attributes_unless_they_are_links_dates_or_structures(tmp_path):
    record = {
        "title": "Lamp",
        "price": 3,
        "modelno": "X1",
        "watts": 7,
        "image_url": "http://x",
        "seen": "https://y",
        "release_date": "2020",
        "tree": {"a": 1},
        "manufacturer": "Norrvik",
        "brand": "Norrvik",
        "list_price": 4,
    }
    (row,) = rows(open_source(str(write(tmp_path / "x.jsonl", [record]))))
    assert row["attributes"] == {"modelno": "X1", "watts": 7, "manufacturer": "Norrvik"}


def test_attributes_of_the_source_and_unknown_columns_come_together(tmp_path):
    record = {"title": "Lamp", "price": 3, "modelno": "X1", "details": {"Size": "12 in"}}
    (product,) = products(open_source(str(write(tmp_path / "x.jsonl", [record]))))
    assert [(a["name"], a["value"]) for a in product["attributes"]] == [("Size", "12 in"), ("modelno", "X1")]


def test_our_own_catalog_can_be_a_source_again(tmp_path):
    path = write(tmp_path / "x.csv", [{"name": "Oak lamp", "price": "9.99", "brand": "Norrvik", "watts": "7 W"}])
    (first,) = products(open_source(str(path)))
    parquet = write(tmp_path / "x.parquet", [{**first, "price": Decimal("9.99")}])
    (second,) = products(open_source(str(parquet)))
    assert {**second, "repairs": first["repairs"]} == first


# Damage in rows


def csv_file(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2,a,b,9", "wrong number of fields"),
        ("2,a", "wrong number of fields"),
        ('2,"an open quote,9', "a quote is not closed"),
        ('"2,an open quote,9', "a quote is not closed"),
        (b"2,caf\xe9,9", "not UTF-8"),
        (b"2,bare\rreturn,9", "no CSV"),
    ],
)
def test_a_broken_csv_row_is_one_unreadable_row_and_no_other_is_lost(tmp_path, line, reason):
    line = line if isinstance(line, bytes) else line.encode()
    after = b"".join(b"%d,Lamp %d,1\n" % (i, i) for i in range(3, 1_500))
    source = open_source(str(csv_file(tmp_path, b"id,name,price\n1,Oak,1\n" + line + b"\n" + after)))
    found = rows(source)
    assert len(found) == 1_499
    assert found[0]["id"] == "1"
    assert found[1]["unreadable"] == reason
    assert found[1]["raw"].startswith(("2,", '"2,'))
    assert [row["id"] for row in found[2:]] == [str(i) for i in range(3, 1_500)]
    assert list(source.read(1_200, 1_202)) == found[1_200:1_202]


def test_a_very_long_field_and_a_bom_and_blank_lines_are_read(tmp_path):
    text = "\ufeffid,name,price\r\n\r\n1," + "x" * 500_000 + ",2\r\n\r\n2,Lamp,3"
    found = rows(open_source(str(csv_file(tmp_path, text))))
    assert [(row["id"], len(row["title"]), row["price"]) for row in found] == [
        ("1", 500_000, "2"),
        ("2", 4, "3"),
    ]


@given(st.text('a,"\r;\u00e9\u2028\0 ', max_size=12), st.sampled_from(["\n", "\r\n", ""]))
def test_a_line_without_quotes_is_split_as_csv_splits_it(line, end):
    whole = (line + end).encode()
    found = text.split_plain(text.Line(whole, len(whole)), ",")
    assert found is None or [found] == (list(csv.reader([line + end])) or [[]])
    assert (found is None) == ('"' in line or "\r" in line.rstrip("\r"))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    path = csv_file(
        tmp_path, delimiter.join(["id", "name", "price"]) + "\n" + delimiter.join(["1", "Lamp, oak", "1,50"])
    )
    assert rows(open_source(str(path))) == [{"id": "1", "title": "Lamp, oak", "price": "1,50"}]


@pytest.mark.parametrize("name", ["shop.csv", "shop.jsonl"])
def test_a_row_of_more_than_16_megabytes_is_one_unreadable_row(tmp_path, name):
    one = "p{},A lamp,{}\n" if name == "shop.csv" else '{{"id": "p{}", "title": "A lamp", "price": "{}"}}\n'
    with (tmp_path / name).open("w") as file:
        file.write("id,title,price\n" if name == "shop.csv" else "")
        file.writelines(one.format(number, 9) for number in range(2))
        file.write(one.format("w" * (33 << 20), 9))
        file.writelines(one.format(number, 9) for number in range(2, 1_500))
    source = open_source(str(tmp_path / name))
    found = rows(source)
    assert len(found) == 1_501
    assert found[2]["unreadable"] == "more than 16 MB in one row"
    assert len(found[2]["raw"]) == 10_000
    assert [each.get("id") for each in found] == ["p0", "p1", None, *(f"p{number}" for number in range(2, 1_500))]
    assert list(source.read(1_200, 1_202)) == found[1_200:1_202]


def test_a_long_line_within_an_open_quote_costs_itself_and_the_quote(tmp_path):
    path = csv_file(tmp_path, 'id,title,price\np0,A lamp,9\np1,"A lamp,9\n' + "w" * (17 << 20) + "\np2,A lamp,9\n")
    assert [each.get("unreadable", each.get("id")) for each in rows(open_source(str(path)))] == [
        "p0", "a quote is not closed", "more than 16 MB in one row", "p2",
    ]  # fmt: skip


def test_a_row_of_many_lines_is_no_longer_than_one_of_a_single_line(tmp_path):
    """Three lines of 7 MB, of which no cell has more than 14."""
    half = "w" * (7 << 20)
    path = csv_file(tmp_path, f'id,title,price\np0,"{half}\n{half}","{half}\n{half}"\np2,A lamp,9\n')
    found = rows(open_source(str(path)))
    assert found[0]["unreadable"] == "a quote is not closed"
    assert [each.get("id") for each in found] == [None, None, None, "p2"]


@pytest.mark.parametrize(
    ("name", "good", "bad", "reason"),
    [
        ("shop.csv", "p0,A lamp,9\n", "w\n", "a quote is not closed"),
        ("shop.jsonl", '{"id": "p0", "title": "A lamp"}\n', "{w\n", "no JSON"),
        ("shop.jsonl.gz", '{"id": "p0", "title": "A lamp"}\n', "{w\n", "no JSON"),
    ],
)
def test_a_file_of_which_very_many_rows_in_turn_cannot_be_read_is_one_clear_error(
    tmp_path, monkeypatch, name, good, bad, reason
):
    monkeypatch.setattr(text, "BROKEN", 4_000)
    head = "id,title,price\n" if name == "shop.csv" else ""
    open_quote = 'p1,"A lamp,9\n' if name == "shop.csv" else ""
    path = tmp_path / name

    def write(count):
        whole = head + good * 3_000 + open_quote + bad * count + good * 2
        path.write_bytes(gzip.compress(whole.encode()) if name.endswith("gz") else whole.encode())
        return open_source(str(path))

    assert len(write(3_000)) == 6_002 + bool(open_quote)
    with pytest.raises(BadSource, match=f"4,000 rows one after the other cannot be read, from byte .*: {reason}"):
        len(write(12_000))


def test_quotes_that_are_never_closed_are_not_looked_for_again_and_again(tmp_path, monkeypatch):
    path = csv_file(tmp_path, "id,title\n" + 'a"b,"c\n' * 300)
    assert {each["unreadable"] for each in rows(open_source(str(path)))} == {"a quote is not closed"}
    monkeypatch.setattr(text, "AGAIN", 10_000)
    with pytest.raises(BadSource, match="too many quotes that are not closed, the last at byte "):
        len(open_source(str(path)))
    monkeypatch.undo()
    monkeypatch.setattr(text, "AGAIN_BYTES", 10_000)
    with pytest.raises(BadSource, match="too many quotes that are not closed, the last at byte "):
        len(open_source(str(path)))


@pytest.mark.parametrize("name", ["wide.csv", "wide.jsonl", "wide.parquet"])
def test_a_table_of_more_than_2000_columns_is_one_clear_error(tmp_path, name):
    titles = ["title", "price", *(f"column {number}" for number in range(20_000))]
    path = tmp_path / name
    if name == "wide.csv":
        path.write_text(",".join(titles) + "\n" + ",".join(["3"] * len(titles)) + "\n")
    elif name == "wide.jsonl":
        path.write_text(json.dumps(dict.fromkeys(titles, "3")) + "\n")
    else:
        pq.write_table(pa.Table.from_pylist([dict.fromkeys(titles, "3")]), path)
    with pytest.raises(BadSource, match="has 20,002 columns, and at most 2,000 are read"):
        open_source(str(path))


@pytest.mark.parametrize(
    "packing", ["gz", "zst", "zip", *(pytest.param(each, marks=pytest.mark.slow) for each in ("bz2", "xz"))]
)
def test_a_file_that_grows_as_no_catalog_does_is_one_clear_error(tmp_path, packing):
    text = b"id,title,price\n" + b"p0,A lamp,9\n" * 5_700_000
    path = tmp_path / f"shop.csv.{packing}"
    if packing == "zst":
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(text)
    elif packing == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("shop.csv", text)
    else:
        pack = {
            "gz": partial(gzip.open, compresslevel=1),
            "bz2": partial(bz2.open, compresslevel=1),
            "xz": partial(lzma.open, preset=0),
        }[packing]
        with pack(path, "wb") as file:
            file.write(text)
    assert path.stat().st_size < len(text) / 100
    with pytest.raises(BadSource, match="unpacks to more than 100 times its size"):
        open_source(str(path))


def test_a_broken_line_of_json_is_an_unreadable_row(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"title": "a", "id": 1}\n{"title": \n\n[1]\n{"title": "caf\xe9"}\n{"title": "b", "id": 2}')
    found = rows(open_source(str(path)))
    assert [row.get("unreadable") for row in found] == [None, "no JSON", "no JSON object", "not UTF-8", None]
    assert found[4]["title"] == "b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'[{"title": "a"}, {"title": oops}, {"title": "b"}]', ["a", "no JSON", "b"]),
        (b'[{"title": "a"}, {"title": "caf\xe9"}, {"title": "b"}]', ["a", "not UTF-8", "b"]),
        (
            b'[{"title": "a"}, 17, null, [1], {"title": "b"}]',
            ["a", "no JSON object", "no JSON object", "no JSON object", "b"],
        ),
        (b'[{"title": "a"}, {"title": "b", "x": [1, 2', ["a", "no JSON"]),
        (b'[{"title": "a"}, {"title": "b"}', ["a", "b"]),
        (b'\xef\xbb\xbf [\n{"title": "a"}\n]\n', ["a"]),
        (b'[{"title": "' + b"\xc3\xa9" * 2_000_000 + b'"}, {"title": "b"}]', ["é" * 2_000_000, "b"]),
    ],
)
def test_a_json_array_is_read_object_by_object_and_damage_stays_where_it_is(tmp_path, text, expected):
    path = tmp_path / "x.json"
    path.write_bytes(text)
    found = rows(open_source(str(path)))
    assert [row.get("title") or row["unreadable"] for row in found] == expected


@given(st.data())
def test_no_damage_to_a_csv_raises_or_loses_the_rows_far_from_it(tmp_path_factory, data):
    lines = ["id,name,price"] + [f'{i},"Lamp, {i}",1' for i in range(40)]
    place = data.draw(st.integers(15, 25))
    dirt = data.draw(st.text('",\r\n;x\x00é', min_size=1, max_size=6))
    cut = data.draw(st.integers(0, len(lines[place])))
    lines[place] = lines[place][:cut] + dirt + lines[place][cut:]
    path = csv_file(tmp_path_factory.mktemp("damage"), "\n".join(lines))
    found = rows(open_source(str(path)))
    ids = [row.get("id") for row in found]
    assert ids[:14] == [str(i) for i in range(14)]
    assert ids[-14:] == [str(i) for i in range(26, 40)]
    assert len(found) >= 39


def test_a_parquet_cell_that_is_not_utf8_is_an_unreadable_row(tmp_path):
    titles = pa.Array.from_buffers(pa.string(), 3, pa.array([b"oak", b"\xff\xfe", b"ash"]).buffers())
    pq.write_table(pa.table({"id": ["1", "2", "3"], "title": titles}), tmp_path / "x.parquet")
    found = rows(open_source(str(tmp_path / "x.parquet")))
    assert [row.get("title") for row in found] == ["oak", None, "ash"]
    assert found[1]["unreadable"] == "not UTF-8"


# Bad inputs


def bad(text, columns=None):
    with pytest.raises(BadSource) as error:
        rows(open_source(str(text), columns))
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", "?", "PATH", "NAME"))
    return message


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", b"", "is empty"),
        ("x.jsonl", b" \n\n", "is empty"),
        ("x.csv", b"id,name\n", "has no rows"),
        ("x.json", b"[]", "No row of"),
        ("x.csv", b"name\nLamp\nChair\n", "--columns title=NAME"),
        ("x.csv", b"a,b,a\n1,2,3\n", "two columns named 'a'"),
        ("x.csv", b"code,cost\n1,2\n", "No column looks like a title"),
        ("x.xlsx", b"PK some text", "no type that is known"),
        ("x.csv", bytes(range(256)) * 9, "binary"),
        ("x.csv", random.Random(1).randbytes(5_000).replace(b"\0", b""), "not text"),
        ("x.jsonl", b"hello\nworld\n", "No row of"),
        ("x.json", b'{\n "products": []\n}', "No row of"),
        ("x.parquet", b"PAR1 and then nothing", "not all of it is there"),
        ("x.parquet", b"not parquet at all", "not Parquet"),
        ("x.parquet", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        ("x.csv.gz", b"id,name\n1,Lamp\n", "no gzip file"),
        (
            "x.csv.gz",
            gzip.compress(b"id,name\n" + random.Random(1).randbytes(99_999).hex().encode())[:-999],
            "too early",
        ),
    ],
)
def test_a_file_that_is_no_catalog_is_one_clear_error(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    assert says in bad(tmp_path / name)


def test_a_truncated_parquet_file_is_named(tmp_path):
    whole = write(tmp_path / "x.parquet", items(3_000)).read_bytes()
    (tmp_path / "x.parquet").write_bytes(whole[: len(whole) // 2])
    assert "x.parquet" in bad(tmp_path / "x.parquet")


def test_a_damaged_row_group_is_named(tmp_path):
    path = write(tmp_path / "x.parquet", items(3_000))
    whole = bytearray(path.read_bytes())
    middle = slice(len(whole) // 2, len(whole) // 2 + 4_000)
    whole[middle] = bytes(4_000)
    path.write_bytes(whole)
    assert "row group" in bad(path)


def test_a_pipe_or_a_socket_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket has at most a hundred letters
    os.mkfifo("pipe.csv")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.csv")
        for name in ("pipe.csv", "socket.csv"):
            with pytest.raises(BadSource, match=f"{name} is neither a file nor a folder"):
                open_source(name)


def test_a_path_that_is_not_there_says_so_and_names_what_is_near(tmp_path):
    assert "There is no file or folder" in bad(tmp_path / "x.csv")
    assert "Did you mean esci?" in bad("ecsi")
    assert "There is no file" in bad("a" * 5_000)
    assert "no .parquet file" in bad(tmp_path)


def test_columns_that_are_not_there_are_named_with_what_is_near(tmp_path):
    path = write(tmp_path / "x.csv", [{"name": "Lamp", "cost": "1", "maker": "x"}])
    assert "Did you mean cost?" in bad(path, {"price": "costs"})
    assert "There are name, cost, maker." in bad(path, {"price": "zzz"})
    assert "Did you mean price?" in bad(path, {"prise": "cost"})
    assert "--columns" in bad("esci", {"title": "name"})


def test_a_file_without_permission_is_one_clear_error(tmp_path):
    path = write(tmp_path / "x.csv", items(1))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    assert "cannot be opened" in bad(path)


# Public catalogs, in the schemas that their sources confirm

TEXTS = {
    "product_description": "<p>Warm &amp; bright</p>",
    "product_bullet_point": "Oak base\nDimmable",
    "product_brand": "Norrvik",
    "product_color": "Oak",
    "product_locale": "us",
}
JUDGED = [  # query, product, label
    ("desk lamp", "B2", "Exact"),
    ("oak light", "B1", "Substitute"),
    ("desk lamp", "B1", "Irrelevant"),
    ("lámpara", "B3", "Exact"),
]


def write_esci(folder, shards=2):
    """`tasksource/esci`: judgements and product texts in one row, labels as words."""
    records = [
        {
            "example_id": i,
            "query": query,
            "query_id": i,
            "product_id": id,
            "esci_label": label,
            "small_version": 1,
        }
        | {"product_title": f"Lamp {id}", "product_text": "x"}
        | TEXTS
        | {"product_locale": "es" if id == "B3" else "us"}
        for i, (query, id, label) in enumerate(JUDGED)
    ]
    (folder / "data").mkdir(parents=True)
    for shard in range(shards):
        write(folder / "data" / f"train-0000{shard}-of-0000{shards}.parquet", records[shard::shards])
    return folder


def write_original(folder):
    """The two files as Amazon published them: labels as letters, and products that nobody judged."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [{"product_id": id, "product_title": f"Lamp {id}"} | TEXTS for id in ["B9", "B1", "B2"]]
    judged = [{"query": q, "product_id": id, "product_locale": "us", "esci_label": label[0]} for q, id, label in JUDGED]
    write(folder / "shopping_queries_dataset_products.parquet", texts)
    write(folder / "shopping_queries_dataset_examples.parquet", judged)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def test_esci_gives_each_american_product_once_with_all_its_judgements(tmp_path):
    source = open_source(f"esci:{write_esci(tmp_path / 'esci')}")
    assert (source.name, source.licence, len(source), len(source.files)) == ("esci", "Apache-2.0", 2, 2)
    found = {product["id"]: product for product in products(source)}
    assert {id: [(q["text"], q["grade"]) for q in product["queries"]] for id, product in found.items()} == {
        "B2": [("desk lamp", "E")],
        "B1": [("desk lamp", "I"), ("oak light", "S")],
    }
    lamp = found["B1"]
    assert (lamp["brand"], lamp["color"], lamp["price"], lamp["bullets"]) == (
        "Norrvik",
        "Oak",
        None,
        ["Oak base", "Dimmable"],
    )
    assert lamp["description"] == "Warm & bright"


def test_esci_is_also_read_from_its_original_two_files_in_the_order_of_the_products(tmp_path):
    source = open_source(f"esci:{write_original(tmp_path / 'o')}")
    found = products(source)
    assert [product["id"] for product in found] == ["B9", "B1", "B2"]
    assert [len(product["queries"]) for product in found] == [0, 2, 1]
    assert found[1]["queries"] == [{"text": "oak light", "grade": "S"}, {"text": "desk lamp", "grade": "I"}]


def test_esci_is_the_same_made_again_and_follows_its_files(tmp_path, monkeypatch):
    folder = write_original(tmp_path / "it's")
    first = rows(open_source(f"esci:{folder}"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert rows(open_source(f"esci:{folder}")) == first
    write(
        folder / "shopping_queries_dataset_products.parquet",
        [{"product_id": "N", "product_title": "New"} | TEXTS],
    )
    assert [row["id"] for row in rows(open_source(f"esci:{folder}"))] == ["N"]


def test_esci_without_products_is_one_clear_error(tmp_path):
    write(tmp_path / "x.parquet", [{"query": "lamp", "product_id": "B1"}])
    assert "shopping_queries_dataset_products.parquet" in bad(f"esci:{tmp_path}")


LISTING = {
    "main_category": "Tools & Home Improvement",
    "title": "Norrvik Oak Lamp",
    "average_rating": 4.5,
    "rating_number": 12,
    "features": ["Oak base", "Dimmable"],
    "description": ["Warm", "and bright"],
    "price": "$1,299.00",
    "images": {"large": ["http://x"]},
    "store": "Norrvik",
    "categories": ["Home", "Lighting", "Table Lamps"],
    "details": json.dumps({"Color": "Oak", "Item Height": "12 inches", "UPC": "1", "Date First Available": "May"}),
    "parent_asin": "B0001",
    "subtitle": None,
    "author": None,
}


def write_amazebay(folder):
    (folder / "data").mkdir(parents=True)
    sparse = LISTING | {
        "parent_asin": "B0002",
        "price": "None",
        "categories": [],
        "details": "{}",
        "features": [],
    }
    write(folder / "data" / "train-00000-of-00001.parquet", [LISTING, sparse])
    return folder


def test_amazebay_keeps_what_a_listing_says(tmp_path):
    source = open_source(f"amazebay:{write_amazebay(tmp_path / 'a')}")
    full, sparse = products(source)
    assert (full["id"], full["price"], full["brand"], full["color"]) == ("B0001", 129900, "Norrvik", "Oak")
    assert full["category_path"] == ["Home", "Lighting", "Table Lamps"]
    assert {a["name"]: (a["value"], a["number"]) for a in full["attributes"]} == {
        "Item Height": ("12 inches", 12.0),
        "UPC": ("1", None),
    }
    assert (full["description"], full["bullets"]) == ("Warm and bright", ["Oak base", "Dimmable"])
    assert (full["rating"], full["review_count"], source.licence) == (4.5, 12, "unknown")
    assert (sparse["price"], sparse["category_path"]) == (None, ["Tools & Home Improvement"])


ITEM = {
    "asin": "B0009",
    "name": "Norrvik Shirt",
    "full_description": "A shirt",
    "small_description": ["Cotton", "Slim"],
    "pricing": "$10.00 to $20.00",
    "customization_options": {
        "color": [{"value": "Red", "image": "http://x"}, {"value": "Blue"}],
        "fit": None,
    },
    "product_category": "Clothing › Men › Shirts",
    "category": "fashion",
    "query": "mens shirts",
    "brand": "Visit the Norrvik Store",
    "images": ["http://x"],
    "product_information": {"Material": "cotton", "Best Sellers Rank": {"a": 1}},
    "Attributes": ["long sleeve", "DUMMY_ATTR"],
    "total_reviews": "1,234 ratings",
}


def test_webshop_items_keep_their_options_and_the_lowest_price(tmp_path):
    write(tmp_path / "items_human_ins.json", [{"B0009": 1}])
    write(tmp_path / "items_shuffle.json", [ITEM])
    for where in [tmp_path, tmp_path / "items_shuffle.json"]:
        source = open_source(f"webshop:{where}")
        (shirt,) = products(source)
    assert (shirt["id"], shirt["price"], shirt["brand"], source.licence) == ("B0009", 1000, "Norrvik", "MIT")
    assert shirt["category_path"] == ["Clothing", "Men", "Shirts"]
    assert shirt["options"] == [{"name": "color", "values": ["Red", "Blue"]}]
    assert [a["value"] for a in shirt["attributes"]] == ["cotton", "long sleeve"]
    assert (shirt["queries"], shirt["review_count"]) == ([], 1234)
    assert "price range: lowest taken" in shirt["repairs"]


def test_webshop_without_a_copy_says_to_give_one(tmp_path):
    assert "--source webshop:PATH" in bad("webshop")
    assert "There is no file" in bad("webshop:data/items_shuffle.json")


@pytest.mark.parametrize("name", ["fine_items_eval_train_all.jsonl", "fine_items_eval_train_all.json.gz"])
def test_shopsimulator_items_are_read_from_both_of_their_packings(tmp_path, name):
    item = {
        "asin": "925125896291",
        "title": "石头 A20 智能洗地机",
        "shop_name": "石头旗舰店",
        "category": "清洁电器›洗地机",
        "domain_zh": "家电",
        "attribute": ["智能洗地", "热洗"],
        "pricing": [1999, 1899.5],
        "customization_options": {"颜色分类": [{"value": "白色", "price": 1999}]},
        "instructions": [{"instruction": "x"}],
        "query": "",
    }
    write(tmp_path / "fine_items_eval_standard.jsonl", [{"asin": "other", "title": "x"}])
    write(tmp_path / name, [item])
    source = open_source(f"shopsimulator:{tmp_path}")
    (mop,) = products(source)
    assert (mop["id"], mop["price"], mop["brand"], source.licence) == (
        "925125896291",
        189950,
        "石头旗舰店",
        "unknown",
    )
    assert mop["category_path"] == ["家电", "清洁电器", "洗地机"]
    assert mop["options"] == [{"name": "颜色分类", "values": ["白色"]}]
    assert [a["value"] for a in mop["attributes"]] == ["智能洗地", "热洗"]


# The Hub, in a process of its own since the client reads its address when it is imported

READ = """
import sys
from shopwright.pipeline.catalog.sources import BadSource, open_source
for name in sys.argv[1:]:
    try:
        source = open_source(name)
        print(source.name, len(source), ",".join(row["id"] for row in source.read(0, 9)))
    except BadSource as error:
        print("BAD", error)
"""


def from_hub(url, home, *names):
    environment = {
        "HF_ENDPOINT": url,
        "HF_HOME": str(home),
        "HF_TOKEN": "hf_very_secret",
        "XDG_CACHE_HOME": str(home),
    }
    environment |= {"HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    command = [sys.executable, "-c", READ, *names]
    done = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "hf_very_secret" not in done.stdout + done.stderr
    return done.stdout.splitlines()


def test_esci_amazebay_and_shopsimulator_come_from_the_hub_and_then_from_the_cache(tmp_path):
    write_esci(tmp_path / "hub/tasksource/esci")
    write_amazebay(tmp_path / "hub/owlgebra-ai/Amazebay-catalog-2M")
    (tmp_path / "hub/owlgebra-ai/Amazebay-catalog-2M/embeddings.npy").write_bytes(b"x")
    (tmp_path / "hub/wpei/ShopSimulator").mkdir(parents=True)
    write(tmp_path / "hub/wpei/ShopSimulator/fine_items_eval_train_all.jsonl", [{"asin": "7", "title": "锅"}])
    write(tmp_path / "hub/wpei/ShopSimulator/fine_items_train_persona.jsonl", [{"asin": "8", "title": "锅"}])
    names = ["esci", "amazebay", "shopsimulator", "esci:tasksource/esci"]
    with Hub(tmp_path / "hub") as hub:
        online = from_hub(hub.url, tmp_path / "home", *names)
        asked = "\n".join(hub.log)
    assert online == ["esci 2 B2,B1", "amazebay 2 B0001,B0002", "shopsimulator 1 7", "esci 2 B2,B1"]
    assert "train-00000-of-00001.parquet" in asked
    assert "embeddings.npy" not in asked
    assert "train_persona" not in asked
    assert from_hub(hub.url, tmp_path / "home", "esci", "amazebay") == online[:2]  # nobody answers there any more


def test_a_hub_that_refuses_has_nothing_or_is_not_there_is_one_clear_error(tmp_path):
    write_esci(tmp_path / "hub/secret/esci")
    with Hub(tmp_path / "hub") as hub:
        refused, absent = from_hub(hub.url, tmp_path / "home", "esci:secret/esci", "amazebay:no/such")
    (alone,) = from_hub("http://127.0.0.1:9", tmp_path / "home", "esci")
    for message, why in [(refused, "no permission"), (absent, "not found"), (alone, "no connection")]:
        assert message.startswith("BAD ")
        assert why in message
        assert "give a local copy: --source" in message


def test_the_real_amazon_table_is_read_whole_and_from_the_middle():
    path = DATA / "walmart_amazon_tableB_amazon.csv"
    if not path.exists():
        pytest.skip("the real table is not there")
    source = open_source(str(path))
    found = rows(source)
    assert len(found) == 22_074
    assert not any("unreadable" in row for row in found)
    assert list(source.read(STEP * 9 + 5, STEP * 9 + 8)) == found[STEP * 9 + 5 : STEP * 9 + 8]
