"""The report's figures of variants, searches, orders and the small catalog, counted again by Python from the rows."""

from collections import Counter
from statistics import median

from shopwright.pipeline.publish import report_shop
from shopwright.pipeline.publish.report_shop import NAMED, TOLD


def test_variants_are_counted_by_product(small):
    found = report_shop.gather_variant_facts(small.read("variants"))
    rows = list(small.read("variants"))
    sizes = Counter(Counter(row.product_id for row in rows).values())
    assert dict(found["How many variants a product has"][1:]) == {str(size): count for size, count in sizes.items()}
    prices = {}
    for row in rows:
        prices.setdefault(row.product_id, []).append(row.price)
    spreads = [max(all) / min(all) for all in prices.values() if max(all) > min(all)]
    middle, most = (f"{float(spread):.2f}" for spread in (median(spreads), max(spreads)))
    assert found["Their prices"][1] == (len(spreads), middle, most)
    sold_out = sum(row.stock == 0 for row in rows) / len(rows)
    assert found["Stock"][1][0] == f"{100 * sold_out:.1f} %"


def test_searches_are_counted_by_their_words(small):
    found = report_shop.gather_query_facts(small.read("queries"))
    texts = [text for row in small.read("queries") for text in row.texts]
    words = Counter(len(text.split()) for text in texts)
    assert [row[:2] for row in found["How long searches are"][1:]] == sorted(words.items())
    assert all(row[2] in texts and len(row[2].split()) == row[0] for row in found["How long searches are"][1:])
    assert sum(row[2] for row in found["Where people look"][1:]) == len(texts)
    assert len(found["Where people look"]) <= NAMED + 2


def test_orders_are_counted_by_what_became_of_them(small):
    found = report_shop.gather_order_facts(small.read("orders"))
    rows = list(small.read("orders"))
    fates = {row[0]: row[1:] for row in found["What became of them"][1:]}
    arrived = [(row.delivered.date() - row.placed.date()).days for row in rows if row.delivered]
    assert sum(row[0] for row in fates.values()) == len(rows)
    assert fates["delivered"][0] == len(arrived)
    assert fates["delivered"][2] == max(arrived)
    assert dict(found["How many products an order has"][1:]) == Counter(len(row.lines) for row in rows)
    people, _, most, all_of_it = found["What was paid"][1]
    assert people == len({row.persona_id for row in rows})
    assert (most, all_of_it) == (max(row.total for row in rows), sum(row.total for row in rows))


def test_of_the_small_catalog_the_steps_are_the_manifests(small):
    fine = small.read("catalog_fine")
    found = report_shop.gather_fine_facts(fine)
    steps = found["How they were selected"][1:]
    assert [row[0] for row in steps[:TOLD]] == list(fine.manifest.stats)[:TOLD]
    assert sum(row[2] for row in found["What is left"][1:]) == len(fine)


def test_what_is_not_there_is_no_section(small, tmp_path):
    from shopwright.pipeline.run import Run

    empty = Run(tmp_path)
    for gather, name in (
        (report_shop.gather_variant_facts, "variants"),
        (report_shop.gather_query_facts, "queries"),
        (report_shop.gather_order_facts, "orders"),
        (report_shop.gather_fine_facts, "catalog_fine"),
    ):
        assert gather(empty.read(name)) is None
