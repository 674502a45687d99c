"""Each promise about an order, broken once; and what the orders of a build are like."""

import copy
import itertools
import json
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Shard, reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.orders import (
    DATES,
    OTHER_COLOR,
    OTHER_FACTS,
    OTHER_LOG,
    OTHER_ROWS,
    STRANGER,
    TORN,
    UNSOLD,
)
from shopwright.pipeline.world.orders import (
    LoggedPurchase,
    draw_shipment,
    find_bought_variant,
    find_largest_trajectories,
    group_into_lines,
    group_into_orders,
)
from shopwright.schemas.record import Rejected
from shopwright.schemas.shop import Order, Variant

STAGE = all_stages()["orders"]
NOON = datetime(2024, 5, 1, 12)
HOUR = timedelta(hours=1)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("orders"), seed=5, workers=1)
    found.build("orders", products=2_400, count=40, tokens="8k,24k")
    return found


@pytest.fixture(scope="session")
def logs(run):
    return {log["id"]: log for log in run.read("trajectories").table().to_pylist()}


@pytest.fixture(scope="session")
def find_reasons(run):
    have = {name: run.read(name) for name in STAGE.reads}
    return lambda *rows: reasons_against(STAGE, to_batch(Order, rows), have)


@pytest.fixture
def order(rows):
    """Of several lines, delivered; its customer has others before and after."""
    return copy.deepcopy(next(row for row in rows[1:-1] if len(row["lines"]) > 1 and row["delivered"]))


def test_a_build_rejects_nothing(run):
    assert run.read("orders").manifest.rejected == 0


def test_every_purchase_of_the_largest_log_is_in_one_order(rows, logs):
    bought = {
        (log["id"], event["row_id"])
        for log in logs.values()
        if log["budget"] == "24k"
        for event in log["events"]
        if event["action_type"] == "purchase"
    }
    ordered = [(row["trajectory_id"], place) for row in rows for place in row["rows"]]
    assert len(ordered) == len(bought)
    assert set(ordered) == bought


def test_lines_tell_what_the_log_tells(rows, logs):
    for row in rows:
        events = [logs[row["trajectory_id"]]["events"][place] for place in row["rows"]]
        paid = Counter((event["asin"], event["product_name"], event["price"]) for event in events)
        lines = {(line["product_id"], line["title"], line["price"]): line["quantity"] for line in row["lines"]}
        assert lines == paid
        assert row["placed"] == events[-1]["timestamp"]
        assert row["total"] == sum(event["price"] for event in events)
        assert row["persona_id"] == logs[row["trajectory_id"]]["persona_id"]


def test_a_line_names_the_variant_that_the_log_describes(run, rows):
    sold = {row["id"]: row for row in run.read("variants").table().to_pylist()}
    for line in (line for row in rows for line in row["lines"]):
        variant = sold[line["variant_id"]]
        assert variant["product_id"] == line["product_id"]
        assert variant["is_title"]


def test_orders_of_a_customer_follow_one_another_and_are_several(rows):
    by_person = {}
    for row in rows:
        by_person.setdefault(row["persona_id"], []).append(row["placed"])
    assert len(by_person) == 40
    assert all(sorted(placed) == placed for placed in by_person.values())
    assert min(map(len, by_person.values())) >= 4


def test_one_shard_or_three_make_the_same(run):
    have = [run.read(name) for name in STAGE.needs[:3]]
    plan = STAGE.plan({"trajectories": have[2]}, {})
    one, three = (
        [order for index in range(total) for order in STAGE.function(*have, Shard(index, total, 5), plan)]
        for total in (1, 3)
    )
    assert one == three
    assert [order.model_dump() for order in one] == run.read("orders").table().to_pylist()


def test_shares_of_cancelled_and_lost_orders():
    found = [draw_shipment(NOON, [3], Random(number)) for number in range(4_000)]
    cancelled = sum(one.cancelled is not None for one in found) / 4_000
    lost = sum(one.shipped is not None and one.delivered is None for one in found) / 4_000
    assert 0.05 < cancelled < 0.07
    assert 0.015 < lost < 0.025


@pytest.mark.parametrize("hour", [0, 9, 23])
@pytest.mark.parametrize("days", [[0], [1], [2, 9], [None]])
def test_an_order_leaves_before_it_arrives(hour, days):
    for number in range(300):
        placed = NOON.replace(hour=hour, minute=59)
        how = draw_shipment(placed, days, Random(number))
        if how.cancelled:
            assert placed < how.cancelled
            assert not how.shipped
            assert not how.delivered
        else:
            assert placed < how.shipped
            assert how.delivered is None or how.shipped < how.delivered


def test_the_slowest_product_decides():
    later = [draw_shipment(NOON, [1, 9], Random(number)).delivered for number in range(50)]
    sooner = [draw_shipment(NOON, [1], Random(number)).delivered for number in range(50)]
    pairs = [(one, other) for one, other in zip(sooner, later, strict=True) if one]
    assert pairs
    assert all(one < other for one, other in pairs)


def bought(row, product, price, when):
    return LoggedPurchase(row, product, product.upper(), price, when)


def test_what_is_bought_within_an_hour_is_one_order():
    log = [bought(n, "a", 100, NOON + after) for n, after in enumerate([0 * HOUR, HOUR, 3 * HOUR, 12 * HOUR])]
    assert [[each.row for each in order] for order in group_into_orders(log)] == [[0, 1], [2], [3]]
    assert list(group_into_orders([])) == []


def test_the_same_at_the_same_price_is_one_line():
    log = [bought(0, "a", 100, NOON), bought(1, "b", 100, NOON), bought(2, "a", 100, NOON), bought(3, "a", 90, NOON)]
    assert [[each.row for each in line] for line in group_into_lines(log)] == [[0, 2], [1], [3]]


def test_what_the_log_names_was_bought():
    assert find_bought_variant([{"id": "x", "is_title": False}, {"id": "y", "is_title": True}]) == "y"


def test_a_variant_of_another_color_than_the_logs_is_seen(run, find_reasons, rows):
    catalog = {product["id"]: product["color"] for product in run.read("catalog").table().to_pylist()}
    offered = run.read("variants").table().to_pylist()
    for row in rows:
        order = copy.deepcopy(row)
        line = order["lines"][0]
        for variant in offered:
            color = next((each["value"] for each in variant["choices"] if each["name"] == "color"), None)
            if variant["product_id"] == line["product_id"] and color and color != catalog[line["product_id"]]:
                line["variant_id"] = variant["id"]
                assert find_reasons(order) == [[OTHER_COLOR]]
                return
    raise AssertionError("no order of a product with colors")


def test_the_largest_log_of_each_customer_is_read(run, logs):
    ids = list(logs)
    assert [ids[row] for row in find_largest_trajectories(run.read("trajectories"))] == [
        id for id in ids if id.endswith("24k")
    ]


def first_line(order, **change):
    return {"lines": [order["lines"][0] | change, *order["lines"][1:]]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: {"trajectory_id": one["persona_id"] + "-8k"}, OTHER_LOG),
        (lambda one: {"trajectory_id": "no such log"}, OTHER_LOG),
        (lambda one: {"persona_id": "persona-9999999"}, OTHER_LOG),
        (lambda one: {"rows": []}, OTHER_ROWS),
        (lambda one: {"rows": one["rows"][1:]}, OTHER_ROWS),
        (lambda one: {"rows": one["rows"][:-1]}, OTHER_ROWS),
        (lambda one: {"rows": [*one["rows"], 1]}, OTHER_ROWS),
        (lambda one: {"rows": one["rows"] + one["rows"][:1]}, OTHER_ROWS),
        (lambda one: {"lines": one["lines"][1:]}, OTHER_FACTS),
        (lambda one: first_line(one, quantity=one["lines"][0]["quantity"] + 1), OTHER_FACTS),
        (lambda one: first_line(one, price=one["lines"][0]["price"] + 1), OTHER_FACTS),
        (lambda one: first_line(one, title="Something else"), OTHER_FACTS),
        (lambda one: {"total": one["total"] + Decimal("0.01")}, OTHER_FACTS),
        (lambda one: {"placed": one["placed"] - timedelta(seconds=1)}, OTHER_FACTS),
        (lambda one: {"shipped": one["placed"]}, DATES),
        (lambda one: {"delivered": one["shipped"]}, DATES),
        (lambda one: {"shipped": None}, DATES),
        (lambda one: {"cancelled": one["delivered"]}, DATES),
        (lambda one: first_line(one, variant_id="no such variant"), STRANGER),
        (lambda one: first_line(one, variant_id=one["lines"][1]["variant_id"]), STRANGER),
        (lambda one: first_line(one, line_id=one["lines"][1]["line_id"]), STRANGER),
    ],
)
def test_a_broken_promise_is_seen(find_reasons, order, change, reason):
    assert find_reasons(order) == [[]]
    assert reason in find_reasons(order | change(order))[0]


def test_two_orders_that_were_bought_apart_are_not_one(find_reasons, rows):
    one, other = next(pair for pair in itertools.pairwise(rows) if pair[0]["persona_id"] == pair[1]["persona_id"])
    both = other | {
        "rows": one["rows"] + other["rows"],
        "lines": one["lines"] + other["lines"],
        "total": one["total"] + other["total"],
    }
    assert OTHER_ROWS in find_reasons(both)[0]


def test_a_log_that_is_half_ordered_is_held_back(copied, rows):
    path = copied.read("orders").files[0]
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    person = rows[0]["persona_id"]
    (torn,) = (check for check in STAGE.across if check.__name__ == "every_purchase_is_in_one_order")
    faults = list(torn(Dataset(copied.folder, "orders", Order)))
    assert len(faults) == sum(row["persona_id"] == person for row in rows) - 1 > 0
    assert {fault.reason for fault in faults} == {TORN}


def test_a_purchase_in_two_orders_is_held_back(copied, rows):
    path = copied.read("orders").files[0]
    table = pq.read_table(path)
    changed = [*table.to_pylist(), rows[0] | {"id": "order-again"}]
    pq.write_table(table.from_pylist(changed, schema=table.schema), path)
    (torn,) = (check for check in STAGE.across if check.__name__ == "every_purchase_is_in_one_order")
    assert len(list(torn(Dataset(copied.folder, "orders", Order)))) == sum(
        row["persona_id"] == rows[0]["persona_id"] for row in changed
    )


@pytest.fixture
def copied(run, tmp_path):
    import shutil

    return Run(shutil.copytree(run.folder, tmp_path / "copied"), workers=1)


def test_what_was_bought_of_a_product_without_variants_is_rejected_and_the_rest_is_not(run, tmp_path):
    """All variants of a product can have been rejected."""
    rows = run.read("orders").table().to_pylist()
    gone = rows[0]["lines"][0]["product_id"]
    (tmp_path / "variants").mkdir()
    for path in run.read("variants").files:
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.not_equal(table["product_id"], gone)), tmp_path / "variants" / path.name)
    catalog, _, logs = (run.read(name) for name in STAGE.needs[:3])
    plan = STAGE.plan({"trajectories": logs}, {})
    made = list(STAGE.function(catalog, Dataset(tmp_path, "variants", Variant), logs, Shard(0, 1, 5), plan))
    lost = [each for each in made if isinstance(each, Rejected)]
    assert {each.id for each in lost} == {
        row["id"] for row in rows if gone in {line["product_id"] for line in row["lines"]}
    }
    assert {each.reasons[0] for each in lost} == {UNSOLD}
    assert all(json.loads(each.record)["products"] == [gone] for each in lost)
    assert len(made) == len(rows)
