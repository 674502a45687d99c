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

from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.repair.money import read_price
from shopwright.pipeline.catalog.sources import BadSource, open_source
from shopwright.pipeline.checks.question_words import DAY
from shopwright.pipeline.envs.episode import parse_action
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.models.openai import build_reply, parse_completion
from shopwright.pipeline.models.valid_replies import InvalidReply, parse_reply_json
from shopwright.pipeline.render.trajectory import parse_trajectory
from shopwright.pipeline.rewards.hierarchical import find_rationale, parse_prediction
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_answer_shown, is_right_answer
from shopwright.pipeline.rewards.tool_use import extract_code_blocks, extract_final_text
from shopwright.pipeline.rollouts.conversation import format_block_output, parse_code_turn
from shopwright.pipeline.rollouts.expert_output import UnreadableOutput, read_printed_answer
from shopwright.pipeline.rollouts.judge import parse_opinion, parse_verdict
from shopwright.pipeline.sandbox.interpreter import clean_output
from shopwright.pipeline.shop.tools import IllegalCall
from shopwright.pipeline.shopping import instruction_comparison, play
from shopwright.pipeline.shopping.error_taxonomy import ACTION
from shopwright.pipeline.shopping.facts import parse_measurement
from shopwright.schemas.record import Rejected

LENGTH, FAR = 60_000, 600_000
"""The second where a step is so quick that the square of the first is no time."""
LINE = "2024-05-01 19:30:25 click [A || "
ANSWERS = {
    "integer": "12", "decimal": "66.7", "money": "24.95", "date": "2024-05-12", "date-time": "2024-05-12 09:00:01",
    "duration": "26:04:59", "text": "Oak lamp", "set": "a; b", "ordered list": "b; a", "yes/no": "yes; no", "none": "none",
}  # fmt: skip


def filled(*units: str, before: str = "", after: str = "", length: int = LENGTH) -> list[str]:
    """Each unit over and over."""
    return [before + unit * (length // len(unit)) + after for unit in units]


SPACES = ["\n", " ", "\t\n", " \u2028"]
PARTS = (
    "9", "9,", "1 day, ", "['", "[", '"a",', "{", "\\", "a ", "<", "-", "2024-05-12 ", "datetime.timedelta(", "1:", "$", "\n", "May 1 ", "1h ",
)  # fmt: skip
"""Of answers as they may be written."""
CASES: list[tuple[str, Callable[[str], object], list[str]]] = [
    (
        "text form",
        parse_trajectory,
        [
            *filled("] (brand: ", ", color: ", ", price: ", "\\", before=LINE, after="x"),
            LINE + "] (brand: " * 9_000 + ", color: " * 9_000 + ", price: " * 9_000,
            *filled(LINE, "\n", " "),
        ],
    ),
    (
        "tool calls",
        lambda text: build_reply(text, "stop", 0, 0),
        filled("<tool_call>{", "<tool_call>{} ", "} ", '<tool_call>{"', before="x<tool_call>{", length=FAR),
    ),
    (
        "thoughts",
        lambda text: build_reply(text, "stop", 0, 0),
        filled("<think>", "</think>", *SPACES, after="</think>"),
    ),
    ("servers' answers", parse_completion, filled("[", '{"choices":[', '"', "\\ud8", "9")),
    ("records", lambda text: parse_reply_json(Reply(text), Rejected), filled("[", '{"id":', '"', "9", "\\u", *SPACES)),
    ("verdicts", lambda text: parse_verdict(Reply(text)), filled("[", "9", *SPACES)),
    ("opinions", lambda text: parse_opinion(Reply(text), ours_first=True), filled("FIRST", " \n", before="FIRST\n")),
    (
        "turns",
        partial(play.parse_turn, multi=False),
        filled(*SPACES, before="Thought:", after="x", length=FAR)
        + filled(*SPACES, "Action", "Thought: ", "Action: a ", after="x", length=FAR)
        + filled(" ", before="Action: a", after="x", length=FAR),
    ),
    (
        "turns with a shopper",
        partial(play.parse_turn, multi=True),
        filled(*SPACES, "a ", before="Action_type: a\nAction_content: b", after="x", length=FAR)
        + filled("Action_type", "Action_type: "),
    ),
    (
        "next actions",
        lambda text: (parse_prediction(text), find_rationale(text)),
        filled("[", "\\", '{"rationale":', before='{"rationale":"'),
    ),
    ("actions of envs", parse_action, [text[:99_000] for text in filled("[", '{"tool_calls":[', "9")]),
    (
        "blocks",
        lambda text: (extract_code_blocks(text), extract_final_text(text)),
        filled("<code>", "<code>```", "<interpreter>", "</interpreter>", "<code>```\n</code>", "<code>a</code>"),
    ),
    ("turns with code", lambda text: parse_code_turn(Reply(text)), filled("<code>", " ", "</code>", after="x")),
    ("what is returned", format_block_output, filled("<", "</code>", "<interpreter")),
    (
        "boxes",
        extract_boxed_answer,
        [
            *filled(
                "\\boxed{", "\\boxed ", "{", "\\", "$", "\\(", "\\text{", "\\text ", before="\\boxed{", after="}" * 9
            ),
            "\\boxed" + " " * FAR,
            "\\boxed{" + "\\text{" * LENGTH + "}" * (LENGTH + 1),
        ],
    ),
    (
        "answers",
        lambda text: [
            is_right_answer(shown, answer, kind) for kind, answer in ANSWERS.items() for shown in (text[:9_990], text)
        ],
        filled(*PARTS, "['a',", "['a' ", "x at ", " ", "- "),
    ),
    (
        "what is shown",
        lambda text: [is_answer_shown(text, answer, kind) for kind, answer in ANSWERS.items()],
        filled(*PARTS, ":"),
    ),
    (
        "what was printed",
        lambda text: [read_printed_answer(text, form, "text") for form in ("plain", "literal")],
        filled("(", "-", "1+", "'", "9", "0 x\n"),
    ),
    ("output", clean_output, filled(" at 0x", "\x1b", "/")),
    ("days", lambda text: list(DAY.finditer(text)), filled("9", "May ", "2024-", "May 1, ")),
    (
        "prices",
        read_price,
        filled("1,", "1 ", "$", "&#x31;", "9", " ")
        + [text[:80] for text in filled("1,", "1 ", "  1", "1.", "-1", "$1 ", "1'")],
    ),
    ("measures", parse_measurement, filled("9", " ", "1.", after="\n1")),
    (
        "instructions",
        instruction_comparison.parse_instruction,
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
        with suppress(ValueError, InvalidReply, IllegalCall, UnreadableOutput, BadSource):
            function(text)
    print("All of them were read.")


if __name__ == "__main__":
    main()
