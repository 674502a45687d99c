"""A teacher that works like a careful analyst: it looks, plans, notices what is odd, and answers what was printed.

It plans from the tree that `question_reading` reads in the words. It never looks at the answer, its type or its evidence, nor at the log:
what it says beyond the question it read in an output. Of a written question, which has no tree, it runs the query.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from random import Random
from typing import Any, Protocol

from shopwright.pipeline.phrases.bank import PhraseBank, Ref
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.questions.sql import fill_frame
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.rollouts.considerations import (
    find_main_pick,
    list_considerations,
    name_goal,
    name_rows,
    name_thing,
    name_things,
)
from shopwright.pipeline.rollouts.expert_output import (
    UnreadableOutput,
    parse_error_name,
    parse_printed_literal,
    read_printed_answer,
)
from shopwright.pipeline.rollouts.expert_sql import parse_duckdb, sql_code, write_plain_query
from shopwright.pipeline.rollouts.expert_written import infer_answer
from shopwright.pipeline.rollouts.names import Seen, UnseenName, list_unseen_names
from shopwright.pipeline.rollouts.pandas_code import Code, Script, emit_selection, pandas_code, quote_python
from shopwright.pipeline.rollouts.probes import Probe, list_first_probes, list_later_probes
from shopwright.pipeline.rollouts.slips import Slip, list_slips
from shopwright.pipeline.rollouts.thoughts import Remark, Speaker, remark
from shopwright.pipeline.tokens import estimate
from shopwright.schemas.questions import Question

# Shares of rollouts that look at the table first, look at the rows that matter, compute the answer a second way, begin with a query that
# is too narrow or too broad, look at what decides before they compute, and look once more at what they found.
LOOKS, ROWS, CHECKS, SLIPS, PROBES, AGAIN = 0.3, 0.12, 0.12, 0.3, 0.45, 0.5
# Share of mends before which the cause is looked up.
WHYS = 0.5
# Tokens of a rollout after which nothing is looked at that need not be.
ROOM = 2_000
OTHER_WAY = {"pandas": "sql", "sql": "pandas"}
# Decimals of a rounded figure.
DIGITS = {"share": 1, "ratio": 2}
# How much is considered aloud before one block, by register.
MOST_MINDED = {"terse": 2, "plain": 2, "chatty": 3}
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
# What would mean something else in a box.
BRACES = re.compile(r"[{}$]")
SEARCHED = ("timestamp", "search_query")
SEEN = ("timestamp", "brand", "product_name", "price")
COUNTED = re.compile(r"(?:^|')(search|click|add to Cart|purchase)(?:', |\s+)(\d+)(?:\)|$)", re.MULTILINE)
"""An action with how often it was done, as a table or as a list of pairs."""
TYPES = {"price": 'str(df["price"].dtype)', "timestamp": 'str(df["timestamp"].dtype)'}
TYPES["dates"] = 'type(df["timestamp"].dt.date.iloc[0]).__name__'
"""What shows the type of a column, or of the dates in it."""


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


def play_expert(
    question: Question, random: Random, *, mistake: bool = False, bank: PhraseBank | None = None
) -> ExpertMessages:
    """A rollout: yields each message, is sent what its block printed, and ends with the boxed answer.

    With `mistake` one block fails, its cause is found, and a later block does it right.
    """
    work = ExpertWork(question, random, bank)
    looks, rows, checks, slips, probes, again, early = (
        random.random() < share for share in (LOOKS, ROWS, CHECKS, SLIPS, PROBES, AGAIN, 0.5)
    )
    if looks and not mistake:
        yield from work.look()
    yield from work.look_up_names()
    if mistake:
        yield from work.err()
    elif slips:
        yield from work.slip()
    if probes and not mistake:
        yield from work.probe_first()
    if rows and early and not mistake:
        yield from work.look_at_rows()
    found = yield from work.answer()
    if rows and not early and not mistake:
        yield from work.look_at_rows()
    if again and found is not None:
        yield from work.probe_later(found)
    if checks and found is not None:
        found = yield from work.check(found)
    yield work.final(found)


class ExpertWork:
    """One question being answered: what was drawn for it, what was seen, and what there is to say of it."""

    def __init__(self, question: Question, random: Random, bank: PhraseBank | None = None) -> None:
        self.question, self.random = question, random
        self.tree = t.tree_from_json(question.tree) if question.tree else None
        self.way = "pandas" if self.tree is not None and random.random() < 0.5 else "sql"
        self.names = self.one_of("conn, df", "conn, df", "conn, df", "bare")
        # Kept, so that the code of a way is the same whenever it is written.
        self.seeds = {way: int(random.random() * 2**48) for way in OTHER_WAY}
        self.speaker = Speaker(question.split, Random(int(random.random() * 2**48)), bank)
        if self.kind == "integer":
            self.speaker.day_style = 0  # the number of a day could be taken for the answer
        self.seen = Seen(question.question)
        self.tokens = 0
        self.open_remarks: list[Remark] = []
        """What the last output showed, to be said at the beginning of the next turn."""
        self.minded: set[str] = set()
        """What was considered aloud by now."""
        self.begun = False

    def one_of(self, *options: Any) -> Any:
        return options[int(self.random.random() * len(options))]

    # Talking

    @cached_property
    def goal(self) -> Ref:
        return name_goal(self.tree)

    def say(self, *remarks: Remark) -> str:
        """What is open from the last output, and then these."""
        said = [*self.open_remarks, *remarks]
        self.open_remarks = []
        return self.speaker.join(self.speaker.say(each) for each in said)

    def turn(self, code: str, *remarks: Remark) -> Asking:
        """A thought and a block of code."""
        message = f"{self.say(*remarks)}\n<code>\n{code}\n</code>"
        heard = yield message
        self.begun = True
        self.tokens += estimate(message) + estimate(heard.text)
        self.seen.add(heard.text)
        return heard

    def mind(self) -> list[Remark]:
        """What is considered before the answer is computed: some of all that matters, and each only once."""
        every = list_considerations(self.tree, self.speaker, first=not self.begun)
        fresh = [each for each in every if each.meaning not in self.minded and self.seen.knows_facts(each)]
        most = MOST_MINDED[self.speaker.register]
        count = 1 + int(self.random.random() * most)
        keys = {each.meaning: self.random.random() for each in fresh}
        chosen = sorted(fresh, key=lambda each: keys[each.meaning])[:count]
        self.minded |= {each.meaning for each in chosen}
        return [each for each in fresh if each in chosen]

    @property
    def has_room(self) -> bool:
        return self.tokens < ROOM

    # Steps

    def look(self) -> ExpertMessages:
        """At the columns, some rows, or how many rows of each action there are."""
        code = self.loaded(self.one_of(*LOOK_EXPRESSIONS).split("\n"))
        heard = yield from self.turn(code, remark("open look"))
        self.open_remarks += self.see_table(heard.text)

    def see_table(self, text: str) -> Iterator[Remark]:
        """What a look at the table showed."""
        counts = {action: int(n) for action, n in COUNTED.findall(text)}
        pick = find_main_pick(self.tree) if self.tree is not None else t.Pick()
        column = getattr(self.tree, "what", None) or getattr(self.tree, "by", None) or "action_type"
        if counts.get(pick.action or "", 0) > 1:
            yield remark("saw actions", n=str(counts[pick.action]), rows=name_rows(pick))
        elif "datetime64" in text:
            yield remark("saw types")
        elif f"'{column}'" in text or f" {column} " in text:
            named = column != "action_type"
            yield remark("saw column", column=column) if named else remark("saw action column")
        elif "NaN" in text:
            yield remark("saw empty cells")

    def look_up_names(self) -> ExpertMessages:
        """What the question calls otherwise than the table does is looked up before it is used."""
        if self.tree is None:
            return
        for unseen in list_unseen_names(self.tree, self.seen):
            yield from self.look_up(unseen)

    def look_up(self, unseen: UnseenName) -> ExpertMessages:
        thing, things = name_thing(unseen.column), name_things(unseen.column)
        yield from self.turn(self.loaded(unseen.lines), remark("open names", thing=thing, things=things))
        if unseen.value in self.seen:
            self.open_remarks.append(remark("saw name", value=unseen.value, thing=thing))

    def slip(self) -> ExpertMessages:
        """A query that is too narrow or too broad; what is odd about its output is said in the next turn."""
        if self.tree is None or not self.has_room:
            return
        every = list_slips(self.tree, Random(self.seeds["pandas"]), self.seen.__contains__)
        if not every:
            return
        slip: Slip = self.one_of(*every)
        opening = remark("open narrow" if not self.begun else "then narrow", rows=name_rows(find_main_pick(self.tree)))
        heard = yield from self.turn(self.loaded(slip.lines, slip.imports), opening)
        self.open_remarks += slip.remarks(heard.text, self.speaker)
        if slip.why and self.random.random() < WHYS and self.open_remarks:
            heard = yield from self.turn(self.loaded(slip.why), remark(f"look why {slip.name}"))
            self.open_remarks += slip.remarks(heard.text, self.speaker, slip.explain)

    def probe_first(self) -> ExpertMessages:
        if self.tree is None:
            return
        every = list_first_probes(self.tree, self.way, Random(self.seeds[self.way]))
        yield from self.probe(every)

    def probe_later(self, found: FoundAnswer) -> ExpertMessages:
        if self.tree is None:
            return
        yield from self.probe(list_later_probes(self.tree, found.value, self.way, Random(self.seeds[self.way])))

    def probe(self, every: list[Probe]) -> ExpertMessages:
        """One of these looks at the data."""
        fresh = [each for each in every if each.meaning not in self.minded]
        if not fresh or not self.has_room:
            return
        probe: Probe = self.one_of(*fresh)
        self.minded.add(probe.meaning)
        heard = yield from self.turn(self.loaded(probe.lines, probe.imports), Remark(probe.meaning, probe.slots))
        self.open_remarks += [
            each for each in probe.remarks(heard.text, self.speaker) if each.meaning not in self.minded
        ]
        self.minded |= {each.meaning for each in self.open_remarks}

    def look_at_rows(self) -> ExpertMessages:
        if self.tree is None or not self.has_room:
            return
        heard = yield from self.turn(self.rows(), remark("look rows", rows=name_rows(find_main_pick(self.tree))))
        if heard.text.startswith("Empty DataFrame"):
            self.open_remarks.append(remark("saw empty frame"))

    def answer(self) -> Finding:
        """The answer in the way drawn; where that fails, in the other."""
        plan = f"{'then' if self.begun else 'open'} {self.way}"
        found = yield from self.once(self.way, *self.mind(), remark(plan, goal=self.goal))
        if found is None and self.tree is not None:
            self.way = OTHER_WAY[self.way]
            found = yield from self.once(self.way, remark(f"failed {self.way}"))
        return found

    def once(self, way: str, *remarks: Remark) -> Finding:
        code = self.code(way)
        heard = yield from self.turn(self.block(code), *remarks)
        return self.known(heard, code)

    def check(self, found: FoundAnswer) -> Finding:
        """The second way; where the two differ, it holds."""
        if self.tree is None or not self.has_room:
            return found
        way = OTHER_WAY[self.way]
        second = yield from self.once(way, remark(f"check {way}"))
        if second is not None:
            self.open_remarks.append(remark("checked" if second == found else "differ"))
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
            # `.df()` of a query is no use of the frame.
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
        # Over several lines, if nothing in it would end or change such a text.
        is_odd = any(part in pretty for part in ("\\", '"""', "</code"))
        text = quote_python(pretty) if is_odd else f'"""\n{pretty}\n"""'
        return self.loaded([f"query = {text}", "conn.execute(query).df()"])

    # Errors

    def err(self) -> ExpertMessages:
        """One error of three kinds; its cause is read from the traceback before anything is mended."""
        kind = self.one_of(self.lose_state, self.misname, self.mistype)
        if self.tree is None or not (yield from kind()):
            yield from self.lose_state()

    def opening(self) -> Remark:
        return remark(f"{'then' if self.begun else 'open'} {self.way}", goal=self.goal)

    def lose_state(self) -> Generator[str, BlockOutput, bool]:
        """Goes on in a second block with what the first one made."""
        code = self.code(self.way)
        if self.way == "sql":
            yield from self.turn(self.loaded(["df.head()"]), remark("open look"))
            rest: tuple[str, ...] = code.lines
        else:
            opening = remark("look rows", rows=name_rows(find_main_pick(self.tree)))
            yield from self.turn(self.loaded([*code.lines[: code.made], f"{code.frame}.head()"], code.imports), opening)
            rest = (*code.imports, *([""] if code.imports else []), *code.lines[code.made :])
        heard = yield from self.turn("\n".join(rest), remark("go on", goal=self.goal))
        name = parse_undefined_name(heard.text) or "conn"
        self.open_remarks.append(remark("error state", error=parse_error_name(heard.text), name=name))
        return True

    def misname(self) -> Generator[str, BlockOutput, bool]:
        """Calls a column by a wrong name; not done where no column is sure to be used."""
        right = self.code(self.way).lines
        for name in self.shuffled(WRONG_NAMES):
            wrong = self.one_of(*WRONG_NAMES[name])
            code = self.code(self.way, {name: wrong})
            sure = code.made if self.way == "pandas" else len(code.lines)
            # Only lines that are sure to run: a wrong name in a branch not taken would be no mistake.
            if code.lines[:sure] != right[:sure]:
                heard = yield from self.turn(self.block(code), *self.mind(), self.opening())
                facts = {"error": parse_error_name(heard.text), "wrong": wrong}
                yield from self.explain_column(name, facts)
                return True
        return False

    def explain_column(self, name: str, facts: dict[str, str]) -> ExpertMessages:
        """The cause; with a look at the columns, where it is not remembered how they are called."""
        if self.random.random() < WHYS:
            self.open_remarks.append(remark("error column", **facts))
            heard = yield from self.turn(self.loaded(["df.columns.tolist()"]), remark("look columns"))
            if f"'{name}'" in heard.text:
                self.open_remarks.append(remark("why column", right=name))
        else:
            self.open_remarks.append(remark("error column known", right=name, **facts))

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
        heard = yield from self.turn(self.loaded([line, *code.lines], code.imports), *self.mind(), self.opening())
        self.open_remarks.append(remark(f"error {name}", error=parse_error_name(heard.text)))
        if self.random.random() < WHYS:
            heard = yield from self.turn(self.loaded([TYPES[name]]), remark("look type"))
            self.open_remarks.append(remark(f"why {name}", type=heard.text.strip()))
        return True

    # The end

    def final(self, found: FoundAnswer | None) -> str:
        """The last message: what was found, in words, and boxed."""
        if found is None:
            return f"{self.say(remark('lost'))} \\boxed{{unknown}}"
        said = format_canonical(found.value)
        return f"{self.say(self.conclude(found.value, ' '.join(said.split())))} {box_answer(said)}"

    def conclude(self, value: Any, said: str) -> Remark:
        if isinstance(value, timedelta):
            facts = {"said": said, "all": str(int(value.total_seconds()))}
            return remark("say duration", goal=self.goal, **facts)
        meaning = self.sentence(value)
        if meaning == "say money":
            said = f"-${said[1:]}" if said.startswith("-") else f"${said}"
        return remark(meaning, goal=self.goal, said=said)

    def sentence(self, value: Any) -> str:
        kind = self.kind
        if value is None:
            return "say none"
        if kind == "money":
            return "say money"
        if kind in ("integer", "decimal"):
            return "say share" if isinstance(self.tree, t.Share) else "say number"
        if isinstance(value, list) and all(isinstance(each, bool) for each in value):
            return "say answers"
        if isinstance(value, frozenset | list):
            return "say names" if len(value) > 1 else "say one name"
        return "say time" if kind in ("date", "date-time") else "say text"

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


def parse_undefined_name(text: str) -> str:
    """
    >>> parse_undefined_name("NameError: name 'clicks' is not defined")
    'clicks'
    """
    _, _, rest = text.rpartition("name '")
    return rest.partition("'")[0]
