"""Looks at the data beside the answer: how many rows there are, which products a name means, what has no value, who ties.

Each probe has its code and reads what that code printed: what it then says was seen there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

from shopwright.pipeline.phrases.bank import Ref
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.sql import fill_frame
from shopwright.pipeline.rollouts.considerations import (
    GAPPY,
    ORDERED,
    find_main_pick,
    name_row,
    name_rows,
    name_thing,
    name_things,
)
from shopwright.pipeline.rollouts.expert_output import UnreadableOutput, parse_printed_literal
from shopwright.pipeline.rollouts.pandas_code import COMPUTED, Code, Script, emit_selection, quote_python
from shopwright.pipeline.rollouts.thoughts import Remark, Slots, Speaker, noun, remark

SHOWN_NAMES = 6
"""Of the products that a few words fit."""
RELAXED = (
    ("days", ("first_day", "last_day")),
    ("history", ("ever", "never")),
    ("prices", ("at_least", "at_most")),
    ("hours", ("hours", "weekday")),
    ("color", ("color",)),
    ("words", ("word", "query")),
    ("product", ("product",)),
    ("category", ("category",)),
    ("brand", ("brand",)),
)
"""Conditions in the order in which one is left out where nothing was found."""
PLAIN = ("asin", "product_name", "brand", "color", "product_types", "search_query")
Reads = Callable[[Any, Speaker], Iterator[Remark]]


@dataclass(frozen=True)
class Probe:
    """A look at the data: what is said before it, its code, and what its output tells."""

    meaning: str
    slots: Slots
    lines: tuple[str, ...]
    imports: tuple[str, ...]
    read: Reads

    def remarks(self, text: str, speaker: Speaker) -> list[Remark]:
        """What is seen in the output; nothing in one that cannot be read."""
        try:
            return list(self.read(parse_printed_literal(text.strip()), speaker))
        except (UnreadableOutput, TypeError, ValueError, IndexError):
            return []


def list_first_probes(tree: Any, way: str, random: Random) -> list[Probe]:
    """Those that come before the answer is computed."""
    pick = find_main_pick(tree)
    found = [probe_order(random)] if tree.node in ORDERED else []
    if pick.first_day is not None or pick.last_day is not None:
        found.append(probe_window(pick, way, random))
    if pick.product is not None and pick.product.category is None:
        found.append(probe_product(pick.product, random))
    column = find_gappy_column(tree)
    if column is not None:
        found.append(probe_missing(pick, column, way, random))
    column = find_counted_column(tree)
    if column is not None:
        found.append(probe_repeats(pick, column, way, random))
    if isinstance(tree, t.Extreme):
        found.append(probe_prices(pick, random))
    return found


def list_later_probes(tree: Any, value: Any, way: str, random: Random) -> list[Probe]:
    """Those that look at what was found once more."""
    pick = find_main_pick(tree)
    if value in (None, 0) and not isinstance(tree, t.Difference | t.Wait | t.Share | t.Ratio):
        return list(probe_relaxed(pick, random))
    if isinstance(tree, t.Top):
        return [probe_ranking(tree, random)]
    if isinstance(tree, t.Extreme):
        return [probe_tied_price(tree, random)]
    if isinstance(tree, t.Often) and not tree.days:
        return [probe_threshold(tree, random)]
    if isinstance(tree, t.Sessions):
        return [probe_gaps(pick, random)]
    return []


def find_gappy_column(tree: Any) -> str | None:
    """The column of the answer in which a value may be missing."""
    if isinstance(tree, t.Fold | t.Extreme | t.Running | t.SumOf):
        return "price"
    column = getattr(tree, "what", None) or getattr(tree, "by", None)
    return column if column in GAPPY else None


def find_counted_column(tree: Any) -> str | None:
    """The column whose different values are asked for."""
    if isinstance(tree, t.Count | t.Names | t.Sets) and tree.what in PLAIN:
        return tree.what
    return "asin" if isinstance(tree, t.Share) and tree.what == "asin" else None


def select_rows(pick: t.Pick, random: Random) -> tuple[Script, str]:
    script = Script(random)
    return script, emit_selection(script, pick)


def finish(script: Script, expression: str) -> Code:
    return script.code(expression, "literal")


def make_sql(what: str, pick: t.Pick, rest: str = "") -> tuple[str, ...]:
    """A query over the events of a pick, whose only row is shown."""
    where = fill_frame("any", of=pick).removeprefix("SELECT 1")
    sql = f"SELECT {what}{where}{rest}"
    return (f"conn.execute({quote_python(sql)}).fetchone()",)


# Before


def probe_window(pick: t.Pick, way: str, random: Random) -> Probe:
    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, first, last = found
        if not n:
            yield remark("saw no rows", rows=name_rows(pick))
        elif n == 1:
            yield remark("saw one row", first=str(first), row=name_row(pick))
        elif (pick.first_day or date.min) <= first.date() and last.date() <= (pick.last_day or date.max):
            yield remark("saw window", n=str(n), first=str(first), last=str(last), rows=name_rows(pick))

    if way == "sql":
        return Probe("look window", {}, make_sql("COUNT(*), MIN(timestamp), MAX(timestamp)", pick), (), read)
    script, frame = select_rows(pick, random)
    times = script.column(frame, "timestamp")
    code = finish(script, f"(len({frame}), {times}.min(), {times}.max())")
    return Probe("look window", {}, code.lines, code.imports, read)


def probe_product(mention: t.Mention, random: Random) -> Probe:
    """Which products the first words alone would mean, and which of them is the one."""
    words, script = mention.parts[0], Script(random)
    frame = emit_selection(script, t.Pick(product=t.Mention(brand=None, parts=(words,))))
    script.write(f"names = sorted(set({script.column(frame, 'product_name')}))")
    code = finish(script, f"(len(names), names[:{SHOWN_NAMES}])")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, names = found
        if n == 1:
            yield remark("saw one product", words=words, name=names[0])
        elif n > 1:
            yield remark("saw several products", words=words, n=str(n))
            yield from tell_apart(mention, names if n <= SHOWN_NAMES else [])

    return Probe("look product", {"words": words}, code.lines, code.imports, read)


def tell_apart(mention: t.Mention, names: list[str]) -> Iterator[Remark]:
    """What of the question's words decides, where the output shows that it does."""
    fits = [name for name in names if all(part in name.lower() for part in mention.parts)]
    alone = [part for part in mention.parts[1:] if sum(part in name.lower() for name in names) == 1]
    if len(fits) == 1 and alone:
        yield remark("saw detail decide", detail=alone[0], name=fits[0])
    elif mention.brand is not None:
        yield remark("mind brand decides", value=mention.brand)


def probe_missing(pick: t.Pick, column: str, way: str, random: Random) -> Probe:
    thing, things = name_thing(column), name_things(column)

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        missing, n = found
        facts: dict[str, str | Ref] = {"n": str(n), "k": str(missing), "thing": thing, "rows": name_rows(pick)}
        if not n:
            yield remark("saw no rows", rows=name_rows(pick))
        elif missing and n > 1:
            yield Remark("saw missing", facts)
        elif n > 1:
            yield Remark("saw none missing", facts)

    slots = {"thing": thing, "things": things, "rows": name_rows(pick)}
    if way == "sql":
        return Probe("look missing", slots, make_sql(f"COUNT(*) - COUNT({column}), COUNT(*)", pick), (), read)
    script, frame = select_rows(pick, random)
    code = finish(script, f"({script.column(frame, column)}.isna().sum(), len({frame}))")
    return Probe("look missing", slots, code.lines, code.imports, read)


def probe_repeats(pick: t.Pick, column: str, way: str, random: Random) -> Probe:
    facts: dict[str, str | Ref] = {"things": name_things(column), "thing": name_thing(column), "rows": name_rows(pick)}

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, k = found
        if not n:
            yield remark("saw no rows", rows=name_rows(pick))
        elif 1 < k < n:
            yield Remark("saw repeats", {**facts, "n": str(n), "k": str(k)})
        elif k == n > 1:
            yield Remark("saw no repeats", {**facts, "n": str(n)})

    if way == "sql":
        return Probe("look repeats", facts, make_sql(f"COUNT(*), COUNT(DISTINCT {column})", pick), (), read)
    script, frame = select_rows(pick, random)
    code = finish(script, f"(len({frame}), {script.column(frame, column)}.nunique())")
    return Probe("look repeats", facts, code.lines, code.imports, read)


def probe_order(random: Random) -> Probe:
    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        ordered, same = found
        if ordered and not same:
            yield remark("saw order")

    script = Script(random)
    times = script.column("df", "timestamp")
    code = finish(script, f"({times}.is_monotonic_increasing, {times}.duplicated().sum())")
    return Probe("look order", {}, code.lines, code.imports, read)


def probe_prices(pick: t.Pick, random: Random) -> Probe:
    """The cheapest rows with their times, which are then in no order of time."""
    script, frame = select_rows(pick, random)
    columns = f"[{script.text('price')}, {script.text('timestamp')}]"
    script.write(f"by_price = {frame}.dropna(subset=[{script.text('price')}]).sort_values({script.text('price')})")
    code = finish(script, f"by_price[{columns}].head(5).values.tolist()")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        times = [each[1] for each in found]
        if not found:
            yield remark("saw no rows", rows=name_rows(pick))
        for one, other in pairwise(times):
            if one > other:
                yield remark("saw unsorted times", first=str(one), second=str(other))
                return

    return Probe("look prices", {}, code.lines, code.imports, read)


# After


def probe_relaxed(pick: t.Pick, random: Random) -> Iterator[Probe]:
    """How many rows there are without one condition, where with all of them there is nothing."""
    held = t.strip_tree_defaults(pick)
    known = ((name, fields) for name, fields in RELAXED if any(field in held for field in fields))
    name, fields = next(known, ("", ()))
    if not fields:
        return
    wider = pick.model_copy(update=dict.fromkeys(fields))
    script = Script(random)
    one, other = emit_selection(script, pick), emit_selection(script, wider)
    code = finish(script, f"(len({one}), len({other}))")
    condition = noun(f"condition {name}")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, without = found
        facts: dict[str, str | Ref] = {"n": str(without), "condition": condition, "rows": name_rows(pick)}
        if n > 1:
            yield remark("saw rows after all", n=str(n))
        elif n:
            return
        elif without == 1:
            yield remark("saw one row without", condition=condition, row=name_row(pick))
        elif without:
            yield Remark("saw rows without", facts)
        else:
            yield Remark("saw nothing without", facts)

    yield Probe("look relaxed", {"condition": condition}, code.lines, code.imports, read)


def probe_ranking(tree: t.Top, random: Random) -> Probe:
    """The groups down to the first that did not make it."""
    script, frame = select_rows(tree.of, random)
    key = script.text(tree.by) if tree.by not in COMPUTED else script.values(frame, tree.by)
    size = f'({script.text("price")}, "sum")' if tree.measure == "spend" else f'({script.text("timestamp")}, "size")'
    script.write(f'groups = {frame}.groupby({key}).agg(n={size}, first=({script.text("timestamp")}, "min"))')
    script.write('groups = groups.sort_values(["n", "first"], ascending=[False, True])')
    end = tree.rank - 1 + tree.k
    code = finish(script, f"groups.head({end + 1}).reset_index().values.tolist()")
    thing, things = name_thing(tree.by), name_things(tree.by)

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        for (one, n, first), (other, m, later) in pairwise(found):
            if n == m and first < later:
                facts = {
                    "one": format_group(one),
                    "other": format_group(other),
                    "n": format_size(n),
                    "first": str(first),
                }
                yield remark("saw tie", **facts)
                return
        if not found:
            yield remark("saw no groups", things=things)
        elif len(found) == 1:
            yield remark("saw one group", one=format_group(found[0][0]), n=format_size(found[0][1]))
        elif len(found) > end:
            facts = {"one": format_group(found[end - 1][0]), "n": format_size(found[end - 1][1])}
            other = {"other": format_group(found[end][0]), "m": format_size(found[end][1])}
            yield remark("saw clear rank", **facts, **other)

    return Probe("look ranking", {"things": things, "thing": thing}, code.lines, code.imports, read)


def format_group(value: Any) -> str:
    return " ".join(str(value).split())


def format_size(value: Any) -> str:
    """
    >>> format_size(Decimal("12.50")), format_size(3)
    ('$12.50', '3')
    """
    return f"${value:.2f}" if isinstance(value, Decimal) else str(value)


def probe_tied_price(tree: t.Extreme, random: Random) -> Probe:
    script, frame = select_rows(tree.of, random)
    price, when = script.text("price"), script.text("timestamp")
    low = tree.how == "cheapest"
    script.write(f"best = {frame}.dropna(subset=[{price}]).sort_values([{price}, {when}], ascending=[{low}, True])")
    code = finish(script, f"best[[{price}, {when}]].head(3).values.tolist()")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        if len(found) > 1 and found[0][0] == found[1][0]:
            yield remark(
                "saw tied price", price=format_size(found[0][0]), first=str(found[0][1]), second=str(found[1][1])
            )
        elif len(found) > 1:
            yield remark("saw clear price", price=format_size(found[0][0]), other=format_size(found[1][0]))

    return Probe("look tied price", {}, code.lines, code.imports, read)


def probe_threshold(tree: t.Often, random: Random) -> Probe:
    """How often the values at the limit come up."""
    script, frame = select_rows(tree.of, random)
    script.write(f"counts = {script.values(frame, tree.by)}.value_counts()")
    code = finish(script, f"((counts >= {tree.n}).sum(), (counts == {tree.n}).sum(), (counts == {tree.n - 1}).sum())")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        enough, just, almost = (int(each) for each in found)
        facts: dict[str, str | Ref] = {"things": name_things(tree.by), "n": str(tree.n)}
        if not enough:
            yield Remark("saw none enough", facts)
        elif just:
            yield Remark("saw just enough", {**facts, "k": str(just)})
        elif tree.n > 1 and almost:
            yield Remark("saw almost", {**facts, "k": str(almost)})

    return Probe("look threshold", {"things": name_things(tree.by), "n": str(tree.n)}, code.lines, code.imports, read)


def probe_gaps(pick: t.Pick, random: Random) -> Probe:
    """The pauses nearest to that which ends a session."""
    script, frame = select_rows(pick, random)
    times = script.column(frame, "timestamp")
    script.write(f"gaps = {times}.diff().dropna().dt.total_seconds().tolist()")
    code = finish(script, f"sorted(gaps, key=lambda gap: abs(gap - {t.GAP}))[:3]")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        if not found:
            return
        gap = int(found[0])
        facts = {"minutes": str(gap // 60), "seconds": str(gap % 60), "all": str(gap)}
        yield remark("saw exact gap" if gap == t.GAP else "saw long gap" if gap > t.GAP else "saw short gap", **facts)

    return Probe("look gaps", {}, code.lines, code.imports, read)
