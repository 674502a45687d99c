import json
from argparse import ArgumentTypeError
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from shopwright.flows.release_options import ReleaseOptions
from shopwright.pipeline.budget_names import LEAST, format_budget, parse_budget, parse_budgets
from shopwright.pipeline.commands.options import parse_amount, parse_positive
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.catalog import read_columns
from tests.fuzz.hostile import DEEP, DIGITS, HALF, json_values, some, text, texts, tried, values

SETTINGS = [
    pytest.param(setting, id=f"{stage.name}.{name}")
    for stage in all_stages().values()
    for name, setting in stage.settings.items()
    if name != "tokenizer"  # it asks the Hub for what is no file
]
every_setting = pytest.mark.parametrize("setting", SETTINGS)
typed = texts(
    "64k", "1m", "32k,64k", ",", "title=name", "=", "type:click:terminate", "36:36:27", "0.5", "1e-9", "10", "true",
    "no",
    "2024-05-01", "sample", "model", "code", "log", "C1", "cart_building",
)  # fmt: skip
WORST = [
    DIGITS,
    HALF,
    f"a={HALF}",
    16**5_000,
    float("nan"),
    float("inf"),
    "1e309",
    [[["64k"]]],
    {"a": {"b": 1}},
    "x" * 100_000,
]


@every_setting
def test_a_settings_default_is_what_it_is_parsed_to(setting):
    assert setting.parse(setting.parse(setting.default)) == setting.parse(setting.default)


@every_setting
def test_the_worst_of_values_is_a_problem_in_one_short_line_or_a_value_of_json(setting):
    for value in WORST:
        a_value_or_a_problem(setting, value)


@some
@given(st.sampled_from(SETTINGS).map(lambda found: found.values[0]), typed | values)
def test_any_value_of_a_setting_is_one_that_json_keeps_or_a_problem(setting, value):
    a_value_or_a_problem(setting, value)


def a_value_or_a_problem(setting, value):
    found, problem = tried(Problem, setting.parse, value)
    if problem:
        assert setting.name in ("envs", "levels") or str(problem).startswith(f"--{setting.name.replace('_', '-')} ")
        assert len(str(problem)) < 1_000
    else:
        kept = json.loads(json.dumps(found, allow_nan=False, ensure_ascii=False).encode())
        assert kept == found, "a recipe holds it"
        assert setting.parse(found) == found, "and it means the same there"


# Budgets, numbers, columns


@some
@given(st.integers(LEAST, 10**12 - 1))
@example(1_000_001)
def test_a_budget_is_read_from_its_name(tokens):
    assert parse_budget(format_budget(tokens)) == tokens
    assert parse_budget(str(tokens)) == tokens
    assert parse_budgets(tokens) == [format_budget(tokens)]


@some
@given(typed | values)
@example(DIGITS + "m")
@example("9" * 400 + "k")
def test_budgets_are_a_list_in_order_or_a_fault_in_words(value):
    found, fault = tried(ValueError, parse_budgets, value)
    if fault:
        assert str(fault)
    else:
        sizes = [parse_budget(name) for name in found]
        assert sizes == sorted(set(sizes))
        assert parse_budgets(found) == found


@some
@given(typed)
@example(DIGITS)
@example("²")
def test_an_option_is_a_number_above_nought_or_a_fault(text):
    for parse in (parse_positive, parse_amount):
        found, fault = tried((ValueError, ArgumentTypeError), parse, text)
        assert fault or 0 < found < float("inf")


plain_name = st.text("abcXYZ_ é", min_size=1).map(str.strip).filter(bool)


@some
@given(st.dictionaries(plain_name, plain_name))
def test_columns_are_read_as_they_were_written(columns):
    assert read_columns(",".join(f"{ours}={theirs}" for ours, theirs in columns.items())) == columns


@some
@given(typed)
def test_columns_are_pairs_or_a_fault(text):
    found, fault = tried(ValueError, read_columns, text)
    assert "ours=theirs" in str(fault) if fault else isinstance(found, dict)


# Recipe files, and the form of a deployed release

pieces = texts(
    "\n[settings]\n", "\n[sizes]\n", "\n[models]\n", "\n[prices.x]\n", "\n[sampling.writer]\n", "seed = 7\n",
    "count = 9\n",
    '"personas.count" = 3\n', '"." = 1\n', "prompt = inf\n", "reply = 1.0\n", "temperature = nan\n",
    "max_cost = 1e999\n",
    "datasets = []\n", "model = 'scripted'\n", "a.b = 0x" + "f" * 5_000 + "\n", "= 2024-05-12\n",
)  # fmt: skip


@some
@given(pieces)
@example(f"a = {DEEP}")
@example("[settings]\na = " + "{b = " * 3_000)
@example(f"seed = 0x{'f' * 5_000}")
@example('[sizes]\n"personas.count" = ' + "9" * 400)
@example("[prices.x]\nprompt = inf\nreply = 1.0")
@example("\ufeffseed = 1")
def test_any_file_is_a_recipe_or_a_problem(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    _, problem = tried(Problem, taken_from, path)
    assert not problem or str(problem).startswith(("--", "[settings]"))
    assert len(str(problem)) < 2_000


def taken_from(path):
    """All that a build takes from a recipe."""
    found = read_recipe(str(path))
    assert json.dumps(found.model_options(), default=vars, allow_nan=False)
    for size in (0.5, 1):
        found.sizes_of("questions", size)
    for name, value in found.settings_of("questions").items():
        owner, _, own = name.rpartition(".")
        all_stages()[owner].settings[own].parse(value)


@some
@given(st.text("\0/.~é" + HALF, max_size=9))
def test_any_path_of_a_recipe_is_read_or_a_problem(tmp_path_factory, name):
    tried(Problem, read_recipe, str(tmp_path_factory.getbasetemp() / "none") + name)


@some
@given(st.dictionaries(st.sampled_from([*ReleaseOptions.model_fields, "else"]), text | json_values, max_size=3))
def test_a_form_of_a_release_is_one_or_says_which_field_is_not(given):
    found, fault = tried(ValidationError, ReleaseOptions.model_validate, given)
    if fault:
        assert fault.errors(include_input=False, include_url=False)[0]["loc"]
    else:
        assert found.at(datetime(2026, 1, 1)).run
        assert ReleaseOptions.model_validate(found.model_dump()) == found
