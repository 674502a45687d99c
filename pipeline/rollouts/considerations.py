"""What matters in a question, from its tree: which days count, who wins a tie, what has no value, where figures are rounded.

Each is a remark for the phrase bank, true of every log. What only a log can show is found by `shopwright.pipeline.rollouts.probes`.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from shopwright.pipeline.phrases.bank import Ref
from shopwright.pipeline.prompts import ORDINALS, name_ordinal
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.rollouts.thoughts import Remark, Speaker, noun, remark

ACTIONS = {"search": "search", "click": "click", "add to Cart": "cart", "purchase": "purchase", None: "action"}
"""Actions as the bank's meanings name them."""
ACTION_REMARKS = frozenset(f"mind {each}" for each in ACTIONS.values())
ORDERED = ("nth", "listed", "beside", "switches", "pause", "running", "sum_of", "directly")
"""Nodes whose answer hangs on the order of events."""
GAPPY = ("brand", "color")
"""Columns that a product may lack."""


def name_rows(pick: t.Pick) -> Ref:
    """What the events of a pick are."""
    return noun(f"rows {ACTIONS[pick.action]}")


def name_row(pick: t.Pick) -> Ref:
    return noun(f"row {ACTIONS[pick.action]}")


def name_things(column: str) -> Ref:
    return noun(f"things {column}")


def name_thing(column: str) -> Ref:
    return noun(f"thing {column}")


def name_place(n: int) -> str:
    """
    >>> name_place(2), name_place(-1), name_place(14)
    ('second', 'last', '14th')
    """
    return name_ordinal(n) if abs(n) <= len(ORDINALS) else f"{abs(n)}th{'-to-last' if n < 0 else ''}"


def find_main_pick(tree: Any) -> t.Pick:
    """The events that a question is most of all about."""
    match tree:
        case t.Difference():
            return tree.of.of
        case t.Wait():
            return tree.start.of
        case t.Whether():
            return tree.picks[0].model_copy(update={"brand": None})
        case t.Journey():
            return tree.of.model_copy(update={"action": "purchase"})
    pick: t.Pick = tree.of
    return pick


# What is asked


def name_goal(tree: Any) -> Ref:
    """What is asked for, in a few words without its conditions."""
    if tree is None:
        return noun("goal written")
    pick = find_main_pick(tree)
    rows: dict[str, str | Ref] = {"rows": name_rows(pick), "row": name_row(pick)}
    match tree:
        case t.Count(what=None):
            return Ref("goal count", rows)
        case t.Count():
            return Ref("goal distinct", rows | {"things": name_things(tree.what or "asin")})
        case t.Fold() | t.Extreme():
            return Ref(f"goal {tree.node} {tree.how}", rows | name_what(tree))
        case t.Journey():
            return Ref(f"goal journey {'' if tree.what == 'length' else 'product '}{tree.how}", rows)
        case t.Nth():
            return Ref("goal nth", rows | name_what(tree) | {"place": name_place(tree.n)})
        case t.Top(k=1):
            facts = rows | {"thing": name_thing(tree.by), "place": name_place(tree.rank)}
            return Ref(f"goal {'top' if tree.rank == 1 else 'rank'} {tree.measure}", facts)
        case t.Top():
            return Ref("goal top several", rows | {"things": name_things(tree.by)})
        case t.Names() | t.Listed():
            return Ref(f"goal {tree.node}", rows | {"things": name_things(tree.what)})
        case t.Sets() | t.Often():
            column = tree.what if tree.node == "sets" else tree.by
            name = f"goal {tree.node}{' counted' if tree.counted else ''}"
            return Ref(name, rows | {"things": name_things(column)})
        case t.Beside() | t.Switches() | t.Running():
            return Ref(f"goal {tree.node}", rows | name_what(tree))
        case t.Pause() | t.Sessions():
            return Ref(f"goal {tree.node} {tree.what}", rows)
    return Ref(f"goal {tree.node.replace('_', ' ')}", rows)


def name_what(tree: Any) -> dict[str, "str | Ref"]:
    return {"thing": name_thing(tree.what)} if getattr(tree, "what", None) in THINGS else {}


THINGS = frozenset("timestamp day weekday hour asin product_name brand color product_types price search_query".split())


# What to mind


def list_considerations(tree: Any, speaker: Speaker, *, first: bool) -> list[Remark]:
    """All that matter in this question; in the first turn none with a figure that may be the answer."""
    if tree is None:
        return [remark("mind written")]
    kind = type_of(tree)
    pick = find_main_pick(tree)
    found = list(list_node_considerations(tree))
    other = find_other_pick(tree)
    if other is None or (pick.first_day, pick.last_day) == (other.first_day, other.last_day):
        counts = not (first and kind == "integer")
        found += list_window_considerations(pick, speaker, quiet=kind == "date", counts=counts)
    elif {pick.first_day, pick.last_day, other.first_day, other.last_day} != {None}:
        found += list_border_considerations(pick, other, speaker)
    found += list_pick_considerations(pick)
    for part in list_side_picks(tree):
        heard = {each.meaning for each in found} | ACTION_REMARKS
        found += [each for each in list_pick_considerations(part) if each.meaning not in heard]
    if kind == "duration":
        found.append(remark("mind duration"))
    if tree.node in ORDERED:
        found.append(remark("mind order"))
    return found


def list_side_picks(tree: Any) -> list[t.Pick]:
    """The events beside those counted or listed: of a share's part, and of the moments at the ends."""
    match tree:
        case t.Share():
            return [tree.part]
        case t.Beside():
            return [tree.moment.of]
        case t.Amid():
            return [tree.start.of]
    return []


def list_window_considerations(pick: t.Pick, speaker: Speaker, *, quiet: bool, counts: bool) -> Iterator[Remark]:
    """Which days are included, and why the last one needs care. quiet: no day may be named. counts: their number may be."""
    first, last = pick.first_day, pick.last_day
    if last == date.max or (first is None and last is None):
        return
    if quiet:
        yield remark("mind window quietly")
        return
    if first is not None and first == last:
        yield remark("mind one day", day=speaker.day(first))
    elif first is not None and last is not None:
        yield remark("mind both ends", first=speaker.day(first), last=speaker.day(last))
        if counts:
            days = str((last - first).days + 1)
            yield remark("mind days", first=speaker.day(first), last=speaker.day(last), n=days)
    elif first is not None:
        yield remark("mind from day", first=speaker.day(first))
    elif last is not None:
        yield remark("mind up to day", last=speaker.day(last))
    if last is not None and last != first:
        yield remark("mind midnight", last=speaker.day(last))


def find_other_pick(tree: Any) -> t.Pick | None:
    """The second of the groups of events that a question compares."""
    if isinstance(tree, t.Sets):
        return tree.other
    return tree.less.of if isinstance(tree, t.Difference) else None


def list_border_considerations(one: t.Pick, other: t.Pick, speaker: Speaker) -> Iterator[Remark]:
    """Where two parts of the log meet, if they do."""
    for earlier, later in ((one, other), (other, one)):
        last, first = earlier.last_day, later.first_day
        if last is not None and first is not None and first - last == timedelta(days=1):
            yield remark("mind split", last=speaker.day(last), first=speaker.day(first))


def list_pick_considerations(pick: t.Pick) -> Iterator[Remark]:
    """What each condition on the events asks for."""
    yield remark(f"mind {ACTIONS[pick.action]}")
    if (product := pick.product) is not None and product.category is not None:
        yield remark("mind category", value=product.category)
        if product.parts:
            yield remark("mind product detail", detail=product.parts[-1])
    elif product is not None:
        yield remark("mind product", words=product.parts[0])
        if product.parts[1:]:
            yield remark("mind product detail", detail=product.parts[-1])
    for column, value in (("brand", pick.brand), ("category", pick.category), ("color", pick.color)):
        if value is not None:
            yield remark(f"mind {column}", value=value)
    if pick.query is not None:
        yield remark("mind query", value=pick.query)
    if pick.word is not None:
        yield remark("mind word", value=pick.word)
    if pick.at_least is not None and pick.at_most is not None:
        yield remark("mind price limits", low=str(pick.at_least), high=str(pick.at_most))
    if pick.weekday is not None:
        yield remark("mind weekend") if pick.weekday == "weekend" else remark("mind weekday", day=pick.weekday)
    if pick.hours is not None:
        yield remark("mind hours", begin=f"{pick.hours[0]:02d}:00", end=f"{pick.hours[1]:02d}:00")
    if pick.ever is not None:
        yield remark("mind ever", rows=noun(f"rows {ACTIONS[pick.ever]}"))
    if pick.never is not None:
        yield remark("mind never", row=noun(f"row {ACTIONS[pick.never]}"))


def list_node_considerations(tree: Any) -> Iterator[Remark]:
    """What the kind of question asks for."""
    match tree:
        case t.Count(what=None):
            yield remark("mind every row", rows=name_rows(tree.of))
        case t.Count():
            yield from mind_values(tree.what or "asin")
        case t.Fold():
            yield remark("mind prices")
            yield remark(f"mind {tree.how}")
        case t.Nth():
            yield remark("mind too few", place=name_place(tree.n), row=name_row(tree.of))
            if tree.n < 0:
                yield remark("mind from the end", place=name_place(tree.n))
        case t.Extreme():
            yield remark("mind tied price")
            yield remark("mind prices")
        case t.Top():
            yield remark("mind tied spend" if tree.measure == "spend" else "mind tie", thing=name_thing(tree.by))
            if tree.k > 1:
                yield remark("mind fewer groups", things=name_things(tree.by))
            if tree.rank > 1:
                yield remark("mind rank", place=name_place(tree.rank), thing=name_thing(tree.by))
            if tree.by in GAPPY:
                yield remark("mind missing", thing=name_thing(tree.by))
        case t.Share():
            yield remark("mind share")
            yield remark(
                "mind share of products" if tree.what == "asin" else "mind share of rows", rows=name_rows(tree.of)
            )
        case t.Ratio():
            yield remark("mind ratio", one=name_rows(tree.of), other=name_rows(tree.to))
        case t.Names():
            yield from mind_values(tree.what)
        case t.Listed():
            yield remark("mind listed", rows=name_rows(tree.of))
            if tree.n < 0:
                yield remark("mind last listed")
        case t.Sets():
            alike = {"minus": "remainder", "both": "overlap"}
            how = alike[tree.how] if tree.of.action == tree.other.action else tree.how
            sides = {"one": name_rows(tree.of), "other": name_rows(tree.other)}
            yield remark(f"mind {how}", things=name_things(tree.what), **sides)
            if tree.other.first_day is None and tree.other.last_day is None and tree.how == "minus":
                yield remark("mind any time", rows=name_rows(tree.other))
        case t.Often():
            yield remark("mind days apart" if tree.days else "mind threshold", n=str(tree.n))
            if tree.by in GAPPY:
                yield remark("mind missing", thing=name_thing(tree.by))
        case t.Difference():
            yield remark("mind difference")
        case t.Wait():
            yield remark("mind wait", start=name_row(tree.start.of), end=name_row(tree.end.of))
        case t.Amid():
            yield remark("mind between")
        case t.Beside():
            yield remark(f"mind {tree.side}", row=name_row(tree.of))
        case t.Directly():
            yield remark("mind directly")
        case t.Switches():
            yield remark("mind switches", thing=name_thing(tree.what))
        case t.Pause():
            yield remark("mind pause", rows=name_rows(tree.of))
            yield remark("mind lone row")
        case t.Sessions():
            yield remark("mind gap")
            if tree.what == "start":
                yield remark("mind tied session")
        case t.Streak():
            yield remark("mind streak")
        case t.Running():
            yield remark("mind running", amount=str(tree.amount))
        case t.SumOf():
            yield remark("mind first few", n=str(tree.n), rows=name_rows(tree.of))
        case t.Journey():
            yield remark("mind journey", row=noun(f"row {ACTIONS[tree.since]}"))
            if tree.of.first_day is not None or tree.of.last_day is not None:
                yield remark("mind earlier start", row=noun(f"row {ACTIONS[tree.since]}"))
        case t.Whether():
            yield remark("mind each")


def mind_values(column: str) -> Iterator[Remark]:
    """Of different values: each counts once, and an event without one not at all."""
    yield remark("mind once", thing=name_thing(column))
    if column in GAPPY:
        yield remark("mind missing", thing=name_thing(column))
