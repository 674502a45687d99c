"""A teacher that plans from a question's tree and answers with what its code printed: pandas or SQL, in varied ways.

It never looks at the answer, its type or its evidence. Of a written question, which has no tree, it runs the query.
"""

import re
from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from random import Random
from typing import Any, Protocol

from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.questions.sql import fill_frame
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.rollouts.expert_output import UnreadableOutput, parse_printed_literal, read_printed_answer
from shopwright.pipeline.rollouts.expert_sql import parse_duckdb, sql_code, write_plain_query
from shopwright.pipeline.rollouts.expert_written import infer_answer
from shopwright.pipeline.rollouts.pandas_code import Code, Script, emit_selection, pandas_code, quote_python
from shopwright.schemas.questions import Question

LOOKS, ROWS, CHECKS = 0.3, 0.15, 0.1
"""Shares of rollouts that look at the table first, look at the rows that matter, and compute the answer a second way."""
OTHER_WAY = {"pandas": "sql", "sql": "pandas"}
DIGITS = {"share": 1, "ratio": 2}
"""Decimals of a rounded figure."""
WRONG_NAMES = {
    "action_type": ("action", "event_type", "event"),
    "product_types": ("category", "product_type"),
    "product_name": ("title", "name"),
    "search_query": ("search_text", "search_term"),
    "timestamp": ("time", "event_time"),
    "asin": ("product_id", "item_id"),
    "price": ("amount", "product_price"),
    "brand": ("brand_name",),
    "color": ("colour",),
}
LOOK_EXPRESSIONS = (
    "df.head()",
    "df.head(3)",
    "df.dtypes",
    "df.columns.tolist()",
    'df["action_type"].value_counts()',
    "print(df.dtypes)\ndf.head()",
    'print(df.columns.tolist())\ndf["action_type"].value_counts()',
    "print(df.shape)\ndf.head(3)",
    'conn.execute("SELECT * FROM events LIMIT 5").df()',
    'conn.execute("SELECT action_type, COUNT(*) FROM events GROUP BY action_type ORDER BY action_type").fetchall()',
)
BRACES = re.compile(r"[{}$]")
"""What would mean something else in a box."""
SEARCHED = ("timestamp", "search_query")
SEEN = ("timestamp", "brand", "product_name", "price")


class BlockOutput(Protocol):
    """What the sandbox said to a block."""

    @property
    def text(self) -> str: ...

    @property
    def ok(self) -> bool: ...


@dataclass(frozen=True)
class FoundAnswer:
    """An answer that was read from what a block printed; its value is None if it is none."""

    value: Any


ExpertMessages = Generator[str, BlockOutput, None]
Asking = Generator[str, BlockOutput, BlockOutput]
Finding = Generator[str, BlockOutput, FoundAnswer | None]


def play_expert(question: Question, random: Random, *, mistake: bool = False) -> ExpertMessages:
    """A rollout: yields each message, is sent what its block printed, and ends with the boxed answer.

    With `mistake` one block fails, and the next does it right.
    """
    work = ExpertWork(question, random)
    looks, rows, checks, early = (random.random() < share for share in (LOOKS, ROWS, CHECKS, 0.5))
    if mistake:
        yield from work.slip()
    elif looks:
        yield from work.turn(
            "look", work.loaded(LOOK_EXPRESSIONS[int(random.random() * len(LOOK_EXPRESSIONS))].split("\n"))
        )
    rows, checks = rows and not mistake and work.tree is not None, checks and work.tree is not None
    if rows and early:
        yield from work.turn("rows", work.rows())
    found = yield from work.answer()
    if rows and not early:
        yield from work.turn("after_rows", work.rows())
    if checks and found is not None:
        found = yield from work.check(found)
    yield work.final(found)


class ExpertWork:
    """One question being answered: what was drawn for it, and whether anything was said yet."""

    def __init__(self, question: Question, random: Random) -> None:
        self.question, self.random = question, random
        self.tree = t.tree_from_json(question.tree) if question.tree else None
        self.way = "pandas" if self.tree is not None and random.random() < 0.5 else "sql"
        self.names = self.one_of("conn, df", "conn, df", "conn, df", "bare")
        self.seeds = {way: int(random.random() * 2**48) for way in OTHER_WAY}
        self.begun = False
        self.remark = ""

    def one_of(self, *options: Any) -> Any:
        return options[int(self.random.random() * len(options))]

    @cached_property
    def prose_tree(self) -> Any:
        """The tree for prose: where the answer is a day, no days are told before it."""
        if self.tree is None or self.kind != "date":
            return self.tree
        return self.tree.model_copy(
            update={"of": self.tree.of.model_copy(update={"first_day": None, "last_day": None})}
        )

    def say(self, macro: str, *facts: Any) -> str:
        """One of the phrasings, about this question."""
        said: str = self.one_of(*render_phrases("rollouts", macro, self.prose_tree, *facts))
        return said

    def turn(self, macro: str, code: str, *facts: Any) -> Asking:
        """Prose and a block; the first turn of all has an opening."""
        opening = f"open_{macro}" if not self.begun else f"then_{macro}"
        self.begun = True
        name = opening if macro in ("look", "rows", "pandas", "sql") else macro
        heard = yield f"{self.say(name, *facts)}\n<code>\n{code}\n</code>"
        return heard

    def answer(self) -> Finding:
        """The answer in the way drawn; where that fails, in the other."""
        found = yield from self.once(self.way, self.remark or self.way, *self.facts)
        if found is None and self.tree is not None:
            self.way = OTHER_WAY[self.way]
            found = yield from self.once(self.way, f"failed_{self.way}")
        return found

    def once(self, way: str, macro: str, *facts: Any) -> Finding:
        code = self.code(way)
        heard = yield from self.turn(macro, self.block(code), *facts)
        return self.known(heard, code)

    def check(self, found: FoundAnswer) -> Finding:
        """The second way; where the two differ, it holds."""
        way = OTHER_WAY[self.way]
        second = yield from self.once(way, f"check_{way}")
        if second is not None:
            self.remark = "checked" if second == found else "differ"
        return second or found

    def known(self, heard: BlockOutput, code: Code) -> FoundAnswer | None:
        """What was printed as an answer, or None where there is none to read."""
        if not heard.ok:
            return None
        try:
            if self.tree is None:
                return FoundAnswer(
                    infer_answer(parse_printed_literal(heard.text.strip()), self.question.sql, self.question.question)
                )
            return FoundAnswer(
                read_printed_answer(heard.text, code.form, type_of(self.tree), DIGITS.get(self.tree.node))
            )
        except (UnreadableOutput, ArithmeticError):  # a number that cents cannot be told of
            return None

    # Code

    def code(self, way: str, renamed: dict[str, str] | None = None) -> Code:
        """The same again each time it is asked for."""
        if self.tree is None:
            return write_plain_query(self.question.sql)
        random = Random(self.seeds[way])
        return pandas_code(self.tree, random, renamed) if way == "pandas" else sql_code(self.tree, random, renamed)

    def block(self, code: Code) -> str:
        return self.loaded(code.lines, code.imports)

    def loaded(self, lines: Any, imports: tuple[str, ...] = ()) -> str:
        """Lines after the imports and the loading."""
        text = "\n".join(lines)
        names = self.names
        if names == "bare":
            names = f"{'conn' if 'conn' in text else '_'}, {'df' if 'df' in text.replace('.df()', '') else '_'}"
        load = f"{names} = load_trajectory({quote_python(self.question.trajectory_id)})"
        head = [*imports, *([""] if imports else []), "from data_loader import load_trajectory"]
        return "\n".join([*head, "", load, text])

    def rows(self) -> str:
        """Code that shows some of the rows that matter."""
        pick = find_main_pick(self.tree)
        columns = SEARCHED if pick.action == "search" else SEEN
        few = self.one_of(5, 8, 10)
        if self.random.random() < 0.5:
            script = Script(Random(self.seeds["pandas"]))
            frame = emit_selection(script, pick)
            code = script.code(f"{frame}[[{', '.join(map(quote_python, columns))}]].head({few})")
            return self.block(code)
        where = fill_frame("any", of=pick).removeprefix("SELECT 1")
        sql = f"SELECT {', '.join(columns)}{where} ORDER BY timestamp LIMIT {few}"
        pretty = parse_duckdb(sql).sql(dialect="duckdb", pretty=True)
        return self.loaded([f"query = {triple_quote(pretty)}", "conn.execute(query).df()"])

    # Mistakes

    facts: tuple[str, ...] = ()
    """What the turn after a mistake says of it."""

    def slip(self) -> ExpertMessages:
        """One mistake of three kinds; the answer's turn then says what went wrong."""
        kind = self.one_of(self.lose_state, self.misname, self.mistype)
        if self.tree is None or not (yield from kind()):
            yield from self.lose_state()

    def lose_state(self) -> Generator[str, BlockOutput, bool]:
        """Goes on in a second block with what the first one made."""
        code = self.code(self.way)
        if self.way == "sql":
            yield from self.turn("look", self.loaded(["df.head()"]))
            rest: tuple[str, ...] = code.lines
        else:
            yield from self.turn("rows", self.loaded([*code.lines[: code.made], f"{code.frame}.head()"], code.imports))
            rest = (*code.imports, *([""] if code.imports else []), *code.lines[code.made :])
        heard = yield from self.turn("go_on", "\n".join(rest))
        self.remark, self.facts = "wrong_state", (parse_undefined_name(heard.text) or "conn", "")
        return True

    def misname(self) -> Generator[str, BlockOutput, bool]:
        """Calls a column by a wrong name; not done where no column is sure to be used."""
        right = self.code(self.way).lines
        for name in self.shuffled(WRONG_NAMES):
            wrong = self.one_of(*WRONG_NAMES[name])
            code = self.code(self.way, {name: wrong})
            sure = code.made if self.way == "pandas" else len(code.lines)
            if code.lines[:sure] != right[:sure]:
                yield from self.turn(self.way, self.block(code))
                self.remark, self.facts = "wrong_column", (wrong, name)
                return True
        return False

    def shuffled(self, names: dict[str, Any]) -> list[str]:
        keys = {name: self.random.random() for name in names}
        return sorted(names, key=lambda name: keys[name])

    def mistype(self) -> Generator[str, BlockOutput, bool]:
        """Takes a column for something else before the right code; always in pandas."""
        self.way = "pandas"
        code = self.code(self.way)
        pick = find_main_pick(self.tree)
        name, line = "timestamp", 'df["day"] = df["timestamp"].str[:10]'
        if pick.first_day is not None and self.random.random() < 0.6:
            name, line = "dates", f'df = df[df["timestamp"].dt.date >= "{pick.first_day}"]'
        elif any("price" in each for each in code.lines):
            name, line = "price", 'df["price"] = df["price"].str.replace("$", "").astype(float)'
        yield from self.turn(self.way, self.loaded([line, *code.lines], code.imports))
        (why,) = render_phrases("rollouts", "typed", name)
        self.remark, self.facts = "wrong_type", ("timestamp" if name == "dates" else name, why)
        return True

    # The end

    def final(self, found: FoundAnswer | None) -> str:
        """The last message: what was found, in words, and boxed."""
        if found is None:
            return f"{self.say('lost')} \\boxed{{unknown}}"
        said = format_canonical(found.value)
        remark = f"{self.say(self.remark)} " if self.remark in ("checked", "differ") else ""
        return f"{remark}{self.told(found.value, ' '.join(said.split()))} {box_answer(said)}"

    def told(self, value: Any, said: str) -> str:
        if isinstance(value, timedelta):
            return self.say("say_duration", said, int(value.total_seconds()))
        return self.say(self.sentence(value), *(() if value is None else (said,)))

    def sentence(self, value: Any) -> str:
        kind = self.kind
        if value is None:
            return "say_none"
        if kind == "money":
            return "say_money"
        if kind in ("integer", "decimal"):
            return "say_number"
        if isinstance(value, list) and all(isinstance(each, bool) for each in value):
            return "say_answers"
        if isinstance(value, frozenset | list):
            return "say_names"
        return "say_time" if kind in ("date", "date-time") else "say_text"

    @cached_property
    def kind(self) -> str:
        return type_of(self.tree) if self.tree is not None else ""


def box_answer(said: str) -> str:
    r"""
    >>> print(box_answer("24.95"), box_answer("mug {red}"))
    \boxed{24.95} \boxed{mug \{red\}}
    """
    plain = BRACES.sub(r"\\\g<0>", said)
    return f"\\boxed{{{plain}}}"


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


def triple_quote(sql: str) -> str:
    """A text over several lines as Python, if nothing in it would end or change it."""
    plain = not any(part in sql for part in ("\\", '"""', "</code"))
    return f'"""\n{sql}\n"""' if plain else quote_python(sql)


def parse_undefined_name(text: str) -> str:
    """
    >>> parse_undefined_name("NameError: name 'clicks' is not defined")
    'clicks'
    """
    _, _, rest = text.rpartition("name '")
    return rest.partition("'")[0]
