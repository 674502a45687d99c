"""Kinds of tasks that are kept for tests stand in no training file of a release, counted by a program that reads the files alone."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.publish.exporters import forms
from shopwright.pipeline.publish.layout import lay
from tests.outside.kinds import count_kept, find_kept_products, is_environment_kept


@pytest.fixture(scope="module")
def release(small, tmp_path_factory):
    names = {"catalog", "questions", "shopping_tasks", "sft_envs", "sft_shopping", "rl_shopping"}
    wanted = [config for config in forms.configs(small) if config.name in names]
    return lay(wanted, tmp_path_factory.mktemp("kinds") / "release").folder


def test_nothing_of_them_is_trained_on(release):
    found = count_kept(release)
    assert not [key for key in found if key[1:] == ("training", True)]
    assert found["shopping_tasks", "test", True]
    assert found["sft_envs", "training", False]


def test_a_test_row_among_those_of_training_is_seen(release, tmp_path):
    folder = tmp_path / "release"
    shutil.copytree(release, folder)
    test = next((folder / "data" / "shopping_tasks").glob("test-*"))
    test.rename(test.with_name(test.name.replace("test-", "train-9")))
    assert count_kept(folder)["shopping_tasks", "training", True]


def test_an_order_is_all_that_was_bought_in_it(release):
    product = min(find_kept_products(release))
    order = {"order_id": "order-1-1", "lines": [{"product_id": product}]}
    shown = [{"role": "tool", "content": json.dumps({"orders": [order]})}]

    def is_kept(**given):
        call = {"function": {"name": "submit", "arguments": {"parts": [given]}}}
        told = [*shown, {"role": "assistant", "content": "", "tool_calls": [call]}]
        return is_environment_kept({"messages": list(map(json.dumps, told))}, {product})

    assert is_kept(selected_order_id="order-1-1")
    assert not is_kept(selected_order_id="order-1-1", selected_line_id="order-1-1-1")
    assert not is_kept(selected_order_id="order-1-2")


def test_a_table_without_products_has_none(tmp_path):
    folder = tmp_path / "data" / "catalog"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": ["B0"], "category_path": [["Mugs"]]}), folder / "train-0.parquet")
    assert find_kept_products(tmp_path) == set()
