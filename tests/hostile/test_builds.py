"""Whatever a catalog says: it is built, nothing of it is lost, and nothing in it is executed."""

import pytest

from pipeline.run import Run, all_stages
from tests.hostile import shops
from tests.hostile.catalogs import FAMILIES, products


def test_a_catalog_is_a_function_of_its_seed(tmp_path):
    assert repr(products(1, 60, tmp_path)) == repr(products(1, 60, tmp_path))
    assert repr(products(1, 60, tmp_path)) != repr(products(2, 60, tmp_path))


def test_a_catalog_holds_every_kind_of_harm(tmp_path):
    said = repr(products(3, 150, tmp_path))
    for family in FAMILIES:
        assert sum(repr(text)[1:20] in said for text in family) > len(family) / 3


def test_every_dataset_is_built_on_it(shop):
    assert shop.problems == {}
    assert shops.whole(shop) == list(all_stages())
    assert all(shop.run.read(name).manifest.rows for name in all_stages())


@pytest.mark.parametrize("holds", shops.HOLD, ids=lambda holds: holds.__name__)
def test_what_must_hold_of_every_shop_holds_of_a_hostile_one(shop, holds):
    holds(shop)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_no_row_is_lost_in_other_forms_of_the_file(tmp_path, form):
    found = shops.world(tmp_path, 4, 120, form, ["catalog"])
    shops.no_row_is_lost(found)
    shops.no_text_ends_a_message(found)


def test_half_a_surrogate_pair_is_held_with_its_row(tmp_path):
    source = tmp_path / "shop.jsonl"
    source.write_text('{"title": "\\ud83d lamp", "price": "9"}\n{"title": "lamp \\ud83d", "price": "1e309"}\n')
    run = Run(tmp_path / "run", workers=1)
    run.build("catalog", source=str(source))
    assert [product.title for product in run.read("catalog")] == ["lamp"]
    assert [row.record for row in run.read("catalog").quarantine] == ['{"title": "lamp \\ud83d", "price": "1e309"}']


def test_a_zero_byte_in_the_first_lines_is_a_clear_problem(shopwright, tmp_path):
    (tmp_path / "shop.csv").write_bytes(b"title,price\nlamp\0,3\n")
    code, out, err = shopwright("build", "trajectories", "--run", tmp_path / "run", "--source", tmp_path / "shop.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_what_must_hold_of_every_shop_holds_of_twenty(tmp_path, seed):
    found = shops.world(tmp_path, 1_000 + seed, 100 + 50 * (seed % 4), ("csv", "jsonl", "parquet")[seed % 3])
    for holds in shops.HOLD:
        holds(found)
