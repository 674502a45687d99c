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
    "text": ["shopwright.pipeline.render.trajectory"],
    "reply": [
        *(
            "shopwright.pipeline.models.valid_replies",
            "shopwright.pipeline.models.openai",
            "shopwright.pipeline.rollouts.judge",
            "shopwright.pipeline.rollouts.conversation",
        ),
        *(
            "shopwright.pipeline.rewards.matching",
            "shopwright.pipeline.rewards.tool_use",
            "shopwright.pipeline.rewards.hierarchical",
        ),
        *(
            "shopwright.pipeline.envs.episode",
            "shopwright.pipeline.envs.conversation",
            "shopwright.pipeline.shopping.play",
        ),
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
    from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory

    try:
        events = parse_trajectory(said)
    except ValueError as fault:
        if not re.match(r"line \d+ (is not an action|does not begin with a time)", str(fault)):
            raise
        return
    assert parse_trajectory(render_trajectory(events)) == events


def reply(said: str) -> None:
    """Every reader of replies makes something of it or says what is wrong."""
    from shopwright.pipeline.envs.episode import parse_action, parse_agent_reply, parse_user_message
    from shopwright.pipeline.models.base import Reply
    from shopwright.pipeline.models.openai import build_reply, parse_completion
    from shopwright.pipeline.models.valid_replies import InvalidReply, parse_reply_json
    from shopwright.pipeline.rewards.hierarchical import ActionPrediction, find_rationale, parse_prediction
    from shopwright.pipeline.rewards.matching import extract_boxed_answer
    from shopwright.pipeline.rewards.tool_use import extract_code_blocks, extract_final_text
    from shopwright.pipeline.rollouts.conversation import parse_code_turn
    from shopwright.pipeline.rollouts.judge import parse_opinion, parse_verdict
    from shopwright.pipeline.shop.tools import IllegalCall
    from shopwright.pipeline.shopping.play import parse_turn
    from shopwright.schemas.record import Rejected

    for body in (said, json.dumps({"choices": [{"message": {"content": said}}]})):
        if found := parse_completion(body):
            found.text.encode()
    found = build_reply(said, "stop", 0, 0)
    assert all(isinstance(call["name"], str) for call in found.calls)
    read_or_explain(lambda: parse_action(parse_agent_reply(found)), IllegalCall)
    read_or_explain(lambda: parse_action(said), IllegalCall)
    parse_user_message(said)
    for reader in (
        parse_verdict,
        lambda each: parse_opinion(each, ours_first=True),
        lambda each: parse_reply_json(each, Rejected),
    ):
        read_or_explain(lambda reader=reader: reader(Reply(said)), InvalidReply)
    for multi in (False, True):
        parse_turn(said, multi)
    answer = parse_prediction(said)
    place = find_rationale(said)
    assert place is None or isinstance(answer, ActionPrediction)
    turn, code = parse_code_turn(Reply(said))
    assert code is None or parse_code_turn(Reply(turn)) == (turn, code)
    assert all(each.strip() for each in extract_code_blocks(said))
    extract_boxed_answer(extract_final_text(said))


def read_or_explain(read: Callable[[], object], fault: type[Exception]) -> None:
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
    from shopwright.pipeline.render.trajectory import render_trajectory

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
    return [render_trajectory([each]) for each in (*shown, *searches)] + [render_trajectory(shown[:3] + searches[:1])]


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
