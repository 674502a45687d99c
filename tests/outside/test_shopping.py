"""Shopping tasks proved again by plain loops over the shop's rows, and errors made on purpose that have to be labelled."""

import json
from collections import Counter
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.publish.exporters.sft import sft_shopping
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.error_taxonomy import ERRORS
from shopwright.pipeline.shopping.score import list_product_variants, score_by_formula
from tests.outside.shopping import formulas
from tests.outside.shopping.error_labels import Audit, describe, tabulate
from tests.outside.shopping.profiles import check_personal_tasks
from tests.outside.shopping.shop import read_rows
from tests.outside.shopping.uniqueness import prove
from tests.outside.shopping.unseen import collect_kinds, list_unseen_uses

# Episodes of each script in each scenario.
FEW, MANY = 1, 4


def rewrite_tasks(run, change):
    for path in sorted((run.folder / "shopping_tasks").glob("*.parquet")):
        table = pq.read_table(path)
        rows = [change(row) for row in table.to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def test_an_outsider_proves_every_task_unique_its_certificate_exact_and_its_needs_the_fewest(small):
    findings = prove(small.folder)
    assert findings.faults == []
    assert findings.tasks == findings.unique == findings.certified == findings.smallest > 30
    assert 0 < findings.personal < findings.tasks


def test_without_one_of_its_needs_no_task_is_unique(copy):
    rewrite_tasks(copy, lambda row: row | {"needs": row["needs"][1:]})
    findings = prove(copy.folder)
    assert findings.unique == 0 < findings.tasks


def test_a_need_that_is_said_twice_can_be_dropped(copy):
    rewrite_tasks(copy, lambda row: row | {"needs": [*row["needs"], row["needs"][0]]})
    findings = prove(copy.folder)
    assert findings.unique == findings.tasks > findings.smallest == 0


def test_a_certificate_with_a_variant_too_few_is_seen(copy):
    def cut(row):
        certificate = json.loads(row["acceptable"])
        line = certificate["ends"][0]["bought"][0]
        line["variants"] = line["variants"][1:]
        return row | {"acceptable": json.dumps(certificate)}

    rewrite_tasks(copy, cut)
    findings = prove(copy.folder)
    assert findings.unique == findings.tasks > findings.certified


def rewrite_words(row):
    """With a value that the profile carries, where there is one."""
    carried = [need["value"] for need in row["needs"] if need["known"] == "profile" and need["fact"] != "price"]
    return row | {"instruction": " ".join([row["instruction"], *carried])}


def test_profiles_are_those_of_the_logs_and_the_words_keep_what_they_carry_to_themselves(small, copy):
    findings = check_personal_tasks(small.folder)
    assert findings.faults == []
    assert findings.customers > findings.tasks / 2
    assert set(findings.recounted.values()) == {findings.known}
    rewrite_tasks(copy, rewrite_words)
    assert check_personal_tasks(copy.folder).told > 0.8 * findings.tasks


PARTS = ("type", "attributes", "options", "price", "loose", "strict", "success", "same_product")


@pytest.mark.parametrize("form", ["shopsimulator", "webshop"])
def test_the_literal_formulas_give_row_for_row_what_their_text_says(small, form):
    """For each task its own product, one of its kind and one of another."""
    rows = {row["id"]: row for row in read_rows(small.folder / "catalog")}
    resources, random = shop_of(small.read("catalog")), Random(7)
    scores = Counter()
    for task in small.read("shopping_tasks"):
        gold = rows[task.product_id]
        siblings = [row for row in rows.values() if row["category"] == gold["category"]]
        for row in (gold, random.choice(siblings), random.choice(list(rows.values()))):
            things = list_product_variants(resources.store, row["id"])
            bought = random.choice(things)
            item = list_product_variants(resources.store, gold["id"])[0].item
            found = score_by_formula(task, item, bought, bullets=row["bullets"], form=form)
            chosen = [each.value for each in bought.choices]
            expected = formulas.score(task.model_dump(), gold, row, chosen, bought.cents, webshop=form == "webshop")
            assert {name: float(getattr(found, name)) for name in PARTS} == pytest.approx(expected), (
                task.id,
                row["id"],
            )
            scores.update([found.success, found.loose > 0])
    assert min(scores[True], scores[False]) > 0


def check_labels(run, count):
    episodes = list(Audit.of_run(run).plays(count))
    wrong = [describe(each) for each in episodes if not each.right]
    assert wrong == [], "\n".join([*tabulate(episodes), *wrong])
    return episodes


def test_errors_made_on_purpose_are_labelled_and_nothing_else_is(small):
    episodes = check_labels(small, FEW)
    # Of the needs of these few tasks none is hidden from a product's page.
    assert {label for each in episodes for label in each.labels} >= set(ERRORS) - {
        ("click", "unconfirmed key attribute")
    }
    assert {each.scenario for each in episodes if not each.made} == {each.scenario for each in episodes}


@pytest.mark.slow
def test_200_episodes_with_errors_made_on_purpose_have_every_label_right(tmp_path):
    run = Run(tmp_path / "run", seed=2025, workers=2)
    run.build("shopping_tasks", count=120, personal=60)
    episodes = check_labels(run, MANY)
    assert len(episodes) >= 200
    assert {label for each in episodes for label in each.labels} == set(ERRORS)


def export_conversations(run):
    return [row["messages"] for side in ("train", "test") for row in run.call(sft_shopping, split=side)]


def test_an_outsider_finds_nothing_in_exported_conversations_that_was_not_shown(small):
    found = export_conversations(small)
    kinds = collect_kinds(found)
    assert len(found) > 50
    assert [use for messages in found for use in list_unseen_uses(messages, kinds)] == []


@pytest.mark.parametrize(
    ("name", "given", "use"),
    [("search", "Ghostbrand", "says 'ghostbrand'"), ("click", "b0nowhere00", "clicks 'b0nowhere00'")],
)
def test_a_word_or_an_id_that_was_not_shown_is_seen(small, name, given, use):
    messages = json.loads(json.dumps(export_conversations(small)[0]))
    call = next(message for message in messages if message["role"] == "assistant")["tool_calls"][0]["function"]
    call["name"], call["arguments"] = name, {"it": given}
    assert use in list(list_unseen_uses(messages, set()))
