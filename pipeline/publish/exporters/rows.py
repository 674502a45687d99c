"""Rows of the training forms: conversations and facts as JSON text in Arrow columns, and the same conversations as plain text.

Several trainers read them, and each of these has broken one: native structs get every other tool's arguments as nulls, a message with
`tool_calls: null` breaks templates, NaN comes back as null, 1.7 as 1.7000000000000002, and an integer of more than 64 bits cannot be read at
all.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

import pyarrow as pa

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import template
from shopwright.pipeline.tokens import estimates

# Of a batch, at most.
ROWS = 500
SPELLINGS = 10
JSON = pa.json_(pa.string())
MESSAGE = pa.struct({"role": pa.string(), "content": pa.string()})
# What is known of a conversation: whose it is, the row it was made of, its kind, who played, how hard it was, what it earned, how
# often the assistant spoke and called a tool, how many calls failed, and its tokens, tools included, by `shopwright.pipeline.tokens.estimate`.
TRAINED = {
    "group": pa.string(),
    "source": pa.string(),
    "kind": pa.string(),
    "policy": pa.string(),
    "difficulty": pa.int64(),
    "reward": pa.float64(),
    "turns": pa.int64(),
    "calls": pa.int64(),
    "tool_errors": pa.int64(),
    "tokens": pa.int64(),
}
SFT = pa.schema({"id": pa.string(), "messages": pa.list_(JSON), "tools": pa.list_(JSON), **TRAINED})
TEXT = pa.schema({"id": pa.string(), "messages": pa.list_(MESSAGE), **TRAINED})
RL = pa.schema(
    {
        "id": pa.string(),
        "data_source": pa.string(),
        "agent_name": pa.string(),
        "environment": pa.string(),
        "prompt": pa.list_(MESSAGE),
        "ability": pa.string(),
        "reward_model": pa.struct({"style": pa.string(), "ground_truth": pa.string()}),
        "extra_info": JSON,
        "difficulty": pa.int64(),
        "pass_rate": pa.float64(),
        "group": pa.string(),
    }
)
Row = dict[str, Any]
Message = dict[str, Any]


# JSON.


def dump_exact_json(value: Any) -> str:
    """On one line. Raises Problem for what a reader would give back changed.

    >>> dump_exact_json({"price": 25.0, "said": "é", "none": None})
    '{"price": 25.0, "said": "é", "none": null}'
    """
    try:
        return encode_value(value)
    except (ValueError, TypeError) as error:
        raise Problem(f"This cannot stand in a JSON column: {error}.") from None


def encode_value(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{encode_key(key)}: {encode_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(encode_value, value)) + "]"
    if isinstance(value, float):
        return encode_decimal(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} needs more than 64 bits")
    return json.dumps(value)


def encode_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no text")
    return encode_basestring(key)


@lru_cache(100_000)
def encode_decimal(value: float) -> str:
    """The number as the reader of `datasets` gives it back: it makes 1.7000000000000002 of 1.7, and 1.7 of the same in another spelling.

    >>> encode_decimal(25.0), encode_decimal(0.25), encode_decimal(1.7)
    ('25.0', '0.25', '170e-2')
    """
    from pandas.io.json import ujson_loads

    if not isfinite(value):
        raise ValueError(f"{value} is no number")
    for text in list_decimal_spellings(value):
        with suppress(ValueError):
            if ujson_loads(text) == value:
                return text
    raise ValueError(f"no spelling of {value} is read as it is")


def list_decimal_spellings(value: float) -> Iterator[str]:
    """Of exactly the same decimal: with more and more zeros, and with its point elsewhere."""
    yield repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    minus, whole = "-" * sign, "".join(map(str, digits))
    yield from (f"{minus}{whole}{'0' * more}e{exponent - more}" for more in range(SPELLINGS))
    yield from (f"{minus}{whole[:-n]}.{whole[-n:]}e{exponent + n}" for n in range(1, len(whole)))
    yield from (f"{minus}0.{'0' * more}{whole}e{exponent + len(whole) + more}" for more in range(SPELLINGS))


def is_json_column(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == JSON.extension_name


def to_column_value(value: Any, kind: pa.DataType) -> Any:
    """The value as its column holds it: JSON as text."""
    if value is None:
        return None
    if is_json_column(kind):
        return dump_exact_json(value)
    if pa.types.is_list(kind) and is_json_column(kind.value_type):
        return [dump_exact_json(each) for each in value]
    return value


def storage_type_of(kind: pa.DataType) -> pa.DataType:
    """What a column of this type is made of."""
    if is_json_column(kind):
        return pa.string()
    return pa.list_(storage_type_of(kind.value_type)) if pa.types.is_list(kind) else kind


def batch_rows(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in pieces. A field of theirs that the schema does not have is left out; one that they lack is an error."""
    plain = pa.schema([(each.name, storage_type_of(each.type)) for each in schema])
    rows = iter(rows)
    while piece := list(islice(rows, ROWS)):
        if "tokens" in schema.names:
            texts = pa.array([" ".join(list_model_texts(row)) for row in piece], pa.large_string())
            for row, tokens in zip(piece, estimates(texts).tolist(), strict=True):
                row["tokens"] = tokens
        values = [{each.name: to_column_value(row[each.name], each.type) for each in schema} for row in piece]
        yield pa.RecordBatch.from_pylist(values, schema=plain).cast(schema)


def list_model_texts(row: Row) -> Iterator[str]:
    """All that a model reads or writes in a conversation, but for what a template puts around it."""
    for message in row["messages"]:
        yield message["content"]
        yield from (dump_exact_json(call["function"]) for call in message.get("tool_calls", ()))
    yield from (dump_exact_json(tool) for tool in row.get("tools", ()))


# Conversations.


def make_message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def make_call_message(content: str, name: str, arguments: Mapping[str, Any]) -> Message:
    """A turn with one call: trainers check each message alone, and two calls in one turn fail that."""
    return make_message("assistant", content) | {
        "tool_calls": [{"type": "function", "function": {"name": name, "arguments": dict(arguments)}}]
    }


def make_tool_message(name: str, content: str) -> Message:
    return {"role": "tool", "name": name, "content": content}


def build_conversation_row(
    id: str, messages: list[Message], tools: Sequence[Mapping[str, Any]], *, errors: int = 0, **known: Any
) -> Row:
    """A conversation as a row; `known` are the columns that do not follow from it."""
    spoken = [message for message in messages if message["role"] == "assistant"]
    return {
        "id": id,
        "messages": messages,
        "tools": list(tools),
        "turns": len(spoken),
        "calls": sum(len(message.get("tool_calls", ())) for message in spoken),
        "tool_errors": errors,
        **known,
    }


def flatten_conversation(row: Row) -> Row:
    """The same conversation in role and content alone: tools and calls stand in the text as Qwen's templates write them.

    >>> call = make_call_message("I look.", "search", {"words": "red mug"})
    >>> flatten_conversation({"messages": [make_message("user", "Hi"), call, make_tool_message("search", "none")], "tools": []})["messages"][1]["content"]
    'I look.\\n<tool_call>\\n{"name": "search", "arguments": {"words": "red mug"}}\\n</tool_call>'
    """
    messages = [make_message(message["role"], "\n".join(render_turn_lines(message))) for message in row["messages"]]
    if row["tools"]:
        messages[0]["content"] += "\n\n" + render_tool_manual(tuple(dump_exact_json(tool) for tool in row["tools"]))
    return {**row, "messages": messages}


def render_turn_lines(message: Message) -> Iterator[str]:
    """A turn's words, then its calls."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    if message["content"] or not calls:
        yield message["content"]
    for call in calls:
        yield f'<tool_call>\n{{"name": "{call["name"]}", "arguments": {dump_exact_json(call["arguments"])}}}\n</tool_call>'


@lru_cache(16)
def render_tool_manual(tools: tuple[str, ...]) -> str:
    return template("trainers/tool_calls").render(tools=tools).strip()
