"""What a tree says, its pandas and its SQL say too: over likely and unlikely trees, with ties, gaps and nothing to find."""

import ast
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import get_args

import pyarrow as pa
import pytest
from sqlglot import ParseError

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import Undecided, answer_tree, type_of
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.rollouts.expert import DIGITS
from shopwright.pipeline.rollouts.expert_output import read_printed_answer
from shopwright.pipeline.rollouts.expert_sql import sql_code
from shopwright.pipeline.rollouts.pandas_code import EMITTERS, pandas_code
from shopwright.schemas.samples import Event
from tests.rollouts.sandboxed import Blocks
from tests.rollouts.trees import table, trees

LOADED = 'from data_loader import load_trajectory\n\nconn, df = load_trajectory("some")'
MANNERS = range(12)


def read_block_answer(code, tree, blocks):
    """The answer that a block's output tells, as canonical text."""
    output = blocks.run("\n".join([*code.imports, LOADED, *code.lines]))
    assert output.ok, (code.lines, output.text)
    return format_canonical(read_printed_answer(output.text, code.form, type_of(tree), DIGITS.get(tree.node)))


def truth(tree, log):
    """None where there is no one truth: between two roundings, or a column without a value in a list."""
    try:
        return format_canonical(answer_tree(tree, log).value)
    except (Undecided, TypeError):
        return None


def unpriced(tree, log):
    """Whether gold and SQL may differ, since nothing picked has a price."""
    return tree.node in ("extreme", "sum_of") and not any(each.price for each in log.pick(tree.of))


def events(*told):
    """A table of (action, asin, brand, price) an hour apart."""
    rows = []
    for row, (action, asin, brand, price) in enumerate(told):
        facts = {"row_id": row, "timestamp": datetime(2024, 5, 1, row), "action_type": action, "asin": asin}
        named = {"product_name": asin and f"Thing {asin}", "brand": brand, "color": None, "product_types": "Things"}
        rows.append({**facts, **named, "price": price and Decimal(price), "search_query": None})
    return pa.Table.from_pylist(rows, schema=arrow_schema(Event))


@pytest.mark.parametrize("seed", range(9))
def test_every_kind_of_tree_has_the_true_answer_in_pandas(seed):
    random = Random(f"pandas {seed}")
    events = table(random, (120, 40, 6)[seed % 3])
    log, blocks = Log(events.to_pylist()), Blocks(events)
    for place, tree in enumerate(trees(random)):
        true = truth(tree, log)
        if true is not None and not unpriced(tree, log):
            assert read_block_answer(pandas_code(tree, Random(f"{seed} {place}")), tree, blocks) == true, (
                t.tree_to_json(tree)
            )


@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_tree_has_the_true_answer_in_sql(seed):
    random = Random(f"sql {seed}")
    events = table(random, (120, 40, 6)[seed % 3])
    log, blocks = Log(events.to_pylist()), Blocks(events)
    for place, tree in enumerate(trees(random)):
        true = truth(tree, log)
        if true is None or unpriced(tree, log):
            continue
        try:
            code = sql_code(tree, Random(f"{seed} {place}"))
        except ParseError:  # a share or a ratio of all events is no question
            assert t.Pick() in t.list_tree_picks(tree)
            continue
        assert read_block_answer(code, tree, blocks) == true, t.tree_to_json(tree)


def test_every_node_has_its_code():
    nodes = {get_args(kind.model_fields["node"].annotation)[0] for kind in get_args(get_args(t.Tree)[0])}
    assert set(EMITTERS) == nodes == {tree.node for tree in trees(Random(0))}


CLICK = t.Pick(action="click")
TIES = events(
    ("click", "B", "Beta", "5"),
    ("click", "A", "Alpha", "9"),
    ("click", "A", "Alpha", "9"),
    ("click", "B", "Beta", "9"),
    ("click", "C", None, "5"),
    ("click", "D", None, None),
    ("purchase", "B", "Beta", "9"),
    ("search", None, None, None),
)


@pytest.mark.parametrize(
    ("tree", "true"),
    [
        (t.Top(of=CLICK, by="brand"), "Beta"),
        (t.Top(of=CLICK, by="brand", k=2), "Beta; Alpha"),
        (t.Top(of=CLICK, by="brand", rank=2), "Alpha"),
        (t.Top(of=CLICK, by="brand", rank=3), "none"),
        (t.Top(of=CLICK, by="brand", measure="spend"), "Alpha"),
        (t.Extreme(of=CLICK, how="dearest", what="product_name"), "Thing A"),
        (t.Extreme(of=CLICK, how="cheapest", what="product_name"), "Thing B"),
        (t.Count(of=CLICK, what="brand"), "2"),
        (t.Names(of=CLICK, what="brand"), "Alpha; Beta"),
        (t.Switches(of=CLICK, what="brand"), "2"),
        (t.Nth(of=CLICK, n=-1, what="brand"), "none"),
        (t.Nth(of=CLICK, n=2, what="brand"), "Alpha"),
        (t.Nth(of=CLICK, n=-5, what="timestamp"), "2024-05-01 01:00:00"),
        (t.Nth(of=CLICK, n=7, what="brand"), "none"),
        (t.Nth(of=CLICK, n=-7, what="brand"), "none"),
        (t.Fold(of=CLICK, how="average"), "7.40"),
        (t.Sets(of=CLICK, other=t.Pick(action="purchase"), what="brand", how="minus"), "Alpha"),
        (t.Sets(of=CLICK, other=t.Pick(action="purchase"), what="brand", how="minus", counted=True), "1"),
        (t.Often(of=CLICK, by="brand", n=2), "Alpha; Beta"),
        (t.Pause(of=CLICK, what="start"), "2024-05-01 00:00:00"),
        (t.Sessions(of=CLICK, what="start"), "2024-05-01 00:00:00"),
        (t.Share(of=CLICK, part=t.Pick(never="purchase"), what="asin"), "75.0"),
        (t.Count(of=t.Pick(never="purchase")), "4"),
        (t.Count(of=t.Pick(ever="purchase")), "3"),
        (t.Running(of=CLICK, amount=Decimal(23), what="asin"), "A"),
        (t.Journey(of=t.Pick(), since="click", how="longest", what="length"), "6:00:00"),
    ],
)
def test_ties_go_to_the_earliest_and_what_is_missing_counts_for_nothing(tree, true):
    assert truth(tree, Log(TIES.to_pylist())) == true
    blocks = Blocks(TIES)
    assert {read_block_answer(pandas_code(tree, Random(manner)), tree, blocks) for manner in MANNERS} == {true}


@pytest.mark.parametrize("tree", list(trees(Random(4))), ids=lambda tree: tree.node)
def test_where_nothing_is_picked_the_output_says_so(tree):
    nobody = {"brand": "Nobody"}
    for name in ("of", "other", "to", "less", "start", "end", "moment"):
        part = getattr(tree, name, None)
        if isinstance(part, t.Pick):
            tree = tree.model_copy(update={name: part.model_copy(update=nobody)})
        elif part is not None:
            tree = tree.model_copy(update={name: part.model_copy(update={"of": part.of.model_copy(update=nobody)})})
    true = truth(tree, Log(TIES.to_pylist()))
    blocks = Blocks(TIES)
    assert {read_block_answer(pandas_code(tree, Random(manner)), tree, blocks) for manner in range(6)} == {true}


@pytest.mark.parametrize(
    "brand", ["O'Neill", 'Say "Hi"', "back\\slash \\n", "</code>", "{x} @y `z`", '"""', "ünï — 東京"]
)
def test_a_name_is_found_whatever_stands_in_it(brand):
    table = events(("click", "A", brand, "5"), ("click", "B", "Other", "7"), ("click", "C", brand, "9"))
    blocks, tree = Blocks(table), t.Count(of=t.Pick(action="click", brand=brand))
    for manner in MANNERS:
        for code in (pandas_code(tree, Random(manner)), sql_code(tree, Random(manner))):
            assert "</code" not in "\n".join(code.lines)
            assert read_block_answer(code, tree, blocks) == "2"


def test_a_price_is_compared_to_the_cent():
    table = events(*(("click", "A", "X", price) for price in ("24.94", "24.95", "24.96")))
    blocks = Blocks(table)
    for low, high, true in (("24.95", None, "2"), (None, "24.95", "2"), ("24.95", "24.95", "1")):
        band = {"at_least": low and Decimal(low), "at_most": high and Decimal(high)}
        tree = t.Count(of=t.Pick(action="click", **band))
        assert {read_block_answer(pandas_code(tree, Random(manner)), tree, blocks) for manner in MANNERS} == {true}


def test_the_last_day_counts_to_its_end():
    table = events(*(("click", "A", "X", "1") for _ in range(24)))
    blocks, day = Blocks(table), date(2024, 5, 1)
    for given in (
        {"last_day": day},
        {"first_day": day, "last_day": day},
        {"first_day": date(2024, 4, 1), "last_day": day},
    ):
        tree = t.Count(of=t.Pick(action="click", **given))
        assert {read_block_answer(pandas_code(tree, Random(manner)), tree, blocks) for manner in MANNERS} == {"24"}


def test_the_same_dice_write_the_same_code_and_others_write_it_differently():
    pick = t.Pick(action="click", brand="Brooks", first_day=date(2024, 5, 2))
    for tree in (t.Count(of=pick), t.Nth(of=pick, n=2, what="color"), t.Top(of=pick, by="color"), t.Streak(of=pick)):
        for write, least in ((pandas_code, 20), (sql_code, 4)):
            assert write(tree, Random(5)) == write(tree, Random(5))
            assert len({write(tree, Random(dice)).lines for dice in range(60)}) >= least, tree.node


def test_no_set_is_printed_in_an_order_that_may_change():
    names = t.Names(of=t.Pick(action="click"), what="brand")
    for tree in (names, t.Sets(of=names.of, other=t.Pick(action="purchase"), what="brand", how="both")):
        for manner in MANNERS:
            last = ast.parse(pandas_code(tree, Random(manner)).lines[-1]).body[0].value
            assert "sort" in ast.unparse(last)
            assert "ORDER BY" in " ".join(" ".join(sql_code(tree, Random(manner)).lines).split())


def test_a_wrong_name_takes_the_place_of_a_column_and_of_nothing_else():
    tree = t.Count(of=t.Pick(action="click", brand="brand"))
    for write in (pandas_code, sql_code):
        for manner in MANNERS:
            right = "\n".join(write(tree, Random(manner)).lines)
            wrong = "\n".join(write(tree, Random(manner), {"brand": "maker"}).lines)
            assert "maker" in wrong
            assert wrong.replace("maker", "brand") == right


def test_the_first_frame_is_made_by_the_lines_it_says():
    for tree in trees(Random(2)):
        code = pandas_code(tree, Random(3))
        assert code.lines[code.made - 1].startswith((code.frame, "]"))
        assert any(line.startswith(f"{code.frame} = ") for line in code.lines[: code.made])


def test_sql_is_the_questions_own():
    tree = t.Nth(of=CLICK, n=2, what="brand")
    assert any(sql_of(tree) in "\n".join(sql_code(tree, Random(manner)).lines) for manner in MANNERS)
