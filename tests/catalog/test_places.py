"""A shop's file wherever it lies: a web server, fsspec's file systems, the Hub; and forms of it that are binary."""

import csv
import gzip
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import pyarrow as pa
import pyarrow.feather
import pytest

from shopwright.pipeline.catalog.sources import BadSource, open_source
from shopwright.pipeline.run import Run
from tests.catalog.hub import Hub
from tests.catalog.test_sources import from_hub

TEXT = "id,name,price\n" + "".join(f"{number},Müsli bowl {number},{number}.50\n" for number in range(1, 30))
TITLES = [f"Müsli bowl {number}" for number in range(1, 30)]


def list_titles(where):
    source = open_source(where)
    return [raw["title"] for raw in source.read(0, len(source))]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A folder, and the address under which a server on this machine gives out its files."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "web"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["shop.csv", "shop.csv.gz", "shop.parquet"])
def test_a_file_of_a_web_server_is_read(web, name):
    folder, address = web
    if name.endswith("parquet"):
        rows = list(csv.DictReader(TEXT.splitlines()))
        pa.parquet.write_table(pa.Table.from_pylist(rows), folder / name)
    else:
        (folder / name).write_bytes(gzip.compress(TEXT.encode()) if name.endswith("gz") else TEXT.encode())
    assert list_titles(f"{address}/{name}") == TITLES


def test_an_address_without_a_file_is_one_sentence(web):
    with pytest.raises(BadSource, match=r"There is no file or folder http://127.0.0.1:\d+/none.csv"):
        open_source(f"{web[1]}/none.csv")


def test_a_catalog_is_built_from_a_web_server(web, tmp_path):
    folder, address = web
    (folder / "shop.csv").write_text(TEXT)
    made = Run(tmp_path / "run", seed=5, workers=1).build("catalog", source=f"{address}/shop.csv")
    assert (made.rows, made.rejected) == (29, 0)


def test_file_systems_that_fsspec_knows_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "shop.csv").write_text(TEXT, encoding="utf-8")
    assert list_titles(f"file://{tmp_path}/shop.csv") == TITLES
    memory = fsspec.filesystem("memory")
    memory.pipe("/shopwright-test/shop.csv", TEXT.encode())
    try:
        assert list_titles("memory://shopwright-test/shop.csv") == TITLES
    finally:
        memory.rm("/shopwright-test", recursive=True)


def test_a_dataset_of_the_hub_is_a_shops_own_file(tmp_path):
    repo = tmp_path / "hub/somebody/bowls"
    repo.mkdir(parents=True)
    (repo / "shop.csv").write_text(TEXT, encoding="utf-8")
    (repo / "README.md").write_text("# Bowls")
    with Hub(tmp_path / "hub") as hub:
        found = from_hub(hub.url, tmp_path / "home", "somebody/bowls")
    assert found == ["file 29 " + ",".join(str(number) for number in range(1, 10))]


@pytest.mark.parametrize("kind", ["file", "stream", "feather"])
def test_arrow_files_are_read(tmp_path, kind):
    table = pa.Table.from_pylist(list(csv.DictReader(TEXT.splitlines())))
    path = tmp_path / "shop.arrow"
    if kind == "feather":
        pyarrow.feather.write_feather(table, path, compression="zstd")
    else:
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table)
    assert list_titles(str(path)) == TITLES
    assert [raw["price"] for raw in open_source(str(path)).read(9, 11)] == ["10.50", "11.50"]
