"""A tree as SQL over the table `events`: frames and conditions, each a sqlglot expression, put together.

The frames below are SQL with places (`:of`) for conditions and `_what` for columns. They keep to what DuckDB and
SQLite both understand after transpilation (see `engines`), and they order by something that decides every tie.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from shopwright.pipeline.questions import tree as t

PLACE = re.compile(r"\$([a-z]+)")
# A sqlglot expression: sqlglot is imported where it is used.
Expression = Any
GROUPED = "SELECT _what FROM events WHERE :of AND :there GROUP BY _what"
STEPS = (
    "WITH steps AS (SELECT timestamp, CASE WHEN DATE_DIFF('second', LAG(timestamp) OVER (ORDER BY timestamp), timestamp) "
    f"<= {t.GAP} THEN 0 ELSE 1 END AS begins FROM events WHERE :of), "
    "sessions AS (SELECT timestamp, SUM(begins) OVER (ORDER BY timestamp) AS session FROM steps) "
)
FRAMES = {
    "count": "SELECT COUNT(*) FROM events WHERE :of",
    "count different": "SELECT COUNT(DISTINCT _what) FROM events WHERE :of",
    "fold sum": "SELECT COALESCE(SUM(price), 0) FROM events WHERE :of",
    "fold average": "SELECT ROUND(AVG(price), 2) FROM events WHERE :of",
    "fold smallest": "SELECT MIN(price) FROM events WHERE :of",
    "fold largest": "SELECT MAX(price) FROM events WHERE :of",
    "fold span": "SELECT MAX(price) - MIN(price) FROM events WHERE :of",
    "nth first": "SELECT _what FROM events WHERE :of ORDER BY timestamp LIMIT 1 OFFSET :skip",
    "nth last": "SELECT _what FROM events WHERE :of ORDER BY timestamp DESC LIMIT 1 OFFSET :skip",
    "extreme cheapest": "SELECT _what FROM events WHERE :of ORDER BY price, timestamp LIMIT 1",
    "extreme dearest": "SELECT _what FROM events WHERE :of ORDER BY price DESC, timestamp LIMIT 1",
    "top events": f"{GROUPED} ORDER BY COUNT(*) DESC, MIN(timestamp) LIMIT :k OFFSET :skip",
    "top spend": f"{GROUPED} ORDER BY SUM(price) DESC, MIN(timestamp) LIMIT :k OFFSET :skip",
    "share events": "SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE :part) / NULLIF(COUNT(*), 0), 1) FROM events WHERE :of",
    "share asin": "SELECT ROUND(100.0 * COUNT(DISTINCT asin) FILTER (WHERE :part) / NULLIF(COUNT(DISTINCT asin), 0), 1) "
    "FROM events WHERE :of",
    "ratio": "SELECT ROUND(1.0 * COUNT(*) FILTER (WHERE :of) / NULLIF(COUNT(*) FILTER (WHERE :to), 0), 2) FROM events",
    "names": "SELECT DISTINCT _what FROM events WHERE :of AND :there",
    "listed first": "SELECT _what FROM events WHERE :of ORDER BY timestamp LIMIT :k",
    "listed last": "SELECT _what FROM (SELECT * FROM events WHERE :of ORDER BY timestamp DESC LIMIT :k) AS latest "
    "ORDER BY timestamp",
    "sets minus": "SELECT _what FROM events WHERE :of AND :there EXCEPT SELECT _what FROM events WHERE :other AND :there",
    "sets both": "SELECT _what FROM events WHERE :of AND :there INTERSECT SELECT _what FROM events WHERE :other AND :there",
    "sets minus counted": "SELECT COUNT(DISTINCT _what) FROM events WHERE :of AND :there AND "
    "NOT _what IN (SELECT _what FROM events WHERE :other AND :there)",
    "sets both counted": "SELECT COUNT(DISTINCT _what) FROM events WHERE :of AND :there AND "
    "_what IN (SELECT _what FROM events WHERE :other AND :there)",
    "often": f"{GROUPED} HAVING COUNT(*) >= :k",
    "often days": f"{GROUPED} HAVING COUNT(DISTINCT CAST(timestamp AS DATE)) >= :k",
    "wait": "SELECT DATE_DIFF('second', (:start), (:end))",
    "amid": "SELECT COUNT(*) FROM events WHERE :of AND timestamp > (:start) AND timestamp < (:end)",
    "amid different": "SELECT COUNT(DISTINCT _what) FROM events WHERE :of AND timestamp > (:start) AND timestamp < (:end)",
    "beside after": "SELECT _what FROM events WHERE :of AND timestamp > (:moment) ORDER BY timestamp LIMIT 1",
    "beside before": "SELECT _what FROM events WHERE :of AND timestamp < (:moment) ORDER BY timestamp DESC LIMIT 1",
    "directly": "SELECT COUNT(*) FROM (SELECT *, LEAD(action_type) OVER (ORDER BY timestamp) AS next_action FROM events) "
    "AS steps WHERE :of AND next_action = :action",
    "switches": "SELECT COUNT(*) FROM (SELECT _what, LAG(_what) OVER (ORDER BY timestamp) AS previous FROM events "
    "WHERE :of AND :there) AS steps WHERE _what <> previous",
    "pause length": "SELECT MAX(pause) FROM (SELECT DATE_DIFF('second', LAG(timestamp) OVER (ORDER BY timestamp), timestamp) "
    "AS pause FROM events WHERE :of) AS pauses",
    "pause start": "SELECT begin FROM (SELECT LAG(timestamp) OVER (ORDER BY timestamp) AS begin, timestamp FROM events "
    "WHERE :of) AS pauses WHERE begin IS NOT NULL ORDER BY DATE_DIFF('second', begin, timestamp) DESC, begin LIMIT 1",
    "sessions count": f"{STEPS} SELECT COUNT(DISTINCT session) FROM sessions",
    "sessions events": f"{STEPS} SELECT COUNT(*) FROM sessions GROUP BY session ORDER BY COUNT(*) DESC LIMIT 1",
    "sessions start": f"{STEPS} SELECT MIN(timestamp) FROM sessions GROUP BY session "
    "ORDER BY COUNT(*) DESC, MIN(timestamp) LIMIT 1",
    "sessions length": f"{STEPS} SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)) AS length FROM sessions "
    "GROUP BY session ORDER BY length DESC LIMIT 1",
    "streak": "WITH days AS (SELECT DISTINCT CAST(timestamp AS DATE) AS day FROM events WHERE :of), "
    "steps AS (SELECT day, CASE WHEN DATE_DIFF('day', LAG(day) OVER (ORDER BY day), day) = 1 THEN 0 ELSE 1 END AS begins "
    "FROM days), runs AS (SELECT day, SUM(begins) OVER (ORDER BY day) AS run FROM steps) "
    "SELECT COALESCE(MAX(length), 0) FROM (SELECT COUNT(*) AS length FROM runs GROUP BY run) AS lengths",
    "running": "SELECT _what FROM (SELECT *, SUM(price) OVER (ORDER BY timestamp) AS total FROM events WHERE :of) AS running "
    "WHERE total >= :amount ORDER BY timestamp LIMIT 1",
    "sum_of": "SELECT total FROM (SELECT ROW_NUMBER() OVER (ORDER BY timestamp) AS place, "
    "SUM(price) OVER (ORDER BY timestamp) AS total FROM events WHERE :of) AS running WHERE place = :n",
    "those": "SELECT asin FROM events WHERE :of",
    "any": "SELECT 1 FROM events WHERE :of",
}
JOURNEY = (
    "WITH firsts AS (SELECT asin, MIN(timestamp) AS begin FROM events WHERE :since GROUP BY asin), "
    "bought AS (SELECT asin, product_name, MIN(timestamp) AS done FROM events WHERE :of GROUP BY asin, product_name) "
)
for way, order in {"longest": " DESC", "shortest": ""}.items():
    for what, shown in {"length": "DATE_DIFF('second', begin, done)", "product_name": "product_name"}.items():
        FRAMES[f"journey {way} {what}"] = (
            f"{JOURNEY} SELECT {shown} FROM bought JOIN firsts ON firsts.asin = bought.asin "
            f"ORDER BY DATE_DIFF('second', begin, done){order}, done LIMIT 1"
        )
COMPUTED = {"day": "CAST(timestamp AS DATE)", "weekday": "DAYNAME(timestamp)", "hour": "HOUR(timestamp)"}


def sql_of(tree: Any) -> str:
    """
    >>> sql_of(t.Nth(of=t.Pick(action="click", brand="O'Neill"), n=-1, what="price"))
    "SELECT price FROM events WHERE action_type = 'click' AND brand = 'O''Neill' ORDER BY timestamp DESC LIMIT 1"
    """
    match tree:
        case t.Count():
            return fill_frame("count different" if tree.what else "count", tree.what, of=tree.of)
        case t.Fold():
            return fill_frame(f"fold {tree.how}", of=tree.of)
        case t.Nth():
            way, skip = ("first", tree.n - 1) if tree.n > 0 else ("last", -tree.n - 1)
            return fill_frame(f"nth {way}", tree.what, of=tree.of, skip=skip)
        case t.Extreme():
            return fill_frame(f"extreme {tree.how}", tree.what, of=tree.of)
        case t.Top():
            return fill_frame(f"top {tree.measure}", tree.by, of=tree.of, k=tree.k, skip=tree.rank - 1)
        case t.Share():
            return fill_frame(f"share {tree.what}", of=tree.of, part=tree.part)
        case t.Ratio():
            return fill_frame("ratio", of=tree.of, to=tree.to)
        case t.Names():
            return fill_frame("names", tree.what, of=tree.of)
        case t.Listed():
            return fill_frame(f"listed {'first' if tree.n > 0 else 'last'}", tree.what, of=tree.of, k=abs(tree.n))
        case t.Sets():
            name = f"sets {tree.how}{' counted' if tree.counted else ''}"
            return fill_frame(name, tree.what, of=tree.of, other=tree.other)
        case t.Often():
            groups = fill_frame("often days" if tree.days else "often", tree.by, of=tree.of, k=tree.n)
            return f"SELECT COUNT(*) FROM ({groups}) AS found" if tree.counted else groups
        case t.Difference():
            return f"SELECT ({sql_of(tree.of)}) - ({sql_of(tree.less)})"
        case t.Wait():
            return fill_frame("wait", start=tree.start, end=tree.end)
        case t.Amid():
            name = "amid different" if tree.what else "amid"
            return fill_frame(name, tree.what, of=tree.of, start=tree.start, end=tree.end)
        case t.Beside():
            return fill_frame(f"beside {tree.side}", tree.what, of=tree.of, moment=tree.moment)
        case t.Directly():
            return fill_frame("directly", of=tree.of, action=tree.action)
        case t.Switches():
            return fill_frame("switches", tree.what, of=tree.of)
        case t.Pause() | t.Sessions():
            return fill_frame(f"{tree.node} {tree.what}", of=tree.of)
        case t.Streak():
            return fill_frame("streak", of=tree.of)
        case t.Running():
            return fill_frame("running", tree.what, of=tree.of, amount=tree.amount)
        case t.SumOf():
            return fill_frame("sum_of", of=tree.of, n=tree.n)
        case t.Journey():
            bought, since = tree.of.model_copy(update={"action": "purchase"}), t.Pick(action=tree.since)
            return fill_frame(f"journey {tree.how} {tree.what}", of=bought, since=since)
        case t.Whether():
            return "SELECT " + ", ".join(f"EXISTS({fill_frame('any', of=pick)})" for pick in tree.picks)
    raise TypeError(f"no SQL for {tree!r}")


def fill_frame(name: str, what: t.Column | None = None, **given: Any) -> str:
    """A frame with its places filled: a pick stands there as its conditions, a moment as its query."""
    empty = frozenset(key for key, value in given.items() if value == t.Pick() or (key, value) == ("skip", 0))
    places = {key: render_frame_value(value) for key, value in given.items() if key not in empty}
    return PLACE.sub(lambda place: places[place[1]], build_frame(name, what, empty))


@lru_cache(4_096)
def build_frame(name: str, what: t.Column | None, empty: frozenset[str]) -> str:
    """A frame for a column, in the form in which sqlglot writes it, without the conditions that say nothing."""
    from sqlglot import exp

    found = parse_frame_sql(FRAMES[name]).copy()
    for node in list(found.find_all(exp.Placeholder, exp.Column)):
        if isinstance(node, exp.Placeholder) and node.name == "there":
            node.replace(is_not_null(what))
        elif isinstance(node, exp.Placeholder) and node.name in empty and node.name != "skip":
            node.replace(exp.true())
        elif node.name == "_what":
            node.replace(make_sql_column(what or "asin"))
    if "skip" in empty:
        found.find(exp.Offset).pop()
    text: str = drop_true_conditions(found).sql(dialect="duckdb")
    return text


def is_not_null(what: t.Column | None) -> Expression:
    from sqlglot import exp

    if what is None or what in COMPUTED or what == "timestamp":
        return exp.true()
    return exp.Not(this=exp.Is(this=make_sql_column(what), expression=exp.Null()))


@lru_cache(4_096)
def parse_frame_sql(text: str) -> Expression:
    from sqlglot import parse_one

    return parse_one(text, dialect="duckdb")


def render_frame_value(value: Any) -> str:
    match value:
        case t.Pick():
            return join_pick_conditions(value)
        case t.Moment():
            return sql_of(t.Nth(of=value.of, n=value.n, what="timestamp"))
    return render_sql_literal(value)


def drop_true_conditions(found: Expression) -> Expression:
    """Without the conditions that say nothing."""
    from sqlglot import exp

    for both in list(found.find_all(exp.And)):
        for side, other in ((both.this, both.expression), (both.expression, both.this)):
            if side == exp.true():
                both.replace(other)
    for where in list(found.find_all(exp.Where)):
        if where.this == exp.true():
            where.pop()
    return found


def join_pick_conditions(pick: t.Pick) -> str:
    """The conditions of a pick, all of which must hold, as sqlglot writes them."""
    return " AND ".join(list_pick_conditions(pick))


def list_pick_conditions(pick: t.Pick) -> Iterator[str]:
    plain = {"action_type": pick.action, "brand": pick.brand, "color": pick.color, "product_types": pick.category}
    yield from list_equal_columns(plain)
    if pick.product is not None:
        said = {"brand": pick.product.brand, "color": pick.product.color, "product_types": pick.product.category}
        yield from list_equal_columns(said)
        for part in pick.product.parts:
            yield f"product_name ILIKE {render_sql_literal(f'%{part}%')}"
    if pick.query is not None:
        yield f"search_query = {render_sql_literal(pick.query)}"
    if pick.word is not None:
        yield f"search_query ILIKE {render_sql_literal(f'%{pick.word}%')}"
    yield from list_bounds("price", pick.at_least, pick.at_most)
    yield from list_time_conditions(pick)
    for word, action in (("", pick.ever), ("NOT ", pick.never)):
        if action is not None:
            yield f"{word}asin IN ({fill_frame('those', of=t.Pick(action=action))})"


def list_equal_columns(values: dict[str, str | None]) -> Iterator[str]:
    for name, value in values.items():
        if value is not None:
            yield f"{name} = {render_sql_literal(value)}"


def list_bounds(column: str, least: Any, most: Any) -> Iterator[str]:
    if least is not None and most is not None:
        yield f"{column} BETWEEN {render_sql_literal(least)} AND {render_sql_literal(most)}"
    elif least is not None:
        yield f"{column} >= {render_sql_literal(least)}"
    elif most is not None:
        yield f"{column} <= {render_sql_literal(most)}"


def list_time_conditions(pick: t.Pick) -> Iterator[str]:
    if pick.first_day is not None and pick.first_day == pick.last_day:
        yield f"{COMPUTED['day']} = {render_sql_literal(pick.first_day)}"
    else:
        yield from list_bounds(COMPUTED["day"], pick.first_day, pick.last_day)
    if pick.weekday == "weekend":
        yield f"{COMPUTED['weekday']} IN ('Saturday', 'Sunday')"
    elif pick.weekday is not None:
        yield f"{COMPUTED['weekday']} = {render_sql_literal(pick.weekday)}"
    if pick.hours is not None:
        yield f"{COMPUTED['hour']} BETWEEN {pick.hours[0]} AND {pick.hours[1] - 1}"


def make_sql_column(name: str) -> Expression:
    from sqlglot import exp

    return parse_frame_sql(COMPUTED[name]).copy() if name in COMPUTED else exp.column(name)


def render_sql_literal(value: Any) -> str:
    text = str(value)
    return text if isinstance(value, int | Decimal) else f"""'{text.replace("'", "''")}'"""
