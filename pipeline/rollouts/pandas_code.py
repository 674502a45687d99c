"""A tree as pandas: the code that a good analyst writes for it, in one of several manners.

Each node says the same as `shopwright.pipeline.questions.answers`: ties go to the earliest event, missing values count for nothing,
and where there is nothing, what is printed says so (None, nan, NaT or an empty list).
"""

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Literal

from shopwright.pipeline.questions import tree as t

# How the answer is printed: as text, as a Python value, as a series or as a table of one column.
Form = Literal["plain", "literal", "series", "table"]
NAMES: dict[str | None, tuple[str, ...]] = {
    "search": ("searches", "queries", "other_searches"),
    "click": ("clicks", "clicked", "other_clicks"),
    "add to Cart": ("carted", "in_cart", "other_carted"),
    "purchase": ("purchases", "bought", "other_purchases"),
    None: ("events", "rows", "others"),
}
LABELS = {
    "search": "is_search",
    "click": "is_click",
    "add to Cart": "is_carted",
    "purchase": "is_purchase",
    "brand": "of_brand",
    "color": "in_color",
    "product_types": "in_category",
}
COMPUTED = {"day": ".dt.date", "weekday": ".dt.day_name()", "hour": ".dt.hour"}
FOLDS = {"sum": "sum", "smallest": "min", "largest": "max"}
OF_ONE = {"day": ".date()", "weekday": ".day_name()", "hour": ".hour"}
# Characters of a line of conditions before each gets a line of its own.
WIDEST = 88
# A condition on the rows of a frame, given the frame's name.
Test = Callable[[str], str]


@dataclass(frozen=True)
class Code:
    """Lines for one block, after the data are loaded."""

    lines: tuple[str, ...]
    form: Form
    imports: tuple[str, ...] = ()
    frame: str = ""
    """The first frame that it makes."""
    made: int = 0
    """How many lines make it."""


@dataclass
class Script:
    """Lines as they come, in one manner of writing; columns can be named wrongly on purpose."""

    random: Random
    renamed: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=lambda: {"df", "conn"})
    frame: str = ""
    made: int = 0
    known: dict[str, str] = field(default_factory=dict)
    """Names by what they stand for."""

    def __post_init__(self) -> None:
        self.dotted = self.random.random() < 0.25  # df.brand, not df["brand"]
        self.manner = self.one_of("mask", "mask", "steps", "named", "query")  # how conditions are put together
        self.shared = self.random.random() < 0.5  # a frame of a product serves several conditions on it
        self.lower = self.random.random() < 0.4  # both sides in lower case, not case=False
        self.dated = self.one_of("date", "normalize", "text", "open")  # how days are compared

    def one_of(self, *options: Any) -> Any:
        # Of `Random`, only the bits of `random` are promised not to change.
        return options[int(self.random.random() * len(options))]

    def write(self, *lines: str) -> None:
        self.lines += lines

    def name(self, *wanted: str) -> str:
        """The first of these that is free."""
        numbered = (f"{wanted[0]}_{n}" for n in range(2, 100))
        found = next(each for each in (*wanted, *numbered) if each not in self.taken)
        self.taken.add(found)
        return found

    def let(self, wanted: str, value: str) -> str:
        """A variable of this value; the one that there is, where there is one."""
        if value not in self.known:
            self.known[value] = self.name(wanted)
            self.write(f"{self.known[value]} = {value}")
        return self.known[value]

    def called(self, column: str) -> str:
        return self.renamed.get(column, column)

    def text(self, column: str) -> str:
        return quote_python(self.called(column))

    def column(self, frame: str, column: str) -> str:
        return f"{frame}.{self.called(column)}" if self.dotted else f"{frame}[{self.text(column)}]"

    def values(self, frame: str, what: str) -> str:
        """A column, or what is computed from the timestamp."""
        return self.column(frame, "timestamp") + COMPUTED[what] if what in COMPUTED else self.column(frame, what)

    def of_row(self, row: str, what: str) -> str:
        name = self.text("timestamp" if what in COMPUTED else what)
        return f"{row}[{name}]{OF_ONE.get(what, '')}"

    def day(self, day: date) -> str:
        self.imports.add("from datetime import date")
        return f"date({day.year}, {day.month}, {day.day})"

    def pandas(self) -> str:
        self.imports.add("import pandas as pd")
        return "pd"

    def code(self, expression: str, form: Form = "plain") -> Code:
        """All lines, the last of which shows this."""
        self.write(expression)
        return Code(tuple(self.lines), form, tuple(sorted(self.imports)), self.frame, self.made)

    def shown(self, expression: str) -> Code:
        """What may be None is printed, since a bare None is not."""
        return self.code(f"print({expression})")


def quote_python(text: str) -> str:
    r"""
    >>> quote_python("O'Neill"), quote_python('13" tall')
    ('"O\'Neill"', '"13\\" tall"')
    """
    # A reply's block of code ends at its first </code, which a title may hold.
    return json.dumps(text, ensure_ascii=False).replace("</code", "<\\x2fcode")


def write_number(amount: Decimal, script: Script) -> str:
    if amount == amount.to_integral_value():
        return str(int(amount))
    script.imports.add("from decimal import Decimal")
    return f'Decimal("{amount}")'


def pandas_code(tree: Any, random: Random, renamed: dict[str, str] | None = None) -> Code:
    """Code whose last line shows the answer; `renamed` puts wrong names in the place of columns.

    >>> print(*pandas_code(t.Count(of=t.Pick(action="click", brand="Brooks")), Random(7)).lines, sep="\\n")
    clicks = df[(df["action_type"] == "click") & (df["brand"] == "Brooks")]
    len(clicks)
    """
    return EMITTERS[tree.node](tree, Script(random, dict(renamed or {})))


# Picks


def emit_selection(script: Script, pick: t.Pick, source: str = "df", *, ordered: bool = False) -> str:
    """The name of a frame with the events picked."""
    key = f"{source} {t.tree_to_json(pick)}"
    if key not in script.known:
        plain = pick.model_copy(update={"product": None})
        if script.shared and pick.product is not None and plain != t.Pick():
            source, pick = emit_selection(script, t.Pick(product=pick.product), source), plain
        script.known[key] = emit_frame(script, pick, source)
        if ordered and script.random.random() < 0.5:
            name = script.known[key]
            script.write(f"{name} = {name}.sort_values({script.text('timestamp')})")
    return script.known[key]


def emit_frame(script: Script, pick: t.Pick, source: str) -> str:
    """The name of a new frame."""
    tests = list(list_pick_tests(script, pick))
    wanted = NAMES[pick.action] if pick.product is None or pick.action else ("product", "other_product")
    name = script.name(*(wanted if source == "df" or pick.action else ("part", "those")))
    ways = {"mask": emit_mask, "steps": emit_steps, "named": emit_named_masks, "query": emit_query}
    ways[script.manner](script, pick, source, name, tests)
    if not script.frame:
        script.frame, script.made = name, len(script.lines)
    return name


def emit_mask(script: Script, pick: t.Pick, source: str, name: str, tests: list[tuple[str, Test]]) -> None:
    script.write(*format_mask(source, name, [test(source) for _, test in tests]))


def format_mask(source: str, name: str, found: list[str]) -> list[str]:
    """
    >>> format_mask("df", "clicks", ['df["hour"] == 1', 'df["brand"].isin(brands)'])
    ['clicks = df[(df["hour"] == 1) & df["brand"].isin(brands)]']
    """
    if not found:
        return [f"{name} = {source}"]
    if len(found) == 1:
        return [f"{name} = {source}[{found[0]}]"]
    parts = [add_brackets(each) for each in found]
    line = f"{name} = {source}[{' & '.join(parts)}]"
    if len(line) <= WIDEST:
        return [line]
    return [f"{name} = {source}[", f"    {parts[0]}", *(f"    & {each}" for each in parts[1:]), "]"]


def add_brackets(test: str) -> str:
    """In brackets if `&` would bind more tightly."""
    return f"({test})" if isinstance(ast.parse(test, mode="eval").body, ast.Compare | ast.BinOp) else test


def emit_steps(script: Script, pick: t.Pick, source: str, name: str, tests: list[tuple[str, Test]]) -> None:
    if not tests:
        script.write(f"{name} = {source}")
    for _, test in tests:
        script.write(f"{name} = {source}[{test(source)}]")
        source = name


def emit_named_masks(script: Script, pick: t.Pick, source: str, name: str, tests: list[tuple[str, Test]]) -> None:
    """Each condition has a name; names hold for one source only."""
    if len(tests) < 2:
        return emit_mask(script, pick, source, name, tests)
    masks = [script.let(label, test(source)) for label, test in tests]
    script.write(f"{name} = {source}[{' & '.join(masks)}]")
    return None


def emit_query(script: Script, pick: t.Pick, source: str, name: str, tests: list[tuple[str, Test]]) -> None:
    """Plain equalities in a query, else one step after the other."""
    plain = {"action_type": pick.action, "brand": pick.brand, "color": pick.color, "product_types": pick.category}
    equal = {script.called(column): value for column, value in plain.items() if value is not None}
    # Letters that mean something in `DataFrame.query`, or end the text around it.
    if not equal or any(set(value) & set("'\"\\`@{}<\n") for value in equal.values()):
        return emit_steps(script, pick, source, name, tests)
    text = " and ".join(f'{column} == "{value}"' for column, value in equal.items())
    script.write(f"{name} = {source}.query('{text}')")
    for _, test in tests[len(equal) :]:
        script.write(f"{name} = {name}[{test(name)}]")
    return None


def list_pick_tests(script: Script, pick: t.Pick) -> Iterator[tuple[str, Test]]:
    """A label and a test for each condition, equalities first."""
    plain = (
        ("action_type", pick.action),
        ("brand", pick.brand),
        ("color", pick.color),
        ("product_types", pick.category),
    )
    for column, value in plain:
        if value is not None:
            yield (
                LABELS.get(value if column == "action_type" else column, "of_kind"),
                write_equality(script, column, value),
            )
    if pick.product is not None:
        said = {"brand": pick.product.brand, "color": pick.product.color, "product_types": pick.product.category}
        for column, value in said.items():
            if value is not None:
                yield LABELS.get(column, "of_kind"), write_equality(script, column, value)
        for part in pick.product.parts:
            yield "named", write_substring_test(script, "product_name", part)
    if pick.query is not None:
        yield "typed", write_equality(script, "search_query", pick.query)
    if pick.word is not None:
        yield "with_word", write_substring_test(script, "search_query", pick.word)
    if pick.at_least is not None or pick.at_most is not None:
        yield "priced", write_price_test(script, pick)
    if pick.first_day is not None or pick.last_day is not None:
        yield "in_time", write_day_test(script, pick.first_day, pick.last_day)
    if pick.weekday is not None:
        yield "on_weekday", write_weekday_test(script, pick.weekday)
    if pick.hours is not None:
        yield "in_hours", write_hour_test(script, *pick.hours)
    yield from list_product_tests(script, pick)


def write_equality(script: Script, column: str, value: str) -> Test:
    return lambda frame: f"{script.column(frame, column)} == {quote_python(value)}"


def write_substring_test(script: Script, column: str, part: str) -> Test:
    if script.lower:
        return lambda frame: (
            f"{script.column(frame, column)}.str.lower().str.contains({quote_python(part.lower())}, regex=False, na=False)"
        )
    return lambda frame: write_text_test(script.column(frame, column), part)


def write_text_test(texts: str, part: str) -> str:
    """Which of the texts of a column have this part.

    >>> write_text_test("df.brand", "oak")
    'df.brand.str.contains("oak", case=False, regex=False, na=False)'
    """
    return f"{texts}.str.contains({quote_python(part)}, case=False, regex=False, na=False)"


def write_price_test(script: Script, pick: t.Pick) -> Test:
    low, high = pick.at_least, pick.at_most
    if low is not None and high is not None:
        return lambda frame: (
            f"{script.column(frame, 'price')}.between({write_number(low, script)}, {write_number(high, script)})"
        )
    if low is not None:
        return lambda frame: f"{script.column(frame, 'price')} >= {write_number(low, script)}"
    assert high is not None
    return lambda frame: f"{script.column(frame, 'price')} <= {write_number(high, script)}"


def write_day_test(script: Script, first: date | None, last: date | None) -> Test:
    def dates(frame: str) -> str:
        found = f"{script.column(frame, 'timestamp')}"
        if script.dated == "date":
            return format_range(
                f"{found}.dt.date", script.day(first) if first else None, script.day(last) if last else None
            )
        # One day alone reads better as one; the day after the last day that there is does not exist.
        if script.dated == "open" and (last is None or (first != last and last < date.max)):
            return format_open_range(found, first, last)
        found += '.dt.strftime("%Y-%m-%d")' if script.dated == "text" else ".dt.normalize()"
        return format_range(found, f'"{first}"' if first else None, f'"{last}"' if last else None)

    return dates


def format_range(value: str, first: str | None, last: str | None) -> str:
    if first is not None and last is not None:
        return f"{value} == {first}" if first == last else f"{value}.between({first}, {last})"
    return f"{value} >= {first}" if last is None else f"{value} <= {last}"


def format_open_range(value: str, first: date | None, last: date | None) -> str:
    """From the beginning of the first day to before the day after the last.

    >>> format_open_range("when", None, date(2024, 5, 31))
    'when < "2024-06-01"'
    """
    begin = f'{value} >= "{first}"' if first is not None else ""
    end = f'{value} < "{last + timedelta(days=1)}"' if last is not None else ""
    return f"({begin}) & ({end})" if begin and end else begin or end


def write_weekday_test(script: Script, weekday: str) -> Test:
    if weekday == "weekend":
        end = script.one_of('.dt.day_name().isin(["Saturday", "Sunday"])', ".dt.day_of_week >= 5")
        return lambda frame: script.column(frame, "timestamp") + end
    return lambda frame: f"{script.values(frame, 'weekday')} == {quote_python(weekday)}"


def write_hour_test(script: Script, begin: int, end: int) -> Test:
    if script.random.random() < 0.5:
        return lambda frame: f"{script.column(frame, 'timestamp')}.dt.hour.between({begin}, {end - 1})"
    return lambda frame: (
        f"({script.column(frame, 'timestamp')}.dt.hour >= {begin}) & ({script.column(frame, 'timestamp')}.dt.hour < {end})"
    )


def list_product_tests(script: Script, pick: t.Pick) -> Iterator[tuple[str, Test]]:
    """The same product has another event, or none such: a list of products comes first."""
    for action, sign in ((pick.ever, ""), (pick.never, "~")):
        if action is None:
            continue
        # A search has no product, so `isin` is false of it, and its opposite true.
        if sign and pick.action in (None, "search"):
            yield "of_product", lambda frame: f"{script.column(frame, 'asin')}.notna()"
        wanted = {"purchase": "bought_asins", "add to Cart": "carted_asins", "click": "clicked_asins"}
        rows = f"{script.column('df', 'action_type')} == {quote_python(action)}"
        found = script.let(wanted.get(action, "those_asins"), f"df.loc[{rows}, {script.text('asin')}].dropna()")
        yield ("seen_there" if not sign else "never_there"), write_product_test(script, found, sign)


# Not a lambda in that loop, which would be of the last action in all.
def write_product_test(script: Script, found: str, sign: str) -> Test:
    return lambda frame: f"{sign}{script.column(frame, 'asin')}.isin({found})"


# One value


def emit_first_value(script: Script, frame: str, what: str) -> Code:
    """A column of the frame's first row, or nothing."""
    return emit_nth_value(script, frame, what, 1)


def emit_nth_value(script: Script, frame: str, what: str, n: int) -> Code:
    """A column of the n-th row, or nothing; from the end if negative."""
    values = script.values(frame, what)
    match script.one_of("list", "list", "series", "row", "branch"):
        case "list":
            return script.code(f"{values}{format_slice(n)}.tolist()", "literal")
        case "series":
            return script.code(f"{values}{format_slice(n)}", "series")
        case "row":
            row = script.of_row(f"{frame}.iloc[{compute_iloc_index(n)}]", what)
            return script.shown(f"{row} if {format_length_test(frame, n)} else None")
    script.write(
        f"if {format_length_test(frame, n)}:",
        f"    print({script.of_row(f'{frame}.iloc[{compute_iloc_index(n)}]', what)})",
        "else:",
    )
    return script.code('    print("none")')


def compute_iloc_index(n: int) -> int:
    return n - 1 if n > 0 else n


def format_length_test(frame: str, n: int) -> str:
    return f"len({frame}) >= {abs(n)}" if abs(n) > 1 else f"len({frame})"


def format_slice(n: int) -> str:
    """
    >>> format_slice(1), format_slice(-1), format_slice(3), format_slice(-3)
    ('.head(1)', '.tail(1)', '.iloc[2:3]', '.iloc[-3:-2]')
    """
    if abs(n) == 1:
        return ".head(1)" if n > 0 else ".tail(1)"
    return f".iloc[{n - 1}:{n}]" if n > 0 else f".iloc[{n}:{n + 1}]"


def emit_moment(script: Script, of: t.Moment, wanted: str) -> str:
    """The name of a variable with the time of an event, or NaT."""
    frame = emit_selection(script, of.of, ordered=abs(of.n) > 1)
    times = script.column(frame, "timestamp")
    if abs(of.n) == 1:
        return script.let(wanted, f"{times}.{'min' if of.n > 0 else 'max'}()")
    here = f"{times}.iloc[{compute_iloc_index(of.n)}] if {format_length_test(frame, of.n)} else {script.pandas()}.NaT"
    return script.let(wanted, here)


def emit_duration(script: Script, value: str) -> Code:
    """A span of time as it is, or in seconds."""
    if script.random.random() < 0.5:
        return script.code(value)
    return script.code(f"{add_brackets(value)}.total_seconds()")


def write_aggregate(script: Script, tree: Any) -> str:
    """A count or a figure of prices, as an expression."""
    if tree.node == "count":
        return write_count(script, emit_selection(script, tree.of), tree.what)
    frame = emit_selection(script, tree.of)
    prices = script.column(frame, "price")
    match tree.how:
        case "average":
            return f"round({prices}.astype(float).mean(), 2)"
        case "span":
            return f"{prices}.max() - {prices}.min()"
    return f"{prices}.{FOLDS[tree.how]}()"


def write_count(script: Script, frame: str, what: str | None) -> str:
    if what is None:
        return script.one_of(f"len({frame})", f"len({frame})", f"{frame}.shape[0]")
    values = script.values(frame, what)
    return script.one_of(f"{values}.nunique()", f"{values}.nunique()", f"len({values}.dropna().unique())")


def emit_sorted_values(script: Script, values: str) -> Code:
    """The different values of a column, sorted."""
    return script.code(
        *script.one_of(
            (f"sorted({values}.dropna().unique())", "literal"),
            (f"sorted(set({values}.dropna()))", "literal"),
            (f"{values}.dropna().drop_duplicates().sort_values().tolist()", "literal"),
            (f"{values}.dropna().drop_duplicates().sort_values()", "series"),
        )
    )


# Nodes


def emit_count(tree: t.Count, script: Script) -> Code:
    return script.code(write_count(script, emit_selection(script, tree.of), tree.what))


def emit_fold(tree: t.Fold, script: Script) -> Code:
    return script.code(write_aggregate(script, tree))


def emit_nth(tree: t.Nth, script: Script) -> Code:
    frame = emit_selection(script, tree.of, ordered=True)
    if tree.what == "timestamp" and abs(tree.n) == 1 and script.random.random() < 0.5:
        return script.code(f"{script.column(frame, 'timestamp')}.{'min' if tree.n > 0 else 'max'}()")
    return emit_nth_value(script, frame, tree.what, tree.n)


def emit_extreme(tree: t.Extreme, script: Script) -> Code:
    frame, price = emit_selection(script, tree.of, ordered=True), script.text("price")
    low, down = ("min", "True") if tree.how == "cheapest" else ("max", "False")
    if script.random.random() < 0.5:
        limit = script.let("best_price", f"{script.column(frame, 'price')}.{low}()")
        script.write(f"best = {frame}[{script.column(frame, 'price')} == {limit}]")
    else:
        keys = f"[{price}, {script.text('timestamp')}], ascending=[{down}, True]"
        script.write(f"best = {frame}.dropna(subset=[{price}]).sort_values({keys})")
    return emit_first_value(script, "best", tree.what)


def emit_top(tree: t.Top, script: Script) -> Code:
    frame = emit_selection(script, tree.of)
    if (
        tree.rank == tree.k == 1
        and tree.measure == "events"
        and tree.by not in COMPUTED
        and script.random.random() < 0.4
    ):
        return emit_most_common(tree, script, frame)
    key = script.text(tree.by) if tree.by not in COMPUTED else script.values(frame, tree.by)
    size, how = ("total", f'({script.text("price")}, "sum")') if tree.measure == "spend" else ("n", "")
    # Rows, as size counts them: of a column count would leave out what is missing.
    how = how or f'({script.text("timestamp")}, "size")'
    script.write(
        f'ranked = {frame}.groupby({key}).agg({size}={how}, first=({script.text("timestamp")}, "min"))',
        f'ranked = ranked.sort_values(["{size}", "first"], ascending=[False, True])',
    )
    begin, end = tree.rank - 1, tree.rank - 1 + tree.k
    if script.random.random() < 0.4:
        script.write(f"print(ranked.head({end + 2}))")
    return script.code(f"ranked.index[{begin or ''}:{end}].tolist()", "literal")


def emit_most_common(tree: t.Top, script: Script, frame: str) -> Code:
    """The values with the highest count, and of these the one that came first."""
    values = script.column(frame, tree.by)
    script.write(f"counts = {values}.value_counts()", "most = counts[counts == counts.max()]")
    script.write(f"first = {frame}[{values}.isin(most.index)].sort_values({script.text('timestamp')})")
    return emit_first_value(script, "first", tree.by)


def emit_share(tree: t.Share, script: Script) -> Code:
    whole = emit_selection(script, tree.of)
    tests = [test for _, test in list_pick_tests(script, tree.part)]
    if tree.what == "events" and len(tests) == 1 and script.random.random() < 0.4:
        return script.code(f"round(100 * {add_brackets(tests[0](whole))}.mean(), 1)")
    part = emit_selection(script, tree.part, whole)
    under, over = (f"len({each})" for each in (part, whole))
    if tree.what == "asin":
        under, over = (f"{script.column(each, 'asin')}.nunique()" for each in (part, whole))
    return script.shown(f"round(100 * {under} / {over}, 1) if {over} else None")


def emit_ratio(tree: t.Ratio, script: Script) -> Code:
    one, other = emit_selection(script, tree.of), emit_selection(script, tree.to)
    return script.shown(f"round(len({one}) / len({other}), 2) if len({other}) else None")


def emit_names(tree: t.Names, script: Script) -> Code:
    return emit_sorted_values(script, script.values(emit_selection(script, tree.of), tree.what))


def emit_listed(tree: t.Listed, script: Script) -> Code:
    values = script.values(emit_selection(script, tree.of, ordered=True), tree.what)
    end = f".head({tree.n})" if tree.n > 0 else f".tail({-tree.n})"
    if script.random.random() < 0.4:
        return script.code(values + end, "series")
    return script.code(f"{values}{end}.tolist()", "literal")


def emit_sets(tree: t.Sets, script: Script) -> Code:
    one, other = (script.values(emit_selection(script, pick), tree.what) for pick in (tree.of, tree.other))
    sign = "&" if tree.how == "both" else "-"
    if script.random.random() < 0.5:
        found = script.let("found", f"set({one}.dropna()) {sign} set({other}.dropna())")
        return script.code(f"len({found})") if tree.counted else script.code(f"sorted({found})", "literal")
    kept = script.let("kept", f"{one}[{'' if sign == '&' else '~'}{one}.isin({other})].dropna()")
    return script.code(f"{kept}.nunique()") if tree.counted else emit_sorted_values(script, kept)


def emit_often(tree: t.Often, script: Script) -> Code:
    frame = emit_selection(script, tree.of)
    values = script.values(frame, tree.by)
    if tree.days:
        key = script.text(tree.by) if tree.by not in COMPUTED else values
        script.write(f"days = {frame}.assign(day={script.values(frame, 'day')})")
        counts = script.let("counts", f'days.groupby({key})["day"].nunique()')
    else:
        counts = script.let("counts", f"{values}.value_counts()")
    if tree.counted:
        return script.code(script.one_of(f"({counts} >= {tree.n}).sum()", f"len({counts}[{counts} >= {tree.n}])"))
    if script.random.random() < 0.4:
        script.write(
            f"print({counts}.sort_values(ascending=False).head(10))" if tree.days else f"print({counts}.head(10))"
        )
    return script.code(f"sorted({counts}[{counts} >= {tree.n}].index)", "literal")


def emit_difference(tree: t.Difference, script: Script) -> Code:
    one = script.let("first", write_aggregate(script, tree.of))
    other = script.let("second", write_aggregate(script, tree.less))
    return script.code(f"{one} - {other}")


def emit_wait(tree: t.Wait, script: Script) -> Code:
    start = emit_moment(script, tree.start, "start")
    end = emit_moment(script, tree.end, "end")
    return emit_duration(script, f"{end} - {start}")


def emit_amid(tree: t.Amid, script: Script) -> Code:
    start, end = emit_moment(script, tree.start, "start"), emit_moment(script, tree.end, "end")
    frame = emit_selection(script, tree.of)
    times = script.column(frame, "timestamp")
    script.write(f"between = {frame}[({times} > {start}) & ({times} < {end})]")
    return script.code(write_count(script, "between", tree.what))


def emit_beside(tree: t.Beside, script: Script) -> Code:
    when = emit_moment(script, tree.moment, "moment")
    frame = emit_selection(script, tree.of, ordered=True)
    sign, name, n = (">", "later", 1) if tree.side == "after" else ("<", "earlier", -1)
    script.write(f"{name} = {frame}[{script.column(frame, 'timestamp')} {sign} {when}]")
    return emit_nth_value(script, name, tree.what, n)


def emit_directly(tree: t.Directly, script: Script) -> Code:
    if script.random.random() < 0.5:
        script.write(f"df = df.sort_values({script.text('timestamp')})")
    script.write(f'df["next_action"] = {script.column("df", "action_type")}.shift(-1)')
    frame = emit_selection(script, tree.of)
    followed = f'{frame}["next_action"] == {quote_python(tree.action)}'
    return script.code(script.one_of(f"({followed}).sum()", f"len({frame}[{followed}])"))


def emit_switches(tree: t.Switches, script: Script) -> Code:
    values = script.values(emit_selection(script, tree.of, ordered=True), tree.what)
    there = script.let("there", f"{values}.dropna()")
    if script.random.random() < 0.5:
        return script.code(f"({there} != {there}.shift()).iloc[1:].sum()")
    script.write(f"pairs = zip({there}, {there}.iloc[1:])")
    return script.code("sum(one != two for one, two in pairs)")


def emit_pause(tree: t.Pause, script: Script) -> Code:
    frame = emit_selection(script, tree.of, ordered=True)
    times = script.column(frame, "timestamp")
    if tree.what == "length":
        script.write(f"pauses = {times}.diff()")
        return emit_duration(script, "pauses.max()")
    script.write(f"pauses = {times}.shift(-1) - {times}", f"longest = {frame}[pauses == pauses.max()]")
    if script.random.random() < 0.5:
        return script.code(f"{script.column('longest', 'timestamp')}.min()")
    return emit_first_value(script, "longest", "timestamp")


def emit_sessions(tree: t.Sessions, script: Script) -> Code:
    frame = emit_selection(script, tree.of, ordered=True)
    times = script.column(frame, "timestamp")
    gap = script.one_of(f"minutes={t.GAP // 60}", f"seconds={t.GAP}")
    begins = f"{times}.diff() > {script.pandas()}.Timedelta({gap})"
    script.write(f"session = ({begins}).cumsum()")
    if tree.what == "count":
        return script.code("session.nunique()")
    if tree.what == "events":
        return script.code(f"{frame}.groupby(session).size().max()")
    script.write(f'spans = {times}.groupby(session).agg(["size", "min", "max"])')
    if tree.what == "length":
        return emit_duration(script, '(spans["max"] - spans["min"]).max()')
    if script.random.random() < 0.5:
        script.write('fullest = spans.sort_values(["size", "min"], ascending=[False, True])')
        return script.code('fullest["min"].head(1).tolist()', "literal")
    return script.code('spans.loc[spans["size"] == spans["size"].max(), "min"].min()')


def emit_streak(tree: t.Streak, script: Script) -> Code:
    times = script.column(emit_selection(script, tree.of), "timestamp")
    if script.random.random() < 0.5:
        script.write(f"days = {times}.dt.normalize().drop_duplicates().sort_values()")
        script.write(f"run = (days.diff() != {script.pandas()}.Timedelta(days=1)).cumsum()")
        return script.code("days.groupby(run).size().max() if len(days) else 0")
    script.imports.add("from datetime import timedelta")
    script.write(f"days = sorted({times}.dt.date.unique())", "lengths = {}", "for day in days:")
    script.write("    lengths[day] = lengths.get(day - timedelta(days=1), 0) + 1")
    return script.shown("max(lengths.values(), default=0)")


def emit_running(tree: t.Running, script: Script) -> Code:
    frame = emit_selection(script, tree.of, ordered=True)
    if script.random.random() < 0.5:
        script.write(f"total = {script.column(frame, 'price')}.astype(float).cumsum().round(2)")
        script.write(f"reached = {frame}[total >= {tree.amount}]")
        return emit_first_value(script, "reached", tree.what)
    script.write("total = 0", f"for _, row in {frame}.dropna(subset=[{script.text('price')}]).iterrows():")
    script.write(f"    total += row[{script.text('price')}]", f"    if total >= {write_number(tree.amount, script)}:")
    script.write(f"        print({script.of_row('row', tree.what)})", "        break", "else:")
    return script.code('    print("none")')


def emit_sum_of(tree: t.SumOf, script: Script) -> Code:
    frame = emit_selection(script, tree.of, ordered=True)
    script.write(f"first = {frame}.head({tree.n})")
    return script.shown(f"{script.column('first', 'price')}.sum() if len(first) == {tree.n} else None")


def emit_journey(tree: t.Journey, script: Script) -> Code:
    bought = emit_selection(script, tree.of.model_copy(update={"action": "purchase"}))
    since = emit_selection(script, t.Pick(action=tree.since))
    asin, name, when = (script.text(column) for column in ("asin", "product_name", "timestamp"))
    firsts = f'{bought}.groupby({asin}).agg(name=({name}, "first"), done=({when}, "min"))'
    script.write(f"done = {firsts}", f'begin = {since}.groupby({asin})[{when}].min().rename("begin")')
    script.write('both = done.join(begin, how="inner")', 'both["took"] = both["done"] - both["begin"]')
    down = tree.how == "longest"
    if tree.what == "length":
        return emit_duration(script, f'both["took"].{"max" if down else "min"}()')
    script.write(f'both = both.sort_values(["took", "done"], ascending=[{not down}, True])')
    return script.code('both["name"].head(1).tolist()', "literal")


def emit_whether(tree: t.Whether, script: Script) -> Code:
    common = [t.strip_tree_defaults(pick) | {"brand": None} for pick in tree.picks]
    if all(each == common[0] for each in common) and all(pick.brand is not None for pick in tree.picks):
        frame = emit_selection(script, tree.picks[0].model_copy(update={"brand": None}))
        script.write(f"brands = [{', '.join(quote_python(pick.brand or '') for pick in tree.picks)}]")
        there = f"{script.column(frame, 'brand')} == brand"
        either = (f"({there}).any()", f"brand in set({script.column(frame, 'brand')})")
        return script.code(f"[bool({script.one_of(*either)}) for brand in brands]", "literal")
    found = [emit_selection(script, pick) for pick in tree.picks]
    return script.code(f"[{', '.join(f'len({each}) > 0' for each in found)}]", "literal")


EMITTERS: dict[str, Callable[[Any, Script], Code]] = {
    "count": emit_count,
    "fold": emit_fold,
    "nth": emit_nth,
    "extreme": emit_extreme,
    "top": emit_top,
    "share": emit_share,
    "ratio": emit_ratio,
    "names": emit_names,
    "listed": emit_listed,
    "sets": emit_sets,
    "often": emit_often,
    "difference": emit_difference,
    "wait": emit_wait,
    "amid": emit_amid,
    "beside": emit_beside,
    "directly": emit_directly,
    "switches": emit_switches,
    "pause": emit_pause,
    "sessions": emit_sessions,
    "streak": emit_streak,
    "running": emit_running,
    "sum_of": emit_sum_of,
    "journey": emit_journey,
    "whether": emit_whether,
}
