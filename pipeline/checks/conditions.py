"""Which conditions of a question do nothing: each is taken out of its tree as text, and the rest is answered again.

Written apart from `shopwright.pipeline.questions.conditions`, which draws by the same rule: whatever a tree holds counts as a condition
here unless it is known to be none, so that nothing new is overlooked.
"""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from shopwright.pipeline.questions.answers import Undecided, answer_tree
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.tree import Pick, tree_from_json

Json = dict[str, Any]
NO_CONDITION = ("action",)
OPPOSITE = {"cheapest": "dearest", "smallest": "largest", "longest": "shortest"}
OPPOSITE |= {other: one for one, other in OPPOSITE.items()}
DAYS = ("first_day", "last_day")
# More events than any trajectory has.
ALL = 10**6


def idle_in_tree(text: str, log: Log, value: Any) -> list[str]:
    """The names of the conditions of a tree without which its answer is the same, sorted. Raises ValueError."""
    tree = json.loads(text)
    tried = [*vary_fields(tree), *vary_moments(tree, log), *vary_node(tree, log, value)]
    return sorted({name for name, other in tried if gives_same_answer(other, log, value)})


def gives_same_answer(other: Any, log: Log, value: Any) -> bool:
    """Whether a tree without a condition, or a value found otherwise, is the answer."""
    # `vary_ends` and the like count for themselves, and give the value.
    if not isinstance(other, dict):
        return bool(other == value)
    try:
        return bool(answer_json(other, log) == value)
    except Undecided:
        return False


def answer_json(tree: Json, log: Log) -> Any:
    """The answer of a tree that is no object yet."""
    return answer_tree(tree_from_json(json.dumps(tree)), log).value


def vary_fields(tree: Json) -> Iterator[tuple[str, Json]]:
    """The tree without one field of its picks, wherever it stands."""
    said = set(chain.from_iterable(find_pick_nodes(tree)))
    one_day = any(
        pick.get("first_day") and pick.get("first_day") == pick.get("last_day") for pick in find_pick_nodes(tree)
    )
    for name in said:
        if name not in NO_CONDITION and not (one_day and name in DAYS):
            yield name, strip_fields(tree, {name})
    if said.issuperset(DAYS):
        yield "days", strip_fields(tree, {*DAYS})


def find_pick_nodes(node: Any) -> Iterator[Json]:
    """Everything in a tree that says of events which are meant."""
    if isinstance(node, list):
        for part in node:
            yield from find_pick_nodes(part)
    elif isinstance(node, dict):
        if node.keys() <= Pick.model_fields.keys():
            yield node
        else:
            for part in node.values():
                yield from find_pick_nodes(part)


def strip_fields(node: Any, names: set[str]) -> Any:
    if isinstance(node, list):
        return [strip_fields(part, names) for part in node]
    if not isinstance(node, dict):
        return node
    if node.keys() <= Pick.model_fields.keys():
        return {name: value for name, value in node.items() if name not in names}
    return {name: strip_fields(value, names) for name, value in node.items()}


def vary_moments(tree: Json, log: Log) -> Iterator[tuple[str, Json]]:
    """The same with another event at a moment, where there are several to choose from."""
    for name in ("start", "end", "moment"):
        if name in tree and (place := choose_other_place(tree[name], log)) is not None:
            yield "n", tree | {name: tree[name] | {"n": place}}


def choose_other_place(node: Json, log: Log) -> int | None:
    n = node.get("n", 1)
    if n in (1, -1):
        return -n if answer_json({"node": "count", "of": node["of"]}, log) > 1 else None
    # The first for the third, the last for the third from the end.
    return n // abs(n)


def vary_node(tree: Json, log: Log, value: Any) -> Iterator[tuple[str, Any]]:
    """What the node itself says, read the lazy way."""
    node, pick = tree["node"], tree.get("of")
    if "how" in tree and tree["how"] in OPPOSITE:
        yield "most", tree | {"how": OPPOSITE[tree["how"]]}
    # All of them, not the different ones.
    if node == "count" and "what" in tree:
        yield "distinct", len([each for each in log.pick(parse_pick(pick)) if getattr(each, tree["what"]) is not None])
    elif node == "amid":
        yield from vary_ends(tree, log)
    elif node == "beside":
        place = 1 if tree["side"] == "after" else -1
        yield "moment", {"node": "nth", "of": pick, "n": place, "what": tree["what"]}
    elif node == "nth" and (n := choose_other_place(tree, log)) is not None:
        yield "n", tree | {"n": n}
    elif node == "listed":
        yield "n", tree | {"n": ALL}
    elif node == "sum_of":
        yield "n", {"node": "fold", "of": pick, "how": "sum"}
    elif node == "top":
        yield from vary_ranking(tree, log, value)
    elif node == "share" and tree.get("what") == "asin":
        yield "distinct", {name: part for name, part in tree.items() if name != "what"}
    elif node == "often":
        yield "n", tree | {"n": 1}
        if value:
            yield "strictness", tree | {"n": tree["n"] + 1}
        if tree.get("days"):
            yield "different days", tree | {"days": False}
    elif node == "sets" and tree["how"] == "minus":
        kind = "count" if tree.get("counted") else "names"
        yield "never", {"node": kind, "of": pick, "what": tree["what"]}
    elif node == "directly":
        yield "directly", {"node": "count", "of": pick}
    elif node == "running":
        yield "amount", tree | {"amount": 0}


def parse_pick(pick: Any) -> Pick:
    return Pick.model_validate_json(json.dumps(pick))


def vary_ranking(tree: Json, log: Log, value: Any) -> Iterator[tuple[str, Any]]:
    """The first place for a later one; and whether there is any group beside those named."""
    if tree.get("rank", 1) > 1:
        yield "rank", tree | {"rank": 1}
    groups = answer_json(tree | {"rank": 1, "k": ALL}, log) or []
    named = tree.get("k", 1)
    if groups and len(groups) <= named:
        yield "most", groups if named > 1 else groups[0]


def vary_ends(tree: Json, log: Log) -> Iterator[tuple[str, Any]]:
    """Without the one end, without the other, with the ends themselves, and with every event."""
    moments = [{"n": 1} | tree[name] | {"node": "nth", "what": "timestamp"} for name in ("start", "end")]
    start, end = (answer_json(each, log) for each in moments)
    if start is None or end is None:
        return
    found = log.pick(parse_pick(tree["of"]))
    what = tree.get("what")

    def number(test: Callable[[datetime], bool]) -> int:
        there = [each for each in found if test(each.timestamp)]
        return len({getattr(each, what) for each in there} - {None}) if what else len(there)

    yield "start", number(lambda when: when <= end)
    yield "end", number(lambda when: when >= start)
    if what:
        yield "strictness", number(lambda when: start <= when <= end)
        yield "distinct", sum(start < each.timestamp < end for each in found)
