"""Coverage-guided runs of the parsers that read what others wrote: the text form, and the replies of models.

    python -m tests.fuzz.targets text --seconds 20
    python -m tests.fuzz.targets reply --seconds 60 --seed 7
    python -m tests.fuzz.targets text --again crash-1f3a...      # one input once more

atheris (libFuzzer) changes inputs, keeps those that reach code that none before reached, and changes them further. It
begins with samples, in a folder that is gone afterwards. What is no value and no documented fault ends the run: exit
code 1, the input, and how to run it again. 10 seconds for one input are such a fault, too.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

HOME = Path(__file__).parents[2]
LONGEST = 8_192
"""Bytes of an input."""
SLOW = 10
"""Seconds of one input."""
FOUND = 77
"""libFuzzer's exit code after a fault; 70 after a hang."""
INSTRUMENTED = {
    "text": ["pipeline.render.trajectory"],
    "reply": [
        *(
            "pipeline.models.written",
            "pipeline.models.openai",
            "pipeline.rollouts.judge",
            "pipeline.rollouts.conversation",
        ),
        *("pipeline.rewards.matching", "pipeline.rewards.tool_use", "pipeline.rewards.hierarchical"),
        *("pipeline.envs.episode", "pipeline.envs.conversation", "pipeline.shopping.play"),
    ],
}
WORDS = {
    "text": ["2024-05-01 19:30:25 ", "click [", "add to Cart [", "purchase [", "search [Search Amazon || ", " || ",
    "] (brand: ",
             ", color: ", ", price: ", "12.50)", "]\\ (brand: ", ",\\ color: ", "\\\\", "\\n", "\\r", "\n"],
    "reply": ["<think>", "</think>", "<tool_call>", "</tool_call>", "<code>", "</code>", "<interpreter>",
    "</interpreter>",
              "\\boxed{", "```", "{", "}", "[", "]", '"', "Thought: ", "Action: ", "Action_type: ", "Action_content: ",
              "ask_shopper", "interact_with_env", '"rationale"', '"action"', '"type"', '"name"', '"arguments"', "FIRST",
              '"choices"', '"message"', '"content"', '"usage"', '"tool_calls"', '"function"', "CORRECT", "1e999",
              "NaN", "\\ud800"],
}  # fmt: skip


# What must hold of any text.


def text(said: str) -> None:
    """It is no trajectory and the fault names a line, or its events are written and read back as they are."""
    from pipeline.render.trajectory import parse, render

    try:
        events = parse(said)
    except ValueError as fault:
        if not re.match(r"line \d+ (is not an action|does not begin with a time)", str(fault)):
            raise
        return
    assert parse(render(events)) == events


def reply(said: str) -> None:
    """Every reader of replies makes something of it or says what is wrong."""
    from pipeline.envs.conversation import message_of, said_by
    from pipeline.envs.episode import parsed
    from pipeline.models.base import Reply
    from pipeline.models.openai import heard, reply_of
    from pipeline.models.written import Wrong, as_json
    from pipeline.rewards.hierarchical import Answer, answer_of, rationale_at
    from pipeline.rewards.matching import boxed
    from pipeline.rewards.tool_use import blocks, final
    from pipeline.rollouts.conversation import turn_of
    from pipeline.rollouts.judge import opinion, verdict_of
    from pipeline.shop.tools import Illegal
    from pipeline.shopping.play import read
    from schemas.record import Rejected

    for body in (said, json.dumps({"choices": [{"message": {"content": said}}]})):
        if found := reply_of(body):
            found.text.encode()
    found = heard(said, "stop", 0, 0)
    assert all(isinstance(call["name"], str) for call in found.calls)
    told(lambda: parsed(said_by(found)), Illegal)
    told(lambda: parsed(said), Illegal)
    message_of(said)
    for reader in (verdict_of, lambda each: opinion(each, ours_first=True), lambda each: as_json(each, Rejected)):
        told(lambda reader=reader: reader(Reply(said)), Wrong)
    for multi in (False, True):
        read(said, multi)
    answer = answer_of(said)
    place = rationale_at(said)
    assert place is None or isinstance(answer, Answer)
    turn, code = turn_of(Reply(said))
    assert code is None or turn_of(Reply(turn)) == (turn, code)
    assert all(each.strip() for each in blocks(said))
    boxed(final(said))


def told(read: Callable[[], object], fault: type[Exception]) -> None:
    """It reads, or raises this and says something."""
    try:
        read()
    except fault as error:
        if not str(error):
            raise


TARGETS: dict[str, Callable[[str], None]] = {"text": text, "reply": reply}


# What a run begins with.


def samples(name: str) -> list[str]:
    return texts() if name == "text" else replies()


def texts() -> list[str]:
    from pipeline.render.trajectory import render

    plain = {
        "row_id": 0,
        "timestamp": datetime(2024, 5, 1, 19, 30, 25),
        "price": Decimal("12.50"),
        "search_query": None,
    }
    titles = ["Oak desk lamp", "a || b] (brand: x, color: y, price: 1.00)", "two\r\nlines \\ and \\n", "مصباح 🪑\u2028"]
    shown = [
        plain | {"action_type": action, "asin": f"B0{number}", "product_name": title, "brand": brand, "color": color}
        for number, (action, title) in enumerate(
            zip(["click", "add to Cart", "purchase", "click"], titles, strict=True)
        )
        for brand, color in ((None, "white"), ("Norrvik", None), ("] (brand: ", ", color: "))
    ]
    none = dict.fromkeys(["asin", "product_name", "brand", "color", "price"])
    searches = [plain | none | {"action_type": "search", "search_query": title} for title in titles]
    return [render([each]) for each in (*shown, *searches)] + [render(shown[:3] + searches[:1])]


def replies() -> list[str]:
    call = json.dumps({"name": "cart_view", "arguments": {"a": [1, "</tool_call>"]}})
    body = {"message": {"content": "yes", "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}]}}
    return [
        json.dumps({"choices": [body], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        json.dumps({"error": {"message": "no"}}),
        f"<think>I look.</think>So: <tool_call>\n{call}\n</tool_call>",
        "Let me look. <code>\nlen(df)\n</code>",
        "<code>1</code><interpreter>1</interpreter>It is \\boxed{\\text{3}\\%}.",
        'The same.\n{"answer": "CORRECT"}',
        "SECOND\nIt wanders as people do.",
        "Thought: I look.\nAction: search[red mug]",
        "Thought: ?\nAction_type: ask_shopper\nAction_content: Which color?",
        '{"rationale": "I want it.", "action": {"type": "click", "name": "buy_now"}}',
        '{"assistant_message": "a", "tool_calls": [{"name": "cart_view", "args": {"n": 1e9}}]}',
        '{"id": "a", "reasons": ["b"], "record": "{}"}',
    ]


# A run.


def main(arguments: list[str]) -> int:
    known = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    known.add_argument("target", choices=TARGETS)
    known.add_argument("--seconds", type=int, default=20)
    known.add_argument("--seed", type=int, default=1)
    known.add_argument("--again", type=Path, help="a file with one input")
    known.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = known.parse_args(arguments)
    if given.again:
        TARGETS[given.target](given.again.read_bytes().decode("utf-8", "replace"))
        print("Nothing is wrong with it.")
        return 0
    return fuzz(given) if given.inside else watched(given)


def watched(given: argparse.Namespace) -> int:
    """The run in a process of its own, which a fault or a hang may end, and what came of it."""
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    command = [sys.executable, "-m", "tests.fuzz.targets", given.target, "--inside", str(folder)]
    command += ["--seconds", str(given.seconds), "--seed", str(given.seed)]
    done = subprocess.run(
        command, check=False, cwd=HOME, capture_output=True, text=True, errors="replace", timeout=given.seconds + 120
    )
    said = done.stdout + done.stderr
    print(figures(given.target, given.seed, said))
    if done.returncode == 0:
        shutil.rmtree(folder)
        return 0
    print(said[-4_000:])
    for found in sorted(folder.glob("fault-*")):
        print(f"The input: {found.read_bytes()[:400]!r}")
        print(f"Once more: python -m tests.fuzz.targets {given.target} --again {found}")
    return 1


def figures(target: str, seed: int, said: str) -> str:
    """What libFuzzer counted: inputs, and places of the code that they reached at first and at last."""
    runs = re.findall(r"^#(\d+)\s", said, re.MULTILINE)
    places = re.findall(r"cov: (\d+)", said)
    kept = re.findall(r"corp: (\d+)", said)
    return (
        f"{target}: {int(runs[-1]):,} inputs, {places[0]} places of the code at first and {places[-1]} at last, "
        f"{kept[-1]} inputs kept, seed {seed}"
        if runs and places and kept
        else f"{target}: no figures"
    )


def fuzz(given: argparse.Namespace) -> int:
    """Does not come back where something is found."""
    import atheris

    atheris.enabled_hooks.add("str")  # not "RegEx": its patterns take no place to begin at
    with atheris.instrument_imports(include=INSTRUMENTED[given.target]):
        for name in INSTRUMENTED[given.target]:
            __import__(name)
    corpus, words = given.inside / "corpus", given.inside / "words"
    corpus.mkdir()
    for number, sample in enumerate(samples(given.target)):
        (corpus / str(number)).write_bytes(sample.encode())
    words.write_text("".join(f'"{escaped(word)}"\n' for word in WORDS[given.target]))
    check = TARGETS[given.target]
    options = [f"-max_total_time={given.seconds}", f"-seed={given.seed}", f"-max_len={LONGEST}", f"-timeout={SLOW}"]
    options += [f"-artifact_prefix={given.inside}/fault-", f"-dict={words}", "-rss_limit_mb=4096"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: check(data.decode("utf-8", "replace")))
    atheris.Fuzz()
    return 0


def escaped(word: str) -> str:
    """As a dictionary of libFuzzer has it."""
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
