"""Exported conversations use nothing that was not shown, counted by a program that knows the messages alone."""

import copy
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.publish.exporters.sft import sft_envs, sft_rollouts
from tests.outside.unseen import count_release, list_unseen_in_code, list_unseen_in_shop


def export(run, form):
    return [row["messages"] for side in ("train", "test") for row in run.call(form, split=side)]


def test_no_exported_episode_of_an_environment_uses_what_was_not_shown(small):
    found = export(small, sft_envs)
    assert len(found) > 5
    assert [use for messages in found for use in list_unseen_in_shop(messages)] == []


def test_no_exported_rollout_uses_what_was_not_shown(small):
    found = export(small, sft_rollouts)
    assert len(found) > 5
    assert [use for messages in found for use in list_unseen_in_code(messages)] == []


@pytest.mark.parametrize(
    ("name", "given", "use"),
    [
        ("catalog_search", {"query": "zzyzx"}, "catalog_search: 'zzyzx'"),
        ("catalog_get_product", {"product_id": "B0NOWHERE"}, "catalog_get_product: product_id 'B0NOWHERE'"),
        ("catalog_search", {"query": "", "max_price": 7654.32}, "catalog_search: max_price 7654.32"),
        ("submit", {"arrival_date": "1999-01-01"}, "submit: arrival_date '1999-01-01'"),
    ],
)
def test_a_value_that_was_not_shown_is_seen(small, name, given, use):
    messages = copy.deepcopy(export(small, sft_envs)[0])
    call = next(message for message in messages if message.get("tool_calls"))["tool_calls"][0]["function"]
    call["name"], call["arguments"] = name, given
    assert use in list(list_unseen_in_shop(messages))


def test_a_box_with_another_answer_is_seen(small):
    messages = copy.deepcopy(export(small, sft_rollouts)[0])
    messages[-1]["content"] = "\\boxed{Zzyzx 98765}"
    assert list(list_unseen_in_code(messages)) == ["box: 'zzyzx'", "box: '98765'"]


def ask_by_code(*codes, heard="Percent on a weekend, clicks?"):
    calls = [{"function": {"name": "code_interpreter", "arguments": {"code": code}}} for code in codes]
    turns = [{"role": "assistant", "content": "I look.", "tool_calls": [call]} for call in calls]
    return [{"role": "user", "content": heard}, *turns]


def test_a_guess_in_an_earlier_program_counts():
    messages = ask_by_code('df[df["clicks"] == "zzyzx"]', 'df["clicks"]')
    assert list(list_unseen_in_code(messages)) == ["code: 'zzyzx'"]


def test_a_column_that_a_program_makes_is_its_own_and_a_weekend_has_its_days():
    made = 'df["took"] = 1\ndf["took"].isin(["Saturday", "Sunday", "Monday"])'
    assert list(list_unseen_in_code(ask_by_code(made))) == ["code: 'monday'"]
    assert list(list_unseen_in_code(ask_by_code('df["took"]'))) == ["code: 'took'"]


def test_a_span_with_days_is_the_same_in_hours():
    def say(hours):
        end = {"role": "assistant", "content": f"\\boxed{{{hours}:02:45}}"}
        return list(list_unseen_in_code([{"role": "tool", "content": "1 days 22:02:45"}, end]))

    assert say(46) == []
    assert say(44) == ["box: '44'"]


def test_a_folder_as_it_is_exported_is_counted(tmp_path):
    folder = tmp_path / "sft_rollouts"
    folder.mkdir()
    talks = [[json.dumps(each) for each in ask_by_code(code)] for code in ('df["clicks"]', 'df["zzyzx"]')]
    pq.write_table(pa.table({"messages": talks}), folder / "train.parquet")
    assert count_release(tmp_path) == {"sft_rollouts conversations": 2, "sft_rollouts unseen": 1}
