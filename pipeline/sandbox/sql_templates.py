"""Queries that differ only in the texts they compare with share a template, which is parsed, checked and transpiled once for all."""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
# Stands around the number of a text, in its place; a query that holds the character is its own template.
MARK = "\ue000"
# A text after a comparison, a text elsewhere (a unit, a format: those are read, not compared), or a quoted name.
QUOTED = re.compile(r"""(?P<before>(?:[=<>]|\bI?LIKE|\bBETWEEN|\bAND) )?'(?P<text>(?:[^']|'')*)'|"(?:[^"]|"")*\"""")
# Comments, dollar quotes and backslashes, by which a text could end elsewhere than it seems to.
UNSAFE = re.compile(rf"--|/\*|[$\\{MARK}]")
WHOLE_PLACE = re.compile(f"'{MARK}([0-9]+){MARK}'")
PLACE = re.compile(f"{MARK}([0-9]+){MARK}")


@lru_cache(4_096)
def split_values(sql: str) -> tuple[str, tuple[str, ...]]:
    """The template of a query, and the texts that stand in its places.

    >>> template, values = split_values("SELECT DATE_DIFF('day', a, b) FROM events WHERE brand = 'O''Neill' AND color <> 'red'")
    >>> values, template.count("day"), fill_values(template, values).count("O''Neill")
    (("O''Neill", 'red'), 1, 1)
    """
    if UNSAFE.search(sql):
        return sql, ()
    values: list[str] = []

    def open_place(found: re.Match[str]) -> str:
        if not found["before"]:
            return found[0]
        values.append(found["text"])
        return f"{found['before']}'{MARK}{len(values) - 1}{MARK}'"

    return QUOTED.sub(open_place, sql), tuple(values)


def fill_values(found: Any, values: tuple[str, ...]) -> Any:
    """The same with each text in its place, in texts and in tuples of them."""
    if isinstance(found, str):
        return PLACE.sub(lambda place: values[int(place[1])], found) if MARK in found else found
    return tuple(fill_values(each, values) for each in found) if isinstance(found, tuple) else found


def bind_values(sql: str) -> tuple[str, tuple[str, ...]]:
    """The query with its texts as parameters, by which a database knows a plan that it has.

    >>> bind_values("SELECT COUNT(*) FROM events WHERE brand = 'O''Neill'")
    ('SELECT COUNT(*) FROM events WHERE brand = ?1', ("O'Neill",))
    """
    template, values = split_values(sql)
    text = WHOLE_PLACE.sub(lambda place: f"?{int(place[1]) + 1}", template)
    return text, tuple(each.replace("''", "'") for each in values)


def once_per_template(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """A function of a query that is called once for each template: what it gives must not depend on the texts compared with."""
    known = lru_cache(4_096)(function)

    @wraps(function)
    def call(sql: str, /, *given: P.args, **settings: P.kwargs) -> T:
        template, values = split_values(sql)
        found: T = fill_values(known(template, *given, **settings), values)  # type: ignore[arg-type]
        return found

    return call
