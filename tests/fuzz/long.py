"""Long texts of the kinds that each parser would be slowest with, read one after the other.

    python -m tests.fuzz.long

It says the name of each as it begins. What takes steps by the square of the length would take minutes for one of them,
and what takes them by its cube days: so whoever waits some minutes for all of them needs no clock to tell.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.catalog.mend.money import parse_price
from pipeline.catalog.normalize import normalize
from pipeline.catalog.sources import BadSource, open_source
from pipeline.checks.questions import DAY
from pipeline.envs.episode import parsed
from pipeline.models.base import Reply
from pipeline.models.openai import heard, reply_of
from pipeline.models.written import Wrong, as_json
from pipeline.render.trajectory import parse
from pipeline.rewards.hierarchical import answer_of, rationale_at
from pipeline.rewards.matching import boxed, right, shown
from pipeline.rewards.tool_use import blocks, final
from pipeline.rollouts.conversation import returned, turn_of
from pipeline.rollouts.judge import opinion, verdict_of
from pipeline.rollouts.teacher_reading import Unreadable, read
from pipeline.sandbox.interpreter import plain
from pipeline.shop.tools import Illegal
from pipeline.shopping import human, play
from pipeline.shopping.blunders import ACTION
from pipeline.shopping.facts import measured
from schemas.record import Rejected

LENGTH, FAR = 60_000, 600_000
"""The second where a step is so quick that the square of the first is no time."""
LINE = "2024-05-01 19:30:25 click [A || "
TYPES = "integer decimal money date date-time duration text set none yes/no".split()


def filled(*units: str, before: str = "", after: str = "", length: int = LENGTH) -> list[str]:
    """Each unit over and over."""
    return [before + unit * (length // len(unit)) + after for unit in units]


SPACES = ["\n", " ", "\t\n", " \u2028"]
CASES: list[tuple[str, Callable[[str], object], list[str]]] = [
    (
        "text form",
        parse,
        [
            *filled("] (brand: ", ", color: ", ", price: ", "\\", before=LINE, after="x"),
            LINE + "] (brand: " * 9_000 + ", color: " * 9_000 + ", price: " * 9_000,
            *filled(LINE, "\n", " "),
        ],
    ),
    (
        "tool calls",
        lambda text: heard(text, "stop", 0, 0),
        filled("<tool_call>{", "<tool_call>{} ", "} ", '<tool_call>{"', before="x<tool_call>{", length=FAR),
    ),
    ("thoughts", lambda text: heard(text, "stop", 0, 0), filled("<think>", "</think>", *SPACES, after="</think>")),
    ("servers' answers", reply_of, filled("[", '{"choices":[', '"', "\\ud8", "9")),
    ("records", lambda text: as_json(Reply(text), Rejected), filled("[", '{"id":', '"', "9", "\\u", *SPACES)),
    ("verdicts", lambda text: verdict_of(Reply(text)), filled("[", "9", *SPACES)),
    ("opinions", lambda text: opinion(Reply(text), ours_first=True), filled("FIRST", " \n", before="FIRST\n")),
    (
        "turns",
        partial(play.read, multi=False),
        filled(*SPACES, before="Thought:", after="x", length=FAR)
        + filled(*SPACES, "Action", "Thought: ", "Action: a ", after="x", length=FAR)
        + filled(" ", before="Action: a", after="x", length=FAR),
    ),
    (
        "turns with a shopper",
        partial(play.read, multi=True),
        filled(*SPACES, "a ", before="Action_type: a\nAction_content: b", after="x", length=FAR)
        + filled("Action_type", "Action_type: "),
    ),
    (
        "next actions",
        lambda text: (answer_of(text), rationale_at(text)),
        filled("[", "\\", '{"rationale":', before='{"rationale":"'),
    ),
    ("actions of envs", parsed, [text[:99_000] for text in filled("[", '{"tool_calls":[', "9")]),
    (
        "blocks",
        lambda text: (blocks(text), final(text)),
        filled("<code>", "<code>```", "<interpreter>", "</interpreter>", "<code>```\n</code>", "<code>a</code>"),
    ),
    ("turns with code", lambda text: turn_of(Reply(text)), filled("<code>", " ", "</code>", after="x")),
    ("what is returned", returned, filled("<", "</code>", "<interpreter")),
    (
        "boxes",
        boxed,
        filled("\\boxed{", "\\boxed ", "{", "\\", "$", "\\(", "\\text{", "\\text ", before="\\boxed{", after="}" * 9),
    ),
    (
        "answers",
        lambda text: [right(text[:9_990], "3", each) for each in TYPES],
        [
            text[:9_990]
            for text in filled("1,", "1h ", "['a',", "['a' ", "may 1 ", "x at ", "\n", " ", "- ", "9", "1 day, ")
        ],
    ),
    (
        "what is shown",
        lambda text: [shown(text, "3", each) for each in ("integer", "money", "duration", "text", "none", "set")],
        filled("1,", "1 day, ", "datetime.timedelta(", "9", ":", length=20_000),
    ),
    (
        "what was printed",
        lambda text: [read(text, form, "text") for form in ("plain", "literal")],
        filled("(", "-", "1+", "'", "9", "0 x\n"),
    ),
    ("output", plain, filled(" at 0x", "\x1b", "/")),
    ("days", lambda text: list(DAY.finditer(text)), filled("9", "May ", "2024-", "May 1, ")),
    (
        "prices",
        parse_price,
        filled("1,", "1 ", "$", "&#x31;", "9", " ")
        + [text[:80] for text in filled("1,", "1 ", "  1", "1.", "-1", "$1 ", "1'")],
    ),
    ("measures", measured, filled("9", " ", "1.", after="\n1")),
    (
        "instructions",
        human.read,
        filled("at a price ", "at ", "is of ", "9", "3-", "for ", "w-", ": ", "a, ", "up to at most "),
    ),
    ("actions of pages", ACTION.fullmatch, filled(" ", "search[", "] ", before="search[", after="x")),
]
FIELDS = "title category attributes bullets rating review_count id".split()
DIRT = filled(
    "&",
    "&amp;",
    "&#x",
    "<a ",
    "<",
    "<!--",
    "<br ",
    "\u2022 ",
    " | ",
    "1,",
    "> ",
    "[",
    "visit the ",
    "black ",
    "e\u0301",
    *SPACES,
    before="x",
    after="x",
    length=120_000,
)


def dirty(field: str, text: str) -> object:
    return normalize({"id": "B01", "title": "Oak lamp", field: text}, source="file", licence="unknown", number=1)


def in_file(name: str, text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        found = open_source(str(path))
        for row in found.read(0, len(found)):
            json.dumps(row)


def all_of_them() -> Iterator[tuple[str, Callable[[str], object], str]]:
    for name, function, texts in CASES:
        for text in texts:
            yield name, function, text
    for field in FIELDS:
        for text in DIRT:
            yield f"catalog's {field}", partial(dirty, field), text
    for name in ("x.csv", "x.jsonl", "x.json"):
        for text in filled("[", "{", "} ,", '"title":', before='[{"title":"a","price":1},'):
            yield f"catalog {name}", partial(in_file, name), text


def main() -> None:
    for name, function, text in all_of_them():
        print(f"{name}: {text[:20]!r} ... {text[-60:-30]!r} ...", flush=True)
        with suppress(ValueError, Wrong, Illegal, Unreadable, BadSource):
            function(text)
    print("All of them were read.")


if __name__ == "__main__":
    main()
