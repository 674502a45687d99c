"""Trees in which one field of one node was changed, removed or added."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from shopwright.pipeline.questions.tree import Mention, Pick
from shopwright.schemas.record import Part

OTHER = {
    "brand": "Zuma",
    "color": "puce",
    "category": "Kites",
    "query": "red kite",
    "word": "kite",
    "product": Mention(brand="Zuma", parts=("box kite", "red")),
    "at_least": Decimal(7),
    "at_most": Decimal(8),
    "first_day": date(2024, 5, 9),
    "last_day": date(2024, 5, 9),
    "hours": (3, 5),
    "weekday": "Monday",
}
"""A value for each condition that no trajectory of the tests has."""
ONE = timedelta(days=1)


def mutants(tree: Any) -> Iterator[tuple[str, Any]]:
    """The place and kind of each change, with the tree that it makes.

    >>> from shopwright.pipeline.questions.tree import Streak
    >>> [place for place, _ in mutants(Streak(of=Pick(brand="Brooks")))][:3]
    ['of.action changed', 'of.action changed', 'of.action changed']
    """
    for name in type(tree).model_fields:
        value = getattr(tree, name)
        for what, other in () if name == "node" else changes(tree, name, value):
            if other != value:
                yield f"{name} {what}", tree.model_copy(update={name: other})
        for place, inner in enumerate(value) if isinstance(value, tuple) else [(None, value)]:
            for where, mutant in mutants(inner) if isinstance(inner, Part) else ():
                whole = mutant if place is None else (*value[:place], mutant, *value[place + 1 :])
                yield f"{name}.{where}", tree.model_copy(update={name: whole})


def changes(part: Part, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    match part, value:
        case Mention(), tuple():
            yield "longer", (*value, "with a lid")
            yield "changed", (*value[:-1], f"{value[-1]} x")
            yield from [("shorter", value[:-1]), ("shorter", value[1:])] if len(value) > 1 else []
            return
        case Mention(), _:
            yield "changed", "Zuma"
            yield "removed", None
            return
        case Pick(), None:
            pass
        case Pick(), _:
            yield "removed", None
    if isinstance(value, bool):
        yield "changed", not value
    elif isinstance(value, int):
        yield from (("changed", number) for number in (value + 1, value - 1, -value) if number)
    elif isinstance(value, Decimal):
        yield from (("changed", value + number) for number in (1, -1))
    elif isinstance(value, date):
        yield from (("changed", value + number) for number in (ONE, -ONE))
    elif name == "hours" and value:
        yield from (("changed", hours) for hours in ((value[0] - 1, value[1]), (value[0], value[1] - 1)))
    elif name == "picks":
        yield from (("changed", picks) for picks in (value[1:], (*value[1:], value[0]), (*value, value[0])))
    yield from (("changed", word) for word in choices(type(part).model_fields[name].annotation))
    if isinstance(part, Pick) and name in OTHER:
        yield "added" if value is None else "changed", OTHER[name]


def choices(annotation: Any) -> list[Any]:
    """The words that a field can have."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [each for inner in get_args(annotation) if inner is not NoneType for each in choices(inner)]
