"""Embeddings: a vector for every product, and what must not ship."""

import numpy as np
import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.embed import HashedEmbedder, join_product_texts, take_attribute_values
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages.embeddings import COLUMNS, LENGTH, RAGGED, STRANGER, regroup_batches
from shopwright.pipeline.verify import verify
from shopwright.schemas.shop import Embedding


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("embeddings"), seed=3, workers=1)
    run.build("embeddings", products=1_200)
    return run


def find_vector_faults(run, rows):
    from shopwright.pipeline.stage import reasons_against
    from shopwright.pipeline.stages import all_stages

    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(Embedding))
    return reasons_against(all_stages()["embeddings"], batch, {"catalog": run.read("catalog")})


def test_every_product_has_the_vector_of_its_text(run):
    catalog = run.read("catalog").table(COLUMNS).combine_chunks()
    columns = [catalog[name].chunk(0) for name in COLUMNS[1:]]
    texts = join_product_texts(*columns[:-1], take_attribute_values(columns[-1])).to_pylist()
    made = run.read("embeddings").table()
    assert made["id"].to_pylist() == catalog["id"].to_pylist()
    vectors = np.array(made["vector"].to_pylist())
    assert np.abs(vectors - HashedEmbedder().vectors(texts)).max() < 0.001
    assert not [verdict for verdict in verify(run) if verdict.failed]


def test_a_number_takes_two_bytes(run):
    assert run.read("embeddings").table()["vector"].type == pa.list_(pa.float16())


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"id": "nobody"}, STRANGER),
        ({"vector": [0.5, 0.5]}, LENGTH),
        ({"vector": [0.0, 0.0]}, LENGTH),
        ({"vector": [float("nan"), 1.0]}, LENGTH),
        ({"vector": [1.0, 0.0, 0.0]}, RAGGED),
        ({"vector": [1.0]}, RAGGED),
        ({"vector": []}, RAGGED),
    ],
)
def test_a_row_that_is_wrong_is_held_back_with_the_reason(run, broken, reason):
    known = run.read("embeddings").head(2)
    good = {"id": known[0].id, "vector": [0.6, 0.8]}
    assert find_vector_faults(run, [good, {"id": known[1].id, "vector": [0.6, -0.8]} | broken]) == [[], [reason]]


def test_each_vector_of_a_batch_is_judged_by_itself(run):
    known = [row.id for row in run.read("embeddings").head(4)]
    vectors = [[0.6, 0.8], [0.6, 0.9], [0.8, 0.6], [0.1, 0.2]]
    rows = [{"id": id, "vector": vector} for id, vector in zip(known, vectors, strict=True)]
    assert find_vector_faults(run, rows) == [[], [LENGTH], [], [LENGTH]]
    assert find_vector_faults(run, [{"id": "nobody", "vector": []}]) == [[LENGTH, STRANGER]]


@pytest.mark.parametrize("count", [1, 7, 500, 1_200, 5_000])
def test_rows_come_so_many_at_a_time_however_they_are_read(run, count):
    catalog = run.read("catalog")
    parts = [
        batch
        for begin in (0, 3, 700)
        for batch in catalog.slices(range(begin, {0: 3, 3: 700, 700: 1_200}[begin]), COLUMNS)
    ]
    made = list(regroup_batches(parts, count))
    assert [len(batch) for batch in made] == [min(count, 1_200 - begin) for begin in range(0, 1_200, count)]
    assert pa.Table.from_batches(made).equals(catalog.table(COLUMNS))
    assert list(regroup_batches([])) == []


def test_an_embedder_that_there_is_not_fails_before_the_work(tmp_path):
    run = Run(tmp_path / "run", workers=1)
    with pytest.raises(Problem, match="There is no embedder nearly"):
        run.build("embeddings", products=50, embedder="nearly")
    assert not (run.folder / "embeddings").exists()


def test_other_shards_give_the_same_rows(run, tmp_path, monkeypatch):
    """Rows are made in batches; where a batch begins must not matter."""
    from shopwright.pipeline.stage import Shard
    from shopwright.pipeline.stages import all_stages

    stage, catalog = all_stages()["embeddings"], run.read("catalog")
    plan = stage.plan({"catalog": catalog}, {"embedder": "hashed"})

    def rows(total):
        found = [batch for index in range(total) for batch in stage.function(catalog, Shard(index, total, 3), plan)]
        return pa.Table.from_batches(found)

    assert rows(1).equals(rows(7))
