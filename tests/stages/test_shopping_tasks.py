"""An instruction leads to one product alone, says what is stated and nothing that a profile carries, and copies no title."""

import copy
from collections import defaultdict
from itertools import groupby, islice

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.checks.shopping import (
    find_profile_leak,
    instructions_differ,
    load_offers,
    splits_share_no_product,
)
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.customers import LeafCustomers
from shopwright.pipeline.stage import Shard
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.shopping_tasks import (
    HELD_OUT,
    PAPER,
    PERSONS,
    LeafTasks,
    group_products_by_leaf,
    make_counters,
    quotas,
)
from shopwright.pipeline.verify import verify_dataset
from shopwright.schemas.certificates import AnyOf, End, Lines, Miss, certificate_to_text, parse_certificate, parse_miss
from shopwright.schemas.shopping import ShoppingTask

STAGE = all_stages()["shopping_tasks"]
OTHER = "another product satisfies it too"
UNMET = "its target does not satisfy it"


@pytest.fixture
def row(rows):
    """A standard task with an attribute and a limit, for one product."""
    kinds = {"attribute", "price"}
    standard = [r for r in rows if not r["profile_id"] and r["right"] == "one product"]
    found = next(r for r in standard if {need["kind"] for need in r["needs"]} >= kinds)
    return copy.deepcopy(found)


@pytest.fixture
def personal(rows):
    return copy.deepcopy(next(r for r in rows if r["profile_id"]))


def test_there_are_as_many_of_each_sort_as_asked_for(small, rows):
    made = small.read("shopping_tasks").manifest
    settings = made.recipe.settings
    assert made.rows + made.rejected == made.requested == settings["count"] + settings["personal"]
    assert sum(not row["profile_id"] for row in rows) >= 0.9 * settings["count"]
    assert sum(bool(row["profile_id"]) for row in rows) >= 0.6 * settings["personal"]  # few customers


def test_nothing_is_held_back_for_its_certificate(small):
    made = small.read("shopping_tasks").manifest
    assert not [reason for reason in made.rejects if "certificate" in reason]


def test_the_papers_sizes_are_exact():
    sizes = [120] * 200
    for total, share, held_out in zip(PAPER, HELD_OUT, (1_459, 1_343), strict=True):
        found = quotas(sizes, total, share)
        assert sum(each for each, _ in found) == total
        assert sum(each for _, each in found) == held_out
        assert max(found)[0] - min(found)[0] <= 1
    assert PAPER == (23_421, 4_726)


class ManneredTasks(LeafTasks):
    """Notes the manner with which each product was tried."""

    def draw(self, *args, manner=None, **settings):
        self.manners.append(manner)
        return super().draw(*args, manner=manner, **settings)


def test_a_task_has_one_manner_whatever_products_are_tried(small):
    """A manner drawn again with each product would mostly be one that tells much: with it nearly any product has a task."""
    ids, tried = group_products_by_leaf(small.read("catalog_fine")), []
    counters = make_counters(small.read("catalog"))
    for leaf in sorted(ids)[::4]:
        nobody = LeafCustomers([], [], {}, "en")
        made = ManneredTasks(counters, leaf, ids[leaf].ids, nobody, Shard(0, 1, 0), "en", None)
        made.manners = []
        for _ in islice(made.standard(made.rows, "train"), 24):
            # None, whatever is needed, comes when all who tell little have been tried; after it one with a price, and then another grade.
            for sparing, group in groupby(made.manners, key=lambda manner: manner is not None):
                one_after_another = [who for who, _ in groupby(map(id, group))]
                assert not sparing or len(one_after_another) <= PERSONS + 1
            tried.append(len(made.manners))
            made.manners = []
    assert max(tried) > 2 * PERSONS


def test_rows_as_they_were_made_pass(find_row_reasons, rows):
    assert [find_row_reasons(row) for row in rows[:5]] == [set()] * 5


def without(row, kind):
    needs = [need for need in row["needs"] if need["kind"] != kind]
    fields = {"option": {"options": []}, "attribute": {"attributes": []}, "price": {"price_limit": None}}
    return row | {"needs": needs} | fields[kind]


def test_with_fewer_needs_others_satisfy_it_too(find_row_reasons, row):
    less = without(without(row, "attribute"), "option")
    less["needs"][0] |= {"op": "at most", "value": "100000.00", "number": 100_000.0}
    assert OTHER in find_row_reasons(less)


def test_with_a_need_that_it_does_not_meet_its_target_is_wrong(find_row_reasons, row):
    limit = next(need for need in row["needs"] if need["kind"] == "price")
    limit |= {"value": "0.01", "number": 0.01}
    assert UNMET in find_row_reasons(row)


def test_a_need_in_another_unit_is_the_same_need(find_row_reasons, rows):
    """Metamorphic: whatever a measure is written in, the same products meet it."""
    units = {
        "in": ("ft", 1 / 12),
        "ft": ("in", 12),
        "lb": ("oz", 16),
        "oz": ("lb", 1 / 16),
        "L": ("ml", 1000),
        "min": ("s", 60),
    }
    changed = 0
    for row in copy.deepcopy(rows):
        for need in row["needs"]:
            if need["unit"] in units and need["kind"] != "price":
                unit, factor = units[need["unit"]]
                need["value"] = f"{need['number'] * factor:.10g} {unit}"
                changed += 1
        assert not find_row_reasons(row) & {OTHER, UNMET}
    assert changed


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"product_id": "no-such-product"}, UNMET),
        ({"variant_id": "no-such-variant"}, UNMET),
        ({"category": "No Such Things"}, UNMET),
        ({"instruction": "Something nice, please."}, "a need that the instruction does not say"),
        ({"title_overlap": 0.99}, "another overlap with the title"),
        ({"options": [("color", "gold")]}, "the row and its needs differ"),
        ({"attributes": ["gold"]}, "the row and its needs differ"),
        ({"reason_keys": ["brand"]}, "the row and its needs differ"),
        ({"profile_id": "persona-0000000"}, "the row and its needs differ"),
        ({"nearest_miss": certificate_to_text(Miss(breaks=[], end=End()))}, "there is a nearer miss"),
        (
            {"nearest_miss": "[]"},
            "its nearest miss: expected Miss; at its top: Input should be a valid dictionary or instance of Miss, found an empty list",
        ),
        (
            {"acceptable": '["B01"]'},
            "its certificate: expected AnyOf, OneOfEach, Parts or Infeasible, found a list of 1 str",
        ),
        (
            {"acceptable": certificate_to_text(AnyOf(ends=[End()]))},
            "its certificate: expected AnyOf with 1 product in each end, found AnyOf with 1 end",
        ),
    ],
)
def test_a_changed_row_is_found_and_the_reason_told(find_row_reasons, row, change, reason):
    assert reason in find_row_reasons(row | change)


def test_a_miss_that_breaks_all_there_is_can_be_the_nearest(find_row_reasons, rows, small):
    """With one need alone whatever is not the target breaks everything."""
    for row in rows:
        miss = parse_miss(row["nearest_miss"])
        if len(miss.breaks) == 1:
            (fact,) = miss.breaks
            needs = [need for need in row["needs"] if need["fact"] == fact]
            found = find_row_reasons(row | {"needs": needs, "nearest_miss": certificate_to_text(miss)})
            assert "a nearest miss that breaks something else" not in found
            return
    raise AssertionError("no task with a miss of one need")


def test_a_nearest_miss_that_is_the_target_itself_is_none(find_row_reasons, row):
    bought = Lines(product_id=row["product_id"], variants=[row["variant_id"]])
    miss = parse_miss(row["nearest_miss"]).model_copy(update={"end": End(bought=[bought])})
    assert "a nearest miss that breaks something else" in find_row_reasons(
        row | {"nearest_miss": certificate_to_text(miss)}
    )


def test_a_certificate_has_every_variant_that_satisfies_it_and_no_other(find_row_reasons, row):
    (line,) = parse_certificate(row["acceptable"]).ends[0].bought
    assert row["variant_id"] in line.variants
    changes = {
        "its certificate lacks a variant that satisfies it": {"variants": line.variants[1:]},
        "its certificate has a variant that does not satisfy it": {"variants": [*line.variants, "no-such-variant"]},
        "its certificate has more than one piece": {"quantity": 2},
        "its certificate has other products than those that satisfy it": {"product_id": "no-such-product"},
    }
    for reason, change in changes.items():
        other = AnyOf(ends=[End(bought=[line.model_copy(update=change)])])
        assert reason in find_row_reasons(row | {"acceptable": certificate_to_text(other)})


def list_ends(task, offers):
    """An end for each product that meets all needs of a task, in every variant that does."""
    found = defaultdict(list)
    for product, variant, _ in offers.few([task], 0).get(0, []):
        found[product].append(variant)
    return [End(bought=[Lines(product_id=product, variants=each)]) for product, each in sorted(found.items())]


def test_where_any_of_several_products_is_right_the_certificate_has_them_all(small, find_row_reasons, rows):
    offers = load_offers(small.read("catalog"), small.read("variants"))
    fewer_needs = (r | {"needs": r["needs"][1:]} for r in rows if not r["profile_id"])
    row, ends = next((r, ends) for r in fewer_needs if len(ends := list_ends(r, offers)) > 1)
    row = copy.deepcopy(row) | {"right": "any of several", "acceptable": certificate_to_text(AnyOf(ends=ends))}
    assert not {OTHER, UNMET, "its certificate has other products than those that satisfy it"} & set(
        find_row_reasons(row)
    )
    fewer = row | {"acceptable": certificate_to_text(AnyOf(ends=ends[:-1]))}
    assert "its certificate has other products than those that satisfy it" in find_row_reasons(fewer)
    assert OTHER in find_row_reasons(row | {"right": "one product"})


def test_one_product_alone_is_not_several(find_row_reasons, row):
    assert "one product alone satisfies it" in find_row_reasons(row | {"right": "any of several"})


def test_an_opening_that_tells_a_need_is_found(find_row_reasons, row):
    said = row["needs"][0]["said"]
    assert "the opening tells a need" in find_row_reasons(row | {"simple_instruction": f"I want something: {said}"})


def test_an_opening_that_tells_something_else_than_it_should_is_found(find_row_reasons, rows):
    row = copy.deepcopy(next(r for r in rows if r["opening_facts"]))
    assert not find_row_reasons(row)
    assert "the opening tells a need" in find_row_reasons(row | {"opening_facts": []})
    assert "a need that the opening does not tell" in find_row_reasons(
        row | {"simple_instruction": "I need something."}
    )


def test_an_opening_that_tells_everything_is_found(find_row_reasons, rows):
    row = copy.deepcopy(next(r for r in rows if r["opening_facts"] and not r["profile_id"]))
    every = {"simple_instruction": row["instruction"], "opening_facts": [need["fact"] for need in row["needs"]]}
    assert "the opening leaves nothing to ask for" in find_row_reasons(row | every)


def test_the_title_cannot_be_the_instruction(small, find_row_reasons, row):
    title = next(each.title for each in small.read("catalog") if each.id == row["product_id"])
    needs = "; ".join(need["said"] for need in row["needs"])
    found = find_row_reasons(row | {"instruction": f"{title}; {needs}", "title_overlap": 1.0})
    assert found == {"too many of the title's words", "three words of its title in a row"}


def test_what_the_profile_carries_is_not_said(find_row_reasons, personal):
    need = next(need for need in personal["needs"] if need["known"] == "profile")
    instruction = f"{personal['instruction']} And {need['value']}."
    assert "the instruction says what the profile carries" in find_row_reasons(personal | {"instruction": instruction})


def test_a_profile_that_tells_what_is_stated_gives_it_away(small, find_row_reasons, personal):
    profile = next(each for each in small.read("profiles") if each.id == personal["profile_id"])
    liked = profile.interests.categories[0].name
    need = next(need for need in personal["needs"] if need["known"] == "stated" and need["kind"] != "price")
    need |= {"value": liked}
    assert "the profile tells what the instruction states" in find_row_reasons(personal)


def test_a_profile_with_words_of_the_title_gives_it_away(small, personal):
    title = next(each.title for each in small.read("catalog") if each.id == personal["product_id"])
    needs = [need for need in personal["needs"] if need["known"] == "profile"]
    task = ShoppingTask.model_validate(personal | {"needs": needs})
    assert find_profile_leak(task, "likes: nothing of it", title) is None
    assert find_profile_leak(task, f"followed: {title}", title) == "the profile holds words of its target"


def test_a_target_in_both_splits_and_a_task_said_like_another_are_found(tmp_path, rows, small):
    first, *_, last = copy.deepcopy(rows)
    other = "train" if first["split"] == "test" else "test"
    same = first | {"id": "again", "split": other, "instruction": "Another one."}
    alike = last | {"id": "alike"}
    (tmp_path / "shopping_tasks").mkdir()
    table = pa.Table.from_pylist([*rows, same, alike], schema=small.read("shopping_tasks").table().schema)
    pq.write_table(table, tmp_path / "shopping_tasks" / "part-00000.parquet")
    found = Dataset(tmp_path, "shopping_tasks", ShoppingTask)
    assert len(list(splits_share_no_product(found))) == 1
    assert [fault.row for fault in instructions_differ(found)] == [len(rows) + 1]
    assert not list(instructions_differ(small.read("shopping_tasks")))


def test_a_profile_that_is_not_there_is_found(find_row_reasons, personal):
    assert "a profile that is not there" in find_row_reasons(personal | {"profile_id": "nobody"})


def test_no_target_is_held_out_and_trained_on(rows):
    assert not {row["product_id"] for row in rows if row["split"] == "test"} & {
        row["product_id"] for row in rows if row["split"] == "train"
    }


def test_descriptive_tasks_have_no_phrases(copy):
    copy.build("shopping_tasks", rebuild=True, wording="descriptive")
    rows = copy.read("shopping_tasks").table().to_pylist()
    assert all(row["wording"] == "descriptive" and not row["phrases"] for row in rows)
    assert not [
        verdict.check for verdict in verify_dataset(Run(copy.folder, workers=1), "shopping_tasks") if verdict.failed
    ]


def test_tasks_with_a_profile_need_customers(copy):
    with pytest.raises(Problem, match="say --personal 0"):
        STAGE.planner(copy.read("catalog_fine"), NoProfiles(), 5, 5, False, "short")


class NoProfiles:
    def __len__(self):
        return 0
