"""The customers' orders: the purchases of their logs, the variants, and how each order travelled."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.shop.store import TextIndex
from shopwright.pipeline.stage import Fault, Plan, Section, Shard, Views, stage
from shopwright.pipeline.world.orders import (
    ORDER_GAP,
    LoggedPurchase,
    Purchases,
    draw_shipment,
    find_bought_variant,
    group_into_lines,
    group_into_orders,
)
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Line, Order, Product, Variant

OTHER_LOG = "not a customer's largest log"
OTHER_ROWS = "not all that was bought together, and only that"
OTHER_FACTS = "lines, time or total are not those of the log"
DATES = "dates out of order"
STRANGER = "a variant that its product does not have"
OTHER_COLOR = "a variant of another color than in the log"
UNSOLD = "a product of which no variant stands"
TORN = "a log of which not every purchase is in one order"


def orders_are_the_logs(order: Order, trajectories: Dataset[Trajectory]) -> str | None:
    """Its rows are purchases that belong together; products, prices, time and total are those of the log."""
    known = trajectories.once(Purchases)
    place = known.place_of.get(order.trajectory_id)
    if place is None or known.people[place] != order.persona_id:
        return OTHER_LOG
    log = known.of(place)
    rows = [each for each in log if each.row in set(order.rows)]
    if not rows or [each.row for each in rows] != order.rows or is_cut_badly(log, rows):
        return OTHER_ROWS
    bought = Counter((each.product_id, each.title, each.cents) for each in rows)
    lines: Counter[tuple[str, str, int]] = Counter()
    for line in order.lines:
        lines[line.product_id, line.title, int(line.price * 100)] += line.quantity
    total = sum((line.price * line.quantity for line in order.lines), Decimal(0))
    right = bought == lines and len(lines) == len(order.lines) and min(lines.values()) > 0
    return None if right and order.placed == rows[-1].when and order.total == total else OTHER_FACTS


def is_cut_badly(log: list[LoggedPurchase], rows: list[LoggedPurchase]) -> bool:
    """Whether a purchase just before or after belongs to them as well, or one of them does not."""
    first, last = log.index(rows[0]), log.index(rows[-1])
    if log[first : last + 1] != rows:
        return True
    apart = [log[at].when - log[at - 1].when > ORDER_GAP for at in range(1, len(log))]
    inside, before, after = apart[first:last], apart[max(0, first - 1) : first], apart[last : last + 1]
    return any(inside) or not all(before) or not all(after)


def dates_are_in_order(order: Order) -> str | None:
    if order.cancelled is not None:
        right = order.shipped is None and order.delivered is None and order.placed < order.cancelled
    elif order.shipped is None:
        right = False
    else:
        right = order.placed < order.shipped and (order.delivered is None or order.shipped < order.delivered)
    return None if right else DATES


def variants_are_the_products(order: Order, variants: Dataset[Variant]) -> str | None:
    """Each line names a variant of its product, and no two lines have one id."""
    known = variants.once(VariantIndex)
    right = all(known.product_of(line.variant_id) == line.product_id for line in order.lines)
    return None if right and len({line.line_id for line in order.lines}) == len(order.lines) else STRANGER


def colors_are_the_products(order: Order, catalog: Dataset[Product], variants: Dataset[Variant]) -> str | None:
    """A line's variant has the color that the product has in the log."""
    known, colors = variants.once(VariantIndex), catalog.once(map_catalog_colors)
    for line in order.lines:
        color, bought = colors.get(line.product_id), known.color_of(line.variant_id)
        if color and bought and color.lower() != bought.lower():
            return OTHER_COLOR
    return None


def map_catalog_colors(catalog: Dataset[Product]) -> dict[str, str]:
    table = catalog.table(["id", "color"]).drop_null()
    return dict(zip(table["id"].to_pylist(), table["color"].to_pylist(), strict=True))


class VariantIndex:
    """Which product each variant is of, and its color."""

    def __init__(self, variants: Dataset[Variant]) -> None:
        table = variants.table(["id", "product_id", "choices"]).combine_chunks()
        self.choices = table["choices"]
        self.products = table["product_id"]
        self.places = TextIndex(pa.concat_arrays(table["id"].chunks) if len(table) else pa.array([], pa.string()))

    def color_of(self, variant_id: str) -> str | None:
        place = self.places.of(variant_id)
        chosen = [] if place is None else self.choices[place].as_py()
        return next((each["value"] for each in chosen if each["name"] == "color"), None)

    def product_of(self, variant_id: str) -> str | None:
        place = self.places.of(variant_id)
        return None if place is None else str(self.products[place].as_py())


def every_purchase_is_in_one_order(orders: Dataset[Order]) -> Iterable[Fault]:
    """Else none of the orders of that log is kept: a half is no view of it."""
    known = Dataset(orders.run, "trajectories", Trajectory).once(Purchases)
    rows = orders.sql("select trajectory_id, rows, filename, file_row_number from rows order by all")
    counts: Counter[str] = Counter()
    seen: dict[str, set[int]] = {}
    for log, places, _, _ in rows:
        counts[log] += len(places)
        seen.setdefault(log, set()).update(places)
    wanted = {log: int(known.edges[at + 1] - known.edges[at]) for log, at in known.place_of.items()}
    torn = {log for log in counts if not counts[log] == len(seen[log]) == wanted.get(log)}
    return [Fault(file, row, TORN) for log, _, file, row in rows if log in torn]


def plan_orders(trajectories: Dataset[Trajectory]) -> Plan:
    return Plan(len(trajectories.once(Purchases)))


VIEWS = Views(place=21, report=(Section("orders", "Orders", "publish.report_shop:gather_order_facts"),))


@stage(
    makes=Order,
    plan=plan_orders,
    checks=[orders_are_the_logs, dates_are_in_order, variants_are_the_products, colors_are_the_products],
    across=[ids_are_unique, every_purchase_is_in_one_order],
    per_shard=(64, 4_096),
    views=VIEWS,
    languages=("en", "zh"),
)
def orders(
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    trajectories: Dataset[Trajectory],
    shard: Shard,
    plan: Plan,
) -> Iterator[Order | Rejected]:
    """What each customer bought together in its longest log, as orders with lines, shipments and dates."""
    known, mine = trajectories.once(Purchases), shard.of(plan.units)
    wanted = known.products(mine)
    days, sold = shipping_days(catalog, wanted), group_variants_by_product(variants, wanted)
    for log in mine:
        for number, bought in enumerate(group_into_orders(known.of(log)), 1):
            name = f"order-{known.people[log].removeprefix('persona-')}-{number:04d}"
            unsold = sorted({each.product_id for each in bought} - set(sold))
            if unsold:  # all variants of a product can have been rejected
                record = {"trajectory_id": known.logs[log], "rows": [each.row for each in bought], "products": unsold}
                yield Rejected(id=name, reasons=[UNSOLD], record=json.dumps(record))
                continue
            yield build_order(name, known.people[log], known.logs[log], bought, days, sold, shard)


def build_order(
    name: str,
    person: str,
    log: str,
    bought: list[LoggedPurchase],
    days: dict[str, int | None],
    sold: dict[str, list[dict[str, Any]]],
    shard: Shard,
) -> Order:
    random, placed = shard.random("orders", log, bought[0].row), bought[-1].when
    lines = [
        Line(
            line_id=f"{name}-{place}",
            product_id=same[0].product_id,
            variant_id=find_bought_variant(sold[same[0].product_id]),
            title=same[0].title,
            quantity=len(same),
            price=Decimal(same[0].cents) / 100,
        )
        for place, same in enumerate(group_into_lines(bought), 1)
    ]
    how = draw_shipment(placed, [days[line.product_id] for line in lines], random)
    return Order(
        id=name,
        persona_id=person,
        trajectory_id=log,
        rows=[each.row for each in bought],
        lines=lines,
        placed=placed,
        shipped=how.shipped,
        delivered=how.delivered,
        cancelled=how.cancelled,
        total=sum((line.price * line.quantity for line in lines), Decimal(0)),
    )


def shipping_days(catalog: Dataset[Product], wanted: pa.Array) -> dict[str, int | None]:
    """Of these products, by id."""
    found: dict[str, int | None] = {}
    for batch in catalog.batches(["id", "shipping_days"]):
        here = batch.filter(pc.is_in(batch["id"], value_set=wanted))
        found |= dict(zip(*(column.to_pylist() for column in here.columns), strict=True))
    return found


def group_variants_by_product(variants: Dataset[Variant], wanted: pa.Array) -> dict[str, list[dict[str, Any]]]:
    """The variants of these products, by the product's id: id, is_title."""
    found: dict[str, list[dict[str, Any]]] = {}
    for batch in variants.batches(["id", "product_id", "is_title"]):
        here = batch.filter(pc.is_in(batch["product_id"], value_set=wanted))
        for row in here.to_pylist():
            found.setdefault(row.pop("product_id"), []).append(row)
    return found
