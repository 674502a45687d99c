"""Counts, in exported conversations with environments and with a code interpreter, values that stand in no message before them.

    python -m tests.outside.unseen FOLDER        # all sft_envs, sft_rollouts and sft_shopping below it, in Parquet

It reads messages and nothing else, and shares no code with the program that wrote them. Of shopping conversations see `shopping/unseen.py`.
"""

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.outside.shopping.unseen import collect_kinds, list_unseen_uses

Messages = list[Mapping[str, Any]]
WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
EQUATION = re.compile(r"((?:\$?[\d.,]*\d(?: %)?)(?: [-+x/] \$?[\d.,]*\d(?: %)?)+) = \$?([\d.,]*\d)")
TERM = re.compile(r"(^|[-+x/] )\$?([\d.,]*\d)( %)?")
TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
# Of calls in the shop: what has to be shown whole, what is a number, and what anybody may say.
WHOLE = (
    *("product_id", "variant_id", "order_id", "line_id", "selected_order_id", "selected_line_id"),
    *("category", "brand", "seller", "arrival_date", "order_status"),
)
LISTS = ("product_ids", "recommended_product_ids")
LIMITS = ("min_price", "max_price", "min_rating", "max_shipping_days", "quantity", "policy_answer")
SMALL = 12
SQL = re.compile(r"\bSELECT\b|\bWITH\b", re.IGNORECASE)
INNER = re.compile(r"'((?:[^']|'')*)'")
CLOCK = re.compile(r"(?:(\d+) days? )?(\d+):(\d\d):(\d\d)")
WEEKEND = {"saturday", "sunday"}
# Names of what pandas computes, which a program may give as strings.
METHODS = frozenset(
    "size min max sum mean median count first last nunique left right inner outer index columns name value".split()
)
BOX = re.compile(r"\\boxed\{([^}]*)\}")


def to_number(text: str) -> float:
    return round(float(text.replace(",", "")), 2)


def list_unseen_in_shop(messages: Messages) -> Iterator[str]:
    """Of a conversation with an environment."""
    heard = ""
    for message in messages:
        for call in message.get("tool_calls") or ():
            used = call["function"]
            yield from check_shop_call(used["name"], load(used["arguments"]), heard.lower(), message["content"])
        if message["role"] != "system" and not message.get("tool_calls"):
            heard += "\n" + message["content"]


def load(arguments: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {name: value for name, value in found.items() if value not in (None, "")}


def check_shop_call(name: str, given: Mapping[str, Any], heard: str, thought: str) -> Iterator[str]:
    figures = {to_number(each) for each in FIGURE.findall(heard)} | {
        float(n) for word, n in TENS.items() if word in heard
    }
    known = set(WORD.findall(heard))
    for word in WORD.findall(str(given.get("query", "")).lower()) if name == "catalog_search" else ():
        if word not in known:
            yield f"{name}: {word!r}"
    for key in WHOLE:
        if key in given and str(given[key]).lower() not in heard:
            yield f"{name}: {key} {given[key]!r}"
    for key in LISTS:
        for id in str(given.get(key, "")).split(","):
            if id.strip() and id.strip().lower() not in heard:
                yield f"{name}: {key} {id!r}"
    for key in LIMITS:
        for figure in FIGURE.findall(str(given.get(key, ""))):
            value = to_number(figure)
            plain = key == "quantity" and value == 1
            if not plain and value not in figures and value not in derive(thought, figures):
                yield f"{name}: {key} {figure}"
    answer = str(given.get("policy_answer", ""))
    if answer and not FIGURE.search(answer) and answer not in ("yes", "no") and answer not in heard:
        yield f"{name}: policy_answer {answer!r}"


def derive(thought: str, figures: set[float]) -> set[float]:
    """What the equations of a thought come to, from what was heard, small numbers, a cent and a hundred."""
    known = figures | {0.01, 100.0, *map(float, range(SMALL + 1))}
    for sum_, result in EQUATION.findall(thought):
        terms = [(sign.strip() or "+", to_number(number), bool(share)) for sign, number, share in TERM.findall(sum_)]
        if all(number in known for _, number, _ in terms) and abs(add_up(terms) - to_number(result)) < 0.011:
            known.add(to_number(result))
    return known - figures


def add_up(terms: Iterable[tuple[str, float, bool]]) -> float:
    total = 0.0
    for sign, number, share in terms:
        value = number / 100 if share else number
        total = {"+": total + value, "-": total - value, "x": total * value, "/": total / (value or 1)}[sign]
    return total


def list_unseen_in_code(messages: Messages) -> Iterator[str]:
    """Of a conversation with a code interpreter: words of the strings in each program, and what is in the box."""
    heard = ""
    for message in messages:
        known = forms(WORD.findall(heard.lower()))
        for call in message.get("tool_calls") or ():
            code = load(call["function"]["arguments"])["code"]
            own = list_own_names(code) | (WEEKEND if "weekend" in heard.lower() else set())
            for text in list_strings(code):
                for word in WORD.findall(text.lower()):
                    if is_telling(word) and word not in own and not forms([word]) & known and word not in heard.lower():
                        yield f"code: {word!r}"
        for box in BOX.findall(message["content"]) if message["role"] == "assistant" else ():
            yield from check_box(box.lower(), heard.lower())
        if message["role"] != "assistant":
            heard += "\n" + message["content"]


def count_seconds(clock: re.Match[str]) -> int:
    """Of a span, with or without days: a day and an hour are 25 hours."""
    days, hours, minutes, seconds = (int(each or 0) for each in clock.groups())
    return 86_400 * days + 3600 * hours + 60 * minutes + seconds


def list_own_names(code: str) -> set[str]:
    """Words of the columns that a program itself makes: what it assigns to, and what it names in a call."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:
        return set()
    made = [node.slice for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    names = [str(each.value) for each in made if isinstance(each, ast.Constant)]
    names += [node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg]
    return {word for name in names for word in WORD.findall(name.lower())}


def is_telling(word: str) -> bool:
    return word[0].isalpha() and len(word) > 2 and word not in METHODS


def check_box(box: str, heard: str) -> Iterator[str]:
    if clock := CLOCK.fullmatch(box.strip()):
        same = [each for each in CLOCK.finditer(heard) if count_seconds(each) == count_seconds(clock)]
        if same or str(count_seconds(clock)) in heard:
            return
    yield from (f"box: {word!r}" for word in WORD.findall(box) if not stands_in(word, heard))


def forms(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in (word, word.removesuffix("s"), word.removesuffix("es"))}


def stands_in(word: str, heard: str) -> bool:
    if not word[0].isdigit():
        return word in heard
    figures = [float(each.replace(",", "")) for each in FIGURE.findall(heard)]
    return word in heard or any(abs(each - float(word.replace(",", ""))) < 0.05 for each in figures)


def list_strings(code: str) -> list[str]:
    """The strings of a program; of SQL those within it."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a mistake that is mended in the next block
        return []
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [part for text in found for part in (INNER.findall(text) if SQL.search(text) else [text])]


def count_release(folder: Path) -> Counter[str]:
    """Of all conversations in the Parquet files below a folder: how many there are, and what they use that was not seen."""
    import pyarrow.parquet as pq

    found: Counter[str] = Counter()
    for form, check in (
        ("sft_envs", list_unseen_in_shop),
        ("sft_rollouts", list_unseen_in_code),
        ("sft_shopping", None),
    ):
        files = [path for path in sorted(folder.rglob("*.parquet")) if form in path.parts or path.stem.startswith(form)]
        told = [row["messages"] for path in files for row in pq.read_table(path).to_pylist()]
        talks = [[json.loads(message) for message in messages] for messages in told]
        kinds = collect_kinds(talks) if check is None else set[str]()
        for messages in talks:
            found[f"{form} conversations"] += 1
            uses = list_unseen_uses(messages, kinds) if check is None else check(messages)
            found[f"{form} unseen"] += sum(1 for _ in uses)
    return found


if __name__ == "__main__":
    for what, count in sorted(count_release(Path(sys.argv[1])).items()):
        print(f"{count:8,} {what}")
