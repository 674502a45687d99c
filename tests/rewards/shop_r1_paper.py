"""Shop-R1's reward once more, from the paper's words alone: shares no line with `shopwright.pipeline.rewards.hierarchical`.

Format: 0.5 for a valid JSON object that has `rationale` and `action`, else nothing at all. Table 1: 0.3 for the right type; a click +0.2
if it has a name, + DARS x ROUGE-L(name); type_and_submit +0.1 for a name, +0.1 for a text, +0.1 x ROUGE-L(name) + DARS x ROUGE-L(text).
A similarity that is not above the threshold counts 0. JSON is read by RFC 8259's grammar, by hand: `json` takes NaN and gives up on depth.
"""

import re
from typing import Any

DARS, THRESHOLD = 1000.0, 0.75
BLANK = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)")
SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = {"true": True, "false": False, "null": None}
NOT_JSON = object()


def unescaped(body: str) -> str:
    signs = ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else SIGNS.get(found[2], found[2]), body)
    return signs.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def scalar(text: str, at: int) -> tuple[Any, int]:
    """What begins here and holds nothing else, and where it ends; NOT_JSON where nothing does."""
    if found := STRING.match(text, at):
        return unescaped(found[1]), found.end()
    for word, value in WORDS.items():
        if text.startswith(word, at):
            return value, at + len(word)
    number = NUMBER.match(text, at)
    return (float(number[0]), number.end()) if number else (NOT_JSON, at)


def read_json(text: str) -> Any:
    """The value, or NOT_JSON; a stack of its own, so that no depth is too deep."""
    stack: list[tuple[Any, Any]] = []  # each open object or list, and the key that waits for its value
    at = BLANK.match(text).end()  # type: ignore[union-attr]
    while True:
        value: Any
        key = NOT_JSON
        if text[at : at + 1] in ("{", "["):
            holder: Any = {} if text[at] == "{" else []
            end = BLANK.match(text, at + 1).end()  # type: ignore[union-attr]
            if text[end : end + 1] == ("}" if isinstance(holder, dict) else "]"):
                value, at = holder, end + 1
            else:
                at = end
                if isinstance(holder, dict):
                    key, at = key_of(text, at)
                    if key is NOT_JSON:
                        return NOT_JSON
                stack.append((holder, key))
                continue
        else:
            value, at = scalar(text, at)
            if value is NOT_JSON:
                return NOT_JSON
        while True:  # the value is whole: hand it to what holds it
            at = BLANK.match(text, at).end()  # type: ignore[union-attr]
            if not stack:
                return value if at == len(text) else NOT_JSON
            holder, key = stack.pop()
            if isinstance(holder, dict):
                holder[key] = value
            else:
                holder.append(value)
            sign = text[at : at + 1]
            if sign == ("}" if isinstance(holder, dict) else "]"):
                value, at = holder, at + 1
                continue
            if sign != ",":
                return NOT_JSON
            at = BLANK.match(text, at + 1).end()  # type: ignore[union-attr]
            key = NOT_JSON
            if isinstance(holder, dict):
                key, at = key_of(text, at)
                if key is NOT_JSON:
                    return NOT_JSON
            stack.append((holder, key))
            break


def key_of(text: str, at: int) -> tuple[Any, int]:
    found = STRING.match(text, at)
    if not found:
        return NOT_JSON, at
    at = BLANK.match(text, found.end()).end()  # type: ignore[union-attr]
    if text[at : at + 1] != ":":
        return NOT_JSON, at
    return unescaped(found[1]), BLANK.match(text, at + 1).end()  # type: ignore[union-attr]


def is_there(value: Any) -> bool:
    """Table 1's "is not empty": null, and what holds nothing, are."""
    return value is not None and value not in ("", [], {})


def depth_of(value: Any) -> int:
    """How deep a value nests, a level at a time."""
    deep, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        deep += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return deep


def words(text: Any) -> list[str]:
    """Letters and digits are words, all else parts them; a Chinese or Japanese character is a word."""
    if not isinstance(text, str):
        return []
    spread = re.sub("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])", r" \1 ", text.lower())
    return "".join(sign if sign.isalnum() else " " for sign in spread).split()


def rouge_l(said: Any, truth: str) -> float:
    """F1 of the longest common subsequence, by the textbook's table; 0 unless above the threshold."""
    one, two = words(said), words(truth)
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for row, word in enumerate(one):
        for column, other in enumerate(two):
            same = table[row][column] + 1
            table[row + 1][column + 1] = same if word == other else max(table[row][column + 1], table[row + 1][column])
    longest = table[-1][-1]
    if not longest:
        return 0.0
    precision, recall = longest / len(one), longest / len(two)
    like = 2 * precision * recall / (precision + recall)
    return like if like > THRESHOLD + 1e-12 else 0.0


def reward(text: str, truth: dict[str, str], depth: int) -> tuple[float, float]:
    """R_format and R_action. depth: how deep JSON may nest, which its standard leaves to who reads it."""
    answer = read_json(text)
    if not isinstance(answer, dict) or not ("rationale" in answer and "action" in answer) or depth_of(answer) > depth:
        return 0.0, 0.0
    action = answer["action"]
    if not isinstance(action, dict) or action.get("type") != truth["type"]:
        return 0.5, 0.0
    name, written = action.get("name"), action.get("text")
    if truth["type"] == "terminate":
        return 0.5, 0.3
    if truth["type"] == "click":
        return 0.5, 0.3 + 0.2 * is_there(name) + DARS * rouge_l(name, truth["name"])
    paid = 0.3 + 0.1 * is_there(name) + 0.1 * is_there(written)
    return 0.5, paid + 0.1 * rouge_l(name, truth["name"]) + DARS * rouge_l(written, truth["text"])
